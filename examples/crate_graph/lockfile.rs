//! Reading a `Cargo.lock`.

use crate::failure::Failure;
use cargo_lock::{Dependency, Lockfile, Package, SourceId};
use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::Path,
};

/// A package as the lockfile lists it.
pub(crate) struct LockedPackage {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) origin: String,
    /// As indices into the list of packages.
    pub(crate) dependencies: BTreeSet<usize>,
}

/// Reads the packages, in the order of the file.
pub(crate) fn read(path: &Path) -> Result<Vec<LockedPackage>, Failure> {
    let text =
        fs::read_to_string(path).map_err(|reason| Failure::Unreadable { path: path.to_owned(), reason })?;
    let incomplete = |reason| Failure::NotALockfile { path: path.to_owned(), reason };
    let lockfile: Lockfile =
        text.parse().map_err(|error: cargo_lock::Error| incomplete(error.to_string()))?;
    if lockfile.packages.is_empty() {
        return Err(incomplete("it lists no package".to_owned()));
    }
    let packages = lockfile.packages.iter();
    let numbers: HashMap<Dependency, usize> = packages.clone().map(Dependency::from).zip(0..).collect();
    let number = |of: &Package, dependency: &Dependency| {
        let number = numbers.get(dependency).copied();
        number.ok_or_else(|| incomplete(format!("{} depends on {dependency}, which is not listed", of.name)))
    };
    packages
        .map(|package| {
            Ok(LockedPackage {
                name: package.name.to_string(),
                version: package.version.to_string(),
                origin: origin(package.source.as_ref()),
                dependencies: package
                    .dependencies
                    .iter()
                    .map(|dependency| number(package, dependency))
                    .collect::<Result<_, _>>()?,
            })
        })
        .collect()
}

fn origin(source: Option<&SourceId>) -> String {
    source.map_or_else(|| "this workspace".to_owned(), SourceId::display_registry_name)
}
