//! Declaring the traits of a relation.

use super::{
    constraints,
    entity::{entity_of_type, relation_id_of},
    store::{ensure_store, index_children},
    table,
};
use crate::{
    fetch,
    id::RelationId,
    relation::{
        CleanupPolicy, IS_A, IdRef, OneOf, Registry, RelationPath, RelationTraits, TraitConflict,
        TraitsError, TypeRef,
    },
    store::PairStore,
    traverse::{PathMemo, Search},
};
use alloc::vec::Vec;
use bevy_ecs::{component::ComponentId, entity::Entity, world::World};

/// Adds traits to a relation, tag or type entity.
pub(in crate::ops) fn set_traits(
    world: &mut World,
    entity: Entity,
    traits: RelationTraits,
) -> Result<(), TraitsError> {
    let id = relation_id_of(world, entity)?;
    apply_traits(world, id, traits)
}

/// Adds traits to those of a relation. On an error nothing changes.
pub(in crate::ops) fn apply_traits(
    world: &mut World,
    id: RelationId,
    traits: RelationTraits,
) -> Result<(), TraitsError> {
    let entry = ensure_store(world).registry().entry(id);
    let (entity, type_id) = (entry.entity, entry.type_id);
    let mut resolved: Option<(RelationTraits, Vec<Entity>, Option<Entity>)> = None;
    loop {
        let Some(merged) = merge_traits(world, id, &traits)? else { return Ok(()) };
        if let Some((known, with, one_of)) = &resolved
            && *known == merged
        {
            let components = commit_traits(world, id, merged, with, *one_of)?;
            // That runs users' code.
            constraints::watch(world, components);
            table::write_stale(world);
            return Ok(());
        }
        check_component_companions(world, id, &traits)?;
        // That runs users' code, after which it may have other traits.
        let with = merged.with_refs().iter().map(|&with| resolve(world, id, with));
        let with = with.collect::<Result<Vec<Entity>, _>>()?;
        for &with in &with {
            relation_id_of(world, with)?;
        }
        if merged.one_of_rule().is_some() {
            index_children(world);
        }
        let one_of = match merged.one_of_rule() {
            None => None,
            Some(OneOf::Relation) => Some(entity),
            Some(OneOf::Parent(parent)) => Some(resolve(world, id, parent)?),
        };
        if let Some(data) = merged.column() {
            data.init(world);
        }
        let entry = ensure_store(world).registry().get(id);
        if !entry
            .is_some_and(|entry| entry.type_id == type_id && (type_id.is_some() || entry.entity == entity))
        {
            return Err(TraitsError::Dead { entity });
        }
        resolved = Some((merged, with, one_of));
    }
}

/// Only a component has components as companions.
fn check_component_companions(
    world: &World,
    id: RelationId,
    traits: &RelationTraits,
) -> Result<(), TraitsError> {
    let is_component = |with: &IdRef| matches!(with, IdRef::Type(TypeRef { insert_default: Some(_), .. }));
    let Some(store) = fetch::store(world) else { return Ok(()) };
    let entry = store.registry().entry(id);
    let component = entry.type_id.and_then(|type_id| world.components().get_id(type_id));
    let refused = entry.adopted.is_some() || component.is_none();
    match refused && traits.with_refs().iter().any(is_component) {
        true => Err(TraitsError::NotAComponent { relation: entry.name() }),
        false => Ok(()),
    }
}

/// The traits of a relation together with new ones. `None` if there is nothing new.
fn merge_traits(
    world: &World,
    id: RelationId,
    traits: &RelationTraits,
) -> Result<Option<RelationTraits>, TraitsError> {
    let alive = world.entities();
    let Some(store) = fetch::store(world) else { return Ok(None) };
    let entry = store.registry().entry(id);
    let relation = entry.name();
    let mut merged = entry.traits.clone();
    // A companion that has gone since is no companion any more.
    merged.retain_with(|entity| alive.contains_spawned(entity));
    let known = merged.clone();
    if let Err(conflict) = merged.merge(traits.clone()) {
        return Err(TraitsError::Conflict { relation, conflict });
    }
    if merged == known {
        return Ok(None);
    }
    if is_used(store, id, &merged) {
        return Err(TraitsError::Frozen { relation });
    }
    if entry.adopted.is_some() && merged.names_storage() {
        let conflict = TraitConflict { first: "storage", second: "Relationship" };
        return Err(TraitsError::Conflict { relation, conflict });
    }
    if entry.type_id.is_some() && entry.data.is_some() && (merged.is_tag() || merged.column().is_some()) {
        let conflict = TraitConflict { first: "tag", second: "data" };
        return Err(TraitsError::Conflict { relation, conflict });
    }
    if let Some(key) = merged.key_rule() {
        let column = entry.data.or(merged.column());
        if column.is_none_or(|column| column.value_type() != key.value_type()) {
            return Err(TraitsError::KeyWithoutValue { relation, value: key.value_name() });
        }
    }
    Ok(Some(merged))
}

