//! Rows that clients watch.

use crate::common::*;
use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_remote::{DockedTo, Log, Ship};
use bevy_remote::RemoteMethods;
use std::{collections::BTreeSet, time::Duration};

/// An app that brings watched rows up to date in every frame.
fn eager() -> App {
    app_with(eager_limits())
}

fn eager_limits() -> RemoteLimits {
    RemoteLimits { watch_interval: Duration::ZERO, ..patient() }
}

fn docked() -> Value {
    json!({ "expr": "Ship, (DockedTo, $port)" })
}

/// How many rows a message says have come and gone.
fn moved(message: &Value) -> (usize, usize) {
    (message["entered"].as_array().unwrap().len(), message["left"].as_array().unwrap().len())
}

#[test]
fn rows_enter_and_leave() {
    let mut app = eager();
    let client = Client::watch(&mut app, docked());
    app.update();
    let first = client.message();
    assert_eq!((moved(&first), &first["variables"]), ((1, 0), &json!(["port"])));
    assert_eq!(names(&first["entered"]), ["Kite"]);
    app.update();
    assert!(client.received().is_none(), "nothing has changed");

    let [kite, swan, mars] = ["Kite", "Swan", "Sol.Mars"].map(|path| entity(&app, path));
    app.world_mut().insert_pair(swan, DockedTo, mars).unwrap();
    app.update();
    let second = client.message();
    assert_eq!((moved(&second), names(&second["entered"])), ((1, 0), vec!["Swan"]));
    assert!(second.get("variables").is_none());
    assert_eq!(second["entered"][0]["vars"]["port"], "Sol.Mars");

    // Another port is another row; a ship that is gone is reported with the entities of before.
    app.world_mut().insert_pair(kite, DockedTo, mars).unwrap();
    app.world_mut().despawn(swan);
    app.update();
    let third = client.message();
    assert_eq!(moved(&third), (1, 2));
    let left = third["left"].as_array().unwrap();
    for earlier in [&first["entered"][0], &second["entered"][0]] {
        assert!(left.iter().any(|left| left["entities"] == earlier["entities"]), "{third}");
    }
    // What comes and goes between two frames is not reported.
    let brief = app.world_mut().spawn((Ship, Pair(DockedTo, mars))).id();
    app.world_mut().despawn(brief);
    app.update();
    assert!(client.received().is_none());
}

#[test]
fn a_watch_without_rows_says_so_once() {
    let mut app = eager();
    let client = Client::watch(&mut app, json!({ "expr": "Ship, Planet" }));
    app.update();
    assert_eq!(moved(&client.message()), (0, 0));
    app.update();
    assert!(client.received().is_none() && !client.is_closed());
}

#[test]
fn variables_that_are_set_leave_other_rows_out() {
    let mut app = eager();
    let mut params = docked();
    params["vars"] = json!({ "port": "Sol.Mars" });
    let client = Client::watch(&mut app, params);
    app.update();
    assert_eq!(moved(&client.message()), (0, 0));
    let [kite, earth, mars] = ["Kite", "Sol.Earth", "Sol.Mars"].map(|path| entity(&app, path));
    app.world_mut().insert_pair(kite, DockedTo, mars).unwrap();
    app.update();
    assert_eq!(moved(&client.message()), (1, 0));
    app.world_mut().insert_pair(kite, DockedTo, earth).unwrap();
    app.update();
    assert_eq!(moved(&client.message()), (0, 1));
}

#[test]
fn clients_with_the_same_request_have_a_stream_each() {
    let mut app = eager();
    let first = Client::watch(&mut app, docked());
    app.update();
    assert_eq!(moved(&first.message()), (1, 0));
    let second = Client::watch(&mut app, docked());
    app.update();
    assert_eq!(moved(&second.message()), (1, 0));
    assert!(first.received().is_none());
    let [swan, mars] = ["Swan", "Sol.Mars"].map(|path| entity(&app, path));
    app.world_mut().insert_pair(swan, DockedTo, mars).unwrap();
    app.update();
    assert_eq!((moved(&first.message()), moved(&second.message())), ((1, 0), (1, 0)));

    // One goes, and comes again.
    drop(first);
    let third = Client::watch(&mut app, docked());
    app.world_mut().remove_pair::<DockedTo>(swan, mars);
    app.update();
    assert_eq!((moved(&second.message()), moved(&third.message())), ((0, 1), (1, 0)));
}

#[test]
fn a_client_that_is_gone_makes_room_for_others() {
    let mut app = app_with(RemoteLimits { watches: 2, ..eager_limits() });
    let clients = [(); 2].map(|()| Client::watch(&mut app, docked()));
    app.update();
    let third = Client::watch(&mut app, docked());
    app.update();
    assert_eq!(reason(&third.error()), (error_codes::LIMIT, "TooLarge"));
    assert!(third.is_closed());
    drop(clients);
    let fourth = Client::watch(&mut app, docked());
    app.update();
    assert_eq!(moved(&fourth.message()), (1, 0));
}

