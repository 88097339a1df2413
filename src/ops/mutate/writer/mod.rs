//! The way into the store: nothing else links, unlinks or orders pairs, or stores the values that they carry.

mod observed;
mod together;

pub(super) use observed::InsertionKind;

use super::{
    plan::{Insertion, PairOrder},
    value::ValueSource,
};
use crate::{
    fetch,
    id::{RelationId, StoredPair, StoredTag},
    relation::{ColumnRef, Value},
    store::{Affected, FastPathFlags, NO_ROW, PairData, PairStore, Participants, RelationIndex},
    traverse::Direction,
};
use alloc::vec::Vec;
use bevy_ecs::{
    change_detection::Tick,
    entity::{Entity, EntityHashSet},
    world::DeferredWorld,
};
use core::iter::successors;

/// Changes pairs, without checking rules and without triggering events: the caller has done that, or asks for the fast
/// path, which is taken only where neither is needed.
pub(in crate::ops) struct PairWriter<'s> {
    store: &'s mut PairStore,
}

/// The result of an attempt to take the fast path.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(in crate::ops) enum FastPath {
    Done,
    /// An end is not marked yet, or the pair may close a cycle.
    NotReady,
    /// Only observers stand in the way of it.
    Observed,
    /// Components of the source are to be written after it.
    WithComponents,
    /// Others are to be inserted with it.
    Together,
    /// The components of its ends are to be looked at before it.
    Constrained,
    /// The relation has rules or values.
    Declined,
}

impl<'s> PairWriter<'s> {
    #[inline]
    pub(in crate::ops) fn new(store: &'s mut PairStore) -> Self {
        Self { store }
    }

    #[inline]
    fn index(&mut self, relation: RelationId) -> &mut RelationIndex {
        self.store.write_access(relation).0
    }

    /// The index of the relation, if a change takes the fast path.
    #[inline]
    fn fast_index(
        &mut self,
        relation: RelationId,
        flag: FastPathFlags,
        affected: Affected,
    ) -> Option<&mut RelationIndex> {
        Some(self.store.fast_access(relation, flag, affected)?.0)
    }

