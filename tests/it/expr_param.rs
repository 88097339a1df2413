//! Expressions as system parameters: rows and their data, names that get a meaning late, expressions given when a
//! system is built.

use bevy_ecs::{prelude::*, reflect::AppTypeRegistry, system::RunSystemOnce};
use bevy_reflect::Reflect;
use bevy_relations::{
    expr::{AnyExpression, ExprParam, ExprRunError, PairExpr},
    pair_expr,
    prelude::*,
    query::{Cached, Up},
};

#[derive(Component, Reflect)]
#[reflect(Component)]
struct SpaceShip;

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Planet;

#[derive(Component, Reflect, PartialEq, Debug)]
#[reflect(Component)]
struct Fuel(u32);

#[derive(Component, Reflect, PartialEq, Debug)]
#[reflect(Component)]
struct Size(u32);

#[derive(Relation)]
struct DockedTo;

#[derive(Relation)]
struct Owes(u32);

#[derive(Expression)]
#[expr("SpaceShip, (DockedTo, $planet), Planet($planet)")]
struct Docked;

/// Two planets with three ships, one of which is docked to both.
struct Scene {
    world: World,
    planets: [Entity; 2],
    ships: [Entity; 3],
}

impl Scene {
    fn new() -> Self {
        let mut world = World::new();
        let types = AppTypeRegistry::default();
        {
            let mut types = types.write();
            types.register::<SpaceShip>();
            types.register::<Planet>();
            types.register::<Fuel>();
            types.register::<Size>();
        }
        world.insert_resource(types);
        world.register_relation::<DockedTo>().unwrap();
        world.register_relation::<Owes>().unwrap();
        let planets = [1, 2].map(|size| world.spawn((Planet, Size(size))).id());
        let ships = [10, 20, 30].map(|fuel| world.spawn((SpaceShip, Fuel(fuel))).id());
        for (ship, planet) in [(0, 0), (1, 1), (2, 0), (2, 1)] {
            world.insert_pair(ships[ship], DockedTo, planets[planet]).unwrap();
        }
        Self { world, planets, ships }
    }

    fn fuel(&self) -> [u32; 3] {
        self.ships.map(|ship| self.world.get::<Fuel>(ship).unwrap().0)
    }
}

#[test]
fn a_system_gets_each_row_with_data_of_its_entity() {
    let mut scene = Scene::new();
    let mut rows = scene.world.run_system_once(|mut docked: ExprQuery<Docked, &Fuel>| {
        let mut rows = Vec::new();
        docked
            .for_each(|fuel, row| rows.push((row.this().unwrap(), row.var("planet").unwrap(), fuel.0)))
            .unwrap();
        rows
    });
    let rows = rows.as_mut().unwrap();
    rows.sort_unstable();
    let ([p, q], [a, b, c]) = (scene.planets, scene.ships);
    let mut expected = vec![(a, p, 10), (b, q, 20), (c, p, 30), (c, q, 30)];
    expected.sort_unstable();
    assert_eq!(*rows, expected);
}

#[test]
fn data_can_be_written_also_of_an_entity_that_occurs_in_two_rows() {
    let mut scene = Scene::new();
    let refuel =
        |mut docked: ExprQuery<Docked, &mut Fuel>| docked.for_each_mut(|mut fuel, _| fuel.0 += 1).unwrap();
    scene.world.run_system_once(refuel).unwrap();
    assert_eq!(scene.fuel(), [11, 21, 32]);
}

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct PartOf;

#[test]
fn data_that_is_kept_is_up_to_date_in_every_run() {
    fn sizes(mut docked: ExprQuery<Docked, Cached<Up<PartOf, &'static Size>>>) -> Vec<[u32; 3]> {
        let (mut read, mut written) = (Vec::new(), Vec::new());
        docked.for_each(|size, row| read.push((row.this().unwrap(), size.0))).unwrap();
        docked.for_each_mut(|size, _| written.push(size.0)).unwrap();
        let all = read.into_iter().zip(written);
        all.map(|((this, read), written)| [read, written, docked.get(this).unwrap().0]).collect()
    }
    let mut scene = Scene::new();
    let ([p, q], [a, b, c]) = (scene.planets, scene.ships);
    let ship = scene.world.spawn(Pair(DockedTo, p)).id();
    scene.world.entity_mut(ship).insert(SpaceShip);
    for part in [a, b, c, ship] {
        scene.world.insert_pair(part, PartOf, p).unwrap();
    }
    let sizes = scene.world.register_system(sizes);
    let seen = scene.world.run_system(sizes).unwrap();
    assert!(seen.len() == 5 && seen.iter().all(|&sizes| sizes == [1; 3]), "{seen:?}");
    // No archetype is new.
    for part in [a, b, c, ship] {
        scene.world.insert_pair(part, PartOf, q).unwrap();
    }
    let seen = scene.world.run_system(sizes).unwrap();
    assert!(seen.len() == 5 && seen.iter().all(|&sizes| sizes == [2; 3]), "{seen:?}");
}

