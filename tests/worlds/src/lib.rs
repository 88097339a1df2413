//! Pairs in Bevy's own scene files: entities written to RON with [`DynamicWorld`], and read back. The tests are in `tests/files`.
//!
//! It is a package of its own, since `bevy_world_serialization` brings Bevy's assets and cameras along, which the library must not
//! depend on.

use bevy_asset::{AssetPath, LoadFromPath, UntypedHandle};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::TypeRegistry;
use bevy_world_serialization::{DynamicWorld, DynamicWorldBuilder, serde::WorldDeserializer};
use core::any::TypeId;
use ron::error::{Error, SpannedResult};
use serde::de::DeserializeSeed;

/// Writes entities, with all of their components that reflection knows, as the text of a scene file.
///
/// # Errors
/// If a component cannot be written.
pub fn write(world: &World, entities: impl IntoIterator<Item = Entity>) -> Result<String, Error> {
    let types = world.resource::<AppTypeRegistry>().read();
    let scene = DynamicWorldBuilder::from_world(world, &types).extract_entities(entities.into_iter()).build();
    scene.serialize(&types)
}

/// Reads the text of a scene file. [`DynamicWorld::write_to_world`] makes entities from that.
///
/// # Errors
/// If it is no scene file, or one with types that are not registered.
pub fn read(types: &TypeRegistry, text: &str) -> SpannedResult<DynamicWorld> {
    let mut file = ron::Deserializer::from_str(text)?;
    let scene = WorldDeserializer { type_registry: types, load_from_path: &mut NoAssets }
        .deserialize(&mut file)
        .map_err(|error| file.span_error(error))?;
    file.end().map_err(|error| file.span_error(error))?;
    Ok(scene)
}

/// Files without assets load none.
struct NoAssets;

impl LoadFromPath for NoAssets {
    fn load_from_path_erased(&mut self, type_id: TypeId, _: AssetPath<'static>) -> UntypedHandle {
        UntypedHandle::default_for_type(type_id)
    }
}
