//! The results in the repository belong together; and the program writes such results.

use bevy_relations_peers::{TABLES, from_csv, plots, results, summary};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What stands between these in the project's README are lines of `summary.md`.
const MARKERS: [&str; 2] = ["<!-- comparison -->\n", "<!-- /comparison -->"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Everything in a directory of results that is made of `results.csv` is what is made of it now.
fn assert_in_agreement(directory: &Path) {
    let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
    let records = from_csv(&read("results.csv")).unwrap();
    let written = read("results.md");
    let (_, tables) = written.split_once(TABLES).unwrap();
    let again = results(&bevy_relations_peers::Machine::here(), &records, &[]);
    assert_eq!(tables, again.split_once(TABLES).unwrap().1, "results.md has other tables");
    assert_eq!(read("summary.md"), summary(&records));
    for plot in plots(&records) {
        let file = format!("plots/{}.svg", plot.family);
        assert_eq!(read(&file), plot.svg, "{file}");
        assert!(written.contains(&file), "{file} is not shown");
    }
}

#[test]
fn the_results_in_the_repository_agree_with_each_other() {
    let directory = root().join("benches/results");
    let written = |name| directory.join(name).exists();
    assert_eq!(written("results.csv"), written("results.md"));
    assert!(!written("unfinished.csv"), "a run was interrupted");
    if written("results.csv") {
        assert_in_agreement(&directory);
    }
}

#[test]
fn the_readme_shows_rows_of_the_summary() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let [start, end] = MARKERS;
    assert_eq!(readme.contains(start), readme.contains(end));
    if let Some((_, rest)) = readme.split_once(start) {
        let summary = fs::read_to_string(root().join("benches/results/summary.md")).unwrap();
        let shown: Vec<_> = rest.split_once(end).unwrap().0.trim().lines().collect();
        assert!(shown.len() > 2, "the head of a table, and rows");
        for line in shown {
            assert!(summary.lines().any(|known| known == line), "`{line}` is not in the summary");
        }
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_bevy_relations_peers"))
}

#[test]
fn a_quick_run_leaves_results_that_agree() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("results");
    let arguments = ["--quick", "--rounds", "1", "--only", "retarget", "--write"];
    let status = program().args(arguments).arg(&directory).output().unwrap().status;
    assert!(status.success(), "{status}");
    assert_in_agreement(&directory);
    let records = from_csv(&fs::read_to_string(directory.join("results.csv")).unwrap()).unwrap();
    assert!(records.iter().all(|record| record.workload == "retarget" && record.median > 0.0));
    assert!(!directory.join("unfinished.csv").exists());
}

#[test]
fn bytes_are_counted_on_all_sides() {
    let output = program().args(["--quick", "--rounds", "1", "--one", "memory/10000"]).output().unwrap();
    let records = from_csv(&String::from_utf8(output.stdout).unwrap()).unwrap();
    assert!(records.len() > 5 && records.iter().all(|record| record.unit == "bytes"));
    for record in &records {
        assert!(record.median > 4.0, "a pair cannot be told in {record:?}");
    }
}

#[test]
fn what_cannot_be_measured_is_an_error() {
    for arguments in [["--one", "nothing/1"], ["--minutes", "never"]] {
        let output = program().args(arguments).output().unwrap();
        assert!(!output.status.success() && !output.stderr.is_empty(), "{arguments:?}");
    }
}
