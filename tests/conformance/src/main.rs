//! `bevy_relations` judged by Flecs.
//!
//! `cargo run --release -p bevy_relations_conformance -- [queries|survey|histories] [--cases N] [--seed S]
//! [--case K]` gives random cases to Flecs, to an evaluation by definition and to this crate, and compares what
//! they say. It prints the seed; `--case` repeats one case of it. It exits with 1 if anything differs. `survey`
//! counts how often Flecs differs for each shape of [`shapes`], which are left out otherwise.

mod flecs;
mod flecs_world;
mod histories;
mod judge;
#[expect(dead_code, reason = "the ordinary tests use more of it")]
#[path = "../../it/oracle/mod.rs"]
mod oracle;
#[path = "../../it/ours.rs"]
mod ours;
mod parent;
mod queries;
mod seen;
mod shapes;
mod worker;

use parent::Report;
use std::{env, process::ExitCode};
use worker::Subject;

const USAGE: &str =
    "usage: bevy_relations_conformance [queries|survey|histories] [--cases N] [--seed S] [--case K]";

struct Arguments {
    subjects: Vec<Subject>,
    /// How many cases to compare.
    cases: u64,
    seed: u64,
    case: Option<u64>,
}

fn parse(arguments: &[String]) -> Option<Arguments> {
    let mut parsed = Arguments {
        subjects: vec![Subject::Queries, Subject::Histories],
        cases: 10_000,
        seed: 1,
        case: None,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--cases" => parsed.cases = arguments.next()?.parse().ok()?,
            "--seed" => parsed.seed = arguments.next()?.parse().ok()?,
            "--case" => parsed.case = Some(arguments.next()?.parse().ok()?),
            name => parsed.subjects = vec![Subject::parse(name)?],
        }
    }
    Some(parsed)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [worker, subject, seed, start, end] = arguments.as_slice()
        && worker == "worker"
        && let Some(subject) = Subject::parse(subject)
        && let (Ok(seed), Ok(start), Ok(end)) = (seed.parse(), start.parse(), end.parse())
    {
        worker::run(subject, seed, start..end);
        return ExitCode::SUCCESS;
    }
    let Some(arguments) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut agree = true;
    for &subject in &arguments.subjects {
        let cases = match arguments.case {
            Some(case) => case..case + 1,
            // Some cases are not compared; without an end a mistake in the generator would make it run forever.
            None => 0..arguments.cases.saturating_mul(20),
        };
        match parent::run(subject, arguments.seed, cases, arguments.cases) {
            Ok(report) => agree &= print(subject, arguments.seed, &report),
            Err(error) => {
                eprintln!("no process can be started: {error}");
                agree = false;
            }
        }
    }
    ExitCode::from(u8::from(!agree))
}

/// True if all is well.
fn print(subject: Subject, seed: u64, report: &Report) -> bool {
    println!(
        "{}, seed {seed}: {} compared, {} agree, {} not compared, {} where Flecs stopped",
        subject.name(),
        report.compared(),
        report.agreed,
        report.excluded,
        report.stopped
    );
    for (shape, [agree, differ]) in &report.shapes {
        println!("{agree:7} agree {differ:6} differ: {shape}");
    }
    for (number, text) in &report.differing {
        println!("\ncase {number} of seed {seed}:\n{}{text}", subject.describe(seed, *number));
    }
    report.differing.is_empty()
}
