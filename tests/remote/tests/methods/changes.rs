//! Methods that change.

use crate::common::*;
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_remote::{Carries, DockedTo, Likes, Log, PartOf, Trusts};

fn insert(source: &str, relation: &str, target: &str) -> Value {
    json!({ "source": source, "relation": relation, "target": target })
}

#[test]
fn a_pair_is_inserted_with_all_that_its_traits_ask_for() {
    let mut app = app();
    let [kite, earth, mars] = ["Kite", "Sol.Earth", "Sol.Mars"].map(|path| entity(&app, path));
    let answer = call(&mut app, "relations.insert", insert("Kite", "DockedTo", "Sol.Mars")).unwrap();
    assert_eq!(answer["existed"], false);
    assert_eq!((&answer["source"], &answer["target"]), (&json!(bits(kite)), &json!(bits(mars))));
    assert!(app.world().has_pair::<DockedTo>(kite, mars) && !app.world().has_pair::<DockedTo>(kite, earth));
    let again = call(&mut app, "relations.insert", insert("Kite", "DockedTo", "Sol.Mars")).unwrap();
    assert_eq!(again["existed"], true);

    // A relation of run time, and Bevy's own.
    let trades = app.world_mut().spawn_relation("Trades", RelationTraits::new().symmetric()).unwrap();
    app.world_mut().entity_mut(trades).insert(Name::new("Trades"));
    call(&mut app, "relations.insert", insert("Sol.Earth", "Trades", "Sol.Mars")).unwrap();
    assert!(app.world().has_pair_by_id(mars, (trades, earth)));
    call(&mut app, "relations.insert", insert("Kite", "ChildOf", "Sol")).unwrap();
    assert_eq!(app.world().lookup("Sol.Kite"), Ok(kite));
    app.world().check_pairs().unwrap();
}

#[test]
fn a_value_is_read_by_reflection_with_entities_by_name() {
    let mut app = app();
    let [kite, swan, mars] = ["Kite", "Swan", "Sol.Mars"].map(|path| entity(&app, path));
    let mut with = |value: Value| {
        let mut params = insert("Kite", "Carries", "Sol.Mars");
        params["value"] = value;
        call(&mut app, "relations.insert", params).map(|_| ())
    };
    with(json!({ "tons": 1.5, "buyer": "Swan" })).unwrap();
    with(json!({ "tons": 2.0, "buyer": bits(swan) })).unwrap();
    with(json!({ "tons": 3.0, "buyer": swan.to_bits() })).unwrap();
    let value = app.world().pair_value::<Carries>(kite, mars);
    assert_eq!(value, Some(&Carries { tons: 3.0, buyer: Some(swan) }));
    // What is written is read again.
    let pairs = json!({ "entity": "Kite", "relation": "Carries", "direction": "as_source" });
    let pairs = call(&mut app, "relations.pairs", pairs).unwrap();
    let mut back = insert("Swan", "Carries", "Sol.Mars");
    back["value"] = pairs["as_source"]["pairs"][1]["value"].clone();
    call(&mut app, "relations.insert", back).unwrap();
    assert_eq!(app.world().pair_value::<Carries>(swan, mars), app.world().pair_value::<Carries>(kite, mars));
}

#[test]
fn what_the_rules_refuse_changes_nothing() {
    let mut app = app();
    call(&mut app, "relations.insert", insert("Kite", "PartOf", "Swan")).unwrap();
    let check = |app: &mut bevy_app::App, params: Value, expected: &str| {
        let error = refused(app, "relations.insert", params);
        assert_eq!(reason(&error), (error_codes::REFUSED, expected), "{}", error.message);
        error.message
    };
    let message = check(&mut app, insert("Swan", "PartOf", "Kite"), "Cycle");
    assert!(message.contains("Kite") && message.contains("Swan"), "{message}");
    check(&mut app, insert("Swan", "IsA", "Planet"), "Final");
    check(&mut app, insert("Swan", "Carries", "Kite"), "MissingValue");
    let with = |relation: &str, value: Value| {
        let mut params = insert("Swan", relation, "Kite");
        params["value"] = value;
        params
    };
    check(&mut app, with("Trusts", json!({ "percent": 101 })), "Refused");
    // Values that are none, or not for this pair.
    check(&mut app, with("Likes", json!({})), "Value");
    check(&mut app, with("Likes", json!(null)), "Value");
    check(&mut app, with("DockedTo", json!(1)), "Value");
    check(&mut app, with("ChildOf", json!("Sol")), "Value");
    for value in [
        json!(null),
        json!(7),
        json!([]),
        json!({}),
        json!({ "tons": 1.0 }),
        json!({ "tons": "heavy", "buyer": null }),
        json!({ "tons": 1.0, "buyer": "Nobody" }),
        json!({ "tons": 1.0, "buyer": "*" }),
        json!({ "tons": 1.0, "buyer": 0 }),
        json!({ "tons": 1.0, "buyer": null, "color": "red" }),
        json!({ "percent": 300 }),
    ] {
        let params = with("Carries", value.clone());
        match call(&mut app, "relations.insert", params.clone()) {
            Err(_) => drop(check(&mut app, params, "Value")),
            // Reflection takes what is missing from nowhere, and leaves what it does not know.
            Ok(_) => panic!("{value}"),
        }
    }
    let kite = entity(&app, "Kite");
    assert!(!app.world().pairs::<Trusts>().has_any(entity(&app, "Swan")));
    assert_eq!(app.world().pairs::<PartOf>().source_count(kite), 0);
}

