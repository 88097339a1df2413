//! Writing saves.

use super::saved::{FORMAT, SavedPair, SavedPairs, SavedRelation};
use bevy_ecs::entity::Entity;
use bevy_reflect::{
    PartialReflect, TypeRegistry,
    serde::{ReflectSerializer, ReflectSerializerProcessor},
};
use serde::{
    Serialize, Serializer,
    ser::{SerializeSeq, SerializeStruct, SerializeTuple},
};

/// Writes [`SavedPairs`] with any format of serde.
///
/// Equal saves are written equally, unless values have maps or sets without an order in them.
///
/// ```
/// use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
/// use bevy_relations::{prelude::*, snapshot::*};
/// use serde::de::DeserializeSeed;
///
/// #[derive(Relation)]
/// struct Likes;
///
/// let mut world = World::new();
/// world.init_resource::<AppTypeRegistry>();
/// let types = world.resource::<AppTypeRegistry>().clone();
/// let ann = world.spawn(SaveId(1)).id();
/// let ben = world.spawn((SaveId(2), Pair(Likes, ann))).id();
///
/// let saved = PairSnapshot::take(&mut world, PairFilter::none().relation::<Likes>())?.to_saved(&world)?;
/// let json = serde_json::to_string(&SavedPairsSerializer::new(&saved, &types.read()))?;
/// assert!(json.ends_with(r#""relations":[{"name":"Likes","pairs":[[1,0,null]],"orders":[]}]}"#));
///
/// world.remove_pairs::<Likes>(ben);
/// let mut reader = serde_json::Deserializer::from_str(&json);
/// SavedPairsDeserializer::new(&types.read()).deserialize(&mut reader)?.load(&mut world)?;
/// assert!(world.has_pair::<Likes>(ben, ann));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy)]
pub struct SavedPairsSerializer<'a> {
    saved: &'a SavedPairs,
    types: &'a TypeRegistry,
}

impl<'a> SavedPairsSerializer<'a> {
    /// Writes a save, with the types that are registered.
    pub fn new(saved: &'a SavedPairs, types: &'a TypeRegistry) -> Self {
        Self { saved, types }
    }
}

impl Serialize for SavedPairsSerializer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { saved, types } = *self;
        let mut file = serializer.serialize_struct("SavedPairs", 6)?;
        file.serialize_field("format", &FORMAT)?;
        file.serialize_field("version", &saved.version)?;
        file.serialize_field("all_relations", &saved.all_relations)?;
        file.serialize_field("entities", &saved.entities)?;
        file.serialize_field("sources", &saved.sources)?;
        file.serialize_field("relations", &List { items: &saved.relations, types })?;
        file.end()
    }
}

/// Something that is written with the types that are registered.
struct With<'a, T> {
    item: &'a T,
    types: &'a TypeRegistry,
}

struct List<'a, T> {
    items: &'a [T],
    types: &'a TypeRegistry,
}

impl<'a, T> Serialize for List<'a, T>
where
    With<'a, T>: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.items.len()))?;
        for item in self.items {
            list.serialize_element(&With { item, types: self.types })?;
        }
        list.end()
    }
}

impl Serialize for With<'_, SavedRelation> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut relation = serializer.serialize_struct("SavedRelation", 3)?;
        relation.serialize_field("name", &self.item.name)?;
        relation.serialize_field("pairs", &List { items: &self.item.pairs, types: self.types })?;
        relation.serialize_field("orders", &self.item.orders)?;
        relation.end()
    }
}

impl Serialize for With<'_, SavedPair> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pair = serializer.serialize_tuple(3)?;
        pair.serialize_element(&self.item.source)?;
        pair.serialize_element(&self.item.target)?;
        let value = self.item.value.as_ref();
        pair.serialize_element(
            &value.map(|value| ReflectSerializer::with_processor(&**value, self.types, &Numbers)),
        )?;
        pair.end()
    }
}

/// Entities in values, which stand for those of the save.
struct Numbers;

impl ReflectSerializerProcessor for Numbers {
    fn try_serialize<S: Serializer>(
        &self,
        value: &dyn PartialReflect,
        _: &TypeRegistry,
        serializer: S,
    ) -> Result<Result<S::Ok, S>, S::Error> {
        match value.try_downcast_ref::<Entity>() {
            Some(entity) => entity.index_u32().serialize(serializer).map(Ok),
            None => Ok(Err(serializer)),
        }
    }
}
