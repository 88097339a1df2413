//! `LiveQuery`: what has changed since a system ran last.

use bevy_ecs::{
    prelude::*,
    system::{SystemId, SystemParamBuilder},
};
use bevy_relations::{
    expr::{AnyExpression, PairExpr, Row},
    live::{LiveParam, LiveQuery},
    prelude::*,
};

#[derive(Component)]
struct Ship;

#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Fuel(u32);

#[derive(Component)]
struct Armor(u32);

#[derive(Relation)]
struct Owes(u32);

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct PartOf;

#[derive(Expression)]
#[expr("Ship, ?Fuel, (Owes, $to), ?Armor(up PartOf)")]
struct Debtor;

#[derive(Expression)]
#[expr("Ship, [inout] Fuel")]
struct Filled;

/// Numbers of the fields of [`Debtor`].
const FUEL: usize = 1;
const OWES: usize = 2;
const ARMOR: usize = 3;

fn world() -> World {
    let mut world = World::new();
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Fuel>("Fuel");
    world.register_component_name::<Armor>("Armor");
    world.register_relation::<Owes>().unwrap();
    world.register_relation::<PartOf>().unwrap();
    world
}

/// Of each entity with rows: whether a row of it has changed, and which of its fields; and whether anything has.
type Changes = (bool, Vec<(Entity, Vec<usize>)>);

fn changes(query: LiveQuery<Debtor>) -> Changes {
    let mut all = Vec::new();
    for row in query.rows() {
        let fields: Vec<_> =
            (0..row.field_count()).filter(|&field| query.field_changed(row, field)).collect();
        assert_eq!(query.row_changed(row), !fields.is_empty());
        if !fields.is_empty() {
            all.push((row.this().unwrap(), fields));
        }
    }
    all.sort_unstable_by_key(|(entity, _)| entity.index_u32());
    all.dedup();
    (query.changed(), all)
}

struct Scene {
    world: World,
    system: SystemId<(), Changes>,
    ships: [Entity; 2],
    bank: Entity,
}

impl Scene {
    fn new() -> Self {
        let mut world = world();
        let bank = world.spawn_empty().id();
        let ships = [1, 2].map(|fuel| world.spawn((Ship, Fuel(fuel), Pair(Owes(fuel), bank))).id());
        let system = world.register_system(changes);
        let mut scene = Self { world, system, ships, bank };
        let all = vec![0, 1, 2, 3];
        assert_eq!(scene.changes(), (true, ships.map(|ship| (ship, all.clone())).to_vec()));
        scene.nothing();
        scene
    }

    fn changes(&mut self) -> Changes {
        self.world.run_system(self.system).unwrap()
    }

    fn nothing(&mut self) {
        assert_eq!(self.changes(), (false, vec![]));
    }

    fn only(&mut self, ship: usize, fields: &[usize]) {
        let expected = vec![(self.ships[ship], fields.to_vec())];
        assert_eq!(self.changes(), (true, expected));
        self.nothing();
    }
}

#[test]
fn a_value_that_is_written_or_replaced_changes_its_field_and_no_other() {
    let mut scene = Scene::new();
    let [a, b] = scene.ships;
    scene.world.get_mut::<Fuel>(a).unwrap().0 = 9;
    scene.only(0, &[FUEL]);
    scene.world.entity_mut(b).insert(Fuel(8));
    scene.only(1, &[FUEL]);
    // Of something else.
    scene.world.spawn((Ship, Fuel(1)));
    scene.world.entity_mut(a).insert(Name::new("a"));
    scene.nothing();
}

#[test]
fn the_value_of_a_pair_is_a_field() {
    let mut scene = Scene::new();
    let ([a, b], bank) = (scene.ships, scene.bank);
    scene.world.insert_pair(a, Owes(100), bank).unwrap();
    scene.only(0, &[OWES]);
    let write = move |mut owes: PairsMut<Owes>| owes.get_mut(b, bank).unwrap().0 += 1;
    bevy_ecs::system::RunSystemOnce::run_system_once(&mut scene.world, write).unwrap();
    scene.only(1, &[OWES]);
}

#[test]
fn a_field_that_is_found_elsewhere_or_no_more_has_changed() {
    let mut scene = Scene::new();
    let a = scene.ships[0];
    scene.world.entity_mut(a).remove::<Fuel>();
    scene.only(0, &[FUEL]);
    scene.world.entity_mut(a).insert(Fuel(3));
    scene.only(0, &[FUEL]);
    let [p, q] = [1, 2].map(|armor| scene.world.spawn(Armor(armor)).id());
    scene.world.insert_pair(a, PartOf, p).unwrap();
    scene.only(0, &[ARMOR]);
    scene.world.get_mut::<Armor>(p).unwrap().0 += 1;
    scene.only(0, &[ARMOR]);
    scene.world.insert_pair(a, PartOf, q).unwrap();
    scene.only(0, &[ARMOR]);
    scene.world.get_mut::<Armor>(p).unwrap().0 += 1;
    scene.nothing();
    scene.world.despawn(q);
    scene.only(0, &[ARMOR]);
}

