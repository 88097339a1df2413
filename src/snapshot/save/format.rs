//! Versions of a program's saves, and former names of relations.

use super::saved::SavedPairs;
use alloc::{boxed::Box, string::String};
use bevy_ecs::{error::BevyError, resource::Resource, world::World};
use bevy_platform::{collections::HashMap, sync::Arc};

/// Brings a save of an older version to the present one.
pub(super) type Migrate = dyn Fn(&mut SavedPairs, u32) -> Result<(), BevyError> + Send + Sync;

/// How a world reads saves.
#[derive(Resource, Default, Clone)]
pub(super) struct SaveFormat {
    pub(super) version: u32,
    pub(super) migrate: Option<Arc<Box<Migrate>>>,
    /// Former names, with those of now.
    pub(super) aliases: HashMap<String, String>,
}

/// What a program says about its saves.
pub trait WorldSaveExt {
    /// Lets saves call a relation by a former name.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::snapshot::WorldSaveExt;
    /// # let mut world = World::new();
    /// // `Likes` used to be called `FriendOf`.
    /// world.add_relation_alias("FriendOf", "Likes");
    /// ```
    fn add_relation_alias(&mut self, former: impl Into<String>, now: impl Into<String>) -> &mut Self;

    /// Sets the version that saves get from now on, and how those of older versions are brought to it: a function that changes
    /// the save, and is told its version. It runs before anything is looked up in the world. The version is 0 until this is
    /// called.
    ///
    /// A value keeps the type path that it was saved with: for a type whose fields have changed, keep the old one registered
    /// under another name with `#[type_path = ".."]`, and convert.
    fn set_save_version(
        &mut self,
        version: u32,
        migrate: impl Fn(&mut SavedPairs, u32) -> Result<(), BevyError> + Send + Sync + 'static,
    ) -> &mut Self;
}

impl WorldSaveExt for World {
    fn add_relation_alias(&mut self, former: impl Into<String>, now: impl Into<String>) -> &mut Self {
        self.get_resource_or_init::<SaveFormat>().aliases.insert(former.into(), now.into());
        self
    }

    fn set_save_version(
        &mut self,
        version: u32,
        migrate: impl Fn(&mut SavedPairs, u32) -> Result<(), BevyError> + Send + Sync + 'static,
    ) -> &mut Self {
        let mut format = self.get_resource_or_init::<SaveFormat>();
        format.version = version;
        format.migrate = Some(Arc::new(Box::new(migrate)));
        self
    }
}
