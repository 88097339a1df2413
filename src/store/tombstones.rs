//! Removal from the middle of a list that keeps its order, in amortised constant time; and reading what is left.

use super::{BitSet, ones};
use alloc::{format, string::String};
#[cfg(feature = "multi_threaded")]
use core::ops::Range;

/// Which places of a list are empty. A list with tombstones is closed up once half of it is tombstones, so that a
/// removal costs a constant on average, and the order of what is left never changes.
#[derive(Default)]
pub(crate) struct Tombstones {
    places: BitSet,
    count: usize,
    /// No live place lies before this one.
    first: usize,
}

impl Tombstones {
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn is_tombstone(&self, place: usize) -> bool {
        self.places.contains(place)
    }

    /// The first place from this one on that is no tombstone.
    // By value and apart, so that an iterator over a list without tombstones stays in registers.
    #[inline(never)]
    pub(crate) fn first_live_from(&self, mut place: usize) -> usize {
        while self.is_tombstone(place) {
            place += 1;
        }
        place
    }

    /// The first live place of a list of `len` places.
    #[inline]
    pub(crate) fn first_live(&self, len: usize) -> Option<usize> {
        (self.first < len).then_some(self.first)
    }

    /// Empties the place `place` of a list of `len` places.
    ///
    /// Returns how many places at the end of the list the caller must drop: tombstones are never last.
    #[must_use]
    pub(crate) fn mark_empty(&mut self, place: usize, len: usize) -> usize {
        self.places.insert(place);
        self.count += 1;
        let mut end = len;
        while end > 0 && self.is_tombstone(end - 1) {
            end -= 1;
            self.places.remove(end);
            self.count -= 1;
        }
        while self.first < end && self.is_tombstone(self.first) {
            self.first += 1;
        }
        self.first = self.first.min(end);
        len - end
    }

    /// Whether a list of `len` places is worth closing up.
    #[inline]
    pub(crate) fn should_compact(&self, len: usize) -> bool {
        self.count > 16 && self.count * 2 > len
    }

    /// What is wrong with the tombstones of a list of `len` places, if anything, for the invariant checker.
    pub(super) fn fault(&self, len: usize) -> Option<String> {
        let (count, last) =
            self.places.iter().fold((0, None), |(count, _), tombstone| (count + 1, Some(tombstone)));
        let first = (0..len).find(|&place| !self.is_tombstone(place)).unwrap_or(0);
        let fits = count == self.count && first == self.first && last.is_none_or(|last| last + 1 < len);
        (!fits).then(|| {
            let (counted, from) = (self.count, self.first);
            format!(
                "{count} tombstones in {len} places, {counted} counted, the first live place is not {from}"
            )
        })
    }

    /// Removes all tombstones.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.count = 0;
        self.first = 0;
    }

    /// The place of the `nth` live entry of a list of `len` places. O(1) without tombstones, else
    /// O(places / 64).
    pub(crate) fn nth_live(&self, mut nth: usize, len: usize) -> Option<usize> {
        if self.count == 0 {
            return (nth < len).then_some(nth);
        }
        let mut start = 0;
        while start < len {
            let in_word = (len - start).min(64);
            let mask = u64::MAX >> (64 - in_word);
            let live = !self.places.word(start / 64) & mask;
            let count = live.count_ones() as usize;
            if nth < count {
                return ones(live).nth(nth).map(|bit| start + bit as usize);
            }
            nth -= count;
            start += 64;
        }
        None
    }
}

/// Iterator over what stands in a list, in its order, apart from tombstones.
#[derive(Clone)]
pub(super) struct LiveIter<'w, T> {
    /// What is left of the list.
    left: &'w [T],
    tombstones: Option<&'w Tombstones>,
    /// The number of the next place, if there are tombstones.
    next: usize,
    /// Number of tombstones among what is left.
    dead: usize,
}

impl<'w, T> LiveIter<'w, T> {
    #[inline]
    pub(super) fn new(list: &'w [T], tombstones: Option<&'w Tombstones>) -> Self {
        let Some(tombstones) = tombstones.filter(|tombstones| tombstones.count() > 0) else {
            return Self { left: list, tombstones: None, next: 0, dead: 0 };
        };
        // A queue whose first entry is removed again and again has all its tombstones in front.
        let next = tombstones.first;
        let left = list.get(next..).unwrap_or_default();
        Self { left, tombstones: Some(tombstones), next, dead: tombstones.count() - next }
    }

