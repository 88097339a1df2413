//! Changes on the fast path leave what the rules leave: the same random history runs in two worlds, of which one has observers
//! of every relation. These keep each change from the fast path, and do nothing.
//!
//! What a program can do there: relations of every kind that has a fast path of its own (tags, values, exclusive ones of both
//! kinds, symmetric ones, companions of one and of several, exclusive companions, ends that must have components or must not, keys,
//! relations created at run time with values and without), and those that do not have one; components of the ends that come and go;
//! pairs with oneself, with types, with entities that are not marked yet or are dead; typed and by id, one by one and in batches,
//! through commands, bundles, clones; removal by name, of a source, everywhere; despawns. Compared are pairs with their order, values,
//! what deltas report, what change filters find, results and errors.

use crate::common::{Random, fewer, panic_message, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{prelude::*, system::SystemState};
use bevy_relations::{
    live::AnyPairDeltas,
    prelude::*,
    query::AddedPair,
    relation::{EndConstraint, Wildcard},
};
use std::{fmt::Debug, sync::Arc};

type Counter = Arc<()>;

macro_rules! tags {
    ($($name:ident ($($trait:tt)*)),*) => {$(
        #[derive(Relation, Clone)]
        #[relation($($trait)*)]
        struct $name;
    )*};
}

macro_rules! valued {
    ($($name:ident ($($trait:tt)*)),*) => {$(
        #[derive(Relation, Clone)]
        #[relation($($trait)*)]
        struct $name(u32, #[expect(dead_code, reason = "it counts the values")] Counter);
    )*};
}

tags!(
    Likes(ordered),
    Docked(exclusive),
    Knows(symmetric),
    Married(symmetric, exclusive),
    Leads(with = Likes),
    Serves(exclusive, with(Docked, Likes, Knows)),
    Guards(with(Likes, Docked)),
    Below(acyclic),
    Beside(symmetric, with = Likes),
    Guides(source(Laden)),
    Moored(exclusive, source(Laden), target(!Wreck))
);
valued!(
    Owes(ordered),
    Rents(exclusive),
    Shares(symmetric),
    Pays(with = Likes),
    Hauls(source(Laden)),
    Tows(exclusive, target(!Wreck)),
    Trades(symmetric, source(!Wreck))
);

/// One of a key per source.
#[derive(Relation, Clone)]
#[relation(key = u8, target(!Wreck))]
struct Wears(u8, u32, #[expect(dead_code, reason = "it counts the values")] Counter);

#[derive(Component, Clone)]
struct Laden;

#[derive(Component, Clone)]
struct Wreck;

#[derive(Component, Clone)]
struct Mass(#[expect(dead_code, reason = "it is something to clone")] u32);

/// A value of a relation created at run time.
#[derive(Clone)]
struct Price(u32, #[expect(dead_code, reason = "it counts the values")] Counter);

/// Does the same to every relation that there is.
macro_rules! for_each_tag {
    ($call:ident!($($args:tt)*)) => {
        $call!($($args)* Likes, Docked, Knows, Married, Leads, Serves, Guards, Below, Beside, Guides, Moored)
    };
}

struct Bed {
    world: World,
    entities: Vec<Entity>,
    /// Relations created at run time: a tag, a value, an exclusive value, a symmetric tag, a value of sources with a component.
    spawned: [Entity; 5],
    deltas: SystemState<AnyPairDeltas<'static, 'static>>,
    added: SystemState<Query<'static, 'static, Entity, (AddedPair<Knows>, AddedPair<Knows>)>>,
    counter: Counter,
}

impl Bed {
    fn new(is_observed: bool) -> Self {
        let mut world = world_that_records_errors();
        // Observers of all relations need the index of children, which has observers of its own.
        world.register_relation::<ChildOf>().unwrap();
        if is_observed {
            world.add_observer(|_: On<PairInserted<Wildcard>>| {});
            world.add_observer(|_: On<PairRemoved<Wildcard>>| {});
        } else {
            world.spawn_empty();
            world.spawn_empty();
        }
        let kinds = [
            RelationTraits::new(),
            RelationTraits::new().data::<Price>(),
            RelationTraits::new().exclusive().data::<Price>(),
            RelationTraits::new().symmetric(),
            RelationTraits::new().source(EndConstraint::with::<Laden>()).data::<Price>(),
        ];
        let mut number = 0;
        let spawned = kinds.map(|traits| {
            number += 1;
            world.spawn_relation(format!("R{number}"), traits).unwrap()
        });
        let entities = (0..7).map(|_| world.spawn(Mass(1)).id()).collect();
        let (deltas, added) = (SystemState::new(&mut world), SystemState::new(&mut world));
        Self { world, entities, spawned, deltas, added, counter: Counter::default() }
    }

    /// Changes something, and returns what came of it.
    fn act(&mut self, random: &mut Random, step: u32) -> String {
        let Self { world, entities, spawned, counter, .. } = self;
        let numbers = [random.below(7), random.below(7)];
        let [source, target] = numbers.map(|number| entities[number]);
        let (relation, way) = (random.below(19), random.below(12));
        let value = || (step, counter.clone());
        let result = |result: &dyn Debug| format!("{result:?}");
        macro_rules! change {
            ($relation:ty, $new:expr) => {
                match way {
                    0..=3 => {
                        result(&world.insert_pair(source, $new, target).map_err(|error| error.to_string()))
                    }
                    4 => {
                        let pairs = [(source, $new, target), (target, $new, source), (source, $new, target)];
                        result(&world.insert_pair_batch(pairs).map_err(|error| error.to_string()))
                    }
                    5 => {
                        world.commands().entity(source).insert_pair($new, target);
                        world.flush();
                        String::new()
                    }
                    6 => {
                        let new = world.spawn((Mass(2), Pair($new, target))).id();
                        entities[numbers[0]] = new;
                        String::new()
                    }
                    7 => result(&world.remove_pair::<$relation>(source, target)),
                    8 => {
                        let pairs = [(source, target), (target, source), (source, target)];
                        result(&world.remove_pair_batch::<$relation>(pairs))
                    }
                    9 => result(&world.remove_pairs::<$relation>(source)),
                    10 => result(
                        &world.replace_targets(source, [($new, target)]).map_err(|error| error.to_string()),
                    ),
                    _ => result(
                        &world.move_sources::<$relation>(source, target).map_err(|error| error.to_string()),
                    ),
                }
            };
        }
        match random.below(23) {
            0 => {
                world.despawn(source);
                entities[numbers[0]] = world.spawn(Mass(3)).id();
                String::new()
            }
            1 => {
                if let Ok(mut source) = world.get_entity_mut(source) {
                    entities[numbers[1]] = source.clone_and_spawn();
                }
                String::new()
            }
            2 => {
                // It stays dead for a while.
                world.despawn(source);
                String::new()
            }
            3..=7 => {
                let kind = random.below(5);
                let pair = (spawned[kind], target);
                match (way, kind) {
                    (0..=7, 0 | 3) => {
                        result(&world.insert_pair_by_id(source, pair).map_err(|error| error.to_string()))
                    }
                    (0..=7, _) => {
                        let (number, counter) = value();
                        let price = Price(number, counter);
                        result(
                            &world
                                .insert_pair_value_by_id(source, pair, price)
                                .map_err(|error| error.to_string()),
                        )
                    }
                    (8, _) => result(&world.remove_pairs_everywhere((spawned[kind], target))),
                    (9, _) => result(&world.remove_pairs_by_id(source, PairId::with_relation(spawned[kind]))),
                    _ => result(&world.remove_pairs_by_id(source, pair)),
                }
            }
            8 | 9 => {
                if let Ok(mut source) = world.get_entity_mut(source) {
                    match way {
                        0..=4 => source.insert(Laden),
                        5..=6 => source.remove::<Laden>(),
                        7..=8 => source.insert(Wreck),
                        _ => source.remove::<Wreck>(),
                    };
                }
                String::new()
            }
            10 => result(&world.check_constraints()),
            _ => match relation {
                0 => change!(Likes, Likes),
                1 => change!(Docked, Docked),
                2 => change!(Knows, Knows),
                3 => change!(Married, Married),
                4 => change!(Leads, Leads),
                5 => change!(Serves, Serves),
                6 => change!(Guards, Guards),
                7 => change!(Below, Below),
                8 => change!(Beside, Beside),
                9 => change!(Owes, Owes(step, counter.clone())),
                10 => change!(Rents, Rents(step, counter.clone())),
                11 => change!(Shares, Shares(step, counter.clone())),
                12 => change!(Pays, Pays(step, counter.clone())),
                13 => change!(Guides, Guides),
                14 => change!(Moored, Moored),
                15 => change!(Hauls, Hauls(step, counter.clone())),
                16 => change!(Tows, Tows(step, counter.clone())),
                17 => change!(Wears, Wears((step % 3) as u8, step, counter.clone())),
                _ => change!(Trades, Trades(step, counter.clone())),
            },
        }
    }

    /// What there is to be compared.
    fn state(&mut self) -> String {
        self.world.check_pairs().unwrap();
        let Self { world, entities, spawned, deltas, added, counter } = self;
        let mut state = vec![format!("{entities:?} {}", Arc::strong_count(counter))];
        for &entity in &*entities {
            state.push(format!("{:?} {:?}", world.pairs_of(entity), world.pairs_to(entity)));
            macro_rules! sources {
                ($($relation:ident),*) => {$(
                    state.push(format!("{:?}", world.pairs::<$relation>().sources(entity).collect::<Vec<_>>()));
                )*};
            }
            for_each_tag!(sources!());
            for &other in &*entities {
                let prices = [1, 2, 4].map(|kind| {
                    world.pair_value_by_id::<Price>(entity, (spawned[kind], other)).map(|price| price.0)
                });
                let values = [
                    world.pair_value::<Owes>(entity, other).map(|value| value.0),
                    world.pair_value::<Rents>(entity, other).map(|value| value.0),
                    world.pair_value::<Shares>(entity, other).map(|value| value.0),
                    world.pair_value::<Pays>(entity, other).map(|value| value.0),
                    world.pair_value::<Hauls>(entity, other).map(|value| value.0),
                    world.pair_value::<Tows>(entity, other).map(|value| value.0),
                    world.pair_value::<Trades>(entity, other).map(|value| value.0),
                    world.pair_value::<Wears>(entity, other).map(|value| value.1),
                ];
                if prices.iter().chain(&values).any(Option::is_some) {
                    state.push(format!("{entity} {other} {prices:?} {values:?}"));
                }
            }
        }
        let told = deltas.get(world).unwrap().read().map(Iterator::collect::<Vec<_>>);
        let mut told =
            told.map_or(Vec::new(), |told| told.iter().map(|delta| format!("{delta:?}")).collect());
        // In which order the pairs of an entity go with it is left open.
        told.sort_unstable();
        state.push(format!("{told:?}"));
        state.push(format!("{:?}", added.get(world).unwrap().iter().collect::<Vec<_>>()));
        state.push(format!("{:?}", take_reported_errors()));
        state.join("\n")
    }
}

#[test]
fn the_fast_path_leaves_what_the_rules_leave() {
    for seed in 0..fewer(9) as u64 {
        let mut beds = [Bed::new(false), Bed::new(true)];
        let mut randoms = [(); 2].map(|()| Random(seed + 1));
        for step in 0..120 {
            let mut results = Vec::new();
            for (bed, random) in beds.iter_mut().zip(&mut randoms) {
                let result = bed.act(random, step);
                results.push((result, bed.state()));
            }
            assert_eq!(results[0], results[1], "seed {seed}, step {step}");
        }
    }
}

/// A value that panics when it is dropped, once.
#[derive(Relation)]
#[relation(exclusive)]
struct Fuse(Option<Counter>);

#[derive(Relation)]
struct Charge(Option<Counter>);

impl Drop for Fuse {
    fn drop(&mut self) {
        assert!(self.0.take().is_none(), "a fuse");
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        assert!(self.0.take().is_none(), "a charge");
    }
}

#[test]
fn a_value_that_panics_as_it_goes_leaves_the_pairs_right() {
    let mut world = world_that_records_errors();
    let [a, b, c] = spawn(&mut world);
    let counter = Counter::default();
    let live = || Some(counter.clone());
    world.insert_pair(a, Fuse(None), b).unwrap();
    world.insert_pair(a, Fuse(live()), b).unwrap();
    // Another target takes its place.
    let message = panic_message(|| world.insert_pair(a, Fuse(None), c));
    assert_eq!((message.as_deref(), Arc::strong_count(&counter)), (Some("a fuse"), 1));
    assert!(world.has_pair::<Fuse>(a, c) && !world.has_pair::<Fuse>(a, b));
    world.check_pairs().unwrap();
    // All of a source go.
    world.insert_pair(a, Charge(live()), b).unwrap();
    for target in [c, a] {
        world.insert_pair(a, Charge(None), target).unwrap();
    }
    let message = panic_message(|| world.remove_pairs::<Charge>(a));
    assert_eq!((message.as_deref(), Arc::strong_count(&counter)), (Some("a charge"), 1));
    assert_eq!(world.pairs::<Charge>().target_count(a), 0);
    world.check_pairs().unwrap();
}

/// A relation in `with` that goes, and whose number serves another; ends that are dead, or types with fields.
#[test]
fn companions_that_go_and_ends_that_are_no_entities_any_more() {
    #[derive(Component, Clone, Default)]
    struct Place(#[expect(dead_code, reason = "it is a type with fields")] u32);
    let mut world = world_that_records_errors();
    let [a, b, dead] = spawn(&mut world);
    world.despawn(dead);
    let companion = world.spawn_relation("Companion", RelationTraits::new()).unwrap();
    let leads = world.spawn_relation("Leads", RelationTraits::new().with_id(companion)).unwrap();
    for _ in 0..2 {
        world.insert_pair_by_id(a, (leads, b)).unwrap();
        assert!(world.has_pair_by_id(a, (companion, b)));
        world.remove_pairs_by_id(a, (leads, b));
    }
    for (source, target) in [(a, dead), (dead, a), (dead, dead)] {
        let before = world.pairs_of(a);
        world.insert_pair_by_id(source, (leads, target)).unwrap_err();
        world.insert_pair(source, Knows, target).unwrap_err();
        assert!(!world.remove_pair::<Knows>(source, target));
        assert_eq!(world.pairs_of(a), before);
    }
    world.despawn(companion);
    let other = world.spawn_relation("Other", RelationTraits::new()).unwrap();
    world.insert_pair_by_id(a, (leads, b)).unwrap();
    assert!(!world.has_pair_by_id(a, (other, b)));
    let place = world.entity_of::<Place>();
    world.insert_pair(a, Knows, b).unwrap();
    let knows = world.entity_of::<Knows>();
    for (source, target) in [(a, place), (place, b)] {
        // It carries a value of the type.
        world.insert_pair(source, Knows, target).unwrap_err();
        assert!(!world.has_pair::<Knows>(source, target) && !world.has_pair::<Knows>(target, source));
        world.insert_pair_value_by_id(source, (knows, target), Place(1)).unwrap();
        assert!(world.has_pair::<Knows>(target, source));
        world.check_pairs().unwrap();
        assert!(world.remove_pair::<Knows>(target, source));
    }
    assert!(!world.has_pair::<Knows>(a, place) && world.has_pair::<Knows>(b, a));
    world.check_pairs().unwrap();
}
