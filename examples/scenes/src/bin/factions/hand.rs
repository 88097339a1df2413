//! What the player does: selects a wing, gives it orders, makes friends and enemies.

use crate::{
    ask::not_typing,
    orders::{Order, Patience, Think},
    world::{AlliedWith, Escorts, HostileTo, MemberOf, Ship, Station},
};
use bevy::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_scenes::pointer::Pointer;

/// What the mouse is at.
#[derive(Resource, Default)]
pub(crate) struct Hand {
    /// The ship or station under it.
    pub over: Option<Entity>,
    /// The flagship of the selected wing.
    pub selected: Option<Entity>,
}

/// How long a wing does what it was told, in seconds.
const OBEDIENCE: f32 = 25.0;
/// The anger of a new war.
const WAR: f32 = 0.8;

pub(crate) fn plugin(app: &mut App) {
    app.init_resource::<Hand>();
    app.add_systems(
        Update,
        (look, select, command, (negotiate, pause).run_if(not_typing)).chain().before(Think),
    );
}

fn look(
    pointer: Res<Pointer>,
    mut hand: ResMut<Hand>,
    things: Query<(Entity, &Transform, Has<Station>), Or<(With<Ship>, With<Station>)>>,
) {
    let under = |at: Vec2| {
        things
            .iter()
            .map(|(entity, place, is_station)| {
                let radius = if is_station { 14.0 } else { 8.0 };
                (place.translation.truncate().distance(at) - radius, entity)
            })
            .filter(|&(distance, _)| distance < 6.0)
            .min_by(|a, b| a.0.total_cmp(&b.0))
    };
    hand.over = pointer.at.and_then(under).map(|(_, entity)| entity);
    hand.selected = hand.selected.filter(|&flagship| things.contains(flagship));
}

fn select(
    buttons: Res<ButtonInput<MouseButton>>,
    mut hand: ResMut<Hand>,
    escorts: Pairs<Escorts>,
    ships: Query<(), With<Ship>>,
) {
    if buttons.just_pressed(MouseButton::Left) {
        hand.selected = hand.over.filter(|&over| ships.contains(over)).map(|ship| escorts.root(ship));
    }
}

/// Tells the selected flagship what to do. Its escorts will know.
fn command(
    pointer: Res<Pointer>,
    buttons: Res<ButtonInput<MouseButton>>,
    hand: Res<Hand>,
    members: Pairs<MemberOf>,
    stations: Query<(), With<Station>>,
    mut orders: Query<(&mut Order, &mut Patience)>,
) {
    let (true, Some(at)) = (buttons.just_pressed(MouseButton::Right), pointer.at) else { return };
    let Some((flagship, mut given)) =
        hand.selected.and_then(|flagship| Some((flagship, orders.get_mut(flagship).ok()?)))
    else {
        return;
    };
    let order = match hand.over.filter(|&over| stations.contains(over)) {
        Some(station) if members.target(station) == members.target(flagship) => Order::Return,
        Some(station) => Order::Raid(station),
        None => Order::Guard(at),
    };
    *given.0 = order;
    given.1.0 = OBEDIENCE;
}

/// Friends and enemies of the faction of the selected wing.
fn negotiate(
    mut commands: Commands,
    keys: Res<ButtonInput<KeyCode>>,
    hand: Res<Hand>,
    members: Pairs<MemberOf>,
    allied: Pairs<AlliedWith>,
    hostile: Pairs<HostileTo>,
) {
    let faction = |of: Option<Entity>| members.target(of?);
    let (Some(own), Some(other)) = (faction(hand.selected), faction(hand.over)) else { return };
    if own == other {
        return;
    }
    let mut own_commands = commands.entity(own);
    if keys.just_pressed(KeyCode::KeyA) {
        if allied.has(own, other) {
            own_commands.remove_pair::<AlliedWith>(other);
        } else {
            own_commands.insert_pair(AlliedWith, other).remove_pair::<HostileTo>(other);
        }
    }
    if keys.just_pressed(KeyCode::KeyW) {
        if hostile.has(own, other) {
            own_commands.remove_pair::<HostileTo>(other);
        } else {
            own_commands.insert_pair(HostileTo { anger: WAR }, other).remove_pair::<AlliedWith>(other);
        }
    }
}

fn pause(keys: Res<ButtonInput<KeyCode>>, mut time: ResMut<Time<Virtual>>) {
    if keys.just_pressed(KeyCode::Space) {
        if time.is_paused() { time.unpause() } else { time.pause() }
    }
}
