//! Taking random sources from a hub: what one costs must not depend on how large the hub is.

use crate::{
    bevy::{Bevy, LikesByHand, LikesInList, LikesInSet},
    flecs::{Flecs, Kind},
    harness::{Contestant, Stopwatch, Workload},
    ours::{Likes, Ours},
    random::Random,
    side::{Side, Way},
};

/// The size of the small hubs.
const SMALL: usize = 10;

/// How many sources leave in a round.
fn leavers(size: usize) -> usize {
    (size / 10).min(5_000)
}

/// What becomes of a source that leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Unlinked,
    Despawned,
}

/// Of `size` sources of one hub, some lose their pair, one by one.
pub(super) fn unlink(size: usize) -> Workload {
    let mut workload = workload("unlink_hub", size, Fate::Unlinked);
    // As many entities in both worlds: hubs that are not needed just stand by.
    let small = leave("ours hubs of 10", size, SMALL, Fate::Unlinked, || Ours::<Likes>::new(Way::Direct));
    workload.contestants.push(small);
    workload
}

/// Of `size` sources of one hub, some are despawned, one by one.
pub(super) fn despawn(size: usize) -> Workload {
    workload("despawn_hub", size, Fate::Despawned)
}

fn workload(id: &'static str, size: usize, fate: Fate) -> Workload {
    let contestants = vec![
        leave("flecs", size, size, fate, || Flecs::new(Kind::Fragmenting, Way::Direct)),
        leave("flecs DontFragment", size, size, fate, || Flecs::new(Kind::Sparse, Way::Direct)),
        leave("bevy", size, size, fate, || Bevy::<LikesInList>::new(Way::Direct)),
        leave("bevy set", size, size, fate, || Bevy::<LikesInSet>::new(Way::Direct)),
        leave("by hand", size, size, fate, || Bevy::<LikesByHand>::new(Way::Direct)),
        leave("ours", size, size, fate, || Ours::<Likes>::new(Way::Direct))
            .goal("ours hubs of 10", 1.0 / 3.0),
    ];
    Workload { id, size, elements: leavers(size), contestants }
}

fn leave<S: Side>(name: &'static str, size: usize, hub: usize, fate: Fate, new: fn() -> S) -> Contestant {
    Contestant::new(name, move || {
        let mut side = new();
        let hubs = side.spawn_targets(size / SMALL);
        let sources = side.spawn_sources(size);
        let mut links: Vec<_> =
            sources.iter().enumerate().map(|(index, &source)| (source, hubs[index / hub])).collect();
        for index in Random::new(7).permutation(size) {
            side.insert(links[index].0, links[index].1);
        }
        let mut random = Random::new(8);
        move |watch: &mut Stopwatch| {
            let mut leavers = random.permutation(size);
            leavers.truncate(self::leavers(size));
            let leaving: Vec<_> = leavers.iter().map(|&index| links[index]).collect();
            watch.time(|| match fate {
                Fate::Unlinked => leaving.iter().for_each(|&(source, hub)| side.remove(source, hub)),
                Fate::Despawned => leaving.iter().for_each(|&(source, _)| side.despawn(source)),
            });
            let alive = sources_alive(&side, &leaving);
            if fate == Fate::Despawned {
                leavers.iter().for_each(|&index| links[index].0 = side.spawn_source());
            }
            let left = side.count_links(&links) as u64;
            leavers.iter().for_each(|&index| side.insert(links[index].0, links[index].1));
            side.end_frame();
            left | alive << 32
        }
    })
}

fn sources_alive<S: Side>(side: &S, links: &[(S::Id, S::Id)]) -> u64 {
    links.iter().filter(|&&(source, _)| side.is_alive(source)).count() as u64
}
