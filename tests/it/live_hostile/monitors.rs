//! Monitors that act while they are called for a row: they change the world, panic, end, make other monitors,
//! and update all of them.

use super::{Fuel, Likes, Ship};
use crate::{
    common::{Random, fewer, world_that_records_errors},
    live::fresh_rows,
};
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{
    expr::{CompiledExpr, PairExpr, Row},
    live::{MonitorError, MovedRow, WorldMonitorExt},
    prelude::*,
};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct LeansOn;

const TEXTS: &[&str] = &[
    "Ship",
    "Ship, Fuel",
    "Ship, !Fuel",
    "(Likes, $x)",
    "Ship, (Likes, $x), Fuel($x)",
    "Fuel(up ChildOf)",
    "(ChildOf, $x), !Fuel($x)",
    "Ship, ?(Likes, $x)",
    "(LeansOn, $x), ?Fuel($x)",
    "Likes($x, $y)",
];

/// A row as text. That is its key, with the number of the monitor.
fn text_of(this: Option<Entity>, x: Option<Entity>, y: Option<Entity>) -> String {
    format!("{this:?} {x:?} {y:?}")
}

fn text_of_moved(row: &MovedRow) -> String {
    text_of(row.this(), row.var("x"), row.var("y"))
}

fn text_of_row(row: &Row<'_>) -> String {
    text_of(row.this(), row.var("x"), row.var("y"))
}

/// What monitors were called for, and what they are to do.
#[derive(Resource)]
struct Told {
    /// By monitor and row: whether the last call was that the row has entered.
    rows: BTreeMap<(usize, String), bool>,
    wrong: Vec<String>,
    /// What is needed to act, unless a monitor acts just now.
    random: Option<Random>,
    entities: Vec<Entity>,
    /// How many more acts monitors have, and whether they may panic.
    acts: usize,
    panics: bool,
    /// The monitors that have not ended, how many were made, and which are to report existing rows.
    monitors: Vec<(usize, Entity)>,
    made: usize,
    yielding: Vec<usize>,
    /// The expression of each monitor.
    fresh: Vec<(usize, CompiledExpr)>,
}

fn note(world: &mut World, number: usize, row: &MovedRow, enters: bool) {
    let mut told = world.resource_mut::<Told>();
    let yields = told.yielding.contains(&number);
    let text = text_of_moved(row);
    let before = told.rows.insert((number, text.clone()), enters).unwrap_or(false);
    if before == enters && !(enters && yields) {
        told.wrong.push(format!("monitor {number}: {text} told twice: {enters}"));
    }
    act(world);
}

fn act(world: &mut World) {
    let mut told = world.resource_mut::<Told>();
    if told.acts == 0 {
        return;
    }
    told.acts -= 1;
    let mut random = told.random.take().unwrap();
    let number = random.below(24);
    let mut entities = core::mem::take(&mut told.entities);
    let panics = told.panics && number == 23;
    match number {
        20 => {
            if let Some((_, monitor)) = told.monitors.pop() {
                world.despawn(monitor);
            }
        }
        21 => {
            let made = told.made;
            told.made += 1;
            if made < 30 {
                add_monitor(world, made, random.below(TEXTS.len()));
            }
        }
        22 => world.update_live().unwrap(),
        _ => change(world, &mut entities, &mut random),
    }
    let mut told = world.resource_mut::<Told>();
    (told.entities, told.random) = (entities, Some(random));
    assert!(!panics, "on purpose");
}

/// Adds a monitor, for which the rows that are there count as reported.
fn add_monitor(world: &mut World, number: usize, text: usize) {
    let expr = PairExpr::parse(TEXTS[text]).unwrap();
    let mut fresh = expr.compile(world).unwrap();
    let mut known = Vec::new();
    fresh.for_each(world, |row| known.push(((number, text_of_row(&row)), true))).unwrap();
    let mut told = world.resource_mut::<Told>();
    told.rows.extend(known);
    told.fresh.push((number, fresh));
    let monitor = world
        .observe_expr(
            &expr,
            move |world, row| note(world, number, row, true),
            move |world, row| note(world, number, row, false),
        )
        .unwrap();
    world.resource_mut::<Told>().monitors.push((number, monitor));
}