#[test]
fn entities_of_the_expression_may_despawn() {
    let mut app = eager();
    let by_name = Client::watch(&mut app, json!({ "expr": "Planet, (ChildOf, Sol)" }));
    let by_type = Client::watch(&mut app, docked());
    app.update();
    assert_eq!((moved(&by_name.message()), moved(&by_type.message())), ((2, 0), (1, 0)));
    let sol = entity(&app, "Sol");
    app.world_mut().despawn(sol);
    app.update();
    assert_eq!((moved(&by_name.message()), moved(&by_type.message())), ((0, 2), (0, 1)));
    app.update();
    assert!(by_name.received().is_none() && !by_name.is_closed());
    app.world_mut().clear_pairs();
    app.update();
    assert!(!by_type.is_closed());
}

#[test]
fn a_request_that_is_refused_gets_one_error_and_ends() {
    let mut app = eager();
    // The first live expression of a world brings resources, which are entities in Bevy.
    let first = Client::watch(&mut app, json!({ "expr": "Ship" }));
    app.update();
    drop(first);
    app.update();
    app.update();
    for (params, code) in [
        (json!({}), bevy_codes::INVALID_PARAMS),
        (json!([]), bevy_codes::INVALID_PARAMS),
        (json!({ "expr": 7 }), bevy_codes::INVALID_PARAMS),
        (json!({ "expr": "Ship", "limit": 1 }), bevy_codes::INVALID_PARAMS),
        (json!({ "expr": "Ship," .repeat(65) }), error_codes::LIMIT),
        (json!({ "expr": "(DockedTo, $)" }), bevy_codes::INVALID_PARAMS),
        (json!({ "expr": "Ship", "vars": { "x": "Kite" } }), bevy_codes::INVALID_PARAMS),
        (json!({ "expr": "Ship", "vars": { "this": "Nobody" } }), bevy_codes::ENTITY_NOT_FOUND),
        (json!({ "expr": "Ship", "steps": u64::MAX }), error_codes::LIMIT),
        (json!({ "expr": "Ship", "steps": 0 }), error_codes::LIMIT),
    ] {
        let before = state(&mut app);
        let client = Client::watch(&mut app, params.clone());
        app.update();
        app.update();
        assert_eq!(client.error().code, code, "{params}");
        assert!(client.is_closed(), "{params}");
        assert_eq!(state(&mut app), before);
    }
}

#[test]
fn more_rows_than_allowed_end_a_watch() {
    let mut app = app_with(RemoteLimits { rows: 3, ..eager_limits() });
    let client = Client::watch(&mut app, json!({ "expr": "Ship" }));
    app.update();
    assert_eq!(moved(&client.message()), (2, 0));
    app.world_mut().spawn(Ship);
    app.update();
    assert_eq!(moved(&client.message()), (1, 0));
    let kite = entity(&app, "Kite");
    app.world_mut().despawn(kite);
    app.world_mut().spawn(Ship);
    app.update();
    assert_eq!(moved(&client.message()), (1, 1));
    app.world_mut().spawn(Ship);
    app.update();
    assert_eq!(reason(&client.error()), (error_codes::LIMIT, "TooLarge"));
    assert!(client.is_closed());
}

#[test]
fn a_client_that_does_not_read_misses_nothing() {
    let mut app = eager();
    let client = Client::watch(&mut app, json!({ "expr": "Ship", "values": false }));
    for _ in 0..50 {
        app.world_mut().spawn(Ship);
        app.update();
    }
    let mut rows = 0;
    while let Some(message) = client.received() {
        rows += moved(&message.unwrap()).0;
        app.update();
    }
    assert_eq!(rows, 52);
}

#[test]
fn rows_are_brought_up_to_date_no_more_often_than_wanted() {
    let mut app = app_with(RemoteLimits { watch_interval: Duration::from_secs(3600), ..eager_limits() });
    let client = Client::watch(&mut app, json!({ "expr": "Ship" }));
    app.update();
    assert_eq!(moved(&client.message()), (2, 0));
    app.world_mut().spawn(Ship);
    app.update();
    assert!(client.received().is_none());
    app.world_mut().resource_mut::<RemoteLimits>().watch_interval = Duration::ZERO;
    app.update();
    assert_eq!(moved(&client.message()), (1, 0));
}

#[test]
fn watches_take_turns_when_the_time_of_a_frame_is_used_up() {
    let mut app = app_with(RemoteLimits { watch_time: Duration::ZERO, ..eager_limits() });
    let clients = [(); 3].map(|()| Client::watch(&mut app, docked()));
    let mut answered = [0; 3];
    for _ in 0..3 {
        app.update();
        for (client, answered) in clients.iter().zip(&mut answered) {
            *answered += usize::from(client.received().is_some());
        }
    }
    assert_eq!(answered, [1; 3]);
}

