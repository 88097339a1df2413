//! Random histories of relations with rules of ends, keys, values, companions, counted sources and storages at once, before observers
//! that do more of the same, or narrowed ones that leave the fast path to the others. No reference says what comes of it. What must hold
//! after each step: all ways of reading agree, values are dropped once, events and deltas add up to what is there, a pair is there when its
//! insertion or removal is observed, a source has one pair per key, ends are what they must be once they were looked at, and kept rows are
//! those of a run from scratch. `SEED=n cargo test --test it mixed_storm` tries other histories.

use crate::{
    common::{Random, fewer, if_alive, take_reported_errors, world_that_records_errors},
    random_acts::{ACTED, BUDGET, LOG, RANDOM, below},
};
use bevy_ecs::{entity::EntityCloner, prelude::*, system::SystemState};
use bevy_relations::{
    expr::{CompiledExpr, PairExpr},
    live::*,
    prelude::*,
    relation::{EndConstraint, Wildcard},
    snapshot::*,
};
use core::cell::Cell;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

type Counter = Arc<()>;

macro_rules! valued {
    ($($name:ident ($($trait:tt)*)),* $(,)?) => {$(
        #[derive(Relation, Clone, Debug)]
        #[relation($($trait)*)]
        struct $name(u32, #[expect(dead_code, reason = "it counts the values")] Counter);
    )*};
}

macro_rules! tags {
    ($($name:ident ($($trait:tt)*)),* $(,)?) => {$(
        #[derive(Relation, Clone, Debug)]
        #[relation($($trait)*)]
        struct $name;
    )*};
}

tags!(
    Likes(ordered),
    Guides(source(Laden)),
    Moored(exclusive, source(Laden), target(!Wreck)),
    Founds(source(Laden), target(!Wreck), on_missing = Insert),
    Visits(source(Laden), on_missing = Warn),
    Below(exclusive, traversable, on_target_despawn = Despawn),
    Leads(with(Likes, Guides)),
    Queues(on_last_source = Despawn, source(Laden)),
    Takes(exclusive, on_source_despawn = DespawnTarget, target(!Wreck)),
    Boards(exclusive, storage = "Table"),
    Married(symmetric, exclusive),
    Knows(symmetric, source(Laden)),
    Teams(exclusive, storage = "Fragmenting", source(Laden)),
    Rows(storage = "Table", target(!Wreck)),
    Sits(exclusive, storage = "Table", with = Likes),
    Dances(symmetric, exclusive, storage = "Fragmenting"),
    Lasts(storage = "Table", on_last_source = Despawn, source(Laden)),
);
valued!(
    Weighs(),
    Holds(exclusive),
    Hauls(source(Laden)),
    Tows(exclusive, target(!Wreck)),
    Trades(symmetric, source(!Wreck)),
    Spouse(symmetric, exclusive),
    Counts(on_last_source = Despawn),
    TeamsFor(exclusive, storage = "Fragmenting", source(Laden)),
    RowsFor(storage = "Table", target(!Wreck)),
);

#[derive(Relation, Clone, Debug)]
#[relation(key = u8)]
struct Wears(u8, u32, #[expect(dead_code, reason = "it counts the values")] Counter);

#[derive(Relation, Clone, Debug)]
#[relation(key = u8, target(!Wreck), source(Laden))]
struct Equips(u8, u32, #[expect(dead_code, reason = "it counts the values")] Counter);

#[derive(Relation, Clone, Debug)]
#[relation(key = u8, storage = "Table", source(Laden))]
struct Tools(u8, u32, #[expect(dead_code, reason = "it counts the values")] Counter);

#[derive(Component, Clone, Default)]
struct Laden;

#[derive(Component, Clone)]
struct Wreck;

#[derive(Component, Clone)]
struct Mass(#[expect(dead_code, reason = "it is something to clone")] u32);

#[derive(Clone, Debug)]
struct Price(
    #[expect(dead_code, reason = "it is something to store")] u32,
    #[expect(dead_code, reason = "it counts the values")] Counter,
);

thread_local! {
    static NEXT: Cell<u32> = const { Cell::new(0) };
}

#[derive(Resource)]
struct Known {
    entities: Vec<Entity>,
    spawned: Vec<Entity>,
    counter: Counter,
    kept: Option<PairSnapshot>,
}

/// Inserted minus removed, by relation, source and target.
#[derive(Resource, Default)]
struct Balance(
    BTreeMap<(Entity, Entity, Entity), i32>,
    BTreeMap<(usize, Entity, Entity, Entity), i32>,
    Vec<PairId>,
);

fn note(text: String) {
    LOG.with_borrow_mut(|log| log.push(text));
}

macro_rules! each {
    ($call:ident!($($args:tt)*)) => {
        $call!($($args)*
            0 Likes, 1 Guides, 2 Moored, 3 Founds, 4 Visits, 5 Below, 6 Leads, 7 Queues, 8 Takes, 9 Boards, 10 Married, 11 Knows,
            12 Teams, 13 Rows, 14 Sits, 15 Dances, 16 Lasts;
            17 Weighs, 18 Holds, 19 Hauls, 20 Tows, 21 Trades, 22 Spouse, 23 Counts, 24 TeamsFor, 25 RowsFor; 26 Wears, 27 Equips, 28 Tools)
    };
}

mod checks;

use checks::{check, settle};

fn pick(world: &World) -> Entity {
    let known = world.resource::<Known>();
    known.entities[below(known.entities.len())]
}

fn spawn_new(world: &mut World) -> Entity {
    let new = world.spawn(Mass(1)).id();
    match below(4) {
        0 => _ = world.entity_mut(new).insert(Laden),
        1 => _ = world.entity_mut(new).insert(Wreck),
        2 => _ = world.entity_mut(new).insert((Laden, Wreck)),
        _ => {}
    }
    new
}

fn replace(world: &mut World, old: Entity, new: Entity) {
    let mut known = world.resource_mut::<Known>();
    if let Some(at) = known.entities.iter().position(|&entity| entity == old) {
        known.entities[at] = new;
    }
}

/// Does something.
fn act(world: &mut World, depth: u32) {
    let (source, target, third) = (pick(world), pick(world), pick(world));
    let counter = world.resource::<Known>().counter.clone();
    let number = NEXT.get() + 1;
    NEXT.set(number);
    if depth > 0 {
        ACTED.set(ACTED.get() + 1);
    }
    let (kind, way, other) = (below(40), below(16), below(29));
    note(format!(
        "{}{depth}: kind {kind} way {way} other {other} of {source} to {target}, {third}",
        "  ".repeat(depth as usize)
    ));
    macro_rules! change {
        ($relation:ty, $new:expr) => {
            match way {
                0..=2 => _ = world.insert_pair(source, $new, target),
                3 => {
                    _ = world.insert_pair_batch([
                        (source, $new, target),
                        (target, $new, third),
                        (source, $new, third),
                    ]);
                }
                4 => {
                    world.commands().entity(source).try_insert_pair($new, target);
                    if below(2) == 0 {
                        world.flush();
                    }
                }
                5 => {
                    let bundle = (Mass(2), Laden, Pair($new, target), Pair($new, third));
                    let new = world.spawn(bundle).id();
                    replace(world, source, new);
                }
                6 => if_alive(world, source, |entity| _ = entity.insert((Pair($new, target), Laden))),
                7 => _ = world.remove_pair::<$relation>(source, target),
                8 => _ = world.remove_pair_batch::<$relation>([(source, target), (target, source)]),
                9 => _ = world.remove_pairs::<$relation>(source),
                10 => _ = world.replace_targets(source, [($new, target), ($new, third)]),
                11 => _ = world.move_sources::<$relation>(source, target),
                12 => {
                    world.commands().insert_pair_batch([(source, $new, target), (third, $new, target)]);
                }
                13 => {
                    let new = world.spawn_batch_with_pair([(Mass(3), $new, target), (Mass(4), $new, source)]);
                    replace(world, third, new[0]);
                }
                14 => {
                    let relation = world.entity_of::<$relation>();
                    world.remove_pairs_everywhere((relation, target));
                }
                _ => {
                    if_alive(world, source, |entity| _ = entity.insert_pairs([($new, target), ($new, third)]))
                }
            }
        };
    }
    macro_rules! any {
        ($($number:literal $tag:ident),*; $($vnumber:literal $valued:ident),*; $($knumber:literal $keyed:ident),*) => {
            match other {
                $($number => change!($tag, $tag),)*
                $($vnumber => change!($valued, $valued(number, counter.clone())),)*
                $($knumber => change!($keyed, $keyed((number % 3) as u8, number, counter.clone())),)*
                _ => unreachable!(),
            }
        };
    }
    match kind {
        0 => {
            _ = world.try_despawn(source);
            let new = spawn_new(world);
            replace(world, source, new);
        }
        1 => _ = world.despawn_with_dependents(source),
        2 => {
            if world.entities().contains_spawned(source) {
                let clone = world.spawn_empty().id();
                EntityCloner::build_opt_out(world).clone_entity(source, clone);
                replace(world, target, clone);
            }
        }
        3 => if_alive(world, source, |entity| _ = entity.clear()),
        4 => if_alive(world, source, |entity| _ = entity.insert(Laden)),
        5 => if_alive(world, source, |entity| _ = entity.remove::<Laden>()),
        6 => if_alive(world, source, |entity| _ = entity.insert(Wreck)),
        7 => if_alive(world, source, |entity| _ = entity.remove::<Wreck>()),
        8 => {
            let spawned = world.resource::<Known>().spawned.clone();
            let pair = (spawned[other % spawned.len()], target);
            match way {
                0..=5 => _ = world.insert_pair_by_id(source, pair),
                6..=12 => _ = world.insert_pair_value_by_id(source, pair, Price(number, counter)),
                13 => _ = world.remove_pairs_by_id(source, (pair.0, target)),
                14 => _ = world.remove_pairs_everywhere(PairId::with_relation(pair.0)),
                _ => _ = world.remove_pairs_by_id(source, PairId::ALL),
            }
        }
        9 if way == 0 => world.clear_pairs(),
        10 => {
            world.check_constraints();
        }
        11 => world.maintain_pairs(),
        12 => {
            let filter = PairFilter::all().without::<ChildOf>();
            if let Ok(snapshot) = PairSnapshot::take(world, filter) {
                world.resource_mut::<Known>().kept = Some(snapshot);
            }
        }
        13 | 14 => {
            if let Some(snapshot) = world.resource_mut::<Known>().kept.take() {
                _ = match way % 2 {
                    0 => snapshot.apply_to_living(world),
                    _ => snapshot.apply(world),
                };
            }
        }
        15 => {
            let mut state = SystemState::<(PairsMut<Weighs>, PairsMut<Tows>, PairsMut<Trades>)>::new(world);
            let (mut weighs, mut tows, mut trades) = state.get_mut(world).unwrap();
            weighs.for_each_mut(|_, _, mut value| value.0 += 1);
            tows.for_each_to(target, |_, mut value| value.0 += 1);
            trades.for_each_of(source, |_, mut value| value.0 += 1);
        }
        16 => _ = world.remove_pair_by_key::<Wears>(source, &((number % 3) as u8)),
        17 if way < 3 && world.resource::<Balance>().2.is_empty() => {
            let relation =
                [world.entity_of::<Equips>(), world.entity_of::<Guides>(), world.entity_of::<Tows>()];
            _ = world.try_despawn(relation[way]);
        }
        18 => {
            let order: Vec<Entity> = world.pairs::<Likes>().sources(target).collect();
            let order: Vec<Entity> = order.into_iter().rev().collect();
            _ = world.order_sources::<Likes>(target, &order);
        }
        _ => each!(any!()),
    }
    if depth == 0 {
        world.flush();
    }
}

fn perhaps(mut commands: Commands) {
    let budget = BUDGET.get();
    if budget > 0 && below(2) == 0 {
        BUDGET.set(budget - 1);
        commands.queue(|world: &mut World| act(world, 1));
    }
}

const LIVE: [&str; 9] = [
    "(Teams, $x), Mass",
    "Mass, !(Rows, *), (TeamsFor, $x)",
    "(Sits, $x), (Likes, $x)",
    "Mass, (Weighs, $x), Mass($x)",
    "(Guides, $x), Laden",
    "Laden(up Below)",
    "(Moored, $x), !Wreck($x)",
    "(Wears, $x) || (Equips, $x)",
    "(Tows, *), !(Hauls, *)",
];

struct Bed {
    world: World,
    deltas: SystemState<AnyPairDeltas<'static, 'static>>,
    by_delta: BTreeSet<(Entity, Entity, Entity)>,
    live: Vec<(LiveExpr, CompiledExpr)>,
}

fn prepare(seed: usize) -> Bed {
    let mut world = world_that_records_errors();
    if seed % 3 == 1 {
        for number in 0..70 {
            world.spawn_relation(format!("Filler{number}"), RelationTraits::new()).unwrap();
        }
    }
    macro_rules! names {
        ($($number:literal $tag:ident),*; $($vnumber:literal $valued:ident),*; $($knumber:literal $keyed:ident),*) => {
            $(world.register_relation::<$tag>().unwrap();)*
            $(world.register_relation::<$valued>().unwrap();)*
            $(world.register_relation::<$keyed>().unwrap();)*
        };
    }
    each!(names!());
    world.register_component_name::<Mass>("Mass");
    world.register_component_name::<Laden>("Laden");
    world.register_component_name::<Wreck>("Wreck");
    let kinds = [
        RelationTraits::new(),
        RelationTraits::new().data::<Price>(),
        RelationTraits::new().exclusive().data::<Price>(),
        RelationTraits::new().symmetric().data::<Price>(),
        RelationTraits::new().source(EndConstraint::with::<Laden>()).data::<Price>(),
        RelationTraits::new().source(EndConstraint::with::<Laden>()),
    ];
    let mut number = 0;
    let spawned = kinds.map(|traits| {
        number += 1;
        world.spawn_relation(format!("R{number}"), traits).unwrap()
    });
    let entities = (0..7).map(|_| spawn_new(&mut world)).collect();
    world.insert_resource(Known {
        entities,
        spawned: spawned.into(),
        counter: Counter::default(),
        kept: None,
    });
    world.init_resource::<Balance>();
    let deltas = SystemState::new(&mut world);
    let live = LIVE.iter().map(|text| {
        let expr = PairExpr::parse(*text).unwrap();
        (expr.live(&mut world).unwrap(), expr.compile(&mut world).unwrap())
    });
    let live = live.collect();
    macro_rules! on_component {
        ($($event:ident<$component:ty>),*) => {
            $(world.add_observer(|_: On<bevy_ecs::lifecycle::$event<$component>>, commands: Commands| perhaps(commands));)*
        };
    }
    if seed.is_multiple_of(2) {
        on_component!(Add<Laden>, Remove<Laden>, Insert<Wreck>, Discard<Wreck>, Despawn<Mass>, Add<Mass>);
    }
    if seed % 4 != 3 {
        world.add_observer(
            |on: On<PairInserted<Wildcard>>,
             mut balance: ResMut<Balance>,
             any: AnyPairs,
             commands: Commands| {
                let pair = (on.source, on.relation, on.target);
                assert!(any.has(on.source, PairId::new(on.relation, on.target)), "it is there: {pair:?}");
                if !on.replaced {
                    *balance.0.entry(pair).or_default() += 1;
                }
                perhaps(commands);
            },
        );
        world.add_observer(
            |on: On<PairRemoved<Wildcard>>,
             mut balance: ResMut<Balance>,
             any: AnyPairs,
             commands: Commands| {
                let pair = (on.source, on.relation, on.target);
                *balance.0.entry(pair).or_default() -= 1;
                assert!(any.has(on.source, PairId::new(on.relation, on.target)), "it is still there");
                perhaps(commands);
            },
        );
    } else {
        // The others keep the fast path.
        let known: Vec<Entity> = world.resource::<Known>().entities[..3].to_vec();
        let [spawned, ..] = world.resource::<Known>().spawned[1..] else { unreachable!() };
        let guides = world.entity_of::<Guides>();
        let narrow = [
            PairId::with_target(known[0]),
            PairId::with_target(known[1]),
            PairId::new(guides, known[2]),
            PairId::with_relation(spawned),
        ];
        for (number, pair) in narrow.into_iter().enumerate() {
            world.observe_pairs(
                pair,
                move |on: On<PairInserted<Wildcard>>, mut balance: ResMut<Balance>, commands: Commands| {
                    if !on.replaced {
                        *balance.1.entry((number, on.source, on.relation, on.target)).or_default() += 1;
                    }
                    perhaps(commands);
                },
            );
            world.observe_pairs(
                pair,
                move |on: On<PairRemoved<Wildcard>>, mut balance: ResMut<Balance>, commands: Commands| {
                    *balance.1.entry((number, on.source, on.relation, on.target)).or_default() -= 1;
                    perhaps(commands);
                },
            );
        }
        world.resource_mut::<Balance>().2 = narrow.to_vec();
        macro_rules! typed {
            ($($relation:ident),*) => {$(
                let entity = world.entity_of::<$relation>();
                let number = world.resource::<Balance>().2.len();
                world.resource_mut::<Balance>().2.push(PairId::with_relation(entity));
                world.add_observer(move |on: On<PairInserted<$relation>>, mut balance: ResMut<Balance>, commands: Commands| {
                    if !on.replaced {
                        *balance.1.entry((number, on.source, on.relation, on.target)).or_default() += 1;
                    }
                    perhaps(commands);
                });
                world.add_observer(move |on: On<PairRemoved<$relation>>, mut balance: ResMut<Balance>, commands: Commands| {
                    *balance.1.entry((number, on.source, on.relation, on.target)).or_default() -= 1;
                    perhaps(commands);
                });
            )*};
        }
        typed!(Hauls, Moored, Wears, Spouse, Queues);
    }
    Bed { world, deltas, by_delta: BTreeSet::new(), live }
}

#[test]
fn observers_that_do_more_of_the_same_leave_every_rule_of_every_relation_kept() {
    let first = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    for seed in first..first + fewer(8) {
        RANDOM.set(Random(0x1234_5678 + seed as u64 * 7919));
        BUDGET.set(0);
        LOG.take();
        let mut bed = prepare(seed);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for step in 0..150 {
                LOG.take();
                BUDGET.set(if seed % 5 == 0 { 40 } else { 5 });
                act(&mut bed.world, 0);
                bed.world.flush();
                BUDGET.set(0);
                check(&mut bed, seed);
                if step % 3 == 0 {
                    settle(&mut bed);
                    check(&mut bed, seed);
                }
                take_reported_errors();
            }
        }));
        if let Err(panic) = result {
            println!("seed {seed}");
            LOG.take().iter().for_each(|line| println!("{line}"));
            std::panic::resume_unwind(panic);
        }
    }
    assert!(ACTED.get() > 100 || fewer(8) < 8, "{}", ACTED.get());
}
