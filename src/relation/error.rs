//! Why traits were rejected.

use super::{EntityName, RelationName};
use alloc::{borrow::Cow, vec::Vec};
use bevy_ecs::entity::Entity;
use core::fmt;
use thiserror::Error;

/// Relations, each with the next one as its companion, in a [`TraitsError`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::error::TraitsError;
/// # let mut world = World::new();
/// let a = world.spawn_relation("A", RelationTraits::new())?;
/// let b = world.spawn_relation("B", RelationTraits::new().with_id(a))?;
/// let error = world.set_traits(a, RelationTraits::new().with_id(b)).unwrap_err();
/// let TraitsError::WithCycle { path, .. } = error else { panic!("{error}") };
/// assert!(path.entities().eq([a, b, a]) && path.relations()[1].entity() == b);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RelationPath(pub(crate) Vec<RelationName>);

impl RelationPath {
    /// The relations along the path.
    pub fn relations(&self) -> &[RelationName] {
        &self.0
    }

    /// Their entities.
    pub fn entities(&self) -> impl Iterator<Item = Entity> + use<'_> {
        self.0.iter().map(RelationName::entity)
    }
}

impl fmt::Display for RelationPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, relation) in self.0.iter().enumerate() {
            write!(f, "{}{relation}", if nth == 0 { "" } else { " -> " })?;
        }
        Ok(())
    }
}

/// Two declared traits that cannot both hold, in a [`TraitsError`].
///
/// ```
/// # use bevy_relations::{error::ParseTraitsError, prelude::*};
/// let Err(ParseTraitsError::Conflict(conflict)) = "symmetric, acyclic".parse::<RelationTraits>() else { panic!() };
/// assert_eq!((conflict.first, conflict.second), ("symmetric", "acyclic"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub struct TraitConflict {
    /// One of the two, as spelled in `#[relation(..)]`.
    pub first: &'static str,
    /// The other; the same if one trait was given two values.
    pub second: &'static str,
}

impl fmt::Display for TraitConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.second {
            write!(f, "`{}` is given two values", self.first)
        } else {
            write!(f, "`{}` contradicts `{}`", self.first, self.second)
        }
    }
}

/// Why traits were not accepted. Nothing has changed.
///
/// In the book: [Errors explained](crate::book::errors).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// use bevy_relations::error::TraitsError;
///
/// let mut world = World::new();
/// let traits = RelationTraits::new().symmetric().traversable();
/// let Err(TraitsError::Conflict { conflict, .. }) = world.spawn_relation("Odd", traits) else { panic!() };
/// assert_eq!(conflict.to_string(), "`symmetric` contradicts `traversable`");
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum TraitsError {
    /// Two traits contradict.
    #[error("traits of {relation} were rejected: {conflict}")]
    Conflict {
        /// The relation.
        relation: RelationName,
        /// The two.
        conflict: TraitConflict,
    },
    /// The relation has been used: its traits cannot change any more.
    #[error(
        "traits of {relation} cannot change: it has been used in a pair; set them, or register its type, before its first pair"
    )]
    Frozen {
        /// The relation.
        relation: RelationName,
    },
    /// A relation would be its own companion.
    #[error("traits of {relation} were rejected: `with` leads back to it over {path}")]
    WithCycle {
        /// The relation.
        relation: RelationName,
        /// From the relation through companions back to it.
        path: RelationPath,
    },
    /// An observer used a pair of the relation while the relation was being registered.
    #[error("{relation} is being registered: it cannot have pairs before its traits are known")]
    Unsettled {
        /// The relation.
        relation: RelationName,
    },
    /// A component was given companions when there were entities that had it.
    #[error("`with` of {component} cannot change: {source_entity} has the component")]
    ComponentInUse {
        /// The component.
        component: RelationName,
        /// An entity that has it.
        source_entity: EntityName,
    },
    /// A component is to be added along with another, and no default of it is known: name it by
    /// [`with_component`](crate::RelationTraits::with_component), or register it with `#[reflect(Component, Default)]`.
    #[error("traits of {component} were rejected: no default of {companion}, named in `with`, is known")]
    NoDefault {
        /// The component that has the traits.
        component: RelationName,
        /// The name of the component that is to be added.
        companion: Cow<'static, str>,
    },
    /// The key is a part of values that the pairs do not carry: a type of size zero is no value.
    #[error(
        "traits of {relation} were rejected: its keys are parts of values of type `{value}`, which its pairs do not carry; a \
         value that takes no memory, like a key of one variant alone, is not stored"
    )]
    KeyWithoutValue {
        /// The relation.
        relation: RelationName,
        /// The type of the values.
        value: &'static str,
    },
    /// Components were named as companions of an entity that does not stand for a registered component.
    #[error(
        "traits of {relation} were rejected: `with_component` is for components, and {relation} is not registered as one"
    )]
    NotAComponent {
        /// The relation.
        relation: RelationName,
    },
    /// `with` was given to the entity of a type of which it is not known whether it is a component.
    #[error(
        "traits of {relation} were rejected: `with` needs to know whether the type is a component or a relation; register it first"
    )]
    NotRegistered {
        /// The type.
        relation: RelationName,
    },
    /// A component that the ends of pairs must have, or must not have, is not registered in this world.
    #[error("traits of {relation} were rejected: {component} is not registered")]
    UnknownComponent {
        /// The relation.
        relation: RelationName,
        /// The component.
        component: Cow<'static, str>,
    },
    /// A component that is to be inserted where it is missing has no default that is known: name it by
    /// [`EndConstraint::with_default`](crate::relation::EndConstraint::with_default).
    #[error(
        "traits of {relation} were rejected: no default of {component} is known, for `on_missing = Insert`"
    )]
    NoDefaultToInsert {
        /// The relation.
        relation: RelationName,
        /// The component.
        component: Cow<'static, str>,
    },
    /// The entity is not alive.
    #[error("traits were given to {entity}, which is not alive")]
    Dead {
        /// The entity.
        entity: Entity,
    },
    /// An entity named in the traits is not alive.
    #[error("{entity}, named in the traits of {relation}, is not alive")]
    DeadReference {
        /// The relation.
        relation: RelationName,
        /// The entity named in its traits.
        entity: Entity,
    },
}
