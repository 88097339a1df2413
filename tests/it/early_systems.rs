//! Systems that are initialised before the types of their relations and targets are known, before relationships are adopted, and before
//! there are any pairs; then fields become known, traits are set, entities of types go and come again. They see the rows that a system
//! sees that is initialised afterwards, or say which values they have not declared.

use crate::common::{CrewOf, Random, fewer, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{
    prelude::*,
    query::FilteredAccessSet,
    reflect::{AppTypeRegistry, ReflectComponent},
    system::{BoxedSystem, SystemAccess},
};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use bevy_relations::{
    expr::Row,
    live::LiveQuery,
    prelude::*,
    query::{Related, Targets},
    relation::CleanupPolicy,
};

#[derive(Relation, Reflect, Clone)]
struct Begins;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Owes(u32);

#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default)]
struct Place(u32);

/// Without fields.
#[derive(Component, Reflect)]
#[reflect(Component)]
struct Plain;

#[derive(Expression)]
#[expr("(Begins, Place)")]
struct BeginsPlace;

#[derive(Expression)]
#[expr("(Owes, $to)")]
struct Debts;

#[derive(Expression)]
#[expr("?(Owes, $to), {(Begins, Place) || (Owes, *)}, !{(Plain, $x), $x == $this}")]
struct Nested;

/// Whoever owes something, without how much.
#[derive(Expression)]
#[expr("[none] (Owes, $to)")]
struct Debtors;

#[derive(Expression)]
#[expr("(Plain, $to)")]
struct OfPlain;

#[derive(Expression)]
#[expr("(Begins, Plain)")]
struct BeginsPlain;

#[derive(Expression)]
#[expr("($r, $to)")]
struct Anything;

type Rows = Vec<(Option<Entity>, Option<u32>)>;

fn value(row: Row<'_>) -> (Option<Entity>, Option<u32>) {
    let owes = row.get_pair::<Owes>(0).map(|owes| owes.0);
    let place = row.get_pair::<Place>(0).map(|place| place.0);
    let number = row.get_pair::<u64>(0).map(|&number| number as u32);
    (row.this(), owes.or(place).or(number))
}

fn read<E: Expression>(mut query: ExprQuery<E>) -> Rows {
    let mut rows = Rows::new();
    query.for_each_row(|row| rows.push(value(row))).unwrap();
    rows.sort();
    rows
}

fn read_live<E: Expression>(query: LiveQuery<E>) -> Rows {
    let mut rows: Rows = query.rows().map(value).collect();
    rows.sort();
    rows
}

fn world() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    let types = world.resource::<AppTypeRegistry>().0.clone();
    let mut types = types.write();
    types.register::<Begins>();
    types.register::<Owes>();
    types.register::<Place>();
    types.register::<Plain>();
    drop(types);
    world
}

/// A system with what it has declared.
struct Declared {
    system: BoxedSystem<(), Rows>,
    access: FilteredAccessSet,
}

impl Declared {
    fn new<M>(world: &mut World, system: impl IntoSystem<(), Rows, M>) -> Self {
        let mut system: BoxedSystem<(), Rows> = Box::new(IntoSystem::into_system(system));
        match system.initialize(world) {
            SystemAccess::Shared(access) => Self { system, access },
            other => panic!("{other:?}"),
        }
    }

    fn run(&mut self, world: &mut World) -> Result<Rows, String> {
        self.system.run((), world).map_err(|error| error.to_string())
    }
}

/// What changes after the systems were initialised.
const CHANGES: [fn(&mut World, [Entity; 3]); 14] = [
    |world, _| _ = world.register_relation::<Owes>(),
    |world, _| _ = world.register_relation::<Begins>(),
    |world, _| _ = world.entity_of::<Place>(),
    |world, _| _ = world.entity_of::<Plain>(),
    |world, [a, b, _]| _ = world.insert_pair(a, Owes(1), b),
    |world, [_, b, c]| _ = world.insert_pair(b, Owes(2), c),
    |world, [a, ..]| _ = world.insert_pair_to::<Begins, Place>(a, Place(3)),
    |world, [_, b, _]| {
        let [begins, place] = [world.entity_of::<Begins>(), world.entity_of::<Place>()];
        _ = world.insert_pair_by_id(b, (begins, place));
    },
    |world, _| {
        let plain = world.entity_of::<Plain>();
        let traits =
            RelationTraits::new().data_or_default::<u64>().on_relation_despawn(CleanupPolicy::Remove);
        _ = world.set_traits(plain, traits);
    },
    |world, [a, b, _]| {
        let plain = world.entity_of::<Plain>();
        _ = world.insert_pair_value_by_id(a, (plain, b), 7u64);
        _ = world.insert_pair_by_id(b, (plain, b));
    },
    |world, [a, _, c]| {
        let [begins, plain] = [world.entity_of::<Begins>(), world.entity_of::<Plain>()];
        _ = world.insert_pair_by_id(a, (begins, plain));
        _ = world.insert_pair_by_id(c, (begins, plain));
    },
    |world, _| _ = world.get_entity_of::<Plain>().map(|plain| world.despawn(plain)),
    |world, _| _ = world.get_entity_of::<Place>().map(|place| world.despawn(place)),
    |world, _| _ = world.get_entity_of::<Owes>().map(|owes| world.despawn(owes)),
];