fn change(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random) {
    let (a, b) = (random.pick(entities), random.pick(entities));
    match random.below(16) {
        0 | 1 => _ = world.entity_mut(a).insert(Fuel),
        2 => _ = world.entity_mut(a).remove::<Fuel>(),
        3 => _ = world.entity_mut(a).insert(Ship),
        4 => _ = world.entity_mut(a).remove::<Ship>(),
        5 | 6 => _ = world.insert_pair(a, Likes, b),
        7 => _ = world.remove_pairs::<Likes>(a),
        8 => _ = world.insert_pair(a, LeansOn, b),
        9 if a > b => _ = world.entity_mut(a).insert(ChildOf(b)),
        10 => _ = world.entity_mut(a).remove::<ChildOf>(),
        11 => _ = world.despawn(a),
        12 => _ = world.entity_mut(a).insert(Disabled),
        13 => _ = world.entity_mut(a).remove::<Disabled>(),
        14 => _ = world.entity_mut(a).clear(),
        _ => entities.push(world.spawn((Ship, Fuel)).id()),
    }
    entities.retain(|&entity| world.entities().contains_spawned(entity));
    while entities.len() < 6 {
        entities.push(world.spawn(Ship).id());
    }
}

/// What the monitors were called for is what a run from scratch finds.
fn check(world: &mut World, at: &str) {
    let mut fresh = core::mem::take(&mut world.resource_mut::<Told>().fresh);
    for (number, expr) in &mut fresh {
        let told = world.resource::<Told>();
        if !told.monitors.iter().any(|(known, _)| known == number) {
            continue;
        }
        let mut expected = Vec::new();
        expr.for_each(world, |row| expected.push(text_of_row(&row))).unwrap();
        expected.sort_unstable();
        expected.dedup();
        let rows = told.rows.iter().filter(|((known, _), is_there)| known == number && **is_there);
        let rows: Vec<_> = rows.map(|((_, row), _)| row.clone()).collect();
        assert_eq!(rows, expected, "{at}, monitor {number}: {:?}", fresh_rows(world, expr));
    }
    let mut told = world.resource_mut::<Told>();
    told.fresh = fresh;
    assert!(told.wrong.is_empty(), "{at}: {:#?}", told.wrong);
}

/// Updates the monitors until they have settled, and none panics.
fn update(world: &mut World, at: &str) {
    for _ in 0..100 {
        match catch_unwind(AssertUnwindSafe(|| world.update_live())) {
            Ok(Ok(())) => return,
            Ok(Err(MonitorError::Unsettled { .. })) | Err(_) => {}
            Ok(Err(error)) => panic!("{at}: {error}"),
        }
    }
    panic!("{at}: monitors do not settle");
}

fn world_with_monitors(seed: u64) -> World {
    let mut world = world_that_records_errors();
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Fuel>("Fuel");
    world.register_relation::<Likes>().unwrap();
    world.register_relation::<LeansOn>().unwrap();
    let entities = (0..6).map(|_| world.spawn(Ship).id()).collect();
    world.insert_resource(Told {
        rows: BTreeMap::new(),
        wrong: Vec::new(),
        random: Some(Random(seed + 1)),
        entities,
        acts: 0,
        panics: seed.is_multiple_of(3),
        monitors: Vec::new(),
        made: TEXTS.len(),
        yielding: Vec::new(),
        fresh: Vec::new(),
    });
    (0..TEXTS.len()).for_each(|number| add_monitor(&mut world, number, number));
    world
}

#[test]
fn monitors_that_act_while_they_are_called_are_called_for_every_move_once() {
    for seed in 0..fewer(150) as u64 {
        let mut world = world_with_monitors(seed);
        let mut random = Random(seed * 77 + 99);
        for step in 0..40 {
            let at = format!("seed {seed}, step {step}");
            let mut entities = core::mem::take(&mut world.resource_mut::<Told>().entities);
            (0..random.below(6)).for_each(|_| change(&mut world, &mut entities, &mut random));
            let mut told = world.resource_mut::<Told>();
            told.acts = step % 8;
            told.entities = entities;
            told.yielding.clear();
            if random.below(6) == 0
                && let Some(&(number, monitor)) = told.monitors.first()
            {
                told.yielding.push(number);
                world.yield_existing(monitor).unwrap();
            }
            update(&mut world, &at);
            check(&mut world, &at);
        }
    }
}
