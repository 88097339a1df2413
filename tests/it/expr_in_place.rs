//! Rows of tables as they lie, for whoever reads a run to its end, against the same rows made one by one.
//!
//! [`CompiledExpr::rows`] lends one row at a time and has batches without gaps. Everything else here goes through parts of tables of
//! which some entities are rows. What is read must be the same, whatever was changed since the run before.

use crate::{common::size, expr_tables::compile, oracle::random::Random};
use bevy_ecs::{prelude::*, query::QueryData, system::SystemParamBuilder, world::DeferredWorld};
use bevy_relations::{
    expr::{AnyExpression, CompiledExpr, ExprParam, PairExpr, Row},
    prelude::*,
    relation::{OnInstantiate, RelationStorage},
};

#[derive(Component, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fuel(pub(crate) u32);

#[derive(Component)]
pub(crate) struct Armor;

#[derive(Component)]
#[component(storage = "SparseSet")]
pub(crate) struct Burning;

#[derive(Component)]
pub(crate) struct Port;

/// What ships of a class share.
#[derive(Component, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Shape(pub(crate) u32);

#[derive(Relation)]
#[relation(exclusive)]
pub(crate) struct DockedTo;

#[derive(Relation)]
#[relation(exclusive, storage = "Table")]
pub(crate) struct MemberOf;

#[derive(Relation)]
#[relation(exclusive, storage = "Fragmenting")]
pub(crate) struct TeamOf;

#[derive(Relation)]
pub(crate) struct Likes;

/// Each with every exclusive relation in place of `R`.
const EXPRS: [&str; 22] = [
    "Fuel",
    "Fuel, !(R, *)",
    "Fuel, (R, *)",
    "Fuel, (R, $port)",
    "Fuel, (R, $port), Port($port)",
    "Fuel, !(R, Home)",
    "Fuel, (R, Home)",
    "Fuel, ?(R, *)",
    "Fuel, ?(R, $port)",
    "Fuel, ?Armor, ?Burning",
    "Fuel, Armor || (R, Home)",
    "Fuel, Armor || (R, _) || Burning",
    "Fuel, (Likes, _), !(R, *)",
    "Fuel, !(Likes, Home), (R, $port), !Port($port)",
    "Fuel, !Red, ?(R, $port)",
    "Fuel, !Burning, ?(R, Home)",
    "Fuel, (R, $port), Fuel($port)",
    "Fuel, ?Shape(up IsA), (R, $port), Port($port)",
    "Fuel, Shape(self|up IsA)",
    "Fuel, Shape(up IsA), !(R, *)",
    "Fuel, Port(Carrier), !(R, *)",
    "Fuel, Fuel(Carrier), ?(R, $port)",
];

pub(crate) struct Bed {
    pub(crate) world: World,
    pub(crate) random: Random,
    ports: Vec<Entity>,
    pub(crate) ships: Vec<Entity>,
    classes: Vec<Entity>,
    red: Entity,
}

