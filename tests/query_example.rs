//! The example `query` answers what its files say, worked out here in another way.

mod built;

use built::{stderr, stdout};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

type Names = BTreeSet<String>;

fn run(arguments: &[&str]) -> Output {
    static EXAMPLE: OnceLock<PathBuf> = OnceLock::new();
    let example = EXAMPLE.get_or_init(|| built::example("query"));
    Command::new(example).args(arguments).output().expect("the example can be run")
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

/// Whom each row is about.
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
        ("City, (LocatedIn, Germny)", "1:19: expected the name of", "                  ^^^^^^"),
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
