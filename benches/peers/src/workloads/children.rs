//! All sources of one target after the other, reading a number of each.

use super::sparse_fits;
use crate::{
    bevy::{LikesByHand, LikesInList, LikesInSet, Naming},
    flecs::{self, FlecsWorld, Id, Kind, pair},
    flecs_query::{FlecsQuery, Term},
    harness::{Contestant, Stopwatch, Workload},
    linked::Linked,
    ours::{DockedTo, TEAMS, TeamOf},
    random::Random,
};
use bevy_ecs::{
    component::Component,
    entity::{Entity, EntityHashMap},
    relationship::{Relationship, RelationshipTarget},
    system::{Query, SystemState},
};
use bevy_relations::prelude::*;

/// What is read of each source.
#[derive(Component, Clone, Copy)]
#[repr(transparent)]
struct Number(f32);

impl Number {
    fn of(source: usize) -> Self {
        Self((source % 1_000) as f32)
    }
}

/// How sources are assigned to targets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The sources of a target were spawned one after the other, and linked in that order.
    Grouped,
    /// Sources and targets were brought together at random, in random order.
    Shuffled,
}

/// `per_target` sources for each target.
pub(super) fn of_target(size: usize, per_target: usize, order: Order) -> Workload {
    use Order::{Grouped, Shuffled};
    let (id, goal) = match (per_target, order) {
        (10, Grouped) => ("children_10", 2.0),
        (10, Shuffled) => ("children_10_shuffled", 2.0),
        (1_000, Grouped) => ("children_1000", 0.3),
        (1_000, Shuffled) => ("children_1000_shuffled", 0.06),
        (_, Grouped) => ("children_100000", 0.2),
        (_, Shuffled) => ("children_100000_shuffled", 0.2),
    };
    let links = if order == Grouped { grouped } else { shuffled };
    let plan = Plan(Linked { sources: size, targets: size / per_target.min(size), links });
    let mut contestants = vec![
        Contestant::new("flecs", move || plan.flecs()),
        Contestant::new("flecs query", move || plan.flecs_query(Kind::Exclusive)),
        Contestant::new("flecs group", move || plan.flecs_group()),
        Contestant::new("flecs ordered", move || plan.flecs_ordered(Kind::ChildOf)),
        #[cfg(flecs_parent)]
        Contestant::new("flecs EcsParent", move || plan.flecs_ordered(Kind::Parent)),
        Contestant::new("bevy", move || plan.bevy::<LikesInList>()),
        Contestant::new("bevy set", move || plan.bevy::<LikesInSet>()),
        Contestant::new("by hand", move || plan.by_hand()),
        Contestant::new("ours", move || plan.pair_query::<DockedTo>()).goal("flecs", goal),
        Contestant::new("ours get each", move || plan.sources()),
    ];
    if sparse_fits(size, plan.0.targets) {
        let sparse = Contestant::new("flecs DontFragment", move || plan.flecs_query(Kind::SparseExclusive));
        contestants.insert(2, sparse);
    }
    if plan.0.targets <= TEAMS {
        contestants.push(Contestant::new("ours fragmenting", move || plan.pair_query::<TeamOf>()));
    }
    Workload { id, size, elements: plan.repeats() * size, contestants }
}

fn grouped(linked: Linked) -> Vec<(usize, usize)> {
    (0..linked.sources).map(|source| (source, source * linked.targets / linked.sources)).collect()
}

fn shuffled(linked: Linked) -> Vec<(usize, usize)> {
    let targets = Random::new(31).permutation(linked.sources);
    let order = Random::new(32).permutation(linked.sources);
    order.into_iter().map(|source| (source, targets[source] * linked.targets / linked.sources)).collect()
}

/// Sums of the bits of numbers: they do not depend on the order.
struct Sum(u32);

impl Sum {
    #[inline]
    fn add(&mut self, Number(number): Number) {
        self.0 = self.0.wrapping_add(number.to_bits());
    }
}

#[derive(Clone, Copy)]
struct Plan(Linked);

impl Plan {
    fn repeats(self) -> usize {
        (200_000 / self.0.sources).max(1)
    }

    /// The targets in the order in which they are visited.
    fn visits<Id: Copy>(self, targets: &[Id]) -> Vec<Id> {
        Random::new(33).permutation(targets.len()).into_iter().map(|target| targets[target]).collect()
    }

    /// Measures a visit to each target, as often as needed.
    fn time<Id: Copy>(
        self,
        watch: &mut Stopwatch,
        visits: &[Id],
        mut visit: impl FnMut(Id, &mut Sum),
    ) -> u64 {
        watch.time(|| {
            let mut sum = Sum(0);
            for _ in 0..self.repeats() {
                visits.iter().for_each(|&target| visit(target, &mut sum));
            }
            u64::from(sum.0)
        })
    }

    /// Without a query.
    fn flecs(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = FlecsWorld::new();
        let relation = world.relation(Kind::Exclusive);
        let numbers = world.component::<Number>();
        let (_, targets) = self.0.flecs(&mut world, relation, numbers, Number::of);
        let visits = self.visits(&targets);
        move |watch| {
            self.time(watch, &visits, |target, sum| {
                world.for_each_with(pair(relation, target), numbers, |column| {
                    column.iter().for_each(|number| sum.add(number.get()));
                });
            })
        }
    }