#[test]
fn rows_that_are_too_large_for_one_message_come_in_several() {
    let mut app = app_with(RemoteLimits { bytes: 500, ..eager_limits() });
    let logs = (0..20).map(|number| Log(number.to_string().repeat(60)));
    app.world_mut().spawn_batch(logs.chain([Log("x".repeat(1000))]).collect::<Vec<_>>());
    let client = Client::watch(&mut app, json!({ "expr": "Log", "values": true }));
    let (mut entered, mut without_values, mut messages) = (0, 0, 0);
    for _ in 0..40 {
        app.update();
        let Some(message) = client.received() else { continue };
        let rows = message.unwrap()["entered"].as_array().unwrap().clone();
        messages += 1;
        entered += rows.len();
        without_values += rows.iter().filter(|row| row["values_error"].is_string()).count();
    }
    assert_eq!((entered, without_values), (21, 1));
    assert!(messages > 5, "{messages} messages of at most 500 bytes");
}

#[test]
fn many_rows_are_sent_frame_by_frame_whatever_becomes_of_them_meanwhile() {
    let mut app = app_with(RemoteLimits { watch_time: Duration::ZERO, ..eager_limits() });
    let ships: Vec<Entity> = (0..30).map(|_| app.world_mut().spawn(Ship).id()).collect();
    let client = Client::watch(&mut app, json!({ "expr": "Ship" }));
    let mut there = BTreeSet::new();
    let mut messages = 0;
    for frame in 0..40 {
        app.update();
        match frame {
            1 => drop(app.world_mut().despawn(ships[29])),
            2 => drop(app.world_mut().entity_mut(ships[0]).remove::<Ship>()),
            3 => drop(app.world_mut().spawn(Ship)),
            _ => {}
        }
        let Some(message) = client.received() else { continue };
        let message = message.unwrap();
        assert_eq!(message["variables"].is_array(), messages == 0);
        messages += 1;
        let (entered, left) = moved(&message);
        assert_eq!(entered + left, 1, "{message}");
        for row in message["left"].as_array().unwrap() {
            assert!(there.remove(&row["entities"]["this"].to_string()), "{message}");
        }
        for row in message["entered"].as_array().unwrap() {
            assert!(there.insert(row["entities"]["this"].to_string()), "{message}");
        }
    }
    // There were 32 at first; one has come, and two are gone.
    assert_eq!((messages, there.len()), (35, 31));
}

#[test]
fn other_methods_come_through_the_same_mailbox() {
    let mut app = app_with(RemoteLimits { requests_per_frame: 2, ..eager_limits() });
    let unknown = Client::send(&mut app, "relations.nothing", json!({}));
    let listed: Vec<Client> = (0..5).map(|_| Client::send(&mut app, "relations.list", json!({}))).collect();
    let watching = Client::watch(&mut app, docked());
    for _ in 0..10 {
        app.update();
    }
    assert_eq!(unknown.error().code, bevy_codes::METHOD_NOT_FOUND);
    assert!(listed.iter().all(|client| client.message()["total"].as_u64() > Some(4)));
    assert_eq!(moved(&watching.message()), (1, 0));
    // Clients find the method, too.
    let methods = app.world().resource::<RemoteMethods>().methods();
    assert!(methods.iter().any(|method| method == "relations.query+watch"), "{methods:?}");
}

#[test]
fn the_number_of_requests_of_a_frame_can_be_raised_however_many_wait() {
    let mut app = app_with(RemoteLimits { requests_per_frame: 1, ..eager_limits() });
    let listed: Vec<Client> = (0..12).map(|_| Client::send(&mut app, "relations.list", json!({}))).collect();
    let answered = |clients: &[Client]| clients.iter().filter(|client| client.has_message()).count();
    for frame in 1..=3 {
        app.update();
        assert_eq!(answered(&listed), frame);
    }
    app.insert_resource(RemoteLimits { requests_per_frame: usize::MAX, ..eager_limits() });
    app.update();
    app.update();
    assert_eq!(answered(&listed), 12);
}

#[test]
fn a_change_by_one_client_is_seen_by_another() {
    let mut app = eager();
    let client = Client::watch(&mut app, docked());
    app.update();
    client.message();
    let change = json!({ "source": "Swan", "relation": "DockedTo", "target": "Sol.Mars" });
    let changing = Client::send(&mut app, "relations.insert", change);
    app.update();
    app.update();
    assert_eq!(changing.message()["existed"], false);
    assert_eq!(names(&client.message()["entered"]), ["Swan"]);
}
