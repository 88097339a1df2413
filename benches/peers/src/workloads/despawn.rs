//! Despawning entities that others refer to.

use super::{repeats, round_robin, shuffled_sources};
use crate::{
    bevy::{Bevy, LikesInList, LikesInSet},
    flecs::{Flecs, Kind},
    harness::{Contestant, Stopwatch, Workload},
    ours::{self, Likes, MountedOn, Ours},
    random::Random,
    side::{Side, Way},
};
use bevy_ecs::{hierarchy::ChildOf, world::World};

/// How many children a node of the tree has.
const FANOUT: usize = 5;

/// A tree whose nodes are despawned with their parent, from its root.
pub(super) fn tree(size: usize) -> Workload {
    let contestants = vec![
        fell("flecs", size, || Flecs::new(Kind::ChildOf, Way::Direct)),
        fell("flecs parent last", size, || Flecs::new(Kind::ChildOfLast, Way::Direct)),
        #[cfg(flecs_parent)]
        fell("flecs EcsParent", size, || Flecs::new(Kind::Parent, Way::Direct)),
        fell("bevy", size, || Bevy::<ChildOf>::new(Way::Direct)),
        demanding(
            size,
            fell("ours", size, || Ours::<MountedOn>::new(Way::Direct)),
            &[("flecs", 10.0), ("bevy", 1.2)],
        ),
    ];
    Workload { id: "despawn_tree", size, elements: size * repeats(size), contestants }
}

/// Bevy's own despawn of a `ChildOf` tree, in a plain world and in one with our plugin.
pub(super) fn child_of(size: usize) -> Workload {
    let contestants = vec![
        fell("bevy", size, || Bevy::<ChildOf>::in_world(World::new(), Way::Direct)),
        fell("bevy our plugin", size, || Bevy::<ChildOf>::in_world(ours::world(), Way::Direct))
            .goal("bevy", 0.9),
    ];
    Workload { id: "despawn_child_of", size, elements: size * repeats(size), contestants }
}

/// The target of `size` pairs, which go while their sources stay.
pub(super) fn target(size: usize) -> Workload {
    let contestants = vec![
        forsake("flecs", size, || Flecs::new(Kind::Fragmenting, Way::Direct)),
        forsake("bevy", size, || Bevy::<LikesInSet>::new(Way::Direct)),
        forsake("bevy list", size, || Bevy::<LikesInList>::new(Way::Direct)),
        demanding(size, forsake("ours", size, || Ours::<Likes>::new(Way::Direct)), &[("flecs", 2.0)]),
    ];
    Workload { id: "despawn_target", size, elements: size * repeats(size), contestants }
}

/// Sources that had a pair once: what a despawn costs for what is over.
pub(super) fn former(size: usize) -> Workload {
    let contestants = vec![
        outlive("flecs", size, || Flecs::new(Kind::Fragmenting, Way::Direct)),
        // To take sources at random from a list of all of them would take longer than all else.
        outlive("bevy", size, || Bevy::<LikesInSet>::new(Way::Direct)),
        outlive("ours", size, || Ours::<Likes>::new(Way::Direct)),
    ];
    Workload { id: "despawn_former", size, elements: size * repeats(size), contestants }
}

/// The goals are set for large numbers of entities.
fn demanding(size: usize, contestant: Contestant, goals: &[(&'static str, f64)]) -> Contestant {
    let goals = if size < 100_000 { &[] } else { goals };
    goals.iter().fold(contestant, |contestant, &(rival, at_least)| contestant.goal(rival, at_least))
}

/// The order in which the nodes of a tree are spawned: level by level, at random within a level.
fn level_order(size: usize) -> Vec<usize> {
    let mut random = Random::new(5);
    let mut order = vec![0];
    let (mut first, mut width) = (1, FANOUT);
    while first < size {
        width = width.min(size - first);
        order.extend(random.permutation(width).into_iter().map(|index| first + index));
        first += width;
        width *= FANOUT;
    }
    order
}

/// Grows a tree of `size` nodes and despawns it from its root.
fn fell<S: Side>(name: &'static str, size: usize, new: fn() -> S) -> Contestant {
    Contestant::new(name, move || {
        let mut side = new();
        let order = level_order(size);
        let mut nodes = Vec::new();
        move |watch: &mut Stopwatch| {
            let mut alive = 0;
            for _ in 0..repeats(size) {
                nodes.clear();
                nodes.resize(size, side.spawn_source());
                for &node in &order[1..] {
                    nodes[node] = side.spawn_child(nodes[(node - 1) / FANOUT]);
                }
                watch.time(|| side.despawn_tree(nodes[0]));
                alive += nodes.iter().filter(|&&node| side.is_alive(node)).count() as u64;
                side.end_frame();
            }
            alive
        }
    })
}

/// Links every source to a target and takes the pair away, then despawns the sources in another order: what moves to
/// another table with its pair lies in the order of the pairs, and things do not die in that.
fn outlive<S: Side>(name: &'static str, size: usize, new: fn() -> S) -> Contestant {
    Contestant::new(name, move || {
        let mut side = new();
        let target = side.spawn_target();
        move |watch: &mut Stopwatch| {
            let mut alive = 0;
            for _ in 0..repeats(size) {
                let sources = shuffled_sources(&mut side, size, 6);
                let links = round_robin(&sources, &[target]);
                side.insert_all(&links);
                side.remove_all(&links);
                let order: Vec<_> =
                    Random::new(7).permutation(size).into_iter().map(|index| sources[index]).collect();
                watch.time(|| order.iter().for_each(|&source| side.despawn(source)));
                alive += sources.iter().filter(|&&source| side.is_alive(source)).count() as u64;
                side.end_frame();
            }
            alive
        }
    })
}

/// Links every source to a new target, then despawns the target.
fn forsake<S: Side>(name: &'static str, size: usize, new: fn() -> S) -> Contestant {
    Contestant::new(name, move || {
        let mut side = new();
        let sources = shuffled_sources(&mut side, size, 6);
        move |watch: &mut Stopwatch| {
            let mut checksum = 0;
            for _ in 0..repeats(size) {
                let target = side.spawn_target();
                let links = round_robin(&sources, &[target]);
                side.insert_all(&links);
                let linked = side.count_links(&links) as u64;
                watch.time(|| side.despawn(target));
                assert!(!side.is_alive(target), "the target is still there");
                let alive = sources.iter().filter(|&&source| side.is_alive(source)).count() as u64;
                checksum += linked | alive << 32;
                side.end_frame();
            }
            checksum
        }
    })
}
