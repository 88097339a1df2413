//! Circles of files that import each other.
//!
//! Two files of one folder may need each other: they are one thing in two parts. A larger circle, or one that leaves the
//! folder, cannot be read from top to bottom.

use super::{ROOT, Source, sources};
use std::collections::{BTreeMap, BTreeSet};

/// The most files of a circle, all of one folder.
const MAX_FILES: usize = 2;

/// A path in the code, as its names: `["crate", "ops", "insert"]`.
type Names = Vec<String>;

/// A path that a `use` brings into scope, with the name that it has there.
struct Import {
    public: bool,
    path: Names,
    name: String,
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn name_at(code: &str) -> &str {
    let end = code.find(|c| !is_name(c)).unwrap_or(code.len());
    &code[..end]
}

/// Reads the tree of a `use` at the start of `code`: its paths below `prefix` go to `paths` with their names. Returns
/// what follows.
fn read_tree<'a>(code: &'a str, prefix: &[String], paths: &mut Vec<(Names, String)>) -> &'a str {
    let mut path = prefix.to_vec();
    let mut rest = code.trim_start();
    loop {
        if let Some(group) = rest.strip_prefix('{') {
            rest = group.trim_start();
            while !rest.is_empty() && !rest.starts_with('}') {
                let after = read_tree(rest, &path, paths).trim_start();
                // What is no path is passed by.
                let skipped = if after.len() == rest.len() { &after[1..] } else { after };
                rest = skipped.strip_prefix(',').unwrap_or(skipped).trim_start();
            }
            return rest.strip_prefix('}').unwrap_or(rest);
        }
        let name = name_at(rest);
        if name.is_empty() {
            let glob = rest.strip_prefix('*');
            if path.len() > prefix.len() {
                paths.push((path, "*".to_owned()));
            }
            return glob.unwrap_or(rest);
        }
        rest = rest[name.len()..].trim_start();
        if name != "self" || path.is_empty() {
            path.push(name.to_owned());
        }
        if let Some(after) = rest.strip_prefix("::") {
            rest = after.trim_start();
            continue;
        }
        let mut known = path.last().cloned().unwrap_or_default();
        if let Some(after) = rest.strip_prefix("as ") {
            known = name_at(after.trim_start()).to_owned();
            rest = &after.trim_start()[known.len()..];
        }
        paths.push((path, known));
        return rest;
    }
}

/// Every `use` of a source.
fn imports(source: &Source) -> Vec<Import> {
    let mut imports = Vec::new();
    for end in source.words("use") {
        let before = source.code[..end - "use".len()].trim_end();
        let public = before.ends_with("pub") || before.ends_with(')') && before.contains("pub(");
        let mut paths = Vec::new();
        read_tree(&source.code[end..], &[], &mut paths);
        imports.extend(paths.into_iter().map(|(path, name)| Import { public, path, name }));
    }
    imports
}

/// Every path in the code that names a module by `crate`, `super` or `self`, or by the name of a module within.
fn mentions(source: &Source, files: &Files) -> Vec<Names> {
    let mut mentions: Vec<Names> = Vec::new();
    let within = files.children(&source.module);
    let roots = ["crate", "super", "self"].map(str::to_owned).into_iter().chain(within);
    for root in roots {
        for end in source.words(&root) {
            let start = end - root.len();
            let follows = source.code[..start].trim_end().ends_with("::");
            if !follows && source.code[end..].trim_start().starts_with("::") {
                let mut paths = Vec::new();
                read_tree(&source.code[start..], &[], &mut paths);
                mentions.extend(paths.into_iter().map(|(path, _)| path));
            }
        }
    }
    mentions
}

/// The files of the crate, and what their modules pass on.
#[derive(Default)]
struct Files {
    modules: BTreeSet<String>,
    /// By module and name: the path of what `pub use` passes on.
    passed_on: BTreeMap<(String, String), Names>,
}

impl Files {
    fn new(sources: &[Source]) -> Self {
        let modules = sources.iter().map(|source| source.module.clone()).collect();
        let mut files = Self { modules, ..Self::default() };
        for source in sources {
            for import in imports(source).into_iter().filter(|import| import.public) {
                if let Some(path) = files.absolute(&source.module, &import.path) {
                    files.passed_on.insert((source.module.clone(), import.name), path);
                }
            }
        }
        files
    }

    fn children(&self, module: &str) -> Vec<String> {
        let child = |other: &String| match module {
            ROOT => (!other.contains('/')).then(|| other.clone()),
            _ => other.strip_prefix(module)?.strip_prefix('/').map(str::to_owned),
        };
        self.modules.iter().filter_map(child).filter(|name| !name.contains('/')).collect()
    }

