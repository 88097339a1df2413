//! Constraints on the ends of pairs: what commands have inserted is looked at once they are done, and pairs go when a
//! component comes or goes later.

use crate::{
    fetch,
    id::StoredPair,
    ops::{
        mutate::{
            ends::{Broken, EndCheck, broken_constraints, reason},
            error::{BrokenConstraint, ConstraintError},
            event::Removal,
            remove::{Completion, Selection, remove_selected},
        },
        register::{
            constraints::WatchedComponents,
            keys::RemovalCause,
            report::{report, to_bevy, with_place},
        },
    },
    relation::{MakeDefault, OnMissing, PairEnd},
    store::{PairStore, UncheckedPair},
};
use alloc::vec::Vec;
use bevy_ecs::{
    component::ComponentId,
    entity::{Entity, EntityHashSet},
    error::{BevyError, Severity},
    lifecycle::{Add, Remove},
    observer::{Observer, On},
    world::{DeferredWorld, World},
};
use bevy_platform::collections::HashSet;
use core::panic::Location;

/// Spawns the observers that are missing, and looks at all pairs if some were there before.
pub(super) fn spawn_observers(world: &mut World) -> Vec<Entity> {
    let Some(watched) = world.get_resource::<WatchedComponents>() else { return Vec::new() };
    let is_observer = |&entity: &Entity| world.get::<Observer>(entity).is_some();
    let missing = watched.0.iter().filter(|(_, observer)| !observer.as_ref().is_some_and(is_observer));
    let is_respawn = watched.0.values().flatten().any(|observer| !is_observer(observer));
    let mut missing: Vec<(ComponentId, bool)> = missing.map(|(&key, _)| key).collect();
    // The map has no order.
    missing.sort_unstable();
    let mut observers = Vec::new();
    for (component, is_required) in missing {
        let observer = if is_required {
            Observer::new(move |on: On<Remove<()>>, mut world: DeferredWorld| {
                note_change(&mut world, on.entity, Some(component));
            })
        } else {
            Observer::new(move |on: On<Add<()>>, mut world: DeferredWorld| {
                note_change(&mut world, on.entity, Some(component));
            })
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

/// A `component` of `entity` is about to go, or has come, or, without one, `entity` is being cloned: its pairs are
/// looked at by the command that comes next, when it is known whether the entity is despawned.
pub(super) fn note_change(world: &mut DeferredWorld<'_>, entity: Entity, component: Option<ComponentId>) {
    let Some(store) = fetch::deferred_store(world) else { return };
    let is_constrained = |id| !store.registry().entry(id).constraints.is_empty();
    if store.participants().relations(entity).any(is_constrained) {
        store.note_changed_end(entity, component);
        world.commands().queue(check_changed_ends);
    }
}

/// Looks at the pairs of the entities that were noted.
fn check_changed_ends(world: &mut World) {
    let ends = fetch::store_mut(world).map(PairStore::take_changed_ends).unwrap_or_default();
    let mut rest = Completion::default();
    for (entity, component) in ends {
        rest.run(|| check(world, entity, component));
    }
    rest.finish();
}

/// Removes, or reports, the pairs of `entity` for which it does not fulfil a constraint about `component`, or any. A
/// pair that [`check_constraints`] is going to look at is left to that.
fn check(world: &mut World, entity: Entity, component: Option<ComponentId>) {
    if !world.entities().contains_spawned(entity) {
        return;
    }
    let Some(store) = fetch::store(world) else { return };
    let (mut removed, mut met, mut errors) = (Vec::new(), HashSet::<StoredPair>::default(), Vec::new());
    for relation in store.participants().relations(entity) {
        let entry = store.registry().entry(relation);
        let is_kept = entry.traits.missing_rule() == OnMissing::Warn;
        // Others were broken before, and reported by then.
        let is_new = |changed: ComponentId| component.is_none_or(|component| component == changed);
        for rule in
            entry.constraints.iter().filter(|rule| is_new(rule.component) && !rule.holds(world, entity))
        {
            let index = store.relation(relation);
            let pairs: Vec<StoredPair> = match rule.end {
                PairEnd::Source => index
                    .targets(entity)
                    .map(|target| StoredPair { source: entity, relation, target })
                    .collect(),
                PairEnd::Target => index
                    .sources(entity)
                    .map(|source| StoredPair { source, relation, target: entity })
                    .collect(),
            };
            for pair in pairs.into_iter().filter(|&pair| store.unchecked(pair).is_none()) {
                let broken = BrokenConstraint::new(world, store, pair, rule);
                if is_kept {
                    errors.push((pair, ConstraintError::Kept(broken)));
                } else if met.insert(pair) {
                    removed.push(pair);
                    errors.push((pair, ConstraintError::Removed(broken)));
                }
            }
        }
    }
    let mut rest = Completion::default();
    let left = remove_broken(world, &mut rest, removed, None);
    for (pair, error) in errors {
        if !left.contains(&pair) {
            report_broken(world, error, None);
        }
    }
    rest.finish();
}

/// Removes pairs. Returns those that are left because an observer panicked: they are looked at the next time.
fn remove_broken(
    world: &mut World,
    rest: &mut Completion,
    pairs: Vec<StoredPair>,
    place: Option<&'static Location<'static>>,
) -> Vec<StoredPair> {
    let mut left = pairs.clone();
    rest.run(|| {
        let selection = Selection { tags: Vec::new(), pairs };
        remove_selected(world, selection, Removal::Because(RemovalCause::ConstraintBroken));
        left.clear();
    });
    if let Some(store) = fetch::store_mut(world) {
        left.retain(|pair| store.relation(pair.relation).has(pair.source, pair.target));
        left.iter().for_each(|&pair| store.note_unchecked(pair, place));
    }
    left
}

/// Reports a pair that breaks a constraint, with the place where the command was queued that inserted it.
fn report_broken(world: &mut World, error: ConstraintError, place: Option<&'static Location<'static>>) {
    let error = match error {
        ConstraintError::Kept(_) => BevyError::new(Severity::Warning, error),
        ConstraintError::Removed(_) => to_bevy(error),
    };
    let error = match place {
        Some(place) => with_place(error, place),
        None => error,
    };
    report(world.commands(), error);
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
        check(world, end, None);
    }
}

/// Looks at the ends of the pairs that commands have inserted before the ends had what they must have, in the order in
/// which they came. Returns how many of the pairs were removed. What users' code inserts meanwhile is looked at the
/// next time.
pub(crate) fn check_constraints(world: &mut World) -> usize {
    let mut rest = Completion::default();
    // When a command panics, Bevy drops those after it.
    rest.run(|| check_changed_ends(world));
    let unchecked = fetch::store_mut(world).map(PairStore::take_unchecked).unwrap_or_default();
    let mut removed = 0;
    for unchecked in unchecked {
        removed += usize::from(check_pair(world, &mut rest, &unchecked));
    }
    rest.run(|| world.flush());
    rest.finish();
    removed
}

/// What does not hold for a pair that is to be looked at.
struct Violation {
    rule: OnMissing,
    /// The defaults of what its ends lack, if that is all.
    defaults: Vec<(Entity, MakeDefault)>,
    /// The one for which the pair is refused comes first.
    broken: Vec<BrokenConstraint>,
}

/// `None` if a pair is as it must be, or gone.
fn evaluate(world: &World, unchecked: &UncheckedPair) -> Option<Violation> {
    let store: &PairStore = fetch::store(world)?;
    if !store.is_there(unchecked) {
        return None;
    }
    let broken: Vec<Broken<'_>> = broken_constraints(world, store, unchecked.pair, EndCheck::Now).collect();
    let first = broken.first()?;
    let rule = store.registry().entry(unchecked.pair.relation).traits.missing_rule();
    let refused = reason(rule, &broken);
    let defaults = match (rule, refused) {
        (OnMissing::Insert, None) => {
            broken.iter().filter_map(|broken| Some((broken.end, broken.constraint.make_default?))).collect()
        }
        _ => Vec::new(),
    };
    let broken = match rule {
        OnMissing::Warn => broken.iter().map(|broken| broken.named(world, store)).collect(),
        _ => alloc::vec![refused.unwrap_or(first).named(world, store)],
    };
    Some(Violation { rule, defaults, broken })
}

/// Completes a pair, or removes it. True if it was removed.
fn check_pair(world: &mut World, rest: &mut Completion, unchecked: &UncheckedPair) -> bool {
    let Some(mut violation) = evaluate(world, unchecked) else { return false };
    if !violation.defaults.is_empty() {
        for (end, make) in violation.defaults {
            rest.run(|| {
                let insert = make();
                // Hooks and observers of the component before may have despawned it.
                if let Ok(mut end) = world.get_entity_mut(end) {
                    insert(&mut end);
                }
            });
        }
        // One may have panicked.
        let Some(after) = evaluate(world, unchecked) else { return false };
        violation = after;
    }
    let is_removed = violation.rule != OnMissing::Warn;
    if is_removed && !remove_broken(world, rest, alloc::vec![unchecked.pair], unchecked.place).is_empty() {
        return false;
    }
    for broken in violation.broken {
        let error = if is_removed { ConstraintError::Removed(broken) } else { ConstraintError::Kept(broken) };
        report_broken(world, error, unchecked.place);
    }
    is_removed
}
