//! Variables, and sets of them.

use crate::store::BitSet;

/// Number of a variable. Wildcards are variables without a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Var(pub(crate) u16);

impl Var {
    /// `$this`: the entity that a row is about.
    pub(crate) const THIS: Self = Self(0);

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of variables.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct VarSet(BitSet);

impl VarSet {
    pub(crate) fn contains(&self, var: Var) -> bool {
        self.0.contains(var.index())
    }

    /// Adds a variable. True if it is new.
    pub(crate) fn insert(&mut self, var: Var) -> bool {
        self.0.insert(var.index())
    }

    pub(crate) fn remove(&mut self, var: Var) {
        self.0.remove(var.index());
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    /// Those that are not in the other set.
    pub(crate) fn without(mut self, other: &Self) -> Self {
        self.0.subtract(&other.0);
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn is_subset(&self, of: &Self) -> bool {
        self.0.is_subset(&of.0)
    }

    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.intersects(&other.0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Var> + use<'_> {
        self.0.iter().map(|index| Var(index as u16))
    }
}

impl FromIterator<Var> for VarSet {
    fn from_iter<T: IntoIterator<Item = Var>>(vars: T) -> Self {
        let mut set = Self::default();
        for var in vars {
            set.insert(var);
        }
        set
    }
}
