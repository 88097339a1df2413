//! Orders and groups that are none, folds that panic, rows that are read late, components of the library on
//! other entities, and whatever else takes one test.

use super::DockedTo;
use crate::{
    common::{Random, fewer},
    live::{describe, fresh_rows, kept_rows},
};
use bevy_ecs::{
    event::EventPattern, lifecycle::HookContext, prelude::*, reflect::AppTypeRegistry, world::DeferredWorld,
};
use bevy_reflect::prelude::*;
use bevy_relations::{
    expr::{ExprQuery, Expression, PairExpr, Row, RowSerializer},
    live::*,
    prelude::*,
};
use std::{
    cmp,
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
};

#[derive(Component, Clone, Reflect)]
#[reflect(Component)]
struct Ship;

#[derive(Component, Clone, Reflect, PartialEq, Debug)]
#[reflect(Component)]
struct Cargo(i32);

#[derive(Relation, Reflect, Clone)]
struct Likes {
    much: f32,
}

#[derive(Expression)]
#[expr("Ship")]
struct Ships;

impl RollupValue for Cargo {
    type Value = i64;
    fn rollup_value(&self) -> i64 {
        self.0.into()
    }
}

fn world() -> World {
    let mut world = World::new();
    let types = AppTypeRegistry::default();
    types.write().register::<Ship>();
    types.write().register::<Cargo>();
    types.write().register::<Likes>();
    world.insert_resource(types);
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Cargo>("Cargo");
    world.register_relation::<Likes>().unwrap();
    world.register_relation::<DockedTo>().unwrap();
    world
}

/// What observers have read, and what a run from scratch finds.
#[derive(Resource, Default)]
struct Read(Vec<[Vec<Entity>; 2]>);

fn read<E: Expression>(kept: &LiveQuery<E>, fresh: &mut ExprQuery<E>, log: &mut Read) {
    let mut rows: Vec<_> = kept.rows().filter_map(|row| row.this()).collect();
    let mut expected = Vec::new();
    fresh.for_each_row(|row| expected.extend(row.this())).unwrap();
    rows.sort_unstable();
    expected.sort_unstable();
    log.0.push([rows, expected]);
}

fn check_reads(world: &World, at: &str) {
    let log = &world.resource::<Read>().0;
    assert!(log.len() >= 4, "{at}: {} reads", log.len());
    let wrong = log.iter().position(|[kept, fresh]| kept != fresh);
    assert_eq!(wrong, None, "{at}: {log:?}");
}

/// Spawns and despawns ships, with an observer that reads them. Its id is that after some entities.
fn observe_ships<Ev: EventPattern>() {
    for entities in 0..32 {
        let mut world = world();
        world.init_resource::<Read>();
        (0..entities).for_each(|_| _ = world.spawn_empty());
        world.add_observer(
            |_: On<Ev>, kept: LiveQuery<Ships>, mut fresh: ExprQuery<Ships>, mut log: ResMut<Read>| {
                read(&kept, &mut fresh, &mut log);
            },
        );
        let ships = [(); 4].map(|()| world.spawn(Ship).id());
        ships.iter().for_each(|&ship| _ = world.despawn(ship));
        check_reads(&world, &format!("{entities} entities"));
    }
}

#[test]
fn an_observer_of_a_component_that_comes_reads_the_rows_of_now_whatever_its_id() {
    observe_ships::<Add<Ship>>();
}

#[test]
fn an_observer_of_a_component_that_goes_reads_the_rows_of_now_whatever_its_id() {
    observe_ships::<Remove<Ship>>();
}

#[derive(Event)]
struct Moved;

fn trigger_moved(mut world: DeferredWorld<'_>, _: HookContext) {
    world.trigger(Moved);
}

#[derive(Component)]
#[component(on_add = trigger_moved, on_remove = trigger_moved)]
struct Hooked;

#[derive(Expression)]
#[expr("Hooked")]
struct AllHooked;

/// Hooks run before all observers of a component that comes, and after those of one that goes.
#[test]
fn an_observer_of_an_event_of_a_hook_reads_the_rows_of_now() {
    let mut world = World::new();
    world.register_component_name::<Hooked>("Hooked");
    world.init_resource::<Read>();
    world.add_observer(
        |_: On<Moved>, kept: LiveQuery<AllHooked>, mut fresh: ExprQuery<AllHooked>, mut log: ResMut<Read>| {
            read(&kept, &mut fresh, &mut log);
        },
    );
    let all = [(); 4].map(|()| world.spawn(Hooked).id());
    for entity in all {
        world.entity_mut(entity).remove::<Hooked>();
    }
    check_reads(&world, "hooks");
}

