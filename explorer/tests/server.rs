//! The server in front of a running app, asked by an ordinary client.

mod common;

use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_remote::game::free_address;
use bevy_relations_remote::{DockedTo, Ship};
use common::{Game, PATIENCE, serve};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
};
use ureq::{Agent, Body, http::Response};

fn agent() -> Agent {
    Agent::config_builder().timeout_connect(Some(PATIENCE)).http_status_as_error(false).build().into()
}

fn get(server: SocketAddr, path: &str) -> Response<Body> {
    agent().get(&format!("http://{server}{path}")).call().expect("the server answers")
}

fn header(response: &Response<Body>, name: &str) -> String {
    response.headers().get(name).map_or("", |value| value.to_str().expect("a text")).to_owned()
}

/// Asks as a page of `origin` would.
fn post(server: SocketAddr, origin: &str, request: &Value) -> Response<Body> {
    let post = agent().post(&format!("http://{server}/app"));
    let post = post.header("Origin", origin).header("Content-Type", "application/json");
    post.send(request.to_string()).expect("the server answers")
}

fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 3, "method": method, "params": params })
}

fn ask(server: SocketAddr, method: &str, params: Value) -> Value {
    let mut response = post(server, &format!("http://{server}"), &request(method, params));
    assert_eq!(
        (response.status().as_u16(), header(&response, "content-type")),
        (200, "application/json".into())
    );
    let text = response.body_mut().read_to_string().expect("a text");
    serde_json::from_str(&text).expect("JSON")
}

/// Sends a request as it is written. Returns the first line of the answer.
fn raw(server: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(server).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    stream.write_all(request.as_bytes()).expect("it is read");
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("an answer");
    line.trim_end().to_owned()
}

#[test]
fn the_files_of_the_page_are_served_with_their_types() {
    let server = serve(free_address());
    for (path, kind, part) in [
        ("/", "text/html; charset=utf-8", "<!doctype html>"),
        ("/index.html", "text/html; charset=utf-8", "app.js"),
        ("/?q=Ship", "text/html; charset=utf-8", "app.js"),
        ("/style.css", "text/css; charset=utf-8", "color-scheme: light dark"),
        ("/icon.svg", "image/svg+xml", "<svg"),
        ("/app.js", "text/javascript; charset=utf-8", "showTree"),
        ("/cytoscape.min.js", "text/javascript; charset=utf-8", "Cytoscape"),
    ] {
        let mut response = get(server, path);
        assert_eq!(
            (response.status().as_u16(), header(&response, "content-type").as_str()),
            (200, kind),
            "{path}"
        );
        assert!(header(&response, "content-security-policy").contains("default-src 'none'"), "{path}");
        assert_eq!(header(&response, "x-content-type-options"), "nosniff", "{path}");
        let text = response.body_mut().read_to_string().expect("a text");
        assert!(text.contains(part), "{path}");
    }
}

