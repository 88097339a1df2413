//! Live expressions.

mod cascade;
mod changes;
mod events;
mod fields;
mod lists;
mod many;
mod model;
mod monitors;
mod named;
mod named_expr;
mod order;
mod param;
mod param_changes;
mod param_order;

use bevy_ecs::prelude::*;
use bevy_relations::{
    expr::{CompiledExpr, Row},
    live::LiveExpr,
};

/// All that a row says.
pub(crate) fn describe(row: Row<'_>, fields: usize) -> String {
    let fields = (0..fields).map(|field| (row.is_set(field), row.id(field), row.source(field)));
    format!("{row:?} {:?}", fields.collect::<Vec<_>>())
}

/// The rows of a run from scratch, in order of their descriptions.
pub(crate) fn fresh_rows(world: &World, expr: &mut CompiledExpr) -> Vec<String> {
    let (mut rows, fields) = (Vec::new(), expr.field_count());
    expr.for_each(world, |row| rows.push(describe(row, fields))).unwrap();
    rows.sort_unstable();
    rows
}

/// The rows that are kept, in order of their descriptions.
pub(crate) fn kept_rows(world: &World, live: &LiveExpr) -> Vec<String> {
    let mut rows: Vec<_> = live.rows(world).unwrap().map(|row| describe(row, live.field_count())).collect();
    assert_eq!(rows.len(), live.len());
    assert_eq!(rows.is_empty(), live.is_empty());
    rows.sort_unstable();
    rows
}
