//! Relations of types, and relations of run time.

use super::{
    entity::{entity_of_type, note_relation, relation_id_of, respawn},
    keys::key_of_type,
    store::{ensure_store, use_all_relations},
    traits::apply_traits,
    watch,
};
use crate::{
    id::RelationId,
    relation::{
        ColumnRef, ErasedColumn, PairContext, PairRefusal, RegisterFn, Relation, RelationTraits, TraitsError,
        TypeEntry, TypeRef, ValidateFn, Value, if_fields, short_name,
    },
    store::{PairData, PairStore, TableComponent},
    traverse::is_child_of,
};
use alloc::{borrow::Cow, vec::Vec};
use bevy_ecs::{component::ComponentId, entity::Entity, world::World};
use core::{
    any::{Any, TypeId},
    convert::identity,
};

/// The number of relation type `R`, which is registered if it is not, and given an entity if it lost its own.
///
/// # Errors
/// If its declared traits are rejected.
pub(crate) fn try_relation_id<R: Relation>(world: &mut World) -> Result<RelationId, TraitsError> {
    watch::restore_if_lost(world);
    let store = if is_child_of::<R>() { use_all_relations(world) } else { ensure_store(world) };
    let id = match store.registry().of_type::<R>() {
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

/// What there is to know of a relation type before its traits: all that is compiled for each of them anew.
#[derive(Clone, Copy)]
pub(in crate::ops) struct RelationType {
    pub(in crate::ops) type_ref: TypeRef,
    register: RegisterFn,
    key: fn(&mut World) -> ComponentId,
    table_component: fn(&mut World) -> TableComponent,
    /// The column for the values of its pairs, and what checks each of them.
    values: Option<(ColumnRef, Option<ValidateFn>)>,
}

impl RelationType {
    /// One whose values, if it has any, lie elsewhere.
    pub(in crate::ops) fn new<R: Relation>(type_ref: TypeRef) -> Self {
        Self {
            type_ref,
            register: R::register,
            key: key_of_type::<R>,
            table_component: TableComponent::of_type::<R>,
            values: None,
        }
    }

    fn with_values<R: Relation>() -> Self {
        let values: Option<(ColumnRef, ValidateFn)> =
            const { if_fields::<R, _>((PairData::<R>::OF_RELATION, validate_value::<R>)) };
        let values = values.map(|(column, validate)| (column, R::info().checks.then_some(validate)));
        Self { values, ..Self::new::<R>(TypeRef::of::<R>(values.map(|(column, _)| column))) }
    }
}

fn validate_value<R: Relation>(value: &mut Value<'_>, context: &PairContext<'_>) -> Result<(), PairRefusal> {
    let value = match value {
        Value::Slot(slot) => (*slot as &mut dyn Any).downcast_mut::<Option<R>>().and_then(Option::as_mut),
        Value::Boxed(value) => (&mut **value as &mut dyn Any).downcast_mut::<R>(),
    };
    value.map_or(Ok(()), |value| value.validate(context))
}

/// Registers relation type `R`, in its own way, and returns its entity.
///
/// # Errors
/// If its declared traits are rejected; then it, and what was registered along with it, is unregistered.
pub fn register<R: Relation>(world: &mut World) -> Result<Entity, TraitsError> {
    register_type(world, RelationType::with_values::<R>(), R::traits)
}

fn register_type(
    world: &mut World,
    relation: RelationType,
    traits: fn() -> RelationTraits,
) -> Result<Entity, TraitsError> {
    // Here, as the spawn of the entity runs users' code.
    entity_of_type(world, relation.type_ref);
    let store = ensure_store(world);
    if let Some(id) = store.registry().of_type_id(relation.type_ref.id)
        && store.registry().entry(id).declared
    {
        return Ok(store.registry().entry(id).entity);
    }
    check_values(store, relation.type_ref.id, relation.values.map(|_| relation.type_ref.id))?;
    let added = add_type_relation(world, relation);
    added.finish(world, |world, id| apply_traits(world, id, traits()))
}

/// A type that is declared a relation changes what its pairs carry, and what it carries as an end of others.
///
/// # Errors
/// If there have been pairs for which that was decided before, when less was known of the type. `values` are those of its own pairs
/// from now on.
pub(in crate::ops) fn check_values(
    store: &PairStore,
    relation: TypeId,
    values: Option<TypeId>,
) -> Result<(), TraitsError> {
    let registry = store.registry();
    let Some(entity) = registry.entity_of(relation) else { return Ok(()) };
    let is_other = registry.of_type_id(relation).is_some_and(|id| {
        let entry = registry.entry(id);
        let is_used = entry.frozen || store.relation(id).len() > 0;
        is_used && entry.data.map(ErasedColumn::value_type) != values
    });
    let loses_values = values.is_none() && store.column_of_type_entity(entity).is_some();
    match is_other || (loses_values && store.has_pairs_by_type(entity)) {
        true => Err(TraitsError::Frozen { relation: registry.name_of(entity) }),
        false => Ok(()),
    }
}

/// A relation type whose traits are still to be declared.
pub(in crate::ops) struct AddedType {
    pub(in crate::ops) id: RelationId,
    type_id: TypeId,
    entity: Entity,
    former: Former,
}

/// What a type was before it was declared a relation.
enum Former {
    /// Its entity was used as a relation.
    Relation { name: Option<Cow<'static, str>>, data: Option<ColumnRef>, key: ComponentId },
    /// No relation.
    Type { data: Option<ColumnRef> },
}

impl AddedType {
    /// Declares the traits, or takes the relation type back, also if that panics: it runs users' code.
    pub(in crate::ops) fn finish(
        self,
        world: &mut World,
        declare: impl FnOnce(&mut World, RelationId) -> Result<(), TraitsError>,
    ) -> Result<Entity, TraitsError> {
        let Self { id, type_id, entity, .. } = self;
        let mut declaration = Declaration { world, added: Some(self) };
        declare(declaration.world, id)?;
        declaration.added = None;
        let store = ensure_store(declaration.world);
        // That has run users' code: the store may be another.
        if !is_of_type(store, id, type_id) {
            return Err(TraitsError::Dead { entity });
        }
        let entry = store.registry_mut().entry_mut(id);
        entry.has_traits = true;
        Ok(entry.entity)
    }
}

/// Whether a relation is that of this type.
fn is_of_type(store: &PairStore, id: RelationId, type_id: TypeId) -> bool {
    store.registry().get(id).is_some_and(|entry| entry.type_id == Some(type_id))
}

/// Takes a relation type back unless its traits were declared.
struct Declaration<'w> {
    world: &'w mut World,
    added: Option<AddedType>,
}

impl Drop for Declaration<'_> {
    fn drop(&mut self) {
        let added = self.added.take();
        match added.filter(|added| is_of_type(ensure_store(self.world), added.id, added.type_id)) {
            Some(AddedType { id, former: Former::Relation { name, data, key }, .. }) => {
                let store = ensure_store(self.world);
                let entry = store.registry_mut().entry_mut(id);
                (entry.name, entry.data) = (name, data);
                (entry.declared, entry.register, entry.validate, entry.adopted) = (false, None, None, None);
                entry.keys.retain(|known| *known != key);
                store.refresh_fast_path(id);
            }
            Some(AddedType { id, former: Former::Type { data }, .. }) => {
                ensure_store(self.world).registry_mut().entry_mut(id).data = data;
                unregister_type(self.world, id);
            }
            None => {}
        }
    }
}

#[cold]
fn register_new<R: Relation>(world: &mut World) -> Result<RelationId, TraitsError> {
    let mut rounds = 0..MAX_ROUNDS;
    loop {
        let before = ensure_store(world).id();
        let registered = register_along(world, R::register);
        let store = ensure_store(world);
        if let (Ok(_), Some(id)) = (&registered, store.registry().of_type::<R>()) {
            return Ok(id);
        }
        // Users' code has run, which may have taken the store away.
        if store.id() == before || rounds.next().is_none() {
            return Err(registered.map_or_else(identity, |entity| TraitsError::Dead { entity }));
        }
    }
}

/// How often a relation type is registered anew if the store goes meanwhile.
const MAX_ROUNDS: usize = 8;

/// Registers a relation type, or nothing: if that fails, what was registered along with it is unregistered, too.
fn register_along(world: &mut World, register: RegisterFn) -> Result<Entity, TraitsError> {
    let before: Vec<RelationId> = ensure_store(world).registry().declared().collect();
    register(world).inspect_err(|_| {
        let along: Vec<RelationId> = ensure_store(world).registry().declared().collect();
        for id in along.into_iter().filter(|id| !before.contains(id)) {
            // An observer may have used one.
            if !ensure_store(world).registry().entry(id).frozen {
                unregister_type(world, id);
            }
        }
    })
}

/// [`register`] from outside, with its companions.
pub(crate) fn register_relation<R: Relation>(world: &mut World) -> Result<Entity, TraitsError> {
    let id = try_relation_id::<R>(world)?;
    Ok(ensure_store(world).registry().entry(id).entity)
}

/// The entity of a relation that is none after all, as when the traits of its type were rejected: it stands for the type,
/// as before.
fn unregister_type(world: &mut World, id: RelationId) {
    let store = ensure_store(world);
    let entry = store.registry().entry(id);
    let (entity, type_id, data, name) = (entry.entity, entry.type_id, entry.data, entry.name.clone());
    store.registry_mut().remove(id);
    store.participants_mut().set_relation(entity, false);
    if let Some(type_id) = type_id {
        store.registry_mut().set_type_entry(type_id, TypeEntry { entity, name, data });
    }
}

/// [`relation_id_of`]. `made` gets an entity that was no relation before, so that it can be [unmade](unregister_relation).
pub(crate) fn make_relation(
    world: &mut World,
    entity: Entity,
    made: &mut Vec<Entity>,
) -> Result<RelationId, TraitsError> {
    let is_known = ensure_store(world).registry().of_entity(entity).is_some();
    let id = relation_id_of(world, entity)?;
    made.extend((!is_known).then_some(entity));
    Ok(id)
}

/// Makes an entity no relation any more that was made one for what is refused now, unless something has used it.
pub(crate) fn unregister_relation(world: &mut World, entity: Entity) {
    let store = ensure_store(world);
    if let Some(id) = store.registry().of_entity(entity)
        && !store.registry().entry(id).frozen
        && store.relation(id).len() == 0
    {
        unregister_type(world, id);
    }
}

/// Makes the entry of a relation type, without traits; or completes the one that it got when its entity was used
/// as a relation before the type was known to be one.
///
/// The type has its entity already: between the entry and its traits nothing else may happen.
pub(in crate::ops) fn add_type_relation(world: &mut World, relation: RelationType) -> AddedType {
    let type_id = relation.type_ref.id;
    let key = (relation.key)(world);
    let entity = entity_of_type(world, relation.type_ref);
    let store = ensure_store(world);
    store.table_components_mut().note_type(type_id, relation.table_component);
    let type_entry = store.registry_mut().take_type_entry(type_id);
    let known = store.registry().of_entity(entity);
    let former = match known.map(|id| store.registry().entry(id)) {
        Some(entry) => Former::Relation { name: entry.name.clone(), data: entry.data, key },
        None => Former::Type { data: type_entry.and_then(|entry| entry.data) },
    };
    let id = known.unwrap_or_else(|| store.registry_mut().add(entity, Some(type_id)));
    let entry = store.registry_mut().entry_mut(id);
    entry.declared = true;
    entry.register = Some(relation.register);
    entry.name = relation.type_ref.name.map(short_name);
    entry.keys.insert(0, key);
    if let Some((column, validate)) = relation.values {
        entry.data = Some(column);
        entry.validate = validate;
    }
    match known {
        // Observers may watch the key of the type already.
        Some(_) => store.set_maybe_observed(id),
        None => store.create_index(id),
    }
    note_relation(store, id, entity);
    AddedType { id, type_id, entity, former }
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
    ensure_store(world).registry_mut().entry_mut(id).name = Some(name);
    match apply_traits(world, id, traits) {
        Ok(()) => Ok(entity),
        Err(error) => {
            world.despawn(entity);
            Err(error)
        }
    }
}

/// Notes the component that shows the pairs of a relation, and what brings it up to date; or that there is none any more.
#[cfg(feature = "bevy_reflect")]
pub(crate) fn set_mirror(
    world: &mut World,
    id: RelationId,
    mirror: Option<(ComponentId, crate::relation::UpdateMirror)>,
) {
    let store = ensure_store(world);
    store.registry_mut().entry_mut(id).mirror = mirror;
    store.refresh_fast_path(id);
}

/// Keeps ticks of the pairs of `R` from now on.
pub(crate) fn track_pair_changes<R: Relation>(world: &mut World) {
    let relation = relation_id::<R>(world);
    let tick = world.change_tick();
    ensure_store(world).track_changes(relation, tick);
}
