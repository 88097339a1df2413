//! Fields of components and of pairs that are compared: what is read, what is refused, and which rows there are.
//!
//! What a program can do there: every type of field, at any depth, in tuples, enums and options; numbers at and beyond
//! the ends of the type; NaN; every comparator; sources and targets that are written down, bound before, bound later, or
//! unbound; `*`; what is negated, optional, alternative, in scopes; singletons; hidden entities; symmetric, exclusive and
//! adopted relations; values that change in place, that are replaced, whose pair goes; systems, and what they declare.

use bevy_ecs::{prelude::*, reflect::AppTypeRegistry, system::RunSystemOnce};
use bevy_reflect::{Reflect, TypePath};
use bevy_relations::{
    expr::{AnyExpression, Comparator, ExprParam, PairExpr},
    prelude::*,
};
use std::borrow::Cow;

#[derive(Component, Reflect)]
#[reflect(Component)]
pub(crate) struct Health {
    hp: f32,
    most: Option<f32>,
    state: State,
    wounds: Wounds,
}

#[derive(Reflect, Default)]
enum State {
    #[default]
    Well,
    Poisoned {
        dose: u8,
    },
    Burning(u8),
}

#[derive(Reflect)]
struct Wounds(u32, (i8, Depth));

#[derive(Reflect)]
struct Depth {
    cm: i128,
}

impl Health {
    fn of(hp: f32) -> Self {
        Self { hp, most: None, state: State::Well, wounds: Wounds(0, (0, Depth { cm: 0 })) }
    }
}

macro_rules! numbers {
    ($($field:ident),*) => {
        /// A field of each type.
        #[derive(Component, Reflect, Default)]
        #[reflect(Component)]
        pub(crate) struct All {
            $($field: $field,)*
            bool: bool,
            char: char,
            string: String,
            cow: Cow<'static, str>,
            str: &'static str,
            name: Name,
            state: State,
            list: Vec<u8>,
        }
    };
}

numbers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64);

#[derive(Relation, Reflect, Clone)]
pub(crate) struct Eats {
    grams: u32,
    how: Option<f64>,
}

#[derive(Relation, Reflect, Clone)]
#[relation(symmetric)]
pub(crate) struct Knows {
    years: u8,
}

#[derive(Relation, Reflect, Clone)]
#[relation(exclusive)]
struct Rents {
    price: f32,
}

#[derive(Relation)]
struct Likes;

#[derive(Resource, Reflect)]
#[reflect(Resource)]
struct Clock {
    hour: u8,
}

pub(crate) fn world() -> World {
    let mut world = World::new();
    world.init_resource::<AppTypeRegistry>();
    {
        let mut types = world.resource::<AppTypeRegistry>().write();
        types.register::<Health>();
        types.register::<All>();
        types.register::<Eats>();
        types.register::<Knows>();
        types.register::<Rents>();
        types.register::<Clock>();
    }
    world.register_relation::<Eats>().unwrap();
    world.register_relation::<Knows>().unwrap();
    world.register_relation::<Rents>().unwrap();
    world.register_relation::<Likes>().unwrap();
    world
}

pub(crate) fn named<B: Bundle>(world: &mut World, name: &str, bundle: B) -> Entity {
    world.spawn((Name::new(name.to_owned()), bundle)).id()
}

/// `this`, with the values of the variables, of each row.
#[track_caller]
pub(crate) fn rows(world: &mut World, text: &str) -> Vec<String> {
    let compiled = PairExpr::parse(text).and_then(|expr| expr.compile(world));
    let mut compiled = compiled.unwrap_or_else(|error| panic!("{error}"));
    let name = |entity: Option<Entity>| {
        entity.and_then(|entity| world.get::<Name>(entity)).map_or("-".to_owned(), ToString::to_string)
    };
    let mut rows = Vec::new();
    compiled
        .for_each(world, |row| {
            let vars = row.vars().map(|(_, value)| name(value));
            rows.push(
                row.this().map(|this| name(Some(this))).into_iter().chain(vars).collect::<Vec<_>>().join("/"),
            );
        })
        .unwrap();
    rows.sort_unstable();
    rows
}

