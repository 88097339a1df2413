//! Bringing relations into a world: the store itself, relation types, run-time relations, and the entities
//! that stand for types.

use super::watch;
use crate::ops::{
    lifecycle::participant,
    mutate::{
        error::{report, to_bevy},
        event,
    },
};
use crate::{
    fetch,
    id::RelationId,
    names::NameIndex,
    relation::{
        CHILD_OF, CleanupPolicy, DataKind, IS_A, IdRef, IsA, OneOf, Registry, Relation, RelationPath,
        RelationTraits, SLOT_OF, SlotOf, TAGGED, Tagged, TraitConflict, TraitsError, TypeEntry, TypeRef,
        Value, short_name,
    },
    store::{PairData, PairStore, type_ref},
};
use alloc::{borrow::Cow, vec::Vec};
use bevy_ecs::{component::Component, entity::Entity, hierarchy::ChildOf, world::World};
use bevy_platform::collections::HashMap;
use core::any::{Any, TypeId};

/// Marks the entities that stand for Rust types.
#[derive(Component)]
pub(crate) struct TypeEntity;

/// The store, made on first use.
#[inline]
pub(crate) fn ensure_store(world: &mut World) -> &mut PairStore {
    if fetch::store(world).is_none() {
        bootstrap(world);
    }
    match fetch::store_mut(world) {
        Some(store) => store,
        None => unreachable!("the store was just inserted"),
    }
}

/// Makes the store, the built-in relations and the observers that keep them going.
#[cold]
fn bootstrap(world: &mut World) {
    // From here on observers may use relations, also these: their numbers are taken.
    world.insert_resource(PairStore::with_built_ins());
    world.init_resource::<NameIndex>();
    watch::install(world, event::watch_observers);
    watch::install(world, participant::watch_marker);
    let ids = [relation_id::<Tagged>(world), relation_id::<IsA>(world), relation_id::<SlotOf>(world)];
    if let Err(error) = ChildOf::register(world) {
        // Only if an observer of the store has adopted it with other traits.
        report(world.commands(), to_bevy(error));
    }
    debug_assert_eq!(ids.map(Some), [Some(TAGGED), Some(IS_A), Some(SLOT_OF)]);
    debug_assert!(
        fetch::store(world).is_some_and(|store| store.registry.of_type::<ChildOf>() == Some(CHILD_OF))
    );
}

/// The number of relation type `R`, which is registered if it is not, and given an entity if it lost its own.
///
/// # Errors
/// If its declared traits are rejected.
pub(crate) fn try_relation_id<R: Relation>(world: &mut World) -> Result<RelationId, TraitsError> {
    watch::mend_if_lost(world);
    let id = match ensure_store(world).registry.of_type::<R>() {
        Some(id) => id,
        None => register_new::<R>(world)?,
    };
    respawn(world, id);
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
    // Here, as the spawn of the entity runs users' code.
    entity_of_type(world, type_ref::<R>());
    let store = ensure_store(world);
    if let Some(id) = store.registry.of_type::<R>() {
        return Ok(store.registry.entry(id).entity);
    }
    let added = add_type_relation::<R>(world);
    added.finish(world, |world, id| apply_traits(world, id, R::traits()))
}

/// A relation type whose traits are still to be declared.
pub(in crate::ops) struct AddedType {
    pub(in crate::ops) id: RelationId,
    /// Its entity was used as a relation before.
    known: bool,
}

impl AddedType {
    /// Declares the traits, or takes the relation type back, also if that panics: it runs users' code.
    pub(in crate::ops) fn finish(
        self,
        world: &mut World,
        declare: impl FnOnce(&mut World, RelationId) -> Result<(), TraitsError>,
    ) -> Result<Entity, TraitsError> {
        let id = self.id;
        let mut declaration = Declaration { world, added: Some(self) };
        declare(declaration.world, id)?;
        declaration.added = None;
        let entry = ensure_store(declaration.world).registry.entry_mut(id);
        entry.settled = true;
        Ok(entry.entity)
    }
}

/// Takes a relation type back unless its traits were declared.
struct Declaration<'w> {
    world: &'w mut World,
    added: Option<AddedType>,
}

