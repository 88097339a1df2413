//! Values of pairs, reflected.

use crate::relation::{ColumnRef, ReflectedData, reflected_value};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
};
use bevy_ecs::{
    entity::{Entity, EntityMapper},
    reflect::ReflectMapEntities,
};
use bevy_reflect::{
    PartialReflect, ReflectFromReflect, ReflectRef, TypeInfo, TypeRegistry, enums::VariantField,
};
use core::any::{Any, TypeId};

/// A copy of a value by reflection. `None` if its type is not registered.
pub(super) fn reflected(types: &TypeRegistry, value: &dyn Any) -> Option<Box<dyn PartialReflect>> {
    let value = reflected_value(types, value)?;
    if let Ok(copy) = value.reflect_clone() {
        return Some(copy.into_partial_reflect());
    }
    // A dynamic map panics if reflection has no hash of a key.
    let info = value.get_represented_type_info();
    let from_reflect = info.and_then(|info| types.get_type_data::<ReflectFromReflect>(info.type_id()));
    match from_reflect.and_then(|from_reflect| from_reflect.from_reflect(value)) {
        Some(copy) => Some(copy.into_partial_reflect()),
        None => value.to_dynamic().ok(),
    }
}

/// How many entities deep a value is searched: types that contain themselves have values of any depth.
const MAX_DEPTH: usize = 64;

/// Whether there are entities in a value, or it is too deep to be searched.
pub(super) fn has_entities(value: &dyn PartialReflect) -> bool {
    has_entities_below(value, MAX_DEPTH)
}

fn has_entities_below(value: &dyn PartialReflect, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    let has = |value: &dyn PartialReflect| has_entities_below(value, depth);
    match value.reflect_ref() {
        ReflectRef::Struct(value) => value.iter_fields().any(|(_, field)| has(field)),
        ReflectRef::TupleStruct(value) => value.iter_fields().any(has),
        ReflectRef::Tuple(value) => value.iter_fields().any(has),
        ReflectRef::List(value) => value.iter().any(has),
        ReflectRef::Array(value) => value.iter().any(has),
        ReflectRef::Map(value) => value.iter().any(|(key, value)| has(key) || has(value)),
        ReflectRef::Set(value) => value.iter().any(has),
        ReflectRef::Enum(value) => value.iter_fields().any(|field| match field {
            VariantField::Struct(_, field) | VariantField::Tuple(field) => has(field),
        }),
        _ => value.try_downcast_ref::<Entity>().is_some(),
    }
}

/// Whether the type of a value says how to replace the entities in it.
pub(super) fn is_mapped(types: &TypeRegistry, value: &dyn PartialReflect) -> bool {
    let type_id = value.get_represented_type_info().map(TypeInfo::type_id);
    type_id.is_some_and(|id| types.get_type_data::<ReflectMapEntities>(id).is_some())
}

/// Replaces the entities in a value, if its type says how.
pub(super) fn map(types: &TypeRegistry, value: &mut dyn PartialReflect, mapper: &mut dyn EntityMapper) {
    let type_id = value.get_represented_type_info().map(TypeInfo::type_id);
    if let Some(map) = type_id.and_then(|id| types.get_type_data::<ReflectMapEntities>(id)) {
        map.map_entities(value, mapper);
    }
}

/// The value of the type that a column holds.
///
/// # Errors
/// If it is another type, or lacks something.
pub(super) fn concrete(
    types: &TypeRegistry,
    column: ColumnRef,
    value: Box<dyn PartialReflect>,
    mapper: &mut dyn EntityMapper,
) -> Result<Box<dyn Any + Send + Sync>, String> {
    let found = value.reflect_type_path().to_string();
    let is_reflected = column.value_type() == TypeId::of::<ReflectedData>();
    if let Some(info) = value.get_represented_type_info()
        && info.type_id() != column.value_type()
        && !is_reflected
    {
        return Err(format!("the value must be a `{}`, not a `{}`", column.value_name(), info.type_path()));
    }
    let has_entities = has_entities(&*value);
    let info = value.get_represented_type_info();
    let from_reflect = info.and_then(|info| types.get_type_data::<ReflectFromReflect>(info.type_id()));
    let mut value = match (from_reflect, is_reflected) {
        (Some(from_reflect), _) => match from_reflect.from_reflect(&*value) {
            Some(value) => value.into_partial_reflect(),
            None => return Err(format!("the value is no complete `{found}`")),
        },
        (None, _) => value,
    };
    if has_entities {
        if from_reflect.is_none() || !is_mapped(types, &*value) {
            return Err(format!("`{found}` has entities in it, and lacks `#[reflect(MapEntities)]`"));
        }
        map(types, &mut *value, mapper);
    }
    if is_reflected {
        return Ok(Box::new(ReflectedData(value)));
    }
    let wrong = || format!("the value must be a `{}`, not a `{found}`", column.value_name());
    let value = value.try_into_reflect().map_err(|_| wrong())?;
    column.sendable(value.into_any()).ok_or_else(wrong)
}