    /// A path as it is from the crate root on. `None` if it does not lead into the crate.
    fn absolute(&self, module: &str, path: &[String]) -> Option<Names> {
        let mut base: Names = module.split('/').filter(|&name| name != ROOT).map(str::to_owned).collect();
        let (first, mut rest) = path.split_first()?;
        match first.as_str() {
            "crate" => return Some(rest.to_vec()),
            "self" => {}
            "super" => {
                base.pop();
                while let Some((first, after)) = rest.split_first().filter(|(first, _)| *first == "super") {
                    debug_assert_eq!(first, "super");
                    base.pop();
                    rest = after;
                }
            }
            name if self.children(module).iter().any(|child| child == name) => base.push(name.to_owned()),
            _ => return None,
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// The file in which stands what a path from the crate root names.
    fn file_of(&self, path: &[String]) -> String {
        let mut path = path.to_vec();
        // As many steps as there can be names passed on before one comes again.
        for _ in 0..self.passed_on.len() + 1 {
            let known =
                (0..=path.len()).rev().find(|&len| len == 0 || self.modules.contains(&path[..len].join("/")));
            let len = known.unwrap_or(0);
            let module = if len == 0 { ROOT.to_owned() } else { path[..len].join("/") };
            let passed_on =
                path.get(len).and_then(|name| self.passed_on.get(&(module.clone(), name.clone())));
            let Some(onward) = passed_on else { return module };
            path = onward.iter().chain(&path[len + 1..]).cloned().collect();
        }
        ROOT.to_owned()
    }

    /// The files that a file needs.
    fn needs(&self, source: &Source) -> BTreeSet<String> {
        let public: BTreeSet<Names> =
            imports(source).into_iter().filter(|import| import.public).map(|import| import.path).collect();
        let private = imports(source).into_iter().filter(|import| !import.public).map(|import| import.path);
        // A module that only passes a name on does not need it.
        let mentioned = mentions(source, self).into_iter().filter(|path| !public.contains(path));
        let paths = private.chain(mentioned).filter_map(|path| self.absolute(&source.module, &path));
        paths.map(|path| self.file_of(&path)).filter(|file| *file != source.module).collect()
    }
}

/// A source without the tests within it. `None` if it is nothing but tests.
fn without_tests(source: &Source) -> Option<Source> {
    if source.module.ends_with("/tests") {
        return None;
    }
    let code = source.code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    Some(Source { module: source.module.clone(), text: source.text.clone(), code: code.to_owned() })
}

/// The sets of files that need each other, directly or through others.
fn circles(sources: &[Source]) -> Vec<Vec<String>> {
    let sources: Vec<Source> = sources.iter().filter_map(without_tests).collect();
    let files = Files::new(&sources);
    let needs: BTreeMap<String, BTreeSet<String>> =
        sources.iter().map(|source| (source.module.clone(), files.needs(source))).collect();
    let reach = |from: &String| {
        let mut met = BTreeSet::new();
        let mut ahead: Vec<&String> = needs[from].iter().collect();
        while let Some(file) = ahead.pop() {
            if met.insert(file.clone()) {
                ahead.extend(needs.get(file).into_iter().flatten());
            }
        }
        met
    };
    let reach: BTreeMap<&String, BTreeSet<String>> = needs.keys().map(|file| (file, reach(file))).collect();
    let circle = |file: &&String| -> Vec<String> {
        reach[file]
            .iter()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(*file)))
            .cloned()
            .collect()
    };
    let found: BTreeSet<Vec<String>> =
        needs.keys().filter(|file| reach[file].contains(*file)).map(|file| circle(&file)).collect();
    found.into_iter().collect()
}

/// The folder that a file is in. What stands in `mod.rs` is in the folder with the rest of the module.
fn folder<'a>(file: &'a str, files: &[Source]) -> &'a str {
    let has_files =
        files.iter().any(|other| other.module.strip_prefix(file).is_some_and(|rest| rest.starts_with('/')));
    if has_files { file } else { file.rsplit_once('/').map_or("", |(folder, _)| folder) }
}

/// The circles that are too large, or leave their folder.
fn bad_circles(sources: &[Source]) -> Vec<Vec<String>> {
    let bad = |circle: &Vec<String>| {
        let folders: BTreeSet<&str> = circle.iter().map(|file| folder(file, sources)).collect();
        circle.len() > MAX_FILES || folders.len() > 1
    };
    circles(sources).into_iter().filter(bad).collect()
}

#[test]
fn files_import_each_other_in_pairs_of_one_folder_at_most() {
    let bad: Vec<String> = bad_circles(&sources()).iter().map(|circle| circle.join(", ")).collect();
    assert!(bad.is_empty(), "files that need each other in a circle:\n{}\n", bad.join("\n"));
}

fn made_up(files: &[(&str, &str)]) -> Vec<Source> {
    files.iter().map(|(module, text)| Source::new(module, text)).collect()
}

#[test]
fn the_checker_finds_circles_through_groups_paths_and_names_that_are_passed_on() {
    let lib = ("lib", "mod a; mod b;");
    let circle = |a: &str, b: &str| {
        circles(&made_up(&[lib, ("a", "mod x; pub(crate) use x::X;"), ("a/x", a), ("b", b)]))
    };
    let both = [vec!["a/x".to_owned(), "b".to_owned()]];
    assert_eq!(circle("use crate::b::Y;", "use crate::a::{self, X};"), both);
    assert_eq!(circle("use super::super::b;", "fn f() { crate::a::x::g() }"), both);
    assert_eq!(circle("fn f() { crate::b::g::<u8>() }", "use crate::{a::{X as Z, other}, c};"), both);
    assert!(circle("use crate::b::Y;", "use crate::a;").is_empty(), "the file that passes on is another");
    assert!(circle("use crate::b::Y;", "// use crate::a::X;").is_empty());
}

#[test]
fn the_checker_lets_two_files_of_a_folder_need_each_other() {
    let pair = made_up(&[
        ("lib", "mod a;"),
        ("a", "mod x; mod y; use x::X;"),
        ("a/x", "use super::y::Y;"),
        ("a/y", "use super::x::X;"),
    ]);
    assert_eq!(circles(&pair), [["a/x", "a/y"]]);
    assert!(bad_circles(&pair).is_empty());
    let three = made_up(&[
        ("lib", "mod a;"),
        ("a/x", "use super::y::Y;"),
        ("a/y", "use super::z::Z;"),
        ("a/z", "use super::x::X;"),
    ]);
    assert_eq!(bad_circles(&three), [["a/x", "a/y", "a/z"]]);
    let folders = made_up(&[("lib", ""), ("a/x", "use crate::b::y::Y;"), ("b/y", "use crate::a::x::X;")]);
    assert_eq!(bad_circles(&folders), [["a/x", "b/y"]]);
}
