//! The example `crate_graph` answers as Cargo itself does, and refuses what it cannot answer.

mod built;

use built::{cargo, stderr, stdout};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

/// `name version`.
type Package = String;
type Edges = BTreeMap<Package, BTreeSet<Package>>;

fn command() -> Command {
    static EXAMPLE: OnceLock<PathBuf> = OnceLock::new();
    Command::new(EXAMPLE.get_or_init(|| built::example("crate_graph")))
}

fn run(arguments: &[&str]) -> Output {
    command().args(arguments).output().expect("the example can be run")
}

/// What the example prints of one package, list by list.
struct Told {
    needs_directly: BTreeSet<Package>,
    needs: BTreeSet<Package>,
    direct_dependents: BTreeSet<Package>,
    dependents: BTreeSet<Package>,
    /// What goes with the package, in that order.
    goes_along: Vec<Package>,
}

impl Told {
    fn about(package: &str) -> Self {
        let text = stdout(&run(&["--package", &package.replace(' ', "@")]));
        assert!(text.starts_with(&format!("{package}, level ")), "{text}");
        let list = |heading: &str| {
            let mut lines = text.lines().skip_while(|line| !line.trim_start().starts_with(heading));
            let found = lines.next().unwrap_or_else(|| panic!("no `{heading}` in {text}"));
            let count = found.trim_start()[heading.len()..].split(',').next().unwrap_or_default().trim();
            let names: Vec<_> =
                lines.map_while(|line| line.strip_prefix("    ")).map(Package::from).collect();
            assert_eq!(names.len().to_string(), count, "the number before the list is its length");
            names
        };
        let set = |heading| BTreeSet::from_iter(list(heading));
        Self {
            needs_directly: set("depends directly on"),
            needs: set("depends in all on"),
            direct_dependents: set("is needed directly by"),
            dependents: set("is needed in all by"),
            goes_along: list("despawned, it takes along"),
        }
    }
}

/// The dependencies between crates, according to `cargo metadata`.
///
/// A lockfile is made for all features of all workspace members on every platform. Asked with all features and
/// without a platform, Cargo answers from the same resolution, so that both must agree exactly.
fn resolved() -> &'static Edges {
    static RESOLVED: OnceLock<Edges> = OnceLock::new();
    RESOLVED.get_or_init(|| {
        let question = ["metadata", "--format-version", "1", "--all-features"];
        let mut answer = cargo(&[&question[..], &["--offline"]].concat());
        if !answer.status.success() {
            // It also needs packages of other platforms, which may not be downloaded yet.
            answer = cargo(&question);
        }
        let metadata: Value = serde_json::from_str(&stdout(&answer)).expect("Cargo writes JSON");
        let text = |value: &Value| value.as_str().expect("a string").to_owned();
        let array = |value: &Value| value.as_array().expect("an array").clone();
        let packages = array(&metadata["packages"]);
        let names: BTreeMap<_, _> = packages
            .iter()
            .map(|package| {
                (text(&package["id"]), format!("{} {}", text(&package["name"]), text(&package["version"])))
            })
            .collect();
        let nodes = array(&metadata["resolve"]["nodes"]);
        nodes
            .iter()
            .map(|node| {
                let targets =
                    array(&node["deps"]).iter().map(|dep| names[&text(&dep["pkg"])].clone()).collect();
                (names[&text(&node["id"])].clone(), targets)
            })
            .collect()
    })
}

fn inverted(edges: &Edges) -> Edges {
    let mut inverted: Edges = edges.keys().map(|package| (package.clone(), BTreeSet::new())).collect();
    for (source, targets) in edges {
        for target in targets {
            inverted.entry(target.clone()).or_default().insert(source.clone());
        }
    }
    inverted
}

/// Everything that is reached from `start`, which is not in it.
fn reached(edges: &Edges, start: &str) -> BTreeSet<Package> {
    let mut reached = BTreeSet::new();
    let mut ahead = vec![start];
    while let Some(package) = ahead.pop() {
        for next in &edges[package] {
            if reached.insert(next.clone()) {
                ahead.push(next);
            }
        }
    }
    reached
}

