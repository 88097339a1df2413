//! The text of expressions: how it is read, written down again, and refused.

use bevy_relations::expr::{ExprError, ExprErrorKind, PairExpr};

#[track_caller]
fn parse(text: &str) -> PairExpr {
    PairExpr::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn refused(text: &str) -> ExprError {
    match PairExpr::parse(text) {
        Ok(expr) => panic!("`{text}` was read as `{expr}`"),
        Err(error) => error,
    }
}

/// Each text is read, and written down as the other.
#[track_caller]
fn written(table: &[(&str, &str)]) {
    for (text, expected) in table {
        let expr = parse(text);
        assert_eq!(expr.to_string(), *expected, "for `{text}`");
        assert_eq!(expr.text(), *text);
        let again = parse(expected);
        assert_eq!(again, expr, "`{text}` and `{expected}` are the same");
        assert_eq!(again.to_string(), *expected);
    }
}

/// Each text is refused at the column, with the words found there and the words expected.
#[track_caller]
fn refused_at(kind: ExprErrorKind, table: &[(&str, usize, &str, &str)]) {
    let mut others = Vec::new();
    for (text, column, found, expected) in table {
        let error = refused(text);
        let message = error.message().trim_start_matches("expected ");
        let right = (error.column(), error.found(), message) == (*column, *found, *expected);
        if !right || error.kind() != kind || &text[error.range()] != *found {
            others.push(error.to_string());
        }
    }
    assert!(others.is_empty(), "other errors than expected:\n{}", others.join("\n\n"));
}

#[test]
fn every_form_of_a_term_can_be_read_and_written() {
    written(&[
        ("", ""),
        (" \n // nothing \n", ""),
        ("Tag", "Tag"),
        ("Tag,", "Tag"),
        ("Tag($this)", "Tag"),
        ("Tag()", "Tag()"),
        ("Tag( )", "Tag()"),
        ("*", "*"),
        ("_", "_"),
        ("#0", "#0"),
        ("#18446744073709551615", "#18446744073709551615"),
        ("$x", "$x"),
        ("$x($y, $z)", "$x($y, $z)"),
        ("($r, T1)", "($r, T1)"),
        ("(R, *), (R, _), (*, T), (*, *)", "(R, *), (R, _), (*, T), (*, *)"),
        ("(ChildOf, #0)", "(ChildOf, #0)"),
        ("R($this, T)", "(R, T)"),
        ("A(e3, *)", "A(e3, *)"),
        ("A(_, $x), A(*, $x)", "A(_, $x), A(*, $x)"),
        ("Position(Sol.Earth)", "Position(Sol.Earth)"),
        ("!Powered($this.cockpit.seat)", "!Powered($this.cockpit.seat)"),
        ("$this.cockpit == Bridge", "$this.cockpit == Bridge"),
        ("SimTime($)", "SimTime(SimTime)"),
        ("SimTime($, Day)", "SimTime(SimTime, Day)"),
        ("Movement.value($this, $x)", "(Movement.value, $x)"),
        ("Größe, 名", "Größe, 名"),
    ]);
}

#[test]
fn operators_access_and_scopes_can_be_read_and_written() {
    written(&[
        ("!Tag, ?Tag", "!Tag, ?Tag"),
        ("! ( R , T )", "!(R, T)"),
        ("[in] A, [ out ] !B, [inout]?C, [none](R, T)", "[in] A, [out] !B, [inout] ?C, [none] (R, T)"),
        ("and|Fleet, or | Fleet, not|T", "and|Fleet, or|Fleet, not|T"),
        ("and, or || not", "\\and, \\or || \\not"),
        ("A || B || C, D", "A || B || C, D"),
        ("A,B || C,D", "A, B || C, D"),
        ("{A, B}", "{A, B}"),
        ("{A || B,}", "{A || B}"),
        ("!{A, !{B}} , C", "!{A, !{B}}, C"),
        ("{A} || {B, C} || D", "{A} || {B, C} || D"),
        ("$x == A, $x != $y", "$x == A, $x != $y"),
        ("$this == \"Sol.Earth\"", "$this == \"Sol.Earth\""),
        ("$this ~= \"Fo\", $this ~= \"!Fo\"", "$this ~= \"Fo\", $this ~= \"!Fo\""),
        ("$this == A || $this ~= \"b\"", "$this == A || $this ~= \"b\""),
        (r#"$x == "a\"\\\n\r\tz""#, r#"$x == "a\"\\\n\r\tz""#),
    ]);
}

#[test]
fn traversal_can_be_read_and_written() {
    written(&[
        ("Tag(up)", "Tag(up)"),
        ("Tag(self|up)", "Tag(self|up)"),
        ("Tag( up | self  MountedOn )", "Tag(self|up MountedOn)"),
        ("Tag($this|up)", "Tag(up)"),
        ("Tag($x|self|up R)", "Tag($x|self|up R)"),
        ("R(up IsA, T)", "R(up IsA, T)"),
        ("Tag(up|all R), Tag(down R)", "Tag(up|all R), Tag(down R)"),
        ("?Tag(desc|cascade R)", "?Tag(cascade|desc R)"),
        ("Tag|self", "Tag|self"),
        ("Tag|self|up IsA", "Tag|self|up IsA"),
        ("Tag|self($x)", "Tag|self($x)"),
        ("(R|self, T|self)", "(R|self, T|self)"),
        ("(Likes, Alice|up ChildOf)", "(Likes, Alice|up ChildOf)"),
        ("T(up R 3), T(up R ..3), T(up R 1..3)", "T(up R 3), T(up R 3), T(up R 3)"),
        ("T(up R 2..), T(up R 1..), T(up R 2..4)", "T(up R 2..), T(up R), T(up R 2..4)"),
        ("T(up #17 2)", "T(up #17 2)"),
        ("SimTime($|self)", "SimTime(SimTime|self)"),
    ]);
}

#[test]
fn arguments_beyond_a_pair_are_written_out() {
    written(&[
        ("R(a, b, c)", "R(a, b), R(b, c)"),
        ("R($this, $a, $b, $c)", "(R, $a), R($a, $b), R($b, $c)"),
        ("(R, a, b)", "(R, a), R(a, b)"),
        ("!R(a, b, c), Tag", "!R(a, b), !R(b, c), Tag"),
        ("R(a, b || c)", "R(a, b) || R(a, c)"),
        ("(R, a || b || c)", "(R, a) || (R, b) || (R, c)"),
        ("Tag || (R, a || b), C", "Tag || (R, a) || (R, b), C"),
        ("[in] R(up X, b || c)", "[in] R(up X, b) || [in] R(up X, c)"),
        ("{R(a, b, c)} || R(a, d)", "{R(a, b), R(b, c)} || R(a, d)"),
    ]);
}

#[test]
fn blanks_and_comments_may_stand_between_words_and_within_operators() {
    written(&[
        ("A\n||\tB", "A || B"),
        ("A | | B", "A || B"),
        ("$x = = A, $x ! = B, $x ~ = \"C\"", "$x == A, $x != B, $x ~= \"C\""),
        ("/* one */ A /* , B */, // C\nD", "A, D"),
        ("T(up R 2 . . 4)", "T(up R 2..4)"),
        ("A(\r\n$x\r\n)", "A($x)"),
    ]);
}

#[test]
fn names_may_be_types_and_may_hold_any_character() {
    written(&[
        ("game::ship::Fuel", "game::ship::Fuel"),
        ("Stack<game::Fuel>", "Stack<game::Fuel>"),
        ("a::B< C<D> ,[ u8;4 ], ( &'static   str,)>", "a::B<C<D>, [u8; 4], (&'static str, )>"),
        ("a::B<c::D>::E.field", "a::B<c::D>::E.field"),
        ("Wrap<dyn Thing>", "Wrap<dyn Thing>"),
        ("a\\.b", "a\\.b"),
        ("a\\.b.c\\ d", "a\\.b.c\\ d"),
        ("\\1st", "\\1st"),
        ("\\_", "\\_"),
        ("_._x", "\\_._x"),
        ("\\a\\b\\c", "abc"),
        ("a\\:\\:b", "a::b"),
        ("a\\<", "a\\<"),
        ("Tag(\\up), (R, \\self), \\cascade", "Tag(\\up), (R, \\self), \\cascade"),
        ("(ChildOf, \\parent)", "(ChildOf, \\parent)"),
        ("up.down, $x.up", "up.down, $x.\\up"),
    ]);
    assert_eq!(parse("(ChildOf, parent)"), parse("(ChildOf, \\parent)"));
}

#[test]
fn the_expressions_of_the_reference_world_are_read() {
    for text in [
        "Tag,!(A,*)",
        "Tag,!(A,$x)",
        "Tag,(A,$x),!(B,$x)",
        "Tag,!(B,$x),(A,$x)",
        "Tag,?(A,_)",
        "Tag,?(A,$x),!Tag2($x)",
        "Tag,(A,*)||(B,*)",
        "(A,$x)||(B,$y),Tag2($x)",
        "Tag,!{(A,$x),(B,$x)}",
        "Tag,!{(A,$x),!(B,$x)}",
        "A($x,$this)",
        "Tag,(A,$x),(A,$y),$x!=$y",
        "($r,T1),Tag",
        "Tag(),Tag2",
        "!A(e3,h1)",
        "Tag($x),!A($x,T1)",
        "(Likes,$x), Likes($x,$y), Likes($y,$this)",
    ] {
        let expr = parse(text);
        assert_eq!(parse(&expr.to_string()), expr);
    }
}

#[test]
fn an_expression_lists_its_variables() {
    let expr = parse("A($b), (R, $a), $c == $b, $d.x == T, !{(R, $e), $a != $c}, {(R, $f)}, ($g, $this)");
    assert_eq!(expr.variables(), ["b", "a", "c", "d", "f", "g"]);
    assert!(parse("Tag, Tag($this)").variables().is_empty());
}

#[test]
fn the_tree_shows_what_was_understood_and_where() {
    let tree = format!("{:?}", parse("!R($x|up Q 2..3, _), {[in] #7()} || A"));
    let expected = "Ast { clauses: [\
        Clause { branches: [Term(Term { operator: Not, test: Has(Has { access: None, \
            first: Arg { id: Id { kind: Path(Path([\"R\"])), span: 1..2 }, traversal: None }, \
            source: Some(Arg { id: Id { kind: Variable(\"x\"), span: 3..5 }, traversal: Some(Traversal { \
                flags: [\"up\"], relation: Some(Id { kind: Path(Path([\"Q\"])), span: 9..10 }), \
                depth: Depth { min: 2, max: Some(3) }, span: 6..15 }) }), \
            target: Some(Arg { id: Id { kind: Any, span: 17..18 }, traversal: None }), value: None }), span: 0..19 })] }, \
        Clause { branches: [Scope(Scope { negated: false, clauses: [\
            Clause { branches: [Term(Term { operator: And, test: Has(Has { access: Some(In), \
                first: Arg { id: Id { kind: Bits(7), span: 27..29 }, traversal: None }, \
                source: None, target: None, value: None }), span: 22..31 })] }], span: 21..32 }), \
            Term(Term { operator: And, test: Has(Has { access: None, \
                first: Arg { id: Id { kind: Path(Path([\"A\"])), span: 36..37 }, traversal: None }, \
                source: Some(Arg { id: Id { kind: Variable(\"this\"), span: 36..37 }, traversal: None }), \
                target: None, value: None }), span: 36..37 })] }] }";
    assert_eq!(tree, expected);
    let tree = format!("{:?}", parse("$x.a.b ~= \"!c\""));
    let expected = "Ast { clauses: [Clause { branches: [Term(Term { operator: And, test: Compare(Comparison { \
        left: Id { kind: Lookup(\"x\", Path([\"a\", \"b\"])), span: 0..6 }, negated: true, \
        right: NamePart(\"c\"), span: 10..14 }), span: 0..14 })] }] }";
    assert_eq!(tree, expected);
}

#[test]
fn text_that_does_not_follow_the_grammar_is_refused_where_it_stops_to() {
    let after_term = "`,`, `||` or the end";
    let flags = "`self`, `up`, `down`, `cascade`, `desc` or `all`";
    let id = "a name, a variable, `*`, `_` or `#bits`";
    refused_at(
        ExprErrorKind::Syntax,
        &[
            ("($, T)", 2, "$", "a variable name after `$`"),
            ("(R, $)", 5, "$", "a variable name after `$`"),
            ("R(T, $)", 6, "$", "a variable name after `$`"),
            ("$x($)", 4, "$", "a variable name after `$`"),
            ("$", 1, "$", "a variable name after `$`"),
            ("Tag,,T", 5, ",", "a term"),
            (",Tag", 1, ",", "a term"),
            ("Tag T", 5, "T", after_term),
            ("Tag ||", 7, "", "a term"),
            ("Tag || , T", 8, ",", "a term"),
            ("|| Tag", 1, "||", "a term"),
            ("(Tag)", 5, ")", "`,` and a target"),
            ("Tag(E1", 7, "", "`,` or `)`"),
            ("Tag(E1,", 8, "", id),
            ("Tag(E1,)", 8, ")", id),
            ("Tag(E1, E2", 11, "", "`,`, `||` or `)`"),
            ("Tag(E1, E2, E3 || E4)", 16, "||", "`,` or `)`"),
            ("Tag(E1, E2 || E3, E4)", 17, ",", "`||` or `)`"),
            ("Tag(E1 || E2)", 8, "||", "`,` or `)`"),
            ("{}", 2, "}", "a term: a scope is not empty"),
            ("A, !{ }", 7, "}", "a term: a scope is not empty"),
            ("Tag }", 5, "}", after_term),
            ("{ Tag", 6, "", "`,`, `||` or `}`"),
            ("{ Tag )", 7, ")", "`,`, `||` or `}`"),
            ("?{Tag}", 1, "?{", "a term, `{` or `!{`"),
            ("or|{Tag}", 1, "or|{", "a term, `{` or `!{`"),
            ("[in] {Tag}", 6, "{", "a term: a scope has no data to access"),
            ("[read] Tag", 2, "read", "`in`, `out`, `inout` or `none`"),
            ("[in Tag", 5, "Tag", "`]`"),
            ("![in] Tag", 2, "[", "a term"),
            ("!!Tag", 2, "!", "a term"),
            ("!", 2, "", "a term"),
            ("Tag|", 5, "", flags),
            ("Tag(self|)", 10, ")", flags),
            ("Tag($x|Up)", 8, "Up", flags),
            ("Tag(up|up)", 8, "up", "each word once"),
            ("(R, up)", 5, "up", "a target: an entity of this name needs a backslash"),
            ("R($x, self|up)", 7, "self", "a target: an entity of this name needs a backslash"),
            ("Tag(up $r)", 8, "$r", "the name of a relation"),
            ("Tag(up *)", 8, "*", "the name of a relation"),
            ("Tag(up 3)", 8, "3", "a relation before the depth"),
            ("Tag(up R ..)", 12, ")", "a depth beside `..`"),
            ("Tag(up R 2 3)", 12, "3", "`,` or `)`"),
            ("Tag.", 5, "", "a name"),
            ("Tag.(A)", 5, "(", "a name"),
            ("Tag::", 6, "", "a name"),
            ("$x.", 4, "", "a name"),
            ("Vec<u8", 4, "<", "type arguments that end with `>`"),
            ("Vec<(u8>", 8, ">", "type arguments that end with `>`"),
            ("Vec<u8:>", 7, ":", "type arguments that end with `>`"),
            ("Tag\\", 4, "\\", "a character after `\\`"),
            ("#", 2, "", "a number"),
            ("#x", 2, "x", "a number"),
            ("#18446744073709551616", 2, "18446744073709551616", "a number of 64 bits"),
            ("$x = A", 4, "=", "`==`"),
            ("$x ~ A", 4, "~", "`~=`"),
            ("A && B", 3, "&&", "`,` between conditions that hold at once"),
            ("A; B", 2, ";", "`,` between terms"),
            ("Ä, ü§", 5, "§", "a name or a sign of the query language"),
            ("\"text\"", 1, "\"text\"", "a term"),
            ("$x == \"text", 7, "\"", "a string that ends with `\"`"),
            ("$x == \"\\x\"", 8, "\\x", r#"`\"`, `\\`, `\n`, `\r` or `\t`"#),
            ("$x == ", 6, "", id),
            ("A /* B", 3, "/*", "a comment that ends with `*/`"),
            ("A / B", 3, "/", "a name or a sign of the query language"),
        ],
    );
}

#[test]
fn what_cannot_hold_in_any_world_is_refused() {
    let below_or = "an operator beside `||` stands within `{..}`";
    let same_source = "all branches of `||` have the same source";
    let not_alone = "`cascade` stands only outside scopes, `||` and `!`";
    refused_at(
        ExprErrorKind::Rule,
        &[
            ("$this == $this", 10, "$this", "this also stands on the left side"),
            ("$x != $x", 7, "$x", "this also stands on the left side"),
            ("$this ~= E1", 10, "E1", "`~=` compares with a string: part of a name"),
            (
                "E1 == E2",
                1,
                "E1",
                "the left side of a comparison is a variable or a field, such as `$x` or `Health.hp`",
            ),
            (
                "* == E2",
                1,
                "*",
                "the left side of a comparison is a variable or a field, such as `$x` or `Health.hp`",
            ),
            ("!$x == A", 1, "!$x == A", "a comparison has no `!` before it"),
            ("?$x == A", 1, "?$x", "only a variable stands left of a comparison"),
            ("[in] $x == A", 1, "[in] $x", "only a variable stands left of a comparison"),
            ("Tag(desc)", 5, "desc", "`desc` stands only with `cascade`, whose order it turns round"),
            ("Tag(up|desc)", 5, "up|desc", "`desc` stands only with `cascade`, whose order it turns round"),
            ("Tag(all)", 5, "all", "`all` stands with `up` or `down`"),
            ("Tag(cascade|all)", 5, "cascade|all", "`all` stands with `up` or `down`"),
            ("Tag(up|down R)", 5, "up|down R", "a traversal has one direction: up or down"),
            ("Tag(self R)", 10, "R", "`self` follows no relation"),
            ("Tag|cascade", 5, "cascade", "`cascade`, `desc` and `all` stand only on a source"),
            ("(R, T|up|all)", 7, "up|all", "`cascade`, `desc` and `all` stand only on a source"),
            ("Tag|down", 5, "down", "a component or relation has only `self` or `up`"),
            ("Tag(up R 0)", 10, "0", "depths count from 1, that of the target itself"),
            ("Tag(up R 0..2)", 10, "0", "depths count from 1, that of the target itself"),
            ("Tag(up R ..0)", 12, "0", "depths count from 1, that of the target itself"),
            ("Tag(up R 3..2)", 10, "3..2", "the range ends before it starts"),
            ("A(cascade), B(cascade)", 15, "cascade", "an expression has one `cascade`"),
            (
                "A($x|cascade)",
                6,
                "cascade",
                "`cascade` stands only on `$this`, which gives the rows their order",
            ),
            ("!A(cascade)", 4, "cascade", not_alone),
            ("A(cascade) || B", 3, "cascade", not_alone),
            ("{A(cascade)}", 4, "cascade", not_alone),
            ("A || !B", 6, "!B", below_or),
            ("?A || B", 1, "?A", below_or),
            ("A || !{B}", 6, "!{B}", below_or),
            ("!R(a, b || c)", 1, "!R(a, b || c)", below_or),
            ("$x == A || $x != B", 12, "$x != B", below_or),
            ("A($x) || B($y)", 12, "$y", same_source),
            ("A || B($y)", 8, "$y", same_source),
            ("A() || B", 8, "B", same_source),
            ("A || $x == B", 6, "$x", same_source),
            (
                "A || R(a, b, c)",
                6,
                "R(a, b, c)",
                "these arguments stand for several terms, but one stands beside `||`",
            ),
            (
                "R(a, b, c) || A",
                1,
                "R(a, b, c)",
                "these arguments stand for several terms, but one stands beside `||`",
            ),
            ("and|(R, L)", 1, "and|(R, L)", "the list is an entity: a pair is none"),
            (
                "[inout] and|A",
                1,
                "[inout] and|A",
                "the components of another entity have no access but `[none]`",
            ),
        ],
    );
}

#[test]
fn older_spellings_are_refused_with_the_new_one() {
    for (text, column, found, new) in [
        ("Tag(super(IsA))", 5, "super(IsA)", "up IsA"),
        ("Tag(super)", 5, "super", "up IsA"),
        ("Tag(superset(R))", 5, "superset(R)", "up R"),
        ("Tag(self|super)", 10, "super", "up IsA"),
        ("Tag(subset(IsA))", 5, "subset(IsA)", "down IsA"),
        ("Tag(parent)", 5, "parent", "up"),
        ("Tag($x|parent)", 8, "parent", "up"),
        ("R(parent, T)", 3, "parent", "up"),
        ("Tag(up(ChildOf))", 5, "up(ChildOf)", "up ChildOf"),
        ("Tag(self|up(ChildOf))", 10, "up(ChildOf)", "up ChildOf"),
        ("Tag(cascade(game::PartOf))", 5, "cascade(game::PartOf)", "cascade game::PartOf"),
        ("(R, 10)", 5, "10", "#10"),
        ("(ChildOf, 0)", 11, "0", "#0"),
        ("10", 1, "10", "#10"),
        ("Tag($This)", 5, "$This", "$this"),
        ("$THIS == A", 1, "$THIS", "$this"),
        ("Tag($This.child)", 5, "$This.child", "$this.child"),
        ("Tag(.)", 5, ".", "$this"),
        ("AND | Fleet", 1, "AND", "and"),
        ("[filter] Tag", 2, "filter", "none"),
    ] {
        let error = refused(text);
        let known = (error.kind(), error.column(), error.found(), error.suggestion());
        assert_eq!(known, (ExprErrorKind::OlderSpelling, column, found, Some(new)), "for `{text}`");
    }
    for (text, suggestion) in [
        ("!$x == A", "$x != A"),
        ("A && B", ","),
        ("$x = A", "=="),
        ("(R, up)", "\\up"),
        ("A || R(a, b, c)", "{R(a, b, c)}"),
        ("Tag(up 3)", "ChildOf 3"),
    ] {
        assert_eq!(refused(text).suggestion(), Some(suggestion), "for `{text}`");
    }
}

#[test]
fn an_error_shows_its_line_with_the_place_marked() {
    let error = refused("Ship,\n\t(DockedTo, $p),\nPlanet(parent)\n");
    assert_eq!((error.line(), error.column()), (3, 8));
    let expected = "3:8: this traversal has a new spelling; write `up`
  |
3 | Planet(parent)
  |        ^^^^^^";
    assert_eq!(error.to_string(), expected);
    let expected = "12:4: expected a term, found `||`
   |
12 | Ä, ||
   |    ^^";
    assert_eq!(refused(&("A,\n".repeat(11) + "Ä, ||")).to_string(), expected);
}