impl Bed {
    pub(crate) fn new(seed: u64) -> Self {
        let mut world = World::new();
        let (is_a, shape) = (world.entity_of::<IsA>(), world.entity_of::<Shape>());
        let storage =
            if seed.is_multiple_of(2) { RelationStorage::Fragmenting } else { RelationStorage::Store };
        world.set_traits(is_a, RelationTraits::new().storage(storage)).unwrap();
        world.set_traits(shape, RelationTraits::new().on_instantiate(OnInstantiate::Inherit)).unwrap();
        let named = [
            ("DockedTo", world.register_relation::<DockedTo>().unwrap()),
            ("MemberOf", world.register_relation::<MemberOf>().unwrap()),
            ("TeamOf", world.register_relation::<TeamOf>().unwrap()),
            ("Likes", world.register_relation::<Likes>().unwrap()),
            ("Fuel", world.entity_of::<Fuel>()),
            ("Armor", world.entity_of::<Armor>()),
            ("Burning", world.entity_of::<Burning>()),
            ("Port", world.entity_of::<Port>()),
            ("Shape", shape),
            ("Red", world.spawn_empty().id()),
        ];
        for (name, entity) in named {
            world.entity_mut(entity).insert(Name::new(name));
        }
        let ports = vec![
            world.spawn((Port, Name::new("Home"))).id(),
            world.spawn_empty().id(),
            world.spawn(Port).id(),
        ];
        let [old, new] = [1, 2].map(|shape| world.spawn(Shape(shape)).id());
        let derived = world.spawn(Pair(IsA, old)).id();
        let (classes, red) = (vec![old, new, derived], named[9].1);
        let mut bed = Self { world, random: Random::new(seed, 0), ports, ships: Vec::new(), classes, red };
        // One that ships dock to, itself too.
        let carrier = bed.world.spawn((Port, Fuel(9), Name::new("Carrier"))).id();
        bed.ships.push(carrier);
        bed.ports.push(carrier);
        for number in 0..size(300, 70) as u32 {
            let ship = bed.world.spawn(Fuel(number)).id();
            bed.ships.push(ship);
            if bed.random.chance(30) {
                bed.change(ship);
            }
        }
        bed
    }

    /// Changes something about a ship.
    pub(crate) fn change(&mut self, ship: Entity) {
        let Self { world, random, ports, classes, red, .. } = self;
        let (port, class) = (random.pick(ports), random.pick(classes));
        match random.below(16) {
            0 => drop(world.entity_mut(ship).insert(Armor)),
            1 => drop(world.entity_mut(ship).remove::<Armor>()),
            2 => drop(world.entity_mut(ship).insert(Burning)),
            3 => drop(world.entity_mut(ship).remove::<Burning>()),
            4 => world.insert_tag(ship, *red).unwrap(),
            5 => world.insert_pair(ship, Likes, port).unwrap(),
            6 => drop(world.remove_pairs::<Likes>(ship)),
            7 => {
                world.remove_pairs::<DockedTo>(ship);
                world.remove_pairs::<MemberOf>(ship);
                world.remove_pairs::<TeamOf>(ship);
            }
            8 => drop(world.entity_mut(ship).insert(Shape(9))),
            9 => drop(world.entity_mut(ship).remove::<Shape>()),
            10 => drop(world.remove_pairs::<IsA>(ship)),
            11 => world.insert_pair(ship, IsA, class).unwrap(),
            _ => {
                world.insert_pair(ship, DockedTo, port).unwrap();
                world.insert_pair(ship, MemberOf, port).unwrap();
                world.insert_pair(ship, TeamOf, port).unwrap();
            }
        }
    }
}

/// What a row says.
#[derive(PartialEq, Debug)]
struct Seen {
    this: Option<Entity>,
    port: Option<Entity>,
    fuel: Option<Fuel>,
    fields: Vec<(bool, Option<Entity>)>,
}

impl Seen {
    fn of(row: Row<'_>) -> Self {
        Self {
            this: row.this(),
            port: row.var("port"),
            fuel: row.get(0).copied(),
            fields: (0..row.field_count()).map(|field| (row.is_set(field), row.source(field))).collect(),
        }
    }

    fn one_by_one(world: &World, expr: &mut CompiledExpr) -> Vec<Self> {
        let (mut seen, mut rows) = (Vec::new(), expr.rows(world).unwrap());
        while let Some(row) = rows.next_row().unwrap() {
            seen.push(Self::of(row));
        }
        seen
    }
}

