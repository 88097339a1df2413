//! The command line.

use crate::failure::Failure;

pub(crate) const USAGE: &str = "\
Usage: query [--explain | --json] [EXPRESSION]

  EXPRESSION    what to look for; without it, a tour of the language is given
  --explain     tell how it was found, step by step
  --json        write each row as a line of JSON
  --help        print this";

/// What is asked for.
pub(crate) enum Request {
    Help,
    Tour,
    Answer { expr: String, form: Form },
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
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut form = Form::Table;
        let mut expr = None;
        for argument in arguments {
            match &*argument {
                "--help" | "-h" => return Ok(Self::Help),
                "--json" | "--explain" if form != Form::Table => {
                    return Err(Failure::Usage("`--json` and `--explain` exclude each other".into()));
                }
                "--json" => form = Form::Json,
                "--explain" => form = Form::Explain,
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
            Some(expr) => Ok(Self::Answer { expr, form }),
            None if form == Form::Table => Ok(Self::Tour),
            None => Err(Failure::Usage("an expression is missing".into())),
        }
    }
}
