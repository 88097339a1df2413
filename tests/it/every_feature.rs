//! Random histories of relations of which each has every feature at once that goes together: traits, a storage, a mirror, islands,
//! rollups, propagation, live expressions, monitors, an index of a field and snapshots. After each step every way of reading the
//! same pairs agrees. `SEED=n cargo test --test it every_feature` tries other histories.

use crate::{
    common::{
        Random, all_entities, check_live_rows, fewer, if_alive, take_reported_errors,
        world_that_records_errors,
    },
    operations_storm::check_mirror,
    random_acts::{ACTED, BUDGET, LOG, RANDOM, below},
};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry, system::SystemState};
use bevy_reflect::Reflect;
use bevy_relations::{
    error::PairRefusal,
    expr::{CompiledExpr, PairExpr, WorldFieldIndexExt},
    islands::WorldIslandsExt,
    live::*,
    mirror::*,
    prelude::*,
    query::Target,
    relation::{PairContext, Prefab, StoredRelation, TraversableRelation, Wildcard},
    snapshot::*,
};
use core::fmt::Debug;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Component, Clone, Default, Reflect, PartialEq, Debug)]
#[reflect(Component)]
struct Mass {
    grams: u32,
}

/// What the tests ask of all these relations.
trait Tested: MirroredRelation + RollupValue<Value = u64> + PartialEq + Debug + Clone {
    fn new(key: u8, number: u32) -> Self;
    /// The key, of a relation that has one.
    fn key_of(&self) -> Option<u8> {
        None
    }
    /// Adds what only relations of some kinds can have.
    fn add(_: &mut World) {}
    fn check(_: &World) {}
    /// Writes values in place, of relations where that is possible: those to one target.
    fn write(_: &mut World, _: Entity, _: u32) {}
}

macro_rules! tested {
    ($($name:ident ($($trait:tt)*) $key:expr, $add:expr, $check:expr, $write:expr;)*) => {$(
        #[derive(Relation, Reflect, Clone, Debug, PartialEq, Default)]
        #[relation($($trait)*)]
        struct $name(u8, u32);

        impl RollupValue for $name {
            type Value = u64;

            fn rollup_value(&self) -> u64 {
                self.1.into()
            }
        }

        impl Tested for $name {
            fn new(key: u8, number: u32) -> Self {
                Self(key, number)
            }

            fn key_of(&self) -> Option<u8> {
                let key: fn(&Self) -> Option<u8> = $key;
                key(self)
            }

            fn add(world: &mut World) {
                let add: fn(&mut World) = $add;
                add(world);
            }

            fn check(world: &World) {
                let check: fn(&World) = $check;
                check(world);
            }

            fn write(world: &mut World, target: Entity, number: u32) {
                let write: fn(&mut World, Entity, u32) = $write;
                write(world, target, number);
            }
        }
    )*};
}

tested!(
    Carries(exclusive, traversable, ordered, on_target_despawn = Despawn, storage = "Table", validate = validate)
        |_| None, add_traversable::<Carries>, check_traversable::<Carries>, write::<Carries>;
    Holds(traversable, transitive, reflexive, ordered, key = u8, storage = "Fragmenting", on_instantiate = Inherit)
        |holds| Some(holds.0), add_traversable::<Holds>, check_traversable::<Holds>, |_, _, _| ();
    Hangs(acyclic, ordered, key = u8, storage = "Fragmenting", on_last_source = Despawn, with = Marks)
        |hangs| Some(hangs.0), add_acyclic::<Hangs>, check_acyclic::<Hangs>, |_, _, _| ();
    Trades(symmetric, ordered, storage = "Table", source(!Wreck)) |_| None, |_| (), |_| (), write::<Trades>;
    Weds(exclusive, symmetric, storage = "Fragmenting", on_target_despawn = Despawn) |_| None, |_| (), |_| (), write::<Weds>;
);

#[derive(Relation)]
#[relation(storage = "Table")]
struct Marks;

#[derive(Component, Default)]
struct Wreck;

fn validate(value: &mut Carries, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    value.1 %= 1000;
    match value.1 {
        7 => Err(PairRefusal::new("seven")),
        _ => Ok(()),
    }
}

fn write<R: Tested + StoredRelation>(world: &mut World, target: Entity, number: u32) {
    let first = world.pairs::<R>().sources(target).next();
    if let Some(mut value) = first.and_then(|source| world.pair_value_mut::<R>(source, target)) {
        *value = R::new(1, number + 20);
    }
    if number.is_multiple_of(2) {
        let mut state = SystemState::<PairsMut<R>>::new(world);
        let mut pairs = state.get_mut(world).unwrap();
        pairs.for_each_to(target, |_, mut value| *value = R::new(2, number + 30));
    }
}

