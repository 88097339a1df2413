//! Random schedules leave the same world on several threads as on one.
//!
//! Each system says which facts it reads and writes, commands included. Systems of which one writes what the other
//! uses run in a fixed order; all others run in any order, and beside each other where their access allows it. So
//! the results must be equal, unless a declared access is too small or a cache depends on who reads it first.

use crate::{
    common::{Random, dump, fewer},
    common::{take_reported_errors, world_that_records_errors},
};
use bevy_ecs::reflect::AppTypeRegistry;
use bevy_ecs::{
    prelude::*,
    schedule::{MultiThreadedExecutor, ScheduleConfigs, SingleThreadedExecutor},
    system::ScheduleSystem,
};
use bevy_relations::{
    names::NamePaths,
    prelude::*,
    query::{AddedPair, Cached, ChangedPair, Depth, Up},
    system_param::PairEdge,
};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation, Clone)]
struct Owes(u64);

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct Under;

#[derive(Component, Clone)]
struct Fuel(u64);

#[derive(Component, Clone)]
struct Weight(u64);

#[derive(Component, Clone)]
struct Global(u64);

#[derive(Component, Clone, bevy_reflect::Reflect)]
#[reflect(Component)]
struct Mark;

/// The entities that a schedule began with, and those that came in their places.
#[derive(Resource, Clone)]
struct Crowd(Vec<Entity>);

/// A run-time relation.
#[derive(Resource, Clone, Copy)]
struct Linked(Entity);

#[derive(Expression)]
#[expr("Mark, (DockedTo, $dock), ?(Likes, $liked), !(Under, $dock)")]
struct MarkedAndDocked;

/// A fact that systems read and write: a bit.
type Facts = u16;
const FUEL: Facts = 1;
const GLOBAL: Facts = 1 << 1;
const MARK: Facts = 1 << 2;
const LIKES: Facts = 1 << 3;
const DOCKED: Facts = 1 << 4;
const OWES: Facts = 1 << 5;
const DEBT: Facts = 1 << 6;
const UNDER: Facts = 1 << 7;
const LINKED: Facts = 1 << 8;
const NAMES: Facts = 1 << 9;
const PAIRS: Facts = LIKES | DOCKED | OWES | UNDER | LINKED;
const ALL: Facts = Facts::MAX;

/// One system of a schedule: what it needs beside the world.
struct Step {
    set: Number,
    random: Random,
    /// What it has seen, run by run.
    log: Arc<Mutex<Vec<u64>>>,
}

impl Step {
    /// Notes what was seen, whatever its order.
    fn saw(&self, seen: impl IntoIterator<Item = u64>) {
        self.log.lock().unwrap().push(seen.into_iter().fold(0, u64::wrapping_add));
    }

    fn two(&mut self, crowd: &Crowd) -> [Entity; 2] {
        [self.random.pick(&crowd.0), self.random.pick(&crowd.0)]
    }
}

#[derive(SystemSet, Clone, PartialEq, Eq, Hash, Debug)]
struct Number(usize);

fn digest(seen: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    seen.hash(&mut hasher);
    hasher.finish()
}

/// How a system is added to a schedule, and what it reads and writes.
type Kind = (Facts, Facts, fn(Step) -> ScheduleConfigs<ScheduleSystem>);

