//! What there is, and where it comes from.

use crate::{ask::not_typing, orders::Order};
use bevy::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_scenes::{
    files::{self, colour},
    images::{Images, Shape},
    palette,
    random::Random,
};
use serde::Deserialize;
use std::{collections::HashMap, f32::consts::TAU};

/// A ship or a station belongs to a faction.
#[derive(Relation)]
#[relation(exclusive)]
pub(crate) struct MemberOf;

/// Factions help each other. In both directions by itself.
#[derive(Relation)]
#[relation(symmetric)]
pub(crate) struct AlliedWith;

/// A faction or a ship has something against another one. The other one need not know.
#[derive(Relation, Clone, Copy)]
pub(crate) struct HostileTo {
    /// How much, from 0 to 1.
    pub anger: f32,
}

/// A ship lies at a station.
#[derive(Relation)]
#[relation(exclusive)]
pub(crate) struct DockedTo;

/// A ship follows another one. Those at the top are flagships, and have orders.
#[derive(Relation)]
#[relation(exclusive, traversable)]
pub(crate) struct Escorts;

#[derive(Component, Reflect)]
#[reflect(Component)]
pub(crate) struct Faction {
    pub color: Color,
    /// What its ships are called.
    pub callsign: String,
    /// How many ships it keeps up.
    pub complement: usize,
    /// Ships named so far.
    pub named: u32,
}

#[derive(Component, Reflect)]
#[reflect(Component)]
#[require(Transform, Visibility)]
pub(crate) struct Station;

#[derive(Component, Reflect)]
#[reflect(Component)]
#[require(Transform, Visibility, Velocity)]
pub(crate) struct Ship {
    /// Spreads out what would otherwise be the same for all.
    pub number: u32,
    /// Of 100.
    pub health: f32,
    pub color: Color,
}

#[derive(Component, Default)]
pub(crate) struct Velocity(pub Vec2);

/// The chance of this world.
#[derive(Resource, Deref, DerefMut)]
pub(crate) struct Chance(pub Random);

#[derive(Deserialize)]
struct File {
    factions: Vec<Entry>,
    alliances: Vec<(String, String)>,
    hostilities: Vec<(String, String, f32)>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    callsign: String,
    #[serde(deserialize_with = "colour")]
    colour: Color,
    station: (f32, f32),
    ships: usize,
}

/// Half lengths of ships.
const FLAGSHIP: f32 = 9.5;
const ESCORT: f32 = 5.5;

/// Ships of a wing: whom each escorts. The first is the flagship.
const WING: [Option<usize>; 10] =
    [None, Some(0), Some(0), Some(0), Some(1), Some(1), Some(2), Some(2), Some(3), Some(3)];

pub(crate) fn plugin(app: &mut App) {
    app.insert_resource(Chance(Random::new(11)));
    app.add_systems(Startup, populate).add_systems(Update, start_over.run_if(not_typing));
    app.add_observer(promote);
}

fn populate(world: &mut World) -> Result {
    let File { factions, alliances, hostilities } = files::load("factions.ron")?;
    let mut known = HashMap::new();
    for entry in &factions {
        known.insert(entry.name.clone(), found(world, entry)?);
    }
    let faction = |name: &String| {
        known.get(name).copied().ok_or_else(|| format!("assets/factions.ron: there is no faction {name}"))
    };
    for (one, other) in &alliances {
        world.insert_pair(faction(one)?, AlliedWith, faction(other)?)?;
    }
    for (from, to, anger) in &hostilities {
        world.insert_pair(faction(from)?, HostileTo { anger: *anger }, faction(to)?)?;
    }
    Ok(())
}

/// Spawns a faction, its station and its ships.
fn found(world: &mut World, entry: &Entry) -> Result<Entity> {
    let (color, seat) = (entry.colour, Vec2::from(entry.station));
    let about = Faction { color, callsign: entry.callsign.clone(), complement: entry.ships, named: 0 };
    let faction = world.spawn((Name::new(entry.name.clone()), about)).id();
    let images = world.resource::<Images>();
    let glow = images.sprite(Shape::Glow, 62.0, color.with_alpha(0.22));
    let hub = images.sprite(Shape::Ball, 11.0, color);
    let label = (
        Text2d::new(entry.name.clone()),
        TextFont::from_font_size(12.0),
        TextColor(palette::PLAIN),
        Transform::from_xyz(0.0, -58.0, 3.0),
    );
    world.spawn((
        Name::new(format!("{} station", entry.name)),
        Station,
        Transform::from_translation(seat.extend(0.0)),
        hub,
        Pair(MemberOf, faction),
        children![(glow, Transform::from_xyz(0.0, 0.0, -2.0)), label],
    ));
    for wing in 0..entry.ships / WING.len() {
        let at = seat * (0.62 + 0.08 * wing as f32)
            + Vec2::from_angle(wing as f32 * 1.7) * (40.0 + 25.0 * wing as f32);
        let mut ships = Vec::new();
        for (place, leader) in WING.iter().enumerate() {
            let offset = Vec2::from_angle(place as f32 * 2.4) * (6.0 * (place as f32).sqrt());
            let ship = launch(world, faction, at + offset)?;
            match leader {
                Some(leader) => world.insert_pair(ship, Escorts, ships[*leader])?,
                None => _ = world.entity_mut(ship).insert(Order::Guard(at)),
            }
            ships.push(ship);
        }
    }
    Ok(faction)
}

/// Spawns a ship of a faction. It needs an order, or one to escort.
pub(crate) fn launch(world: &mut World, faction: Entity, at: Vec2) -> Result<Entity> {
    let heading = Vec2::from_angle(world.resource_mut::<Chance>().next() * TAU);
    let mut about = world.get_mut::<Faction>(faction).ok_or("ships belong to a faction")?;
    about.named += 1;
    let (name, number, color) = (format!("{} {}", about.callsign, about.named), about.named, about.color);
    let hull = world.resource::<Images>().sprite(Shape::Dart, ESCORT, color);
    let ship = (
        Name::new(name),
        Ship { number, health: 100.0, color },
        Velocity(heading * 10.0),
        Transform::from_translation(at.extend(1.0)),
        hull,
        Pair(MemberOf, faction),
    );
    Ok(world.spawn(ship).id())
}

/// Flagships are larger.
fn promote(promoted: On<Add<Order>>, mut sprites: Query<&mut Sprite>) {
    if let Ok(mut sprite) = sprites.get_mut(promoted.entity) {
        sprite.custom_size = Some(Vec2::splat(2.0 * FLAGSHIP));
    }
}

fn start_over(world: &mut World) -> Result {
    if !world.resource::<ButtonInput<KeyCode>>().just_pressed(KeyCode::KeyR) {
        return Ok(());
    }
    let mut all = world.query_filtered::<Entity, Or<(With<Faction>, With<Station>, With<Ship>)>>();
    for entity in all.iter(world).collect::<Vec<_>>() {
        world.despawn(entity);
    }
    world.resource_mut::<Chance>().0 = Random::new(11);
    populate(world)
}
