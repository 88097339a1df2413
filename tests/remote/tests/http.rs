//! The methods over HTTP on loopback, with an ordinary client.

use bevy_relations::{prelude::*, remote::RemoteLimits};
use bevy_relations_remote::{
    DockedTo, Ship,
    game::{Game, PATIENCE},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    ops::Deref,
    time::Instant,
};
use ureq::{Agent, Body};

/// A client of the app.
struct Client {
    game: Game,
    agent: Agent,
}

impl Client {
    fn start() -> Self {
        let config = Agent::config_builder().timeout_connect(Some(PATIENCE)).http_status_as_error(false);
        Self { game: Game::start(|_| ()), agent: config.build().into() }
    }

    fn post(&self, body: &str) -> Body {
        let url = format!("http://{}", self.game.address());
        self.agent.post(&url).send(body).expect("the app answers").into_body()
    }

    fn ask(&self, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let answer = self.post(&request.to_string()).read_to_string().expect("a text");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)), "{answer}");
        answer
    }

    fn watch(&self, params: Value) -> Stream {
        let request =
            json!({ "jsonrpc": "2.0", "id": 8, "method": "relations.query+watch", "params": params });
        Stream(BufReader::new(Box::new(self.post(&request.to_string()).into_reader())))
    }
}

impl Deref for Client {
    type Target = Game;

    fn deref(&self) -> &Game {
        &self.game
    }
}

/// Messages that come one after the other.
struct Stream(BufReader<Box<dyn Read>>);

impl Stream {
    /// The next message. `None` at the end.
    fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).expect("the stream goes on") == 0 {
                return None;
            }
            if let Some(message) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(message).expect("JSON"));
            }
        }
    }

    fn result(&mut self) -> Value {
        let message = self.next().expect("a message");
        assert!(message.get("error").is_none(), "{message}");
        message["result"].clone()
    }
}

#[test]
fn methods_answer_over_http() {
    let game = Client::start();
    let listed = game.ask("relations.list", json!({}));
    assert!(listed["result"]["relations"].to_string().contains("DockedTo"));
    let rows = game.ask("relations.query", json!({ "expr": "Ship, (DockedTo, $port)" }));
    assert_eq!(rows["result"]["rows"][0]["vars"], json!({ "port": "Sol.Earth" }));
    let plan = game.ask("relations.explain", json!({ "expr": "Ship, (DockedTo, $port)" }));
    assert!(plan["result"]["plan"].is_string());
    let pair = json!({ "source": "Swan", "relation": "DockedTo", "target": "Sol.Mars" });
    assert_eq!(game.ask("relations.insert", pair.clone())["result"]["existed"], false);
    assert_eq!(game.run(|world| world.pairs::<DockedTo>().len()), 2);
    let pairs = game.ask("relations.pairs", json!({ "entity": "Sol.Mars", "relation": "DockedTo" }));
    assert_eq!(pairs["result"]["as_target"]["pairs"][0]["source"], "Swan");
    assert_eq!(game.ask("relations.remove", pair)["result"]["removed"], 1);
    assert_eq!(game.run(|world| world.pairs::<DockedTo>().len()), 1);
}

#[test]
fn errors_come_as_those_of_the_protocol_and_the_app_goes_on() {
    let game = Client::start();
    let error = game.ask("relations.query", json!({ "expr": "Ship, (DockedTo, $)" }));
    assert_eq!((&error["error"]["code"], &error["error"]["data"]["column"]), (&json!(-32602), &json!(18)));
    assert_eq!(game.ask("relations.pairs", json!({ "entity": "Nobody" }))["error"]["code"], -23401);
    assert_eq!(game.ask("relations.nothing", json!({}))["error"]["code"], -32601);
    for hostile in [
        "".to_owned(),
        "{".to_owned(),
        "\0".repeat(100),
        "[".repeat(100_000),
        json!({ "jsonrpc": "2.0", "method": "relations.query", "params": "x".repeat(5 << 20) }).to_string(),
        format!(
            r#"{{"jsonrpc":"2.0","method":"relations.insert","params":{}1{}}}"#,
            "[".repeat(500),
            "]".repeat(500)
        ),
    ] {
        let answer = game.post(&hostile).read_to_string().expect("a text");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert!(answer["error"]["code"].is_number(), "{answer}");
    }
    // Several at a time.
    let request =
        |id| json!({ "jsonrpc": "2.0", "id": id, "method": "relations.query", "params": { "expr": "Ship" } });
    let both = game.post(&json!([request(1), request(2)]).to_string()).read_to_string().expect("a text");
    let both: Value = serde_json::from_str(&both).expect("JSON");
    assert_eq!(
        (both[0]["id"].as_u64(), both[1]["result"]["rows"].as_array().map(Vec::len)),
        (Some(1), Some(2))
    );
}

#[test]
fn rows_are_streamed_to_two_clients_as_they_come_and_go() {
    let game = Client::start();
    let mut streams = [(); 2].map(|()| game.watch(json!({ "expr": "Ship, (DockedTo, $port)" })));
    for stream in &mut streams {
        assert_eq!(stream.result()["entered"][0]["this"], "Kite");
    }
    game.ask("relations.insert", json!({ "source": "Swan", "relation": "DockedTo", "target": "Sol.Mars" }));
    for stream in &mut streams {
        let message = stream.result();
        assert_eq!((&message["entered"][0]["this"], &message["left"]), (&json!("Swan"), &json!([])));
    }
    let swan = game.run(|world| {
        let swan = world.lookup("Swan").unwrap();
        world.despawn(swan);
        swan
    });
    for stream in &mut streams {
        let message = stream.result();
        assert_eq!(message["left"][0]["entities"]["this"], json!(format!("#{}", swan.to_bits())));
    }
}

#[test]
fn a_stream_that_is_refused_ends_after_its_error() {
    let game = Client::start();
    let mut stream = game.watch(json!({ "expr": "Ship,, Planet" }));
    let message = stream.next().expect("a message");
    assert_eq!(message["error"]["data"]["param"], "expr");
    assert_eq!(stream.next(), None);
}

#[test]
fn clients_that_go_away_make_room_for_others() {
    let game = Client::start();
    let most = RemoteLimits::default().watches;
    for _ in 0..3 {
        let start = Instant::now();
        loop {
            let mut streams: Vec<Stream> = (0..most).map(|_| game.watch(json!({ "expr": "Ship" }))).collect();
            // The server finds out that a client is gone a moment later.
            if streams
                .iter_mut()
                .all(|stream| stream.next().is_some_and(|first| first.get("error").is_none()))
            {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "clients that are gone keep their places");
        }
    }
    // So does one that breaks its request off.
    let mut raw = TcpStream::connect(game.address()).expect("the app listens");
    raw.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{").expect("it is read");
    drop(raw);
    assert_eq!(game.run(|world| world.query::<&Ship>().iter(world).count()), 2);
}