/// What `cargo tree` lists, without the package itself.
fn tree(package: &str, arguments: &[&str]) -> BTreeSet<Package> {
    let id = package.replace(' ', "@");
    let common =
        ["tree", "--offline", "--workspace", "--all-features", "--target", "all", "--prefix", "none"];
    let text = stdout(&cargo(&[&common[..], &["--format", "{p}", "--invert", &id], arguments].concat()));
    let names = text.lines().filter_map(|line| {
        let (name, version) = line.split_once(" v")?;
        Some(format!("{name} {}", version.split(' ').next()?))
    });
    names.filter(|name| name != package).collect()
}

#[test]
fn every_answer_is_that_of_cargo_metadata() {
    let needs = resolved();
    let needed_by = inverted(needs);
    // One package in three: a run takes a tenth of a second.
    for package in needs.keys().step_by(3) {
        let told = Told::about(package);
        assert_eq!(told.needs_directly, needs[package], "what {package} needs directly");
        assert_eq!(told.needs, reached(needs, package), "all that {package} needs");
        assert_eq!(told.direct_dependents, needed_by[package], "who needs {package} directly");
        assert_eq!(told.dependents, reached(&needed_by, package), "all who need {package}");
    }
}

#[test]
fn despawning_a_package_takes_along_all_that_depend_on_it_and_those_go_first() {
    let needs = resolved();
    let needed_by = inverted(needs);
    for package in ["serde_core", "syn", "bevy_ecs", "bevy_relations"] {
        let of_that_name = |id: &&Package| id.split(' ').next() == Some(package);
        let package = needs.keys().find(of_that_name).expect("we depend on it");
        let gone = Told::about(package).goes_along;
        assert_eq!(BTreeSet::from_iter(gone.clone()), reached(&needed_by, package));
        for (at, earlier) in gone.iter().enumerate() {
            let later = BTreeSet::from_iter(gone[at..].iter().cloned());
            assert!(
                needed_by[earlier].is_disjoint(&later),
                "{earlier} went before something that depends on it"
            );
        }
    }
}

/// `cargo tree` shows what is built when Cargo resolves features the way it does for a build, with those of
/// build scripts and macros apart. That can leave out packages that the lockfile has to list: its answer must be
/// a part of ours. What only packages of this workspace need is known to both alike.
#[test]
fn whoever_depends_on_a_package_in_cargo_tree_does_so_here() {
    for package in resolved().keys().filter(|package| {
        let name = package.split(' ').next();
        ["bevy_ecs", "bevy_platform", "bevy_relations_macros", "serde", "syn", "smallvec", "windows-link"]
            .map(Some)
            .contains(&name)
    }) {
        let told = Told::about(package);
        let seen = tree(package, &[]);
        assert!(!seen.is_empty() && seen.is_subset(&told.dependents), "{package}: {seen:?}");
        let direct = tree(package, &["--depth", "1"]);
        assert!(direct.is_subset(&told.direct_dependents), "{package}: {direct:?}");
        if package.starts_with("bevy_relations_macros ") {
            assert_eq!((seen, direct), (told.dependents, told.direct_dependents), "{package}");
        }
    }
}

#[test]
fn the_tour_counts_packages_and_dependencies_and_shows_a_chain() {
    let needs = resolved();
    let text = stdout(&run(&[]));
    let dependencies: usize = needs.values().map(BTreeSet::len).sum();
    let first = text.lines().next().unwrap_or_default();
    assert!(first.ends_with(&format!(": {} packages, {dependencies} dependencies", needs.len())), "{text}");
    assert!(text.contains(" from this workspace\n") && text.contains(" from crates.io\n"), "{text}");

    let chain = text.lines().find(|line| line.contains(" -> ")).expect("there is a chain");
    let chain: Vec<_> = chain.trim().split(" -> ").collect();
    assert!(chain.windows(2).all(|pair| needs[pair[0]].contains(pair[1])), "{chain:?}");
    assert!(text.contains(&format!("the longest chain has {} packages", chain.len())), "{text}");
    assert_eq!(chain.len(), longest_chain(needs), "{chain:?}");
}

