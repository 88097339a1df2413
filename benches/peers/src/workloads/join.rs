//! Components of sources that are written beside what is known of their targets.

use crate::{
    bevy::{LikesInList, Naming},
    flecs::{FlecsWorld, Id, Kind, pair},
    flecs_query::{FlecsQuery, Term},
    harness::{Contestant, Stopwatch, Workload},
    ours::{self, DockedTo, MemberOf, compile, id_of},
    random::Random,
};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    query::Without,
    system::{SystemParamBuilder, SystemState},
    world::World,
};
use bevy_relations::{
    expr::{AnyExpression, ExprParam, PairExpr},
    prelude::*,
};
use std::mem;

#[derive(Component, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Fuel(pub(super) u32);

#[derive(Component, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Depot(pub(super) u32);

/// What sources bring to their target.
#[derive(Component, Clone, Copy, Default)]
#[repr(transparent)]
pub(super) struct Stock(pub(super) u32);

#[derive(Component, Clone, Copy)]
struct Mark<const N: usize>(#[expect(dead_code, reason = "only there to make another table")] u8);

/// Sources and targets, one for ten sources, at random places.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) sources: usize,
    /// So many sources have a target: all, or every other one.
    pub(super) every: usize,
    /// How many targets each of these has. Of several, the first says which the others are, so that a tenth as many lists differ
    /// as there are sources.
    pub(super) each: usize,
}

impl Plan {
    pub(super) fn targets(self) -> usize {
        self.sources / 10
    }

    /// Sources with their targets, by number.
    fn links(self) -> Vec<(usize, usize)> {
        let targets = self.targets();
        let chosen = Random::new(91).choices(self.sources, targets);
        let linked = Random::new(92).permutation(self.sources);
        let choices = linked.into_iter().zip(chosen).enumerate();
        let choices = choices.filter(|(_, (number, _))| number.is_multiple_of(self.every));
        let all = |(source, (_, first))| {
            (0..self.each).map(move |nth| (source, (first + nth * targets / self.each) % targets))
        };
        choices.flat_map(all).collect()
    }

    pub(super) fn repeats(self) -> usize {
        (100_000 / self.sources).max(1)
    }

    fn matches(self) -> usize {
        self.sources.div_ceil(self.every)
    }

    pub(super) fn world(self, mut world: World, link: impl Fn(&mut World, Entity, Entity)) -> World {
        let targets: Vec<Entity> = (0..self.targets())
            .map(|number| {
                let depot = (Depot(number as u32 % 31 + 1), Stock(0));
                match number % 4 {
                    0 => world.spawn(depot).id(),
                    1 => world.spawn((depot, Mark::<1>(0))).id(),
                    2 => world.spawn((depot, Mark::<2>(0))).id(),
                    _ => world.spawn((depot, Mark::<3>(0))).id(),
                }
            })
            .collect();
        let sources: Vec<Entity> = (0..self.sources).map(|_| world.spawn(Fuel(0)).id()).collect();
        for (source, target) in self.links() {
            link(&mut world, sources[source], targets[target]);
        }
        world
    }

    pub(super) fn ours(self) -> World {
        self.ours_of(|| DockedTo)
    }

    pub(super) fn ours_of<R: Relation>(self, relation: fn() -> R) -> World {
        let mut world = ours::world();
        world.register_relation::<R>().expect("its traits are right");
        self.world(world, |world, source, target| {
            world.insert_pair(source, relation(), target).expect("both are alive");
        })
    }

    pub(super) fn bevy(self) -> World {
        self.world(World::new(), |world, source, target| {
            world.entity_mut(source).insert(LikesInList::new(target));
        })
    }

    fn flecs(self, kind: Kind, terms: fn(&FlecsSide) -> Vec<Term>, cached: bool) -> (FlecsSide, FlecsQuery) {
        let mut world = FlecsWorld::new();
        let relation = world.relation(kind);
        let (fuel, depot, stock) = (world.component(), world.component(), world.component());
        let marks = [world.entity(), world.entity(), world.entity()];
        let targets: Vec<Id> = (0..self.targets())
            .map(|number| {
                let target = world.entity();
                world.set(target, depot, &Depot(number as u32 % 31 + 1));
                world.set(target, stock, &Stock(0));
                (number % 4).checked_sub(1).iter().for_each(|&mark| world.add(target, marks[mark]));
                target
            })
            .collect();
        let sources: Vec<Id> = (0..self.sources)
            .map(|_| {
                let source = world.entity();
                world.set(source, fuel, &Fuel(0));
                source
            })
            .collect();
        for (source, target) in self.links() {
            world.add(sources[source], pair(relation, targets[target]));
        }
        let mut side = FlecsSide { world, relation, fuel, depot, stock };
        let terms = terms(&side);
        let query = if cached { FlecsQuery::cached } else { FlecsQuery::uncached }(&mut side.world, &terms);
        (side, query)
    }

