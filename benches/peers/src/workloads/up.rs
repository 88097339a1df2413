//! Data of the nearest holder up a hierarchy.

use crate::{
    flecs::{Component as FlecsComponent, FlecsWorld, Id, Kind, pair},
    flecs_query::{FlecsQuery, Term},
    harness::{Contestant, Stopwatch, Workload},
    ours::{MountedOn, compile, id_of, world},
    random::Random,
};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    hierarchy::ChildOf,
    query::{ReadOnlyQueryData, With},
    system::{Query, SystemState},
    world::World,
};
use bevy_relations::{
    prelude::*,
    query::{Cached, Up},
};

#[derive(Component, Clone, Copy)]
struct Leaf(#[expect(dead_code, reason = "only there to be asked for")] f32);

#[derive(Component, Clone, Copy)]
struct Held(u32);

/// What an entity is below, by hand.
#[derive(Component)]
struct Below(Entity);

/// Trees: a root that may hold data, a chain, and parents of leaves.
#[derive(Clone, Copy)]
struct Shape {
    roots: usize,
    leaves: usize,
    /// Levels, with the root and the leaves.
    depth: usize,
    /// Leaves per parent.
    fanout: usize,
    /// Every so many roots there is one that holds data.
    holders: usize,
    /// How many parents of leaves go to other trees before each run.
    moves: usize,
}

impl Shape {
    fn new(leaves: usize, depth: usize, fanout: usize) -> Self {
        Self { roots: 100, leaves, depth, fanout, holders: 1, moves: 0 }
    }
}

/// The nodes of trees, parents first.
struct Forest {
    parents: Vec<Option<usize>>,
    is_leaf: Vec<bool>,
    holds: Vec<bool>,
    /// Parents of leaves.
    lowest: Vec<usize>,
}

impl Forest {
    fn new(shape: Shape) -> Self {
        let mut forest =
            Self { parents: Vec::new(), is_leaf: Vec::new(), holds: Vec::new(), lowest: Vec::new() };
        for tree in 0..shape.roots {
            let mut at = forest.add(None, false, tree.is_multiple_of(shape.holders));
            for _ in 0..shape.depth - 3 {
                at = forest.add(Some(at), false, false);
            }
            for _ in 0..shape.leaves / shape.roots / shape.fanout {
                let parent = forest.add(Some(at), false, false);
                forest.lowest.push(parent);
                for _ in 0..shape.fanout {
                    forest.add(Some(parent), true, false);
                }
            }
        }
        forest
    }

    fn add(&mut self, parent: Option<usize>, is_leaf: bool, holds: bool) -> usize {
        self.parents.push(parent);
        self.is_leaf.push(is_leaf);
        self.holds.push(holds);
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

/// The data of the root of every leaf, ten leaves per parent, in trees that stay as they are.
pub(super) fn nearest(leaves: usize, depth: usize) -> Workload {
    let id = match depth {
        4 => "up_4",
        16 => "up_16",
        _ => "up_64",
    };
    workload(id, Shape::new(leaves, depth, 10), [0.4, 5.0, 1.0])
}

/// The same, with a parent for each leaf.
pub(super) fn lone(leaves: usize) -> Workload {
    workload("up_16_lone", Shape::new(leaves, 16, 1), [3.0, 5.0, 10.0])
}

/// The same, with a thousand leaves per parent.
pub(super) fn wide(leaves: usize) -> Workload {
    workload("up_16_wide", Shape::new(leaves, 16, 1_000), [0.1, 2.0, 0.2])
}

/// The same, with a hundred parents moved in between, which is not timed. What is found does not count here: the
/// cached query of Flecs does not notice all of the moves, the others do.
pub(super) fn moved(leaves: usize, fanout: usize) -> Workload {
    let id = if fanout == 10 { "up_moved" } else { "up_moved_wide" };
    workload(id, Shape { moves: 100, ..Shape::new(leaves, 16, fanout) }, [5.0, 5.0, 5.0])
}

/// A chain for every leaf; at the top of every other one there is data.
pub(super) fn chains(count: usize) -> Workload {
    let shape = Shape { roots: count, holders: 2, ..Shape::new(count, 4, 1) };
    workload("up_chains", shape, [1.0, 1.0, 1.0])
}

/// The same, for contestants that keep nothing from run to run.
pub(super) fn plain(count: usize) -> Workload {
    let shape = Shape { roots: count, holders: 2, ..Shape::new(count, 4, 1) };
    let contestants = vec![
        Contestant::new("flecs uncached", move || flecs(shape, FlecsQuery::uncached)),
        #[cfg(flecs_parent)]
        Contestant::new("flecs EcsParent", move || flecs_parents(shape)),
        Contestant::new("bevy", move || bevy(shape)),
        Contestant::new("by hand", move || by_hand(shape)),
        Contestant::new("ours", move || ours::<Up<MountedOn, &'static Held>>(shape)).goal("by hand", 1.0),
    ];
    Workload { id: "up_plain", size: shape.leaves, elements: shape.leaves, contestants }
}

fn workload(id: &'static str, shape: Shape, goals: [f64; 3]) -> Workload {
    let contestants = vec![
        Contestant::new("flecs", move || flecs(shape, FlecsQuery::cached)),
        Contestant::new("flecs uncached", move || flecs(shape, FlecsQuery::uncached)),
        #[cfg(flecs_parent)]
        Contestant::new("flecs EcsParent", move || flecs_parents(shape)),
        Contestant::new("bevy", move || bevy(shape)),
        Contestant::new("ours", move || ours::<Up<MountedOn, &'static Held>>(shape))
            .goal("flecs", goals[0])
            .goal("flecs uncached", goals[1]),
        Contestant::new("ours kept", move || ours::<Cached<Up<MountedOn, &'static Held>>>(shape))
            .goal("flecs", goals[2]),
        Contestant::new("ours expression", move || expression(shape)),
    ];
    Workload { id, size: shape.leaves, elements: shape.leaves, contestants }
}

/// Which parent of leaves goes below whose parent, round by round.
fn plan(forest: &Forest, moves: usize) -> impl FnMut() -> Vec<(usize, usize)> + use<> {
    let above: Vec<_> = forest.lowest.iter().map(|&node| (node, forest.parents[node])).collect();
    let mut random = Random::new(42);
    move || {
        let pick = |random: &mut Random| above[random.below(above.len())];
        (0..moves).filter_map(|_| Some((pick(&mut random).0, pick(&mut random).1?))).collect()
    }
}

fn flecs(
    shape: Shape,
    query: fn(&mut FlecsWorld, &[Term]) -> FlecsQuery,
) -> impl FnMut(&mut Stopwatch) -> u64 {
    let forest = Forest::new(shape);
    let mut world = FlecsWorld::new();
    let leaf: FlecsComponent<Leaf> = world.component();
    let value: FlecsComponent<Held> = world.component();
    let child_of = world.relation(Kind::ChildOf);
    let ids: Vec<Id> = forest.parents.iter().map(|_| world.entity()).collect();
    for (node, parent) in forest.parents.iter().enumerate().filter(|(node, _)| !forest.is_leaf[*node]) {
        if let Some(parent) = parent {
            world.add(ids[node], pair(child_of, ids[*parent]));
        }
        if forest.holds[node] {
            world.set(ids[node], value, &held(node));
        }
    }
    for node in forest.shuffled().into_iter().filter(|&node| forest.is_leaf[node]) {
        let parent = forest.parents[node].expect("leaves have parents");
        world.add(ids[node], pair(child_of, ids[parent]));
        world.set(ids[node], leaf, &Leaf(1.0));
    }
    let query = query(&mut world, &[Term::read(leaf), Term::read(value).up(child_of)]);
    let mut plan = plan(&forest, shape.moves);
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
            if shape.moves == 0 { sum } else { 0 }
        })
    }
}

/// The hierarchy in its second storage, where one climbs in a loop.
#[cfg(flecs_parent)]
fn flecs_parents(shape: Shape) -> impl FnMut(&mut Stopwatch) -> u64 {
    let forest = Forest::new(shape);
    let mut world = FlecsWorld::new();
    let leaf: FlecsComponent<Leaf> = world.component();
    let value: FlecsComponent<Held> = world.component();
    let parent_of = world.parent();
    let ids: Vec<Id> = forest.parents.iter().map(|_| world.entity()).collect();
    for (node, parent) in forest.parents.iter().enumerate() {
        if let Some(parent) = parent {
            world.set(ids[node], parent_of, &ids[*parent]);
        }
        if forest.holds[node] {
            world.set(ids[node], value, &held(node));
        }
    }
    for node in forest.shuffled().into_iter().filter(|&node| forest.is_leaf[node]) {
        world.set(ids[node], leaf, &Leaf(1.0));
    }
    let query = FlecsQuery::cached(&mut world, &[Term::read(leaf), Term::read(parent_of).this()]);
    let mut plan = plan(&forest, shape.moves);
    move |watch| {
        for (node, parent) in plan() {
            world.set(ids[node], parent_of, &ids[parent]);
        }
        watch.time(|| {
            let mut sum = 0;
            query.for_each_table_and_get(&mut world, |table, nodes| {
                for parent in table.field::<Id>(1).into_iter().flatten() {
                    let mut at = Some(parent.get());
                    while let Some(node) = at {
                        if let Some(Held(held)) = nodes.get(node, value) {
                            sum += u64::from(held);
                            break;
                        }
                        at = nodes.get(node, parent_of);
                    }
                }
            });
            if shape.moves == 0 { sum } else { 0 }
        })
    }
}

/// The trees in a Bevy world; `link` puts a node below another.
fn grow(world: &mut World, forest: &Forest, link: impl Fn(&mut World, Entity, Entity)) -> Vec<Entity> {
    let mut ids = vec![Entity::PLACEHOLDER; forest.parents.len()];
    for node in forest.shuffled() {
        ids[node] = match (forest.is_leaf[node], forest.holds[node]) {
            (true, _) => world.spawn(Leaf(1.0)).id(),
            (_, true) => world.spawn(held(node)).id(),
            _ => world.spawn_empty().id(),
        };
    }
    for (node, parent) in forest.parents.iter().enumerate() {
        if let Some(parent) = parent {
            link(world, ids[node], ids[*parent]);
        }
    }
    ids
}

/// Climbs in a loop that asks each entity above once.
fn by_hand(shape: Shape) -> impl FnMut(&mut Stopwatch) -> u64 {
    let forest = Forest::new(shape);
    let mut world = World::new();
    grow(&mut world, &forest, |world, node, parent| {
        world.entity_mut(node).insert(Below(parent));
    });
    let mut state =
        SystemState::<(Query<&Below, With<Leaf>>, Query<(Option<&Held>, Option<&Below>)>)>::new(&mut world);
    move |watch| {
        let (leaves, above) = state.get(&world).expect("queries are always available");
        watch.time(|| {
            let mut sum = 0;
            for mut below in &leaves {
                while let Ok((held, next)) = above.get(below.0) {
                    match (held, next) {
                        (Some(held), _) => sum += u64::from(held.0),
                        (None, Some(next)) => {
                            below = next;
                            continue;
                        }
                        (None, None) => {}
                    }
                    break;
                }
            }
            sum
        })
    }
}

/// Climbs along Bevy's hierarchy in a loop.
fn bevy(shape: Shape) -> impl FnMut(&mut Stopwatch) -> u64 {
    let link = |world: &mut World, node: Entity, parent| {
        world.entity_mut(node).insert(ChildOf(parent));
    };
    let forest = Forest::new(shape);
    let mut world = World::new();
    let ids = grow(&mut world, &forest, link);
    let mut plan = plan(&forest, shape.moves);
    let mut state =
        SystemState::<(Query<Entity, With<Leaf>>, Query<&ChildOf>, Query<&Held>)>::new(&mut world);
    move |watch| {
        for (node, parent) in plan() {
            link(&mut world, ids[node], ids[parent]);
        }
        let (leaves, parents, held) = state.get(&world).expect("queries are always available");
        let nearest = |leaf| parents.iter_ancestors(leaf).find_map(|above| held.get(above).ok());
        let found = || leaves.iter().filter_map(nearest);
        let sum = watch.time(|| found().map(|held| u64::from(held.0)).sum());
        world.clear_trackers();
        if shape.moves == 0 { sum } else { 0 }
    }
}

/// The trees with a relation of ours; `run` adds up what it finds.
fn mounted(
    shape: Shape,
    prepare: impl FnOnce(&mut World) -> Box<dyn FnMut(&World) -> u64>,
) -> impl FnMut(&mut Stopwatch) -> u64 {
    let link = |world: &mut World, node, parent| {
        world.insert_pair(node, MountedOn, parent).expect("it is a tree");
    };
    let forest = Forest::new(shape);
    let mut world = world();
    let ids = grow(&mut world, &forest, link);
    let mut plan = plan(&forest, shape.moves);
    let mut run = prepare(&mut world);
    move |watch| {
        for (node, parent) in plan() {
            link(&mut world, ids[node], ids[parent]);
        }
        world.maintain_pairs();
        let sum = watch.time(|| run(&world));
        world.clear_trackers();
        if shape.moves == 0 { sum } else { 0 }
    }
}

fn ours<D>(shape: Shape) -> impl FnMut(&mut Stopwatch) -> u64
where
    for<'w, 's> D: ReadOnlyQueryData<Item<'w, 's> = &'w Held> + 'static,
{
    mounted(shape, |world| {
        let mut query = world.query_filtered::<D, With<Leaf>>();
        Box::new(move |world| query.iter(world).map(|held| u64::from(held.0)).sum())
    })
}

fn expression(shape: Shape) -> impl FnMut(&mut Stopwatch) -> u64 {
    mounted(shape, |world| {
        world.register_relation::<MountedOn>().expect("its traits are right");
        let (leaf, held) = (id_of::<Leaf>(world), id_of::<Held>(world));
        let mut expr = compile(world, &format!("{leaf}, {held}(up MountedOn)"));
        Box::new(move |world| {
            let mut sum = 0;
            let run = expr.for_each(world, |row| {
                sum += row.get::<Held>(1).map_or(0, |held| u64::from(held.0));
            });
            run.expect("nothing is in the way");
            sum
        })
    })
}
