//! A server and its clients, each a process of its own: pairs are replicated over UDP with `bevy_replicon`.
//!
//! Shows `mirror_pairs` on the server and `receive_pairs` on the clients, for a relation of tags ([`PartOf`](game::PartOf)), one
//! with values ([`Owes`](game::Owes)) and a symmetric one ([`PartnerOf`](game::PartnerOf)), and a relation that stays on the
//! server ([`Suspects`](game::Suspects)).
//!
//! ```text
//! cargo multiplayer                   plays a story on a server, with two clients, and compares the worlds
//! cargo multiplayer server 5000       a server; each line that it reads is the next step of the story
//! cargo multiplayer client 5000       a client on the same machine
//! ```
//!
//! It prints each step of the story and, once both clients have it, the world:
//!
//! ```text
//! the ship sinks, and the boat has just left it
//!   6 named: ann ben boat cat cy dee; PartOf: ; Owes: ann->ben 5, ann->cat 1; PartnerOf: ann-cy, ben-dee
//! ```

mod arguments;
mod client;
mod demo;
mod game;
mod network;
mod process;
mod server;

use arguments::{Arguments, USAGE};
use bevy::prelude::*;
use std::{
    env,
    io::{self, Write},
};

fn main() -> AppExit {
    let result = match Arguments::read(env::args().skip(1)) {
        Ok(Arguments::Demo) => demo::play(),
        Ok(Arguments::Server { port }) => return server::run(port),
        Ok(Arguments::Client { port }) => return client::run(port),
        // Whether anything reads it is of no concern here.
        Ok(Arguments::Help) => {
            let _ = writeln!(io::stdout(), "{USAGE}");
            Ok(())
        }
        Err(problem) => Err(format!("{problem}\n\n{USAGE}")),
    };
    match result {
        Ok(()) => AppExit::Success,
        Err(problem) => {
            let _ = writeln!(io::stderr(), "{problem}");
            AppExit::error()
        }
    }
}
