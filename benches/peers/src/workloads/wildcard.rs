//! `(R, *)` joined with a component of the source that is written.

use super::sparse_fits;
use crate::{
    bevy::{LikesInList, Naming},
    flecs::{FlecsWorld, Kind},
    flecs_query::{FlecsQuery, Term},
    harness::{Contestant, Stopwatch, Workload},
    linked::Linked,
    ours::{DockedTo, Likes, MemberOf, TEAMS, TeamOf, compile, id_of},
    random::Random,
};
use bevy_ecs::{
    change_detection::DetectChangesMut,
    component::Component,
    entity::Entity,
    system::{Query, SystemState},
};
use bevy_relations::{prelude::*, query::Target};

/// What is written.
#[derive(Component, Clone, Copy)]
#[repr(C)]
struct Place([f32; 3]);

impl Place {
    fn of(_: usize) -> Self {
        Self([0.0; 3])
    }

    #[inline]
    fn step(&mut self) {
        self.0[0] += 1.0;
    }
}

/// How many targets there are.
#[derive(Clone, Copy)]
pub(super) enum Targets {
    Number(usize),
    /// One for ten sources.
    Tenth,
}

/// Every entity has one of the targets. Its place is moved, and the indices of all targets are added up.
pub(super) fn among(size: usize, targets: Targets) -> Workload {
    let (id, targets, goal) = match targets {
        Targets::Number(1) => ("wildcard_1", 1, 0.25),
        Targets::Number(10) => ("wildcard_10", 10, 0.25),
        Targets::Number(targets) => ("wildcard_1000", targets, 0.5),
        Targets::Tenth => ("wildcard_tenth", size / 10, 2.3),
    };
    let plan = Plan(Linked { sources: size, targets, links });
    let mut contestants = vec![
        Contestant::new("flecs", move || plan.flecs(Kind::Exclusive, FlecsQuery::cached)),
        Contestant::new("flecs uncached", move || plan.flecs(Kind::Exclusive, FlecsQuery::uncached)),
        Contestant::new("bevy", move || plan.bevy()),
        Contestant::new("ours", move || plan.term::<DockedTo, true>()).goal("flecs", goal),
        Contestant::new("ours unticked", move || plan.term::<DockedTo, false>()).goal("flecs", goal),
        Contestant::new("ours many targets", move || plan.term::<Likes, true>()).goal("flecs", goal),
        Contestant::new("ours table", move || plan.term::<MemberOf, true>()),
        Contestant::new("ours PairQuery", move || plan.pair_query()).goal("flecs", goal),
        Contestant::new("ours expression", move || plan.expression()),
        Contestant::new("ours slices", move || plan.tables::<MemberOf, true>()),
    ];
    if sparse_fits(size, targets) {
        let sparse = move || plan.flecs(Kind::SparseExclusive, FlecsQuery::uncached);
        contestants.insert(2, Contestant::new("flecs DontFragment", sparse));
    }
    if targets <= TEAMS {
        let fragmenting = Contestant::new("ours fragmenting", move || plan.term::<TeamOf, true>());
        let tables = Contestant::new("ours fragmenting slices", move || plan.tables::<TeamOf, true>());
        let unticked =
            Contestant::new("ours fragmenting slices unticked", move || plan.tables::<TeamOf, false>());
        contestants.extend([fragmenting, tables, unticked.goal("flecs", 1.0)]);
    }
    Workload { id, size, elements: plan.repeats() * size, contestants }
}

fn links(linked: Linked) -> Vec<(usize, usize)> {
    let order = Random::new(41).permutation(linked.sources);
    order.into_iter().map(|place| place % linked.targets).enumerate().collect()
}

/// Counts sources, and adds up how far their targets are from the first one.
struct Seen {
    first: u32,
    count: u64,
    sum: u64,
}

impl Seen {
    #[inline]
    fn sources_of(&mut self, target: u32, count: usize) {
        self.count += count as u64;
        self.sum += u64::from(target - self.first) * count as u64;
    }
}

#[derive(Clone, Copy)]
struct Plan(Linked);

impl Plan {
    fn repeats(self) -> usize {
        (100_000 / self.0.sources).max(1)
    }

    /// Measures runs, each of which finds all targets.
    fn time(self, watch: &mut Stopwatch, first: u32, mut run: impl FnMut(&mut Seen)) -> u64 {
        let mut seen = Seen { first, count: 0, sum: 0 };
        watch.time(|| (0..self.repeats()).for_each(|_| run(&mut seen)));
        seen.sum.wrapping_mul(31) + seen.count
    }