    /// The fast path for several insertions, without values. `None` if the relation does not have it.
    #[inline]
    pub(in crate::ops) fn fast_path(self, relation: RelationId, tick: Tick) -> Option<FastInsertions<'s>> {
        self.fast_insertions(relation, FastPathFlags::INSERT, tick)
    }

    /// The same for a relation that may have had no pair yet.
    pub(in crate::ops) fn first_insertions(
        self,
        relation: RelationId,
        flag: FastPathFlags,
        tick: Tick,
    ) -> Option<FastInsertions<'s>> {
        self.store.freeze(relation);
        if flag == FastPathFlags::INSERT_VALUE && !self.store.relation(relation).has_values() {
            self.store.write_access(relation).0.expect_values();
            self.store.refresh_fast_path(relation);
        }
        self.fast_insertions(relation, flag, tick)
    }

    #[inline]
    fn fast_insertions(
        self,
        relation: RelationId,
        flag: FastPathFlags,
        tick: Tick,
    ) -> Option<FastInsertions<'s>> {
        let (index, participants) = self.store.fast_access(relation, flag, Affected::Insertions)?;
        Some(FastInsertions { relation, index, participants, tick, last_target: None })
    }

    /// The fast path for pairs that carry values of their relation's type. `None` if the relation does not have it.
    #[inline]
    pub(in crate::ops) fn fast_values<T: Send + Sync + 'static>(
        self,
        relation: RelationId,
        values: &'s mut PairData<T>,
        flag: FastPathFlags,
        affected: Affected,
    ) -> Option<FastValues<'s, T>> {
        if !values.is_of(self.store.id()) {
            return None;
        }
        if let Affected::Insertion(source, target) = affected {
            self.store.remove_unchecked_unless_there(StoredPair { source, relation, target });
        }
        let (index, participants) = self.store.fast_access(relation, flag, affected)?;
        let gives_way = index.takes(FastPathFlags::REMOVE_VALUE);
        Some(FastValues { relation, index, participants, values, last_target: None, gives_way })
    }

    /// Inserts a pair on the fast path.
    #[inline]
    pub(in crate::ops) fn try_insert(self, pair: StoredPair, tick: Tick) -> FastPath {
        let affected = Affected::Insertion(pair.source, pair.target);
        match self.store.fast_access(pair.relation, FastPathFlags::INSERT, affected) {
            Some((index, participants)) => insert_if_ready(index, participants, pair, tick, None),
            None => self.decline(pair.relation, FastPathFlags::INSERT),
        }
    }

    /// Inserts a pair on the fast path of relations that are in tables or mirrored. The components of the source are still to
    /// be written.
    #[inline]
    pub(in crate::ops) fn try_insert_in_table(self, pair: StoredPair, tick: Tick) -> FastPath {
        let StoredPair { source, relation, target } = pair;
        let affected = Affected::Insertion(source, target);
        let access = self.store.fast_access(relation, FastPathFlags::INSERT_IN_TABLE, affected);
        let Some((index, participants)) = access else { return FastPath::Declined };
        let path = insert_if_ready(index, participants, pair, tick, None);
        if path == FastPath::Done {
            self.store.note_stale(relation, source);
        }
        path
    }

    /// Removes a pair on the same path. Returns whether it was there; `None` if the relation does not have it.
    #[inline]
    pub(in crate::ops) fn try_remove_in_table(&mut self, pair: StoredPair) -> Option<bool> {
        let affected = Affected::Target(pair.target);
        let index = self.fast_index(pair.relation, FastPathFlags::REMOVE_IN_TABLE, affected)?;
        let was_there = index.unlink(pair.source, pair.target).is_some();
        if was_there {
            self.store.note_stale(pair.relation, pair.source);
        }
        Some(was_there)
    }

    /// Why a change does not take the fast path.
    #[cold]
    #[inline(never)]
    fn decline(self, relation: RelationId, flag: FastPathFlags) -> FastPath {
        let index = self.store.relation(relation);
        if index.allows(flag) {
            FastPath::Observed
        } else if index.allows(FastPathFlags::INSERT_IN_TABLE) {
            FastPath::WithComponents
        } else if index.allows(FastPathFlags::INSERT_TOGETHER) {
            FastPath::Together
        } else if index.allows(FastPathFlags::INSERT_CONSTRAINED) {
            FastPath::Constrained
        } else {
            FastPath::Declined
        }
    }

    /// Removes a pair on the fast path. Returns whether it was there; `None` if the relation does not have the fast
    /// path.
    #[inline]
    pub(in crate::ops) fn try_remove(&mut self, pair: StoredPair) -> Option<bool> {
        let index = self.fast_index(pair.relation, FastPathFlags::REMOVE, Affected::Target(pair.target))?;
        Some(index.unlink(pair.source, pair.target).is_some())
    }

    /// Gives all sources of a target another one, on the fast path.
    pub(in crate::ops) fn try_move_sources(
        self,
        relation: RelationId,
        from: Entity,
        to: Entity,
        tick: Tick,
    ) -> FastPath {
        let unlinks =
            self.store.fast_access(relation, FastPathFlags::REMOVE, Affected::Target(from)).is_some();
        let access = self.store.fast_access(relation, FastPathFlags::INSERT, Affected::Target(to));
        let Some((index, participants)) = access.filter(|_| unlinks) else { return FastPath::Declined };
        // The sources of `from` lie above `to` only if `from` does.
        let may_close_cycle = index.is_acyclic()
            && match index.is_exclusive() {
                true => successors(Some(to), |&entity| index.first_target(entity)).any(|above| above == from),
                false => index.has_any(to),
            };
        if may_close_cycle || !participants.note_relation_if_ready(to, relation, index.bit()) {
            return FastPath::NotReady;
        }
        let sources = index.unlink_target(from);
        for source in sources.into_iter().flatten() {
            index.link(source, to, tick);
        }
        FastPath::Done
    }

    /// Inserts the pair of a component that was inserted, on the fast path.
    #[inline]
    pub(in crate::ops) fn try_mirror(&mut self, pair: StoredPair, tick: Tick) -> FastPath {
        let StoredPair { source, relation, target } = pair;
        let Some(index) = self.fast_index(relation, FastPathFlags::MIRROR, Affected::Target(target)) else {
            return FastPath::Declined;
        };
        if may_close_cycle(index, source, target) || index.has_any(source) {
            return FastPath::NotReady;
        }
        index.link(source, target, tick);
        FastPath::Done
    }

    /// Removes the pair of a component that goes, on the fast path.
    #[inline]
    pub(in crate::ops) fn try_unlink(&mut self, pair: StoredPair) -> FastPath {
        let affected = Affected::Target(pair.target);
        let Some(index) = self.fast_index(pair.relation, FastPathFlags::UNLINK, affected) else {
            return FastPath::Declined;
        };
        index.unlink(pair.source, pair.target);
        FastPath::Done
    }

    /// Removes all pairs that `source` has of the relation, on the fast path.
    #[inline]
    pub(in crate::ops) fn try_unlink_source(&mut self, relation: RelationId, source: Entity) -> FastPath {
        let Some(index) = self.fast_index(relation, FastPathFlags::UNLINK, Affected::Source(source)) else {
            return FastPath::Declined;
        };
        while let Some(target) = index.first_target(source) {
            index.unlink(source, target);
        }
        FastPath::Done
    }

    /// Removes all pairs of the relation with this target, on the fast path.
    #[inline]
    pub(in crate::ops) fn try_unlink_target(&mut self, relation: RelationId, target: Entity) -> FastPath {
        let Some(index) = self.fast_index(relation, FastPathFlags::UNLINK, Affected::Target(target)) else {
            return FastPath::Declined;
        };
        index.unlink_target(target);
        FastPath::Done
    }

    /// Inserts a pair that is not there, with the row of its value.
    pub(in crate::ops) fn insert(&mut self, pair: StoredPair, row: Option<u32>, tick: Tick) {
        let StoredPair { source, relation, target } = pair;
        self.store.remove_unchecked(pair);
        let (index, participants) = self.store.write_access(relation);
        participants.note_relation(source, relation);
        participants.note_relation(target, relation);
        index.link(source, target, tick);
        self.store.note_stale(relation, source);
        if let Some(row) = row {
            self.set_row(pair, row);
        }
    }

    /// Notes that the value of a pair was replaced. It has a row if it had none before.
    pub(in crate::ops) fn replace(&mut self, pair: StoredPair, row: Option<u32>, tick: Tick) {
        let StoredPair { source, relation, target } = pair;
        if let Some(row) = row
            && self.store.relation(relation).row(source, target).is_none()
        {
            self.set_row(pair, row);
        }
        self.index(relation).note_replaced(source, target, tick);
        self.store.note_mirrored(relation);
    }

    fn set_row(&mut self, pair: StoredPair, row: u32) {
        let index = self.index(pair.relation);
        let had_rows = index.has_values();
        index.set_row(pair.source, pair.target, row);
        if !had_rows {
            self.store.refresh_fast_path(pair.relation);
        }
    }

    /// Takes the row of its value from a pair, and from its other direction, which are about to be removed.
    fn detach(&mut self, pair: StoredPair) {
        for pair in self.store.both_ways(pair) {
            self.index(pair.relation).set_row(pair.source, pair.target, NO_ROW);
        }
    }

    /// Removes a pair. Returns the row of its value, which is still to be [taken out](take_value).
    pub(in crate::ops) fn remove(&mut self, pair: StoredPair) -> Option<(ColumnRef, u32)> {
        let StoredPair { source, relation, target } = pair;
        let index = self.index(relation);
        let row = index.unlink(source, target)?;
        self.store.note_stale(relation, source);
        let index = self.store.relation(relation);
        if index.counts_sources() && !index.is_target(target) {
            self.store.note_orphan(relation, target);
        }
        if row == NO_ROW {
            return None;
        }
        Some((self.store.column_of(relation, source, target)?, row))
    }

    /// Inserts a tag.
    pub(in crate::ops) fn insert_tag(&mut self, StoredTag { source, tag }: StoredTag) {
        let (tags, participants) = self.store.tags_access();
        participants.set_tagged(source);
        participants.set_tagged(tag);
        // Nothing asks when a tag was inserted.
        tags.link(source, tag, Tick::default());
    }

    /// Removes a tag.
    pub(in crate::ops) fn remove_tag(&mut self, StoredTag { source, tag }: StoredTag) {
        self.store.tags_access().0.unlink(source, tag);
    }

    /// Removes a tag, if nothing observes that. Returns whether it was there; `None` if there may be observers.
    pub(in crate::ops) fn try_remove_tag(&mut self, StoredTag { source, tag }: StoredTag) -> Option<bool> {
        let tags = self.store.fast_tags_access(FastPathFlags::REMOVE, &[Affected::Target(tag)])?;
        Some(tags.unlink(source, tag).is_some())
    }

    /// Removes all tags that `entity` has, and those that it is, if nothing observes that.
    pub(in crate::ops) fn try_remove_tags(&mut self, entity: Entity) -> FastPath {
        let affected = [Affected::Target(entity), Affected::Source(entity)];
        let Some(tags) = self.store.fast_tags_access(FastPathFlags::UNLINK, &affected) else {
            return FastPath::Declined;
        };
        tags.unlink_target(entity);
        while let Some(tag) = tags.first_target(entity) {
            tags.unlink(entity, tag);
        }
        FastPath::Done
    }

    /// Puts the sources of a target into another order, which must be a permutation of them.
    pub(in crate::ops) fn reorder(&mut self, relation: RelationId, target: Entity, order: &[Entity]) {
        self.index(relation).reorder(target, order);
    }

    /// Puts pairs that are there into the order that was planned for them.
    pub(in crate::ops) fn arrange(&mut self, planned: &PairOrder) {
        let PairOrder { relation, entity, direction, ref order } = *planned;
        let index = self.index(relation);
        match direction {
            Direction::Targets => {
                if let Some(order) = arranged(index.targets(entity), order) {
                    index.reorder_targets(entity, &order);
                    self.store.note_stale(relation, entity);
                }
            }
            Direction::Sources => {
                if let Some(order) = arranged(index.sources(entity), order) {
                    index.reorder(entity, &order);
                }
            }
        }
    }
}

