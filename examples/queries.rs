//! Terms for relations in ordinary Bevy queries.
//!
//! ```text
//! cargo run --example queries
//! ```

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations::query::{AddedPair, Target, TargetsWith, Unrelated, Up};

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
struct Knows;

#[derive(Component)]
struct Ship;

#[derive(Component)]
struct Price(u32);

#[derive(Component)]
struct Flag(&'static str);

/// A filter, and the target: who is docked, and where?
fn list(docked: Query<(&Name, Target<DockedTo>), With<Ship>>, names: Query<&Name>) -> Result {
    for (ship, station) in &docked {
        println!("{ship} is docked to {}", names.get(station.entity())?);
    }
    Ok(())
}

/// Data of the targets, and a filter for what has no pair.
fn compare(ships: Query<(&Name, TargetsWith<Knows, &Price>), Unrelated<DockedTo>>, mut min: ResMut<Lowest>) {
    for (ship, prices) in &ships {
        min.0 = prices.into_iter().map(|price| price.0).min();
        println!("{ship} could buy for {}", min.0.unwrap_or(0));
    }
}

/// Data of the nearest ancestor that has it: `ChildOf` is a relation, too.
fn flags(parts: Query<(&Name, Up<ChildOf, &Flag>), Without<Flag>>) {
    for (part, flag) in &parts {
        println!("{part} flies the flag of {}", flag.0);
        assert_eq!(flag.0, "Mars");
    }
}

/// Pairs that are new since the system ran last.
fn welcome(new: Query<&Name, AddedPair<DockedTo>>, mut welcomed: ResMut<Welcomed>) {
    welcomed.0 += new.iter().inspect(|ship| println!("welcome, {ship}")).count();
}

#[derive(Resource, Default)]
struct Lowest(Option<u32>);

#[derive(Resource, Default)]
struct Welcomed(usize);

fn main() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin).init_resource::<Lowest>().init_resource::<Welcomed>();
    app.add_systems(Update, (list, compare, flags, welcome).chain());
    let world = app.world_mut();
    let mars = world.spawn((Name::new("Mars Station"), Price(7), Flag("Mars"))).id();
    let ceres = world.spawn((Name::new("Ceres"), Price(5))).id();
    world.spawn((Ship, Name::new("Kite"), pairs![(DockedTo, mars)]));
    world.spawn((Ship, Name::new("Gull"), pairs![(Knows, mars), (Knows, ceres)]));
    world.spawn((Name::new("dock 3"), ChildOf(mars)));

    app.update();
    app.update();
    assert_eq!(app.world().resource::<Lowest>().0, Some(5));
    assert_eq!(app.world().resource::<Welcomed>().0, 1, "in the second frame nothing was new");
}
