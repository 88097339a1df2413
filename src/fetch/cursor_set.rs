//! Data of entities that are in several storages, in turn.
#![expect(unsafe_code, reason = "data of several entities is fetched past the borrow checker")]

use super::{FetchCursor, origin::Origin};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::EntityLocation,
    query::{QueryFilter, ReadOnlyQueryData},
    storage::TableRow,
};

/// A cursor for each storage that matches: each is set once, however often one goes from one storage to another.
pub(crate) struct CursorSet<'w, 's, D: ReadOnlyQueryData, F: QueryFilter> {
    origin: Origin<'w, 's, D, F>,
    /// By place among the storages of the state. Empty until the first is needed.
    cursors: Vec<Option<FetchCursor<'w, 's, D, F>>>,
}

impl<'w, 's, D: ReadOnlyQueryData, F: QueryFilter> CursorSet<'w, 's, D, F> {
    /// For whatever a cursor is for. Does not allocate.
    pub(crate) fn new(cursor: &FetchCursor<'w, 's, D, F>) -> Self {
        Self { origin: cursor.origin(), cursors: Vec::new() }
    }

    /// The cursor that is set to a location, with the row there. `None` if its storage does not match.
    #[inline]
    pub(crate) fn at(
        &mut self,
        location: EntityLocation,
    ) -> Option<(&mut FetchCursor<'w, 's, D, F>, TableRow)> {
        let state = self.origin.state;
        let place = state.places.get(state.storage(location) as usize)?.checked_sub(1)? as usize;
        if !matches!(self.cursors.get(place), Some(Some(_))) {
            self.add(place);
        }
        let cursor = self.cursors.get_mut(place)?.as_mut()?;
        Some((cursor, location.table_row))
    }

    #[cold]
    fn add(&mut self, place: usize) {
        let storages = &self.origin.state.storages;
        if self.cursors.is_empty() {
            self.cursors.resize_with(storages.len(), || None);
        }
        // SAFETY: as for the cursor that the origin was taken from, which lives as long. Both only read.
        let mut cursor = unsafe { FetchCursor::of(self.origin) };
        cursor.enter(storages[place]);
        self.cursors[place] = Some(cursor);
    }
}
