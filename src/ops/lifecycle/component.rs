//! What holds for a component because of the traits of the entity that stands for its type.
//!
//! Components are in Bevy's tables, not in the pair store: which entities have one is looked up in the archetypes, when
//! the entity of its type is despawned and at no other time.

use crate::{
    fetch,
    ops::{
        mutate::{error::DespawnError, remove::Completion},
        register::participant,
    },
    relation::{CleanupPolicy, EntityName, Registry},
    store::PairStore,
};
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    component::{ComponentId, Components},
    entity::Entity,
    resource::IS_RESOURCE,
    world::{DeferredWorld, World},
};

/// The component whose type `entity` stands for. Bevy's relationships that are relations here are none: their pairs are
/// what counts.
pub(in crate::ops) fn component_of(
    registry: &Registry,
    components: &Components,
    entity: Entity,
) -> Option<ComponentId> {
    let type_id = registry.type_of(entity)?;
    let adopted = registry.of_type_id(type_id).is_some_and(|id| registry.entry(id).adopted.is_some());
    if adopted { None } else { components.get_id(type_id) }
}

/// The entities that have a component, but for that of a resource, and for the entity of its type.
fn holders(world: &World, component: ComponentId, of_type: Entity) -> impl Iterator<Item = Entity> {
    let index = world.archetypes().component_index();
    let archetypes = index.get(&component).into_iter().flat_map(|archetypes| archetypes.keys());
    let mut archetypes: Vec<_> = archetypes.filter_map(|&id| world.archetypes().get(id)).collect();
    archetypes.retain(|archetype| !archetype.contains(IS_RESOURCE));
    // The index is a hash map.
    archetypes.sort_unstable_by_key(|archetype| archetype.id());
    let entities = archetypes.into_iter().flat_map(Archetype::entities);
    entities.map(ArchetypeEntity::id).filter(move |&entity| entity != of_type)
}

/// The error that there is if the component that `used` stands for is in use.
pub(in crate::ops) fn in_use(
    world: &World,
    store: &PairStore,
    used: Entity,
    entity: Entity,
) -> Option<DespawnError> {
    let component = component_of(store.registry(), world.components(), used)?;
    let source_entity = holders(world, component, used).next()?;
    let name = store.registry().name_of(used);
    let [entity, source_entity] = [entity, source_entity].map(EntityName::unnamed);
    Some(DespawnError::ComponentInUse { entity, component: name, source_entity })
}

/// The entity of a component's type is being despawned: the component is removed everywhere, unless its holders go too.
/// Returns what is to be reported.
pub(in crate::ops) fn leave_as_component(
    world: &mut DeferredWorld<'_>,
    entity: Entity,
    policy: CleanupPolicy,
) -> Option<DespawnError> {
    let store = fetch::store(world)?;
    let component = component_of(store.registry(), world.components(), entity)?;
    let refusal = if policy == CleanupPolicy::Refuse { in_use(world, store, entity, entity) } else { None };
    let holders: Vec<Entity> = match policy {
        CleanupPolicy::Despawn => Vec::new(),
        _ => holders(world, component, entity).collect(),
    };
    if !holders.is_empty() {
        world.commands().queue(move |world: &mut World| {
            let mut rest = Completion::default();
            for holder in holders {
                // Hooks and observers of the others are the user's code.
                if let Ok(mut holder) = world.get_entity_mut(holder) {
                    rest.run(|| _ = holder.remove_by_id(component));
                }
            }
            rest.finish();
        });
    }
    refusal
}

/// The holders of the component that `entity` stands for, which go with it.
pub(in crate::ops) fn dependents(world: &mut DeferredWorld<'_>, entity: Entity) -> Vec<Entity> {
    let Some(store) = fetch::store(world) else { return Vec::new() };
    let component = component_of(store.registry(), world.components(), entity);
    let holders: Vec<Entity> =
        component.into_iter().flat_map(|component| holders(world, component, entity)).collect();
    for &holder in &holders {
        participant::end_former_pairs(world, holder);
        if let Some(store) = fetch::deferred_store(world) {
            // Only what is known can be visited.
            store.participants_mut().note(holder);
        }
    }
    holders
}
