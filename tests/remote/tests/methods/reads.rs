//! Methods that read.

use crate::common::*;
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_remote::{Carries, DockedTo, Likes, PartOf, Ship};

#[test]
fn relations_are_listed_with_their_traits_and_numbers_of_pairs() {
    let mut app = app();
    let all = call(&mut app, "relations.list", json!({})).unwrap();
    let listed = all["relations"].as_array().unwrap();
    assert_eq!(all["total"], listed.len());
    assert!(all.get("next").is_none());
    let docked = listed.iter().find(|listed| listed["relation"] == "DockedTo").unwrap();
    assert_eq!((&docked["traits"], &docked["pairs"]), (&json!("exclusive"), &json!(1)));
    let carries = listed.iter().find(|listed| listed["relation"] == "Carries").unwrap();
    assert!(carries["value"].as_str().unwrap().ends_with("Carries"), "{carries}");
    assert!(listed.iter().any(|listed| listed["relation"] == "ChildOf" && listed["pairs"] == 2));

    // By the page, from a request without parameters on.
    let first = call(&mut app, "relations.list", json!({ "limit": 3 })).unwrap();
    let rest = call(&mut app, "relations.list", json!({ "offset": first["next"] })).unwrap();
    let both =
        [first["relations"].as_array().unwrap().clone(), rest["relations"].as_array().unwrap().clone()];
    assert_eq!(&both.concat(), listed);
    assert_eq!(call(&mut app, "relations.list", Value::Null).unwrap(), all);
    let past = call(&mut app, "relations.list", json!({ "offset": usize::MAX })).unwrap();
    assert_eq!(past["relations"], json!([]));
}

#[test]
fn a_change_of_pairs_shows_in_the_version_of_the_relation() {
    let mut app = app();
    let version = |app: &mut bevy_app::App| {
        let all = call(app, "relations.list", json!({})).unwrap();
        let listed = all["relations"].as_array().unwrap();
        listed.iter().find(|listed| listed["relation"] == "Likes").unwrap()["version"].clone()
    };
    let before = version(&mut app);
    let [kite, swan] = ["Kite", "Swan"].map(|name| entity(&app, name));
    app.world_mut().insert_pair(kite, Likes, swan).unwrap();
    assert_ne!(version(&mut app), before);
}

#[test]
fn pairs_of_an_entity_are_read_in_both_directions_with_values() {
    let mut app = app();
    let kite = entity(&app, "Kite");
    let pairs = call(&mut app, "relations.pairs", json!({ "entity": "Kite" })).unwrap();
    assert_eq!((&pairs["name"], &pairs["entity"]), (&json!("Kite"), &json!(bits(kite))));
    let own = pairs["as_source"]["pairs"].as_array().unwrap();
    let carries = own.iter().find(|pair| pair["relation"] == "Carries").unwrap();
    assert_eq!(carries["target"], "Sol.Earth");
    assert_eq!(carries["value"], json!({ "tons": 2.5, "buyer": "Swan" }));
    assert_eq!(carries["entities"]["target"], json!(bits(entity(&app, "Sol.Earth"))));
    assert!(own.iter().any(|pair| pair["relation"] == "DockedTo" && pair.get("value").is_none()));
    assert_eq!(pairs["as_source"]["total"], 2);
    let others = &pairs["as_target"]["pairs"];
    assert_eq!((&others[0]["source"], &others[0]["relation"]), (&json!("Swan"), &json!("Likes")));

    // By bits, as text and as a number; one relation; one direction; without values.
    for entity in [json!(bits(kite)), json!(kite.to_bits())] {
        assert_eq!(call(&mut app, "relations.pairs", json!({ "entity": entity })).unwrap(), pairs);
    }
    let some = json!({ "entity": "Kite", "relation": "Carries", "direction": "as_source", "values": false });
    let some = call(&mut app, "relations.pairs", some).unwrap();
    assert!(some.get("as_target").is_none());
    assert_eq!(some["as_source"]["total"], 1);
    assert!(some["as_source"]["pairs"][0].get("value").is_none());
}