#[test]
fn rows_whose_entity_lacks_the_data_are_left_out_where_data_is_given() {
    let mut scene = Scene::new();
    let planet = scene.planets[0];
    let bare = scene.world.spawn((SpaceShip, Pair(DockedTo, planet))).id();
    let seen = scene.world.run_system_once(move |mut docked: ExprQuery<Docked, &Fuel>| {
        let mut with_data = 0;
        docked
            .for_each(|_, row| {
                assert_ne!(row.this(), Some(bare));
                with_data += 1;
            })
            .unwrap();
        assert!(docked.get(bare).is_none());
        (with_data, docked.count().unwrap())
    });
    assert_eq!(seen.unwrap(), (4, 5));
}

#[test]
fn what_is_written_counts_as_changed_and_nothing_else_does() {
    let mut scene = Scene::new();
    let mut schedule = Schedule::default();
    let [a, ..] = scene.ships;
    #[derive(Resource, Default)]
    struct Changed(Vec<Entity>);
    scene.world.init_resource::<Changed>();
    let write = move |mut docked: ExprQuery<Docked, &mut Fuel>| {
        docked
            .for_each_mut(|mut fuel, row| {
                if row.this() == Some(a) {
                    fuel.0 += 1;
                }
            })
            .unwrap();
    };
    let watch = |changed: Query<Entity, bevy_ecs::query::Changed<Fuel>>, mut log: ResMut<Changed>| {
        log.0 = changed.iter().collect();
    };
    schedule.add_systems((write, watch).chain());
    schedule.run(&mut scene.world);
    schedule.run(&mut scene.world);
    assert_eq!(scene.world.resource::<Changed>().0, [a]);
}

#[test]
fn fields_of_other_entities_can_be_read_and_written() {
    #[derive(Expression)]
    #[expr("SpaceShip, (DockedTo, $p), [inout] Size($p)")]
    struct Growing;
    let mut scene = Scene::new();
    let read = scene.world.run_system_once(|mut growing: ExprQuery<Growing, &Fuel>| {
        growing
            .for_each_mut(|fuel, mut row| {
                // A field that is only read cannot be written, nor one as something else.
                assert!(row.get_mut::<SpaceShip>(0).is_err() && row.get_mut::<Fuel>(2).is_err());
                row.get_mut::<Size>(2).unwrap().0 += fuel.0;
            })
            .unwrap();
        let mut sizes = Vec::new();
        growing.for_each_row(|row| sizes.push(row.get::<Size>(2).unwrap().0)).unwrap();
        sizes.sort_unstable();
        sizes
    });
    let sizes = scene.planets.map(|planet| scene.world.get::<Size>(planet).unwrap().0);
    assert_eq!(sizes, [1 + 10 + 30, 2 + 20 + 30]);
    assert_eq!(read.unwrap(), [41, 41, 52, 52]);
}

#[test]
fn what_a_field_shares_with_data_that_writes_it_is_given_by_the_data() {
    #[derive(Expression)]
    #[expr("Fuel, (DockedTo, _)")]
    struct Fuelled;
    let mut scene = Scene::new();
    let given = scene.world.run_system_once(|mut fuelled: ExprQuery<Fuelled, &mut Fuel>| {
        let mut given = Vec::new();
        fuelled
            .for_each_mut(|fuel, row| given.push((fuel.0, row.as_row().get::<Fuel>(0).is_some())))
            .unwrap();
        given.sort_unstable();
        given
    });
    assert_eq!(given.unwrap(), [(10, false), (20, false), (30, false)]);
    let read = scene.world.run_system_once(|mut fuelled: ExprQuery<Fuelled, &Fuel>| {
        let mut same = true;
        fuelled.for_each(|fuel, row| same &= row.get::<Fuel>(0) == Some(fuel)).unwrap();
        same
    });
    assert!(read.unwrap());
}

