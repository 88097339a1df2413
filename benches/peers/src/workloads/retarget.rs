//! Moving an exclusive pair from target to target.

use super::{TARGETS, repeats, shuffled_sources};
use crate::{
    bevy::{Bevy, LikesByHand, LikesInList, LikesInSet},
    flecs::{Flecs, Kind},
    harness::{Contestant, Stopwatch, Workload},
    ours::{DockedTo, MemberOf, Ours, Rents, TeamOf},
    random::Random,
    side::{Side, Way},
};

/// How many assignments of targets take turns.
const ASSIGNMENTS: usize = 4;

/// Every source, in random order, gets another one of a thousand targets.
pub(super) fn among_many(size: usize) -> Workload {
    let at_least = if size < 100_000 { 3.5 } else { 6.0 };
    let contestants = vec![
        retarget("flecs", size, || Flecs::new(Kind::Exclusive, Way::Direct)),
        retarget("flecs DontFragment", size, || Flecs::new(Kind::SparseExclusive, Way::Direct)),
        retarget("bevy", size, || Bevy::<LikesInSet>::new(Way::Direct)),
        retarget("bevy list", size, || Bevy::<LikesInList>::new(Way::Direct)),
        retarget("bevy batch", size, || Bevy::<LikesInSet>::new(Way::Batch)),
        retarget("by hand", size, || Bevy::<LikesByHand>::new(Way::Direct)),
        retarget("ours", size, || Ours::<DockedTo>::new(Way::Direct))
            .goal("flecs", at_least)
            .goal("bevy", 2.5),
        retarget("ours batch", size, || Ours::<DockedTo>::new(Way::Batch)),
        retarget("ours table", size, || Ours::<MemberOf>::new(Way::Direct)),
        retarget("ours fragmenting", size, || Ours::<TeamOf>::new(Way::Direct)),
    ];
    Workload { id: "retarget", size, elements: size * repeats(size), contestants }
}

/// The same for pairs with a value.
pub(super) fn values(size: usize) -> Workload {
    let contestants = vec![
        retarget("flecs", size, || Flecs::with_values(Kind::Exclusive, Way::Direct)),
        retarget("ours", size, || Ours::<Rents>::new(Way::Direct)).goal("flecs", 1.0),
        retarget("ours batch", size, || Ours::<Rents>::new(Way::Batch)),
    ];
    Workload { id: "exclusive_values", size, elements: size * repeats(size), contestants }
}

fn retarget<S: Side>(name: &'static str, size: usize, new: fn() -> S) -> Contestant {
    Contestant::new(name, move || {
        let mut side = new();
        let sources = shuffled_sources(&mut side, size, 1);
        let targets = side.spawn_targets(TARGETS);
        let mut random = Random::new(2);
        let assignments: Vec<Vec<_>> = (0..ASSIGNMENTS)
            .map(|_| random.choices(size, TARGETS))
            .map(|choices| {
                sources.iter().copied().zip(choices.into_iter().map(|index| targets[index])).collect()
            })
            .collect();
        side.insert_all(&assignments[ASSIGNMENTS - 1]);
        let mut turn = 0;
        move |watch: &mut Stopwatch| {
            let mut checksum = 0;
            for _ in 0..repeats(size) {
                let before = &assignments[(turn + ASSIGNMENTS - 1) % ASSIGNMENTS];
                let links = &assignments[turn];
                turn = (turn + 1) % ASSIGNMENTS;
                watch.time(|| side.insert_all(links));
                let moved = links.iter().zip(before).filter(|(new, old)| new != old);
                let stale = moved.filter(|(_, old)| side.has(old.0, old.1)).count() as u64;
                checksum += side.count_links(links) as u64 | stale << 32;
                side.end_frame();
            }
            checksum
        }
    })
}