/// Every kind of system.
const KINDS: &[Kind] = &[
    (DOCKED | FUEL, 0, |step| {
        let set = step.set.clone();
        let system = move |docked: PairQuery<DockedTo, &Fuel, Option<&Fuel>>| {
            let row = |(own, edge, other): (&Fuel, PairEdge<DockedTo>, Option<&Fuel>)| {
                digest((own.0, edge.source, edge.target, other.map(|other| other.0)))
            };
            step.saw(docked.iter().map(row));
        };
        system.in_set(set)
    }),
    (DOCKED, FUEL, |step| {
        let set = step.set.clone();
        let system = move |mut docked: PairQuery<DockedTo, &mut Fuel, &Weight>| {
            let mut rows: Vec<_> = docked.iter_mut().collect();
            rows.iter_mut().for_each(|(own, _, other)| own.0 = own.0.wrapping_add(other.0));
            step.saw(rows.iter().map(|(own, edge, _)| digest((own.0, edge.source))));
        };
        system.in_set(set)
    }),
    (LIKES, FUEL, |step| {
        let set = step.set.clone();
        let system = move |mut likes: PairQuery<Likes, &mut Fuel, &Weight>| {
            let seen = AtomicU64::new(0);
            likes.par_for_each(|mut own, edge, other| {
                own.0 = own.0.wrapping_add(other.0);
                seen.fetch_add(digest((edge.source, edge.target)), Ordering::Relaxed);
            });
            step.saw([seen.into_inner()]);
        };
        system.in_set(set)
    }),
    (OWES | DEBT, 0, |step| {
        let set = step.set.clone();
        let system = move |owes: Pairs<Owes>| {
            let value = |(source, target)| owes.get(source, target).map(|owes| owes.0);
            step.saw(owes.iter().map(|pair| digest((pair, value(pair)))));
        };
        system.in_set(set)
    }),
    (OWES, DEBT, |step| {
        let set = step.set.clone();
        let system = move |mut owes: PairsMut<Owes>| {
            owes.for_each_mut(|_, _, mut owes| owes.0 = owes.0.wrapping_mul(3));
            step.saw([]);
        };
        system.in_set(set)
    }),
    (LIKES | UNDER | FUEL, 0, |step| {
        let set = step.set.clone();
        let system = move |query: Query<(Entity, Option<Targets<Likes>>, Option<Up<Under, &Fuel>>)>| {
            step.saw(query.iter().map(|(entity, likes, fuel)| {
                let likes: Option<Vec<Entity>> = likes.map(Iterator::collect);
                digest((entity, likes, fuel.map(|fuel| fuel.0)))
            }));
        };
        system.in_set(set)
    }),
    (UNDER | FUEL, 0, |step| {
        let set = step.set.clone();
        let system = move |kept: Query<(Entity, Cached<Up<Under, &Fuel>>)>,
                           plain: Query<Up<Under, &Fuel>>| {
            step.saw(kept.iter().map(|(entity, fuel)| {
                assert_eq!(plain.get(entity).map(|fuel| fuel.0).ok(), Some(fuel.0));
                digest((entity, fuel.0))
            }));
        };
        system.in_set(set)
    }),
    (UNDER | DOCKED, GLOBAL, |step| {
        let set = step.set.clone();
        let system = move |mut query: Query<(&mut Global, Depth<Under>, Sources<DockedTo>)>| {
            let seen = AtomicU64::new(0);
            query.par_iter_mut().for_each(|(mut global, depth, sources)| {
                global.0 = global.0.wrapping_add(sources.count() as u64);
                seen.fetch_add(digest((depth, global.0)), Ordering::Relaxed);
            });
            step.saw([seen.into_inner()]);
        };
        system.in_set(set)
    }),
    (UNDER, GLOBAL, |step| {
        let set = step.set.clone();
        let system = move |mut tree: CascadeQuery<Under, (&Weight, &mut Global), &Global>| {
            let seen = AtomicU64::new(0);
            tree.par_for_each(|(own, mut global), parent| {
                global.0 = own.0.wrapping_add(parent.map_or(0, |parent| parent.0.wrapping_mul(31)));
                seen.fetch_add(digest(global.0), Ordering::Relaxed);
            });
            step.saw([seen.into_inner()]);
        };
        system.in_set(set)
    }),
    (MARK | DOCKED | LIKES | UNDER | FUEL, 0, |step| {
        let set = step.set.clone();
        let system = move |mut rows: ExprQuery<MarkedAndDocked, &Fuel>| {
            let mut seen = Vec::new();
            rows.for_each(|fuel, row| {
                seen.push(digest((row.this(), row.var("dock"), row.var("liked"), fuel.0)));
            })
            .unwrap();
            step.saw(seen);
        };
        system.in_set(set)
    }),
    (MARK | DOCKED | LIKES | UNDER, FUEL, |step| {
        let set = step.set.clone();
        let system = move |mut rows: ExprQuery<MarkedAndDocked, &mut Fuel>| {
            rows.for_each_mut(|mut fuel, _| fuel.0 = fuel.0.wrapping_add(7)).unwrap();
            step.saw([rows.count().unwrap() as u64]);
        };
        system.in_set(set)
    }),
    (PAIRS, 0, |step| {
        let set = step.set.clone();
        let system = move |pairs: AnyPairs, crowd: Res<Crowd>| {
            let of_each =
                crowd.0.iter().flat_map(|&entity| pairs.pairs_of(entity).chain(pairs.pairs_to(entity)));
            step.saw(of_each.map(digest).chain(pairs.iter().map(digest)));
        };
        system.in_set(set)
    }),
    (NAMES, 0, |step| {
        let set = step.set.clone();
        let system = move |paths: NamePaths| {
            step.saw((0..8).map(|number| digest(paths.lookup(&format!("N{number}")).ok())));
        };
        system.in_set(set)
    }),
    (LIKES, 0, |step| {
        let set = step.set.clone();
        let system = move |mut gone: RemovedPairs<Likes>, added: Query<Entity, AddedPair<Likes>>| {
            step.saw(gone.read().map(digest).chain(added.iter().map(digest)));
        };
        system.in_set(set)
    }),
    (OWES | DEBT, 0, |step| {
        let set = step.set.clone();
        let system = move |changed: Query<(Entity, Targets<Owes>), ChangedPair<Owes>>| {
            step.saw(changed.iter().map(|(entity, targets)| digest((entity, targets.count()))));
        };
        system.in_set(set)
    }),
    (0, LIKES, |mut step| {
        let set = step.set.clone();
        let system = move |mut commands: Commands, crowd: Res<Crowd>| {
            for _ in 0..3 {
                let [source, target] = step.two(&crowd);
                commands.entity(source).insert_pair(Likes, target);
            }
            let [source, target] = step.two(&crowd);
            commands.entity(source).remove_pair::<Likes>(target);
        };
        system.in_set(set)
    }),
    (0, DOCKED, |mut step| {
        let set = step.set.clone();
        let system = move |mut commands: Commands, crowd: Res<Crowd>| {
            for _ in 0..2 {
                let [source, target] = step.two(&crowd);
                commands.entity(source).insert_pair(DockedTo, target);
            }
            let [source, _] = step.two(&crowd);
            commands.entity(source).remove_pairs::<DockedTo>();
        };
        system.in_set(set)
    }),
    (0, OWES | DEBT, |mut step| {
        let set = step.set.clone();
        let system = move |mut commands: Commands, crowd: Res<Crowd>| {
            for amount in 1..4 {
                let [source, target] = step.two(&crowd);
                commands.entity(source).insert_pair(Owes(amount), target);
            }
            let [source, _] = step.two(&crowd);
            commands.entity(source).remove_pairs::<Owes>();
        };
        system.in_set(set)
    }),
    (0, UNDER, |mut step| {
        let set = step.set.clone();
        let system = move |mut commands: Commands, crowd: Res<Crowd>| {
            for _ in 0..2 {
                // Some would close a cycle, and are refused.
                let [source, target] = step.two(&crowd);
                commands.entity(source).insert_pair(Under, target);
            }
        };
        system.in_set(set)
    }),
    (0, LINKED, |mut step| {
        let set = step.set.clone();
        let system = move |mut commands: Commands, crowd: Res<Crowd>, linked: Res<Linked>| {
            let [source, target] = step.two(&crowd);
            commands.entity(source).insert_pair_by_id((linked.0, target));
            let [source, _] = step.two(&crowd);
            commands.entity(source).remove_pairs_by_id(PairId::with_relation(linked.0));
        };
        system.in_set(set)
    }),
    (0, MARK, |mut step| {
        let set = step.set.clone();
        let system = move |mut commands: Commands, crowd: Res<Crowd>| {
            let [marked, plain] = step.two(&crowd);
            commands.entity(marked).try_insert(Mark);
            commands.entity(plain).try_remove::<Mark>();
        };
        system.in_set(set)
    }),
    (0, ALL, |mut step| {
        let set = step.set.clone();
        let system = move |mut commands: Commands, mut crowd: ResMut<Crowd>| {
            let at = step.random.below(crowd.0.len());
            commands.entity(crowd.0[at]).try_despawn();
            crowd.0[at] = commands.spawn((Fuel(at as u64), Weight(1), Global(0), Mark)).id();
        };
        system.in_set(set)
    }),
];

