//! Text that is read, but could never find anything in a world, or of which a part would be ignored.

use crate::expr_semantics::Written;
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry, resource::IsResource};
use bevy_relations::{
    expr::{ExprErrorKind, PairExpr},
    prelude::*,
};

/// The kind of error that a message about a world belongs to.
pub(crate) fn kind_of(message: &str) -> ExprErrorKind {
    let is_field = message.contains("has no such field") || message.ends_with("` has no fields");
    match message {
        "no component, relation or entity has this name" => ExprErrorKind::UnknownName,
        _ if is_field => ExprErrorKind::UnknownName,
        _ if message.starts_with("the name means several things") => ExprErrorKind::AmbiguousName,
        _ if message.contains("is not traversable") => ExprErrorKind::NotTraversable,
        _ => ExprErrorKind::Rule,
    }
}

/// Each text is refused at the column, with the words found there and these among the words expected, and with the
/// suggestion.
#[track_caller]
fn refused_with(world: &mut World, table: &[(&str, usize, &str, &str, Option<&str>)]) {
    for &(text, column, found, expected, suggestion) in table {
        let error = PairExpr::parse(text).and_then(|expr| expr.compile(world)).err();
        let error = error.unwrap_or_else(|| panic!("`{text}` is an error"));
        assert_eq!(
            (error.kind(), error.line(), error.column(), error.found(), error.suggestion()),
            (kind_of(error.message()), 1, column, found, suggestion),
            "{error}"
        );
        assert!(error.message().contains(expected), "{error}");
        if let Some(suggestion) = suggestion {
            let mut mended = text.to_owned();
            mended.replace_range(error.range(), suggestion);
            assert!(PairExpr::parse(&*mended).is_ok(), "the suggestion can be read: {mended}");
        }
    }
}

#[track_caller]
fn refused(world: &mut World, table: &[(&str, usize, &str, &str)]) {
    let table: Vec<_> = table.iter().map(|&(text, at, found, said)| (text, at, found, said, None)).collect();
    refused_with(world, &table);
}

#[test]
fn a_constant_target_outside_the_scope_of_its_relation_is_refused() {
    let mut world = World::new();
    let colour = world.spawn_relation("Colour", RelationTraits::new().one_of()).unwrap();
    let palette = world.spawn(Name::new("Palette")).id();
    let paint = RelationTraits::new().one_of_id(palette).transitive();
    world.spawn_relation("Paint", paint).unwrap();
    let red = world.spawn((Name::new("Red"), ChildOf(colour))).id();
    world.spawn((Name::new("Dark"), ChildOf(red)));
    let outside = world.spawn(Name::new("Outside")).id();
    world.spawn((Name::new("Below"), ChildOf(outside)));
    let ship = world.spawn(Name::new("Ship")).id();
    world.insert_pair_by_id(ship, (colour, red)).unwrap();
    let bits = format!("#{}", outside.to_bits());
    let of_colour = "not a child of `Colour`";
    refused(
        &mut world,
        &[
            ("(Colour, Outside)", 10, "Outside", of_colour),
            ("Colour(Ship, Outside)", 14, "Outside", of_colour),
            ("!(Colour, Outside)", 11, "Outside", of_colour),
            ("Ship, ?(Colour, Outside)", 17, "Outside", of_colour),
            ("(Colour, Red || Outside)", 17, "Outside", of_colour),
            ("!{(Colour, Outside)}", 12, "Outside", of_colour),
            ("(Colour, Outside|self)", 10, "Outside", of_colour),
            ("(Colour, Outside.Below)", 10, "Outside.Below", of_colour),
            ("(Colour, Red.Dark)", 10, "Red.Dark", of_colour),
            ("(Colour, Colour)", 10, "Colour", of_colour),
            ("(Paint, Colour.Red)", 9, "Colour.Red", "not a child of `Palette`"),
        ],
    );
    refused_with(&mut world, &[("(Paint, Red)", 9, "Red", "has this name", Some("Colour.Red"))]);
    #[derive(Relation)]
    #[relation(one_of)]
    struct Weather;
    world.register_relation::<Weather>().unwrap();
    refused(&mut world, &[("(Weather, Outside)", 11, "Outside", "not a child of `Weather`")]);
    refused_with(&mut world, &[(&format!("(Colour, {bits})"), 10, &bits, of_colour, None)]);
    for (text, rows) in [
        ("(Colour, Red)", 1),
        ("(Colour, $x)", 1),
        ("(Colour, *)", 1),
        ("(Colour, _)", 1),
        ("(Colour, Outside.Below|up ChildOf)", 0),
        ("(Colour, Red.Dark|up ChildOf)", 1),
        ("(Colour, $x), $x != Outside", 1),
    ] {
        let mut expr = PairExpr::parse(text).unwrap().compile(&mut world).unwrap();
        assert_eq!(expr.count(&world), Ok(rows), "{text}");
    }
}

