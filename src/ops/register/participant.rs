//! Participants: the marker of entities that take part in pairs.

use crate::{fetch, store::PairStore};
use alloc::vec::Vec;
use bevy_ecs::{
    component::ComponentId,
    entity::Entity,
    world::{DeferredWorld, EntityWorldMut, World},
};
use core::sync::atomic::AtomicUsize;

/// The marker of an entity that takes part in pairs, as source or target; its hooks start cleanup.
///
/// It is inserted with the entity's first pair and stays until despawn: adding and removing it with every pair would
/// cost several times what the pair costs. Its storage is a sparse set, so that it moves no entity between tables.
///
/// A program need not name it. If entities that will have pairs are spawned with it, their first pair does not move them to
/// another archetype, and spawning them with a pair is faster: [Performance](crate::book::performance) has figures.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// use bevy_relations::bundle::Participant;
///
/// #[derive(Relation)]
/// struct DockedTo;
///
/// #[derive(Component)]
/// #[require(Participant)]
/// struct Ship;
///
/// # let mut world = World::new();
/// # let station = world.spawn_empty().id();
/// let ship = world.spawn((Ship, Pair(DockedTo, station))).id();
/// assert!(world.has_pair::<DockedTo>(ship, station));
/// ```
///
/// An entity with the marker need not have a pair: it may have had one, or was spawned with the marker; and this crate's own
/// observers have it. To test for pairs, use [`Related`](crate::Related). If the marker is removed from an entity that has
/// pairs, it is put back and the pairs stay. If the entity has no other component, its pairs are removed as well, as by `clear`.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Participant;

/// What follows from the life of a participant. The floor `lifecycle` implements it, beside the hooks of the component.
pub(in crate::ops) trait ParticipantLifecycle {
    /// Spawns the observers of the marker.
    fn spawn_observers(world: &mut World) -> Vec<Entity>;

    /// Spawns the observers of components that the ends of pairs must have or must not have.
    fn spawn_constraint_observers(world: &mut World) -> Vec<Entity>;

    /// Ends the pairs of an entity whose despawn went unnoticed.
    fn end_pairs(world: &mut DeferredWorld<'_>, entity: Entity);

    /// Despawns targets that have lost their last source, of relations that ask for that, unless they have another by
    /// now. Does nothing while an operation goes on that may give them one.
    fn despawn_orphans(world: &mut World);

    /// Puts the marker back on entities that wait for it.
    fn restore_markers(world: &mut World);

    /// Does what queued commands were to do and have not done.
    fn resume(world: &mut World);
}

/// Makes sure that `entity` is alive and marked. False if it is dead, or if observers of the marker have seen to it
/// that it is not.
pub(in crate::ops) fn mark(world: &mut World, entity: Entity) -> bool {
    if !world.entities().contains_spawned(entity) {
        return false;
    }
    let Some(store) = store_without_former(world, entity) else { return false };
    if store.participants().is_marked(entity) {
        return true;
    }
    store.participants_mut().set_marked(entity, true);
    insert_marker(world, entity);
    fetch::store(world).is_some_and(|store| store.participants().is_marked(entity))
}

/// Inserts the marker into an entity that is alive. It may have come with it.
pub(super) fn insert_marker(world: &mut World, entity: Entity) {
    let mut participant = world.entity_mut(entity);
    if !has_marker(&participant) {
        participant.insert(Participant);
    }
}

/// Whether an entity has the marker, noted in the store or not.
#[inline]
pub(in crate::ops) fn has_marker(entity: &EntityWorldMut<'_>) -> bool {
    /// The component id of the marker, as found last.
    static MARKER: AtomicUsize = AtomicUsize::new(0);
    fetch::has_component::<Participant>(entity, &MARKER)
}

/// Notes that `entity` came with the marker, if it still has it.
pub(in crate::ops) fn note_marker(world: &mut World, entity: Entity) -> bool {
    let marker = world.component_id::<Participant>();
    let marked = marker.is_some_and(|marker| is_marked(world, marker, entity));
    if marked && let Some(store) = store_without_former(world, entity) {
        store.participants_mut().set_marked(entity, true);
    }
    marked
}

/// [`note_marker`] for many entities.
pub(in crate::ops) fn note_markers(world: &mut World, entities: &[Entity]) {
    let Some(marker) = world.component_id::<Participant>() else { return };
    if fetch::store(world).is_some_and(|store| store.participants().any_stripped()) {
        for &entity in entities {
            note_marker(world, entity);
        }
        return;
    }
    let marked: Vec<Entity> =
        entities.iter().copied().filter(|&entity| is_marked(world, marker, entity)).collect();
    if let Some(store) = fetch::store_mut(world) {
        for entity in marked {
            store.participants_mut().set_marked(entity, true);
        }
    }
}

fn is_marked(world: &World, marker: ComponentId, entity: Entity) -> bool {
    world.get_entity(entity).is_ok_and(|entity| entity.contains_id(marker))
}

/// The store, after [`end_former_pairs`].
#[inline]
fn store_without_former(world: &mut World, entity: Entity) -> Option<&mut PairStore> {
    let is_claimed = |store: &PairStore| store.participants().stripped_before(entity).is_none();
    match fetch::store_mut_if(world, is_claimed) {
        Ok(store) => Some(store),
        Err(world) => {
            end_former_pairs(&mut DeferredWorld::from(&mut *world), entity);
            fetch::store_mut(world)
        }
    }
}

/// Ends the pairs of an entity that had the index of `entity` and whose despawn went unnoticed, before anything is
/// written down about `entity`.
#[inline]
pub(in crate::ops) fn end_former_pairs(world: &mut DeferredWorld<'_>, entity: Entity) {
    let dead = fetch::store(world).and_then(|store| store.participants().stripped_before(entity));
    if let Some(dead) = dead {
        Participant::end_pairs(world, dead);
    }
}