#[track_caller]
fn all_have(world: &mut World, cases: &[(&str, &[&str])]) {
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let found = rows(world, text);
        if found != *expected {
            wrong.push(format!("{text}: {found:?} instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn numbers_of_a_component_are_compared() {
    let mut world = world();
    for (name, hp) in
        [("a", 1.0), ("b", 10.0), ("c", 0.1), ("d", f32::NAN), ("e", -3.5), ("f", f32::INFINITY)]
    {
        named(&mut world, name, Health::of(hp));
    }
    named(&mut world, "none", ());
    all_have(
        &mut world,
        &[
            ("Health.hp < 10", &["a", "c", "e"]),
            ("Health.hp <= 10", &["a", "b", "c", "e"]),
            ("Health.hp > 1", &["b", "f"]),
            ("Health.hp >= 1", &["a", "b", "f"]),
            ("Health.hp == 1", &["a"]),
            ("Health.hp == 1.0", &["a"]),
            ("Health.hp == 1e0", &["a"]),
            // As `0.1_f32`.
            ("Health.hp == 0.1", &["c"]),
            ("Health.hp < -3", &["e"]),
            ("Health.hp <= -35e-1", &["e"]),
            // NaN is another number than any.
            ("Health.hp != 1", &["b", "c", "d", "e", "f"]),
            ("!Health.hp == 1, Health", &["b", "c", "d", "e", "f"]),
            ("!Health.hp < 10, Health", &["b", "d", "f"]),
            ("Health.hp > 1, Health.hp < 100", &["b"]),
            ("Health.hp($this) < 1, Health.hp > -1", &["c"]),
        ],
    );
}

#[test]
fn every_type_of_number_is_compared_up_to_its_ends_and_beyond() {
    let mut world = world();
    named(&mut world, "zero", All::default());
    named(
        &mut world,
        "least",
        All {
            i8: i8::MIN,
            i16: i16::MIN,
            i32: i32::MIN,
            i64: i64::MIN,
            i128: i128::MIN,
            isize: isize::MIN,
            f32: f32::MIN,
            f64: f64::MIN,
            ..All::default()
        },
    );
    named(
        &mut world,
        "most",
        All {
            i8: i8::MAX,
            i16: i16::MAX,
            i32: i32::MAX,
            i64: i64::MAX,
            i128: i128::MAX,
            isize: isize::MAX,
            u8: u8::MAX,
            u16: u16::MAX,
            u32: u32::MAX,
            u64: u64::MAX,
            u128: u128::MAX,
            usize: usize::MAX,
            f32: f32::MAX,
            f64: f64::MAX,
            ..All::default()
        },
    );
    macro_rules! ends {
        ($($number:ident),*) => {$(
            let field = stringify!($number);
            for (sign, number, expected) in [
                ("==", $number::MAX, &["most"][..]),
                ("<", $number::MAX, &["least", "zero"]),
                (">=", $number::MAX, &["most"]),
                (">", $number::MIN, if $number::MIN == 0 as $number { &["most"][..] } else { &["most", "zero"] }),
                ("<", $number::MIN, &[]),
            ] {
                let text = format!("All.{field} {sign} {number:?}");
                assert_eq!(rows(&mut world, &text), expected, "{text}");
            }
        )*};
    }
    ends!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64);
    for field in ["i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize"] {
        // Beyond every type there is.
        for number in ["340282366920938463463374607431768211455.5", "1e40", "1e300"] {
            assert_eq!(rows(&mut world, &format!("All.{field} < {number}")).len(), 3, "{field} {number}");
            assert_eq!(rows(&mut world, &format!("All.{field} > -{number}")).len(), 3, "{field} {number}");
            assert!(rows(&mut world, &format!("All.{field} == {number}")).is_empty(), "{field} {number}");
            assert!(rows(&mut world, &format!("All.{field} <= -{number}")).is_empty(), "{field} {number}");
        }
        // Between two numbers.
        assert_eq!(rows(&mut world, &format!("All.{field} > -0.5, All.{field} < 0.5")).len(), {
            if field.starts_with('i') { 1 } else { 2 }
        });
        assert!(rows(&mut world, &format!("All.{field} == 0.5")).is_empty());
        assert_eq!(rows(&mut world, &format!("All.{field} != 0.5")).len(), 3);
        assert_eq!(rows(&mut world, &format!("All.{field} >= 1.27e2")), ["most"], "{field}");
        assert_eq!(
            rows(&mut world, &format!("All.{field} <= -1")).len(),
            usize::from(field.starts_with('i'))
        );
    }
    let whole = "All.i128 < 340282366920938463463374607431768211455";
    assert_eq!(rows(&mut world, whole).len(), 3);
}

#[test]
fn fields_are_found_at_any_depth_in_tuples_enums_and_options() {
    let mut world = world();
    let health = |most, state, wounds| Health { hp: 1.0, most, state, wounds };
    let wounds = |count, sign, cm| Wounds(count, (sign, Depth { cm }));
    named(&mut world, "a", health(Some(3.0), State::Poisoned { dose: 3 }, wounds(1, -1, -10)));
    named(&mut world, "b", health(None, State::Burning(7), wounds(2, 1, 10)));
    named(&mut world, "c", health(Some(8.0), State::Well, wounds(3, 0, 0)));
    all_have(
        &mut world,
        &[
            ("Health.wounds.0 >= 2", &["b", "c"]),
            ("Health.wounds.1.0 < 0", &["a"]),
            ("Health.wounds.1.1.cm > 0", &["b"]),
            ("Health.state.dose > 2", &["a"]),
            ("Health.state.dose != 2", &["a"]),
            ("!Health.state.dose > 2, Health", &["b", "c"]),
            ("Health.state.0 == 7", &["b"]),
            ("Health.state == \"Burning\"", &["b"]),
            ("Health.state != \"Burning\"", &["a", "c"]),
            ("Health.most < 5", &["a"]),
            ("Health.most != 3", &["c"]),
            ("Health.most.0 != 3", &["c"]),
            ("!Health.most < 5, Health", &["b", "c"]),
        ],
    );
}

#[test]
fn text_characters_and_booleans_are_equal_or_not() {
    let mut world = world();
    named(&mut world, "none", All::default());
    let text = "say \"hi\"";
    named(
        &mut world,
        "some",
        All {
            bool: true,
            char: 'ß',
            string: text.into(),
            cow: Cow::Borrowed("cow"),
            str: "str",
            name: Name::new("Bob"),
            ..All::default()
        },
    );
    all_have(
        &mut world,
        &[
            ("All.bool == true", &["some"]),
            ("All.bool != true", &["none"]),
            ("All.bool == false", &["none"]),
            ("All.char == \"ß\"", &["some"]),
            ("All.string == \"say \\\"hi\\\"\"", &["some"]),
            ("All.string == \"\"", &["none"]),
            ("All.string != \"\"", &["some"]),
            ("All.cow == \"cow\"", &["some"]),
            ("All.str == \"str\"", &["some"]),
            ("All.name == \"Bob\"", &["some"]),
            ("All.state == \"Well\"", &["none", "some"]),
        ],
    );
}

#[test]
fn sources_are_written_bound_or_found() {
    let mut world = world();
    named(&mut world, "Game", Health::of(1.0));
    let a = named(&mut world, "a", Health::of(5.0));
    named(&mut world, "b", (Health::of(20.0), ChildOf(a)));
    named(&mut world, "c", ChildOf(a));
    world.insert_resource(Clock { hour: 7 });
    let hidden = named(&mut world, "hidden", (Health::of(2.0), bevy_ecs::entity_disabling::Disabled));
    world.insert_pair(hidden, Likes, a).unwrap();
    all_have(
        &mut world,
        &[
            ("Health.hp(Game) < 3", &[""]),
            ("Health.hp(Game) > 3", &[]),
            ("Health.hp(a.c) < 3", &[]),
            ("!Health.hp(a.c) < 3", &[""]),
            ("(ChildOf, $p), Health.hp($p) < 10", &["b/a", "c/a"]),
            ("Health.hp($p) < 10, (ChildOf, $p)", &["b/a", "c/a"]),
            ("Health.hp($p) < 10", &["Game", "a", "hidden"]),
            ("Health.hp(*) < 10", &["", "", ""]),
            ("Health.hp < 10", &["Game", "a"]),
            ("Health.hp < 10, Disabled", &["hidden"]),
            ("(ChildOf, $p), Health.hp($p) < 10, Health.hp > 10", &["b/a"]),
            ("(ChildOf, $p), ?Health.hp < 100", &["b/a", "c/a"]),
            ("(ChildOf, $p), !Health.hp < 100", &["c/a"]),
            ("(ChildOf, $p), !{Health.hp($p) > 3}", &[]),
            ("(ChildOf, $p), !{Health.hp($p) > 30}", &["b/a", "c/a"]),
            ("Health, Health.hp < 3 || Health.hp > 10", &["Game", "b"]),
            ("Health.hp < 3 || Health.hp > 10", &["Game", "b"]),
            ("Health.hp < 3 || (ChildOf, *)", &["Game", "b", "c"]),
            ("Clock.hour(Clock) == 7, Health.hp > 10", &["b"]),
            ("Clock.hour($) > 7, Health.hp > 10", &[]),
            ("$this != a, Health.hp >= 1", &["Game", "b"]),
        ],
    );
    world.register_singleton::<Clock>();
    assert_eq!(rows(&mut world, "Clock.hour > 6, Health.hp > 10"), ["b"]);
}

#[test]
fn values_of_pairs_are_compared_pair_by_pair() {
    let mut world = world();
    let [apple, bread] = ["apple", "bread"].map(|name| named(&mut world, name, ()));
    let [a, b, c] = ["a", "b", "c"].map(|name| named(&mut world, name, ()));
    world.insert_pair(a, Eats { grams: 5, how: None }, apple).unwrap();
    world.insert_pair(a, Eats { grams: 50, how: Some(0.5) }, bread).unwrap();
    world.insert_pair(b, Eats { grams: 7, how: Some(2.0) }, apple).unwrap();
    world.insert_pair(b, Knows { years: 3 }, c).unwrap();
    world.insert_pair(c, Rents { price: 9.5 }, bread).unwrap();
    world.insert_pair(a, Rents { price: 1.5 }, apple).unwrap();
    all_have(
        &mut world,
        &[
            ("(Eats.grams, $food) > 6", &["a/bread", "b/apple"]),
            ("Eats.grams($this, $food) > 6", &["a/bread", "b/apple"]),
            ("(Eats.grams, apple) > 6", &["b"]),
            ("(Eats.grams, *) > 6", &["a", "b"]),
            ("Eats.grams(a, $food) < 6", &["apple"]),
            ("Eats.grams($who, $this) < 6", &["apple/a"]),
            ("Eats.grams(a, bread) == 50", &[""]),
            ("!Eats.grams(a, bread) == 50", &[]),
            ("(Eats, $food), !(Eats.grams, $food) > 6", &["a/apple"]),
            ("(Eats, $food), !(Eats.grams, *) > 6", &[]),
            ("(Eats, $food), ?(Eats.how, $food) > 1", &["a/apple", "a/bread", "b/apple"]),
            ("(Eats.how, $food) > 0", &["a/bread", "b/apple"]),
            ("(Eats.grams, apple || bread) > 6", &["a", "b"]),
            // One value for both directions.
            ("(Knows.years, $x) >= 3", &["b/c", "c/b"]),
            ("(Rents.price, $x) < 5", &["a/apple"]),
            ("(Rents, $x), (Rents.price, $x) > 5", &["c/bread"]),
            ("(Rents.price, $x) > 1, (Eats.grams, $x) > 1", &["a/apple"]),
        ],
    );
    world.insert_pair(a, Eats { grams: 8, how: None }, apple).unwrap();
    assert_eq!(rows(&mut world, "(Eats.grams, apple) > 6"), ["a", "b"]);
    world.despawn(b);
    assert_eq!(rows(&mut world, "(Eats.grams, apple) > 6"), ["a"]);
    world.remove_pair::<Eats>(a, apple);
    assert!(rows(&mut world, "(Eats.grams, apple) > 6").is_empty());
    assert_eq!(rows(&mut world, "(Eats.grams, *) > 6"), ["a"]);
    world.check_pairs().unwrap();
}

#[test]
fn the_pairs_of_an_adopted_relationship_have_its_component_as_their_value() {
    #[derive(Component, Reflect, Clone)]
    #[relationship(relationship_target = Staff)]
    #[reflect(Component)]
    struct WorksFor {
        #[relationship]
        boss: Entity,
        pay: u32,
    }
    #[derive(Component)]
    #[relationship_target(relationship = WorksFor)]
    struct Staff(Vec<Entity>);

    let mut world = world();
    world.resource::<AppTypeRegistry>().write().register::<WorksFor>();
    world.adopt_relationship::<WorksFor>();
    let boss = named(&mut world, "boss", ());
    let a = named(&mut world, "a", WorksFor { boss, pay: 3 });
    named(&mut world, "b", WorksFor { boss, pay: 30 });
    assert_eq!(rows(&mut world, "(WorksFor.pay, $boss) > 10"), ["b/boss"]);
    assert_eq!(rows(&mut world, "(WorksFor.pay, boss) < 10"), ["a"]);
    assert_eq!(rows(&mut world, "WorksFor.pay < 10"), ["a"]);
    world.entity_mut(a).insert(WorksFor { boss, pay: 31 });
    assert_eq!(rows(&mut world, "(WorksFor.pay, boss) > 10"), ["a", "b"]);
    assert_eq!(world.get::<Staff>(boss).unwrap().0.len(), 2);
}

#[test]
fn values_that_change_in_place_are_seen_by_the_next_run() {
    let mut world = world();
    let pet = named(&mut world, "pet", Health::of(5.0));
    let mut weak = PairExpr::parse("Health.hp < 3").unwrap().compile(&mut world).unwrap();
    assert_eq!(weak.count(&world), Ok(0));
    world.get_mut::<Health>(pet).unwrap().hp = 1.0;
    assert_eq!(weak.count(&world), Ok(1));
    let row = weak.first(&world).unwrap().unwrap();
    assert_eq!((row.is_set(0), row.source(0)), (true, Some(pet)));
    assert_eq!(row.get::<Health>(0).map(|health| health.hp), Some(1.0));
    // The component that is compared may be written, as it may be where a term asks for it.
    weak.for_each_mut(&mut world, |mut row| row.get_mut::<Health>(0).unwrap().hp += 5.0).unwrap();
    assert_eq!(weak.count(&world), Ok(0));
    world.get_mut::<Health>(pet).unwrap().hp = -1.0;
    assert_eq!(weak.any(&world), Ok(true));
    world.entity_mut(pet).remove::<Health>();
    assert_eq!(weak.any(&world), Ok(false));
}

#[test]
fn a_plan_shows_comparisons_and_tests_few_rows() {
    let mut world = world();
    for number in 0..100 {
        named(&mut world, "x", Health::of(number as f32));
    }
    let one = named(&mut world, "one", ());
    let pet = named(&mut world, "pet", Health::of(1.0));
    world.insert_pair(pet, Likes, one).unwrap();
    let mut expr = PairExpr::parse("Health.hp < 3, (Likes, one)").unwrap().compile(&mut world).unwrap();
    assert_eq!(expr.count(&world), Ok(1));
    let plan = expr.explain(&world).unwrap();
    let lines: Vec<&str> = plan.lines().map(str::trim).collect();
    assert!(lines.contains(&"select Health.hp < 3"), "{plan}");
    let (sources, value) = (
        lines.iter().position(|line| line.starts_with("sources (Likes, one)")),
        lines.iter().position(|line| *line == "value"),
    );
    assert!(sources.is_some() && sources < value, "the pair is looked up, and its source tested: {plan}");
}

#[test]
fn comparisons_are_written_such_that_they_read_the_same() {
    for (text, written) in [
        ("Health.hp<= 10", None),
        ("Health.hp   <=\n-10.50e+3", Some("Health.hp <= -10.50e+3")),
        ("Cost.gold($c)>=3", Some("Cost.gold($c) >= 3")),
        ("Eats.grams($this, $food) > 1", Some("(Eats.grams, $food) > 1")),
        ("Eats.grams($x, a || b) != 1", Some("Eats.grams($x, a) != 1 || Eats.grams($x, b) != 1")),
        ("R.f(a, b, c) > 0", Some("R.f(a, b) > 0, R.f(b, c) > 0")),
        ("[in] !A.b == \"x\\\"\\n\"", Some("[in] !A.b == \"x\\\"\\n\"")),
        ("?a::B<c::D>.0.x ! = true", Some("?a::B<c::D>.0.x != true")),
        ("A.b == 1 || A.b == 2, !{ A.b > 3 }", Some("A.b == 1 || A.b == 2, !{A.b > 3}")),
    ] {
        let parsed = PairExpr::parse(text);
        let Some(written) = written else {
            assert!(parsed.is_err(), "{text}");
            continue;
        };
        let parsed = parsed.unwrap();
        assert_eq!(parsed.to_string(), written);
        assert_eq!(PairExpr::parse(written).unwrap(), parsed);
    }
}

#[test]
fn a_builder_compares_fields() {
    let mut world = world();
    let a = named(&mut world, "a", Health::of(5.0));
    let b = named(&mut world, "b", Health::of(50.0));
    world.insert_pair(a, Eats { grams: 5, how: None }, b).unwrap();
    let built = PairExpr::builder()
        .field::<Health>("hp", Comparator::Less, 10.5)
        .pair_field::<Eats>("$food", "grams", Comparator::GreaterOrEqual, 5)
        .field::<Health>("wounds.1.0", Comparator::Equal, 0)
        .on("$food")
        .build()
        .unwrap();
    let path = Health::type_path().trim_end_matches("Health");
    assert_eq!(
        built.to_string().replace(path, ""),
        "Health.hp < 10.5, (Eats.grams, $food) >= 5, Health.wounds.1.0($food) == 0"
    );
    assert_eq!(PairExpr::parse(built.text()).unwrap().to_string(), built.to_string());
    let mut compiled = built.compile(&mut world).unwrap();
    let row = compiled.first(&world).unwrap().unwrap();
    assert_eq!((row.this(), row.var("food")), (Some(a), Some(b)));
    for infinite in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error =
            PairExpr::builder().field::<Health>("hp", Comparator::Less, infinite).build().unwrap_err();
        assert_eq!(error.message(), "a field is compared with a finite number");
    }
}

#[test]
fn systems_compare_fields_and_declare_what_they_read() {
    let mut world = world();
    let a = named(&mut world, "a", Health::of(5.0));
    let b = named(&mut world, "b", Health::of(50.0));
    world.insert_pair(a, Eats { grams: 5, how: None }, b).unwrap();
    world.insert_pair(b, Eats { grams: 50, how: None }, a).unwrap();
    for (text, expected) in [
        ("Health.hp < 10", vec![a]),
        ("[none] Health.hp < 10", vec![a]),
        ("Health.hp($x) > 10, (Eats, $x)", vec![a]),
        ("(Eats.grams, $x) > 10", vec![b]),
        ("[none] (Eats.grams, $x) > 10", vec![b]),
        ("Health, !(Eats.grams, *) > 10", vec![a]),
        ("Health, !{(Eats.grams, $x) > 10}", vec![a]),
        ("Health, ?Health.hp > 10, !Health.hp > 10", vec![a]),
    ] {
        let system = (ExprParam(PairExpr::parse(text).unwrap()),).build_state(&mut world).build_system(
            |mut query: ExprQuery<AnyExpression>| {
                let mut rows = Vec::new();
                query.for_each_row(|row| rows.extend(row.this())).unwrap();
                rows
            },
        );
        assert_eq!(world.run_system_once(system).unwrap(), expected, "{text}");
    }
}
