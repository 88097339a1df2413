//! Updates in which more changes than a run makes rows of at once.

use super::named::{DockedTo, Fuel, Likes, Ship, is_updated, live, world};
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
