//! A scene file with pairs in it: written by hand, read, changed, read once more over the same entities, and written.
//!
//! Shows that Bevy's `DynamicWorld` files hold pairs once their relation is mirrored: entities are mapped, values and
//! rules are those of the relation, and a mistake in the file is reported by name and changes nothing else.
//!
//! ```text
//! cargo run -p bevy_relations_worlds --example scene_file
//! ```

use bevy_ecs::{entity::EntityHashMap, prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::Reflect;
use bevy_relations::{mirror::WorldMirrorExt, prelude::*};
use bevy_relations_worlds::{read, write};

/// So many of the target are in the source.
#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[type_path = "game"]
struct Stores(u32);

/// A ship docks at one station.
#[derive(Relation, Reflect, Clone)]
#[relation(exclusive)]
#[type_path = "game"]
struct DockedTo;

/// Numbers name entities inside of the file.
const FILE: &str = r#"(
    resources: {},
    entities: {
        4294967290: (components: { "bevy_ecs::name::Name": "station" }),
        4294967291: (components: { "bevy_ecs::name::Name": "ore" }),
        4294967292: (components: {
            "bevy_ecs::name::Name": "freighter",
            "bevy_relations::mirror::MirroredPairs<game::DockedTo>": (
                pairs: [(target: Entity(4294967290), value: None, place: None)],
            ),
            "bevy_relations::mirror::MirroredPairs<game::Stores>": (
                pairs: [(target: Entity(4294967291), value: Some((40)), place: None)],
            ),
        }),
    },
)"#;

/// Reads a file into the world: into the entities that `map` knows from reading it before, or new ones.
fn load(world: &mut World, file: &str, map: &mut EntityHashMap<Entity>) -> Result {
    let types = world.resource::<AppTypeRegistry>().0.clone();
    let scene = read(&types.read(), file)?;
    scene.write_to_world(world, map)?;
    // What is due after reading; `RelationsPlugin` does it in the next frame.
    world.maintain_pairs();
    Ok(())
}

fn entity(world: &mut World, name: &str) -> Entity {
    let mut named = world.query::<(Entity, &Name)>();
    named.iter(world).find(|(_, it)| it.as_str() == name).map(|(entity, _)| entity).unwrap()
}

pub(crate) fn main() -> Result {
    let mut world = World::new();
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().write().register::<Name>();
    world.mirror_pairs::<Stores>()?;
    world.mirror_pairs::<DockedTo>()?;

    let mut map = EntityHashMap::default();
    load(&mut world, FILE, &mut map)?;
    let [station, ore, ship] = ["station", "ore", "freighter"].map(|name| entity(&mut world, name));
    println!("the freighter is docked: {}", world.has_pair::<DockedTo>(ship, station));
    assert!(world.has_pair::<DockedTo>(ship, station));
    assert_eq!(world.pair_value::<Stores>(ship, ore), Some(&Stores(40)));

    // Somebody edits the file while the game runs. Read with the same map it updates, and spawns nothing twice.
    load(&mut world, &FILE.replace("(40)", "(15)"), &mut map)?;
    println!("after the edit it stores {:?}", world.pair_value::<Stores>(ship, ore));
    assert_eq!(world.pair_value::<Stores>(ship, ore), Some(&Stores(15)));
    assert_eq!(world.query::<&Name>().iter(&world).count(), 3);

    // Written to a file, and read into another world.
    let file = write(&world, [station, ore, ship])?;
    let mut other = World::new();
    other.insert_resource(world.resource::<AppTypeRegistry>().clone());
    other.mirror_pairs::<Stores>()?;
    other.mirror_pairs::<DockedTo>()?;
    load(&mut other, &file, &mut EntityHashMap::default())?;
    let [ore, ship] = ["ore", "freighter"].map(|name| entity(&mut other, name));
    assert_eq!(other.pair_value::<Stores>(ship, ore), Some(&Stores(15)));
    other.check_pairs()?;
    println!(
        "{} pairs came through the file",
        other.pairs::<Stores>().len() + other.pairs::<DockedTo>().len()
    );
    Ok(())
}
