//! What README and CONTRIBUTING promise.

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
    let checked: BTreeSet<&str> =
        checks.lines().filter_map(|line| line.trim().strip_prefix("run ")).collect();
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
