//! Where bodies are is worked out here once more, from the file alone: by going up from a body, while the scene
//! comes down from the suns.

use crate::common::{Picture, command, parts, picture, time};
use bevy::prelude::*;
use bevy_relations_scenes::{
    files::{self, colour},
    palette,
    stage::SIZE,
};
use serde::Deserialize;
use std::{
    f32::consts::{FRAC_PI_4, TAU},
    fs::File,
    path::Path,
};

#[derive(Deserialize, PartialEq)]
enum Kind {
    Sun,
    Planet,
    Moon,
    Station,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    kind: Kind,
    radius: f32,
    #[serde(deserialize_with = "colour")]
    colour: Color,
    #[serde(default)]
    at: (f32, f32),
    #[serde(default)]
    orbit: f32,
    #[serde(default)]
    start: f32,
    #[serde(default)]
    period: f32,
    #[serde(default)]
    bodies: Vec<Entry>,
}

impl Entry {
    fn at(&self) -> Vec2 {
        self.at.into()
    }

    fn angle(&self, time: f32) -> f32 {
        self.start.to_radians() + TAU / self.period * time
    }

    fn offset(&self, time: f32) -> Vec2 {
        Vec2::from_angle(self.angle(time)) * self.orbit
    }

    fn color(&self) -> Vec3 {
        parts(self.colour)
    }
}

fn suns() -> Vec<Entry> {
    files::load("solar_system.ron").expect("the file describes bodies")
}

/// A planet and its sun.
fn planet<'a>(suns: &'a [Entry], name: &str) -> (&'a Entry, &'a Entry) {
    let mut planets = suns.iter().flat_map(|sun| sun.bodies.iter().map(move |planet| (planet, sun)));
    planets.find(|(planet, _)| planet.name == name).expect("there is such a planet")
}

/// How far from the colour of its bright side the picture is where a planet should be, lit by a sun.
fn distance(picture: &Picture, planet: &Entry, at: Vec2, sun: Vec2) -> f32 {
    picture.distance(at + (sun - at).normalize() * 0.45 * planet.radius, 2, planet.color())
}

/// Below this it is there; what is not there is farther off.
const SEEN: f32 = 0.12;

#[test]
fn planets_are_where_their_orbits_lead() {
    const FRAMES: u32 = 90;
    let picture = picture("solar_system", "planets", FRAMES, None);
    let sky = picture.distance(vec2(60.0, -320.0), 0, parts(palette::NIGHT));
    assert!(sky < 0.02, "the sky has another colour: {sky}");
    for sun in suns() {
        let edge = Vec2::from_angle(FRAC_PI_4) * 0.8 * sun.radius;
        let off = picture.distance(sun.at() + edge, 1, sun.color());
        assert!(off < SEEN, "{} does not shine: {off}", sun.name);
        for planet in &sun.bodies {
            let at = sun.at() + planet.offset(time(FRAMES));
            let off = distance(&picture, planet, at, sun.at());
            assert!(off < SEEN, "{} is not at {at}: {off}", planet.name);
        }
    }
}

#[test]
fn moons_of_moons_are_where_all_their_orbits_lead() {
    const FRAMES: u32 = 120;
    let picture = picture("solar_system", "moons", FRAMES, None);
    let now = time(FRAMES);
    let mut seen = 0;
    for sun in suns() {
        let mut left: Vec<_> = sun.bodies.iter().map(|body| (body, sun.at())).collect();
        while let Some((body, centre)) = left.pop() {
            let at = centre + body.offset(now);
            left.extend(body.bodies.iter().map(|inner| (inner, at)));
            if body.kind != Kind::Planet {
                let off = picture.distance(at, 2, body.color());
                assert!(off < 2.0 * SEEN, "{} is not at {at}: {off}", body.name);
                seen += 1;
            }
        }
    }
    assert!(seen > 10);
}

/// The play takes it from its place in frame 30 to `DROP` and lets go in frame 60.
#[test]
fn a_planet_dragged_to_another_sun_orbits_that_one() {
    const FRAMES: u32 = 150;
    const DROP: Vec2 = vec2(74.5, 245.5);
    let picture = picture("solar_system", "drag", FRAMES, Some("drag.ron"));
    let suns = suns();
    let (rust, ember) = planet(&suns, "Rust");
    let (_, halcyon) = planet(&suns, "Lilac");

    let stayed = ember.at() + rust.offset(time(FRAMES));
    let off = distance(&picture, rust, stayed, ember.at());
    assert!(off > SEEN, "it stayed with its old sun");

    let from = DROP - halcyon.at();
    let speed = -TAU * 2.3 * halcyon.radius / from.length().powf(1.5);
    let turned = speed * (time(FRAMES) - time(61));
    let at = halcyon.at() + Vec2::from_angle(turned).rotate(from);
    let off = picture.distance(at + (halcyon.at() - at).normalize() * 0.45 * rust.radius, 3, rust.color());
    assert!(off < SEEN, "it is not at {at}: {off}");
}

/// Where the words are that say what was done last, at the lower left.
fn notice() -> impl Iterator<Item = Vec2> {
    (-346..-322).flat_map(|y| (-585..-200).map(move |x| ivec2(x, y).as_vec2()))
}

/// How much is said in this colour.
fn said(picture: &Picture, color: Color) -> usize {
    notice().filter(|&at| picture.distance(at, 0, parts(color)) < SEEN).count()
}

