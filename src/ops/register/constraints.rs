//! Constraints on the ends of pairs, in a world.

use super::{
    participant::{Participant, ParticipantLifecycle},
    watch,
};
use crate::relation::{OnMissing, PairEnd, RelationName, RelationTraits, ResolvedConstraint, TraitsError};
use alloc::vec::Vec;
use bevy_ecs::{
    component::ComponentId, entity::Entity, observer::Observer, resource::Resource, world::World,
};
use bevy_platform::collections::HashMap;

/// The changes of components that may break a constraint: of one that is required its removal, of one that is excluded its
/// arrival; with their observers, once those are spawned.
#[derive(Resource, Default)]
pub(in crate::ops) struct WatchedComponents(pub(in crate::ops) HashMap<(ComponentId, bool), Option<Entity>>);

/// The constraints of a relation with these traits. Registers components; nothing of the relation changes.
///
/// # Errors
/// If a component is unknown, or a default that is to be inserted is.
pub(super) fn resolve(
    world: &mut World,
    relation: &RelationName,
    traits: &RelationTraits,
) -> Result<Vec<ResolvedConstraint>, TraitsError> {
    let mut resolved = Vec::new();
    for (end, constraints) in
        [(PairEnd::Source, traits.source_constraints()), (PairEnd::Target, traits.target_constraints())]
    {
        for constraint in constraints {
            let name = constraint.component_name();
            let is_required = constraint.is_required();
            let Some(component) = constraint.component(world) else {
                return Err(TraitsError::UnknownComponent { relation: relation.clone(), component: name });
            };
            if traits.missing_rule() == OnMissing::Insert
                && is_required
                && constraint.insert_default.is_none()
            {
                return Err(TraitsError::NoDefaultToInsert { relation: relation.clone(), component: name });
            }
            let insert_default = constraint.insert_default;
            resolved.push(ResolvedConstraint { end, component, name, is_required, insert_default });
        }
    }
    Ok(resolved)
}

/// Watches the components of constraints from now on.
pub(super) fn watch(world: &mut World, components: Vec<(ComponentId, bool)>) {
    if components.is_empty() {
        return;
    }
    let mut watched = world.get_resource_or_init::<WatchedComponents>();
    for key in components {
        watched.0.entry(key).or_default();
    }
    let observers: Vec<Option<Entity>> = watched.0.values().copied().collect();
    let is_observer = |entity| world.get::<Observer>(entity).is_some();
    if !observers.into_iter().all(|observer| observer.is_some_and(is_observer)) {
        watch::install(world, Participant::spawn_constraint_observers);
    }
}
