//! Participants: the marker of entities that take part in pairs.

use crate::fetch;
use alloc::vec::Vec;
use bevy_ecs::{
    entity::Entity,
    world::{DeferredWorld, World},
};

/// The hidden marker of an entity that takes part in pairs; its hooks start cleanup.
///
/// It is inserted with the first pair and stays until despawn: adding and removing it with every pair would
/// cost several times what the pair costs. Sparse-set storage, so that it moves no entity between tables.
pub(crate) struct Participant;

/// What follows from the life of a participant. The floor `lifecycle` implements it, beside the hooks of the component.
pub(in crate::ops) trait ParticipantLifecycle {
    /// Spawns the observers of the marker.
    fn spawn_observers(world: &mut World) -> Vec<Entity>;

    /// Spawns the observers of components that the ends of pairs must have or must not have.
    fn spawn_constraint_observers(world: &mut World) -> Vec<Entity>;

    /// Ends the pairs of an entity whose despawn went unnoticed.
    fn end_pairs(world: &mut DeferredWorld<'_>, entity: Entity);

    /// Despawns targets that have lost their last source, of relations that ask for that, unless they have another by now.
    /// Does nothing while an operation goes on that may give them one.
    fn despawn_orphans(world: &mut World);

    /// Does what queued commands were to do and have not done.
    fn resume(world: &mut World);
}

/// Makes sure that `entity` is alive and marked. False if it is dead, or if observers of the marker have seen to it that
/// it is not.
pub(in crate::ops) fn mark(world: &mut World, entity: Entity) -> bool {
    if !world.entities().contains_spawned(entity) {
        return false;
    }
    claim(&mut DeferredWorld::from(&mut *world), entity);
    let Some(store) = fetch::store_mut(world) else { return false };
    if store.participants().is_marked(entity) {
        return true;
    }
    store.participants_mut().set_marked(entity, true);
    let mut participant = world.entity_mut(entity);
    if !participant.contains::<Participant>() {
        participant.insert(Participant);
    }
    fetch::store(world).is_some_and(|store| store.participants().is_marked(entity))
}

/// Notes that `entity` came with the marker, if it still has it.
pub(in crate::ops) fn note_marker(world: &mut World, entity: Entity) -> bool {
    let marked = world.get_entity(entity).is_ok_and(|entity| entity.contains::<Participant>());
    if marked {
        claim(&mut DeferredWorld::from(&mut *world), entity);
        if let Some(store) = fetch::store_mut(world) {
            store.participants_mut().set_marked(entity, true);
        }
    }
    marked
}

/// Ends the pairs of an entity that had the index of `entity` and whose despawn went unnoticed, before anything is
/// written down about `entity`.
#[inline]
pub(in crate::ops) fn claim(world: &mut DeferredWorld<'_>, entity: Entity) {
    let dead = fetch::store(world).and_then(|store| store.participants().stripped_before(entity));
    if let Some(dead) = dead {
        Participant::end_pairs(world, dead);
    }
}
