//! What README, CONTRIBUTING and the book promise.

use super::{LAYERS, sources};
use std::{collections::BTreeSet, fs, path::Path};

/// The commands in the text: lines of fenced blocks marked `sh`, without comments.
fn commands(markdown: &str) -> Vec<&str> {
    let mut within = false;
    let mut commands = Vec::new();
    for line in markdown.lines() {
        match line.trim() {
            "```sh" => within = true,
            "```" => within = false,
            line if within => commands.push(line.split(" #").next().unwrap_or_default().trim()),
            _ => {}
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_commands_of_the_readme_are_those_that_the_checks_run() {
    let checks = read(".ci/run");
    let checked: BTreeSet<&str> = checks
        .lines()
        .flat_map(|line| ["run ", "linted "].map(|how| line.trim().strip_prefix(how)))
        .flatten()
        .collect();
    let readme = read("README.md");
    let promised = commands(&readme);
    assert!(promised.starts_with(&["cargo run --example crate_graph", "cargo test"]), "{promised:?}");
    for command in promised {
        assert!(checked.contains(command), "`{command}` is in the README, but not in .ci/run");
    }
}

#[test]
fn the_layers_in_the_contributing_guide_are_these() {
    let guide = read("CONTRIBUTING.md");
    for (number, modules) in LAYERS.iter().enumerate() {
        for module in modules.iter().filter(|module| sources().iter().any(|source| source.top() == **module))
        {
            let row =
                guide.lines().find(|line| line.contains(&format!("`{module}`")) && line.starts_with('|'));
            let row = row.unwrap_or_else(|| panic!("`{module}` is in no row of the table"));
            assert!(row.starts_with(&format!("| {number} |")), "`{module}` belongs to layer {number}: {row}");
        }
    }
}

/// The names of the chapters, and their texts.
fn chapters() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src");
    let files = fs::read_dir(folder).expect("the book is in docs/src");
    let mut chapters: Vec<_> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "SUMMARY.md")
        .map(|name| {
            let text = read(&format!("docs/src/{name}"));
            (name, text)
        })
        .collect();
    chapters.sort();
    assert!(!chapters.is_empty());
    chapters
}

/// The lines of a text that are in no fenced block.
fn prose(markdown: &str) -> impl Iterator<Item = &str> {
    let mut within = false;
    markdown.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        within ^= is_fence;
        !within && !is_fence
    })
}

/// The anchors of the headings, as mdBook and the usual hosts make them.
fn anchors(markdown: &str) -> BTreeSet<String> {
    prose(markdown)
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn every_chapter_of_the_book_is_in_its_summary_and_its_listings_are_tests() {
    let [summary, crate_root] = ["docs/src/SUMMARY.md", "src/lib.rs"].map(read);
    let chapters = chapters();
    for (name, _) in &chapters {
        assert!(summary.contains(&format!("]({name})")), "{name} is not in the summary");
        assert!(crate_root.contains(&format!("docs/src/{name}\")")), "{name} is not tested by src/lib.rs");
    }
    assert_eq!(summary.matches("](").count(), chapters.len(), "a chapter is missing, or is listed twice");
    for (name, text) in &chapters {
        let mut within = false;
        for line in text.lines().filter(|line| line.starts_with("```")) {
            within = !within;
            let language = line.trim_start_matches('`');
            let is_known = ["rust", "text", "sh", "toml"].contains(&language);
            assert!(is_known || !within, "{name}: a listing of kind `{language}` would not be run");
        }
    }
}

#[test]
fn links_in_the_book_lead_somewhere() {
    let chapters = chapters();
    for (name, text) in &chapters {
        for line in prose(text) {
            let line: String = line.split('`').step_by(2).collect(); // without code
            for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                if link.contains("://") {
                    continue;
                }
                let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
                let file = if file.is_empty() { name } else { file };
                let target = chapters.iter().find(|(name, _)| name == file);
                let (_, target) = target.unwrap_or_else(|| panic!("{name}: there is no {file}"));
                let is_there = anchor.is_empty() || anchors(target).contains(anchor);
                assert!(is_there, "{name}: {file} has no heading `#{anchor}`");
            }
        }
    }
}

/// The public error enums of the library, with their variants.
fn errors() -> Vec<(String, Vec<String>)> {
    let mut errors = Vec::new();
    for source in sources() {
        let mut lines = source.text.lines();
        while let Some(line) = lines.next() {
            let Some(name) = line.strip_prefix("pub enum ").and_then(|rest| rest.strip_suffix(" {")) else {
                continue;
            };
            if !name.ends_with("Error") {
                continue;
            }
            let variants = lines.by_ref().take_while(|line| *line != "}").filter_map(|line| {
                let variant = line.strip_prefix("    ")?;
                variant.starts_with(char::is_uppercase).then(|| {
                    variant.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
                })
            });
            errors.push((name.to_owned(), variants.collect()));
        }
    }
    errors
}

#[test]
fn the_book_explains_every_error() {
    let text = read("docs/src/errors.md");
    let errors = errors();
    assert!(errors.len() > 20, "they are found in the sources");
    for (name, variants) in errors {
        let sections: Vec<_> = text.split("\n## ").filter(|section| section.contains(&name)).collect();
        assert!(!sections.is_empty(), "{name} is not in docs/src/errors.md");
        for variant in variants {
            let forms = [format!("`{variant}`"), format!("{name}::{variant}`")];
            let is_there =
                sections.iter().any(|section| forms.iter().any(|form| section.contains(form.as_str())));
            assert!(is_there, "{name}::{variant} is not in docs/src/errors.md");
        }
    }
}
