//! Monitors.

use bevy_app::{App, PostUpdate, Update};
use bevy_ecs::prelude::*;
use bevy_relations::{
    expr::PairExpr,
    live::{MonitorError, MovedRow, WorldMonitorExt},
    prelude::*,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU32, Ordering},
};

#[derive(Component)]
struct Ship;

#[derive(Component)]
struct Fuel;

#[derive(Relation)]
struct Likes;

/// What monitors were called for.
#[derive(Resource, Default)]
struct Told(Vec<String>);

fn world() -> World {
    let mut world = World::new();
    world.init_resource::<Told>();
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Fuel>("Fuel");
    world.register_relation::<Likes>().unwrap();
    world
}

fn told(world: &mut World) -> Vec<String> {
    core::mem::take(&mut world.resource_mut::<Told>().0)
}

fn name(world: &World, entity: Option<Entity>) -> String {
    let name = entity.and_then(|entity| world.get::<Name>(entity));
    name.map_or("-".into(), ToString::to_string)
}

/// Has it written down which rows enter and leave, with their `$x`.
fn watch(world: &mut World, text: &str) -> Entity {
    let note = |sign: &'static str| {
        move |world: &mut World, row: &MovedRow| {
            let line = format!("{sign}{} {}", name(world, row.this()), name(world, row.var("x")));
            world.resource_mut::<Told>().0.push(line);
        }
    };
    world.observe_expr(&PairExpr::parse(text).unwrap(), note("+"), note("-")).unwrap()
}

#[test]
fn a_monitor_is_called_once_for_what_holds_now_and_held_before() {
    let mut world = world();
    let [a, b, c] = ["a", "b", "c"].map(|name| world.spawn((Ship, Name::new(name))).id());
    world.insert_pair(a, Likes, b).unwrap();
    watch(&mut world, "Ship, (Likes, $x), !Fuel($x)");
    world.update_live().unwrap();
    assert!(told(&mut world).is_empty(), "rows that were there are not told");
    world.insert_pair(b, Likes, c).unwrap();
    world.insert_pair(c, Likes, c).unwrap();
    world.remove_pair::<Likes>(c, c);
    world.entity_mut(b).insert(Fuel);
    world.update_live().unwrap();
    assert_eq!(told(&mut world), ["-a b", "+b c"]);
    world.update_live().unwrap();
    assert!(told(&mut world).is_empty());
    world.despawn(c);
    world.update_live().unwrap();
    assert_eq!(told(&mut world), ["-b -"], "the dead are told by their ids");
}

#[test]
fn leaving_rows_of_all_monitors_come_before_entering_ones() {
    let mut world = world();
    let a = world.spawn((Ship, Name::new("a"))).id();
    watch(&mut world, "Fuel");
    watch(&mut world, "Ship, !Fuel");
    world.entity_mut(a).insert(Fuel);
    world.update_live().unwrap();
    assert_eq!(told(&mut world), ["-a -", "+a -"]);
}

#[test]
fn a_monitor_that_is_despawned_is_called_no_more() {
    let mut world = world();
    let monitor = watch(&mut world, "Ship");
    world.spawn(Ship);
    world.despawn(monitor);
    world.update_live().unwrap();
    assert!(told(&mut world).is_empty());
}

#[test]
fn monitors_that_change_what_others_watch_are_followed_and_endless_ones_named() {
    let mut world = world();
    let ship = PairExpr::parse("Ship").unwrap();
    world
        .observe_expr(&ship, |world, row| _ = world.entity_mut(row.this().unwrap()).insert(Fuel), |_, _| {})
        .unwrap();
    watch(&mut world, "Fuel");
    world.spawn((Ship, Name::new("a")));
    world.update_live().unwrap();
    assert_eq!(told(&mut world), ["+a -"]);
    let more = |world: &mut World, _: &MovedRow| {
        // Does nothing amid an update.
        world.update_live().unwrap();
        world.spawn(Ship);
    };
    world.observe_expr(&ship, more, |_, _| {}).unwrap();
    world.spawn(Ship);
    match world.update_live() {
        Err(MonitorError::Unsettled { expressions }) => assert!(expressions.contains(&"Ship".to_owned())),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_monitor_that_panics_leaves_the_rest_to_be_reported() {
    let mut world = world();
    let ship = PairExpr::parse("Ship").unwrap();
    let mut first = true;
    let panics = move |_: &mut World, _: &MovedRow| {
        assert!(!core::mem::take(&mut first), "on purpose");
    };
    world.observe_expr(&ship, panics, |_, _| {}).unwrap();
    watch(&mut world, "Ship");
    world.spawn((Ship, Name::new("a")));
    assert!(catch_unwind(AssertUnwindSafe(|| world.update_live())).is_err());
    world.update_live().unwrap();
    assert_eq!(told(&mut world), ["+a -"]);
}

#[test]
fn in_an_app_monitors_are_called_at_the_end_of_each_frame() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin).init_resource::<Told>();
    app.world_mut().register_component_name::<Ship>("Ship");
    watch(app.world_mut(), "Ship");
    app.add_systems(Update, |mut commands: Commands| _ = commands.spawn((Ship, Name::new("a"))));
    app.add_systems(PostUpdate, |told: Res<Told>, mut frames: Local<usize>| {
        assert_eq!(told.0.len(), *frames, "those of the frames before");
        *frames += 1;
    });
    (0..5).for_each(|_| app.update());
    assert_eq!(told(app.world_mut()), ["+a -"; 5]);
}

