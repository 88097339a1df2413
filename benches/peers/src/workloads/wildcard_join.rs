//! `(R, *)` joined with a component of the source that is written.

use crate::{
    bevy::LikesInList,
    flecs::{FlecsWorld, Kind, pair},
    flecs_query::{FlecsQuery, Term},
    harness::{Contestant, Stopwatch, Workload},
    ours::{self, DockedTo},
    random::Random,
};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    relationship::Relationship,
    system::{Query, SystemState},
    world::World,
};
use bevy_relations::prelude::*;

/// What is written.
#[derive(Component, Clone, Copy)]
#[repr(C)]
struct Place([f32; 3]);

/// Every entity has one of `targets` targets. Its place is moved, and the indices of all targets are added up.
pub(super) fn among(id: &'static str, size: usize, targets: usize, goal: f64) -> Workload {
    let plan = Plan { size, targets: targets.min(size / 10) };
    let contestants = vec![
        Contestant::new("flecs", move || plan.flecs(FlecsQuery::cached)),
        Contestant::new("flecs uncached", move || plan.flecs(FlecsQuery::uncached)),
        Contestant::new("bevy", move || plan.bevy()),
        Contestant::new("ours", move || plan.ours()).goal("flecs", goal),
    ];
    Workload { id, size, elements: plan.repeats() * size, contestants }
}

#[derive(Clone, Copy)]
struct Plan {
    size: usize,
    targets: usize,
}

impl Plan {
    fn repeats(self) -> usize {
        (100_000 / self.size).max(1)
    }

    /// The target of each source.
    fn links(self) -> Vec<usize> {
        let order = Random::new(41).permutation(self.size);
        order.into_iter().map(|place| place % self.targets).collect()
    }

    /// Whether all were visited, `repeats` times: the indices are different ones in each world.
    fn checksum(self, count: usize, sum: u32, once: u32) -> u64 {
        let right = sum == once.wrapping_mul(self.repeats() as u32);
        count as u64 * 2 + u64::from(right)
    }

    fn flecs(self, query: fn(&mut FlecsWorld, &[Term]) -> FlecsQuery) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = FlecsWorld::new();
        let relation = world.relation(Kind::Exclusive);
        let places = world.component::<Place>();
        let targets: Vec<_> = (0..self.targets).map(|_| world.entity()).collect();
        let mut once = 0u32;
        for target in self.links() {
            let source = world.entity();
            world.set(source, places, &Place([0.0; 3]));
            world.add(source, pair(relation, targets[target]));
            once = once.wrapping_add(targets[target].0 as u32);
        }
        let query = query(&mut world, &[Term::write(places), Term::any_target(relation)]);
        move |watch| {
            let (mut count, mut sum) = (0, 0u32);
            watch.time(|| {
                for _ in 0..self.repeats() {
                    query.for_each_table(&mut world, |table| {
                        let target = table.target_index(1);
                        for place in table.field::<Place>(0).expect("not optional") {
                            let Place([x, y, z]) = place.get();
                            place.set(Place([x + 1.0, y, z]));
                            sum = sum.wrapping_add(target);
                            count += 1;
                        }
                    });
                }
            });
            self.checksum(count, sum, once)
        }
    }

    /// Spawns and links, and adds up the indices of all targets.
    fn link(self, world: &mut World, mut link: impl FnMut(&mut World, Entity, Entity)) -> u32 {
        let targets: Vec<_> = (0..self.targets).map(|_| world.spawn_empty().id()).collect();
        let indices = self.links().into_iter().map(|target| {
            let source = world.spawn(Place([0.0; 3])).id();
            link(world, source, targets[target]);
            targets[target].index_u32()
        });
        indices.fold(0, u32::wrapping_add)
    }

    fn bevy(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = World::new();
        let once = self.link(&mut world, |world, source, target| {
            world.entity_mut(source).insert(LikesInList::of(target));
        });
        let mut state = SystemState::<Query<(&LikesInList, &mut Place)>>::new(&mut world);
        move |watch| {
            let mut query = state.get_mut(&mut world).expect("queries are always available");
            let (mut count, mut sum) = (0, 0u32);
            watch.time(|| {
                for _ in 0..self.repeats() {
                    for (link, mut place) in &mut query {
                        place.0[0] += 1.0;
                        sum = sum.wrapping_add(link.get().index_u32());
                        count += 1;
                    }
                }
            });
            self.checksum(count, sum, once)
        }
    }

    fn ours(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = ours::world();
        let once = self.link(&mut world, |world, source, target| {
            world.insert_pair(source, DockedTo, target).expect("both are alive");
        });
        let mut state = SystemState::<PairQuery<DockedTo, &mut Place>>::new(&mut world);
        move |watch| {
            let mut query = state.get_mut(&mut world).expect("the plugin provides what the parameter needs");
            let (mut count, mut sum) = (0, 0u32);
            watch.time(|| {
                for _ in 0..self.repeats() {
                    query.for_each(|mut place, edge, ()| {
                        place.0[0] += 1.0;
                        sum = sum.wrapping_add(edge.target.index_u32());
                        count += 1;
                    });
                }
            });
            self.checksum(count, sum, once)
        }
    }
}
