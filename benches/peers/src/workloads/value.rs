//! Values of pairs: read, and written in place.

use super::{TARGETS, sparse_fits};
use crate::{
    bevy::{LikesInList, Naming},
    flecs::{self, FlecsWorld, Id, Kind, wildcard},
    flecs_query::{FlecsQuery, Term},
    harness::{Contestant, Stopwatch, Workload},
    ours,
    random::Random,
};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    query::With,
    system::{Query, SystemState},
    world::World,
};
use bevy_relations::{prelude::*, query::Target, relation::StoredRelation};

/// The price of what a source rents: the value of its pair, or a component beside a relationship without values.
#[derive(Component, Relation, Clone, Copy)]
#[relation(exclusive, component)]
#[repr(C)]
struct Rents([f32; 3]);

impl Rents {
    fn of(source: usize) -> Self {
        Self([(source % 16) as f32, 0.0, 0.0])
    }

    #[inline]
    fn step(&mut self) {
        self.0[0] += 1.0;
    }
}

/// The same, of a relation of which a source may have several pairs: each has one.
#[derive(Relation, Clone, Copy)]
struct Lodges(Rents);

/// A relation type with a price for its value.
trait Priced: Relation {
    fn new(rents: Rents) -> Self;
    fn price(&self) -> f32;
}

impl Priced for Rents {
    fn new(rents: Rents) -> Self {
        rents
    }

    #[inline]
    fn price(&self) -> f32 {
        self.0[0]
    }
}

impl Priced for Lodges {
    fn new(rents: Rents) -> Self {
        Self(rents)
    }

    #[inline]
    fn price(&self) -> f32 {
        self.0.price()
    }
}

/// What a source has paid.
#[derive(Component, Clone, Copy, Default)]
#[repr(transparent)]
struct Paid(f32);

/// Each source has a pair with one of the targets, in no order.
#[derive(Clone, Copy)]
struct Plan {
    sources: usize,
}

/// A world with its sources and targets, pair by pair.
type Linked<W, E> = (W, Vec<(E, E)>);

impl Plan {
    fn repeats(self) -> usize {
        (100_000 / self.sources).max(1)
    }

    fn workload(self, id: &'static str, contestants: Vec<Contestant>) -> Workload {
        Workload { id, size: self.sources, elements: self.sources * self.repeats(), contestants }
    }

    /// The target of each source.
    fn targets(self) -> impl Iterator<Item = usize> {
        Random::new(51).permutation(self.sources).into_iter().map(|place| place % TARGETS)
    }

    fn world(
        self,
        mut world: World,
        link: impl Fn(&mut World, Entity, Rents, Entity),
    ) -> Linked<World, Entity> {
        let targets: Vec<_> = (0..TARGETS).map(|_| world.spawn_empty().id()).collect();
        let sources: Vec<_> = (0..self.sources).map(|_| world.spawn(Paid(0.0)).id()).collect();
        let links: Vec<_> = sources
            .into_iter()
            .zip(self.targets())
            .map(|(source, target)| (source, targets[target]))
            .collect();
        for (number, &(source, target)) in links.iter().enumerate() {
            link(&mut world, source, Rents::of(number), target);
        }
        (world, links)
    }

    fn ours<R: Priced>(self) -> Linked<World, Entity> {
        let mut world = ours::world();
        world.register_relation::<R>().expect("its traits are right");
        self.world(world, |world, source, value, target| {
            world.insert_pair(source, R::new(value), target).expect("both are alive");
        })
    }

