//! The files that worlds are made from.

use bevy::prelude::*;
use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error};
use std::{fs, path::PathBuf};

/// Where a file in `assets/` at the root of the repository is.
pub fn asset(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "assets", name].iter().collect()
}

/// Reads what a RON file in `assets/` describes.
///
/// # Errors
/// If there is no such file, or if it describes something else; the message names the file and the place.
pub fn load<T: DeserializeOwned>(name: &str) -> Result<T> {
    let text = fs::read_to_string(asset(name)).map_err(|error| format!("assets/{name}: {error}"))?;
    Ok(ron::from_str(&text).map_err(|error| format!("assets/{name}:{error}"))?)
}

/// A colour written as in `"ffb454"`, for serde's `deserialize_with`.
///
/// # Errors
/// If it is not written so.
pub fn colour<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Color, D::Error> {
    let text = String::deserialize(deserializer)?;
    Srgba::hex(&text).map(Color::Srgba).map_err(|error| D::Error::custom(format!("{text}: {error}")))
}
