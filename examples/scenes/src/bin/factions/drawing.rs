//! Every relation as lines of its own kind.

use crate::{
    ask::not_typing,
    flight::Flight,
    hand::Hand,
    world::{AlliedWith, DockedTo, Escorts, HostileTo, MemberOf, Ship, Station},
};
use bevy::{math::ops, prelude::*};
use bevy_relations::prelude::*;
use bevy_relations_scenes::{palette, stage::Behind};

/// Which relations are shown, by the key that switches them.
#[derive(Resource)]
struct Shown([bool; 4]);

const SWITCHES: [KeyCode; 4] = [KeyCode::Digit1, KeyCode::Digit2, KeyCode::Digit3, KeyCode::Digit4];

pub(crate) fn plugin(app: &mut App) {
    app.insert_resource(Shown([true; 4])).add_systems(Update, switch.run_if(not_typing));
    let lines = (
        draw_alliances.run_if(shown(0)),
        (draw_grudges, draw_fights).run_if(shown(1)),
        draw_docks.run_if(shown(2)),
        draw_escorts.run_if(shown(3)),
    );
    app.add_systems(Update, (lines, draw_stations, draw_hand).after(Flight));
}

fn shown(nth: usize) -> impl Fn(Res<Shown>) -> bool + Clone {
    move |shown| shown.0[nth]
}

fn switch(keys: Res<ButtonInput<KeyCode>>, mut shown: ResMut<Shown>) {
    for (shown, key) in shown.0.iter_mut().zip(SWITCHES) {
        *shown ^= keys.just_pressed(key);
    }
}

/// Where the station of a faction is.
type Seats<'w, 's> = Query<'w, 's, &'static Transform, With<Station>>;

fn seat(faction: Entity, members: &Pairs<MemberOf>, stations: &Seats) -> Option<Vec2> {
    stations.iter_many(members.sources(faction)).flatten().next().map(|place| place.translation.truncate())
}

/// A line from one place to another that leaves the direct way, to its right. Ends where labels begin.
fn arc(from: Vec2, to: Vec2, bend: f32) -> impl Iterator<Item = Vec2> + Clone {
    let middle = (from + to) / 2.0 - (to - from).perp() * bend;
    (4..=44).map(move |step| {
        let at = step as f32 / 48.0;
        from.lerp(middle, at).lerp(middle.lerp(to, at), at)
    })
}

fn draw_alliances(
    mut gizmos: Gizmos<Behind>,
    allied: Pairs<AlliedWith>,
    members: Pairs<MemberOf>,
    stations: Seats,
) {
    // Symmetric: there is a pair in each direction, and one line for both.
    for (one, other) in allied.iter().filter(|(one, other)| one < other) {
        let seats = seat(one, &members, &stations).zip(seat(other, &members, &stations));
        let Some((from, to)) = seats else { continue };
        for side in [-2.5, 2.5] {
            let aside = (to - from).perp().normalize_or_zero() * side;
            gizmos.linestrip_2d(arc(from + aside, to + aside, 0.0), palette::GOOD.with_alpha(0.55));
        }
    }
}

/// What factions have against each other: the more, the brighter. Small marks run towards the target.
fn draw_grudges(
    mut gizmos: Gizmos<Behind>,
    time: Res<Time>,
    hostile: Pairs<HostileTo>,
    members: Pairs<MemberOf>,
    stations: Seats,
) {
    for (one, other) in hostile.iter() {
        let seats = seat(one, &members, &stations).zip(seat(other, &members, &stations));
        let (Some((from, to)), Some(hostile)) = (seats, hostile.get(one, other)) else { continue };
        let color = palette::BAD.with_alpha(0.12 + 0.4 * hostile.anger);
        let line = arc(from, to, 0.09);
        gizmos.linestrip_2d(line.clone(), color);
        let now = (time.elapsed_secs() * 5.0) as usize;
        for (nth, at) in line.enumerate() {
            if (nth + 8 - now % 8).is_multiple_of(8) {
                gizmos.circle_2d(at, 1.0 + 2.0 * hostile.anger, color).resolution(8);
            }
        }
    }
}

/// What is drawn of a ship.
type Drawn = (&'static Ship, &'static Transform);

fn ends(from: &Transform, to: &Transform) -> (Vec2, Vec2) {
    (from.translation.truncate(), to.translation.truncate())
}

/// Ships that shoot.
fn draw_fights(
    mut gizmos: Gizmos<Behind>,
    time: Res<Time>,
    fights: PairQuery<HostileTo, Drawn, &'static Transform>,
) {
    for ((ship, from), fight, to) in &fights {
        let anger = fight.value().map_or(0.0, |hostile| hostile.anger);
        let pulse = 0.5 + 0.5 * ops::sin(time.elapsed_secs() * 14.0 + ship.number as f32);
        let color = palette::BAD.with_alpha(anger * (0.25 + 0.75 * pulse));
        let (from, to) = ends(from, to);
        gizmos.line_gradient_2d(from, to, color, color.with_alpha(0.1));
    }
}

fn draw_docks(
    mut gizmos: Gizmos<Behind>,
    docked: PairQuery<DockedTo, &'static Transform, &'static Transform>,
) {
    for (ship, _, station) in &docked {
        let (from, to) = ends(ship, station);
        gizmos.line_2d(from, to, palette::BRIGHT.with_alpha(0.28));
    }
}

fn draw_escorts(mut gizmos: Gizmos<Behind>, escorts: PairQuery<Escorts, Drawn, &'static Transform>) {
    for ((ship, from), _, to) in &escorts {
        let (from, to) = ends(from, to);
        // Who is far from its leader has something else to do.
        let near = 1.0 - (from.distance(to) / 240.0).min(0.85);
        gizmos.line_2d(from, to, ship.color.with_alpha(0.34 * near));
    }
}

fn draw_stations(
    mut gizmos: Gizmos<Behind>,
    time: Res<Time>,
    stations: Query<(&Sprite, &Transform), With<Station>>,
) {
    for (sprite, transform) in &stations {
        let at = transform.translation.truncate();
        gizmos.circle_2d(at, 48.0, sprite.color.with_alpha(0.22)).resolution(64);
        let turned = Isometry2d::new(at, Rot2::radians(time.elapsed_secs() * 0.3));
        gizmos.rect_2d(turned, Vec2::splat(30.0), sprite.color.with_alpha(0.7));
    }
}

/// Rings around the selected wing, and around what the mouse is at.
fn draw_hand(
    mut gizmos: Gizmos,
    hand: Res<Hand>,
    escorts: Pairs<Escorts>,
    places: Query<(&Transform, Has<Station>)>,
) {
    let mut ring = |entity, color: Color| {
        if let Ok((place, is_station)) = places.get(entity) {
            let radius = if is_station { 20.0 } else { 11.0 };
            gizmos.circle_2d(place.translation.truncate(), radius, color).resolution(40);
        }
    };
    if let Some(flagship) = hand.selected {
        ring(flagship, palette::BRIGHT);
        for (escort, _) in escorts.descendants(flagship) {
            ring(escort, palette::BRIGHT.with_alpha(0.5));
        }
    }
    if let Some(over) = hand.over {
        ring(over, palette::GOOD);
    }
}