/// Reads the rows in each way.
fn compare(world: &mut World, expr: &mut CompiledExpr, text: &str) {
    let rows = Seen::one_by_one(world, expr);
    let mut seen = Vec::new();
    expr.for_each(world, |row| seen.push(Seen::of(row))).unwrap();
    assert_eq!(seen, rows, "{text}");
    assert_eq!(expr.count(world).unwrap(), rows.len(), "{text}");
    seen.clear();
    expr.for_each_table(world, |table| {
        let (fuel, x) = (table.slice::<Fuel>(0).unwrap(), table.var("port"));
        let first = table.var("port").next().flatten();
        assert_eq!(
            table.common_var("port"),
            first.filter(|&port| table.var("port").all(|x| x == Some(port)))
        );
        assert!(table.var("this").eq(table.entities().iter().copied().map(Some)), "{text}");
        assert!(fuel.len() == table.len() && table.entities().len() == table.len());
        for ((row, fuel), (this, port)) in table.rows().zip(fuel).zip(table.entities().iter().zip(x)) {
            for field in 0..row.field_count() {
                assert_eq!(
                    (row.is_set(field), row.is_own(field)),
                    (table.is_set(field), table.is_own(field))
                );
                if !row.is_own(field) {
                    assert_eq!(row.source(field), table.source(field), "{text}");
                    assert_eq!(row.get::<Shape>(field), table.shared::<Shape>(field), "{text}");
                    assert_eq!(row.get::<Fuel>(field), table.shared::<Fuel>(field), "{text}");
                }
            }
            let row = Seen::of(row);
            assert_eq!((row.this, row.fuel, row.port), (Some(*this), Some(*fuel), port), "{text}");
            seen.push(row);
        }
    })
    .unwrap();
    assert_eq!(seen, rows, "{text}");
    let mut raised = Vec::new();
    expr.for_each_mut(world, |mut row| {
        row.get_mut::<Fuel>(0).unwrap().0 += 1000;
        raised.push(Seen::of(row.as_row()));
    })
    .unwrap();
    expr.for_each_mut(world, |mut row| row.get_mut::<Fuel>(0).unwrap().0 -= 1000).unwrap();
    raised.iter_mut().for_each(|row| row.fuel.as_mut().unwrap().0 -= 1000);
    assert_eq!(raised, rows, "{text}");
    seen.clear();
    expr.for_each_table_mut(world, |mut table| {
        for number in 0..table.as_table().len() {
            let row = table.row_mut(number).unwrap();
            assert_eq!(row.this(), row.as_row().this());
            seen.push(Seen::of(row.as_row()));
        }
    })
    .unwrap();
    assert_eq!(seen, rows, "{text}");
}

#[test]
fn rows_of_tables_as_they_lie_are_those_that_are_made_one_by_one() {
    for seed in 0..size(6, 1) as u64 {
        let mut bed = Bed::new(seed);
        let relations = ["DockedTo", "MemberOf", "TeamOf"];
        let texts = EXPRS
            .iter()
            .flat_map(|text| relations.map(|relation| text.replace("(R,", &format!("({relation},"))));
        let mut exprs: Vec<_> = texts.map(|text| (compile(&mut bed.world, &text), text)).collect();
        for (number, (expr, _)) in exprs.iter_mut().enumerate() {
            expr.set_batch_size([1024, 64, 1, 100][(number + seed as usize) % 4]);
        }
        for round in 0..4 {
            for (expr, text) in &mut exprs {
                compare(&mut bed.world, expr, text);
            }
            // Sometimes nothing has changed, and what was found out before is right.
            for _ in 0..[0, 3, 40][round % 3] {
                // The carrier stays.
                let at = 1 + bed.random.below(bed.ships.len() - 1);
                match bed.random.chance(10) {
                    true => drop(bed.world.despawn(bed.ships.swap_remove(at))),
                    false => bed.change(bed.ships[at]),
                }
            }
        }
        bed.world.check_pairs().unwrap();
    }
}

