//! The structure of the sources: which module may import which, where `unsafe` may stand, how long a file gets.
//!
//! The layers are those of `CONTRIBUTING.md`. A module that is not listed here has no layer yet: list it.

#[path = "layers/circles.rs"]
mod circles;
#[path = "layers/documents.rs"]
mod documents;
#[path = "layers/examples.rs"]
mod examples;
#[path = "layers/one_way.rs"]
mod one_way;
#[path = "layers/reached.rs"]
mod reached;

use std::{
    collections::BTreeSet,
    fmt, fs,
    path::{Path, PathBuf},
};

/// The modules below `src/`, layer by layer. A module imports lower layers only.
const LAYERS: &[&[&str]] = &[
    &["id", "sealed"],
    &["relation"],
    &["store"],
    &["traverse", "fetch"],
    &["names"],
    &["ops", "graph"],
    &["query", "system_param", "islands", "disabling", "mirror"],
    &["world"],
    &["expr"],
    &["prefab", "scene", "snapshot", "debug", "live"],
    &["plugin", "remote", "diagnostics", "overlay"],
];

/// The floors of modules, lowest first: what stands in one imports only those before it. The `mod.rs` of the module itself
/// gathers them.
const FLOORS: &[(&str, &[&str])] = &[
    ("ops", &["register", "mutate", "lifecycle", "api"]),
    ("expr", &["text", "eval", "bind", "insert", "index", "plan", "exec", "result", "param"]),
    ("expr/plan", &["logical", "estimate", "reorder", "physical"]),
];

/// The crate root: it gathers everything, and no module imports from it.
const ROOT: &str = "lib";

/// Where `unsafe` may stand: a module with all it contains, or one file.
const UNSAFE: &[&str] = &[
    "store",
    "fetch",
    "ops/api/bundle",
    "ops/mutate/event",
    "query",
    "system_param",
    "expr/param",
    "live/param",
];

const MAX_LINES: usize = 600;

/// A source file.
struct Source {
    /// Path below `src/`, without `.rs` and `/mod.rs`: `ops/bundle`, `store`, `lib`.
    module: String,
    /// As written.
    text: String,
    /// Without comments and the contents of literals; every line at its place.
    code: String,
}

/// Something that is against the rules.
#[derive(Debug, PartialEq)]
struct Complaint {
    module: String,
    line: usize,
    what: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.module, self.line, self.what)
    }
}

impl Source {
    fn new(module: &str, text: &str) -> Self {
        Self { module: module.to_owned(), text: text.to_owned(), code: without_comments_and_literals(text) }
    }

    /// The first part of the module's path.
    fn top(&self) -> &str {
        self.module.split('/').next().unwrap_or_default()
    }

    fn complaint(&self, offset: usize, what: impl Into<String>) -> Complaint {
        let line = self.code[..offset].matches('\n').count() + 1;
        Complaint { module: self.module.clone(), line, what: what.into() }
    }

    /// Every mention of `word` in the code, as the offset of what follows it.
    fn words<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        let part_of_a_word = |c: char| c == '_' || c.is_alphanumeric();
        self.code.match_indices(word).filter_map(move |(start, _)| {
            let end = start + word.len();
            let before = self.code[..start].chars().next_back();
            let after = self.code[end..].chars().next();
            let whole = !before.is_some_and(part_of_a_word) && !after.is_some_and(part_of_a_word);
            // `$crate` in a macro is for the user of the macro.
            (whole && before != Some('$')).then_some(end)
        })
    }

    /// The modules that are imported from the crate root, or named by a path from it.
    fn imports(&self) -> Vec<(usize, String)> {
        let mut imports = Vec::new();
        // Paths that start at the crate root; the crate also knows itself by its name.
        for root in ["crate", "bevy_relations"] {
            for end in self.words(root) {
                first_names(&self.code, end, &mut imports);
            }
        }
        // `super::` that leaves the top-level module.
        let depth = if self.module == ROOT { 0 } else { self.module.split('/').count() };
        for end in self.words("super") {
            if supers(&self.code[..end]) == depth {
                first_names(&self.code, end, &mut imports);
            }
        }
        imports.sort();
        imports.dedup();
        imports
    }
}