/// A world with some pairs of everything.
fn world(seed: u64) -> World {
    let mut world = world_that_records_errors();
    {
        let types = AppTypeRegistry::default();
        types.write().register::<Mark>();
        world.insert_resource(types);
    }
    world.register_relation::<Likes>().unwrap();
    world.register_relation::<DockedTo>().unwrap();
    world.register_relation::<Owes>().unwrap();
    world.register_relation::<Under>().unwrap();
    let linked = world.spawn_relation("linked", RelationTraits::new()).unwrap();
    world.insert_resource(Linked(linked));
    let mut random = Random(seed);
    let mut crowd = Vec::new();
    for number in 0..16 {
        let mut entity = world.spawn((Weight(number + 1), Global(0)));
        if random.below(4) > 0 {
            entity.insert(Fuel(number));
        }
        if random.below(2) > 0 {
            entity.insert(Mark);
        }
        if number < 8 {
            entity.insert(Name::new(format!("N{number}")));
        }
        crowd.push(entity.id());
    }
    for _ in 0..12 {
        let [source, target] = [random.pick(&crowd), random.pick(&crowd)];
        world.insert_pair(source, Likes, target).unwrap();
        world.insert_pair(source, DockedTo, target).unwrap();
        world.insert_pair(target, Owes(source.index_u32().into()), source).unwrap();
        world.insert_pair_by_id(target, (linked, source)).unwrap();
        // Refused where it would close a cycle.
        _ = world.insert_pair(source, Under, target);
    }
    world.insert_resource(Crowd(crowd));
    world
}