#[test]
fn a_refused_request_makes_neither_a_type_nor_an_entity_a_part_of_the_store() {
    let mut app = app();
    // No entity stands for `Log` yet, and `Swan` is no relation. `refused` counts entities and relations.
    refused(&mut app, "relations.insert", insert("Log", "Likes", "Nobody"));
    refused(&mut app, "relations.insert", insert("Kite", "Log", "Nobody"));
    refused(&mut app, "relations.insert", insert("Log", "Log", "*"));
    refused(&mut app, "relations.remove", insert("Log", "Log", "Nobody"));
    let with_value = |source: &str, relation: &str, target: &str| {
        let mut params = insert(source, relation, target);
        params["value"] = json!(1);
        params
    };
    refused(&mut app, "relations.insert", with_value("Kite", "Log", "Swan"));
    refused(&mut app, "relations.insert", with_value("Kite", "Likes", "Log"));
    refused(&mut app, "relations.insert", with_value("Kite", "Swan", "Log"));
    refused(&mut app, "relations.insert", insert("Log", "Carries", "Log"));
    let removed = call(&mut app, "relations.remove", insert("Kite", "Log", "*")).unwrap();
    assert_eq!(removed["removed"], 0);
    // What is not refused makes them.
    call(&mut app, "relations.insert", insert("Kite", "Ship", "Swan")).unwrap();
    call(&mut app, "relations.insert", insert("Kite", "Swan", "Ship")).unwrap();
    app.world().check_pairs().unwrap();
}

#[test]
fn a_pair_of_a_type_whose_fields_are_not_registered_is_refused() {
    let mut app = app();
    let check = |app: &mut bevy_app::App, params: Value, param: &str| {
        let error = refused(app, "relations.insert", params);
        assert_eq!(reason(&error), (error_codes::REFUSED, "UnknownFields"), "{}", error.message);
        assert_eq!(error.data.as_ref().unwrap()["param"], param);
        let message = error.message;
        assert!(message.contains("`Log`") && message.contains("`world.entity_of`"), "{message}");
    };
    let with_value = |relation: &str, target: &str| {
        let mut params = insert("Kite", relation, target);
        params["value"] = json!("a storm");
        params
    };
    // As a relation, as a target of a relation that leaves values, of one that is none yet, and of itself.
    check(&mut app, insert("Kite", "Log", "Swan"), "relation");
    check(&mut app, with_value("Log", "Swan"), "relation");
    check(&mut app, insert("Kite", "Likes", "Log"), "target");
    check(&mut app, with_value("Likes", "Log"), "target");
    check(&mut app, insert("Kite", "Swan", "Log"), "target");
    check(&mut app, insert("Kite", "Log", "Log"), "relation");
    let knows = app.world_mut().spawn_relation("Knows", RelationTraits::new().symmetric()).unwrap();
    app.world_mut().entity_mut(knows).insert(Name::new("Knows"));
    check(&mut app, insert("Log", "Knows", "Kite"), "source");
    // A tag whatever its ends are, and a relation that says itself what it carries.
    let is_about = app.world_mut().spawn_relation("IsAbout", RelationTraits::new().tag()).unwrap();
    app.world_mut().entity_mut(is_about).insert(Name::new("IsAbout"));
    call(&mut app, "relations.insert", insert("Kite", "IsAbout", "Log")).unwrap();
    let mut params = insert("Kite", "Trusts", "Log");
    params["value"] = json!({ "percent": 3 });
    call(&mut app, "relations.insert", params).unwrap();

    // Once it is known, the values are there.
    let world = app.world_mut();
    let [log, likes] = [world.entity_of::<Log>(), world.entity_of::<Likes>()];
    let [kite, swan] = ["Kite", "Swan"].map(|path| entity(&app, path));
    call(&mut app, "relations.insert", with_value("Log", "Swan")).unwrap();
    call(&mut app, "relations.insert", with_value("Likes", "Log")).unwrap();
    let world = app.world();
    for pair in [(log, swan), (likes, log)] {
        let value = world.pair_value_by_id::<Log>(kite, pair).map(|log| &*log.0);
        assert_eq!(value, Some("a storm"));
    }
    world.check_pairs().unwrap();
}