#[test]
fn values_of_pairs_can_be_read() {
    #[derive(Expression)]
    #[expr("(Owes, $to)")]
    struct Debts;
    let mut scene = Scene::new();
    let [a, b, _] = scene.ships;
    scene.world.insert_pair(a, Owes(7), b).unwrap();
    let debts = scene.world.run_system_once(|mut debts: ExprQuery<Debts>| {
        debts.first().unwrap().and_then(|row| row.get_pair::<Owes>(0)).map(|debt| debt.0)
    });
    assert_eq!(debts.unwrap(), Some(7));
}

#[test]
fn rows_are_counted_looked_for_and_lent_one_after_the_other() {
    let mut scene = Scene::new();
    let [a, ..] = scene.ships;
    let nobody = scene.world.spawn_empty().id();
    scene
        .world
        .run_system_once(move |mut docked: ExprQuery<Docked>| {
            assert_eq!((docked.count().unwrap(), docked.any().unwrap()), (4, true));
            let mut rows = docked.rows().unwrap();
            let mut seen = 0;
            while let Some(row) = rows.next_row().unwrap() {
                assert!(row.this().is_some());
                seen += 1;
            }
            assert_eq!(seen, 4);
            docked.set_var("this", a).unwrap();
            assert_eq!((docked.count().unwrap(), docked.first().unwrap().unwrap().this()), (1, Some(a)));
            docked.clear_vars();
            docked.set_var("planet", nobody).unwrap();
            assert!(!docked.any().unwrap() && docked.first().unwrap().is_none());
            let unknown = docked.set_var("moon", nobody).unwrap_err();
            assert_eq!(unknown, ExprRunError::UnknownVariable { name: "moon".into() });
            assert!(docked.explain().unwrap().lines().count() > 1);
            assert_eq!(docked.compiled().variables().collect::<Vec<_>>(), ["planet"]);
        })
        .unwrap();
}

#[test]
fn what_reads_data_of_each_row_goes_through_tables() {
    let mut scene = Scene::new();
    for _ in 0..50 {
        for planet in scene.planets {
            let ship = scene.world.spawn((SpaceShip, Fuel(0))).id();
            scene.world.insert_pair(ship, DockedTo, planet).unwrap();
        }
    }
    let first_scan = |plan: String| {
        let (_, physical) = plan.split_once("physical").unwrap();
        physical.lines().find(|line| line.contains("scan")).unwrap().to_owned()
    };
    let (with_data, without) = scene
        .world
        .run_system_once(move |mut with: ExprQuery<Docked, &Fuel>, mut without: ExprQuery<Docked>| {
            let mut rows = [Vec::new(), Vec::new()];
            with.for_each(|_, row| rows[0].push((row.this(), row.var("planet")))).unwrap();
            without.for_each_row(|row| rows[1].push((row.this(), row.var("planet")))).unwrap();
            let [mut data, mut others] = rows;
            data.sort_unstable();
            others.sort_unstable();
            assert_eq!((data.len(), data), (104, others));
            (first_scan(with.explain().unwrap()), first_scan(without.explain().unwrap()))
        })
        .unwrap();
    assert!(with_data.contains("SpaceShip") && without.contains("Planet"), "{with_data}, {without}");
}

#[test]
fn variables_are_free_again_when_the_system_runs_again() {
    let mut scene = Scene::new();
    let [a, ..] = scene.ships;
    let mut schedule = Schedule::default();
    #[derive(Resource, Default)]
    struct Counts(Vec<usize>);
    scene.world.init_resource::<Counts>();
    schedule.add_systems(move |mut docked: ExprQuery<Docked>, mut counts: ResMut<Counts>| {
        counts.0.push(docked.count().unwrap());
        counts.0.push(docked.set_var("this", a).unwrap().count().unwrap());
    });
    schedule.run(&mut scene.world);
    schedule.run(&mut scene.world);
    assert_eq!(scene.world.resource::<Counts>().0, [4, 1, 4, 1]);
}

#[test]
fn a_run_may_be_given_a_number_of_steps() {
    let mut scene = Scene::new();
    let run = |mut docked: ExprQuery<Docked, &mut Fuel>| {
        let ended = Err(ExprRunError::StepLimit { limit: 1 });
        docked.set_step_limit(Some(1));
        assert_eq!(docked.count().map(drop), ended);
        assert_eq!(docked.any().map(drop), ended);
        assert_eq!(docked.first().map(drop), ended);
        assert_eq!(docked.for_each(|_, _| ()), ended);
        assert_eq!(docked.for_each_mut(|_, _| ()), ended);
        assert_eq!(docked.par_for_each(|_, _| ()), ended);
        assert_eq!(docked.for_each_row(|_| ()), ended);
        assert_eq!(docked.rows().and_then(|mut rows| rows.next_row().map(drop)), ended);
        docked.set_step_limit(None);
        assert_eq!(docked.count(), Ok(4));
    };
    scene.world.run_system_once(run).unwrap();
}

