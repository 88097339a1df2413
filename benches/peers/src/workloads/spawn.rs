//! Spawning entities that have two components and a pair from the start.

use super::{TARGETS, repeats};
use crate::{
    bevy::{Bevy, LikesByHand, LikesInList, LikesInSet},
    flecs::{Flecs, Kind},
    harness::{Contestant, Stopwatch, Workload},
    ours::{Likes, Ours},
    side::{SpawnLinked, Way},
};

/// One call per entity.
pub(super) fn one_by_one(size: usize) -> Workload {
    let mut workload = workload("spawn", size, Way::Direct, [3.0, 1.1]);
    workload
        .contestants
        .insert(1, spawn("flecs table", size, || Flecs::new(Kind::Fragmenting, Way::Direct).tabled()));
    workload
}

/// One deferred command per entity.
pub(super) fn commands(size: usize) -> Workload {
    workload("spawn_commands", size, Way::Commands, [3.0, 1.0])
}

/// One call for all of them, where there is one that takes targets. Flecs' bulk call takes one target at a
/// time, so it is called once per target, with the sources sorted by target for it.
pub(super) fn batch(size: usize) -> Workload {
    let mut workload = workload("spawn_batch", size, Way::Batch, [5.0, 2.0]);
    workload.contestants.push(spawn("flecs bulk", size, || Flecs::new(Kind::Fragmenting, Way::Batch)));
    workload
}

fn workload(id: &'static str, size: usize, way: Way, [flecs, bevy]: [f64; 2]) -> Workload {
    let one_by_one = if way == Way::Batch { Way::Direct } else { way };
    let contestants = vec![
        spawn("flecs", size, move || Flecs::new(Kind::Fragmenting, one_by_one)),
        spawn("flecs DontFragment", size, move || Flecs::new(Kind::Sparse, one_by_one)),
        spawn("bevy", size, move || Bevy::<LikesInList>::new(way)),
        spawn("bevy set", size, move || Bevy::<LikesInSet>::new(way)),
        spawn("by hand", size, move || Bevy::<LikesByHand>::new(way)),
        spawn("ours", size, move || Ours::<Likes>::new(way)).goal("flecs", flecs).goal("bevy", bevy),
    ];
    let mut workload = Workload { id, size, elements: size * repeats(size), contestants };
    if way != Way::Batch {
        workload.contestants.push(spawn("ours required", size, move || Ours::<Likes>::required(way)));
    }
    workload
}

/// A hundred sources per target, up to a thousand targets; despawned, newest first, between rounds.
fn spawn<S: SpawnLinked>(name: &'static str, size: usize, new: impl Fn() -> S + 'static) -> Contestant {
    Contestant::new(name, move || {
        let mut side = new();
        let count = TARGETS.min(size / 100);
        let targets = side.spawn_targets(count);
        let plan: Vec<_> = (0..size).map(|index| targets[index * count / size]).collect();
        let mut spawned = Vec::with_capacity(size);
        move |watch: &mut Stopwatch| {
            let mut checksum = 0;
            for _ in 0..repeats(size) {
                watch.time(|| side.spawn_linked(&plan, &mut spawned));
                let links: Vec<_> = spawned.iter().copied().zip(plan.iter().copied()).collect();
                checksum += side.count_links(&links) as u64;
                spawned.drain(..).rev().for_each(|entity| side.despawn(entity));
                side.end_frame();
            }
            checksum
        }
    })
}
