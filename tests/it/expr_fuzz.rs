//! Expressions at random: what is read can be written and read again, and nothing makes reading panic.

use crate::common::Random;
use bevy_ecs::prelude::*;
use bevy_relations::{
    expr::{Comparator, ExprErrorKind, PairExpr},
    prelude::*,
};
use proptest::prelude::*;
use std::thread;

/// Reads a text; what it means survives being written down, and what is wrong with it has a place.
fn read(text: &str) -> Option<PairExpr> {
    match PairExpr::parse(text) {
        Ok(expr) => {
            let written = expr.to_string();
            let again = PairExpr::parse(written.as_str());
            let again = again.unwrap_or_else(|error| panic!("`{text}` was written as `{written}`: {error}"));
            assert_eq!(again, expr, "`{text}` was written as `{written}`");
            assert_eq!(again.to_string(), written);
            assert_eq!(again.variables(), expr.variables());
            // What is put together by calls has its places where reading finds them.
            let built = PairExpr::builder().expr(&written).build().unwrap();
            assert_eq!((built.text(), format!("{built:?}")), (&*written, format!("{again:?}")));
            Some(expr)
        }
        Err(error) => {
            let range = error.range();
            assert!(text.is_char_boundary(range.start) && text.is_char_boundary(range.end), "{error:?}");
            let line = text[..range.start].split('\n').count();
            let column = text[..range.start].chars().rev().take_while(|&c| c != '\n').count() + 1;
            assert_eq!((error.line(), error.column()), (line, column), "{error:?}");
            assert!(text[range].starts_with(error.found().trim_end_matches('…')), "{error:?}");
            assert!(
                error.to_string().starts_with(&format!("{line}:{column}: {}", error.message())),
                "{error}"
            );
            None
        }
    }
}

/// What a language is made of, and what it is not.
const PIECES: &[&str] = &[
    "A",
    "R",
    "Sol.Earth",
    "a::B<c::D>",
    "$x",
    "$this",
    "$x.y",
    "$",
    "*",
    "_",
    "#7",
    "3",
    "\"s\"",
    "self",
    "up",
    "down",
    "cascade",
    "desc",
    "all",
    "and",
    "or",
    "not",
    "in",
    "out",
    "parent",
    "super",
    "(",
    ")",
    "()",
    "{",
    "}",
    "[",
    "]",
    ",",
    "|",
    "||",
    "!",
    "?",
    "==",
    "!=",
    "~=",
    " < ",
    " >= ",
    "-1.5e3",
    "true",
    "..",
    ".",
    " ",
    "\n",
    "/*",
    "*/",
    "//",
    "\\",
    "\"",
    "<",
    ">",
    "::",
    "$This",
    "é",
    "\0",
];

/// Makes texts that follow the grammar out of numbers.
struct Writer<'a> {
    choices: core::slice::Iter<'a, u8>,
    scopes: usize,
    text: String,
}

impl Writer<'_> {
    /// A number below `n`; 0 when there are no more.
    fn choose(&mut self, n: u8) -> u8 {
        self.choices.next().map_or(0, |choice| choice % n)
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.choose(8) == 1 {
            let choice = self.choose(4);
            self.text.push_str([" ", "\n", "/**/", "//\n"][choice as usize]);
        }
    }

    fn one_of(&mut self, texts: &[&str]) {
        let choice = self.choose(texts.len() as u8);
        self.push(texts[choice as usize]);
    }

    fn expr(&mut self) {
        self.element();
        while self.choices.len() > 0 && self.choose(4) != 0 {
            self.one_of(&[",", ",", "||"]);
            self.element();
        }
        self.one_of(&["", "", ","]);
    }

    fn element(&mut self) {
        if self.scopes < 4 && self.choose(6) == 1 {
            self.scopes += 1;
            self.one_of(&["{", "!{"]);
            self.expr();
            self.push("}");
            self.scopes -= 1;
            return;
        }
        if self.choose(6) == 1 {
            self.one_of(&["$x", "$this", "$y.a"]);
            self.one_of(&["== B", "!= $z", "== \"a.b\"", "~= \"!a\\\"\"", "!= #3"]);
            return;
        }
        if self.choose(8) == 1 {
            self.one_of(&["[in]", "[out]", "[inout]", "[none]"]);
        }
        if self.choose(4) == 1 {
            self.one_of(&["!", "?", "and|", "or|", "not|"]);
        }
        if self.choose(6) == 1 {
            self.one_of(&["A.b", "A.0.b($x)", "(a::B<C>.x\\ y, $y)", "R.f($x, *)", "R.f(a, $x || #99)"]);
            self.one_of(&[" <", " <=", " >", ">=", "==", " ! ="]);
            self.one_of(&["10", "-2.50e-3", "\"!a\\\"\\n\"", "true", "false", "0"]);
            return;
        }
        self.has();
    }

    fn has(&mut self) {
        if self.choose(3) == 0 {
            self.push("(");
            self.id();
            if self.choose(6) == 1 {
                self.push("|self");
            }
            self.push(",");
            self.targets();
            return;
        }
        self.id();
        match self.choose(6) {
            0 => self.push("()"),
            1 => self.push("|self|up IsA"),
            2 | 3 => {
                self.push("(");
                if self.choose(3) == 0 {
                    self.traversal();
                } else {
                    self.arg();
                }
                if self.choose(2) == 0 {
                    self.push(")");
                } else {
                    self.push(",");
                    self.targets();
                }
            }
            _ => {}
        }
    }

    fn targets(&mut self) {
        self.arg();
        let separator = ["||", ","][self.choose(2) as usize];
        for _ in 0..self.choose(8).saturating_sub(5) {
            self.push(separator);
            self.arg();
        }
        self.push(")");
    }

    fn arg(&mut self) {
        self.id();
        if self.choose(6) == 1 {
            self.push("|");
            self.traversal();
        }
    }

    fn traversal(&mut self) {
        self.one_of(&["self", "up", "self|up", "down", "up|all", "cascade", "cascade|desc"]);
        if !self.text.trim_end().ends_with("self") && self.choose(2) == 0 {
            self.one_of(&[" R", " a.B", " #5"]);
            self.one_of(&["", " 3", " 2..", " ..4", " 2..5"]);
        }
    }

    fn id(&mut self) {
        self.one_of(&[
            "A",
            "R",
            "$x",
            "$y",
            "$this",
            "*",
            "_",
            "#99",
            "Sol.Earth",
            "$this.cockpit",
            "a::B<C, (D, E)>",
            "\\up",
            "x\\.y\\ z.w",
            "\\and",
            "é1",
        ]);
    }
}