fn longest_chain(edges: &Edges) -> usize {
    fn below(edges: &Edges, package: &Package, known: &mut BTreeMap<Package, usize>) -> usize {
        if let Some(&length) = known.get(package) {
            return length;
        }
        let longest = edges[package].iter().map(|next| below(edges, next, known)).max().unwrap_or(0);
        known.insert(package.clone(), longest + 1);
        longest + 1
    }
    let mut known = BTreeMap::new();
    edges.keys().map(|package| below(edges, package, &mut known)).max().unwrap_or(0)
}

#[test]
fn help_is_printed_when_asked_for() {
    for option in ["--help", "-h"] {
        assert!(stdout(&run(&[option])).starts_with("Usage: crate_graph [PATH]"));
    }
}

/// A folder of its own for a test's files.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("crate_graph_{test}"));
    fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

/// Writes a file and gives its path.
fn file(test: &str, name: &str, text: &str) -> String {
    let path = folder(test).join(name);
    fs::write(&path, text).expect("the file can be written");
    path.to_str().expect("plain characters").to_owned()
}

/// The complaint about bad input: on stderr, with exit code 2 and nothing on stdout.
fn complaint(arguments: &[&str]) -> String {
    let output = run(arguments);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty(), "no answer beside the complaint");
    assert!(message.starts_with("crate_graph: "), "{message}");
    assert!(!message.contains("panicked"), "{message}");
    message
}

/// A lockfile in which packages depend on each other as listed.
fn lockfile(packages: &[(&str, &str, &[&str])]) -> String {
    let mut text = "version = 4\n".to_owned();
    for (name, version, dependencies) in packages {
        text += &format!(
            "\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\ndependencies = {dependencies:?}\n"
        );
    }
    text
}

#[test]
fn a_path_that_does_not_exist_is_refused() {
    let path = folder("missing").join("Cargo.lock");
    let message = complaint(&[path.to_str().expect("plain characters")]);
    assert!(message.contains("cannot read") && message.contains("Cargo.lock"), "{message}");
}

#[test]
fn a_folder_is_refused() {
    let path = folder("folder");
    let message = complaint(&[path.to_str().expect("plain characters")]);
    assert!(message.contains("cannot read"), "{message}");
}

#[test]
fn a_text_is_no_lockfile() {
    let message = complaint(&[&file("text", "poem.txt", "Roses are red,\nviolets are blue.\n")]);
    assert!(message.contains("poem.txt is not a complete Cargo.lock"), "{message}");
}

#[test]
fn a_file_that_is_not_text_is_refused() {
    let path = folder("binary").join("Cargo.lock");
    fs::write(&path, [0xFF, 0xFE, 0x00]).expect("the file can be written");
    complaint(&[path.to_str().expect("plain characters")]);
}

#[test]
fn a_manifest_and_an_empty_file_are_no_lockfiles() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for path in [manifest, &file("empty", "Cargo.lock", "")] {
        let message = complaint(&[path]);
        assert!(message.contains("is not a complete Cargo.lock"), "{message}");
    }
}

#[test]
fn a_lockfile_cut_off_anywhere_is_refused_unless_the_rest_makes_sense() {
    let whole =
        lockfile(&[("app", "1.0.0", &["middle"]), ("middle", "1.0.0", &["leaf"]), ("leaf", "1.0.0", &[])]);
    for length in 0..whole.len() {
        let rest = &whole[..length];
        let output = run(&[&file("truncated", &format!("{length}.lock"), rest)]);
        if output.status.success() {
            // A package whose dependencies are missing altogether looks as if it had none.
            let packages = rest.matches("[[package]]").count();
            assert!(
                stdout(&output).contains(&format!(": {packages} packages, ")),
                "cut off after {length} bytes"
            );
            assert!(
                !rest.ends_with("dependencies = ") && !rest.ends_with('['),
                "cut off after {length} bytes"
            );
        } else {
            assert_eq!(output.status.code(), Some(2), "cut off after {length} bytes: {}", stderr(&output));
        }
    }
    for length in [whole.len() / 3, whole.len() / 2, whole.len() * 3 / 4] {
        let message = complaint(&[&file("truncated", "Cargo.lock", &whole[..length])]);
        assert!(message.contains("is not a complete Cargo.lock"), "{message}");
    }
}

