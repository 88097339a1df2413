//! The marker of entities that take part in pairs.

use super::{cleanup, clone};
use crate::ops::mutate::{
    event::{self, WatchChange},
    remove,
};
use crate::{fetch, id::RelationId};
use alloc::{vec, vec::Vec};
use bevy_ecs::{
    archetype::{Archetype, ArchetypeId},
    component::{Component, ComponentCloneBehavior, Immutable, StorageType},
    entity::Entity,
    event::EntityComponentsTrigger,
    lifecycle::{ComponentHook, DiscardEvent, HookContext},
    world::{DeferredWorld, World},
};

/// The hidden marker of an entity that takes part in pairs; its hooks start cleanup.
///
/// It is inserted with the first pair and stays until despawn: adding and removing it with every pair would
/// cost several times what the pair costs. Sparse-set storage, so that it moves no entity between tables.
pub(crate) struct Participant;

impl Component for Participant {
    const STORAGE_TYPE: StorageType = StorageType::SparseSet;
    type Mutability = Immutable;

    fn on_despawn() -> Option<ComponentHook> {
        Some(|world, context| cleanup::on_despawn(world, context.entity))
    }

    fn on_remove() -> Option<ComponentHook> {
        Some(on_remove)
    }

    fn clone_behavior() -> ComponentCloneBehavior {
        ComponentCloneBehavior::Custom(clone::clone_pairs)
    }
}

/// Makes sure that `entity` is alive, marked and known to take part in `relation`. False if it is dead, or if observers
/// of the marker have seen to it that it is not.
pub(crate) fn join(world: &mut World, entity: Entity, relation: RelationId) -> bool {
    if !world.entities().contains_spawned(entity) {
        return false;
    }
    claim(&mut DeferredWorld::from(&mut *world), entity);
    let Some(store) = fetch::store_mut(world) else { return false };
    store.participants.join(entity, relation);
    if store.participants.is_marked(entity) {
        return true;
    }
    store.participants.set_marked(entity, true);
    let mut joining = world.entity_mut(entity);
    if !joining.contains::<Participant>() {
        joining.insert(Participant);
    }
    fetch::store(world).is_some_and(|store| store.participants.is_marked(entity))
}

/// Notes that `entity` brought the marker trigger, if it still has it.
pub(in crate::ops) fn note_marker(world: &mut World, entity: Entity) -> bool {
    let marked = world.get_entity(entity).is_ok_and(|entity| entity.contains::<Participant>());
    if marked {
        claim(&mut DeferredWorld::from(&mut *world), entity);
        if let Some(store) = fetch::store_mut(world) {
            store.participants.set_marked(entity, true);
        }
    }
    marked
}

/// Ends the pairs of an entity that had the index of `entity` and whose despawn went unnoticed, before anything is
/// written down about `entity`.
#[inline]
pub(in crate::ops) fn claim(world: &mut DeferredWorld<'_>, entity: Entity) {
    let dead = fetch::store(world).and_then(|store| store.participants.stripped_before(entity));
    if let Some(dead) = dead {
        cleanup::leave_all(world, dead);
    }
}

/// Sees the marker go before anything else happens to the entity.
pub(in crate::ops) struct Stripped;

impl WatchChange for Stripped {
    fn run(world: &mut DeferredWorld<'_>, entity: Entity, change: &EntityComponentsTrigger<'_>) {
        // At a despawn, cleanup has already run.
        let Some(left) = change.new_archetype else { return };
        if world.component_id::<Participant>().is_some_and(|marker| !left.contains(marker)) {
            strip(world, entity, Some(left.components().is_empty()));
        }
    }
}

/// Spawns the observer of the marker.
pub(in crate::ops) fn watch_marker(world: &mut World) -> Vec<Entity> {
    vec![event::watch_change::<DiscardEvent, Participant, Stripped>(world)]
}

/// The marker goes. Usually [`Stripped`] has seen that; the hook is there in case that observer was despawned.
fn on_remove(mut world: DeferredWorld, context: HookContext) {
    strip(&mut world, context.entity, None);
}

/// The marker is removed without a despawn: the entity was cleared, or had components moved away or dropped.
/// Clearing removes the entity's own pairs, the other ways keep them. Then the marker is put back: by a command that
/// comes before those of observers, who may despawn the entity.
///
/// `cleared` says whether anything is left of the entity: no way of removal that leaves nothing can be told from
/// `clear`, but for moving. If it is not known, it is found out later, as well as can be.
fn strip(world: &mut DeferredWorld<'_>, entity: Entity, cleared: Option<bool>) {
    let Some(store) = fetch::deferred_store(world) else { return };
    if !store.participants.is_marked(entity) {
        return;
    }
    let moved = store.participants.take_moved(entity);
    if cleared == Some(true) && !moved {
        remove::remove_own(world, entity);
    }
    if let Some(store) = fetch::deferred_store(world) {
        store.participants.strip(entity);
    }
    let before = (cleared.is_none() && !moved).then(|| world.entity(entity).archetype().id());
    world.commands().queue(move |world: &mut World| restore(world, entity, before));
}

/// Puts the marker back, or ends the pairs of an entity that was despawned without it. If it is not known whether the
/// entity was cleared, `before` is what it had.
fn restore(world: &mut World, entity: Entity, before: Option<ArchetypeId>) {
    let alive = world.entities().contains_spawned(entity);
    let Some(store) = fetch::store_mut(world) else { return };
    if !store.participants.is_stripped(entity) {
        return;
    }
    if !alive {
        cleanup::leave_all(&mut DeferredWorld::from(&mut *world), entity);
        world.flush();
        return;
    }
    if before.is_none() && !store.needs_marker(entity) {
        store.participants.forget(entity);
        return;
    }
    store.watches_lost |= store.participants.is_observer(entity);
    store.participants.set_marked(entity, true);
    world.entity_mut(entity).insert(Participant);
    let before = before.and_then(|before| world.archetypes().get(before));
    let Ok(left) = world.get_entity(entity) else { return };
    let marker = world.component_id::<Participant>();
    let kept =
        |before: &Archetype| before.iter_components().any(|id| Some(id) != marker && left.contains_id(id));
    if before.is_some_and(|before| !kept(before)) {
        remove::remove_own(&mut DeferredWorld::from(&mut *world), entity);
        world.flush();
    }
}
