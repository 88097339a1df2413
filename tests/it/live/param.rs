//! `LiveQuery`: rows that a system keeps.

use crate::common::panic_message;
use bevy_app::{App, Update};
use bevy_ecs::{
    entity_disabling::DefaultQueryFilters,
    observer::Observer,
    prelude::*,
    system::{RunSystemOnce, SystemId},
};
use bevy_relations::{
    expr::{AnyExpression, PairExpr, Row},
    live::{LiveParam, LiveQuery},
    prelude::*,
};

#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Fuel(u32);

#[derive(Component)]
struct Pump;

#[derive(Component)]
struct Ship;

#[derive(Relation)]
struct DockedTo;

#[derive(Expression)]
#[expr("(DockedTo, $port), Pump($port|self|up ChildOf)")]
struct AtPump;

#[derive(Expression)]
#[expr("(DockedTo, Earth)")]
struct OnEarth;

#[derive(Expression)]
#[expr("Ship, Fuel")]
struct Fuelled;

#[derive(Expression)]
#[expr("Ship, [inout] Fuel")]
struct Filled;

#[derive(Expression)]
#[expr("Ship, [none] Fuel")]
struct HasFuel;

fn prepare(world: &mut World) {
    world.register_component_name::<Fuel>("Fuel");
    world.register_component_name::<Pump>("Pump");
    world.register_component_name::<Ship>("Ship");
    world.register_relation::<DockedTo>().unwrap();
}

fn world() -> World {
    let mut world = World::new();
    prepare(&mut world);
    world
}

/// What a system saw: the rows, those that entered and those that left, by `$this`, and whether all were found anew.
#[derive(Default, Debug, PartialEq)]
struct Seen {
    rows: Vec<Entity>,
    entered: Vec<Entity>,
    left: Vec<Entity>,
    ran_whole: bool,
}

fn in_order(mut entities: Vec<Entity>) -> Vec<Entity> {
    entities.sort_unstable_by_key(|entity| (entity.index_u32(), entity.generation().to_bits()));
    entities
}

fn see<E: Expression>(query: LiveQuery<E>) -> Seen {
    fn sorted<'a>(rows: impl Iterator<Item = Row<'a>>) -> Vec<Entity> {
        in_order(rows.filter_map(|row| row.this()).collect())
    }
    assert_eq!(query.len(), query.rows().len());
    assert_eq!(query.is_empty(), query.rows().next().is_none());
    Seen {
        rows: sorted(query.rows()),
        entered: sorted(query.entered()),
        left: sorted(query.left()),
        ran_whole: query.ran_whole(),
    }
}

fn run<T: 'static>(world: &mut World, system: SystemId<(), T>) -> T {
    world.run_system(system).unwrap()
}

#[test]
fn a_system_finds_only_those_rows_anew_that_changes_concern() {
    let mut world = world();
    let station = world.spawn(Pump).id();
    let port = world.spawn(ChildOf(station)).id();
    let [a, b] = [(); 2].map(|()| world.spawn(Pair(DockedTo, port)).id());
    let system = world.register_system(see::<AtPump>);
    let all = vec![a, b];
    let seen = run(&mut world, system);
    assert_eq!(seen, Seen { rows: all.clone(), entered: all.clone(), left: vec![], ran_whole: true });
    let seen = run(&mut world, system);
    assert_eq!(seen, Seen { rows: all.clone(), ..Seen::default() }, "nothing is new, nothing was run");
    let c = world.spawn(Pair(DockedTo, port)).id();
    world.despawn(b);
    let seen = run(&mut world, system);
    assert_eq!(seen, Seen { rows: vec![a, c], entered: vec![c], left: vec![b], ran_whole: false });
    world.entity_mut(station).remove::<Pump>();
    let seen = run(&mut world, system);
    assert_eq!(seen, Seen { left: vec![a, c], ..Seen::default() }, "the far end of `up`");
}

