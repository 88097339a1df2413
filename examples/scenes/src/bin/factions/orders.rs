//! Orders. A flagship has one; every other ship follows the one of the flagship above it.

use crate::world::{AlliedWith, Chance, DockedTo, Escorts, Faction, HostileTo, MemberOf, Ship, Station};
use bevy::{ecs::system::SystemParam, prelude::*};
use bevy_relations::{prelude::*, query::SelfUp};
use bevy_relations_scenes::stage::SIZE;
use std::f32::consts::TAU;

/// What a flagship, and with it every ship below, is to do.
#[derive(Component, Reflect, Clone, Copy, PartialEq, Debug)]
#[reflect(Component)]
#[require(Patience)]
pub(crate) enum Order {
    /// Stay around a place.
    Guard(Vec2),
    /// Circle a station, and fight whoever comes.
    Raid(Entity),
    /// Go to a station of friends, and stay there.
    Return,
}

/// Seconds until a flagship thinks of something else.
#[derive(Component)]
pub(crate) struct Patience(pub f32);

impl Default for Patience {
    fn default() -> Self {
        Self(2.0)
    }
}

/// Ships, in this order.
#[derive(SystemSet, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Think;

pub(crate) fn plugin(app: &mut App) {
    app.add_systems(Update, (regroup, think).chain().in_set(Think));
}

/// The order that holds for a ship: the nearest one above it, its own first.
pub(crate) type Orders = SelfUp<Escorts, &'static Order>;

/// Who belongs to whom, and how they stand to each other.
#[derive(SystemParam)]
pub(crate) struct Diplomacy<'w, 's> {
    members: Pairs<'w, 's, MemberOf>,
    allied: Pairs<'w, 's, AlliedWith>,
    hostile: Pairs<'w, 's, HostileTo>,
    stations: Query<'w, 's, (Entity, &'static Transform), With<Station>>,
}

impl Diplomacy<'_, '_> {
    /// How much the faction of one ship has against that of another one, from 0 to 1.
    pub(crate) fn anger(&self, one: Entity, other: Entity) -> f32 {
        let anger = || self.hostile.get(self.members.target(one)?, self.members.target(other)?);
        anger().map_or(0.0, |hostile| hostile.anger)
    }

    /// Whether a ship may dock at a station: at those of its faction and of allies.
    pub(crate) fn is_friendly(&self, ship: Entity, station: Entity) -> bool {
        let (one, other) = (self.members.target(ship), self.members.target(station));
        one == other || one.zip(other).is_some_and(|(one, other)| self.allied.has(one, other))
    }

    /// The nearest station where a ship may dock.
    pub(crate) fn haven(&self, ship: Entity, at: Vec2) -> Option<(Entity, Vec2)> {
        let distance = |(_, place): &(Entity, Vec2)| place.distance_squared(at);
        self.stations
            .iter()
            .filter(|&(station, _)| self.is_friendly(ship, station))
            .map(|(station, place)| (station, place.translation.truncate()))
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// A station of a faction that the one of this ship has something against: the more, the likelier.
    fn prey(&self, ship: Entity, chance: f32) -> Option<Entity> {
        let anger = |(station, _): &(Entity, &Transform)| self.anger(ship, *station);
        let mut left = chance * self.stations.iter().map(|station| anger(&station)).sum::<f32>();
        let hit = self.stations.iter().find(|station| {
            left -= anger(station);
            left < 0.0
        });
        hit.map(|(station, _)| station)
    }
}

/// Gives a ship that has lost its leader another one of its faction; if there is none left it leads.
fn regroup(
    mut commands: Commands,
    escorts: Pairs<Escorts>,
    members: Pairs<MemberOf>,
    ships: Query<(Entity, &Transform), (With<Ship>, Without<Order>)>,
    flagships: Query<(Entity, &Transform), (With<Ship>, With<Order>)>,
) {
    for (ship, transform) in ships.iter().filter(|(ship, _)| !escorts.has_any(*ship)) {
        let at = transform.translation.truncate();
        let distance = |leader: &Transform| leader.translation.truncate().distance_squared(at);
        let leader = flagships
            .iter()
            .filter(|&(leader, _)| members.target(leader) == members.target(ship))
            // So that wings are of one size.
            .min_by_key(|&(leader, place)| (escorts.source_count(leader) / 3, distance(place) as u64));
        match leader {
            Some((leader, _)) => commands.entity(ship).insert_pair(Escorts, leader),
            None => commands.entity(ship).insert(Order::Guard(at)),
        };
    }
}

/// Flagships that have waited long enough think of something to do.
fn think(
    time: Res<Time>,
    mut chance: ResMut<Chance>,
    diplomacy: Diplomacy,
    docked: Pairs<DockedTo>,
    mut flagships: Query<(Entity, &Ship, &Transform, &mut Order, &mut Patience)>,
) {
    for (flagship, ship, transform, mut order, mut patience) in &mut flagships {
        patience.0 -= time.delta_secs();
        if patience.0 > 0.0 {
            continue;
        }
        patience.0 = 9.0 + 9.0 * chance.next();
        let at = transform.translation.truncate();
        let wish = chance.next();
        let tired = !docked.has_any(flagship) && (ship.health < 60.0 || wish < 0.18);
        *order = if tired {
            Order::Return
        } else if wish < 0.72
            && let Some(prey) = diplomacy.prey(flagship, chance.next())
        {
            Order::Raid(prey)
        } else {
            let home = diplomacy.haven(flagship, at).map_or(at, |(_, place)| place);
            let place = home * 0.66 + Vec2::from_angle(chance.next() * TAU) * 110.0;
            let border = SIZE.as_vec2() / 2.0 - 60.0;
            Order::Guard(place.clamp(-border, border))
        };
    }
}

/// What an order says, in words.
pub(crate) fn words(order: Order, members: &Pairs<MemberOf>, names: &Query<&Name, With<Faction>>) -> String {
    let of = |station| members.target(station).and_then(|faction| names.get(faction).ok());
    match order {
        Order::Guard(_) => "guard".to_owned(),
        Order::Raid(station) => format!("raid {}", of(station).map_or("nobody", Name::as_str)),
        Order::Return => "return".to_owned(),
    }
}
