//! Values whose type is known through reflection alone.

use alloc::boxed::Box;
use bevy_ecs::entity::{Entity, EntityMapper};
use bevy_platform::sync::Arc;
use bevy_reflect::{
    PartialReflect, Reflect, ReflectMut, TypeRegistry,
    serde::{
        DeserializeWithRegistry, ReflectDeserializeWithRegistry, ReflectDeserializer,
        ReflectSerializeWithRegistry, ReflectSerializer, SerializeWithRegistry,
    },
};
use core::fmt;

/// A value of a reflected type, in [`RuntimeMirroredPairs`](super::RuntimeMirroredPairs).
///
/// It is written and read by reflection, as scenes are. Serde alone cannot do that: it does not know the type.
///
/// ```
/// # use bevy_relations::mirror::ReflectedValue;
/// let debt = ReflectedValue::new(7_u32);
/// assert_eq!(debt.get().try_downcast_ref::<u32>(), Some(&7));
/// assert_eq!(debt, ReflectedValue::new(7_u32)); // compared by reflection
/// ```
#[derive(Reflect, Clone)]
#[reflect(opaque)]
#[reflect(Clone, PartialEq, Debug, SerializeWithRegistry, DeserializeWithRegistry)]
#[type_path = "bevy_relations::mirror"]
pub struct ReflectedValue(Arc<Box<dyn PartialReflect>>);

impl ReflectedValue {
    /// A value.
    pub fn new(value: impl Reflect) -> Self {
        Self::from_box(Box::new(value))
    }

    pub(super) fn from_box(value: Box<dyn PartialReflect>) -> Self {
        Self(Arc::new(value))
    }

    /// The value.
    pub fn get(&self) -> &dyn PartialReflect {
        &**self.0
    }

    /// Maps all entities in the value that reflection shows.
    pub(super) fn map_entities(&mut self, mapper: &mut dyn EntityMapper) {
        if let Some(mut copy) = copy(self.get()) {
            map_entities(&mut *copy, mapper);
            *self = Self::from_box(copy);
        }
    }
}

/// A copy of a value: of its type if that can be copied, else a dynamic one.
pub(super) fn copy(value: &dyn PartialReflect) -> Option<Box<dyn PartialReflect>> {
    match value.reflect_clone() {
        Ok(copy) => Some(copy.into_partial_reflect()),
        Err(_) => value.to_dynamic().ok(),
    }
}

impl PartialEq for ReflectedValue {
    fn eq(&self, other: &Self) -> bool {
        self.get().reflect_partial_eq(other.get()) == Some(true)
    }
}

impl fmt::Debug for ReflectedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().debug(f)
    }
}

impl SerializeWithRegistry for ReflectedValue {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
        registry: &TypeRegistry,
    ) -> Result<S::Ok, S::Error> {
        serde::Serialize::serialize(&ReflectSerializer::new(self.get(), registry), serializer)
    }
}

impl<'de> DeserializeWithRegistry<'de> for ReflectedValue {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
        registry: &TypeRegistry,
    ) -> Result<Self, D::Error> {
        let value =
            serde::de::DeserializeSeed::deserialize(ReflectDeserializer::new(registry), deserializer)?;
        Ok(Self::from_box(value))
    }
}

#[cfg(feature = "serialize")]
const NEEDS_REGISTRY: &str = "a value whose type is known through reflection alone is read and written by reflection, not by serde alone";

#[cfg(feature = "serialize")]
impl serde::Serialize for ReflectedValue {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom(NEEDS_REGISTRY))
    }
}

#[cfg(feature = "serialize")]
impl<'de> serde::Deserialize<'de> for ReflectedValue {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom(NEEDS_REGISTRY))
    }
}

/// Maps every entity in a value that reflection shows.
pub(super) fn map_entities(value: &mut dyn PartialReflect, mapper: &mut dyn EntityMapper) {
    if let Some(entity) = value.try_downcast_mut::<Entity>() {
        *entity = mapper.get_mapped(*entity);
        return;
    }
    match value.reflect_mut() {
        ReflectMut::Struct(fields) => {
            (0..fields.field_len()).for_each(|at| map_part(fields.field_at_mut(at), mapper));
        }
        ReflectMut::TupleStruct(fields) => {
            (0..fields.field_len()).for_each(|at| map_part(fields.field_mut(at), mapper));
        }
        ReflectMut::Tuple(fields) => {
            (0..fields.field_len()).for_each(|at| map_part(fields.field_mut(at), mapper));
        }
        ReflectMut::Enum(fields) => {
            (0..fields.field_len()).for_each(|at| map_part(fields.field_at_mut(at), mapper));
        }
        ReflectMut::List(items) => (0..items.len()).for_each(|at| map_part(items.get_mut(at), mapper)),
        ReflectMut::Array(items) => (0..items.len()).for_each(|at| map_part(items.get_mut(at), mapper)),
        ReflectMut::Map(map) => {
            for (mut key, mut value) in map.drain() {
                map_entities(&mut *key, mapper);
                map_entities(&mut *value, mapper);
                map.insert_boxed(key, value);
            }
        }
        ReflectMut::Set(set) => {
            for mut item in set.drain() {
                map_entities(&mut *item, mapper);
                set.insert_boxed(item);
            }
        }
        _ => {}
    }
}

fn map_part(part: Option<&mut dyn PartialReflect>, mapper: &mut dyn EntityMapper) {
    if let Some(part) = part {
        map_entities(part, mapper);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};
    use bevy_platform::collections::{HashMap, HashSet};

    #[derive(Reflect, Clone, PartialEq, Debug)]
    enum Mood {
        Calm,
        Angry(Entity, Option<Entity>),
    }

    #[derive(Reflect, Clone, PartialEq, Debug)]
    struct Knows {
        by: (Entity, u32),
        others: Vec<Entity>,
        both: [Entity; 2],
        moods: Vec<Mood>,
        by_name: HashMap<u32, Entity>,
        all: HashSet<Entity>,
        #[reflect(ignore)]
        hidden: u32,
    }

    #[test]
    fn entities_are_mapped_wherever_reflection_shows_them() {
        let [old, new] = [1, 2].map(|index| Entity::from_raw_u32(index).unwrap());
        let knows = |entity: Entity| Knows {
            by: (entity, 3),
            others: vec![entity, entity],
            both: [entity; 2],
            moods: vec![Mood::Calm, Mood::Angry(entity, Some(entity))],
            by_name: HashMap::from_iter([(1, entity)]),
            all: HashSet::from_iter([entity]),
            hidden: 0,
        };
        let mut value = ReflectedValue::new(knows(old));
        let kept = value.clone();
        value.map_entities(&mut (old, new));
        assert_eq!(kept, ReflectedValue::new(knows(old)), "the copy has its own");
        assert_eq!(value, ReflectedValue::new(knows(new)));
    }
}
