//! Monitors: functions that are called for rows that enter and leave.

use super::LiveExpr;
use crate::{
    expr::{ExprError, ExprRunError, PairExpr, Row},
    ops::InternalEntity,
    sealed::Sealed,
};
use alloc::{
    boxed::Box,
    collections::VecDeque,
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{component::Component, entity::Entity, resource::Resource, world::World};
use bevy_platform::sync::Arc;
use core::{fmt, mem};
use thiserror::Error;

/// Monitors may change what they watch this many times in a row.
const MAX_ROUNDS: usize = 64;

/// A row that has entered or left.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::live::MovedRow;
/// #[derive(Relation)]
/// struct DockedTo;
/// #[derive(Resource, Default)]
/// struct Log(Vec<(Option<Entity>, Option<Entity>)>);
///
/// # let mut world = World::new();
/// # world.init_resource::<Log>();
/// # world.register_relation::<DockedTo>()?;
/// # let [ship, port] = [(); 2].map(|()| world.spawn_empty().id());
/// let note = |world: &mut World, row: &MovedRow| {
///     world.resource_mut::<Log>().0.push((row.this(), row.var("port")));
/// };
/// world.observe_expr(&PairExpr::parse("(DockedTo, $port)")?, note, |_, _| {})?;
/// world.insert_pair(ship, DockedTo, port)?;
/// world.update_live()?;
/// assert_eq!(world.resource::<Log>().0, [(Some(ship), Some(port))]);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MovedRow {
    this: Option<Entity>,
    names: Arc<[Box<str>]>,
    values: Vec<Option<Entity>>,
}

impl MovedRow {
    fn new(names: &Arc<[Box<str>]>, row: Row<'_>) -> Self {
        let values = row.vars().map(|(_, value)| value).collect();
        Self { this: row.this(), names: names.clone(), values }
    }

    /// The entity that the row is about. `None` if the expression is about none. It may have been despawned if the row
    /// has left.
    pub fn this(&self) -> Option<Entity> {
        self.this
    }

    /// The value of a variable, which may have been despawned if the row has left. `None` if there is no such variable,
    /// or if it has no value in the row.
    pub fn var(&self, name: &str) -> Option<Entity> {
        if name == "this" {
            return self.this;
        }
        let at = self.names.iter().position(|known| **known == *name)?;
        *self.values.get(at)?
    }
}

/// Why rows were not reported to all monitors: see [`observe_expr`](WorldMonitorExt::observe_expr).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::live::MonitorError;
/// # let mut world = World::new();
/// let ship = world.spawn_empty().id();
/// assert!(matches!(world.yield_existing(ship), Err(MonitorError::NoMonitor { .. })));
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MonitorError {
    /// Monitors keep changing what they observe.
    #[error("after {MAX_ROUNDS} rounds, rows still enter or leave because of what monitors do: {}", expressions.join("; "))]
    Unsettled {
        /// The expressions whose rows still moved.
        expressions: Vec<String>,
    },
    /// An expression could not be run. It has no rows now; the others were updated.
    #[error("`{expression}` could not be run: {error}")]
    Run {
        /// The expression.
        expression: String,
        /// Why.
        error: ExprRunError,
    },
    /// There is no such monitor, or it has ended.
    #[error("{entity} is no monitor")]
    NoMonitor {
        /// The entity.
        entity: Entity,
    },
}

/// Called with the row and the entity of the monitor.
type Callback = Box<dyn FnMut(&mut World, &MovedRow, Entity) + Send + Sync>;

/// Makes an entity a monitor: once it is removed, no more rows are reported.
#[derive(Component, Default)]
#[require(InternalEntity)]
struct MonitorEntity {
    /// The next update reports all rows to it.
    yields_existing: bool,
}

struct Monitor {
    entity: Entity,
    text: String,
    names: Arc<[Box<str>]>,
    live: LiveExpr,
    entered: Callback,
    left: Callback,
}

/// A row that is still to be reported to a monitor.
struct PendingRow {
    entity: Entity,
    row: MovedRow,
    entered: bool,
}

/// All monitors of a world.
#[derive(Resource, Default)]
struct Monitors {
    all: Vec<Monitor>,
    pending: VecDeque<PendingRow>,
    is_updating: bool,
}

/// Whether an entity is a monitor that has not ended.
pub(super) fn is_monitor(world: &World, entity: Entity) -> bool {
    world.get::<MonitorEntity>(entity).is_some()
}

