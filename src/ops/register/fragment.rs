//! Writing the components of relations with `storage = "Fragmenting"`.

use super::report::report_warning;
use crate::{
    fetch,
    id::RelationId,
    relation::{RelationStorage, TooManyArchetypes},
    store::{PairStore, StaleSource, register_target_component},
};
use bevy_ecs::{component::ComponentId, lifecycle::ComponentHook, world::World};
use smallvec::SmallVec;

type Components = SmallVec<[ComponentId; 4]>;

/// Writes the components of a stale source: that of its first target, and those for all its targets. Runs users' code.
pub(super) fn write(world: &mut World, stale: &StaleSource, relation: RelationId, on_remove: ComponentHook) {
    if world.get_entity(stale.source).is_err() {
        return;
    }
    let wanted = wanted(world, stale, relation, on_remove);
    let surplus = surplus(world, stale, relation, &wanted);
    if !surplus.is_empty() {
        world.entity_mut(stale.source).remove_by_ids(&surplus);
    }
    // An observer of that may have despawned it.
    let (Some(target), Ok(mut source)) = (stale.target, world.get_entity_mut(stale.source)) else { return };
    let has = |component: &ComponentId| source.contains_id(*component);
    let lacking: Components = wanted.into_iter().filter(|component| !has(component)).collect();
    if lacking.is_empty() {
        stale.component.write(world, stale.source, stale.target);
        return;
    }
    let known = source.world().archetypes().len();
    let at_once = fetch::store(source.world()).is_some_and(PairStore::inserts_at_once);
    stale.component.insert_with(&mut source, target, &lacking, at_once);
    if world.archetypes().len() > known {
        give_up_if_many(world, stale, relation);
    }
}

/// The components that a source is to have for its targets.
fn wanted(
    world: &mut World,
    stale: &StaleSource,
    relation: RelationId,
    on_remove: ComponentHook,
) -> Components {
    let store = fetch::store(world);
    let targets = store.map(|store| store.targets_with_components(relation, stale.source));
    let component = |target| {
        let store = fetch::store(world)?;
        if let Some(component) = store.known_target_component(relation, target) {
            return Some(component);
        }
        let free = store.free_target_component(world.archetypes());
        let component = free.unwrap_or_else(|| register_target_component(world, on_remove));
        fetch::store_mut(world)?.set_target_component(relation, target, component);
        Some(component)
    };
    targets.into_iter().flatten().filter_map(component).collect()
}

/// The components that a source has and is not to have.
fn surplus(world: &World, stale: &StaleSource, relation: RelationId, wanted: &[ComponentId]) -> Components {
    let (Some(store), Ok(source)) = (fetch::store(world), world.get_entity(stale.source)) else {
        return Components::new();
    };
    let first = stale.component.id();
    let is_surplus = |component: &ComponentId| match *component == first {
        true => stale.target.is_none(),
        false => store.is_surplus(*component, relation, wanted),
    };
    source.archetype().components().iter().copied().filter(is_surplus).collect()
}

/// The components for targets are used no more if there are too many archetypes of sources.
fn give_up_if_many(world: &mut World, stale: &StaleSource, relation: RelationId) {
    let archetypes = world.archetypes().component_index().get(&stale.component.id());
    if archetypes.is_none_or(|archetypes| archetypes.len() <= RelationStorage::MAX_ARCHETYPES) {
        return;
    }
    let Some(store) = fetch::store_mut(world) else { return };
    if store.give_up_target_components(relation) {
        let relation = store.registry().entry(relation).name();
        report_warning(world.commands(), TooManyArchetypes { relation });
    }
}
