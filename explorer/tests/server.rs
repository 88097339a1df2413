//! The server in front of an app, with an ordinary client.

mod common;

use bevy_relations::prelude::*;
use bevy_relations_remote::{DockedTo, Ship};
use common::{Game, PATIENCE, free_port, serve};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
};
use ureq::{Agent, Body, http::Response};

fn agent() -> Agent {
    Agent::config_builder().timeout_connect(Some(PATIENCE)).http_status_as_error(false).build().into()
}

fn get(url: &str) -> Response<Body> {
    agent().get(url).call().expect("the server answers")
}

/// Asks as the page of the server does.
fn post(url: &str, body: &str) -> Response<Body> {
    let request = agent().post(format!("{url}app")).header("origin", url.trim_end_matches('/'));
    request.header("content-type", "application/json").send(body).expect("the server answers")
}

fn request(method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string()
}

#[test]
fn the_page_and_what_it_loads_are_served() {
    let url = serve(free_port());
    for (path, kind, part) in [
        ("", "text/html; charset=utf-8", "<main>"),
        ("index.html", "text/html; charset=utf-8", "<main>"),
        ("app.js", "text/javascript; charset=utf-8", "showTree"),
        ("cytoscape.min.js", "text/javascript; charset=utf-8", "cytoscape"),
        ("style.css", "text/css; charset=utf-8", "--accent"),
        ("icon.svg", "image/svg+xml", "<svg"),
    ] {
        let mut answer = get(&format!("{url}{path}"));
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(answer.headers()["content-type"], kind, "{path}");
        assert!(answer.headers()["content-security-policy"].to_str().unwrap().contains("script-src 'self'"));
        assert!(answer.body_mut().read_to_string().unwrap().contains(part), "{path}");
    }
    for path in ["missing.js", "../Cargo.toml", "page/app.js", "%2e%2e/Cargo.toml"] {
        assert_eq!(get(&format!("{url}{path}")).status(), 404, "{path}");
    }
    assert_eq!(agent().put(&url).send("x").unwrap().status(), 405);
}

#[test]
fn requests_of_the_page_are_passed_on_and_streams_too() {
    let game = Game::start();
    let body = request("relations.query", json!({ "expr": "Ship, (DockedTo, $port)" }));
    let answer: Value =
        serde_json::from_str(&post(&game.url, &body).body_mut().read_to_string().unwrap()).unwrap();
    assert_eq!(answer["result"]["rows"][0]["this"], "Kite");
    // An error of the app is passed on as it is.
    let body = request("relations.query", json!({ "expr": "Ship, Unknown" }));
    let answer: Value =
        serde_json::from_str(&post(&game.url, &body).body_mut().read_to_string().unwrap()).unwrap();
    assert_eq!(answer["error"]["data"]["start"], 6);
    let body = request("relations.query+watch", json!({ "expr": "Ship, (DockedTo, $port)" }));
    let mut lines = BufReader::new(post(&game.url, &body).into_body().into_reader()).lines();
    let mut message = || loop {
        let line = lines.next().expect("the stream goes on").unwrap();
        if let Some(data) = line.strip_prefix("data: ") {
            break serde_json::from_str::<Value>(data).unwrap()["result"].clone();
        }
    };
    assert_eq!(message()["entered"][0]["this"], "Kite");
    game.run(|world| {
        let port = world.spawn_empty().id();
        world.spawn((Ship, Pair(DockedTo, port)));
    });
    assert_eq!(message()["entered"].as_array().unwrap().len(), 1);
}

#[test]
fn pages_from_elsewhere_do_not_reach_the_app() {
    let game = Game::start();
    let body = request("relations.list", json!({}));
    let own = game.url.trim_end_matches('/');
    let ask = |origin: Option<&str>, kind: &str| {
        let request = agent().post(format!("{}app", game.url)).header("content-type", kind);
        let request = match origin {
            Some(origin) => request.header("origin", origin),
            None => request,
        };
        request.send(&body).unwrap().status().as_u16()
    };
    assert_eq!(ask(Some(own), "application/json"), 200);
    assert_eq!(ask(Some("http://evil.example"), "application/json"), 403);
    assert_eq!(ask(Some("null"), "application/json"), 403);
    assert_eq!(ask(None, "application/json"), 403);
    assert_eq!(ask(Some(own), "text/plain"), 403);
    // A name that was made to lead here.
    let address = own.trim_start_matches("http://");
    for (host, status) in [(address, "200"), ("evil.example", "403"), ("evil.example:80", "403")] {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer.split(' ').nth(1), Some(status), "{host}");
    }
}

#[test]
fn an_app_that_is_not_there_or_a_request_that_is_too_large_is_told() {
    let url = serve(free_port());
    assert_eq!(post(&url, &request("relations.list", json!({}))).status(), 502);
    let game = Game::start();
    assert_eq!(post(&game.url, &" ".repeat((1 << 20) + 1)).status(), 413);
    assert_eq!(post(&game.url, "no JSON").status(), 200, "the app says what is wrong");
}
