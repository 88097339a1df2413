//! Methods that change: inserting and removing pairs.

use super::{
    error::RemoteError,
    limits::RemoteLimits,
    params::{self, EntityText, InsertParams, RemoveParams},
    read::types_of,
};
use crate::{
    expr::{NamedElement, bits},
    fetch,
    id::{PairId, Slot},
    ops::{
        NewPair, NewPairValue, entity_of_type_id, insert_several, relation_id_of, unmake_relation,
        unmake_type_entity,
    },
    relation::{ColumnRef, ReflectedData},
    store::PairStore,
    world::WorldPairExt,
};
use bevy_ecs::{entity::Entity, reflect::AppTypeRegistry, world::World};
use bevy_reflect::{
    PartialReflect, ReflectFromReflect, TypeRegistration, TypeRegistry,
    serde::{ReflectDeserializer, ReflectDeserializerProcessor, TypedReflectDeserializer},
};
use core::any::TypeId;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeSeed, Error},
};
use serde_json::Value;
use std::{
    boxed::Box,
    format,
    string::{String, ToString},
};

#[derive(Serialize)]
pub(super) struct Inserted {
    source: String,
    relation: String,
    target: String,
    /// It was there before.
    existed: bool,
}

pub(super) fn insert(
    world: &mut World,
    _: &RemoteLimits,
    params: InsertParams,
) -> Result<Inserted, RemoteError> {
    // A type gets its entity when all names are known to mean something.
    let source = params.source.find_one(world, "source", None)?;
    let relation = params.relation.find_one(world, "relation", None)?;
    let scope = scope_of(world, params::known(world, relation));
    let target = params.target.find_one(world, "target", scope)?;
    let request = Request::new(world, [source, relation, target]);
    let existed = request.insert(world, params.value)?;
    let [source, relation, target] = request.ends.map(bits);
    Ok(Inserted { source, relation, target, existed })
}

/// The entities of a pair that is to be inserted, some of which may have been made for it.
struct Request {
    /// Source, relation and target.
    ends: [Entity; 3],
    made: [bool; 3],
    /// Whether the relation was one before.
    is_relation: bool,
}

impl Request {
    fn new(world: &mut World, named: [NamedElement; 3]) -> Self {
        let ends = named.map(|named| params::known(world, named).and_then(Slot::entity));
        let registry = fetch::store(world).map(PairStore::registry);
        let is_relation = ends[1].zip(registry).is_some_and(|(end, all)| all.of_entity(end).is_some());
        let made = ends.map(|end| end.is_none());
        let entity = |named| match named {
            NamedElement::Type(type_id) => entity_of_type_id(world, type_id),
            NamedElement::Entity(entity) => entity,
            NamedElement::Wildcard(_) => unreachable!("each is one entity"),
        };
        Self { ends: named.map(entity), made, is_relation }
    }

    /// Inserts the pair, or takes back what was made for it. Returns whether it was there before.
    fn insert(&self, world: &mut World, value: Option<Value>) -> Result<bool, RemoteError> {
        let inserted = self.try_insert(world, value);
        if inserted.is_err() {
            if !self.is_relation {
                unmake_relation(world, self.ends[1]);
            }
            for (&end, _) in self.ends.iter().zip(self.made).filter(|&(_, made)| made) {
                unmake_type_entity(world, end);
            }
        }
        inserted
    }

    fn try_insert(&self, world: &mut World, value: Option<Value>) -> Result<bool, RemoteError> {
        let [source, relation, target] = self.ends;
        let value = match value {
            Some(value) => Some(read_value(world, self.ends, value)?),
            None => None,
        };
        let existed = world.has_pair_by_id(source, (relation, target));
        let mut pairs = [NewPair { relation, target, value }];
        insert_several(world, source, &mut pairs).map_err(|(_, error)| RemoteError::Pair(error))?;
        Ok(existed)
    }
}

/// Whose children the targets of a relation are.
fn scope_of(world: &World, relation: Option<Slot>) -> Option<Entity> {
    let registry = fetch::store(world)?.registry();
    registry.entry(registry.of_entity(relation?.entity()?)?).one_of
}

#[derive(Serialize)]
pub(super) struct Removed {
    removed: usize,
}