#[test]
fn rows_that_come_and_go_are_changes() {
    let mut scene = Scene::new();
    let ([a, b], bank) = (scene.ships, scene.bank);
    scene.world.entity_mut(a).remove::<Ship>();
    assert_eq!(scene.changes(), (true, vec![]), "what left is not there to have changed");
    scene.nothing();
    scene.world.entity_mut(a).insert(Ship);
    scene.only(0, &[0, 1, 2, 3]);
    // It comes and goes.
    scene.world.entity_mut(b).remove::<Ship>();
    scene.world.entity_mut(b).insert(Ship);
    scene.nothing();
    let other = scene.world.spawn_empty().id();
    scene.world.insert_pair(b, Owes(1), other).unwrap();
    scene.only(1, &[0, 1, 2, 3]);
    scene.world.despawn(bank);
    assert_eq!(scene.changes(), (true, vec![]));
}

#[test]
fn what_a_system_writes_is_new_to_others_and_not_to_itself_and_reading_writes_nothing() {
    #[derive(Resource, Default)]
    struct Write(bool);
    fn fill(mut query: LiveQuery<Filled>, write: Res<Write>) -> bool {
        let changed = query.changed();
        query.for_each_mut(|(), mut row| {
            assert!(row.as_row().get::<Fuel>(1).is_some());
            if write.0 {
                row.get_mut::<Fuel>(1).unwrap().0 += 1;
            }
        });
        changed
    }
    let mut world = world();
    world.init_resource::<Write>();
    let ship = world.spawn((Ship, Fuel(1))).id();
    let fill = world.register_system(fill);
    let sees = world.register_system(|changed: Query<(), Changed<Fuel>>| !changed.is_empty());
    let both = move |world: &mut World| [fill, sees].map(|system| world.run_system(system).unwrap());
    assert_eq!(both(&mut world), [true; 2], "all is new");
    assert_eq!(both(&mut world), [false; 2], "it was read");
    world.resource_mut::<Write>().0 = true;
    assert_eq!(both(&mut world), [false, true]);
    assert_eq!(both(&mut world), [false, true], "what it has written itself is not new to it");
    assert_eq!(world.get::<Fuel>(ship), Some(&Fuel(3)));
}

/// Whether rows and their fields have changed, for an expression about something that dies.
fn changes_as_home_dies(text: &str) -> Vec<(bool, Vec<usize>)> {
    let mut world = world();
    let part_of = world.entity_of::<PartOf>();
    let home = world.spawn(Name::new("Home")).id();
    world.entity_mut(part_of).insert(Name::new("PartOf"));
    world.spawn((Ship, Fuel(1)));
    world.spawn((Ship, Fuel(2), Armor(1), Pair(PartOf, home)));
    let mut system = (LiveParam(PairExpr::parse(text).unwrap()),).build_state(&mut world).build_system(
        |query: LiveQuery<AnyExpression>| {
            let fields = |row: &Row<'_>| {
                (0..row.field_count()).filter(|&field| query.field_changed(*row, field)).collect::<Vec<_>>()
            };
            let mut rows: Vec<_> =
                query.rows().map(|row| (row.this(), (query.row_changed(row), fields(&row)))).collect();
            rows.sort_unstable_by_key(|(ship, _)| ship.map(Entity::index_u32));
            rows.into_iter().map(|(_, changes)| changes).collect::<Vec<_>>()
        },
    );
    system.initialize(&mut world);
    system.run((), &mut world).unwrap();
    let nothing = system.run((), &mut world).unwrap();
    assert!(nothing.iter().all(|(row, fields)| !row && fields.is_empty()), "{text}");
    world.despawn(home);
    system.run((), &mut world).unwrap()
}

#[test]
fn when_something_that_is_named_dies_only_what_depends_on_it_has_changed() {
    let no = || (false, vec![]);
    assert_eq!(changes_as_home_dies("Ship, !(PartOf, Home)"), [no(), (true, vec![0, 1])], "one has entered");
    assert_eq!(changes_as_home_dies("Ship, ?Disabled, ?(PartOf, Home), ?Armor"), [no(), (true, vec![2])]);
    assert_eq!(changes_as_home_dies("Ship, Armor || (PartOf, Home) || Fuel"), [no(), no()]);
    assert_eq!(changes_as_home_dies("Ship, (PartOf, Home) || Fuel, ?Armor"), [no(), (true, vec![1])]);
}
