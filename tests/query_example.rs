//! The example `query` answers what its files say, worked out here in another way.

mod built;

use built::{stderr, stdout};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

type Names = BTreeSet<String>;

fn command() -> Command {
    static EXAMPLE: OnceLock<PathBuf> = OnceLock::new();
    Command::new(EXAMPLE.get_or_init(|| built::example("query")))
}

fn run(arguments: &[&str]) -> Output {
    command().args(arguments).output().expect("the example can be run")
}

/// The rows for an expression.
fn rows(expr: &str) -> Vec<Value> {
    let lines = stdout(&run(&["--json", expr]));
    lines.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// A name as the files have it.
fn plain(name: &Value) -> String {
    name.as_str().expect("a name is text").replace('\\', "")
}

/// The `$this` of each row.
fn these(expr: &str) -> Names {
    rows(expr).iter().map(|row| plain(&row["this"])).collect()
}

/// The files, read without understanding more than this needs.
struct Facts {
    /// Columns of each place, below the path of names that leads there.
    places: BTreeMap<Vec<String>, Vec<String>>,
    pairs: BTreeSet<(String, String, String)>,
}

fn facts() -> &'static Facts {
    static FACTS: OnceLock<Facts> = OnceLock::new();
    FACTS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/worlds/geography");
        let read = |file| fs::read_to_string(folder.join(file)).expect("the file can be read");
        let mut places = BTreeMap::new();
        let mut path: Vec<String> = Vec::new();
        // Cities may lie in a country without lying in a subdivision.
        let mut indents: Vec<usize> = Vec::new();
        for line in read("places.txt").lines() {
            let indent = line.len() - line.trim_start_matches('\t').len();
            while indents.pop_if(|above| *above >= indent).is_some() {
                path.pop();
            }
            let mut columns = line.trim_start_matches('\t').split('\t').map(String::from);
            path.extend(columns.next());
            indents.push(indent);
            places.insert(path.clone(), columns.collect());
        }
        let mut pairs = BTreeSet::new();
        let mut relation = String::new();
        for line in read("pairs.txt").lines() {
            match line.strip_prefix('\t') {
                None => relation = line.to_owned(),
                Some(line) => {
                    let mut names = line.split('\t').map(|name| name.replace('\\', ""));
                    let source = names.next().expect("a line is not empty");
                    pairs.extend(names.map(|target| (relation.clone(), source.clone(), target)));
                }
            }
        }
        Facts { places, pairs }
    })
}

impl Facts {
    fn has(&self, relation: &str, source: &str, target: &str) -> bool {
        self.pairs.contains(&(relation.to_owned(), source.to_owned(), target.to_owned()))
    }

    fn borders(&self, a: &str, b: &str) -> bool {
        self.has("Borders", a, b) || self.has("Borders", b, a)
    }

    /// Places with so many names in their path that lie in `place`, as the example calls them.
    fn in_place(&self, place: &str, kind: impl Fn(&[String]) -> bool) -> Names {
        let paths = self
            .places
            .iter()
            .filter(|(path, columns)| path.iter().rev().skip(1).any(|above| above == place) && kind(columns));
        paths.map(|(path, _)| path[path.len().min(3).saturating_sub(1)..].join(".")).collect()
    }

    fn countries(&self) -> impl Iterator<Item = &String> + Clone {
        self.places
            .keys()
            .filter_map(|path| if let [_, _, country] = &path[..] { Some(country) } else { None })
    }
}

/// Cities have a population, a latitude and a longitude.
fn is_city(columns: &[String]) -> bool {
    columns.len() == 3 && columns[0].parse::<u64>().is_ok()
}

#[test]
fn cities_lie_in_whatever_their_subdivisions_lie_in() {
    for (text, place) in
        [("Netherlands", "Netherlands"), (r"South\ America", "South America"), ("Asia", "Asia")]
    {
        let expected = facts().in_place(place, is_city);
        assert_eq!(these(&format!("City, (LocatedIn, {text})")), expected, "{place}");
        assert!(expected.len() > 10, "{place}");
    }
}

#[test]
fn a_country_borders_two_others_whichever_of_them_the_file_names_first() {
    let facts = facts();
    for (a, b) in [("France", "Germany"), ("Germany", "France"), ("China", "Russia"), ("Peru", "Brazil")] {
        let both = facts.countries().filter(|name| facts.borders(name, a) && facts.borders(name, b));
        let both: Names = both.cloned().collect();
        assert!(!both.is_empty());
        assert_eq!(these(&format!("Country, (Borders, {a}), (Borders, {b})")), both, "{a} and {b}");
    }
}