#[test]
fn a_list_is_one_entity_and_nothing_beside_it_is_ignored() {
    let mut world = Written::new(&["Fleet Tag (A, T)", "e1 Tag (A, T)"]).world;
    refused(
        &mut world,
        &[
            ("and|(A, T)", 1, "and|(A, T)", "a pair is none"),
            ("Tag, or|A(e1, T)", 6, "or|A(e1, T)", "a pair is none"),
            ("not|A($x, Fleet)", 1, "not|A($x, Fleet)", "a pair is none"),
            ("and|A(e1, T, Fleet)", 1, "and|A(e1, T, Fleet)", "a pair is none"),
            ("and|_", 5, "_", "`_` is no list"),
            ("or|Fleet(_)", 10, "_", "`_` has nothing that is listed"),
            ("and|Fleet(up ChildOf)", 11, "up ChildOf", "has no traversal"),
            ("and|Fleet|self", 11, "self", "has no traversal"),
            ("and|Fleet($x|self|up)", 14, "self|up", "has no traversal"),
        ],
    );
    let build = |list| PairExpr::builder().all_of(list).build().err().map(|error| error.message().to_owned());
    assert_eq!(build("Fleet|self").as_deref(), Some("a list has no traversal"));
}

#[test]
fn what_stands_beside_an_id_counts_or_is_refused() {
    let mut world = Written::new(&["Sub (IsA, Super)", "e1 Sub (A, T) (ChildOf, e2)", "e2 Super"]);
    refused(
        &mut world.world,
        &[
            ("Super|up ChildOf", 7, "up ChildOf", "`self` or `up IsA`"),
            ("Super|up IsA 2", 7, "up IsA 2", "`self` or `up IsA`"),
            ("(A|self|up On, T)", 4, "self|up On", "`self` or `up IsA`"),
            ("(A, #0|up ChildOf)", 8, "up ChildOf", "`#0` is no entity"),
            ("[in] Sub || [out] Super", 13, "[out] Super", "one access"),
            ("Sub || [in] Super || [none] A", 22, "[none] A", "one access"),
        ],
    );
    for (text, rows) in [
        ("Super", "e1 e2"),
        ("Super|self", "e2"),
        ("Super|self|up IsA", "e1 e2"),
        ("Super|up", "e1 e2"),
        ("[in] Sub || [in] Super", "e1 e2"),
        ("[in] Sub || Super", "e1 e2"),
    ] {
        assert_eq!(world.rows(text).join(" "), rows, "{text}");
    }
}

#[test]
fn a_builder_refuses_what_it_would_have_to_ignore() {
    let builder = PairExpr::builder;
    for (built, expected) in [
        (builder().equal("$x|up", "e1").build(), "a comparison has no traversal"),
        (builder().unequal("$x", "e1|self").build(), "a comparison has no traversal"),
        (builder().name_contains("$this|up ChildOf", "e").build(), "a comparison has no traversal"),
        (builder().scope(|none| none).build(), "expected a term: a scope is not empty"),
    ] {
        let error = built.err().unwrap_or_else(|| panic!("an error: {expected}"));
        assert_eq!(error.message(), expected);
    }
}

#[test]
fn a_suggested_name_is_written_such_that_it_can_be_read() {
    let mut world = World::new();
    let alpha = world.spawn(Name::new("Alpha Centauri")).id();
    world.spawn((Name::new("b.c!"), ChildOf(alpha)));
    world.spawn(Name::new("_"));
    world.spawn(Name::new("super"));
    refused_with(
        &mut world,
        &[
            ("AlphaCentauri", 1, "AlphaCentauri", "has this name", Some(r"Alpha\ Centauri")),
            (r"b\.c\?", 1, r"b\.c\?", "has this name", Some(r"Alpha\ Centauri.b\.c\!")),
            ("(A, suprr)", 2, "A", "has this name", None),
            ("$this(suprr)", 7, "suprr", "has this name", Some(r"\super")),
        ],
    );
}

