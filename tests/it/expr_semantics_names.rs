//! What names in expressions mean, and how expressions are put together of types that have none.

use crate::expr_semantics::Written;
use bevy_ecs::prelude::*;
use bevy_relations::{
    expr::{ExprErrorKind, FieldAccess, PairExpr},
    prelude::*,
};

#[derive(Component)]
struct Fuel;

#[derive(Component)]
struct Ship;

#[derive(Resource)]
struct Clock;

#[derive(Relation)]
struct DockedTo;

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Relation)]
#[relation(transitive)]
struct LocatedIn;

fn count(world: &mut World, expr: &PairExpr) -> usize {
    match expr.compile(world) {
        Ok(mut compiled) => compiled.count(world).unwrap(),
        Err(error) => panic!("{error}"),
    }
}

fn count_of(world: &mut World, text: &str) -> usize {
    count(world, &PairExpr::parse(text).unwrap())
}

#[test]
fn a_component_is_known_by_the_names_given_to_it() {
    let mut world = World::new();
    world.register_component_name::<Fuel>("Fuel").register_component_name::<Fuel>("Energy");
    world.spawn(Fuel);
    world.spawn((Fuel, Ship));
    assert_eq!((count_of(&mut world, "Fuel"), count_of(&mut world, "Energy, Fuel")), (2, 2));
    world.register_component_name::<Ship>("Energy");
    let error = PairExpr::parse("Fuel, Energy").unwrap().compile(&mut world).err().unwrap();
    assert_eq!((error.line(), error.column()), (1, 7));
    assert!(error.message().matches("component").count() == 2, "{error}");
}

#[test]
fn a_resource_that_is_a_singleton_is_asked_for_by_its_name_alone() {
    let mut world = World::new();
    world.register_component_name::<Fuel>("Fuel").register_singleton::<Clock>();
    world.spawn(Fuel);
    assert_eq!(count_of(&mut world, "Fuel, Clock"), 0);
    world.insert_resource(Clock);
    for text in ["Fuel, Clock", "Fuel, Clock($)", "Fuel, Clock(Clock)", "Clock", "Fuel, !{ !Clock }"] {
        assert_eq!(count_of(&mut world, text), 1, "{text}");
    }
    assert_eq!(count_of(&mut world, "Fuel, !Clock"), 0);
}

#[test]
fn a_target_is_a_child_in_the_scope_of_its_relation_first() {
    let mut world = World::new();
    let colour = world.spawn_relation("Colour", RelationTraits::new().one_of()).unwrap();
    let outside = world.spawn(Name::new("Red")).id();
    let inside = world.spawn((Name::new("Red"), ChildOf(colour))).id();
    let [ship, ghost] = [(); 2].map(|()| world.spawn_empty().id());
    world.insert_pair_by_id(ship, (colour, inside)).unwrap();
    world.insert_tag(ghost, outside).unwrap();
    let mut of_colour = PairExpr::parse("(Colour, Red)").unwrap().compile(&mut world).unwrap();
    assert_eq!(of_colour.first(&world).unwrap().unwrap().this(), Some(ship));
    let mut tagged = PairExpr::parse("Red").unwrap().compile(&mut world).unwrap();
    assert_eq!(tagged.first(&world).unwrap().unwrap().this(), Some(ghost));
}

#[test]
fn an_unknown_name_is_an_error_with_the_nearest_one() {
    let mut world = Written::new(&["Earth (ChildOf, Sol)", "e1 Tag (A, Earth)"]);
    world.world.register_component_name::<Fuel>("Fuel");
    for (text, line, column, found, suggestion) in [
        ("Tag,\n (Konws, *)", 2, 3, "Konws", Some("Knows")),
        ("Fule", 1, 1, "Fule", Some("Fuel")),
        ("(A, Sol.Eart)", 1, 5, "Sol.Eart", Some("Sol.Earth")),
        ("tag", 1, 1, "tag", Some("Tag")),
        ("Tag, Zyxwvut", 1, 6, "Zyxwvut", None),
    ] {
        let error = PairExpr::parse(text).unwrap().compile(&mut world.world).err().unwrap();
        assert_eq!(
            (error.kind(), error.line(), error.column(), error.found(), error.suggestion()),
            (ExprErrorKind::UnknownName, line, column, found, suggestion)
        );
        assert_eq!(error.message(), "no component, relation or entity has this name");
        // It may be the name of a type that was not registered.
        assert_eq!(error.help().is_some(), ["Konws", "Fule", "Zyxwvut"].contains(&found));
    }
}

