//! Compares `bevy_relations` with Flecs and with Bevy in paired, interleaved rounds.
//!
//! ```text
//! cargo compare          # everything, written to benches/results
//! cargo run --profile bench -p bevy_relations_peers -- --only retarget --quick
//! ```

mod options;
mod results;

use bevy_relations_peers::{
    Contestant, CountingAllocator, HUGE, Lap, Machine, Record, Rounds, Scale, Workload, compare, entry,
    from_csv, goals, lines, to_csv, workloads,
};
use options::{One, Options, USAGE};
use results::Results;
use std::{
    env, io,
    process::{Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

/// No workload may take longer: one that does takes the time of all others.
const LONGEST: Duration = Duration::from_secs(150);

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    let options = match Options::from_arguments(env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    if let Some(one) = &options.one {
        return measure_here(&options, one);
    }
    if let Some(directory) = &options.show {
        return match results::show_again(directory) {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => {
                eprintln!("the results in {} cannot be shown: {problem}", directory.display());
                ExitCode::FAILURE
            }
        };
    }
    if cfg!(debug_assertions) {
        eprintln!("warning: not an optimized build; the ratios mean nothing (see README.md)");
    }
    match measure_all(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("the results could not be written: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn name(workload: &Workload) -> String {
    format!("{}/{}", workload.id, workload.size)
}

/// Measures one workload in this process, and prints its records.
fn measure_here(options: &Options, one: &One) -> ExitCode {
    let Some(mut workload) = workloads(options.scale).into_iter().find(|other| name(other) == one.workload)
    else {
        eprintln!("there is no workload {}", one.workload);
        return ExitCode::FAILURE;
    };
    if let Some(name) = &one.contestant {
        workload.contestants.retain(|contestant| contestant.name() == name);
    }
    let rounds = if workload.size >= HUGE {
        Rounds { warm_up: 0, most: 1, least: 1, within: one.within }
    } else {
        Rounds { warm_up: 2, most: options.rounds, least: options.rounds.min(3), within: one.within }
    };
    let laps = compare(&workload, rounds);
    let record = |(contestant, lap): (&Contestant, &Lap)| {
        let (low, high) = lap.quartiles();
        Record {
            workload: workload.id.into(),
            size: workload.size,
            contestant: contestant.name().into(),
            median: lap.median(),
            low,
            high,
            unit: entry(workload.id).unit.per_element().into(),
            rounds: lap.rounds(),
        }
    };
    let records: Vec<_> = workload.contestants.iter().zip(&laps).map(record).collect();
    print!("{}", to_csv(&records));
    ExitCode::SUCCESS
}

/// Measures what is wanted, one process after the other: none finds the heap as another left it, and one that dies
/// takes its own results with it only. False if one did.
fn measure_all(options: &Options) -> io::Result<bool> {
    let start = Instant::now();
    let mut results = Results::new(options.write.as_deref(), Machine::here())?;
    if options.resume {
        results = results.resume()?;
    }
    let wanted: Vec<_> = workloads(options.scale)
        .into_iter()
        .filter(|workload| options.wants(&name(workload)) && !results.has(workload))
        .collect();
    println!("{}", results.machine());
    let deadline = start + options.time;
    for (place, workload) in wanted.iter().enumerate() {
        let left: f64 = wanted[place..].iter().map(weight).sum();
        let time = deadline.saturating_duration_since(Instant::now()).mul_f64(weight(workload) / left);
        eprintln!("{:4} s, {} of {}: {}", start.elapsed().as_secs(), place + 1, wanted.len(), name(workload));
        match measure_apart(options, workload, time) {
            Ok(records) => {
                print!("{}{}", lines(&records), goals(&workload.contestants, &records));
                results.add(records)?;
            }
            Err(problem) => {
                eprintln!("{}: {problem}", name(workload));
                results.fail(format!("{}: {problem}", name(workload)));
            }
        }
    }
    eprintln!("{:4} s", start.elapsed().as_secs());
    results.finish()
}

/// Large workloads need more time for as many rounds.
fn weight(workload: &Workload) -> f64 {
    (workload.size as f64).sqrt().max(100.0)
}

/// What is huge in a process for each contestant: they need not share the memory, and the peak is that of one.
fn measure_apart(options: &Options, workload: &Workload, time: Duration) -> Result<Vec<Record>, String> {
    if workload.size < HUGE {
        return measure_in_a_process(options, workload, None, time);
    }
    let mut records = Vec::new();
    for contestant in &workload.contestants {
        records.extend(measure_in_a_process(options, workload, Some(contestant.name()), time)?);
    }
    Ok(records)
}

fn measure_in_a_process(
    options: &Options,
    workload: &Workload,
    contestant: Option<&str>,
    time: Duration,
) -> Result<Vec<Record>, String> {
    let this = env::current_exe().map_err(|error| format!("this program is not found: {error}"))?;
    let mut command = Command::new(this);
    command.args(["--one", &name(workload), "--seconds", &time.as_secs_f64().to_string()]);
    command.args(["--rounds", &options.rounds.to_string()]);
    if let Some(contestant) = contestant {
        command.args(["--contestant", contestant]);
    }
    if options.scale == Scale::Quick {
        command.arg("--quick");
    }
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().map_err(|error| error.to_string())?;
    // It prints a few lines, at its end: they fit into the pipe.
    let start = Instant::now();
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if start.elapsed() > LONGEST {
            child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
            return Err(format!("it was given up after {} s", LONGEST.as_secs()));
        }
        thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("it ended with {}", output.status));
    }
    from_csv(&String::from_utf8_lossy(&output.stdout))
}
