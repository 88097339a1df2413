//! Stations and the lines between them are at places that the file says.

use crate::common::{parts, picture};
use bevy::prelude::*;
use bevy_relations_scenes::{
    files::{self, colour},
    palette,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    factions: Vec<Faction>,
    alliances: Vec<(String, String)>,
    #[expect(dead_code, reason = "the file has more than is looked at")]
    hostilities: Vec<(String, String, f32)>,
}

#[derive(Deserialize)]
struct Faction {
    name: String,
    #[expect(dead_code, reason = "as above")]
    callsign: String,
    #[serde(deserialize_with = "colour")]
    colour: Color,
    station: (f32, f32),
    #[expect(dead_code, reason = "as above")]
    ships: usize,
}

fn file() -> File {
    files::load("factions.ron").expect("the file describes factions")
}

/// Places along the line between the stations of two factions, and what differs most from the sky at each.
fn line<'a>(file: &'a File, one: &str, other: &str) -> impl Iterator<Item = Vec2> + 'a {
    let station = |name: &str| {
        file.factions.iter().find(|faction| faction.name == name).map(|it| Vec2::from(it.station))
    };
    let (from, to) = station(one).zip(station(other)).expect("there are such factions");
    (20..80).map(move |at| from.lerp(to, at as f32 / 100.0))
}

/// How much of a line of this colour is there. Ships may fly over the rest.
fn drawn(picture: &crate::common::Picture, places: impl Iterator<Item = Vec2>) -> f32 {
    let color = parts(palette::NIGHT).lerp(parts(palette::GOOD), 0.5);
    let places: Vec<_> = places.collect();
    let seen = places.iter().filter(|&&place| picture.distance(place, 4, color) < 0.12).count();
    seen as f32 / places.len() as f32
}

#[test]
fn stations_have_the_colours_of_their_factions_and_allies_a_line_between_them() {
    let picture = picture("factions", "factions", 60, None);
    let file = file();
    for faction in &file.factions {
        let off = picture.distance(faction.station.into(), 8, parts(faction.colour));
        assert!(off < 0.12, "{} has no station: {off}", faction.name);
    }
    for (one, other) in &file.alliances {
        let drawn = drawn(&picture, line(&file, one, other));
        assert!(drawn > 0.7, "{one} and {other} are allied, but only {drawn} of a line is drawn");
    }
    assert!(drawn(&picture, line(&file, "Carmine", "Borealis")) < 0.5);
    assert!(picture.covered() > 0.03, "next to nothing is drawn");
}

#[test]
fn what_an_expression_finds_is_marked() {
    let picture = picture("factions", "ask", 40, Some("ask.ron"));
    for faction in file().factions {
        let off = picture.distance(Vec2::from(faction.station) + 25.0 * Vec2::X, 2, parts(palette::FOUND));
        assert!(off < 0.12, "the station of {} is not marked: {off}", faction.name);
    }
}

#[test]
fn a_mistake_in_an_expression_is_said_and_marks_nothing() {
    let picture = picture("factions", "mistake", 40, Some("mistake.ron"));
    for faction in file().factions {
        let off = picture.distance(Vec2::from(faction.station) + 25.0 * Vec2::X, 2, parts(palette::FOUND));
        assert!(off > 0.12, "the station of {} is marked", faction.name);
    }
    // The panel lies at the bottom, in the middle.
    let text = (-340..-270).flat_map(|y| (-280..0).map(move |x| ivec2(x, y).as_vec2()));
    let red = text.filter(|&at| picture.distance(at, 0, parts(palette::BAD)) < 0.12).count();
    assert!(red > 100, "nothing is said: {red}");
}

#[test]
fn the_same_frames_give_the_same_picture() {
    // Long enough for fights.
    let [one, other] = ["once", "again"].map(|test| picture("factions", test, 420, None));
    let differing = one.0.pixels().zip(other.0.pixels()).filter(|(a, b)| a != b).count();
    assert_eq!(differing, 0);
}