fn early<E: Expression>(name: &str, may_refuse: bool) {
    let (mut compared, mut refused) = ([0; 2], 0);
    for seed in 1..=fewer(40) as u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = world();
        let entities = spawn(&mut world);
        for _ in 0..random.below(3) {
            CHANGES[random.below(CHANGES.len())](&mut world, entities);
        }
        let mut systems = [Declared::new(&mut world, read::<E>), Declared::new(&mut world, read_live::<E>)];
        let mut told = Vec::new();
        for _ in 0..14 {
            let change = random.below(CHANGES.len());
            told.push(change);
            CHANGES[change](&mut world, entities);
            world.check_pairs().unwrap_or_else(|error| panic!("{name} {seed} {told:?}: {error}"));
            if random.below(3) == 0 {
                continue;
            }
            let fresh = Declared::new(&mut world, read::<E>).run(&mut world);
            let mut writing = IntoSystem::into_system(|_: PairsMut<Owes>| ());
            let SystemAccess::Shared(writing) = writing.initialize(&mut world) else { panic!() };
            for (nth, system) in systems.iter_mut().enumerate() {
                let place = format!("{name} {nth}, {seed} {told:?}");
                match (system.run(&mut world), &fresh) {
                    (Ok(rows), Ok(fresh)) => {
                        assert_eq!(&rows, fresh, "{place}");
                        let owes = rows.iter().any(|row| matches!(row.1, Some(1 | 2)));
                        assert!(!(owes && system.access.is_compatible(&writing)), "{place}: undeclared");
                        compared[nth] += 1;
                    }
                    // It has to be initialised again to read what it did not declare.
                    (Err(error), _) => {
                        let has_values = error.contains("have values, which the world did not know of");
                        let is_known = has_values
                            || error.contains("a meaning that it did not have")
                            || error.contains("no component, relation or entity has this name");
                        assert!(is_known, "{place}: {error}");
                        refused += usize::from(has_values);
                        *system = match nth {
                            0 => Declared::new(&mut world, read::<E>),
                            _ => Declared::new(&mut world, read_live::<E>),
                        };
                    }
                    (Ok(rows), Err(error)) => panic!("{place}: {rows:?}, but {error}"),
                }
            }
        }
        take_reported_errors();
    }
    assert!(compared.iter().all(|&count| count > 10) || fewer(40) < 40, "{name}: {compared:?}");
    assert_eq!(refused > 0, may_refuse && (refused > 0 || fewer(40) == 40), "{name}: {refused}");
}

#[test]
fn a_system_that_was_initialised_early_sees_the_rows_that_a_new_one_sees() {
    early::<BeginsPlace>("(Begins, Place)", true);
    early::<Debts>("(Owes, $to)", true);
    early::<OfPlain>("(Plain, $to)", true);
    early::<BeginsPlain>("(Begins, Plain)", false);
    early::<Anything>("($r, $to)", false);
}

#[test]
fn values_that_were_not_declared_are_an_error_that_names_the_term() {
    let mut world = world();
    let [a, b] = spawn(&mut world);
    let mut early = Declared::new(&mut world, read::<Debts>);
    let mut live = Declared::new(&mut world, read_live::<Debts>);
    let mut without = Declared::new(&mut world, read::<Debtors>);
    for system in [&mut early, &mut live, &mut without] {
        assert_eq!(system.run(&mut world).unwrap(), []);
    }
    world.insert_pair(a, Owes(3), b).unwrap();
    for system in [&mut early, &mut live] {
        let error = system.run(&mut world).unwrap_err();
        assert!(error.contains("pairs of `(Owes, $to)` have values"), "{error}");
        assert!(error.contains("call `register_relation`"), "{error}");
    }
    assert_eq!(without.run(&mut world).unwrap(), [(Some(a), None)]);
    assert_eq!(Declared::new(&mut world, read::<Debts>).run(&mut world).unwrap(), [(Some(a), Some(3))]);
}

#[test]
fn terms_that_are_optional_alternatives_or_about_any_target_have_declared_their_values_too() {
    let mut world = world();
    let [a, b] = spawn(&mut world);
    let mut systems =
        [Declared::new(&mut world, read::<Nested>), Declared::new(&mut world, read_live::<Nested>)];
    for system in &mut systems {
        assert_eq!(system.run(&mut world).unwrap(), []);
    }
    // Terms that must not hold give nothing.
    let plain = world.entity_of::<Plain>();
    world.set_traits(plain, RelationTraits::new().data_or_default::<u64>()).unwrap();
    world.insert_pair_value_by_id(b, (plain, b), 3u64).unwrap();
    for system in &mut systems {
        assert_eq!(system.run(&mut world).unwrap(), []);
    }
    world.insert_pair(a, Owes(3), b).unwrap();
    for system in &mut systems {
        let error = system.run(&mut world).unwrap_err();
        assert!(error.contains("have values, which the world did not know of"), "{error}");
    }
    let rows = Declared::new(&mut world, read::<Nested>).run(&mut world).unwrap();
    assert_eq!(rows, [(Some(a), Some(3))]);
}

