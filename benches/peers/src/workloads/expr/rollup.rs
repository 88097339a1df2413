//! Sums over trees that are kept, beside adding everything up again.

use crate::{
    harness::{Contestant, RoundSums, Stopwatch, Workload},
    ours::{self, MountedOn},
    random::Random,
};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    query::{Changed, QueryState},
    system::Query,
    world::World,
};
use bevy_relations::{
    live::{Rollup, RollupValue, Sum, WorldRollupExt},
    prelude::*,
};

/// A value that is replaced.
#[derive(Component, Clone, Copy)]
#[component(immutable)]
struct Load(u32);

/// One that is written in place.
#[derive(Component, Clone, Copy)]
struct Weight(u32);

impl RollupValue for Load {
    type Value = u64;

    fn rollup_value(&self) -> u64 {
        self.0.into()
    }
}

impl RollupValue for Weight {
    type Value = u64;

    fn rollup_value(&self) -> u64 {
        self.0.into()
    }
}

/// Every workload; quick ones are smaller by this factor.
pub(super) fn all(part: usize) -> Vec<Workload> {
    vec![leaf(100_000 / part), in_place(100_000 / part)]
}

/// A tree of 16 levels, with a value on each node: a chain, then ten levels' worth of leaves at its end.
fn tree<C: Component>(size: usize, value: impl Fn(u32) -> C) -> (World, Vec<Entity>) {
    let mut world = ours::world();
    let root = world.spawn(value(1)).id();
    let (mut nodes, mut level) = (vec![root], vec![root]);
    for depth in 1..16 {
        // The lower half is where most nodes are.
        let wanted = if depth < 8 { 1 } else { (size >> (16 - depth)).max(1) };
        let next: Vec<Entity> = (0..wanted)
            .map(|number| {
                let node = world.spawn(value(number as u32 % 97)).id();
                let parent = level[number % level.len()];
                world.insert_pair(node, MountedOn, parent).expect("both are alive");
                node
            })
            .collect();
        nodes.extend(&next);
        level = next;
    }
    (world, nodes)
}

/// A node of a tree that is kept by hand, without events for changed totals.
#[derive(Component)]
struct Node {
    above: Option<Entity>,
    /// What lies below.
    total: u64,
}

/// Adds to the totals of everything above a node.
fn add_above(world: &mut World, nodes: &mut QueryState<&mut Node>, node: Entity, difference: u64) {
    let mut nodes = nodes.query_mut(world);
    let mut at = nodes.get(node).ok().and_then(|node| node.above);
    while let Some(mut node) = at.and_then(|above| nodes.get_mut(above).ok()) {
        node.total = node.total.wrapping_add(difference);
        at = node.above;
    }
}

/// A leaf has another value.
fn leaf(size: usize) -> Workload {
    let outcomes = RoundSums::default();
    let (fold_outcomes, hand_outcomes) = (outcomes.clone(), outcomes.clone());
    let contestants = vec![
        Contestant::new("ours fold", move || {
            let (mut world, nodes) = tree(size, Load);
            let mut random = Random::new(61);
            let mut sums =
                vec![0u64; nodes.iter().map(|node| node.index_u32() as usize).max().unwrap_or(0) + 1];
            let mut loads = world.query::<&Load>();
            let mut outcome = fold_outcomes.start("ours fold");
            move |watch: &mut Stopwatch| {
                let leaf = nodes[nodes.len() - 1 - random.below(size / 4)];
                let load = random.below(97) as u32;
                world.entity_mut(leaf).insert(Load(load));
                watch.time(|| {
                    let pairs = world.pairs::<MountedOn>();
                    // Sources come after their targets.
                    for &node in nodes.iter().rev() {
                        let at = node.index_u32() as usize;
                        let own = loads.get(&world, node).map_or(0, |load| u64::from(load.0));
                        let below = core::mem::take(&mut sums[at]);
                        match pairs.target(node) {
                            Some(target) => sums[target.index_u32() as usize] += own + below,
                            None => sums[at] = below,
                        }
                    }
                });
                world.clear_trackers();
                outcome.check(core::mem::take(&mut sums[nodes[0].index_u32() as usize]))
            }
        }),
        Contestant::new("by hand", move || {
            let (mut world, nodes) = tree(size, Load);
            for &node in &nodes {
                let above = world.pairs::<MountedOn>().target(node);
                world.entity_mut(node).insert(Node { above, total: 0 });
            }
            let mut query = world.query::<&mut Node>();
            for &node in &nodes {
                let load = world.get::<Load>(node).map_or(0, |load| load.0);
                add_above(&mut world, &mut query, node, load.into());
            }
            let mut random = Random::new(61);
            let mut outcome = hand_outcomes.start("by hand");
            move |watch: &mut Stopwatch| {
                let leaf = nodes[nodes.len() - 1 - random.below(size / 4)];
                let load = random.below(97) as u32;
                let old = world.get::<Load>(leaf).map_or(0, |load| load.0);
                world.entity_mut(leaf).insert(Load(load));
                let difference = u64::from(load).wrapping_sub(old.into());
                watch.time(|| add_above(&mut world, &mut query, leaf, difference));
                world.clear_trackers();
                outcome.check(world.get::<Node>(nodes[0]).map_or(0, |node| node.total))
            }
        }),
        Contestant::new("ours", move || {
            let (mut world, nodes) = tree(size, Load);
            world.add_rollup::<MountedOn, Load, Sum>().expect("the relation is acyclic");
            world.update_rollups();
            let mut random = Random::new(61);
            let mut outcome = outcomes.start("ours");
            move |watch: &mut Stopwatch| {
                let leaf = nodes[nodes.len() - 1 - random.below(size / 4)];
                let load = random.below(97) as u32;
                world.entity_mut(leaf).insert(Load(load));
                watch.time(|| world.update_rollups());
                world.clear_trackers();
                let rollup = world.get::<Rollup<MountedOn, Load, Sum>>(nodes[0]);
                outcome.check(*rollup.expect("there is something below").get())
            }
        })
        .goal("ours fold", 1_000.0),
    ];
    Workload { id: "rollup_leaf", size, elements: 1, contestants }
}

/// The same, written in place.
fn in_place(size: usize) -> Workload {
    let contestants = vec![
        Contestant::new("bevy", move || {
            let (mut world, nodes) = tree(size, Weight);
            let mut random = Random::new(61);
            let count =
                world.register_system(|changed: Query<(), Changed<Weight>>| changed.iter().count() as u64);
            world.run_system(count).expect("its parameters are there");
            move |watch: &mut Stopwatch| {
                write(&mut world, &nodes, &mut random, size);
                let changed = watch.time(|| world.run_system(count)).expect("its parameters are there");
                assert_eq!(changed, 1);
                world.clear_trackers();
                0
            }
        }),
        Contestant::new("ours", move || {
            let (mut world, nodes) = tree(size, Weight);
            world.add_rollup::<MountedOn, Weight, Sum>().expect("the relation is acyclic");
            world.update_rollups();
            let mut random = Random::new(61);
            move |watch: &mut Stopwatch| {
                write(&mut world, &nodes, &mut random, size);
                watch.time(|| world.update_rollups());
                world.clear_trackers();
                0
            }
        })
        .goal("bevy", 1.0),
    ];
    Workload { id: "rollup_in_place", size, elements: 1, contestants }
}

fn write(world: &mut World, nodes: &[Entity], random: &mut Random, size: usize) {
    let leaf = nodes[nodes.len() - 1 - random.below(size / 4)];
    world.get_mut::<Weight>(leaf).expect("every node has one").0 = random.below(97) as u32;
}