#[test]
fn data_that_a_system_reads_and_writes_is_that_of_the_rows() {
    // A system cannot write what the same expression reads of others.
    let exprs =
        EXPRS.into_iter().filter(|text| !text.contains("Fuel($port)") && !text.contains("Fuel(Carrier)"));
    for (text, seed) in exprs.flat_map(|text| (0..size(3, 1) as u64).map(move |seed| (text, seed))) {
        for relation in ["DockedTo", "MemberOf", "TeamOf"] {
            let mut bed = Bed::new(seed);
            let text = text.replace("(R,", &format!("({relation},"));
            let mut expr = compile(&mut bed.world, &text);
            let rows = Seen::one_by_one(&bed.world, &mut expr);
            bed.world.clear_trackers();
            let expr = (ExprParam(PairExpr::parse(&*text).unwrap()),).build_state(&mut bed.world);
            let of_rows = text.clone();
            let mut system =
                expr.build_system(move |mut ships: ExprQuery<AnyExpression, (Entity, &mut Fuel)>| {
                    let mut seen = Vec::new();
                    ships.for_each(|(ship, fuel), row| seen.push((ship, row.this(), *fuel))).unwrap();
                    let expected = rows.iter().map(|row| (row.this.unwrap(), row.this, row.fuel.unwrap()));
                    assert!(seen.into_iter().eq(expected), "{of_rows}");
                    let mut next = rows.iter();
                    ships
                        .for_each_mut(|(ship, mut fuel), row| {
                            let expected = next.next().unwrap();
                            let seen = (Some(ship), row.this(), row.var("port"), Some(*fuel));
                            assert_eq!(
                                seen,
                                (expected.this, expected.this, expected.port, expected.fuel),
                                "{of_rows}"
                            );
                            fuel.0 += 1000;
                        })
                        .unwrap();
                    assert!(next.next().is_none(), "{of_rows}");
                    // Data that some entities lack.
                    assert_eq!(ships.count().unwrap(), rows.len());
                });
            system.initialize(&mut bed.world);
            system.run((), &mut bed.world).unwrap();
            let mut fuels = bed.world.query::<Ref<Fuel>>();
            assert!(fuels.iter(&bed.world).all(|fuel| (fuel.0 >= 1000) == fuel.is_changed()), "{text}");
        }
    }
}

#[test]
fn data_that_only_some_entities_of_rows_have_leaves_the_others_out() {
    let mut bed = Bed::new(7);
    let armored = bed.world.query_filtered::<(), (With<Fuel>, With<Armor>)>().iter(&bed.world).count();
    let expr = (ExprParam(PairExpr::parse("Fuel, ?(DockedTo, $port)").unwrap()),).build_state(&mut bed.world);
    let mut system = expr.build_system(|mut ships: ExprQuery<AnyExpression, &Armor>| {
        let mut seen = 0;
        ships.for_each_mut(|_, _| seen += 1).unwrap();
        seen
    });
    system.initialize(&mut bed.world);
    assert_eq!(system.run((), &mut bed.world).unwrap(), armored);
}

#[test]
fn a_limit_of_steps_ends_a_run_whoever_reads_it() {
    let mut bed = Bed::new(3);
    let mut expr = compile(&mut bed.world, "Fuel, !(DockedTo, *)");
    expr.set_step_limit(Some(20));
    assert!(expr.for_each(&bed.world, |_| {}).is_err() && expr.count(&bed.world).is_err());
    expr.set_step_limit(None);
    assert!(expr.for_each(&bed.world, |_| {}).is_ok());
}

/// What observers read with.
#[derive(Resource)]
struct Watchers {
    exprs: Vec<(CompiledExpr, String)>,
    ships: Vec<Entity>,
    home: Entity,
    checks: usize,
}

/// Reads the rows in place, and compares them with those of a run row by row and with what the store says.
fn check_amid<R: Relation>(world: &mut DeferredWorld<'_>) {
    let Some(mut watchers) = world.get_resource_mut::<Watchers>() else { return };
    let (mut exprs, home) = (core::mem::take(&mut watchers.exprs), watchers.home);
    let ships = watchers.ships.clone();
    watchers.checks += 1;
    for (expr, text) in &mut exprs {
        let world = &**world;
        let rows = Seen::one_by_one(world, expr);
        let mut seen = Vec::new();
        expr.for_each(world, |row| seen.push(Seen::of(row))).unwrap();
        assert_eq!(seen, rows, "{text}");
        let at_home = |ship: Entity| world.has_pair::<R>(ship, home);
        let wanted = |&ship: &Entity| {
            let armored = world.get::<Armor>(ship).is_some();
            match text.split_once(", ").unwrap().1.as_bytes() {
                [b'!', ..] => !at_home(ship),
                [b'A', ..] => armored || at_home(ship),
                _ => at_home(ship),
            }
        };
        let mut expected: Vec<Entity> = ships.iter().copied().filter(wanted).collect();
        let mut found: Vec<Entity> = rows.iter().filter_map(|row| row.this).collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{text}");
    }
    world.resource_mut::<Watchers>().exprs = exprs;
}

