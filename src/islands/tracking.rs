//! Which relations have islands, and bringing those up to date.

use super::{
    error::IslandsError,
    event::{self, Trigger},
    partition::{IslandChange, Partition},
};
use crate::{
    fetch,
    id::RelationId,
    ops::{Followed, Followers, ensure_store, register_relation, relation_id_of},
    relation::{Relation, TraitsError, Wildcard},
    store::{Cursor, Invariant, PairInvariantError, PairStore, RelationIndex},
};
use alloc::{collections::VecDeque, vec::Vec};
use bevy_ecs::{
    entity::Entity,
    lifecycle::Remove,
    observer::{Observer, On},
    resource::Resource,
    system::Commands,
    world::World,
};
use core::mem::take;

/// The islands of one relation.
struct Tracked {
    key: Followed,
    /// As it was last known.
    relation: Entity,
    partition: Partition,
    /// How far the journal of the relation was read.
    cursor: Cursor,
    /// What brings the islands up to date after each change.
    observers: Followers,
    /// Triggers the events of the relation type, if the type is known.
    trigger: Option<Trigger>,
}

/// An event that is still to be triggered.
struct PendingEvent {
    relation: Entity,
    trigger: Option<Trigger>,
    change: IslandChange,
}

/// The islands of every relation that has them.
#[derive(Resource, Default)]
pub(crate) struct TrackedIslands {
    /// In the order in which they were asked for.
    relations: Vec<Tracked>,
    pending: VecDeque<PendingEvent>,
    /// Events are being triggered: what comes is triggered after them.
    is_triggering: bool,
    /// Triggered when the store is removed, and all pairs with it: observers of pairs are not.
    store_observer: Option<Entity>,
}

impl TrackedIslands {
    fn get(&self, key: Followed) -> Option<&Tracked> {
        self.relations.iter().find(|tracked| tracked.key == key)
    }

    fn get_mut(&mut self, key: Followed) -> Option<&mut Tracked> {
        self.relations.iter_mut().find(|tracked| tracked.key == key)
    }

    pub(super) fn partition(&self, key: Followed) -> Option<&Partition> {
        Some(&self.get(key)?.partition)
    }
}

/// Does something to what is tracked of a relation, if it is.
fn with<T>(world: &mut World, key: Followed, run: impl FnOnce(&mut Tracked) -> T) -> Option<T> {
    world.get_resource_mut::<TrackedIslands>()?.get_mut(key).map(run)
}

/// Starts to track the islands of a relation type.
pub(super) fn track<R: Relation>(world: &mut World) -> Result<(), TraitsError> {
    let relation = register_relation::<R>(world)?;
    let key = Followed::of::<R>();
    start(world, key, relation);
    with(world, key, |tracked| tracked.trigger = Some(event::trigger::<R>));
    Ok(())
}

/// Starts to track the islands of any relation.
pub(super) fn track_by_id(world: &mut World, relation: Entity) -> Result<(), IslandsError> {
    relation_id_of(world, relation).map_err(|error| match error {
        TraitsError::Dead { entity } => IslandsError::Dead { relation: entity },
        error => IslandsError::Traits(error),
    })?;
    let key = Followed::of_entity(ensure_store(world), relation);
    start(world, key, relation);
    Ok(())
}

/// Builds the islands that there are, without events for them, and follows the pairs from then on.
fn start(world: &mut World, key: Followed, relation: Entity) {
    if world.get_resource::<TrackedIslands>().is_some_and(|islands| islands.get(key).is_some()) {
        restore_observers(world, key);
        return;
    }
    let observers = Followers::spawn(world, key, relation, update);
    // That runs users' code, which may have done the same.
    let mut islands = world.get_resource_or_init::<TrackedIslands>();
    if islands.get(key).is_some() {
        observers.despawn(world);
        return;
    }
    let (partition, cursor) = (Partition::default(), Cursor::default());
    islands.relations.push(Tracked { key, relation, partition, cursor, observers, trigger: None });
    refresh(world, key);
    observe_store(world);
}

/// Makes sure that it is noticed when the store goes: the entity of a resource can be despawned as any other.
fn observe_store(world: &mut World) {
    let Some(islands) = world.get_resource::<TrackedIslands>() else { return };
    if islands.store_observer.is_some_and(|observer| world.get::<Observer>(observer).is_some()) {
        return;
    }
    let observer = world.add_observer(|_: On<Remove<PairStore>>, mut commands: Commands| {
        commands.queue(update_all);
    });
    let observer = observer.id();
    match world.get_resource_mut::<TrackedIslands>() {
        Some(mut islands) => islands.store_observer = Some(observer),
        None => _ = world.try_despawn(observer),
    }
}

/// Spawns the observers of a relation again if one was despawned.
fn restore_observers(world: &mut World, key: Followed) {
    let Some(islands) = world.get_resource::<TrackedIslands>() else { return };
    let Some(&Tracked { observers, .. }) = islands.get(key) else { return };
    let observers = observers.restore_observers(world, key, update);
    if with(world, key, |tracked| tracked.observers = observers).is_none() {
        observers.despawn(world);
    }
}