    /// Writes what is found with a term, a table at a time.
    fn write_tables(self, term: &str) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = self.ours_of(MemberOf::default);
        let fuel = id_of::<Fuel>(&mut world);
        let mut expr = compile(&mut world, &format!("{fuel}, {term}"));
        self.bevy_round(world, move |world| {
            let run = expr.for_each_table_mut(world, |mut table| {
                let fuels = table.slice_mut::<Fuel>(0).expect("it is in the table");
                fuels.iter_mut().for_each(|fuel| fuel.0 += 1);
            });
            run.expect("there is no limit");
        })
    }

    /// Runs `work` over a world, and adds up what all sources have then.
    pub(super) fn bevy_round(
        self,
        world: World,
        mut work: impl FnMut(&mut World) + 'static,
    ) -> impl FnMut(&mut Stopwatch) -> u64 {
        self.round(world, move |world, watch| {
            watch.time(|| (0..self.repeats()).for_each(|_| work(world)));
        })
    }

    /// The same, by the clock.
    pub(super) fn threads_round(
        self,
        world: World,
        mut work: impl FnMut(&mut World) + 'static,
    ) -> impl FnMut(&mut Stopwatch) -> u64 {
        bevy_tasks::ComputeTaskPool::get_or_init(bevy_tasks::TaskPool::new);
        self.round(world, move |world, watch| {
            watch.time_threads(|| (0..self.repeats()).for_each(|_| work(world)));
        })
    }

    /// Measures `work`, which only reads.
    fn sum(self, mut work: impl FnMut(&mut Sum) + 'static) -> impl FnMut(&mut Stopwatch) -> u64 {
        move |watch| {
            watch.time(|| {
                let mut sum = Sum(0);
                (0..self.repeats()).for_each(|_| work(&mut sum));
                sum.0
            })
        }
    }

    fn round(
        self,
        mut world: World,
        mut time: impl FnMut(&mut World, &mut Stopwatch) + 'static,
    ) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut fuels, mut stocks) = (world.query::<&mut Fuel>(), world.query::<&mut Stock>());
        move |watch| {
            time(&mut world, watch);
            let fuel: u64 =
                fuels.iter_mut(&mut world).map(|mut fuel| u64::from(mem::take(&mut fuel.0))).sum();
            let stock: u64 =
                stocks.iter_mut(&mut world).map(|mut stock| u64::from(mem::take(&mut stock.0))).sum();
            world.clear_trackers();
            fuel + stock
        }
    }

    pub(super) fn flecs_round(
        self,
        kind: Kind,
        cached: bool,
        terms: fn(&FlecsSide) -> Vec<Term>,
        read: fn(&crate::flecs_query::Table<'_>) -> u32,
    ) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut side, query) = self.flecs(kind, terms, cached);
        let fuels = FlecsQuery::uncached(&mut side.world, &[Term::write(side.fuel)]);
        let stocks = FlecsQuery::uncached(&mut side.world, &[Term::write(side.stock)]);
        move |watch| {
            watch.time(|| {
                for _ in 0..self.repeats() {
                    query.for_each_table(&mut side.world, |table| {
                        let more = read(table);
                        for fuel in table.field::<Fuel>(0).into_iter().flatten() {
                            fuel.set(Fuel(fuel.get().0 + more));
                        }
                    });
                }
            });
            let mut sum = 0;
            fuels.for_each_table(&mut side.world, |table| {
                for fuel in table.field::<Fuel>(0).into_iter().flatten() {
                    sum += u64::from(fuel.replace(Fuel(0)).0);
                }
            });
            stocks.for_each_table(&mut side.world, |table| {
                for stock in table.field::<Stock>(0).into_iter().flatten() {
                    sum += u64::from(stock.replace(Stock(0)).0);
                }
            });
            sum
        }
    }
}

