//! A set of small numbers.

use alloc::vec::Vec;

/// A set of numbers, a bit each: it takes memory up to the largest one.
///
/// Of our own and not `fixedbitset`, since `Tombstones` and masks read and write words of 64 bits
/// on every platform, and sets grow as numbers are added.
#[derive(Clone, Default, Debug)]
pub(crate) struct BitSet(Vec<u64>);

impl BitSet {
    #[inline]
    pub(crate) fn contains(&self, number: usize) -> bool {
        self.word(number / 64) >> (number % 64) & 1 == 1
    }

    /// Adds a number. True if it is new.
    #[inline]
    pub(crate) fn insert(&mut self, number: usize) -> bool {
        let bit = 1 << (number % 64);
        let word = self.word_mut(number / 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The numbers from `64 * at` on that are in the set, as bits.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> u64 {
        self.0.get(at).copied().unwrap_or(0)
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn word_mut(&mut self, at: usize) -> &mut u64 {
        if at >= self.0.len() {
            self.grow(at + 1);
        }
        &mut self.0[at]
    }

    #[cold]
    fn grow(&mut self, words: usize) {
        self.0.resize(words.next_power_of_two(), 0);
    }

    /// Adds the numbers of another set.
    pub(crate) fn extend(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.grow(other.0.len());
        }
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }

    /// Removes the numbers of another set.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= !other);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub(crate) fn is_subset(&self, of: &Self) -> bool {
        self.0.iter().enumerate().all(|(at, &word)| word & !of.word(at) == 0)
    }

    /// Whether some number is in both.
    pub(crate) fn intersects(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(own, other)| own & other != 0)
    }

    /// The numbers, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + use<'_> {
        self.0.iter().enumerate().flat_map(|(at, &word)| ones(word).map(move |bit| 64 * at + bit as usize))
    }
}

/// Equal if they have the same numbers, whatever memory they have.
impl PartialEq for BitSet {
    fn eq(&self, other: &Self) -> bool {
        (0..self.0.len().max(other.0.len())).all(|at| self.word(at) == other.word(at))
    }
}

impl Eq for BitSet {}

/// The places of the ones in a word, ascending.
#[inline]
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(bit)
    })
}

/// Whether some of a sample hold and some do not: more than an eighth of either.
pub(super) fn is_mixed(sample: impl Iterator<Item = bool>) -> bool {
    let (len, holding) = sample.fold((0, 0), |(len, holding), holds| (len + 1, holding + u32::from(holds)));
    (len / 8 + 1..len - len / 8).contains(&holding)
}

#[cfg(test)]
mod tests {
    use super::BitSet;
    use alloc::{collections::BTreeSet, vec::Vec};

    #[test]
    fn sets_of_bits_agree_with_sets_of_numbers() {
        let mut state = 5u32;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % limit
        };
        let mut pairs: [(BitSet, BTreeSet<usize>); 2] = Default::default();
        for step in 0..if cfg!(miri) { 100 } else { 2000 } {
            let (bits, numbers) = &mut pairs[step % 2];
            let number = below(200);
            if below(3) == 0 {
                bits.remove(number);
                numbers.remove(&number);
            } else {
                assert_eq!(bits.insert(number), numbers.insert(number));
            }
            assert_eq!(bits.iter().collect::<Vec<_>>(), numbers.iter().copied().collect::<Vec<_>>());
            assert_eq!(bits.contains(number), numbers.contains(&number));
            assert_eq!(bits.is_empty(), numbers.is_empty());
            let [(a, of_a), (b, of_b)] = &pairs;
            assert_eq!(a == b, of_a == of_b);
            assert_eq!(a.is_subset(b), of_a.is_subset(of_b));
            assert_eq!(a.intersects(b), !of_a.is_disjoint(of_b));
            let (mut sum, mut rest) = (a.clone(), a.clone());
            sum.extend(b);
            rest.subtract(b);
            assert!(sum.iter().eq(of_a.union(of_b).copied()));
            assert!(rest.iter().eq(of_a.difference(of_b).copied()));
            if step % 400 == 399 {
                pairs[0].0.clear();
                pairs[0].1.clear();
            }
        }
    }
}
