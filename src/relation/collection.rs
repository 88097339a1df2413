//! Reading maps and sets by reflection.

use alloc::{boxed::Box, format};
use bevy_reflect::{
    PartialReflect, Reflect, ReflectDeserialize, ReflectFromReflect, ReflectMut, ReflectRef, Type, TypeInfo,
    TypeRegistration, TypeRegistry,
    map::DynamicMap,
    serde::{ReflectDeserializeWithRegistry, ReflectDeserializerProcessor, TypedReflectDeserializer},
    set::DynamicSet,
};
use core::fmt;
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};

/// Reads a value if it is a map or a set, for the processor of a deserializer.
///
/// Bevy reads these into a [`DynamicMap`] or [`DynamicSet`], which panics if reflection has no hash of a key: tuples and structs without
/// `#[reflect(Hash)]` have none. Here the items are inserted into a collection of the type that is read.
pub(crate) fn read_collection<'de, D: Deserializer<'de>, P: ReflectDeserializerProcessor>(
    registration: &TypeRegistration,
    types: &TypeRegistry,
    processor: &mut P,
    deserializer: D,
) -> Result<Result<Box<dyn PartialReflect>, D>, D::Error> {
    let empty: [&dyn PartialReflect; 2] = [&DynamicMap::default(), &DynamicSet::default()];
    let (empty, items) = match registration.type_info() {
        TypeInfo::Map(info) => (empty[0], [info.key_ty(), info.value_ty()]),
        TypeInfo::Set(info) => (empty[1], [info.value_ty(); 2]),
        _ => return Ok(Err(deserializer)),
    };
    let made = registration.data::<ReflectFromReflect>().and_then(|made| made.from_reflect(empty));
    let Some(made) = made.filter(|_| !reads_itself(registration) && can_make(types, items)) else {
        return Ok(Err(deserializer));
    };
    let is_map = matches!(registration.type_info(), TypeInfo::Map(_));
    let visitor = CollectionVisitor { made, items, types, processor };
    let read =
        if is_map { deserializer.deserialize_map(visitor) } else { deserializer.deserialize_seq(visitor) };
    read.map(Ok)
}

/// Whether a type has its own way to be read.
fn reads_itself(registration: &TypeRegistration) -> bool {
    registration.contains::<ReflectDeserialize>() || registration.contains::<ReflectDeserializeWithRegistry>()
}

/// Whether it is known how to make values of these types of what is read.
fn can_make(types: &TypeRegistry, items: [Type; 2]) -> bool {
    items.iter().filter_map(|item| types.get(item.id())).all(|item| {
        let is_plain =
            matches!(item.type_info(), TypeInfo::Tuple(_) | TypeInfo::Array(_) | TypeInfo::Opaque(_));
        is_plain || reads_itself(item) || item.contains::<ReflectFromReflect>()
    })
}

/// Whether a value of its type can be made of what was read.
fn is_complete(types: &TypeRegistry, read: &dyn PartialReflect) -> bool {
    let represented = read.get_represented_type_info().map(TypeInfo::type_id);
    let made = represented.and_then(|id| types.get_type_data::<ReflectFromReflect>(id));
    match (made, read.reflect_ref()) {
        _ if !read.is_dynamic() => true,
        (Some(made), _) => made.from_reflect(read).is_some(),
        // Bevy registers no `ReflectFromReflect` for these.
        (None, ReflectRef::Tuple(fields)) => fields.iter_fields().all(|field| is_complete(types, field)),
        (None, ReflectRef::Array(items)) => items.iter().all(|item| is_complete(types, item)),
        (None, _) => false,
    }
}

struct CollectionVisitor<'a, P> {
    /// It is filled.
    made: Box<dyn Reflect>,
    /// The types of keys and values; those of a set are the first.
    items: [Type; 2],
    types: &'a TypeRegistry,
    processor: &'a mut P,
}

impl<'de, P: ReflectDeserializerProcessor> Visitor<'de> for CollectionVisitor<'_, P> {
    type Value = Box<dyn PartialReflect>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a `{}`", self.made.reflect_type_path())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Self::Value, A::Error> {
        let Self { mut made, items: [key, value], types, processor } = self;
        if let ReflectMut::Map(map) = made.reflect_mut() {
            while let Some(key) = pairs.next_key_seed(ItemSeed { item: key, types, processor })? {
                let value = pairs.next_value_seed(ItemSeed { item: value, types, processor })?;
                map.insert_boxed(key, value);
            }
        }
        Ok(made.into_partial_reflect())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
        let Self { mut made, items: [item, _], types, processor } = self;
        if let ReflectMut::Set(set) = made.reflect_mut() {
            while let Some(value) = values.next_element_seed(ItemSeed { item, types, processor })? {
                set.insert_boxed(value);
            }
        }
        Ok(made.into_partial_reflect())
    }
}

/// A key or a value.
struct ItemSeed<'a, P> {
    item: Type,
    types: &'a TypeRegistry,
    processor: &'a mut P,
}

impl<'de, P: ReflectDeserializerProcessor> DeserializeSeed<'de> for ItemSeed<'_, P> {
    type Value = Box<dyn PartialReflect>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let Self { item, types, processor } = self;
        let unknown = || D::Error::custom(format!("`{}` is not registered for reflection", item.path()));
        let registration = types.get(item.id()).ok_or_else(unknown)?;
        let seed = TypedReflectDeserializer::with_processor(registration, types, processor);
        let read = seed.deserialize(deserializer)?;
        // Bevy panics where something that is not complete is inserted.
        match is_complete(types, &*read) {
            true => Ok(read),
            false => Err(D::Error::custom(format!("the value is no complete `{}`", item.path()))),
        }
    }
}
