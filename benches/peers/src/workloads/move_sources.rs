//! Giving all sources of a target to another one.

use super::repeats;
use crate::{
    bevy::{Bevy, LikesByHand, LikesInList, LikesInSet},
    flecs::{Flecs, Kind},
    harness::{Contestant, Stopwatch, Workload},
    ours::{DockedTo, Ours},
    random::Random,
    side::{Side, Way},
};

/// How many sources a target has.
const EACH: usize = 100;

/// The target that has the sources, the one that gets them, and the sources.
type Move<S> = fn(&mut S, <S as Side>::Id, <S as Side>::Id, &[<S as Side>::Id]);

/// All sources of every target go to a target that has none.
pub(super) fn all(size: usize) -> Workload {
    let contestants = vec![
        contestant("flecs", size, || Flecs::new(Kind::Exclusive, Way::Direct), one_by_one),
        contestant("flecs DontFragment", size, || Flecs::new(Kind::SparseExclusive, Way::Direct), one_by_one),
        contestant(
            "bevy",
            size,
            || Bevy::<LikesInList>::new(Way::Direct),
            |side, _, to, sources| {
                side.replace_related(to, sources);
            },
        ),
        contestant(
            "bevy set",
            size,
            || Bevy::<LikesInSet>::new(Way::Direct),
            |side, _, to, sources| {
                side.replace_related(to, sources);
            },
        ),
        contestant("by hand", size, || Bevy::<LikesByHand>::new(Way::Direct), one_by_one),
        contestant("ours", size, || Ours::<DockedTo>::new(Way::Direct), one_by_one),
        contestant(
            "ours batch",
            size,
            || Ours::<DockedTo>::new(Way::Direct),
            |side, from, to, _| {
                side.move_sources(from, to);
            },
        ),
    ];
    Workload { id: "move_sources", size, elements: size * repeats(size), contestants }
}

fn one_by_one<S: Side>(side: &mut S, _: S::Id, to: S::Id, sources: &[S::Id]) {
    sources.iter().for_each(|&source| side.insert(source, to));
}

/// The sources of a target lie at random places.
fn contestant<S: Side>(name: &'static str, size: usize, new: fn() -> S, move_all: Move<S>) -> Contestant {
    Contestant::new(name, move || {
        let mut side = new();
        let sources = side.spawn_sources(size);
        let sources: Vec<_> =
            Random::new(11).permutation(size).into_iter().map(|place| sources[place]).collect();
        let mut from = side.spawn_targets(size / EACH);
        let mut to = side.spawn_targets(size / EACH);
        for (of_target, &target) in sources.chunks(EACH).zip(&from) {
            of_target.iter().for_each(|&source| side.insert(source, target));
        }
        move |watch: &mut Stopwatch| {
            let mut checksum = 0;
            for _ in 0..repeats(size) {
                watch.time(|| {
                    for (of_target, (&from, &to)) in sources.chunks(EACH).zip(from.iter().zip(&to)) {
                        move_all(&mut side, from, to, of_target);
                    }
                });
                let count = |targets: &[S::Id]| {
                    let links =
                        sources.iter().enumerate().map(|(place, &source)| (source, targets[place / EACH]));
                    side.count_links(&links.collect::<Vec<_>>()) as u64
                };
                checksum += count(&to) | count(&from) << 32;
                std::mem::swap(&mut from, &mut to);
                side.end_frame();
            }
            checksum
        }
    })
}
