//! Data of entities that are in several storages, in turn.
#![expect(unsafe_code, reason = "data of several entities is fetched past the borrow checker")]

use super::{FetchCursor, origin::Origin};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::EntityLocation,
    query::{QueryData, QueryFilter},
    storage::TableRow,
};

/// In place of the number of a cursor: it was not asked for the storage yet,
const UNKNOWN: u32 = u32::MAX;
/// or the storage does not match.
const NO_MATCH: u32 = u32::MAX - 1;

/// A cursor for each storage that was met: each is set once, however often one goes from one storage to another.
pub(crate) struct CursorSet<'w, 's, D: QueryData, F: QueryFilter> {
    origin: Origin<'w, 's, D, F>,
    /// The numbers of cursors, by storage.
    numbers: Vec<u32>,
    cursors: Vec<FetchCursor<'w, 's, D, F>>,
}

impl<'w, 's, D: QueryData, F: QueryFilter> CursorSet<'w, 's, D, F> {
    /// For the same as a cursor. Does not allocate.
    pub(crate) fn new(cursor: &FetchCursor<'w, 's, D, F>) -> Self {
        Self { origin: cursor.origin(), numbers: Vec::new(), cursors: Vec::new() }
    }

    /// The cursor that is set to a location, with the row there. `None` if its storage does not match.
    #[inline]
    pub(crate) fn at(
        &mut self,
        location: EntityLocation,
    ) -> Option<(&mut FetchCursor<'w, 's, D, F>, TableRow)> {
        let storage = self.origin.state.storage(location);
        let number = match self.numbers.get(storage as usize) {
            Some(&number) if number != UNKNOWN => number,
            _ => self.add(storage),
        };
        Some((self.cursors.get_mut(number as usize)?, location.table_row))
    }

    /// The number of the cursor for a storage that is met for the first time.
    #[cold]
    fn add(&mut self, storage: u32) -> u32 {
        let mut number = NO_MATCH;
        if self.origin.state.matches(storage) {
            number = self.cursors.len() as u32;
            // SAFETY: as for the cursor that the origin was taken from, which lives as long. Callers of their
            // unsafe methods ensure that two of them fetch no data that conflicts.
            let mut cursor = unsafe { FetchCursor::of(self.origin) };
            cursor.enter(storage);
            self.cursors.push(cursor);
        }
        let at = storage as usize;
        if at >= self.numbers.len() {
            self.numbers.resize(at + 1, UNKNOWN);
        }
        self.numbers[at] = number;
        number
    }
}
