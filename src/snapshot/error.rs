//! Why a snapshot was not taken or applied.

use crate::{
    ops::InsertPairError,
    relation::{EntityName, RelationName, TraitsError},
};
use bevy_ecs::entity::Entity;
use thiserror::Error;

/// Why a snapshot was not taken, or not applied. No pair has changed.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::snapshot::*;
/// # #[derive(Relation)] struct Likes;
/// # let mut world = World::new();
/// let snapshot = PairSnapshot::take(&mut world, PairFilter::all())?;
/// let error = snapshot.apply(&mut World::new()).unwrap_err();
/// assert!(matches!(error, SnapshotError::OtherWorld));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The filter names a relation that is declared `transient`.
    #[error("{relation} is declared `transient`: it is left out of snapshots")]
    Transient {
        /// The relation.
        relation: RelationName,
    },
    /// The filter names a relation by an entity that is dead.
    #[error("the filter of the snapshot names the relation {relation}, which is not alive")]
    DeadRelation {
        /// The entity.
        relation: Entity,
    },
    /// The value of a pair can be copied neither by `Clone` nor by reflection.
    #[error(
        "cannot take a snapshot of ({relation}, {target}) on {source_entity}: `{value}` is not `Clone`, nor registered with `#[reflect(Clone)]`"
    )]
    NotClone {
        /// The source of the pair.
        source_entity: EntityName,
        /// The relation.
        relation: RelationName,
        /// The target.
        target: EntityName,
        /// The type of the value.
        value: &'static str,
    },
    /// The snapshot was taken of another world, so that its entities mean nothing in this one:
    /// [`apply_mapped`](super::PairSnapshot::apply_mapped) says which they are here.
    #[error("the snapshot was taken of another world: say what its entities are in this one")]
    OtherWorld,
    /// A run-time relation is not there any more, or in another world no relation has its name.
    #[error("the relation {relation} of the snapshot is not in the world")]
    UnknownRelation {
        /// The relation, as it was.
        relation: RelationName,
    },
    /// Several relations of another world have the name of a run-time relation.
    #[error("several relations in the world are called {relation}")]
    AmbiguousRelation {
        /// The relation, as it was.
        relation: RelationName,
    },
    /// Two entities of the snapshot are mapped to one.
    #[error("{entity} cannot stand for both {first} and {second} of the snapshot")]
    SameEntity {
        /// An entity of the snapshot.
        first: Entity,
        /// Another one.
        second: Entity,
        /// The entity of the world.
        entity: EntityName,
    },
    /// A pair of the snapshot may not be inserted.
    #[error(transparent)]
    Refused(#[from] InsertPairError),
    /// A relation could not be registered.
    #[error(transparent)]
    Traits(#[from] TraitsError),
}