#[test]
fn disabled_entities_are_seen_by_variables_and_by_expressions_that_name_what_disables() {
    use bevy_ecs::entity_disabling::Disabled;
    #[derive(Expression)]
    #[expr("SpaceShip, Disabled, (DockedTo, $p), Size($p)")]
    struct Asleep;
    #[derive(Expression)]
    #[expr("SpaceShip, (DockedTo, $p), Size($p)")]
    struct Awake;
    let mut scene = Scene::new();
    scene.world.resource::<AppTypeRegistry>().write().register::<Disabled>();
    let ([p, _], [a, b, _]) = (scene.planets, scene.ships);
    scene.world.entity_mut(p).insert(Disabled);
    scene.world.entity_mut(a).insert(Disabled);
    fn seen<E: Expression>(size: usize) -> impl FnMut(ExprQuery<E, &Fuel>) -> Vec<(Entity, u32, u32)> {
        move |mut ships| {
            let mut seen = Vec::new();
            ships
                .for_each(|fuel, row| {
                    seen.push((row.this().unwrap(), fuel.0, row.get::<Size>(size).unwrap().0));
                })
                .unwrap();
            seen
        }
    }
    assert_eq!(scene.world.run_system_once(seen::<Asleep>(3)).unwrap(), [(a, 10, 1)]);
    let awake = scene.world.run_system_once(seen::<Awake>(2)).unwrap();
    assert_eq!(awake.len(), 3);
    assert!(awake.contains(&(b, 20, 2)) && awake.contains(&(scene.ships[2], 30, 1)));
}

#[test]
fn an_expression_about_nobody_has_rows_too() {
    #[derive(Expression)]
    #[expr("DockedTo(*, $planet)")]
    struct Visited;
    let mut scene = Scene::new();
    let counts = scene.world.run_system_once(|mut visited: ExprQuery<Visited>| {
        let mut with_data = 0;
        visited.for_each(|(), _| with_data += 1).unwrap();
        (visited.count().unwrap(), with_data)
    });
    assert_eq!(counts.unwrap(), (4, 0));
}

#[derive(Expression)]
#[expr("SpaceShip, (DockedTo, Earth)")]
struct AtEarth;

#[derive(Resource, Default)]
struct Found(Option<usize>);

fn count_at_earth(mut ships: If<ExprQuery<AtEarth>>, mut found: ResMut<Found>) {
    found.0 = Some(ships.count().unwrap());
}

#[test]
fn an_entity_may_get_its_name_after_the_system_was_initialised_and_lose_it_to_another() {
    let mut scene = Scene::new();
    scene.world.init_resource::<Found>();
    let mut schedule = Schedule::default();
    schedule.add_systems(count_at_earth);
    let [p, q] = scene.planets;
    let mut run = |world: &mut World| {
        schedule.run(world);
        world.resource_mut::<Found>().0.take()
    };
    assert_eq!(run(&mut scene.world), None);
    scene.world.entity_mut(p).insert(Name::new("Earth"));
    assert_eq!(run(&mut scene.world), Some(2));
    scene.world.despawn(p);
    assert_eq!(run(&mut scene.world), Some(0));
    scene.world.entity_mut(q).insert(Name::new("Earth"));
    assert_eq!(run(&mut scene.world), Some(2));
}

#[test]
fn data_may_write_what_a_term_reads_also_if_names_are_still_to_come() {
    #[derive(Expression)]
    #[expr("Fuel, (DockedTo, Earth)")]
    struct FuelledAtEarth;
    let mut scene = Scene::new();
    let mut schedule = Schedule::default();
    schedule.add_systems(|mut ships: If<ExprQuery<FuelledAtEarth, &mut Fuel>>| {
        ships.for_each_mut(|mut fuel, _| fuel.0 += 1).unwrap();
    });
    schedule.run(&mut scene.world);
    assert_eq!(scene.fuel(), [10, 20, 30]);
    scene.world.entity_mut(scene.planets[0]).insert(Name::new("Earth"));
    schedule.run(&mut scene.world);
    assert_eq!(scene.fuel(), [11, 20, 31]);
    // It is meant whatever it is called.
    scene.world.entity_mut(scene.planets[0]).insert(Name::new("Terra"));
    schedule.run(&mut scene.world);
    assert_eq!(scene.fuel(), [12, 20, 32]);
}