/// A list with those of its entities that `order` names in that order; the others stay where they are. `None` if that
/// is how they are.
pub(crate) fn arranged(list: impl Iterator<Item = Entity>, order: &[Entity]) -> Option<Vec<Entity>> {
    let list: Vec<Entity> = list.collect();
    let there: EntityHashSet = list.iter().copied().collect();
    let named: EntityHashSet = order.iter().copied().collect();
    let mut ordered = order.iter().copied().filter(|entity| there.contains(entity));
    let in_order =
        list.iter().map(|&entity| if named.contains(&entity) { ordered.next() } else { Some(entity) });
    let arranged: Vec<Entity> = in_order.flatten().collect();
    (arranged != list && arranged.len() == list.len()).then_some(arranged)
}

/// Insertions of pairs of one relation on the fast path.
pub(in crate::ops) struct FastInsertions<'s> {
    relation: RelationId,
    index: &'s mut RelationIndex,
    participants: &'s mut Participants,
    /// When they are inserted.
    tick: Tick,
    /// The target of the last one, which is ready for the next.
    last_target: Option<Entity>,
}

impl FastInsertions<'_> {
    /// Inserts a pair if its ends are ready.
    #[inline]
    pub(in crate::ops) fn insert(&mut self, source: Entity, target: Entity) -> FastPath {
        let pair = StoredPair { source, relation: self.relation, target };
        let done = insert_if_ready(self.index, self.participants, pair, self.tick, self.last_target);
        if done == FastPath::Done {
            self.last_target = Some(target);
        }
        done
    }

    /// The same for a pair that is not there, with the row of its value.
    #[inline]
    pub(in crate::ops) fn insert_with_row(&mut self, source: Entity, target: Entity, row: u32) -> FastPath {
        let done = self.insert(source, target);
        if done == FastPath::Done {
            self.index.set_row(source, target, row);
        }
        done
    }
}

