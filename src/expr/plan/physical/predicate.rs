//! Operators that let rows pass or not, and write nothing.

use super::{AtomOp, Column, Columns, Comparison, KnownRelation, MemberOp, Operand, SubPlan, read};
use crate::{expr::bind::ListMode, id::RelationId};
use alloc::vec::Vec;

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
    HasAny {
        relation: RelationId,
        source: Operand,
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
            Self::HasAny { negated: false, .. } => "has any",
            Self::HasAny { .. } => "has none",
            Self::Reaches { negated: false, .. } => "reaches",
            Self::Reaches { .. } => "does not reach",
            Self::SemiJoin { negated: false, .. } => "semi-join",
            Self::SemiJoin { .. } | Self::AntiJoin { .. } => "anti-join",
            Self::Member { .. } => "member",
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
            Self::HasAny { source, .. } => read(*source, columns),
            Self::SemiJoin { atom, .. } => atom.reads(columns),
            Self::Member { member, .. } => member.reads(columns),
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
