//! Whether the documentation shows how everything is used.

use super::{Source, sources};
use std::{collections::BTreeSet, fs, path::Path};

/// Something public, with its documentation.
struct Item {
    place: String,
    name: String,
    /// The type or trait that it belongs to.
    owner: Option<String>,
    docs: String,
}

impl Item {
    fn has_example(&self) -> bool {
        self.docs.contains("```")
    }

    /// The last parts of the names that the documentation links to.
    fn links(&self) -> impl Iterator<Item = &str> {
        let in_backticks = self.docs.split("[`").skip(1).filter_map(|rest| rest.split("`]").next());
        let written_out = self.docs.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        in_backticks.chain(written_out).filter_map(|path| {
            let path = path.split('<').next()?;
            path.rsplit("::").next().map(|name| name.trim_end_matches("()"))
        })
    }
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The documentation of an item, if it is a file beside the source. The book is not that of an item.
fn included_docs(source: &Source, line: &str) -> Option<String> {
    let name = line.trim().strip_prefix("#[doc = include_str!(\"")?.strip_suffix("\")]")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let above = source.module.rsplit_once('/').map_or("", |(folder, _)| folder);
    // The module may be a file or a folder.
    let texts = [above, &source.module].map(|folder| fs::read_to_string(root.join(folder).join(name)));
    (!name.contains('/')).then(|| texts.into_iter().find_map(Result::ok).expect("the file can be read"))
}

/// What follows the first of some words.
fn after<'a>(line: &'a str, starts: &[&str]) -> Option<&'a str> {
    starts.iter().find_map(|start| line.strip_prefix(start))
}

/// The type of an `impl` block; `None` if it is one of a trait, whose methods are shown there.
fn implementor(line: &str) -> Option<&str> {
    let rest =
        after(line, &["impl"]).filter(|rest| rest.starts_with([' ', '<']) && !rest.contains(" for "))?;
    let mut depth = 0_usize;
    let end = rest.find(|c| match c {
        '<' => {
            depth += 1;
            false
        }
        '>' => {
            depth -= 1;
            false
        }
        c => c == ' ' && depth == 0,
    })?;
    Some(word(&rest[end + 1..]))
}

/// The items of a file that are public if the file and their owners are.
fn items(source: &Source) -> Vec<Item> {
    let mut items = Vec::new();
    let (mut docs, mut hidden, mut in_attribute) = (String::new(), false, false);
    // The type or trait whose block this is, and whether it is a trait.
    let mut owner: Option<(String, bool)> = None;
    for (number, line) in source.text.lines().enumerate() {
        let text = line.trim();
        if let Some(doc) = text.strip_prefix("///") {
            docs.push_str(doc);
            docs.push('\n');
            continue;
        }
        if let Some(included) = included_docs(source, text) {
            docs.push_str(&included);
            continue;
        }
        if in_attribute || text.starts_with("#[") {
            in_attribute = !text.ends_with(']');
            hidden |= text.contains("doc(hidden)");
            continue;
        }
        if line.starts_with('}') {
            owner = None;
        }
        let mut add = |name: &str, owner: Option<&String>| {
            let place = format!("{}:{}", source.module, number + 1);
            items.push(Item { place, name: word(name).into(), owner: owner.cloned(), docs: docs.clone() });
        };
        let declared =
            ["pub fn ", "pub const fn ", "pub unsafe fn ", "pub const ", "pub struct ", "pub enum "];
        if let Some(name) = after(line, &["pub trait ", "pub unsafe trait "]) {
            if !hidden {
                add(name, None);
                owner = Some((word(name).into(), true));
            }
        } else if let Some(name) = implementor(line) {
            owner = Some((name.into(), false));
        } else if !hidden && let Some(name) = after(line, &declared) {
            add(name, None);
        } else if !hidden && let Some((owner, is_trait)) = &owner {
            let method = if *is_trait { after(line, &["    fn "]) } else { after(text, &declared[..4]) };
            if let Some(name) = method {
                add(name, Some(owner));
            }
        }
        if !text.is_empty() {
            docs.clear();
            hidden = false;
        }
    }
    items
}

/// The names that modules make public.
fn exported(sources: &[Source]) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for source in sources {
        // What macros expand to is public, but for them only.
        let text = source.text.split("pub mod __private").next().unwrap_or_default();
        for statement in text.split(';') {
            let start = statement.rfind("pub use ").filter(|_| !statement.contains("doc(hidden)"));
            if let Some(start) = start {
                names.extend(
                    statement[start..]
                        .split(|c: char| !c.is_alphanumeric() && c != '_')
                        .filter(|name| !name.is_empty()),
                );
            }
        }
    }
    names
}