#[test]
fn triangles_are_found_once_in_each_order() {
    let facts = facts();
    let expr = "Country, (LocatedIn, Africa), (Borders, $a), Borders($a, $b), (Borders, $b)";
    let found = rows(expr)
        .into_iter()
        .map(|row| [plain(&row["this"]), plain(&row["vars"]["a"]), plain(&row["vars"]["b"])]);
    let mut found: Vec<_> = found.collect();
    found.sort();
    let mut expected = Vec::new();
    let in_africa = facts.in_place("Africa", |columns| columns.len() == 3 && !is_city(columns));
    let neighbours =
        |name: &str| facts.countries().filter(|other| facts.borders(name, other)).collect::<Vec<_>>();
    for name in in_africa {
        for a in neighbours(&name) {
            expected.extend(
                neighbours(a)
                    .into_iter()
                    .filter(|b| facts.borders(&name, b))
                    .map(|b| [name.clone(), a.clone(), b.clone()]),
            );
        }
    }
    expected.sort();
    assert!(expected.len() > 100, "there are many");
    assert_eq!(found, expected);
}

#[test]
fn scopes_find_countries_of_which_all_neighbours_pay_alike() {
    let facts = facts();
    let expr = "Country, (Borders, _), !{ (Borders, $other), !PaysWith($other, Euro) }";
    let all_alike = facts.countries().filter(|name| {
        let mut neighbours = facts.countries().filter(|other| facts.borders(name, other)).peekable();
        neighbours.peek().is_some() && neighbours.all(|other| facts.has("PaysWith", other, "Euro"))
    });
    let expected: Names = all_alike.cloned().collect();
    assert!(expected.contains("Portugal") && !expected.contains("Spain"), "Gibraltar has the pound");
    assert_eq!(these(expr), expected);
}

#[test]
fn values_are_those_of_the_file() {
    let rows = rows("City, Population, Position, (CapitalOf, Iceland)");
    let [row] = &rows[..] else { panic!("Iceland has one capital") };
    let path = facts().places.iter().find(|(path, _)| path.last().is_some_and(|name| name == "Reykjavík"));
    let (path, columns) = path.expect("Reykjavík is in the file");
    assert_eq!(plain(&row["this"]), path[2..].join("."));
    assert_eq!(row["fields"][1]["value"].to_string(), columns[0]);
    let position = &row["fields"][2]["value"];
    assert_eq!(format!("{:.2}", position["latitude"].as_f64().unwrap()), columns[1]);
    assert_eq!(format!("{:.2}", position["longitude"].as_f64().unwrap()), columns[2]);
    assert_eq!(
        row["fields"][0].get("value"),
        Some(&Value::Object(Default::default())),
        "a marker has no fields"
    );
    assert_eq!(row["fields"][3]["id"], "(CapitalOf, Iceland)");
    assert_eq!(row["fields"][3].get("value"), None, "the pair has no value");
}

#[test]
fn a_table_has_aligned_columns_a_count_and_a_time() {
    let text = stdout(&run(&["Country, (Borders, France), (Borders, Germany)"]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "this         Country");
    assert!(lines.iter().any(|line| line.starts_with("Switzerland  ")), "{text}");
    assert!(lines.last().unwrap().starts_with("3 rows in "), "{text}");
    let planned = stdout(&run(&["--explain", "Country, (Borders, France), (Borders, Germany)"]));
    assert!(
        planned.contains(", made ") && planned.ends_with(&format!("{}\n", planned.lines().last().unwrap()))
    );
    assert!(planned.contains("3 rows in "), "{planned}");
}

#[test]
fn the_tour_shows_each_expression_with_what_it_finds() {
    let tour = stdout(&run(&[]));
    let stops: Vec<&str> = tour.trim().split("\n\n").collect();
    assert!(stops.len() >= 10, "{tour}");
    for stop in stops {
        let found = stop.lines().filter(|line| line.contains(" rows in ") || line.contains("1 row in "));
        assert_eq!(found.count(), 1, "{stop}");
        assert!(!stop.contains("\n0 rows in "), "{stop}");
        let expr = stop.lines().find_map(|line| line.strip_prefix("> ")).expect("a stop has an expression");
        let last = stop.lines().last().unwrap_or_default();
        let count = last.split(' ').next().unwrap_or_default();
        assert_eq!(rows(expr).len().to_string(), count, "{stop}");
    }
}

#[test]
fn a_mistake_is_marked_in_the_text_and_the_exit_code_is_2() {
    for (expr, line, mark) in [
        (
            "City, (LocatedIn, Germny)",
            "1:19: no component, relation or entity has this name",
            "                  ^^^^^^",
        ),
        ("City, (LocatedIn, Germany", "1:26: expected", "                         ^"),
        ("City,, Country", "1:6: expected", "     ^"),
    ] {
        let output = run(&[expr]);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(output.stdout.is_empty());
        assert!(message.starts_with(line), "{message}");
        assert!(message.contains(&format!("\n1 | {expr}\n  | {mark}\n")), "{message}");
    }
    for arguments in [&["--csv"][..], &["--json"], &["City", "Country"], &["--json", "--explain", "City"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains("Usage: query"), "{arguments:?}");
    }
    assert!(stdout(&run(&["--help"])).starts_with("Usage: query"));
}

/// Too many rows to wait for: every city with every other.
const CROSS: &str = "City, City($other)";

#[test]
fn a_cross_product_stops_at_a_limit_with_the_rows_that_were_found_so_far() {
    let output = run(&[CROSS]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("stopped at the limit, `--steps 100000`; rows found so far: "));
    // A header of two lines, and no count at the end.
    let lines = String::from_utf8_lossy(&output.stdout).lines().count();
    assert!(stderr(&output).ends_with(&format!(": {}\n", lines - 2)), "{lines} lines, {}", stderr(&output));
    assert!(lines > 10_000, "{lines}");

    let json = run(&["--steps", "5000", "--json", CROSS]);
    assert_eq!(json.status.code(), Some(1));
    let lines = String::from_utf8_lossy(&json.stdout).lines().count();
    assert!(stderr(&json).ends_with(&format!("`--steps 5000`; rows found so far: {lines}\n")));

    let planned = run(&["--explain", "--steps", "10000", CROSS]);
    assert_eq!(planned.status.code(), Some(1));
    let text = String::from_utf8_lossy(&planned.stdout);
    assert!(
        text.trim_end().lines().last().is_some_and(|line| line.trim_start().starts_with("scan City($other)")),
        "{text}"
    );
}

#[test]
fn the_limit_of_steps_can_be_raised() {
    let expr = "Country, Country($other)";
    let countries = facts().countries().count();
    assert_eq!(run(&["--steps", "1000", expr]).status.code(), Some(1));
    let text = stdout(&run(&["--steps", "1000000", expr]));
    assert!(
        text.lines().last().is_some_and(|line| line.starts_with(&format!("{} rows", countries * countries)))
    );
    for arguments in
        [&["--steps"][..], &["--steps", "many", "City"], &["--steps", "-1", "City"], &["--steps", "5"]]
    {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains("Usage: query"), "{arguments:?}");
    }
}

