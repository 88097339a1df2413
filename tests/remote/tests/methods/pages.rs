//! Pages that end by time or by bytes: together they have every entry once.

use crate::common::*;
use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_remote::{Likes, Log, PartOf};
use std::{collections::HashMap, time::Duration};

/// How often each entry came.
type Counts = HashMap<String, usize>;

#[track_caller]
fn assert_each_once(counts: &Counts, count: usize, place: &str) {
    assert_eq!(counts.len(), count, "{place}");
    assert!(counts.values().all(|&times| times == 1), "{place}: {counts:?}");
}

/// Limits of which each ends pages early.
fn narrow() -> [RemoteLimits; 2] {
    [RemoteLimits { page_time: Duration::ZERO, ..patient() }, RemoteLimits { bytes: 250, ..patient() }]
}

/// An app with an entity that has six pairs as a source and twelve as a target.
fn app_with_hub(limits: RemoteLimits) -> App {
    let mut app = app_with(limits);
    let world = app.world_mut();
    let hub = world.spawn(Name::new("Hub")).id();
    for _ in 0..6 {
        let other = world.spawn_empty().id();
        world.insert_pair(hub, Likes, other).unwrap();
        world.insert_pair(other, PartOf, hub).unwrap();
        world.insert_pair(other, Likes, hub).unwrap();
    }
    app
}

/// Counts the pairs of one direction on all of its pages, as the book says: as long as a result has `next`, the request is sent
/// again with it as `offset`.
fn count_pairs(app: &mut App, params: &Value, direction: &str) -> Counts {
    let (mut params, mut counts) = (params.clone(), Counts::new());
    for _ in 0..100 {
        let page = call(app, "relations.pairs", params.clone()).unwrap();
        for pair in page[direction]["pairs"].as_array().unwrap() {
            *counts.entry(pair.to_string()).or_default() += 1;
        }
        match page[direction].get("next") {
            Some(next) => params["offset"] = next.clone(),
            None => return counts,
        }
    }
    panic!("{direction}: the pages do not end");
}

#[test]
fn pages_of_pairs_in_one_direction_have_each_pair_once() {
    for limits in narrow() {
        let mut app = app_with_hub(limits);
        for (direction, count) in [("as_source", 6), ("as_target", 12)] {
            let params = json!({ "entity": "Hub", "direction": direction });
            assert_each_once(&count_pairs(&mut app, &params, direction), count, direction);
        }
    }
}

#[test]
fn pages_of_pairs_in_both_directions_have_each_pair_once() {
    for limits in narrow() {
        let mut app = app_with_hub(limits);
        for (direction, count) in [("as_source", 6), ("as_target", 12)] {
            let params = json!({ "entity": "Hub" });
            assert_each_once(&count_pairs(&mut app, &params, direction), count, direction);
        }
    }
}

/// Counts the entities on all pages of a method.
fn count_entities(app: &mut App, method: &str, mut params: Value, key: &str) -> Counts {
    let mut counts = Counts::new();
    for _ in 0..2_000 {
        app.update();
        let page = call(app, method, params.clone()).unwrap();
        for entry in page[key].as_array().unwrap() {
            let id = if key == "rows" { &entry["entities"]["this"] } else { &entry["entity"] };
            *counts.entry(id.to_string()).or_default() += 1;
        }
        match page.get("next") {
            Some(next) => params[if next.is_string() { "cursor" } else { "offset" }] = next.clone(),
            None => return counts,
        }
    }
    panic!("{method}: the pages do not end");
}

#[test]
fn pages_of_rows_and_entities_have_each_once_whatever_ends_them() {
    for (bytes, page_time, scanned) in [
        (400, Duration::MAX, 3),
        (900, Duration::MAX, 1_000),
        (1 << 20, Duration::ZERO, 1),
        (1 << 20, Duration::from_micros(30), 5),
    ] {
        let mut app = app_with(RemoteLimits { bytes, page_time, scanned, ..patient() });
        let kite = entity(&app, "Kite");
        for number in 0..40_usize {
            let text = "x".repeat(if number % 7 == 0 { 600 } else { number });
            let rock = app.world_mut().spawn((Name::new(format!("Rock {number}")), Log(text))).id();
            if number % 3 == 0 {
                app.world_mut().insert_pair(rock, Likes, kite).unwrap();
            }
        }
        for (method, params, key, count) in [
            ("relations.query", json!({ "expr": "Log" }), "rows", 40),
            ("relations.query", json!({ "expr": "Log, ?(Likes, $x)" }), "rows", 40),
            ("relations.search", json!({ "text": "rock" }), "entities", 40),
            ("relations.children", json!({ "named": true }), "entities", 43),
            ("relations.children", json!({ "relation": "Likes", "parent": "Kite" }), "entities", 15),
        ] {
            let place = format!("{method} {params}, {bytes} bytes, {page_time:?}, {scanned}");
            assert_each_once(&count_entities(&mut app, method, params, key), count, &place);
        }
    }
}