    fn ours_get<R: Priced>(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, links) = self.ours::<R>();
        let mut state = SystemState::<Pairs<R>>::new(&mut world);
        let links = self.shuffled(&links);
        self.all(move || {
            let pairs = state.get(&world).expect("the plugin provides what it needs");
            let price = |&(source, target)| pairs.get(source, target).map_or(0.0, Priced::price);
            links.iter().map(price).sum::<f32>() as u64
        })
    }

    fn ours_read<R: Priced>(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, _) = self.ours::<R>();
        let mut query = world.query::<(&mut Paid, Target<R>)>();
        self.all(move || {
            let mut sum = 0.0;
            for (mut paid, target) in query.iter_mut(&mut world) {
                if let Some(value) = target.value() {
                    paid.0 += value.price();
                    sum += value.price();
                }
            }
            sum as u64
        })
    }

    fn ours_write<R: Priced + StoredRelation>(
        self,
        step: impl Fn(&mut R) + 'static,
    ) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, _) = self.ours::<R>();
        let mut state = SystemState::<PairsMut<R>>::new(&mut world);
        self.all(move || {
            let mut pairs = state.get_mut(&mut world).expect("the plugin provides what it needs");
            let mut count = 0;
            pairs.for_each_mut(|_, _, mut value| {
                step(&mut value);
                count += 1;
            });
            count
        })
    }

    fn bevy(self) -> Linked<World, Entity> {
        self.world(World::new(), |world, source, value, target| {
            world.entity_mut(source).insert((value, LikesInList::new(target)));
        })
    }

    fn flecs(self, kind: Kind) -> (FlecsSide, Vec<(Id, Id)>) {
        let mut world = FlecsWorld::new();
        let (paid, rents) = (world.component::<Paid>(), world.component::<Rents>());
        world.set_kind(rents.id, kind);
        let targets: Vec<_> = (0..TARGETS).map(|_| world.entity()).collect();
        let mut links = Vec::new();
        for target in self.targets() {
            let source = world.entity();
            world.set(source, paid, &Paid(0.0));
            links.push((source, targets[target]));
        }
        for (number, &(source, target)) in links.iter().enumerate() {
            world.set(source, rents.to(target), &Rents::of(number));
        }
        (FlecsSide { world, paid, rents }, links)
    }

    /// The pairs in random order.
    fn shuffled<E: Copy>(self, links: &[(E, E)]) -> Vec<(E, E)> {
        let order = Random::new(52).permutation(self.sources);
        order.into_iter().map(|number| links[number]).collect()
    }

    /// Measures runs over all pairs.
    fn all(self, mut run: impl FnMut() -> u64 + 'static) -> impl FnMut(&mut Stopwatch) -> u64 {
        move |watch| watch.time(|| (0..self.repeats()).map(|_| run()).sum())
    }

    fn flecs_get(self, kind: Kind) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (side, links) = self.flecs(kind);
        let links = self.shuffled(&links);
        self.all(move || {
            let rents = |&(source, target)| side.world.get(source, side.rents.to(target));
            links.iter().map(|link| rents(link).map_or(0.0, |rents| rents.price())).sum::<f32>() as u64
        })
    }

    fn flecs_read(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut side, _) = self.flecs(Kind::Exclusive);
        let terms = [Term::write(side.paid), Term::read(side.rents.to(wildcard()))];
        let query = FlecsQuery::cached(&mut side.world, &terms);
        self.all(move || {
            let mut sum = 0.0;
            query.for_each_table(&mut side.world, |table| {
                let paid = table.field::<Paid>(0).expect("the term is not optional");
                let rents = table.field::<Rents>(1).expect("the term is not optional");
                for (paid, rents) in paid.iter().zip(rents) {
                    let price = rents.get().0[0];
                    paid.set(Paid(paid.get().0 + price));
                    sum += price;
                }
            });
            sum as u64
        })
    }

    fn flecs_write(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut side, _) = self.flecs(Kind::Exclusive);
        let terms = [Term::write(side.rents.to(wildcard()))];
        let query = FlecsQuery::cached(&mut side.world, &terms);
        self.all(move || {
            let mut count = 0;
            query.for_each_table(&mut side.world, |table| {
                for cell in table.field::<Rents>(0).expect("the term is not optional") {
                    let mut rents = cell.get();
                    rents.step();
                    cell.set(rents);
                    count += 1;
                }
            });
            count
        })
    }
}