pub(super) struct FlecsSide {
    world: FlecsWorld,
    pub(super) relation: Id,
    pub(super) fuel: crate::flecs::Component<Fuel>,
    pub(super) depot: crate::flecs::Component<Depot>,
    pub(super) stock: crate::flecs::Component<Stock>,
}

/// A system with an expression.
fn system<D: bevy_ecs::query::QueryData + 'static>(
    world: &mut World,
    text: &str,
) -> SystemState<(ExprQuery<'static, 'static, AnyExpression, D>,)> {
    (ExprParam(PairExpr::parse(text).expect("the text is right")),).build_state(world)
}

/// Each source that has a target is written, through an expression's row.
pub(super) fn write(size: usize) -> Workload {
    let plan = Plan { sources: size, every: 1, each: 1 };
    let terms = |side: &FlecsSide| vec![Term::write(side.fuel), Term::to_variable(side.relation, c"$target")];
    let contestants = vec![
        Contestant::new("flecs", move || plan.flecs_round(Kind::Exclusive, true, terms, |_| 1)),
        Contestant::new("bevy", move || {
            let mut world = plan.bevy();
            let mut query = world.query::<(&mut Fuel, &LikesInList)>();
            plan.bevy_round(world, move |world| {
                for (mut fuel, link) in query.iter_mut(world) {
                    std::hint::black_box(link.target());
                    fuel.0 += 1;
                }
            })
        }),
        Contestant::new("ours", move || {
            let mut world = plan.ours();
            let fuel = id_of::<Fuel>(&mut world);
            let mut expr = compile(&mut world, &format!("{fuel}, (DockedTo, $target)"));
            plan.bevy_round(world, move |world| {
                let run = expr.for_each_mut(world, |mut row| {
                    row.get_mut::<Fuel>(0).expect("the field is set").0 += 1;
                });
                run.expect("there is no limit");
            })
        })
        .at_most(7.0),
        Contestant::new("ours in a system", move || {
            let mut world = plan.ours();
            let fuel = id_of::<Fuel>(&mut world);
            let mut state = system::<()>(&mut world, &format!("[inout] {fuel}, (DockedTo, $target)"));
            plan.bevy_round(world, move |world| {
                let (mut expr,) = state.get_mut(world).expect("the plugin provides what it needs");
                let run = expr.for_each_mut(|(), mut row| {
                    row.get_mut::<Fuel>(0).expect("the field is set").0 += 1;
                });
                run.expect("there is no limit");
            })
        })
        .at_most(7.0),
        Contestant::new("ours data", move || {
            let mut world = plan.ours();
            let fuel = id_of::<Fuel>(&mut world);
            let mut state = system::<&mut Fuel>(&mut world, &format!("{fuel}, (DockedTo, $target)"));
            plan.bevy_round(world, move |world| {
                let (mut expr,) = state.get_mut(world).expect("the plugin provides what it needs");
                expr.for_each_mut(|mut fuel, _| fuel.0 += 1).expect("there is no limit");
            })
        })
        .at_most(7.0),
        Contestant::new("ours table slices", move || plan.write_tables("(MemberOf, $target)")),
    ];
    Workload { id: "expr_write", size, elements: size * plan.repeats(), contestants }
}

