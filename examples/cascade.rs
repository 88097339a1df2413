//! Systems along a relation: one visits parents before children, another each target with its sources.
//!
//! ```text
//! cargo run --example cascade
//! ```

use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

/// An officer reports to another one.
#[derive(Relation)]
#[relation(exclusive, traversable)]
struct ReportsTo;

#[derive(Component, Default, PartialEq, Debug)]
struct Orders(Vec<&'static str>);

#[derive(Component)]
struct Troops(u32);

/// What an officer adds to the orders that come from above.
#[derive(Component)]
struct Adds(&'static str);

/// Visits every officer after the one above, so that it reads the orders that this one received in the same run.
fn pass_down(mut chain: CascadeQuery<ReportsTo, (&Adds, &mut Orders), &Orders>) {
    chain.for_each(|(adds, mut orders), above| {
        orders.0 = above.map(|above| above.0.clone()).unwrap_or_default();
        orders.0.push(adds.0);
    });
}

/// Visits every officer to whom others report, with the data of these.
fn muster(mut chain: PairQuery<ReportsTo, &Troops, &mut Strength>) {
    chain.for_each_target(|mut strength, below| {
        strength.0 = below.map(|(troops, _)| troops.0).sum();
    });
}

/// The troops of those who report to an officer directly.
#[derive(Component, Default)]
struct Strength(u32);

fn main() -> Result {
    let mut world = World::new();
    let mut spawn = |name: &'static str, troops| {
        world.spawn((Name::new(name), Adds(name), Troops(troops), Orders::default(), Strength(0))).id()
    };
    let [general, colonel, major, captain] =
        [("general", 1), ("colonel", 10), ("major", 20), ("captain", 50)]
            .map(|(name, troops)| spawn(name, troops));
    world.insert_pair(captain, ReportsTo, major)?;
    world.insert_pair(major, ReportsTo, colonel)?;
    world.insert_pair(colonel, ReportsTo, general)?;

    world.run_system_cached(pass_down)?;
    world.run_system_cached(muster)?;
    let orders = &world.get::<Orders>(captain).unwrap().0;
    println!("the captain has the orders of {}", orders.join(", "));
    assert_eq!(orders, &["general", "colonel", "major", "captain"]);
    assert_eq!(world.get::<Strength>(major).unwrap().0, 50);

    // One insertion moves the major with all below: the relation is exclusive.
    world.insert_pair(major, ReportsTo, general)?;
    world.run_system_cached(pass_down)?;
    assert_eq!(world.get::<Orders>(captain).unwrap().0, ["general", "major", "captain"]);

    // A pair that would close a cycle is refused.
    let error = world.insert_pair(general, ReportsTo, captain).unwrap_err();
    println!("refused: {error}");
    let chain = world.pairs::<ReportsTo>();
    assert!(chain.ancestors(captain).eq([major, general]));
    assert_eq!(chain.descendants(general).count(), 3);
    Ok(())
}