#[test]
fn a_component_that_a_name_did_not_mean_before_is_not_read_undeclared() {
    #[derive(Component, Reflect)]
    #[reflect(Component)]
    struct Later(u32);
    #[derive(Expression)]
    #[expr("SpaceShip, Later")]
    struct WithLater;
    let mut scene = Scene::new();
    let mut system = IntoSystem::into_system(|mut found: ExprQuery<WithLater>| found.count().unwrap());
    system.initialize(&mut scene.world);
    assert!(system.run((), &mut scene.world).is_err());
    scene.world.register_component::<Later>();
    scene.world.resource::<AppTypeRegistry>().write().register::<Later>();
    let error = system.run((), &mut scene.world).unwrap_err().to_string();
    assert!(error.contains("a meaning that it did not have"), "{error}");
}

#[test]
fn names_that_mean_nothing_are_shown_in_the_text() {
    let mut scene = Scene::new();
    let message = |error: bevy_ecs::system::RunSystemError| error.to_string();
    let error = scene.world.run_system_once(|_: ExprQuery<AtEarth>| ()).map_err(message).unwrap_err();
    assert!(error.contains("1:23: no component, relation or entity has this name"), "{error}");
    assert!(error.contains("1 | SpaceShip, (DockedTo, Earth)\n  |                       ^^^^^"), "{error}");
    assert!(
        error.contains("\n  = help: a component is known by it after `register_component_name`"),
        "{error}"
    );
    let almost = scene.world.spawn(Name::new("Eart")).id();
    let error = scene.world.run_system_once(|_: ExprQuery<AtEarth>| ()).map_err(message).unwrap_err();
    assert!(
        error.contains("1:23: no component, relation or entity has this name; did you mean `Eart`?"),
        "{error}"
    );
    scene.world.despawn(almost);
    let [p, q] = scene.planets;
    for planet in [p, q] {
        scene.world.entity_mut(planet).insert(Name::new("Earth"));
    }
    let error = scene.world.run_system_once(|_: ExprQuery<AtEarth>| ()).map_err(message).unwrap_err();
    assert!(
        error.contains(&format!("the entity {p}")) && error.contains(&format!("the entity {q}")),
        "{error}"
    );
    // A rule that is broken for good.
    #[derive(Expression)]
    #[expr("SpaceShip, Fuel(up DockedTo)")]
    struct Wrong;
    let error = scene.world.run_system_once(|_: ExprQuery<Wrong>| ()).map_err(message).unwrap_err();
    assert!(error.contains("1:20: `DockedTo` is not traversable: declare it"), "{error}");
}

#[test]
fn names_and_paths_are_looked_up_in_systems() {
    #[derive(Expression)]
    #[expr("SpaceShip, $this ~= \"art\", (DockedTo, $p), $p == \"Sol.Earth\", Size($p.core)")]
    struct Named;
    let mut scene = Scene::new();
    let ([p, q], [a, b, c]) = (scene.planets, scene.ships);
    let sol = scene.world.spawn(Name::new("Sol")).id();
    scene.world.entity_mut(p).insert((Name::new("Earth"), ChildOf(sol)));
    scene.world.entity_mut(q).insert((Name::new("Mars"), ChildOf(sol)));
    for (ship, name) in [(a, "Cart"), (b, "Dart"), (c, "Boat")] {
        scene.world.entity_mut(ship).insert(Name::new(name));
    }
    let find = |mut named: ExprQuery<Named>| named.first().unwrap().and_then(|row| row.this());
    assert_eq!(scene.world.run_system_once(find).unwrap(), None);
    scene.world.spawn((Name::new("core"), Size(3), ChildOf(p)));
    assert_eq!(scene.world.run_system_once(find).unwrap(), Some(a));
}

