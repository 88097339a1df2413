//! Commands that name the place where they were queued.

use crate::ops::{EndCheck, to_bevy};
use alloc::string::ToString;
use bevy_ecs::{
    entity::Entity,
    error::{ContextExt, Result},
    system::{Commands, EntityCommands},
    world::World,
};
use core::panic::Location;

/// Queues a removal. Unlike on the world it is an error if the entity is gone when the command is applied.
#[inline]
#[track_caller]
pub(super) fn queue_removal<'a, 'w>(
    entity: &'a mut EntityCommands<'w>,
    removal: impl FnOnce(&mut World, Entity) + Send + 'static,
) -> &'a mut EntityCommands<'w> {
    let source = entity.id();
    queue(entity, move |world| {
        world.entities().get_spawned(source).map_err(to_bevy)?;
        removal(world, source);
        Ok(())
    })
}

/// Queues a command of an entity. It finds the entity itself: looking it up beforehand, as
/// [`EntityCommands::queue`] does, would cost more than the pair.
#[inline]
#[track_caller]
pub(super) fn queue<'a, 'w>(
    entity: &'a mut EntityCommands<'w>,
    command: impl FnOnce(&mut World) -> Result + Send + 'static,
) -> &'a mut EntityCommands<'w> {
    queue_at(entity.commands_mut(), Location::caller(), command);
    entity
}

/// Queues an insertion. The ends of its pairs are looked at when the commands are done that follow it.
#[inline]
#[track_caller]
pub(super) fn queue_insertion<'a, 'w>(
    entity: &'a mut EntityCommands<'w>,
    command: impl FnOnce(&mut World, EndCheck<'static>) -> Result + Send + 'static,
) -> &'a mut EntityCommands<'w> {
    let place = Location::caller();
    let commands = entity.commands_mut();
    commands.queue(move |world: &mut World| {
        command(world, EndCheck::Later(Some(place))).with_context(|| place.to_string())
    });
    entity
}

/// Queues a command whose error names the caller's location.
#[inline]
pub(super) fn queue_at(
    commands: &mut Commands<'_, '_>,
    place: &'static Location<'static>,
    command: impl FnOnce(&mut World) -> Result + Send + 'static,
) {
    commands.queue(move |world: &mut World| command(world).with_context(|| place.to_string()));
}
