//! Things are in the cells that the file says, and in others after they were moved.

use crate::common::{Picture, parts, picture};
use bevy::prelude::*;
use bevy_relations_scenes::{
    files::{self, colour},
    palette,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    kinds: Vec<Kind>,
    containers: Vec<Container>,
    hero: Hero,
}

#[derive(Deserialize)]
struct Kind {
    name: String,
    #[serde(deserialize_with = "colour")]
    colour: Color,
}

#[derive(Deserialize)]
struct Container {
    name: String,
    at: (f32, f32),
    columns: u32,
    holds: Vec<(String, u32, u32)>,
}

#[derive(Deserialize)]
struct Hero {
    at: (f32, f32),
}

const PITCH: f32 = 66.0;
/// Below this a colour is there.
const SEEN: f32 = 0.12;

fn file() -> File {
    files::load("loadout.ron").expect("the file describes a loadout")
}

impl File {
    /// The middle of the icon at a place of a container.
    fn place(&self, container: &str, place: u32) -> Vec2 {
        let found =
            self.containers.iter().find(|it| it.name == container).expect("there is such a container");
        let step = uvec2(place % found.columns, place / found.columns).as_vec2();
        Vec2::from(found.at) + step * vec2(PITCH, -PITCH) + vec2(0.0, 3.0)
    }

    /// The middle of the icon in a slot, so many cells from the hero.
    fn slot(&self, x: f32, y: f32) -> Vec2 {
        Vec2::from(self.hero.at) + PITCH * vec2(x, y) + vec2(0.0, 3.0)
    }

    /// Whether a thing of this kind is shown there.
    fn shows(&self, picture: &Picture, at: Vec2, kind: &str) -> bool {
        let kind = self.kinds.iter().find(|it| it.name == kind).expect("there is such a kind");
        picture.distance(at + vec2(12.0, 0.0), 2, parts(kind.colour)) < SEEN
    }
}

/// How much the line at the lower left says in this colour.
fn said(picture: &Picture, color: Color) -> usize {
    let line = (-346..-322).flat_map(|y| (-585..-200).map(move |x| ivec2(x, y).as_vec2()));
    line.filter(|&at| picture.distance(at, 0, parts(color)) < SEEN).count()
}

#[test]
fn things_are_where_the_file_says() {
    let picture = picture("loadout", "loadout_start", 30, None);
    let file = file();
    for container in &file.containers {
        for (kind, _, place) in &container.holds {
            let at = file.place(&container.name, *place);
            assert!(file.shows(&picture, at, kind), "there is no {kind} in {}", container.name);
        }
    }
    assert!(file.shows(&picture, file.slot(-1.0, 0.0), "Sword"));
    assert!(!file.shows(&picture, file.slot(0.0, 0.0), "Mail"));
}

/// The play drags the mail to the hero, and one of the potions to the backpack.
#[test]
fn a_thing_is_worn_and_one_of_a_stack_joins_another_stack() {
    let picture = picture("loadout", "loadout_moved", 90, Some("loadout.ron"));
    let file = file();
    assert!(file.shows(&picture, file.slot(0.0, 0.0), "Mail"));
    // There were two.
    assert!(file.shows(&picture, file.place("Chest", 0), "Mail"));
    // It lies with the others of its kind, and not where it was dropped.
    assert!(!file.shows(&picture, file.place("Backpack", 10), "Potion"));
    assert!(file.shows(&picture, file.place("Stall", 0), "Potion"));
    assert!(said(&picture, palette::GOOD) > 100, "nothing is said of it");
}

#[test]
fn what_is_dropped_on_the_wrong_slot_stays_where_it_was() {
    let picture = picture("loadout", "loadout_refused", 60, Some("loadout_refuse.ron"));
    let file = file();
    assert!(file.shows(&picture, file.place("Backpack", 5), "Axe"));
    assert!(file.shows(&picture, file.slot(0.0, 1.0), "Hat"));
    assert!(said(&picture, palette::BAD) > 100, "no refusal is said");
}

/// The play saves, moves two things, and loads.
#[test]
fn what_was_saved_is_loaded() {
    let file = file();
    let before = picture("loadout", "loadout_before_load", 66, Some("loadout_save.ron"));
    assert!(file.shows(&before, file.place("Backpack", 9), "Gem"));
    assert!(file.shows(&before, file.place("Backpack", 10), "Sword"));
    let after = picture("loadout", "loadout_loaded", 90, Some("loadout_save.ron"));
    assert!(file.shows(&after, file.place("Chest", 6), "Gem"));
    assert!(file.shows(&after, file.slot(-1.0, 0.0), "Sword"));
    assert!(!file.shows(&after, file.place("Backpack", 9), "Gem"));
    assert!(said(&after, palette::GOOD) > 100, "nothing is said of it");
}
