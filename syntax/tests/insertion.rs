//! What an entity is to get: what is read, what only asks, and what is no expression at all.

mod common;

use bevy_relations_syntax::{
    ast::{IdKind, Literal},
    insertion::{NewPart, NewTerm, NewTermKind, NewValue, NewValueKind, parse_insertion},
};
use common::Random;

/// How a term was understood, without spans.
fn shown(term: &NewTerm) -> String {
    match &term.kind {
        NewTermKind::Id(part) => shown_part(part),
        NewTermKind::Pair { relation, target, key } => {
            let key = key.as_ref().map(|key| format!("[{key}]")).unwrap_or_default();
            format!("({}{key}, {})", shown_part(relation), shown_part(target))
        }
    }
}

fn shown_part(part: &NewPart) -> String {
    let value = part.value.as_ref().map(shown_value).unwrap_or_default();
    format!("{}{value}", shown_id(&part.id.kind))
}

fn shown_id(id: &IdKind) -> String {
    match id {
        IdKind::Path(path) => path.to_string(),
        IdKind::Bits(bits) => format!("#{bits}"),
        IdKind::Variable(name) => format!("${name}"),
        other => panic!("{other:?}"),
    }
}

fn shown_value(value: &NewValue) -> String {
    match &value.kind {
        NewValueKind::Literal(Literal::Number(text)) => text.clone(),
        NewValueKind::Literal(Literal::Text(text)) => format!("{text:?}"),
        NewValueKind::Literal(Literal::Bool(value)) => value.to_string(),
        NewValueKind::Id(id) => shown_id(&id.kind),
        NewValueKind::Tuple(values) => {
            format!("({})", values.iter().map(shown_value).collect::<Vec<_>>().join(" "))
        }
        NewValueKind::Struct(fields) => {
            let fields = fields.iter().map(|field| format!("{}:{}", field.name, shown_value(&field.value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(" "))
        }
    }
}

#[track_caller]
fn read(text: &str) -> String {
    let terms = parse_insertion(text).unwrap_or_else(|error| panic!("{error}"));
    let terms = terms.into_iter().map(|term| match term {
        Ok(term) => {
            let range = term.span.range();
            assert!(text.get(range.clone()).is_some_and(|part| !part.is_empty()), "{range:?} of `{text}`");
            shown(&term)
        }
        Err(fault) => panic!("{}", fault.in_text(text)),
    });
    terms.collect::<Vec<_>>().join("; ")
}

#[test]
fn terms_are_read() {
    for (text, expected) in [
        ("", ""),
        ("Fighter", "Fighter"),
        ("Fighter,", "Fighter"),
        ("Fighter, (DockedTo, Earth), Health(20)", "Fighter; (DockedTo, Earth); Health(20)"),
        ("Health( -20 )", "Health(-20)"),
        ("P(1.5, -2e3,)", "P(1.5 -2e3)"),
        ("P{x:1,y:-2}", "P{x:1 y:-2}"),
        ("P { x: 1, y: (2, { z: \"a, }\" }), }", "P{x:1 y:(2 {z:\"a, }\"})}"),
        ("P {}", "P{}"),
        ("P { 0: Head, 1: Sol.Earth, 2: #77 }", "P{0:Head 1:Sol.Earth 2:#77}"),
        ("Flag(true), Flag(false, true_north)", "Flag(true); Flag(false true_north)"),
        ("Title(\"Sir \\\"X\\\"\\n\")", "Title(\"Sir \\\"X\\\"\\n\")"),
        ("(Eats { grams: 80 }, apple)", "(Eats{grams:80}, apple)"),
        ("(Eats(80), Sol.apple)", "(Eats(80), Sol.apple)"),
        ("(Begin, Position(1))", "(Begin, Position(1))"),
        ("Likes($this, Bob)", "(Likes, Bob)"),
        ("(Likes, $this)", "(Likes, $this)"),
        ("Ship($this)", "Ship"),
        ("Equips[Head](hat)", "(Equips[Head], hat)"),
        ("Equips [ 3 ] ($this, hat)", "(Equips[3], hat)"),
        ("#12, (#3, #4)", "#12; (#3, #4)"),
        ("game::Ship, game::Sized<u8>(3)", "game::Ship; game::Sized<u8>(3)"),
        (r"Probe\ No\.\ 7, (up, \up)", r"Probe\ No\.\ 7; (\up, \up)"),
        ("A // first\n, /* (B) */ C(/* no */ 1 // one\n)", "A; C(1)"),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

/// The first term that cannot be inserted: where it starts, and what is said about it.
#[track_caller]
fn refused(text: &str) -> (usize, String) {
    let terms = parse_insertion(text).unwrap_or_else(|error| panic!("no query: {error}"));
    let fault = terms.into_iter().find_map(Result::err).unwrap_or_else(|| panic!("`{text}` is inserted"));
    let error = fault.in_text(text);
    (error.range().start, error.message().to_owned())
}

#[test]
fn what_only_asks_is_refused_in_its_place() {
    for (text, at, message) in [
        ("A, !B", 3, "`!` cannot be inserted"),
        ("A, ?B", 3, "`?` cannot be inserted"),
        ("A, B || C", 3, "`||` cannot be inserted"),
        ("A, R($this, B || C)", 3, "`||` cannot be inserted"),
        ("A, {B}", 3, "a scope"),
        ("A, !{B, C}", 3, "a scope"),
        ("A, and|B", 3, "list"),
        ("A, or|B", 3, "list"),
        ("A, not|B", 3, "list"),
        ("A, $x", 3, "a variable"),
        ("A, (R, $x)", 7, "a variable"),
        ("A, ($r, B)", 4, "a variable"),
        ("A, (R, $this.b)", 7, "a variable"),
        ("A, *", 3, "`*`"),
        ("A, _", 3, "`*`"),
        ("A, (R, *)", 7, "`*`"),
        ("A, (*, B)", 4, "`*`"),
        ("A, (R, _)", 7, "`*`"),
        ("A, B(C)", 5, "source"),
        ("A, R(B, C)", 5, "source"),
        ("A, R($this, B, C)", 12, "source"),
        ("A, B($)", 5, "source"),
        ("A, B()", 3, "no entity"),
        ("A, B(up)", 5, "`up` cannot be inserted"),
        ("A, B|self", 5, "`up` cannot be inserted"),
        ("A, (R, B|up ChildOf)", 9, "`up` cannot be inserted"),
        ("A, B(cascade ChildOf)", 5, "`up` cannot be inserted"),
        ("A, [in] B", 3, "`[in]` cannot be inserted"),
        ("A, [none] (R, B)", 3, "`[in]` cannot be inserted"),
        ("A, B.hp < 3", 3, "comparison"),
        ("A, B.hp == \"x\"", 3, "comparison"),
        ("A, (R.v, B) > 1", 3, "comparison"),
        ("A, $this == B", 3, "comparison"),
        ("A, $this ~= \"b\"", 3, "comparison"),
        ("A, !E[k](B)", 3, "`!` cannot be inserted"),
        ("A, E[k]($x)", 8, "a variable"),
        ("A, E[k](S, B)", 8, "source"),
        ("A, [in] E[k](B)", 3, "`[in]` cannot be inserted"),
        // A scope inside is not looked at.
        ("!{A, (R, $x) || B}, C", 0, "a scope"),
    ] {
        let (found, said) = refused(text);
        assert!(found == at && said.contains(message), "{text}: {found}: {said}");
    }
}

#[test]
fn a_mistake_in_the_text_is_reported_where_it_is() {
    let deep = format!("A({}", "(".repeat(40));
    for (text, at, message) in [
        ("A,,B", 2, "a term"),
        ("A B", 2, "`,` or the end"),
        ("A)", 1, "`,` or the end"),
        ("(R, A", 5, "`,`, `||` or `)`"),
        ("(R", 2, "`,` and a target"),
        ("A(20", 4, "`,` or `)`"),
        ("A(20 30)", 5, "`,` or `)`"),
        ("A(1, )x", 6, "`,` or the end"),
        ("A(1,, 2)", 4, "a value"),
        ("A(1, $x)", 5, "a value"),
        ("A{x}", 3, "`:`"),
        ("A{x: }", 5, "a value"),
        ("A{x: 1 y: 2}", 7, "`,` or `}`"),
        ("A{x: 1, x: 2}", 8, "already"),
        ("A{1.5: 2}", 3, "`:`"),
        ("A{Sol.Earth: 2}", 2, "the name of a field"),
        ("A(-)", 3, "a digit"),
        ("A(1e999)", 2, "out of range"),
        ("A(12x)", 4, "the end of the number"),
        ("A(\"x)", 2, "a string that ends"),
        ("A(1) || B", 5, "`,` or the end"),
        ("!A(1)", 3, "`#`"),
        ("(R($x), A)", 3, "a value"),
        // Thirty-two inside the parentheses of the arguments.
        (deep.as_str(), 34, "too deep"),
    ] {
        let error = parse_insertion(text).expect_err(text);
        assert!(
            error.range().start == at && error.message().contains(message),
            "{text}: {} at {}",
            error.message(),
            error.range().start
        );
    }
    assert!(parse_insertion(&"A, ".repeat(512)).is_ok());
    assert!(parse_insertion(&"A, ".repeat(513)).is_err(), "too many terms");
    assert!(parse_insertion(&" ".repeat(65 * 1024)).is_err(), "too long");
}

#[test]
fn no_text_makes_reading_panic() {
    const PIECES: &[&str] = &[
        "A",
        "R",
        "Sol.Earth",
        "a::B<c>",
        "$this",
        "$x",
        "*",
        "_",
        "#7",
        "3",
        "-2.5",
        "1e9",
        "\"s\"",
        "true",
        "None",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "|",
        "||",
        "!",
        "?",
        "==",
        "<",
        "..",
        ".",
        "up",
        "and|",
        " ",
        "\n",
        "\\",
        "é",
        "\"",
        "/*",
    ];
    let mut random = Random(0x5EED);
    let (mut read, mut asked, mut wrong) = (0, 0, 0);
    for _ in 0..30_000 {
        let text = random.text(PIECES, 14);
        match parse_insertion(&text) {
            Ok(terms) if terms.iter().all(Result::is_ok) => read += 1,
            Ok(terms) => {
                asked += 1;
                for fault in terms.into_iter().filter_map(Result::err) {
                    let range = fault.in_text(&text).range();
                    assert!(text.get(range).is_some(), "{text}");
                }
            }
            Err(error) => {
                wrong += 1;
                assert!(text.get(error.range()).is_some(), "{text}");
            }
        }
    }
    assert!(read > 100 && asked > 100 && wrong > 1000, "{read} {asked} {wrong}");
}

#[test]
fn an_equals_sign_in_the_place_of_a_colon_is_mended() {
    let error = parse_insertion("Health { hp = 1 }").unwrap_err();
    assert_eq!((error.found(), error.suggestion()), ("=", Some(":")), "{error}");
    assert_eq!(error.message(), "expected `:` and the value of the field");
    let error = parse_insertion("Health { hp 1 }").unwrap_err();
    assert_eq!((error.found(), error.suggestion()), ("1", None), "{error}");
}
