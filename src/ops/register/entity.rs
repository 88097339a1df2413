//! The entities that stand for relations and for Rust types.

use super::{
    participant,
    store::{ensure_store, use_all_relations, use_relation},
    watch,
};
use crate::{
    fetch,
    id::RelationId,
    relation::{ColumnRef, TraitsError, TypeEntry, TypeRef, short_name},
    store::{PairStore, type_ref},
    traverse::is_child_of,
};
use bevy_ecs::{
    component::{Component, ComponentId, Components},
    entity::Entity,
    observer::Observer,
    resource::IsResource,
    system::SystemIdMarker,
    world::World,
};
use core::any::TypeId;

/// Marks the entities that stand for Rust types.
#[derive(Component)]
pub(crate) struct TypeEntity;

/// Marks other entities that this crate keeps for itself.
#[derive(Component, Default)]
pub(crate) struct InternalEntity;

/// The components of entities that Bevy and this crate keep for themselves, but for those that stand for types: no variable
/// goes through them.
pub(crate) fn unlisted_markers(components: &Components) -> impl Iterator<Item = ComponentId> + use<> {
    [
        components.component_id::<IsResource>(),
        components.component_id::<Observer>(),
        components.component_id::<SystemIdMarker>(),
        components.component_id::<InternalEntity>(),
    ]
    .into_iter()
    .flatten()
}

/// The components of all entities that Bevy and this crate keep for themselves: they are no `$this`, and no scope makes them
/// children.
pub(crate) fn internal_markers(components: &Components) -> impl Iterator<Item = ComponentId> + use<> {
    unlisted_markers(components).chain(components.component_id::<TypeEntity>())
}

/// The relation that `entity` is, made one if it is none.
///
/// # Errors
/// If it is not alive, or names tags.
pub(crate) fn relation_id_of(world: &mut World, entity: Entity) -> Result<RelationId, TraitsError> {
    watch::restore_if_lost(world);
    use_relation(world, entity);
    let data = loop {
        let store = ensure_store(world);
        if let Some(id) = store.registry().of_entity(entity)
            && store.registry().entry(id).in_use
        {
            return match world.entities().contains_spawned(entity) {
                true => Ok(id),
                false => Err(TraitsError::Dead { entity }),
            };
        }
        if store.registry().names_tags(entity) {
            return Err(TraitsError::Frozen { relation: store.registry().name_of(entity) });
        }
        let (data, marked) = (store.column_of_type_entity(entity), store.participants().is_marked(entity));
        if !world.entities().contains_spawned(entity) {
            return Err(TraitsError::Dead { entity });
        }
        if marked {
            break data;
        }
        // Runs users' code, which may have made it a relation, or despawned it.
        if !participant::mark(world, entity) {
            return Err(TraitsError::Dead { entity });
        }
    };
    let store = ensure_store(world);
    // The pairs of a type with fields carry values of that type, whether it is declared a relation or not.
    let type_id = store.registry().type_of(entity);
    let id = store.registry_mut().add(entity, type_id);
    let entry = store.registry_mut().entry_mut(id);
    entry.data = data;
    entry.has_traits = true;
    if let Some(known) = type_id.and_then(|type_id| store.registry_mut().take_type_entry(type_id)) {
        store.registry_mut().entry_mut(id).name = known.name;
    }
    store.create_index(id);
    note_relation(store, id, entity);
    #[cfg(feature = "bevy_reflect")]
    if type_id.is_none() {
        watch::announce(world, entity);
        // That may have run users' code.
        if ensure_store(world).registry().of_entity(entity) != Some(id) {
            return Err(TraitsError::Dead { entity });
        }
    }
    Ok(id)
}

/// Notes that `entity` is the relation `id`: if it has the marker, else an observer has despawned it.
pub(super) fn note_relation(store: &mut PairStore, id: RelationId, entity: Entity) {
    if store.participants().is_marked(entity) {
        store.participants_mut().set_relation(entity, true);
        store.participants_mut().note_relation(entity, id);
        note_own_values(store, id);
    }
    store.refresh_fast_path(id);
}

/// Pairs with a relation type as their target carry values of it, if it has fields and there are none that do not.
fn note_own_values(store: &mut PairStore, id: RelationId) {
    let entry = store.registry().entry(id);
    let entity = entry.entity;
    if entry.has_own_values()
        && !store.participants().is_data_target(entity)
        && !store.has_pairs_by_type(entity)
    {
        store.participants_mut().set_data_target(entity);
    }
}

/// Assigns a new entity to a relation type whose own was despawned; also if an observer's panic kept Bevy from
/// finishing the despawn: the store has no record of such an entity.
#[inline]
pub(crate) fn respawn(world: &mut World, id: RelationId) {
    let Some(store) = fetch::store(world) else { return };
    if store.registry().entry(id).type_id.is_some() && !has_entity(world, store, id) {
        replace_entity(world, id);
    }
}

/// Whether the entity of a relation is alive, and known to be one.
#[inline]
fn has_entity(world: &World, store: &PairStore, id: RelationId) -> bool {
    let entity = store.registry().entry(id).entity;
    store.participants().is_relation(entity) && world.entities().contains_spawned(entity)
}

#[cold]
fn replace_entity(world: &mut World, id: RelationId) {
    let Some(before) = fetch::store(world).map(PairStore::id) else { return };
    let entity = spawn_type_entity(world);
    // That runs users' code, which may have done the same, or have taken the marker off.
    let marked = participant::mark(world, entity);
    let Some(store) = fetch::store(world) else { return };
    let lost = marked && store.id() == before && !has_entity(world, store, id);
    let Some(type_id) = lost.then(|| store.registry().entry(id)).and_then(|entry| entry.type_id) else {
        let _ = world.try_despawn(entity);
        return;
    };
    let store = ensure_store(world);
    store.registry_mut().set_entity(id, entity);
    note_type_entity(store, entity, type_id);
    note_relation(store, id, entity);
}

