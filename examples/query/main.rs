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
//! A mistake in the expression is shown where it is, and the exit code is 2 then.

mod answer;
mod arguments;
mod failure;
mod tour;
mod world;

use answer::Table;
use arguments::{Form, Request, USAGE};
use bevy_ecs::{reflect::AppTypeRegistry, world::World};
use bevy_relations::{PairExpr, RowSerializer};
use failure::Failure;
use std::{
    env,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

fn main() -> ExitCode {
    match run(env::args().skip(1)) {
        Ok(text) => {
            // An error means that whoever reads this has read enough.
            let _ = io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: impl Iterator<Item = String>) -> Result<String, Failure> {
    let request = Request::parse(arguments)?;
    if let Request::Help = request {
        return Ok(format!("{USAGE}\n"));
    }
    // Cargo sets the variable for what it runs.
    let root =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let mut world = world::load(&root.join("assets/worlds/geography"))?;
    match request {
        Request::Help => Ok(String::new()),
        Request::Tour => tour::text(&mut world),
        Request::Answer { expr, form } => answer(&mut world, &expr, form),
    }
}

fn answer(world: &mut World, text: &str, form: Form) -> Result<String, Failure> {
    let mut expr = PairExpr::parse(text)?.compile(world)?;
    match form {
        Form::Table => Ok(Table::of(&mut expr, world)?.text(usize::MAX)),
        Form::Explain => {
            let table = Table::of(&mut expr, world)?.text(usize::MAX);
            Ok(format!("{}\n{table}", expr.explain(world)?))
        }
        Form::Json => {
            let types = world.resource::<AppTypeRegistry>().read();
            let mut lines = String::new();
            expr.for_each(world, |row| {
                let line = serde_json::to_string(&RowSerializer::new(row, &types));
                lines += &line.expect("what is registered here can be written");
                lines += "\n";
            })?;
            Ok(lines)
        }
    }
}
