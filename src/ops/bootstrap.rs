//! Bringing relations into a world: the store itself, relation types, run-time relations, and the entities
//! that stand for types.

use super::{adopt::adopt, event, participant};
use crate::{
    access,
    id::RelationId,
    names::NameIndex,
    relation::{
        CHILD_OF, CleanupPolicy, IS_A, IdRef, IsA, OneOf, Relation, RelationPath, RelationTraits, SLOT_OF,
        SlotOf, TAGGED, Tagged, TraitConflict, TraitsError, TypeEntry, TypeRef, Value, short_name,
    },
    store::{PairData, PairStore, type_ref},
};
use alloc::{borrow::Cow, vec::Vec};
use bevy_ecs::{component::Component, entity::Entity, hierarchy::ChildOf, world::World};
use core::any::{Any, TypeId};

/// Marks the entities that stand for Rust types.
#[derive(Component)]
pub(crate) struct TypeEntity;

/// The store, made on first use.
#[inline]
pub(crate) fn ensure_store(world: &mut World) -> &mut PairStore {
    if access::store(world).is_none() {
        bootstrap(world);
    }
    match access::store_mut(world) {
        Some(store) => store,
        None => unreachable!("the store was just inserted"),
    }
}

/// Makes the store, the built-in relations and the observers that keep them going.
#[cold]
fn bootstrap(world: &mut World) {
    world.insert_resource(PairStore::default());
    world.init_resource::<NameIndex>();
    event::watch_observers(world);
    let ids = [relation_id::<Tagged>(world), relation_id::<IsA>(world), relation_id::<SlotOf>(world)];
    if let Err(error) = adopt::<ChildOf>(world, ChildOf::traits().ordered()) {
        unreachable!("built-in traits do not contradict: {error}");
    }
    debug_assert_eq!(ids.map(Some), [Some(TAGGED), Some(IS_A), Some(SLOT_OF)]);
    debug_assert!(
        access::store(world).is_some_and(|store| store.registry.of_type::<ChildOf>() == Some(CHILD_OF))
    );
}

/// The number of relation type `R`, which is registered if it is not, and given an entity if it lost its own.
///
/// # Errors
/// If its declared traits are rejected.
pub(crate) fn try_relation_id<R: Relation>(world: &mut World) -> Result<RelationId, TraitsError> {
    let id = match ensure_store(world).registry.of_type::<R>() {
        Some(id) => id,
        None => register_new::<R>(world)?,
    };
    revive(world, id);
    Ok(id)
}

/// [`try_relation_id`] where a relation type must be right.
///
/// # Panics
/// If its declared traits are rejected: a mistake in the program, not in its data.
pub(crate) fn relation_id<R: Relation>(world: &mut World) -> RelationId {
    match try_relation_id::<R>(world) {
        Ok(id) => id,
        Err(error) => panic!("{error}"),
    }
}

/// Registers relation type `R`, however it wants to be, and gives its entity.
///
/// # Errors
/// If its declared traits are rejected; then it, and what was registered along with it, is forgotten.
pub fn register<R: Relation>(world: &mut World) -> Result<Entity, TraitsError> {
    if let Some(id) = ensure_store(world).registry.of_type::<R>() {
        return Ok(ensure_store(world).registry.entry(id).entity);
    }
    let added = add_type_relation::<R>(world);
    added.finish(world, |world, id| apply_traits(world, id, R::traits()))
}

/// A relation type whose traits are still to be declared.
pub(super) struct AddedType {
    pub(super) id: RelationId,
    /// Its entity was used as a relation before.
    known: bool,
}

impl AddedType {
    /// Declares the traits, or takes the relation type back.
    pub(super) fn finish(
        self,
        world: &mut World,
        declare: impl FnOnce(&mut World, RelationId) -> Result<(), TraitsError>,
    ) -> Result<Entity, TraitsError> {
        match declare(world, self.id) {
            Ok(()) => Ok(ensure_store(world).registry.entry(self.id).entity),
            Err(error) if self.known => {
                ensure_store(world).registry.entry_mut(self.id).declared = false;
                Err(error)
            }
            Err(error) => {
                forget_type(world, self.id);
                Err(error)
            }
        }
    }
}