#[test]
fn a_rollup_that_is_put_on_another_entity_is_removed_there_and_made_anew() {
    let mut world = world();
    world.add_rollup::<ChildOf, Cargo, Sum>().unwrap();
    let top = world.spawn_empty().id();
    world.spawn((Cargo(3), ChildOf(top)));
    let other = world.spawn_empty().id();
    world.update_rollups();
    let taken = world.entity_mut(top).take::<Rollup<ChildOf, Cargo, Sum>>().unwrap();
    world.entity_mut(other).insert(taken);
    world.update_rollups();
    world.update_rollups();
    assert_eq!(world.get::<Rollup<ChildOf, Cargo, Sum>>(top).map(|rollup| *rollup.get()), Some(3));
    assert_eq!(world.get::<Rollup<ChildOf, Cargo, Sum>>(other).map(|rollup| *rollup.get()), None);
}

#[test]
fn a_propagated_component_that_is_put_on_another_entity_is_removed_there_and_made_anew() {
    let mut world = world();
    world.propagate::<ChildOf, Cargo>().unwrap();
    let top = world.spawn(Cargo(3)).id();
    let child = world.spawn(ChildOf(top)).id();
    let other = world.spawn_empty().id();
    world.update_propagation();
    let taken = world.entity_mut(child).take::<Propagated<ChildOf, Cargo>>().unwrap();
    world.entity_mut(other).insert(taken);
    world.update_propagation();
    world.update_propagation();
    assert!(world.get::<Propagated<ChildOf, Cargo>>(child).is_some());
    assert!(world.get::<Propagated<ChildOf, Cargo>>(other).is_none());
}

/// What is asked of a row does not panic, and its JSON can be read, whatever has become of its entities.
fn ask(row: Row<'_>, types: &AppTypeRegistry) {
    let text = serde_json::to_string(&RowSerializer::new(row, &types.read())).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
    for field in 0..row.field_count() + 2 {
        let _ = (row.get::<Cargo>(field), row.get_pair::<Likes>(field), row.reflect(field).is_some());
        let _ = (row.is_own(field), row.id(field), row.source(field), row.field_text(field));
    }
}

fn ask_all(world: &World, live: &LiveExpr, types: &AppTypeRegistry) {
    live.rows(world).unwrap().for_each(|row| ask(row, types));
    live.entered(world).unwrap().for_each(|row| ask(row, types));
    live.left(world).unwrap().for_each(|row| ask(row, types));
    for group in live.groups() {
        live.group(world, group).unwrap().for_each(|row| ask(row, types));
    }
}

fn change(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random, despawns_likes: bool) {
    let (a, b) = (random.pick(entities), random.pick(entities));
    match random.below(10) {
        0 => _ = world.despawn(a),
        1 => _ = world.entity_mut(a).remove::<Cargo>(),
        2 => _ = world.entity_mut(a).insert(Cargo(3)),
        3 | 4 => _ = world.insert_pair(a, Likes { much: f32::NAN }, b),
        5 => _ = world.insert_pair(a, DockedTo, b),
        6 => _ = world.remove_pairs::<Likes>(a),
        7 if a > b => _ = world.entity_mut(a).insert(ChildOf(b)),
        8 if despawns_likes => {
            let likes = world.entity_of::<Likes>();
            world.despawn(likes);
        }
        _ => entities.push(world.spawn((Cargo(4), Ship, Name::new("n"))).id()),
    }
    entities.retain(|&entity| world.entities().contains_spawned(entity));
    while entities.len() < 4 {
        entities.push(world.spawn(Ship).id());
    }
}

fn live_in_groups(world: &mut World, text: &str) -> LiveExpr {
    let mut live = PairExpr::parse(text).unwrap().live(world).unwrap();
    live.track_moves().group_by::<DockedTo>().unwrap().order_by::<Cargo>(|a, b| a.0.cmp(&b.0));
    live
}

