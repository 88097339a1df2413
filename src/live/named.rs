//! Live expressions on entities, to be found by their names.

use super::expr::LiveExpr;
use crate::{
    expr::ExprRunError,
    names::{LookupError, WorldNameExt},
    relation::EntityName,
    sealed::Sealed,
};
use alloc::boxed::Box;
use bevy_ecs::{component::Component, entity::Entity, world::World};
use core::fmt;
use thiserror::Error;

/// A live expression that belongs to an entity: it is found by the entity's name, and dropped with the entity.
///
/// In the book: [Live queries](crate::book::live).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{expr::PairExpr, live::{NamedExpr, WorldNamedExprExt}, prelude::*};
/// # #[derive(Relation)]
/// # struct DockedTo;
/// # let mut world = World::new();
/// # world.register_relation::<DockedTo>()?;
/// let docked = PairExpr::parse("(DockedTo, $port)")?.live(&mut world)?;
/// let queries = world.spawn(Name::new("queries")).id();
/// world.spawn((Name::new("docked"), ChildOf(queries), NamedExpr::from(docked)));
///
/// let port = world.spawn_empty().id();
/// world.spawn(Pair(DockedTo, port));
/// let docked = world.update_named_expr("queries.docked")?;
/// assert_eq!(world.get::<NamedExpr>(docked).and_then(NamedExpr::get).map(|docked| docked.len()), Some(1));
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
#[derive(Component)]
pub struct NamedExpr {
    /// `None` while it is updated.
    live: Option<Box<LiveExpr>>,
}

impl From<LiveExpr> for NamedExpr {
    fn from(live: LiveExpr) -> Self {
        Self { live: Some(Box::new(live)) }
    }
}

impl NamedExpr {
    /// The expression. `None` while it is [updated](WorldNamedExprExt::update_expr_of), and if users' code panicked then.
    pub fn get(&self) -> Option<&LiveExpr> {
        self.live.as_deref()
    }

    /// [`get`](Self::get), to be changed: to group or sort rows, or to set a limit.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, live::{NamedExpr, WorldNamedExprExt}};
    /// # #[derive(Relation)]
    /// # struct DockedTo;
    /// # let mut world = World::new();
    /// # world.register_relation::<DockedTo>()?;
    /// let docked = PairExpr::parse("(DockedTo, *)")?.live(&mut world)?;
    /// let entity = world.spawn(NamedExpr::from(docked)).id();
    /// world.get_mut::<NamedExpr>(entity).unwrap().get_mut().unwrap().group_by::<DockedTo>()?;
    /// let port = world.spawn_empty().id();
    /// world.spawn(Pair(DockedTo, port));
    /// world.update_expr_of(entity)?;
    /// let docked = world.get::<NamedExpr>(entity).unwrap().get().unwrap();
    /// assert_eq!(docked.group(&world, port.to_bits())?.len(), 1);
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn get_mut(&mut self) -> Option<&mut LiveExpr> {
        self.live.as_deref_mut()
    }
}

impl fmt::Debug for NamedExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NamedExpr").field(&self.live).finish()
    }
}

/// Why [`update_expr_of`](WorldNamedExprExt::update_expr_of) did not update the expression of an entity.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::live::{NamedExprError, WorldNamedExprExt};
/// # let mut world = World::new();
/// let ship = world.spawn_empty().id();
/// assert!(matches!(world.update_expr_of(ship), Err(NamedExprError::NoExpr { .. })));
/// assert!(matches!(world.update_named_expr("queries.docked"), Err(NamedExprError::Lookup(_))));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum NamedExprError {
    /// The entity is not alive.
    #[error("{entity} is not alive")]
    Dead {
        /// The entity.
        entity: Entity,
    },
    /// The entity has no [`NamedExpr`].
    #[error("{entity} has no `NamedExpr`")]
    NoExpr {
        /// The entity.
        entity: EntityName,
    },
    /// The expression is being updated, by what called this; or users' code panicked while it was.
    #[error("the expression of {entity} is being updated")]
    Updating {
        /// The entity.
        entity: EntityName,
    },
    /// It could not be run. It has no rows now.
    #[error("the expression of {entity} could not be run: {error}")]
    Run {
        /// The entity.
        entity: EntityName,
        /// Why.
        error: ExprRunError,
    },
    /// There is no entity of this name.
    #[error(transparent)]
    Lookup(#[from] LookupError),
}

/// Updating live expressions on entities.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{
///     expr::PairExpr,
///     live::{NamedExpr, WorldNamedExprExt},
///     prelude::*,
/// };
///
/// #[derive(Relation)]
/// struct DockedTo;
///
/// let mut world = World::new();
/// world.register_relation::<DockedTo>()?;
/// let docked = PairExpr::parse("(DockedTo, $port)")?.live(&mut world)?;
/// world.spawn((Name::new("docked"), NamedExpr::from(docked)));
///
/// let port = world.spawn_empty().id();
/// let ship = world.spawn(Pair(DockedTo, port)).id();
/// let entity = world.update_named_expr("docked")?;
/// assert!(world.get::<NamedExpr>(entity).unwrap().get().unwrap().contains(ship));
/// # Ok::<(), BevyError>(())
/// ```
pub trait WorldNamedExprExt: Sealed {
    /// [Updates](LiveExpr::update) the expression of the entity with this path, and returns the entity.
    ///
    /// # Errors
    /// If no entity or several have the path, and as for [`update_expr_of`](Self::update_expr_of).
    fn update_named_expr(&mut self, path: &str) -> Result<Entity, NamedExprError>;

    /// [Updates](LiveExpr::update) the expression of an entity.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, live::{NamedExpr, WorldNamedExprExt}, prelude::*};
    /// # #[derive(Relation)]
    /// # struct DockedTo;
    /// # let mut world = World::new();
    /// # world.register_relation::<DockedTo>()?;
    /// let docked = PairExpr::parse("(DockedTo, $port)")?.live(&mut world)?;
    /// let entity = world.spawn(NamedExpr::from(docked)).id();
    /// let port = world.spawn_empty().id();
    /// world.spawn(Pair(DockedTo, port));
    /// world.update_expr_of(entity)?;
    /// assert_eq!(world.get::<NamedExpr>(entity).unwrap().get().unwrap().len(), 1);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If the entity is not alive or has no expression, if that is being updated, or if it cannot be run.
    fn update_expr_of(&mut self, entity: Entity) -> Result<(), NamedExprError>;
}

impl WorldNamedExprExt for World {
    fn update_named_expr(&mut self, path: &str) -> Result<Entity, NamedExprError> {
        let entity = self.lookup_unique(path)?;
        self.update_expr_of(entity)?;
        Ok(entity)
    }

    fn update_expr_of(&mut self, entity: Entity) -> Result<(), NamedExprError> {
        let Ok(mut found) = self.get_entity_mut(entity) else { return Err(NamedExprError::Dead { entity }) };
        let Some(mut named) = found.get_mut::<NamedExpr>() else {
            return Err(NamedExprError::NoExpr { entity: EntityName::new(self, entity) });
        };
        let Some(mut live) = named.live.take() else {
            return Err(NamedExprError::Updating { entity: EntityName::new(self, entity) });
        };
        let updated = live.update(self);
        // Users' code may have removed or replaced it.
        if let Some(mut named) = self.get_mut::<NamedExpr>(entity)
            && named.live.is_none()
        {
            named.live = Some(live);
        }
        updated.map_err(|error| NamedExprError::Run { entity: EntityName::new(self, entity), error })
    }
}
