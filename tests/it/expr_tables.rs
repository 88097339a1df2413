//! Rows a table at a time and on several threads, against the same rows one by one.

use crate::{
    common::{all_entities, size},
    oracle::random::Random,
};
use bevy_ecs::{change_detection::ContiguousRef, prelude::*, system::SystemParamBuilder};
use bevy_relations::{
    expr::{AnyExpression, CompiledExpr, ExprParam, PairExpr, Row, RowMut, RowTable, WriteFieldError},
    prelude::*,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Component, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fuel(pub(crate) u32);

#[derive(Component, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Armor(pub(crate) u64);

#[derive(Component, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Ship;

#[derive(Component, Clone, Copy, PartialEq, Debug)]
#[component(storage = "SparseSet")]
struct Burning(u8);

/// Names of the types, to be used in expressions.
const NAMES: [&str; 6] = ["Likes", "MountedOn", "Fuel", "Armor", "Ship", "Burning"];

/// Ships in several tables, mounted on each other.
pub(crate) fn fleet(seed: u64) -> World {
    let mut random = Random::new(seed, 0);
    let mut world = World::new();
    let types = [
        world.register_relation::<Likes>().unwrap(),
        world.register_relation::<MountedOn>().unwrap(),
        world.entity_of::<Fuel>(),
        world.entity_of::<Armor>(),
        world.entity_of::<Ship>(),
        world.entity_of::<Burning>(),
    ];
    for (name, entity) in NAMES.iter().zip(types) {
        world.entity_mut(entity).insert(Name::new(*name));
    }
    world.register_component::<Fuel>();
    world.register_component::<Armor>();
    world.register_component::<Ship>();
    world.register_component::<Burning>();
    let mut ships = Vec::new();
    for number in 0..size(80, 30) as u32 {
        let mut ship = world.spawn((Ship, Fuel(number)));
        // In stretches, so that there are tables with something in them.
        if number / 8 % 3 == 0 || random.chance(5) {
            ship.insert(Armor(u64::from(number) * 10));
        }
        if random.chance(20) {
            ship.insert(Burning(number as u8));
        }
        let ship = ship.id();
        if number > 10 && random.chance(60) {
            world.insert_pair(ship, MountedOn, ships[random.below(4)]).unwrap();
        }
        for _ in 0..random.below(3) {
            if let Some(&other) = ships.get(random.below(80)) {
                world.insert_pair(ship, Likes, other).unwrap();
            }
        }
        ships.push(ship);
    }
    for _ in 0..5 {
        world.despawn(random.pick(&ships));
    }
    world
}

pub(crate) fn compile(world: &mut World, text: &str) -> CompiledExpr {
    match PairExpr::parse(text).and_then(|expr| expr.compile(world)) {
        Ok(expr) => expr,
        Err(error) => panic!("{error}"),
    }
}

pub(crate) const EXPRS: [&str; 9] = [
    "Ship, Fuel",
    "Fuel, ?Armor, ?Burning",
    "Ship, Armor(up MountedOn), Fuel",
    "Ship, ?Armor(self|up MountedOn), Fuel",
    "Ship, (Likes, $x), Fuel($x)",
    "Ship, (Likes, *)",
    "Armor || Burning",
    "Fuel($x), Armor($x)",
    "Fuel, (MountedOn, $base), !(MountedOn, _)",
];

/// What a row says, without a table.
#[derive(PartialEq, Debug)]
pub(crate) struct Seen {
    this: Option<Entity>,
    x: Option<Entity>,
    fuel: Vec<Option<Fuel>>,
    armor: Vec<Option<Armor>>,
    own: Vec<bool>,
}

impl Seen {
    pub(crate) fn of(row: Row<'_>) -> Self {
        let fields = 0..row.field_count();
        Self {
            this: row.this(),
            x: row.var("x"),
            fuel: fields.clone().map(|field| row.get(field).copied()).collect(),
            armor: fields.clone().map(|field| row.get(field).copied()).collect(),
            own: fields.map(|field| row.is_own(field)).collect(),
        }
    }
}

impl Seen {
    /// What the slices of a table say of its rows.
    pub(crate) fn all(table: &RowTable<'_>) -> Vec<Self> {
        let entities = table.entities();
        assert!(!table.is_empty() && (entities.is_empty() || entities.len() == table.len()));
        let x: Vec<_> = table.var("x").collect();
        assert_eq!(table.common_var("x"), x[0].filter(|&first| x.iter().all(|&x| x == Some(first))));
        assert_eq!(table.common_var("this").is_some(), entities.len() == 1);
        assert!(table.var("this").eq(table.rows().map(|row| row.this())));
        let fields = 0..table.rows().next().unwrap().field_count();
        for field in fields.clone() {
            assert_eq!(table.source(field).is_some(), table.is_set(field) && !table.is_own(field));
        }
        let of_row = |at: usize| {
            let fuel =
                |field| table.slice::<Fuel>(field).map(|fuel| &fuel[at]).or_else(|| table.shared(field));
            let armor =
                |field| table.slice::<Armor>(field).map(|armor| &armor[at]).or_else(|| table.shared(field));
            Self {
                this: entities.get(at).copied(),
                x: x[at],
                fuel: fields.clone().map(|field| fuel(field).copied()).collect(),
                armor: fields.clone().map(|field| armor(field).copied()).collect(),
                own: fields.clone().map(|field| table.is_own(field)).collect(),
            }
        };
        (0..table.len()).map(of_row).collect()
    }
}

#[test]
fn slices_hold_what_rows_hold() {
    let mut longest = 0;
    for seed in 0..12 {
        let mut world = fleet(seed);
        for text in EXPRS {
            let mut expr = compile(&mut world, text);
            expr.set_batch_size(1 + seed as usize * 7);
            let mut rows = Vec::new();
            expr.for_each(&world, |row| rows.push(Seen::of(row))).unwrap();
            let mut seen = Vec::new();
            expr.for_each_table(&world, |table| {
                longest = longest.max(table.len());
                seen.extend(Seen::all(&table));
            })
            .unwrap();
            assert_eq!(seen, rows, "{text}");
        }
    }
    assert!(longest >= 8, "rows that lie side by side come together");
}

#[test]
fn a_table_is_as_long_as_what_lies_side_by_side() {
    let mut world = World::new();
    let fuel = world.entity_of::<Fuel>();
    world.entity_mut(fuel).insert(Name::new("Fuel"));
    world.register_component::<Fuel>();
    world.spawn_batch((0..3000).map(Fuel));
    let mut expr = compile(&mut world, "Fuel");
    let mut lengths = Vec::new();
    expr.for_each_table(&world, |table| lengths.push(table.len())).unwrap();
    assert_eq!(lengths.iter().sum::<usize>(), 3000);
    assert!(lengths.len() <= 3, "as long as batches: {lengths:?}");
}

#[test]
fn slices_are_of_the_type_of_the_field_and_kept_in_tables() {
    let mut world = fleet(1);
    let mut expr = compile(&mut world, "Fuel, Burning, Armor(up MountedOn), Ship");
    let mut tables = 0;
    expr.for_each_table(&world, |table| {
        tables += 1;
        assert!(table.slice::<Armor>(0).is_none() && table.slice::<Fuel>(9).is_none());
        assert!(table.slice::<Burning>(1).is_none(), "a sparse set has no slices");
        assert!(table.rows().all(|row| row.get::<Burning>(1).is_some()));
        assert!(table.slice::<Armor>(2).is_none() && table.shared::<Armor>(2).is_some());
        assert!(table.shared::<Fuel>(2).is_none() && table.shared::<Fuel>(0).is_none());
        assert_eq!(table.slice::<Ship>(3), Some(&vec![Ship; table.len()][..]));
    })
    .unwrap();
    assert!(tables > 0);
}

#[test]
fn slices_that_are_written_count_as_changed() {
    let mut world = fleet(2);
    let mut expr = compile(&mut world, "Fuel, Armor");
    world.clear_trackers();
    let mut changed = world.query_filtered::<Entity, Changed<Fuel>>();
    assert_eq!(changed.iter(&world).count(), 0);
    let mut expected = Vec::new();
    expr.for_each(&world, |row| {
        expected.push((row.this().unwrap(), Fuel(row.get::<Fuel>(0).unwrap().0 + 1000)));
    })
    .unwrap();
    let mut written = 0;
    expr.for_each_table_mut(&mut world, |mut table| {
        let length = table.as_table().len();
        let fuel = table.slice_mut::<Fuel>(0).unwrap();
        assert_eq!(fuel.len(), length);
        fuel.iter_mut().for_each(|fuel| fuel.0 += 1000);
        written += length;
        assert!(matches!(table.slice_mut::<Armor>(0), Err(WriteFieldError::OtherType { field: 0, .. })));
    })
    .unwrap();
    assert!(written > 5 && written == expected.len());
    let mut found: Vec<_> =
        changed.iter(&world).map(|entity| (entity, *world.get::<Fuel>(entity).unwrap())).collect();
    found.sort_by_key(|&(entity, _)| entity);
    expected.sort_by_key(|&(entity, _)| entity);
    assert_eq!(found, expected, "these and no others");

    world.clear_trackers();
    expr.for_each_table_mut(&mut world, |mut table| {
        table.bypass_change_detection::<Fuel>(0).unwrap().iter_mut().for_each(|fuel| fuel.0 += 1000);
        assert!(matches!(table.bypass_change_detection::<Armor>(0), Err(WriteFieldError::OtherType { .. })));
        assert!(table.bypass_change_detection::<Fuel>(9).is_err());
        assert!(table.as_table().common_var("z").is_none() && table.as_table().var("z").all(|z| z.is_none()));
    })
    .unwrap();
    assert_eq!(changed.iter(&world).count(), 0);
    assert!(expected.iter().all(|(entity, fuel)| world.get::<Fuel>(*entity).unwrap().0 == fuel.0 + 1000));
}

/// What each entity has of a component that is counted.
pub(crate) fn numbers<T: Component>(world: &mut World, number: fn(&T) -> u64) -> BTreeMap<Entity, u64> {
    world.query::<(Entity, &T)>().iter(world).map(|(entity, value)| (entity, number(value))).collect()
}

pub(crate) fn changed<T: Component>(world: &mut World) -> BTreeSet<Entity> {
    world.query_filtered::<Entity, Changed<T>>().iter(world).collect()
}

/// Adds to whatever may be written in a row.
fn raise(mut row: RowMut<'_>) {
    for field in 0..row.as_row().field_count() {
        if let Ok(mut fuel) = row.get_mut::<Fuel>(field) {
            fuel.0 += 1;
        }
        if let Ok(mut armor) = row.get_mut::<Armor>(field) {
            armor.0 += 1;
        }
        if let Ok(mut burning) = row.get_mut::<Burning>(field) {
            burning.0 = burning.0.wrapping_add(1);
        }
    }
}

/// Own fields, shared ones, alternatives and fields of variables; which of them may be written in a system, and which
/// with the world.
pub(crate) const WRITTEN: [(&str, &[usize], &[usize]); 7] = [
    ("[inout] Fuel, ?Armor, [inout] ?Burning", &[0, 2], &[0, 1, 2]),
    ("[out] Fuel, [inout] Armor(up MountedOn)", &[0, 1], &[0, 1]),
    ("Ship, (MountedOn, $base), [inout] Fuel($base), [in] Armor", &[2], &[2]),
    ("Ship, (Likes, $x), [inout] Fuel($x), [inout] ?Burning", &[2, 3], &[2, 3]),
    ("[inout] Armor || [inout] Burning, [in] Fuel", &[0], &[0]),
    ("Ship, [inout] Armor(self|up MountedOn)", &[1], &[1]),
    ("Fuel, Burning", &[], &[0, 1]),
];

#[test]
fn fields_of_entities_in_several_tables_are_written() {
    for (seed, (text, marked, whole)) in
        (0..size(4, 1) as u64).flat_map(|seed| WRITTEN.map(|written| (seed, written)))
    {
        for (in_system, fields) in [(false, whole), (true, marked)] {
            let mut world = fleet(seed);
            let mut expr = compile(&mut world, text);
            let (mut fuel, mut armor, mut burning) = (
                numbers::<Fuel>(&mut world, |fuel| fuel.0.into()),
                numbers::<Armor>(&mut world, |armor| armor.0),
                numbers::<Burning>(&mut world, |burning| burning.0.into()),
            );
            let mut expected: [BTreeSet<Entity>; 3] = Default::default();
            expr.for_each(&world, |row| {
                for &field in fields {
                    let has = [
                        row.get::<Fuel>(field).is_some(),
                        row.get::<Armor>(field).is_some(),
                        row.get::<Burning>(field).is_some(),
                    ];
                    let Some(number) = has.iter().position(|&has| has) else { continue };
                    let source = row.source(field).unwrap();
                    *[&mut fuel, &mut armor, &mut burning][number].get_mut(&source).unwrap() += 1;
                    expected[number].insert(source);
                }
            })
            .unwrap();
            world.clear_trackers();
            if in_system {
                let mut system = (ExprParam(PairExpr::parse(text).unwrap()),)
                    .build_state(&mut world)
                    .build_system(|mut rows: ExprQuery<AnyExpression>| {
                        rows.for_each_mut(|(), row| raise(row)).unwrap();
                    });
                system.initialize(&mut world);
                system.run((), &mut world).unwrap();
            } else {
                expr.for_each_mut(&mut world, raise).unwrap();
            }
            assert_eq!(numbers::<Fuel>(&mut world, |fuel| fuel.0.into()), fuel, "{text}");
            assert_eq!(numbers::<Armor>(&mut world, |armor| armor.0), armor, "{text}");
            assert_eq!(numbers::<Burning>(&mut world, |burning| burning.0.into()), burning, "{text}");
            let found =
                [changed::<Fuel>(&mut world), changed::<Armor>(&mut world), changed::<Burning>(&mut world)];
            assert_eq!(found, expected, "{text}: these count as changed, and no others");
            assert!(fields.is_empty() || found.iter().any(|some| some.len() > 1), "{text}");
        }
    }
}

/// Whether an entity is in a row.
type Fits = fn(&World, Entity, Entity) -> bool;

/// Scans with a test of pairs or tags, and without, of entities that differ in components in and out of tables. `first` is an
/// entity.
const SCANS: [(&str, Fits); 9] = [
    ("Fuel", |world, ship, _| world.get::<Fuel>(ship).is_some()),
    ("Fuel, !Burning", |world, ship, _| {
        world.get::<Fuel>(ship).is_some() && world.get::<Burning>(ship).is_none()
    }),
    ("Fuel, Burning", |world, ship, _| world.get::<Burning>(ship).is_some()),
    ("Fuel, !(MountedOn, _)", |world, ship, _| {
        world.get::<Fuel>(ship).is_some() && !world.pairs::<MountedOn>().has_any(ship)
    }),
    ("Fuel, !(Likes, _), !Armor", |world, ship, _| {
        world.get::<Fuel>(ship).is_some()
            && world.get::<Armor>(ship).is_none()
            && !world.pairs::<Likes>().has_any(ship)
    }),
    ("Fuel, !(MountedOn, first), !Burning", |world, ship, first| {
        world.get::<Fuel>(ship).is_some()
            && world.get::<Burning>(ship).is_none()
            && !world.pairs::<MountedOn>().has(ship, first)
    }),
    ("Fuel, !(Likes, first), !(MountedOn, first)", |world, ship, first| {
        world.get::<Fuel>(ship).is_some()
            && !world.pairs::<Likes>().has(ship, first)
            && !world.pairs::<MountedOn>().has(ship, first)
    }),
    ("Fuel, !first", |world, ship, first| world.get::<Fuel>(ship).is_some() && !world.has_tag(ship, first)),
    ("Burning, !(Likes, _)", |world, ship, _| {
        world.get::<Burning>(ship).is_some() && !world.pairs::<Likes>().has_any(ship)
    }),
];

#[test]
fn scans_find_each_entity_that_fits_once_in_whatever_table_it_lies() {
    for seed in 0..size(6, 2) as u64 {
        let mut world = fleet(seed);
        let mut random = Random::new(seed, 1);
        let ships: Vec<_> = world.query_filtered::<Entity, With<Ship>>().iter(&world).collect();
        let first = ships[random.below(4)];
        world.entity_mut(first).insert(Name::new("first"));
        for &ship in &ships {
            if random.chance(30) {
                world.insert_tag(ship, first).unwrap();
            }
        }
        let mut exprs = SCANS.map(|(text, _)| compile(&mut world, text));
        for round in 0..4 {
            for (expr, (text, fits)) in exprs.iter_mut().zip(SCANS) {
                expr.set_batch_size([1, 7, 1024][random.below(3)]);
                let mut found = Vec::new();
                expr.for_each(&world, |row| found.extend(row.this())).unwrap();
                found.sort_unstable();
                let all = all_entities(&world);
                let expected: Vec<_> = all.into_iter().filter(|&ship| fits(&world, ship, first)).collect();
                assert_eq!(found, expected, "{text}, round {round}");
                assert_eq!(expr.count(&world).unwrap(), expected.len());
                assert_eq!(expr.any(&world).unwrap(), !expected.is_empty());
            }
            // Archetypes that are new in a table of which all fitted before, and others.
            for _ in 0..6 {
                let ship = random.pick(&ships);
                let Ok(mut ship) = world.get_entity_mut(ship) else { continue };
                match random.below(4) {
                    0 => ship.insert(Burning(0)),
                    1 => ship.remove::<Burning>(),
                    2 => ship.insert(Armor(0)),
                    _ => ship.remove::<Armor>(),
                };
            }
            let (source, target) = (random.pick(&ships), random.pick(&ships));
            world.remove_pairs::<Likes>(source);
            world.insert_pair(source, Likes, target).unwrap();
        }
    }
}

#[test]
fn data_is_that_of_the_entity_of_the_row_wherever_it_lies() {
    let texts = [
        "Ship",
        "Ship, !(MountedOn, _)",
        "Ship, (MountedOn, $x)",
        "Ship, (Likes, $x)",
        "Ship, ?Burning, (Likes, $x), Armor($x)",
        "Ship($x), (Likes, $x)",
    ];
    for (seed, text) in (0..size(6, 1) as u64).flat_map(|seed| texts.map(|text| (seed, text))) {
        let mut world = fleet(seed);
        let mut expr = compile(&mut world, text);
        let mut expected = numbers::<Fuel>(&mut world, |fuel| fuel.0.into());
        expr.for_each(&world, |row| *expected.get_mut(&row.this().unwrap()).unwrap() += 1).unwrap();
        let mut system = (ExprParam(PairExpr::parse(text).unwrap()),).build_state(&mut world).build_system(
            |mut rows: ExprQuery<AnyExpression, (Entity, &mut Fuel)>| {
                rows.for_each_mut(|(entity, mut fuel), row| {
                    assert_eq!(row.this(), Some(entity));
                    fuel.0 += 1;
                })
                .unwrap();
            },
        );
        system.initialize(&mut world);
        system.run((), &mut world).unwrap();
        assert_eq!(numbers::<Fuel>(&mut world, |fuel| fuel.0.into()), expected, "{text}");
    }
}

/// Keeps count of when the table was written last.
#[derive(Component)]
#[component(summary_tick)]
struct Counted(u32);

#[test]
fn the_summary_of_a_table_shows_that_a_field_was_written() {
    let mut world = World::new();
    world.register_relation::<Likes>().unwrap();
    let counted = world.entity_of::<Counted>().to_bits();
    world.spawn_batch([1, 2, 3].map(Counted));
    let mut expr = compile(&mut world, &format!("#{counted}"));
    let mut read = world.query::<Ref<Counted>>();
    let mut is_changed = |world: &World| {
        let (values, ticks) = ContiguousRef::split(read.contiguous_iter(world).unwrap().next().unwrap());
        (values.iter().map(|value| value.0).sum::<u32>(), ticks.summary_tick_is_changed().unwrap())
    };
    world.clear_trackers();
    assert_eq!(is_changed(&world), (6, false));
    expr.for_each_table_mut(&mut world, |mut table| table.slice_mut::<Counted>(0).unwrap()[0].0 += 1)
        .unwrap();
    assert_eq!(is_changed(&world), (7, true));
    world.clear_trackers();
    assert_eq!(is_changed(&world), (7, false));
    expr.for_each_mut(&mut world, |mut row| row.get_mut::<Counted>(0).unwrap().0 += 1).unwrap();
    assert_eq!(is_changed(&world), (10, true));
}

#[test]
fn what_may_only_be_read_gives_no_slice_to_write() {
    let mut world = fleet(3);
    let mut expr = compile(
        &mut world,
        "[in] Fuel, [none] Fuel, [out] Fuel, Armor(up MountedOn), [inout] Armor(up MountedOn)",
    );
    let mut tables = 0;
    expr.for_each_table_mut(&mut world, |mut table| {
        tables += 1;
        for field in [0, 1] {
            assert!(matches!(table.slice_mut::<Fuel>(field), Err(WriteFieldError::ReadOnly { .. })));
        }
        assert!(table.slice_mut::<Fuel>(2).is_ok());
        assert!(matches!(table.slice_mut::<Armor>(3), Err(WriteFieldError::ReadOnly { .. })));
        assert!(matches!(table.slice_mut::<Armor>(4), Err(WriteFieldError::Apart { .. })));
        let last = table.as_table().len() - 1;
        assert!(table.row_mut(last).unwrap().get_mut::<Armor>(3).is_err());
        table.row_mut(last).unwrap().get_mut::<Armor>(4).unwrap().0 = 1;
        assert!(table.row_mut(last + 1).is_none());
        assert_eq!(table.as_table().shared::<Armor>(4), Some(&Armor(1)));
    })
    .unwrap();
    assert!(tables > 0);
}

#[test]
fn parallel_rows_are_those_of_one_thread() {
    #[cfg(feature = "multi_threaded")]
    bevy_tasks::ComputeTaskPool::get_or_init(|| bevy_tasks::TaskPoolBuilder::new().num_threads(2).build());
    for seed in 0..4 {
        let mut world = fleet(seed);
        for text in EXPRS {
            let mut expr = compile(&mut world, text);
            let key = |row: Row<'_>| (row.this(), row.var("x"), row.get::<Fuel>(0).map(|fuel| fuel.0));
            let mut expected = Vec::new();
            expr.for_each(&world, |row| expected.push(key(row))).unwrap();
            expected.sort();
            let found = Mutex::new(Vec::new());
            expr.par_for_each(&world, |row| found.lock().unwrap().push(key(row))).unwrap();
            let mut found = found.into_inner().unwrap();
            found.sort();
            assert_eq!(found, expected, "{text}");
        }
    }
    // Enough rows for several tasks.
    let mut world = World::new();
    world.register_component::<Fuel>();
    let fuel = world.entity_of::<Fuel>();
    world.entity_mut(fuel).insert(Name::new("Fuel"));
    world.spawn_batch((0..5000).map(Fuel));
    let mut expr = compile(&mut world, "Fuel");
    let sum = std::sync::atomic::AtomicU64::new(0);
    expr.par_for_each(&world, |row| {
        let fuel = row.get::<Fuel>(0).map_or(0, |fuel| u64::from(fuel.0));
        sum.fetch_add(fuel, std::sync::atomic::Ordering::Relaxed);
    })
    .unwrap();
    assert_eq!(sum.into_inner(), (0..5000).sum::<u64>());
}
