//! A moving picture of a run: an animated GIF, as in the README.

use bevy::{
    diagnostic::FrameCount,
    prelude::*,
    render::view::screenshot::{Screenshot, ScreenshotCaptured},
};
use color_quant::NeuQuant;
use gif::{DisposalMethod, Encoder, Frame, Repeat};
use image::{
    RgbImage,
    imageops::{FilterType, resize},
};
use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
};

/// Frames of the run from one picture to the next: fifteen pictures a second.
pub(crate) const EVERY: u32 = 4;
/// How long a picture is shown, in hundredths of a second.
const DELAY: u16 = 7;
/// How many times smaller pictures are than the window.
const SMALLER: u32 = 2;
/// The index of a palette that stands for what was there before; the others are colours.
const AS_BEFORE: u8 = 255;

/// The pictures of a run that is filmed.
#[derive(Resource)]
pub(crate) struct Film {
    file: PathBuf,
    frames: u32,
    pictures: Vec<RgbImage>,
    failed: bool,
}

impl Film {
    pub(crate) fn new(file: PathBuf, frames: u32) -> Self {
        Self { file, frames, pictures: Vec::new(), failed: false }
    }

    fn wanted(&self) -> usize {
        self.frames.div_ceil(EVERY) as usize
    }
}

/// Takes a picture of every fourth frame. They come some frames later, in this order.
pub(crate) fn shoot(mut commands: Commands, film: Res<Film>, frame: Res<FrameCount>) {
    if frame.0.is_multiple_of(EVERY) && frame.0 < film.frames {
        commands.spawn(Screenshot::primary_window()).observe(keep);
    }
}

fn keep(picture: On<ScreenshotCaptured>, mut film: ResMut<Film>) {
    match picture.image.clone().try_into_dynamic() {
        Ok(image) => {
            let image = image.into_rgb8();
            let (width, height) = (image.width() / SMALLER, image.height() / SMALLER);
            film.pictures.push(resize(&image, width, height, FilterType::Triangle));
        }
        Err(problem) => {
            error!("a picture cannot be used: {problem}");
            film.failed = true;
        }
    }
}

/// Ends the run when the last picture has come.
pub(crate) fn end(film: Res<Film>, mut exit: MessageWriter<AppExit>) {
    if film.failed {
        exit.write(AppExit::error());
    } else if film.pictures.len() == film.wanted() {
        exit.write(match write(&film.pictures, &film.file) {
            Ok(()) => AppExit::Success,
            Err(problem) => {
                error!("{}: {problem}", film.file.display());
                AppExit::error()
            }
        });
    }
}

/// Writes the pictures with one palette. What does not change from one to the next takes next to no room.
fn write(pictures: &[RgbImage], file: &Path) -> Result {
    let Some(first) = pictures.first() else { return Err("there is no picture".into()) };
    let palette = palette(pictures);
    let (width, height) = (u16::try_from(first.width())?, u16::try_from(first.height())?);
    let out = BufWriter::new(File::create(file)?);
    let mut encoder = Encoder::new(out, width, height, &palette.color_map_rgb())?;
    encoder.set_repeat(Repeat::Infinite)?;
    let mut before: Option<Vec<u8>> = None;
    for picture in pictures {
        let pixels: Vec<u8> = picture.pixels().map(|pixel| index(&palette, pixel.0)).collect();
        let changed = match &before {
            Some(before) => pixels
                .iter()
                .zip(before)
                .map(|(&now, &then)| if now == then { AS_BEFORE } else { now })
                .collect(),
            None => pixels.clone(),
        };
        encoder.write_frame(&Frame {
            delay: DELAY,
            dispose: DisposalMethod::Keep,
            transparent: Some(AS_BEFORE),
            width,
            height,
            buffer: changed.into(),
            ..Frame::default()
        })?;
        before = Some(pixels);
    }
    Ok(())
}

fn index(palette: &NeuQuant, [red, green, blue]: [u8; 3]) -> u8 {
    palette.index_of(&[red, green, blue, u8::MAX]) as u8
}

/// The colours that are nearest to those of all pictures.
fn palette(pictures: &[RgbImage]) -> NeuQuant {
    // Some pictures are enough: the same things are in those between them.
    let pixels: Vec<u8> = pictures
        .iter()
        .step_by((pictures.len() / 8).max(1))
        .flat_map(|picture| picture.pixels())
        .flat_map(|pixel| [pixel.0[0], pixel.0[1], pixel.0[2], u8::MAX])
        .collect();
    NeuQuant::new(10, AS_BEFORE.into(), &pixels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::Rgb;

    #[test]
    fn a_film_shows_its_pictures_in_order() {
        let colors = [[200, 30, 30], [30, 200, 30], [30, 30, 200]];
        let pictures = colors.map(|color| {
            RgbImage::from_fn(64, 48, |x, _| if x < 32 { Rgb([10, 10, 10]) } else { Rgb(color) })
        });
        let file = std::env::temp_dir().join(format!("film-{}.gif", std::process::id()));
        write(&pictures, &file).expect("the folder can be written to");
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(File::open(&file).expect("it is there")).expect("it is a GIF");
        for (number, color) in colors.into_iter().enumerate() {
            let frame = decoder.read_next_frame().expect("it is right").expect("there are three");
            let pixel = |x: usize| frame.buffer[4 * x..4 * x + 4].to_vec();
            // The left half is written once.
            assert_eq!(pixel(0)[3], if number == 0 { 255 } else { 0 });
            let near = pixel(63).iter().zip(color).all(|(&is, wanted)| is.abs_diff(wanted) < 12);
            assert!(near && pixel(63)[3] == 255, "{:?} is not {color:?}", pixel(63));
        }
        assert!(decoder.read_next_frame().expect("it is right").is_none());
        std::fs::remove_file(&file).expect("it is there");
        assert!(write(&[], &file).is_err());
    }
}
