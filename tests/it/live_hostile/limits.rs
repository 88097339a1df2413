//! Updates that exceed their step limit now and then, and parameters that are got from system states by hand.

use super::{DockedTo, Fuel, Likes, Ship, describe_all};
use crate::{
    common::{Random, fewer},
    live::{fresh_rows, kept_rows},
};
use bevy_ecs::{prelude::*, system::SystemState};
use bevy_relations::{
    expr::{ExprRunError, PairExpr, Row},
    live::*,
    prelude::*,
};

const WITHOUT_FUEL: &str = "Ship, ?(Likes, $x), !Fuel";

#[derive(Expression)]
#[expr("Ship, ?(Likes, $x), !Fuel")]
struct WithoutFuel;

fn world() -> World {
    let mut world = World::new();
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Fuel>("Fuel");
    world.register_relation::<Likes>().unwrap();
    world.register_relation::<DockedTo>().unwrap();
    world
}

fn change(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random) {
    let (a, b) = (random.pick(entities), random.pick(entities));
    match random.below(10) {
        0 => _ = world.entity_mut(a).insert(Fuel),
        1 => _ = world.entity_mut(a).remove::<Fuel>(),
        2 | 3 => _ = world.insert_pair(a, Likes, b),
        4 => _ = world.remove_pairs::<Likes>(a),
        5 => _ = world.insert_pair(a, DockedTo, b),
        6 => _ = world.despawn(a),
        7 => _ = world.entity_mut(a).remove::<Ship>(),
        8 => _ = world.entity_mut(a).insert(Ship),
        _ => entities.push(world.spawn((Ship, Fuel)).id()),
    }
    entities.retain(|&entity| world.entities().contains_spawned(entity));
    while entities.len() < 8 {
        entities.push(world.spawn(Ship).id());
    }
}

/// The variables of rows, in order.
fn variables<'a>(rows: impl Iterator<Item = Row<'a>>) -> Vec<String> {
    let mut rows: Vec<_> = rows.map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    rows
}

/// Those of `all` that are not among `others`, each of which counts once.
fn without(all: &[String], others: &[String]) -> Vec<String> {
    let mut others = others.to_vec();
    let is_left = |row: &&String| match others.iter().position(|other| other == *row) {
        Some(at) => {
            others.swap_remove(at);
            false
        }
        None => true,
    };
    all.iter().filter(is_left).cloned().collect()
}

/// An expression with the variables of its rows after the update before.
struct Kept {
    text: &'static str,
    live: LiveExpr,
    before: Vec<String>,
}

impl Kept {
    fn new(world: &mut World, text: &'static str) -> Self {
        let mut live = PairExpr::parse(text).unwrap().live(world).unwrap();
        live.track_moves();
        // Rows of a cascade cannot be put into groups.
        let _ = live.group_by::<DockedTo>();
        Self { text, live, before: Vec::new() }
    }

    /// Updates the rows, and returns whether the limit was exceeded. There are none then.
    fn update(&mut self, world: &mut World, limit: Option<u64>, at: &str) -> bool {
        let Self { text, live, before } = self;
        live.set_step_limit(limit);
        let failed = match live.update(world) {
            Ok(()) => {
                let mut fresh = PairExpr::parse(*text).unwrap().compile(world).unwrap();
                assert_eq!(kept_rows(world, live), fresh_rows(world, &mut fresh), "{at}, {text}");
                false
            }
            Err(ExprRunError::StepLimit { .. }) => {
                assert!(live.is_empty());
                assert_eq!(live.groups().len(), 0);
                true
            }
            Err(error) => panic!("{error}"),
        };
        let now = variables(live.rows(world).unwrap());
        assert_eq!(variables(live.entered(world).unwrap()), without(&now, before), "{at}, {text}");
        assert_eq!(variables(live.left(world).unwrap()), without(before, &now), "{at}, {text}");
        *before = now;
        failed
    }
}

#[test]
fn rows_that_enter_and_leave_are_reported_through_updates_that_exceed_their_limit() {
    let texts = [
        WITHOUT_FUEL,
        "(Likes, $x), Likes($x, $y)",
        "Ship, Fuel(up DockedTo)",
        "Ship, ?Fuel(cascade DockedTo)",
        "Ship, (Likes, $x) || (DockedTo, $x)",
    ];
    let (cases, mut failures) = (fewer(40), 0);
    for seed in 0..cases as u64 {
        let mut world = world();
        let mut random = Random(seed * 101 + 17);
        let mut entities: Vec<_> = (0..8).map(|_| world.spawn(Ship).id()).collect();
        let mut all = texts.map(|text| Kept::new(&mut world, text));
        for step in 0..40 {
            (0..random.below(5)).for_each(|_| change(&mut world, &mut entities, &mut random));
            for kept in &mut all {
                let limit = (random.below(3) == 0).then(|| random.below(12) as u64);
                failures += usize::from(kept.update(&mut world, limit, &format!("seed {seed}, step {step}")));
            }
        }
    }
    assert!(failures > cases / 2, "{failures} updates exceeded their limit");
}

/// They are got in some steps only, several times before they are applied, and two of them from one
/// `ParamSet`.
#[test]
fn parameters_that_are_got_by_hand_have_the_rows_of_now() {
    let rows = |query: &LiveQuery<WithoutFuel>| describe_all(query.rows(), 3);
    for seed in 0..fewer(30) as u64 {
        let mut world = world();
        let mut random = Random(seed * 7 + 17);
        let mut entities: Vec<_> = (0..8).map(|_| world.spawn(Ship).id()).collect();
        let mut state = SystemState::<LiveQuery<WithoutFuel>>::new(&mut world);
        let mut set =
            SystemState::<ParamSet<(LiveQuery<WithoutFuel>, LiveQuery<WithoutFuel>)>>::new(&mut world);
        let mut before = Vec::<String>::new();
        for step in 0..40 {
            (0..random.below(5)).for_each(|_| change(&mut world, &mut entities, &mut random));
            let mut fresh = PairExpr::parse(WITHOUT_FUEL).unwrap().compile(&mut world).unwrap();
            let expected = fresh_rows(&world, &mut fresh);
            if random.below(2) == 0 {
                let query = state.get(&world).unwrap();
                assert_eq!(rows(&query), expected, "seed {seed}, step {step}");
                let now = variables(query.rows());
                assert_eq!(variables(query.entered()), without(&now, &before), "seed {seed}, step {step}");
                assert_eq!(variables(query.left()), without(&before, &now), "seed {seed}, step {step}");
                before = now;
            }
            if random.below(2) == 0 {
                let mut set = set.get_mut(&mut world).unwrap();
                assert_eq!(rows(&set.p0()), expected);
                assert_eq!(rows(&set.p1()), expected);
                assert_eq!(rows(&set.p0()), expected);
            }
            if random.below(4) == 0 {
                state.apply(&mut world);
                set.apply(&mut world);
            }
        }
    }
}
