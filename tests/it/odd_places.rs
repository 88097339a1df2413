//! Pairs that are changed and read where a part of the world is out of reach: while a resource is taken out of it, in exclusive systems
//! with parameters of their own, in systems that run once, also from observers, and in worlds whose entities are cleared.

use crate::common::{Random, fewer, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{
    entity_disabling::{DefaultQueryFilters, Disabled},
    prelude::*,
    reflect::AppTypeRegistry,
    system::{SystemId, SystemState},
};
use bevy_reflect::Reflect;
use bevy_relations::{
    disabling::WorldDisablingExt,
    expr::{PairExpr, Row, WorldExprExt},
    live::*,
    mirror::*,
    prelude::*,
    snapshot::*,
    system_param::AnyPairs,
};

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
struct Owes(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
#[relation(exclusive, traversable)]
struct PartOf;

/// A type with fields.
#[derive(Component, Reflect, Clone, PartialEq, Debug, Default)]
struct Place(u32);

#[derive(Expression)]
#[expr("(Owes, $to), !(PartOf, $to)")]
struct Debts;

#[derive(Resource, Default)]
struct Score(u32);

fn world() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    world.init_resource::<Score>();
    {
        let mut types = world.resource::<AppTypeRegistry>().write();
        types.register::<Owes>();
        types.register::<PartOf>();
        types.register::<Place>();
    }
    world.register_relation::<Owes>().unwrap();
    world.register_relation::<PartOf>().unwrap();
    world
}

fn owes(world: &World) -> Vec<(Entity, Entity, u32)> {
    let mut all: Vec<_> = world.pairs::<Owes>().values().map(|(s, t, value)| (s, t, value.0)).collect();
    all.sort();
    all
}

type Verb = fn(&mut World, [Entity; 3]);

/// What may be done, whichever resource is missing.
const VERBS: &[(&str, Verb)] = &[
    ("insert", |world, [a, b, _]| world.insert_pair(a, Owes(1), b).unwrap()),
    ("insert with a type", |world, [a, ..]| _ = world.insert_pair_to::<PartOf, Place>(a, Place(2))),
    ("despawn", |world, [_, b, _]| _ = world.despawn(b)),
    ("remove", |world, [a, ..]| _ = world.remove_pairs_by_id(a, PairId::ALL)),
    ("maintain", |world, _| world.maintain_pairs()),
    ("mirror", |world, _| world.mirror_pairs::<Owes>().unwrap()),
    ("mirror all", |world, _| world.mirror_runtime_pairs()),
    ("write a mirror", |world, [a, b, c]| {
        world.entity_mut(a).insert(MirroredPairs::from_iter([(Owes(4), b), (Owes(5), c)]));
    }),
    ("write a mirror with a type", |world, [a, ..]| {
        let path = <Place as bevy_reflect::TypePath>::type_path().into();
        let target = MirroredTarget::Type(MirroredType { path, value: None });
        let mut pairs = MirroredPairs::<Owes>::default();
        pairs.pairs.push(MirroredPair { target, value: Some(Owes(6)), place: None });
        world.entity_mut(a).insert(pairs);
    }),
    ("copy", |world, _| {
        let snapshot = PairSnapshot::take(world, PairFilter::all()).unwrap();
        snapshot.apply_mapped(world, &mut Default::default()).unwrap();
    }),
    ("save and load", |world, _| {
        let snapshot = PairSnapshot::take(world, PairFilter::all()).unwrap();
        if let Ok(saved) = snapshot.to_saved(world) {
            _ = saved.load(world);
        }
    }),
    ("compile", |world, _| {
        if let Ok(mut expr) = PairExpr::parse("(Owes, $to)").unwrap().compile(world) {
            _ = expr.count(world);
        }
    }),
    ("insert by text", |world, [a, ..]| _ = world.insert_expr(a, "(Owes(3), #0)")),
    ("keep rows", |world, _| {
        if let Ok(mut live) = PairExpr::parse("(Owes, $to)").unwrap().live(world) {
            _ = live.update(world);
        }
    }),
    ("clear", |world, _| world.clear_pairs()),
    ("relation", |world, [a, b, _]| {
        let relation = world.spawn_relation("late", RelationTraits::new().reflected_data()).unwrap();
        _ = world.insert_pair_by_id(a, (relation, b));
    }),
];

fn scoped<R: Resource>(is_mirrored: bool, verb: Verb, name: &str) {
    let mut world = world();
    if is_mirrored {
        world.mirror_pairs::<Owes>().unwrap();
        world.mirror_runtime_pairs();
    }
    let entities = spawn(&mut world);
    let [a, b, c] = entities;
    world.insert_pair(a, Owes(7), c).unwrap();
    world.insert_pair(c, Owes(8), b).unwrap();
    world.resource_scope(|world, _: Mut<R>| {
        verb(world, entities);
        world.check_pairs().unwrap_or_else(|error| panic!("{name}: {error}"));
    });
    world.maintain_pairs();
    world.check_pairs().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(world.contains_resource::<R>(), "{name}");
    // All is as usual again.
    let [x, y] = spawn(&mut world);
    world.insert_pair(x, Owes(9), y).unwrap();
    assert!(owes(&world).contains(&(x, y, 9)), "{name}");
    if is_mirrored && name != "clear" {
        let shown = world.get::<MirroredPairs<Owes>>(x).and_then(|pairs| pairs.get(y));
        assert_eq!(shown, Some(&Owes(9)), "{name}");
    }
    take_reported_errors();
}

#[test]
fn a_resource_may_be_missing_while_pairs_change() {
    for &(name, verb) in VERBS {
        for is_mirrored in [false, true] {
            scoped::<Score>(is_mirrored, verb, name);
            // The first mirror of a type registers it.
            if is_mirrored || !name.contains("mirror") {
                scoped::<AppTypeRegistry>(is_mirrored, verb, name);
            }
            scoped::<DefaultQueryFilters>(is_mirrored, verb, name);
        }
    }
}

#[derive(Resource)]
struct Once(SystemId<(), usize>);

fn count(debts: LiveQuery<Debts>, pairs: Pairs<Owes>, all: AnyPairs, mut score: ResMut<Score>) -> usize {
    score.0 += 1;
    let expected = pairs.iter().count();
    assert!(debts.len() <= expected && expected <= all.iter().count());
    debts.len()
}

#[test]
fn systems_that_run_once_see_what_is_there_also_from_observers() {
    let mut world = world();
    let [a, b, c] = spawn(&mut world);
    let id = world.register_system(count);
    world.insert_resource(Once(id));
    let observer = world
        .add_observer(|_: On<PairInserted<Owes>>, once: Res<Once>, mut commands: Commands| {
            let once = once.0;
            commands.queue(move |world: &mut World| {
                // It may be running, or be gone.
                _ = world.run_system(once);
            });
        })
        .id();
    assert_eq!(world.run_system(id).unwrap(), 0);
    world.insert_pair(a, Owes(1), b).unwrap();
    world.insert_pair(a, Owes(1), c).unwrap();
    assert_eq!(world.resource::<Score>().0, 3);
    assert_eq!(world.run_system(id).unwrap(), 2);
    world.insert_pair(a, PartOf, b).unwrap();
    assert_eq!(world.run_system(id).unwrap(), 1);
    // It inserts a pair whose observer runs it again.
    let other = world.register_system(move |mut commands: Commands, debts: LiveQuery<Debts>| {
        commands.queue(move |world: &mut World| _ = world.insert_pair(b, Owes(2), c));
        debts.len()
    });
    assert_eq!(world.run_system(other).unwrap(), 1);
    assert_eq!(world.run_system(other).unwrap(), 2);
    world.clear_pairs();
    assert_eq!(world.run_system(id).unwrap_or(0), 0);
    world.insert_pair(a, Owes(1), b).unwrap();
    assert_eq!(world.run_system(id).unwrap(), 1);
    // One that takes itself away, and what it has kept.
    world.despawn(observer);
    world.unregister_system(other).unwrap();
    let gone = world.register_system(|world: &mut World| {
        let once = world.resource::<Once>().0;
        let before = world.run_system(once).unwrap();
        _ = world.unregister_system(once);
        before
    });
    assert_eq!(world.run_system(gone).unwrap(), 1);
    world.insert_pair(c, Owes(1), b).unwrap();
    world.maintain_pairs();
    world.check_pairs().unwrap();
}

#[test]
fn an_exclusive_system_keeps_its_parameters_while_everything_changes_in_between() {
    #[expect(clippy::type_complexity, reason = "it is what the test is about")]
    fn exclusive(
        world: &mut World,
        state: &mut SystemState<(ExprQuery<Debts>, LiveQuery<Debts>, Pairs<Owes>, AnyPairs)>,
    ) -> Vec<usize> {
        let mut seen = Vec::new();
        for step in 0..6 {
            let entities: [Entity; 2] = spawn(world);
            let [a, b] = entities;
            match step {
                1 | 5 => world.insert_pair(a, Owes(1), b).unwrap(),
                2 => _ = world.remove_pairs_everywhere(PairId::ALL),
                3 => world.insert_pair(b, Owes(4), a).unwrap(),
                4 => world.clear_pairs(),
                _ => {}
            }
            let Ok((mut expr, live, pairs, all)) = state.get_mut(world) else {
                seen.push(usize::MAX);
                continue;
            };
            let counts = [expr.count().unwrap(), live.len(), pairs.iter().count(), all.iter().count()];
            assert!(counts.iter().all(|&count| count == counts[0]), "{step}: {counts:?}");
            seen.push(counts[0]);
            world.check_pairs().unwrap();
        }
        seen
    }
    let mut world = world();
    world.run_system_cached(exclusive).unwrap();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Owes(1), b).unwrap();
    let seen = world.run_system_cached(exclusive).unwrap();
    assert_eq!(seen.len(), 6);
    world.check_pairs().unwrap();
}