fn add_acyclic<R: Tested>(world: &mut World) {
    world.add_rollup::<R, Mass, Count>().unwrap();
    world.add_pair_rollup::<R, Sum>().unwrap();
}

fn add_traversable<R: Tested + TraversableRelation>(world: &mut World) {
    add_acyclic::<R>(world);
    world.propagate::<R, Mass>().unwrap();
    world.propagate_changes::<R, Mass>();
}

/// The sum of the values of all pairs below an entity, each once per path.
fn sum_below<R: Tested>(world: &World, entity: Entity) -> Option<u64> {
    let pairs = world.pairs::<R>();
    let sources = pairs.sources(entity);
    let of_source = |source| {
        pairs.get(source, entity).unwrap().rollup_value() + sum_below::<R>(world, source).unwrap_or(0)
    };
    sources.map(of_source).reduce(|a, b| a + b)
}

/// The paths that lead up to an entity from those with a mass.
fn paths_below<R: Tested>(world: &World, entity: Entity) -> u64 {
    let of_source = |source| u64::from(world.get::<Mass>(source).is_some()) + paths_below::<R>(world, source);
    world.pairs::<R>().sources(entity).map(of_source).sum()
}

fn check_acyclic<R: Tested>(world: &World) {
    for entity in all_entities(world) {
        let counted = world.get::<Rollup<R, Mass, Count>>(entity).map_or(0, |count| *count.get());
        assert_eq!(counted, paths_below::<R>(world, entity), "masses below {entity}");
        let sum = world.get::<Rollup<R, R, Sum>>(entity).map(|sum| *sum.get());
        assert_eq!(sum, sum_below::<R>(world, entity), "values below {entity}");
    }
}

fn check_traversable<R: Tested + TraversableRelation>(world: &World) {
    check_acyclic::<R>(world);
    let pairs = world.pairs::<R>();
    for entity in all_entities(world) {
        let propagated = world.get::<Propagated<R, Mass>>(entity);
        let holder = pairs.nearest_above::<Mass>(world, entity);
        let value = holder.and_then(|holder| world.get::<Mass>(holder));
        assert_eq!(propagated.map(Propagated::holder), holder, "what is above {entity}");
        assert_eq!(propagated.map(|it| &**it), value, "what is above {entity}");
    }
}

trait NearestAbove {
    fn nearest_above<C: Component>(&self, world: &World, entity: Entity) -> Option<Entity>;
}

/// Depth first, as searches for a holder go.
impl<R: Relation> NearestAbove for Pairs<'_, '_, R> {
    fn nearest_above<C: Component>(&self, world: &World, entity: Entity) -> Option<Entity> {
        self.targets(entity).find_map(|target| match world.get::<C>(target) {
            Some(_) => Some(target),
            None => self.nearest_above::<C>(world, target),
        })
    }
}

#[derive(Resource)]
struct Known {
    entities: Vec<Entity>,
    prefab: Entity,
    kept: Option<PairSnapshot>,
    saved: Option<SavedPairs>,
}

/// Source and target of the rows of the first expression that have entered and not left, as a monitor has seen them.
#[derive(Resource, Default)]
struct Monitored(BTreeSet<(Entity, Entity)>);

fn ends_of(row: &MovedRow) -> (Entity, Entity) {
    (row.this().unwrap(), row.var("x").unwrap())
}

fn pick(world: &World) -> Entity {
    let known = world.resource::<Known>();
    known.entities[below(known.entities.len())]
}

fn spawn_new(world: &mut World) -> Entity {
    match below(3) {
        0 => world.spawn_empty().id(),
        grams => world.spawn(Mass { grams: grams as u32 }).id(),
    }
}

fn replace(world: &mut World, old: Entity, new: Entity) {
    let mut known = world.resource_mut::<Known>();
    if let Some(at) = known.entities.iter().position(|&entity| entity == old) {
        known.entities[at] = new;
    }
}

