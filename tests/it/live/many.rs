//! Updates in which more changes than a run makes rows of at once.

use super::named::{Cargo, DockedTo, Fuel, Likes, Ship, is_updated, live, world};
use crate::common::panic_message;
use bevy_ecs::prelude::*;
use bevy_relations::{expr::Row, prelude::*};

type Key = [Option<Entity>; 2];

fn keys<'a>(rows: impl Iterator<Item = Row<'a>>) -> Vec<Key> {
    let mut keys: Vec<_> = rows.map(|row| [row.this(), row.var("p")]).collect();
    keys.sort_unstable();
    keys
}

/// Those of `all` that are not among `others`, each of which counts once.
fn without(all: &[Key], others: &[Key]) -> Vec<Key> {
    let mut others = others.to_vec();
    let is_left = |key: &&Key| match others.iter().position(|other| other == *key) {
        Some(at) => {
            others.swap_remove(at);
            false
        }
        None => true,
    };
    all.iter().filter(is_left).copied().collect()
}

/// What changes about a ship, of five kinds.
fn change(world: &mut World, ship: Entity, ports: &[Entity], kind: usize) {
    let port = world.pairs::<DockedTo>().target(ship);
    match (kind, port) {
        (0, _) => {
            let port = ports[ship.index_u32() as usize % ports.len()];
            world.insert_pair(ship, DockedTo, port).unwrap();
        }
        (1, Some(port)) => {
            world.remove_pair::<DockedTo>(ship, port);
            world.insert_pair(ship, DockedTo, port).unwrap();
        }
        (2, Some(port)) => _ = world.remove_pair::<DockedTo>(ship, port),
        (3, _) => {
            world.insert_pair(ship, Likes, ports[0]).unwrap();
            world.entity_mut(ship).insert(Fuel);
        }
        _ => {
            world.remove_pair::<Likes>(ship, ports[0]);
            world.entity_mut(ship).remove::<Fuel>();
        }
    }
}

#[test]
fn rows_come_and_go_by_the_thousand() {
    const SHIPS: usize = 2_400;
    let texts = [
        "Ship, (DockedTo, $p)",
        "Ship, ?(DockedTo, $p)",
        "Ship, (DockedTo, $p) || (Likes, $p)",
        "Ship, !(DockedTo, *)",
        "Ship, ?Fuel, ?(Likes, $p)",
    ];
    for text in texts {
        let mut world = world();
        let ports: Vec<_> = (0..7).map(|_| world.spawn_empty().id()).collect();
        let ships: Vec<_> = (0..SHIPS).map(|_| world.spawn(Ship).id()).collect();
        for (number, &ship) in ships.iter().enumerate() {
            world.insert_pair(ship, DockedTo, ports[number % 7]).unwrap();
            world.insert_pair(ship, Likes, ports[1 + number % 6]).unwrap();
            if number % 2 == 0 {
                world.entity_mut(ship).insert(Fuel);
            }
        }
        let mut live = live(&mut world, text);
        live.track_moves();
        let mut known = keys(live.rows(&world).unwrap());
        for step in 0..6 {
            for &ship in &ships[step * 200..][..1_100] {
                change(&mut world, ship, &ports, (ship.index_u32() as usize + step) % 5);
            }
            assert!(is_updated(&mut world, &mut live, text), "{text}: {}", live.explain());
            let now = keys(live.rows(&world).unwrap());
            assert_eq!(keys(live.entered(&world).unwrap()), without(&now, &known), "{text}");
            assert_eq!(keys(live.left(&world).unwrap()), without(&known, &now), "{text}");
            known = now;
        }
    }
}

/// Groups, order and moves at once, where rows are replaced; and again after a comparison has panicked.
#[test]
fn rows_that_are_replaced_keep_their_groups_and_their_order() {
    let text = "Ship, ?(DockedTo, $p), ?Fuel";
    let mut world = world();
    let ports: Vec<_> = (0..7).map(|_| world.spawn_empty().id()).collect();
    let spawn = |world: &mut World, load: u32| world.spawn((Ship, Cargo(load))).id();
    let ships: Vec<_> = (0..2_400).map(|number| spawn(&mut world, number * 37 % 100)).collect();
    for (number, &ship) in ships.iter().enumerate() {
        world.insert_pair(ship, DockedTo, ports[number % 7]).unwrap();
    }
    let mut live = live(&mut world, text);
    live.track_moves().group_by::<DockedTo>().unwrap();
    live.order_by::<Cargo>(|a, b| {
        assert!(a.0 < 1_000 && b.0 < 1_000, "too large");
        a.0.cmp(&b.0)
    });
    live.update(&mut world).unwrap();
    for step in 0..6 {
        let before = keys(live.rows(&world).unwrap());
        for &ship in &ships[step * 200..][..1_100] {
            change(&mut world, ship, &ports, (ship.index_u32() as usize + step) % 5);
            let load = if step == 3 { 1_000 } else { ship.index_u32() % 61 };
            world.entity_mut(ship).insert(Cargo(load));
        }
        if step == 3 {
            let message = panic_message(|| live.update(&mut world).unwrap());
            assert!(message.is_some_and(|message| message.contains("too large")));
            ships.iter().for_each(|&ship| _ = world.entity_mut(ship).insert(Cargo(ship.index_u32() % 7)));
        }
        assert!(is_updated(&mut world, &mut live, text) || step == 3, "{}", live.explain());
        let now = keys(live.rows(&world).unwrap());
        if step != 3 {
            assert_eq!(keys(live.entered(&world).unwrap()), without(&now, &before), "step {step}");
            assert_eq!(keys(live.left(&world).unwrap()), without(&before, &now), "step {step}");
        }
        let mut grouped = Vec::new();
        for group in live.groups() {
            let rows: Vec<_> = live.group(&world, group).unwrap().filter_map(|row| row.this()).collect();
            let load = |ship: &Entity| world.get::<Cargo>(*ship).map(|cargo| cargo.0);
            assert!(rows.is_sorted_by_key(load), "group {group}, step {step}");
            let port = |ship: Entity| world.pairs::<DockedTo>().target(ship).map_or(0, Entity::to_bits);
            assert!(rows.iter().all(|&ship| port(ship) == group), "group {group}, step {step}");
            grouped.extend(rows);
        }
        assert_eq!(grouped.len(), live.len());
    }
}