/// Changes of pairs that carry values of their relation's type, on the fast path.
pub(in crate::ops) struct FastValues<'s, T: Send + Sync + 'static> {
    relation: RelationId,
    index: &'s mut RelationIndex,
    participants: &'s mut Participants,
    values: &'s mut PairData<T>,
    /// The target of the last insertion, which is ready for the next.
    last_target: Option<Entity>,
    /// Of an exclusive relation: another pair may make way.
    gives_way: bool,
}

impl<T: Send + Sync + 'static> FastValues<'_, T> {
    /// Inserts a pair, or replaces its value; returns the old one, for the caller to drop, or that of the pair that makes way.
    ///
    /// # Errors
    /// The value, if its pair does not take the fast path: an end is not ready, another pair cannot give way, or there
    /// may be a cycle.
    #[inline]
    pub(in crate::ops) fn insert(
        &mut self,
        source: Entity,
        value: T,
        target: Entity,
        tick: Tick,
    ) -> Result<Option<T>, T> {
        let pair = StoredPair { source, relation: self.relation, target };
        if !note_relation_of_ends(self.index, self.participants, pair, self.last_target)
            || may_close_cycle(self.index, source, target)
        {
            return Err(value);
        }
        self.last_target = Some(target);
        if self.index.has_any(source) {
            if let Some(row) = self.index.row(source, target) {
                self.index.note_replaced(source, target, tick);
                return Ok(self.values.replace(row, value, tick));
            }
            if self.index.has(source, target) || (self.index.is_exclusive() && !self.gives_way) {
                return Err(value);
            }
        }
        let makes_way = if self.index.is_exclusive() { self.index.first_target(source) } else { None };
        let old = makes_way.and_then(|other| self.remove(source, other)).flatten();
        self.index.link(source, target, tick);
        self.index.set_row(source, target, self.values.insert(value, tick));
        Ok(old)
    }