fn grammatical(choices: &[u8]) -> String {
    let mut writer = Writer { choices: choices.iter(), scopes: 0, text: String::new() };
    writer.expr();
    writer.text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_pieces_of_the_language_are_read_or_refused(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        read(&pieces.concat());
        read(&pieces.join(" "));
    }

    #[test]
    fn what_follows_the_grammar_is_read_or_breaks_a_rule(choices in prop::collection::vec(any::<u8>(), 0..150)) {
        let text = grammatical(&choices);
        if read(&text).is_none() {
            prop_assert_eq!(PairExpr::parse(&*text).unwrap_err().kind(), ExprErrorKind::Rule);
        }
    }

    #[test]
    fn an_expression_cut_off_anywhere_is_read_or_refused(choices in prop::collection::vec(any::<u8>(), 0..80), at: prop::sample::Index) {
        let text = grammatical(&choices);
        let end = text.floor_char_boundary(at.index(text.len() + 1));
        read(&text[..end]);
        read(&text[end..]);
    }

    #[test]
    fn any_name_can_be_written(name in "\\PC{1,20}") {
        let escaped: String = name.chars().flat_map(|c| ['\\', c]).collect();
        let expr = read(&escaped).unwrap();
        let named = format!("Path(Path([{name:?}]))");
        let tree = format!("{expr:?}");
        prop_assert!(tree.contains(&named));
    }
}

#[test]
fn most_of_what_follows_the_grammar_is_accepted() {
    let mut random = Random(1);
    let mut accepted = 0;
    for _ in 0..1000 {
        let choices: Vec<u8> = (0..40).map(|_| random.below(256) as u8).collect();
        accepted += usize::from(read(&grammatical(&choices)).is_some());
    }
    assert!(accepted > 500, "{accepted} of 1000");
}

#[test]
fn texts_without_end_are_refused_on_a_small_stack() {
    let read_all = || {
        for piece in [
            "{",
            "!{",
            "(",
            "((",
            "A(",
            "R(a,",
            "[",
            "!",
            "and|",
            "A<",
            "A<(",
            "A.",
            "A::",
            "A|",
            "A||",
            "$x==",
            "/*",
            "//",
            "\\",
            "\"",
            "A,",
            "(R,a),",
            "R(a,b||c),",
            "A(up ",
            "..",
            "| ",
            "! ",
            "#",
            "9",
        ] {
            for times in [40, 500, 10_000, 60_000 / piece.len()] {
                read(&piece.repeat(times));
                read(&("A".to_owned() + &piece.repeat(times)));
            }
        }
        let (open, close) = ("{".repeat(32), "}".repeat(32));
        assert!(read(&format!("{open}A{close}")).is_some());
        let error = PairExpr::parse(format!("{{{open}A{close}}}")).unwrap_err();
        assert_eq!((error.kind(), error.column()), (ExprErrorKind::Limit, 33));
    };
    thread::Builder::new().stack_size(256 * 1024).spawn(read_all).unwrap().join().unwrap();
}

#[test]
fn long_texts_are_refused() {
    let limits = [
        ("A".repeat(64 * 1024 + 1), 1, "an expression has at most 65536 bytes"),
        ("A,".repeat(513), 1025, "an expression has at most 512 terms"),
        (format!("R({})", "a,".repeat(600) + "a"), 1204, "an expression has at most 512 terms"),
        ("A(up R 4294967296)".to_owned(), 8, "a depth has at most 32 bits"),
    ];
    for (text, column, expected) in limits {
        let error = PairExpr::parse(text).unwrap_err();
        assert_eq!((error.kind(), error.message(), error.column()), (ExprErrorKind::Limit, expected, column));
        assert!(error.to_string().len() < 500, "{error}");
    }
    assert!(read(&"A".repeat(64 * 1024)).is_some());
    assert!(read(&"A,".repeat(512)).is_some());
}

