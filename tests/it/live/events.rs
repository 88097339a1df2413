//! Events of rows that enter and leave, and reports of rows that are there.

use crate::common::panic_message;
use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_relations::{
    expr::{AnyExpression, PairExpr},
    live::{MonitorError, MovedRow, RowEntered, RowEventError, RowLeft, WorldMonitorExt, WorldRowEventExt},
    prelude::*,
};

#[derive(Component)]
struct Ship;

#[derive(Component)]
struct Fuel;

#[derive(Relation)]
struct Likes;

#[derive(Expression)]
#[expr("Ship, (Likes, $x), !Fuel($x)")]
struct Hopeless;

#[derive(Expression)]
#[expr("Ship")]
struct AnyShip;

#[derive(Expression)]
#[expr("Likes(Anna, $x)")]
struct LikedByAnna;

/// What observers were triggered for.
#[derive(Resource, Default)]
struct Told(Vec<String>);

fn line(sign: &str, row: &MovedRow) -> String {
    let name = |entity: Option<Entity>| entity.map_or("-".into(), |entity| entity.to_string());
    format!("{sign}{} {}", name(row.this()), name(row.var("x")))
}

fn observe<E: Expression>(world: &mut World) {
    world.add_observer(|on: On<RowEntered<E>>, mut told: ResMut<Told>| told.0.push(line("+", &on.row)));
    world.add_observer(|on: On<RowLeft<E>>, mut told: ResMut<Told>| told.0.push(line("-", &on.row)));
}

fn prepare(world: &mut World) {
    world.init_resource::<Told>();
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Fuel>("Fuel");
    world.register_relation::<Likes>().unwrap();
}

fn world() -> World {
    let mut world = World::new();
    prepare(&mut world);
    world
}

fn told(world: &mut World) -> Vec<String> {
    world.update_live().unwrap();
    core::mem::take(&mut world.resource_mut::<Told>().0)
}

#[test]
fn rows_that_enter_and_leave_are_reported_with_their_variables_also_the_dead() {
    let mut world = world();
    observe::<Hopeless>(&mut world);
    let [a, b] = [(); 2].map(|()| world.spawn(Ship).id());
    world.insert_pair(a, Likes, b).unwrap();
    world.add_row_events::<Hopeless>().unwrap();
    assert_eq!(told(&mut world), Vec::<String>::new(), "what is there is not told");
    world.entity_mut(b).insert(Fuel);
    assert_eq!(told(&mut world), [format!("-{a} {b}")]);
    world.entity_mut(b).remove::<Fuel>();
    assert_eq!(told(&mut world), [format!("+{a} {b}")]);
    world.despawn(a);
    assert_eq!(told(&mut world), [format!("-{a} {b}")]);
}

#[test]
fn an_event_is_targeted_at_the_entity_of_the_row_if_it_lives() {
    let mut world = world();
    world.add_row_events::<AnyShip>().unwrap();
    let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
    world.entity_mut(a).observe(|on: On<RowEntered<AnyShip>>, mut told: ResMut<Told>| {
        assert_eq!(Some(on.event_target()), on.row.this());
        told.0.push("its own".into());
    });
    world.entity_mut(a).observe(|_: On<RowLeft<AnyShip>>, mut told: ResMut<Told>| told.0.push("gone".into()));
    world.entity_mut(a).insert(Ship);
    world.entity_mut(b).insert(Ship);
    assert_eq!(told(&mut world), ["its own"]);
    world.entity_mut(a).remove::<Ship>();
    assert_eq!(told(&mut world), ["gone"]);
    world.entity_mut(a).insert(Ship);
    assert_eq!(told(&mut world), ["its own"]);
    observe::<AnyShip>(&mut world);
    world.despawn(a);
    assert_eq!(told(&mut world), [format!("-{a} -")], "observers on the dead are not told, those of all are");
}

#[test]
fn a_row_about_no_entity_is_targeted_at_the_monitor() {
    let mut world = world();
    let [anna, bob] = ["Anna", "Bob"].map(|name| world.spawn(Name::new(name)).id());
    let monitor = world.add_row_events::<LikedByAnna>().unwrap();
    world.entity_mut(monitor).observe(|on: On<RowEntered<LikedByAnna>>, mut told: ResMut<Told>| {
        told.0.push(line("+", &on.row));
    });
    world.insert_pair(anna, Likes, bob).unwrap();
    assert_eq!(told(&mut world), [format!("+- {bob}")]);
}

#[test]
fn there_is_one_monitor_of_an_expression_until_it_is_despawned() {
    let mut world = world();
    observe::<AnyShip>(&mut world);
    let monitor = world.add_row_events::<AnyShip>().unwrap();
    assert_eq!(world.add_row_events::<AnyShip>().unwrap(), monitor);
    let a = world.spawn(Ship).id();
    assert_eq!(told(&mut world), [format!("+{a} -")], "once");
    world.despawn(monitor);
    world.spawn(Ship);
    assert_eq!(told(&mut world), Vec::<String>::new());
    let again = world.add_row_events::<AnyShip>().unwrap();
    assert_ne!(again, monitor);
    world.despawn(a);
    assert_eq!(told(&mut world), [format!("-{a} -")]);
    world.clear_resources();
    prepare(&mut world);
    world.add_row_events::<AnyShip>().unwrap();
    let b = world.spawn(Ship).id();
    assert_eq!(told(&mut world), [format!("+{b} -")]);
}

