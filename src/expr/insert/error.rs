//! Why an expression was not inserted.

use super::terms::Refusal;
use crate::{ops::InsertPairError, relation::EntityName};
use alloc::{boxed::Box, string::ToString};
use bevy_ecs::{entity::Entity, world::World};
use bevy_relations_syntax::error::{Diagnostic, ExprError};
use thiserror::Error;

/// Why [`insert_expr`](super::WorldExprExt::insert_expr) refused an expression.
///
/// In the book: [Errors explained](crate::book::errors).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::expr::InsertExprError;
/// # let mut world = World::new();
/// # let ship = world.spawn_empty().id();
/// let error = world.insert_expr(ship, "(DockedTo, Earth)").unwrap_err();
/// assert!(matches!(error, InsertExprError::Expr(_)) && error.place().unwrap().column() == 2);
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum InsertExprError {
    /// The entity is not alive, or was despawned by an observer or hook of what was inserted on it.
    #[error("cannot insert an expression on {entity}: it is not alive")]
    Dead {
        /// The entity.
        entity: EntityName,
    },
    /// The text has a mistake, or this term of it cannot be inserted.
    #[error(transparent)]
    Expr(#[from] ExprError),
    /// A pair or tag is refused by the rules of its relation.
    #[error("{place}")]
    Pair {
        /// Where the term stands.
        place: ExprError,
        /// Why it is refused.
        error: Box<InsertPairError>,
    },
}

impl InsertExprError {
    pub(super) fn dead(world: &World, entity: Entity) -> Self {
        Self::Dead { entity: EntityName::new(world, entity) }
    }

    pub(super) fn new(world: &World, entity: Entity, text: &str, refusal: Refusal) -> Self {
        match refusal {
            Refusal::Text(fault) => Self::Expr(fault.in_text(text)),
            Refusal::Pair(span, error) => {
                let place = Diagnostic::rule(span, error.to_string()).in_text(text);
                Self::Pair { place, error: Box::new(error) }
            }
            Refusal::Despawned => Self::dead(world, entity),
        }
    }

    /// The position of the first term that cannot be inserted. `None` if the entity is the cause.
    pub fn place(&self) -> Option<&ExprError> {
        match self {
            Self::Expr(place) | Self::Pair { place, .. } => Some(place),
            Self::Dead { .. } => None,
        }
    }
}
