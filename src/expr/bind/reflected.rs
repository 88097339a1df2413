//! Fields of reflected types.

use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};
use bevy_ecs::entity::Entity;
use bevy_reflect::{NamedField, TypeInfo, UnnamedField, enums::VariantInfo};
use core::any::TypeId;

/// What is at a path of fields.
pub(super) enum FieldLookup {
    Entity,
    /// Something else: one field at least.
    Other(Vec<Field>),
    Missing(MissingField),
}

/// The field with this number in the path does not exist; what stands before it has these.
pub(super) struct MissingField {
    pub(super) at: usize,
    pub(super) known: Vec<String>,
}

/// A field with the name by which paths know it.
pub(in crate::expr) struct Field {
    name: String,
    pub(super) is_entity: bool,
    pub(in crate::expr) type_id: TypeId,
    pub(in crate::expr) type_name: &'static str,
    pub(in crate::expr) info: Option<&'static TypeInfo>,
}

impl Field {
    pub(in crate::expr) fn name(&self) -> &str {
        &self.name
    }

    fn named(field: &'static NamedField) -> Self {
        Self {
            name: field.name().to_string(),
            is_entity: field.is::<Entity>() || field.is::<Option<Entity>>(),
            type_id: field.type_id(),
            type_name: field.type_path_table().short_path(),
            info: field.type_info(),
        }
    }

    fn unnamed(field: &'static UnnamedField) -> Self {
        Self {
            name: field.index().to_string(),
            is_entity: field.is::<Entity>() || field.is::<Option<Entity>>(),
            type_id: field.type_id(),
            type_name: field.type_path_table().short_path(),
            info: field.type_info(),
        }
    }
}

/// The fields of a type; those of all variants of an enum.
pub(in crate::expr) fn fields_of(info: &'static TypeInfo) -> Vec<Field> {
    match info {
        TypeInfo::Struct(info) => info.iter().map(Field::named).collect(),
        TypeInfo::TupleStruct(info) => info.iter().map(Field::unnamed).collect(),
        TypeInfo::Tuple(info) => info.iter().map(Field::unnamed).collect(),
        TypeInfo::Enum(info) => info
            .iter()
            .flat_map(|variant| match variant {
                VariantInfo::Struct(variant) => variant.iter().map(Field::named).collect(),
                VariantInfo::Tuple(variant) => variant.iter().map(Field::unnamed).collect(),
                VariantInfo::Unit(_) => Vec::new(),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Follows a path, on several ways if variants of an enum name a field alike. Returns one field at least.
pub(super) fn fields_at(info: &'static TypeInfo, path: &[String]) -> Result<Vec<Field>, MissingField> {
    let mut infos = vec![info];
    let mut found: Vec<Field> = Vec::new();
    for (at, name) in path.iter().enumerate() {
        let all: Vec<Field> = infos.iter().flat_map(|info| fields_of(info)).collect();
        if !all.iter().any(|field| field.name == *name) {
            let mut known: Vec<String> = Vec::new();
            for field in all {
                if !known.contains(&field.name) {
                    known.push(field.name);
                }
            }
            return Err(MissingField { at, known });
        }
        found = all.into_iter().filter(|field| field.name == *name).collect();
        infos = found.iter().filter_map(|field| field.info).collect();
    }
    if found.is_empty() { Err(MissingField { at: 0, known: Vec::new() }) } else { Ok(found) }
}

/// What is at a path.
pub(super) fn look(info: &'static TypeInfo, path: &[String]) -> FieldLookup {
    match fields_at(info, path) {
        Err(missing) => FieldLookup::Missing(missing),
        Ok(found) if found.iter().any(|field| field.is_entity) => FieldLookup::Entity,
        Ok(found) => FieldLookup::Other(found),
    }
}