struct FlecsSide {
    world: FlecsWorld,
    paid: flecs::Component<Paid>,
    rents: flecs::Component<Rents>,
}

/// The value of a pair, of which both ends are known.
pub(super) fn get(size: usize) -> Workload {
    let plan = Plan { sources: size };
    let mut contestants = vec![
        Contestant::new("flecs", move || plan.flecs_get(Kind::Exclusive)),
        Contestant::new("bevy", move || {
            let (mut world, links) = plan.bevy();
            let mut state = SystemState::<Query<(&LikesInList, &Rents)>>::new(&mut world);
            let links = plan.shuffled(&links);
            plan.all(move || {
                let query = state.get(&world).expect("queries are always available");
                let price = |&(source, target)| {
                    let found = query.get(source).ok().filter(|(link, _)| link.target() == target);
                    found.map_or(0.0, |(_, rents)| rents.price())
                };
                links.iter().map(price).sum::<f32>() as u64
            })
        }),
        Contestant::new("ours", move || plan.ours_get::<Rents>()),
        Contestant::new("ours several", move || plan.ours_get::<Lodges>()),
        Contestant::new("ours by World", move || {
            let (world, links) = plan.ours::<Rents>();
            let links = plan.shuffled(&links);
            plan.all(move || {
                let rents = |&(source, target)| world.pair_value::<Rents>(source, target);
                links.iter().map(|link| rents(link).map_or(0.0, Priced::price)).sum::<f32>() as u64
            })
        }),
    ];
    if sparse_fits(size, TARGETS) {
        let sparse = move || plan.flecs_get(Kind::SparseExclusive);
        contestants.insert(1, Contestant::new("flecs DontFragment", sparse));
    }
    plan.workload("value_get", contestants)
}

/// The values of all pairs, beside a component of the source that is written.
pub(super) fn read(size: usize) -> Workload {
    let plan = Plan { sources: size };
    let contestants = vec![
        Contestant::new("flecs", move || plan.flecs_read()),
        Contestant::new("bevy", move || {
            let (mut world, _) = plan.bevy();
            let mut query = world.query_filtered::<(&mut Paid, &Rents), With<LikesInList>>();
            plan.all(move || {
                let mut sum = 0.0;
                for (mut paid, rents) in query.iter_mut(&mut world) {
                    paid.0 += rents.0[0];
                    sum += rents.0[0];
                }
                sum as u64
            })
        }),
        Contestant::new("ours", move || plan.ours_read::<Rents>()).goal("flecs", 0.5),
        Contestant::new("ours several", move || plan.ours_read::<Lodges>()),
        Contestant::new("ours PairQuery", move || {
            let (mut world, _) = plan.ours::<Rents>();
            let mut state = SystemState::<PairQuery<Rents, &mut Paid>>::new(&mut world);
            plan.all(move || {
                let mut pairs = state.get_mut(&mut world).expect("the plugin provides what it needs");
                let mut sum = 0.0;
                pairs.for_each(|mut paid, edge, ()| {
                    if let Some(rents) = edge.value() {
                        paid.0 += rents.0[0];
                        sum += rents.0[0];
                    }
                });
                sum as u64
            })
        }),
    ];
    plan.workload("value_read", contestants)
}

/// The values of all pairs, written.
pub(super) fn write(size: usize) -> Workload {
    let plan = Plan { sources: size };
    let contestants = vec![
        Contestant::new("flecs", move || plan.flecs_write()),
        Contestant::new("bevy", move || {
            let (mut world, _) = plan.bevy();
            let mut query = world.query_filtered::<&mut Rents, With<LikesInList>>();
            plan.all(move || {
                let mut count = 0;
                for mut rents in query.iter_mut(&mut world) {
                    rents.step();
                    count += 1;
                }
                count
            })
        }),
        Contestant::new("ours", move || plan.ours_write(Rents::step)).goal("flecs", 0.5),
        Contestant::new("ours several", move || plan.ours_write(|lodges: &mut Lodges| lodges.0.step())),
    ];
    plan.workload("value_write", contestants)
}
