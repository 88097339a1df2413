//! What there is, and where it comes from.

use crate::motion::Motion;
use bevy::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_scenes::{
    files::{self, colour},
    images::{Images, Shape},
    palette,
};
use serde::Deserialize;
use std::f32::consts::{FRAC_PI_4, TAU};

/// The source circles the target. When the target goes, the source stays, without a centre.
#[derive(Relation)]
#[relation(exclusive, traversable)]
pub(crate) struct Orbits;

/// What a body is.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Sun,
    Planet,
    Moon,
    Station,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sun => "sun",
            Self::Planet => "planet",
            Self::Moon => "moon",
            Self::Station => "station",
        }
    }
}

/// Everything that has a place in the sky.
#[derive(Component)]
#[require(Transform, Visibility)]
pub(crate) struct Body {
    pub kind: Kind,
    pub radius: f32,
    pub color: Color,
}

/// How a body circles its centre.
#[derive(Component)]
pub(crate) struct Orbit {
    pub radius: f32,
    pub angle: f32,
    /// Radians per second.
    pub speed: f32,
}

impl Orbit {
    /// The place, seen from the centre.
    pub(crate) fn offset(&self) -> Vec2 {
        Vec2::from_angle(self.angle) * self.radius
    }

    /// Where it is going, seen from the centre.
    pub(crate) fn velocity(&self) -> Vec2 {
        self.offset().perp() * self.speed
    }

    /// Moves it to a place seen from the centre.
    pub(crate) fn set_offset(&mut self, offset: Vec2) {
        self.radius = offset.length().max(1.0);
        self.angle = offset.to_angle();
    }
}

/// Where the light on a body comes from: the place of its sun.
#[derive(Component, Clone, Copy, Default)]
pub(crate) struct Light(pub Vec2);

/// The last places of a body, oldest first.
#[derive(Component, Default)]
pub(crate) struct Trail(pub std::collections::VecDeque<Vec2>);

/// The name of a body, so far below its middle.
#[derive(Component)]
struct Caption {
    below: f32,
}

/// An entry of the file.
#[derive(Deserialize)]
struct Entry {
    name: String,
    kind: Kind,
    radius: f32,
    #[serde(deserialize_with = "colour")]
    colour: Color,
    #[serde(default)]
    at: (f32, f32),
    #[serde(default)]
    orbit: f32,
    #[serde(default)]
    start: f32,
    #[serde(default)]
    period: f32,
    #[serde(default)]
    bodies: Vec<Entry>,
}

impl Entry {
    fn orbit(&self) -> Orbit {
        Orbit { radius: self.orbit, angle: self.start.to_radians(), speed: TAU / self.period }
    }
}

pub(crate) fn plugin(app: &mut App) {
    app.add_systems(Startup, spawn_bodies).add_systems(Update, (start_over, level_captions.after(Motion)));
}

fn spawn_bodies(mut commands: Commands, images: Res<Images>) -> Result {
    let entries: Vec<Entry> = files::load("solar_system.ron")?;
    for sun in &entries {
        spawn(&mut commands, &images, sun, sun.at.into(), None);
    }
    Ok(())
}

/// Spawns a body at a place, around a centre unless it is a sun, and all that circles it.
fn spawn(commands: &mut Commands, images: &Images, entry: &Entry, at: Vec2, centre: Option<Entity>) {
    let Entry { kind, radius, colour: color, .. } = *entry;
    let mut body = commands.spawn((
        Name::new(entry.name.clone()),
        Body { kind, radius, color },
        Transform::from_translation(at.extend(0.0)),
        Light(at),
    ));
    match kind {
        Kind::Sun => {
            body.insert(images.sprite(Shape::Disc, radius, color)).with_children(|sun| {
                let glow =
                    |size, strength| images.sprite(Shape::Glow, radius * size, color.with_alpha(strength));
                sun.spawn((glow(3.6, 0.28), Transform::from_xyz(0.0, 0.0, -2.0)));
                sun.spawn((glow(2.2, 0.75), Transform::from_xyz(0.0, 0.0, -1.0)));
                sun.spawn((
                    images.sprite(Shape::Glow, radius, Color::WHITE.with_alpha(0.65)),
                    Transform::from_xyz(0.0, 0.0, 0.1),
                ));
            });
        }
        Kind::Planet | Kind::Moon => {
            body.insert((images.sprite(Shape::Ball, radius, color), Trail::default()));
        }
        Kind::Station => {
            let square = images.sprite(Shape::Square, radius * 0.8, color);
            body.with_child((square, Transform::from_rotation(Quat::from_rotation_z(FRAC_PI_4))));
            body.insert(Trail::default());
        }
    }
    let body = body.id();
    if let Some(centre) = centre {
        commands.entity(body).insert((entry.orbit(), Pair(Orbits, centre)));
    }
    // Moons and stations are too small to carry one. The tip tells their names.
    let label = match kind {
        Kind::Sun => Some((12.0, palette::PLAIN)),
        Kind::Planet => Some((10.0, palette::DIM)),
        Kind::Moon | Kind::Station => None,
    };
    if let Some((size, color)) = label {
        let text = (Text2d::new(entry.name.clone()), TextFont::from_font_size(size), TextColor(color));
        commands.entity(body).with_child((Caption { below: radius + 1.1 * size }, text));
    }
    for inner in &entry.bodies {
        spawn(commands, images, inner, at + inner.orbit().offset(), Some(body));
    }
}

/// Keeps captions level below their bodies, which turn towards the light.
fn level_captions(
    bodies: Query<&Transform, (With<Body>, Without<Caption>)>,
    mut captions: Query<(&Caption, &ChildOf, &mut Transform)>,
) {
    for (caption, body, mut transform) in &mut captions {
        if let Ok(body) = bodies.get(body.parent()) {
            let back = body.rotation.inverse();
            *transform =
                Transform::from_translation(back * vec3(0.0, -caption.below, 1.0)).with_rotation(back);
        }
    }
}

fn start_over(
    mut commands: Commands,
    keys: Res<ButtonInput<KeyCode>>,
    bodies: Query<Entity, With<Body>>,
    images: Res<Images>,
) -> Result {
    if keys.just_pressed(KeyCode::KeyR) {
        for body in &bodies {
            // Those that go down with another one may be gone already.
            commands.entity(body).try_despawn();
        }
        spawn_bodies(commands, images)?;
    }
    Ok(())
}