/// What a monitor does may be anything.
#[test]
fn a_monitor_may_end_itself_make_another_and_ask_for_updates() {
    let mut world = world();
    let ship = PairExpr::parse("Ship").unwrap();
    #[derive(Resource)]
    struct Own(Entity);
    let once = |world: &mut World, row: &MovedRow| {
        let own = world.resource::<Own>().0;
        world.despawn(own);
        // It is being updated: what has changed is reported later.
        world.update_live().unwrap();
        world.despawn(row.this().unwrap());
        watch(world, "Ship, !Fuel");
    };
    let own = world.observe_expr(&ship, once, |_, _| panic!("it has ended")).unwrap();
    world.insert_resource(Own(own));
    let [a, b] = ["a", "b"].map(|name| world.spawn((Ship, Name::new(name))).id());
    world.update_live().unwrap();
    assert!(world.get_entity(a).is_err() != world.get_entity(b).is_err(), "it was told once");
    assert_eq!(told(&mut world), Vec::<String>::new(), "what is there when a monitor is made counts as told");
    let last = if world.get_entity(a).is_ok() { a } else { b };
    world.entity_mut(last).insert(Fuel);
    world.update_live().unwrap();
    assert_eq!(told(&mut world).len(), 1);
    // Without its resources the world has no monitors, and takes new ones.
    world.clear_resources();
    world.init_resource::<Told>();
    world.update_live().unwrap();
    world.register_component_name::<Ship>("Ship");
    watch(&mut world, "Ship");
    world.spawn((Ship, Name::new("c")));
    world.update_live().unwrap();
    assert_eq!(told(&mut world), ["+c -"]);
}

/// Comparing it panics once so many comparisons are left.
#[derive(Debug)]
struct Slot(u8);

static LEFT: AtomicU32 = AtomicU32::new(u32::MAX);

impl PartialEq for Slot {
    fn eq(&self, other: &Self) -> bool {
        let left = LEFT.load(Ordering::Relaxed);
        assert!(left > 0, "on purpose");
        LEFT.store(if left == u32::MAX { left } else { left - 1 }, Ordering::Relaxed);
        self.0 == other.0
    }
}

impl Eq for Slot {}

impl core::str::FromStr for Slot {
    type Err = core::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

#[derive(Relation)]
#[relation(key = Slot)]
struct Equips(Slot);

#[test]
fn a_key_that_panics_keeps_no_monitor_from_being_called_once_for_each_row() {
    let mut world = world();
    world.register_relation::<Equips>().unwrap();
    watch(&mut world, "Ship");
    watch(&mut world, "Equips[1]($x)");
    let item = world.spawn(Name::new("i")).id();
    let knights = ["a", "b", "c"].map(|name| world.spawn(Name::new(name)).id());
    for knight in knights {
        world.insert_pair(knight, Equips(Slot(1)), item).unwrap();
    }
    world.update_live().unwrap();
    assert_eq!(told(&mut world).len(), 3);
    world.spawn((Ship, Name::new("s")));
    world.despawn(knights[2]);
    // Their keys are compared again.
    for knight in &knights[..2] {
        world.insert_pair(*knight, Equips(Slot(1)), item).unwrap();
    }
    LEFT.store(1, Ordering::Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| world.update_live())).is_err());
    LEFT.store(u32::MAX, Ordering::Relaxed);
    world.update_live().unwrap();
    assert_eq!(told(&mut world), ["+s -", "-- i"]);
}

#[test]
fn monitors_are_in_no_results() {
    let mut world = world();
    let planet = world.spawn_empty().id();
    world.spawn(Ship);
    let text = PairExpr::parse("!Ship").unwrap();
    let (mut expr, mut live) = (text.compile(&mut world).unwrap(), text.live(&mut world).unwrap());
    let mut agree = |world: &mut World| {
        let mut these = Vec::new();
        expr.for_each(world, |row| these.extend(row.this())).unwrap();
        live.update(world).unwrap();
        assert_eq!(live.len(), these.len());
        these
    };
    let before = agree(&mut world);
    assert!(before.contains(&planet));
    // The first monitor of the world.
    let monitor = world.observe_expr(&PairExpr::parse("Ship").unwrap(), |_, _| {}, |_, _| {}).unwrap();
    let after = agree(&mut world);
    assert_eq!(after, before);
    assert!(!after.contains(&monitor));
}
