//! Trade routes between harbours: the quickest voyage, what cannot be reached, and what a storm changes.
//!
//! Routes are pairs with values; the algorithms are those of `petgraph`, which work on the pairs as they are:
//! `cargo run --features petgraph --example routes`

use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{graph::RelationGraph, prelude::*};
use petgraph::algo::{astar, dijkstra, tarjan_scc};

/// A ship can sail from the source to the target.
#[derive(Relation)]
struct RouteTo {
    days: u32,
}

#[derive(Resource)]
struct Harbours {
    bergen: Entity,
    lisbon: Entity,
    goa: Entity,
}

fn main() {
    let mut world = World::new();
    let [bergen, london, lisbon, cape, goa, malacca] =
        ["Bergen", "London", "Lisbon", "Cape Town", "Goa", "Malacca"]
            .map(|name| world.spawn(Name::new(name)).id());
    for (from, to, days) in [
        (bergen, london, 6),
        (london, bergen, 7),
        (london, lisbon, 9),
        (lisbon, london, 10),
        (lisbon, cape, 70),
        (cape, goa, 60),
        (goa, cape, 75),
        (cape, lisbon, 80),
        (goa, malacca, 30),
    ] {
        world.insert_pair(from, RouteTo { days }, to).expect("no rule forbids it");
    }
    world.insert_resource(Harbours { bergen, lisbon, goa });

    world.run_system_once(quickest_voyage).expect("its parameters are there");
    world.run_system_once(everything_from_lisbon).expect("its parameters are there");
    world.run_system_once(round_trips).expect("its parameters are there");

    println!("A storm closes Cape Town.");
    world.despawn(cape);
    world.run_system_once(quickest_voyage).expect("its parameters are there");
}

fn quickest_voyage(routes: Pairs<RouteTo>, harbours: Res<Harbours>, names: Query<&Name>) {
    let days = |from, to| routes.get(from, to).map_or(0, |route| route.days);
    let graph = RelationGraph::with_weights(&routes, days);
    let goal = |harbour| harbour == harbours.goa;
    match astar(&graph, harbours.bergen, goal, |route| route.weight, |_| 0) {
        Some((days, stops)) => {
            let stops: Vec<&str> = names.iter_many(stops).flatten().map(Name::as_str).collect();
            println!("{days} days: {}", stops.join(" -> "));
        }
        None => println!("No ship reaches Goa."),
    }
}

fn everything_from_lisbon(routes: Pairs<RouteTo>, harbours: Res<Harbours>, names: Query<(Entity, &Name)>) {
    let days = |from, to| routes.get(from, to).map_or(0, |route| route.days);
    let graph = RelationGraph::with_weights(&routes, days);
    let from_lisbon = dijkstra(&graph, harbours.lisbon, None, |route| route.weight);
    for (harbour, name) in &names {
        if let Some(days) = from_lisbon.get(&harbour) {
            println!("  Lisbon - {name}: {days} days");
        }
    }
}

/// Harbours between which ships go in both directions, whichever way.
fn round_trips(routes: Pairs<RouteTo>, names: Query<&Name>) {
    for harbours in tarjan_scc(&RelationGraph::new(&routes)) {
        let names: Vec<&str> = names.iter_many(&harbours).flatten().map(Name::as_str).collect();
        match *names {
            [alone] => println!("No ship comes back from {alone}."),
            _ => println!("Round trips: {}", names.join(", ")),
        }
    }
}
