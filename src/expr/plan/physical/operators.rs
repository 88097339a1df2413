//! The operators: what makes rows out of rows ([`Produce`]), what lets them pass or not ([`Predicate`]), and what
//! writes columns, row by row ([`Compute`]). Some of the last leave rows out for which there is nothing to write.

#[cfg(feature = "bevy_reflect")]
use super::IndexedOp;
use super::{
    AtomOp, Branch, BranchKind, Column, Columns, Comparison, HolderSearch, KeyedOp, KnownRelation, MemberOp,
    Operand, Position, SubPlan, ValueOp, read,
};
use crate::{
    expr::{bind::ListMode, eval::Special},
    id::RelationId,
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::entity::Entity;
use smallvec::SmallVec;

/// Makes rows.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Produce {
    /// As they are.
    Unit,
    /// None: the term can never hold. The columns are those that other terms read.
    Nothing {
        out: SmallVec<[Column; 3]>,
    },
    /// Entities of archetypes.
    Scan {
        mask: usize,
        out: Column,
    },
    /// The sources of a target.
    Sources {
        relation: RelationId,
        target: Operand,
        out: Column,
    },
    /// The entities that have a tag.
    Tagged {
        tag: Entity,
        out: Column,
    },
    /// The targets of a source.
    Targets {
        relation: RelationId,
        source: Operand,
        out: Column,
    },
    /// Every pair of a relation.
    Pairs {
        relation: RelationId,
        source: Column,
        target: Column,
    },
    /// What lies below a target, at any depth.
    Descendants {
        relation: RelationId,
        target: Operand,
        out: Column,
        reflexive: bool,
    },
    /// Pairs that close a cycle: `out` has `first` as a target and is a target of `second`.
    Intersect {
        out: Column,
        sides: [Side; 2],
    },
    Atom(AtomOp),
    /// What the index of a field finds.
    #[cfg(feature = "bevy_reflect")]
    Indexed(IndexedOp),
    /// The values of a member.
    Member(MemberOp),
    /// Rows that go different ways.
    Branch(Branch),
}

/// One end of a [`Produce::Intersect`]: the neighbors of what is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Side {
    pub(crate) relation: RelationId,
    pub(crate) known: Column,
    /// The neighbors are targets, not sources.
    pub(crate) targets: bool,
}

impl Produce {
    pub(super) fn writes(&self, columns: &mut Columns) {
        match self {
            Self::Unit => {}
            Self::Nothing { out } => columns.extend(out.iter().copied()),
            Self::Scan { out, .. }
            | Self::Sources { out, .. }
            | Self::Tagged { out, .. }
            | Self::Targets { out, .. }
            | Self::Descendants { out, .. }
            | Self::Intersect { out, .. } => {
                columns.insert(*out);
            }
            Self::Pairs { source, target, .. } => columns.extend([*source, *target]),
            #[cfg(feature = "bevy_reflect")]
            Self::Indexed(indexed) => columns.insert(indexed.out),
            Self::Atom(atom) => {
                columns.extend(atom.positions().filter_map(Position::out));
                columns.extend([atom.id_out, atom.target_out, atom.holder_out].into_iter().flatten());
            }
            Self::Member(member) => columns.extend(member.value.out()),
            Self::Branch(branch) => {
                for sub_plan in &branch.sub_plans {
                    columns.append(&sub_plan.pipeline.written());
                    columns.extend(sub_plan.defaults.iter().map(|default| default.0));
                }
                columns.extend(branch.defaults.iter().map(|default| default.0));
            }
        }
    }