#[test]
fn a_dependency_that_is_not_listed_is_named() {
    let text = lockfile(&[("app", "1.0.0", &["leaf 2.0.0"]), ("leaf", "1.0.0", &[])]);
    let message = complaint(&[&file("unlisted", "Cargo.lock", &text)]);
    assert!(message.contains("app depends on leaf 2.0.0"), "{message}");
}

#[test]
fn an_unknown_package_is_refused_with_suggestions() {
    let message = complaint(&["--package", "no-such-package"]);
    assert!(message.contains("there is no package `no-such-package`"), "{message}");
    let message = complaint(&["--package", "bevy_ec"]);
    assert!(message.contains("did you mean") && message.contains("  bevy_ecs@0.20"), "{message}");
    let message = complaint(&["--package", "bevy_ecs@0.1.0"]);
    assert!(message.contains("there is no package `bevy_ecs@0.1.0`"), "{message}");
    complaint(&["--package", ""]);
    complaint(&["--package", "@"]);
}

#[test]
fn an_ambiguous_package_is_refused_with_all_candidates() {
    let text = lockfile(&[
        ("app", "1.0.0", &["leaf 1.0.0", "leaf 2.0.0"]),
        ("leaf", "1.0.0", &[]),
        ("leaf", "2.0.0", &[]),
    ]);
    let path = file("ambiguous", "Cargo.lock", &text);
    let message = complaint(&[&path, "--package", "leaf"]);
    assert!(message.contains("may be any of"), "{message}");
    assert!(message.contains("\n  leaf@1.0.0 ") && message.contains("\n  leaf@2.0.0 "), "{message}");
    assert!(stdout(&run(&[&path, "--package", "leaf@2.0.0"])).starts_with("leaf 2.0.0, level 0\n"));
}

#[test]
fn a_package_may_be_named_with_the_first_numbers_of_its_version() {
    let text = lockfile(&[
        ("syn", "1.0.109", &[]),
        ("syn", "2.0.119", &[]),
        ("serde", "1.2.0", &[]),
        ("serde", "1.20.3", &[]),
        ("wide", "0.7.0-rc.1", &[]),
        ("built", "3.1.4+zlib.2", &[]),
        ("built", "3.1.5+zlib.2", &[]),
        ("twin", "1.0.0", &[]),
        ("twin", "1.0.0+x", &[]),
    ]);
    let path = file("versions", "Cargo.lock", &text);
    for (wanted, found) in [
        ("syn@1", "syn 1.0.109"),
        ("syn@2", "syn 2.0.119"),
        ("syn@2.0", "syn 2.0.119"),
        ("syn@2.0.119", "syn 2.0.119"),
        ("serde@1.2", "serde 1.2.0"),
        ("serde@1.20", "serde 1.20.3"),
        ("wide@0.7.0-rc.1", "wide 0.7.0-rc.1"),
        ("built@3.1.4", "built 3.1.4+zlib.2"),
        ("built@3.1.5+zlib.2", "built 3.1.5+zlib.2"),
        ("twin@1.0.0", "twin 1.0.0"),
        ("twin@1.0.0+x", "twin 1.0.0+x"),
    ] {
        let about = stdout(&run(&[&path, "--package", wanted]));
        assert!(about.starts_with(&format!("{found}, level 0\n")), "{wanted}: {about}");
    }
    for wanted in ["serde@1", "built@3.1", "twin@1"] {
        let message = complaint(&[&path, "--package", wanted]);
        assert!(message.contains(&format!("`{wanted}` may be any of")), "{message}");
    }
    for wanted in [
        "syn@",
        "syn@.",
        "syn@2.",
        "syn@0",
        "syn@2.0.11",
        "syn@.0",
        "wide@0.7",
        "wide@0.7.0",
        "built@3.1.4+zlib",
    ] {
        let message = complaint(&[&path, "--package", wanted]);
        assert!(message.contains(&format!("there is no package `{wanted}`")), "{message}");
    }
}

