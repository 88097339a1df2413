//! Pairs: inserted, looked up from both ends, and removed.
//!
//! ```text
//! cargo run --example pairs
//! ```

use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

/// A relation without fields: a pair is there, or it is not.
#[derive(Relation)]
struct Likes;

/// A relation with fields: each pair has a value.
#[derive(Relation, PartialEq, Debug)]
struct Owes {
    coins: u32,
}

fn main() -> Result {
    let mut world = World::new();
    let ann = world.spawn(Name::new("Ann")).id();
    // With the rest of the bundle, or later.
    let ben = world.spawn((Name::new("Ben"), pairs![(Likes, ann), (Owes { coins: 5 }, ann)])).id();
    let cy = world.spawn(Name::new("Cy")).id();
    world.insert_pair(cy, Owes { coins: 2 }, ann)?;
    world.insert_pair(cy, Owes { coins: 7 }, ben)?;

    assert!(world.has_pair::<Likes>(ben, ann) && !world.has_pair::<Likes>(ann, ben));
    assert_eq!(world.pair_value::<Owes>(ben, ann), Some(&Owes { coins: 5 }));

    // From the source: whom does Cy owe? From the target: who owes Ann?
    let owes = world.pairs::<Owes>();
    assert!(owes.targets(cy).eq([ann, ben]));
    assert!(owes.sources(ann).eq([ben, cy]));
    let coins: u32 = owes.values_to(ann).map(|(_, debt)| debt.coins).sum();
    println!("Ann is owed {coins} coins");
    assert_eq!(coins, 7);

    // A pair that is inserted again gets the new value.
    world.insert_pair(ben, Owes { coins: 1 }, ann)?;
    world.remove_pair::<Owes>(cy, ann);
    let rest: Vec<_> = world.pairs::<Owes>().iter().collect();
    println!("{} debts are left", rest.len());
    assert_eq!(rest.len(), 2);
    assert_eq!(world.pair_value::<Owes>(ben, ann), Some(&Owes { coins: 1 }));

    // No pair names a despawned entity.
    world.despawn(ann);
    assert!(world.pairs_of(ben).is_empty());
    assert!(world.pairs::<Owes>().iter().eq([(cy, ben)]));
    Ok(())
}
