//! Why there is no answer.

use crate::arguments::USAGE;
use bevy_ecs::error::BevyError;
use std::{io, path::PathBuf};
use thiserror::Error;

/// Why there is no answer.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("{0}\n\n{USAGE}")]
    Usage(String),
    #[error("there is no Cargo.lock in {} or above it", .0.display())]
    NotFound(PathBuf),
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: io::Error },
    #[error("{} is not a complete Cargo.lock: {reason}", path.display())]
    NotALockfile { path: PathBuf, reason: String },
    #[error("there is no package `{wanted}`{}", list("; did you mean one of these?", similar))]
    UnknownPackage { wanted: String, similar: Vec<String> },
    #[error("`{wanted}` may be any of several packages:{}", list("", candidates))]
    AmbiguousPackage { wanted: String, candidates: Vec<String> },
    #[error("cannot write the answer: {0}")]
    Unwritable(io::Error),
    #[error("{0}")]
    Bevy(BevyError),
}

impl From<BevyError> for Failure {
    fn from(error: BevyError) -> Self {
        Self::Bevy(error)
    }
}

fn list(heading: &str, items: &[String]) -> String {
    let lines: String = items.iter().map(|item| format!("\n  {item}")).collect();
    if lines.is_empty() { lines } else { format!("{heading}{lines}") }
}