/// How many `super` in a row stand at the end of the code: `super::super` are two.
fn supers(code: &str) -> usize {
    let mut rest = code;
    let mut count = 0;
    while let Some(before) = rest.trim_end().strip_suffix("super") {
        count += 1;
        rest = before.trim_end().strip_suffix("::").unwrap_or_default();
    }
    count
}

/// The names right below a path that ends at `end`: one, or those of a group.
fn first_names(code: &str, end: usize, names: &mut Vec<(usize, String)>) {
    let identifier =
        |text: &str| text.chars().take_while(|&c| c == '_' || c.is_alphanumeric()).collect::<String>();
    let rest = code[end..].trim_start();
    let Some(path) = rest.strip_prefix("::") else {
        return;
    };
    let path = path.trim_start();
    let start = code.len() - path.len();
    let Some(group) = path.strip_prefix('{') else {
        let name = identifier(path);
        if !name.is_empty() && name != "super" {
            names.push((start, name));
        }
        return;
    };
    let mut depth = 0;
    let mut item = true;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => item = true,
            _ if item && !c.is_whitespace() => {
                item = false;
                let name = identifier(&group[at..]);
                if !["", "self", "super"].contains(&&*name) {
                    names.push((start + 1 + at, name));
                }
            }
            _ => {}
        }
    }
}

/// Blanks out comments, and the contents of strings and characters.
fn without_comments_and_literals(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    let blank = |code: &mut String, removed: &str| {
        for c in removed.chars() {
            // One blank per byte: offsets stay what they are.
            code.extend(std::iter::repeat_n(if c == '\n' { '\n' } else { ' ' }, c.len_utf8()));
        }
    };
    while let Some(c) = rest.chars().next() {
        let literal = literal_length(rest, code.chars().next_back());
        if literal > 0 {
            blank(&mut code, &rest[..literal]);
            rest = &rest[literal..];
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    code
}

/// Length of the comment or literal at the start of `text`, or 0.
fn literal_length(text: &str, before: Option<char>) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        let mut depth = 0;
        let mut at = 0;
        while at < text.len() {
            let rest = &text.as_bytes()[at..];
            if rest.starts_with(b"/*") {
                depth += 1;
                at += 2;
            } else if rest.starts_with(b"*/") {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            } else {
                at += 1;
            }
        }
        return text.len();
    }
    let in_a_word = before.is_some_and(|c| c == '_' || c.is_alphanumeric());
    if let Some(raw) = text.strip_prefix('r').or_else(|| text.strip_prefix("br"))
        && !in_a_word
    {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = text.len() - raw.len() + hashes + 1;
            return text[start..].find(&end).map_or(text.len(), |at| start + at + end.len());
        }
    }
    if text.starts_with('"') {
        return quoted_length(text, '"');
    }
    if text.starts_with('\'') {
        // A lifetime has no closing quote behind its first character.
        let mut chars = text.chars().skip(1);
        let (first, second) = (chars.next(), chars.next());
        if first == Some('\\') || second == Some('\'') {
            return quoted_length(text, '\'');
        }
    }
    0
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

fn layer(module: &str) -> Option<usize> {
    if module == ROOT {
        return Some(LAYERS.len());
    }
    LAYERS.iter().position(|modules| modules.contains(&module))
}