/// Brings the islands of every relation up to date, spawns observers again that were despawned, and triggers what is
/// left to trigger.
pub(crate) fn update_all(world: &mut World) {
    let Some(islands) = world.get_resource::<TrackedIslands>() else { return };
    let keys: Vec<Followed> = islands.relations.iter().map(|tracked| tracked.key).collect();
    for key in keys {
        follow(world, key);
        restore_observers(world, key);
    }
    observe_store(world);
    trigger_pending(world);
}

/// Brings the islands of a relation up to date, and triggers their events.
fn update(world: &mut World, key: Followed) {
    if follow(world, key) {
        trigger_pending(world);
    }
}

/// Brings the islands of a relation up to date, and notes which events are to be triggered. True if there are any.
fn follow(world: &mut World, key: Followed) -> bool {
    let changes = refresh(world, key);
    if matches!(key, Followed::Entity(_)) && relation_of(world, key).is_none() {
        note(world, key, changes);
        // A run-time relation does not come back.
        let Some(mut islands) = world.get_resource_mut::<TrackedIslands>() else { return false };
        let at = islands.relations.iter().position(|tracked| tracked.key == key);
        let observers = at.map(|at| islands.relations.remove(at).observers);
        let is_due = !islands.pending.is_empty();
        observers.into_iter().for_each(|observers| observers.despawn(world));
        return is_due;
    }
    !changes.is_empty() && note(world, key, changes)
}

/// Notes which events of a relation are to be triggered.
fn note(world: &mut World, key: Followed, changes: Vec<IslandChange>) -> bool {
    let Some(mut islands) = world.get_resource_mut::<TrackedIslands>() else { return false };
    let Some(&Tracked { relation, trigger, .. }) = islands.get(key) else { return false };
    islands.pending.extend(changes.into_iter().map(|change| PendingEvent { relation, trigger, change }));
    true
}

fn relation_of(world: &World, key: Followed) -> Option<RelationId> {
    key.relation(fetch::store(world)?)
}

/// Makes the islands of a relation right. Returns what that means for them.
fn refresh(world: &mut World, key: Followed) -> Vec<IslandChange> {
    let islands = world.get_resource::<TrackedIslands>();
    let Some(tracked) = islands.and_then(|islands| islands.get(key)) else { return Vec::new() };
    if fetch::store(world).is_some_and(|store| key.is_current(store, tracked.cursor)) {
        return Vec::new();
    }
    let cursor = tracked.cursor;
    // Nothing else runs until it is put back.
    let Some(mut partition) = with(world, key, |tracked| take(&mut tracked.partition)) else {
        return Vec::new();
    };
    let mut known = None;
    if let Some(store) = fetch::store_mut(world)
        && let Some(id) = key.relation(store)
    {
        let (end, relation) = (store.keep_journal(id).cursor(), store.registry().entry(id).entity);
        let changes = key.read(store, cursor).and_then(|(_, changes)| changes);
        known = Some((partition.update(store.relation(id), changes), end, relation));
    }
    // A relation that is gone has no pairs.
    let gone = |partition: &mut Partition| partition.update(&RelationIndex::default(), None);
    let (changes, end, relation) = match known {
        Some((changes, end, relation)) => (changes, end, Some(relation)),
        None => (gone(&mut partition), Cursor::default(), None),
    };
    with(world, key, |tracked| {
        tracked.partition = partition;
        tracked.cursor = end;
        tracked.relation = relation.unwrap_or(tracked.relation);
    });
    changes
}

/// Triggers the events that are due, in order: what observers change by then is triggered after them. Nothing is due
/// any more when this returns, unless it is called by an observer.
fn trigger_pending(world: &mut World) {
    let Some(mut islands) = world.get_resource_mut::<TrackedIslands>() else { return };
    if islands.is_triggering {
        return;
    }
    islands.is_triggering = true;
    let triggering = Triggering(world);
    let next = |world: &mut World| world.get_resource_mut::<TrackedIslands>()?.pending.pop_front();
    while let Some(PendingEvent { relation, trigger, change }) = next(triggering.0) {
        if let Some(trigger) = trigger {
            trigger(triggering.0, relation, change);
        }
        event::trigger::<Wildcard>(triggering.0, relation, change);
        triggering.0.flush();
    }
}

/// Events are being triggered, until this is dropped, also by a panic in a user's observer.
struct Triggering<'w>(&'w mut World);

impl Drop for Triggering<'_> {
    fn drop(&mut self) {
        if let Some(mut islands) = self.0.get_resource_mut::<TrackedIslands>() {
            islands.is_triggering = false;
        }
    }
}

/// Verifies the invariant *Islands*.
pub(crate) fn check(world: &World) -> Result<(), PairInvariantError> {
    let (Some(islands), Some(store)) = (world.get_resource::<TrackedIslands>(), fetch::store(world)) else {
        return Ok(());
    };
    for tracked in &islands.relations {
        let index = tracked.key.relation(store).map(|id| store.relation(id));
        // Out of date they may be: in the midst of a change, or because observers were despawned.
        let current = index.filter(|_| tracked.key.is_current(store, tracked.cursor));
        if let Some(entity) = current.and_then(|index| tracked.partition.fault(index)) {
            let detail = "it is in an island with others than its pairs connect it with";
            return Err(PairInvariantError::about(Invariant::Islands, entity, detail));
        }
    }
    Ok(())
}
