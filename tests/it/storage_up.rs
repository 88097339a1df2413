//! What lies above entities whose tables fix their target: relations with `storage = "Fragmenting"`, [`IsA`] among them.
//!
//! What a program can do: give one base, several or none, and take them away; change who is a holder, at any height and in any storage
//! of components; disable and despawn either end; read by each term, for all entities or one, and by expressions, also in the middle of
//! an operation; come to more archetypes than there may be. One world with the storage is compared with one without.

use crate::common::{fewer, take_reported_errors, world_that_records_errors};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, query::ReadOnlyQueryData};
use bevy_relations::{
    expr::PairExpr,
    prefab::{Prefab, SlotOf, WorldPrefabExt},
    prelude::*,
    query::{Cached, Inherited, SelfUp, Up},
    relation::{OnInstantiate, RelationStorage},
};
use std::collections::BTreeMap;

#[derive(Component, Clone, Copy, PartialEq, Eq, Debug)]
struct Hull(u32);

#[derive(Component, Clone, Copy, PartialEq, Eq, Debug)]
#[component(storage = "SparseSet")]
struct Crew(u32);

#[derive(Component, Clone)]
struct Ship;

/// With one target at most.
#[derive(Relation)]
#[relation(exclusive, traversable)]
struct Under;

/// A world, and its entities by number.
struct Side {
    world: World,
    entities: Vec<Entity>,
    queries: Queries,
}

type Of<C> = (Entity, Option<C>);

/// Queries that live on, as those of systems do.
struct Queries {
    inherited: QueryState<Of<Inherited<&'static Hull>>, With<Ship>>,
    up: QueryState<Of<Up<IsA, &'static Hull>>>,
    near: QueryState<Of<Up<IsA, &'static Hull, 1, 2>>>,
    sparse: QueryState<Of<SelfUp<IsA, &'static Crew>>>,
    cached: QueryState<Of<Cached<SelfUp<IsA, &'static Hull>>>>,
    under: QueryState<Of<SelfUp<Under, &'static Hull>>, With<Ship>>,
    under_sparse: QueryState<Of<Up<Under, &'static Crew>>>,
}

const EXPRESSIONS: [&str; 6] = [
    "Ship, Hull",
    "Ship, Hull(self|up IsA)",
    "Hull(up IsA)",
    "Ship, Crew(self|up IsA), Hull(up Under)",
    "Crew(self|up Under), !Ship",
    "Ship, ?Hull(up IsA)",
];

impl Side {
    fn new(storage: RelationStorage) -> Self {
        let mut world = world_that_records_errors();
        for relation in [world.entity_of::<IsA>(), world.entity_of::<Under>()] {
            world.set_traits(relation, RelationTraits::new().storage(storage)).unwrap();
        }
        for shared in [world.entity_of::<Hull>(), world.entity_of::<Crew>()] {
            world.set_traits(shared, RelationTraits::new().on_instantiate(OnInstantiate::Inherit)).unwrap();
        }
        world.register_component_name::<Hull>("Hull").register_component_name::<Crew>("Crew");
        world.register_component_name::<Ship>("Ship");
        let queries = Queries {
            inherited: world.query_filtered(),
            up: world.query(),
            near: world.query(),
            sparse: world.query(),
            cached: world.query(),
            under: world.query_filtered(),
            under_sparse: world.query(),
        };
        let entities = (0..40).map(|number| spawn(&mut world, number)).collect();
        Self { world, entities, queries }
    }

