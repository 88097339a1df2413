//! All sources of one target after the other, reading a number of each.

use crate::{
    bevy::{LikedByList, LikesInList},
    flecs::{FlecsWorld, Kind, pair},
    harness::{Contestant, Stopwatch, Workload},
    ours::{self, DockedTo},
    random::Random,
};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    relationship::RelationshipTarget,
    system::{Query, SystemState},
    world::World,
};
use bevy_relations::prelude::*;

/// What is read of each source.
#[derive(Component, Clone, Copy)]
struct Number(f32);

/// Who is whose source.
#[derive(Clone, Copy)]
pub(super) enum Order {
    /// The sources of a target were spawned one after the other, and linked in that order.
    Grouped,
    /// Sources and targets were brought together at random, in random order.
    Shuffled,
}

/// `per_target` sources for each target.
pub(super) fn of_target(
    id: &'static str,
    size: usize,
    per_target: usize,
    order: Order,
    goal: f64,
) -> Workload {
    let per_target = per_target.min(size);
    let plan = Plan { size, per_target, order };
    let contestants = vec![
        Contestant::new("flecs", move || plan.flecs()),
        Contestant::new("bevy", move || plan.bevy()),
        Contestant::new("ours", move || plan.ours()).goal("flecs", goal),
    ];
    Workload { id, size, elements: plan.repeats() * size, contestants }
}

#[derive(Clone, Copy)]
struct Plan {
    size: usize,
    per_target: usize,
    order: Order,
}

impl Plan {
    fn repeats(self) -> usize {
        (200_000 / self.size).max(1)
    }

    fn targets(self) -> usize {
        self.size / self.per_target
    }

    /// Source and target, in the order in which they are linked.
    fn links(self) -> Vec<(usize, usize)> {
        match self.order {
            Order::Grouped => (0..self.size).map(|source| (source, source / self.per_target)).collect(),
            Order::Shuffled => {
                let targets = Random::new(31).permutation(self.size);
                let order = Random::new(32).permutation(self.size);
                order.into_iter().map(|source| (source, targets[source] / self.per_target)).collect()
            }
        }
    }

    /// The order in which targets are visited.
    fn visits(self) -> Vec<usize> {
        Random::new(33).permutation(self.targets())
    }

    fn number(index: usize) -> f32 {
        (index % 1_000) as f32
    }

    fn flecs(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = FlecsWorld::new();
        let relation = world.relation(Kind::Exclusive);
        let numbers = world.component::<f32>();
        let targets: Vec<_> = (0..self.targets()).map(|_| world.entity()).collect();
        let sources: Vec<_> = (0..self.size)
            .map(|index| {
                let source = world.entity();
                world.set(source, numbers, &Self::number(index));
                source
            })
            .collect();
        for (source, target) in self.links() {
            world.add(sources[source], pair(relation, targets[target]));
        }
        let visits: Vec<_> =
            self.visits().into_iter().map(|target| pair(relation, targets[target])).collect();
        move |watch| {
            watch.time(|| {
                let mut sum = 0u32;
                for _ in 0..self.repeats() {
                    for &pair in &visits {
                        world.for_each_with(pair, numbers, |column| {
                            for number in column {
                                sum = sum.wrapping_add(number.get().to_bits());
                            }
                        });
                    }
                }
                u64::from(sum)
            })
        }
    }

    /// Entities with their numbers, and targets, of a Bevy world.
    fn spawn(self, world: &mut World) -> (Vec<Entity>, Vec<Entity>) {
        let targets = (0..self.targets()).map(|_| world.spawn_empty().id()).collect();
        let numbers = (0..self.size).map(|index| Number(Self::number(index)));
        (targets, numbers.map(|number| world.spawn(number).id()).collect())
    }

    fn bevy(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = World::new();
        let (targets, sources) = self.spawn(&mut world);
        for (source, target) in self.links() {
            world.entity_mut(sources[source]).insert(LikesInList::of(targets[target]));
        }
        let visits: Vec<_> = self.visits().into_iter().map(|target| targets[target]).collect();
        let mut state = SystemState::<(Query<&LikedByList>, Query<&Number>)>::new(&mut world);
        move |watch| {
            let (lists, numbers) = state.get(&world).expect("queries are always available");
            watch.time(|| {
                let mut sum = 0u32;
                for _ in 0..self.repeats() {
                    for &target in &visits {
                        let Ok(list) = lists.get(target) else { continue };
                        for number in numbers.iter_many(list.iter()) {
                            sum = sum.wrapping_add(number.0.to_bits());
                        }
                    }
                }
                u64::from(sum)
            })
        }
    }

    fn ours(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = ours::world();
        let (targets, sources) = self.spawn(&mut world);
        for (source, target) in self.links() {
            world.insert_pair(sources[source], DockedTo, targets[target]).expect("both are alive");
        }
        let visits: Vec<_> = self.visits().into_iter().map(|target| targets[target]).collect();
        let mut state = SystemState::<PairQuery<DockedTo, &Number>>::new(&mut world);
        move |watch| {
            let mut query = state.get(&world).expect("the plugin provides what the parameter needs");
            watch.time(|| {
                let mut sum = 0u32;
                for _ in 0..self.repeats() {
                    for &target in &visits {
                        query.of_target(target).for_each(|number, _, ()| {
                            sum = sum.wrapping_add(number.0.to_bits());
                        });
                    }
                }
                u64::from(sum)
            })
        }
    }
}
