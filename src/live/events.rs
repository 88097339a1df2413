//! Events of rows that enter and leave.

use super::monitor::{MovedRow, is_monitor, observe};
use crate::{
    expr::{ExprError, Expression},
    relation::short_name,
    sealed::Sealed,
};
use alloc::{boxed::Box, string::String};
use bevy_ecs::{
    entity::Entity,
    event::{EntityEvent, EntityTrigger, Event},
    resource::Resource,
    world::World,
};
use bevy_platform::collections::HashMap;
use core::{
    any::{TypeId, type_name},
    fmt,
    marker::PhantomData,
};
use thiserror::Error;

macro_rules! row_event {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<E> {
            /// The row: its variables.
            pub row: MovedRow,
            target: Entity,
            _expression: PhantomData<fn() -> E>,
        }

        impl<E: Expression> Event for $name<E> {
            type Trigger<'a> = EntityTrigger;
        }

        impl<E: Expression> EntityEvent for $name<E> {
            fn event_target(&self) -> Entity {
                self.target
            }
        }

        impl<E> fmt::Debug for $name<E> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("row", &self.row).finish_non_exhaustive()
            }
        }

        impl<E: Expression> $name<E> {
            fn trigger(world: &mut World, row: &MovedRow, monitor: Entity) {
                let target = row.this().unwrap_or(monitor);
                world.trigger(Self { row: row.clone(), target, _expression: PhantomData });
            }
        }
    };
}

row_event! {
    /// `On<RowEntered<E>>`: a row has entered the result of an expression, whatever the cause. It is triggered once
    /// [`add_row_events`](WorldRowEventExt::add_row_events) was called for the expression, in
    /// [`RelationsSystems::Monitors`](crate::RelationsSystems::Monitors) or by
    /// [`update_live`](crate::live::WorldMonitorExt::update_live).
    ///
    /// The target of the event is `$this`, so that an observer may watch one entity. For an expression without `$this`
    /// it is the monitor's entity.
    ///
    /// ```
    /// use bevy_app::prelude::*;
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::{live::*, prelude::*};
    ///
    /// #[derive(Component)]
    /// struct Fuel;
    /// #[derive(Component)]
    /// struct Adrift;
    /// #[derive(Relation)]
    /// struct DockedTo;
    ///
    /// #[derive(Expression)]
    /// #[expr("(DockedTo, $port), !Fuel, !Fuel($port)")]
    /// struct Stranded;
    ///
    /// let mut app = App::new();
    /// app.add_plugins(RelationsPlugin).register_relation::<DockedTo>();
    /// app.register_component_name::<Fuel>("Fuel");
    /// app.add_row_events::<Stranded>();
    /// app.add_observer(|on: On<RowEntered<Stranded>>, mut commands: Commands| {
    ///     commands.entity(on.row.this().unwrap()).insert(Adrift);
    /// });
    /// app.add_observer(|on: On<RowLeft<Stranded>>, mut commands: Commands| {
    ///     // It may have left because it died.
    ///     if let Ok(mut ship) = commands.get_entity(on.row.this().unwrap()) {
    ///         ship.remove::<Adrift>();
    ///     }
    /// });
    /// let port = app.world_mut().spawn(Fuel).id();
    /// let ship = app.world_mut().spawn(Pair(DockedTo, port)).id();
    /// app.world_mut().entity_mut(port).remove::<Fuel>();
    /// app.update();
    /// assert!(app.world().entity(ship).contains::<Adrift>());
    /// app.world_mut().entity_mut(port).insert(Fuel);
    /// app.update();
    /// assert!(!app.world().entity(ship).contains::<Adrift>());
    /// ```
    RowEntered
}