#[test]
fn values_that_are_known_before_the_first_pair_are_declared() {
    let mut world = world();
    let [a, b] = spawn(&mut world);
    world.register_relation::<Owes>().unwrap();
    world.register_relation::<Begins>().unwrap();
    world.entity_of::<Place>();
    let plain = world.entity_of::<Plain>();
    world.set_traits(plain, RelationTraits::new().data_or_default::<u64>()).unwrap();
    let mut systems = [
        Declared::new(&mut world, read::<Debts>),
        Declared::new(&mut world, read_live::<Debts>),
        Declared::new(&mut world, read::<BeginsPlace>),
        Declared::new(&mut world, read_live::<BeginsPlace>),
        Declared::new(&mut world, read::<OfPlain>),
        Declared::new(&mut world, read_live::<OfPlain>),
    ];
    for system in &mut systems {
        assert_eq!(system.run(&mut world).unwrap(), []);
    }
    world.insert_pair(a, Owes(3), b).unwrap();
    world.insert_pair_to::<Begins, Place>(a, Place(3)).unwrap();
    world.insert_pair_value_by_id(a, (plain, b), 3u64).unwrap();
    for system in &mut systems {
        assert_eq!(system.run(&mut world).unwrap(), [(Some(a), Some(3))]);
    }
}

#[derive(Expression)]
#[expr("(Feeds, $to)")]
struct Feeding;

#[test]
fn a_name_that_another_relation_has_by_now_is_an_error_if_that_has_values() {
    for has_values in [false, true] {
        let mut world = world();
        let [a, b] = spawn(&mut world);
        let relation = world.spawn_relation("Feeds", RelationTraits::new()).unwrap();
        world.insert_pair_by_id(a, (relation, b)).unwrap();
        let mut systems =
            [Declared::new(&mut world, read::<Feeding>), Declared::new(&mut world, read_live::<Feeding>)];
        let mut check = |world: &mut World, expected: Option<Rows>| {
            for system in &mut systems {
                match (system.run(world), &expected) {
                    (Ok(rows), Some(expected)) => assert_eq!(&rows, expected),
                    (Err(error), None) => {
                        assert!(error.contains("a meaning that it did not have"), "{error}");
                    }
                    (result, _) => panic!("{has_values}: {result:?}"),
                }
            }
        };
        check(&mut world, Some(vec![(Some(a), None)]));
        world.despawn(relation);
        check(&mut world, Some(vec![]));
        let traits = RelationTraits::new();
        let traits = if has_values { traits.data_or_default::<u64>() } else { traits };
        let relation = world.spawn_relation("Feeds", traits).unwrap();
        world.insert_pair_by_id(b, (relation, a)).unwrap();
        check(&mut world, (!has_values).then(|| vec![(Some(b), None)]));
    }
}

#[test]
fn systems_that_name_a_relationship_see_it_whenever_it_is_adopted() {
    fn of_query(crew: Query<(Entity, Targets<CrewOf>), Related<CrewOf>>) -> Rows {
        let mut rows = Rows::new();
        for (entity, targets) in &crew {
            rows.extend(targets.with_values().map(|(_, value)| (Some(entity), Some(value.wage))));
        }
        rows.sort();
        rows
    }
    fn of_pairs(crew: PairQuery<CrewOf, Entity, ()>) -> Rows {
        let rows = crew.iter().map(|(entity, edge, ())| (Some(entity), edge.value().map(|it| it.wage)));
        let mut rows: Rows = rows.collect();
        rows.sort();
        rows
    }
    for when in 0..4 {
        let mut world = world_that_records_errors();
        let [ship, other, a, b] = spawn(&mut world);
        if when == 1 {
            world.adopt_relationship::<CrewOf>();
        }
        world.entity_mut(a).insert(CrewOf { ship, wage: 1 });
        let mut systems = [Declared::new(&mut world, of_query), Declared::new(&mut world, of_pairs)];
        if when == 2 {
            world.adopt_relationship::<CrewOf>();
        }
        world.entity_mut(b).insert(CrewOf { ship, wage: 2 });
        for system in &mut systems {
            let mut expected = [(Some(a), Some(1)), (Some(b), Some(2))];
            expected.sort();
            assert_eq!(system.run(&mut world).unwrap(), expected, "{when}");
        }
        if when == 3 {
            world.adopt_relationship::<CrewOf>();
        }
        world.insert_pair(a, CrewOf { ship: other, wage: 3 }, other).unwrap();
        world.despawn(ship);
        for system in &mut systems {
            assert_eq!(system.run(&mut world).unwrap(), [(Some(a), Some(3))], "{when}");
        }
        world.check_pairs().unwrap();
        assert_eq!(take_reported_errors(), [""; 0], "{when}");
    }
}
