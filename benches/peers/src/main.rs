//! Compares `bevy_relations` with Flecs and with Bevy in paired, interleaved rounds, and prints a Markdown table.
//!
//! ```text
//! cargo run --profile bench -p bevy_relations_peers -- [--only <part of workload/size>] [--quick]
//! ```

use bevy_relations_peers::{
    CountingAllocator, SEED, Scale, compare, footprint_table, footprints, lap_rows, table_head, workloads,
};
use std::{env, process::ExitCode, str::FromStr};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// What the command line asks for.
struct Options {
    only: Option<String>,
    contestant: Option<String>,
    rounds: usize,
    scale: Scale,
}

impl Options {
    const USAGE: &str = "usage: bevy_relations_peers [--only <part of workload/size>] \
        [--contestant <name>] [--rounds <number>] [--quick]";

    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut only, mut contestant, mut rounds, mut scale) = (None, None, None, Scale::Full);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--only" => only = Some(arguments.next().ok_or("--only: which workload?")?),
                "--contestant" => contestant = Some(arguments.next().ok_or("--contestant: who?")?),
                "--rounds" => {
                    let number = arguments.next().ok_or("--rounds: how many?")?;
                    let number =
                        usize::from_str(&number).map_err(|error| format!("--rounds {number}: {error}"))?;
                    rounds = Some(number.max(1));
                }
                "--quick" => scale = Scale::Quick,
                other => return Err(format!("unknown argument `{other}`")),
            }
        }
        let rounds = rounds.unwrap_or(if scale == Scale::Quick { 5 } else { 21 });
        Ok(Self { only, contestant, rounds, scale })
    }

    fn wants(&self, workload: &str) -> bool {
        self.only.as_deref().is_none_or(|part| workload.contains(part))
    }
}

fn main() -> ExitCode {
    let options = match Options::from_arguments(env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("{problem}\n{}", Options::USAGE);
            return ExitCode::FAILURE;
        }
    };
    if cfg!(debug_assertions) {
        eprintln!("warning: not an optimized build; the ratios mean nothing (see README.md)");
    }
    println!("Seed {SEED:#x}, {} rounds, medians in nanoseconds per element.\n", options.rounds);
    print!("{}", table_head());
    for mut workload in workloads(options.scale) {
        if let Some(name) = &options.contestant {
            workload.contestants.retain(|contestant| contestant.name() == name);
        }
        if options.wants(&format!("{}/{}", workload.id, workload.size)) {
            print!("{}", lap_rows(&workload, &compare(&workload, options.rounds)));
        }
    }
    if options.wants("memory") {
        let size = if options.scale == Scale::Quick { 10_000 } else { 100_000 };
        println!("\n{}", footprint_table(&footprints(size)));
    }
    ExitCode::SUCCESS
}
