//! The command line.

use crate::failure::Failure;
use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

pub(crate) const USAGE: &str = "\
Usage: crate_graph [PATH] [--package NAME[@VERSION]]

  PATH                        a Cargo.lock; by default that of the current project
  --package NAME[@VERSION]    tell everything about this package; a version may be just its first numbers
  --help                      print this";

/// What is asked for.
#[derive(Default)]
pub(crate) struct Arguments {
    path: Option<PathBuf>,
    /// `name` or `name@version`.
    pub(crate) package: Option<String>,
}

impl Arguments {
    /// `None` if it is help that is asked for.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, Failure> {
        let mut parsed = Self::default();
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy();
            if text == "--help" || text == "-h" {
                return Ok(None);
            } else if text == "--package" || text == "-p" {
                let package =
                    arguments.next().ok_or_else(|| Failure::Usage(format!("`{text}` needs a package")))?;
                parsed.package = Some(package.to_string_lossy().into_owned());
            } else if let Some(package) = text.strip_prefix("--package=") {
                parsed.package = Some(package.to_owned());
            } else if text.starts_with('-') {
                return Err(Failure::Usage(format!("there is no option `{text}`")));
            } else if parsed.path.is_some() {
                return Err(Failure::Usage(format!("one path is enough, but there is also `{text}`")));
            } else {
                parsed.path = Some(argument.into());
            }
        }
        Ok(Some(parsed))
    }

    /// The given path, or the lockfile of the project that this is run in.
    pub(crate) fn lockfile(&self) -> Result<PathBuf, Failure> {
        if let Some(path) = &self.path {
            return Ok(path.clone());
        }
        // Cargo sets the variable for what it runs.
        let start = env::var_os("CARGO_MANIFEST_DIR").map_or_else(env::current_dir, |dir| Ok(dir.into()));
        let start = start.map_err(|reason| Failure::Unreadable { path: ".".into(), reason })?;
        let mut candidates = start.ancestors().map(|dir: &Path| dir.join("Cargo.lock"));
        candidates.find(|path| path.is_file()).ok_or(Failure::NotFound(start.clone()))
    }
}
