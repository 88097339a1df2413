//! Types whose fields a world does not know yet.

use super::reflected::fields_of;
use crate::store::PairStore;
use alloc::{
    format,
    string::{String, ToString},
};
use bevy_ecs::{entity::Entity, reflect::AppTypeRegistry, world::World};
use core::any::TypeId;

/// An element of a pair that stands for a type with fields, and what the type is called. What the pair carries depends on these
/// fields, and they are not registered: the fields of a type are registered when the program uses the type.
///
/// `None` if it is known what the pair carries. An element that is not given stands for no type.
pub(crate) fn type_with_unknown_fields(
    world: &World,
    store: &PairStore,
    relation: Option<Entity>,
    [source, target]: [Option<Entity>; 2],
) -> Option<(Entity, String)> {
    let registry = store.registry();
    let entry = relation.and_then(|of| registry.of_entity(of)).map(|id| registry.entry(id));
    let is_known = match entry {
        Some(entry) => !entry.leaves_values(),
        None => relation.is_some_and(|of| store.column_of_type_entity(of).is_some()),
    };
    if is_known {
        return None;
    }
    let source = source.filter(|_| entry.is_some_and(|entry| entry.traits.is_symmetric()));
    [relation, target, source].into_iter().flatten().find_map(|element| {
        let type_id = registry.type_of(element)?;
        // What the program itself has used has a name; what a snapshot brings has no name, and a column.
        let is_used =
            registry.name_of(element).name.is_some() || store.column_of_type_entity(element).is_some();
        if is_used { None } else { Some((element, name_with_fields(world, type_id)?)) }
    })
}

/// What a type is called, if it has fields.
fn name_with_fields(world: &World, type_id: TypeId) -> Option<String> {
    let components = world.components();
    let component = components.get_id(type_id).and_then(|id| components.get_info(id));
    let size = component.map(|info| info.layout().size());
    let types = world.get_resource::<AppTypeRegistry>().map(|types| types.read());
    let info = types.as_ref().and_then(|types| types.get_type_info(type_id));
    let has_fields =
        size.map_or_else(|| info.is_some_and(|info| !fields_of(info).is_empty()), |size| size > 0);
    let path = info.map(|info| info.type_path_table().short_path().to_string());
    let name = path.or_else(|| component.map(|info| info.name().shortname().to_string()));
    has_fields.then(|| name.map_or_else(|| "this type".into(), |name| format!("`{name}`")))
}
