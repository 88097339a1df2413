//! Texts at random: what is read is written down as the same, and every error has its place.

mod common;

use bevy_relations_syntax::{
    error::{ExprError, ExprErrorKind},
    parse::{parse, parse_arg},
};
use common::Random;

/// Text that mostly follows the grammar.
struct Writer {
    random: Random,
    text: String,
    depth: u32,
}

impl Writer {
    fn add(&mut self, of: &[&str]) {
        let text = self.random.one(of);
        self.text.push_str(text);
        // Blanks may stand between words.
        if self.random.below(8) == 0 {
            let blank = self.random.one(&[" ", "\n", "\t", " // aside\n", "/* aside */", "\r\n"]);
            self.text.push_str(blank);
        }
    }

    fn query(&mut self) {
        self.element();
        for _ in 0..self.random.below(3) {
            self.add(&[", ", ",", " || "]);
            self.element();
        }
        if self.random.below(9) == 0 {
            self.add(&[","]);
        }
    }

    fn element(&mut self) {
        if self.depth < 3 && self.random.below(7) == 0 {
            self.depth += 1;
            self.add(&["{", "!{", "{ "]);
            self.query();
            self.add(&["}"]);
            self.depth -= 1;
            return;
        }
        if self.random.below(6) == 0 {
            self.add(&["[in] ", "[out]", "[ inout ]", "[none]"]);
        }
        if self.random.below(4) == 0 {
            self.add(&["!", "?", "and|", "or|", "not | "]);
        }
        match self.random.below(8) {
            0..3 => {
                self.add(&["("]);
                self.arg();
                self.add(&[", "]);
                self.args();
                self.add(&[")"]);
            }
            3 => {
                self.add(&["$this", "$x", "$this.a.b", "$y.\\7"]);
                self.add(&[" == ", " != ", "~= "]);
                self.add(&["$z", "Sol.Earth", "\"a.b\"", "\"!\\\"\\n\"", "#7", "\\up"]);
            }
            4 => self.id(),
            5 if self.random.below(2) == 0 => {
                self.id();
                self.add(&[
                    "[Head](",
                    "[a.b](",
                    "[3](",
                    "[\\up](",
                    "[game::Slot::Head](",
                    "[",
                    "[*](",
                    "[Head, ",
                ]);
                self.arg();
                if self.random.below(2) == 0 {
                    self.add(&[", "]);
                    self.args();
                }
                self.add(&[")"]);
            }
            _ => {
                self.id();
                if self.random.below(6) == 0 {
                    self.add(&["|"]);
                    self.traversal();
                }
                self.add(&["("]);
                match self.random.below(4) {
                    0 => {}
                    1 => self.traversal(),
                    _ => self.arg(),
                }
                if self.random.below(2) == 0 {
                    self.add(&[", "]);
                    self.args();
                }
                self.add(&[")"]);
            }
        }
        if self.random.below(6) == 0 {
            self.add(&[" < ", " <= ", " > ", ">= ", " == ", " ! = "]);
            self.add(&["0", "-1", "1.50", "2e-3", "\"a\\n\\\"\"", "true", "false", "01", "-", "1e999"]);
        }
    }

    fn args(&mut self) {
        self.arg();
        for _ in 0..self.random.below(5).saturating_sub(2) {
            self.add(&[", ", "||"]);
            self.arg();
        }
    }

    fn arg(&mut self) {
        self.id();
        if self.random.below(5) == 0 {
            self.add(&["|"]);
            self.traversal();
        }
    }

    fn id(&mut self) {
        let ids = [
            "Tag",
            "R",
            "Sol.Earth",
            "Held.1",
            "a.0.b",
            "game::Ship",
            "Map<K, (u8, [V; 2])>",
            "$x",
            "$this",
            "$y.z.0",
            "*",
            "_",
            "#0",
            "#4294967297",
            "\\up",
            "\\1st",
            "Größe",
            "名.前",
            "a\\.b",
            "\\ ",
            "_x",
            "\\this",
            "\\or",
        ];
        self.add(&ids);
    }

    fn traversal(&mut self) {
        self.add(&["self", "up", "self|up", "cascade", "cascade|desc", "down", "up|all", "desc", "up|down"]);
        if self.random.below(2) == 0 {
            self.add(&[" ChildOf", " #7", " game::On", " a.b"]);
            if self.random.below(2) == 0 {
                self.add(&[" 3", " 2..", " ..4", " 1..1", " 5..2", " 0"]);
            }
        }
    }
}

/// Every error tells its place, whatever the text.
#[track_caller]
fn check_place(text: &str, error: &ExprError) {
    let range = error.range();
    assert!(range.start <= range.end && range.end <= text.len(), "{text:?}: {range:?}");
    let before = &text[..range.start];
    assert_eq!(error.line(), before.matches('\n').count() + 1, "{text:?}");
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    assert_eq!(error.column(), text[start..range.start].chars().count() + 1, "{text:?}");
    let found = &text[range.clone()];
    match error.found().strip_suffix('…') {
        Some(short) => assert!(found.starts_with(short), "{text:?}"),
        None => assert_eq!(error.found(), found, "{text:?}"),
    }
    assert!(!error.message().is_empty(), "{text:?}");
    let shown = error.to_string();
    assert!(
        shown.starts_with(&format!("{}:{}: {}", error.line(), error.column(), error.message())),
        "{shown}"
    );
    assert!(shown.lines().count() >= 4 && shown.ends_with('^'), "{shown}");
    // An operator may be out of place as well.
    let is_name = |text: &&str| text.starts_with(|c: char| c.is_alphanumeric() || "$#\\{".contains(c));
    if let Some(suggestion) = error.suggestion().filter(is_name) {
        let mut mended = text.to_owned();
        mended.replace_range(range.clone(), suggestion);
        // Something else may be wrong as well, elsewhere or about the mended place as a whole.
        if let Err(next) = parse(&mended) {
            let same = next.range().start == range.start && next.found() == suggestion;
            assert!(!same || next.kind() == ExprErrorKind::Rule, "{text:?} to {mended:?}:\n{next}");
        }
    }
}