/// Imports that go up or sideways, and modules without a layer.
fn check_layers(source: &Source) -> Vec<Complaint> {
    let top = source.top();
    let Some(own) = layer(top) else {
        return vec![source.complaint(0, format!("`{top}` has no layer"))];
    };
    let complain = |(offset, name): (usize, String)| {
        // What is no module belongs to the crate root.
        let imported = if layer(&name).is_some() { &*name } else { ROOT };
        let allowed = imported == top || layer(imported).is_some_and(|layer| layer < own);
        let from = format!("`{top}` of layer {own} imports `{name}`");
        (!allowed).then(|| match layer(imported) {
            _ if imported == ROOT => source.complaint(offset, format!("{from} from the crate root")),
            Some(layer) => source.complaint(offset, format!("{from} of layer {layer}")),
            None => source.complaint(offset, from),
        })
    };
    source.imports().into_iter().filter_map(complain).collect()
}

/// Imports that go up a floor, or past the floors, and files that stand on none.
fn check_floors(source: &Source) -> Vec<Complaint> {
    FLOORS.iter().flat_map(|(module, floors)| check_floors_of(source, module, floors)).collect()
}

fn check_floors_of(source: &Source, module: &str, floors: &[&str]) -> Vec<Complaint> {
    let below = source.module.strip_prefix(module).and_then(|below| below.strip_prefix('/'));
    let Some(own) = below.and_then(|below| below.split('/').next()) else { return Vec::new() };
    let floor = |name: &str| floors.iter().position(|floor| *floor == name);
    let Some(own_floor) = floor(own) else {
        return vec![source.complaint(0, format!("`{module}/{own}` has no floor"))];
    };
    let steps: Vec<&str> = module.split('/').collect();
    let depth = source.module.split('/').count();
    // Names right below the module, by paths from the crate root or from a module around this one.
    let mut imports = names_below(source, source.imports(), &steps);
    for known in 1..=steps.len() {
        let mut names = Vec::new();
        for end in source.words("super") {
            if supers(&source.code[..end]) == depth - known {
                first_names(&source.code, end, &mut names);
            }
        }
        imports.extend(names_below(source, names, &steps[known..]));
    }
    let complain = |(offset, name): (usize, String)| {
        let allowed = floor(&name).is_some_and(|floor| floor <= own_floor);
        (!allowed).then(|| source.complaint(offset, format!("`{own}` imports `{name}` of `{module}`")))
    };
    imports.into_iter().filter_map(complain).collect()
}

/// The names that paths go on with behind these names and further steps.
fn names_below(source: &Source, mut names: Vec<(usize, String)>, steps: &[&str]) -> Vec<(usize, String)> {
    for step in steps {
        let mut next = Vec::new();
        for (offset, name) in names.iter().filter(|(_, name)| name == step) {
            first_names(&source.code, offset + name.len(), &mut next);
        }
        names = next;
    }
    names
}

