//! Instances of several bases inherit what the nearest base has, with `IsA` in each storage.

use super::{
    Fuel, Gas, NetF, NetS, NetT, RingF, Shape, compile, named_world,
    search::{SELF_OR_ABOVE, nearest},
    toggle,
};
use crate::common::{Random, fewer};
use bevy_ecs::prelude::*;
use bevy_relations::{
    expr::{CompiledExpr, Row},
    prelude::*,
    query::{Inherited, Target, Targets},
    relation::{OnInstantiate, RelationStorage},
};

/// A world in which `IsA` has this storage and these types are inherited.
fn world(storage: RelationStorage, inherited: impl Fn(&mut World) -> Vec<Entity>) -> World {
    let mut world = named_world();
    let is_a = world.entity_of::<IsA>();
    world.set_traits(is_a, RelationTraits::new().storage(storage)).unwrap();
    for id in inherited(&mut world) {
        world.set_traits(id, RelationTraits::new().on_instantiate(OnInstantiate::Inherit)).unwrap();
    }
    world
}

const EXPRS: [&str; 5] =
    ["Fuel, Shape", "Fuel, Gas", "Fuel, Shape(up IsA)", "Fuel, ?Shape, ?Gas", "Fuel, !Shape"];

type InheritedValues = (Entity, Option<Inherited<&'static Shape>>, Option<Inherited<Ref<'static, Gas>>>);

/// Compares terms and expressions with a search by definition.
fn check(
    world: &World,
    inherited: &mut QueryState<InheritedValues, With<Fuel>>,
    exprs: &mut [CompiledExpr; 5],
    place: &str,
) {
    let pairs = world.pairs::<IsA>();
    let targets = |entity| pairs.targets(entity).collect::<Vec<_>>();
    let has_shape = |entity| world.get::<Shape>(entity).is_some();
    let has_gas = |entity| world.get::<Gas>(entity).is_some();
    let of_shape = |entity, depths| nearest(&targets, entity, depths, &has_shape);
    let of_gas = |entity| nearest(&targets, entity, SELF_OR_ABOVE, &has_gas);
    let mut expected = [0; 5];
    for (ship, shape, gas) in inherited.iter_manual(world) {
        let holders = [of_shape(ship, SELF_OR_ABOVE), of_gas(ship)];
        assert_eq!(shape, holders[0].and_then(|holder| world.get(holder)), "{place}");
        assert_eq!(gas.map(|gas| *gas), holders[1].and_then(|holder| world.get(holder)).copied(), "{place}");
        let is_above = of_shape(ship, (1, u32::MAX)).is_some();
        let found = [holders[0].is_some(), holders[1].is_some(), is_above, true, holders[0].is_none()];
        for (rows, found) in expected.iter_mut().zip(found) {
            *rows += usize::from(found);
        }
    }
    for ((number, expr), expected) in exprs.iter_mut().enumerate().zip(expected) {
        let check = |row: Row<'_>| {
            let this = row.this().unwrap();
            let sources =
                [1, 2].map(|field| if field < row.field_count() { row.source(field) } else { None });
            let expected = match number {
                0 => [of_shape(this, SELF_OR_ABOVE), None],
                1 => [of_gas(this), None],
                2 => [of_shape(this, (1, u32::MAX)), None],
                3 => [of_shape(this, SELF_OR_ABOVE), of_gas(this)],
                _ => return,
            };
            assert_eq!(sources, expected, "{place}: {}", EXPRS[number]);
        };
        let mut rows = 0;
        expr.for_each(world, |row| {
            check(row);
            rows += 1;
        })
        .unwrap();
        let mut of_tables = 0;
        expr.for_each_table(world, |table| {
            table.rows().for_each(check);
            of_tables += table.len();
        })
        .unwrap();
        let rows = [rows, of_tables, expr.count(world).unwrap()];
        assert_eq!(rows, [expected; 3], "{place}: {}", EXPRS[number]);
    }
}