/// Makes a monitor.
pub(super) fn observe(
    world: &mut World,
    expr: &PairExpr,
    entered: Callback,
    left: Callback,
) -> Result<Entity, ExprError> {
    let mut live = expr.live(world)?;
    let names = live.variables().map(Box::from).collect();
    let entity = world.spawn(MonitorEntity::default()).id();
    // What fails now is reported by the first update.
    let _ = live.update(world);
    live.track_moves();
    let monitor = Monitor { entity, text: expr.to_string(), names, live, entered, left };
    world.get_resource_or_init::<Monitors>().all.push(monitor);
    Ok(entity)
}

/// Monitors: functions that are called for rows that enter and leave.
///
/// In the book: [Live queries](crate::book::live).
pub trait WorldMonitorExt: Sealed {
    /// Calls a function for each row of an expression that enters, and another for each that leaves. Existing rows are
    /// not reported, unless [`yield_existing`](Self::yield_existing) is called. It ends when the entity that is returned
    /// is despawned.
    ///
    /// They are called by [`update_live`](Self::update_live), never in the middle of a change: once for each row that
    /// is there or gone since the last update, and not for one that came and went.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, live::WorldMonitorExt, prelude::*};
    /// #[derive(Resource, Default)]
    /// struct Alarms(Vec<Entity>);
    /// # #[derive(Component)]
    /// # struct Fuel;
    ///
    /// # let mut world = World::new();
    /// # world.register_component_name::<Fuel>("Fuel");
    /// world.init_resource::<Alarms>();
    /// let below = PairExpr::parse("Fuel(up ChildOf)")?;
    /// world.observe_expr(
    ///     &below,
    ///     |_, _| {},
    ///     |world, row| world.resource_mut::<Alarms>().0.extend(row.this()),
    /// )?;
    /// let ship = world.spawn(Fuel).id();
    /// let engine = world.spawn(ChildOf(ship)).id();
    /// world.update_live()?;
    /// world.entity_mut(ship).remove::<Fuel>();
    /// world.update_live()?;
    /// assert_eq!(world.resource::<Alarms>().0, [engine]);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If the expression cannot be compiled.
    fn observe_expr(
        &mut self,
        expr: &PairExpr,
        entered: impl FnMut(&mut World, &MovedRow) + Send + Sync + 'static,
        left: impl FnMut(&mut World, &MovedRow) + Send + Sync + 'static,
    ) -> Result<Entity, ExprError>;

    /// Reports all rows that are there at the next update, as rows that enter, to a monitor of
    /// [`observe_expr`](Self::observe_expr) or [`add_row_events`](crate::live::WorldRowEventExt::add_row_events): also
    /// those that were reported before, or that were there when it was made. A row that is gone by then has left, and is reported
    /// as such.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, live::{MovedRow, WorldMonitorExt}, prelude::*};
    /// # #[derive(Component)]
    /// # struct Ship;
    /// # #[derive(Resource, Default)]
    /// # struct Seen(Vec<Entity>);
    /// # let mut world = World::new();
    /// # world.register_component_name::<Ship>("Ship");
    /// # world.init_resource::<Seen>();
    /// let ship = world.spawn(Ship).id();
    /// let note = |world: &mut World, row: &MovedRow| {
    ///     world.resource_mut::<Seen>().0.extend(row.this());
    /// };
    /// let monitor = world.observe_expr(&PairExpr::parse("Ship")?, note, |_, _| {})?;
    /// world.yield_existing(monitor)?;
    /// world.update_live()?;
    /// assert_eq!(world.resource::<Seen>().0, [ship]);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If the entity is no monitor.
    fn yield_existing(&mut self, monitor: Entity) -> Result<(), MonitorError>;

    /// Reports to all monitors the rows that have entered and left since the last update: first all rows that have left,
    /// then those that have entered, each in the order in which the monitors were made. If that causes further changes, these are
    /// reported, too.
    /// A call from inside a monitor does nothing: its changes are reported after the monitors that run.
    /// [`RelationsPlugin`](crate::RelationsPlugin) calls it at the end of each frame.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, live::WorldMonitorExt, prelude::*};
    /// # #[derive(Component)]
    /// # struct Ship;
    /// #[derive(Resource, Default)]
    /// struct Fleet(usize);
    ///
    /// # let mut world = World::new();
    /// # world.register_component_name::<Ship>("Ship");
    /// # world.init_resource::<Fleet>();
    /// let ships = PairExpr::parse("Ship")?;
    /// world.observe_expr(&ships, |world, _| world.resource_mut::<Fleet>().0 += 1, |_, _| {})?;
    /// world.spawn_batch([Ship, Ship]);
    /// assert_eq!(world.resource::<Fleet>().0, 0);
    /// world.update_live()?;
    /// assert_eq!(world.resource::<Fleet>().0, 2);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If an expression cannot be run, or if monitors still change what they observe after 64 rounds: the remaining
    /// changes are reported by the next call.
    fn update_live(&mut self) -> Result<(), MonitorError>;
}