    pub(super) fn reads(&self, columns: &mut Columns) {
        match self {
            Self::Unit
            | Self::Nothing { .. }
            | Self::Scan { .. }
            | Self::Tagged { .. }
            | Self::Pairs { .. } => {}
            #[cfg(feature = "bevy_reflect")]
            Self::Indexed(_) => {}
            Self::Sources { target, .. } | Self::Descendants { target, .. } => read(*target, columns),
            Self::Targets { source, .. } => read(*source, columns),
            Self::Intersect { sides, .. } => columns.extend(sides.map(|side| side.known)),
            Self::Atom(atom) => atom.reads(columns),
            Self::Member(member) => member.reads(columns),
            Self::Branch(branch) => {
                if let BranchKind::Guard(guards) = &branch.kind {
                    columns.extend(guards);
                }
            }
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Unit => "unit",
            Self::Nothing { .. } => "nothing",
            Self::Scan { .. } => "scan",
            Self::Sources { .. } => "sources",
            Self::Tagged { .. } => "tagged",
            Self::Targets { .. } => "targets",
            Self::Pairs { .. } => "pairs",
            Self::Descendants { .. } => "descendants",
            Self::Intersect { .. } => "intersect",
            Self::Atom(_) => "match",
            #[cfg(feature = "bevy_reflect")]
            Self::Indexed(_) => "field index",
            Self::Member(_) => "member",
            Self::Branch(branch) => match branch.kind {
                BranchKind::Optional => "optional",
                BranchKind::Every => "union",
                BranchKind::First => "first of",
                BranchKind::Guard(_) => "if set",
            },
        }
    }
}

/// Lets rows pass or not.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Predicate {
    /// No row passes.
    Never,
    /// The archetype fits.
    Mask {
        mask: usize,
        entity: Operand,
    },
    HasPair {
        relation: RelationId,
        source: Operand,
        target: Operand,
        negated: bool,
    },
    HasTag {
        source: Operand,
        tag: Entity,
        negated: bool,
    },
    HasAny {
        relation: RelationId,
        source: Operand,
        negated: bool,
    },
    /// There is a pair of whichever relation, with one target or with any.
    HasAnyRelation {
        source: Operand,
        target: Option<Entity>,
        negated: bool,
    },
    /// A pair is stored, or follows from others.
    Reaches {
        relation: KnownRelation,
        source: Operand,
        target: Operand,
        negated: bool,
    },
    /// There is a way in which the term holds.
    SemiJoin {
        atom: AtomOp,
        negated: bool,
    },
    Member {
        member: MemberOp,
        negated: bool,
    },
    /// There is the pair, and it has the key.
    Keyed {
        keyed: KeyedOp,
        negated: bool,
    },
    /// A field passes a comparison.
    Value {
        value: ValueOp,
        negated: bool,
    },
    Equal {
        left: Column,
        right: Comparison,
        negated: bool,
    },
    /// Columns hold the same.
    Same {
        left: Column,
        right: Column,
    },
    List {
        source: Operand,
        list: Operand,
        mode: ListMode,
        negated: bool,
    },
    /// Variables have a value, and others have none.
    AreSet {
        set: Vec<Column>,
        unset: Vec<Column>,
    },
    /// The pipeline makes no row.
    AntiJoin {
        sub_plan: SubPlan,
        /// Rows pass if all of these, of which there are some, have a column without a value: then every term of the
        /// scope is skipped.
        skipped: Vec<Vec<Column>>,
    },
}

