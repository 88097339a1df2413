//! Images drawn in code, white, to be tinted by a sprite's colour.

use bevy::{
    asset::RenderAssetUsages,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat},
};

/// Pixels along the edge of an image. The disc inside reaches to the edge.
const SIZE: u32 = 128;

/// The images that sprites are made of.
#[derive(Resource)]
pub struct Images {
    /// A disc with a smooth edge.
    pub disc: Handle<Image>,
    /// A ball lit from the right, so that a sprite turned towards a light looks lit by it.
    pub ball: Handle<Image>,
    /// A ship that flies to the right.
    pub dart: Handle<Image>,
    /// Light that fades from the middle to the edge.
    pub glow: Handle<Image>,
}

impl FromWorld for Images {
    fn from_world(world: &mut World) -> Self {
        let mut images = world.resource_mut::<Assets<Image>>();
        Self {
            disc: images.add(draw(|at| (1.0, edge(at.length())))),
            ball: images.add(draw(|at| (ball(at), edge(at.length())))),
            dart: images.add(draw(dart)),
            glow: images.add(draw(|at| (1.0, (1.0 - at.length()).max(0.0).powf(2.4)))),
        }
    }
}

/// A sprite of an image, so wide, in a colour.
pub fn sprite(image: &Handle<Image>, radius: f32, color: Color) -> Sprite {
    Sprite { image: image.clone(), color, custom_size: Some(Vec2::splat(2.0 * radius)), ..default() }
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

/// Draws an image from how bright and how opaque it is at a place between -1 and 1 on both axes.
fn draw(pixel: impl Fn(Vec2) -> (f32, f32)) -> Image {
    let mut data = Vec::with_capacity((SIZE * SIZE * 4) as usize);
    for y in 0..SIZE {
        for x in 0..SIZE {
            let at = (vec2(x as f32, y as f32) + 0.5) * 2.0 / SIZE as f32 - 1.0;
            let (brightness, opacity) = pixel(at);
            let bytes = [brightness, brightness, brightness, opacity].map(|part| (part * 255.0) as u8);
            data.extend(bytes);
        }
    }
    Image::new(
        Extent3d { width: SIZE, height: SIZE, depth_or_array_layers: 1 },
        TextureDimension::D2,
        data,
        TextureFormat::Rgba8UnormSrgb,
        RenderAssetUsages::RENDER_WORLD,
    )
}