/// Each source that has a target is read, through an expression's row.
pub(super) fn read(size: usize) -> Workload {
    let plan = Plan { sources: size, every: 1, each: 1 };
    let contestants = vec![
        Contestant::new("flecs", move || {
            let terms =
                |side: &FlecsSide| vec![Term::read(side.fuel), Term::to_variable(side.relation, c"$target")];
            let (mut side, query) = plan.flecs(Kind::Exclusive, terms, true);
            plan.sum(move |sum| {
                query.for_each_table(&mut side.world, |table| {
                    let fuels = table.field::<Fuel>(0).into_iter().flatten();
                    fuels.for_each(|fuel| sum.add(fuel.get()));
                });
            })
        }),
        Contestant::new("bevy", move || {
            let mut world = plan.bevy();
            let mut query = world.query::<(&Fuel, &LikesInList)>();
            plan.sum(move |sum| query.iter(&world).for_each(|(&fuel, _)| sum.add(fuel)))
        }),
        Contestant::new("ours", move || {
            let mut world = plan.ours();
            let fuel = id_of::<Fuel>(&mut world);
            let mut expr = compile(&mut world, &format!("{fuel}, (DockedTo, $target)"));
            plan.sum(move |sum| {
                let run =
                    expr.for_each(&world, |row| sum.add(*row.get::<Fuel>(0).expect("the field is set")));
                run.expect("there is no limit");
            })
        }),
        Contestant::new("ours data", move || {
            let mut world = plan.ours();
            let fuel = id_of::<Fuel>(&mut world);
            let mut state = system::<&Fuel>(&mut world, &format!("{fuel}, (DockedTo, $target)"));
            plan.sum(move |sum| {
                let (mut expr,) = state.get_mut(&mut world).expect("the plugin provides what it needs");
                expr.for_each(|&fuel, _| sum.add(fuel)).expect("there is no limit");
            })
        }),
        Contestant::new("ours table slices", move || {
            let mut world = plan.ours_of(MemberOf::default);
            let fuel = id_of::<Fuel>(&mut world);
            let mut expr = compile(&mut world, &format!("{fuel}, (MemberOf, $target)"));
            plan.sum(move |sum| {
                let run = expr.for_each_table(&world, |table| {
                    table
                        .slice::<Fuel>(0)
                        .expect("it is in the table")
                        .iter()
                        .for_each(|&fuel| sum.add(fuel));
                });
                run.expect("there is no limit");
            })
        }),
    ];
    Workload { id: "expr_read", size, elements: size * plan.repeats(), contestants }
}

/// A number for each entity that was read, and what was read of it.
struct Sum(u64);

impl Sum {
    #[inline]
    fn add(&mut self, Fuel(fuel): Fuel) {
        self.0 += 1 + u64::from(fuel);
    }
}

/// Each source without a target is written.
pub(super) fn write_lacking(size: usize) -> Workload {
    let plan = Plan { sources: size, every: 2, each: 1 };
    let terms = |side: &FlecsSide| vec![Term::write(side.fuel), Term::any_target(side.relation).negated()];
    let flecs = move |cached| move || plan.flecs_round(Kind::Exclusive, cached, terms, |_| 1);
    let contestants = vec![
        Contestant::new("flecs", flecs(true)),
        Contestant::new("flecs uncached", flecs(false)),
        Contestant::new("bevy", move || {
            let mut world = plan.bevy();
            let mut query = world.query_filtered::<&mut Fuel, Without<LikesInList>>();
            plan.bevy_round(world, move |world| query.iter_mut(world).for_each(|mut fuel| fuel.0 += 1))
        }),
        Contestant::new("ours", move || {
            let mut world = plan.ours();
            let fuel = id_of::<Fuel>(&mut world);
            let mut state = system::<&mut Fuel>(&mut world, &format!("{fuel}, !(DockedTo, *)"));
            plan.bevy_round(world, move |world| {
                let (mut expr,) = state.get_mut(world).expect("the plugin provides what it needs");
                expr.for_each_mut(|mut fuel, _| fuel.0 += 1).expect("there is no limit");
            })
        })
        .goal("bevy", 1.0),
        Contestant::new("ours table", move || {
            let mut world = plan.ours_of(MemberOf::default);
            let fuel = id_of::<Fuel>(&mut world);
            let mut state = system::<&mut Fuel>(&mut world, &format!("{fuel}, !(MemberOf, *)"));
            plan.bevy_round(world, move |world| {
                let (mut expr,) = state.get_mut(world).expect("the plugin provides what it needs");
                expr.for_each_mut(|mut fuel, _| fuel.0 += 1).expect("there is no limit");
            })
        })
        .goal("bevy", 1.0),
        Contestant::new("ours table slices", move || plan.write_tables("!(MemberOf, *)")).goal("bevy", 1.0),
        Contestant::new("ours rows", move || {
            let mut world = plan.ours();
            let fuel = id_of::<Fuel>(&mut world);
            let mut expr = compile(&mut world, &format!("{fuel}, !(DockedTo, *)"));
            plan.bevy_round(world, move |world| {
                let run = expr.for_each_mut(world, |mut row| {
                    row.get_mut::<Fuel>(0).expect("the field is set").0 += 1;
                });
                run.expect("there is no limit");
            })
        }),
    ];
    Workload { id: "expr_write_lacking", size, elements: plan.matches() * plan.repeats(), contestants }
}
