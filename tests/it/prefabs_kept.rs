//! What is kept from one instance of a prefab to the next.

use crate::prefabs::{Armor, Health, Likes, Serial, children, set_rule, world};
use bevy_ecs::prelude::*;
use bevy_relations::{
    prefab::{Prefab, WorldPrefabExt},
    prelude::*,
    relation::OnInstantiate,
};

/// A prefab with a part that has a part, another one, and a base that the first part is an instance of.
#[derive(Clone, Copy)]
struct Ship {
    prefab: Entity,
    port: Entity,
    gun: Entity,
    bridge: Entity,
    turret: Entity,
}

fn ship(world: &mut World) -> Ship {
    let turret = world.spawn((Prefab, Armor(5))).id();
    let prefab = world.spawn((Prefab, Name::new("ship"), Health(1), Armor(1))).id();
    let port = world.spawn((Name::new("port"), Health(2), Pair(IsA, turret), ChildOf(prefab))).id();
    let gun = world.spawn((Name::new("gun"), ChildOf(port))).id();
    let bridge = world.spawn((Name::new("bridge"), Serial(3), ChildOf(prefab))).id();
    Ship { prefab, port, gun, bridge, turret }
}

/// Components and pairs of an entity and of all below it.
fn described(world: &World, entity: Entity) -> String {
    let name = |entity| world.get::<Name>(entity).map_or("-", Name::as_str);
    let [health, serial] = [
        world.get::<Health>(entity).map(|health| health.0),
        world.get::<Serial>(entity).map(|serial| serial.0),
    ];
    let armor = world.get::<Armor>(entity).map(|armor| armor.0);
    let liked: Vec<_> = world.pairs::<Likes>().targets(entity).map(name).collect();
    let below: Vec<_> = children(world, entity).into_iter().map(|child| described(world, child)).collect();
    format!("{} {health:?} {armor:?} {serial:?} {liked:?} {below:?}", name(entity))
}

/// What may change between two instances.
const CHANGES: &[(&str, fn(&mut World, Ship))] = &[
    ("a component of the prefab", |world, ship| {
        world.entity_mut(ship.prefab).remove::<Health>();
    }),
    ("a component of a part", |world, ship| {
        world.entity_mut(ship.gun).insert(Health(7));
    }),
    ("a shared component of a part", |world, ship| {
        world.entity_mut(ship.bridge).insert(Armor(8));
    }),
    ("a value of a component", |world, ship| {
        world.entity_mut(ship.port).insert(Health(9));
    }),
    ("a new part", |world, ship| {
        world.spawn((Name::new("chair"), ChildOf(ship.bridge)));
    }),
    ("a part that goes", |world, ship| {
        world.despawn(ship.port);
    }),
    ("a part below another one", |world, ship| {
        world.entity_mut(ship.gun).insert(ChildOf(ship.bridge));
    }),
    ("a part that is a part no more", |world, ship| {
        world.entity_mut(ship.port).remove::<ChildOf>();
    }),
    ("the order of parts", |world, ship| {
        world.entity_mut(ship.prefab).replace_children(&[ship.bridge, ship.port]);
    }),
    ("a pair", |world, ship| {
        world.insert_pair(ship.gun, Likes, ship.bridge).unwrap();
    }),
    ("a component of a base", |world, ship| {
        world.entity_mut(ship.turret).insert(Health(11));
        world.entity_mut(ship.port).remove::<Health>();
    }),
    ("a base of a part", |world, ship| {
        let other = world.spawn((Prefab, Serial(1), Health(12))).id();
        world.insert_pair(ship.gun, IsA, other).unwrap();
    }),
    ("a base of the prefab", |world, ship| {
        let other = world.spawn((Prefab, Health(13))).id();
        world.entity_mut(ship.prefab).remove::<Health>();
        world.insert_pair(ship.prefab, IsA, other).unwrap();
    }),
    ("a rule", |world, _| set_rule::<Health>(world, OnInstantiate::DontInherit)),
];

#[test]
fn what_changes_between_instances_is_seen_by_the_next_one() {
    for &(context, change) in CHANGES {
        // In one world instances were made before the change, in the other none was.
        let instances = [3, 0].map(|before| {
            let mut world = world();
            let ship = ship(&mut world);
            let unchanged: Vec<_> = (0..before).map(|_| world.instantiate(ship.prefab).unwrap()).collect();
            let unchanged: Vec<_> =
                unchanged.into_iter().map(|instance| described(&world, instance)).collect();
            change(&mut world, ship);
            let all = [
                world.instantiate(ship.prefab).unwrap(),
                world.spawn(Pair(IsA, ship.prefab)).id(),
                world.instantiate_batch(ship.prefab, 2).unwrap()[1],
            ];
            world.check_pairs().unwrap();
            let all = all.map(|instance| described(&world, instance));
            assert!(all[1..].iter().all(|other| *other == all[0]), "{context}: {all:?}");
            assert!(unchanged.iter().all(|unchanged| *unchanged != all[0]), "{context}");
            all
        });
        assert_eq!(instances[0], instances[1], "{context}");
    }
}

#[test]
fn many_and_large_prefabs_are_instantiated_though_not_all_are_kept() {
    let mut world = world();
    let large = world.spawn(Prefab).id();
    for _ in 0..5_000 {
        world.spawn((Health(1), ChildOf(large)));
    }
    let prefabs: Vec<_> = (0..100)
        .map(|number| {
            let prefab = world.spawn((Prefab, Health(number))).id();
            for _ in 0..100 {
                world.spawn((Health(number), ChildOf(prefab)));
            }
            prefab
        })
        .collect();
    for round in 0..2 {
        let instance = world.instantiate(large).unwrap();
        assert_eq!(children(&world, instance).len(), 5_000);
        for (number, &prefab) in (0..).zip(&prefabs) {
            let instance = world.instantiate(prefab).unwrap();
            let of_parts = children(&world, instance).into_iter().map(|child| world.get::<Health>(child));
            assert_eq!(of_parts.filter(|health| *health == Some(&Health(number))).count(), 100, "{round}");
            world.despawn(instance);
        }
        world.despawn(instance);
    }
    world.check_pairs().unwrap();
}