/// `unsafe` where it may not stand, or without a reason.
fn check_unsafe(source: &Source) -> Vec<Complaint> {
    let allowed = UNSAFE.iter().any(|&module| {
        source.module.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    let mut complaints = Vec::new();
    for end in source.words("unsafe") {
        if !allowed {
            complaints.push(source.complaint(end, "`unsafe` may not stand here"));
        }
        let next = source.code[end..].trim_start();
        let needs_a_reason = next.starts_with('{') || next.starts_with("impl");
        if needs_a_reason && !has_a_reason(source, end) {
            complaints.push(source.complaint(end, "`unsafe` without a `SAFETY:` comment"));
        }
    }
    complaints
}

/// Whether a comment with `SAFETY:` precedes the statement that the offset lies in.
fn has_a_reason(source: &Source, offset: usize) -> bool {
    let line = source.code[..offset].matches('\n').count();
    let lines: Vec<_> = source.text.lines().collect();
    let code: Vec<_> = source.code.lines().collect();
    let mut above = (0..line).rev();
    // The statement may have begun some lines earlier.
    let comment = above.find(|&at| {
        let code = code[at].trim();
        code.is_empty() || code.ends_with([';', '{', '}', ','])
    });
    let mut comments =
        comment.into_iter().chain(above).take_while(|&at| lines[at].trim_start().starts_with("//"));
    comments.any(|at| lines[at].contains("SAFETY:"))
}

/// An invalid entity in the place of none, which `Option` says.
fn check_placeholders(source: &Source) -> Vec<Complaint> {
    let complain =
        |end| source.complaint(end, "`Entity::PLACEHOLDER` may be taken for an entity: say `None`");
    source.words("PLACEHOLDER").map(complain).collect()
}

fn check_length(source: &Source) -> Vec<Complaint> {
    let lines = source.text.lines().count();
    let too_long = Complaint {
        module: source.module.clone(),
        line: MAX_LINES + 1,
        what: format!("{lines} lines are too many: split the module"),
    };
    (lines > MAX_LINES).then_some(too_long).into_iter().collect()
}

/// Every source of the crate.
fn sources() -> Vec<Source> {
    let sources = sources_in("src");
    assert!(sources.iter().any(|source| source.module == ROOT), "these are not the sources");
    sources
}

/// Every source below a folder.
fn sources_in(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut sources = Vec::new();
    let mut ahead = vec![root.clone()];
    while let Some(folder) = ahead.pop() {
        let entries = fs::read_dir(&folder).expect("the sources can be listed");
        let paths: BTreeSet<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
        for path in paths {
            if path.is_dir() {
                ahead.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let below = path.strip_prefix(&root).expect("below the root").with_extension("");
                let module = below.to_str().expect("plain characters").replace('\\', "/");
                let module = module.strip_suffix("/mod").unwrap_or(&module);
                sources.push(Source::new(module, &fs::read_to_string(&path).expect("a source can be read")));
            }
        }
    }
    sources
}

fn assert_none(check: fn(&Source) -> Vec<Complaint>) {
    assert_none_in(&sources(), check);
}

fn assert_none_in(sources: &[Source], check: fn(&Source) -> Vec<Complaint>) {
    let complaints: Vec<String> =
        sources.iter().flat_map(check).map(|complaint| complaint.to_string()).collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn a_module_imports_lower_layers_only() {
    assert_none(check_layers);
}

#[test]
fn a_floor_imports_lower_floors_only() {
    assert_none(check_floors);
}

#[test]
fn unsafe_stands_only_where_the_design_allows_it_and_says_why_it_is_sound() {
    assert_none(check_unsafe);
}

#[test]
fn no_invalid_entity_stands_for_none() {
    assert_none(check_placeholders);
}

#[test]
fn no_source_is_longer_than_600_lines() {
    assert_none(check_length);
    for folder in ["syntax", "macros", "tests", "examples", "benches"] {
        assert_none_in(&sources_in(folder), check_length);
    }
}

/// The lines of the complaints about a made-up source.
fn lines(check: fn(&Source) -> Vec<Complaint>, module: &str, text: &str) -> Vec<usize> {
    check(&Source::new(module, text)).into_iter().map(|complaint| complaint.line).collect()
}

#[test]
fn the_checker_finds_imports_that_go_up_or_sideways() {
    let bad = r#"
use crate::{
    id::PairId,
    ops::{insert, remove},
    store::PairStore,
    traverse::RelationView,
};
pub(crate) use crate::system_param::Pairs;
use crate::Pair;
use super::super::plugin::RelationsPlugin;
fn f() { let x = crate::fetch::store(); crate::ops::insert() }
use bevy_relations::prelude::*;
impl crate :: ops :: Insert for X {}
"#;
    let expected = [4, 8, 9, 10, 11, 12, 13];
    assert_eq!(
        lines(check_layers, "traverse/walk", bad),
        [&expected[..4], &[11, 11], &expected[5..]].concat()
    );
    // A file right below the root needs only one `super`.
    assert_eq!(lines(check_layers, "fetch", "use super::{\n    store::Store,\n    ops::insert};"), [3]);
    assert_eq!(lines(check_layers, "unheard_of", ""), [1]);
    let sideways = check_layers(&Source::new("traverse/walk", "use crate::fetch::store;"));
    assert_eq!(sideways[0].to_string(), "traverse/walk:1: `traverse` of layer 3 imports `fetch` of layer 3");
}

#[test]
fn the_checker_finds_imports_that_go_up_a_floor() {
    let bad = r#"
use super::{query::Var, super::exec::Batch};
use crate::{
    expr::{
        eval::View,
        plan::Plan,
    },
    store::PairStore,
};
use super::super::result::Row;
use crate::expr::CompiledExpr;
use crate::expr::bind::Var;
"#;
    assert_eq!(lines(check_floors, "expr/bind/term", bad), [6, 11, 10]);
    assert_eq!(lines(check_floors, "expr/bind", "use super::{eval::View, result::Row};"), [1]);
    let plan = "use super::physical::Side;\nuse crate::expr::{plan::{logical, physical::Step}, bind::Var};";
    assert_eq!(lines(check_floors, "expr/plan/reorder", plan), [2, 1]);
    assert_eq!(lines(check_floors, "expr/plan/physical/lower", plan), []);
    assert_eq!(lines(check_floors, "expr/unheard_of", ""), [1]);
    assert_eq!(lines(check_floors, "expr", "use result::Row;\nuse super::store::PairStore;"), []);
    assert_eq!(lines(check_floors, "store/index", "use super::super::relation::Traits;"), []);
}

#[test]
fn the_checker_accepts_imports_that_go_down_and_what_is_no_import() {
    let good = r##"
//! See [`ops`](crate::ops).
/* crate::ops::insert /* nested */ use crate::plugin; */
use crate::{id::{PairId, Slot}, store};
use super::view::{self, RelationView};
use super::super::id;
pub(crate) struct X;
pub(in crate::traverse) fn f<'crate_>() -> char { 'c' }
const TEXT: &str = "use crate::ops;\" crate::ops";
const RAW: &str = r#"crate::ops " crate::ops"#;
const QUOTE: char = '"';
macro_rules! m { () => { $crate::ops::insert() } }
/// ```
/// use crate::ops::insert;
/// ```
fn g() { mycrate::ops::f(); crate_::ops::f() }
"##;
    assert_eq!(lines(check_layers, "traverse/walk", good), []);
    assert_eq!(lines(check_layers, "lib", "mod ops;\nuse crate::plugin::X;\npub use ops::Pair;"), []);
}

#[test]
fn the_checker_finds_unsafe_that_is_misplaced_or_unexplained() {
    let text = r#"
#![expect(unsafe_code, reason = "unsafe { } in a text")]
use bevy_ecs::world::unsafe_world_cell::UnsafeWorldCell;
// SAFETY: explained.
unsafe impl Send for X {}
unsafe impl Sync for X {}
unsafe fn f() {
    // SAFETY: explained
    // at length.
    let x =
        unsafe { y() };
    // not explained
    unsafe { y() }
}
"#;
    assert_eq!(lines(check_unsafe, "store/forward", text), [6, 13]);
    assert_eq!(lines(check_unsafe, "ops/api/bundle", text), [6, 13]);
    assert_eq!(lines(check_unsafe, "ops/mutate/plan", text), [5, 6, 6, 7, 11, 13, 13]);
    assert_eq!(lines(check_unsafe, "storehouse", "unsafe fn f() {}"), [1]);
}

#[test]
fn the_checker_finds_invalid_entities() {
    let text = "// PLACEHOLDER\nlet none = Entity::PLACEHOLDER;\nlet text = \"PLACEHOLDER\";";
    assert_eq!(lines(check_placeholders, "expr/plan", text), [2]);
}

#[test]
fn the_checker_counts_what_leads_out_of_a_module() {
    assert_eq!(supers("use super"), 1);
    assert_eq!(supers("use super :: super"), 2);
    assert_eq!(supers("for super::A {} for super"), 1);
}

#[test]
fn the_checker_counts_lines() {
    assert_eq!(lines(check_length, "id", &"\n".repeat(600)), []);
    assert_eq!(lines(check_length, "id", &"\n".repeat(601)), [601]);
}
