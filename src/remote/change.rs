//! Methods that change: inserting and removing pairs.

use super::{
    error::RemoteError,
    limits::RemoteLimits,
    params::{EntityText, InsertParams, RemoveParams},
    read::types_of,
};
use crate::{
    expr::{NamedElement, bits},
    fetch,
    id::PairId,
    relation::ReflectedData,
    world::{WorldPairExt, WorldReflectPairExt, reflected_column},
};
use bevy_ecs::{entity::Entity, world::World};
use bevy_reflect::{
    PartialReflect, TypeRegistration, TypeRegistry,
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
    let source = params.source.entity(world, "source", None)?;
    let relation = params.relation.entity(world, "relation", None)?;
    let target = params.target.entity(world, "target", scope_of(world, relation))?;
    let existed = world.has_pair_by_id(source, (relation, target));
    match params.value {
        Some(value) => {
            let value = read_value(world, source, PairId::new(relation, target), value)?;
            world.insert_reflected_pair(source, (relation, target), value)?;
        }
        None => world.insert_pair_by_id(source, (relation, target)).map_err(RemoteError::Pair)?,
    }
    let [source, relation, target] = [source, relation, target].map(bits);
    Ok(Inserted { source, relation, target, existed })
}

/// Whose children the targets of a relation are.
fn scope_of(world: &World, relation: Entity) -> Option<Entity> {
    let registry = fetch::store(world)?.registry();
    registry.entry(registry.of_entity(relation)?).one_of
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
    let source = params.source.entity(world, "source", None)?;
    let relation = params.relation.slot(world, "relation", None)?;
    let scope = relation.entity().and_then(|relation| scope_of(world, relation));
    let target = params.target.slot(world, "target", scope)?;
    Ok(Removed { removed: world.remove_pairs_by_id(source, PairId::from((relation, target))) })
}

/// Reads the value that a pair is to have.
fn read_value(
    world: &mut World,
    source: Entity,
    pair: PairId,
    json: Value,
) -> Result<Box<dyn PartialReflect>, RemoteError> {
    let (_, column) = reflected_column(world, source, pair)?;
    let types = types_of(world);
    let mut entities = NamedEntities(world);
    let types = types.read();
    let read = match column.value_type() == TypeId::of::<ReflectedData>() {
        true => ReflectDeserializer::with_processor(&types, &mut entities).deserialize(json),
        false => {
            let Some(registration) = types.get(column.value_type()) else {
                let message = format!("`{}` is not registered for reflection", column.value_name());
                return Err(RemoteError::Value(message));
            };
            TypedReflectDeserializer::with_processor(registration, &types, &mut entities).deserialize(json)
        }
    };
    read.map_err(|error| RemoteError::Value(error.to_string()))
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
