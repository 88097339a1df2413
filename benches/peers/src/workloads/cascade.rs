//! Following a hierarchy from the roots down: the global matrix of each node is its parent's times its own.

use super::Scale;
#[cfg(flecs_parent)]
use crate::transforms::FlecsParents;
use crate::{
    harness::{Contestant, RoundSums, Stopwatch, Workload},
    random::Random,
    transforms::{BevyTransforms, FlecsTransforms, Transforms},
};

/// The shape of a tree, as a parent for each node that comes before it.
#[derive(Clone, Copy)]
struct Shape {
    size: usize,
    parent: fn(usize) -> Option<usize>,
}

/// The tree of Flecs's own benchmark: 1,000 roots, each with five children, that have five, that have two.
fn flecs_tree(node: usize) -> Option<usize> {
    match node {
        0..1_000 => None,
        1_000..6_000 => Some((node - 1_000) / 5),
        6_000..31_000 => Some(1_000 + (node - 6_000) / 5),
        _ => Some(6_000 + (node - 31_000) / 2),
    }
}

/// One tree, whose nodes have five children each.
fn five(node: usize) -> Option<usize> {
    Some(node.checked_sub(1)? / 5)
}

/// One tree, whose nodes have seven children each.
fn seven(node: usize) -> Option<usize> {
    Some(node.checked_sub(1)? / 7)
}

/// All workloads of this module.
pub(super) fn all(scale: Scale) -> Vec<Workload> {
    let flecs = Shape { size: 81_000, parent: flecs_tree };
    let hundred = Shape { size: 100_000, parent: five };
    let million = Shape { size: 1_000_000, parent: seven };
    if scale == Scale::Quick {
        let small = Shape { size: 2_000, parent: five };
        return vec![
            cascade("cascade", small, false, [1.0, 1.0]),
            cascade("cascade_shuffled", small, true, [1.0, 1.0]),
            churn(small),
            parallel(small),
        ];
    }
    vec![
        cascade("cascade", flecs, false, [7.0, 1.8]),
        cascade("cascade", hundred, false, [7.0, 1.8]),
        cascade("cascade", million, false, [5.0, 1.8]),
        cascade("cascade_shuffled", hundred, true, [5.0, 4.0]),
        cascade("cascade_shuffled", million, true, [3.5, 5.0]),
        churn(flecs),
        churn(million),
        parallel(flecs),
        parallel(million),
    ]
}

/// Grows a tree; if shuffled, its nodes lie in memory in random order.
fn grow<T: Transforms>(forest: &mut T, shape: Shape, shuffled: bool) -> Vec<T::Id> {
    let mut nodes: Vec<T::Id> = Vec::with_capacity(shape.size);
    if !shuffled {
        for node in 0..shape.size {
            let parent = (shape.parent)(node).map(|parent| nodes[parent]);
            nodes.push(forest.spawn(node, parent));
        }
        return nodes;
    }
    let mut spawned: Vec<(usize, T::Id)> = Vec::with_capacity(shape.size);
    for node in Random::new(41).permutation(shape.size) {
        spawned.push((node, forest.spawn_loose(node)));
    }
    let order: Vec<_> = spawned.iter().map(|&(node, _)| node).collect();
    spawned.sort_unstable_by_key(|&(node, _)| node);
    nodes.extend(spawned.into_iter().map(|(_, id)| id));
    for node in order {
        if let Some(parent) = (shape.parent)(node) {
            forest.set_parent(nodes[node], nodes[parent]);
        }
    }
    nodes
}

fn cascade(id: &'static str, shape: Shape, shuffled: bool, [flecs, recursion]: [f64; 2]) -> Workload {
    let contestants = vec![
        still("flecs", shape, shuffled, FlecsTransforms::new),
        #[cfg(flecs_parent)]
        still("flecs EcsParent", shape, shuffled, FlecsParents::new),
        still("bevy", shape, shuffled, BevyTransforms::recursion),
        still("ours ChildOf", shape, shuffled, BevyTransforms::child_of_cascade),
        still("ours", shape, shuffled, BevyTransforms::cascade).goal("flecs", flecs).goal("bevy", recursion),
    ];
    Workload { id, size: shape.size, elements: shape.size, contestants }
}

/// Nothing changes between runs.
fn still<T: Transforms>(name: &'static str, shape: Shape, shuffled: bool, new: fn() -> T) -> Contestant {
    Contestant::new(name, move || {
        let mut forest = new();
        grow(&mut forest, shape, shuffled);
        move |watch: &mut Stopwatch| {
            watch.time(|| forest.propagate());
            forest.checksum()
        }
    })
}

/// In every round, nodes are despawned, moved and spawned, each a hundredth of all, before the matrices are computed;
/// all of that is measured.
fn churn(shape: Shape) -> Workload {
    let sums = RoundSums::default();
    let contestants = vec![
        moving("flecs", shape, &sums, FlecsTransforms::new),
        #[cfg(flecs_parent)]
        moving("flecs EcsParent", shape, &sums, FlecsParents::new),
        moving("bevy", shape, &sums, BevyTransforms::recursion),
        moving("ours", shape, &sums, BevyTransforms::cascade).goal("flecs", 3.0),
    ];
    Workload { id: "cascade_churn", size: shape.size, elements: shape.size, contestants }
}

fn moving<T: Transforms>(name: &'static str, shape: Shape, sums: &RoundSums, new: fn() -> T) -> Contestant {
    let sums = sums.clone();
    Contestant::new(name, move || {
        let mut sums = sums.start(name);
        let mut forest = new();
        let nodes = grow(&mut forest, shape, false);
        let first_leaf = (shape.parent)(shape.size - 1).expect("the last node is no root") + 1;
        let (inner, mut leaves) = (nodes[..first_leaf].to_vec(), nodes[first_leaf..].to_vec());
        let mut random = Random::new(42);
        move |watch: &mut Stopwatch| {
            let some = shape.size / 100;
            let gone: Vec<_> = (0..some).map(|_| leaves.swap_remove(random.below(leaves.len()))).collect();
            let moves: Vec<_> = (0..some)
                .map(|_| (leaves[random.below(leaves.len())], inner[random.below(inner.len())]))
                .collect();
            let parents: Vec<_> = (0..some).map(|_| inner[random.below(inner.len())]).collect();
            watch.time(|| {
                gone.iter().for_each(|&node| forest.despawn(node));
                moves.iter().for_each(|&(node, parent)| forest.set_parent(node, parent));
                let spawned = parents.iter().enumerate();
                leaves.extend(spawned.map(|(number, &parent)| forest.spawn(number, Some(parent))));
                forest.propagate();
            });
            sums.check(forest.checksum())
        }
    })
}

/// By the clock on the wall, on several threads and on one.
fn parallel(shape: Shape) -> Workload {
    let contestants = vec![
        by_the_clock("ours one thread", shape, BevyTransforms::cascade),
        by_the_clock("ours", shape, BevyTransforms::par_cascade).goal("ours one thread", 1.5),
    ];
    Workload { id: "cascade_parallel", size: shape.size, elements: shape.size, contestants }
}

fn by_the_clock<T: Transforms>(name: &'static str, shape: Shape, new: fn() -> T) -> Contestant {
    Contestant::new(name, move || {
        let mut forest = new();
        grow(&mut forest, shape, false);
        move |watch: &mut Stopwatch| {
            watch.time_threads(|| forest.propagate());
            forest.checksum()
        }
    })
}