pub(super) fn remove(
    world: &mut World,
    _: &RemoteLimits,
    params: RemoveParams,
) -> Result<Removed, RemoteError> {
    let source = params.source.find_one(world, "source", None)?;
    let relation = params.relation.find(world, "relation", None)?;
    let scope = scope_of(world, params::known(world, relation));
    let target = params.target.find(world, "target", scope)?;
    let [source, relation, target] = [source, relation, target].map(|named| params::known(world, named));
    // A type without an entity has no pairs.
    let named = source.and_then(Slot::entity).zip(relation).zip(target);
    let remove =
        |((source, relation), target)| world.remove_pairs_by_id(source, PairId::from((relation, target)));
    Ok(Removed { removed: named.map_or(0, remove) })
}

/// Reads the value that a pair is to have.
fn read_value(
    world: &mut World,
    [source, relation, target]: [Entity; 3],
    json: Value,
) -> Result<NewPairValue, RemoteError> {
    let id = relation_id_of(world, relation).map_err(|error| RemoteError::Pair(error.into()))?;
    let Some(store) = fetch::store(world) else { return Err(crate::expr::ExprRunError::NoPairs.into()) };
    if store.registry().entry(id).adopted.is_some() {
        let message = "values of a Bevy relationship are written by inserting its component";
        return Err(RemoteError::Value(message.into()));
    }
    let Some(column) = store.column_of(id, source, target) else {
        return Err(RemoteError::Value("this pair carries no value".into()));
    };
    let types = types_of(world);
    let mut entities = NamedEntities(world);
    let read = match column.value_type() == TypeId::of::<ReflectedData>() {
        true => ReflectDeserializer::with_processor(&types.read(), &mut entities).deserialize(json),
        false => {
            let types = types.read();
            let Some(registration) = types.get(column.value_type()) else {
                let message = format!("`{}` is not registered for reflection", column.value_name());
                return Err(RemoteError::Value(message));
            };
            TypedReflectDeserializer::with_processor(registration, &types, &mut entities).deserialize(json)
        }
    };
    let read = read.map_err(|error| RemoteError::Value(error.to_string()))?;
    let value = sendable(&types, column, read)?;
    Ok(NewPairValue { type_id: column.value_type(), name: column.value_name(), value })
}

/// The value of the type that a column holds.
fn sendable(
    types: &AppTypeRegistry,
    column: ColumnRef,
    read: Box<dyn PartialReflect>,
) -> Result<Box<dyn core::any::Any + Send + Sync>, RemoteError> {
    let type_id = read.get_represented_type_info().map(bevy_reflect::TypeInfo::type_id);
    // Making a value runs users' code, which may use the types.
    let from_reflect =
        type_id.and_then(|type_id| types.read().get_type_data::<ReflectFromReflect>(type_id).cloned());
    let read = match from_reflect.and_then(|from| from.from_reflect(&*read)) {
        Some(made) => made.into_partial_reflect(),
        None => read,
    };
    if column.value_type() == TypeId::of::<ReflectedData>() {
        return Ok(Box::new(ReflectedData(read)));
    }
    let wrong =
        || RemoteError::Value(format!("no `{}` can be made of this by reflection", column.value_name()));
    let value = read.try_into_reflect().map_err(|_| wrong())?;
    column.sendable(value.into_any()).ok_or_else(wrong)
}

/// Reads entities inside of values as requests name them.
struct NamedEntities<'w>(&'w World);

impl ReflectDeserializerProcessor for NamedEntities<'_> {
    fn try_deserialize<'de, D: Deserializer<'de>>(
        &mut self,
        registration: &TypeRegistration,
        _: &TypeRegistry,
        deserializer: D,
    ) -> Result<Result<Box<dyn PartialReflect>, D>, D::Error> {
        if registration.type_id() != TypeId::of::<Entity>() {
            return Ok(Err(deserializer));
        }
        let text = EntityText::deserialize(deserializer)?;
        match NamedElement::find(self.0, text.as_str(), None) {
            Ok(NamedElement::Entity(entity)) => Ok(Ok(Box::new(entity))),
            Ok(NamedElement::Type(type_id)) => {
                let entity = fetch::store(self.0).and_then(|store| store.registry().entity_of(type_id));
                let none = || Error::custom("no entity stands for this type yet");
                entity.map(|entity| Ok(Box::new(entity) as Box<dyn PartialReflect>)).ok_or_else(none)
            }
            Ok(NamedElement::Wildcard(_)) => Err(Error::custom("a value holds an entity, not a wildcard")),
            Err(error) => Err(Error::custom(error)),
        }
    }
}
