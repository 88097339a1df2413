//! Comparisons of fields that are refused: by the text, by what the fields are, and in systems that write them.

use crate::{
    common::panic_message,
    expr_values::{All, Eats, Health, Knows, named, rows, world},
};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::Reflect;
use bevy_relations::{
    expr::{ExprErrorKind, PairExpr},
    prelude::*,
};

/// Each text is refused at the column, with the words found there and these among the words expected.
#[track_caller]
fn refused(world: &mut World, table: &[(&str, usize, &str, &str)]) {
    let mut wrong = Vec::new();
    for &(text, column, found, expected) in table {
        match PairExpr::parse(text).and_then(|expr| expr.compile(world)) {
            Ok(_) => wrong.push(format!("`{text}` is accepted")),
            Err(error) => {
                let place = (error.line(), error.column(), error.found());
                if place != (1, column, found) || !error.message().contains(expected) {
                    wrong.push(format!("{text}:\n{error}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_field_of_a_relation_is_compared_with_its_target() {
    let mut world = world();
    let bob = named(&mut world, "Bob", ());
    let error = PairExpr::parse("Eats.grams > 1").and_then(|expr| expr.compile(&mut world)).unwrap_err();
    assert!(error.to_string().starts_with(
        "1:1: `Eats` is a relation: a field of the value of its pairs is compared together with a target; write \
         `(Eats.grams, $x)`"
    ), "{error}");
    let error = PairExpr::parse("Eats.grams(Bob) > 1").and_then(|expr| expr.compile(&mut world)).unwrap_err();
    assert_eq!(error.suggestion(), None);
    assert!(world.get_entity(bob).is_ok());
}

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Title {
    text: Option<String>,
    rank: Option<u32>,
}

#[test]
fn a_field_that_is_none_is_found_by_what_it_does_not_fulfil() {
    let mut world = world();
    world.resource::<AppTypeRegistry>().clone().write().register::<Title>();
    let none = world.spawn(Title { text: None, rank: None }).id();
    let some = world.spawn(Title { text: Some("Sir".into()), rank: Some(0) }).id();
    let mut found = |text| {
        let mut expr = PairExpr::parse(text).and_then(|expr| expr.compile(&mut world)).unwrap();
        let mut found = Vec::new();
        expr.for_each(&world, |row| found.extend(row.this())).unwrap();
        found
    };
    assert_eq!(found("Title, !{ Title.text == \"\" || Title.text != \"\" }"), [none]);
    assert_eq!(found("Title, !Title.rank >= 0"), [none]);
    assert_eq!(found("Title.rank >= 0"), [some]);
}

#[test]
fn what_cannot_be_compared_is_refused_at_its_place() {
    let mut world = world();
    named(&mut world, "Bob", ());
    let literal = "a number, a string, `true` or `false`";
    let alone = "only a field of a component or of a pair is compared with a value";
    refused(
        &mut world,
        &[
            ("Health.hp <", 12, "", literal),
            ("Health.hp < Bob", 13, "Bob", literal),
            ("Health.hp < $x", 13, "$", literal),
            ("Health.hp < -", 14, "", "a digit"),
            ("Health.hp < 1.", 15, "", "a digit"),
            ("Health.hp < 1e", 15, "", "a digit"),
            ("Health.hp < 1..2", 15, ".", "a digit"),
            ("Health.hp < 1.2.3", 16, ".", "the end of the number"),
            ("Health.hp < 10u8", 15, "u", "the end of the number"),
            ("Health.hp < 1_000", 14, "_", "the end of the number"),
            ("Health.hp < 1e999", 13, "1e999", "out of range"),
            (
                "Health.hp < 340282366920938463463374607431768211456",
                13,
                "340282366920938463463374607431768211456",
                "128 bits",
            ),
            ("Health.hp < 1 < 2", 15, "<", "`,`, `||` or the end"),
            ("Health.hp<10", 10, "<", "type arguments that end with `>`"),
            ("Health.hp = 1", 11, "=", "`==`"),
            ("Health < 10", 1, "Health", alone),
            ("(Eats, $x) > 1", 2, "Eats", alone),
            ("$x.hp < 1", 1, "$x.hp", alone),
            ("* < 1", 1, "*", alone),
            ("and|Health.hp < 1", 1, "and|Health.hp < 1", "a field is none"),
            ("Health.hp() < 1", 1, "Health.hp", "has a source"),
            ("[inout] Health.hp < 1", 1, "[inout] Health.hp < 1", "only read"),
            ("Health.hp < 1e39", 13, "1e39", "range of the type: `Health.hp` is of type `f32`"),
            ("Health.hp == \"x\"", 14, "\"x\"", "expected a number: `Health.hp` is of type `f32`"),
            ("Health.hp == true", 14, "true", "expected a number"),
            ("All.bool == 1", 13, "1", "expected `true` or `false`: `All.bool` is of type `bool`"),
            ("All.bool < true", 12, "true", "expected `==` or `!=` instead of `<`"),
            ("All.char == \"ab\"", 13, "\"ab\"", "a string of one character"),
            ("All.char == \"\"", 13, "\"\"", "a string of one character"),
            ("All.string == 3", 15, "3", "expected a string"),
            ("All.string < \"x\"", 14, "\"x\"", "expected `==` or `!=` instead of `<`"),
            ("All.state == \"Wel\"", 14, "\"Wel\"", "one of `\"Well\"`, `\"Poisoned\"`, `\"Burning\"`"),
            ("All.list == 3", 1, "All.list", "`All.list` is of type `Vec<u8>`"),
            ("Health.wounds == 3", 1, "Health.wounds", "`Health.wounds` is of type `Wounds`"),
            ("Health.ph < 3", 1, "Health.ph", "no such field, only `hp`"),
            ("Health.hp.0 < 3", 1, "Health.hp.0", "`Health.hp` has no fields"),
            ("Helth.hp < 3", 1, "Helth.hp", "has this name"),
            ("Bob.hp < 3", 1, "Bob.hp", "has this name"),
            ("Health.hp(up ChildOf) < 3", 11, "up ChildOf", "on its source alone"),
            ("Health.hp(_) < 3", 11, "_", "`_` has no field"),
            ("Health.hp($this, $x) < 3", 1, "Health.hp", "`Health` is no relation"),
            ("Eats.grams < 3", 1, "Eats.grams", "`Eats` is a relation"),
            ("(Eats.grams, _) < 3", 14, "_", "a pair whose value is compared has a target"),
            ("(Eats.grams, #0) < 3", 14, "#0", "a pair whose value is compared has a target"),
            ("Eats.grams(_, $x) < 3", 12, "_", "a pair whose value is compared has a source"),
            ("(Eats.grams, $x|up ChildOf) < 3", 17, "up ChildOf", "on its source alone"),
            ("(Likes.much, $x) < 3", 2, "Likes.much", "the pairs of `Likes` have no values"),
            ("Clock.hour > 3", 1, "Clock.hour", "never the entity of a resource"),
        ],
    );
    let error = PairExpr::parse("Health.hp<10").unwrap_err();
    assert_eq!(error.suggestion(), Some(" < "));
    let error = PairExpr::parse("Health.hp<=10").unwrap_err();
    assert_eq!((error.column(), error.found(), error.suggestion()), (10, "<=", Some(" <= ")));
    let error = PairExpr::parse("Health.hp<-1").unwrap_err();
    assert_eq!((error.column(), error.found(), error.suggestion()), (10, "<", Some(" < ")));
    assert!(PairExpr::parse("Health.hp>=10, Health.hp>-1, Health.hp==3, Health.hp!=3").is_ok());
    let error = PairExpr::parse("Health.hpp < 1").unwrap().compile(&mut world).err().unwrap();
    assert_eq!((error.kind(), error.suggestion()), (ExprErrorKind::UnknownName, Some("Health.hp")));
}

#[test]
fn what_is_written_in_another_order_is_answered_with_the_right_one() {
    let mut world = world();
    let field_first = "a comparison has the field on its left side";
    let behind = "a field stands behind its component, before the parentheses";
    for (text, column, found, said, suggestion) in [
        ("3 < Health.hp", 1, "3 < Health.hp", field_first, "Health.hp > 3"),
        ("Tag, 2.5 >= Health.hp, Tag", 6, "2.5 >= Health.hp", field_first, "Health.hp <= 2.5"),
        ("!3<=Health.hp($x)", 2, "3<=Health.hp($x)", field_first, "Health.hp($x) >= 3"),
        ("\"Well\" == All.state", 1, "\"Well\" == All.state", field_first, "All.state == \"Well\""),
        ("true != All.bool", 1, "true != All.bool", field_first, "All.bool != true"),
        ("3 < (Eats.grams, $x)", 1, "3 < (Eats.grams, $x)", field_first, "(Eats.grams, $x) > 3"),
        ("Health(Knight).hp > 3", 1, "Health(Knight).hp", behind, "Health.hp(Knight)"),
        ("Tag, Health($x).wounds.0 > 3", 6, "Health($x).wounds.0", behind, "Health.wounds.0($x)"),
    ] {
        let error = PairExpr::parse(text).unwrap_err();
        assert_eq!((error.column(), error.found(), error.message()), (column, found, said), "{error}");
        assert_eq!(error.suggestion(), Some(suggestion), "{error}");
        let mut mended = text.to_owned();
        mended.replace_range(error.range(), suggestion);
        assert!(PairExpr::parse(&*mended).is_ok(), "{mended}");
    }
    // A type that is not known is answered with the one that is nearest, as elsewhere.
    for (text, suggestion) in [
        ("Helth.hp < 3", "Health.hp"),
        ("(Eat.grams, $x) < 3", "Eats.grams"),
        ("(Helth.hp, $x)", "Health.hp"),
    ] {
        let error = PairExpr::parse(text).unwrap().compile(&mut world).expect_err(text);
        assert_eq!(
            (error.kind(), error.suggestion()),
            (ExprErrorKind::UnknownName, Some(suggestion)),
            "{error}"
        );
    }
}

#[test]
fn an_entity_in_a_field_is_asked_for_otherwise() {
    #[derive(Component, Reflect)]
    #[reflect(Component)]
    struct Movement {
        to: Option<Entity>,
    }
    let mut world = world();
    world.resource::<AppTypeRegistry>().write().register::<Movement>();
    refused(
        &mut world,
        &[(
            "Movement.to == 3",
            1,
            "Movement.to",
            "the field holds an entity: ask for it with `(Movement.to, $x)`",
        )],
    );
    assert!(rows(&mut world, "(Movement.to, $x)").is_empty());
}

#[derive(Expression)]
#[expr("Tag(), Health.hp($x) < 10")]
struct Weak;

#[derive(Expression)]
#[expr("Tag(), !{[none] Health.hp($x) < 10}")]
struct NoneWeak;

#[derive(Expression)]
#[expr("Tag(), (Eats.grams, $x) < 10")]
struct Nibbles;

#[test]
fn a_system_that_writes_what_is_compared_is_refused() {
    fn component(_: Query<&mut Health>, _: ExprQuery<Weak>) {}
    fn in_scope(_: Query<&mut Health>, _: ExprQuery<NoneWeak>) {}
    fn own_data(_: ExprQuery<Weak, &mut Health>) {}
    fn pairs(_: PairsMut<Eats>, _: ExprQuery<Nibbles>) {}
    fn beside(_: Query<&mut All>, _: PairsMut<Knows>, _: ExprQuery<Weak>, _: ExprQuery<Nibbles>) {}
    fn refusal<M>(system: impl IntoSystem<(), (), M>) -> Option<String> {
        let mut world = world();
        named(&mut world, "Tag", ());
        panic_message(|| drop(IntoSystem::into_system(system).initialize(&mut world)))
    }
    for (message, part) in [
        (refusal(component), "`Health.hp($x) < 10`"),
        (refusal(in_scope), "`[none] Health.hp($x) < 10`"),
        (refusal(own_data), "`Health.hp($x) < 10`"),
        (refusal(pairs), "ExprQuery<Nibbles>"),
    ] {
        let message = message.expect("a conflict");
        assert!(message.contains("B0001") && message.contains(part), "{message}");
    }
    assert_eq!(refusal(beside), None);
}
