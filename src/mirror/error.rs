//! Errors of components that cannot be applied.

use crate::{
    ops::InsertPairError,
    relation::{EntityName, TraitsError},
};
use alloc::{boxed::Box, string::String};
use thiserror::Error;

/// Why the pairs of an entity differ from a [`MirroredPairs`](super::MirroredPairs) that was inserted. Reported to Bevy's
/// error handler.
///
/// ```
/// # use bevy_ecs::{error::{BevyError, ErrorContext, FallbackErrorHandler}, prelude::*};
/// # use bevy_reflect::Reflect;
/// # use bevy_relations::{error::MirrorError, mirror::*, prelude::*};
/// #[derive(Relation, Reflect, Clone)]
/// #[relation(acyclic)]
/// struct PartOf;
///
/// fn report(error: BevyError, _: ErrorContext) {
///     assert!(matches!(error.downcast_ref(), Some(MirrorError::Refused { .. })), "{error}");
/// }
/// # let mut world = World::new();
/// # let hull = world.spawn_empty().id();
/// world.insert_resource(FallbackErrorHandler(report));
/// world.mirror_pairs::<PartOf>()?;
/// world.entity_mut(hull).insert(MirroredPairs::from_iter([(PartOf, hull)]));
/// assert!(world.pairs::<PartOf>().is_empty());
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// A rule refuses one of the pairs. The pairs of the entity have stayed as they were, and so has the component.
    #[error("the mirrored pairs of {source_entity} were not changed: {error}")]
    Refused {
        /// The entity that has the component.
        source_entity: EntityName,
        /// The rule.
        error: Box<InsertPairError>,
    },
    /// A target is not alive. The pair was left out.
    #[error("a mirrored pair of {source_entity} was left out: {error}")]
    LeftOut {
        /// The entity that has the component.
        source_entity: EntityName,
        /// The pair.
        error: Box<InsertPairError>,
    },
    /// A target is listed twice. The last pair with it counts.
    #[error("the mirrored pairs of {source_entity} name {target} twice: the last counts")]
    Twice {
        /// The entity that has the component.
        source_entity: EntityName,
        /// The target.
        target: EntityName,
    },
    /// A target is a type that is not registered. The pair was left out.
    #[error(
        "a mirrored pair of {source_entity} was left out: its target, the type `{path}`, is not in the type registry"
    )]
    UnknownType {
        /// The entity that has the component.
        source_entity: EntityName,
        /// The path of the type.
        path: String,
    },
    /// The value of a pair whose target is a type cannot be stored: it is not of that type, or the world has no
    /// values of the type yet. The pair was left out.
    #[error(
        "a mirrored pair of {source_entity} was left out: its value is no `{path}`, or no such values are registered in the world yet: call `entity_of` for the type first"
    )]
    WrongValue {
        /// The entity that has the component.
        source_entity: EntityName,
        /// The path of the type.
        path: String,
    },
    /// A run-time relation is neither alive nor found by its name. The pair was left out.
    #[error("a mirrored pair of {source_entity} was left out: there is no run-time relation {name}")]
    UnknownRelation {
        /// The entity that has the component.
        source_entity: EntityName,
        /// The name of the relation, or its entity.
        name: String,
    },
    /// The entity of a run-time relation is not alive, and several have its name. The pair was left out.
    #[error(
        "a mirrored pair of {source_entity} was left out: there are several run-time relations of the name {name}"
    )]
    AmbiguousRelation {
        /// The entity that has the component.
        source_entity: EntityName,
        /// The name.
        name: String,
    },
    /// The relation could not be registered.
    #[error(transparent)]
    Traits(#[from] TraitsError),
}
