//! Cleanup: what happens to pairs, and to their other ends, when an entity is despawned.
//!
//! ```text
//! cargo run --example cleanup
//! ```

use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

/// The default: the pair is removed, and the source stays.
#[derive(Relation)]
struct Follows;

/// The source is despawned with its target, however deep the tree is.
#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct MountedOn;

/// A target may not go while anything uses it.
#[derive(Relation)]
#[relation(on_target_despawn = Refuse)]
struct StoredIn;

/// The target is despawned when nothing uses it any more.
#[derive(Relation)]
#[relation(on_last_source = Despawn)]
struct Uses;

fn main() -> Result {
    let mut world = World::new();
    let [ship, turret, gun, escort, shells, paint] =
        ["ship", "turret", "gun", "escort", "shells", "paint"].map(|name| world.spawn(Name::new(name)).id());
    world.insert_pair(turret, MountedOn, ship)?;
    world.insert_pair(gun, MountedOn, turret)?;
    world.insert_pair(escort, Follows, ship)?;
    world.insert_pair(ship, Uses, paint)?;
    world.insert_pair(escort, Uses, paint)?;

    // What would be despawned?
    let goes = world.would_despawn(ship)?;
    println!("{} entities would go with the ship", goes.len() - 1);
    assert_eq!(goes.len(), 3);

    // `despawn_with_dependents` despawns nothing if one of them is in use.
    world.insert_pair(shells, StoredIn, gun)?;
    let error = world.despawn_with_dependents(ship).unwrap_err();
    println!("refused: {error}");
    assert!(world.get_entity(turret).is_ok());

    world.remove_pair::<StoredIn>(shells, gun);
    world.despawn_with_dependents(ship)?;
    assert!([ship, turret, gun].iter().all(|&entity| world.get_entity(entity).is_err()));
    // The pair of the escort was removed; the escort still uses the paint.
    assert!(!world.pairs::<Follows>().has_any(escort));
    assert!(world.get_entity(paint).is_ok());
    world.despawn(escort);
    assert!(world.get_entity(paint).is_err());
    println!("the paint went with its last user");
    Ok(())
}