/// Disables, by registration.
#[derive(Component, Clone, Default)]
struct Asleep;

fn rows<'a>(rows: impl Iterator<Item = Row<'a>>) -> Vec<(Option<Entity>, Option<Entity>)> {
    let mut rows: Vec<_> = rows.map(|row| (row.this(), row.var("to"))).collect();
    rows.sort();
    rows
}

#[test]
fn live_rows_and_mirrors_are_right_while_entities_are_disabled_and_enabled() {
    const TEXTS: [&str; 5] = [
        "(Owes, $to)",
        "(Owes, $to), !(PartOf, _)",
        "Owes($to, $this)",
        "(PartOf, $to), Disabled",
        "?Disabled, (Owes, $to)",
    ];
    for seed in 1..=fewer(40) as u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = world();
        world.register_component_name::<Disabled>("Disabled");
        world.mirror_pairs::<Owes>().unwrap();
        let mut entities = spawn::<6>(&mut world).to_vec();
        let mut kept: Vec<LiveExpr> =
            TEXTS.map(|text| PairExpr::parse(text).unwrap().live(&mut world).unwrap()).into();
        let system = world.register_system(|debts: LiveQuery<Debts>| rows(debts.rows()));
        let fresh = |world: &mut World| {
            let mut debts = PairExpr::parse("(Owes, $to), !(PartOf, $to)").unwrap().compile(world).unwrap();
            let mut all = Vec::new();
            debts.for_each(world, |row| all.push((row.this(), row.var("to")))).unwrap();
            all.sort();
            all
        };
        let mut told = Vec::new();
        for _ in 0..40 {
            let [a, b] = [(); 2].map(|()| random.pick(&entities));
            let step = random.below(14);
            told.push((step, a, b));
            match step {
                0..=2 => _ = world.insert_pair(a, Owes(random.below(3) as u32), b),
                3 => _ = world.insert_pair(a, PartOf, b),
                4 => _ = world.remove_pairs_by_id(a, PairId::with_target(b)),
                5 => _ = world.entity_mut(a).insert(Disabled),
                6 => _ = world.entity_mut(a).remove::<Disabled>(),
                7 => _ = world.entity_mut(a).insert(Asleep),
                8 => _ = world.entity_mut(a).remove::<Asleep>(),
                9 => _ = world.entity_mut(a).insert(MirroredPairs::from_iter([(Owes(5), b)])),
                10 => {
                    let root = random.pick(&entities);
                    if random.below(2) == 0 {
                        _ = world.disable_below::<PartOf>(root);
                    } else {
                        _ = world.enable_below::<PartOf>(root);
                    }
                }
                11 if random.below(4) == 0 => {
                    let asleep = world.register_component::<Asleep>();
                    world.resource_mut::<DefaultQueryFilters>().register_disabling_component(asleep);
                }
                12 => {
                    world.despawn(a);
                    entities.retain(|&entity| entity != a);
                    entities.push(world.spawn_empty().id());
                }
                _ => world.maintain_pairs(),
            }
            world.check_pairs().unwrap_or_else(|error| panic!("{seed} {told:?}: {error}"));
            for &source in &entities {
                let shown = world.get::<MirroredPairs<Owes>>(source);
                let shown = shown.into_iter().flat_map(|shown| &shown.pairs);
                let shown: Vec<_> =
                    shown.map(|pair| (pair.target.entity().unwrap(), pair.value.clone().unwrap())).collect();
                let pairs = world.pairs::<Owes>();
                let there: Vec<_> =
                    pairs.values_of(source).map(|(target, value)| (target, value.clone())).collect();
                assert_eq!(shown, there, "{seed} {told:?}");
            }
            if random.below(3) == 0 {
                continue;
            }
            for (text, live) in TEXTS.iter().zip(&mut kept) {
                live.update(&mut world).unwrap();
                let mut compiled = PairExpr::parse(*text).unwrap().compile(&mut world).unwrap();
                let mut expected = Vec::new();
                compiled.for_each(&world, |row| expected.push((row.this(), row.var("to")))).unwrap();
                expected.sort();
                assert_eq!(rows(live.rows(&world).unwrap()), expected, "{seed} {text} {told:?}");
            }
            let expected = fresh(&mut world);
            assert_eq!(world.run_system(system).unwrap(), expected, "{seed} {told:?}");
        }
        take_reported_errors();
    }
}