#[test]
fn rows_that_are_there_are_reported_if_that_is_requested() {
    let mut world = world();
    observe::<AnyShip>(&mut world);
    let [a, b] = [(); 2].map(|()| world.spawn(Ship).id());
    let monitor = world.add_row_events::<AnyShip>().unwrap();
    world.yield_existing(monitor).unwrap();
    world.despawn(a);
    let c = world.spawn(Ship).id();
    let mut all = told(&mut world);
    all.sort_unstable();
    let mut expected = [format!("-{a} -"), format!("+{b} -"), format!("+{c} -")];
    expected.sort_unstable();
    assert_eq!(all, expected);
    assert_eq!(told(&mut world), Vec::<String>::new(), "once");
    // Again, of all that is there.
    world.yield_existing(monitor).unwrap();
    assert_eq!(told(&mut world).len(), 2);
    // Of functions, too, and amid an update.
    let ships = PairExpr::parse("Ship").unwrap();
    let note = |world: &mut World, row: &MovedRow| world.resource_mut::<Told>().0.push(line("!", row));
    let functions = world.observe_expr(&ships, note, |_, _| {}).unwrap();
    let asks = move |world: &mut World, _: &MovedRow| world.yield_existing(functions).unwrap();
    world.observe_expr(&PairExpr::parse("Fuel").unwrap(), asks, |_, _| {}).unwrap();
    world.spawn(Fuel);
    let mut all = told(&mut world);
    all.sort_unstable();
    let mut expected = [b, c].map(|ship| format!("!{ship} -"));
    expected.sort_unstable();
    assert_eq!(all, expected);
}

#[test]
fn what_is_no_monitor_or_no_expression_is_an_error_that_names_it() {
    let mut world = world();
    let entity = world.spawn_empty().id();
    let error = world.yield_existing(entity).unwrap_err();
    assert!(matches!(error, MonitorError::NoMonitor { entity: named } if named == entity));
    assert!(error.to_string().contains(&entity.to_string()));
    let monitor = world.add_row_events::<AnyShip>().unwrap();
    world.despawn(monitor);
    world.yield_existing(monitor).unwrap_err();
    let error = world.add_row_events::<AnyExpression>().unwrap_err();
    assert!(matches!(error, RowEventError::NoExpression { .. }));
    assert!(error.to_string().contains("AnyExpression"));
    #[derive(Expression)]
    #[expr("Unknown")]
    struct Wrong;
    let error = world.add_row_events::<Wrong>().unwrap_err();
    assert!(matches!(error, RowEventError::Expr { .. }));
    assert!(error.to_string().contains("Wrong") && error.to_string().contains("Unknown"), "{error}");
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    let message = panic_message(|| _ = app.add_row_events::<Wrong>()).unwrap();
    assert!(message.contains("Unknown"), "{message}");
}

#[test]
fn what_an_observer_changes_is_reported_after_that_and_observers_of_leaving_rows_come_first() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    prepare(app.world_mut());
    app.add_row_events::<AnyShip>().add_row_events::<Hopeless>();
    observe::<AnyShip>(app.world_mut());
    observe::<Hopeless>(app.world_mut());
    app.add_observer(|on: On<RowEntered<AnyShip>>, mut commands: Commands| {
        commands.entity(on.row.this().unwrap()).insert_pair(Likes, on.row.this().unwrap());
    });
    let a = app.world_mut().spawn(Ship).id();
    app.update();
    let lines = core::mem::take(&mut app.world_mut().resource_mut::<Told>().0);
    assert_eq!(lines, [format!("+{a} -"), format!("+{a} {a}")]);
    app.world_mut().despawn(a);
    let b = app.world_mut().spawn(Ship).id();
    app.update();
    let lines = core::mem::take(&mut app.world_mut().resource_mut::<Told>().0);
    assert_eq!(lines[..2], [format!("-{a} -"), format!("-{a} {a}")]);
    assert_eq!(lines[2..], [format!("+{b} -"), format!("+{b} {b}")]);
}

#[test]
fn an_app_that_registers_something_has_the_plugin_once() {
    for added_later in [false, true] {
        let mut app = App::new();
        prepare(app.world_mut());
        app.add_row_events::<AnyShip>();
        if added_later {
            app.add_plugins(RelationsPlugin);
        }
        assert!(app.is_plugin_added::<RelationsPlugin>());
        observe::<AnyShip>(app.world_mut());
        let ship = app.world_mut().spawn(Ship).id();
        app.update();
        assert_eq!(app.world().resource::<Told>().0, [format!("+{ship} -")]);
    }
    // Where plugins cannot be added any more, the plugin of this crate is not added.
    let mut app = App::new();
    app.finish();
    app.cleanup();
    app.register_relation::<Likes>();
    assert!(!app.is_plugin_added::<RelationsPlugin>());
}
