//! Stars, orbits, trails, and what the mouse is at.

use crate::{
    bodies::{Body, Kind, Orbit, Orbits, Trail},
    hand::{Hand, Held},
    motion::Motion,
};
use bevy::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_scenes::{
    images::{Images, Shape},
    palette,
    random::Random,
    stage::{BEHIND, Behind, SIZE},
};

/// How bright stars are, in so many steps.
const KINDS: f32 = 5.0;

/// Whether bodies leave trails.
#[derive(Resource)]
struct Trails(bool);

pub(crate) fn plugin(app: &mut App) {
    app.insert_resource(Trails(true)).add_systems(Startup, spawn_stars);
    app.add_systems(Update, switch_trails);
    app.add_systems(Update, (draw_orbits, draw_trails, draw_hover, draw_hold).after(Motion));
}

fn spawn_stars(mut commands: Commands, images: Res<Images>) {
    let mut random = Random::new(7);
    for _ in 0..130 {
        let at = (vec2(random.next(), random.next()) - 0.5) * SIZE.as_vec2() * 1.3;
        // Of few kinds, each at a height of its own: Bevy draws sprites that look the same, and lie above each
        // other, in one go.
        let brightness = (random.next().powi(3) * KINDS).floor() / KINDS;
        let star =
            images.sprite(Shape::Disc, 0.6 + brightness, palette::PLAIN.with_alpha(0.12 + 0.5 * brightness));
        commands.spawn((star, Transform::from_translation(at.extend(brightness - 10.0)), BEHIND));
    }
}

fn switch_trails(keys: Res<ButtonInput<KeyCode>>, mut trails: ResMut<Trails>) {
    if keys.just_pressed(KeyCode::KeyT) {
        trails.0 = !trails.0;
    }
}

/// A ring for every pair, unless the mouse holds one of its ends: then a line, if the source waits for the target.
fn draw_orbits(
    mut gizmos: Gizmos<Behind>,
    orbits: PairQuery<
        Orbits,
        (&'static Body, &'static Orbit, &'static Transform),
        (&'static Transform, Has<Held>),
        Without<Held>,
    >,
) {
    for ((body, orbit, at), _, (centre, waits)) in &orbits {
        let (at, centre) = (at.translation.truncate(), centre.translation.truncate());
        if waits {
            gizmos.line_2d(centre, at, palette::PLAIN.with_alpha(0.08));
            continue;
        }
        let strength = if body.kind == Kind::Planet { 0.11 } else { 0.09 };
        gizmos.circle_2d(centre, orbit.radius, palette::PLAIN.with_alpha(strength)).resolution(96);
    }
}

fn draw_trails(mut gizmos: Gizmos<Behind>, shown: Res<Trails>, trails: Query<(&Body, &Trail, &Transform)>) {
    if !shown.0 {
        return;
    }
    for (body, trail, transform) in &trails {
        let places = trail.0.iter().copied().chain([transform.translation.truncate()]);
        let last = trail.0.len().max(1) as f32;
        let fade = |nth: usize| body.color.with_alpha(0.75 * (nth as f32 / last).powi(2));
        gizmos.linestrip_gradient_2d(places.enumerate().map(|(nth, place)| (place, fade(nth))));
    }
}

/// The way from the body under the mouse up to its sun, and a ring around what circles it, however deep.
fn draw_hover(
    mut gizmos: Gizmos<Behind>,
    mut front: Gizmos,
    hand: Res<Hand>,
    orbits: Pairs<Orbits>,
    bodies: Query<(&Body, &Transform)>,
) {
    let Some(over) = hand.over else { return };
    let mut ring = |body, color: Color| {
        if let Ok((body, at)) = bodies.get(body) {
            front.circle_2d(at.translation.truncate(), body.radius + 4.0, color).resolution(48);
        }
    };
    ring(over, palette::BRIGHT);
    for (below, _) in orbits.descendants(over) {
        ring(below, palette::GOOD.with_alpha(0.7));
    }
    let way = bodies.iter_many([over].into_iter().chain(orbits.ancestors(over)));
    gizmos.linestrip_2d(
        way.flatten().map(|(_, at)| at.translation.truncate()),
        palette::BRIGHT.with_alpha(0.5),
    );
}

/// The orbit that a body would have if the mouse let go of it. One that would be refused has another colour.
fn draw_hold(
    mut gizmos: Gizmos<Behind>,
    hand: Res<Hand>,
    orbits: Pairs<Orbits>,
    bodies: Query<&Transform, With<Body>>,
) {
    let Some((held, goal)) = hand.holds else { return };
    let color = if orbits.is_ancestor(held, goal) { palette::BAD } else { palette::BRIGHT };
    let Ok([held, goal]) = bodies.get_many([held, goal]) else { return };
    let (held, goal) = (held.translation.truncate(), goal.translation.truncate());
    gizmos.line_2d(held, goal, color.with_alpha(0.6));
    gizmos.circle_2d(goal, held.distance(goal), color.with_alpha(0.45)).resolution(96);
}
