//! The explorer beside a running scene.

use crate::common::command;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Ends with the test.
struct Scene(Child);

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The answer to a request to the server of the page; of a request with a body, to `POST`.
fn request(host: &str, path: &str, body: Option<&str>) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let (method, body) = body.map_or(("GET", ""), |body| ("POST", body));
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn the_explorer_is_served_beside_a_scene_and_reads_it() {
    // No browser is found without a path.
    let mut command = command("factions");
    command.arg("--explore").env("PATH", "").stdout(Stdio::piped());
    let mut scene = Scene(command.spawn().expect("the scene is built with this test"));
    let mut lines = BufReader::new(scene.0.stdout.take().expect("it is piped")).lines();
    let url = lines.find_map(|line| Some(line.ok()?.strip_prefix("explorer: ")?.to_owned()));
    let url = url.expect("the scene says where the page is; is there a display?");
    let host = url.trim_start_matches("http://").trim_end_matches('/');

    let page = request(host, "/", None).unwrap();
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<title>"), "{page}");
    // The scene answers once it runs.
    let list = r#"{"jsonrpc": "2.0", "id": 1, "method": "relations.list"}"#;
    let start = Instant::now();
    loop {
        let answer = request(host, "/app", Some(list)).unwrap();
        if answer.starts_with("HTTP/1.1 200") && answer.contains("relations") {
            assert!(answer.contains("\"pairs\""), "{answer}");
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{answer}");
        thread::sleep(Duration::from_millis(100));
    }
}
