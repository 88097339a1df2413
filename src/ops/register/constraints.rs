//! Constraints on the ends of pairs, in a world.

use super::{
    participant::{Participant, ParticipantLifecycle},
    watch,
};
use crate::relation::{
    OnMissing, PairEnd, RelationName, RelationTraits, ResolvedConstraint, TraitConflict, TraitsError,
};
use alloc::vec::Vec;
use bevy_ecs::{
    component::ComponentId, entity::Entity, observer::Observer, resource::Resource, world::World,
};
use bevy_platform::collections::HashMap;

/// The changes of components that may break a constraint: of one that is required its removal, of one that is excluded
/// its arrival; with their observers, once those are spawned.
#[derive(Resource, Default)]
pub(in crate::ops) struct WatchedComponents(pub(in crate::ops) HashMap<(ComponentId, bool), Option<Entity>>);

/// Whether a relation has, or had, constraints on the ends of its pairs.
pub(crate) fn has_constraints(world: &World) -> bool {
    world.contains_resource::<WatchedComponents>()
}

/// The constraints of a relation with these traits. Registers components; nothing of the relation changes.
///
/// # Errors
/// If a component is unknown, or a default that is to be inserted is, or two constraints contradict.
pub(super) fn resolve(
    world: &mut World,
    relation: &RelationName,
    traits: &RelationTraits,
) -> Result<Vec<ResolvedConstraint>, TraitsError> {
    let mut resolved: Vec<ResolvedConstraint> = Vec::new();
    for (end, constraints) in
        [(PairEnd::Source, traits.source_constraints()), (PairEnd::Target, traits.target_constraints())]
    {
        for constraint in constraints {
            let name = constraint.component_name();
            let Some(component) = constraint.component(world) else {
                return Err(TraitsError::UnknownComponent { relation: relation.clone(), component: name });
            };
            let (is_required, make_default) = (constraint.is_required(), constraint.make_default);
            let new = ResolvedConstraint { end, component, name, is_required, make_default };
            if let Some(conflict) = resolved.iter().find_map(|known| conflict_of(known, &new, traits)) {
                return Err(TraitsError::Conflict { relation: relation.clone(), conflict });
            }
            // One may be given by its type and by its id.
            match resolved.iter_mut().find(|known| known.end == end && known.component == component) {
                Some(known) => known.make_default = known.make_default.or(make_default),
                None => resolved.push(new),
            }
        }
    }
    let inserts = traits.missing_rule() == OnMissing::Insert;
    let unknown = resolved.iter().find(|known| inserts && known.is_required && known.make_default.is_none());
    match unknown {
        Some(known) => {
            let (relation, component) = (relation.clone(), known.name.clone());
            Err(TraitsError::NoDefaultToInsert { relation, component })
        }
        None => Ok(resolved),
    }
}

/// What contradicts if a component must be there and must not. Both ends of a symmetric pair are sources, and targets.
fn conflict_of(
    known: &ResolvedConstraint,
    new: &ResolvedConstraint,
    traits: &RelationTraits,
) -> Option<TraitConflict> {
    let is_contrary = known.component == new.component && known.is_required != new.is_required;
    if !is_contrary || !(known.end == new.end || traits.is_symmetric()) {
        return None;
    }
    let required = if known.is_required { known } else { new };
    let excluded = if known.is_required { new } else { known };
    let first = if required.end == PairEnd::Source { "source(C)" } else { "target(C)" };
    let second = if excluded.end == PairEnd::Source { "source(!C)" } else { "target(!C)" };
    Some(TraitConflict { first, second })
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
