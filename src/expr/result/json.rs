//! Rows for serde.

use super::rows::{FieldId, Row};
use crate::{
    expr::{
        bind::{reflected_types, with_relation_types},
        eval::WorldAccess,
        text::FieldAccess,
    },
    id::Slot,
    relation::is_serializable,
};
use alloc::{
    borrow::Cow,
    format,
    string::{String, ToString},
    vec::Vec,
};
#[cfg(feature = "remote")]
use bevy_ecs::world::World;
use bevy_ecs::{component::ComponentId, entity::Entity};
use bevy_reflect::{
    PartialReflect, TypeRegistry,
    serde::{ReflectSerializerProcessor, TypedReflectSerializer},
};
use bevy_relations_syntax::{ast::Path, path};
use core::any::TypeId;
use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeStruct},
};

/// Writes a [`Row`] with serde, for example as JSON.
///
/// In the book: [Expressions](crate::book::expressions).
///
/// | key | value |
/// |---|---|
/// | `this` | the entity that the row is about; left out if there is none |
/// | `vars` | a map of the variables; `null` for those without a value in the row |
/// | `fields` | a list of the fields, in the order of the terms |
///
/// and for each field
///
/// | key | value |
/// |---|---|
/// | `term` | the term, as [`field_text`](crate::expr::CompiledExpr::field_text) writes it |
/// | `is_set` | whether it was matched |
/// | `id` | what it was matched by: a component, a tag, a pair, or the list of `and|T` |
/// | `source` | the entity that it was matched on |
/// | `value` | the value of the component or of the pair, by reflection |
///
/// Each of the last three is left out if there is none. Fields marked `[out]` or `[none]` have no value, nor have
/// those of types that are not registered, or [`ReflectedData`](crate::relation::ReflectedData) with a dynamic value
/// that stands for no type.
///
/// Names are written as in expressions, so that they can be put into one: entities as paths, also inside of values,
/// components as type paths, as short ones where these are enough. What has no such name is written `#bits`: an entity
/// without a path, or one that is not found by it since another has the same, and a type that is not registered. Of
/// several entities with one path, the one that the path finds is written as the path; an expression that names it is
/// refused, and the error lists them.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_reflect::TypeRegistry;
/// # use bevy_relations::{expr::{PairExpr, RowSerializer}, prelude::*};
/// # let mut world = World::new();
/// # let docked_to = world.spawn_relation("DockedTo", RelationTraits::new()).unwrap();
/// # let [kite, earth] = ["Kite", "Earth"].map(|name| world.spawn(Name::new(name)).id());
/// # world.insert_pair_by_id(kite, (docked_to, earth)).unwrap();
/// # let types = TypeRegistry::new();
/// let mut expr = PairExpr::parse("(DockedTo, $where)")?.compile(&mut world)?;
/// let row = expr.first(&world)?.unwrap();
/// let json = serde_json::to_string(&RowSerializer::new(row, &types))?;
/// assert_eq!(
///     json,
///     r#"{"this":"Kite","vars":{"where":"Earth"},"fields":["#.to_owned()
///         + r#"{"term":"(DockedTo, $where)","is_set":true,"id":"(DockedTo, Earth)","source":"Kite"}]}"#
/// );
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
#[derive(Clone, Copy)]
pub struct RowSerializer<'a> {
    row: Row<'a>,
    types: &'a TypeRegistry,
    has_values: bool,
}

impl<'a> RowSerializer<'a> {
    /// Values are written by reflection, with the types that are registered here.
    pub fn new(row: Row<'a>, types: &'a TypeRegistry) -> Self {
        Self { row, types, has_values: true }
    }

    /// Leaves the values of fields out.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_reflect::TypeRegistry;
    /// # use bevy_relations::expr::{PairExpr, RowSerializer};
    /// # let mut world = World::new();
    /// # let burning = world.spawn(Name::new("Burning")).id();
    /// # let kite = world.spawn(Name::new("Kite")).id();
    /// # world.insert_tag(kite, burning)?;
    /// let mut expr = PairExpr::parse("Burning")?.compile(&mut world)?;
    /// let row = expr.first(&world)?.unwrap();
    /// let json = serde_json::to_string(&RowSerializer::new(row, &TypeRegistry::new()).without_values())?;
    /// assert!(json.starts_with(r#"{"this":"Kite""#) && !json.contains("value"));
    /// # Ok::<(), BevyError>(())
    /// ```
    #[must_use]
    pub fn without_values(self) -> Self {
        Self { has_values: false, ..self }
    }

    fn names(&self) -> WrittenNames<'a> {
        WrittenNames { access: self.row.access(), types: self.types }
    }
}

impl Serialize for RowSerializer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let this = self.row.this();
        let mut row = serializer.serialize_struct("Row", 2 + usize::from(this.is_some()))?;
        optional(&mut row, "this", this.map(|this| self.names().entity(this)))?;
        row.serialize_field("vars", &Vars(self))?;
        row.serialize_field("fields", &JsonFields(self))?;
        row.end()
    }
}

fn optional<S: SerializeStruct>(
    to: &mut S,
    key: &'static str,
    value: Option<impl Serialize>,
) -> Result<(), S::Error> {
    match value {
        Some(value) => to.serialize_field(key, &value),
        None => to.skip_field(key),
    }
}

struct Vars<'a>(&'a RowSerializer<'a>);