/// The systems of a schedule by their kinds, and the pairs of them that run in order.
struct Plan {
    seed: u64,
    kinds: Vec<usize>,
    ordered: Vec<[usize; 2]>,
}

impl Plan {
    fn random(seed: u64) -> Self {
        let mut random = Random(seed);
        let kinds: Vec<usize> = (0..4 + random.below(6)).map(|_| random.below(KINDS.len())).collect();
        let mut ordered = Vec::new();
        for (number, &kind) in kinds.iter().enumerate() {
            let (reads, writes, _) = KINDS[kind];
            for (earlier, &other) in kinds[..number].iter().enumerate() {
                let (other_reads, other_writes, _) = KINDS[other];
                let conflict = writes & (other_reads | other_writes) != 0 || other_writes & reads != 0;
                if conflict || random.below(8) == 0 {
                    ordered.push([earlier, number]);
                }
            }
        }
        Self { seed, kinds, ordered }
    }

    /// What is left of a world after some runs, and what the systems have seen.
    fn run(&self, threads: bool) -> (Vec<String>, Vec<Vec<u64>>) {
        let mut schedule = Schedule::default();
        if threads {
            schedule.set_executor(MultiThreadedExecutor::new());
        } else {
            schedule.set_executor(SingleThreadedExecutor::new());
        }
        let mut logs = Vec::new();
        for (number, &kind) in self.kinds.iter().enumerate() {
            let log = Arc::default();
            logs.push(Arc::clone(&log));
            let random = Random(self.seed.wrapping_mul(number as u64 * 2 + 3) | 1);
            schedule.add_systems((KINDS[kind].2)(Step { set: Number(number), random, log }));
        }
        for &[earlier, later] in &self.ordered {
            schedule.configure_sets(Number(earlier).before(Number(later)));
        }
        let mut world = world(self.seed);
        for _ in 0..3 {
            schedule.run(&mut world);
            world.check_pairs().unwrap();
        }
        let mut left = dump(&world);
        let mut components = world.query::<(Entity, Option<&Fuel>, Option<&Global>, Has<Mark>)>();
        let mut components: Vec<_> = components.iter(&world).collect();
        components.sort_unstable_by_key(|(entity, ..)| *entity);
        let describe = |(entity, fuel, global, marked): &(Entity, Option<&Fuel>, Option<&Global>, bool)| {
            format!("{entity} {:?} {:?} {marked}", fuel.map(|fuel| fuel.0), global.map(|global| global.0))
        };
        left.extend(components.iter().map(describe));
        left.push(format!("{:?}", world.pairs::<Likes>().iter().collect::<Vec<_>>()));
        left.push(format!("{:?}", world.pairs::<DockedTo>().iter().collect::<Vec<_>>()));
        let owes = world.pairs::<Owes>();
        let debts =
            owes.iter().map(|(source, target)| (source, target, owes.get(source, target).map(|o| o.0)));
        left.push(format!("{:?}", debts.collect::<Vec<_>>()));
        let logs = logs.iter().map(|log: &Arc<Mutex<Vec<u64>>>| std::mem::take(&mut *log.lock().unwrap()));
        (left, logs.collect())
    }
}

#[test]
fn a_thousand_random_schedules_leave_equal_worlds_on_one_thread_and_on_several() {
    bevy_tasks::ComputeTaskPool::get_or_init(|| bevy_tasks::TaskPoolBuilder::new().num_threads(3).build());
    let mut beside = 0;
    for number in 0..fewer(1_000) {
        let plan = Plan::random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number as u64 + 1));
        let [(one, one_saw), (several, several_saw)] = [plan.run(false), plan.run(true)];
        let context = || format!("schedule {number}: kinds {:?}, ordered {:?}", plan.kinds, plan.ordered);
        assert_eq!(one_saw, several_saw, "{}", context());
        assert_eq!(one, several, "{}", context());
        let pairs = plan.kinds.len() * (plan.kinds.len() - 1) / 2;
        beside += pairs - plan.ordered.len();
        take_reported_errors();
    }
    assert!(beside > fewer(1_000), "hardly any systems may run beside each other");
}
