//! Reading saves.

use super::saved::{FORMAT, SavedPair, SavedPairs, SavedRelation};
use crate::relation::read_collection;
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::entity::Entity;
use bevy_reflect::{
    PartialReflect, TypeRegistration, TypeRegistry,
    serde::{ReflectDeserializerProcessor, TypeRegistrationDeserializer, TypedReflectDeserializer},
};
use core::{any::TypeId, cell::Cell, fmt};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor, value::StrDeserializer},
};

/// Reads [`SavedPairs`] with any format of serde. Types of values must be registered.
///
/// It checks the form of the file and nothing else. [`SavedPairs::load`] checks the contents.
///
/// ```
/// # use bevy_app::prelude::*;
/// # use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
/// # use bevy_relations::{prelude::*, snapshot::*};
/// # use serde::de::DeserializeSeed;
/// # let mut app = App::new();
/// # app.add_plugins(RelationsPlugin);
/// # let world = app.world_mut();
/// let likes = world.spawn_relation("Likes", RelationTraits::new())?;
/// let [ann, ben] = [1, 2].map(|id| world.spawn(SaveId(id)).id());
/// let text = r#"(format: 1, version: 0, all_relations: false, sources: None,
///     entities: [Entity(id: 1, name: None), Entity(id: 2, name: None)],
///     relations: [(name: "Likes", pairs: [(0, 1, None)], orders: [])])"#;
///
/// let types = world.resource::<AppTypeRegistry>().clone();
/// let saved = SavedPairsDeserializer::new(&types.read()).deserialize(&mut ron::Deserializer::from_str(text)?)?;
/// saved.load(world)?;
/// assert!(world.has_pair_by_id(ann, (likes, ben)));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy)]
pub struct SavedPairsDeserializer<'a> {
    types: Types<'a>,
}

/// What type paths of values stand for.
#[derive(Clone, Copy)]
struct Types<'a> {
    registered: &'a TypeRegistry,
    /// Former paths, with those of now.
    aliases: &'a [(&'a str, &'a str)],
}

impl<'a> SavedPairsDeserializer<'a> {
    /// Reads a save, with the types that are registered.
    pub fn new(types: &'a TypeRegistry) -> Self {
        Self { types: Types { registered: types, aliases: &[] } }
    }

    /// Reads values that are stored under a former type path. Each alias is the former path and the present one, which may be a
    /// former path itself: aliases are followed to the last one.
    ///
    /// ```
    /// # use bevy_reflect::{Reflect, TypeRegistry};
    /// # use bevy_relations::snapshot::SavedPairsDeserializer;
    /// # use serde::de::DeserializeSeed;
    /// #[derive(Reflect)]
    /// #[type_path = "game"]
    /// struct Debt(u32);
    ///
    /// let mut types = TypeRegistry::new();
    /// types.register::<Debt>();
    /// // `Debt` used to be called `Owes`.
    /// let save = r#"(format: 1, version: 0, all_relations: false, sources: None,
    ///     entities: [Entity(id: 0, name: None), Entity(id: 1, name: None)],
    ///     relations: [(name: "Debt", pairs: [(0, 1, Some({"game::Owes": (5)}))], orders: [])])"#;
    /// let reader = SavedPairsDeserializer::new(&types);
    /// let read = |reader: SavedPairsDeserializer<'_>| reader.deserialize(&mut ron::Deserializer::from_str(save).unwrap());
    /// assert!(read(reader).is_err());
    /// assert!(read(reader.with_type_aliases(&[("game::Owes", "game::Debt")])).is_ok());
    /// ```
    pub fn with_type_aliases(mut self, aliases: &'a [(&'a str, &'a str)]) -> Self {
        self.types.aliases = aliases;
        self
    }
}

const FIELDS: &[&str] = &["format", "version", "all_relations", "entities", "sources", "relations"];
const RELATION_FIELDS: &[&str] = &["name", "pairs", "orders"];

impl<'de> DeserializeSeed<'de> for SavedPairsDeserializer<'_> {
    type Value = SavedPairs;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<SavedPairs, D::Error> {
        deserializer.deserialize_struct("SavedPairs", FIELDS, self)
    }
}

/// # Errors
/// If it is not the form that is written here.
fn check_format<E: Error>(format: u32) -> Result<(), E> {
    match format {
        FORMAT => Ok(()),
        _ => Err(E::custom(format!(
            "format: the save has format {format}, and this version reads format {FORMAT}"
        ))),
    }
}

