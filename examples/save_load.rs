//! Saves pairs to RON and loads them: into a new world, over a changed one, and from an older version of the program.
//!
//! Shows `PairSnapshot::to_saved`, `SavedPairs::load`, aliases of renamed relations, migrations, and what happens to a save
//! that is wrong.
//!
//! ```text
//! cargo run --example save_load
//! ```
//!
//! It prints the save and what becomes of it, and checks it:
//!
//! ```text
//! refused: relation `Equips`, pair 1: cannot insert (Equips, shield (..)) on knight (..): ..
//! ```

use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::Reflect;
use bevy_relations::{
    prelude::*,
    snapshot::{
        LoadedPairs, PairFilter, PairSnapshot, SavedPairsDeserializer, SavedPairsSerializer, WorldSaveExt,
    },
};
use serde::de::DeserializeSeed;

/// What somebody has in a hand.
#[derive(Relation, Reflect, Clone, PartialEq, Eq, Debug)]
#[relation(key = Self)]
enum Equips {
    Left,
    Right,
}

#[derive(Relation)]
#[relation(symmetric)]
struct Allied;

/// Version 2 of the game, in which `Wields` of version 1 has become `Equips`.
fn new_world() -> World {
    let mut world = World::new();
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().write().register::<Equips>();
    world.register_relation::<Equips>().unwrap();
    world.register_relation::<Allied>().unwrap();
    world.add_relation_alias("Wields", "Equips");
    world.set_save_version(2, |saved, _| {
        // In version 1 everything was in the right hand.
        for pair in saved.relations.iter_mut().flat_map(|relation| &mut relation.pairs) {
            pair.value = Some(Box::new(Equips::Right));
        }
        Ok(())
    });
    world
}

fn save(world: &mut World) -> Result<String> {
    let saved = PairSnapshot::take(world, PairFilter::all())?.to_saved(world)?;
    let types = world.resource::<AppTypeRegistry>().read();
    Ok(ron::ser::to_string_pretty(&SavedPairsSerializer::new(&saved, &types), ron::ser::PrettyConfig::new())?)
}

fn load(world: &mut World, text: &str) -> Result<LoadedPairs> {
    let types = world.resource::<AppTypeRegistry>().0.clone();
    let types = types.read();
    let mut file = ron::Deserializer::from_str(text)?;
    let saved = SavedPairsDeserializer::new(&types).deserialize(&mut file)?;
    Ok(saved.load(world)?)
}

fn main() -> Result {
    let mut world = new_world();
    let [knight, squire, sword, shield] =
        ["knight", "squire", "sword", "shield"].map(|name| world.spawn(Name::new(name)).id());
    world.insert_pair(knight, Equips::Right, sword)?;
    world.insert_pair(knight, Equips::Left, shield)?;
    world.insert_pair(knight, Allied, squire)?;
    let text = save(&mut world)?;
    println!("{text}");

    // Into a new world, in which a save looks just the same.
    let mut other = new_world();
    let loaded = load(&mut other, &text)?;
    assert_eq!((loaded.spawned.len(), save(&mut other)?), (4, text.clone()));

    // Over a changed world: entities are found by their `SaveId`, and only what differs changes.
    let knight = loaded.entities[0];
    other.remove_pairs::<Equips>(knight);
    let again = load(&mut other, &text)?;
    assert_eq!((again.spawned.len(), again.applied.inserted), (0, 2));

    // Of an older version.
    let old = r#"(format: 1, version: 1, all_relations: false, sources: None,
        entities: [Entity(id: 0, name: Some("monk")), Entity(id: 1, name: Some("staff"))],
        relations: [(name: "Wields", pairs: [(0, 1, None)], orders: [])])"#;
    let mut monastery = new_world();
    let [monk, staff] = load(&mut monastery, old)?.entities[..] else { panic!("there are two") };
    assert_eq!(monastery.pair_value::<Equips>(monk, staff), Some(&Equips::Right));

    // Two things in one hand: refused as a whole.
    let error = load(&mut new_world(), &text.replace("Left", "Right")).unwrap_err();
    println!("refused: {error}");
    assert!(error.to_string().starts_with("relation `Equips`, pair "));
    Ok(())
}
