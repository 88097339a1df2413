//! Expressions: the query language, as text at run time and as a system parameter.
//!
//! ```text
//! cargo run --example expressions
//! ```

use bevy_ecs::prelude::*;
use bevy_relations::{expr::PairExpr, prelude::*};

#[derive(Relation)]
struct Sells;

#[derive(Relation)]
#[relation(exclusive)]
struct LivesIn;

#[derive(Component)]
struct Trader;

#[derive(Component)]
struct City;

#[derive(Component)]
struct Gold(u32);

/// Traders of bread, with their city: `$city` is the same in both terms that name it.
#[derive(Expression)]
#[expr("Trader, (Sells, bread), (LivesIn, $city), City($city)")]
struct Bakers;

/// Parsed when this is compiled; the scheduler knows what it reads and writes.
fn pay(mut bakers: ExprQuery<Bakers, &mut Gold>) -> Result {
    bakers.for_each_mut(|mut gold, _row| gold.0 += 10)?;
    Ok(())
}

fn main() -> Result {
    let mut world = World::new();
    // Expressions find types by these names, and entities by their `Name`.
    world.register_relation::<Sells>()?;
    world.register_relation::<LivesIn>()?;
    world.register_component_name::<Trader>("Trader");
    world.register_component_name::<City>("City");
    let [bread, silk] = ["bread", "silk"].map(|name| world.spawn(Name::new(name)).id());
    let york = world.spawn((Name::new("York"), City)).id();
    let forest = world.spawn(Name::new("the forest")).id();
    let trader = (Trader, Gold(0));
    let ann = world.spawn((Name::new("Ann"), trader, pairs![(Sells, bread), (LivesIn, york)])).id();
    let trader = (Trader, Gold(0));
    let ben = world.spawn((Name::new("Ben"), trader, pairs![(Sells, bread), (LivesIn, forest)])).id();
    let trader = (Trader, Gold(0));
    world.spawn((Name::new("Cy"), trader, pairs![(Sells, silk), (LivesIn, york)]));

    let () = world.run_system_cached(pay)?;
    assert_eq!(world.get::<Gold>(ann).unwrap().0, 10);
    assert_eq!(world.get::<Gold>(ben).unwrap().0, 0, "a forest is no city");

    // What a player types is compiled for this world, and can be run again and again.
    let mut expr = PairExpr::parse("Trader, (LivesIn, $city), !(Sells, bread)")?.compile(&mut world)?;
    expr.for_each(&world, |row| {
        let name = |entity| world.get::<Name>(entity).map_or("?", Name::as_str);
        let (trader, city) = (row.this().map_or("?", name), row.var("city").map_or("?", name));
        println!("{trader} in {city} has no bread");
        assert_eq!((trader, city), ("Cy", "York"));
    })?;

    // The error has the place of the mistake.
    let error = PairExpr::parse("Trader, (LivesIn $city)").unwrap_err();
    println!("line {}, column {}: {error}", error.line(), error.column());
    assert_eq!(error.line(), 1);
    Ok(())
}