#[test]
fn other_paths_and_methods_are_refused() {
    let server = serve(free_address());
    for path in ["/missing", "/app", "/../Cargo.toml", "/%2e%2e/Cargo.toml", "//index.html"] {
        assert_eq!(get(server, path).status(), 404, "{path}");
    }
    let put = agent().put(&format!("http://{server}/app")).send("{}").expect("the server answers");
    assert_eq!(put.status(), 405);
    let post = agent().post(&format!("http://{server}/index.html")).send("{}").expect("the server answers");
    assert_eq!(post.status(), 405);
    assert!(raw(server, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
    // And it goes on.
    assert_eq!(get(server, "/").status(), 200);
}

#[test]
fn requests_are_passed_on_and_answered() {
    let game = Game::start(|_| ());
    let server = serve(game.address());
    let listed = ask(server, "relations.list", json!({}));
    assert_eq!(listed["id"], 3);
    assert!(listed["result"]["relations"].to_string().contains("DockedTo"), "{listed}");
    let pair = json!({ "source": "Swan", "relation": "DockedTo", "target": "Sol.Mars" });
    assert_eq!(ask(server, "relations.insert", pair)["result"]["existed"], false);
    assert_eq!(game.run(|world| world.pairs::<DockedTo>().len()), 2);
    // What the app refuses comes as it says it.
    let wrong = ask(server, "relations.query", json!({ "expr": "Ship, (DockedTo, $)" }));
    assert_eq!(wrong["error"]["data"]["column"], 18);
    assert_eq!(ask(server, "relations.nothing", json!({}))["error"]["code"], -32601);
}

#[test]
fn streams_are_passed_on_as_they_come() {
    let game = Game::start(|_| ());
    let server = serve(game.address());
    let watch = request("relations.query+watch", json!({ "expr": "Ship" }));
    let stream = post(server, &format!("http://{server}"), &watch).into_body().into_reader();
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("the stream goes on"));
    let mut next = || -> Value {
        let message = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
        serde_json::from_str(&message.expect("a message")).expect("JSON")
    };
    assert_eq!(next()["result"]["entered"].as_array().map(Vec::len), Some(2));
    let gull = game.run(|world| world.spawn((Name::new("Gull"), Ship)).id());
    assert_eq!(next()["result"]["entered"][0]["this"], "Gull");
    game.run(move |world| world.despawn(gull));
    assert_eq!(next()["result"]["left"][0]["entities"]["this"], format!("#{}", gull.to_bits()));
}

#[test]
fn pages_from_elsewhere_are_refused() {
    let game = Game::start(|_| ());
    let server = serve(game.address());
    let pair = json!({ "source": "Swan", "relation": "DockedTo", "target": "Sol.Mars" });
    let insert = request("relations.insert", pair);
    for origin in
        ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1", "http://localhost"]
    {
        let mut response = post(server, origin, &insert);
        assert_eq!(response.status(), 403, "{origin}");
        assert_eq!(header(&response, "access-control-allow-origin"), "");
        let text = response.body_mut().read_to_string().expect("a text");
        assert_eq!(text, "Only the page of this server may ask the app.");
    }
    // Without an origin, and as what a form of another page can send.
    let url = format!("http://{server}/app");
    let none = agent().post(&url).header("Content-Type", "application/json").send(insert.to_string());
    assert_eq!(none.expect("the server answers").status(), 403);
    let own = format!("http://{server}");
    let text = agent().post(&url).header("Origin", &own).header("Content-Type", "text/plain");
    assert_eq!(text.send(insert.to_string()).expect("the server answers").status(), 403);
    assert_eq!(game.run(|world| world.pairs::<DockedTo>().len()), 1);
    // A browser asks first whether it may send JSON from another page: that is no yes.
    let asked = raw(
        server,
        &format!(
            "OPTIONS /app HTTP/1.1\r\nHost: {server}\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n\r\n"
        ),
    );
    assert!(asked.starts_with("HTTP/1.1 405"), "{asked}");
}

#[test]
fn names_that_lead_to_this_machine_are_refused() {
    let server = serve(free_address());
    let port = server.port();
    let own = raw(server, &format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"));
    assert!(own.starts_with("HTTP/1.1 200"), "{own}");
    for host in
        [format!("evil.example:{port}"), "localhost".into(), format!("10.0.0.1:{port}"), String::new()]
    {
        for path in ["/", "/app.js"] {
            let answer = raw(server, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
        }
        let body = request("relations.list", json!({})).to_string();
        let answer = raw(
            server,
            &format!(
                "POST /app HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ),
        );
        assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
    }
}

#[test]
fn an_app_that_does_not_run_is_a_bad_gateway_and_may_start_later() {
    let app = free_address();
    let server = serve(app);
    let own = format!("http://{server}");
    let mut response = post(server, &own, &request("relations.list", json!({})));
    assert_eq!(response.status(), 502);
    assert_eq!(response.body_mut().read_to_string().expect("a text"), "The app does not answer.");
    // So is something that is no app.
    let listener = std::net::TcpListener::bind(app).expect("it was free");
    let other = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("it is asked");
        let _ = stream.write_all(b"220 mail.example ESMTP\r\n");
        let mut rest = Vec::new();
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let _ = stream.read_to_end(&mut rest);
    });
    assert_eq!(post(server, &own, &request("relations.list", json!({}))).status(), 502);
    other.join().expect("it has ended");
    let game = Game::start(|_| ());
    let server = serve(game.address());
    assert!(ask(server, "relations.list", json!({}))["result"].is_object());
}

#[test]
fn a_request_that_is_too_large_is_refused() {
    let game = Game::start(|_| ());
    let server = serve(game.address());
    let large = request("relations.query", json!({ "expr": "x".repeat(2 << 20) }));
    let answer = agent()
        .post(&format!("http://{server}/app"))
        .header("Origin", format!("http://{server}"))
        .header("Content-Type", "application/json")
        .send(large.to_string());
    // The server may close the connection before all of it is sent.
    assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status() == 413));
    assert!(ask(server, "relations.list", json!({}))["result"].is_object());
}