fn act<R: Tested>(world: &mut World, depth: usize) {
    ACTED.set(ACTED.get() + u32::from(depth > 0));
    let [source, target, third] = [(); 3].map(|()| pick(world));
    let (kind, number) = (below(40), below(20) as u32);
    LOG.with_borrow_mut(|log| {
        log.push(format!("{}kind {kind}, {number}: {source} {target} {third}", "  ".repeat(depth)));
    });
    let new = |key: usize| R::new((key % 3) as u8, number);
    match kind {
        0..=5 => _ = world.insert_pair(source, new(number as usize), target),
        6 => {
            _ = world.insert_pair_batch([
                (source, new(0), target),
                (target, new(1), third),
                (source, new(1), third),
                (third, new(2), source),
            ]);
        }
        7 => _ = world.insert_pairs(source, [(new(0), target), (new(1), third)]),
        8 => {
            let spawned = world.spawn((Mass { grams: 1 }, Pair(new(0), target), Pair(new(1), third))).id();
            replace(world, source, spawned);
        }
        9 => {
            let all =
                world.spawn_batch_with_pair((0..3).map(|n| (Mass { grams: n }, new(n as usize), target)));
            replace(world, third, all[below(3)]);
        }
        10 => if_alive(world, source, |entity| _ = entity.insert(pairs![(new(0), target), (new(0), third)])),
        11 => _ = world.remove_pair::<R>(source, target),
        12 => _ = world.remove_pairs::<R>(source),
        13 | 14 => _ = world.replace_targets(source, [(new(0), target), (new(1), third)]),
        15 | 16 => _ = world.move_sources::<R>(source, target),
        17 => {
            let mut sources: Vec<Entity> = world.pairs::<R>().sources(target).collect();
            sources.reverse();
            sources.extend([source, source]);
            _ = world.order_sources::<R>(target, &sources);
        }
        18 => if_alive(world, source, |entity| {
            _ = entity.insert(MirroredPairs::from_iter([(new(0), target), (new(1), third)]));
        }),
        19 => if_alive(world, source, |entity| _ = entity.remove::<MirroredPairs<R>>()),
        20 | 21 => R::write(world, target, number),
        22 => {
            world.commands().entity(source).try_insert_pair(new(2), target).try_remove_pair::<R>(third);
        }
        23 => {
            let mut commands = world.commands();
            let mut batch = commands.pair_batch::<R>();
            batch.insert(source, new(0), target).remove(target, third);
            batch.insert(third, new(1), target).remove(source, target);
        }
        24 => {
            _ = world.try_despawn(source);
            let spawned = spawn_new(world);
            replace(world, source, spawned);
        }
        25 => _ = world.despawn_with_dependents(source),
        26 => if_alive(world, source, |entity| _ = entity.clear()),
        27 => if_alive(world, source, |entity| _ = entity.insert(Mass { grams: number })),
        28 => if_alive(world, source, |entity| _ = entity.remove::<Mass>()),
        29 => {
            if let Some(mut mass) = world.get_mut::<Mass>(source) {
                mass.grams += 1;
            }
        }
        30 => {
            if let Ok(snapshot) = PairSnapshot::take(world, PairFilter::none().relation::<R>()) {
                world.resource_mut::<Known>().kept = Some(snapshot);
            }
        }
        31 => {
            if let Some(snapshot) = world.resource_mut::<Known>().kept.take() {
                _ = if number % 2 == 0 { snapshot.apply(world) } else { snapshot.apply_to_living(world) };
            }
        }
        32 => {
            let snapshot = PairSnapshot::take(world, PairFilter::none().relation::<R>());
            // The part of the prefab has no name.
            if let Some(saved) = snapshot.ok().and_then(|snapshot| snapshot.to_saved(world).ok()) {
                world.resource_mut::<Known>().saved = Some(saved);
            }
        }
        33 => {
            if let Some(saved) = world.resource_mut::<Known>().saved.take() {
                _ = saved.load(world);
            }
        }
        34 => {
            let prefab = world.resource::<Known>().prefab;
            if let Ok(instance) = world.instantiate(prefab) {
                replace(world, third, instance);
            }
        }
        35 => {
            let prefab = world.resource::<Known>().prefab;
            _ = world.insert_pair(prefab, new(0), target);
        }
        36 => {
            let relation = world.entity_of::<R>();
            world.remove_pairs_everywhere((relation, target));
        }
        37 if depth == 0 && number < 4 => {
            let relation = world.entity_of::<R>();
            _ = world.try_despawn(relation);
        }
        38 if number < 2 => world.clear_pairs(),
        39 => world.maintain_pairs(),
        _ => if_alive(world, source, |entity| _ = entity.insert(Wreck)),
    }
    if depth == 0 {
        world.flush();
    }
}

fn perhaps<R: Tested>(mut commands: Commands) {
    let budget = BUDGET.get();
    if budget > 0 && below(2) == 0 {
        BUDGET.set(budget - 1);
        commands.queue(|world: &mut World| act::<R>(world, 1));
    }
}

