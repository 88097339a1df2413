//! Runs a small world behind Bevy's remote protocol, until it is interrupted.
//!
//! Run it with `cargo remote`, or `cargo remote 15700` for another port than 15702. Then ask:
//!
//! ```sh
//! curl http://127.0.0.1:15702 -d '{"jsonrpc": "2.0", "id": 1, "method": "relations.query",
//!     "params": {"expr": "Ship, (DockedTo, $port)"}}'
//! ```
//!
//! A stream of the ships that dock and leave comes from `relations.query+watch`, with `curl -N`.

use bevy_app::ScheduleRunnerPlugin;
use bevy_relations::remote::RemoteLimits;
use bevy_remote::http::{DEFAULT_PORT, RemoteHttpPlugin};
use std::{env, process::ExitCode, time::Duration};

fn main() -> ExitCode {
    let port = match env::args().nth(1).map(|port| port.parse()) {
        None => DEFAULT_PORT,
        Some(Ok(port)) => port,
        Some(Err(_)) => {
            eprintln!("usage: cargo remote [PORT]");
            return ExitCode::FAILURE;
        }
    };
    let mut app = bevy_relations_remote::app(RemoteLimits::default());
    app.add_plugins(RemoteHttpPlugin::default().with_port(port));
    app.add_plugins(ScheduleRunnerPlugin::run_loop(Duration::from_millis(16)));
    println!("listening on http://127.0.0.1:{port}");
    app.run();
    ExitCode::SUCCESS
}
