//! Methods that change: inserting and removing pairs.

use super::{
    error::RemoteError,
    limits::RemoteLimits,
    params::{self, EntityText, InsertParams, RemoveParams, WalkDirection},
    read::{PairsAt, types_of},
};
use crate::{
    expr::{NamedElement, bits, type_with_unknown_fields},
    fetch,
    id::{PairId, Slot},
    ops::{despawn_unused_type_entity, unregister_relation},
    relation::{ReflectedData, read_collection},
    store::PairStore,
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
pub(super) struct InsertedResponse {
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
) -> Result<InsertedResponse, RemoteError> {
    let source = params.source.find_one(world, "source", None)?;
    let relation = params.relation.find_one(world, "relation", None)?;
    let scope = scope_of(world, params::known(world, relation));
    let target = params.target.find_one(world, "target", scope)?;
    let request = InsertRequest::new(world, [source, relation, target]);
    let existed = request.insert(world, params.value)?;
    let [source, relation, target] = request.ends.map(bits);
    Ok(InsertedResponse { source, relation, target, existed })
}

/// The entities of a pair that is to be inserted, some of which may have been made for it.
struct InsertRequest {
    /// Source, relation and target.
    ends: [Entity; 3],
    made: [bool; 3],
    /// Whether the relation was one before.
    is_relation: bool,
}

impl InsertRequest {
    fn new(world: &mut World, named: [NamedElement; 3]) -> Self {
        let ends = named.map(|named| params::known(world, named).and_then(Slot::entity));
        let registry = fetch::store(world).map(PairStore::registry);
        let is_relation = ends[1].zip(registry).is_some_and(|(end, all)| all.of_entity(end).is_some());
        let made = ends.map(|end| end.is_none());
        Self { ends: named.map(|named| params::entity_of(world, named)), made, is_relation }
    }

    /// Inserts the pair, or takes back what was made for it. Returns whether it was there before.
    fn insert(&self, world: &mut World, value: Option<Value>) -> Result<bool, RemoteError> {
        let inserted = self.try_insert(world, value);
        if inserted.is_err() {
            if !self.is_relation {
                unregister_relation(world, self.ends[1]);
            }
            for (&end, _) in self.ends.iter().zip(self.made).filter(|&(_, made)| made) {
                despawn_unused_type_entity(world, end);
            }
        }
        inserted
    }

    /// A pair with a type that the world has no fields of yet would be inserted without its value.
    fn check_fields_are_known(&self, world: &World) -> Result<(), RemoteError> {
        let [source, relation, target] = self.ends;
        let Some(store) = fetch::store(world) else { return Ok(()) };
        match type_with_unknown_fields(world, store, Some(relation), [Some(source), Some(target)]) {
            Some((element, name)) => {
                let param = match element {
                    _ if element == relation => "relation",
                    _ if element == target => "target",
                    _ => "source",
                };
                Err(RemoteError::UnknownFields { param, name })
            }
            None => Ok(()),
        }
    }

    fn try_insert(&self, world: &mut World, value: Option<Value>) -> Result<bool, RemoteError> {
        self.check_fields_are_known(world)?;
        let [source, relation, target] = self.ends;
        let existed = world.has_pair_by_id(source, (relation, target));
        match value {
            Some(value) => {
                let value = read_value(world, source, PairId::new(relation, target), value)?;
                world.insert_reflected_pair(source, (relation, target), value)?;
            }
            None => world.insert_pair_by_id(source, (relation, target)).map_err(RemoteError::Pair)?,
        }
        Ok(existed)
    }
}

/// Whose children the targets of a relation are.
fn scope_of(world: &World, relation: Option<Slot>) -> Option<Entity> {
    let registry = fetch::store(world)?.registry();
    registry.entry(registry.of_entity(relation?.entity()?)?).one_of
}

#[derive(Serialize)]
pub(super) struct RemovedResponse {
    removed: usize,
}

pub(super) fn remove(
    world: &mut World,
    limits: &RemoteLimits,
    params: RemoveParams,
) -> Result<RemovedResponse, RemoteError> {
    let source = params.source.find_one(world, "source", None)?;
    let relation = params.relation.find(world, "relation", None)?;
    let scope = scope_of(world, params::known(world, relation));
    let target = params.target.find(world, "target", scope)?;
    let [source, relation, target] = [source, relation, target].map(|named| params::known(world, named));
    // A type without an entity has no pairs.
    let named = source.and_then(Slot::entity).zip(relation).zip(target);
    let Some(((source, relation), target)) = named else { return Ok(RemovedResponse { removed: 0 }) };
    if target.entity().is_none() {
        let pairs = PairsAt::new(world, source, WalkDirection::AsSource, relation.entity());
        if pairs.total() > limits.rows {
            return Err(RemoteError::TooLarge { what: "the number of pairs", limit: limits.rows as u64 });
        }
    }
    Ok(RemovedResponse { removed: world.remove_pairs_by_id(source, PairId::from((relation, target))) })
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
        types: &TypeRegistry,
        deserializer: D,
    ) -> Result<Result<Box<dyn PartialReflect>, D>, D::Error> {
        if registration.type_id() != TypeId::of::<Entity>() {
            return read_collection(registration, types, self, deserializer);
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