#[derive(Component)]
#[component(immutable)]
struct Serial;

#[derive(Component)]
struct Fuel;

#[test]
fn what_a_name_may_mean_is_listed_in_ways_that_mean_one_thing() {
    #[derive(Component, bevy_reflect::Reflect)]
    #[type_path = "game"]
    struct Ship;

    let mut world = Written::new(&[]).world;
    let types = world.get_resource_or_init::<AppTypeRegistry>().clone();
    types.write().register::<Ship>();
    world.register_component::<Ship>();
    let ship = world.spawn((Name::new("Ship"), Ship)).id();
    let error = |world: &mut World, text: &str| PairExpr::parse(text).unwrap().compile(world).unwrap_err();
    let message = error(&mut world, "Ship").message().to_owned();
    assert_eq!(
        message,
        format!(
            "the name means several things: the type `game::Ship`, the entity {ship} (`#{}`)",
            ship.to_bits()
        )
    );
    for (text, rows) in [("game::Ship".to_string(), 1), (format!("#{}", ship.to_bits()), 0)] {
        let mut expr = PairExpr::parse(&*text).unwrap().compile(&mut world).unwrap();
        let mut count = 0;
        expr.for_each(&world, |_| count += 1).unwrap();
        assert_eq!(count, rows, "{text}");
    }
    // Types that are not reflected have an entity once they are used as one.
    world.register_component_name::<Fuel>("Fuel");
    world.spawn(Name::new("Fuel"));
    assert!(
        error(&mut world, "Fuel")
            .message()
            .contains("several things: the component of that name, the entity")
    );
    let fuel = world.entity_of::<Fuel>().to_bits();
    assert!(
        error(&mut world, "Fuel")
            .message()
            .contains(&format!("several things: a type (`#{fuel}`), the entity"))
    );
}

#[test]
fn every_error_of_a_world_has_its_place_the_text_and_what_was_expected() {
    let mut world = Written::new(&["Bob Tag", "e1 Tag (A, e2)", "Inner (ChildOf, Bob)"]).world;
    world.register_component_name::<Fuel>("Fuel").register_component_name::<Serial>("Serial");
    for _ in 0..2 {
        world.spawn(Name::new("Twin"));
    }
    let twins = "the name means several things: the entity";
    let exists = "no component, relation or entity has this name";
    for (text, column, found, expected) in [
        ("Nobody", 1, "Nobody", exists),
        ("(A, Bob.Nobody)", 5, "Bob.Nobody", exists),
        ("Tag(Nobody)", 5, "Nobody", exists),
        ("A($x, Nobody)", 7, "Nobody", exists),
        ("$x == Nobody, Tag($x)", 7, "Nobody", exists),
        ("Tag(up Nobody)", 8, "Nobody", exists),
        ("and|Nobody", 5, "Nobody", exists),
        ("Nobody()", 1, "Nobody", exists),
        ("!{Tag || Nobody}", 10, "Nobody", exists),
        ("(A, Twin)", 5, "Twin", twins),
        ("Twin", 1, "Twin", twins),
        ("Tag(up A)", 8, "A", "`A` is not traversable: declare it `traversable` to follow it"),
        ("Tag(up Bob)", 8, "Bob", "`Bob` is no relation, and is not traversable"),
        ("(A, e1|up A)", 11, "A", "`A` is not traversable"),
        ("Fuel(up IsA)", 9, "IsA", "instances do not share the component"),
        ("[inout] Serial", 1, "[inout] Serial", "the component is immutable"),
        ("[out] Serial($x)", 1, "[out] Serial($x)", "the component is immutable"),
        (
            "[out] Fuel, [inout] Fuel(Bob)",
            13,
            "[inout] Fuel(Bob)",
            "another field of the row writes the component",
        ),
        ("#7", 1, "#7", "no entity that is alive has these bits"),
        ("(A, #18446744073709551615)", 5, "#18446744073709551615", "no entity that is alive has these bits"),
        ("#0", 1, "#0", "no entity that is alive has these bits"),
        ("?(A, #0)", 3, "A", "a term with `#0` is not optional"),
        ("$x == $y", 7, "$y", "no other term says what one of these variables is"),
    ] {
        for (prefix, line, indent) in [("", 1, 0), ("Tag,\n\t ", 2, 2), ("// ü\nTag, /* ö */ ", 2, 13)] {
            let whole = format!("{prefix}{text}");
            let error = PairExpr::parse(&*whole).unwrap().compile(&mut world).err();
            let error = error.unwrap_or_else(|| panic!("`{whole}` is an error"));
            assert_eq!(
                (error.kind(), error.line(), error.column(), error.found()),
                (kind_of(error.message()), line, column + indent, found),
                "{error}"
            );
            assert_eq!(&whole[error.range()], found);
            assert!(error.message().contains(expected), "{error}");
        }
    }
}

