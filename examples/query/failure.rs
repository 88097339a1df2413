//! Why there is no answer.

use crate::arguments::USAGE;
use bevy_relations::{ExprError, ExprRunError, TraitsError};
use std::{io, path::PathBuf};
use thiserror::Error;

/// Why there is no answer.
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
    #[error(transparent)]
    Run(#[from] ExprRunError),
    #[error(transparent)]
    Traits(#[from] TraitsError),
}
