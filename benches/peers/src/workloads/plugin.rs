//! Bevy's own hierarchy in a plain app, and in one with our plugin: that makes no use of it, that uses another relation,
//! that reads children as pairs.

use super::repeats;
use crate::{
    harness::{Contestant, Stopwatch, Workload},
    ours::Likes,
    random::Random,
};
use bevy_app::App;
use bevy_ecs::{component::Component, entity::Entity, hierarchy::ChildOf, world::World};
use bevy_relations::{RelationsPlugin, prelude::*};
use std::mem;

#[derive(Component, Clone, Copy)]
struct Node(#[expect(dead_code, reason = "only moved around")] [f32; 4]);

/// How many children a node of the tree has.
const FANOUT: usize = 5;

/// What an app does with this crate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Usage {
    None,
    Plugin,
    /// It has a pair of another relation.
    Pairs,
    /// It reads children as pairs, so that an index follows them.
    Children,
}

fn app(usage: Usage) -> App {
    let mut app = App::new();
    if usage != Usage::None {
        app.add_plugins(RelationsPlugin);
    }
    app.finish();
    app.cleanup();
    let world = app.world_mut();
    if usage == Usage::Pairs {
        let target = world.spawn_empty().id();
        world.spawn(Pair(Likes, target));
    }
    if usage == Usage::Children {
        world.register_relation::<ChildOf>().expect("it is one from the beginning");
    }
    app
}

/// What is measured of a tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Spawn,
    Move,
    Despawn,
}

/// Spawning a tree, node by node with its parent.
pub(super) fn spawn(size: usize) -> Workload {
    workload("plugin_spawn", size, Part::Spawn)
}

/// Giving each leaf of a tree another parent.
pub(super) fn reparent(size: usize) -> Workload {
    workload("plugin_move", size, Part::Move)
}

/// Despawning a tree from its root.
pub(super) fn despawn(size: usize) -> Workload {
    workload("plugin_despawn", size, Part::Despawn)
}

fn workload(id: &'static str, size: usize, part: Part) -> Workload {
    let contestants = vec![
        Contestant::new("bevy", move || tree(size, part, Usage::None)),
        Contestant::new("ours", move || tree(size, part, Usage::Plugin)).goal("bevy", 1.0 / 1.15),
        Contestant::new("ours pairs", move || tree(size, part, Usage::Pairs)).goal("bevy", 1.0 / 1.15),
        Contestant::new("ours index", move || tree(size, part, Usage::Children)),
    ];
    let elements = if part == Part::Move { moves(size).len() } else { size };
    Workload { id, size, elements: elements * repeats(size), contestants }
}

/// Leaves with their new parents, by number.
fn moves(size: usize) -> Vec<(usize, usize)> {
    let inner = (size - 2) / FANOUT + 1;
    let mut random = Random::new(82);
    let leaves = random.permutation(size - inner).into_iter().map(|leaf| inner + leaf);
    leaves.collect::<Vec<_>>().into_iter().map(|leaf| (leaf, random.below(inner))).collect()
}

fn tree(size: usize, part: Part, usage: Usage) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = mem::take(app(usage).world_mut());
    let moves = moves(size);
    let mut nodes: Vec<Entity> = Vec::with_capacity(size);
    move |watch| {
        let mut sum = 0;
        for _ in 0..repeats(size) {
            nodes.clear();
            let mut work: [&mut dyn FnMut(&mut World, &mut Vec<Entity>); 3] = [
                &mut |world, nodes| {
                    nodes.push(world.spawn(Node([1.0; 4])).id());
                    for number in 1..size {
                        let parent = nodes[(number - 1) / FANOUT];
                        nodes.push(world.spawn((Node([1.0; 4]), ChildOf(parent))).id());
                    }
                },
                &mut |world, nodes| {
                    for &(leaf, parent) in &moves {
                        world.entity_mut(nodes[leaf]).insert(ChildOf(nodes[parent]));
                    }
                },
                &mut |world, nodes| {
                    world.despawn(nodes[0]);
                },
            ];
            for (number, work) in work.iter_mut().enumerate() {
                if number == part as usize {
                    watch.time(|| work(&mut world, &mut nodes));
                } else if number != Part::Move as usize {
                    work(&mut world, &mut nodes);
                }
                sum += nodes.iter().filter(|&&node| world.get::<ChildOf>(node).is_some()).count() as u64;
            }
            world.clear_trackers();
        }
        sum
    }
}

/// An update of an app that does nothing.
pub(super) fn frame() -> Workload {
    const FRAMES: usize = 1_000;
    let contestants = [("bevy", Usage::None), ("ours", Usage::Plugin)].map(|(name, usage)| {
        Contestant::new(name, move || {
            let mut app = app(usage);
            move |watch: &mut Stopwatch| {
                watch.time_threads(|| (0..FRAMES).for_each(|_| app.update()));
                0
            }
        })
    });
    Workload { id: "plugin_frame", size: 1, elements: FRAMES, contestants: contestants.into() }
}