fn observers_read_in_place<R: Relation>(relation: fn() -> R, name: &str) {
    let mut world = World::new();
    let is = world.register_relation::<R>().unwrap();
    let home = world.spawn(Name::new("Home")).id();
    let away = world.spawn_empty().id();
    for (name, entity) in
        [(name, is), ("Fuel", world.entity_of::<Fuel>()), ("Armor", world.entity_of::<Armor>())]
    {
        world.entity_mut(entity).insert(Name::new(name.to_owned()));
    }
    let ships: Vec<Entity> = (0..200).map(|number| world.spawn(Fuel(number)).id()).collect();
    for ship in ships.iter().step_by(5) {
        world.entity_mut(*ship).insert(Armor);
    }
    let texts = ["Fuel, (R, Home)", "Fuel, !(R, Home)", "Fuel, Armor || (R, Home)"];
    let texts = texts.map(|text| text.replace("(R,", &format!("({name},")));
    let exprs = texts.map(|text| (compile(&mut world, &text), text)).into();
    world.insert_resource(Watchers { exprs, ships: ships.clone(), home, checks: 0 });
    world.add_observer(|_: On<PairInserted<R>>, mut world: DeferredWorld| check_amid::<R>(&mut world));
    world.add_observer(|_: On<PairRemoved<R>>, mut world: DeferredWorld| check_amid::<R>(&mut world));
    let mut random = Random::new(5, 0);
    for round in 0..size(60, 12) {
        let ship = random.pick(&ships);
        let target = if random.chance(50) { home } else { away };
        match round % 6 {
            0 => _ = world.insert_pair_batch(ships[..20].iter().map(|&ship| (ship, relation(), target))),
            1 => world.insert_pair(ship, relation(), target).unwrap(),
            2 => _ = world.remove_pairs::<R>(ship),
            3 => {
                let mut commands = world.commands();
                commands.entity(ship).insert(Pair(relation(), target));
                commands.entity(ships[7]).insert(Armor);
                world.flush();
            }
            4 => _ = world.entity_mut(ship).remove::<Armor>(),
            _ => _ = world.remove_pairs_by_id(ships[round % 20], PairId::ALL),
        }
        check_amid::<R>(&mut DeferredWorld::from(&mut world));
    }
    world.despawn(home);
    assert!(world.resource::<Watchers>().checks > size(60, 12) * 2);
    world.check_pairs().unwrap();
}

#[test]
fn observers_amid_changes_of_a_relation_in_tables_read_what_is_there() {
    observers_read_in_place(|| DockedTo, "DockedTo");
    observers_read_in_place(|| MemberOf, "MemberOf");
    observers_read_in_place(|| TeamOf, "TeamOf");
}

