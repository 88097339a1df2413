//! Ships at stations.

use crate::{
    flight::Flight,
    orders::{Diplomacy, Order, Orders, Think},
    world::{DockedTo, Faction, MemberOf, Ship, Station, launch},
};
use bevy::prelude::*;
use bevy_relations::{prelude::*, query::Target};

/// Below this a ship goes home by itself.
pub(crate) const WOUNDED: f32 = 35.0;
/// How near a ship must come to dock.
const NEAR: f32 = 48.0;
/// Health per second at a station.
const CARE: f32 = 14.0;
/// Seconds between two ships of one yard.
const BUILDING: f32 = 1.0;

pub(crate) fn plugin(app: &mut App) {
    app.add_systems(Update, (dock, leave, heal, build).chain().after(Think).before(Flight));
}

/// Ships that are to return, or that are wounded, dock where they may once they are near.
fn dock(
    mut commands: Commands,
    diplomacy: Diplomacy,
    ships: Query<(Entity, &Ship, &Transform, Orders, Option<Target<DockedTo>>)>,
) {
    let mut docking = commands.pair_batch::<DockedTo>();
    for (entity, ship, transform, order, docked) in &ships {
        if docked.is_some() || !(ship.health < WOUNDED || *order == Order::Return) {
            continue;
        }
        let at = transform.translation.truncate();
        if let Some((station, place)) = diplomacy.haven(entity, at)
            && place.distance(at) < NEAR
        {
            docking.insert(entity, DockedTo, station);
        }
    }
}

/// Ships leave when they are well and there is something to do, or when they are no longer welcome.
fn leave(
    mut commands: Commands,
    diplomacy: Diplomacy,
    ships: Query<(Entity, &Ship, Orders, Target<DockedTo>)>,
) {
    let mut leaving = commands.pair_batch::<DockedTo>();
    for (entity, ship, order, station) in &ships {
        let goes = ship.health >= 100.0 && *order != Order::Return;
        if goes || !diplomacy.is_friendly(entity, *station) {
            leaving.remove(entity, *station);
        }
    }
}

fn heal(time: Res<Time>, mut docked: Query<&mut Ship, Related<DockedTo>>) {
    for mut ship in &mut docked {
        ship.health = (ship.health + CARE * time.delta_secs()).min(100.0);
    }
}

/// Yards replace what was lost. A new ship finds itself a leader.
fn build(
    mut commands: Commands,
    time: Res<Time>,
    mut since: Local<f32>,
    members: Pairs<MemberOf>,
    factions: Query<(Entity, &Faction)>,
    stations: Query<(Entity, &Transform), With<Station>>,
) {
    *since += time.delta_secs();
    if *since < BUILDING {
        return;
    }
    *since = 0.0;
    for (station, transform) in &stations {
        let at = transform.translation.truncate();
        let Some((faction, about)) = members.target(station).and_then(|of| factions.get(of).ok()) else {
            continue;
        };
        // The station is a member as well.
        if members.source_count(faction) <= about.complement {
            commands.queue(move |world: &mut World| -> Result {
                let ship = launch(world, faction, at)?;
                world.insert_pair(ship, DockedTo, station)?;
                Ok(())
            });
        }
    }
}
