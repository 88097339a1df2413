//! The life of a participant: hooks and an observer of the marker.

use super::{cleanup, clone, constraints};
use crate::{
    fetch,
    ops::{
        mutate::{
            event::{self, ObserveChange},
            remove,
        },
        register::participant::{Participant, ParticipantLifecycle},
    },
    store::PairStore,
};
use alloc::{vec, vec::Vec};
use bevy_ecs::{
    archetype::{Archetype, ArchetypeId},
    component::{Component, ComponentCloneBehavior, Immutable, StorageType},
    entity::Entity,
    event::EntityComponentsTrigger,
    lifecycle::{ComponentHook, DiscardEvent, HookContext},
    world::{DeferredWorld, World},
};

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

impl ParticipantLifecycle for Participant {
    fn spawn_observers(world: &mut World) -> Vec<Entity> {
        vec![event::observe_change::<DiscardEvent, Self, Stripped>(world)]
    }

    fn spawn_constraint_observers(world: &mut World) -> Vec<Entity> {
        constraints::spawn_observers(world)
    }

    fn end_pairs(world: &mut DeferredWorld<'_>, entity: Entity) {
        cleanup::leave_all(world, entity);
    }

    fn despawn_orphans(world: &mut World) {
        cleanup::despawn_orphans(world);
    }

    fn restore_markers(world: &mut World) {
        let Some(store) = fetch::store(world) else { return };
        for entity in store.participants().all_stripped() {
            restore(world, entity, None);
        }
    }

    fn resume(world: &mut World) {
        Self::restore_markers(world);
        cleanup::resume(world);
    }
}

/// Sees the marker go before anything else happens to the entity.
struct Stripped;

impl ObserveChange for Stripped {
    fn run(world: &mut DeferredWorld<'_>, entity: Entity, change: &EntityComponentsTrigger<'_>) {
        // At a despawn, cleanup has already run.
        let Some(left) = change.new_archetype else { return };
        if world.component_id::<Participant>().is_some_and(|marker| !left.contains(marker)) {
            strip(world, entity, Some(left.components().is_empty()));
        }
    }
}

/// The marker goes now. Usually [`Stripped`] has seen that it will; an observer that panicked after that would have
/// kept it.
fn on_remove(mut world: DeferredWorld, context: HookContext) {
    let marked = |store: &mut PairStore| store.participants().is_marked(context.entity);
    if !fetch::deferred_store(&mut world).is_some_and(marked) {
        // At a despawn, cleanup has removed its record.
        return;
    }
    strip(&mut world, context.entity, None);
    if let Some(store) = fetch::deferred_store(&mut world)
        && store.participants().is_marked(context.entity)
    {
        store.participants_mut().set_marked(context.entity, false);
    }
}

/// The marker is removed without a despawn: the entity was cleared, or had components moved away or dropped.
/// Clearing removes the entity's own pairs, the other ways keep them. Then the marker is put back: by a command that
/// comes before those of observers, which may despawn the entity.
///
/// `cleared` says whether no component is left: a removal that leaves none, except a move, cannot be distinguished
/// from `clear`. `None` if that is not known: then it is decided later from the components that are there.
fn strip(world: &mut DeferredWorld<'_>, entity: Entity, cleared: Option<bool>) {
    let Some(store) = fetch::deferred_store(world) else { return };
    if !store.participants().is_marked(entity) || store.participants().is_stripped(entity) {
        return;
    }
    let moved = store.participants_mut().take_moved(entity);
    store.participants_mut().strip(entity);
    let before = (cleared.is_none() && !moved).then(|| world.entity(entity).archetype().id());
    world.commands().queue(move |world: &mut World| restore(world, entity, before));
    if cleared == Some(true) && !moved {
        remove::remove_own(world, entity);
    }
}

/// Puts the marker back, or ends the pairs of an entity that was despawned without it. If it is not known whether the
/// entity was cleared, `before` is what it had.
fn restore(world: &mut World, entity: Entity, before: Option<ArchetypeId>) {
    let alive = world.entities().contains_spawned(entity);
    let Some(store) = fetch::store_mut(world) else { return };
    if !store.participants().is_stripped(entity) {
        return;
    }
    if !alive {
        cleanup::leave_all(&mut DeferredWorld::from(&mut *world), entity);
        world.flush();
        return;
    }
    if before.is_none() && !store.needs_marker(entity) {
        store.participants_mut().remove(entity);
        return;
    }
    store.participants_mut().lose_observer(entity);
    store.participants_mut().set_marked(entity, true);
    let mut participant = world.entity_mut(entity);
    if !participant.contains::<Participant>() {
        participant.insert(Participant);
    }
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
