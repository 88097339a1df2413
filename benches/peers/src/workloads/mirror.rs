//! Pairs that are shown by a component.

use crate::{
    harness::{Contestant, Stopwatch, Workload},
    ours,
    random::Random,
};
use bevy_ecs::{component::Component, entity::Entity, world::World};
use bevy_reflect::Reflect;
use bevy_relations::{
    mirror::{MirroredPair, MirroredPairs, MirroredTarget, WorldMirrorExt},
    prelude::*,
};

#[derive(Relation, Reflect, Clone, Default)]
struct Likes;

/// What the component of a source with such pairs holds.
#[derive(Component)]
#[component(immutable)]
struct Shown(#[expect(dead_code, reason = "only inserted")] Vec<MirroredPair<Likes>>);

const TARGETS: usize = 1_000;

/// What is done beside the pair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    Mirror,
    /// A component of the same size is inserted.
    Component,
}

/// Inserts a pair for each source, which has `before` pairs already.
pub(super) fn insert(size: usize, before: usize) -> Workload {
    let id = if before == 0 { "mirrored" } else { "mirrored_second" };
    let contestants = vec![
        Contestant::new("ours", move || round(size, before, Beside::Mirror))
            .goal("ours pair and component", 1.0),
        Contestant::new("ours pair and component", move || round(size, before, Beside::Component)),
        Contestant::new("ours not mirrored", move || round(size, before, Beside::Nothing)),
    ];
    Workload { id, size, elements: size, contestants }
}

fn round(size: usize, before: usize, beside: Beside) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = ours::world();
    if beside == Beside::Mirror {
        world.mirror_pairs::<Likes>().expect("the traits are right");
    }
    let targets: Vec<Entity> = (0..TARGETS).map(|_| world.spawn_empty().id()).collect();
    let sources: Vec<Entity> = (0..size).map(|_| world.spawn_empty().id()).collect();
    // Observers are entities: the same target has another index where there are more of them.
    let first = targets[0].index_u32();
    let order = Random::new(71).permutation(size);
    let chosen = move |number: usize, pair: usize| targets[(number + pair * 7) % TARGETS];
    let all = sources.clone();
    let insert = move |world: &mut World, number: usize, pair: usize| {
        let source = all[number];
        world.insert_pair(source, Likes, chosen(number, pair)).expect("both are alive");
        if beside == Beside::Component {
            let shown = (0..=pair).map(|pair| MirroredPair {
                target: MirroredTarget::Entity(chosen(number, pair)),
                value: None,
                place: None,
            });
            world.entity_mut(source).insert(Shown(shown.collect()));
        }
    };
    let mut results = Vec::new();
    move |watch| {
        for &number in &order {
            (0..before).for_each(|pair| insert(&mut world, number, pair));
        }
        watch.time(|| order.iter().for_each(|&number| insert(&mut world, number, before)));
        let mut sum = 0;
        for (number, &source) in sources.iter().enumerate() {
            let pairs = world.pairs::<Likes>();
            results.extend(pairs.targets(source));
            sum +=
                results.iter().map(|target| u64::from(target.index_u32().wrapping_sub(first))).sum::<u64>()
                    * number as u64;
            if let Some(shown) = world.get::<MirroredPairs<Likes>>(source) {
                assert!(shown.targets().eq(results.drain(..)), "the component shows other pairs");
            }
            results.clear();
            world.remove_pairs::<Likes>(source);
            world.entity_mut(source).remove::<Shown>();
        }
        world.maintain_pairs();
        world.clear_trackers();
        sum
    }
}
