//! Operators that make rows out of rows.

use super::{AtomOp, Branch, BranchKind, Column, Columns, MemberOp, Operand, Position, read};
use crate::id::RelationId;
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
    /// The values of a member.
    Member(MemberOp),
    /// Rows that go different ways.
    Branch(Branch),
}

/// One end of a [`Produce::Intersect`]: the neighbours of what is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Side {
    pub(crate) relation: RelationId,
    pub(crate) known: Column,
    /// The neighbours are targets, not sources.
    pub(crate) targets: bool,
}

impl Produce {
    pub(super) fn writes(&self, columns: &mut Columns) {
        match self {
            Self::Unit => {}
            Self::Nothing { out } => columns.extend(out.iter().copied()),
            Self::Scan { out, .. }
            | Self::Sources { out, .. }
            | Self::Targets { out, .. }
            | Self::Descendants { out, .. }
            | Self::Intersect { out, .. } => {
                columns.insert(*out);
            }
            Self::Pairs { source, target, .. } => columns.extend([*source, *target]),
            Self::Atom(atom) => {
                columns.extend(atom.positions().filter_map(Position::out));
                columns.extend([atom.id_out, atom.target_out, atom.holder_out].into_iter().flatten());
            }
            Self::Member(member) => columns.extend(member.value.out()),
            Self::Branch(branch) => {
                for sub_plan in &branch.sub_plans {
                    columns.append(&mut sub_plan.pipeline.written());
                    columns.extend(sub_plan.defaults.iter().map(|default| default.0));
                }
                columns.extend(branch.defaults.iter().map(|default| default.0));
            }
        }
    }

    pub(super) fn reads(&self, columns: &mut Columns) {
        match self {
            Self::Unit | Self::Nothing { .. } | Self::Scan { .. } | Self::Pairs { .. } => {}
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
            Self::Targets { .. } => "targets",
            Self::Pairs { .. } => "pairs",
            Self::Descendants { .. } => "descendants",
            Self::Intersect { .. } => "intersect",
            Self::Atom(_) => "match",
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
