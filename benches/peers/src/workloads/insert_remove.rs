//! Inserting and removing one tag pair on each of many existing entities.

use super::{TARGETS, repeats, round_robin, sparse_fits};
use crate::{
    bevy::{Bevy, LikesByHand, LikesInList, LikesInSet},
    flecs::{Flecs, Kind},
    harness::{Contestant, Stopwatch, Workload},
    ours::{Likes, Ours},
    side::{Link, Side, Way},
};

/// All sources share one target.
pub(super) fn one_target(size: usize) -> Workload {
    existing_targets("insert_remove", size, 1)
}

/// The sources are spread over up to a thousand targets.
pub(super) fn many_targets(size: usize) -> Workload {
    existing_targets("insert_remove_spread", size, TARGETS)
}

fn existing_targets(id: &'static str, size: usize, targets: usize) -> Workload {
    let contestants = vec![
        toggle("flecs", size, targets, || Flecs::new(Kind::Fragmenting, Way::Direct)),
        toggle("flecs DontFragment", size, targets, || Flecs::new(Kind::Sparse, Way::Direct)),
        toggle("bevy", size, targets, || Bevy::<LikesInSet>::new(Way::Direct)),
        toggle("bevy batch", size, targets, || Bevy::<LikesInSet>::new(Way::Batch)),
        toggle("by hand", size, targets, || Bevy::<LikesByHand>::new(Way::Direct)),
        toggle("ours", size, targets, || Ours::<Likes>::new(Way::Direct))
            .goal("flecs", 3.0)
            .goal("bevy", 5.0),
        toggle("ours batch", size, targets, || Ours::<Likes>::new(Way::Batch)).goal("flecs", 8.0),
    ];
    Workload { id, size, elements: size * repeats(size), contestants }
}

/// Each source has a target of its own, which was never a target before.
pub(super) fn fresh_targets(size: usize) -> Workload {
    let at_least = if size < 100_000 { 25.0 } else { 50.0 };
    let mut contestants = vec![
        fresh("flecs", size, || Flecs::new(Kind::Fragmenting, Way::Direct)),
        fresh("bevy", size, || Bevy::<LikesInList>::new(Way::Direct)),
        fresh("bevy set", size, || Bevy::<LikesInSet>::new(Way::Direct)),
        fresh("by hand", size, || Bevy::<LikesByHand>::new(Way::Direct)),
        fresh("ours", size, || Ours::<Likes>::new(Way::Direct)).goal("flecs", at_least),
        fresh("ours batch", size, || Ours::<Likes>::new(Way::Batch)),
    ];
    if sparse_fits(size, size) {
        contestants.insert(1, fresh("flecs DontFragment", size, || Flecs::new(Kind::Sparse, Way::Direct)));
    }
    Workload { id: "insert_remove_fresh", size, elements: size, contestants }
}

fn toggle<S: Side>(name: &'static str, size: usize, targets: usize, new: fn() -> S) -> Contestant {
    Contestant::new(name, move || {
        let mut side = new();
        let sources = side.spawn_sources(size);
        let targets = side.spawn_targets(targets);
        let links = round_robin(&sources, &targets);
        move |watch: &mut Stopwatch| {
            (0..repeats(size)).map(|_| insert_and_remove(&mut side, &links, watch)).sum::<u64>()
        }
    })
}

fn fresh<S: Side>(name: &'static str, size: usize, new: fn() -> S) -> Contestant {
    Contestant::new(name, move || {
        let mut side = new();
        let sources = side.spawn_sources(size);
        move |watch: &mut Stopwatch| {
            let targets = side.spawn_targets(size);
            let checksum = insert_and_remove(&mut side, &round_robin(&sources, &targets), watch);
            targets.into_iter().for_each(|target| side.despawn(target));
            checksum
        }
    })
}

/// Times both halves; counts the links in between, and those that are left.
pub(super) fn insert_and_remove<S: Side>(side: &mut S, links: &[Link<S::Id>], watch: &mut Stopwatch) -> u64 {
    watch.time(|| side.insert_all(links));
    let linked = side.count_links(links) as u64;
    watch.time(|| side.remove_all(links));
    let left = side.count_links(links) as u64;
    side.end_frame();
    linked | left << 32
}