#[test]
fn rows_are_found_by_their_entity_with_its_data() {
    let mut world = world();
    let [p, q] = [(); 2].map(|()| world.spawn(Pump).id());
    let ship = world.spawn((Fuel(1), pairs![(DockedTo, p), (DockedTo, q)])).id();
    let bare = world.spawn(Pair(DockedTo, p)).id();
    let none = world.spawn(Fuel(7)).id();
    let look = move |mut query: LiveQuery<AtPump, &mut Fuel>| {
        let ports = |entity| in_order(query.rows_of(entity).map(|row| row.var("port").unwrap()).collect());
        assert_eq!(ports(ship), [p, q]);
        assert_eq!(ports(bare), [p]);
        assert_eq!(ports(none), []);
        assert_eq!([ship, bare, none].map(|entity| query.contains(entity)), [true, true, false]);
        assert_eq!(query.iter().count(), 2, "what lacks the data is left out");
        assert!(query.iter().all(|(fuel, row)| fuel.0 == 1 && row.this() == Some(ship)));
        query.for_each_mut(|mut fuel, row| {
            assert_eq!(row.this(), Some(ship));
            fuel.0 += 10;
        });
        assert_eq!(query.get(ship), Some(&Fuel(21)), "it is in two rows");
        query.get_mut(none).unwrap().0 += 1;
        assert_eq!(query.get(bare), None);
        let port = query.var_id("port").unwrap();
        assert!(query.rows().all(|row| row.var_by_id(port).is_some()));
        assert_eq!(query.variables().collect::<Vec<_>>(), ["port"]);
        assert_eq!((query.field_count(), query.field("(DockedTo, $port)")), (2, Some(0)));
        assert!(query.explain().starts_with("kept up to date"), "{}", query.explain());
    };
    world.run_system_once(look).unwrap();
    assert_eq!(world.get::<Fuel>(none), Some(&Fuel(8)));
}

#[test]
fn each_system_has_rows_and_moves_of_its_own() {
    let mut world = world();
    let pump = world.spawn(Pump).id();
    let [often, rarely] = [(); 2].map(|()| world.register_system(see::<AtPump>));
    run(&mut world, rarely);
    let mut ships = Vec::new();
    for _ in 0..20 {
        let ship = world.spawn(Pair(DockedTo, pump)).id();
        assert_eq!(run(&mut world, often).entered, [ship]);
        ships.push(ship);
        world.maintain_pairs();
    }
    world.despawn(ships.remove(0));
    let seen = run(&mut world, rarely);
    assert_eq!(
        (&seen.rows, &seen.entered, &seen.left),
        (&ships, &ships, &vec![]),
        "what came and went is not told"
    );
}

#[test]
fn a_system_that_is_late_starts_anew_and_gets_the_difference() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    prepare(app.world_mut());
    let world = app.world_mut();
    let pump = world.spawn(Pump).id();
    let [a, b] = [(); 2].map(|()| world.spawn(Pair(DockedTo, pump)).id());
    let system = world.register_system(see::<AtPump>);
    run(world, system);
    world.despawn(a);
    // More changes than are kept.
    let other = app.world_mut().spawn_empty().id();
    for _ in 0..5 {
        for _ in 0..5000 {
            app.world_mut().insert_pair(other, DockedTo, pump).unwrap();
            app.world_mut().remove_pair::<DockedTo>(other, pump);
        }
        app.update();
    }
    app.world_mut().insert_pair(other, DockedTo, pump).unwrap();
    let seen = run(app.world_mut(), system);
    assert_eq!(
        seen,
        Seen { rows: in_order(vec![b, other]), entered: vec![other], left: vec![a], ran_whole: true }
    );
    assert!(!run(app.world_mut(), system).ran_whole);
}

#[derive(Resource)]
struct Open;

#[test]
fn what_enters_while_another_parameter_is_not_valid_is_reported_when_the_system_runs() {
    fn skipped(query: LiveQuery<AtPump>, _: Res<Open>) -> Seen {
        see(query)
    }
    let mut world = world();
    let pump = world.spawn(Pump).id();
    let system = world.register_system(skipped);
    let [a, b] = [(); 2].map(|()| world.spawn(Pair(DockedTo, pump)).id());
    assert!(world.run_system(system).is_err());
    let c = world.spawn(Pair(DockedTo, pump)).id();
    world.despawn(b);
    assert!(world.run_system(system).is_err());
    world.insert_resource(Open);
    let seen = run(&mut world, system);
    assert_eq!((&seen.rows, &seen.entered, &seen.left), (&vec![a, c], &vec![a, c], &vec![]));
    world.remove_resource::<Open>();
    world.despawn(a);
    assert!(world.run_system(system).is_err());
    world.insert_resource(Open);
    assert_eq!(run(&mut world, system).left, [a]);
    assert_eq!(run(&mut world, system).left, []);
}

