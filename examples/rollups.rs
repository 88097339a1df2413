//! Sums, counts and extremes over everything below an entity, updated when pairs or values change: the load of a convoy,
//! the strength of an army, the power of a station.
//!
//! ```text
//! cargo run --example rollups
//! ```
//!
//! Prints:
//!
//! ```text
//! The convoy carries 90 t, and 60 t once a truck has turned back.
//! The army has 30 soldiers of strength 1 to 9, and 20 after a company has left it.
//! The station gives 140 kW, and 60 kW while half of its panels are dark.
//! The gun belongs to the red team.
//! ```

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_relations::{live::*, prelude::*};

/// In tons.
#[derive(Component)]
struct Load(u32);

impl RollupValue for Load {
    type Value = u64;

    fn rollup_value(&self) -> u64 {
        self.0.into()
    }
}

/// Who drives behind whom.
#[derive(Relation)]
#[relation(exclusive, traversable)]
struct Follows;

#[derive(Component)]
struct Strength(u8);

impl RollupValue for Strength {
    type Value = u8;

    fn rollup_value(&self) -> u8 {
        self.0
    }
}

/// What a device gives to the grid, in kilowatts: the pair carries it, as a device may feed several.
#[derive(Relation)]
#[relation(acyclic)]
struct Feeds(i32);

impl RollupValue for Feeds {
    type Value = i64;

    fn rollup_value(&self) -> i64 {
        self.0.into()
    }
}

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Component, Clone, PartialEq, Debug)]
enum Team {
    Red,
    Blue,
}

type ConvoyLoad = Rollup<Follows, Load, Sum>;
type Soldiers = Rollup<ChildOf, Strength, Count>;
type Weakest = Rollup<ChildOf, Strength, Min>;
type Strongest = Rollup<ChildOf, Strength, Max>;
type Power = Rollup<Feeds, Feeds, Sum>;

fn main() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin)
        .add_rollup::<Follows, Load, Sum>()
        .add_rollup::<ChildOf, Strength, Count>()
        .add_rollup::<ChildOf, Strength, Min>()
        .add_rollup::<ChildOf, Strength, Max>()
        .add_pair_rollup::<Feeds, Sum>()
        .propagate::<MountedOn, Team>();
    convoy(&mut app);
    army(&mut app);
    station(&mut app);
    teams(&mut app);
}

fn convoy(app: &mut App) {
    let world = app.world_mut();
    let leader = world.spawn_empty().id();
    let first = world.spawn((Load(30), Pair(Follows, leader))).id();
    let second = world.spawn((Load(30), Pair(Follows, first))).id();
    world.spawn((Load(30), Pair(Follows, second)));
    app.update();
    let before = *app.world().get::<ConvoyLoad>(leader).unwrap().get();

    // The first truck turns back; the one behind it closes up, with all that follows it.
    let world = app.world_mut();
    world.insert_pair(second, Follows, leader).unwrap();
    world.remove_pair::<Follows>(first, leader);
    app.update();
    let after = *app.world().get::<ConvoyLoad>(leader).unwrap().get();
    println!("The convoy carries {before} t, and {after} t once a truck has turned back.");
    assert_eq!((before, after), (90, 60));
}

fn army(app: &mut App) {
    let world = app.world_mut();
    let army = world.spawn_empty().id();
    let companies = [1, 4, 9].map(|strength| {
        let company = world.spawn(ChildOf(army)).id();
        world.spawn_batch((0..10).map(move |_| (Strength(strength), ChildOf(company))));
        company
    });
    app.update();
    let count = |app: &App| *app.world().get::<Soldiers>(army).unwrap().get();
    let world = app.world();
    let weakest = world.get::<Weakest>(army).unwrap().get().unwrap();
    let strongest = world.get::<Strongest>(army).unwrap().get().unwrap();
    let before = count(app);

    // `ChildOf` is Bevy's component, and a relation.
    app.world_mut().entity_mut(companies[2]).remove::<ChildOf>();
    app.update();
    let after = count(app);
    println!(
        "The army has {before} soldiers of strength {weakest} to {strongest}, and {after} after a company has left it."
    );
    assert_eq!((before, weakest, strongest, after), (30, 1, 9, 20));
    assert_eq!(app.world().get::<Strongest>(army).unwrap().get(), &Some(4));
}

fn station(app: &mut App) {
    let world = app.world_mut();
    let station = world.spawn_empty().id();
    let bus = world.spawn(Pair(Feeds(-20), station)).id();
    for _ in 0..4 {
        world.spawn(Pair(Feeds(40), bus));
    }
    app.update();
    let before = *app.world().get::<Power>(station).unwrap().get();

    // Values that are written in place are found at the next update.
    app.world_mut()
        .run_system_cached_with(
            |In(bus): In<Entity>, mut feeds: PairsMut<Feeds>| {
                let mut lit = false;
                feeds.for_each_to(bus, |_, mut feeds| {
                    lit = !lit;
                    feeds.0 = if lit { 40 } else { 0 };
                });
            },
            bus,
        )
        .unwrap();
    app.update();
    let after = *app.world().get::<Power>(station).unwrap().get();
    println!("The station gives {before} kW, and {after} kW while half of its panels are dark.");
    assert_eq!((before, after), (140, 60));
}

fn teams(app: &mut App) {
    let world = app.world_mut();
    let tank = world.spawn(Team::Blue).id();
    let turret = world.spawn(Pair(MountedOn, tank)).id();
    let gun = world.spawn(Pair(MountedOn, turret)).id();
    app.update();
    assert_eq!(app.world().get::<Propagated<MountedOn, Team>>(gun).unwrap().get(), &Team::Blue);
    *app.world_mut().get_mut::<Team>(tank).unwrap() = Team::Red;
    app.update();
    let team = app.world().get::<Propagated<MountedOn, Team>>(gun).unwrap();
    println!("The gun belongs to the {} team.", format!("{:?}", team.get()).to_lowercase());
    assert_eq!((team.get(), team.holder()), (&Team::Red, tank));
}