impl Serialize for Vars<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut vars = serializer.serialize_map(Some(self.0.row.vars().count()))?;
        for (name, value) in self.0.row.vars() {
            vars.serialize_entry(name, &value.map(|value| self.0.names().entity(value)))?;
        }
        vars.end()
    }
}

struct JsonFields<'a>(&'a RowSerializer<'a>);

impl Serialize for JsonFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.0.row.field_count()).map(|field| JsonField(self.0, field)))
    }
}

struct JsonField<'a>(&'a RowSerializer<'a>, usize);

impl Serialize for JsonField<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (RowSerializer { row, types, has_values }, field) = (self.0, self.1);
        let names = self.0.names();
        let id = row.id(field).map(|id| names.id(id));
        let source = row.source(field).map(|source| names.entity(source));
        let value = match row.field_access(field) {
            Some(FieldAccess::In | FieldAccess::InOut) | None if *has_values => {
                row.reflect_with(field, types).filter(|&value| is_serializable(types, value))
            }
            _ => None,
        };
        let value = value.map(|value| TypedReflectSerializer::with_processor(value, types, &names));
        let keys = [id.is_some(), source.is_some(), value.is_some()];
        let keys = 2 + keys.into_iter().filter(|&there| there).count();
        let mut written = serializer.serialize_struct("JsonField", keys)?;
        written.serialize_field("term", row.field_text(field))?;
        written.serialize_field("is_set", &row.is_set(field))?;
        optional(&mut written, "id", id)?;
        optional(&mut written, "source", source)?;
        optional(&mut written, "value", value)?;
        written.end()
    }
}

/// How expressions call things.
#[derive(Clone, Copy)]
pub(crate) struct WrittenNames<'a> {
    access: WorldAccess<'a>,
    types: &'a TypeRegistry,
}

impl<'a> WrittenNames<'a> {
    /// The names of a world.
    #[cfg(feature = "remote")]
    pub(crate) fn new(world: &'a World, types: &'a TypeRegistry) -> Self {
        Self { access: WorldAccess::World(world), types }
    }
}

impl WrittenNames<'_> {
    fn id(&self, id: FieldId) -> String {
        let slot = |slot| match slot {
            Slot::Entity(entity) => self.entity(entity),
            Slot::Wildcard => "*".to_string(),
            Slot::Any => "_".to_string(),
        };
        match id {
            FieldId::Component(component) => self.component(component),
            FieldId::Entity(entity) => self.entity(entity),
            FieldId::Pair(pair) => format!("({}, {})", slot(pair.relation()), slot(pair.target())),
        }
    }

    fn component(&self, component: ComponentId) -> String {
        let Some(info) = self.access.components().get_info(component) else { return String::new() };
        let entity = || self.access.store()?.registry().entity_of(info.type_id()?);
        let name = info.type_id().and_then(|type_id| self.type_name(type_id));
        name.or_else(|| entity().map(bits)).unwrap_or_else(|| info.name().to_string())
    }

    pub(crate) fn entity(&self, entity: Entity) -> String {
        let store = self.access.store();
        let type_id = store.and_then(|store| store.registry().type_of(entity));
        type_id
            .and_then(|type_id| self.type_name(type_id))
            .or_else(|| self.path(entity))
            .unwrap_or_else(|| bits(entity))
    }

    fn path(&self, entity: Entity) -> Option<String> {
        let path = self.access.path_of(entity)?;
        let is_found = self.access.lookup(None, &path) == Some(entity);
        let names = Path(path::steps(&path).map(Cow::into_owned).collect());
        let is_type = matches!(&names.0[..], [name] if !self.types_named(name).is_empty());
        // The language has no way to write a name that is empty.
        let is_written = names.0.iter().all(|name| !name.is_empty());
        (is_found && is_written && !is_type).then(|| names.to_string())
    }

    fn types_named(&self, name: &str) -> Vec<TypeId> {
        with_relation_types(reflected_types(self.types, name), self.access, name)
    }

    /// The short path of a type if that can mean nothing else, or the full one if it is registered.
    fn type_name(&self, type_id: TypeId) -> Option<String> {
        let registered = self.types.get(type_id).map(|registered| registered.type_info().type_path_table());
        let short = match registered {
            Some(paths) => paths.short_path().to_string(),
            None => {
                let registry = &self.access.store()?.registry();
                registry.entry(registry.of_type_id(type_id)?).name.as_ref()?.to_string()
            }
        };
        let is_only = self.types_named(&short) == [type_id] && self.access.lookup(None, &short).is_none();
        let name = if is_only { short } else { registered?.path().to_string() };
        Some(Path([name].into()).to_string())
    }
}

/// Entities inside of values.
impl ReflectSerializerProcessor for WrittenNames<'_> {
    fn try_serialize<S: Serializer>(
        &self,
        value: &dyn PartialReflect,
        _: &TypeRegistry,
        serializer: S,
    ) -> Result<Result<S::Ok, S>, S::Error> {
        match value.try_downcast_ref::<Entity>() {
            Some(&entity) => self.entity(entity).serialize(serializer).map(Ok),
            None => Ok(Err(serializer)),
        }
    }
}

/// An entity by its bits, as expressions write it.
pub(crate) fn bits(entity: Entity) -> String {
    format!("#{}", entity.to_bits())
}
