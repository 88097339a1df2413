//! A fleet that sails in formation: orders are found up the chain of command, places are worked out down it.
//!
//! ```sh
//! cargo run --example formation
//! ```
//!
//! Shows an exclusive, traversable relation (`Follows`), the query term `SelfUp` (a ship obeys the nearest order up its
//! chain of command, its own first), the filters `Related` and `RootOf`, `CascadeQuery` (a ship's place depends on
//! where its leader has got to in the same step), and walks up and down to check it all.
//!
//! Prints where the ships are after each step:
//!
//! ```text
//! step 1, in column
//! Flagship (10, 0)
//!   Anson (0, 0)
//!     Anson 1 (-10, 0)
//! ...
//! ```

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_relations::{
    prelude::*,
    query::{RootOf, SelfUp},
};

/// The ship takes its place beside its leader.
#[derive(Relation)]
#[relation(exclusive, traversable)]
struct Follows;

/// How to sail; for the ship that has it, and all that follow it and have no other.
#[derive(Component, Clone, Copy, PartialEq, Debug)]
enum Order {
    Column,
    Line,
}

/// Which of its leader's followers a ship is, from 1.
#[derive(Component)]
struct Number(i32);

/// Where a ship is to be, seen from its leader; for one without a leader, where it is.
#[derive(Component, Clone, Copy, Default, PartialEq, Debug)]
struct Station(i32, i32);

/// Where a ship is.
#[derive(Component, Clone, Copy, Default, PartialEq, Debug)]
struct Position(i32, i32);

impl Order {
    fn station(self, Number(number): &Number) -> Station {
        match self {
            Self::Column => Station(-10 * number, 0),
            Self::Line => Station(0, 10 * number),
        }
    }
}

/// Ships without a leader sail on.
fn sail(mut ships: Query<&mut Station, RootOf<Follows>>) {
    for mut station in &mut ships {
        station.0 += 10;
    }
}

/// A ship, and the nearest order up its chain of command.
type Obeying = (&'static mut Station, &'static Number, SelfUp<Follows, &'static Order>);

/// Ships with a leader look for the order that holds for them.
fn obey(mut ships: Query<Obeying, Related<Follows>>) {
    for (mut station, number, order) in &mut ships {
        station.set_if_neq(order.station(number));
    }
}

/// Leaders first: where the leader is, is where it will be in this step.
fn take_places(mut fleet: CascadeQuery<Follows, (&Station, &mut Position), &Position>) {
    fleet.for_each(|(station, mut position), leader| {
        let Position(x, y) = leader.copied().unwrap_or_default();
        position.set_if_neq(Position(x + station.0, y + station.1));
    });
}

/// Spawns a ship that follows another.
fn spawn_ship(world: &mut World, name: String, leader: Entity, number: i32) -> Entity {
    let parts = (Name::new(name), Number(number), Station::default(), Position::default());
    world.spawn((parts, Pair(Follows, leader))).id()
}

fn main() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin).add_systems(Update, (sail, obey, take_places).chain());
    let world = app.world_mut();
    let flagship =
        world.spawn((Name::new("Flagship"), Order::Column, Station::default(), Position::default())).id();
    let [anson, byng] = [("Anson", 1), ("Byng", 2)].map(|(name, number)| {
        let leader = spawn_ship(world, name.to_owned(), flagship, number);
        for number in 1..=2 {
            spawn_ship(world, format!("{name} {number}"), leader, number);
        }
        leader
    });

    step(&mut app, flagship, "step 1, in column");
    app.world_mut().entity_mut(byng).insert(Order::Line);
    step(&mut app, flagship, "step 2, Byng's ships in line");
    let orphans: Vec<Entity> = app.world().pairs::<Follows>().sources(anson).collect();
    app.world_mut().despawn(anson);
    assert!(
        orphans.iter().all(|&ship| !app.world().pairs::<Follows>().has_any(ship)),
        "none follows the sunk"
    );
    for (&ship, number) in orphans.iter().zip(3..) {
        let mut ship = app.world_mut().entity_mut(ship);
        ship.insert(Number(number)).insert_pair(Follows, byng).expect("nobody follows itself");
    }
    step(&mut app, flagship, "step 3, Anson is lost, Byng leads its ships");

    let world = app.world();
    let position = |ship| world.get::<Position>(ship);
    assert_eq!(position(flagship), Some(&Position(30, 0)));
    assert_eq!(position(byng), Some(&Position(30, 20)), "its own order counts for itself, too");
    assert_eq!(
        orphans.iter().filter_map(|&ship| position(ship)).map(|at| at.0).collect::<Vec<_>>(),
        [30, 30]
    );
    assert_eq!(world.pairs::<Follows>().source_count(byng), 4);
    world.check_pairs().expect("the pairs are sound");
}

/// Lets the fleet sail a step, shows where it is, and checks it ship by ship.
fn step(app: &mut App, flagship: Entity, title: &str) {
    app.update();
    println!("{title}");
    let world = app.world();
    let follows = world.pairs::<Follows>();
    let fleet = core::iter::once((flagship, 0)).chain(follows.descendants(flagship));
    for (ship, rank) in fleet {
        let Position(x, y) = *world.get(ship).expect("ships have a position");
        let name = world.get::<Name>(ship).expect("ships have a name");
        println!("{:indent$}{name} ({x}, {y})", "", indent = 2 * rank as usize);

        let chain = || core::iter::once(ship).chain(follows.ancestors(ship));
        let stations = chain().filter_map(|ship| world.get::<Station>(ship));
        let sum =
            stations.fold(Position(0, 0), |sum, station| Position(sum.0 + station.0, sum.1 + station.1));
        assert_eq!(Position(x, y), sum, "{name} is where the stations up to the flagship lead");
        let order = chain().find_map(|ship| world.get::<Order>(ship)).expect("the flagship has an order");
        if let (Some(number), Some(station)) = (world.get::<Number>(ship), world.get::<Station>(ship)) {
            assert_eq!(order.station(number), *station, "{name} obeys the nearest order");
        }
    }
}
