//! Removing pairs.

use super::{
    event::{self, PairChange, PairEvent, Removal},
    operation::{Operation, despawn_orphans, queue_despawn_of_orphans},
    writer::{FastPath, PairWriter, take_value},
};
use crate::{
    fetch,
    id::{PairId, RelationId, Slot, StoredPair, StoredTag},
    ops::register::{store::index_children, table::write_stale},
    relation::{Adopted, CHILD_OF, Relation, if_fields},
    store::{Affected, FastPathFlags, PairStore},
    traverse::{Relations, is_child_of},
};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::Entity,
    world::{DeferredWorld, World},
};
use smallvec::SmallVec;

/// Pairs and tags that are there.
#[derive(Default)]
pub(crate) struct Selection {
    pub(crate) tags: Vec<StoredTag>,
    pub(crate) pairs: Vec<StoredPair>,
}

impl Selection {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.tags.len() + self.pairs.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.pairs.is_empty()
    }

    /// Every entity that has one of them, in their order, some more than once.
    pub(crate) fn sources(&self) -> impl Iterator<Item = Entity> + use<'_> {
        self.tags.iter().map(|tag| tag.source).chain(self.pairs.iter().map(|pair| pair.source))
    }
}

/// The result of a removal.
#[must_use]
pub(crate) struct Removed {
    /// Events were triggered.
    pub(crate) observed: bool,
    /// Targets have lost their last source, and wait for [`despawn_orphans`].
    pub(crate) orphans: bool,
}

/// [`remove`] for pairs and tags.
pub(crate) fn remove_all(world: &mut DeferredWorld<'_>, selection: &Selection, removal: Removal) -> Removed {
    let mut observed = false;
    for &tag in &selection.tags {
        if event::is_tag_observed(world, PairEvent::Removed, tag) {
            event::trigger_tag(world, PairChange::Removed(removal), tag);
            observed = true;
        }
    }
    observed |= trigger_removed(world, &selection.pairs, removal);
    if let Some(store) = fetch::deferred_store(world) {
        let mut writer = PairWriter::new(store);
        selection.tags.iter().for_each(|&tag| writer.remove_tag(tag));
    }
    let orphans = unlink(world, &selection.pairs);
    Removed { observed, orphans }
}

/// Triggers the events of the pairs, then removes them with their values. True if events were triggered.
///
/// The pairs are removed as they are: the caller has added the other directions of symmetric ones, and takes care of
/// the components of adopted ones. The values are dropped by [`drop_removed`], when the operation is complete: their
/// `Drop` may panic.
pub(crate) fn remove(world: &mut DeferredWorld<'_>, pairs: &[StoredPair], removal: Removal) -> bool {
    let triggered = trigger_removed(world, pairs, removal);
    if unlink(world, pairs) {
        queue_despawn_of_orphans(world);
    }
    triggered
}

/// Triggers the events of pairs that are about to be removed. True if there may be observers.
pub(super) fn trigger_removed(world: &mut DeferredWorld<'_>, pairs: &[StoredPair], removal: Removal) -> bool {
    let mut observed = false;
    for (at, &pair) in pairs.iter().enumerate() {
        if event::is_observed(world, PairEvent::Removed, pair) {
            // The two directions of a symmetric pair stand next to each other.
            let follows_mirror = at > 0 && pairs[at - 1] == pair.mirror();
            let is_mirror = follows_mirror
                && fetch::store(world).is_some_and(|store| store.relation(pair.relation).is_symmetric());
            let removal = if is_mirror { removal.of_mirror() } else { removal };
            event::trigger(world, PairChange::Removed(removal), pair);
            observed = true;
        }
    }
    observed
}

/// Removes pairs whose events were triggered, with their values. Returns whether targets wait for [`despawn_orphans`]
/// now.
#[must_use]
pub(super) fn unlink(world: &mut DeferredWorld<'_>, pairs: &[StoredPair]) -> bool {
    let Some(store) = fetch::deferred_store(world) else { return false };
    let mut writer = PairWriter::new(store);
    let rows: SmallVec<[_; 4]> = pairs.iter().filter_map(|&pair| writer.remove(pair)).collect();
    let orphans = store.defer_noted_orphans();
    // Both directions of a symmetric pair name one row, which goes with the first.
    for (column, row) in rows {
        take_value(world, column, row);
    }
    orphans
}

