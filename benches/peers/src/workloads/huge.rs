//! Ten million pairs, once: how long it takes, and how much memory the process needs.

use super::TARGETS;
use crate::{
    bevy::{Bevy, LikesByHand, LikesInList},
    flecs::{Flecs, Kind},
    harness::{Contestant, Stopwatch, Workload},
    ours::{DockedTo, Likes, Ours},
    side::{Side, Way},
};

/// A pair of each source with one of a thousand targets.
pub(super) fn insert(size: usize) -> Workload {
    workload("huge_insert", size, |watch, work| watch.time(work))
}

/// The same: at its peak, whatever the process has.
pub(super) fn peak(size: usize) -> Workload {
    workload("huge_peak", size, |watch, work| {
        work();
        watch.peak();
    })
}

type Measure = fn(&mut Stopwatch, &mut dyn FnMut());

fn workload(id: &'static str, size: usize, measure: Measure) -> Workload {
    let contestants = vec![
        link("flecs", size, measure, || Flecs::new(Kind::Exclusive, Way::Direct)),
        link("bevy", size, measure, || Bevy::<LikesInList>::new(Way::Direct)),
        link("by hand", size, measure, || Bevy::<LikesByHand>::new(Way::Direct)),
        link("ours", size, measure, || Ours::<Likes>::new(Way::Direct)),
        link("ours exclusive", size, measure, || Ours::<DockedTo>::new(Way::Direct)),
    ];
    Workload { id, size, elements: size, contestants }
}

/// The targets take turns.
fn link<S: Side>(name: &'static str, size: usize, measure: Measure, new: fn() -> S) -> Contestant {
    Contestant::new(name, move || {
        move |watch: &mut Stopwatch| {
            let mut side = new();
            let targets = side.spawn_targets(TARGETS);
            let sources = side.spawn_sources(size);
            measure(watch, &mut || {
                for (number, &source) in sources.iter().enumerate() {
                    side.insert(source, targets[number % TARGETS]);
                }
            });
            let linked = |&(number, &source): &(usize, &S::Id)| side.has(source, targets[number % TARGETS]);
            sources.iter().enumerate().filter(linked).count() as u64
        }
    })
}
