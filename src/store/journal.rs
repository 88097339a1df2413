//! What happened lately to the pairs of a relation, for code that keeps something derived from them: the
//! levels of a cascade, the pairs that were removed.

use alloc::vec::Vec;
use bevy_ecs::entity::Entity;
use bevy_platform::collections::HashSet;
use core::sync::atomic::{AtomicUsize, Ordering};

/// A pair that came or went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) source: Entity,
    pub(crate) target: Entity,
    pub(crate) removed: bool,
}

/// How far a reader has come. The default has read nothing of any journal.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Cursor {
    journal: usize,
    at: u64,
}

impl Cursor {
    /// Notes that one more change was read.
    pub(crate) fn step(&mut self) {
        self.at += 1;
    }
}

/// More changes than this, and than there are pairs, are dropped if no reader needs each of them: what derives
/// something starts anew.
const MIN_LIMIT: usize = 1 << 16;

/// The changes of one relation since some time before the last update.
pub(crate) struct Journal {
    /// No two journals of a program have the same.
    id: usize,
    changes: Vec<Change>,
    /// The number of the first change.
    first: u64,
    /// The number of the first change after the last update.
    updated: u64,
    /// A reader needs every change: none may be dropped between updates.
    complete: bool,
}

impl Default for Journal {
    fn default() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id, changes: Vec::new(), first: 0, updated: 0, complete: false }
    }
}

impl Journal {
    /// From now on each change stays for at least one update.
    pub(crate) fn keep_all(&mut self) {
        self.complete = true;
    }

    /// Notes a change of a relation that has this many pairs.
    pub(crate) fn record(&mut self, change: Change, pairs: usize) {
        if self.changes.len() >= MIN_LIMIT.max(pairs) && !self.complete {
            self.drop_before(self.end());
        }
        self.changes.push(change);
    }

    /// The place behind the last change.
    pub(crate) fn cursor(&self) -> Cursor {
        Cursor { journal: self.id, at: self.end() }
    }

    /// The changes that came after `cursor`. `None` if some of them were dropped.
    pub(crate) fn since(&self, cursor: Cursor) -> Option<&[Change]> {
        if cursor.journal != self.id {
            return None;
        }
        self.changes.get(usize::try_from(cursor.at.checked_sub(self.first)?).ok()?..)
    }

    /// All changes that are still here.
    pub(crate) fn all(&self) -> &[Change] {
        &self.changes
    }

    /// [`since`](Self::since), or all if some were dropped; `cursor` is put where they start.
    pub(crate) fn catch_up(&self, cursor: &mut Cursor) -> &[Change] {
        self.since(*cursor).unwrap_or_else(|| {
            *cursor = Cursor { journal: self.id, at: self.first };
            self.all()
        })
    }

    /// Forgets the changes from before the last update.
    pub(crate) fn update(&mut self) {
        self.drop_before(self.updated);
        self.updated = self.end();
    }

    /// What is told of a pair that does not agree with there being such a pair now, if anything, for the invariant
    /// checker: what happened to a pair last decides whether it is there.
    pub(super) fn fault(&self, has: impl Fn(Entity, Entity) -> bool) -> Option<Change> {
        let mut told = HashSet::<(Entity, Entity)>::default();
        let mut last = self.changes.iter().rev().filter(|change| told.insert((change.source, change.target)));
        last.find(|change| has(change.source, change.target) == change.removed).copied()
    }

    fn end(&self) -> u64 {
        self.first + self.changes.len() as u64
    }

    fn drop_before(&mut self, number: u64) {
        let Some(gone) = number.checked_sub(self.first) else { return };
        self.changes.drain(..gone as usize);
        self.first = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change() -> Change {
        let entity = Entity::from_raw_u32(1).unwrap();
        Change { source: entity, target: entity, removed: false }
    }

    #[test]
    fn a_change_stays_for_one_update_and_is_gone_after_the_second() {
        let mut journal = Journal::default();
        let start = journal.cursor();
        journal.record(change(), 0);
        journal.update();
        assert_eq!(journal.since(start).map(<[_]>::len), Some(1));
        journal.update();
        assert!(journal.since(start).is_none());
        assert_eq!(journal.since(journal.cursor()).map(<[_]>::len), Some(0));
    }

    #[test]
    fn too_many_changes_are_dropped_unless_each_is_read() {
        let fill = |mut journal: Journal| {
            let start = journal.cursor();
            (0..=MIN_LIMIT).for_each(|_| journal.record(change(), 0));
            journal.since(start).map(<[_]>::len)
        };
        let mut complete = Journal::default();
        complete.keep_all();
        assert_eq!(fill(complete), Some(MIN_LIMIT + 1));
        assert_eq!(fill(Journal::default()), None);
    }

    #[test]
    fn a_cursor_of_another_journal_is_not_followed() {
        assert!(Journal::default().since(Journal::default().cursor()).is_none());
        assert!(Journal::default().since(Cursor::default()).is_none());
    }
}