/// Drops the values that were removed or replaced, unless a cascade goes on, which does it at its end.
pub(crate) fn drop_removed(world: &mut World) {
    loop {
        let Some(column) = fetch::store_mut(world).and_then(PairStore::next_removed) else { return };
        column.drop_removed(&mut DeferredWorld::from(&mut *world));
    }
}

/// Writes the components of stale sources and drops removed values, as the next commands.
pub(in crate::ops) fn queue_completion(world: &mut DeferredWorld<'_>) {
    let Some(store) = fetch::store(world) else { return };
    let (has_stale, has_removed) = (store.has_stale_sources(), store.has_removed_values());
    if has_stale {
        world.commands().queue(write_stale);
    }
    if has_removed {
        world.commands().queue(drop_removed);
    }
}

/// [`queue_completion`] at once.
pub(super) fn complete(world: &mut World, rest: &mut Completion) {
    let Some(store) = fetch::store(world) else { return };
    let (has_stale, has_removed) = (store.has_stale_sources(), store.has_removed_values());
    if has_stale {
        rest.run(|| write_stale(world));
    }
    if has_removed {
        rest.run(|| drop_removed(world));
    }
}

/// The pairs with the other directions of symmetric ones, each once.
pub(crate) fn with_mirrors(store: &PairStore, pairs: Vec<StoredPair>) -> Vec<StoredPair> {
    if pairs.len() < 2 && !pairs.iter().any(|pair| store.relation(pair.relation).is_symmetric()) {
        return pairs;
    }
    let mut all: Vec<StoredPair> = Vec::with_capacity(pairs.len() * 2);
    let mut seen = bevy_platform::collections::HashSet::<(u32, Entity, Entity)>::default();
    for pair in pairs {
        for pair in store.both_ways(pair) {
            if seen.insert((pair.relation.0, pair.source, pair.target)) {
                all.push(pair);
            }
        }
    }
    all
}

/// Removes pairs, and the other directions of symmetric ones, and tags. Returns the number of those that were there.
/// The cause of adopted pairs is what happens to their components.
pub(crate) fn remove_selected(world: &mut World, selection: Selection, removal: Removal) -> usize {
    let count = selection.len();
    let Selection { tags, pairs } = selection;
    let Some(store) = fetch::store(world) else { return 0 };
    let adopted = |pair: &StoredPair| store.registry().entry(pair.relation).adopted;
    let components: Vec<_> = pairs.iter().filter_map(|&pair| Some((adopted(&pair)?, pair))).collect();
    let own = pairs.into_iter().filter(|pair| adopted(pair).is_none()).collect();
    let own = Selection { tags, pairs: with_mirrors(store, own) };
    let mut rest = Completion::default();
    let Removed { observed, orphans } = remove_all(&mut DeferredWorld::from(&mut *world), &own, removal);
    remove_components(world, &mut rest, components);
    if observed {
        rest.run(|| world.flush());
    }
    complete(world, &mut rest);
    if orphans {
        rest.run(|| despawn_orphans(world));
    }
    rest.finish();
    count
}

/// Removes the components in which pairs are kept.
pub(super) fn remove_components(
    world: &mut World,
    rest: &mut Completion,
    components: Vec<(Adopted, StoredPair)>,
) {
    for (adopted, pair) in components {
        // The removal of another component may have changed this one.
        let still_there = |store: &PairStore| store.relation(pair.relation).has(pair.source, pair.target);
        if fetch::store(world).is_some_and(still_there) {
            rest.run(|| (adopted.remove)(world, pair.source));
            rest.sync(world, adopted, pair.source);
        }
    }
}

/// Runs users' code that comes after a change: if it panics, what else belongs to the change is still done.
#[derive(Default)]
pub(crate) struct Completion {
    #[cfg(feature = "std")]
    panic: Option<alloc::boxed::Box<dyn core::any::Any + Send>>,
}

impl Completion {
    /// Runs a part.
    #[inline]
    pub(crate) fn run(&mut self, part: impl FnOnce()) {
        #[cfg(feature = "std")]
        if let Err(panic) = std::panic::catch_unwind(core::panic::AssertUnwindSafe(part)) {
            self.panic.get_or_insert(panic);
        }
        #[cfg(not(feature = "std"))]
        part();
    }

