//! What sprites look like: shapes drawn in code, white, to be tinted by a sprite's colour.
//!
//! All shapes are parts of one image. Bevy draws sprites in one go only if they have one image, part, size and colour, and if
//! no other lies between them.

use bevy::{
    asset::RenderAssetUsages,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat},
};

/// Pixels along the edge of a shape. The disc inside reaches to the edge.
const SIZE: u32 = 128;
/// Pixels around each shape, so that none shows at the edge of another.
const MARGIN: u32 = 2;
/// Pixels from one shape to the next.
const PITCH: u32 = SIZE + 2 * MARGIN;

/// What a sprite looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A disc with a smooth edge.
    Disc,
    /// A ball lit from the right, so that a sprite turned towards a light looks lit by it.
    Ball,
    /// A ship that flies to the right.
    Dart,
    /// Light that fades from the middle to the edge.
    Glow,
    /// All of its square.
    Square,
}

/// The shapes that are drawn, in the order in which they lie in the image. The square is the middle of the disc.
const DRAWN: [Shape; 4] = [Shape::Disc, Shape::Ball, Shape::Dart, Shape::Glow];

impl Shape {
    /// How bright and how opaque it is at a place between -1 and 1 on both axes.
    fn pixel(self, at: Vec2) -> (f32, f32) {
        match self {
            Self::Disc => (1.0, edge(at.length())),
            Self::Ball => (ball(at), edge(at.length())),
            Self::Dart => dart(at),
            Self::Glow => (1.0, (1.0 - at.length()).max(0.0).powf(2.4)),
            Self::Square => (1.0, 1.0),
        }
    }

    /// The part of the image that shows it.
    fn rect(self) -> Rect {
        let nth = DRAWN.iter().position(|&drawn| drawn == self).unwrap_or(0);
        let middle = vec2(nth as f32 + 0.5, 0.5) * PITCH as f32;
        let size = if self == Self::Square { SIZE / 2 } else { SIZE };
        Rect::from_center_size(middle, Vec2::splat(size as f32))
    }
}

/// The image that all sprites are made of.
#[derive(Resource)]
pub struct Images(Handle<Image>);

impl FromWorld for Images {
    fn from_world(world: &mut World) -> Self {
        Self(world.resource_mut::<Assets<Image>>().add(draw()))
    }
}

impl Images {
    /// A sprite of a shape, from its middle to its edge so far, in a colour.
    pub fn sprite(&self, shape: Shape, radius: f32, color: Color) -> Sprite {
        let custom_size = Some(Vec2::splat(2.0 * radius));
        Sprite { image: self.0.clone(), rect: Some(shape.rect()), color, custom_size, ..default() }
    }
}

/// How much of a pixel at this distance from the middle belongs to the disc.
fn edge(distance: f32) -> f32 {
    let pixel = 2.0 / SIZE as f32;
    ((1.0 - distance) / (1.5 * pixel)).clamp(0.0, 1.0)
}

/// How bright a ball is there. Its night side is left dark, but not lost against the sky.
fn ball(at: Vec2) -> f32 {
    let height = (1.0 - at.length_squared()).max(0.0).sqrt();
    let light = Vec3::new(0.86, 0.0, 0.51).dot(at.extend(height));
    0.20 + 0.80 * (light + 0.12).clamp(0.0, 1.0).powf(0.8)
}

/// A triangle with a notch at its end, brighter towards its bow.
fn dart(at: Vec2) -> (f32, f32) {
    let side = (1.0 - at.x) * 0.36 - at.y.abs();
    let stern = at.x + 0.95 - 0.45 * (0.7 - at.y.abs()).max(0.0);
    (0.82 + 0.18 * at.x, (side.min(stern) * 0.5 * SIZE as f32).clamp(0.0, 1.0))
}

/// Draws the shapes side by side.
fn draw() -> Image {
    let width = PITCH * DRAWN.len() as u32;
    let mut data = Vec::with_capacity((width * PITCH * 4) as usize);
    for y in 0..PITCH {
        for x in 0..width {
            let from_middle = vec2((x % PITCH) as f32, y as f32) + 0.5 - 0.5 * PITCH as f32;
            let (brightness, opacity) = DRAWN[(x / PITCH) as usize].pixel(from_middle * 2.0 / SIZE as f32);
            let bytes = [brightness, brightness, brightness, opacity].map(|part| (part * 255.0) as u8);
            data.extend(bytes);
        }
    }
    Image::new(
        Extent3d { width, height: PITCH, depth_or_array_layers: 1 },
        TextureDimension::D2,
        data,
        TextureFormat::Rgba8UnormSrgb,
        RenderAssetUsages::RENDER_WORLD,
    )
}
