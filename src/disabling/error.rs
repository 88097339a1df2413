//! Errors about disabling.

use crate::{
    ops::NotTraversableError,
    relation::{EntityName, RelationName, TraitsError},
};
use bevy_ecs::entity::Entity;
use thiserror::Error;

/// Why [`disable_below`](super::WorldDisablingExt::disable_below) or its counterpart was refused. Nothing has changed.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::{disabling::WorldDisablingExt, error::DisablingError};
/// # let mut world = World::new();
/// let room = world.spawn_empty().id();
/// let error = world.enable_below::<ChildOf>(room).unwrap_err();
/// assert!(matches!(error, DisablingError::NotDisabled { root, .. } if root.entity() == room));
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum DisablingError {
    /// The relation cannot be followed.
    #[error(transparent)]
    NotTraversable(#[from] NotTraversableError),
    /// The entity of the relation is not alive.
    #[error("the relation {relation} cannot be followed: it is not alive")]
    DeadRelation {
        /// The entity.
        relation: Entity,
    },
    /// The entity is not alive.
    #[error("nothing is below {root}: it is not alive")]
    Dead {
        /// The entity.
        root: Entity,
    },
    /// Each call of `disable_below` for the entity was undone already.
    #[error("what is below {root} along {relation} was not disabled, or was enabled already")]
    NotDisabled {
        /// The entity.
        root: EntityName,
        /// The relation.
        relation: RelationName,
    },
    /// Something, such as an observer, removed `Disabled` each time that it was inserted. The entity stays as it is
    /// until what it lies below changes. Goes to Bevy's error handler.
    #[error(
        "{entity} stays enabled, although it lies below what is disabled: its `Disabled` is removed whenever it is inserted"
    )]
    Undone {
        /// The entity.
        entity: EntityName,
    },
    /// The traits of the relation were rejected.
    #[error(transparent)]
    Traits(#[from] TraitsError),
}