/// Writes traits down, and returns the components that are to be watched. Nothing here runs users' code.
fn commit_traits(
    world: &mut World,
    id: RelationId,
    merged: RelationTraits,
    with: &[Entity],
    one_of: Option<Entity>,
) -> Result<Vec<(ComponentId, bool)>, TraitsError> {
    let relation = ensure_store(world).registry().entry(id).name();
    let constraints = constraints::resolve(world, &relation, &merged)?;
    let watched =
        constraints.iter().map(|constraint| (constraint.component, constraint.is_required)).collect();
    let store = ensure_store(world);
    let id_of = |&entity: &Entity| {
        let relation = relation.clone();
        store.registry().of_entity(entity).ok_or(TraitsError::DeadReference { relation, entity })
    };
    let with = with.iter().map(id_of).collect::<Result<Vec<RelationId>, _>>()?;
    let leads_back = store.registry().entry(id).is_companion || with.contains(&id);
    if let Some(path) = leads_back.then(|| path_back(store.registry(), id, &with)).flatten() {
        let names = path.iter().map(|&id| store.registry().entry(id).name()).collect();
        return Err(TraitsError::WithCycle { relation, path: RelationPath(names) });
    }
    for &with in &with {
        store.registry_mut().entry_mut(with).is_companion = true;
    }
    let data = merged.column();
    let is_in_table = merged.is_in_table();
    store.registry_mut().note_traits(&merged);
    let has_despawning_relations = merged.relation_policy() == Some(CleanupPolicy::Despawn);
    let entry = store.registry_mut().entry_mut(id);
    entry.traits = merged;
    entry.with = with;
    entry.one_of = one_of;
    entry.constraints = constraints;
    entry.data = entry.data.or(data);
    if has_despawning_relations {
        store.registry_mut().note_despawning_relation();
    }
    let component = if is_in_table { table::component_for(world, id) } else { None };
    ensure_store(world).create_index(id);
    if let Some(component) = component {
        table::set_component(world, id, component);
    }
    Ok(watched)
}

/// Whether it is too late for these traits: there have been pairs of the relation, or entities with the tag; or
/// something inherits from what is to be final.
fn is_used(store: &PairStore, id: RelationId, traits: &RelationTraits) -> bool {
    let entry = store.registry().entry(id);
    entry.frozen
        || store.relation(id).len() > 0
        || store.tags().is_target(entry.entity)
        || (traits.has_final() && !entry.traits.has_final() && store.relation(IS_A).is_target(entry.entity))
}

/// The entity that a reference in traits means.
fn resolve(world: &mut World, id: RelationId, reference: IdRef) -> Result<Entity, TraitsError> {
    match reference {
        IdRef::Entity(entity) if world.entities().contains_spawned(entity) => Ok(entity),
        IdRef::Entity(entity) => {
            let relation = ensure_store(world).registry().entry(id).name();
            Err(TraitsError::DeadReference { relation, entity })
        }
        IdRef::Type(type_ref) if ensure_store(world).registry().is_declared(type_ref.id) => {
            Ok(entity_of_type(world, type_ref))
        }
        IdRef::Type(TypeRef { register: Some(register), .. }) => register(world),
        IdRef::Type(type_ref) => Ok(entity_of_type(world, type_ref)),
    }
}

/// The way along which `with` leads back to `id`, if it does. Each relation is looked at once.
fn path_back(registry: &Registry, id: RelationId, with: &[RelationId]) -> Option<Vec<RelationId>> {
    let neighbors = |at| registry.entry(at).with.iter().copied();
    let mut memo = PathMemo::default();
    let mut search = Search::default();
    let visit = |at, _| (at == id).then_some(());
    with.iter().find_map(|&with| search.run((with, 1), u32::MAX, neighbors, &mut memo, visit))?;
    memo.path.push(id);
    memo.path.reverse();
    Some(memo.path)
}