    /// Removes a pair. Returns its value, for the caller to drop; `None` if there was no such pair.
    #[inline]
    pub(in crate::ops) fn remove(&mut self, source: Entity, target: Entity) -> Option<Option<T>> {
        let row = self.index.unlink(source, target)?;
        Some(self.values.take(row))
    }
}

/// Inserts a pair if its ends are ready, in place of the one that the source of an exclusive relation has. `known` is a
/// target that is known to be ready.
#[inline]
fn insert_if_ready(
    index: &mut RelationIndex,
    participants: &mut Participants,
    pair: StoredPair,
    tick: Tick,
    known: Option<Entity>,
) -> FastPath {
    let StoredPair { source, target, .. } = pair;
    if !note_relation_of_ends(index, participants, pair, known) || may_close_cycle(index, source, target) {
        return FastPath::NotReady;
    }
    if index.is_exclusive()
        && !index.has(source, target)
        && !index.retarget(source, target)
        && let Some(old) = index.first_target(source)
    {
        index.unlink(source, old);
    }
    index.link(source, target, tick);
    FastPath::Done
}

/// Notes that both ends of a pair take part in its relation. False if more has to be done for them to have it.
#[inline]
fn note_relation_of_ends(
    index: &RelationIndex,
    participants: &mut Participants,
    pair: StoredPair,
    known: Option<Entity>,
) -> bool {
    let StoredPair { source, relation, target } = pair;
    participants.note_relation_if_ready(source, relation, index.bit())
        && (known == Some(target) || participants.note_relation_if_ready(target, relation, index.bit()))
}

/// Whether an acyclic relation must be searched for a cycle: only an entity that has sources of its own can close one.
#[inline]
fn may_close_cycle(index: &RelationIndex, source: Entity, target: Entity) -> bool {
    index.is_acyclic() && (source == target || index.is_target(source))
}

/// Stores a value in the row that the pair has, or in a new one. Returns the row; `None` if the column is gone.
pub(in crate::ops) fn store_value(
    world: &mut DeferredWorld<'_>,
    column: ColumnRef,
    value: Value<'_>,
    row: Option<u32>,
) -> Option<u32> {
    let Some(row) = row else { return column.insert_value(world, value) };
    let replaced = column.replace_value(world, row, value);
    if let Some(store) = fetch::deferred_store(world).filter(|_| replaced) {
        store.note_removed(column);
    }
    replaced.then_some(row)
}

/// Takes the values of pairs that are not inserted after all out of their rows.
#[cold]
pub(in crate::ops) fn take_back(
    world: &mut DeferredWorld<'_>,
    insertions: &[Insertion],
    rows: &[Option<u32>],
) {
    let mut moved = None;
    for (Insertion { pair, value, column, replaced }, &row) in insertions.iter().zip(rows) {
        let (Some(column), Some(row)) = (*column, row) else { continue };
        // It stays with the pair that has it. The other direction, which is next, has the same.
        if matches!(value, ValueSource::Moved(_)) {
            moved = Some((pair.relation, row));
        } else if !replaced && moved != Some((pair.relation, row)) {
            take_value(world, column, row);
        }
    }
}

/// Takes the rows that move from the pairs that had them, so that the values do not go with those.
pub(in crate::ops) fn detach_moved(world: &mut DeferredWorld<'_>, insertions: &[Insertion]) {
    for Insertion { pair, value, .. } in insertions {
        if let ValueSource::Moved(from) = *value
            && let Some(store) = fetch::deferred_store(world)
        {
            PairWriter::new(store).detach(StoredPair { target: from, ..*pair });
        }
    }
}

/// Takes a value out of its row. It is dropped when the operation is complete.
pub(in crate::ops) fn take_value(world: &mut DeferredWorld<'_>, column: ColumnRef, row: u32) {
    column.remove_value(world, row);
    if let Some(store) = fetch::deferred_store(world) {
        store.note_removed(column);
    }
}
