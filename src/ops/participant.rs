//! The marker of entities that take part in pairs.

use super::{cleanup, clone, remove};
use crate::{access, id::RelationId};
use bevy_ecs::{
    component::{Component, ComponentCloneBehavior, Immutable, StorageType},
    entity::Entity,
    lifecycle::{ComponentHook, HookContext},
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

/// Makes sure that `entity` is alive, marked and known to take part in `relation`. False if it is dead.
pub(crate) fn join(world: &mut World, entity: Entity, relation: RelationId) -> bool {
    if !world.entities().contains_spawned(entity) {
        return false;
    }
    let Some(store) = access::store_mut(world) else { return false };
    store.participants.join(entity, relation);
    if !store.participants.is_marked(entity) {
        store.participants.set_marked(entity, true);
        let mut entity = world.entity_mut(entity);
        if !entity.contains::<Participant>() {
            entity.insert(Participant);
        }
    }
    true
}

/// Notes that `entity` brought the marker along, if it still has it.
pub(super) fn note_marker(world: &mut World, entity: Entity) -> bool {
    let marked = world.get_entity(entity).is_ok_and(|entity| entity.contains::<Participant>());
    if marked && let Some(store) = access::store_mut(world) {
        store.participants.set_marked(entity, true);
    }
    marked
}

/// The marker goes. Cleanup has already run if this is a despawn; otherwise the entity was cleared, or had
/// components moved away or dropped, and the marker is put back: clearing removes the entity's own pairs, the
/// other ways keep them. Bevy's `retain` cannot be told from `clear` if it retains nothing.
fn on_remove(mut world: DeferredWorld, context: HookContext) {
    let entity = context.entity;
    let Some(store) = access::deferred_store(&mut world) else { return };
    if !store.participants.is_marked(entity) {
        return;
    }
    store.participants.set_marked(entity, false);
    let moved = store.participants.take_moved(entity);
    let before = world.entity(entity).archetype().id();
    world.commands().queue(move |world: &mut World| {
        let Ok(entity_ref) = world.get_entity(entity) else { return };
        let before = world.archetypes().get(before);
        let kept = before.is_some_and(|before| before.iter_components().any(|id| entity_ref.contains_id(id)));
        let cleared = !moved && !kept;
        if let Some(store) = access::store_mut(world) {
            store.participants.set_marked(entity, true);
        }
        world.entity_mut(entity).insert(Participant);
        if cleared {
            remove::remove_own(world, entity);
        }
    });
}