    fn flecs(
        self,
        kind: Kind,
        query: fn(&mut FlecsWorld, &[Term]) -> FlecsQuery,
    ) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = FlecsWorld::new();
        let relation = world.relation(kind);
        let places = world.component::<Place>();
        let (_, targets) = self.0.flecs(&mut world, relation, places, Place::of);
        let query = query(&mut world, &[Term::write(places), Term::any_target(relation)]);
        move |watch| {
            self.time(watch, targets[0].0 as u32, |seen| {
                query.for_each_table(&mut world, |table| {
                    seen.sources_of(table.target_index(1), table.count());
                    for cell in table.field::<Place>(0).expect("the term is not optional") {
                        let mut place = cell.get();
                        place.step();
                        cell.set(place);
                    }
                });
            })
        }
    }

    /// A relationship is a component, so this is also what one would write by hand.
    fn bevy(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, targets) = self.0.named::<LikesInList, _>(Place::of);
        let mut state = SystemState::<Query<(&mut Place, &LikesInList)>>::new(&mut world);
        move |watch| {
            let mut query = state.get_mut(&mut world).expect("queries are always available");
            let sum = self.time(watch, targets[0].index_u32(), |seen| {
                for (mut place, link) in &mut query {
                    place.step();
                    seen.sources_of(link.target().index_u32(), 1);
                }
            });
            world.clear_trackers();
            sum
        }
    }

    /// `TICKS` says whether places are marked as changed: while the loop is compiled, so that nothing in it asks for that.
    fn term<R: Relation + Default, const TICKS: bool>(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, targets) = self.0.ours::<R, _>(Place::of);
        let mut query = world.query::<(&mut Place, Target<R>)>();
        move |watch| {
            let sum = self.time(watch, targets[0].index_u32(), |seen| {
                for (mut place, target) in query.iter_mut(&mut world) {
                    let place = if TICKS { &mut *place } else { place.bypass_change_detection() };
                    place.step();
                    seen.sources_of(target.index_u32(), 1);
                }
            });
            world.clear_trackers();
            sum
        }
    }

    fn pair_query(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, targets) = self.0.ours::<DockedTo, _>(Place::of);
        let mut state = SystemState::<PairQuery<DockedTo, &mut Place>>::new(&mut world);
        move |watch| {
            let mut query = state.get_mut(&mut world).expect("the plugin provides what the parameter needs");
            let sum = self.time(watch, targets[0].index_u32(), |seen| {
                query.for_each(|mut place, edge, ()| {
                    place.step();
                    seen.sources_of(edge.target.index_u32(), 1);
                });
            });
            world.clear_trackers();
            sum
        }
    }

    /// A table at a time, as Flecs does it. `TICKS` is as for [`term`](Self::term).
    fn tables<R: Relation + Default, const TICKS: bool>(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, targets) = self.0.ours::<R, _>(Place::of);
        let (place, relation) = (id_of::<Place>(&mut world), world.entity_of::<R>().to_bits());
        let mut expr = compile(&mut world, &format!("{place}, (#{relation}, $target)"));
        move |watch| {
            let sum = self.time(watch, targets[0].index_u32(), |seen| {
                let run = expr.for_each_table_mut(&mut world, |mut table| {
                    let rows = table.as_table();
                    match rows.common_var("target") {
                        Some(target) => seen.sources_of(target.index_u32(), rows.len()),
                        None => {
                            for target in rows.var("target") {
                                seen.sources_of(target.expect("it is bound").index_u32(), 1);
                            }
                        }
                    }
                    let places = match TICKS {
                        true => table.slice_mut::<Place>(0),
                        false => table.bypass_change_detection(0),
                    };
                    places.expect("it is in the table").iter_mut().for_each(Place::step);
                });
                run.expect("nothing is in the way");
            });
            world.clear_trackers();
            sum
        }
    }

    fn expression(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, targets) = self.0.ours::<DockedTo, _>(Place::of);
        let place = id_of::<Place>(&mut world);
        let mut expr = compile(&mut world, &format!("{place}, (DockedTo, $target)"));
        move |watch| {
            let sum = self.time(watch, targets[0].index_u32(), |seen| {
                let run = expr.for_each_mut(&mut world, |mut row| {
                    let target: Option<Entity> = row.as_row().var("target");
                    seen.sources_of(target.expect("it is bound").index_u32(), 1);
                    row.get_mut::<Place>(0).expect("the field is set").step();
                });
                run.expect("nothing is in the way");
            });
            world.clear_trackers();
            sum
        }
    }
}
