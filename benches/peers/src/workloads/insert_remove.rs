//! Inserting and removing one tag pair on each of many existing entities.

use super::{TARGETS, repeats, round_robin, sparse_fits};
use crate::{
    bevy::{Bevy, LikesByHand, LikesInList, LikesInSet},
    flecs::{Flecs, Kind},
    harness::{Contestant, Stopwatch, Workload},
    ours::{Allied, Knows, Likes, MemberOf, Orbits, Ours, Owes, TeamOf, Trusts},
    side::{Link, Side, Way, noticed},
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
    let mut contestants = vec![
        toggle("flecs", size, targets, || Flecs::new(Kind::Fragmenting, Way::Direct)),
        toggle("flecs DontFragment", size, targets, || Flecs::new(Kind::Sparse, Way::Direct)),
        toggle("bevy", size, targets, || Bevy::<LikesInSet>::new(Way::Direct)),
        toggle("bevy batch", size, targets, || Bevy::<LikesInSet>::new(Way::Batch)),
        toggle("by hand", size, targets, || Bevy::<LikesByHand>::new(Way::Direct)),
        toggle("ours", size, targets, || Ours::<Likes>::new(Way::Direct))
            .goal("flecs", 3.0)
            .goal("bevy", 5.0),
        toggle("ours batch", size, targets, || Ours::<Likes>::new(Way::Batch)).goal("flecs", 8.0),
        toggle("ours table", size, targets, || Ours::<MemberOf>::new(Way::Direct)),
        toggle("ours table batch", size, targets, || Ours::<MemberOf>::new(Way::Batch)),
        toggle("ours fragmenting", size, targets, || Ours::<TeamOf>::new(Way::Direct)),
    ];
    // Taking a source out of a list takes the longer, the longer the list.
    if size / targets.min(size) <= 100 {
        let list = toggle("bevy list", size, targets, || Bevy::<LikesInList>::new(Way::Direct));
        contestants.insert(3, list);
    }
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

/// Pairs of another relation are observed.
pub(super) fn observed_elsewhere(size: usize) -> Workload {
    let contestants = vec![
        toggle("flecs", size, 1, || Flecs::new(Kind::Fragmenting, Way::Direct).observed_elsewhere()),
        toggle("bevy", size, 1, || Bevy::<LikesInSet>::new(Way::Direct).observed::<LikesInList>(1)),
        toggle("ours", size, 1, || Ours::<Likes>::new(Way::Direct).observed::<Knows>(1)),
        toggle("ours batch", size, 1, || Ours::<Likes>::new(Way::Batch).observed::<Knows>(1)),
    ];
    Workload { id: "insert_remove_observed_other", size, elements: size * repeats(size), contestants }
}

/// One observer sees each insertion.
pub(super) fn observed_once(size: usize) -> Workload {
    observed::<1>("insert_remove_observed", size)
}

/// Ten observers see each insertion.
pub(super) fn observed_ten_times(size: usize) -> Workload {
    observed::<10>("insert_remove_observed_10", size)
}

fn observed<const N: usize>(id: &'static str, size: usize) -> Workload {
    let contestants = vec![
        noticed_toggle("flecs", size, N, || Flecs::new(Kind::Fragmenting, Way::Direct).observed(N)),
        noticed_toggle("bevy", size, N, || Bevy::<LikesInSet>::new(Way::Direct).observed::<LikesInSet>(N)),
        noticed_toggle("bevy batch", size, N, || {
            Bevy::<LikesInSet>::new(Way::Batch).observed::<LikesInSet>(N)
        }),
        noticed_toggle("ours", size, N, || Ours::<Likes>::new(Way::Direct).observed::<Likes>(N)),
        noticed_toggle("ours batch", size, N, || Ours::<Likes>::new(Way::Batch).observed::<Likes>(N)),
    ];
    Workload { id, size, elements: size * repeats(size), contestants }
}

/// Pairs carry a value.
pub(super) fn values(size: usize) -> Workload {
    let contestants = vec![
        toggle("flecs", size, 1, || Flecs::with_values(Kind::Fragmenting, Way::Direct)),
        toggle("ours", size, 1, || Ours::<Owes>::new(Way::Direct)),
        toggle("ours batch", size, 1, || Ours::<Owes>::new(Way::Batch)),
    ];
    Workload { id: "insert_remove_value", size, elements: size * repeats(size), contestants }
}

/// Each pair comes with its other direction.
pub(super) fn symmetric(size: usize) -> Workload {
    let contestants = vec![
        toggle("flecs", size, TARGETS, || Flecs::new(Kind::Symmetric, Way::Direct)),
        toggle("ours", size, TARGETS, || Ours::<Allied>::new(Way::Direct)).goal("flecs", 1.0),
        toggle("ours batch", size, TARGETS, || Ours::<Allied>::new(Way::Batch)),
    ];
    Workload { id: "insert_remove_symmetric", size, elements: size * repeats(size), contestants }
}

/// Each pair comes with one of another relation, which stays when it is removed.
pub(super) fn companions(size: usize) -> Workload {
    let contestants = vec![
        toggle("flecs", size, 1, || Flecs::new(Kind::With, Way::Direct)),
        toggle("ours", size, 1, || Ours::<Trusts>::new(Way::Direct)).goal("flecs", 1.0),
        toggle("ours batch", size, 1, || Ours::<Trusts>::new(Way::Batch)),
    ];
    Workload { id: "insert_remove_with", size, elements: size * repeats(size), contestants }
}

/// The source must have a component. Neither rival has such a rule.
pub(super) fn constrained(size: usize) -> Workload {
    let contestants = vec![
        toggle("flecs", size, 1, || Flecs::new(Kind::Fragmenting, Way::Direct)),
        toggle("bevy", size, 1, || Bevy::<LikesInSet>::new(Way::Direct)),
        toggle("ours", size, 1, || Ours::<Orbits>::new(Way::Direct)).goal("flecs", 1.0),
        toggle("ours batch", size, 1, || Ours::<Orbits>::new(Way::Batch)),
    ];
    Workload { id: "insert_remove_ends", size, elements: size * repeats(size), contestants }
}

/// The relation has a number for which the record of an entity has no bit.
pub(super) fn beyond(size: usize) -> Workload {
    let contestants = vec![
        toggle("flecs", size, 1, || Flecs::new(Kind::Fragmenting, Way::Direct)),
        toggle("ours", size, 1, || Ours::<Likes>::among(70, Way::Direct)),
        toggle("ours batch", size, 1, || Ours::<Likes>::among(70, Way::Batch)),
    ];
    Workload { id: "insert_remove_70", size, elements: size * repeats(size), contestants }
}

/// When pairs were inserted is kept, as Bevy keeps it for its components anyway.
pub(super) fn ticks(size: usize) -> Workload {
    let contestants = vec![
        toggle("flecs", size, 1, || Flecs::new(Kind::Fragmenting, Way::Direct)),
        toggle("bevy", size, 1, || Bevy::<LikesInSet>::new(Way::Direct)),
        toggle("by hand", size, 1, || Bevy::<LikesByHand>::new(Way::Direct)),
        toggle("ours", size, 1, || Ours::<Likes>::with_ticks(Way::Direct)),
        toggle("ours batch", size, 1, || Ours::<Likes>::with_ticks(Way::Batch)),
    ];
    Workload { id: "insert_remove_ticks", size, elements: size * repeats(size), contestants }
}

/// [`toggle`], of which `observers` see each insertion.
fn noticed_toggle<S: Side>(
    name: &'static str,
    size: usize,
    observers: usize,
    new: impl Fn() -> S + 'static,
) -> Contestant {
    Contestant::new(name, move || {
        let mut side = new();
        let sources = side.spawn_sources(size);
        let targets = side.spawn_targets(1);
        let links = round_robin(&sources, &targets);
        move |watch: &mut Stopwatch| {
            let before = noticed();
            let checksum =
                (0..repeats(size)).map(|_| insert_and_remove(&mut side, &links, watch)).sum::<u64>();
            assert_eq!(noticed() - before, size * repeats(size) * observers, "observers were not run");
            checksum
        }
    })
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
