//! Requests that are malformed, hostile or huge.

use crate::common::*;
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_remote::{Likes, Ship};
use std::time::{Duration, Instant};

const METHODS: [&str; 6] = [
    "relations.list",
    "relations.pairs",
    "relations.query",
    "relations.explain",
    "relations.insert",
    "relations.remove",
];

/// Parameters that a method accepts.
fn good(method: &str) -> Value {
    match method {
        "relations.list" => json!({}),
        "relations.pairs" => json!({ "entity": "Kite" }),
        "relations.query" | "relations.explain" | "relations.query+watch" => json!({ "expr": "Ship" }),
        _ => json!({ "source": "Kite", "relation": "Likes", "target": "Swan" }),
    }
}

#[test]
fn parameters_that_are_missing_unknown_or_of_another_type_are_refused() {
    let mut app = app();
    for method in METHODS {
        let good = good(method);
        assert!(call(&mut app, method, good.clone()).is_ok(), "{method}");
        let mut wrong = vec![json!([]), json!("Ship"), json!(7), json!(true), json!([good.clone()])];
        for key in good.as_object().unwrap().keys() {
            let mut missing = good.clone();
            missing.as_object_mut().unwrap().remove(key);
            wrong.push(missing);
            for value in [json!(null), json!(true), json!(-1), json!(1.5), json!([]), json!({})] {
                let mut other = good.clone();
                other[key] = value;
                wrong.push(other);
            }
        }
        let mut unknown = good.clone();
        unknown["sudo"] = json!(true);
        wrong.push(unknown);
        for params in wrong {
            let error = refused(&mut app, method, params.clone());
            assert_eq!(reason(&error), (bevy_codes::INVALID_PARAMS, "Params"), "{method} {params}");
        }
    }
}

#[test]
fn numbers_outside_of_the_limits_are_refused() {
    let mut app = app();
    for (method, key) in [
        ("relations.list", "limit"),
        ("relations.pairs", "limit"),
        ("relations.query", "limit"),
        ("relations.query", "steps"),
        ("relations.explain", "steps"),
    ] {
        let mut params = good(method);
        params[key] = json!(u64::MAX);
        let error = refused(&mut app, method, params.clone());
        assert_eq!(reason(&error), (error_codes::LIMIT, "TooLarge"), "{method} {key}");
        for value in [json!(-1), json!("1"), json!(1.5), json!([1]), json!(1e300)] {
            params[key] = value;
            assert_eq!(
                refused(&mut app, method, params.clone()).code,
                bevy_codes::INVALID_PARAMS,
                "{params}"
            );
        }
    }
    let error = refused(&mut app, "relations.query", json!({ "expr": "Ship", "limit": 0 }));
    assert_eq!(error.code, bevy_codes::INVALID_PARAMS);
    let both = json!({ "expr": "Ship", "offset": 1, "cursor": "0-0-0" });
    assert_eq!(refused(&mut app, "relations.query", both).code, bevy_codes::INVALID_PARAMS);
    for cursor in
        ["", "-", "0-0", "0-0-0-0", "zz-0-0", "fffffffffffffffff-0-0", "0-0-0", "ffffffffffffffff-0-0", "ü"]
    {
        let error = refused(&mut app, "relations.query", json!({ "expr": "Ship", "cursor": cursor }));
        assert_eq!(reason(&error), (bevy_codes::INVALID_PARAMS, "Cursor"), "{cursor}");
    }
}

#[test]
fn an_error_in_an_expression_has_its_place() {
    let mut app = app();
    for method in ["relations.query", "relations.explain"] {
        let error = refused(&mut app, method, json!({ "expr": "Ship,\n(DockedTo, $)" }));
        assert_eq!(error.code, bevy_codes::INVALID_PARAMS);
        let data = error.data.unwrap();
        assert_eq!((&data["reason"], &data["param"]), (&json!("Syntax"), &json!("expr")));
        assert_eq!((&data["line"], &data["column"], &data["found"]), (&json!(2), &json!(12), &json!("$")));
        assert_eq!((&data["start"], &data["end"]), (&json!(17), &json!(18)));
        let error = refused(&mut app, method, json!({ "expr": "Ship, Plannet" }));
        let data = error.data.unwrap();
        assert_eq!((&data["reason"], &data["suggestion"]), (&json!("UnknownName"), &json!("Planet")));
        let error = refused(&mut app, method, json!({ "expr": "Ship(up DockedTo)" }));
        assert_eq!(reason(&error).1, "NotTraversable");
    }
}

