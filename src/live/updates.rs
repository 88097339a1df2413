//! The rollups and propagated components of a world, and their updates.

use crate::ops;
use alloc::vec::Vec;
use bevy_ecs::{resource::Resource, world::World};
use core::any::TypeId;

/// Brings one of them up to date.
pub(super) type Update = fn(&mut World);

/// What is kept along relations, in the order in which it was added.
#[derive(Resource, Default)]
struct Updates {
    rollups: Vec<(TypeId, Update)>,
    propagated: Vec<(TypeId, Update)>,
    /// Systems were added that update them.
    starts: [bool; 2],
}

/// The kinds of things that are updated.
#[derive(Clone, Copy)]
pub(super) enum UpdateKind {
    Rollups,
    Propagated,
}

impl Updates {
    fn of(&mut self, kind: UpdateKind) -> &mut Vec<(TypeId, Update)> {
        match kind {
            UpdateKind::Rollups => &mut self.rollups,
            UpdateKind::Propagated => &mut self.propagated,
        }
    }
}

fn add(updates: &mut Vec<(TypeId, Update)>, key: TypeId, update: Update) {
    if updates.iter().all(|&(known, _)| known != key) {
        updates.push((key, update));
    }
}

/// Adds something to be updated, with the key `T`, unless that is there.
pub(super) fn register<T: 'static>(world: &mut World, kind: UpdateKind, update: Update) {
    add(world.get_resource_or_init::<Updates>().of(kind), TypeId::of::<T>(), update);
}

/// Brings everything of a kind up to date.
pub(super) fn update_all(world: &mut World, kind: UpdateKind) {
    let Some(mut updates) = world.get_resource_mut::<Updates>() else { return };
    let updates = updates.of(kind).clone();
    updates.into_iter().for_each(|(_, update)| update(world));
}

fn start(world: &mut World, kind: UpdateKind) -> bool {
    ops::ensure_store(world);
    !core::mem::replace(&mut world.get_resource_or_init::<Updates>().starts[kind as usize], true)
}

/// Whether the system that updates rollups is still to be added.
pub(crate) fn start_rollups(world: &mut World) -> bool {
    start(world, UpdateKind::Rollups)
}

/// Whether the system that updates propagated components is still to be added.
pub(crate) fn start_propagation(world: &mut World) -> bool {
    start(world, UpdateKind::Propagated)
}