    /// A query in which the target is a variable, which is set before each visit.
    fn flecs_query(self, kind: Kind) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = FlecsWorld::new();
        let relation = world.relation(kind);
        let numbers = world.component::<Number>();
        let (_, targets) = self.0.flecs(&mut world, relation, numbers, Number::of);
        let terms = [Term::to_variable(relation, c"$target"), Term::read(numbers)];
        let query = FlecsQuery::uncached(&mut world, &terms);
        let variable = query.variable(c"target");
        let visits: Vec<Id> = self.visits(&targets);
        move |watch| {
            self.time(watch, &visits, |target, sum| {
                query.for_each_table_with(&mut world, variable, target, |table| {
                    let column = table.field::<Number>(1).expect("the term is not optional");
                    column.iter().for_each(|number| sum.add(number.get()));
                });
            })
        }
    }

    /// A cached query whose tables are in a group for each target.
    fn flecs_group(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = FlecsWorld::new();
        let relation = world.relation(Kind::Exclusive);
        let numbers = world.component::<Number>();
        let (_, targets) = self.0.flecs(&mut world, relation, numbers, Number::of);
        let query = FlecsQuery::grouped(&mut world, &[Term::read(numbers)], relation);
        let visits: Vec<Id> = self.visits(&targets);
        move |watch| {
            self.time(watch, &visits, |target, sum| {
                query.for_each_table_of(&mut world, target, |table| {
                    let column = table.field::<Number>(0).expect("the term is not optional");
                    column.iter().for_each(|number| sum.add(number.get()));
                });
            })
        }
    }

    /// The list of children that Flecs keeps at a parent, in its hierarchy.
    fn flecs_ordered(self, kind: Kind) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = FlecsWorld::new();
        let child_of = world.relation(kind);
        let numbers = world.component::<Number>();
        let link = move |world: &mut FlecsWorld, source, target| {
            #[cfg(flecs_parent)]
            if kind == Kind::Parent {
                let parent = world.parent();
                return world.set(source, parent, &target);
            }
            world.add(source, pair(child_of, target));
        };
        let (_, targets) = self.0.flecs_by(
            &mut world,
            numbers,
            Number::of,
            |world, targets| {
                if kind == Kind::ChildOf {
                    targets.iter().for_each(|&target| world.add(target, flecs::ordered_children()));
                }
            },
            link,
        );
        let visits: Vec<Id> = self.visits(&targets);
        move |watch| {
            self.time(watch, &visits, |target, sum| {
                let children = world.children(target).iter();
                children.filter_map(|&child| world.get(child, numbers)).for_each(|number| sum.add(number));
            })
        }
    }

    /// What Bevy keeps at the target.
    fn bevy<R: Relationship>(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, targets) = self.0.named::<R, _>(Number::of);
        let visits = self.visits(&targets);
        let mut state = SystemState::<(Query<&R::RelationshipTarget>, Query<&Number>)>::new(&mut world);
        move |watch| {
            let (collections, numbers) = state.get(&world).expect("queries are always available");
            self.time(watch, &visits, |target, sum| {
                let Ok(collection) = collections.get(target) else { return };
                numbers.iter_many(collection.iter()).matched().for_each(|&number| sum.add(number));
            })
        }
    }

    /// Nothing is kept at the target: all sources are sorted into a map first.
    fn by_hand(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, targets) = self.0.named::<LikesByHand, _>(Number::of);
        let visits = self.visits(&targets);
        let mut state = SystemState::<Query<(&LikesByHand, &Number)>>::new(&mut world);
        let mut map: EntityHashMap<Vec<Number>> = EntityHashMap::default();
        move |watch| {
            let sources = state.get(&world).expect("queries are always available");
            watch.time(|| {
                let mut sum = Sum(0);
                for _ in 0..self.repeats() {
                    map.values_mut().for_each(Vec::clear);
                    for (link, &number) in &sources {
                        map.entry(link.target()).or_default().push(number);
                    }
                    for target in &visits {
                        map.get(target).into_iter().flatten().for_each(|&number| sum.add(number));
                    }
                }
                u64::from(sum.0)
            })
        }
    }

    fn pair_query<R: Relation + Default>(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, targets) = self.0.ours::<R, _>(Number::of);
        let visits = self.visits(&targets);
        let mut state = SystemState::<PairQuery<R, &Number>>::new(&mut world);
        move |watch| {
            let mut query = state.get(&world).expect("the plugin provides what the parameter needs");
            self.time(watch, &visits, |target: Entity, sum| {
                query.of_target(target).for_each(|&number, _, ()| sum.add(number));
            })
        }
    }

    fn sources(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, targets) = self.0.ours::<DockedTo, _>(Number::of);
        let visits = self.visits(&targets);
        let mut state = SystemState::<(Pairs<DockedTo>, Query<&Number>)>::new(&mut world);
        move |watch| {
            let (docked, numbers) = state.get(&world).expect("the plugin provides what the parameters need");
            self.time(watch, &visits, |target, sum| {
                numbers.iter_many(docked.sources(target)).matched().for_each(|&number| sum.add(number));
            })
        }
    }
}
