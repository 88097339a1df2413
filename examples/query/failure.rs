//! Why there is no answer.

use crate::arguments::USAGE;
use bevy_relations::{
    error::TraitsError,
    expr::{ExprError, ExprRunError},
};
use std::{io, path::PathBuf, process::ExitCode};
use thiserror::Error;

/// Why there is no answer, or not all of it.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("{0}\n\n{USAGE}")]
    Usage(String),
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: io::Error },
    #[error("{}:{line}: {reason}", path.display())]
    Malformed { path: PathBuf, line: usize, reason: String },
    #[error(transparent)]
    Expr(#[from] ExprError),
    #[error("stopped at the limit, `--steps {steps}`; rows found so far: {rows}")]
    Stopped { steps: u64, rows: usize },
    #[error(transparent)]
    Run(#[from] ExprRunError),
    #[error("a row cannot be written as JSON: {0}")]
    Json(serde_json::Error),
    #[error("cannot write the answer: {0}")]
    Write(#[from] io::Error),
    #[error(transparent)]
    Traits(#[from] TraitsError),
}

impl Failure {
    /// The same, where the limit of steps was reached with the number of rows that there were by then.
    pub(crate) fn after(self, rows: usize) -> Self {
        match self {
            Self::Run(ExprRunError::StepLimit { limit }) => Self::Stopped { steps: limit, rows },
            other => other,
        }
    }

    /// Whether the reader has closed the pipe, as `head` does: it has read enough.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(if let Self::Stopped { .. } = self { 1 } else { 2 })
    }
}
