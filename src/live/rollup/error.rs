//! Why something cannot be rolled up.

use crate::relation::{RelationName, TraitsError};
use thiserror::Error;

/// Why no [`Rollup`](super::Rollup) can be kept along a relation.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::{error::RollupError, live::{Count, WorldRollupExt}};
/// #[derive(Relation)]
/// struct Likes;
///
/// # let mut world = World::new();
/// let error = world.add_rollup::<Likes, Name, Count>().unwrap_err();
/// assert!(matches!(error, RollupError::NotAcyclic { .. }));
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum RollupError {
    /// The relation is not acyclic: an entity could lie below itself.
    #[error(
        "nothing can be rolled up along {relation}, which is not acyclic: declare it `acyclic` or `traversable`"
    )]
    NotAcyclic {
        /// The relation.
        relation: RelationName,
    },
    /// The traits of the relation are rejected.
    #[error(transparent)]
    Traits(#[from] TraitsError),
}
