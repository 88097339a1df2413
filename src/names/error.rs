//! Why no entity was found.

use crate::relation::EntityName;
use alloc::{string::String, vec::Vec};
use bevy_ecs::entity::Entity;
use core::fmt;
use thiserror::Error;

/// Why [`lookup`](super::WorldNameExt::lookup) finds no entity at a path.
///
/// In the book: [Errors explained](crate::book::errors).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::names::LookupError;
/// # let mut world = World::new();
/// world.spawn(Name::new("Sol"));
/// let error = world.lookup("Sol.Vulcan").unwrap_err();
/// assert!(matches!(error, LookupError::Unknown { step, .. } if step == "Vulcan"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum LookupError {
    /// No entity has the name at this step of the path.
    #[error("nothing is named `{step}` {}", ParentName(parent.as_ref()))]
    Unknown {
        /// The step.
        step: String,
        /// The entity whose children were searched; `None` at the start of the path.
        parent: Option<EntityName>,
    },
    /// Several entities have the name; only for lookups of a unique entity.
    #[error("{} entities are named `{step}` {}", candidates.len(), ParentName(parent.as_ref()))]
    Ambiguous {
        /// The step.
        step: String,
        /// The entity whose children they are; `None` at the start of the path.
        parent: Option<EntityName>,
        /// All of them. Children are in the order of their parent, others sorted.
        candidates: Vec<Entity>,
    },
}

struct ParentName<'a>(Option<&'a EntityName>);

impl fmt::Display for ParentName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(parent) => write!(f, "among the children of {parent}"),
            None => f.write_str("among the entities without a parent"),
        }
    }
}