/// Expressions about a relation, whose name is `R` in them.
const LIVE: [&str; 6] = [
    "(R, $x)",
    "Mass, (R, $x), Mass($x)",
    "(R.1, $x) > 8",
    "Mass.grams == 2, (R, *)",
    "(R, _), !(R, $this)",
    "R($x, $this)",
];

fn prepare<R: Tested>(seed: usize, name: &str) -> (World, Vec<(LiveExpr, CompiledExpr)>) {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().write().register::<Mass>();
    world.resource::<AppTypeRegistry>().write().register::<R>();
    world.register_relation::<R>().unwrap();
    world.register_component_name::<Mass>("Mass");
    world.track_pair_changes::<R>();
    world.track_islands::<R>().unwrap();
    world.index_field::<Mass>("grams").unwrap();
    if seed % 3 != 2 {
        world.mirror_pairs::<R>().unwrap();
    }
    R::add(&mut world);
    let entities: Vec<Entity> = (0..6).map(|_| spawn_new(&mut world)).collect();
    let prefab = world.spawn((Prefab, Mass { grams: 3 })).id();
    let part = world.spawn((Mass { grams: 4 }, ChildOf(prefab))).id();
    _ = world.insert_pair(part, R::new(1, 1), prefab);
    world.insert_resource(Known { entities, prefab, kept: None, saved: None });
    world.init_resource::<Monitored>();
    let pairs = PairExpr::parse(LIVE[0].replace('R', name)).unwrap();
    let entered = |world: &mut World, row: &MovedRow| {
        assert!(world.resource_mut::<Monitored>().0.insert(ends_of(row)), "{row:?} has entered twice");
    };
    let left = |world: &mut World, row: &MovedRow| {
        assert!(world.resource_mut::<Monitored>().0.remove(&ends_of(row)), "{row:?} was not there");
    };
    let monitor = world.observe_expr(&pairs, entered, left).unwrap();
    world.yield_existing(monitor).unwrap();
    // A row that was there, and is gone by the first update, would be reported as one that left.
    world.update_live().unwrap();
    let live = LIVE.iter().map(|text| {
        let expr = PairExpr::parse(text.replace('R', name)).unwrap();
        (expr.live(&mut world).unwrap(), expr.compile(&mut world).unwrap())
    });
    let live = live.collect();
    if !seed.is_multiple_of(4) {
        world.add_observer(|_: On<PairInserted<Wildcard>>, commands: Commands| perhaps::<R>(commands));
        world.add_observer(|_: On<PairRemoved<R>>, commands: Commands| perhaps::<R>(commands));
        world.add_observer(|_: On<Insert<MirroredPairs<R>>>, commands: Commands| perhaps::<R>(commands));
        world.add_observer(|_: On<Remove<Mass>>, commands: Commands| perhaps::<R>(commands));
    }
    (world, live)
}

type Found = BTreeMap<(Entity, Entity), String>;

fn check<R: Tested>(world: &mut World, live: &mut [(LiveExpr, CompiledExpr)], seed: usize) {
    world.flush();
    world.check_pairs().unwrap();
    world.maintain_pairs();
    world.check_pairs().unwrap();
    world.update_rollups();
    world.update_propagation();
    R::check(world);
    if seed % 3 != 2 {
        check_mirror::<R>(world);
    }
    let view = world.pairs::<R>();
    let found: Found = view
        .iter()
        .map(|(source, target)| ((source, target), format!("{:?}", view.get(source, target).unwrap())))
        .collect();
    let relation = world.entity_of::<R>();
    let any: BTreeSet<(Entity, Entity)> = world.pairs_by_id(relation).iter().collect();
    assert!(found.keys().eq(&any));
    check_ends::<R>(world, &found);
    check_queries::<R>(world, &found);
    check_islands::<R>(world, &found);
    let before = crate::common::dump(world);
    let budget = BUDGET.replace(0);
    let snapshot = PairSnapshot::take(world, PairFilter::none().relation::<R>()).unwrap();
    let applied = snapshot.apply(world).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((applied.inserted, applied.replaced, applied.removed), (0, 0, 0));
    BUDGET.set(budget);
    assert_eq!(before, crate::common::dump(world));
    check_live_rows(world, live, &LIVE);
    world.update_live().unwrap();
    let mut rows = BTreeSet::new();
    live[0].1.for_each(world, |row| _ = rows.insert((row.this().unwrap(), row.var("x").unwrap()))).unwrap();
    assert_eq!(world.resource::<Monitored>().0, rows);
}