#[test]
fn a_builder_names_types_that_nobody_has_registered() {
    let mut world = World::new();
    let docks = PairExpr::builder()
        .with::<Ship>()
        .pair::<DockedTo>("$port")
        .with::<Fuel>()
        .on("$port")
        .build()
        .unwrap();
    let early = docks.compile(&mut world);
    let port = world.spawn(Fuel).id();
    let ship = world.spawn(Ship).id();
    world.insert_pair(ship, DockedTo, port).unwrap();
    // The types have become components since.
    assert_eq!(early.unwrap().count(&world), Ok(1));
    assert_eq!(count(&mut world, &docks), 1);
    assert!(
        PairExpr::parse(docks.text()).unwrap().compile(&mut world).is_err(),
        "the text alone does not know them"
    );
}

#[test]
fn a_builder_says_all_that_a_text_can_say() {
    let mut world = World::new();
    let [city, land] = [(); 2].map(|()| world.spawn_empty().id());
    let fleet = world.spawn((Name::new("Fleet"), Ship)).id();
    let gun = world.spawn((Name::new("Gun"), Fuel)).id();
    let ship = world.spawn((Name::new("Art"), Ship)).id();
    world.insert_pair(gun, MountedOn, ship).unwrap();
    world.insert_pair(ship, MountedOn, fleet).unwrap();
    world.insert_pair(ship, LocatedIn, city).unwrap();
    world.insert_pair(city, LocatedIn, land).unwrap();
    world.insert_pair_to::<DockedTo, Ship>(gun, DockedTo).unwrap();
    world.insert_resource(Clock);
    let new = PairExpr::builder;
    let bits = format!("#{}", land.to_bits());
    for (number, (builder, expected)) in [
        (new().with::<Ship>().up::<MountedOn>(), 2),
        (new().with::<Ship>().up::<MountedOn>().depth(2..), 1),
        (new().with::<Ship>().up::<MountedOn>().depth(..2), 2),
        (new().with::<Ship>().up::<MountedOn>().every_holder(), 3),
        (new().with::<Fuel>().down::<MountedOn>(), 2),
        (new().with::<Ship>().self_up::<MountedOn>(), 3),
        (new().with::<Ship>().only_itself(), 2),
        (new().optional::<Ship>().cascade::<MountedOn>().descending().with::<Fuel>(), 1),
        (new().pair::<LocatedIn>(&bits), 2),
        (new().pair_to::<DockedTo, Ship>(), 1),
        (new().with::<Fuel>().access(FieldAccess::InOut), 1),
        (new().all_of("Fleet").with::<Name>(), 2),
        (new().any_of("Fleet").with::<Name>(), 2),
        (new().none_of("Fleet").with::<Name>(), 1),
        (new().equal("$this", "Gun"), 1),
        (new().with::<Ship>().unequal("$this", "Fleet"), 1),
        (new().with::<Ship>().name_contains("$this", "ART"), 1),
        (new().singleton::<Clock>().with::<Fuel>(), 1),
        (new().with::<Fuel>().or(|any| any.with::<Ship>().with::<Fuel>()), 1),
        (
            new().with::<Ship>().without_scope(|inner| inner.pair::<MountedOn>("$x").with::<Ship>().on("$x")),
            1,
        ),
        (new().scope(|all| all.with::<Ship>().pair::<MountedOn>("$x")).with::<Ship>().on("$x"), 1),
    ]
    .into_iter()
    .enumerate()
    {
        let expr = builder.build().unwrap_or_else(|error| panic!("{number}: {error}"));
        assert_eq!(count(&mut world, &expr), expected, "{number}: {expr}");
    }
    assert!(new().with::<Ship>().depth(2..).build().is_err(), "there is no traversal");
    assert!(new().equal("$x", "Gun").access(FieldAccess::In).build().is_err(), "a comparison has no data");
    assert!(new().with::<Ship>().up::<DockedTo>().build().unwrap().compile(&mut world).is_err());
}

#[test]
fn a_variable_may_be_a_component() {
    let mut world = World::new();
    let ship = world.spawn((Ship, Fuel)).id();
    let text = format!("$x(#{})", ship.to_bits());
    let mut expr = PairExpr::parse(text).unwrap().compile(&mut world).unwrap();
    let mut found = Vec::new();
    expr.for_each(&world, |row| found.extend(row.var("x"))).unwrap();
    found.sort_unstable();
    let mut expected = vec![world.entity_of::<Ship>(), world.entity_of::<Fuel>()];
    expected.sort_unstable();
    assert_eq!(found, expected);
}