#[cold]
fn register_new<R: Relation>(world: &mut World) -> Result<RelationId, TraitsError> {
    let before: Vec<RelationId> = ensure_store(world).registry.declared().collect();
    if let Err(error) = R::register(world) {
        let along: Vec<RelationId> = ensure_store(world).registry.declared().collect();
        for id in along.into_iter().filter(|id| !before.contains(id)) {
            forget_type(world, id);
        }
        return Err(error);
    }
    match ensure_store(world).registry.of_type::<R>() {
        Some(id) => Ok(id),
        None => unreachable!("the relation was just registered"),
    }
}

/// [`register`] from outside: with whatever comes along.
pub(crate) fn register_relation<R: Relation>(world: &mut World) -> Result<Entity, TraitsError> {
    let id = try_relation_id::<R>(world)?;
    Ok(ensure_store(world).registry.entry(id).entity)
}

/// A relation type whose traits were rejected: its entity stands for the type, as before, and is no relation.
fn forget_type(world: &mut World, id: RelationId) {
    let store = ensure_store(world);
    let entry = store.registry.entry(id);
    let (entity, type_id, data) = (entry.entity, entry.type_id, entry.data);
    store.registry.remove(id);
    store.participants.set_relation(entity, false);
    if let Some(type_id) = type_id {
        store.registry.types.insert(type_id, TypeEntry { entity, data });
    }
}

/// Makes the entry of a relation type, without traits; or completes the one that it got when its entity was used
/// as a relation before the type was known to be one.
pub(super) fn add_type_relation<R: Relation>(world: &mut World) -> AddedType {
    let type_id = TypeId::of::<R>();
    let key = event::key_of_type::<R>(world);
    let entity = entity_of_type(world, type_ref::<R>());
    let store = ensure_store(world);
    store.registry.types.remove(&type_id);
    let known = store.registry.of_entity(entity);
    let id = known.unwrap_or_else(|| store.registry.add(entity, Some(type_id)));
    let entry = store.registry.entry_mut(id);
    entry.declared = true;
    entry.name = Some(short_name(core::any::type_name::<R>()));
    entry.keys.insert(0, key);
    if size_of::<R>() > 0 {
        entry.data = Some(PairData::<R>::kind_of_relation());
        entry.refine = Some(|value, context| {
            let value = match value {
                Value::Slot(slot) => {
                    (*slot as &mut dyn Any).downcast_mut::<Option<R>>().and_then(Option::as_mut)
                }
                Value::Boxed(value) => (&mut **value as &mut dyn Any).downcast_mut::<R>(),
            };
            value.map_or(Ok(()), |value| value.refine(context))
        });
    }
    if known.is_none() {
        store.lay_out(id);
    }
    mark_relation(world, id, entity);
    AddedType { id, known: known.is_some() }
}

/// Notes that `entity` is the relation `id`.
fn mark_relation(world: &mut World, id: RelationId, entity: Entity) {
    let store = ensure_store(world);
    store.participants.set_relation(entity, true);
    let entry = store.registry.entry(id);
    if let Some(data) = entry.data {
        if entry.type_id.is_some() {
            store.participants.set_data_target(entity);
        }
        (data.init)(world);
    }
    participant::join(world, entity, id);
}

/// Gives a relation type whose entity was despawned another one.
#[inline]
pub(crate) fn revive(world: &mut World, id: RelationId) {
    let Some(store) = access::store(world) else { return };
    let entry = store.registry.entry(id);
    if entry.type_id.is_some() && !world.entities().contains_spawned(entry.entity) {
        replace_entity(world, id);
    }
}

#[cold]
fn replace_entity(world: &mut World, id: RelationId) {
    let entity = world.spawn(TypeEntity).id();
    let store = ensure_store(world);
    let type_id = store.registry.entry(id).type_id;
    store.registry.set_entity(id, entity);
    if let Some(type_id) = type_id {
        store.registry.type_entities.insert(entity, type_id);
        store.participants.set_type(entity);
    }
    store.refresh_simple(id);
    mark_relation(world, id, entity);
}

