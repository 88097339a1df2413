//! The traits for Bevy's apps, worlds, entities and commands are for calling, not for implementing.

use bevy_app::App;
use bevy_ecs::{
    system::{Commands, EntityCommands},
    world::{EntityWorldMut, World},
};

pub trait Sealed {}

impl Sealed for App {}
impl Sealed for World {}
impl Sealed for EntityWorldMut<'_> {}
impl Sealed for Commands<'_, '_> {}
impl Sealed for EntityCommands<'_> {}
