//! Spawning entities that have two components and a pair from the start.

use super::{TARGETS, repeats};
use crate::{
    bevy::{Bevy, LikesInList, LikesInSet},
    flecs::{Flecs, Kind},
    harness::{Contestant, Stopwatch, Workload},
    ours::{Likes, Ours},
    side::{SpawnLinked, Way},
};

/// One call per entity.
pub(super) fn one_by_one(size: usize) -> Workload {
    let contestants = vec![
        spawn("flecs", size, || Flecs::new(Kind::Fragmenting, Way::Direct)),
        spawn("bevy", size, || Bevy::<LikesInList>::new(Way::Direct)),
        spawn("bevy set", size, || Bevy::<LikesInSet>::new(Way::Direct)),
        spawn("ours", size, || Ours::<Likes>::new(Way::Direct)).goal("flecs", 3.0).goal("bevy", 1.1),
    ];
    Workload { id: "spawn", size, elements: size * repeats(size), contestants }
}

/// One call for all of them, where there is one that takes targets. Flecs' bulk call takes one target at a
/// time, so it is called once per target, with the sources sorted by target for it.
pub(super) fn batch(size: usize) -> Workload {
    let contestants = vec![
        spawn("flecs", size, || Flecs::new(Kind::Fragmenting, Way::Direct)),
        spawn("flecs bulk", size, || Flecs::new(Kind::Fragmenting, Way::Batch)),
        spawn("bevy", size, || Bevy::<LikesInList>::new(Way::Batch)),
        spawn("bevy set", size, || Bevy::<LikesInSet>::new(Way::Batch)),
        spawn("ours", size, || Ours::<Likes>::new(Way::Batch)).goal("flecs", 5.0).goal("bevy", 2.0),
    ];
    Workload { id: "spawn_batch", size, elements: size * repeats(size), contestants }
}

/// A hundred sources per target, up to a thousand targets; despawned, newest first, between rounds.
fn spawn<S: SpawnLinked>(name: &'static str, size: usize, new: fn() -> S) -> Contestant {
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