/// What is read at either end of the pairs.
fn check_ends<R: Tested>(world: &World, found: &Found) {
    let pairs = world.pairs::<R>();
    let mut from_targets = BTreeSet::new();
    for entity in all_entities(world) {
        let mut keys = BTreeSet::new();
        for (target, value) in pairs.values_of(entity) {
            assert_eq!(found.get(&(entity, target)), Some(&format!("{value:?}")));
            assert!(value.key_of().is_none_or(|key| keys.insert(key)), "one pair per key of {entity}");
        }
        assert_eq!(pairs.target_count(entity), pairs.targets(entity).count());
        assert_eq!(pairs.source_count(entity), pairs.sources(entity).count());
        from_targets.extend(pairs.sources(entity).map(|source| (source, entity)));
    }
    assert!(found.keys().eq(&from_targets));
}

/// What the terms of queries read.
fn check_queries<R: Tested>(world: &mut World, found: &Found) {
    let mut targets = world.query::<(Entity, Targets<R>, Target<R>)>();
    let mut sources = world.query::<(Entity, Sources<R>)>();
    let hidden = |entity: Entity| world.get::<Prefab>(entity).is_some();
    let mut rows = Found::new();
    for (source, targets, first) in targets.iter(world) {
        assert_eq!(targets.clone().next(), Some(*first));
        assert_eq!(targets.with_values().next().unwrap().1, first.value().unwrap());
        rows.extend(targets.with_values().map(|(target, value)| ((source, target), format!("{value:?}"))));
    }
    let seen: Found =
        found.iter().filter(|((source, _), _)| !hidden(*source)).map(|(k, v)| (*k, v.clone())).collect();
    assert_eq!(rows, seen);
    let mut ends = BTreeSet::new();
    for (target, sources) in sources.iter(world) {
        assert!(
            sources.clone().eq(world.pairs::<R>().sources(target)),
            "the order of the sources of {target}"
        );
        ends.extend(sources.map(|source| (source, target)));
    }
    let seen: BTreeSet<(Entity, Entity)> =
        found.keys().copied().filter(|(_, target)| !hidden(*target)).collect();
    assert_eq!(ends, seen);
}

/// Islands are what pairs connect.
fn check_islands<R: Tested>(world: &World, found: &Found) {
    let islands = world.islands::<R>().unwrap();
    let mut ends = BTreeSet::new();
    for &(source, target) in found.keys() {
        assert!(
            islands.island(source).is_some() && islands.island(source) == islands.island(target),
            "{source} {target}"
        );
        ends.extend([source, target]);
    }
    for entity in all_entities(world) {
        assert_eq!(islands.island(entity).is_some(), ends.contains(&entity), "{entity}");
    }
    let mut reached = BTreeSet::new();
    let mut count = 0;
    for &start in &ends {
        count += usize::from(!reached.contains(&start));
        let mut stack = vec![start];
        while let Some(next) = stack.pop() {
            if reached.insert(next) {
                let neighbors = found.keys().filter(|(a, b)| *a == next || *b == next);
                stack.extend(neighbors.flat_map(|&(a, b)| [a, b]));
            }
        }
    }
    assert_eq!(islands.len(), count);
}

fn play<R: Tested>(name: &str, histories: usize, steps: usize) {
    let first = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    for seed in first..first + fewer(histories) {
        RANDOM.set(Random(0x1234_5678 + seed as u64 * 7919));
        BUDGET.set(0);
        LOG.take();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let (mut world, mut live) = prepare::<R>(seed, name);
            for _ in 0..steps {
                LOG.take();
                BUDGET.set(if seed % 5 == 0 { 12 } else { 3 });
                act::<R>(&mut world, 0);
                BUDGET.set(0);
                check::<R>(&mut world, &mut live, seed);
                take_reported_errors();
            }
        }));
        if let Err(panic) = result {
            println!("{name}, seed {seed}");
            LOG.take().iter().for_each(|line| println!("{line}"));
            take_reported_errors().iter().for_each(|line| println!("{line}"));
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn every_way_of_reading_a_relation_with_every_feature_agrees() {
    play::<Carries>("Carries", 6, 45);
    play::<Holds>("Holds", 6, 45);
    play::<Hangs>("Hangs", 6, 45);
    play::<Trades>("Trades", 6, 45);
    play::<Weds>("Weds", 6, 45);
    assert!(ACTED.get() > 100 || fewer(6) < 6, "{}", ACTED.get());
}
