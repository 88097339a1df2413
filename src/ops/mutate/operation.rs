//! Operations of several steps.

use crate::{
    fetch,
    ops::register::participant::{Participant, ParticipantLifecycle},
};
use bevy_ecs::world::{DeferredWorld, World};

/// An operation of several steps. A target that loses its last source in one of them and gets another in a later one is
/// not despawned.
pub(crate) struct Operation<'w> {
    world: &'w mut World,
    is_done: bool,
}

impl<'w> Operation<'w> {
    pub(crate) fn begin(world: &'w mut World) -> Self {
        if let Some(store) = fetch::store_mut(world) {
            store.defer_orphans();
        }
        Self { world, is_done: false }
    }

    #[inline]
    pub(crate) fn world(&mut self) -> &mut World {
        self.world
    }

    /// Despawns the targets that have lost their last source.
    pub(crate) fn finish(mut self) {
        self.is_done = true;
        despawn_orphans(self.world);
    }
}

/// If an observer of a step has panicked, the targets are despawned with the next commands.
impl Drop for Operation<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            queue_despawn_of_orphans(&mut DeferredWorld::from(&mut *self.world));
        }
    }
}

/// A part of a scene is being applied: a target that loses its last source may get another, or components, from what comes later.
/// It is looked at with the next maintenance.
#[cfg(feature = "bevy_reflect")]
pub(crate) struct ScenePart<'w> {
    world: &'w mut World,
    noted: usize,
}

#[cfg(feature = "bevy_reflect")]
impl<'w> ScenePart<'w> {
    pub(crate) fn begin(world: &'w mut World) -> Self {
        let noted = fetch::store_mut(world).map_or(0, |store| {
            store.defer_orphans();
            store.noted_orphans()
        });
        Self { world, noted }
    }

    pub(crate) fn world(&mut self) -> &mut World {
        self.world
    }
}

#[cfg(feature = "bevy_reflect")]
impl Drop for ScenePart<'_> {
    fn drop(&mut self) {
        if let Some(store) = fetch::store_mut(self.world) {
            store.postpone_orphans(self.noted);
            store.release_orphans();
        }
    }
}

/// Ends what kept targets without a source, and despawns those that have none still, unless another operation goes on.
pub(in crate::ops) fn despawn_orphans(world: &mut World) {
    if let Some(store) = fetch::store_mut(world) {
        store.release_orphans();
    }
    Participant::despawn_orphans(world);
}

/// [`despawn_orphans`] when the commands that were queued before are done.
pub(in crate::ops) fn queue_despawn_of_orphans(world: &mut DeferredWorld<'_>) {
    world.commands().queue(despawn_orphans);
}
