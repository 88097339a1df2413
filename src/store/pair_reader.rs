//! Reading what happened to the pairs of a relation, with the values that were written in place.

use super::{
    PairStore,
    column::PairData,
    index::RelationIndex,
    journal::{Change, Cursor, PairDeltaKind},
    ticks::TickChecks,
};
use crate::id::RelationId;
use alloc::vec::Vec;
use bevy_ecs::{change_detection::Tick, entity::Entity};
use bevy_platform::collections::HashSet;

/// How far the changes of one relation were read.
#[derive(Default)]
pub(crate) struct PairReader {
    cursor: Cursor,
    /// How often values had been borrowed by then.
    write_borrows: u64,
    /// When values were read.
    read_at: Tick,
    tick_checks: TickChecks,
    /// What was found by its ticks.
    written: Vec<Change>,
}

impl PairReader {
    /// The next read starts anew.
    pub(crate) fn start_anew(&mut self) {
        self.cursor = Cursor::default();
        self.written.clear();
    }

    /// The pairs of which values were found to be written in place by the last read: none of those that are reported as
    /// inserted or written anyway.
    pub(crate) fn written(&self) -> &[Change] {
        &self.written
    }

    /// Reads up to the end, at a time, and returns what the journal has reported since the last read. `None` if that is not
    /// known.
    ///
    /// # Complexity
    /// O(1), unless values were borrowed to be written in place: then O(pairs + changes).
    pub(crate) fn advance<'w, T: Send + Sync + 'static>(
        &mut self,
        store: &'w PairStore,
        id: RelationId,
        values: Option<&PairData<T>>,
        now: Tick,
    ) -> Option<&'w [Change]> {
        let since = core::mem::take(&mut self.cursor);
        self.written.clear();
        let (index, checks) = (store.relation(id), store.tick_checks());
        let journal = index.journal()?;
        let mut reported = journal.since(since);
        self.cursor = journal.cursor();
        let write_borrows = values.map_or(0, PairData::write_borrows);
        if let (Some(changes), Some(values)) = (reported, values)
            && write_borrows != self.write_borrows
        {
            match checks.can_compare(self.tick_checks) {
                true => self.find_written((index, values), changes, now),
                false => reported = None,
            }
        }
        (self.write_borrows, self.read_at, self.tick_checks) = (write_borrows, now, checks);
        reported
    }

    fn find_written<T: Send + Sync + 'static>(
        &mut self,
        (index, values): (&RelationIndex, &PairData<T>),
        changes: &[Change],
        now: Tick,
    ) {
        let is_new = |tick: Tick| tick.is_newer_than(self.read_at, now);
        let mut known: Option<HashSet<(Entity, Entity)>> = None;
        index.for_each_row(|source, target, row| {
            if !values.changed(row).is_some_and(is_new) {
                return;
            }
            let known = known.get_or_insert_with(|| {
                let gives_value = |change: &&Change| {
                    matches!(change.kind, PairDeltaKind::Inserted | PairDeltaKind::Written)
                };
                changes.iter().filter(gives_value).map(|change| (change.source, change.target)).collect()
            });
            if !known.contains(&(source, target)) {
                self.written.push(Change { source, target, kind: PairDeltaKind::Written });
            }
        });
    }
}