impl WorldMonitorExt for World {
    fn observe_expr(
        &mut self,
        expr: &PairExpr,
        mut entered: impl FnMut(&mut World, &MovedRow) + Send + Sync + 'static,
        mut left: impl FnMut(&mut World, &MovedRow) + Send + Sync + 'static,
    ) -> Result<Entity, ExprError> {
        observe(
            self,
            expr,
            Box::new(move |world, row, _| entered(world, row)),
            Box::new(move |world, row, _| left(world, row)),
        )
    }

    fn yield_existing(&mut self, monitor: Entity) -> Result<(), MonitorError> {
        let Some(mut known) = self.get_mut::<MonitorEntity>(monitor) else {
            return Err(MonitorError::NoMonitor { entity: monitor });
        };
        known.yields_existing = true;
        Ok(())
    }

    fn update_live(&mut self) -> Result<(), MonitorError> {
        let Some(mut monitors) = self.get_resource_mut::<Monitors>() else { return Ok(()) };
        if mem::replace(&mut monitors.is_updating, true) {
            return Ok(());
        }
        let (all, left, entered) = (mem::take(&mut monitors.all), Vec::new(), Vec::new());
        Updating { all, left, entered, world: self }.run()
    }
}

/// The monitors while they are called, until this is dropped, also by a panic.
struct Updating<'w> {
    all: Vec<Monitor>,
    /// Rows to be reported once all are up to date.
    left: Vec<PendingRow>,
    entered: Vec<PendingRow>,
    world: &'w mut World,
}

impl Updating<'_> {
    fn run(mut self) -> Result<(), MonitorError> {
        let mut failed = None;
        for _ in 0..MAX_ROUNDS {
            self.notify();
            let moved = self.update(&mut failed);
            if moved.is_empty() {
                return failed.map_or(Ok(()), Err);
            }
        }
        self.notify();
        let expressions = self.update(&mut failed);
        match failed {
            None if expressions.is_empty() => Ok(()),
            None => Err(MonitorError::Unsettled { expressions }),
            Some(error) => Err(error),
        }
    }

    /// Brings all up to date, and notes what is to be reported. Returns the expressions whose rows have moved.
    fn update(&mut self, failed: &mut Option<MonitorError>) -> Vec<String> {
        let Self { all, left, entered, world } = self;
        if let Some(mut monitors) = world.get_resource_mut::<Monitors>() {
            all.append(&mut monitors.all);
        }
        all.retain(|monitor| is_monitor(world, monitor.entity));
        let mut moved = Vec::new();
        for Monitor { entity, text, names, live, .. } in all.iter_mut() {
            if let Err(error) = live.update(world) {
                failed.get_or_insert_with(|| MonitorError::Run { expression: text.clone(), error });
            }
            let before = left.len() + entered.len();
            let pending = |row: Row<'_>, entered| PendingRow {
                entity: *entity,
                row: MovedRow::new(names, row),
                entered,
            };
            let known = world.get_mut::<MonitorEntity>(*entity);
            let yields = known.is_some_and(|mut known| mem::take(&mut known.yields_existing));
            left.extend(live.left(world).into_iter().flatten().map(|row| pending(row, false)));
            if yields {
                entered.extend(live.rows(world).into_iter().flatten().map(|row| pending(row, true)));
            } else {
                entered.extend(live.entered(world).into_iter().flatten().map(|row| pending(row, true)));
            }
            if left.len() + entered.len() > before {
                moved.push(text.clone());
            }
        }
        self.note_pending();
        moved
    }

    fn note_pending(&mut self) {
        let noted = self.left.drain(..).chain(self.entered.drain(..));
        self.world.get_resource_or_init::<Monitors>().pending.extend(noted);
    }

    /// Calls the monitors for the rows that are pending.
    fn notify(&mut self) {
        let next = |world: &mut World| world.get_resource_mut::<Monitors>()?.pending.pop_front();
        while let Some(PendingRow { entity, row, entered }) = next(self.world) {
            let is_alive = is_monitor(self.world, entity);
            if let Some(monitor) = self.all.iter_mut().find(|monitor| is_alive && monitor.entity == entity) {
                let callback = if entered { &mut monitor.entered } else { &mut monitor.left };
                callback(self.world, &row, entity);
                self.world.flush();
            }
        }
    }
}

impl Drop for Updating<'_> {
    fn drop(&mut self) {
        // An update may have panicked in users' code, such as the key of a pair.
        self.note_pending();
        let mut monitors = self.world.get_resource_or_init::<Monitors>();
        let added = mem::take(&mut monitors.all);
        monitors.all = mem::take(&mut self.all);
        monitors.all.extend(added);
        monitors.is_updating = false;
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").field("expression", &self.text).finish_non_exhaustive()
    }
}
