//! Every file is part of a crate: one that no `mod` names is not compiled, and its tests never run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Folders with sources.
const FOLDERS: &[&str] =
    &["benches", "examples", "explorer", "inspector", "macros", "src", "syntax", "tests"];

/// Folders in which every file is a crate of its own.
const FOLDERS_OF_CRATES: &[&str] = &["benches", "bin", "examples", "tests", "ui"];

/// Names of files that are crates, wherever they are.
const CRATES: &[&str] = &["build", "lib", "main"];

/// The sources below a folder, by their path from the root of the repository, without `.rs`.
fn read(folder: &Path, path: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("the folder can be listed") {
        let entry = entry.expect("a file").path();
        let name = entry.file_name().and_then(|name| name.to_str()).expect("plain characters");
        if entry.is_dir() {
            read(&entry, &format!("{path}/{name}"), files);
        } else if let Some(name) = name.strip_suffix(".rs") {
            files.insert(format!("{path}/{name}"), fs::read_to_string(&entry).expect("a source can be read"));
        }
    }
}

/// What a manifest names as a crate: `path = "it.rs"`.
fn named_in_manifests(folders: impl Iterator<Item = String>) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = BTreeSet::new();
    for folder in folders {
        let Ok(manifest) = fs::read_to_string(root.join(&folder).join("Cargo.toml")) else { continue };
        let paths = manifest.lines().filter_map(|line| line.strip_prefix("path = \"")?.strip_suffix(".rs\""));
        named.extend(paths.map(|path| format!("{folder}/{path}")));
    }
    named
}

/// The folder and the name of a file.
fn split(file: &str) -> (&str, &str) {
    file.rsplit_once('/').unwrap_or(("", file))
}

/// Files that are no crate, and that no file beside or above them names in a `mod`.
fn unreached<'a>(files: &'a BTreeMap<String, String>, crates: &BTreeSet<String>) -> Vec<&'a str> {
    let is_crate = |file: &str| {
        let (folder, name) = split(file);
        let is_first = CRATES.contains(&name) || FOLDERS_OF_CRATES.contains(&split(folder).1);
        is_first || crates.contains(file)
    };
    let is_named = |file: &str| {
        let module = file.strip_suffix("/mod").unwrap_or(file);
        let (folder, name) = split(module);
        let declaration = format!("mod {name};");
        let is_it = |line: &str| !line.starts_with("//") && line.ends_with(&declaration);
        let names = |text: &str| text.lines().any(|line| is_it(line.trim_start()));
        files.iter().any(|(other, text)| {
            other != file && (split(other).0 == folder || other == folder) && names(text)
        })
    };
    files.keys().map(String::as_str).filter(|file| !is_crate(file) && !is_named(file)).collect()
}

#[test]
fn every_file_is_compiled() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = BTreeMap::new();
    for folder in FOLDERS {
        read(&root.join(folder), folder, &mut files);
    }
    assert!(files.contains_key("src/lib") && files.contains_key("tests/it/it"), "these are not the sources");
    let crates = named_in_manifests(files.keys().map(|file| split(file).0.to_owned()));
    assert_eq!(unreached(&files, &crates), Vec::<&str>::new());
}

#[test]
fn the_checker_finds_files_that_nothing_names() {
    let made_up = |files: &[(&str, &str)]| -> BTreeMap<String, String> {
        files.iter().map(|&(file, text)| (file.to_owned(), text.to_owned())).collect()
    };
    let files = made_up(&[
        ("src/lib", "mod a;\npub mod b;\n// mod left_out;\n"),
        ("src/a", ""),
        ("src/b/mod", "    pub(crate) mod c;\n"),
        ("src/b/c", ""),
        ("src/b/left_out", ""),
        ("src/ab", ""),
        ("src/left_out", ""),
        ("tests/first", "#[path = \"first/part.rs\"]\nmod part;\n"),
        ("tests/first/part", ""),
        ("tests/first/other", ""),
        ("tests/it/it", "mod named;\n"),
        ("tests/it/named", ""),
    ]);
    let crates = BTreeSet::from(["tests/it/it".to_owned()]);
    assert_eq!(unreached(&files, &crates), ["src/ab", "src/b/left_out", "src/left_out", "tests/first/other"]);
}