#[test]
fn data_that_is_sparse_or_absent_or_of_no_entity_is_read_as_it_is_written() {
    fn both<D: QueryData + 'static>(bed: &mut Bed, text: &str) -> [Vec<Entity>; 2] {
        let expr = (ExprParam(PairExpr::parse(text).unwrap()),).build_state(&mut bed.world);
        let mut system = expr.build_system(|mut ships: ExprQuery<AnyExpression, (Entity, D)>| {
            let mut found = [Vec::new(), Vec::new()];
            ships
                .for_each(|(ship, _), row| {
                    assert_eq!(row.this(), Some(ship));
                    found[0].push(ship);
                })
                .unwrap();
            ships
                .for_each_mut(|(ship, _), row| {
                    assert_eq!(row.this(), Some(ship));
                    found[1].push(ship);
                })
                .unwrap();
            found
        });
        system.initialize(&mut bed.world);
        system.run((), &mut bed.world).unwrap()
    }
    let mut bed = Bed::new(11);
    // Few are changed where tests are small, and none might be so.
    let (burning, armored) = (bed.ships[1], bed.ships[2]);
    bed.world.entity_mut(burning).insert(Burning);
    bed.world.entity_mut(armored).insert(Armor);
    let count = |world: &mut World, with: fn(EntityRef<'_>) -> bool| {
        let mut all = world.query_filtered::<EntityRef, With<Fuel>>();
        all.iter(world).filter(|&entity| with(entity)).count()
    };
    let burning = count(&mut bed.world, |entity| entity.contains::<Burning>());
    let armored = count(&mut bed.world, |entity| entity.contains::<Armor>());
    let all = count(&mut bed.world, |_| true);
    assert!(burning > 0 && armored > 0);
    for (found, expected) in [
        (both::<&Burning>(&mut bed, "Fuel"), burning),
        (both::<Option<&Burning>>(&mut bed, "Fuel"), all),
        (both::<&Armor>(&mut bed, "Fuel, ?(MemberOf, *)"), armored),
        // Rows that are about no entity have no data.
        (both::<()>(&mut bed, "Port(Home)"), 0),
        (both::<()>(&mut bed, "Fuel, Port(Red)"), 0),
    ] {
        assert_eq!(found[0], found[1]);
        assert_eq!(found[0].len(), expected);
    }
}

/// Which port, if any, the ship with a number has. The numbers are about batches of 128 rows, and eight times as long ones.
const PATTERNS: [fn(usize) -> Option<usize>; 6] = [
    |_| Some(0),
    |ship| Some(usize::from(ship >= 1_300)),
    |ship| Some(usize::from(ship == 1_151)),
    |ship| Some(ship / 64 % 2),
    |ship| (ship < 700).then_some(1),
    |ship| (ship % 1_000 != 999).then_some(0),
];

#[test]
fn long_tables_of_one_target_or_some_are_read_as_they_lie() {
    let texts =
        ["Fuel, (R, $port)", "Fuel, ?(R, $port)", "Fuel, !(R, *)", "Fuel, (R, $port), !Armor", "Fuel"];
    let relations = ["DockedTo", "MemberOf", "TeamOf"];
    for (number, pattern) in PATTERNS.iter().enumerate() {
        let mut bed = Bed::new(number as u64);
        let ports = bed.ports.clone();
        for ship in bed.ships.split_off(1) {
            bed.world.despawn(ship);
        }
        for number in 0..size(2_600, 1_300) {
            let ship = bed.world.spawn(Fuel(number as u32)).id();
            if let Some(port) = pattern(number).map(|port| ports[port]) {
                bed.world.insert_pair(ship, DockedTo, port).unwrap();
                bed.world.insert_pair(ship, MemberOf, port).unwrap();
                bed.world.insert_pair(ship, TeamOf, port).unwrap();
            }
            bed.ships.push(ship);
        }
        for text in texts
            .iter()
            .flat_map(|text| relations.map(|relation| text.replace("(R,", &format!("({relation},"))))
        {
            let mut expr = compile(&mut bed.world, &text);
            expr.set_batch_size(65);
            compare(&mut bed.world, &mut expr, &format!("{text}, pattern {number}"));
            // What was found out of tables is of the run before.
            let ship = bed.ships[bed.ships.len() - 1];
            bed.world.insert_pair(ship, TeamOf, ports[1]).unwrap();
            bed.world.remove_pairs::<MemberOf>(ship);
            compare(&mut bed.world, &mut expr, &format!("{text}, pattern {number}, changed"));
            bed.ships.pop();
        }
    }
}