/// The play takes Rust in frame 30, and lets go of it over its moon in frame 60.
#[test]
fn a_planet_hung_on_its_own_moon_is_refused_and_goes_back() {
    const FRAMES: u32 = 150;
    let picture = picture("solar_system", "refuse", FRAMES, Some("refuse.ron"));
    assert!(said(&picture, palette::BAD) > 100, "no refusal is said");
    let suns = suns();
    let (rust, ember) = planet(&suns, "Rust");
    // It stood still on its orbit while it was held.
    let at = ember.at() + rust.offset(time(FRAMES) - (time(61) - time(31)));
    let off = distance(&picture, rust, at, ember.at());
    assert!(off < SEEN, "it is not at {at}: {off}");
    let flake = &rust.bodies[0];
    let off = picture.distance(at + flake.offset(time(FRAMES)), 2, flake.color());
    assert!(off < 2.0 * SEEN, "its moon is not with it: {off}");
}

/// The play takes Eddy in frame 30, far away from the station at its side, and lets go of it in frame 60.
#[test]
fn a_moon_with_a_station_at_its_side_can_be_moved_and_the_station_follows() {
    const FRAMES: u32 = 150;
    const DROP: Vec2 = vec2(74.5, 245.5);
    let picture = picture("solar_system", "moon", FRAMES, Some("moon.ron"));
    assert!(said(&picture, palette::GOOD) > 100, "nothing is said of the new orbit");
    let suns = suns();
    let (brook, _) = planet(&suns, "Brook");
    let eddy = brook.bodies.iter().find(|body| body.name == "Eddy").expect("there is such a moon");
    let (_, halcyon) = planet(&suns, "Lilac");

    let from = DROP - halcyon.at();
    let speed = -TAU * 2.3 * halcyon.radius / from.length().powf(1.5);
    let turned = speed * (time(FRAMES) - time(61));
    let at = halcyon.at() + Vec2::from_angle(turned).rotate(from);
    let off = distance(&picture, eddy, at, halcyon.at());
    assert!(off < SEEN, "it is not at {at}: {off}");
    let relay = &eddy.bodies[0];
    let off = picture.distance(at + relay.offset(time(FRAMES)), 2, relay.color());
    assert!(off < 2.0 * SEEN, "its relay is not with it: {off}");
}

#[test]
fn a_planet_that_is_only_clicked_on_keeps_its_orbit() {
    const FRAMES: u32 = 180;
    let picture = picture("solar_system", "click", FRAMES, Some("click.ron"));
    assert_eq!(said(&picture, palette::GOOD) + said(&picture, palette::BAD), 0, "nothing was done");
    let suns = suns();
    let (verdant, ember) = planet(&suns, "Verdant");
    let at = ember.at() + verdant.offset(time(FRAMES) - (time(34) - time(31)));
    let off = distance(&picture, verdant, at, ember.at());
    assert!(off < SEEN, "it is not at {at}: {off}");
}

/// The play destroys Ember in frame 60, under the policy that bodies outlive their centre.
#[test]
fn planets_of_a_destroyed_sun_drift_off() {
    const FRAMES: u32 = 120;
    let picture = picture("solar_system", "remove", FRAMES, Some("destroy.ron"));
    let suns = suns();
    let (_, ember) = planet(&suns, "Verdant");
    assert!(picture.distance(ember.at(), 2, ember.color()) > 0.3, "the sun is still there");
    for planet in &ember.bodies {
        let (then, gone) = (time(61), time(FRAMES) - time(61));
        let offset = planet.offset(then);
        let at = ember.at() + offset + offset.perp() * (TAU / planet.period) * gone;
        let off = picture.distance(at, 3, planet.color());
        assert!(off < 2.0 * SEEN, "{} is not at {at}: {off}", planet.name);
    }
}

/// The play switches the policy before it destroys Ember.
#[test]
fn planets_go_with_a_sun_where_the_policy_says_so() {
    const FRAMES: u32 = 150;
    let picture = picture("solar_system", "despawn", FRAMES, Some("destroy_all.ron"));
    let suns = suns();
    let (_, ember) = planet(&suns, "Verdant");
    // Nothing but sky, stars and faint light is left where its planets were.
    for planet in &ember.bodies {
        for turn in 0..32 {
            let at = ember.at() + Vec2::from_angle(turn as f32 / 32.0 * TAU) * planet.orbit;
            let off = picture.distance(at, 2, planet.color());
            assert!(off > SEEN, "something like {} is at {at}", planet.name);
        }
    }
    let halcyon = &suns[1];
    assert!(picture.distance(halcyon.at() + 0.5 * halcyon.radius, 1, halcyon.color()) < SEEN);
}

#[test]
fn a_run_is_filmed_from_its_first_frame_to_its_last() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("film.gif");
    let run = command("solar_system").args(["--frames", "9", "--film"]).arg(&file).output();
    let run = run.expect("the scene is built with this test");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let film = File::open(&file).expect("the scene has written it");
    let mut film = gif::Decoder::new(film).expect("it is an animation");
    assert_eq!((u32::from(film.width()), u32::from(film.height())), (SIZE.x / 2, SIZE.y / 2));
    // The first, the fifth and the ninth.
    let mut pictures = 0;
    while film.read_next_frame().expect("it is whole").is_some() {
        pictures += 1;
    }
    assert_eq!(pictures, 3);
}