/// The relation that `entity` is, made one if it is none.
///
/// # Errors
/// If it is not alive.
pub(crate) fn relation_id_of(world: &mut World, entity: Entity) -> Result<RelationId, TraitsError> {
    if !world.entities().contains_spawned(entity) {
        return Err(TraitsError::Dead { entity });
    }
    let store = ensure_store(world);
    if let Some(id) = store.registry.of_entity(entity) {
        return Ok(id);
    }
    // The pairs of a type with fields carry values of that type, whether it is declared a relation or not.
    let type_id = store.registry.type_entities.get(&entity).copied();
    let data = store.kind_of_type_entity(entity);
    let id = store.registry.add(entity, type_id);
    store.registry.entry_mut(id).data = data;
    if let Some(type_id) = type_id {
        store.registry.types.remove(&type_id);
    }
    store.lay_out(id);
    mark_relation(world, id, entity);
    Ok(id)
}

/// Spawns a run-time relation.
pub(crate) fn spawn_relation(
    world: &mut World,
    name: Cow<'static, str>,
    traits: RelationTraits,
) -> Result<Entity, TraitsError> {
    ensure_store(world);
    let entity = world.spawn(bevy_ecs::name::Name::new(name.clone())).id();
    let id = relation_id_of(world, entity)?;
    ensure_store(world).registry.entry_mut(id).name = Some(name);
    match apply_traits(world, id, traits) {
        Ok(()) => Ok(entity),
        Err(error) => {
            world.despawn(entity);
            Err(error)
        }
    }
}

/// Adds facts about a relation, tag or type entity.
pub(crate) fn set_traits(
    world: &mut World,
    entity: Entity,
    traits: RelationTraits,
) -> Result<(), TraitsError> {
    let id = relation_id_of(world, entity)?;
    apply_traits(world, id, traits)
}

/// Adds facts to what is known of a relation. On an error nothing changes.
pub(super) fn apply_traits(
    world: &mut World,
    id: RelationId,
    traits: RelationTraits,
) -> Result<(), TraitsError> {
    let alive = world.entities();
    let Some(store) = access::store(world) else { return Ok(()) };
    let entry = store.registry.entry(id);
    let relation = entry.name();
    let mut merged = entry.traits.clone();
    // A companion that has gone since is no companion any more.
    merged.retain_with(|entity| alive.contains_spawned(entity));
    let known = merged.clone();
    if let Err(conflict) = merged.merge(traits) {
        return Err(TraitsError::Conflict { relation, conflict });
    }
    if merged == known {
        return Ok(());
    }
    if is_used(store, id, &merged) {
        return Err(TraitsError::Frozen { relation });
    }
    if entry.type_id.is_some() && entry.data.is_some() && (merged.is_tag() || merged.data_ref().is_some()) {
        let conflict = TraitConflict { first: "tag", second: "data" };
        return Err(TraitsError::Conflict { relation, conflict });
    }
    let with = resolve_with(world, id, &merged)?;
    let one_of = match merged.one_of_rule() {
        None => None,
        Some(OneOf::Relation) => Some(relation.entity()),
        Some(OneOf::Parent(parent)) => Some(resolve(world, id, parent)?),
    };
    let data = merged.data_ref().map(|data| (data.kind)());
    if let Some(data) = data {
        (data.init)(world);
    }
    let store = ensure_store(world);
    let entry = store.registry.entry_mut(id);
    let takes_along = merged.relation_policy() == Some(CleanupPolicy::Despawn);
    entry.traits = merged;
    entry.with = with;
    entry.one_of = one_of;
    entry.data = entry.data.or(data);
    store.registry.relations_take_along |= takes_along;
    store.lay_out(id);
    Ok(())
}