#[test]
fn in_a_set_of_parameters_moves_are_reported_each_time() {
    fn twice(mut set: ParamSet<(LiveQuery<AtPump, &mut Fuel>, Query<&mut Fuel>)>) -> [usize; 2] {
        let first = set.p0().entered().len();
        let second = set.p0().entered().len();
        [first, second]
    }
    let mut world = world();
    let pump = world.spawn(Pump).id();
    world.spawn(Pair(DockedTo, pump));
    let system = world.register_system(twice);
    assert_eq!(run(&mut world, system), [1, 1]);
    assert_eq!(run(&mut world, system), [0, 0]);
}

#[derive(Resource, Default)]
struct Runs(Vec<bool>);

#[test]
fn a_run_condition_keeps_rows_and_follows_again_after_the_next_maintenance() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin).init_resource::<Runs>();
    prepare(app.world_mut());
    let condition = |query: LiveQuery<AtPump>, mut runs: Local<Vec<bool>>| {
        runs.push(query.ran_whole());
        // The last frames: found anew at first, and when something new disables entities.
        !query.is_empty() || *runs == [true, false, true, true, false]
    };
    app.add_systems(Update, (|mut runs: ResMut<Runs>| runs.0.push(true)).run_if(condition));
    app.update();
    app.update();
    #[derive(Component)]
    struct Frozen;
    let frozen = app.world_mut().register_component::<Frozen>();
    app.world_mut().resource_mut::<DefaultQueryFilters>().register_disabling_component(frozen);
    app.update();
    // What is noted by now is taken, and everything is run once more.
    app.update();
    assert!(app.world().resource::<Runs>().0.is_empty());
    app.update();
    assert_eq!(app.world().resource::<Runs>().0, [true]);
}

#[test]
fn what_the_expression_depends_on_is_noted_again_at_the_next_sync_point() {
    let mut world = world();
    let pump = world.spawn(Pump).id();
    let ship = world.spawn(Pair(DockedTo, pump)).id();
    #[derive(Component)]
    struct Frozen;
    let frozen = world.register_component::<Frozen>();
    let explain = |query: LiveQuery<AtPump>| (query.len(), query.explain().starts_with("kept"));
    let system = world.register_system(explain);
    assert_eq!(run(&mut world, system), (1, true));
    world.resource_mut::<DefaultQueryFilters>().register_disabling_component(frozen);
    world.entity_mut(ship).insert(Frozen);
    assert_eq!(run(&mut world, system), (0, false));
    world.entity_mut(ship).remove::<Frozen>();
    assert_eq!(run(&mut world, system), (1, true));
    world.entity_mut(ship).insert(Frozen);
    assert_eq!(run(&mut world, system), (0, true));
}

#[test]
fn an_observer_that_is_despawned_does_not_keep_rows_from_being_right() {
    let mut world = world();
    let system = world.register_system(see::<Fuelled>);
    let a = world.spawn((Ship, Fuel(1))).id();
    assert_eq!(run(&mut world, system).rows, [a]);
    let observers: Vec<_> = world.query_filtered::<Entity, With<Observer>>().iter(&world).collect();
    observers.into_iter().for_each(|observer| _ = world.try_despawn(observer));
    for _ in 0..3 {
        let b = world.spawn((Ship, Fuel(1))).id();
        assert_eq!(run(&mut world, system).entered, [b]);
    }
    assert!(!run(&mut world, system).ran_whole);
}

#[test]
fn nothing_is_noted_any_more_for_a_system_that_is_gone() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    prepare(app.world_mut());
    // An expression makes the index of children, which stays.
    app.world_mut().register_relation::<ChildOf>().unwrap();
    let observers = |app: &mut App| {
        let mut observers = app.world_mut().query::<&Observer>();
        observers.iter(app.world()).count()
    };
    let before = observers(&mut app);
    let system = app.world_mut().register_system(see::<Fuelled>);
    run(app.world_mut(), system);
    assert!(observers(&mut app) > before);
    app.world_mut().unregister_system(system).unwrap();
    app.update();
    assert_eq!(observers(&mut app), before);
}

