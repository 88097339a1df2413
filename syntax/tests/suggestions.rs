//! What an error suggests can be read, and means what was written.

use bevy_relations_syntax::{
    error::{ExprError, ExprErrorKind},
    parse::parse,
};

fn refused(text: &str) -> ExprError {
    match parse(text) {
        Ok(ast) => panic!("`{text}` was read as `{ast}`"),
        Err(error) => error,
    }
}

/// The text with the suggestion in the place of what was found.
fn mended(text: &str, error: &ExprError) -> Option<String> {
    let mut mended = text.to_owned();
    mended.replace_range(error.range(), error.suggestion()?);
    Some(mended)
}

#[test]
fn older_spellings_become_the_text_that_they_stand_for() {
    let mut wrong = Vec::new();
    for (text, found, new) in [
        ("Tag(super)", "super", "Tag(up IsA)"),
        ("Tag(super())", "super(", "-"),
        ("Tag(superset)", "superset", "Tag(up IsA)"),
        ("Tag(super(ChildOf))", "super(ChildOf)", "Tag(up ChildOf)"),
        ("Tag(super(ChildOf, 3))", "super(ChildOf, 3)", "Tag(up ChildOf 3)"),
        ("Tag(super(ChildOf, 2, 3))", "super(ChildOf, 2, 3)", "Tag(up ChildOf 2..3)"),
        ("Tag(super(ChildOf, 1, 3))", "super(ChildOf, 1, 3)", "Tag(up ChildOf 3)"),
        ("Tag(super(ChildOf, 0, 3))", "super(ChildOf, 0, 3)", "Tag(self|up ChildOf 3)"),
        ("Tag(super(ChildOf, 0))", "super(ChildOf, 0)", "-"),
        ("Tag(super(ChildOf, 1, 2, 3))", "super(ChildOf, 1, 2, 3", "-"),
        ("Tag(super(ChildOf, x))", "super(ChildOf,", "-"),
        ("Tag(super($x))", "super(", "-"),
        ("Tag(superset(#17, 4))", "superset(#17, 4)", "Tag(up #17 4)"),
        ("Tag(up(ChildOf, 3))", "up(ChildOf, 3)", "Tag(up ChildOf 3)"),
        ("Tag(self|up(ChildOf))", "up(ChildOf)", "Tag(self|up ChildOf)"),
        ("Tag(up(ChildOf)|self)", "up(ChildOf)|self", "Tag(self|up ChildOf)"),
        ("Tag(super|self)", "super|self", "Tag(self|up IsA)"),
        ("Tag(super(game::Sized<u8>)|self)", "super(game::Sized<u8>)|self", "Tag(self|up game::Sized<u8>)"),
        ("Tag(up|super)", "super", "-"),
        ("Tag(self(ChildOf))", "self(ChildOf)", "Tag(self)"),
        ("Tag(cascade(ChildOf))", "cascade(ChildOf)", "Tag(cascade ChildOf)"),
        ("Tag(desc(ChildOf))", "desc(ChildOf)", "Tag(cascade|desc ChildOf)"),
        ("Tag(cascade|desc(ChildOf))", "desc(ChildOf)", "Tag(cascade|desc ChildOf)"),
        ("Tag(all(ChildOf))", "all(ChildOf)", "Tag(up|all ChildOf)"),
        ("Tag(down|all(ChildOf))", "all(ChildOf)", "Tag(down|all ChildOf)"),
        ("Tag(parent)", "parent", "Tag(up)"),
        ("Tag(parent(On, 2))", "parent(On, 2)", "Tag(up On 2)"),
        ("Tag(sub)", "sub", "Tag(down IsA)"),
        ("Tag(subset(On))", "subset(On)", "Tag(down On)"),
        ("(R, T|super(On))", "super(On)", "(R, T|up On)"),
        ("Tag|super", "super", "Tag|up IsA"),
        ("Tag($x|self|parent)", "parent", "Tag($x|self|up)"),
        ("Tag(Bob[super])", "Bob[super]", "Tag(Bob|up IsA)"),
        ("Tag(Bob[super(ChildOf)])", "Bob[super(ChildOf)]", "Tag(Bob|up ChildOf)"),
        (
            "Tag(Bob[self|super(ChildOf, 3)], T)",
            "Bob[self|super(ChildOf, 3)]",
            "Tag(Bob|self|up ChildOf 3, T)",
        ),
        ("Tag(Bob[up])", "Bob[up]", "Tag(Bob|up)"),
        ("Tag($x[parent])", "$x[parent]", "Tag($x|up)"),
        ("Tag(This[super])", "This[super]", "Tag(up IsA)"),
        ("Tag(this[self])", "this[self]", "Tag(self)"),
        ("(R, Bob[sub(On)])", "Bob[sub(On)]", "(R, Bob|down On)"),
        ("Tag[self]", "Tag[self]", "Tag|self"),
        ("Tag(Bob[super(ChildOf)", "Bob[super(ChildOf)", "-"),
        ("Tag(Bob[super($x)])", "Bob[super(", "-"),
        ("parent:Tag", "parent:Tag", "Tag(up)"),
        ("PARENT:Tag", "PARENT:Tag", "Tag(up)"),
        ("!parent:Bob", "parent:Bob", "!Bob(up)"),
        ("[in] cascade : Tag", "cascade : Tag", "[in] Tag(cascade)"),
        ("?SHARED:Tag", "SHARED:Tag", "?Tag(up IsA)"),
        ("any:Tag", "any:Tag", "Tag(self|up IsA)"),
        ("OWNED:Tag", "OWNED:Tag", "Tag(self)"),
        ("Bob:Tag", "Bob:Tag", "Tag(Bob)"),
        ("Sol.Earth:Tag", "Sol.Earth:Tag", "Tag(Sol.Earth)"),
        ("$x:Tag, A", "$x:Tag", "Tag($x), A"),
        ("Bob:(R, T)", "Bob:", "-"),
        ("Place(This)", "This", "Place"),
        ("Place(this)", "this", "Place"),
        ("Place(THIS, T)", "THIS", "(Place, T)"),
        ("(R, This)", "This", "(R, $this)"),
        ("R($x, This)", "This", "R($x, $this)"),
        ("$x == This", "This", "$x == $this"),
        ("Place($This)", "$This", "Place"),
        ("Place($THIS.door.knob)", "$THIS.door.knob", "Place($this.door.knob)"),
        ("Place(.)", ".", "Place"),
        ("(R, 10)", "10", "(R, #10)"),
        ("10", "10", "#10"),
        ("10(20)", "10", "#10(20)"),
        ("AND | Fleet", "AND", "and|Fleet"),
        ("OR|Fleet", "OR", "or|Fleet"),
        ("NOT|Fleet", "NOT", "not|Fleet"),
        ("[filter] Tag", "filter", "[none] Tag"),
    ] {
        let error = refused(text);
        let mended = mended(text, &error);
        // A number is replaced alone; the next one has an error of its own.
        let read = mended.as_deref().map(|mended| match parse(mended) {
            Ok(ast) => ast.to_string(),
            Err(next) => {
                if next.range().start > error.range().start {
                    mended.to_owned()
                } else {
                    next.to_string()
                }
            }
        });
        let read = read.unwrap_or_else(|| "-".to_owned());
        if (error.kind(), error.found(), &*read) != (ExprErrorKind::OlderSpelling, found, new) {
            wrong.push(format!("{text}: `{}` to `{read}`, not `{found}` to `{new}`\n{error}", error.found()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn other_mistakes_are_mended_too() {
    let mut wrong = Vec::new();
    for (text, new) in [
        ("!$x == A", "$x != A"),
        ("! $x != A", "$x == A"),
        ("B, !$x ~= \"art\"", "B, $x ~= \"!art\""),
        ("!$x.y == \"a.b\"", "$x.y != \"a.b\""),
        ("This == A", "$this == A"),
        ("A && B", "A, B"),
        ("A & B", "A, B"),
        ("$x = A", "$x == A"),
        ("$x ~ \"a\"", "$x ~= \"a\""),
        ("(R, up)", "(R, \\up)"),
        ("A || R(a, b, c)", "A || {R(a, b), R(b, c)}"),
        ("!R(a, b, c) || A", "{!R(a, b), !R(b, c)} || A"),
        ("Tag(up 3)", "Tag(up ChildOf 3)"),
        ("Tag(self|up 3)", "Tag(self|up ChildOf 3)"),
        ("Health.hp => 5", "Health.hp >= 5"),
        ("Health.hp =< 5", "Health.hp <= 5"),
        ("Health.hp <> 5", "Health.hp != 5"),
        ("$x <> A", "$x != A"),
        ("Ship and A", "Ship, A"),
        ("Ship AND (R, A)", "Ship, (R, A)"),
        ("Ship or A", "Ship || A"),
        ("not Ship", "!Ship"),
        ("A, not Ship", "A, !Ship"),
        ("Ship | A", "Ship || A"),
        ("Ship|A", "Ship || A"),
        ("Tag(Sol|A)", "-"),
        ("(Ship || A)", "{Ship || A}"),
        ("(Ship || A(up)), B", "{Ship || A(up)}, B"),
        ("(R, New Oslo)", "(R, New\\ Oslo)"),
        ("(R, New Oslo, A)", "(R, New\\ Oslo), R(New\\ Oslo, A)"),
        ("(R, The Great   Wall)", "(R, The\\ Great\\ Wall)"),
        ("(Docked To, A)", "(Docked\\ To, A)"),
        ("Tag(New Oslo)", "Tag(New\\ Oslo)"),
        ("(R, \"New Oslo\")", "(R, New\\ Oslo)"),
        ("(R, \"Sol.Earth\")", "(R, Sol.Earth)"),
        ("(!R, A)", "!(R, A)"),
        ("(! R, A), B", "!(R, A), B"),
        ("Ship(Up R)", "Ship(up R)"),
        ("Ship($x|Up)", "Ship($x|up)"),
        ("Ship(self|cascde)", "Ship(self|cascade)"),
    ] {
        let error = refused(text);
        let mended = mended(text, &error);
        let read = mended
            .as_deref()
            .map(parse)
            .map(|read| read.map_or_else(|e| e.to_string(), |ast| ast.to_string()));
        if read.as_deref().unwrap_or("-") != new {
            wrong.push(format!("{text}: {read:?} instead of {new}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_that_were_words_once_can_be_written_with_a_backslash() {
    for text in
        ["Place(\\This)", "(R, \\this)", "Place(\\super)", "$x == \\This", "R($x, \\up)", "parent, \\this"]
    {
        let ast = parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(parse(&ast.to_string()).as_ref(), Ok(&ast), "{ast}");
    }
}

#[test]
fn what_is_only_like_a_mistake_gets_no_other_suggestion() {
    for text in [
        "(R, $x $y)",
        "Tag(Bob up R)",
        "(!R, A",
        "(!)",
        "(A || B",
        "(R, \"a..b\")",
        "(R, \"a\nb\")",
        "A B",
        "\"A\"",
    ] {
        let error = refused(text);
        assert_eq!((error.kind(), error.suggestion()), (ExprErrorKind::Syntax, None), "{error}");
    }
}

#[test]
fn what_cannot_be_seen_is_shown_by_escapes() {
    let error = refused("Ship, \u{200b}Tag");
    assert_eq!(error.found(), "\u{200b}");
    let text = error.to_string();
    assert!(
        text.starts_with("1:7: expected a name or a sign of the query language, found `\\u{200b}`\n"),
        "{text}"
    );
    assert!(text.ends_with("1 | Ship, \u{fffd}Tag\n  |       ^"), "{text}");
}

#[test]
fn an_error_is_debugged_as_it_is_displayed() {
    for text in ["(R, $)", "Tag(parent)", "(R, New Oslo)"] {
        let error = refused(text);
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}