#[test]
fn pairs_are_removed_one_by_one_or_by_wildcards() {
    let mut app = app();
    let mut remove = |source: &str, relation: &str, target: &str| {
        call(&mut app, "relations.remove", insert(source, relation, target)).unwrap()["removed"].clone()
    };
    assert_eq!(remove("Kite", "Likes", "Swan"), 0);
    assert_eq!(remove("Kite", "DockedTo", "Sol.Earth"), 1);
    assert_eq!(remove("Kite", "DockedTo", "Sol.Earth"), 0);
    assert_eq!(remove("Kite", "Carries", "*"), 1);
    assert_eq!(remove("Swan", "*", "Kite"), 1);
    assert_eq!(remove("Sol.Earth", "*", "*"), 1);
    assert!(app.world().lookup("Earth").is_ok());
    app.world().check_pairs().unwrap();
}

#[test]
fn more_pairs_than_a_request_may_remove_stay() {
    let mut app = app_with(RemoteLimits { rows: 3, ..patient() });
    let kite = entity(&app, "Kite");
    for _ in 0..3 {
        let other = app.world_mut().spawn_empty().id();
        app.world_mut().insert_pair(kite, Likes, other).unwrap();
    }
    // It is docked, and carries something.
    for relation in ["*", "_"] {
        let error = refused(&mut app, "relations.remove", insert("Kite", relation, "*"));
        assert_eq!(reason(&error), (error_codes::LIMIT, "TooLarge"));
    }
    assert_eq!(call(&mut app, "relations.remove", insert("Kite", "Likes", "*")).unwrap()["removed"], 3);
    assert_eq!(call(&mut app, "relations.remove", insert("Kite", "*", "*")).unwrap()["removed"], 2);
}

#[test]
fn a_dead_or_unknown_entity_is_named_with_its_parameter() {
    let mut app = app();
    let dead = app.world_mut().spawn_empty().id();
    app.world_mut().despawn(dead);
    let dead = bits(dead);
    for method in ["relations.insert", "relations.remove"] {
        for name in [&*dead, "Nobody", "Sol.Nobody", "#0", "#18446744073709551615"] {
            for (param, [source, relation, target]) in [
                ("source", [name, "Likes", "Kite"]),
                ("relation", ["Kite", name, "Swan"]),
                ("target", ["Kite", "Likes", name]),
            ] {
                let error = refused(&mut app, method, insert(source, relation, target));
                assert_eq!(error.code, bevy_codes::ENTITY_NOT_FOUND, "{}", error.message);
                assert_eq!(error.data.as_ref().unwrap()["param"], param);
            }
        }
    }
    let error = refused(&mut app, "relations.pairs", json!({ "entity": dead }));
    assert_eq!(error.code, bevy_codes::ENTITY_NOT_FOUND);
    // A suggestion, as for expressions.
    let error = refused(&mut app, "relations.insert", insert("Kitt", "Likes", "Swan"));
    assert_eq!(error.data.unwrap()["suggestion"], "Kite");
}

#[test]
fn an_observer_that_despawns_the_source_does_no_harm() {
    let mut app = app();
    app.world_mut().add_observer(|event: On<PairInserted<Likes>>, mut commands: Commands| {
        commands.entity(event.event_target()).despawn();
    });
    call(&mut app, "relations.insert", insert("Kite", "Likes", "Swan")).unwrap();
    assert!(app.world().lookup("Kite").is_err());
    app.world().check_pairs().unwrap();
}

#[test]
fn methods_work_again_after_all_pairs_or_resources_were_cleared() {
    let mut app = app();
    app.world_mut().clear_pairs();
    let pairs = call(&mut app, "relations.pairs", json!({ "entity": "Kite" })).unwrap();
    assert_eq!(pairs["as_source"]["total"], 0);
    call(&mut app, "relations.insert", insert("Kite", "Likes", "Swan")).unwrap();
    let rows = call(&mut app, "relations.query", json!({ "expr": "(Likes, *)" })).unwrap();
    assert_eq!(names(&rows["rows"]), ["Kite"]);
    // Without the limits, those by default hold.
    app.world_mut().remove_resource::<RemoteLimits>();
    let error = refused(&mut app, "relations.query", json!({ "expr": "Ship", "limit": 1001 }));
    assert_eq!(reason(&error), (error_codes::LIMIT, "TooLarge"));
}