#[test]
fn a_resource_is_asked_for_where_it_is() {
    #[derive(Resource)]
    struct Clock;
    let mut world = World::new();
    world.insert_resource(Clock);
    world.register_component_name::<Fuel>("Fuel").register_component_name::<Clock>("Clock");
    world.register_component_name::<IsResource>("IsResource");
    for (text, column) in [
        ("Clock", 1),
        ("Clock($this)", 1),
        ("[in] Clock", 6),
        ("Fuel, !Clock", 8),
        ("Fuel, ?Clock", 8),
        ("Fuel || Clock", 9),
        ("Fuel, !{ Clock }", 10),
        ("Clock(self)", 1),
    ] {
        let error = PairExpr::parse(text).unwrap().compile(&mut world).err();
        let error = error.unwrap_or_else(|| panic!("`{text}` is an error"));
        assert_eq!((error.column(), error.found()), (column, "Clock"), "{text}");
        assert!(error.to_string().contains("Clock($)"), "{error}");
    }
    let count = |world: &mut World, text: &str| {
        PairExpr::parse(text).unwrap().compile(world).unwrap().count(world).unwrap()
    };
    for text in ["Clock($)", "Clock(Clock)", "Clock($x)", "Clock, IsResource", "Clock(_)"] {
        assert_eq!(count(&mut world, text), 1, "{text}");
    }
    world.register_singleton::<Clock>();
    assert_eq!(count(&mut world, "Clock"), 1);
}

#[test]
fn a_component_on_the_entity_of_its_type_is_a_singleton() {
    let mut world = World::new();
    world.register_component_name::<Fuel>("Fuel");
    let stands_for_it = world.entity_of::<Fuel>();
    let mut expr = PairExpr::parse("Fuel(Fuel)").unwrap().compile(&mut world).unwrap();
    assert_eq!(expr.count(&world), Ok(0));
    world.entity_mut(stands_for_it).insert(Fuel);
    assert_eq!(expr.count(&world), Ok(1));
    assert_eq!(expr.first(&world).unwrap().unwrap().source(0), Some(stands_for_it));
    world.entity_mut(stands_for_it).remove::<Fuel>();
    assert_eq!(expr.count(&world), Ok(0));
}

mod members {
    use super::*;
    use bevy_ecs::system::RunSystemOnce;
    use bevy_reflect::Reflect;
    use bevy_relations::expr::{AnyExpression, ExprParam};

    #[derive(Component, Reflect)]
    #[reflect(Component)]
    struct Movement {
        value: Entity,
        leader: Option<Entity>,
        speed: f32,
        orders: Orders,
        crew: Vec<Entity>,
    }

    #[derive(Reflect)]
    struct Orders {
        goal: Goal,
        by: (u8, Entity),
    }

    #[derive(Reflect)]
    struct Goal(Option<Entity>, bool);

    #[derive(Component, Reflect)]
    #[reflect(Component)]
    struct Held(u32, Entity);

    #[derive(Component, Reflect)]
    #[reflect(Component)]
    enum Task {
        Idle,
        Follow { whom: Entity, far: bool },
        Guard(Entity),
    }

    #[derive(Component, Reflect)]
    struct Unlisted {
        value: Entity,
    }

    #[derive(Component)]
    struct Unreflected;

    #[derive(Resource, Reflect)]
    #[reflect(Resource)]
    struct Clock {
        keeper: Entity,
    }

