//! The same as `insert_remove`, deferred: the way systems do it.

use super::{repeats, round_robin};
use crate::{
    bevy::{Bevy, LikesByHand, LikesInSet},
    flecs::{Flecs, Kind},
    harness::{Contestant, Stopwatch, Workload},
    ours::{Likes, Ours},
    side::{Side, Way},
    workloads::insert_remove::insert_and_remove,
};

/// All sources share one target; operations are queued, then applied.
pub(super) fn one_target(size: usize) -> Workload {
    let contestants = vec![
        deferred("flecs", size, || Flecs::new(Kind::Fragmenting, Way::Commands)),
        deferred("flecs DontFragment", size, || Flecs::new(Kind::Sparse, Way::Commands)),
        deferred("bevy", size, || Bevy::<LikesInSet>::new(Way::Commands)),
        deferred("by hand", size, || Bevy::<LikesByHand>::new(Way::Commands)),
        deferred("ours", size, || Ours::<Likes>::new(Way::Commands)).goal("flecs", 2.5),
        deferred("ours batch", size, || Ours::<Likes>::new(Way::CommandBatch)).goal("flecs", 8.0),
    ];
    Workload { id: "commands", size, elements: size * repeats(size), contestants }
}

fn deferred<S: Side>(name: &'static str, size: usize, new: fn() -> S) -> Contestant {
    Contestant::new(name, move || {
        let mut side = new();
        let sources = side.spawn_sources(size);
        let links = round_robin(&sources, &[side.spawn_target()]);
        move |watch: &mut Stopwatch| {
            (0..repeats(size)).map(|_| insert_and_remove(&mut side, &links, watch)).sum::<u64>()
        }
    })
}