    /// Everything that is read, by the numbers of entities.
    fn read(&mut self) -> Vec<BTreeMap<usize, u32>> {
        let Self { world, entities, queries } = self;
        let numbers: BTreeMap<Entity, usize> =
            entities.iter().enumerate().map(|(number, &entity)| (entity, number)).collect();
        let mut all = vec![
            table(world, &mut queries.inherited, &numbers, |hull| hull.0),
            table(world, &mut queries.up, &numbers, |hull| hull.0),
            table(world, &mut queries.near, &numbers, |hull| hull.0),
            table(world, &mut queries.sparse, &numbers, |crew| crew.0),
            table(world, &mut queries.cached, &numbers, |hull| hull.0),
            table(world, &mut queries.under, &numbers, |hull| hull.0),
            table(world, &mut queries.under_sparse, &numbers, |crew| crew.0),
        ];
        for text in EXPRESSIONS {
            let mut expr = PairExpr::parse(text).unwrap().compile(world).unwrap();
            let mut rows = BTreeMap::new();
            expr.for_each(world, |row| {
                let values = (0..row.field_count()).map(|field| {
                    let [hull, crew] =
                        [row.get::<Hull>(field).map(|it| it.0), row.get::<Crew>(field).map(|it| it.0)];
                    hull.or(crew).unwrap_or(0) * (1 + field as u32)
                });
                let old = rows.insert(numbers[&row.this().unwrap()], values.sum());
                assert_eq!(old, None, "{text} finds a row twice");
            })
            .unwrap();
            all.push(rows);
        }
        all
    }
}

/// What a query finds, which is the same when it is asked for each entity.
fn table<'a, D, F>(
    world: &'a World,
    query: &'a mut QueryState<Of<D>, F>,
    numbers: &BTreeMap<Entity, usize>,
    value: impl for<'w, 's> Fn(D::Item<'w, 's>) -> u32,
) -> BTreeMap<usize, u32>
where
    D: ReadOnlyQueryData + 'static,
    F: bevy_ecs::query::QueryFilter,
{
    query.update_archetypes(world);
    let mut found = BTreeMap::new();
    for (entity, item) in query.iter_manual(world) {
        if let (Some(&number), Some(item)) = (numbers.get(&entity), item) {
            found.insert(number, value(item));
        }
    }
    let each = numbers.iter().filter_map(|(&entity, &number)| {
        let (_, item) = query.get_manual(world, entity).ok()?;
        Some((number, value(item?)))
    });
    assert_eq!(each.collect::<BTreeMap<_, _>>(), found);
    found
}

fn spawn(world: &mut World, number: u32) -> Entity {
    let entity = world.spawn_empty().id();
    if number.is_multiple_of(4) {
        world.entity_mut(entity).insert(Hull(number + 1));
    }
    if number.is_multiple_of(5) {
        world.entity_mut(entity).insert(Crew(number + 1));
    }
    if number >= 10 {
        world.entity_mut(entity).insert(Ship);
    }
    entity
}

/// Changes a world; `at` and `to` are numbers of entities. What a rule refuses changes nothing.
fn change(Side { world, entities, .. }: &mut Side, kind: usize, at: usize, to: usize) {
    let (entity, target) = (entities[at], entities[to]);
    match kind {
        0..5 => {
            world.insert_pair(entity, IsA, target).ok();
        }
        5..8 => {
            world.insert_pair(entity, Under, target).ok();
        }
        8 => {
            world.remove_pair::<IsA>(entity, target);
        }
        9 => {
            world.remove_pairs::<IsA>(entity);
        }
        10 => {
            world.remove_pairs::<Under>(entity);
        }
        11 => {
            world.despawn(target);
            entities[to] = spawn(world, to as u32);
        }
        12 => {
            let mut entity = world.entity_mut(target);
            match entity.contains::<Hull>() {
                true => entity.remove::<Hull>(),
                false => entity.insert(Hull(at as u32 + 100)),
            };
        }
        13 => {
            let mut entity = world.entity_mut(target);
            match entity.contains::<Crew>() {
                true => entity.remove::<Crew>(),
                false => entity.insert(Crew(at as u32 + 100)),
            };
        }
        _ => {
            let mut entity = world.entity_mut(target);
            match entity.contains::<Disabled>() {
                true => entity.remove::<Disabled>(),
                false => entity.insert(Disabled),
            };
        }
    }
}

/// What an observer in the middle of operations has found above entities.
#[derive(Resource, Default)]
struct Told(Vec<(Entity, u32)>);

