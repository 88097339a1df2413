//! Operators that write columns, row by row. Some leave rows out for which there is nothing to write.

use super::{Column, Columns, HolderSearch, Operand, Predicate, read};
use crate::{expr::eval::Special, id::RelationId};
use alloc::{boxed::Box, vec::Vec};

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