    fn world() -> World {
        let mut world = World::new();
        world.init_resource::<AppTypeRegistry>();
        {
            let mut types = world.resource::<AppTypeRegistry>().write();
            types.register::<Movement>();
            types.register::<Held>();
            types.register::<Task>();
            types.register::<Unlisted>();
            types.register::<Clock>();
        }
        world.register_component_name::<Unreflected>("Unreflected");
        world
    }

    #[test]
    fn a_member_that_is_not_there_or_holds_no_entity_is_refused() {
        let mut world = world();
        world.spawn_relation("Likes", RelationTraits::new()).unwrap();
        world.spawn(Name::new("Bob"));
        let of_movement = "`Movement` has no such field, only `value`, `leader`, `speed`, `orders`, `crew`";
        let is_other = "the field holds no entity";
        refused_with(
            &mut world,
            &[
                ("Movement.nope($this, $x)", 1, "Movement.nope", of_movement, None),
                ("(Movement.valeu, $x)", 2, "Movement.valeu", of_movement, Some("Movement.value")),
                ("!Movement.valeu($this, *)", 2, "Movement.valeu", of_movement, Some("Movement.value")),
                ("Movement.nope", 1, "Movement.nope", of_movement, None),
                ("(Movement.0, $x)", 2, "Movement.0", of_movement, None),
                ("(Movement.speed, $x)", 2, "Movement.speed", "`Movement.speed` is of type `f32`", None),
                ("(Movement.crew, $x)", 2, "Movement.crew", "is of type `Vec<Entity>`", None),
                ("(Movement.orders, $x)", 2, "Movement.orders", is_other, None),
                (
                    "(Movement.value.index, *)",
                    2,
                    "Movement.value.index",
                    "`Movement.value` has no fields",
                    None,
                ),
                (
                    "(Movement.orders.goat.0, *)",
                    2,
                    "Movement.orders.goat.0",
                    "`Movement.orders` has no such field, only `goal`, `by`",
                    Some("Movement.orders.goal.0"),
                ),
                ("(Movement.orders.by.0, *)", 2, "Movement.orders.by.0", "is of type `u8`", None),
                (
                    "(Movement.orders.by.01, *)",
                    2,
                    "Movement.orders.by.01",
                    "no such field, only `0`, `1`",
                    Some("Movement.orders.by.0"),
                ),
                ("(Held.0, $x)", 2, "Held.0", "`Held.0` is of type `u32`", None),
                ("(Held.7, $x)", 2, "Held.7", "`Held` has no such field, only `0`, `1`", None),
                ("(Task.far, $x)", 2, "Task.far", "is of type `bool`", None),
                (
                    "(Task.Idle, $x)",
                    2,
                    "Task.Idle",
                    "`Task` has no such field, only `whom`, `far`, `0`",
                    None,
                ),
                ("(Unlisted.value, $x)", 2, "Unlisted.value", "`#[reflect(Component)]`", None),
                ("(Unreflected.value, $x)", 2, "Unreflected.value", "not in the type registry", None),
                ("(Likes.value, $x)", 2, "Likes.value", "has this name", None),
                ("(Bob.value, $x)", 2, "Bob.value", "has this name", None),
                ("Movement.value", 1, "Movement.value", "a field has a source and a value", None),
                ("and|Movement.value", 5, "Movement.value", "a field is no entity", None),
                ("Held(Movement.value)", 6, "Movement.value", "a field is no entity", None),
                ("(Movement.value, $x|up ChildOf)", 21, "up ChildOf", "read on its source alone", None),
                ("Movement.value(up ChildOf, $x)", 16, "up ChildOf", "read on its source alone", None),
                ("Movement.value(cascade, $x)", 16, "cascade", "read on its source alone", None),
                ("(Movement.value|up IsA, $x)", 17, "up IsA", "read on its source alone", None),
                ("Movement.value(_, $x)", 16, "_", "`_` has no field", None),
                ("Clock(Clock|up ChildOf)", 13, "up ChildOf", "a resource is in one place", None),
            ],
        );
    }

