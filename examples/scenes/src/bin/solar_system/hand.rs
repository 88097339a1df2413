//! What the mouse does: looks at bodies, moves them to another centre, destroys them.

use crate::{
    bodies::{Body, Kind, Orbit, Orbits},
    motion::Motion,
};
use bevy::prelude::*;
use bevy_relations::{error::InsertPairError, prelude::*};
use bevy_relations_scenes::{notice::Notice, pointer::Pointer};
use std::f32::consts::TAU;

/// What the mouse is at.
#[derive(Resource, Default)]
pub(crate) struct Hand {
    /// The body under it.
    pub over: Option<Entity>,
    /// The body that it holds, and the one that this would circle if it let go.
    pub holds: Option<(Entity, Entity)>,
}

/// In the hand, with the orbit that it had and the place where it was taken.
#[derive(Component)]
pub(crate) struct Held {
    radius: f32,
    angle: f32,
    from: Vec2,
}

/// A body that is moved less than this was only clicked on.
const CLICK: f32 = 3.0;

pub(crate) fn plugin(app: &mut App) {
    app.init_resource::<Hand>();
    app.add_systems(Update, (look, take, carry, let_go, destroy).chain().before(Motion));
}

/// The body whose disc, made larger by `reach`, is under a place.
fn body_at<'a>(
    at: Vec2,
    reach: f32,
    bodies: impl IntoIterator<Item = (Entity, &'a Body, &'a Transform)>,
) -> Option<Entity> {
    bodies
        .into_iter()
        .map(|(entity, body, place)| (place.translation.truncate().distance(at) - body.radius, entity))
        .filter(|&(distance, _)| distance < reach)
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, entity)| entity)
}

fn look(
    pointer: Res<Pointer>,
    mut hand: ResMut<Hand>,
    bodies: Query<(Entity, &Body, &Transform), Without<Held>>,
) {
    hand.over = pointer.at.and_then(|at| body_at(at, 6.0, bodies));
}

fn take(
    mut commands: Commands,
    buttons: Res<ButtonInput<MouseButton>>,
    pointer: Res<Pointer>,
    hand: Res<Hand>,
    bodies: Query<&Orbit, With<Body>>,
) {
    if buttons.just_pressed(MouseButton::Left)
        && let (Some(from), Some(over)) = (pointer.at, hand.over)
        && let Ok(&Orbit { radius, angle, .. }) = bodies.get(over)
    {
        commands.entity(over).insert(Held { radius, angle, from });
    }
}

/// Keeps what is held under the mouse, and finds out what it would circle: the body right there, or the
/// nearest sun.
fn carry(
    pointer: Res<Pointer>,
    mut hand: ResMut<Hand>,
    orbits: Pairs<Orbits>,
    mut held: Query<(Entity, &mut Orbit, &mut Transform), With<Held>>,
    others: Query<(Entity, &Body, &Transform), Without<Held>>,
) {
    hand.holds = None;
    let Some(at) = pointer.at else { return };
    for (body, mut orbit, mut transform) in &mut held {
        let centre = orbits.target(body).and_then(|centre| others.get(centre).ok());
        match centre {
            Some((_, _, centre)) => orbit.set_offset(at - centre.translation.truncate()),
            None => transform.translation = at.extend(0.0),
        }
        let suns = others.iter().filter(|(_, body, _)| body.kind == Kind::Sun);
        let goal = body_at(at, 12.0, others).or_else(|| body_at(at, f32::INFINITY, suns));
        hand.holds = goal.map(|goal| (body, goal));
    }
}

fn let_go(
    mut commands: Commands,
    buttons: Res<ButtonInput<MouseButton>>,
    pointer: Res<Pointer>,
    mut hand: ResMut<Hand>,
    mut held: Query<(Entity, &Held, &mut Orbit)>,
) {
    if buttons.pressed(MouseButton::Left) {
        return;
    }
    for (body, &Held { radius, angle, from }, mut orbit) in &mut held {
        let goal = hand.holds.take();
        commands.entity(body).remove::<Held>();
        if pointer.at.is_none_or(|at| at.distance(from) < CLICK) {
            (orbit.radius, orbit.angle) = (radius, angle);
        } else if let Some((_, goal)) = goal {
            commands.queue(move |world: &mut World| move_to(world, body, goal, (radius, angle)));
        }
    }
}

/// Lets a body circle another one. If that is refused it goes back to the orbit that it had.
fn move_to(world: &mut World, body: Entity, goal: Entity, before: (f32, f32)) {
    // The relation is exclusive: a pair with another target takes the place of this one.
    let refusal = world.insert_pair(body, Orbits, goal).err();
    if refusal.is_none() {
        settle(world, body, goal);
    } else if let Some(mut orbit) = world.get_mut::<Orbit>(body) {
        (orbit.radius, orbit.angle) = before;
    }
    let name = |body| world.get::<Name>(body).map_or("?", Name::as_str);
    let notice = match &refusal {
        None => Notice::good(format!("{} orbits {}", name(body), name(goal))),
        Some(InsertPairError::Cycle { path, .. }) => {
            let path: Vec<_> = path.entities().iter().map(|&body| name(body)).collect();
            Notice::bad(format!("refused, it would close a cycle: {}", path.join(" -> ")))
        }
        Some(error) => Notice::bad(error.to_string()),
    };
    world.insert_resource(notice);
}

/// Gives a body an orbit around its new centre that starts where it is, if there is room.
fn settle(world: &mut World, body: Entity, centre: Entity) {
    let mut bodies = world.query::<(&Body, &Transform)>();
    let Ok([(own, from), (centre, to)]) = bodies.get_many(world, [body, centre]) else { return };
    let offset = (from.translation - to.translation).truncate();
    let (nearest, pull) = (own.radius + centre.radius + 6.0, centre.radius);
    if let Some(mut orbit) = world.get_mut::<Orbit>(body) {
        orbit.set_offset(offset);
        orbit.radius = orbit.radius.max(nearest);
        orbit.speed = speed(pull, orbit.radius).copysign(orbit.speed);
    }
}

/// Radians per second. Larger bodies pull more, and what is far away goes slowly, as Kepler found.
fn speed(pull: f32, radius: f32) -> f32 {
    TAU * 2.3 * pull / radius.powf(1.5)
}

fn destroy(mut commands: Commands, buttons: Res<ButtonInput<MouseButton>>, hand: Res<Hand>) {
    if buttons.just_pressed(MouseButton::Right)
        && let Some(over) = hand.over
    {
        commands.entity(over).despawn();
    }
}
