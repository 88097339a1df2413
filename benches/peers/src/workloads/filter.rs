//! Reading a component of the entities that have a pair.

use crate::{
    bevy::{LikesInList, Naming},
    flecs::{FlecsWorld, Kind, pair},
    flecs_query::{FlecsQuery, Term},
    harness::{Contestant, Stopwatch, Workload},
    ours::{DockedTo, Likes, MemberOf, TeamOf, world},
    random::Random,
};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    query::{QueryFilter, With},
    world::World,
};
use bevy_relations::prelude::*;

#[derive(Component, Clone, Copy)]
#[repr(transparent)]
struct Value(u32);

/// Half of the entities have a pair, in runs of `run`.
pub(super) fn filtered(size: usize, run: usize) -> Workload {
    let contestants = vec![
        Contestant::new("flecs", move || flecs(size, run, FlecsQuery::cached)),
        Contestant::new("flecs uncached", move || flecs(size, run, FlecsQuery::uncached)),
        Contestant::new("bevy", move || bevy(size, run)),
        Contestant::new("ours", move || ours::<Related<DockedTo>>(size, run)),
        Contestant::new("ours many targets", move || ours::<Related<Likes>>(size, run)),
        Contestant::new("ours table", move || stored::<MemberOf>(size, run)),
        Contestant::new("ours fragmenting", move || stored::<TeamOf>(size, run)),
    ];
    let id = if run == 1 { "related_mixed" } else { "related" };
    Workload { id, size, elements: size * repeats(size), contestants }
}

fn repeats(size: usize) -> usize {
    (1_000_000 / size).max(1)
}

/// Which entities have a pair.
fn chosen(size: usize, run: usize) -> impl Iterator<Item = bool> {
    let mut random = Random::new(32);
    let mut chosen = false;
    (0..size).map(move |place| {
        if place.is_multiple_of(run) {
            chosen = random.below(2) == 0;
        }
        chosen
    })
}

fn flecs(
    size: usize,
    run: usize,
    query: fn(&mut FlecsWorld, &[Term]) -> FlecsQuery,
) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = FlecsWorld::new();
    let (relation, value) = (world.relation(Kind::Exclusive), world.component::<Value>());
    let target = world.entity();
    for (number, linked) in chosen(size, run).enumerate() {
        let entity = world.entity();
        world.set(entity, value, &Value(number as u32));
        if linked {
            world.add(entity, pair(relation, target));
        }
    }
    let query = query(&mut world, &[Term::read(value), Term::some_target(relation)]);
    move |watch| {
        watch.time(|| {
            let mut sum = 0;
            for _ in 0..repeats(size) {
                query.for_each_table(&mut world, |table| {
                    let values = table.field::<Value>(0).expect("the term is not optional");
                    sum += values.iter().map(|value| u64::from(value.get().0)).sum::<u64>();
                });
            }
            sum
        })
    }
}

fn bevy(size: usize, run: usize) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = World::new();
    let link = |entity: &mut World, source: Entity, target| {
        entity.entity_mut(source).insert(LikesInList::new(target));
    };
    spawn(&mut world, size, run, link);
    sum::<With<LikesInList>>(world, size)
}

fn ours<F: QueryFilter + 'static>(size: usize, run: usize) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = world();
    spawn(&mut world, size, run, |world, source, target| {
        world.insert_pair(source, Likes, target).expect("both are alive");
        world.insert_pair(source, DockedTo, target).expect("both are alive");
    });
    sum::<F>(world, size)
}

/// With one relation only, in tables.
fn stored<R: Relation + Default>(size: usize, run: usize) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = world();
    spawn(&mut world, size, run, |world, source, target| {
        world.insert_pair(source, R::default(), target).expect("both are alive");
    });
    sum::<Related<R>>(world, size)
}

fn spawn(world: &mut World, size: usize, run: usize, link: impl Fn(&mut World, Entity, Entity)) {
    let target = world.spawn_empty().id();
    for (number, linked) in chosen(size, run).enumerate() {
        let entity = world.spawn(Value(number as u32)).id();
        if linked {
            link(world, entity, target);
        }
    }
}

fn sum<F: QueryFilter + 'static>(mut world: World, size: usize) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut query = world.query_filtered::<&Value, F>();
    move |watch| {
        watch.time(|| {
            let once = |world| query.iter(world).map(|value| u64::from(value.0)).sum::<u64>();
            core::iter::repeat_n(&world, repeats(size)).map(once).sum()
        })
    }
}
