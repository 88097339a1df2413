//! Errors about instances.

use crate::{ops::InsertPairError, relation::EntityName};
use thiserror::Error;

/// Why [`instantiate`](super::WorldPrefabExt::instantiate) made no instance, or not all of it.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::error::InstantiateError;
/// # let mut world = World::new();
/// let ship = world.spawn_empty().id();
/// let error = world.instantiate(ship).unwrap_err();
/// assert!(matches!(error, InstantiateError::NotAPrefab { entity } if entity.entity() == ship));
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum InstantiateError {
    /// The prefab is not alive. Nothing has changed.
    #[error("cannot instantiate {prefab}: it is not alive")]
    Dead {
        /// The entity.
        prefab: EntityName,
    },
    /// The entity is not a prefab. Nothing has changed.
    #[error("cannot instantiate {entity}: it is not a prefab, insert `Prefab` to make it one")]
    NotAPrefab {
        /// The entity.
        entity: EntityName,
    },
    /// The pair of [`IsA`](crate::IsA) and the prefab was refused. Nothing has changed.
    #[error(transparent)]
    Refused(#[from] InsertPairError),
    /// A part of the prefab was despawned by an observer while it was being copied. The rest was copied.
    #[error("the instance {instance} of {prefab} is incomplete: {part} was despawned meanwhile")]
    Incomplete {
        /// The instance.
        instance: EntityName,
        /// Its prefab.
        prefab: EntityName,
        /// The part.
        part: EntityName,
    },
    /// A part of a prefab has a pair of [`SlotOf`](super::SlotOf) with an entity that it is no part of. Everything was
    /// copied, without the slot.
    #[error("{slot} is no slot of {owner}: no instance of that is above {copy}")]
    NoSlot {
        /// The part.
        slot: EntityName,
        /// Whose slot it was to be.
        owner: EntityName,
        /// The copy of the part.
        copy: EntityName,
    },
}