row_event! {
    /// `On<RowLeft<E>>`: a row has left the result of an expression, whatever the cause. Entities of the row may have
    /// been despawned: the event has their ids; observers of `$this` are then gone, too. See [`RowEntered`].
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::{live::*, prelude::*};
    ///
    /// #[derive(Relation)]
    /// struct DockedTo;
    ///
    /// #[derive(Expression)]
    /// #[expr("(DockedTo, $port)")]
    /// struct Docked;
    ///
    /// #[derive(Resource, Default)]
    /// struct Departed(Vec<(Option<Entity>, Option<Entity>)>);
    ///
    /// let mut world = World::new();
    /// world.init_resource::<Departed>();
    /// world.register_relation::<DockedTo>()?;
    /// world.add_row_events::<Docked>()?;
    /// world.add_observer(|on: On<RowLeft<Docked>>, mut departed: ResMut<Departed>| {
    ///     departed.0.push((on.row.this(), on.row.var("port")));
    /// });
    /// let port = world.spawn_empty().id();
    /// let ship = world.spawn(Pair(DockedTo, port)).id();
    /// world.update_live()?;
    /// world.remove_pairs::<DockedTo>(ship);
    /// world.update_live()?;
    /// assert_eq!(world.resource::<Departed>().0, [(Some(ship), Some(port))]);
    /// # Ok::<(), BevyError>(())
    /// ```
    RowLeft
}

/// Why there are no events of an expression's rows: see [`WorldRowEventExt`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::{expr::AnyExpression, live::{RowEventError, WorldRowEventExt}};
/// #[derive(Expression)]
/// #[expr("(DockedTo, Oslo)")]
/// struct InOslo;
///
/// # let mut world = World::new();
/// let error = world.add_row_events::<InOslo>().unwrap_err();
/// assert!(matches!(error, RowEventError::Expr { .. }), "nothing has these names");
/// let error = world.add_row_events::<AnyExpression>().unwrap_err();
/// assert!(matches!(error, RowEventError::NoExpression { .. }));
/// ```
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum RowEventError {
    /// The type has no expression of its own.
    #[error("`{name}` has no expression of its own")]
    NoExpression {
        /// The type.
        name: String,
    },
    /// It cannot be compiled for this world.
    #[error("`{name}`: {error}")]
    Expr {
        /// The type.
        name: String,
        /// Why.
        error: ExprError,
    },
}

/// The monitors that trigger events, by expression.
#[derive(Resource, Default)]
struct RowEvents(HashMap<TypeId, Entity>);

/// Triggering events for rows of an [`Expression`].
///
/// In the book: [Live queries](crate::book::live).
pub trait WorldRowEventExt: Sealed {
    /// Triggers [`RowEntered`] and [`RowLeft`] for rows of an expression from now on, and returns the entity of the
    /// monitor that does so: despawn it to stop. If the expression has such a monitor already, returns that one.
    ///
    /// Rows that are there already are not reported, unless
    /// [`yield_existing`](crate::live::WorldMonitorExt::yield_existing) asks for it.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{live::*, prelude::*};
    /// # #[derive(Component)]
    /// # struct Ship;
    /// # let mut world = World::new();
    /// # world.register_component_name::<Ship>("Ship");
    /// #[derive(Expression)]
    /// #[expr("Ship, !Ship(up ChildOf)")]
    /// struct Flagship;
    ///
    /// world.add_row_events::<Flagship>()?;
    /// world.add_observer(|on: On<RowEntered<Flagship>>, mut commands: Commands| {
    ///     commands.entity(on.event_target()).insert(Name::new("flagship"));
    /// });
    /// let ship = world.spawn(Ship).id();
    /// world.update_live()?;
    /// assert!(world.entity(ship).contains::<Name>());
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If the expression cannot be compiled, as when it names an entity that is not there yet, or is [`AnyExpression`](crate::expr::AnyExpression), for which there is
    /// [`observe_expr`](crate::live::WorldMonitorExt::observe_expr).
    fn add_row_events<E: Expression>(&mut self) -> Result<Entity, RowEventError>;
}

impl WorldRowEventExt for World {
    fn add_row_events<E: Expression>(&mut self) -> Result<Entity, RowEventError> {
        let known = self.get_resource::<RowEvents>().and_then(|known| known.0.get(&TypeId::of::<E>()));
        if let Some(&monitor) = known.filter(|&&monitor| is_monitor(self, monitor)) {
            return Ok(monitor);
        }
        let name = || short_name(type_name::<E>()).into_owned();
        let expr = E::expr().ok_or_else(|| RowEventError::NoExpression { name: name() })?;
        let (entered, left) = (Box::new(RowEntered::<E>::trigger), Box::new(RowLeft::<E>::trigger));
        let monitor = observe(self, &expr, entered, left)
            .map_err(|error| RowEventError::Expr { name: name(), error })?;
        self.get_resource_or_init::<RowEvents>().0.insert(TypeId::of::<E>(), monitor);
        Ok(monitor)
    }
}
