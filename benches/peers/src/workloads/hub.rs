//! Unlinking random sources of a hub: the cost of one must not depend on how large the hub is.

use crate::{
    harness::{Contestant, Stopwatch, Workload},
    ours::{Likes, Ours},
    random::Random,
    side::{Side, Way},
};

/// The size of the small hubs.
const SMALL: usize = 10;

/// `size` sources, all of one hub, or of hubs of ten; a tenth of them leaves, one by one.
pub(super) fn unlink(size: usize) -> Workload {
    let contestants = vec![
        leave("ours, hubs of 10", size, SMALL),
        leave("ours, one hub", size, size).goal("ours, hubs of 10", 1.0 / 3.0),
    ];
    Workload { id: "unlink_from_hub", size, elements: leavers(size), contestants }
}

fn leavers(size: usize) -> usize {
    size / 10
}

fn leave(name: &'static str, size: usize, hub: usize) -> Contestant {
    Contestant::new(name, move || {
        let mut side = Ours::<Likes>::new(Way::Direct);
        // As many entities in both worlds: those that are no hub just stand by.
        let hubs = side.spawn_targets(size / SMALL);
        let sources = side.spawn_sources(size);
        let links: Vec<_> =
            sources.iter().enumerate().map(|(index, &source)| (source, hubs[index / hub])).collect();
        let order = Random::new(7).permutation(size);
        for &index in &order {
            side.insert(links[index].0, links[index].1);
        }
        let mut random = Random::new(8);
        move |watch: &mut Stopwatch| {
            let leavers: Vec<_> =
                random.permutation(size).into_iter().take(leavers(size)).map(|index| links[index]).collect();
            watch.time(|| leavers.iter().for_each(|&(source, hub)| side.remove(source, hub)));
            let left = side.count_links(&links) as u64;
            side.insert_all(&leavers);
            left
        }
    })
}
