//! Constant-time lookups, the way systems do them, in random order.

use super::{TARGETS, shuffled_sources};
use crate::{
    bevy::{Bevy, LikesInSet},
    flecs::{Flecs, Kind},
    harness::{Contestant, Stopwatch, Workload},
    ours::{Likes, Ours},
    random::Random,
    side::{Link, Lookup, Way},
};
use bevy_ecs::{component::Component, entity::Entity, world::World};

/// `has(R, T)`: half of the questions are about a pair that the entity has if it has any.
pub(super) fn pair(size: usize) -> Workload {
    workload(Question::Pair, size, 3.0)
}

/// `has(R, *)`.
pub(super) fn any(size: usize) -> Workload {
    workload(Question::Any, size, 4.0)
}

/// The first target.
pub(super) fn first_target(size: usize) -> Workload {
    workload(Question::FirstTarget, size, 3.0)
}

/// How many targets an entity has in [`all_targets`].
const EACH: usize = 8;

/// All targets of entities that have [`EACH`], of a thousand.
pub(super) fn all_targets(size: usize) -> Workload {
    let contestants = vec![
        collect("flecs", size, || Flecs::new(Kind::Fragmenting, Way::Direct)),
        collect("flecs type list", size, || Flecs::new(Kind::Fragmenting, Way::Direct).listing()),
        collect("flecs DontFragment", size, || Flecs::new(Kind::Sparse, Way::Direct)),
        Contestant::new("by hand", move || lists(size)),
        collect("ours", size, || Ours::<Likes>::new(Way::Direct)),
    ];
    Workload { id: "all_targets", size, elements: repeats(size) * size, contestants }
}

/// Entity and target, by number: targets take turns.
fn round_robin(size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size * EACH).map(|nth| (nth / EACH, nth % TARGETS))
}

fn collect<S: Lookup>(name: &'static str, size: usize, new: fn() -> S) -> Contestant {
    Contestant::new(name, move || {
        let mut side = new();
        let targets = side.spawn_targets(TARGETS);
        let sources = side.spawn_sources(size);
        for (source, target) in round_robin(size) {
            side.insert(sources[source], targets[target]);
        }
        let first = S::index(targets[0]) * EACH as u64 * (repeats(size) * size) as u64;
        let order = Random::new(4).permutation(size);
        let sources: Vec<_> = order.into_iter().map(|source| sources[source]).collect();
        move |watch: &mut Stopwatch| {
            watch.time(|| (0..repeats(size)).map(|_| side.sum_targets(&sources)).sum::<u64>()) - first
        }
    })
}

/// The targets in a component.
#[derive(Component)]
struct Liked(Vec<Entity>);

fn lists(size: usize) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = World::new();
    let targets: Vec<_> = (0..TARGETS).map(|_| world.spawn_empty().id()).collect();
    let mut lists: Vec<_> = (0..size).map(|_| Vec::new()).collect();
    for (source, target) in round_robin(size) {
        lists[source].push(targets[target]);
    }
    let sources: Vec<_> = lists.into_iter().map(|list| world.spawn(Liked(list)).id()).collect();
    let first = u64::from(targets[0].index_u32());
    let order = Random::new(4).permutation(size);
    let sources: Vec<_> = order.into_iter().map(|source| sources[source]).collect();
    let mut query = world.query::<&Liked>();
    move |watch| {
        watch.time(|| {
            let query = query.query(&world);
            let mut sum = 0;
            for _ in 0..repeats(size) {
                for Liked(list) in query.iter_many(&sources).matched() {
                    sum += list.iter().map(|target| u64::from(target.index_u32()) - first).sum::<u64>();
                }
            }
            sum
        })
    }
}

#[derive(Clone, Copy)]
enum Question {
    Pair,
    Any,
    FirstTarget,
}

fn workload(question: Question, size: usize, at_least: f64) -> Workload {
    let id = match question {
        Question::Pair => "has_pair",
        Question::Any => "has_any",
        Question::FirstTarget => "first_target",
    };
    let mut contestants = vec![
        lookup("flecs", question, size, || Flecs::new(Kind::Fragmenting, Way::Direct)),
        lookup("flecs DontFragment", question, size, || Flecs::new(Kind::Sparse, Way::Direct)),
        lookup("bevy", question, size, || Bevy::<LikesInSet>::new(Way::Direct)),
        lookup("ours", question, size, || Ours::<Likes>::new(Way::Direct)).goal("flecs", at_least),
    ];
    // In newer cores its second storage looks at one target after the other: 50 microseconds for each question.
    if matches!(question, Question::Any) && size > 1_000 {
        contestants.retain(|contestant| contestant.name() != "flecs DontFragment");
    }
    Workload { id, size, elements: repeats(size) * size, contestants }
}

fn repeats(size: usize) -> usize {
    (100_000 / size).max(1)
}

/// Two thirds of the entities have one of a thousand targets each.
fn lookup<S: Lookup>(name: &'static str, question: Question, size: usize, new: fn() -> S) -> Contestant {
    Contestant::new(name, move || {
        let mut side = new();
        let sources = shuffled_sources(&mut side, size, 3);
        let targets = side.spawn_targets(TARGETS);
        let mut random = Random::new(4);
        let own = random.choices(size, TARGETS);
        let other = random.choices(size, TARGETS);
        let mut probes: Vec<Link<S::Id>> = Vec::with_capacity(size);
        for (index, &source) in sources.iter().enumerate() {
            if index % 3 != 0 {
                side.insert(source, targets[own[index]]);
            }
            let asks_for_another = matches!(question, Question::Pair) && random.below(2) == 0;
            probes.push((source, targets[if asks_for_another { other[index] } else { own[index] }]));
        }
        // Linked in one random order, looked up in another.
        let order = random.permutation(size);
        let probes: Vec<_> = order.into_iter().map(|index| probes[index]).collect();
        move |watch: &mut Stopwatch| {
            let found = watch.time(|| {
                let mut found = 0;
                for _ in 0..repeats(size) {
                    found += match question {
                        Question::Pair => side.count_pairs(&probes),
                        Question::Any => side.count_related(&probes),
                        Question::FirstTarget => side.count_first_targets(&probes),
                    };
                }
                found
            });
            found as u64
        }
    })
}
