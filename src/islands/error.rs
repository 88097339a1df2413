//! Errors about islands.

use crate::relation::TraitsError;
use alloc::string::String;
use bevy_ecs::entity::Entity;
use thiserror::Error;

/// Why there are no [`Islands`](super::Islands) to read.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::error::IslandsError;
/// #[derive(Relation)]
/// struct WiredTo;
///
/// # let mut world = World::new();
/// let error = world.islands::<WiredTo>().unwrap_err();
/// assert!(matches!(error, IslandsError::NotTracked { relation } if relation == "WiredTo"));
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum IslandsError {
    /// The islands of the relation are not tracked.
    #[error(
        "the islands of {relation} are not tracked: call `track_islands` first, or `track_islands_by_id` for a run-time relation"
    )]
    NotTracked {
        /// The name of the relation.
        relation: String,
    },
    /// The relation is not alive.
    #[error("the islands of {relation} cannot be tracked: it is not alive")]
    Dead {
        /// The entity.
        relation: Entity,
    },
    /// The traits of the relation were rejected, or the entity names tags, which are no pairs.
    #[error(transparent)]
    Traits(#[from] TraitsError),
}