    /// Makes an adopted pair what its component says, if an observer has panicked before that of the pair ran.
    pub(crate) fn sync(&mut self, world: &mut World, adopted: Adopted, source: Entity) {
        #[cfg(feature = "std")]
        if self.panic.is_some() {
            self.run(|| (adopted.sync)(&mut DeferredWorld::from(&mut *world), source));
        }
        #[cfg(not(feature = "std"))]
        let _ = (world, adopted, source);
    }

    /// Resumes the first panic.
    #[inline]
    pub(crate) fn finish(self) {
        #[cfg(feature = "std")]
        if let Some(panic) = self.panic {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Removes a pair by its entities. True if it was there; `None` if they may name something else than one pair of a relation.
#[inline]
pub(crate) fn remove_by_id(world: &mut World, source: Entity, pair: PairId) -> Option<bool> {
    let (relation, target) = pair.entities()?;
    let store = fetch::store_mut(world)?;
    let relation = store.registry().of_entity(relation)?;
    let pair = StoredPair { source, relation, target };
    let is_own = store.registry().entry(relation).adopted.is_none();
    match PairWriter::new(store).try_remove(pair) {
        Some(removed) => Some(removed),
        None => is_own.then(|| remove_stored(world, pair, Removal::REMOVED)),
    }
}

/// Removes one pair of relation type `R`. True if it was there.
#[inline]
pub(crate) fn remove_typed<R: Relation>(world: &mut World, source: Entity, target: Entity) -> bool {
    let with_value: Option<RemoveValue> = const { if_fields::<R, _>(try_remove_value::<R>) };
    if let Some(remove) = with_value
        && let Some(removed) = remove(world, source, target)
    {
        return removed;
    }
    let Some(store) = fetch::store_mut(world) else { return false };
    let Some(relation) = store.registry().of_type::<R>() else { return false };
    let pair = StoredPair { source, relation, target };
    let mut writer = PairWriter::new(store);
    if !R::IN_TABLE
        && let Some(removed) = writer.try_remove(pair)
    {
        return removed;
    }
    match writer.try_remove_in_table(pair) {
        Some(removed) => {
            write_stale(world);
            removed
        }
        None => remove_stored(world, pair, Removal::REMOVED),
    }
}

type RemoveValue = fn(&mut World, Entity, Entity) -> Option<bool>;

/// Removes all pairs of relation type `R` that an entity has, and returns their number.
pub(crate) fn remove_source<R: Relation>(world: &mut World, source: Entity) -> usize {
    if is_child_of::<R>() {
        index_children(world);
    }
    let Some(store) = fetch::store(world) else { return 0 };
    let Some(relation) = store.registry().of_type::<R>() else { return 0 };
    let targets: SmallVec<[Entity; 8]> = store.relation(relation).targets(source).collect();
    if targets.is_empty() || unlink_source::<R>(world, relation, source, &targets).is_some() {
        return targets.len();
    }
    let pairs = targets.iter().map(|&target| StoredPair { source, relation, target }).collect();
    remove_selected(world, Selection { tags: Vec::new(), pairs }, Removal::REMOVED)
}

/// [`remove_source`] on the fast path. `None` if the relation does not have it.
fn unlink_source<R: Relation>(
    world: &mut World,
    relation: RelationId,
    source: Entity,
    targets: &[Entity],
) -> Option<()> {
    if let Some(unlink) = const { if_fields::<R, UnlinkValues>(unlink_values::<R>) } {
        return unlink(world, relation, source, targets);
    }
    let store = fetch::store_mut(world)?;
    let is_own = store.registry().entry(relation).adopted.is_none();
    let done = is_own && PairWriter::new(store).try_unlink_source(relation, source) == FastPath::Done;
    done.then_some(())
}

type UnlinkValues = fn(&mut World, RelationId, Entity, &[Entity]) -> Option<()>;

/// [`unlink_source`] for pairs that carry values.
fn unlink_values<R: Relation>(
    world: &mut World,
    relation: RelationId,
    source: Entity,
    targets: &[Entity],
) -> Option<()> {
    let (store, values) = fetch::store_and_values::<R>(world)?;
    let (flag, affected) = (FastPathFlags::REMOVE_VALUE, Affected::Source(source));
    let mut fast = PairWriter::new(store).fast_values(relation, values, flag, affected)?;
    // What drops them may panic.
    let removed = targets.iter().map(|&target| fast.remove(source, target));
    drop(removed.collect::<SmallVec<[_; 4]>>());
    Some(())
}

/// Removes a pair with a value on the fast path. Returns whether it was there; `None` if the relation does not have the
/// fast path.
#[inline]
fn try_remove_value<R: Relation>(world: &mut World, source: Entity, target: Entity) -> Option<bool> {
    let (store, values) = fetch::store_and_values::<R>(world)?;
    let relation = store.registry().of_type::<R>()?;
    let (flag, affected) = (FastPathFlags::REMOVE_VALUE, Affected::Target(target));
    let mut fast = PairWriter::new(store).fast_values(relation, values, flag, affected)?;
    Some(fast.remove(source, target).is_some())
}

#[inline(never)]
pub(crate) fn remove_stored(world: &mut World, pair: StoredPair, removal: Removal) -> bool {
    if pair.relation == CHILD_OF {
        index_children(world);
    }
    let Some(store) = fetch::store(world) else { return false };
    let index = store.relation(pair.relation);
    if !index.has(pair.source, pair.target) {
        return false;
    }
    if index.allows(FastPathFlags::REMOVE_GIVEN) {
        let pairs: SmallVec<[_; 2]> = store.both_ways(pair).collect();
        let mut rest = Completion::default();
        if remove(&mut DeferredWorld::from(&mut *world), &pairs, removal) {
            rest.run(|| world.flush());
        }
        complete(world, &mut rest);
        rest.finish();
        return true;
    }
    if !index.allows(FastPathFlags::REMOVE) {
        if index.allows(FastPathFlags::REMOVE_TOGETHER)
            && let Some(store) = fetch::store_mut(world)
            && let Some(was_there) = PairWriter::new(store).try_remove_together(pair)
        {
            return was_there;
        }
        let selection = Selection { tags: Vec::new(), pairs: alloc::vec![pair] };
        return remove_selected(world, selection, removal) > 0;
    }
    // It has no value, no component and no other direction.
    if remove(&mut DeferredWorld::from(&mut *world), &[pair], removal) {
        world.flush();
    }
    true
}

/// Removes a tag. True if it was there.
pub(crate) fn remove_tag(world: &mut World, tag: StoredTag, removal: Removal) -> bool {
    let Some(store) = fetch::store_mut(world) else { return false };
    if let Some(removed) = PairWriter::new(store).try_remove_tag(tag) {
        return removed;
    }
    if !store.tags().has(tag.source, tag.tag) {
        return false;
    }
    let selection = Selection { tags: alloc::vec![tag], pairs: Vec::new() };
    remove_selected(world, selection, removal) > 0
}

/// Removes many pairs of one relation, in order. Returns the number of those that were there.
pub(crate) fn remove_batch<R: Relation>(
    world: &mut World,
    pairs: impl IntoIterator<Item = (Entity, Entity)>,
) -> usize {
    let count = remove_each::<R>(world, pairs.into_iter());
    if R::IN_TABLE {
        write_stale(world);
    }
    count
}

/// [`remove_batch`], but for the components of sources in tables, of which some are still to be written.
fn remove_each<R: Relation>(world: &mut World, mut pairs: impl Iterator<Item = (Entity, Entity)>) -> usize {
    let mut count = 0;
    let Some(mut pair) = remove_to_next::<R>(world, &mut pairs, &mut count) else { return count };
    let mut operation = Operation::begin(world);
    let mut is_complete = true;
    loop {
        let world = operation.world();
        match remove_unobserved(world, pair) {
            Some(was_there) => {
                count += usize::from(was_there);
                is_complete = false;
            }
            None => {
                // Observers see what was removed before in the components of its sources, too.
                if !core::mem::replace(&mut is_complete, true) {
                    complete_at_once(world);
                }
                count += usize::from(remove_stored(world, pair, Removal::REMOVED));
            }
        }
        match remove_to_next::<R>(world, &mut pairs, &mut count) {
            Some(next) => pair = next,
            None => break,
        }
    }
    if !is_complete {
        complete_at_once(operation.world());
    }
    operation.finish();
    count
}

/// Removes a pair for which nothing has to be done but to write the components of its source, which is left to be done: a component
/// with many pairs takes as long to write as they are many. Returns whether it was there; `None` if there is more to do.
fn remove_unobserved(world: &mut World, pair: StoredPair) -> Option<bool> {
    let store = fetch::store_mut(world)?;
    store.registry().entry(pair.relation).mirror?;
    if let Some(was_there) = PairWriter::new(store).try_remove_in_table(pair) {
        return Some(was_there);
    }
    let index = store.relation(pair.relation);
    if !index.allows(FastPathFlags::REMOVE_GIVEN) {
        return None;
    }
    if !index.has(pair.source, pair.target) {
        return Some(false);
    }
    let pairs: SmallVec<[_; 2]> = store.both_ways(pair).collect();
    if pairs.iter().any(|&pair| event::is_observed(world, PairEvent::Removed, pair)) {
        return None;
    }
    remove(&mut DeferredWorld::from(world), &pairs, Removal::REMOVED);
    Some(true)
}

/// [`complete`] where nothing else is left to be done.
pub(super) fn complete_at_once(world: &mut World) {
    let mut rest = Completion::default();
    complete(world, &mut rest);
    rest.finish();
}

/// [`remove_run`] for the relation as it is by now: observers of the pair before may have done anything.
#[inline]
fn remove_to_next<R: Relation>(
    world: &mut World,
    pairs: &mut impl Iterator<Item = (Entity, Entity)>,
    count: &mut usize,
) -> Option<StoredPair> {
    let relation = fetch::store(world)?.registry().of_type::<R>()?;
    let (source, target) = remove_run::<R>(world, relation, pairs, count)?;
    Some(StoredPair { source, relation, target })
}

/// Removes pairs for as long as they take the fast path, and counts those that were there. Returns the first that does
/// not.
fn remove_run<R: Relation>(
    world: &mut World,
    relation: RelationId,
    pairs: &mut impl Iterator<Item = (Entity, Entity)>,
    count: &mut usize,
) -> Option<(Entity, Entity)> {
    if size_of::<R>() == 0 {
        let Some(store) = fetch::store_mut(world) else { return pairs.next() };
        let mut writer = PairWriter::new(store);
        return pairs.find(|&(source, target)| {
            let pair = StoredPair { source, relation, target };
            let removed = match R::IN_TABLE {
                true => writer.try_remove_in_table(pair),
                false => writer.try_remove(pair).or_else(|| writer.try_remove_together(pair)),
            };
            *count += usize::from(removed == Some(true));
            removed.is_none()
        });
    }
    let found = fetch::store_and_values::<R>(world);
    if let Some(mut fast) = found.and_then(|(store, values)| {
        let (flag, affected) = (FastPathFlags::REMOVE_VALUE, Affected::Removals);
        PairWriter::new(store).fast_values(relation, values, flag, affected)
    }) {
        for (source, target) in pairs.by_ref() {
            *count += usize::from(fast.remove(source, target).is_some());
        }
    }
    pairs.next()
}

/// The stored pairs and tags that fit `id`, of one source or of all.
pub(crate) fn select(store: &PairStore, source: Option<Entity>, id: PairId) -> Selection {
    let relations = Relations::new(store, None);
    let pairs = relations.select(source, id);
    let mut pairs: Vec<_> =
        pairs.map(|(relation, source, target)| StoredPair { source, relation, target }).collect();
    if id.relation() == Slot::Any {
        // A tag counts as the first of the relations.
        let tags = store.tags();
        pairs.retain(|pair| match id.target() {
            Slot::Any => !tags.has_any(pair.source),
            _ => !tags.has(pair.source, pair.target),
        });
    }
    Selection { tags: relations.select_tags(source, id), pairs }
}

/// Every pair that `entity` has as a source is removed, but for those kept in components, and its tags. The caller
/// flushes.
pub(crate) fn remove_own(world: &mut DeferredWorld<'_>, entity: Entity) {
    let Some(store) = fetch::store(world) else { return };
    let tags = store.tags().targets(entity).map(|tag| StoredTag { source: entity, tag }).collect();
    let mut pairs = Vec::new();
    for relation in store.relations_of(entity) {
        if store.registry().entry(relation).adopted.is_none() {
            let targets = store.relation(relation).targets(entity);
            pairs.extend(targets.map(|target| StoredPair { source: entity, relation, target }));
        }
    }
    let pairs = with_mirrors(store, pairs);
    if remove_all(world, &Selection { tags, pairs }, Removal::REMOVED).orphans {
        queue_despawn_of_orphans(world);
    }
    queue_completion(world);
}