#[test]
fn what_is_read_is_written_such_that_it_reads_the_same() {
    let mut writer = Writer { random: Random(0x5EED_0001), text: String::new(), depth: 0 };
    let mut read = 0;
    for _ in 0..20_000 {
        writer.text.clear();
        writer.query();
        match parse(&writer.text) {
            Ok(ast) => {
                read += 1;
                let written = ast.to_string();
                let again = parse(&written).unwrap_or_else(|error| panic!("{:?}:\n{error}", writer.text));
                assert_eq!(again, ast, "{:?} as {written:?}", writer.text);
                assert_eq!(again.to_string(), written);
            }
            Err(error) => check_place(&writer.text, &error),
        }
    }
    assert!(read > 3_000, "{read} were read");
}

#[test]
fn an_error_has_its_place_in_any_text() {
    let words = [
        "Tag",
        "R",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ",",
        "||",
        "|",
        "!",
        "?",
        "==",
        "!=",
        "~=",
        "=",
        "&&",
        ":",
        "::",
        "<",
        ">",
        " < ",
        "-1.5",
        "1e",
        "true",
        ".",
        "..",
        "$",
        "$x",
        "$This",
        "This",
        "super",
        "parent",
        "up",
        "self",
        "ChildOf",
        "3",
        "#",
        "#7",
        "\"",
        "\"text\"",
        "\\",
        "and|",
        "NOT|",
        "[in]",
        "*",
        "_",
        " ",
        "\n",
        "\t",
        "//",
        "/*",
        "*/",
        "ü",
        "§",
        "\u{1F680}",
    ];
    let mut random = Random(0x5EED_0002);
    for _ in 0..20_000 {
        let text = random.text(&words, 9);
        if let Err(error) = parse(&text) {
            check_place(&text, &error);
        }
        if let Err(error) = parse_arg(&text) {
            let range = error.range();
            assert!(text.get(range).is_some(), "{text:?}");
        }
    }
}

#[test]
fn parts_of_a_text_have_their_places() {
    for (text, spans) in [
        ("Tag, (R, $x)", ["Tag", "(R, $x)"]),
        ("[in] !Tag($x) ,\n  ?(A.b, *)", ["[in] !Tag($x)", "?(A.b, *)"]),
        ("$x == \"a\" , not|T", ["$x == \"a\"", "not|T"]),
        ("{ A, B }, R(up On 2)", ["{ A, B }", "R(up On 2)"]),
    ] {
        let ast = parse(text).unwrap();
        let found: Vec<&str> =
            ast.clauses.iter().map(|clause| &text[clause.branches[0].span().range()]).collect();
        assert_eq!(found, spans);
        ast.for_each_term(&mut |term, _| {
            for id in term.ids() {
                let written = &text[id.span.range()];
                assert!(written == id.to_string() || id.kind.is_this(), "{written} is {id}");
            }
        });
    }
}

/// Each error that the reference of the language lists.
#[test]
fn the_errors_of_the_language_are_at_their_place() {
    for (text, column, found, expected) in [
        ("($, T)", 2, "$", "a variable name after `$`"),
        ("Tag,,T", 5, ",", "a term"),
        ("Tag T", 5, "T", "`,`, `||` or the end"),
        ("Tag ||", 7, "", "a term"),
        ("(Tag)", 5, ")", "`,` and a target"),
        ("Tag(E1", 7, "", "`,` or `)`"),
        ("{}", 2, "}", "a term: a scope is not empty"),
        ("Tag }", 5, "}", "`,`, `||` or the end"),
        ("{ Tag", 6, "", "`,`, `||` or `}`"),
        ("$this == $this", 10, "$this", "this also stands on the left side"),
        ("$this ~= E1", 10, "E1", "`~=` compares with a string: part of a name"),
        ("Tag(desc)", 5, "desc", "`desc` stands only with `cascade`, whose order it turns round"),
        ("?{Tag}", 1, "?{", "a term, `{` or `!{`"),
        ("Tag(up R 0)", 10, "0", "depths count from 1, that of the target itself"),
        ("Tag(up R 3..2)", 10, "3..2", "the range ends before it starts"),
        ("and|(R, L)", 1, "and|(R, L)", "the list is an entity: a pair is none"),
        ("[in] and|L", 1, "[in] and|L", "the components of another entity have no access but `[none]`"),
        ("$", 1, "$", "a variable name after `$`"),
    ] {
        for (prefix, line, indent) in [("", 1, 0), ("A,\n  ", 2, 2), ("Ä, /* ü */ ", 1, 11)] {
            let whole = format!("{prefix}{text}");
            let error = parse(&whole).expect_err(text);
            assert_eq!(
                (
                    error.line(),
                    error.column(),
                    error.found(),
                    error.message().trim_start_matches("expected ")
                ),
                (line, column + indent, found, expected),
                "{error}"
            );
            check_place(&whole, &error);
        }
    }
}