/// The lines of examples in documentation.
fn examples(sources: &[Source]) -> String {
    let mut examples = String::new();
    for source in sources {
        let mut within = false;
        for line in source.text.lines() {
            let included = included_docs(source, line).unwrap_or_default();
            let written = after(line.trim(), &["///", "//!"]);
            for line in included.lines().chain(written) {
                if line.trim_start().starts_with("```") {
                    within = !within;
                } else if within {
                    examples.push_str(line);
                    examples.push('\n');
                }
            }
        }
    }
    examples
}

/// The words of a text, and those that are called or named as a part of something.
fn words(text: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let (mut all, mut parts) = (BTreeSet::new(), BTreeSet::new());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphabetic() || c == '_') {
        let found = word(&rest[start..]);
        all.insert(found);
        if rest[..start].ends_with(['.', ':']) {
            parts.insert(found);
        }
        rest = &rest[start + found.len()..];
    }
    (all, parts)
}

/// An item has an example, or is a part of a type or trait that has, or stands in an example of another, or says by a link what it
/// belongs to.
#[test]
fn everything_public_has_an_example_or_is_a_part_of_something_that_has() {
    let sources = sources();
    let exported = exported(&sources);
    let public_modules: BTreeSet<&str> = sources
        .iter()
        .filter(|source| source.module == super::ROOT)
        .flat_map(|source| source.text.lines().filter_map(|line| line.strip_prefix("pub mod ")))
        .map(word)
        .collect();
    let mut unshown: Vec<Item> = Vec::new();
    let mut shown = BTreeSet::new();
    let text = examples(&sources);
    let (named, parts) = words(&text);
    for source in &sources {
        let is_public = public_modules.contains(source.module.as_str());
        for item in items(source) {
            let top = item.owner.as_ref().unwrap_or(&item.name);
            if !is_public && !exported.contains(top.as_str()) {
                continue;
            }
            let in_example = if item.owner.is_some() { &parts } else { &named };
            if item.has_example() || in_example.contains(item.name.as_str()) {
                shown.insert(item.name);
            } else {
                unshown.push(item);
            }
        }
    }
    assert!(shown.len() > 200, "the items are found in the sources");
    // Parts of parts are shown too.
    loop {
        let before = unshown.len();
        let is_shown = |item: &Item| {
            item.owner.as_ref().is_some_and(|owner| shown.contains(owner))
                || item.links().any(|name| shown.contains(name))
        };
        let (more, left): (Vec<Item>, Vec<Item>) = unshown.into_iter().partition(is_shown);
        shown.extend(more.into_iter().map(|item| item.name));
        unshown = left;
        if unshown.len() == before {
            break;
        }
    }
    let left: Vec<String> = unshown.iter().map(|item| format!("{}: {}", item.place, item.name)).collect();
    assert!(left.is_empty(), "without an example, and a part of nothing that has one:\n{}", left.join("\n"));
}

/// The lines of the examples in some documentation.
fn fenced(docs: &str) -> String {
    docs.split("```").skip(1).step_by(2).collect()
}

#[test]
fn every_method_for_pairs_is_called_in_an_example_of_its_trait() {
    let sources = sources();
    for name in ["WorldPairExt", "EntityWorldMutPairExt", "EntityCommandsPairExt", "CommandsPairExt"] {
        let items: Vec<Item> = sources.iter().flat_map(items).collect();
        let (methods, its_own): (Vec<&Item>, Vec<&Item>) = items
            .iter()
            .filter(|item| item.name == name || item.owner.as_deref() == Some(name))
            .partition(|item| item.owner.is_some());
        assert!(its_own.len() == 1 && methods.len() > 5, "{name} is found in the sources");
        let examples: String = methods.iter().chain(&its_own).map(|item| fenced(&item.docs)).collect();
        let (_, called) = words(&examples);
        let left: Vec<&str> = methods.iter().map(|item| item.name.as_str()).collect();
        let left: Vec<&str> = left.into_iter().filter(|method| !called.contains(method)).collect();
        assert!(left.is_empty(), "methods of {name} that no example of it calls: {left:?}");
    }
}

#[test]
fn a_hundred_items_lead_into_the_book() {
    let sources = sources();
    let leading = sources.iter().flat_map(items).filter(|item| item.docs.contains("crate::book::")).count();
    assert!(leading >= 100, "{leading}");
}