#[test]
fn rows_are_written_while_others_are_looked_for_and_a_closed_pipe_ends_that() {
    for form in [&[][..], &["--json"]] {
        let mut query = command()
            .args(form)
            .args(["--steps", &u64::MAX.to_string(), CROSS])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the example can be run");
        let mut first = String::new();
        let mut pipe = BufReader::new(query.stdout.take().expect("it is a pipe"));
        pipe.read_line(&mut first).expect("a line is text");
        assert!(first.starts_with("this  ") || first.starts_with("{\"this\":"), "{first}");
        drop(pipe);
        let output = query.wait_with_output().expect("it ends");
        assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
    }
}

#[test]
fn a_pipe_that_was_closed_before_is_no_mistake() {
    for arguments in [&[][..], &["--help"], &["City"], &["--json", "City"], &["--explain", "City"]] {
        let mut query = command()
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the example can be run");
        drop(query.stdout.take());
        let output = query.wait_with_output().expect("it ends");
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {}", stderr(&output));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let full = || fs::File::options().write(true).open("/dev/full").expect("it can be opened");
    let output = command().arg("City").stdout(full()).output().expect("the example can be run");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("cannot write the answer: "), "{}", stderr(&output));
    let status = command().arg("Cty").stderr(full()).status().expect("the example can be run");
    assert_eq!(status.code(), Some(2), "a complaint that cannot be written is no panic");
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_text_is_refused() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let argument = OsStr::from_bytes(b"City\xFF");
    for before in [&[][..], &["--json"], &["--steps"]] {
        let output = command().args(before).arg(argument).output().expect("the example can be run");
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).starts_with("`City\u{FFFD}` is not UTF-8\n"), "{}", stderr(&output));
    }
}

#[test]
fn components_have_the_names_of_their_types_and_names_are_written_as_they_are() {
    let table = |expr: &str| {
        let text = stdout(&run(&[expr]));
        let lines: Vec<_> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        lines[2..lines.len() - 1].to_vec()
    };
    assert_eq!(
        table("Country, *, $this == Iceland"),
        [
            "Iceland IS Name: Iceland",
            "Iceland IS Country: IS",
            "Iceland IS Population: 353574",
            "Iceland IS Area: 103000.0"
        ]
    );
    assert_eq!(table("*, $this == Euro"), ["Euro Name: Euro", "Euro Currency"]);
    assert_eq!(table("Currency, Name, $this == Euro"), ["Euro Euro"]);
    assert_eq!(table("Currency($this), $what($this), $this == Euro"), ["Euro Name Euro", "Euro Currency"]);
    assert_eq!(
        table("(*, Malta)"),
        ["Valletta (ChildOf, Malta)", "Valletta (LocatedIn, Malta)", "Valletta (CapitalOf, Malta)"]
    );
}
