//! Observers that act at each moment of operations on many pairs or entities at a time.
//!
//! Each case is an event, an action, the number of the event at which it is taken, and an operation: a snapshot or a save is
//! applied, a text inserted, entities disabled, sources moved or ordered, entities spawned in batches, in scopes or by
//! components of others. Afterwards pairs, and all that is derived from them, are as they have to be, and the same operations
//! can be done again. `SEED=n cargo test --test it operations_storm` tries other cases.

use crate::{
    acting::{Action, Plan, observers},
    common::{Random, all_entities, dump, size, take_reported_errors, world_that_records_errors},
    live::{fresh_rows, kept_rows},
};
use bevy_ecs::{
    entity::{EntityCloner, EntityHashMap},
    entity_disabling::Disabled,
    prelude::*,
    reflect::{AppTypeRegistry, ReflectComponent},
};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use bevy_relations::{
    disabling::*,
    expr::{CompiledExpr, PairExpr, UnknownNames, WorldExprExt},
    live::*,
    mirror::*,
    prelude::*,
    relation::Wildcard,
    snapshot::*,
};

#[derive(Component, Reflect, Clone, Copy, PartialEq, Debug, Default)]
#[reflect(Component, Default)]
struct Health(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Likes;

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
struct Weighs(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct Mounted;

#[derive(Relation, Clone)]
#[relation(symmetric, exclusive)]
struct Married(#[expect(dead_code, reason = "it makes a value")] u32);

#[derive(Relation)]
#[relation(ordered, on_last_source = Despawn)]
struct Queues;

#[derive(Relation)]
#[relation(traversable, acyclic)]
struct PartOf;

#[derive(Relation)]
#[relation(exclusive, storage = "Table")]
struct DockedTo;

#[derive(Relation)]
#[relation(exclusive, storage = "Fragmenting")]
struct InTeam;

/// Some entities of a case.
#[derive(Resource, Clone, Copy)]
struct Known([Entity; 8]);

/// What was there when a case began.
#[derive(Resource)]
struct Before {
    snapshot: PairSnapshot,
    saved: Option<SavedPairs>,
}

fn insert_some(world: &mut World, a: Entity, b: Entity) {
    _ = world.insert_pair(a, Likes, b);
    _ = world.insert_pair(a, Weighs(8), b);
    _ = world.insert_pair(a, Mounted, b);
    _ = world.insert_pair(a, Married(8), b);
    _ = world.insert_pair(a, Queues, b);
    _ = world.insert_pair(a, PartOf, b);
    _ = world.insert_pair(a, DockedTo, b);
    _ = world.insert_pair(a, InTeam, b);
}

/// Clones an entity if it is alive. (Where the components are moved, Bevy panics if observers despawn the entity meanwhile.)
fn clone(world: &mut World, entity: Entity) {
    if world.entities().contains_spawned(entity) {
        let clone = world.spawn_empty().id();
        EntityCloner::build_opt_out(world).clone_entity(entity, clone);
    }
}

const ACTIONS: [Action<Known>; 20] = [
    |world, _, entity| _ = world.try_despawn(entity),
    |world, known, _| _ = world.try_despawn(known.0[0]),
    |world, known, _| known.0[2..5].iter().for_each(|&entity| _ = world.try_despawn(entity)),
    |world, _, entity| _ = world.despawn_with_dependents(entity),
    |world, known, entity| insert_some(world, entity, known.0[1]),
    |world, known, entity| insert_some(world, known.0[3], entity),
    |world, _, entity| _ = world.remove_pairs_by_id(entity, PairId::ALL),
    |world, known, _| _ = world.remove_pairs_everywhere(PairId::with_target(known.0[1])),
    |world, _, _| world.clear_pairs(),
    |world, _, entity| {
        if let Ok(mut entity) = world.get_entity_mut(entity) {
            entity.clear();
        }
    },
    |world, _, entity| clone(world, entity),
    |world, known, entity| _ = world.move_sources::<Likes>(entity, known.0[6]),
    |world, _, _| {
        // Not while it is being applied.
        if world.contains_resource::<Before>() {
            with_before(world, |world, before| _ = before.snapshot.apply_to_living(world));
        }
    },
    |world, known, entity| {
        _ = world.disable_below::<PartOf>(entity);
        _ = world.disable_below::<Mounted>(known.0[0]);
    },
    |world, known, _| {
        let relations = [world.entity_of::<Married>(), world.entity_of::<Queues>()];
        _ = world.try_despawn(relations[known.0[0].index_u32() as usize % 2]);
    },
    |world, _, entity| _ = world.insert_expr(entity, "Health(5), (Likes, e1), (Weighs(3), e2)"),
    |world, _, entity| {
        if let Ok(mut entity) = world.get_entity_mut(entity) {
            entity.remove::<MirroredPairs<Weighs>>();
        }
    },
    |world, _, entity| {
        if let Ok(mut entity) = world.get_entity_mut(entity) {
            entity.insert((Health(77), Name::new("e2")));
        }
    },
    |world, known, _| {
        world.maintain_pairs();
        world.update_rollups();
        _ = world.replace_targets::<Likes>(known.0[5], [(Likes, known.0[0])]);
    },
    |world, known, _| _ = world.order_sources::<Queues>(known.0[0], &[known.0[4], known.0[3]]),
];

/// Each spawns an observer.
const OBSERVERS: &[fn(&mut World)] = observers! {
    Known:
    PairInserted<Wildcard>, source;
    PairInserted<Wildcard>, target;
    PairRemoved<Wildcard>, source;
    PairRemoved<Wildcard>, target;
    PairInserted<Weighs>, source;
    PairInserted<Queues>, target;
    PairRemoved<InTeam>, source;
    PairInserted<DockedTo>, source;
    Add<Health>, entity;
    Insert<Health>, entity;
    Add<Disabled>, entity;
    Remove<Disabled>, entity;
    Insert<ChildOf>, entity;
    Insert<MirroredPairs<Weighs>>, entity;
    Insert<MirroredPairs<Likes>>, entity;
    Discard<MirroredPairs<Likes>>, entity;
    Despawn<Health>, entity;
};

/// Texts that are inserted.
const KNOWN: &str = "Health(9), (Likes, e0), (Weighs(2), e1), (Mounted, e2), (PartOf, e3)";
const UNKNOWN: &str = "(Likes, unheard_of), (Weighs(2), e1), Health(4), (InTeam, e2)";

/// What is done to many at a time.
const OPERATIONS: [fn(&mut World, Known); 20] = [
    |world, _| with_before(world, |world, before| _ = before.snapshot.apply(world)),
    |world, _| with_before(world, |world, before| _ = before.snapshot.apply_to_living(world)),
    |world, known| {
        world.despawn(known.0[1]);
        let map = EntityHashMap::from_iter([(known.0[1], world.spawn(Health(1)).id())]);
        with_before(world, |world, before| _ = before.snapshot.apply_respawned(world, &map));
    },
    |world, _| {
        with_before(world, |world, before| {
            _ = before.snapshot.apply_mapped(world, &mut EntityHashMap::default());
        });
    },
    |world, _| {
        if let Some(saved) = world.resource_mut::<Before>().saved.take() {
            _ = saved.load(world);
        }
    },
    |world, known| {
        _ = world
            .insert_expr(known.0[7], "Health(9), (Likes, e0), (Weighs{2}, e1), (Mounted, e2), (PartOf, e3)");
    },
    |world, known| {
        _ = world.insert_expr_with(known.0[7], UNKNOWN, UnknownNames::Spawn);
    },
    |world, known| {
        _ = world.disable_below::<PartOf>(known.0[0]);
        _ = world.disable_below::<Mounted>(known.0[0]);
        _ = world.enable_below::<PartOf>(known.0[0]);
        _ = world.enable_below::<Mounted>(known.0[0]);
    },
    |world, known| {
        _ = world.disable_below::<PartOf>(known.0[0]);
        _ = world.insert_pair(known.0[7], PartOf, known.0[1]);
        world.remove_pairs::<PartOf>(known.0[2]);
    },
    |world, known| {
        let [a, b, c, ..] = known.0;
        _ = world.move_sources::<Likes>(a, b);
        _ = world.move_sources::<Weighs>(b, c);
        _ = world.move_sources::<Queues>(a, c);
        _ = world.move_sources::<Mounted>(a, c);
        _ = world.move_sources::<InTeam>(a, c);
    },
    |world, known| {
        let [a, b, c, ..] = known.0;
        _ = world.order_sources::<Queues>(a, &[known.0[5], known.0[4]]);
        _ = world.replace_targets::<Likes>(a, [(Likes, b), (Likes, c)]);
        _ = world.replace_targets::<Weighs>(b, [(Weighs(4), a), (Weighs(5), c)]);
    },
    |world, known| {
        let to = known.0[0];
        _ = world.insert_pair_batch(known.0.map(|entity| (entity, Weighs(6), to)));
        _ = world.insert_pair_batch(known.0.map(|entity| (entity, Mounted, to)));
        _ = world.insert_pair_batch(known.0.map(|entity| (entity, DockedTo, to)));
    },
    |world, known| {
        _ = world.spawn_batch_with_pair(known.0.map(|to| (Health(3), InTeam, to)));
        _ = world.spawn_batch_with_pair(known.0.map(|to| (Health(3), Married(1), to)));
    },
    |world, known| {
        world.remove_pairs_everywhere(PairId::with_target(known.0[0]));
        world.remove_pairs_everywhere(PairId::ALL);
    },
    |world, known| _ = world.despawn_sources(PairId::with_target(known.0[0])),
    |world, known| _ = world.despawn_with_dependents(known.0[0]),
    |world, known| {
        let spawned = world.with_scope(known.0[0], |world| {
            let child = world.spawn((Name::new("inner"), Health(2), Pair(Likes, known.0[1]))).id();
            world.with_scope(child, |world| world.spawn(Health(1)).id())
        });
        drop(spawned);
    },
    |world, known| {
        let pairs = MirroredPairs::from_iter([(Weighs(2), known.0[1]), (Weighs(3), known.0[2])]);
        let likes = MirroredPairs::from_iter([(Likes, known.0[3])]);
        world.spawn((Health(1), pairs.clone(), likes.clone()));
        if let Ok(mut entity) = world.get_entity_mut(known.0[0]) {
            entity.insert((pairs, likes));
        }
    },
    |world, known| {
        clone(world, known.0[0]);
        clone(world, known.0[2]);
    },
    |world, known| {
        let married = world.entity_of::<Married>();
        let commands = &mut world.commands();
        commands.entity(known.0[0]).despawn();
        commands
            .insert_pair_batch([(known.0[1], Weighs(1), known.0[0]), (known.0[1], Weighs(1), known.0[2])]);
        commands.move_sources::<Likes>(known.0[1], known.0[2]);
        commands.entity(married).despawn();
        commands.disable_below::<PartOf>(known.0[1]);
        world.flush();
    },
];

/// Runs with what was there when the case began.
fn with_before(world: &mut World, run: impl FnOnce(&mut World, &Before)) {
    world.resource_scope(|world, before: Mut<Before>| run(world, &before));
}

/// Expressions that are kept.
const LIVE: [&str; 4] = [
    "Health, (Likes, $x), Health($x)",
    "(Weighs, $x), !(InTeam, *)",
    "Health(up Mounted)",
    "(PartOf, e0) || (DockedTo, *)",
];

struct Kept(Vec<(LiveExpr, CompiledExpr)>);

fn prepare() -> (World, Known, Kept) {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    let types = world.resource::<AppTypeRegistry>().0.clone();
    types.write().register::<Health>();
    types.write().register::<Weighs>();
    world.register_component_name::<Health>("Health");
    world.mirror_pairs::<Weighs>().unwrap();
    world.mirror_pairs::<Likes>().unwrap();
    let known = Known(core::array::from_fn(|number| {
        world.spawn((Name::new(format!("e{number}")), Health(number as u32))).id()
    }));
    let [a, b, c, d, e, f, g, h] = known.0;
    for source in [c, d, e, f, g] {
        world.insert_pair(source, Likes, a).unwrap();
        world.insert_pair(source, Weighs(2), b).unwrap();
        world.insert_pair(source, Queues, a).unwrap();
        world.insert_pair(source, InTeam, a).unwrap();
        world.insert_pair(source, DockedTo, b).unwrap();
    }
    for (source, target) in [(b, a), (c, b), (d, b), (e, d)] {
        world.insert_pair(source, Mounted, target).unwrap();
        world.insert_pair(source, PartOf, target).unwrap();
    }
    world.insert_pair(a, Married(1), b).unwrap();
    world.insert_pair(h, ChildOf(a), a).unwrap();
    world.insert_resource(known);
    let snapshot = PairSnapshot::take(&mut world, PairFilter::all().without::<ChildOf>()).unwrap();
    let saved = PairSnapshot::take(&mut world, PairFilter::none().relation::<Weighs>().relation::<Likes>());
    let saved = saved.unwrap().to_saved(&world).unwrap();
    world.insert_resource(Before { snapshot, saved: Some(saved) });
    // What is applied finds other pairs.
    world.remove_pairs::<Weighs>(c);
    world.remove_pairs::<InTeam>(d);
    world.insert_pair(e, Mounted, c).unwrap();
    world.insert_pair(a, Likes, h).unwrap();
    world.insert_pair(h, Queues, a).unwrap();
    world.add_rollup::<Mounted, Health, Count>().unwrap();
    world.propagate::<Mounted, Health>().unwrap();
    let kept = LIVE.map(|text| {
        let expr = PairExpr::parse(text).unwrap();
        (expr.live(&mut world).unwrap(), expr.compile(&mut world).unwrap())
    });
    assert_eq!(take_reported_errors(), [""; 0]);
    (world, known, Kept(kept.into()))
}

fn check(world: &mut World, kept: &mut Kept) {
    world.check_pairs().unwrap();
    world.maintain_pairs();
    world.check_pairs().unwrap();
    world.update_rollups();
    world.update_propagation();
    check_mirror::<Weighs>(world);
    check_mirror::<Likes>(world);
    let mounted = world.pairs::<Mounted>();
    for entity in all_entities(world) {
        let counted = world.get::<Rollup<Mounted, Health, Count>>(entity).map_or(0, |count| *count.get());
        let below = mounted.descendants(entity).filter(|(below, _)| world.get::<Health>(*below).is_some());
        assert_eq!(below.count() as u64, counted, "the rollup of {entity}");
        let above = mounted.ancestors(entity).find(|&above| world.get::<Health>(above).is_some());
        let propagated = world.get::<Propagated<Mounted, Health>>(entity).map(Propagated::holder);
        assert_eq!(above, propagated, "what is propagated to {entity}");
        let roots = world.disabling_roots(entity);
        assert_eq!(world.get::<Disabled>(entity).is_some(), !roots.is_empty(), "{entity}: {roots:?}");
    }
    for ((live, compiled), text) in kept.0.iter_mut().zip(LIVE) {
        live.update(world).unwrap();
        assert_eq!(kept_rows(world, live), fresh_rows(world, compiled), "{text}");
    }
}

/// Every component says what the pairs of its entity are, and no source is without one.
pub(crate) fn check_mirror<R: MirroredRelation + PartialEq + core::fmt::Debug>(world: &World) {
    for entity in all_entities(world) {
        let pairs: Vec<(Entity, Option<R>)> = world
            .pairs::<R>()
            .targets(entity)
            .map(|target| (target, world.pair_value::<R>(entity, target).cloned()))
            .collect();
        let component = world.get::<MirroredPairs<R>>(entity);
        let shown: Vec<(Entity, Option<R>)> = component
            .into_iter()
            .flat_map(|component| &component.pairs)
            .map(|pair| (pair.target.entity().expect("no types are targets"), pair.value.clone()))
            .collect();
        assert_eq!(shown, pairs, "what {entity} shows");
    }
}

#[test]
fn every_operation_does_something_and_leaves_the_world_right() {
    for (number, operation) in OPERATIONS.into_iter().enumerate() {
        let (mut world, known, mut kept) = prepare();
        let before = (dump(&world), all_entities(&world));
        operation(&mut world, known);
        world.flush();
        check(&mut world, &mut kept);
        // What was disabled is enabled again.
        assert!(number == 7 || before != (dump(&world), all_entities(&world)), "operation {number}");
    }
    let (mut world, known, _) = prepare();
    world.insert_expr(known.0[7], KNOWN).unwrap();
    world.insert_expr_with(known.0[7], UNKNOWN, UnknownNames::Spawn).unwrap();
}

#[test]
fn observers_that_act_at_any_moment_of_an_operation_leave_the_world_right() {
    const MOMENTS: usize = 5;
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(31);
    let mut random = Random(seed);
    let mut acted = 0;
    for _ in 0..size(2_000, 20) {
        let (event, action) = (random.below(OBSERVERS.len()), random.below(ACTIONS.len()));
        let (moment, first) = (random.below(MOMENTS), random.below(OPERATIONS.len()));
        let second = random.below(OPERATIONS.len());
        println!("event {event}, action {action}, moment {moment}, operations {first} and {second}");
        let (mut world, known, mut kept) = prepare();
        OBSERVERS[event](&mut world);
        Plan::begin(&mut world, moment, ACTIONS[action]);
        OPERATIONS[first](&mut world, known);
        acted += usize::from(Plan::<Known>::end(&mut world));
        check(&mut world, &mut kept);
        OPERATIONS[second](&mut world, known);
        world.flush();
        check(&mut world, &mut kept);
        take_reported_errors();
    }
    assert!(acted > size(300, 0), "{acted}");
}
