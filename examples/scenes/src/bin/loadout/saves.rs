//! Saves what lies where to a file, and loads it. Kinds, containers and the hero have a `SaveId`, so that a save of an
//! earlier run finds those of this one.

use crate::world::{Equips, Holds};
use bevy::{input::common_conditions::input_just_pressed, prelude::*};
use bevy_relations::snapshot::{PairFilter, PairSnapshot, SavedPairsDeserializer, SavedPairsSerializer};
use bevy_relations_scenes::notice::Notice;
use serde::de::DeserializeSeed;
use std::{env, fs, io, path::PathBuf};

pub(crate) fn plugin(app: &mut App) {
    app.add_systems(Update, save.pipe(say).run_if(input_just_pressed(KeyCode::F5)));
    app.add_systems(Update, load.pipe(say).run_if(input_just_pressed(KeyCode::F9)));
}

fn file() -> PathBuf {
    env::temp_dir().join("bevy_relations_loadout.ron")
}

fn say(In(result): In<Result<String>>, mut commands: Commands) {
    commands.insert_resource(Notice::from(result.map_err(|error| format!("refused: {error}"))));
}

fn save(world: &mut World) -> Result<String> {
    let snapshot = PairSnapshot::take(world, PairFilter::none().relation::<Holds>().relation::<Equips>())?;
    let saved = snapshot.to_saved(world)?;
    let types = world.resource::<AppTypeRegistry>().read();
    let pretty = ron::ser::PrettyConfig::default();
    let text = ron::ser::to_string_pretty(&SavedPairsSerializer::new(&saved, &types), pretty)?;
    fs::write(file(), text)?;
    Ok(format!("saved to {}", file().display()))
}

fn load(world: &mut World) -> Result<String> {
    let text = fs::read_to_string(file()).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "nothing was saved yet".to_owned(),
        _ => error.to_string(),
    })?;
    let types = world.resource::<AppTypeRegistry>().0.clone();
    let saved = {
        let types = types.read();
        SavedPairsDeserializer::new(&types).deserialize(&mut ron::Deserializer::from_str(&text)?)?
    };
    let applied = saved.load(world)?.applied;
    Ok(format!(
        "loaded: {} pairs came, {} went, {} changed",
        applied.inserted, applied.removed, applied.replaced
    ))
}
