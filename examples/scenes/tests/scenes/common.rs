//! Runs a scene and reads its picture.

use bevy::prelude::*;
use bevy_relations_scenes::{
    files::asset,
    palette,
    stage::{SIZE, STEP},
};
use image::RgbImage;
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// A picture of a scene.
pub(crate) struct Picture(pub(crate) RgbImage);

/// The executable of a scene.
pub(crate) fn command(scene: &str) -> Command {
    Command::new(match scene {
        "solar_system" => env!("CARGO_BIN_EXE_solar_system"),
        "factions" => env!("CARGO_BIN_EXE_factions"),
        "loadout" => env!("CARGO_BIN_EXE_loadout"),
        _ => panic!("there is no scene {scene}"),
    })
}

/// Runs a scene for so many frames, with the input of a play from `assets/plays` if one is named, and gives the
/// last frame. `test` tells its file from those of other tests.
pub(crate) fn picture(scene: &str, test: &str, frames: u32, play: Option<&str>) -> Picture {
    let file: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.png"));
    let mut command = command(scene);
    command.args(["--frames", &frames.to_string(), "--screenshot"]).arg(&file);
    if let Some(play) = play {
        command.arg("--play").arg(asset("plays").join(play));
    }
    let output = command.output().expect("the scene is built with this test");
    assert!(
        output.status.success(),
        "{scene} failed; is there a display? {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let picture = image::open(&file).expect("the scene has written a picture").into_rgb8();
    assert_eq!(picture.dimensions(), (SIZE.x, SIZE.y));
    Picture(picture)
}

/// The time that has passed in the world in the last of so many frames. It stands still in the first one.
pub(crate) fn time(frames: u32) -> f32 {
    STEP.as_secs_f32() * (frames - 1) as f32
}

impl Picture {
    /// The colour at a place in the world.
    pub(crate) fn at(&self, place: Vec2) -> Vec3 {
        let middle = SIZE.as_vec2() / 2.0;
        let (x, y) = ((middle.x + place.x) as u32, (middle.y - place.y) as u32);
        Vec3::from(
            self.0.get_pixel(x.min(SIZE.x - 1), y.min(SIZE.y - 1)).0.map(|part| f32::from(part) / 255.0),
        )
    }

    /// How far the colour that comes nearest to `color`, `reach` around a place, is from it: up to 1.
    pub(crate) fn distance(&self, place: Vec2, reach: i32, color: Vec3) -> f32 {
        let around = (-reach..=reach).flat_map(|x| (-reach..=reach).map(move |y| ivec2(x, y).as_vec2()));
        around.map(|offset| (self.at(place + offset) - color).abs().max_element()).fold(1.0, f32::min)
    }

    /// The share of the picture that is not sky.
    pub(crate) fn covered(&self) -> f32 {
        let sky = parts(palette::NIGHT);
        let is_sky = |pixel: &&image::Rgb<u8>| {
            let color = Vec3::from(pixel.0.map(|part| f32::from(part) / 255.0));
            (color - sky).abs().max_element() < 0.01
        };
        1.0 - self.0.pixels().filter(is_sky).count() as f32 / self.0.pixels().len() as f32
    }
}

/// Red, green and blue.
pub(crate) fn parts(color: Color) -> Vec3 {
    let Srgba { red, green, blue, .. } = color.to_srgba();
    vec3(red, green, blue)
}