/// Whether it is too late for these traits: there have been pairs of the relation, or entities with the tag; or
/// something inherits from what is to be final.
fn is_used(store: &PairStore, id: RelationId, traits: &RelationTraits) -> bool {
    let entry = store.registry.entry(id);
    let is_target = |relation| store.relation(relation).reverse.list(entry.entity).is_some();
    let is_built_in = |relation: RelationId| relation.index() < store.relations.len();
    entry.frozen
        || (is_built_in(TAGGED) && is_target(TAGGED))
        || (traits.has_final() && !entry.traits.has_final() && is_built_in(IS_A) && is_target(IS_A))
}

/// The entity that a reference in traits means.
fn resolve(world: &mut World, id: RelationId, reference: IdRef) -> Result<Entity, TraitsError> {
    match reference {
        IdRef::Entity(entity) if world.entities().contains_spawned(entity) => Ok(entity),
        IdRef::Entity(entity) => {
            let relation = ensure_store(world).registry.entry(id).name();
            Err(TraitsError::DeadReference { relation, entity })
        }
        IdRef::Type(TypeRef { register: Some(register), .. }) => register(world),
        IdRef::Type(type_ref) => Ok(entity_of_type(world, type_ref)),
    }
}

/// The relations that come along with `id`, if they do not lead back to it.
fn resolve_with(
    world: &mut World,
    id: RelationId,
    traits: &RelationTraits,
) -> Result<Vec<RelationId>, TraitsError> {
    let mut with = Vec::new();
    for &reference in traits.with_refs() {
        let entity = resolve(world, id, reference)?;
        with.push(relation_id_of(world, entity)?);
    }
    let registry = &ensure_store(world).registry;
    // Along the relations that come along: each leads to those that come along with it in turn.
    let mut paths: Vec<Vec<RelationId>> = with.iter().map(|&with| alloc::vec![id, with]).collect();
    while let Some(path) = paths.pop() {
        let last = path[path.len() - 1];
        if last == id {
            let names = path.iter().map(|&id| registry.entry(id).name()).collect();
            let relation = registry.entry(id).name();
            return Err(TraitsError::WithCycle { relation, path: RelationPath(names) });
        }
        for &next in &registry.entry(last).with {
            let mut longer = path.clone();
            longer.push(next);
            paths.push(longer);
        }
    }
    Ok(with)
}

/// The entity that stands for the type `T`, made if there is none.
pub(crate) fn entity_of<T: Send + Sync + 'static>(world: &mut World) -> Entity {
    entity_of_type(world, type_ref::<T>())
}

/// Notes what values pairs with the type carry, if that was not known when its entity was made.
fn learn_data(world: &mut World, entity: Entity, type_ref: TypeRef) {
    let store = ensure_store(world);
    let Some(kind) = type_ref.data else { return };
    if store.participants.is_data_target(entity) {
        return;
    }
    let data = kind();
    if let Some(entry) = store.registry.types.get_mut(&type_ref.id) {
        entry.data = Some(data);
    }
    store.participants.set_data_target(entity);
    (data.init)(world);
}

/// [`entity_of`] for a type of which nothing more is known yet.
pub(crate) fn entity_of_type_id(world: &mut World, id: TypeId) -> Entity {
    entity_of_type(world, TypeRef { id, register: None, data: None })
}

fn entity_of_type(world: &mut World, type_ref: TypeRef) -> Entity {
    let registry = &ensure_store(world).registry;
    if let Some(id) = registry.of_type_id(type_ref.id) {
        revive(world, id);
        return ensure_store(world).registry.entry(id).entity;
    }
    let known = registry.types.get(&type_ref.id).map(|entry| entry.entity);
    if let Some(entity) = known.filter(|&entity| world.entities().contains_spawned(entity)) {
        learn_data(world, entity, type_ref);
        return entity;
    }
    let entity = world.spawn((TypeEntity, participant::Participant)).id();
    let data = type_ref.data.map(|kind| kind());
    let store = ensure_store(world);
    store.registry.types.insert(type_ref.id, TypeEntry { entity, data });
    store.registry.type_entities.insert(entity, type_ref.id);
    store.participants.set_marked(entity, true);
    store.participants.set_type(entity);
    if let Some(data) = data {
        store.participants.set_data_target(entity);
        (data.init)(world);
    }
    entity
}