#[test]
fn rows_that_were_not_updated_are_read_and_written_as_json() {
    let texts = [
        "Ship, ?Cargo, ?(Likes, $x), ?(DockedTo, $y)",
        "Cargo, (Likes, *)",
        "Cargo(up ChildOf), ?Ship",
        "($r, $x)",
        "Ship || Cargo || (Likes, $x)",
    ];
    for seed in 0..fewer(60) as u64 {
        let mut world = world();
        let types = world.resource::<AppTypeRegistry>().clone();
        let mut random = Random(seed * 31 + 7);
        let mut all = texts.map(|text| live_in_groups(&mut world, text));
        let mut entities: Vec<_> = (0..8).map(|n| world.spawn((Ship, Cargo(n))).id()).collect();
        for step in 0..40 {
            let despawns_likes = seed.is_multiple_of(5) && step == 30;
            for _ in 0..random.below(5) {
                change(&mut world, &mut entities, &mut random, despawns_likes);
            }
            all.iter().for_each(|live| ask_all(&world, live, &types));
            if random.below(2) == 0 {
                for (live, text) in all.iter_mut().zip(texts) {
                    live.update(&mut world).unwrap();
                    let mut fresh = PairExpr::parse(text).unwrap().compile(&mut world).unwrap();
                    assert_eq!(kept_rows(&world, live), fresh_rows(&world, &mut fresh), "{text}");
                }
            }
        }
    }
}

/// How often the functions of an order and of groups were called, and at which call they panic.
static CALLS: AtomicU64 = AtomicU64::new(0);
static PANIC_AT: AtomicU64 = AtomicU64::new(u64::MAX);

fn call() -> u64 {
    let calls = CALLS.fetch_add(1, Ordering::Relaxed);
    assert!(calls != PANIC_AT.load(Ordering::Relaxed), "on purpose");
    calls
}

/// An order of four kinds, of which only those with the numbers 0 and 3 are orders.
fn compare(kind: u64, a: &Cargo, b: &Cargo) -> cmp::Ordering {
    let calls = call();
    match kind {
        0 => a.0.cmp(&b.0),
        1 if calls.is_multiple_of(3) => cmp::Ordering::Less,
        1 => cmp::Ordering::Greater,
        2 => (a.0 % 7).cmp(&(b.0 % 5)),
        _ => b.0.cmp(&a.0),
    }
}

const LIKED: &str = "Ship, ?(Likes, $x)";

/// Rows in an order, and in groups that depend on the number of calls with the kind 3.
fn live_in_order(world: &mut World, kind: u64) -> LiveExpr {
    let mut live = PairExpr::parse(LIKED).unwrap().live(world).unwrap();
    live.track_moves();
    live.group_by_fn(move |row| {
        let calls = call();
        let this = row.this().unwrap().index_u32();
        Some(if kind == 3 { calls % 5 } else { u64::from(this % 4) })
    })
    .unwrap();
    live.order_by::<Cargo>(move |a, b| compare(kind, a, b));
    live
}

fn change_cargo(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random) {
    let (a, b) = (random.pick(entities), random.pick(entities));
    match random.below(6) {
        0 => _ = world.despawn(a),
        1 => {
            if let Some(mut cargo) = world.get_mut::<Cargo>(a) {
                cargo.0 = random.below(50) as i32;
            }
        }
        2 => _ = world.entity_mut(a).remove::<Cargo>(),
        3 => _ = world.insert_pair(a, Likes { much: 1.0 }, b),
        4 => _ = world.remove_pairs::<Likes>(a),
        _ => entities.push(world.spawn((Ship, Cargo(random.below(50) as i32))).id()),
    }
    entities.retain(|&entity| world.entities().contains_spawned(entity));
    while entities.len() < 20 {
        entities.push(world.spawn(Ship).id());
    }
}

/// Updates rows with functions that may panic, and once more if they did. Returns whether that has worked.
fn update_with_panics(world: &mut World, live: &mut LiveExpr, random: &mut Random) -> bool {
    if random.below(3) == 0 {
        PANIC_AT.store(CALLS.load(Ordering::Relaxed) + random.below(60) as u64, Ordering::Relaxed);
    }
    let updated = catch_unwind(AssertUnwindSafe(|| live.update(world)));
    PANIC_AT.store(u64::MAX, Ordering::Relaxed);
    if updated.is_ok() {
        return true;
    }
    // What can be read after a panic is read without another one.
    for group in live.groups() {
        live.group(world, group).unwrap().for_each(|row| _ = format!("{row:?}"));
    }
    catch_unwind(AssertUnwindSafe(|| live.update(world))).is_ok()
}

