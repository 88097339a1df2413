//! Entities that are to be despawned because of one that was.

use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, resource::Resource, world::World};

/// The despawns that are still to come. `ops/lifecycle/cleanup.rs` drains it.
#[derive(Resource, Default)]
pub(crate) struct Cascade {
    pub(in crate::ops) pending: Vec<Entity>,
    /// `pending` is being drained. While it only will be, by a queued command, that may be lost: see
    /// [`is_due`](Self::is_due).
    pub(in crate::ops) running: bool,
}

impl Cascade {
    /// Entities wait to be despawned. When no command is queued, one that was has been lost: Bevy reports a command
    /// that panics, and drops what it had queued.
    #[inline]
    pub(in crate::ops) fn is_due(&self) -> bool {
        !self.running && !self.pending.is_empty()
    }

    /// Whether entities are being despawned because of one that was.
    pub(in crate::ops) fn is_running(world: &World) -> bool {
        world.get_resource::<Self>().is_some_and(|cascade| cascade.running)
    }
}