impl<'de> Visitor<'de> for SavedPairsDeserializer<'_> {
    type Value = SavedPairs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a save of pairs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<SavedPairs, A::Error> {
        fn next<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(seq: &mut A, nth: usize) -> Result<T, A::Error> {
            seq.next_element()?.ok_or_else(|| A::Error::invalid_length(nth, &"a save of pairs"))
        }
        check_format(next(&mut seq, 0)?)?;
        let mut saved = SavedPairs {
            version: next(&mut seq, 1)?,
            all_relations: next(&mut seq, 2)?,
            entities: next(&mut seq, 3)?,
            sources: next(&mut seq, 4)?,
            relations: Vec::new(),
        };
        let relations = seq.next_element_seed(List::new(self.types, "relations"))?;
        saved.relations = relations.ok_or_else(|| A::Error::invalid_length(5, &"a save of pairs"))?;
        Ok(saved)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SavedPairs, A::Error> {
        let mut saved = SavedPairs::default();
        let mut found: Vec<&str> = Vec::new();
        while let Some(field) = map.next_key_seed(Field(FIELDS))? {
            if found.contains(&field) {
                return Err(A::Error::duplicate_field(field));
            }
            found.push(field);
            match field {
                "format" => check_format(map.next_value()?)?,
                "version" => saved.version = map.next_value()?,
                "all_relations" => saved.all_relations = map.next_value()?,
                "entities" => saved.entities = map.next_value()?,
                "sources" => saved.sources = map.next_value()?,
                _ => saved.relations = map.next_value_seed(List::new(self.types, "relations"))?,
            }
        }
        match FIELDS.iter().find(|field| !found.contains(field)) {
            Some(field) => Err(A::Error::missing_field(field)),
            None => Ok(saved),
        }
    }
}

/// The name of a field.
struct Field(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Field {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Field {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {:?}", self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<&'static str, E> {
        let field = self.0.iter().find(|field| **field == text);
        field.copied().ok_or_else(|| E::unknown_field(text, self.0))
    }
}

/// A list of things that are read with the types that are registered.
struct List<'a, T> {
    types: Types<'a>,
    /// Where it is, for errors.
    place: &'a str,
    item: core::marker::PhantomData<T>,
}

impl<'a, T> List<'a, T> {
    fn new(types: Types<'a>, place: &'a str) -> Self {
        Self { types, place, item: core::marker::PhantomData }
    }
}

/// One of the things in such a list.
trait Item: Sized {
    /// `is_placed` is set when an error names the place of the item already.
    fn read<'de, D: Deserializer<'de>>(
        types: Types<'_>,
        deserializer: D,
        is_placed: &Cell<bool>,
    ) -> Result<Self, D::Error>;
}

struct ItemSeed<'a, T> {
    list: &'a List<'a, T>,
    nth: usize,
}

impl<'de, T: Item> DeserializeSeed<'de> for ItemSeed<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        let Self { list, nth } = self;
        let is_placed = Cell::new(false);
        T::read(list.types, deserializer, &is_placed).map_err(|error| match is_placed.get() {
            true => error,
            false => D::Error::custom(format!("{} {nth}: {error}", list.place)),
        })
    }
}

impl<'de, T: Item> DeserializeSeed<'de> for List<'_, T> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Item> Visitor<'de> for List<'_, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {}", self.place)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(ItemSeed { list: &self, nth: items.len() })? {
            items.push(item);
        }
        Ok(items)
    }
}

impl Item for SavedRelation {
    fn read<'de, D: Deserializer<'de>>(
        types: Types<'_>,
        deserializer: D,
        is_placed: &Cell<bool>,
    ) -> Result<Self, D::Error> {
        let visitor = RelationVisitor { types, is_placed };
        deserializer.deserialize_struct("SavedRelation", RELATION_FIELDS, visitor)
    }
}

struct RelationVisitor<'a> {
    types: Types<'a>,
    is_placed: &'a Cell<bool>,
}

impl RelationVisitor<'_> {
    /// Reads pairs of a relation, whose name is the place in errors: where it is known, its number is not needed.
    fn pairs<E>(
        &self,
        name: Option<&str>,
        read: impl FnOnce(List<'_, SavedPair>) -> Result<Option<Vec<SavedPair>>, E>,
    ) -> Result<Option<Vec<SavedPair>>, E> {
        let place = match name {
            Some(name) => format!("relation `{name}`, pair"),
            None => "pair".to_string(),
        };
        self.is_placed.set(name.is_some());
        let pairs = read(List::new(self.types, &place))?;
        self.is_placed.set(false);
        Ok(pairs)
    }
}