/// Every row is in one group, and sorted if `sorted`.
fn check_groups(world: &World, live: &LiveExpr, expected: &[String], sorted: bool, at: &str) {
    let groups: Vec<_> = live.groups().collect();
    assert_eq!(groups.len(), groups.iter().collect::<BTreeSet<_>>().len(), "{at}");
    let mut rows = Vec::new();
    for group in groups {
        rows.extend(live.group(world, group).unwrap().map(|row| describe(row, 2)));
        let entities = live.group(world, group).unwrap().map(|row| row.this().unwrap());
        let cargo = entities.map(|entity| world.get::<Cargo>(entity).map(|cargo| cargo.0));
        assert!(!sorted || cargo.is_sorted(), "{at}");
    }
    rows.sort_unstable();
    assert_eq!(rows, expected, "{at}");
}

#[test]
fn orders_that_are_none_or_panic_lose_no_row() {
    for seed in 0..fewer(60) as u64 {
        let mut world = world();
        let mut random = Random(seed * 13 + 5);
        let mut entities: Vec<_> = (0..40).map(|n| world.spawn((Ship, Cargo(n))).id()).collect();
        let kind = seed % 4;
        let mut live = live_in_order(&mut world, kind);
        for step in 0..30 {
            let at = format!("seed {seed}, step {step}");
            (0..random.below(8)).for_each(|_| change_cargo(&mut world, &mut entities, &mut random));
            if !update_with_panics(&mut world, &mut live, &mut random) {
                assert!(kind > 0, "{at}: a total order panics");
                continue;
            }
            let mut fresh = PairExpr::parse(LIKED).unwrap().compile(&mut world).unwrap();
            let expected = fresh_rows(&world, &mut fresh);
            assert_eq!(kept_rows(&world, &live), expected, "{at}");
            check_groups(&world, &live, &expected, kind == 0, &at);
        }
    }
}

#[test]
fn lists_that_contain_themselves_and_each_other_have_the_rows_of_now() {
    let mut world = world();
    let [a, b] = ["a", "b"].map(|name| world.spawn(Name::new(name)).id());
    let ships = [(); 3].map(|()| world.spawn(Ship).id());
    for text in ["and|a", "or|a", "not|a", "Ship, or|b", "Ship, and|$x, (Likes, $x)"] {
        let mut live = PairExpr::parse(text).unwrap().live(&mut world).unwrap();
        let _ = live.update(&mut world);
        for (source, tag) in [(a, a), (a, b), (b, a), (b, b), (ships[0], a), (ships[1], b)] {
            let _ = world.insert_tag(source, tag);
            let _ = world.insert_pair(source, Likes { much: 1.0 }, tag);
            let updated = live.update(&mut world);
            let mut fresh = PairExpr::parse(text).unwrap().compile(&mut world).unwrap();
            if updated.is_ok() {
                assert_eq!(kept_rows(&world, &live), fresh_rows(&world, &mut fresh), "{text}");
            }
        }
    }
}

/// After how many calls a fold panics.
static CALLS_LEFT: AtomicU64 = AtomicU64::new(u64::MAX);

