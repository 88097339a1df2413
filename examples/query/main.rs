//! Countries, cities and what connects them, asked in the query language.
//!
//! ```sh
//! cargo run --example query
//! cargo run --example query -- 'City, (LocatedIn, Germany), Population'
//! cargo run --example query -- --explain 'Country, (Borders, France), (Borders, Germany)'
//! cargo run --example query -- --json '(CapitalOf, $of), (LocatedIn, South\ America)'
//! ```
//!
//! The world is made from the facts in `assets/worlds/geography`. There are entities with one of the components
//! `Continent`, `Region`, `Country`, `Subdivision`, `City`, `Currency` and `Language`; countries and cities have a
//! `Population`, countries an `Area`, cities a `Position`. The relations between them:
//!
//! | relation | from | to | |
//! |---|---|---|---|
//! | `LocatedIn` | place | place | transitive, exclusive |
//! | `Borders` | country | country | symmetric |
//! | `CapitalOf` | city | country | exclusive |
//! | `PaysWith`, `Speaks` | country | currency, language | |
//!
//! Names are paths: `Germany`, `Germany.Bavaria.Munich`, with a backslash before whatever is neither a letter nor a digit.
//!
//! Without an expression it prints a tour: expressions that show one thing each, with what they find. With one it
//! prints a table, the number of rows and the time that it took to find them:
//!
//! ```text
//! this         Country
//! -----------  -------
//! Belgium      BE
//! Luxembourg   LU
//! Switzerland  CH
//! 3 rows in ...
//! ```
//!
//! Rows are written while others are still looked for. A mistake in the expression is shown where it is, and the exit
//! code is 2 then. An expression that looks at very many rows, such as `City, City($other)`, is stopped after a number of
//! steps (`--steps`), and the exit code is 1.

mod answer;
mod arguments;
mod failure;
mod tour;
mod world;

use answer::{write_json, write_table};
use arguments::{Form, Request, USAGE};
use bevy_ecs::world::World;
use bevy_relations::expr::PairExpr;
use failure::Failure;
use std::{
    env,
    ffi::OsString,
    io::{self, BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
};

fn main() -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let answered = run(env::args_os().skip(1), &mut out);
    let flushed = out.flush().map_err(Failure::from);
    match answered.and(flushed) {
        Err(failure) if !failure.is_closed_pipe() => {
            // There is no other place to complain.
            let _ = writeln!(io::stderr(), "{failure}");
            failure.exit_code()
        }
        _ => ExitCode::SUCCESS,
    }
}

fn run(arguments: impl Iterator<Item = OsString>, out: &mut dyn Write) -> Result<(), Failure> {
    let request = Request::parse(arguments)?;
    if let Request::Help = request {
        return Ok(writeln!(out, "{USAGE}")?);
    }
    // Cargo sets the variable for what it runs.
    let root =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let mut world = world::load(&root.join("assets/worlds/geography"))?;
    match request {
        Request::Help => Ok(()),
        Request::Tour => tour::write(out, &mut world),
        Request::Answer { expr, form, steps } => answer(out, &mut world, &expr, form, steps),
    }
}

fn answer(out: &mut dyn Write, world: &mut World, text: &str, form: Form, steps: u64) -> Result<(), Failure> {
    let mut expr = PairExpr::parse(text)?.compile(world)?;
    expr.set_step_limit(Some(steps));
    match form {
        Form::Table => write_table(out, &mut expr, world, usize::MAX),
        Form::Json => write_json(out, &mut expr, world),
        Form::Explain => {
            let answered = write_table(out, &mut expr, world, usize::MAX);
            // The plan shows why it was stopped.
            if matches!(answered, Ok(()) | Err(Failure::Stopped { .. })) {
                write!(out, "\n{}", expr.explain(world)?)?;
            }
            answered
        }
    }
}
