//! Which rows of tables pass the test of a scan, a bit each.
//!
//! Whether an entity has a pair changes with the version of the relation's index and with nothing else. So what one scan
//! found out serves the next, as long as the same entities lie there: Bevy moves rows without an event, and its tables have no
//! version. Therefore the entities are kept with their bits, and compared with those in the table, which takes a fraction of the
//! time of as many look-ups. It holds whichever table is scanned, and whatever became of rows in between.

use crate::expr::eval::{Datum, common_start};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

/// How many rows share a word.
pub(super) const WORD: usize = u64::BITS as usize;

/// The results of one test.
#[derive(Default)]
pub(super) struct RowBits {
    /// By part of the mask, and there by row.
    parts: Vec<Vec<Word>>,
    /// The versions of what is tested, when a scan began last.
    asked: Vec<u64>,
    /// Counts how often these were others.
    version: u64,
    is_kept: bool,
}

/// The results for rows side by side.
#[derive(Clone)]
struct Word {
    bits: u64,
    version: u64,
    entities: [Datum; WORD],
}

impl RowBits {
    /// Starts a scan of what has these versions, of which none comes again. They were the same at the last scan, or nothing is
    /// kept: where pairs change from scan to scan that would be in vain.
    pub(super) fn start(&mut self, versions: impl IntoIterator<Item = u64, IntoIter: Clone>) {
        let versions = versions.into_iter();
        self.is_kept = self.asked.iter().copied().eq(versions.clone());
        if !self.is_kept {
            self.asked.clear();
            self.asked.extend(versions);
            self.version += 1;
        }
    }

    /// Whether results are kept in this scan.
    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Which of the entities pass that a word is about: the number of its part, and its own there.
    #[inline]
    pub(super) fn passing(
        &mut self,
        (part, number): (usize, usize),
        entities: &[Entity],
        passes: &mut impl FnMut(Entity) -> bool,
    ) -> u64 {
        let known = self.parts.get_mut(part).and_then(|words| words.get_mut(number));
        let version = self.version;
        let is_right = |word: &&mut Word| {
            word.version == version && common_start(&word.entities, entities) == entities.len()
        };
        match known.filter(is_right) {
            // It may know of more rows than there are.
            Some(word) => word.bits & (u64::MAX >> (WORD - entities.len().clamp(1, WORD))),
            None => self.find_out((part, number), entities, passes),
        }
    }

    fn find_out(
        &mut self,
        (part, number): (usize, usize),
        entities: &[Entity],
        passes: &mut impl FnMut(Entity) -> bool,
    ) -> u64 {
        if part >= self.parts.len() {
            self.parts.resize_with(part + 1, Vec::new);
        }
        let words = &mut self.parts[part];
        let mut word = Word { bits: 0, version: self.version, entities: [Datum::UNSET; WORD] };
        if number >= words.len() {
            words.resize(number + 1, word.clone());
        }
        for (at, (&entity, known)) in entities.iter().zip(&mut word.entities).enumerate() {
            *known = Datum::new(entity);
            word.bits |= u64::from(passes(entity)) << at;
        }
        let bits = word.bits;
        words[number] = word;
        bits
    }
}
