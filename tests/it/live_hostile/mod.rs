//! Live expressions, monitors and rollups in programs that do whatever Bevy and the library let them do.
//!
//! Classes: rows that observers and commands read amid operations; every operation that Bevy has for
//! entities, components and resources; monitors that act, panic, end and make others while they are called;
//! updates that exceed their step limit; orders and groups that are none, or that panic; folds that panic at
//! any call; values of pairs, fields and keys; components and entities of the library that the program
//! removes; types that get another entity.

mod internals;
mod limits;
mod mid_operation;
mod misc;
mod monitors;
mod ops;
mod values;

use crate::{
    common::{fewer, panic_message},
    live::describe,
};
use bevy_ecs::prelude::*;
use bevy_relations::{expr::Row, prelude::*};

#[derive(Component, Clone)]
struct Ship;

#[derive(Component, Clone)]
struct Fuel;

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct DockedTo;

#[derive(Relation)]
#[relation(exclusive, traversable, storage = "Table")]
struct InTable;

#[derive(Relation)]
#[relation(exclusive, traversable, storage = "Fragmenting")]
struct InParts;

#[derive(Relation)]
#[relation(traversable, on_target_despawn = Despawn)]
struct LeansOn;

/// All that rows say, in order.
fn describe_all<'a>(rows: impl Iterator<Item = Row<'a>>, fields: usize) -> Vec<String> {
    let mut rows: Vec<_> = rows.map(|row| describe(row, fields)).collect();
    rows.sort_unstable();
    rows
}

/// Plays a history for each of some seeds, and panics with what all that failed have said.
fn play_seeds(count: usize, play: impl Fn(u64)) {
    let failed: Vec<_> = (0..fewer(count) as u64)
        .filter_map(|seed| Some(format!("seed {seed}: {}", panic_message(|| play(seed))?)))
        .collect();
    assert!(failed.is_empty(), "{} failed: {}", failed.len(), failed.join("\n----\n"));
}
