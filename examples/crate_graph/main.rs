//! The packages of a `Cargo.lock` as entities, and "depends on" as a relation between them.
//!
//! ```sh
//! cargo run --example crate_graph
//! cargo run --example crate_graph -- --package bevy_ecs
//! cargo run --example crate_graph -- path/to/Cargo.lock --package syn@2
//! ```
//!
//! Shows a relation with many targets per source (`DependsOn`, followed in both directions) and an exclusive
//! one (`ComesFrom`), pairs given at spawn and in a batch, systems that read pairs, an event, what a refused
//! cycle looks like, and a cleanup policy at work: in a copy of the world, in which nothing outlives what it
//! depends on, one package is despawned. All of that is in `graph.rs`.
//!
//! Prints how many packages there are, where they come from, the longest chain and the cycles, and then about
//! one package (by default the one that most others need) what it needs, who needs it, and what would be gone
//! without it:
//!
//! ```text
//! .../Cargo.lock: 213 packages, 486 dependencies
//!   3 from this workspace
//!   210 from crates.io
//!   ...
//! quote 1.0.47, level 2
//!   depends directly on 1
//!     proc-macro2 1.0.107
//!   ...
//!   despawned, it takes along 88, in this order
//!     bevy_relations_peers 0.1.0
//!     ...
//! ```

mod arguments;
mod failure;
mod graph;
mod lockfile;
mod report;

use arguments::{Arguments, USAGE};
use failure::Failure;
use graph::{Graph, find, investigate, most_needed, summarize};
use std::{
    env,
    ffi::OsString,
    io::{self, ErrorKind, Write},
    process::ExitCode,
};

fn main() -> ExitCode {
    match run(env::args_os().skip(1)).and_then(|text| write(&text)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // There is no other place to complain.
            let _ = writeln!(io::stderr(), "crate_graph: {failure}");
            ExitCode::from(2)
        }
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The reader, such as `head`, has read enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Failure::Unwritable),
    }
}

fn run(arguments: impl Iterator<Item = OsString>) -> Result<String, Failure> {
    let Some(arguments) = Arguments::parse(arguments)? else {
        return Ok(format!("{USAGE}\n"));
    };
    let path = arguments.lockfile()?;
    let packages = lockfile::read(&path)?;
    let mut graph = Graph::new(&packages)?;

    let mut text = String::new();
    let package = match &arguments.package {
        Some(wanted) => graph.ask(find, wanted.clone())??,
        None => {
            let summary = graph.ask(summarize, ())?;
            text += &report::summary(&graph, &path, &summary);
            graph.ask(most_needed, ())?
        }
    };
    let answers = graph.ask(investigate, package)?;
    let gone = graph.gone_without(&packages, package)?;
    assert_eq!(gone.last(), Some(&package), "dependents go first");
    assert_eq!(gone.len(), answers.dependents.len() + 1, "nothing outlives what it depends on");

    let limit = if arguments.package.is_some() { usize::MAX } else { 5 };
    text += &report::package(&graph, package, &answers, &gone, limit);
    Ok(text)
}
