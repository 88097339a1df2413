//! Bytes per pair, counted by the allocators.

use super::sparse_fits;
use crate::{
    bevy::{Bevy, COMPONENTS, LikesByHand, LikesInList, LikesInSet},
    counting::count_flecs,
    flecs::{Flecs, Kind},
    harness::{Contestant, Stopwatch, Workload},
    ours::{self, DockedTo, Knows, Likes, Ours, OwnedBy},
    random::Random,
    side::{Link, Side, SpawnLinked, Way},
};
use bevy_ecs::{entity::Entity, world::World};
use bevy_relations::prelude::*;

/// Pairs of existing entities with random ones of so many targets; or, if these are as many, with one each.
pub(super) fn pairs(size: usize, targets: usize) -> Workload {
    let plan = Plan { size, targets };
    let contestants = vec![
        flecs("flecs", plan, Kind::Fragmenting),
        flecs("flecs exclusive", plan, Kind::Exclusive),
        flecs("flecs DontFragment", plan, Kind::Sparse),
        flecs("flecs DontFragment exclusive", plan, Kind::SparseExclusive),
        linking("bevy", plan, || Bevy::<LikesInList>::new(Way::Direct)),
        linking("bevy set", plan, || Bevy::<LikesInSet>::new(Way::Direct)),
        linking("by hand", plan, || Bevy::<LikesByHand>::new(Way::Direct)),
        linking("ours", plan, || Ours::<Likes>::new(Way::Direct)),
        linking("ours exclusive", plan, || Ours::<DockedTo>::new(Way::Direct)),
    ];
    let id = if targets == size { "memory_lone" } else { "memory" };
    let keep = |contestant: &Contestant| {
        sparse_fits(size, targets) || !contestant.name().starts_with("flecs DontFragment")
    };
    Workload { id, size, elements: size, contestants: contestants.into_iter().filter(keep).collect() }
}

/// Pairs of entities that have pairs of another relation already: what makes a participant of an entity is paid for.
pub(super) fn second_relation(size: usize) -> Workload {
    let plan = Plan { size, targets: 1_000 };
    let contestants = vec![
        Contestant::new("ours", move || second::<Likes, Knows>(plan)).at_most(40.0),
        Contestant::new("ours exclusive", move || second::<DockedTo, OwnedBy>(plan)).at_most(32.0),
    ];
    Workload { id: "memory_second", size, elements: size, contestants }
}

/// Entities that are spawned with two components and a pair, a hundred per target.
pub(super) fn spawned(size: usize) -> Workload {
    let plan = Plan { size, targets: size / 100 };
    let contestants = vec![
        Contestant::new("flecs", move || {
            count_flecs();
            spawning(plan, || Flecs::new(Kind::Exclusive, Way::Direct))
        }),
        Contestant::new("bevy", move || spawning(plan, || Bevy::<LikesInList>::new(Way::Direct))),
        Contestant::new("bevy set", move || spawning(plan, || Bevy::<LikesInSet>::new(Way::Direct))),
        Contestant::new("by hand", move || spawning(plan, || Bevy::<LikesByHand>::new(Way::Direct))),
        Contestant::new("ours", move || spawning(plan, || Ours::<DockedTo>::new(Way::Direct))),
    ];
    Workload { id: "memory_spawn", size, elements: size, contestants }
}

/// What is left of pairs, each with a target of its own, when all are gone and memory was asked back.
pub(super) fn churn(size: usize) -> Workload {
    let plan = Plan { size, targets: size };
    let contestants = vec![
        Contestant::new("flecs", move || {
            count_flecs();
            removing(plan, || Flecs::new(Kind::Exclusive, Way::Direct))
        }),
        Contestant::new("bevy", move || removing(plan, || Bevy::<LikesInList>::new(Way::Direct))),
        Contestant::new("by hand", move || removing(plan, || Bevy::<LikesByHand>::new(Way::Direct))),
        Contestant::new("ours", move || removing(plan, || Ours::<DockedTo>::new(Way::Direct))),
    ];
    Workload { id: "memory_churn", size, elements: size, contestants }
}

fn removing<S: Side>(plan: Plan, new: impl Fn() -> S) -> impl FnMut(&mut Stopwatch) -> u64 {
    move |watch| {
        let mut side = new();
        let links = plan.links(&mut side);
        watch.weigh(|| {
            side.insert_all(&links);
            side.remove_all(&links);
            side.end_frame();
            side.tidy();
        });
        side.count_links(&links) as u64
    }
}

#[derive(Clone, Copy)]
struct Plan {
    size: usize,
    targets: usize,
}

impl Plan {
    fn choices(self) -> Vec<usize> {
        let mut random = Random::new(9);
        if self.targets == self.size {
            random.permutation(self.size)
        } else {
            random.choices(self.size, self.targets)
        }
    }

    fn links<S: Side>(self, side: &mut S) -> Vec<Link<S::Id>> {
        let sources = side.spawn_sources(self.size);
        let targets = side.spawn_targets(self.targets);
        sources.into_iter().zip(self.choices().into_iter().map(|choice| targets[choice])).collect()
    }
}

fn flecs(name: &'static str, plan: Plan, kind: Kind) -> Contestant {
    linking(name, plan, move || {
        count_flecs();
        Flecs::new(kind, Way::Direct)
    })
}

/// By how much a new world grows when pairs are inserted.
fn linking<S: Side>(name: &'static str, plan: Plan, new: impl Fn() -> S + Copy + 'static) -> Contestant {
    Contestant::new(name, move || {
        move |watch: &mut Stopwatch| {
            let mut side = new();
            let links = plan.links(&mut side);
            watch.weigh(|| side.insert_all(&links));
            side.count_links(&links) as u64
        }
    })
}

fn second<First, Second>(plan: Plan) -> impl FnMut(&mut Stopwatch) -> u64
where
    First: Relation + Default,
    Second: Relation + Default,
{
    move |watch| {
        let mut world = ours::world();
        let sources: Vec<_> = (0..plan.size).map(|_| world.spawn(COMPONENTS).id()).collect();
        let targets: Vec<_> = (0..plan.targets).map(|_| world.spawn_empty().id()).collect();
        let choices = plan.choices().into_iter().map(|choice| targets[choice]);
        let links: Vec<_> = sources.into_iter().zip(choices).collect();
        // What the first use of a relation costs is not counted.
        insert::<Second>(&mut world, &links[..1]);
        insert::<First>(&mut world, &links);
        watch.weigh(|| insert::<Second>(&mut world, &links));
        let pairs = world.pairs::<Second>();
        links.iter().filter(|&&(source, target)| pairs.has(source, target)).count() as u64
    }
}

fn insert<R: Relation + Default>(world: &mut World, links: &[Link<Entity>]) {
    for &(source, target) in links {
        world.insert_pair(source, R::default(), target).expect("both entities are alive");
    }
}

fn spawning<S: SpawnLinked>(plan: Plan, new: impl Fn() -> S) -> impl FnMut(&mut Stopwatch) -> u64 {
    move |watch| {
        let mut side = new();
        let targets = side.spawn_targets(plan.targets);
        let targets: Vec<_> = plan.choices().into_iter().map(|choice| targets[choice]).collect();
        let mut spawned = Vec::with_capacity(plan.size);
        watch.weigh(|| side.spawn_linked(&targets, &mut spawned));
        let links: Vec<_> = spawned.into_iter().zip(targets).collect();
        side.count_links(&links) as u64
    }
}
