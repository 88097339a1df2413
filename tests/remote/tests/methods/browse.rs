//! Methods to look around.

use crate::common::*;
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_remote::{Log, PartOf, Ship};
use std::time::Duration;

fn labels(page: &Value) -> Vec<&str> {
    let mut labels: Vec<&str> = page["entities"]
        .as_array()
        .expect("entities")
        .iter()
        .map(|entity| entity["label"].as_str().unwrap_or(""))
        .collect();
    labels.sort_unstable();
    labels
}

/// All pages of a list, one after the other.
fn all(app: &mut bevy_app::App, method: &str, params: Value) -> Vec<Value> {
    all_of(app, method, params, "entities")
}

fn all_of(app: &mut bevy_app::App, method: &str, mut params: Value, key: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let page = call(app, method, params.clone()).unwrap();
        all.extend(page[key].as_array().unwrap().iter().cloned());
        match page.get("next") {
            Some(next) => params[if next.is_string() { "cursor" } else { "offset" }] = next.clone(),
            None => return all,
        }
    }
}

#[test]
fn the_tree_starts_with_the_entities_without_a_parent() {
    let mut app = app();
    let top = call(&mut app, "relations.children", json!({ "named": true })).unwrap();
    assert_eq!(labels(&top), ["Kite", "Sol", "Swan"]);
    assert!(top.get("next").is_none() && top.get("total").is_none());
    let sol = top["entities"].as_array().unwrap().iter().find(|listed| listed["label"] == "Sol").unwrap();
    let bits = bits(entity(&app, "Sol"));
    assert_eq!(sol, &json!({ "name": "Sol", "entity": bits, "label": "Sol", "children": 2 }));

    let below = call(&mut app, "relations.children", json!({ "parent": "Sol" })).unwrap();
    assert_eq!((labels(&below), &below["total"]), (vec!["Earth", "Mars"], &json!(2)));
    assert!(below["entities"].as_array().unwrap().iter().all(|listed| listed["children"] == 0));
    let first = call(&mut app, "relations.children", json!({ "parent": "Sol", "limit": 1 })).unwrap();
    let rest = json!({ "parent": "Sol", "offset": first["next"] });
    let rest = call(&mut app, "relations.children", rest).unwrap();
    let both = [first["entities"].clone(), rest["entities"].clone()].map(|list| list[0].clone());
    assert_eq!(&json!(both), &below["entities"]);
}

#[test]
fn any_relation_can_be_looked_at_as_a_tree() {
    let mut app = app();
    let [kite, swan] = ["Kite", "Swan"].map(|name| entity(&app, name));
    app.world_mut().insert_pair(swan, PartOf, kite).unwrap();
    let top = json!({ "relation": "PartOf", "named": true });
    let top = call(&mut app, "relations.children", top).unwrap();
    assert_eq!(labels(&top), ["Earth", "Kite", "Mars", "Sol"]);
    let below = json!({ "relation": "PartOf", "parent": bits(kite) });
    assert_eq!(labels(&call(&mut app, "relations.children", below).unwrap()), ["Swan"]);
}

#[test]
fn entities_without_a_name_are_labelled_by_their_components() {
    let mut app = app();
    let entity = app.world_mut().spawn((Ship, Log("on the way".into()))).id();
    let unnamed = all(&mut app, "relations.children", json!({ "named": false, "limit": 2 }));
    let listed = unnamed.iter().find(|listed| listed["entity"] == bits(entity)).unwrap();
    assert_eq!((&listed["name"], listed.get("label")), (&json!(bits(entity)), None));
    let components = listed["components"].to_string();
    assert!(components.contains("Ship") && components.contains("Log"), "{components}");
    assert!(unnamed.iter().all(|listed| listed.get("label").is_none()));
    let both = all(&mut app, "relations.children", json!({}));
    assert_eq!(both.len(), unnamed.len() + 3);
}

#[test]
fn entities_are_found_by_a_part_of_their_name_in_any_case() {
    let mut app = app();
    for (text, found) in [("AR", vec!["Earth", "Mars"]), ("kite", vec!["Kite"]), ("x", vec![])] {
        let page = call(&mut app, "relations.search", json!({ "text": text })).unwrap();
        assert_eq!(labels(&page), found, "{text}");
    }
    let earth = call(&mut app, "relations.search", json!({ "text": "earth" })).unwrap();
    assert_eq!(earth["entities"][0]["name"], "Sol.Earth");
    let pages = all(&mut app, "relations.search", json!({ "text": "", "limit": 1 }));
    assert_eq!(pages.len(), 5);
}

