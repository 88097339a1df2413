//! Queries that join a component with the pairs of one relation, and queries that are only filtered by them.

use crate::{
    flecs::{FlecsWorld, Id, Kind, pair},
    flecs_query::{FlecsQuery, Term},
    harness::{Contestant, Stopwatch, Workload},
    ours::{DockedTo, Likes, world},
    random::Random,
};
use bevy_ecs::{
    change_detection::DetectChangesMut, component::Component, entity::Entity, query::QueryFilter,
    world::World,
};
use bevy_relations::prelude::*;

#[derive(Component, Clone, Copy)]
struct Value(f32);

/// `(R, *)` with a component that is written: every source has one of `targets` targets.
pub(super) fn targets(size: usize, targets: usize) -> Workload {
    let (id, goal) = match targets {
        1 => ("join_1", 0.25),
        10 => ("join_10", 0.25),
        1_000 => ("join_1000", 0.5),
        _ => ("join_10000", 2.3),
    };
    let contestants = vec![
        Contestant::new("flecs", move || flecs(size, targets)),
        Contestant::new("ours", move || ours::<DockedTo>(size, targets, false)).goal("flecs", goal),
        Contestant::new("ours, unticked", move || ours::<DockedTo>(size, targets, true)).goal("flecs", goal),
        Contestant::new("ours, many", move || ours::<Likes>(size, targets, false)).goal("flecs", goal),
    ];
    Workload { id, size, elements: size * repeats(size), contestants }
}

fn repeats(size: usize) -> usize {
    (1_000_000 / size).max(1)
}

fn choices(size: usize, targets: usize) -> Vec<usize> {
    Random::new(31).choices(size, targets)
}

fn flecs(size: usize, targets: usize) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = FlecsWorld::new();
    let value = world.component::<Value>();
    let relation = world.relation(Kind::Fragmenting);
    let targets: Vec<Id> = (0..targets).map(|_| world.entity()).collect();
    for target in choices(size, targets.len()) {
        let source = world.entity();
        world.set(source, value, &Value(1.0));
        world.add(source, pair(relation, targets[target]));
    }
    let query = FlecsQuery::cached(&mut world, &[Term::write(value), Term::any_target(relation)]);
    let first = u64::from(targets[0].0 as u32);
    move |watch| {
        watch.time(|| {
            let mut sum = 0;
            for _ in 0..repeats(size) {
                query.for_each_table(&mut world, |table| {
                    sum += (u64::from(table.target_index(1)) - first) * table.count() as u64;
                    for value in table.field::<Value>(0).expect("the term is not optional") {
                        value.set(Value(value.get().0 + 1.0));
                    }
                });
            }
            sum
        })
    }
}

/// A world with `size` sources.
fn linked<R: Relation + Default>(size: usize, targets: usize) -> (World, u64) {
    let mut world = world();
    world.register_relation::<R>().expect("its traits are right");
    let targets: Vec<Entity> = (0..targets).map(|_| world.spawn_empty().id()).collect();
    for target in choices(size, targets.len()) {
        world.spawn((Value(1.0), pairs![(R::default(), targets[target])]));
    }
    (world, u64::from(targets[0].index_u32()))
}

fn ours<R: Relation + Default>(
    size: usize,
    targets: usize,
    unticked: bool,
) -> impl FnMut(&mut Stopwatch) -> u64 {
    let (mut world, first) = linked::<R>(size, targets);
    let mut query = world.query::<(&mut Value, Target<R>)>();
    move |watch| {
        let sum = watch.time(|| {
            let mut sum = 0;
            for _ in 0..repeats(size) {
                for (mut value, target) in query.iter_mut(&mut world) {
                    let value = if unticked { value.bypass_change_detection() } else { &mut *value };
                    value.0 += 1.0;
                    sum += u64::from(target.index_u32()) - first;
                }
            }
            sum
        });
        world.clear_trackers();
        sum
    }
}

/// A query that reads a component of all entities, of which half have pairs; and one that is filtered by that.
pub(super) fn filtered(size: usize) -> Workload {
    let contestants = vec![
        Contestant::new("plain query", move || related::<()>(size)),
        Contestant::new("ours", move || related::<Related<DockedTo>>(size)),
        Contestant::new("ours, many", move || related::<Related<Likes>>(size)),
    ];
    Workload { id: "related", size, elements: size * repeats(size), contestants }
}

fn related<F: QueryFilter + 'static>(size: usize) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = world();
    let target = world.spawn_empty().id();
    let mut random = Random::new(32);
    for _ in 0..size {
        // Those without pairs do not count, whether they are seen or not.
        if random.below(2) == 0 {
            world.spawn(Value(0.0));
        } else {
            world.spawn((Value(1.0), pairs![(Likes, target), (DockedTo, target)]));
        }
    }
    let mut query = world.query_filtered::<&Value, F>();
    move |watch| {
        watch.time(|| {
            let sum = |world| query.iter(world).map(|value| u64::from(value.0 != 0.0)).sum::<u64>();
            core::iter::repeat_n(&world, repeats(size)).map(sum).sum()
        })
    }
}
