//! How bodies move: around their centre, whose place comes down the relation, or adrift without one.

use crate::{
    bodies::{Light, Orbit, Orbits, Trail},
    hand::Held,
};
use bevy::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_scenes::stage::SIZE;

/// What it keeps of its motion after losing its centre, per second.
#[derive(Component)]
pub(crate) struct Drift(pub Vec2);

/// Places in a trail, and how far they lie apart at least.
const TRAIL: (usize, f32) = (44, 3.0);

/// How fast a body gets back to its orbit, per second. None is as fast while it circles.
const CATCH_UP: f32 = 1500.0;

/// Motion, in this order. Bodies have their final places after it.
#[derive(SystemSet, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Motion;

pub(crate) fn plugin(app: &mut App) {
    app.add_systems(Update, pause);
    app.add_systems(Update, (circle, drift, place, leave_trails).chain().in_set(Motion));
    app.add_observer(let_drift).add_observer(catch);
}

fn pause(keys: Res<ButtonInput<KeyCode>>, mut time: ResMut<Time<Virtual>>) {
    if keys.just_pressed(KeyCode::Space) {
        if time.is_paused() { time.unpause() } else { time.pause() }
    }
}

fn circle(time: Res<Time>, mut orbits: Query<&mut Orbit, Without<Held>>) {
    for mut orbit in &mut orbits {
        let angle = orbit.angle + orbit.speed * time.delta_secs();
        orbit.angle = angle;
    }
}

/// Moves what has no centre, and keeps it in sight, so that it can be caught again.
fn drift(time: Res<Time>, mut drifting: Query<(&mut Drift, &mut Transform)>) {
    let border = SIZE.as_vec2() / 2.0 - 24.0;
    for (mut drift, mut transform) in &mut drifting {
        let at = transform.translation.truncate() + drift.0 * time.delta_secs();
        let back = at.abs().cmpgt(border) & (at * drift.0).cmpgt(Vec2::ZERO);
        drift.0 = Vec2::select(back, -drift.0, drift.0);
        transform.translation = at.extend(transform.translation.z);
    }
}

/// Places every body around its centre, centres first: moons of planets of suns, to any depth. The place of the
/// sun comes down the same way, and the bright side is turned to it.
///
/// What circles a held body waits where it is, within reach of the mouse, and catches up when that is let go.
fn place(
    time: Res<Time>,
    mut bodies: CascadeQuery<
        Orbits,
        (&'static Orbit, &'static mut Transform, &'static mut Light, Has<Held>),
        (&'static Transform, &'static Light, Has<Held>),
    >,
) {
    let step = CATCH_UP * time.delta_secs();
    bodies.for_each(|(orbit, mut transform, mut light, is_held), centre| {
        // What drifts has none.
        let Some((centre, shining, waits)) = centre else { return };
        if waits {
            return;
        }
        let goal = centre.translation.truncate() + orbit.offset();
        let at = if is_held { goal } else { transform.translation.truncate().move_towards(goal, step) };
        *light = *shining;
        transform.translation = at.extend(transform.translation.z);
        transform.rotation = Quat::from_rotation_z((light.0 - at).to_angle());
    });
}

fn leave_trails(mut trails: Query<(&Transform, &mut Trail)>) {
    for (transform, mut trail) in &mut trails {
        let at = transform.translation.truncate();
        if trail.0.back().is_none_or(|last| last.distance(at) >= TRAIL.1) {
            if trail.0.len() == TRAIL.0 {
                trail.0.pop_front();
            }
            trail.0.push_back(at);
        }
    }
}

/// Sends a body that loses its centre on its way, as fast as it and all its centres were going.
fn let_drift(
    lost: On<PairRemoved<Orbits>>,
    mut commands: Commands,
    orbits: Pairs<Orbits>,
    moving: Query<&Orbit>,
) {
    let above = orbits.ancestors(lost.source);
    let velocity = moving.iter_many(above.chain([lost.source])).flatten().map(Orbit::velocity).sum();
    commands.entity(lost.source).try_insert(Drift(velocity));
}

fn catch(caught: On<PairInserted<Orbits>>, mut commands: Commands) {
    commands.entity(caught.source).try_remove::<Drift>();
}
