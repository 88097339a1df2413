//! `bevy_relations` judged by Flecs.
//!
//! `cargo run --release -p bevy_relations_conformance -- [queries|histories|prefabs] [--cases N] [--seed S] [--case K]`
//! gives random cases to Flecs, to an evaluation by definition and to this crate, and compares what they say. It
//! prints the seed; `--case` repeats one case of it. It exits with 1 if anything differs that no rule of [`rules`]
//! explains, or if rules explain too much. `--minimal` prints a small case for each rule that came up, `--quick`
//! leaves out to make differences smaller. `golden` checks the examples of [`golden`], `texts` those of [`texts`],
//! `prefab-cases` those of [`prefab_cases`].

mod flecs;
mod flecs_world;
mod golden;
mod histories;
mod judge;
#[expect(dead_code, reason = "the ordinary tests use more of it")]
#[path = "../../it/oracle/mod.rs"]
mod oracle;
#[expect(dead_code, reason = "the ordinary tests use more of it")]
#[path = "../../it/ours.rs"]
mod ours;
mod parent;
mod prefab_cases;
mod prefab_world;
mod prefabs;
mod queries;
mod rules;
mod seen;
mod spelling;
mod text;
mod texts;
mod worker;

use parent::Report;
use queries::Case;
use std::{env, process::ExitCode};
use worker::Subject;

const USAGE: &str = "usage: bevy_relations_conformance golden | texts | prefab-cases | [queries|histories|prefabs] [--cases N] [--seed S] [--case K] [--minimal] [--quick]";

/// Differences that are printed.
const SHOWN: usize = 12;

/// Cases from which the shares are judged.
const ENOUGH: u64 = 500;

struct Arguments {
    subjects: Vec<Subject>,
    /// How many cases to compare.
    cases: u64,
    seed: u64,
    case: Option<u64>,
    /// Whether a small case is wanted for each rule.
    minimal: bool,
    /// Whether differences are printed as they are, and not made smaller.
    quick: bool,
}

fn parse(arguments: &[String]) -> Option<Arguments> {
    let mut parsed = Arguments {
        subjects: vec![Subject::Queries, Subject::Histories, Subject::Prefabs],
        cases: 10_000,
        seed: 1,
        case: None,
        minimal: false,
        quick: false,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--cases" => parsed.cases = arguments.next()?.parse().ok()?,
            "--seed" => parsed.seed = arguments.next()?.parse().ok()?,
            "--case" => parsed.case = Some(arguments.next()?.parse().ok()?),
            "--quick" => parsed.quick = true,
            "--minimal" => parsed.minimal = true,
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
    if let [what] = arguments.as_slice()
        && let Some(failures) = match what.as_str() {
            "texts" => Some(texts::failures()),
            "golden" => Some(golden::failures()),
            "prefab-cases" => Some(prefab_cases::failures()),
            _ => None,
        }
    {
        failures.iter().for_each(|failure| println!("{failure}"));
        return ExitCode::from(u8::from(!failures.is_empty()));
    }
    if let [what, number] = arguments.as_slice()
        && what == "prefab-case"
    {
        number.parse().into_iter().for_each(prefab_cases::run_one);
        return ExitCode::SUCCESS;
    }
    if let [written, world, query, named] = arguments.as_slice()
        && written == "written"
    {
        let case = Case::read(world, query, named == "true");
        return case.map_or(ExitCode::from(2), |case| {
            worker::run_written(&case);
            ExitCode::SUCCESS
        });
    }
    let Some(arguments) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut agree = true;
    for &subject in &arguments.subjects {
        let cases = arguments.case.map_or(0..arguments.cases, |case| case..case + 1);
        match parent::run(subject, arguments.seed, cases) {
            Ok(report) => {
                agree &= print(subject, &arguments, &report);
                if arguments.minimal {
                    print_minimal(arguments.seed, &report);
                }
            }
            Err(error) => {
                eprintln!("no process can be started: {error}");
                agree = false;
            }
        }
    }
    ExitCode::from(u8::from(!agree))
}

/// True if all is well.
fn print(subject: Subject, arguments: &Arguments, report: &Report) -> bool {
    let seed = arguments.seed;
    let (total, known) = (report.total(), report.known());
    println!(
        "{}, seed {seed}: {total} cases, {} agree with Flecs, {known} differ as a rule says, {} are not known to \
         Flecs and agree with the definition, {} differ",
        subject.name(),
        report.agreed,
        report.beyond(),
        report.differing.len()
    );
    for (what, count) in &report.beyond {
        println!("{count:7} beyond Flecs: {what}");
    }
    let mut known_first: Vec<_> = report.known.iter().collect();
    known_first.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (rule, (count, first)) in known_first {
        let [agree, differ] = report.alone.get(rule).copied().unwrap_or_default();
        println!("{count:7} by rule: {rule} (case {first}; alone {differ} of {})", agree + differ);
    }
    for (number, text) in report.differing.iter().take(SHOWN) {
        println!("\ncase {number} of seed {seed}:\n{}{text}", subject.describe(seed, *number));
        if subject == Subject::Queries
            && !arguments.quick
            && let Ok((case, verdict)) = parent::shrink(Case::new(seed, *number))
        {
            println!("smaller, {}:\n  {}\n{}", verdict.outcome, case.written().join("\n  "), verdict.text);
        }
    }
    let enough = total < ENOUGH || (known * 10 < total && report.agreed * 2 > total);
    if !enough {
        println!("rules may explain a tenth of the cases, and Flecs must agree with more than half of them");
    }
    report.differing.is_empty() && enough
}

/// A small case for each rule, as [`golden`] lists them.
fn print_minimal(seed: u64, report: &Report) {
    for (rule, &(_, number)) in &report.known {
        let Ok((case, verdict)) = parent::shrink(Case::new(seed, number)) else { continue };
        let [world, query, named] = case.written();
        println!("Golden {{");
        println!("    rule: {rule:?},\n    world: {world:?},\n    query: {query:?},\n    named: {named},");
        println!("    answers: {:?},\n}},", verdict.text);
    }
}
