//! What islands are called.

use core::fmt;

/// The id of an island of [`Islands`](super::Islands), among those of its relation. Ids are in the order in which the islands were
/// created.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{islands::IslandId, prelude::*};
///
/// #[derive(Relation)]
/// struct WiredTo;
///
/// let mut world = World::new();
/// world.track_islands::<WiredTo>()?;
/// let [plant, lamp, mill, pump] = [(); 4].map(|()| world.spawn_empty().id());
/// world.insert_pair(lamp, WiredTo, plant)?;
/// world.insert_pair(pump, WiredTo, mill)?;
///
/// let grids = world.islands::<WiredTo>()?;
/// let [first, second]: [Option<IslandId>; 2] = [plant, mill].map(|device| grids.island(device));
/// assert!(first < second);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IslandId(pub(super) u64);

impl fmt::Display for IslandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "island {}", self.0)
    }
}
