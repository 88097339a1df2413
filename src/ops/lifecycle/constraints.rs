//! Constraints on the ends of pairs when a component comes or goes later.

use crate::{
    fetch,
    id::StoredPair,
    ops::{
        mutate::{
            error::{BrokenConstraint, ConstraintError},
            event::Removal,
            remove::{Selection, remove_selected},
        },
        register::{
            constraints::WatchedComponents,
            keys::RemovalCause,
            report::{report, report_warning, to_bevy},
        },
    },
    relation::{OnMissing, PairEnd},
};
use alloc::vec::Vec;
use bevy_ecs::{
    component::ComponentId,
    entity::{Entity, EntityHashSet},
    lifecycle::{Add, Remove},
    observer::{Observer, On},
    world::{DeferredWorld, World},
};
use bevy_platform::collections::HashSet;

/// Spawns the observers that are missing, and looks at all pairs, unless none were missing before.
pub(super) fn spawn_observers(world: &mut World) -> Vec<Entity> {
    let Some(watched) = world.get_resource::<WatchedComponents>() else { return Vec::new() };
    let is_observer = |&entity: &Entity| world.get::<Observer>(entity).is_some();
    let missing = watched.0.iter().filter(|(_, observer)| !observer.as_ref().is_some_and(is_observer));
    let is_respawn = watched.0.values().any(Option::is_some);
    let mut missing: Vec<(ComponentId, bool)> = missing.map(|(&key, _)| key).collect();
    // The map has no order.
    missing.sort_unstable();
    let mut observers = Vec::new();
    for (component, is_required) in missing {
        let observer = if is_required {
            Observer::new(|on: On<Remove<()>>, mut world: DeferredWorld| note_change(&mut world, on.entity))
        } else {
            Observer::new(|on: On<Add<()>>, mut world: DeferredWorld| note_change(&mut world, on.entity))
        };
        let observer = world.spawn(observer.with_component(component)).id();
        observers.push(observer);
        if let Some(mut watched) = world.get_resource_mut::<WatchedComponents>() {
            watched.0.insert((component, is_required), Some(observer));
        }
    }
    if is_respawn {
        check_all(world);
    }
    observers
}

/// A component of `entity` is about to go, or has come, or it is being cloned: its pairs are looked at by the command that comes next, when it is
/// known whether the entity is despawned.
pub(super) fn note_change(world: &mut DeferredWorld<'_>, entity: Entity) {
    let Some(store) = fetch::store(world) else { return };
    let is_constrained = |id| !store.registry().entry(id).constraints.is_empty();
    if store.participants().relations(entity).any(is_constrained) {
        world.commands().queue(move |world: &mut World| check(world, entity));
    }
}

/// Removes, or reports, the pairs of `entity` for which it does not fulfil a constraint.
fn check(world: &mut World, entity: Entity) {
    if !world.entities().contains_spawned(entity) {
        return;
    }
    let Some(store) = fetch::store(world) else { return };
    let (mut removed, mut met, mut errors) = (Vec::new(), HashSet::<StoredPair>::default(), Vec::new());
    for relation in store.participants().relations(entity) {
        let entry = store.registry().entry(relation);
        let is_kept = entry.traits.missing_rule() == OnMissing::Warn;
        for end in [PairEnd::Source, PairEnd::Target] {
            let broken = entry.constraints.iter().find(|rule| rule.end == end && !rule.holds(world, entity));
            let Some(rule) = broken else { continue };
            let index = store.relation(relation);
            let pairs: Vec<StoredPair> = match end {
                PairEnd::Source => index
                    .targets(entity)
                    .map(|target| StoredPair { source: entity, relation, target })
                    .collect(),
                PairEnd::Target => index
                    .sources(entity)
                    .map(|source| StoredPair { source, relation, target: entity })
                    .collect(),
            };
            for pair in pairs {
                let broken = BrokenConstraint::new(world, store, pair, rule);
                if is_kept {
                    errors.push(ConstraintError::Kept(broken));
                } else if met.insert(pair) {
                    removed.push(pair);
                    errors.push(ConstraintError::Removed(broken));
                }
            }
        }
    }
    if !removed.is_empty() {
        let selection = Selection { tags: Vec::new(), pairs: removed };
        remove_selected(world, selection, Removal::Because(RemovalCause::ConstraintBroken));
    }
    for error in errors {
        match error {
            ConstraintError::Kept(_) => report_warning(world.commands(), error),
            ConstraintError::Removed(_) => report(world.commands(), to_bevy(error)),
        }
    }
}

/// [`check`] for every entity with a pair of a relation that has constraints.
#[cold]
fn check_all(world: &mut World) {
    let Some(store) = fetch::store(world) else { return };
    let mut met = EntityHashSet::default();
    let mut ends = Vec::new();
    for id in store.registry().ids().filter(|&id| !store.registry().entry(id).constraints.is_empty()) {
        for (source, target) in store.relation(id).iter() {
            ends.extend([source, target].into_iter().filter(|&end| met.insert(end)));
        }
    }
    for end in ends {
        check(world, end);
    }
}