    /// What is left, unless there are tombstones in between.
    #[inline]
    pub(super) fn as_slice(&self) -> Option<&'w [T]> {
        if self.tombstones.is_none() { Some(self.left) } else { None }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.left.len() - self.dead
    }
}

#[cfg(feature = "multi_threaded")]
impl<T: Clone> LiveIter<'_, T> {
    /// Some of what is left, by number.
    pub(super) fn part(mut self, numbers: Range<usize>) -> Self {
        if let Some(all) = self.as_slice() {
            let end = numbers.end.min(all.len());
            return Self { left: &all[numbers.start.min(end)..end], ..self };
        }
        self.by_ref().take(numbers.start).for_each(drop);
        let mut rest = self.clone();
        rest.by_ref().take(numbers.len()).for_each(drop);
        self.left = &self.left[..self.left.len() - rest.left.len()];
        self.dead -= rest.dead;
        self
    }
}

impl<'w, T> Iterator for LiveIter<'w, T> {
    type Item = &'w T;

    #[inline]
    fn next(&mut self) -> Option<&'w T> {
        if let Some(tombstones) = self.tombstones {
            let live = tombstones.first_live_from(self.next);
            let skipped = live - self.next;
            self.left = self.left.get(skipped..)?;
            (self.next, self.dead) = (live + 1, self.dead - skipped);
        }
        let (first, rest) = self.left.split_first()?;
        self.left = rest;
        Some(first)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }

    /// As [`Tombstones::nth_live`].
    fn nth(&mut self, n: usize) -> Option<&'w T> {
        let mut skipped = n;
        if let Some(tombstones) = self.tombstones {
            let end = self.next + self.left.len();
            let passed = self.next - (tombstones.count() - self.dead);
            let live = tombstones.nth_live(passed.saturating_add(n), end);
            skipped = live.unwrap_or(end) - self.next;
            (self.next, self.dead) =
                (self.next + skipped, if live.is_some() { self.dead - (skipped - n) } else { 0 });
        }
        self.left = self.left.get(skipped..).unwrap_or_default();
        self.next()
    }

    /// What adaptors go through: most lists are no more than a slice.
    #[inline]
    fn fold<B, F: FnMut(B, &'w T) -> B>(self, init: B, mut f: F) -> B {
        if let Some(all) = self.as_slice() {
            return all.iter().fold(init, f);
        }
        let mut folded = init;
        for live in self {
            folded = f(folded, live);
        }
        folded
    }
}

#[cfg(test)]
mod tests {
    use super::{LiveIter, Tombstones};

    #[test]
    fn holes_agree_with_a_list_of_flags() {
        let mut tombstones = Tombstones::default();
        let mut flags = alloc::vec![true; 300];
        let mut state = 7u32;
        for _ in 0..if cfg!(miri) { 40 } else { 250 } {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let place = (state >> 8) as usize % flags.len();
            if !flags[place] {
                continue;
            }
            flags[place] = false;
            let dropped = tombstones.mark_empty(place, flags.len());
            flags.truncate(flags.len() - dropped);
            assert_eq!(tombstones.count(), flags.iter().filter(|live| !**live).count());
            assert_eq!(tombstones.first_live(flags.len()), flags.iter().position(|live| *live));
            let live: alloc::vec::Vec<_> = (0..flags.len()).filter(|&place| flags[place]).collect();
            for (nth, &place) in live.iter().enumerate() {
                assert_eq!(tombstones.nth_live(nth, flags.len()), Some(place));
            }
            assert_eq!(tombstones.nth_live(live.len(), flags.len()), None);
            // What is passed over leaves the rest as it is, from any place on.
            let all: alloc::vec::Vec<_> = (0..flags.len()).collect();
            for (first, next) in [(0, 0), (0, live.len()), (3, 70), (40, 1), (100, usize::MAX)] {
                let mut rest = LiveIter::new(&all, Some(&tombstones));
                let mut expected = live.iter();
                assert_eq!(rest.nth(first), expected.nth(first));
                assert_eq!(rest.nth(next), expected.nth(next));
                assert_eq!(rest.len(), expected.len());
                assert!(rest.eq(expected));
            }
        }
    }
}
