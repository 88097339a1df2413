//! Ships that meet enemies of their faction become hostile themselves, shoot, and are destroyed.
//!
//! Nothing here looks after the pairs of a destroyed ship: hostility towards it, its escorts, its berth and its
//! membership are gone with it.

use crate::{
    docks::WOUNDED,
    flight::Flight,
    orders::Diplomacy,
    world::{DockedTo, HostileTo, Ship},
};
use bevy::{diagnostic::FrameCount, prelude::*};
use bevy_relations::{prelude::*, query::Target};
use bevy_relations_scenes::images::{Images, Shape};

/// How far ships see, and how far an enemy must get away to be no target any more.
const SIGHT: f32 = 95.0;
const LOST: f32 = 150.0;
/// Enemies of one ship at a time.
const ENEMIES: usize = 2;
/// Health per second, at full anger.
const HARM: f32 = 7.0;

/// Where a ship was destroyed, for so many seconds yet.
#[derive(Component)]
struct Blast(f32);

const BLAST: f32 = 0.8;

pub(crate) fn plugin(app: &mut App) {
    app.add_systems(Update, (spot, fight, bury, fade).chain().after(Flight));
    app.add_observer(blast);
}

/// Every ship that is out looks around now and then, not all in the same frame.
fn spot(
    mut commands: Commands,
    frame: Res<FrameCount>,
    diplomacy: Diplomacy,
    hostile: Pairs<HostileTo>,
    ships: Query<(Entity, &Ship, &Transform, Option<Target<DockedTo>>)>,
) {
    let mut angry = commands.pair_batch::<HostileTo>();
    for (entity, ship, transform, docked) in &ships {
        let looks = (ship.number + frame.0).is_multiple_of(12);
        if !looks || docked.is_some() || ship.health < WOUNDED {
            continue;
        }
        let near = ships.iter().filter(|(other, _, place, docked)| {
            transform.translation.distance_squared(place.translation) < SIGHT * SIGHT
                && docked.is_none()
                && !hostile.has(entity, *other)
        });
        let enemies = near.map(|(other, ..)| (other, diplomacy.anger(entity, other)));
        let room = ENEMIES.saturating_sub(hostile.target_count(entity));
        for (other, anger) in enemies.filter(|&(_, anger)| anger > 0.0).take(room) {
            angry.insert(entity, HostileTo { anger: 0.3 * anger }, other);
        }
    }
}

/// Anger grows while the other one is near, cools off when it is not, and does harm.
fn fight(
    mut commands: Commands,
    time: Res<Time>,
    mut hostile: PairsMut<HostileTo>,
    places: Query<(&Transform, Option<Target<DockedTo>>), With<Ship>>,
    mut ships: Query<&mut Ship>,
) {
    let mut dropped = commands.pair_batch::<HostileTo>();
    hostile.for_each_mut(|one, other, mut hostile| {
        // Factions bear their grudges in another way.
        let Ok([(from, docked), (to, safe)]) = places.get_many([one, other]) else { return };
        let distance = from.translation.distance(to.translation);
        let away = distance > LOST || docked.is_some() || safe.is_some();
        let change = if away { -0.5 } else { 0.25 };
        hostile.anger = (hostile.anger + change * time.delta_secs()).min(1.0);
        if hostile.anger <= 0.0 {
            dropped.remove(one, other);
        } else if !away && let Ok(mut harmed) = ships.get_mut(other) {
            harmed.health -= HARM * hostile.anger * time.delta_secs();
        }
    });
}

fn bury(mut commands: Commands, ships: Query<(Entity, &Ship)>) {
    for (entity, ship) in &ships {
        if ship.health <= 0.0 {
            commands.entity(entity).despawn();
        }
    }
}

fn blast(
    destroyed: On<Remove<Ship>>,
    mut commands: Commands,
    ships: Query<(&Ship, &Transform)>,
    images: Res<Images>,
) {
    if let Ok((ship, transform)) = ships.get(destroyed.entity) {
        let image = images.sprite(Shape::Glow, 1.0, ship.color);
        commands.spawn((Blast(BLAST), image, Transform::from_translation(transform.translation + Vec3::Z)));
    }
}

fn fade(mut commands: Commands, time: Res<Time>, mut blasts: Query<(Entity, &mut Blast, &mut Sprite)>) {
    for (entity, mut blast, mut sprite) in &mut blasts {
        blast.0 -= time.delta_secs();
        let left = blast.0 / BLAST;
        if left <= 0.0 {
            commands.entity(entity).despawn();
            continue;
        }
        sprite.custom_size = Some(Vec2::splat(70.0 * (1.0 - left.powi(3))));
        sprite.color.set_alpha(left * left);
    }
}