impl<'de> Visitor<'de> for RelationVisitor<'_> {
    type Value = SavedRelation;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a relation with its pairs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<SavedRelation, A::Error> {
        let short = |nth| A::Error::invalid_length(nth, &"a relation with its pairs");
        let name: String = seq.next_element()?.ok_or_else(|| short(0))?;
        let pairs = self.pairs(Some(&name), |list| seq.next_element_seed(list))?.ok_or_else(|| short(1))?;
        let orders = seq.next_element()?.ok_or_else(|| short(2))?;
        Ok(SavedRelation { name, pairs, orders })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SavedRelation, A::Error> {
        let mut relation = SavedRelation::default();
        let mut found: Vec<&str> = Vec::new();
        while let Some(field) = map.next_key_seed(Field(RELATION_FIELDS))? {
            if found.contains(&field) {
                return Err(A::Error::duplicate_field(field));
            }
            found.push(field);
            match field {
                "name" => relation.name = map.next_value()?,
                "orders" => relation.orders = map.next_value()?,
                _ => {
                    let name = found.contains(&"name").then_some(relation.name.as_str());
                    let pairs = self.pairs(name, |list| map.next_value_seed(list).map(Some))?;
                    relation.pairs = pairs.unwrap_or_default();
                }
            }
        }
        match RELATION_FIELDS.iter().find(|field| !found.contains(field)) {
            Some(field) => Err(A::Error::missing_field(field)),
            None => Ok(relation),
        }
    }
}

impl Item for SavedPair {
    fn read<'de, D: Deserializer<'de>>(
        types: Types<'_>,
        deserializer: D,
        _: &Cell<bool>,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(3, PairVisitor { types })
    }
}

struct PairVisitor<'a> {
    types: Types<'a>,
}

impl<'de> Visitor<'de> for PairVisitor<'_> {
    type Value = SavedPair;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a source, a target, and a value or none")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<SavedPair, A::Error> {
        let short = |nth| A::Error::invalid_length(nth, &"a source, a target, and a value or none");
        let source = seq.next_element()?.ok_or_else(|| short(0))?;
        let target = seq.next_element()?.ok_or_else(|| short(1))?;
        let value = seq.next_element_seed(ValueSeed { types: self.types })?.ok_or_else(|| short(2))?;
        Ok(SavedPair { source, target, value })
    }
}

struct ValueSeed<'a> {
    types: Types<'a>,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Option<Box<dyn PartialReflect>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Option<Box<dyn PartialReflect>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or none")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(ReflectedVisitor { types: self.types }).map(Some)
    }
}

/// A value in the form of `ReflectSerializer`: the path of its type, and what that type makes of it.
struct ReflectedVisitor<'a> {
    types: Types<'a>,
}

impl<'de> Visitor<'de> for ReflectedVisitor<'_> {
    type Value = Box<dyn PartialReflect>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the path of a type, with a value of that type")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let one = || A::Error::custom("a value has one type");
        let registration = map.next_key_seed(self.types)?.ok_or_else(one)?;
        let mut numbers = Numbers;
        let value =
            TypedReflectDeserializer::with_processor(registration, self.types.registered, &mut numbers);
        let value = map.next_value_seed(value)?;
        match map.next_key::<IgnoredAny>()? {
            None => Ok(value),
            Some(_) => Err(one()),
        }
    }
}

impl<'a, 'de> DeserializeSeed<'de> for Types<'a> {
    type Value = &'a TypeRegistration;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Types<'a> {
    type Value = &'a TypeRegistration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the path of a type")
    }

    fn visit_str<E: Error>(self, path: &str) -> Result<Self::Value, E> {
        let mut path = path;
        // Aliases in a circle lead nowhere.
        for _ in self.aliases {
            let Some(&(_, now)) = self.aliases.iter().find(|(former, _)| *former == path) else { break };
            path = now;
        }
        TypeRegistrationDeserializer::new(self.registered).deserialize(StrDeserializer::new(path))
    }
}

/// Entities in values, which stand for those of the save.
struct Numbers;

impl ReflectDeserializerProcessor for Numbers {
    fn try_deserialize<'de, D: Deserializer<'de>>(
        &mut self,
        registration: &TypeRegistration,
        types: &TypeRegistry,
        deserializer: D,
    ) -> Result<Result<Box<dyn PartialReflect>, D>, D::Error> {
        if registration.type_id() != TypeId::of::<Entity>() {
            return read_collection(registration, types, self, deserializer);
        }
        let number = u32::deserialize(deserializer)?;
        let entity = Entity::from_raw_u32(number);
        let entity = entity.ok_or_else(|| D::Error::custom(format!("there is no entity {number}")))?;
        Ok(Ok(Box::new(entity)))
    }
}