#[test]
fn a_name_may_get_its_meaning_late_and_another_when_its_entity_is_gone() {
    let mut world = world();
    let system = world.register_system(see::<OnEarth>);
    assert!(world.run_system(system).unwrap_err().to_string().contains("Earth"));
    let earth = world.spawn(Name::new("Earth")).id();
    let a = world.spawn(Pair(DockedTo, earth)).id();
    assert_eq!(run(&mut world, system).entered, [a]);
    let b = world.spawn(Pair(DockedTo, earth)).id();
    let seen = run(&mut world, system);
    assert_eq!((&seen.rows, &seen.entered), (&vec![a, b], &vec![b]));
    world.despawn(earth);
    let seen = run(&mut world, system);
    assert_eq!((&seen.rows, &seen.left), (&vec![], &vec![a, b]));
    let earth = world.spawn(Name::new("Earth")).id();
    world.insert_pair(b, DockedTo, earth).unwrap();
    assert_eq!(run(&mut world, system).entered, [b]);
    run(&mut world, system);
    world.remove_pair::<DockedTo>(b, earth);
    let seen = run(&mut world, system);
    assert_eq!((seen.left, seen.ran_whole), (vec![b], false));
}

#[test]
fn an_expression_without_meaning_makes_the_parameter_invalid() {
    #[derive(Expression)]
    #[expr("Nothing")]
    struct Unknown;
    let mut world = world();
    let error = world.run_system_once(|_: LiveQuery<Unknown>| ()).unwrap_err().to_string();
    assert!(error.contains("1:1") && error.contains("Nothing"), "{error}");
    let error = world.run_system_once(|_: LiveQuery<AnyExpression>| ()).unwrap_err().to_string();
    assert!(error.contains("ExprParam"), "{error}");
    world.run_system_once(|query: Option<LiveQuery<Unknown>>| assert!(query.is_none())).unwrap();
    let expr = PairExpr::parse("(DockedTo, $port)").unwrap();
    let given = |query: LiveQuery<AnyExpression>| query.len();
    let given = (LiveParam(expr),).build_state(&mut world).build_system(given);
    let port = world.spawn_empty().id();
    world.spawn(Pair(DockedTo, port));
    assert_eq!(world.run_system_once(given).unwrap(), 1);
    let system = world.register_system(see::<AtPump>);
    run(&mut world, system);
    world.clear_resources();
    assert!(world.run_system(system).is_err(), "the pairs are out of reach");
    prepare(&mut world);
    let pump = world.spawn(Pump).id();
    let ship = world.spawn(Pair(DockedTo, pump)).id();
    // It is for the pairs that were cleared, as an `ExprQuery` would be.
    let again = world.register_system(see::<AtPump>);
    assert_eq!(run(&mut world, again).rows, [ship]);
}

#[test]
fn an_expression_that_depends_on_nothing_that_changes_has_its_rows() {
    let mut world = world();
    let entity = world.spawn_empty().id();
    let expr = PairExpr::parse(format!("#{}()", entity.to_bits())).unwrap();
    let fresh = expr.compile(&mut world).unwrap().count(&world).unwrap();
    assert_eq!(fresh, 1);
    let count = |query: LiveQuery<AnyExpression>| query.len();
    let count = (LiveParam(expr),).build_state(&mut world).build_system(count);
    let count = world.register_system(count);
    assert_eq!([(); 3].map(|()| run(&mut world, count)), [fresh; 3]);
}

#[derive(Resource, Default)]
struct Changes(Vec<bool>);

#[test]
fn a_row_that_moves_to_another_group_has_not_changed() {
    let mut world = world();
    world.init_resource::<Changes>();
    let [here, there] = [(); 2].map(|()| world.spawn_empty().id());
    let ship = world.spawn((Ship, Fuel(1), Pair(DockedTo, here))).id();
    let look = world.register_system(|mut ships: LiveQuery<Fuelled>, mut changes: ResMut<Changes>| {
        ships.group_by::<DockedTo>().unwrap();
        changes.0.push(ships.changed());
    });
    world.run_system(look).unwrap();
    world.run_system(look).unwrap();
    world.entity_mut(ship).replace_targets([(DockedTo, there)]).unwrap();
    world.run_system(look).unwrap();
    world.get_mut::<Fuel>(ship).unwrap().0 = 2;
    world.run_system(look).unwrap();
    assert_eq!(world.resource::<Changes>().0, [true, false, false, true]);
}