#[test]
fn the_pairs_of_a_hub_are_read_by_the_page() {
    let mut app = app();
    let mars = entity(&app, "Sol.Mars");
    for _ in 0..10 {
        let ship = app.world_mut().spawn(Ship).id();
        app.world_mut().insert_pair(ship, DockedTo, mars).unwrap();
    }
    let (mut seen, mut offset) = (Vec::new(), json!(0));
    while !offset.is_null() {
        let page = json!({ "entity": "Sol.Mars", "direction": "as_target", "offset": offset, "limit": 3 });
        let page = call(&mut app, "relations.pairs", page).unwrap();
        let page = &page["as_target"];
        assert_eq!(page["total"], 10);
        let sources = page["pairs"].as_array().unwrap();
        assert!(!sources.is_empty() && sources.len() <= 3);
        seen.extend(sources.iter().map(|pair| pair["entities"]["source"].as_str().unwrap().to_owned()));
        offset = page.get("next").cloned().unwrap_or_default();
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 10);
}

#[test]
fn a_page_begins_anywhere_in_the_pairs_of_all_relations_of_an_entity() {
    let mut app = app();
    let ids: Vec<Entity> = (0..12).map(|_| app.world_mut().spawn_empty().id()).collect();
    let hub = app.world_mut().spawn(Name::new("Hub")).id();
    let ordered = app.world_mut().spawn_relation("Ordered", RelationTraits::new().ordered()).unwrap();
    for &other in &ids {
        let world = app.world_mut();
        world.insert_pair(hub, Likes, other).unwrap();
        world.insert_pair(other, PartOf, hub).unwrap();
        world.insert_pair_by_id(other, (ordered, hub)).unwrap();
        world.entity_mut(other).insert(ChildOf(hub));
    }
    // Lists with gaps.
    for &other in &ids[3..6] {
        app.world_mut().remove_pair::<Likes>(hub, other);
        app.world_mut().remove_pairs_by_id(other, PairId::from((ordered, hub)));
    }
    for (direction, total) in [("as_source", 9), ("as_target", 33)] {
        let mut page = |offset: usize| {
            let params =
                json!({ "entity": "Hub", "direction": direction, "offset": offset, "values": false });
            let page = call(&mut app, "relations.pairs", params).unwrap();
            let page = &page[direction];
            assert_eq!((&page["total"], page.get("next")), (&json!(total), None));
            page["pairs"].as_array().unwrap().clone()
        };
        let all = page(0);
        assert_eq!(all.len(), total);
        for offset in (0..total).chain([total + 1, usize::MAX]) {
            assert_eq!(page(offset), all[offset.min(total)..], "{direction} from {offset}");
        }
    }
}

#[test]
fn a_query_answers_with_rows_variables_and_values() {
    let mut app = app();
    let answer =
        call(&mut app, "relations.query", json!({ "expr": "Ship, (DockedTo, $port), Planet($port)" }));
    let answer = answer.unwrap();
    assert_eq!(answer["variables"], json!(["port"]));
    assert!(answer.get("next").is_none());
    let row = &answer["rows"][0];
    assert_eq!((&row["this"], &row["vars"]), (&json!("Kite"), &json!({ "port": "Sol.Earth" })));
    assert_eq!(
        row["entities"],
        json!({
            "this": bits(entity(&app, "Kite")), "port": bits(entity(&app, "Sol.Earth")),
        })
    );
    assert_eq!(row["fields"][2]["value"], json!({ "people": 8_000_000_000_u64 }));

    let bare = call(&mut app, "relations.query", json!({ "expr": "Planet", "values": false })).unwrap();
    assert_eq!(names(&bare["rows"]), ["Sol.Earth", "Sol.Mars"]);
    assert!(bare["rows"][0]["fields"][0].get("value").is_none());
    // An optional variable without a value.
    let open = call(&mut app, "relations.query", json!({ "expr": "Ship, ?(DockedTo, $port)" })).unwrap();
    let swan = open["rows"].as_array().unwrap().iter().find(|row| row["this"] == "Swan").unwrap();
    assert_eq!((&swan["vars"]["port"], &swan["entities"]["port"]), (&Value::Null, &Value::Null));
    let none = call(&mut app, "relations.query", json!({ "expr": "" })).unwrap();
    assert_eq!(none["rows"], json!([]));
}