#[test]
fn instances_with_several_bases_inherit_by_definition_in_every_storage() {
    let storages = [RelationStorage::Fragmenting, RelationStorage::Table, RelationStorage::Store];
    for (seed, storage) in storages.into_iter().enumerate() {
        let mut world = world(storage, |world| vec![world.entity_of::<Shape>(), world.entity_of::<Gas>()]);
        let mut random = Random(seed as u64 * 77 + 5);
        let mut bases: Vec<Entity> = (0..8).map(|_| world.spawn_empty().id()).collect();
        let mut ships: Vec<Entity> = (0..150).map(|number| world.spawn(Fuel(number)).id()).collect();
        let mut inherited = world.query_filtered();
        let mut exprs = EXPRS.map(|text| compile(&mut world, text));
        for round in 0..fewer(120) {
            let (from, base) = (random.below(ships.len() - 30), random.pick(&bases));
            let number = round as u32;
            match random.below(9) {
                0 | 1 => {
                    for &ship in &ships[from..from + 30] {
                        world.insert_pair(ship, IsA, base).unwrap();
                    }
                }
                2 => world.insert_pair(ships[from], IsA, base).unwrap(),
                3 => {
                    // Unless it closes a cycle.
                    let lower = random.pick(&bases);
                    world.insert_pair(lower, IsA, base).ok();
                }
                4 => toggle(&mut world, base, Shape(number)),
                5 => toggle(&mut world, base, Gas(number)),
                6 => {
                    toggle(&mut world, ships[from], Gas(number));
                    world.entity_mut(ships[from]).insert(Shape(number));
                }
                7 => {
                    for &ship in &ships[from..from + 5] {
                        world.remove_pairs::<IsA>(ship);
                    }
                }
                _ => {
                    let at = random.below(bases.len());
                    world.despawn(bases[at]);
                    bases[at] = world.spawn_empty().id();
                    world.despawn(ships[from]);
                    ships[from] = world.spawn(Fuel(1)).id();
                }
            }
            inherited.update_archetypes(&world);
            check(&world, &mut inherited, &mut exprs, &format!("{storage:?}, round {round}"));
        }
        world.check_pairs().unwrap();
    }
}

#[test]
fn inherited_targets_are_those_of_the_nearest_base_that_has_some() {
    for seed in 0..fewer(3) as u64 {
        let mut world = world(RelationStorage::Fragmenting, |world| {
            let relations = [world.entity_of::<NetS>(), world.entity_of::<NetT>(), world.entity_of::<NetF>()];
            [&relations[..], &[world.entity_of::<RingF>()]].concat()
        });
        let mut random = Random(seed * 5 + 11);
        let bases: Vec<Entity> = (0..8).map(|_| world.spawn_empty().id()).collect();
        let ships: Vec<Entity> = (0..60).map(|number| world.spawn(Fuel(number)).id()).collect();
        let mut nets = world.query_filtered::<(
            Entity,
            Option<Inherited<Targets<NetS>>>,
            Option<Inherited<Targets<NetT>>>,
            Option<Inherited<Targets<NetF>>>,
        ), With<Fuel>>();
        let mut rings = world.query_filtered::<(Entity, Option<Inherited<Target<RingF>>>), With<Fuel>>();
        for _ in 0..150 {
            let (ship, base, other) = (random.pick(&ships), random.pick(&bases), random.pick(&bases));
            let any = if random.below(2) == 0 { ship } else { base };
            match random.below(8) {
                0..3 => world.insert_pair(ship, IsA, base).unwrap(),
                // Unless it closes a cycle.
                3 => _ = world.insert_pair(other, IsA, base),
                4 => {
                    world.insert_pair(any, NetS, other).unwrap();
                    world.insert_pair(any, NetT, other).unwrap();
                    world.insert_pair(any, NetF, other).unwrap();
                }
                5 => world.insert_pair(any, RingF, other).unwrap(),
                6 => {
                    world.remove_pairs::<NetS>(any);
                    world.remove_pairs::<NetT>(any);
                    world.remove_pairs::<NetF>(any);
                    world.remove_pairs::<RingF>(any);
                }
                _ => _ = world.remove_pairs::<IsA>(ship),
            }
            let pairs = world.pairs::<IsA>();
            let targets = |entity| pairs.targets(entity).collect::<Vec<_>>();
            let has_net = |entity| world.pairs::<NetS>().target_count(entity) > 0;
            for (ship, store, table, fragmenting) in nets.iter(&world) {
                let holder = nearest(&targets, ship, SELF_OR_ABOVE, &has_net);
                let expected = holder.map(|holder| world.pairs::<NetS>().targets(holder).collect::<Vec<_>>());
                assert_eq!(store.map(Iterator::collect), expected);
                assert_eq!(table.map(Iterator::collect), expected);
                assert_eq!(fragmenting.map(Iterator::collect), expected);
            }
            let has_ring = |entity| world.pairs::<RingF>().target_count(entity) > 0;
            for (ship, target) in rings.iter(&world) {
                let holder = nearest(&targets, ship, SELF_OR_ABOVE, &has_ring);
                let expected = holder.and_then(|holder| world.pairs::<RingF>().target(holder));
                assert_eq!(target.map(|target| *target), expected);
            }
        }
    }
}