#[test]
fn a_live_query_is_iterated_by_reference() {
    let mut world = world();
    let ships = [1, 2, 3].map(|fuel| world.spawn((Ship, Fuel(fuel))).id());
    world.spawn(Ship);
    let look = move |rows: LiveQuery<HasFuel, &Fuel>| {
        let mut found = Vec::new();
        for (fuel, row) in &rows {
            found.push((row.this().unwrap(), fuel.0));
        }
        found.sort_by_key(|&(_, fuel)| fuel);
        assert_eq!(found, [(ships[0], 1), (ships[1], 2), (ships[2], 3)]);
        assert_eq!(rows.iter().size_hint(), (0, Some(3)));
    };
    world.run_system_once(look).unwrap();
}

#[test]
fn a_live_query_that_conflicts_is_refused_by_name() {
    fn refused<M>(system: impl IntoSystem<(), (), M>) -> String {
        let mut system = IntoSystem::into_system(system);
        let mut world = world();
        panic_message(|| system.initialize(&mut world)).expect("it is refused")
    }
    let message = refused(|_: Query<&mut Fuel>, _: LiveQuery<Fuelled>| ());
    assert!(message.contains("LiveQuery") && message.contains("`Fuel`"), "{message}");
    let message = refused(|_: LiveQuery<Filled, &Fuel>| ());
    assert!(message.contains("LiveQuery") && message.contains("`[inout] Fuel`"), "{message}");
}

#[test]
fn a_live_query_declares_what_its_terms_say() {
    fn initialized<M>(system: impl IntoSystem<(), (), M>) -> bevy_ecs::system::SystemAccess {
        IntoSystem::into_system(system).initialize(&mut world())
    }
    let reads = initialized(|_: LiveQuery<Fuelled>| ());
    let reads_too = initialized(|_: LiveQuery<Fuelled, &Ship>| ());
    let writes = initialized(|_: LiveQuery<Filled>| ());
    let has = initialized(|_: LiveQuery<HasFuel>| ());
    let data = initialized(|_: LiveQuery<HasFuel, &mut Fuel>| ());
    assert!(reads.is_compatible(&reads_too) && reads.is_compatible(&has) && writes.is_compatible(&has));
    assert!(!reads.is_compatible(&writes) && !reads.is_compatible(&data));
    // Beside it, what only has to be there may be written.
    initialized(|_: LiveQuery<HasFuel>, _: Query<&mut Fuel>| ());
}

#[test]
fn rows_with_data_are_sound_while_systems_run_on_several_threads() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    prepare(app.world_mut());
    let pump = app.world_mut().spawn(Pump).id();
    app.world_mut().spawn_batch((0..200).map(|fuel| (Ship, Fuel(fuel))));
    let mut ships = app.world_mut().query_filtered::<Entity, With<Ship>>();
    let ships: Vec<_> = ships.iter(app.world()).collect();
    for ship in ships {
        app.world_mut().insert_pair(ship, DockedTo, pump).unwrap();
    }
    let count = |query: LiveQuery<AtPump, &Fuel>, mut before: Local<u32>| {
        let sum = query.iter().map(|(fuel, _)| fuel.0).sum::<u32>();
        assert!(*before == 0 || sum == *before + 200);
        *before = sum;
    };
    let look = |query: LiveQuery<Fuelled>| {
        let fuel = |row: Row<'_>| row.get::<Fuel>(1).is_some();
        assert!(query.len() == 200 && query.rows().all(fuel));
    };
    let fill = |mut query: LiveQuery<HasFuel, &mut Fuel>| query.for_each_mut(|mut fuel, _| fuel.0 += 1);
    app.add_systems(Update, (count, count, look, (look, fill).chain()));
    (0..5).for_each(|_| app.update());
}