#[test]
fn variables_can_be_set() {
    let mut app = app();
    let mut ask = |vars: Value| {
        let answer =
            call(&mut app, "relations.query", json!({ "expr": "Planet, ?(ChildOf, $of)", "vars": vars }));
        answer.map(|answer| names(&answer["rows"]).join(" "))
    };
    assert_eq!(ask(json!({ "this": "Sol.Mars" })).unwrap(), "Sol.Mars");
    assert_eq!(ask(json!({ "of": "Sol" })).unwrap(), "Sol.Earth Sol.Mars");
    assert_eq!(ask(json!({ "of": "Sol", "this": "Sol.Earth" })).unwrap(), "Sol.Earth");
    assert_eq!(ask(json!({ "of": "Kite" })).unwrap(), "");
    let error = ask(json!({ "from": "Sol" })).unwrap_err();
    assert_eq!(reason(&error), (bevy_codes::INVALID_PARAMS, "UnknownVariable"));
    let error = ask(json!({ "of": "Nowhere" })).unwrap_err();
    assert_eq!(reason(&error), (bevy_codes::ENTITY_NOT_FOUND, "UnknownName"));
    assert_eq!(error.data.unwrap()["param"], "vars.of");
}

#[test]
fn the_pages_of_a_query_are_its_rows_unless_they_change() {
    let mut app = app();
    for number in 0..10 {
        app.world_mut().spawn((Ship, Name::new(format!("Boat {number}"))));
    }
    let all = call(&mut app, "relations.query", json!({ "expr": "Ship" })).unwrap();
    let first = call(&mut app, "relations.query", json!({ "expr": "Ship", "limit": 5 })).unwrap();
    let next = json!({ "expr": "Ship", "cursor": first["next"] });
    let rest = call(&mut app, "relations.query", next.clone()).unwrap();
    let both = [first["rows"].as_array().unwrap().clone(), rest["rows"].as_array().unwrap().clone()];
    assert_eq!(json!(both.concat()), all["rows"]);
    let by_offset = call(&mut app, "relations.query", json!({ "expr": "Ship", "offset": 5 })).unwrap();
    assert_eq!(by_offset["rows"], rest["rows"]);

    let error = refused(&mut app, "relations.query", json!({ "expr": "Planet", "cursor": first["next"] }));
    assert_eq!(reason(&error), (bevy_codes::INVALID_PARAMS, "Cursor"));
    let boat = app.world().lookup("Boat 0").unwrap();
    app.world_mut().despawn(boat);
    let error = refused(&mut app, "relations.query", next);
    assert_eq!(reason(&error), (error_codes::CHANGED, "Changed"));
}

