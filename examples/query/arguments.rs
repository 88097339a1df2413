//! The command line.

use crate::failure::Failure;
use std::ffi::OsString;

pub(crate) const USAGE: &str = "\
Usage: query [--explain | --json] [--steps NUMBER] [EXPRESSION]

  EXPRESSION        what to look for; without it, a tour of the language is given
  --explain         tell how it was found, step by step
  --json            write each row as a line of JSON
  --steps NUMBER    stop after this number of steps, by default 100000; each row that is looked at is a step
  --help            print this

Exit codes: 0 if all rows were found, 1 if it was stopped, 2 if there is a mistake.";

/// Every pair of the world can be looked at several times.
const STEPS: u64 = 100_000;

/// What is asked for.
pub(crate) enum Request {
    Help,
    Tour,
    Answer { expr: String, form: Form, steps: u64 },
}

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Table,
    Json,
    /// A table, and the plan.
    Explain,
}

impl Request {
    pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Self, Failure> {
        let mut arguments = arguments.map(|argument| {
            let not_text = |argument: OsString| format!("`{}` is not UTF-8", argument.to_string_lossy());
            argument.into_string().map_err(|argument| Failure::Usage(not_text(argument)))
        });
        let mut form = Form::Table;
        let (mut expr, mut steps) = (None, None);
        while let Some(argument) = arguments.next().transpose()? {
            match &*argument {
                "--help" | "-h" => return Ok(Self::Help),
                "--json" | "--explain" if form != Form::Table => {
                    return Err(Failure::Usage("`--json` and `--explain` exclude each other".into()));
                }
                "--json" => form = Form::Json,
                "--explain" => form = Form::Explain,
                "--steps" => {
                    let number = arguments.next().transpose()?;
                    let number = number.ok_or_else(|| Failure::Usage("`--steps` needs a number".into()))?;
                    let parsed = number.parse();
                    steps = Some(parsed.map_err(|_| {
                        Failure::Usage(format!("`--steps` needs a number, and `{number}` is none"))
                    })?);
                }
                option if option.starts_with("--") => {
                    return Err(Failure::Usage(format!("there is no option `{option}`")));
                }
                _ if expr.is_some() => {
                    return Err(Failure::Usage("one expression is enough: put it in quotes".into()));
                }
                _ => expr = Some(argument),
            }
        }
        match expr {
            Some(expr) => Ok(Self::Answer { expr, form, steps: steps.unwrap_or(STEPS) }),
            None if form == Form::Table && steps.is_none() => Ok(Self::Tour),
            None => Err(Failure::Usage("an expression is missing".into())),
        }
    }
}