impl Drop for Declaration<'_> {
    fn drop(&mut self) {
        match self.added.take() {
            Some(AddedType { id, known: true }) => {
                ensure_store(self.world).registry.entry_mut(id).declared = false;
            }
            Some(AddedType { id, known: false }) => forget_type(self.world, id),
            None => {}
        }
    }
}

#[cold]
fn register_new<R: Relation>(world: &mut World) -> Result<RelationId, TraitsError> {
    let before: Vec<RelationId> = ensure_store(world).registry.declared().collect();
    if let Err(error) = R::register(world) {
        let along: Vec<RelationId> = ensure_store(world).registry.declared().collect();
        for id in along.into_iter().filter(|id| !before.contains(id)) {
            // An observer may have used one.
            if !ensure_store(world).registry.entry(id).frozen {
                forget_type(world, id);
            }
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
///
/// The type has its entity already: between the entry and its traits nothing else may happen.
pub(in crate::ops) fn add_type_relation<R: Relation>(world: &mut World) -> AddedType {
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
        entry.validate = Some(|value, context| {
            let value = match value {
                Value::Slot(slot) => {
                    (*slot as &mut dyn Any).downcast_mut::<Option<R>>().and_then(Option::as_mut)
                }
                Value::Boxed(value) => (&mut **value as &mut dyn Any).downcast_mut::<R>(),
            };
            value.map_or(Ok(()), |value| value.validate(context))
        });
    }
    if known.is_none() {
        store.create_index(id);
    }
    note_relation(store, id, entity);
    AddedType { id, known: known.is_some() }
}

/// Notes that `entity`, which has the marker, is the relation `id`.
fn note_relation(store: &mut PairStore, id: RelationId, entity: Entity) {
    store.participants.set_relation(entity, true);
    store.participants.join(entity, id);
    let entry = store.registry.entry(id);
    if entry.type_id.is_some() && entry.data.is_some() {
        store.participants.set_data_target(entity);
    }
}

/// Gives a relation type whose entity was despawned another one; also if an observer's panic kept Bevy from finishing
/// the despawn: the store has forgotten such an entity.
#[inline]
pub(crate) fn respawn(world: &mut World, id: RelationId) {
    let Some(store) = fetch::store(world) else { return };
    if store.registry.entry(id).type_id.is_some() && !has_entity(world, store, id) {
        replace_entity(world, id);
    }
}

/// Whether the entity of a relation is alive, and known to be one.
#[inline]
fn has_entity(world: &World, store: &PairStore, id: RelationId) -> bool {
    let entity = store.registry.entry(id).entity;
    store.participants.is_relation(entity) && world.entities().contains_spawned(entity)
}

#[cold]
fn replace_entity(world: &mut World, id: RelationId) {
    let Some(before) = fetch::store(world).map(|store| store.id) else { return };
    let entity = spawn_type_entity(world);
    // The spawn runs users' code, which may have done the same.
    let alive = world.entities().contains_spawned(entity);
    let Some(store) = fetch::store(world) else { return };
    let lost = alive && store.id == before && !has_entity(world, store, id);
    let Some(type_id) = lost.then(|| store.registry.entry(id)).and_then(|entry| entry.type_id) else {
        let _ = world.try_despawn(entity);
        return;
    };
    participant::note_marker(world, entity);
    let store = ensure_store(world);
    store.registry.set_entity(id, entity);
    note_type_entity(store, entity, type_id);
    store.refresh_simple(id);
    note_relation(store, id, entity);
}

/// Spawns an entity that is to stand for a type, with the marker, unless an observer takes that from it.
fn spawn_type_entity(world: &mut World) -> Entity {
    world.spawn((TypeEntity, participant::Participant)).id()
}

/// Notes that a living entity stands for a type.
fn note_type_entity(store: &mut PairStore, entity: Entity, type_id: TypeId) {
    store.registry.type_entities.insert(entity, type_id);
    store.participants.set_type(entity);
}

/// The relation that `entity` is, made one if it is none.
///
/// # Errors
/// If it is not alive.
pub(crate) fn relation_id_of(world: &mut World, entity: Entity) -> Result<RelationId, TraitsError> {
    watch::mend_if_lost(world);
    let data = loop {
        let store = ensure_store(world);
        if let Some(id) = store.registry.of_entity(entity)
            && store.registry.entry(id).in_use
        {
            return match world.entities().contains_spawned(entity) {
                true => Ok(id),
                false => Err(TraitsError::Dead { entity }),
            };
        }
        let (data, marked) = (store.kind_of_type_entity(entity), store.participants.is_marked(entity));
        if !world.entities().contains_spawned(entity) {
            return Err(TraitsError::Dead { entity });
        }
        if marked {
            break data;
        }
        // Runs users' code, which may have made it a relation, or despawned it.
        if !participant::join(world, entity, TAGGED) {
            return Err(TraitsError::Dead { entity });
        }
    };
    let store = ensure_store(world);
    // The pairs of a type with fields carry values of that type, whether it is declared a relation or not.
    let type_id = store.registry.type_entities.get(&entity).copied();
    let id = store.registry.add(entity, type_id);
    let entry = store.registry.entry_mut(id);
    entry.data = data;
    entry.settled = true;
    if let Some(type_id) = type_id {
        store.registry.types.remove(&type_id);
    }
    store.create_index(id);
    note_relation(store, id, entity);
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
pub(in crate::ops) fn apply_traits(
    world: &mut World,
    id: RelationId,
    traits: RelationTraits,
) -> Result<(), TraitsError> {
    let entry = ensure_store(world).registry.entry(id);
    let (entity, type_id) = (entry.entity, entry.type_id);
    let mut resolved: Option<(RelationTraits, Vec<Entity>, Option<Entity>)> = None;
    loop {
        let Some(merged) = merge_traits(world, id, &traits)? else { return Ok(()) };
        if let Some((known, with, one_of)) = &resolved
            && *known == merged
        {
            return commit_traits(world, id, merged, with, *one_of);
        }
        // That runs users' code, after which other facts may be known.
        let with = merged.with_refs().iter().map(|&with| resolve(world, id, with));
        let with = with.collect::<Result<Vec<Entity>, _>>()?;
        for &with in &with {
            relation_id_of(world, with)?;
        }
        let one_of = match merged.one_of_rule() {
            None => None,
            Some(OneOf::Relation) => Some(entity),
            Some(OneOf::Parent(parent)) => Some(resolve(world, id, parent)?),
        };
        if let Some(data) = merged.data_ref() {
            ((data.kind)().init)(world);
        }
        let entry = ensure_store(world).registry.get(id);
        if !entry
            .is_some_and(|entry| entry.type_id == type_id && (type_id.is_some() || entry.entity == entity))
        {
            return Err(TraitsError::Dead { entity });
        }
        resolved = Some((merged, with, one_of));
    }
}

/// What is known of a relation together with new facts. `None` if there is nothing new.
fn merge_traits(
    world: &World,
    id: RelationId,
    traits: &RelationTraits,
) -> Result<Option<RelationTraits>, TraitsError> {
    let alive = world.entities();
    let Some(store) = fetch::store(world) else { return Ok(None) };
    let entry = store.registry.entry(id);
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
    if entry.type_id.is_some() && entry.data.is_some() && (merged.is_tag() || merged.data_ref().is_some()) {
        let conflict = TraitConflict { first: "tag", second: "data" };
        return Err(TraitsError::Conflict { relation, conflict });
    }
    Ok(Some(merged))
}

/// Writes traits down. Nothing here runs users' code.
fn commit_traits(
    world: &mut World,
    id: RelationId,
    merged: RelationTraits,
    with: &[Entity],
    one_of: Option<Entity>,
) -> Result<(), TraitsError> {
    let store = ensure_store(world);
    let relation = store.registry.entry(id).name();
    let id_of = |&entity: &Entity| {
        let relation = relation.clone();
        store.registry.of_entity(entity).ok_or(TraitsError::DeadReference { relation, entity })
    };
    let with = with.iter().map(id_of).collect::<Result<Vec<RelationId>, _>>()?;
    let leads_back = store.registry.entry(id).is_companion || with.contains(&id);
    if let Some(path) = leads_back.then(|| path_back(&store.registry, id, &with)).flatten() {
        let names = path.iter().map(|&id| store.registry.entry(id).name()).collect();
        return Err(TraitsError::WithCycle { relation, path: RelationPath(names) });
    }
    for &with in &with {
        store.registry.entry_mut(with).is_companion = true;
    }
    let data = merged.data_ref().map(|data| (data.kind)());
    let takes_along = merged.relation_policy() == Some(CleanupPolicy::Despawn);
    let entry = store.registry.entry_mut(id);
    entry.traits = merged;
    entry.with = with;
    entry.one_of = one_of;
    entry.data = entry.data.or(data);
    store.registry.relations_take_along |= takes_along;
    store.create_index(id);
    Ok(())
}

/// Whether it is too late for these traits: there have been pairs of the relation, or entities with the tag; or
/// something inherits from what is to be final.
fn is_used(store: &PairStore, id: RelationId, traits: &RelationTraits) -> bool {
    let entry = store.registry.entry(id);
    let is_target = |relation| store.relation(relation).reverse.list(entry.entity).is_some();
    let is_built_in = |relation: RelationId| relation.index() < store.relations.len();
    entry.frozen
        || store.relation(id).len > 0
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
        IdRef::Type(type_ref) if ensure_store(world).registry.is_declared(type_ref.id) => {
            Ok(entity_of_type(world, type_ref))
        }
        IdRef::Type(TypeRef { register: Some(register), .. }) => register(world),
        IdRef::Type(type_ref) => Ok(entity_of_type(world, type_ref)),
    }
}

/// The way along which `with` leads back to `id`, if it does. Each relation is looked at once.
fn path_back(registry: &Registry, id: RelationId, with: &[RelationId]) -> Option<Vec<RelationId>> {
    let mut reached_from: HashMap<RelationId, RelationId> = HashMap::default();
    let mut stack: Vec<(RelationId, RelationId)> = with.iter().map(|&with| (id, with)).collect();
    while let Some((from, at)) = stack.pop() {
        if at == id {
            let mut path = alloc::vec![id, from];
            let mut last = from;
            while last != id {
                last = reached_from[&last];
                path.push(last);
            }
            path.reverse();
            return Some(path);
        }
        if !reached_from.contains_key(&at) {
            reached_from.insert(at, from);
            stack.extend(registry.entry(at).with.iter().map(|&next| (at, next)));
        }
    }
    None
}

/// The entity that stands for the type `T`, made if there is none.
pub(crate) fn entity_of<T: Send + Sync + 'static>(world: &mut World) -> Entity {
    entity_of_type(world, type_ref::<T>())
}

/// Notes what values pairs with the type carry, if that was not known when its entity was made.
fn learn_data(store: &mut PairStore, entity: Entity, type_id: TypeId, data: Option<DataKind>) {
    if store.participants.is_data_target(entity) {
        return;
    }
    if let Some(data) = data
        && let Some(entry) = store.registry.types.get_mut(&type_id)
    {
        entry.data = Some(data);
        store.participants.set_data_target(entity);
    }
}

/// [`entity_of`] for a type of which nothing more is known yet.
pub(crate) fn entity_of_type_id(world: &mut World, id: TypeId) -> Entity {
    entity_of_type(world, TypeRef { id, register: None, data: None })
}

fn entity_of_type(world: &mut World, type_ref: TypeRef) -> Entity {
    let data = type_ref.data.map(|kind| kind());
    let (mut spare, mut has_column) = (None, false);
    let entity = loop {
        let store = ensure_store(world);
        let registry = &store.registry;
        if let Some(id) = registry.of_type_id(type_ref.id) {
            respawn(world, id);
            break ensure_store(world).registry.entry(id).entity;
        }
        let known = registry.types.get(&type_ref.id).map(|entry| entry.entity);
        // Forgotten ones are left to themselves, as in `respawn`.
        let known = known.filter(|entity| registry.type_entities.contains_key(entity));
        let learned = known.is_some_and(|entity| store.participants.is_data_target(entity));
        if let Some(entity) = known.filter(|&entity| world.entities().contains_spawned(entity)) {
            // Runs users' code, too.
            if let Some(data) = data.filter(|_| !learned && !has_column) {
                (data.init)(world);
                has_column = true;
                continue;
            }
            learn_data(ensure_store(world), entity, type_ref.id, data);
            break entity;
        }
        if let Some(entity) = spare {
            if !world.entities().contains_spawned(entity) {
                // An observer despawns such entities. What is done with this one finds out that it is dead.
                break entity;
            }
            participant::note_marker(world, entity);
            let store = ensure_store(world);
            store.registry.types.insert(type_ref.id, TypeEntry { entity, data: None });
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
