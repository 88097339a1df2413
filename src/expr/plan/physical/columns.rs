//! Sets of columns.

use super::Column;
use crate::store::BitSet;
use alloc::vec::Vec;

/// A set of columns, a bit each: a plan has a set per stage, each of about as many columns as there are variables.
#[derive(Clone, Default)]
pub(super) struct Columns(BitSet);

impl Columns {
    pub(super) fn contains(&self, column: Column) -> bool {
        self.0.contains(usize::from(column))
    }

    pub(super) fn insert(&mut self, column: Column) {
        self.0.insert(usize::from(column));
    }

    /// Adds the columns of another set.
    pub(super) fn append(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    /// Removes the columns of another set.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.0.subtract(&other.0);
    }

    /// The columns that are not in another set.
    pub(super) fn difference(&self, other: &Self) -> Self {
        let mut left = self.clone();
        left.subtract(other);
        left
    }

    pub(super) fn is_disjoint(&self, other: &Self) -> bool {
        !self.0.intersects(&other.0)
    }

    /// The columns, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = Column> + use<'_> {
        self.0.iter().map(|column| column as Column)
    }

    pub(super) fn to_vec(&self) -> Vec<Column> {
        self.iter().collect()
    }
}

impl Extend<Column> for Columns {
    fn extend<I: IntoIterator<Item = Column>>(&mut self, columns: I) {
        columns.into_iter().for_each(|column| self.insert(column));
    }
}

impl<'a> Extend<&'a Column> for Columns {
    fn extend<I: IntoIterator<Item = &'a Column>>(&mut self, columns: I) {
        self.extend(columns.into_iter().copied());
    }
}

impl FromIterator<Column> for Columns {
    fn from_iter<I: IntoIterator<Item = Column>>(columns: I) -> Self {
        let mut set = Self::default();
        set.extend(columns);
        set
    }
}
