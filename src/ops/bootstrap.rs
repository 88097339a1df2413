//! Bringing relations into a world: the store itself, relation types, run-time relations, and the entities
//! that stand for types.

use super::{adopt::adopt, error::TraitsError, event, participant};
use crate::{
    access,
    id::RelationId,
    relation::{
        CHILD_OF, IS_A, IdRef, IsA, OneOf, Relation, RelationTraits, SLOT_OF, SlotOf, TAGGED, Tagged,
        TypeEntry, TypeRef, Value, short_name,
    },
    store::{PairData, PairStore},
    traverse::EntityPath,
};
use alloc::{borrow::Cow, vec::Vec};
use bevy_ecs::{component::Component, entity::Entity, hierarchy::ChildOf, world::World};
use core::any::TypeId;

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
pub(crate) fn relation_id<R: Relation>(world: &mut World) -> RelationId {
    let store = ensure_store(world);
    if let Some(id) = store.registry.of_type::<R>() {
        let entity = store.registry.entry(id).entity;
        if !world.entities().contains_spawned(entity) {
            replace_entity(world, id);
        }
        return id;
    }
    R::register(world);
    match access::store(world).and_then(|store| store.registry.of_type::<R>()) {
        Some(id) => id,
        None => unreachable!("the relation was just registered"),
    }
}

/// Registers relation type `R` with its declared traits, if it is not registered, and gives its entity.
///
/// # Panics
/// If the declared traits are rejected, see [`try_register`]: a mistake in the program, not in its data.
pub fn register<R: Relation>(world: &mut World) -> Entity {
    match try_register::<R>(world) {
        Ok(entity) => entity,
        Err(error) => panic!("{error}"),
    }
}

/// [`register`] with an error for what the derive macro cannot see: a `with` that leads back to the relation.
pub(crate) fn try_register<R: Relation>(world: &mut World) -> Result<Entity, TraitsError> {
    let store = ensure_store(world);
    if let Some(id) = store.registry.of_type::<R>() {
        return Ok(store.registry.entry(id).entity);
    }
    let (id, entity) = add_type_relation::<R>(world);
    if let Err(error) = apply_traits(world, id, R::traits()) {
        ensure_store(world).registry.remove(id);
        world.despawn(entity);
        return Err(error);
    }
    Ok(entity)
}

/// Makes the entry of a relation type, without traits.
pub(super) fn add_type_relation<R: Relation>(world: &mut World) -> (RelationId, Entity) {
    let type_id = TypeId::of::<R>();
    let known = ensure_store(world).registry.types.remove(&type_id);
    let entity = known.map_or_else(|| world.spawn(TypeEntity).id(), |entry| entry.entity);
    let key = event::key_of_type::<R>(world);
    let store = ensure_store(world);
    let id = store.registry.add(entity, Some(type_id));
    let entry = store.registry.entry_mut(id);
    entry.name = Some(short_name(core::any::type_name::<R>()));
    entry.key = Some(key);
    if size_of::<R>() > 0 {
        entry.data = Some(PairData::<R>::kind_of_relation());
        entry.refine = Some(|value, context| {
            let value = match value {
                Value::Slot(slot) => {
                    (*slot as &mut dyn core::any::Any).downcast_mut::<Option<R>>().and_then(Option::as_mut)
                }
                Value::Boxed(value) => (&mut **value as &mut dyn core::any::Any).downcast_mut::<R>(),
            };
            value.map_or(Ok(()), |value| value.refine(context))
        });
    }
    settle_entity(world, id, entity);
    (id, entity)
}

/// Lays out the index of a new relation and marks its entity.
fn settle_entity(world: &mut World, id: RelationId, entity: Entity) {
    ensure_store(world).lay_out(id);
    mark_relation(world, id, entity);
}

/// Notes that `entity` is the relation `id`.
fn mark_relation(world: &mut World, id: RelationId, entity: Entity) {
    let store = ensure_store(world);
    store.participants.set_relation(entity);
    let entry = store.registry.entry(id);
    let data = entry.data;
    if let Some(type_id) = entry.type_id {
        store.registry.type_entities.insert(entity, type_id);
        if data.is_some() {
            store.participants.set_data_target(entity);
        }
    }
    if let Some(data) = data {
        (data.init)(world);
    }
    participant::join(world, entity, id);
}

/// Gives a relation type whose entity was despawned another one.
#[cold]
fn replace_entity(world: &mut World, id: RelationId) {
    let entity = world.spawn(TypeEntity).id();
    ensure_store(world).registry.set_entity(id, entity);
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
    let id = store.registry.add(entity, None);
    settle_entity(world, id, entity);
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
    let store = ensure_store(world);
    let entry = store.registry.entry(id);
    let relation = entry.name();
    if entry.frozen {
        return Err(TraitsError::Frozen { relation });
    }
    let mut merged = entry.traits.clone();
    let typed_data = entry.type_id.is_some() && entry.data.is_some();
    if let Err(conflict) = merged.merge(traits) {
        return Err(TraitsError::Conflict { relation, conflict });
    }
    if typed_data && (merged.is_tag() || merged.data_ref().is_some()) {
        let conflict = crate::relation::TraitConflict { first: "tag", second: "data" };
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
    entry.traits = merged;
    entry.with = with;
    entry.one_of = one_of;
    entry.data = entry.data.or(data);
    store.lay_out(id);
    Ok(())
}

/// The entity that a reference in traits means.
fn resolve(world: &mut World, id: RelationId, reference: IdRef) -> Result<Entity, TraitsError> {
    match reference {
        IdRef::Entity(entity) if world.entities().contains_spawned(entity) => Ok(entity),
        IdRef::Entity(entity) => {
            let relation = ensure_store(world).registry.entry(id).name();
            Err(TraitsError::DeadReference { relation, entity })
        }
        IdRef::Type(TypeRef { register: Some(register), .. }) => Ok(register(world)),
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
            let entities = path.iter().map(|&id| registry.entry(id).entity).collect();
            let relation = registry.entry(id).name();
            return Err(TraitsError::WithCycle { relation, path: EntityPath::new(entities) });
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
    let entity = entity_of_type(world, TypeRef::of::<T>());
    let store = ensure_store(world);
    if size_of::<T>() > 0
        && let Some(entry) = store.registry.types.get_mut(&TypeId::of::<T>())
        && entry.data.is_none()
    {
        let kind = PairData::<T>::kind();
        entry.data = Some(kind);
        store.participants.set_data_target(entity);
        (kind.init)(world);
    }
    entity
}

fn entity_of_type(world: &mut World, type_ref: TypeRef) -> Entity {
    let known = ensure_store(world).registry.entity_of(type_ref.id);
    if let Some(entity) = known
        && world.entities().contains_spawned(entity)
    {
        return entity;
    }
    if let Some(id) = ensure_store(world).registry.of_type_id(type_ref.id) {
        replace_entity(world, id);
        return ensure_store(world).registry.entry(id).entity;
    }
    let entity = world.spawn((TypeEntity, participant::Participant)).id();
    let store = ensure_store(world);
    let data = store.registry.types.get(&type_ref.id).and_then(|entry| entry.data);
    store.registry.types.insert(type_ref.id, TypeEntry { entity, data });
    store.registry.type_entities.insert(entity, type_ref.id);
    store.participants.set_marked(entity, true);
    if data.is_some() {
        store.participants.set_data_target(entity);
    }
    entity
}
