//! Where ships fly.

use crate::{
    docks::WOUNDED,
    orders::{ChainOfCommand, Diplomacy, Order, Think},
    world::{DockedTo, Escorts, HostileTo, Ship, Station, Velocity},
};
use bevy::prelude::*;
use bevy_relations::prelude::*;

/// Pixels per second.
const CRUISE: f32 = 42.0;
const HURRY: f32 = 78.0;
/// How fast ships turn to where they want to go: a fraction per second.
const AGILITY: f32 = 1.9;

/// Ships have their final places after it.
#[derive(SystemSet, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Flight;

pub fn plugin(app: &mut App) {
    app.add_systems(Update, (steer, fly).chain().in_set(Flight).after(Think));
}

/// A wish to be somewhere, and how urgent it is in pixels per second.
struct Wish {
    at: Vec2,
    speed: f32,
}

fn steer(
    time: Res<Time>,
    chain: ChainOfCommand,
    diplomacy: Diplomacy,
    escorts: Pairs<Escorts>,
    hostile: Pairs<HostileTo>,
    places: Query<&Transform>,
    stations: Query<(), With<Station>>,
    mut ships: Query<(Entity, &Ship, &mut Velocity)>,
) {
    let place = |of: Entity| places.get(of).ok().map(|place| place.translation.truncate());
    let now = time.elapsed_secs();
    for (entity, ship, mut velocity) in &mut ships {
        let Some(at) = place(entity) else { continue };
        let circle = |around: Vec2, radius: f32, speed: f32| {
            let phase = now * speed / radius + ship.number as f32 * 0.61;
            around + Vec2::from_angle(phase) * radius
        };
        let order = chain.order(entity);
        let enemy = hostile.target(entity).and_then(place);
        let leader = escorts.target(entity);
        let wish = if ship.health < WOUNDED || order == Some(Order::Return) {
            let haven = diplomacy.haven(entity, at);
            Wish { at: haven.map_or(at, |(_, place)| place), speed: HURRY }
        } else if let Some(enemy) = enemy {
            Wish { at: circle(enemy, 34.0, HURRY), speed: HURRY }
        } else if let Some((leader, rank)) = leader.and_then(|leader| Some((place(leader)?, rank(ship)))) {
            let heading = (leader - at).normalize_or(Vec2::X);
            Wish { at: leader - heading.rotate(Vec2::from_angle(rank)) * 22.0, speed: HURRY }
        } else {
            match order {
                Some(Order::Raid(station)) if stations.contains(station) => {
                    Wish { at: circle(place(station).unwrap_or(at), 95.0, CRUISE), speed: CRUISE }
                }
                Some(Order::Guard(around)) => Wish { at: circle(around, 55.0, CRUISE), speed: CRUISE },
                _ => Wish { at, speed: 0.0 },
            }
        };
        let wanted = ((wish.at - at) * 1.6).clamp_length_max(wish.speed);
        let turn = (AGILITY * time.delta_secs()).min(1.0);
        velocity.0 = velocity.0.lerp(wanted, turn);
    }
}

/// Which side of its leader a ship keeps to.
fn rank(ship: &Ship) -> f32 {
    (ship.number % 3) as f32 * 0.9 - 0.9
}

/// Moves ships. Those at a station lie around it, each at a berth of its own.
fn fly(
    time: Res<Time>,
    docked: Pairs<DockedTo>,
    stations: Query<&Transform, (With<Station>, Without<Ship>)>,
    mut ships: Query<(Entity, &Ship, &mut Velocity, &mut Transform)>,
) {
    for (entity, ship, mut velocity, mut transform) in &mut ships {
        let at = transform.translation.truncate();
        let berth = docked.target(entity).and_then(|station| stations.get(station).ok()).map(|station| {
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