fn tell(world: &mut World) {
    world.init_resource::<Told>();
    world.add_observer(
        |_: On<PairInserted<IsA>>,
         hulls: Query<(Entity, Up<IsA, &Hull>), With<Ship>>,
         mut told: ResMut<Told>| {
            told.0.extend(hulls.iter().map(|(entity, hull)| (entity, hull.0)));
        },
    );
    world.add_observer(
        |_: On<PairRemoved<IsA>>, hulls: Query<(Entity, Inherited<&Hull>)>, mut told: ResMut<Told>| {
            told.0.extend(hulls.iter().map(|(entity, hull)| (entity, hull.0)));
        },
    );
}

#[test]
fn whatever_changes_the_same_is_found_as_without_the_storage() {
    let mut sides =
        [RelationStorage::Store, RelationStorage::Fragmenting, RelationStorage::Table].map(Side::new);
    let mut state = 5_u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    for round in 0..fewer(240) {
        if round == 120 {
            sides.iter_mut().for_each(|side| tell(&mut side.world));
        }
        let (kind, at, to) = (random(15), random(40), random(40));
        let found = sides.each_mut().map(|side| {
            change(side, kind, at, to);
            side.world.check_pairs().unwrap();
            let number = |entity| side.entities.iter().position(|&own| own == entity);
            let told = side.world.get_resource_mut::<Told>().map(|mut told| core::mem::take(&mut told.0));
            let mut told: Vec<_> =
                told.into_iter().flatten().map(|(entity, hull)| (number(entity), hull)).collect();
            told.sort_unstable();
            (side.read(), told)
        });
        assert_eq!(found[0], found[1], "round {round}: {kind} of {at} and {to}");
        assert_eq!(found[0], found[2], "round {round}: {kind} of {at} and {to}, in tables");
    }
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn a_relation_that_has_come_to_too_many_archetypes_is_read_as_ever() {
    let mut side = Side::new(RelationStorage::Fragmenting);
    let bases: Vec<_> = (0..1_100).map(|number| side.world.spawn(Hull(number)).id()).collect();
    let ships: Vec<_> = bases.iter().map(|&base| side.world.spawn((Ship, Pair(IsA, base))).id()).collect();
    let [error] = take_reported_errors().try_into().unwrap();
    assert!(error.contains("archetypes"), "{error}");
    let query = &mut side.queries.inherited;
    let hulls: Vec<u32> =
        ships.iter().filter_map(|&ship| Some(query.get(&side.world, ship).ok()?.1?.0)).collect();
    assert!(hulls.into_iter().eq(0..1_100));
    side.world.check_pairs().unwrap();
}

#[test]
fn instances_of_a_prefab_lie_in_tables_of_their_own() {
    let mut world = Side::new(RelationStorage::Fragmenting).world;
    let [small, large] = [1, 2].map(|hull| {
        let prefab = world.spawn((Prefab, Hull(hull), Ship)).id();
        world.spawn((Name::new("turret"), ChildOf(prefab), Pair(SlotOf, prefab)));
        prefab
    });
    let mut tables = [small, large].map(|prefab| {
        let made: Vec<Entity> = (0..3).map(|_| world.instantiate(prefab).unwrap()).collect();
        let tables: Vec<_> = made.iter().map(|&made| world.entity(made).location().table_id).collect();
        assert!(
            made.iter().all(|&made| world.get::<Children>(made).is_some_and(|children| children.len() == 1))
        );
        assert!(tables.iter().all(|table| *table == tables[0]));
        tables[0]
    });
    tables.sort_unstable_by_key(|table| table.as_usize());
    assert_ne!(tables[0], tables[1]);
    let mut hulls = world.query_filtered::<Inherited<&Hull>, (With<Ship>, Related<IsA>)>();
    let mut found: Vec<u32> = hulls.iter(&world).map(|hull| hull.0).collect();
    found.sort_unstable();
    assert_eq!(found, [1, 1, 1, 2, 2, 2]);
    world.check_pairs().unwrap();
}