#[derive(Component)]
struct Ship;

#[derive(Component)]
struct Planet<T>(T);

#[derive(Relation)]
struct DockedTo;

#[derive(Relation)]
#[relation(traversable)]
struct PartOf;

/// A text in which `~` stands for the path of this module.
fn with_paths(text: &str) -> PairExpr {
    PairExpr::parse(text.replace('~', concat!(module_path!(), "::"))).unwrap()
}

#[test]
fn a_builder_makes_what_the_text_says() {
    let all = PairExpr::builder()
        .with::<Ship>()
        .with::<Planet<(u8, Ship)>>()
        .on("$planet")
        .without::<Ship>()
        .optional::<Ship>()
        .pair::<DockedTo>("$planet")
        .without_pair::<DockedTo>("*")
        .optional_pair::<DockedTo>("Sol.Earth|self")
        .on("$x")
        .singleton::<Ship>()
        .with::<Ship>()
        .up::<PartOf>()
        .with::<Ship>()
        .on("$planet")
        .self_up::<PartOf>()
        .optional::<Ship>()
        .cascade::<PartOf>()
        .build()
        .unwrap();
    let text = "~Ship, ~Planet<(u8, ~Ship)>($planet), !~Ship, ?~Ship, (~DockedTo, $planet), !(~DockedTo, *), \
        ?~DockedTo($x, Sol.Earth|self), ~Ship(~Ship), ~Ship(up ~PartOf), ~Ship($planet|self|up ~PartOf), \
        ?~Ship(cascade ~PartOf)";
    assert_eq!(all, with_paths(text));
    assert_eq!(all.text(), all.to_string());
    let nested = PairExpr::builder()
        .or(|any| any.with::<Ship>().scope(|all| all.expr("A || B").pair::<DockedTo>("_")).expr("C || D"))
        .without_scope(|inner| inner.without_scope(bevy_relations::expr::PairExprBuilder::with::<Ship>))
        .or(|nothing| nothing)
        .expr("[in] E, !F")
        .build()
        .unwrap();
    assert_eq!(nested, with_paths("~Ship || {A || B, (~DockedTo, _)} || C || D, !{!{~Ship}}, [in] E, !F"));
    assert_eq!(PairExpr::builder().build().unwrap(), with_paths(""));
    assert!(PairExpr::builder().with::<str>().with::<dyn Fn(u8) -> u8>().with::<fn()>().build().is_ok());
}

#[test]
fn a_builder_reports_the_first_mistake() {
    let error = PairExpr::builder().pair::<DockedTo>("$planet), !Ship(").expr("((").build().unwrap_err();
    assert_eq!((error.column(), error.found(), error.message()), (8, ")", "expected the end"));
    let error = PairExpr::builder().scope(|scope| scope.expr("A,,B")).build().unwrap_err();
    assert_eq!((error.column(), error.found()), (3, ","));
    for early in [PairExpr::builder().up::<PartOf>(), PairExpr::builder().expr("{A}").on("$x")] {
        let error = early.with::<Ship>().build().unwrap_err();
        assert_eq!(
            error.to_string().lines().next().unwrap(),
            "1:1: no term with a source stands before what changes it"
        );
    }
    let error = PairExpr::builder().expr("A").scope(|empty| empty).build().unwrap_err();
    assert_eq!((error.column(), error.message()), (5, "expected a term: a scope is not empty"));
    let twice =
        PairExpr::builder().with::<Ship>().cascade::<PartOf>().expr("A(cascade)").build().unwrap_err();
    assert_eq!(twice.message(), "an expression has one `cascade`");
}

#[test]
fn a_builder_registers_a_relation_whichever_way_it_is_named_first() {
    #[derive(Relation)]
    #[relation(exclusive)]
    struct Trades;
    #[derive(Relation)]
    struct Mentions;

    let builder = PairExpr::builder;
    for built in [
        builder().without::<Trades>().pair::<Trades>("$x"),
        builder().pair_to::<Mentions, Trades>().scope(|inner| inner.pair::<Trades>("$x")),
    ] {
        let mut world = World::new();
        built.build().unwrap().compile(&mut world).unwrap();
        let trades = world.entity_of::<Trades>();
        assert!(world.traits_of(trades).is_some_and(|traits| traits.names().contains(&"exclusive")));
    }
}

#[test]
fn a_builder_refuses_fields_that_no_text_can_name() {
    for field in ["", "hp.", ".hp", "hp..now"] {
        let error = PairExpr::builder().field::<Ship>(field, Comparator::Less, 3).build().unwrap_err();
        assert_eq!((error.kind(), error.message()), (ExprErrorKind::Rule, "the name of a field is empty"));
        assert_eq!(error.range().start, 0);
    }
    let odd = PairExpr::builder().field::<Ship>("hit points.0", Comparator::Less, 3).build().unwrap();
    assert_eq!(PairExpr::parse(odd.text()).unwrap(), odd);
}