#[test]
fn a_page_looks_at_a_limited_number_of_entities() {
    let mut app = app_with(RemoteLimits { scanned: 7, ..patient() });
    for number in 0..100 {
        app.world_mut().spawn(Name::new(format!("Rock {number}")));
    }
    let first = call(&mut app, "relations.search", json!({ "text": "rock 9" })).unwrap();
    assert!(first["entities"].as_array().unwrap().len() <= 7 && first.get("next").is_some(), "{first}");
    let found = all(&mut app, "relations.search", json!({ "text": "rock 9" }));
    assert_eq!(found.len(), 11);
    assert_eq!(all(&mut app, "relations.children", json!({ "named": true, "limit": 3 })).len(), 103);
    let past = call(&mut app, "relations.search", json!({ "text": "", "offset": usize::MAX })).unwrap();
    assert_eq!(past, json!({ "entities": [] }));
}

#[test]
fn a_list_ends_before_it_takes_too_many_bytes() {
    let mut app = app_with(RemoteLimits { bytes: 3000, ..patient() });
    for number in 0..10 {
        app.world_mut().spawn(Name::new(format!("{number}{}", "x".repeat(1000))));
    }
    let first = call(&mut app, "relations.search", json!({ "text": "xx" })).unwrap();
    assert_eq!(first["entities"].as_array().unwrap().len(), 1);
    assert_eq!(all(&mut app, "relations.search", json!({ "text": "xx" })).len(), 10);
    app.world_mut().spawn(Name::new("y".repeat(4000)));
    let error = refused(&mut app, "relations.search", json!({ "text": "yy" }));
    assert_eq!(reason(&error), (error_codes::LIMIT, "TooLarge"));
}

#[test]
fn pages_end_when_the_time_of_a_frame_is_used_up() {
    let mut app = app_with(RemoteLimits { page_time: Duration::ZERO, ..patient() });
    let sol = entity(&app, "Sol");
    for number in 0..300 {
        app.world_mut().spawn((Name::new(format!("Rock {number}")), Log(String::new()), ChildOf(sol)));
    }
    let children = json!({ "parent": "Sol" });
    let searched = json!({ "text": "rock" });
    for (method, params, key, count) in [
        ("relations.children", &children, "entities", 302),
        ("relations.search", &searched, "entities", 300),
        ("relations.query", &json!({ "expr": "Log, (ChildOf, Sol)" }), "rows", 300),
        ("relations.list", &json!({}), "relations", 8),
    ] {
        let first = call(&mut app, method, params.clone()).unwrap();
        // There is time for one, whatever it takes.
        assert_eq!(
            (first[key].as_array().unwrap().len(), first["next"] != Value::Null),
            (1, true),
            "{method}"
        );
        assert_eq!(all_of(&mut app, method, params.clone(), key).len(), count, "{method}");
    }
    // Of what is not found, only so much is looked at.
    let nothing = call(&mut app, "relations.search", json!({ "text": "no such name" })).unwrap();
    assert!(nothing["entities"].as_array().unwrap().is_empty() && nothing["next"] != Value::Null);
    assert_eq!(all(&mut app, "relations.search", json!({ "text": "no such name" })).len(), 0);
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let mut app = app();
    let error = refused(&mut app, "relations.children", json!({ "parent": "Nowhere" }));
    assert_eq!(reason(&error), (bevy_codes::ENTITY_NOT_FOUND, "UnknownName"));
    assert_eq!(error.data.unwrap()["param"], "parent");
    for (method, params) in [
        ("relations.children", json!({ "parent": "Sol", "named": true })),
        ("relations.children", json!({ "relation": "*" })),
        ("relations.children", json!({ "limit": 0 })),
        ("relations.search", json!({})),
        ("relations.search", json!({ "text": 3 })),
    ] {
        let error = refused(&mut app, method, params);
        assert_eq!(reason(&error), (bevy_codes::INVALID_PARAMS, "Params"), "{}", error.message);
    }
    let error = refused(&mut app, "relations.search", json!({ "text": "a", "limit": 100_000 }));
    assert_eq!(reason(&error), (error_codes::LIMIT, "TooLarge"));
    // What is no relation has no pairs: everything is at the top.
    let top = call(&mut app, "relations.children", json!({ "relation": "Kite", "named": true })).unwrap();
    assert_eq!(labels(&top).len(), 5);
}