    #[test]
    fn a_field_that_stands_alone_is_answered_with_a_comparison() {
        let mut world = world();
        let compared =
            |field: &str, comparison: &str| format!("can be compared, as in `{field} {comparison}`");
        let texts = ["Movement.speed", "!Movement.speed", "Movement.speed($this)", "(Movement.speed, $x)"];
        for text in texts {
            let error = PairExpr::parse(text).unwrap().compile(&mut world).unwrap_err();
            assert!(error.message().contains(&compared("Movement.speed", "> 0")), "{error}");
        }
        for (field, comparison) in [("Held.0", "> 0"), ("Task.far", "== true")] {
            let error = PairExpr::parse(field).unwrap().compile(&mut world).unwrap_err();
            assert!(error.message().contains(&compared(field, comparison)), "{error}");
            assert!(PairExpr::parse(format!("{field} {comparison}")).unwrap().compile(&mut world).is_ok());
        }
        // What cannot be compared is not said to be so.
        let error = PairExpr::parse("(Movement.crew, $x)").unwrap().compile(&mut world).unwrap_err();
        assert!(!error.message().contains("compared"), "{error}");
    }

    #[test]
    fn members_are_found_at_any_depth_and_in_tuples_and_enums() {
        let mut world = world();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| world.spawn(Name::new(name)).id());
        let orders = |goal, by| Orders { goal: Goal(goal, true), by: (1, by) };
        world.entity_mut(a).insert((
            Movement { value: b, leader: Some(c), speed: 1.0, orders: orders(Some(d), b), crew: vec![b] },
            Held(1, c),
            Task::Follow { whom: d, far: false },
        ));
        world.entity_mut(b).insert((
            Movement { value: c, leader: None, speed: 1.0, orders: orders(None, a), crew: Vec::new() },
            Held(2, a),
            Task::Guard(c),
        ));
        world.entity_mut(c).insert(Task::Idle);
        world.insert_resource(Clock { keeper: d });
        let name =
            |world: &World, entity| world.get::<Name>(entity).map_or("?".to_owned(), ToString::to_string);
        for (text, expected) in [
            ("(Movement.value, $x)", "a-b b-c"),
            ("(Movement.leader, $x)", "a-c"),
            ("(Movement.leader.0, $x)", "a-c"),
            ("(Movement.orders.goal.0, $x)", "a-d"),
            ("(Movement.orders.by.1, $x)", "a-b b-a"),
            ("Movement.orders.by.1($this|self, $x|self)", "a-b b-a"),
            ("(Held.1, $x)", "a-c b-a"),
            ("Held.1(a, $x), $this == a", "a-c"),
            ("(Task.whom, $x)", "a-d"),
            ("(Task.0, $x)", "b-c"),
            ("Task, !(Task.0, *), $x == d", "a-d c-d"),
            ("(Held.1, $y), (Held.1($y, $x))", ""),
            ("Clock.keeper(Clock, $x), $this == a", "a-d"),
            ("Clock.keeper($, $x), $this == a", "a-d"),
        ] {
            let Ok(expr) = PairExpr::parse(text) else {
                assert_eq!(expected, "", "{text}");
                continue;
            };
            assert_eq!(PairExpr::parse(expr.to_string()).as_ref(), Ok(&expr), "{expr}");
            let mut expr = expr.compile(&mut world).unwrap_or_else(|error| panic!("{error}"));
            let mut found = Vec::new();
            expr.for_each(&world, |row| {
                let [this, x] = [row.this(), row.var("x")].map(|entity| name(&world, entity.unwrap()));
                found.push(format!("{this}-{x}"));
            })
            .unwrap();
            found.sort_unstable();
            assert_eq!(found.join(" "), expected, "{text}");
        }
        world.remove_resource::<Clock>();
        let mut expr = PairExpr::parse("Clock.keeper($, $x)").unwrap().compile(&mut world).unwrap();
        assert_eq!(expr.count(&world), Ok(0));
    }

    #[test]
    fn a_system_with_a_member_that_is_not_there_fails_when_it_runs() {
        let mut world = world();
        let expr = PairExpr::parse("(Movement.nope, $x)").unwrap();
        let system =
            (ExprParam(expr),).build_state(&mut world).build_system(|_: ExprQuery<AnyExpression>| ());
        let error = world.run_system_once(system).unwrap_err().to_string();
        assert!(error.contains("`Movement` has no such field"), "{error}");
    }
}