#[test]
fn a_page_ends_before_it_has_too_many_bytes() {
    let mut app = app_with(RemoteLimits { bytes: 2000, ..patient() });
    for _ in 0..100 {
        app.world_mut().spawn(Ship);
    }
    let (mut cursor, mut rows, mut pages) = (Value::Null, 0, 0);
    loop {
        let page = match &cursor {
            Value::Null => json!({ "expr": "Ship" }),
            cursor => json!({ "expr": "Ship", "cursor": cursor }),
        };
        let answer = call(&mut app, "relations.query", page).unwrap();
        assert!(answer["rows"].to_string().len() < 2300);
        rows += answer["rows"].as_array().unwrap().len();
        pages += 1;
        cursor = answer.get("next").cloned().unwrap_or_default();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(rows, 102);
    assert!(pages > 5, "{pages}");
    let pairs = call(&mut app, "relations.pairs", json!({ "entity": "Kite" })).unwrap();
    assert_eq!(pairs["as_source"]["total"], 2);
}

#[test]
fn a_value_that_cannot_be_written_leaves_its_row_readable() {
    let mut app = app_with(RemoteLimits { bytes: 1000, ..patient() });
    app.world_mut().spawn((Name::new("Long"), Ship));
    let long = entity(&app, "Long");
    app.world_mut().entity_mut(long).insert(bevy_relations_remote::Log("x".repeat(5000)));
    let answer = call(&mut app, "relations.query", json!({ "expr": "Log" })).unwrap();
    assert_eq!(names(&answer["rows"]), ["Long"]);
    assert!(answer["rows"][0]["values_error"].as_str().unwrap().contains("more bytes"), "{answer}");
    assert!(answer["rows"][0]["fields"][0].get("value").is_none());
    let error = {
        app.world_mut().resource_mut::<RemoteLimits>().bytes = 10;
        refused(&mut app, "relations.query", json!({ "expr": "Log" }))
    };
    assert_eq!(reason(&error), (error_codes::LIMIT, "TooLarge"));
}

#[test]
fn a_plan_is_explained_with_numbers_after_a_run() {
    let mut app = app();
    let plan = call(&mut app, "relations.explain", json!({ "expr": "Ship, (DockedTo, $port)" })).unwrap();
    assert!(!plan["plan"].as_str().unwrap().is_empty());
    assert!(plan.get("rows").is_none());
    assert_eq!(plan["variables"], json!(["port"]));
    let ran = json!({ "expr": "Ship, (DockedTo, $port)", "run": true, "vars": { "port": "Sol.Earth" } });
    assert_eq!(call(&mut app, "relations.explain", ran).unwrap()["rows"], 1);
}

#[test]
fn lists_of_relations_and_plans_keep_to_the_limit_of_bytes() {
    let mut app = app_with(RemoteLimits { bytes: 600, ..patient() });
    let mut listed = Vec::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let page = call(&mut app, "relations.list", json!({ "offset": offset })).unwrap();
        let relations = page["relations"].as_array().unwrap();
        assert!((1..8).contains(&relations.len()) && page["relations"].to_string().len() < 700, "{page}");
        listed.extend(relations.iter().map(|relation| relation["relation"].clone()));
        offset = page["next"].clone();
    }
    assert_eq!(listed.len(), 8);
    // One that is too large by itself is an error, as is a plan.
    let long = "x".repeat(2000);
    app.world_mut().spawn_relation(long, RelationTraits::new()).unwrap();
    let error = refused(&mut app, "relations.list", json!({ "offset": 8 }));
    assert_eq!(error.data.unwrap()["reason"], "TooLarge");
    call(&mut app, "relations.explain", json!({ "expr": "Ship" })).unwrap();
    let expr = format!("Ship{}", ", (Likes, $friend)".repeat(20));
    let error = refused(&mut app, "relations.explain", json!({ "expr": expr }));
    assert_eq!(error.data.unwrap()["limit"], 600);
}

#[test]
fn names_with_odd_characters_are_read_as_they_are_written() {
    let mut app = app();
    for name in [
        "Dot.ted",
        "with space",
        "quo\"te",
        "back\\slash",
        "ünï",
        "*",
        "_",
        "$x",
        "#7",
        "",
        "a,b",
        "🚀",
        "Ship",
    ] {
        let odd = app.world_mut().spawn(Name::new(name)).id();
        let kite = entity(&app, "Kite");
        app.world_mut().insert_pair(kite, Likes, odd).unwrap();
        let answer =
            call(&mut app, "relations.query", json!({ "expr": "(Likes, $x)", "vars": { "this": "Kite" } }));
        let answer = answer.unwrap();
        let written = answer["rows"][0]["vars"]["x"].clone();
        assert_eq!(answer["rows"][0]["entities"]["x"], json!(bits(odd)), "{name}");
        let pairs = call(&mut app, "relations.pairs", json!({ "entity": written })).unwrap();
        assert_eq!(pairs["entity"], json!(bits(odd)), "{name}");
        let expr = format!("(Likes, {})", written.as_str().unwrap());
        let found = call(&mut app, "relations.query", json!({ "expr": expr })).unwrap();
        assert_eq!(names(&found["rows"]), ["Kite"], "{name}");
        app.world_mut().despawn(odd);
    }
}

#[test]
fn disabled_entities_and_entities_of_types_can_be_named() {
    let mut app = app();
    let kite = entity(&app, "Kite");
    app.world_mut().entity_mut(kite).insert(bevy_ecs::entity_disabling::Disabled);
    let pairs = call(&mut app, "relations.pairs", json!({ "entity": "Kite" })).unwrap();
    assert_eq!(pairs["as_source"]["total"], 2);
    let rows = call(&mut app, "relations.query", json!({ "expr": "Ship" })).unwrap();
    assert_eq!(names(&rows["rows"]), ["Swan"]);
    let of_type = call(&mut app, "relations.pairs", json!({ "entity": "DockedTo" })).unwrap();
    assert_eq!(of_type["name"], "DockedTo");
    assert_eq!(app.world().pair_value::<Carries>(kite, entity(&app, "Sol.Earth")).unwrap().tons, 2.5);
}
