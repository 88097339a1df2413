//! Where ships fly.

use crate::{
    docks::WOUNDED,
    orders::{Diplomacy, Order, Orders, Think},
    world::{DockedTo, Escorts, HostileTo, Ship, Station, Velocity},
};
use bevy::prelude::*;
use bevy_relations::query::{Target, Up};

/// Pixels per second.
const CRUISE: f32 = 42.0;
const HURRY: f32 = 78.0;
/// How fast ships turn to where they want to go: a fraction per second.
const AGILITY: f32 = 1.9;

/// Ships have their final places after it.
#[derive(SystemSet, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Flight;

pub(crate) fn plugin(app: &mut App) {
    app.add_systems(Update, (steer, fly).chain().in_set(Flight).after(Think));
}

/// What a ship goes by: the order from above, whom it follows, whom it fights.
type Guidance = (Orders, Option<Up<Escorts, &'static Transform, 1, 1>>, Option<Target<HostileTo>>);

fn steer(
    time: Res<Time>,
    diplomacy: Diplomacy,
    places: Query<&Transform>,
    mut ships: Query<(Entity, &Ship, &Transform, &mut Velocity, Guidance)>,
) {
    let place = |of: Entity| places.get(of).ok().map(|place| place.translation.truncate());
    let now = time.elapsed_secs();
    for (entity, ship, transform, mut velocity, (order, leader, enemy)) in &mut ships {
        let at = transform.translation.truncate();
        let circle = |around: Vec2, radius: f32, speed: f32| {
            let phase = now * speed / radius + ship.number as f32 * 0.61;
            (around + Vec2::from_angle(phase) * radius, speed)
        };
        let returns = ship.health < WOUNDED || *order == Order::Return;
        let (goal, speed) = if returns {
            (diplomacy.haven(entity, at).map_or(at, |(_, place)| place), HURRY)
        } else if let Some(enemy) = enemy.and_then(|enemy| place(*enemy)) {
            circle(enemy, 26.0 + 9.0 * (ship.number % 6) as f32, HURRY)
        } else if let Some(leader) = leader {
            let leader = leader.translation.truncate();
            let ahead = (leader - at).normalize_or(Vec2::X);
            (leader + post(ship, ahead), HURRY)
        } else {
            match *order {
                Order::Raid(station) => circle(place(station).unwrap_or(at), 95.0, CRUISE),
                Order::Guard(around) => circle(around, 55.0, CRUISE),
                Order::Return => (at, 0.0),
            }
        };
        let wanted = ((goal - at) * 1.6).clamp_length_max(speed);
        let turn = (AGILITY * time.delta_secs()).min(1.0);
        velocity.0 = velocity.0.lerp(wanted, turn);
    }
}

/// Where a ship flies, seen from its leader, which lies in this direction.
fn post(ship: &Ship, ahead: Vec2) -> Vec2 {
    let side = (ship.number as f32 * 0.618).fract() - 0.5;
    let back = 18.0 + 11.0 * (ship.number % 3) as f32;
    -ahead.rotate(Vec2::from_angle(2.4 * side)) * back
}

/// Moves ships. Those at a station lie around it, each at a berth of its own.
fn fly(
    time: Res<Time>,
    stations: Query<&Transform, (With<Station>, Without<Ship>)>,
    mut ships: Query<(&Ship, &mut Velocity, &mut Transform, Option<Target<DockedTo>>)>,
) {
    for (ship, mut velocity, mut transform, docked) in &mut ships {
        let at = transform.translation.truncate();
        let berth = docked.and_then(|station| stations.get(*station).ok()).map(|station| {
            let out = Vec2::from_angle(ship.number as f32 * 2.399_963);
            (station.translation.truncate() + out * (28.0 + 14.0 * (ship.number % 2) as f32), out)
        });
        let (at, heading) = match berth {
            Some((berth, out)) => {
                velocity.0 = out * 20.0;
                (at.lerp(berth, (3.0 * time.delta_secs()).min(1.0)), out)
            }
            None => (at + velocity.0 * time.delta_secs(), velocity.0),
        };
        transform.translation = at.extend(transform.translation.z);
        transform.rotation = transform
            .rotation
            .slerp(Quat::from_rotation_z(heading.to_angle()), (5.0 * time.delta_secs()).min(1.0));
    }
}