/// Spawns an entity that is to stand for a type, with the marker, unless an observer takes that from it.
fn spawn_type_entity(world: &mut World) -> Entity {
    world.spawn((TypeEntity, participant::Participant)).id()
}

/// Notes that a living entity stands for a type.
fn note_type_entity(store: &mut PairStore, entity: Entity, type_id: TypeId) {
    store.registry_mut().set_type(entity, type_id);
    store.participants_mut().set_type(entity);
}

/// The entity that stands for the type `T`, made if there is none.
pub(crate) fn entity_of<T: Send + Sync + 'static>(world: &mut World) -> Entity {
    if is_child_of::<T>() {
        use_all_relations(world);
    }
    entity_of_type(world, type_ref::<T>())
}

/// [`entity_of`] for a type of which nothing more is known yet.
pub(crate) fn entity_of_type_id(world: &mut World, id: TypeId) -> Entity {
    entity_of_type(world, TypeRef::of_id(id))
}

pub(crate) fn entity_of_type(world: &mut World, type_ref: TypeRef) -> Entity {
    let data = type_ref.data;
    let (mut spare, mut has_column) = (None, false);
    let entity = loop {
        let store = ensure_store(world);
        let registry = store.registry();
        if let Some(id) = registry.of_type_id(type_ref.id) {
            respawn(world, id);
            let store = ensure_store(world);
            if let Some(data) = data.filter(|_| may_get_values(store, id)) {
                if !has_column {
                    data.init(world);
                    has_column = true;
                    continue;
                }
                store.registry_mut().entry_mut(id).data = Some(data);
                store.refresh_fast_path(id);
            }
            note_own_values(store, id);
            let entry = store.registry_mut().entry_mut(id);
            if entry.name.is_none() {
                entry.name = type_ref.name.map(short_name);
            }
            break entry.entity;
        }
        let known = registry.type_entry(type_ref.id).map(|entry| entry.entity);
        // Those without a record are left to themselves, as in `respawn`.
        let known = known.filter(|entity| registry.is_type(*entity));
        let may_learn = known.is_some_and(|entity| may_get_data(store, entity));
        if let Some(entity) = known.filter(|&entity| world.entities().contains_spawned(entity)) {
            // Runs users' code, too.
            if let Some(data) = data.filter(|data| !has_column && (may_learn || !data.exists(world))) {
                data.init(world);
                has_column = true;
                continue;
            }
            record_type(ensure_store(world), entity, type_ref, data);
            break entity;
        }
        if let Some(entity) = spare {
            // An observer despawns such entities, or takes the marker off. What is done with this one finds out that it is
            // dead.
            if !participant::note_marker(world, entity) {
                if participant::mark(world, entity) {
                    continue;
                }
                break entity;
            }
            let store = ensure_store(world);
            let former = store.registry_mut().take_type_entry(type_ref.id).and_then(|former| former.name);
            let name = former.or_else(|| type_ref.name.map(short_name));
            store.registry_mut().set_type_entry(type_ref.id, TypeEntry { entity, name, data: None });
            note_type_entity(store, entity, type_ref.id);
            spare = None;
            continue;
        }
        // Runs users' code, which may have done the same.
        spare = Some(spawn_type_entity(world));
    };
    if let Some(spare) = spare {
        let _ = world.try_despawn(spare);
    }
    entity
}

/// Despawns an entity that was made to stand for a type for what is refused now, unless something has used it. To despawn one
/// that stands for a component would remove the component everywhere.
#[cfg(feature = "remote")]
pub(crate) fn despawn_unused_type_entity(world: &mut World, entity: Entity) {
    let store = ensure_store(world);
    let is_used = store.has_tags(entity)
        || store.participants().relations(entity).any(|id| {
            let index = store.relation(id);
            index.has_any(entity) || index.is_target(entity)
        });
    if is_used {
        return;
    }
    if let Some(type_id) = store.registry().type_of(entity) {
        store.registry_mut().take_type_entry(type_id);
    }
    store.registry_mut().remove_type(entity);
    store.participants_mut().remove(entity);
    let _ = world.try_despawn(entity);
}

/// Whether a type that is known as a relation by its entity alone may turn out to have fields.
fn may_get_values(store: &PairStore, id: RelationId) -> bool {
    let entry = store.registry().entry(id);
    !entry.declared
        && !entry.frozen
        && entry.leaves_values()
        && store.relation(id).len() == 0
        && !store.has_pairs_by_type(entry.entity)
}

/// Whether a type of which no fields are known may turn out to have some. Pairs that have it as an end would lack their values.
fn may_get_data(store: &PairStore, entity: Entity) -> bool {
    store.column_of_type_entity(entity).is_none() && !store.has_pairs_by_type(entity)
}

/// Notes the name of the type, and what values pairs with it carry, if that was not known when its entity was made.
fn record_type(store: &mut PairStore, entity: Entity, type_ref: TypeRef, data: Option<ColumnRef>) {
    let may_learn = may_get_data(store, entity);
    let Some(entry) = store.registry_mut().type_entry_mut(type_ref.id) else { return };
    if entry.name.is_none() {
        entry.name = type_ref.name.map(short_name);
    }
    if let Some(data) = data.filter(|_| may_learn) {
        entry.data = Some(data);
        store.participants_mut().set_data_target(entity);
    }
}