impl Predicate {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Mask { .. } => "archetype",
            Self::HasPair { negated: false, .. } => "has pair",
            Self::HasPair { .. } => "has not pair",
            Self::HasTag { negated: false, .. } => "has tag",
            Self::HasTag { .. } => "has not tag",
            Self::HasAny { negated: false, .. } => "has any",
            Self::HasAny { .. } => "has none",
            Self::HasAnyRelation { negated: false, .. } => "has any relation",
            Self::HasAnyRelation { .. } => "has no relation",
            Self::Reaches { negated: false, .. } => "reaches",
            Self::Reaches { .. } => "does not reach",
            Self::SemiJoin { negated: false, .. } => "semi-join",
            Self::SemiJoin { .. } | Self::AntiJoin { .. } => "anti-join",
            Self::Member { .. } => "member",
            Self::Keyed { negated: false, .. } => "has key",
            Self::Keyed { .. } => "has not key",
            Self::Value { negated: false, .. } => "value",
            Self::Value { .. } => "not value",
            Self::Equal { negated: false, .. } | Self::Same { .. } => "equal",
            Self::Equal { .. } => "not equal",
            Self::List { .. } => "ids of",
            Self::AreSet { .. } => "set",
        }
    }

    pub(super) fn sub_plan(&self) -> Option<&SubPlan> {
        match self {
            Self::AntiJoin { sub_plan, .. } => Some(sub_plan),
            _ => None,
        }
    }

    pub(super) fn sub_plan_mut(&mut self) -> Option<&mut SubPlan> {
        match self {
            Self::AntiJoin { sub_plan, .. } => Some(sub_plan),
            _ => None,
        }
    }

    /// Adds what it reads. The columns of a pipeline within are settled first.
    pub(super) fn reads(&mut self, columns: &mut Columns) {
        match self {
            Self::Never => {}
            Self::Mask { entity, .. } => read(*entity, columns),
            Self::HasPair { source, target, .. } | Self::Reaches { source, target, .. } => {
                read(*source, columns);
                read(*target, columns);
            }
            Self::HasTag { source, .. }
            | Self::HasAny { source, .. }
            | Self::HasAnyRelation { source, .. } => {
                read(*source, columns);
            }
            Self::SemiJoin { atom, .. } => atom.reads(columns),
            Self::Member { member, .. } => member.reads(columns),
            Self::Keyed { keyed, .. } => keyed.reads(columns),
            Self::Value { value, .. } => value.reads(columns),
            Self::Equal { left, right, .. } => {
                columns.insert(*left);
                if let Comparison::Operand(right) = right {
                    read(*right, columns);
                }
            }
            Self::Same { left, right } => columns.extend([*left, *right]),
            Self::List { source, list, .. } => {
                read(*source, columns);
                read(*list, columns);
            }
            Self::AreSet { set, unset } => columns.extend(set.iter().chain(&*unset)),
            Self::AntiJoin { sub_plan, skipped } => {
                sub_plan.finish(Vec::new());
                columns.extend(&sub_plan.inputs);
                columns.extend(skipped.iter().flatten());
            }
        }
    }
}

/// Writes a column of every row.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Compute {
    /// The only target; rows without one are left out.
    Target { relation: RelationId, source: Operand, out: Column },
    /// The only target, or else `none`, and whether there is one.
    TargetIfAny { relation: RelationId, source: Operand, out: Column, none: Special, set: Column },
    /// The nearest entity up a relation of which everything has one target at most that passes a test; rows without one
    /// are left out.
    Holder { search: HolderSearch, source: Operand, out: Column },
    /// The value of something else; rows are left out if it is an entity that is not alive.
    Set { column: Column, value: Operand },
    /// Whether the row would pass.
    Mark { test: Predicate, column: Column },
    /// The number of the first test that the row passes; rows that pass none are left out.
    Choose { tests: Vec<Predicate>, column: Column },
    /// The child at a path; rows without one are left out.
    Child { parent: Operand, path: Box<str>, out: Column },
}

impl Compute {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Target { .. } => "target",
            Self::TargetIfAny { .. } => "target if any",
            Self::Holder { .. } => "holder above",
            Self::Set { .. } => "set",
            Self::Mark { .. } => "mark",
            Self::Choose { .. } => "choose",
            Self::Child { .. } => "child",
        }
    }

    /// Whether it leaves no row out: then it is not needed if its columns are not.
    pub(super) fn keeps_all(&self) -> bool {
        matches!(self, Self::Mark { .. } | Self::TargetIfAny { .. })
    }

    pub(super) fn writes(&self, columns: &mut Columns) {
        match self {
            Self::Target { out, .. } | Self::Child { out, .. } | Self::Holder { out, .. } => {
                columns.insert(*out);
            }
            Self::TargetIfAny { out, set, .. } => columns.extend([*out, *set]),
            Self::Set { column, .. } | Self::Mark { column, .. } | Self::Choose { column, .. } => {
                columns.insert(*column);
            }
        }
    }

    pub(super) fn reads(&mut self, columns: &mut Columns) {
        match self {
            Self::Target { source, .. } | Self::TargetIfAny { source, .. } | Self::Holder { source, .. } => {
                read(*source, columns);
            }
            Self::Set { value, .. } => read(*value, columns),
            Self::Mark { test, .. } => test.reads(columns),
            Self::Choose { tests, .. } => tests.iter_mut().for_each(|test| test.reads(columns)),
            Self::Child { parent, .. } => read(*parent, columns),
        }
    }
}