#[test]
fn an_expression_can_be_given_when_the_system_is_built() {
    let mut scene = Scene::new();
    let mut count = |expr: PairExpr| {
        let system = (ExprParam(expr),).build_state(&mut scene.world).build_system(
            |mut found: ExprQuery<AnyExpression, &Fuel>| {
                let mut fuel = 0;
                found.for_each(|own, _| fuel += own.0).unwrap();
                (found.count().unwrap(), fuel)
            },
        );
        scene.world.run_system_once(system).unwrap()
    };
    assert_eq!(count(pair_expr!("SpaceShip, (DockedTo, $planet)")), (4, 90));
    assert_eq!(count(PairExpr::parse("SpaceShip, !{(DockedTo, $p), Size($p)}").unwrap()), (0, 0));
    let error = scene.world.run_system_once(|_: ExprQuery<AnyExpression>| ()).unwrap_err();
    assert!(error.to_string().contains("ExprParam"), "{error}");
}

#[test]
fn one_that_only_reads_can_be_a_run_condition() {
    let mut scene = Scene::new();
    let mut schedule = Schedule::default();
    fn any_docked(mut docked: ExprQuery<Docked>) -> bool {
        docked.any().unwrap()
    }
    #[derive(Resource, Default)]
    struct Runs(u32);
    scene.world.init_resource::<Runs>();
    schedule.add_systems((|mut runs: ResMut<Runs>| runs.0 += 1).run_if(any_docked));
    schedule.run(&mut scene.world);
    for ship in scene.ships {
        scene.world.despawn(ship);
    }
    schedule.run(&mut scene.world);
    assert_eq!(scene.world.resource::<Runs>().0, 1);
}

#[test]
fn commands_beside_it_change_what_the_next_run_sees() {
    let mut scene = Scene::new();
    let mut schedule = Schedule::default();
    #[derive(Resource, Default)]
    struct Counts(Vec<usize>);
    scene.world.init_resource::<Counts>();
    let undock = |mut docked: ExprQuery<Docked>, mut commands: Commands, mut counts: ResMut<Counts>| {
        counts.0.push(docked.count().unwrap());
        if let Some(row) = docked.first().unwrap() {
            commands.entity(row.this().unwrap()).remove_pair::<DockedTo>(row.var("planet").unwrap());
        }
    };
    schedule.add_systems((undock, undock).chain());
    schedule.run(&mut scene.world);
    schedule.run(&mut scene.world);
    assert_eq!(scene.world.resource::<Counts>().0, [4, 3, 2, 1]);
    scene.world.check_pairs().unwrap();
}

#[test]
fn exclusive_systems_in_between_change_what_later_systems_see() {
    let mut scene = Scene::new();
    let mut schedule = Schedule::default();
    #[derive(Resource, Default)]
    struct Counts(Vec<usize>);
    scene.world.init_resource::<Counts>();
    let count =
        |mut docked: ExprQuery<Docked>, mut counts: ResMut<Counts>| counts.0.push(docked.count().unwrap());
    let [p, _] = scene.planets;
    let build = move |world: &mut World| _ = world.spawn((SpaceShip, Pair(DockedTo, p)));
    let clear = |world: &mut World| world.clear_pairs();
    schedule.add_systems((count, build, count, clear, count, build, count).chain());
    schedule.run(&mut scene.world);
    assert_eq!(scene.world.resource::<Counts>().0, [4, 5, 0, 1]);
}

#[test]
fn parallel_rows_come_once_each() {
    bevy_tasks::ComputeTaskPool::get_or_init(|| bevy_tasks::TaskPoolBuilder::new().num_threads(3).build());
    let mut scene = Scene::new();
    let planets: Vec<Entity> = (0..100).map(|_| scene.world.spawn((Planet, Size(1))).id()).collect();
    let ships: Vec<Entity> = (0..3000).map(|_| scene.world.spawn((SpaceShip, Fuel(0))).id()).collect();
    for (at, &ship) in ships.iter().enumerate() {
        for step in 0..at % 12 {
            scene.world.insert_pair(ship, DockedTo, planets[(at + step) % 100]).unwrap();
        }
    }
    #[derive(Expression)]
    #[expr("SpaceShip, (DockedTo, $planet), Size($planet)")]
    struct Sized;
    let refuel = |mut docked: ExprQuery<Sized, &mut Fuel>| {
        docked.par_for_each(|mut fuel, row| fuel.0 += row.get::<Size>(2).unwrap().0).unwrap();
    };
    scene.world.run_system_once(refuel).unwrap();
    for (at, &ship) in ships.iter().enumerate() {
        assert_eq!(scene.world.get::<Fuel>(ship), Some(&Fuel(at as u32 % 12)));
    }
    assert_eq!(scene.fuel(), [10 + 1, 20 + 2, 30 + 1 + 2]);
}
