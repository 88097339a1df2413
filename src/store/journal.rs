//! What happened lately to the pairs of a relation, for code that keeps something derived from them: the
//! levels of a cascade, the pairs that were removed. Live expressions keep journals of components too.

use alloc::vec::Vec;
use bevy_ecs::entity::Entity;
use bevy_platform::collections::HashSet;
use core::sync::atomic::{AtomicUsize, Ordering};

/// What happened to a pair, in a [`PairDelta`](crate::live::PairDelta).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::{PairDeltaKind, PairDeltas}, prelude::*};
///
/// #[derive(Relation)]
/// struct Owes(u32);
///
/// fn read(mut deltas: PairDeltas<Owes>) -> Vec<PairDeltaKind> {
///     deltas.read().map_or(Vec::new(), |deltas| deltas.map(|delta| delta.kind).collect())
/// }
///
/// let mut world = World::new();
/// let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// world.run_system_cached(read)?; // reading starts here
/// world.insert_pair(ann, Owes(5), ben)?;
/// world.insert_pair(ann, Owes(6), ben)?;
/// world.remove_pair::<Owes>(ann, ben);
/// let kinds = [PairDeltaKind::Inserted, PairDeltaKind::Written, PairDeltaKind::Removed];
/// assert_eq!(world.run_system_cached(read)?, kinds);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PairDeltaKind {
    /// The pair was inserted. A pair that is removed and inserted again counts as both: its position in the order has
    /// changed.
    Inserted,
    /// The pair was removed, whatever the cause.
    Removed,
    /// The value of the pair was replaced by an insertion, or borrowed to be written in place.
    Written,
    /// The sources of the target were put into another order. The pair is one of theirs.
    SourcesReordered,
    /// The targets of the source were put into another order. The pair is one of theirs.
    TargetsReordered,
}

/// Something that happened to a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    pub(crate) source: Entity,
    pub(crate) target: Entity,
    pub(crate) kind: PairDeltaKind,
}

impl Change {
    /// The pair went. Otherwise it was there when this was noted.
    #[inline]
    pub(crate) fn is_removal(&self) -> bool {
        self.kind == PairDeltaKind::Removed
    }
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

/// At least this many stay for readers that do not run in every frame.
const LASTING: usize = 1 << 13;

/// The changes of one relation, or of what else is followed, since some time before the last update.
pub(crate) struct Journal<T = Change> {
    /// No two journals of a program have the same.
    id: usize,
    changes: Vec<T>,
    /// The number of the first change.
    first: u64,
    /// The number of the first change after the last update but one.
    recent: u64,
    /// The number of the first change after the last update.
    updated: u64,
    /// A reader needs every change: none may be dropped between updates.
    complete: bool,
    /// A reader may run less often than there are updates.
    lasting: bool,
    /// A reader needs the values that are replaced, too.
    records_replaced_values: bool,
}

impl<T> Default for Journal<T> {
    fn default() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            id,
            changes: Vec::new(),
            first: 0,
            recent: 0,
            updated: 0,
            complete: false,
            lasting: false,
            records_replaced_values: false,
        }
    }
}

impl<T> Journal<T> {
    /// From now on each change stays for at least one update.
    pub(crate) fn keep_all(&mut self) {
        self.complete = true;
    }

    /// From now on changes stay over several updates if they are few.
    pub(crate) fn keep_longer(&mut self) {
        self.lasting = true;
    }

    /// From now on values that are replaced are reported, too.
    pub(crate) fn record_replaced_values(&mut self) {
        self.records_replaced_values = true;
    }

    #[inline]
    pub(crate) fn records_replaced_values(&self) -> bool {
        self.records_replaced_values
    }

    /// Notes a change of a relation that has this many pairs.
    pub(crate) fn record(&mut self, change: T, pairs: usize) {
        if self.changes.len() >= MIN_LIMIT.max(pairs) && !self.complete {
            self.drop_before(self.end());
        }
        self.changes.push(change);
    }

    /// The place behind the last change.
    pub(crate) fn cursor(&self) -> Cursor {
        Cursor { journal: self.id, at: self.end() }
    }

    /// The place before the first change that there ever was.
    pub(crate) fn start(&self) -> Cursor {
        Cursor { journal: self.id, at: 0 }
    }

    /// The changes that came after `cursor`. `None` if some of them were dropped.
    pub(crate) fn since(&self, cursor: Cursor) -> Option<&[T]> {
        if cursor.journal != self.id {
            return None;
        }
        self.changes.get(usize::try_from(cursor.at.checked_sub(self.first)?).ok()?..)
    }

    /// [`since`](Self::since), or what is not older than the last update but one if some were dropped; `cursor` is put
    /// where they start.
    pub(crate) fn catch_up(&self, cursor: &mut Cursor) -> &[T] {
        self.since(*cursor).unwrap_or_else(|| {
            *cursor = Cursor { journal: self.id, at: self.recent.max(self.first) };
            self.since(*cursor).unwrap_or_default()
        })
    }

    /// Drops the changes from before the last update, or from long before it if there are readers that do not run in
    /// every frame.
    pub(crate) fn update(&mut self) {
        self.recent = self.updated;
        if !self.lasting {
            self.drop_before(self.updated);
        } else if self.changes.len() > 2 * LASTING {
            // Several at once, so that those that stay are not moved each time.
            self.drop_before(self.updated.min(self.end() - LASTING as u64));
        }
        self.updated = self.end();
        if self.changes.capacity() > MIN_LIMIT && self.changes.len() < self.changes.capacity() / 4 {
            self.changes.shrink_to(self.changes.len() * 2);
        }
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

impl Journal {
    /// What is reported of a pair that does not agree with there being such a pair now, if anything, for the invariant
    /// checker: what happened to a pair last decides whether it is there.
    pub(super) fn fault(&self, has: impl Fn(Entity, Entity) -> bool) -> Option<Change> {
        let mut seen = HashSet::<(Entity, Entity)>::default();
        let mut last = self.changes.iter().rev().filter(|change| seen.insert((change.source, change.target)));
        last.find(|change| has(change.source, change.target) == change.is_removal()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change() -> Change {
        let entity = Entity::from_raw_u32(1).unwrap();
        Change { source: entity, target: entity, kind: PairDeltaKind::Inserted }
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
    fn few_changes_stay_for_readers_that_are_late_and_many_do_not_pile_up() {
        let mut journal = Journal::default();
        journal.keep_longer();
        let start = journal.cursor();
        for _ in 0..10 {
            journal.record(change(), 0);
            journal.update();
        }
        assert_eq!(journal.since(start).map(<[_]>::len), Some(10));
        // A new reader gets what is not older than the last update but one.
        let mut late = Cursor::default();
        assert_eq!(journal.catch_up(&mut late).len(), 1);
        for _ in 0..10 * LASTING {
            journal.record(change(), 0);
            journal.update();
            assert!(journal.changes.len() <= 2 * LASTING + 1);
        }
        assert!(journal.since(start).is_none());
    }

    #[test]
    fn a_cursor_of_another_journal_is_not_followed() {
        assert!(Journal::<Change>::default().since(Journal::<Change>::default().cursor()).is_none());
        assert!(Journal::<Change>::default().since(Cursor::default()).is_none());
    }
}