#[test]
fn texts_that_are_too_long_too_deep_or_no_names_are_refused() {
    let mut app = app();
    let limit = |app: &mut bevy_app::App, expr: String| {
        let error = refused(app, "relations.query", json!({ "expr": expr }));
        assert_eq!(error.code, error_codes::LIMIT, "{}", error.message);
    };
    limit(&mut app, " ".repeat(1 << 20));
    limit(&mut app, "Ship,".repeat(513));
    limit(&mut app, "Ship,".repeat(65));
    limit(&mut app, "!{".repeat(10_000));
    assert!(call(&mut app, "relations.query", json!({ "expr": "Ship,".repeat(64) })).is_ok());
    for name in [
        "",
        " ",
        "A, B",
        "(Likes, Kite)",
        "Kite)",
        "$this",
        "$x",
        "Sol.",
        ".",
        "#",
        "#x",
        "\0",
        "!Kite",
        "Kite|up",
        "up",
    ] {
        for params in [json!({ "entity": name }), json!({ "entity": "Kite", "relation": name })] {
            let error = refused(&mut app, "relations.pairs", params);
            assert!(
                [bevy_codes::INVALID_PARAMS, bevy_codes::ENTITY_NOT_FOUND].contains(&error.code),
                "{name:?}"
            );
        }
    }
    for name in ["*", "_"] {
        let error = refused(&mut app, "relations.pairs", json!({ "entity": name }));
        assert_eq!(error.code, bevy_codes::INVALID_PARAMS);
        let params = json!({ "source": "Kite", "relation": "Likes", "target": name });
        assert_eq!(refused(&mut app, "relations.insert", params).code, bevy_codes::INVALID_PARAMS);
    }
    let long = "x".repeat(10 << 20);
    assert!(refused(&mut app, "relations.pairs", json!({ "entity": long })).message.len() < 1000);
    app.world_mut().spawn(Name::new("Kite"));
    let error = refused(&mut app, "relations.pairs", json!({ "entity": "Kite" }));
    assert_eq!(reason(&error), (bevy_codes::INVALID_PARAMS, "AmbiguousName"));
}

#[test]
fn a_request_that_is_nested_deeply_is_refused() {
    let mut app = app();
    let mut nested = json!(1);
    for _ in 0..200 {
        nested = json!([nested]);
    }
    for method in METHODS {
        let mut params = good(method);
        params["limit"] = nested.clone();
        params["value"] = nested.clone();
        assert!(call(&mut app, method, params).is_err(), "{method}");
    }
    let params = json!({ "source": "Kite", "relation": "Carries", "target": "Swan", "value": nested });
    assert_eq!(reason(&refused(&mut app, "relations.insert", params)).1, "Value");
}

#[test]
fn an_expression_that_goes_on_and_on_ends_at_the_step_limit() {
    let mut app = app();
    let ships: Vec<Entity> = (0..300).map(|_| app.world_mut().spawn(Ship).id()).collect();
    for (number, &ship) in ships.iter().enumerate() {
        for far in 1..30 {
            app.world_mut().insert_pair(ship, Likes, ships[(number + far) % ships.len()]).unwrap();
        }
    }
    let expr = "Likes($a, $b), Likes($b, $c), Likes($c, $d), Likes($d, $e)";
    for method in ["relations.query", "relations.explain"] {
        let start = Instant::now();
        let mut params = json!({ "expr": expr });
        // The rows of the first page would be found soon.
        match method {
            "relations.explain" => params["run"] = json!(true),
            _ => params["offset"] = json!(100_000_000),
        }
        let error = refused(&mut app, method, params.clone());
        assert_eq!(reason(&error), (error_codes::LIMIT, "StepLimit"), "{}", error.message);
        println!("{method}: {:?} for the default limit of steps", start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(20));
        params["steps"] = json!(10);
        let error = refused(&mut app, method, params);
        assert_eq!(error.data.unwrap()["limit"], 10);
    }
    // Fewer steps for a client that asks for it.
    let few = json!({ "expr": "Ship", "steps": 0 });
    assert_eq!(reason(&refused(&mut app, "relations.query", few)).1, "StepLimit");
}
