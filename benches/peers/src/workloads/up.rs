//! Data of the nearest holder up a hierarchy.

use crate::{
    flecs::{Component as FlecsComponent, FlecsWorld, Id, Kind, pair},
    flecs_query::{FlecsQuery, Term},
    harness::{Contestant, Stopwatch, Workload},
    ours::{MountedOn, world},
    random::Random,
};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    query::{QueryState, ReadOnlyQueryData},
    world::World,
};
use bevy_relations::prelude::*;

#[derive(Component, Clone, Copy)]
struct Leaf(#[expect(dead_code, reason = "only there to be asked for")] f32);

#[derive(Component, Clone, Copy)]
struct Held(u32);

/// Trees that are [`DEPTH`] levels deep: a holder at the root, a chain, and parents of `fanout` leaves each.
struct Forest {
    /// By node; parents come first.
    parents: Vec<Option<usize>>,
    is_leaf: Vec<bool>,
    /// Parents of leaves.
    lowest: Vec<usize>,
}

const ROOTS: usize = 100;
const DEPTH: usize = 16;

impl Forest {
    fn new(leaves: usize, fanout: usize) -> Self {
        let mut forest = Self { parents: Vec::new(), is_leaf: Vec::new(), lowest: Vec::new() };
        for _ in 0..ROOTS {
            let mut at = forest.add(None, false);
            for _ in 0..DEPTH - 3 {
                at = forest.add(Some(at), false);
            }
            for _ in 0..leaves / ROOTS / fanout {
                let parent = forest.add(Some(at), false);
                forest.lowest.push(parent);
                for _ in 0..fanout {
                    forest.add(Some(parent), true);
                }
            }
        }
        forest
    }

    fn add(&mut self, parent: Option<usize>, is_leaf: bool) -> usize {
        self.parents.push(parent);
        self.is_leaf.push(is_leaf);
        self.parents.len() - 1
    }

    /// Nodes in random order, so that tables do not follow the trees.
    fn shuffled(&self) -> Vec<usize> {
        Random::new(41).permutation(self.parents.len())
    }
}

fn held(node: usize) -> Held {
    Held(node as u32 % 977 + 1)
}

/// The nearest holder of every leaf, in trees that stay as they are.
pub(super) fn nearest(size: usize, fanout: usize) -> Workload {
    let (id, goals) = match fanout {
        1 => ("up_1", [3.0, 5.0, 10.0]),
        10 => ("up_10", [0.4, 5.0, 1.0]),
        _ => ("up_1000", [0.1, 2.0, 0.2]),
    };
    workload(id, size, fanout, 0, goals)
}

/// The same, with a hundred parents moved in between, which is not timed.
pub(super) fn moved(size: usize, fanout: usize) -> Workload {
    let id = if fanout == 10 { "up_moved_10" } else { "up_moved_1000" };
    workload(id, size, fanout, 100, [5.0, 5.0, 5.0])
}

fn workload(id: &'static str, size: usize, fanout: usize, moves: usize, goals: [f64; 3]) -> Workload {
    let contestants = vec![
        Contestant::new("flecs", move || flecs(size, fanout, moves, FlecsQuery::cached)),
        Contestant::new("flecs uncached", move || flecs(size, fanout, moves, FlecsQuery::uncached)),
        Contestant::new("ours", move || ours::<Up<MountedOn, &'static Held>>(size, fanout, moves))
            .goal("flecs", goals[0])
            .goal("flecs uncached", goals[1]),
        Contestant::new("ours kept", move || ours::<Kept<Up<MountedOn, &'static Held>>>(size, fanout, moves))
            .goal("flecs", goals[2]),
    ];
    Workload { id, size, elements: size, contestants }
}

/// Which parent of leaves goes below whose parent, round by round.
fn plan(forest: &Forest, moves: usize) -> impl FnMut() -> Vec<(usize, usize)> {
    let above: Vec<_> = forest.lowest.iter().map(|&node| (node, forest.parents[node])).collect();
    let mut random = Random::new(42);
    move || {
        let pick = |random: &mut Random| above[random.below(above.len())];
        (0..moves).filter_map(|_| Some((pick(&mut random).0, pick(&mut random).1?))).collect()
    }
}

fn flecs(
    size: usize,
    fanout: usize,
    moves: usize,
    query: fn(&mut FlecsWorld, &[Term]) -> FlecsQuery,
) -> impl FnMut(&mut Stopwatch) -> u64 {
    let forest = Forest::new(size, fanout);
    let mut world = FlecsWorld::new();
    let leaf: FlecsComponent<Leaf> = world.component();
    let value: FlecsComponent<Held> = world.component();
    let child_of = world.relation(Kind::ChildOf);
    let ids: Vec<Id> = forest.parents.iter().map(|_| world.entity()).collect();
    for (node, parent) in forest.parents.iter().enumerate().filter(|(node, _)| !forest.is_leaf[*node]) {
        match parent {
            Some(parent) => world.add(ids[node], pair(child_of, ids[*parent])),
            None => world.set(ids[node], value, &held(node)),
        }
    }
    for node in forest.shuffled().into_iter().filter(|&node| forest.is_leaf[node]) {
        let parent = forest.parents[node].expect("leaves have parents");
        world.add(ids[node], pair(child_of, ids[parent]));
        world.set(ids[node], leaf, &Leaf(1.0));
    }
    let query = query(&mut world, &[Term::read(leaf), Term::read(value).up(child_of)]);
    let mut plan = plan(&forest, moves);
    move |watch| {
        for (node, parent) in plan() {
            world.add(ids[node], pair(child_of, ids[parent]));
        }
        watch.time(|| {
            let mut sum = 0;
            query.for_each_table(&mut world, |table| {
                let held = table.field::<Held>(1).expect("the term is not optional")[0].get();
                for _ in 0..table.count() {
                    sum += u64::from(std::hint::black_box(held).0);
                }
            });
            sum
        })
    }
}

/// What a query gives for a leaf.
trait Nearest: ReadOnlyQueryData + 'static {
    fn value(item: Self::Item<'_, '_>) -> u64;
}

impl Nearest for Up<MountedOn, &'static Held> {
    fn value(item: &Held) -> u64 {
        u64::from(item.0)
    }
}

impl Nearest for Kept<Up<MountedOn, &'static Held>> {
    fn value(item: &Held) -> u64 {
        u64::from(item.0)
    }
}

fn ours<D: Nearest>(size: usize, fanout: usize, moves: usize) -> impl FnMut(&mut Stopwatch) -> u64 {
    let forest = Forest::new(size, fanout);
    let mut world: World = world();
    let mut ids = vec![Entity::PLACEHOLDER; forest.parents.len()];
    for node in forest.shuffled() {
        ids[node] = match (forest.is_leaf[node], forest.parents[node]) {
            (true, _) => world.spawn(Leaf(1.0)).id(),
            (_, None) => world.spawn(held(node)).id(),
            _ => world.spawn_empty().id(),
        };
    }
    for (node, parent) in forest.parents.iter().enumerate() {
        if let Some(parent) = parent {
            world.insert_pair(ids[node], MountedOn, ids[*parent]).expect("a tree");
        }
    }
    let mut query: QueryState<(&Leaf, D)> = world.query();
    let mut plan = plan(&forest, moves);
    move |watch| {
        for (node, parent) in plan() {
            world.insert_pair(ids[node], MountedOn, ids[parent]).expect("still a tree");
        }
        world.maintain_pairs();
        let sum = watch.time(|| query.iter(&world).map(|(_, item)| D::value(item)).sum());
        world.clear_trackers();
        sum
    }
}