fn call_fold() {
    let left = CALLS_LEFT.load(Ordering::Relaxed);
    if left != u64::MAX {
        assert!(left != 0, "on purpose");
        CALLS_LEFT.store(left - 1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Total(i64);

impl Clone for Total {
    fn clone(&self) -> Self {
        call_fold();
        Self(self.0)
    }
}

impl PartialEq for Total {
    fn eq(&self, other: &Self) -> bool {
        call_fold();
        self.0 == other.0
    }
}

/// A sum that panics now and then, and that cannot subtract some values.
struct Panicking;

impl RollupFold<Cargo> for Panicking {
    type Output = Total;
    fn empty() -> Total {
        call_fold();
        Total(0)
    }
    fn of(value: &Cargo) -> Total {
        call_fold();
        Total(value.0.into())
    }
    fn add(total: &mut Total, part: &Total) {
        call_fold();
        total.0 += part.0;
    }
    fn subtract(total: &mut Total, part: &Total) -> bool {
        call_fold();
        total.0 -= part.0;
        total.0 % 3 != 0
    }
}

/// The sum of all cargo below an entity, if there is any.
fn sum_below(world: &World, entity: Entity) -> Option<i64> {
    let mut sum = None;
    for &child in world.get::<Children>(entity).into_iter().flat_map(|children| &**children) {
        let own = world.get::<Cargo>(child).map(|cargo| i64::from(cargo.0));
        for value in own.into_iter().chain(sum_below(world, child)) {
            sum = Some(sum.unwrap_or(0) + value);
        }
    }
    sum
}

fn change_tree(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random) {
    let (a, b) = (random.pick(entities), random.pick(entities));
    match random.below(6) {
        0 | 1 if a > b => _ = world.entity_mut(a).insert(ChildOf(b)),
        2 => _ = world.entity_mut(a).remove::<ChildOf>(),
        3 => _ = world.entity_mut(a).insert(Cargo(random.below(9) as i32)),
        4 => _ = world.entity_mut(a).remove::<Cargo>(),
        _ => {
            world.despawn(a);
            entities.push(world.spawn(Cargo(1)).id());
        }
    }
    entities.retain(|&entity| world.entities().contains_spawned(entity));
    while entities.len() < 8 {
        entities.push(world.spawn(Cargo(2)).id());
    }
}

#[test]
fn rollups_are_right_after_folds_that_panic_at_any_call() {
    for seed in 0..fewer(150) as u64 {
        let mut world = world();
        world.add_rollup::<ChildOf, Cargo, Panicking>().unwrap();
        world.add_rollup::<ChildOf, Cargo, Distinct<Panicking>>().unwrap();
        let mut random = Random(seed * 3 + 11);
        let mut entities: Vec<_> = (0..10).map(|n| world.spawn(Cargo(n)).id()).collect();
        for step in 0..25 {
            (0..random.below(6)).for_each(|_| change_tree(&mut world, &mut entities, &mut random));
            CALLS_LEFT.store(random.below(80) as u64, Ordering::Relaxed);
            let _ = catch_unwind(AssertUnwindSafe(|| world.update_rollups()));
            CALLS_LEFT.store(u64::MAX, Ordering::Relaxed);
            if random.below(2) == 0 {
                let a = random.pick(&entities);
                world.entity_mut(a).insert(Cargo(random.below(9) as i32));
            }
            world.update_rollups();
            for &entity in &entities {
                let expected = sum_below(&world, entity);
                let found = world.get::<Rollup<ChildOf, Cargo, Panicking>>(entity);
                let distinct = world.get::<Rollup<ChildOf, Cargo, Distinct<Panicking>>>(entity);
                assert_eq!(found.map(|total| total.get().0), expected, "seed {seed}, step {step}");
                assert_eq!(distinct.map(|total| total.get().0), expected, "seed {seed}, step {step}");
            }
        }
    }
}

/// It has groups and an order.
#[test]
fn a_live_expression_that_is_updated_in_two_worlds_in_turn_has_rows_of_its_own_world() {
    let (mut one, mut two) = (world(), world());
    let mut live = PairExpr::parse("Ship, ?Cargo").unwrap().live(&mut one).unwrap();
    live.track_moves().group_by::<DockedTo>().unwrap().order_by::<Cargo>(|a, b| a.0.cmp(&b.0));
    for n in 0..6 {
        let a = one.spawn((Ship, Cargo(n))).id();
        let b = two.spawn((Ship, Cargo(n))).id();
        let _ = one.insert_pair(a, DockedTo, a);
        let _ = two.insert_pair(b, DockedTo, b);
        assert!(live.update(&mut two).is_err());
        assert!(live.rows(&two).is_err() && live.group(&two, 0).is_err());
        assert_eq!(live.len(), 0);
        live.update(&mut one).unwrap();
        assert_eq!(live.len(), n as usize + 1);
        let rows: usize = live.groups().map(|group| live.group(&one, group).unwrap().len()).sum();
        assert_eq!(rows, live.len());
    }
}

#[test]
fn a_live_query_follows_a_type_that_gets_another_entity() {
    #[derive(Expression)]
    #[expr("(DockedTo, Ship)")]
    struct Docked;

    let mut world = world();
    let system = world.register_system(|query: LiveQuery<Docked>, mut fresh: ExprQuery<Docked>| {
        let mut count = 0;
        fresh.for_each_row(|_| count += 1).unwrap();
        (query.len(), count)
    });
    let ship = world.entity_of::<Ship>();
    let docked_to = world.entity_of::<DockedTo>();
    let a = world.spawn_empty().id();
    world.insert_pair_by_id(a, (docked_to, ship)).unwrap();
    assert_eq!(world.run_system(system).unwrap(), (1, 1));
    world.despawn(ship);
    assert_eq!(world.run_system(system).unwrap(), (0, 0));
    let ship = world.entity_of::<Ship>();
    world.insert_pair_by_id(a, (docked_to, ship)).unwrap();
    assert_eq!(world.run_system(system).unwrap(), (1, 1));
}