/// It took minutes when each depth was worked out by a walk to the end.
#[test]
fn a_long_chain_is_answered() {
    const LENGTH: usize = 5_000;
    let names: Vec<_> = (0..LENGTH).map(|nth| format!("link{nth:04}")).collect();
    let needs: Vec<_> = names.iter().skip(1).map(|name| [name.as_str()]).collect();
    let chain = names.iter().enumerate().map(|(nth, name)| {
        let needs = needs.get(nth).map_or(&[][..], |needs| &needs[..]);
        (name.as_str(), "1.0.0", needs)
    });
    let path = file("chain", "Cargo.lock", &lockfile(&chain.collect::<Vec<_>>()));
    let text = stdout(&run(&[&path]));
    assert!(
        text.contains(&format!("  the longest chain has {LENGTH} packages\n    link0000 1.0.0 -> link0001")),
        "{text}"
    );
    // From the middle there are many in both directions.
    let about = stdout(&run(&[&path, "--package", "link2500"]));
    assert!(about.contains("is needed in all by 2500\n"), "{about}");
    let about = stdout(&run(&[&path, "--package", "link0010"]));
    assert!(about.starts_with(&format!("link0010 1.0.0, level {}\n", LENGTH - 11)), "{about}");
    assert!(
        about.contains("\n  despawned, it takes along 10, in this order\n    link0000 1.0.0\n"),
        "{about}"
    );
}

#[test]
fn a_closed_pipe_is_no_mistake() {
    for arguments in [&[][..], &["--help"], &["--package", "bevy_ecs"]] {
        let mut graph = command()
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the example can be run");
        drop(graph.stdout.take());
        let output = graph.wait_with_output().expect("it ends");
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {}", stderr(&output));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_is_a_failure_and_no_panic() {
    let full = || fs::File::options().write(true).open("/dev/full").expect("it can be opened");
    let output = command().stdout(full()).output().expect("the example can be run");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("crate_graph: cannot write the answer: "), "{}", stderr(&output));
    let status = command().arg("--nothing").stderr(full()).status().expect("the example can be run");
    assert_eq!(status.code(), Some(2));
}

#[cfg(unix)]
#[test]
fn arguments_that_are_not_text_are_paths_or_unknown_packages() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let [path, option] = [&b"lock\xFF"[..], b"-\xFF-\xFF-"].map(OsStr::from_bytes);
    let said = |arguments: &[&OsStr]| {
        let output = command().args(arguments).output().expect("the example can be run");
        assert_eq!(output.status.code(), Some(2));
        stderr(&output)
    };
    assert!(said(&[path]).starts_with("crate_graph: cannot read lock\u{FFFD}: "));
    assert!(said(&["--package".as_ref(), path]).contains("there is no package `lock\u{FFFD}`"));
    assert!(said(&[option]).contains("there is no option `-\u{FFFD}-\u{FFFD}-`"));
    // One that can be read is.
    let real = folder("not_text").join(path);
    fs::write(&real, lockfile(&[("app", "1.0.0", &[])])).expect("the file can be written");
    let output = command().arg(&real).output().expect("the example can be run");
    assert!(stdout(&output).contains("lock\u{FFFD}: 1 packages, 0 dependencies"));
}

#[test]
fn a_command_line_that_makes_no_sense_is_refused_with_the_usage() {
    for arguments in [&["--packages", "x"][..], &["--package"], &["one.lock", "two.lock"]] {
        assert!(complaint(arguments).contains("Usage: crate_graph [PATH]"));
    }
}

#[test]
fn cycles_are_listed_and_everything_else_is_answered() {
    let text = lockfile(&[
        ("app", "1.0.0", &["lib"]),
        ("lib", "1.0.0", &["helper", "util"]),
        ("helper", "1.0.0", &["lib", "helper"]),
        ("util", "1.0.0", &[]),
    ]);
    let path = file("cycle", "Cargo.lock", &text);
    let tour = stdout(&run(&[&path]));
    assert!(tour.contains("4 packages, 3 dependencies"), "{tour}");
    assert!(tour.contains("since they close a cycle: 2\n"), "{tour}");
    assert!(tour.contains("    helper 1.0.0 -> lib 1.0.0 -> helper 1.0.0\n"), "{tour}");
    assert!(tour.contains("    helper 1.0.0 -> helper 1.0.0\n"), "{tour}");
    let about = stdout(&run(&[&path, "--package", "util"]));
    assert!(about.contains("is needed in all by 2\n    app 1.0.0\n    lib 1.0.0\n"), "{about}");
}
