//! Variables, and sets of them.

use alloc::vec::Vec;

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
pub(crate) struct VarSet(Vec<u64>);

impl VarSet {
    pub(crate) fn contains(&self, var: Var) -> bool {
        self.0.get(var.index() / 64).is_some_and(|word| word >> (var.index() % 64) & 1 == 1)
    }

    /// Adds a variable. True if it is new.
    pub(crate) fn insert(&mut self, var: Var) -> bool {
        let (word, bit) = (var.index() / 64, 1 << (var.index() % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    pub(crate) fn remove(&mut self, var: Var) {
        if let Some(word) = self.0.get_mut(var.index() / 64) {
            *word &= !(1 << (var.index() % 64));
        }
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own |= other;
        }
    }

    /// Those that are not in the other set.
    pub(crate) fn without(mut self, other: &Self) -> Self {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own &= !other;
        }
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub(crate) fn is_subset(&self, of: &Self) -> bool {
        let missing = |(at, &word): (usize, &u64)| word & !of.0.get(at).copied().unwrap_or(0) != 0;
        !self.0.iter().enumerate().any(missing)
    }

    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(own, other)| own & other != 0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Var> + use<'_> {
        let bits = 0..self.0.len() * 64;
        bits.map(|index| Var(index as u16)).filter(|&var| self.contains(var))
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
