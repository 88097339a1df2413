//! Results that are updated at the cost of what changed: deltas, rows of expressions, rollups, propagated components.
//!
//! - [`PairDeltas`] and [`AnyPairDeltas`] report to a system the changes of pairs since it ran last.
//! - [`PairExpr::live`](crate::expr::PairExpr::live) makes a [`LiveExpr`], which keeps the rows of its expression;
//!   [`update`](LiveExpr::update) recomputes those that the changes concern. After it, the rows are those of a run
//!   from scratch. [`LiveQuery`] keeps them for a system, [`NamedExpr`] on an entity. [`WorldMonitorExt::observe_expr`] calls
//!   functions for rows that enter and leave, [`WorldRowEventExt::add_row_events`] triggers events for them.
//! - [`WorldRollupExt::add_rollup`] keeps a fold over everything below an entity: sums, counts, extremes.
//! - [`WorldPropagateExt::propagate`] keeps, on every entity, a component of the nearest ancestor that has it.

mod component_reader;
mod concerned;
mod events;
mod explain;
mod expr;
mod feed;
mod fields;
mod kept;
mod levels;
mod monitor;
mod moves;
mod named;
mod order;
mod outline;
mod param;
mod param_order;
mod premise;
mod propagate;
mod query_iter;
mod rollup;
mod row_ids;
mod updates;
mod written;

pub use crate::system_param::{AnyPairDeltas, DeltaGap, PairDelta, PairDeltaKind, PairDeltas};
pub use events::{RowEntered, RowEventError, RowLeft, WorldRowEventExt};
pub use expr::LiveExpr;
pub use monitor::{MonitorError, MovedRow, WorldMonitorExt};
pub use named::{NamedExpr, NamedExprError, WorldNamedExprExt};
pub use param::{LiveParam, LiveQuery, LiveQueryState};
pub use propagate::{PropagateError, Propagated, WorldPropagateExt};
pub use query_iter::LiveQueryIter;
pub use rollup::{
    All, Any, Count, Distinct, Max, Min, Rollup, RollupError, RollupFold, RollupValue, Sum, SumNumber,
    WorldRollupExt,
};

pub(crate) use updates::{start_propagation, start_rollups};

/// Drops old changes, and starts recording what systems have requested.
pub(crate) fn maintain(world: &mut bevy_ecs::world::World) {
    feed::maintain(world);
    param::follow_all(world);
}
