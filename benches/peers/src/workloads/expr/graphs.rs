//! Expressions that join pairs.

use super::scene::{FlecsScene, FlecsWay, Scene, flecs, ours, ours_as};
use crate::{
    flecs::Kind,
    flecs_query::Term,
    harness::Workload,
    ours::{DockedTo, Likes, MemberOf, TeamOf},
    random::Random,
};
use bevy_relations::prelude::*;

/// A place that lies in another.
#[derive(Relation, Default)]
#[relation(exclusive, transitive)]
pub(super) struct LocatedIn;

const JOIN: &str = "A, (R, $p), B($p)";

fn join_terms(scene: &FlecsScene) -> Vec<Term> {
    vec![scene.has(0), Term::to_variable(scene.relation, c"$p"), scene.has(1).on(c"$p")]
}

fn join(id: &'static str, size: usize, scene: &Scene, hits: usize) -> Workload {
    let repeats = (200_000 / hits).max(1);
    let way = |kind, cached| FlecsWay { kind, cached, terms: join_terms, target_of: Some(1) };
    let contestants = vec![
        flecs("flecs", scene, repeats, way(Kind::Exclusive, true)),
        flecs("flecs uncached", scene, repeats, way(Kind::Exclusive, false)),
        flecs("flecs DontFragment", scene, repeats, way(Kind::SparseExclusive, false)),
        ours::<DockedTo>(scene, repeats, JOIN, Some("p")).goal("flecs", 1.0).goal("flecs uncached", 1.0),
        ours_as::<MemberOf>("ours table", scene, repeats, (JOIN, Some("p"))),
        ours_as::<TeamOf>("ours fragmenting", scene, repeats, (JOIN, Some("p"))),
    ];
    Workload { id, size, elements: hits * repeats, contestants }
}

/// Ships docked to planets and moons, and loose ones; each may have a tag of its own.
pub(super) fn w_vars(locations: usize, tagged: bool) -> Workload {
    let mut scene = Scene::default();
    let planets = scene.spawn(locations);
    let moons = scene.spawn(locations);
    scene.holders[1].extend(planets.clone());
    scene.holders[2].extend(moons.clone());
    for location in planets.chain(moons) {
        let ships = scene.spawn(10);
        scene.pairs.extend(ships.map(|ship| (ship, location)));
    }
    let loose = scene.spawn(locations);
    let ships = 2 * locations..loose.end;
    scene.holders[0].extend(ships.clone());
    if tagged {
        scene.tagged.extend(ships);
    }
    join(if tagged { "expr_vars_tagged" } else { "expr_vars" }, locations, &scene, locations * 10)
}

/// Ships spread over planets and moons at random.
pub(super) fn ships(count: usize) -> Workload {
    let locations = (count / 100).max(2);
    let mut scene = Scene::default();
    let places = scene.spawn(locations);
    let half = locations / 2;
    scene.holders[1].extend(places.start..half);
    scene.holders[2].extend(half..places.end);
    let ships = scene.spawn(count);
    let chosen = Random::new(51).choices(count, locations);
    scene.pairs.extend(ships.clone().zip(&chosen).map(|(ship, &place)| (ship, place)));
    scene.holders[0].extend(ships);
    let hits = chosen.into_iter().filter(|&place| place < half).count();
    join("expr_ships", count, &scene, hits)
}

const TRIANGLE: &str = "(R, $x), R($x, $y), R($y, $this)";

fn triangle_terms(scene: &FlecsScene) -> Vec<Term> {
    let likes = scene.relation;
    vec![
        Term::to_variable(likes, c"$x"),
        Term::to_variable(likes, c"$y").on(c"$x"),
        Term::to_variable(likes, c"$this").on(c"$y"),
    ]
}

fn triangles(id: &'static str, nodes: usize, mut pairs: Vec<(usize, usize)>, goal: f64) -> Workload {
    pairs.sort_unstable();
    pairs.dedup();
    let mut scene = Scene::default();
    scene.spawn(nodes);
    let elements = pairs.len();
    scene.pairs = pairs;
    let way =
        |cached| FlecsWay { kind: Kind::Fragmenting, cached, terms: triangle_terms, target_of: Some(0) };
    let contestants = vec![
        flecs("flecs", &scene, 1, way(true)),
        flecs("flecs uncached", &scene, 1, way(false)),
        ours::<Likes>(&scene, 1, TRIANGLE, Some("x")).goal("flecs", goal).goal("flecs uncached", goal),
    ];
    Workload { id, size: nodes, elements, contestants }
}

/// Ten pairs per node, at random.
pub(super) fn triangle(nodes: usize) -> Workload {
    let mut random = Random::new(52);
    let pairs = (0..nodes * 10).map(|_| (random.below(nodes), random.below(nodes))).collect();
    triangles("expr_triangle", nodes, pairs, 20.0)
}

/// As many pairs, most of them with few nodes.
pub(super) fn skewed_triangle(nodes: usize) -> Workload {
    let mut random = Random::new(53);
    let mut end = || {
        let part = random.below(1 << 20) as f64 / f64::from(1 << 20);
        (part.powi(3) * nodes as f64) as usize
    };
    let pairs = (0..nodes * 10).map(|_| (end(), end())).collect();
    triangles("expr_triangle_skewed", nodes, pairs, 50.0)
}

/// Everything in one place, in the places in it, and so on: four levels.
pub(super) fn closure(size: usize, edited: bool) -> Workload {
    let mut scene = Scene::default();
    let top = scene.spawn(1);
    let mut above = top;
    for level in [size / 2_000, size / 200, size / 20] {
        let places = scene.spawn(level.max(1));
        scene.pairs.extend(places.clone().map(|place| (place, above.start + place % above.len())));
        above = places;
    }
    let leaves = scene.spawn(size);
    scene.pairs.extend(leaves.clone().map(|leaf| (leaf, above.start + leaf % above.len())));
    scene.holders[0].extend(leaves.clone());
    if edited {
        let targets =
            [above.start + leaves.start % above.len(), above.start + (leaves.start + 1) % above.len()];
        scene.edits.push((leaves.start, targets));
    }
    let repeats = if edited { 1 } else { 10 };
    let terms = |scene: &FlecsScene| {
        vec![scene.has(0), Term::with(crate::flecs::pair(scene.relation, scene.entities[0]))]
    };
    let way = |cached| FlecsWay { kind: Kind::TransitiveExclusive, cached, terms, target_of: None };
    let goals = if edited { 0.9 } else { 2.0 };
    let contestants = vec![
        flecs("flecs", &scene, repeats, way(true)),
        flecs("flecs uncached", &scene, repeats, way(false)),
        ours::<LocatedIn>(&scene, repeats, "A, (R, E0)", None)
            .goal("flecs", goals)
            .goal("flecs uncached", goals),
    ];
    let id = if edited { "expr_closure_edited" } else { "expr_closure" };
    Workload { id, size, elements: size * repeats, contestants }
}
