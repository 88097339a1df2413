//! What expressions declare as system parameters, and what is refused.

use crate::common::panic_message;
use bevy_ecs::{prelude::*, query::FilteredAccessSet, reflect::AppTypeRegistry, system::SystemAccess};
use bevy_reflect::Reflect;
use bevy_relations::{
    expr::{AnyExpression, ExprParam, PairExpr},
    prelude::*,
};

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Tag;

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Fuel(u32);

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Size(u32);

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Course {
    goal: Entity,
}

#[derive(Component, Reflect)]
#[component(immutable)]
#[reflect(Component)]
struct Serial(u32);

#[derive(Resource, Reflect)]
#[reflect(Resource)]
struct Time(u32);

#[derive(Relation)]
struct DockedTo;

#[derive(Relation)]
struct Owes {
    _much: u32,
}

fn world() -> World {
    let mut world = World::new();
    let types = AppTypeRegistry::default();
    {
        let mut types = types.write();
        types.register::<Tag>();
        types.register::<Fuel>();
        types.register::<Size>();
        types.register::<Course>();
        types.register::<Serial>();
        types.register::<Time>();
    }
    world.insert_resource(types);
    world.insert_resource(Time(0));
    world.register_relation::<DockedTo>().unwrap();
    world.register_relation::<Owes>().unwrap();
    world
}

/// What a system with this expression declares.
fn access(world: &mut World, text: &str) -> FilteredAccessSet {
    let expr = PairExpr::parse(text).unwrap();
    let system = (ExprParam(expr),).build_state(world).build_system(|_: ExprQuery<AnyExpression>| ());
    initialise(world, system)
}

fn initialise<M>(world: &mut World, system: impl IntoSystem<(), (), M>) -> FilteredAccessSet {
    match IntoSystem::into_system(system).initialize(world) {
        SystemAccess::Shared(access) => access,
        other => panic!("{other:?}"),
    }
}

/// The values that are read and written beside the store of pairs, by the names of their types; `?` are others.
fn declared(world: &mut World, text: &str) -> (Vec<&'static str>, Vec<&'static str>) {
    let (all, store) = (access(world, text), access(world, "Tag()"));
    let (access, store) = (all.combined_access(), store.combined_access());
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for (id, _) in world.components().iter_registered() {
        let components = world.components();
        let known = [
            (components.component_id::<Fuel>(), "Fuel"),
            (components.component_id::<Size>(), "Size"),
            (components.component_id::<Course>(), "Course"),
            (components.component_id::<Serial>(), "Serial"),
            (components.component_id::<Time>(), "Time"),
            (components.component_id::<Name>(), "Name"),
            (components.component_id::<ChildOf>(), "ChildOf"),
            (components.component_id::<Children>(), "Children"),
        ];
        let name = known.iter().find(|known| known.0 == Some(id)).map_or("?", |known| known.1);
        if access.has_write(id) {
            writes.push(name);
        } else if access.has_read(id) && !store.has_read(id) {
            reads.push(name);
        }
    }
    reads.sort_unstable();
    writes.sort_unstable();
    (reads, writes)
}

#[test]
fn an_expression_reads_and_writes_what_its_terms_say_and_nothing_else() {
    let mut world = world();
    for (text, reads, writes) in [
        ("Fuel", &["Fuel"][..], &[][..]),
        ("[in] Fuel", &["Fuel"], &[]),
        ("[inout] Fuel", &[], &["Fuel"]),
        ("[out] Fuel", &[], &["Fuel"]),
        ("[none] Fuel", &[], &[]),
        ("Tag, (DockedTo, *), !Fuel", &[], &[]),
        ("?Fuel, Tag", &["Fuel"], &[]),
        ("Fuel, (DockedTo, $p), [inout] Size($p)", &["Fuel"], &["Size"]),
        ("Fuel || Size", &["Fuel", "Size"], &[]),
        ("Tag, !{ Fuel, (DockedTo, $p), Size($p) }", &[], &[]),
        ("{ Fuel }, Tag", &["Fuel"], &[]),
        ("Time($)", &["Time"], &[]),
        ("[inout] Time(Time)", &[], &["Time"]),
        ("Tag()", &[], &[]),
        ("[inout] Tag, [out] (DockedTo, *)", &[], &[]),
        ("Tag, [out] !Fuel", &[], &[]),
        ("Tag, !{ [inout] Fuel }", &[], &[]),
        ("[inout] Fuel, !{ (DockedTo, $p), [out] Fuel($p) }", &[], &["Fuel"]),
        ("Serial", &["Serial"], &[]),
        ("(Owes, $to)", &["?"], &[]),
        ("[none] (Owes, $to)", &[], &[]),
        ("!(Owes, _), Tag", &[], &[]),
        ("[none] Course, Course.goal($this, $g)", &["Course"], &[]),
        ("Tag, $this ~= \"art\"", &["Name"], &[]),
        ("and|Tag", &[], &[]),
        ("(ChildOf, *)", &["Children"], &[]),
        ("Size(up ChildOf), Tag", &["Size"], &[]),
        ("Tag, $this == \"Sol\"", &["?", "ChildOf", "Children", "Name"], &[]),
        ("Tag, (DockedTo, Sol)", &["?", "ChildOf", "Children", "Name"], &[]),
    ] {
        assert_eq!(declared(&mut world, text), (reads.to_vec(), writes.to_vec()), "{text}");
    }
}

#[test]
fn two_systems_run_side_by_side_unless_one_writes_what_the_other_reads() {
    let mut world = world();
    let reads = access(&mut world, "Fuel, (DockedTo, $p), Size($p)");
    let writes = access(&mut world, "Fuel, (DockedTo, $p), [inout] Size($p)");
    let only_asks = access(&mut world, "[none] Fuel, (DockedTo, $p), [none] Size($p)");
    assert!(reads.is_compatible(&reads));
    assert!(!reads.is_compatible(&writes) && !writes.is_compatible(&writes));
    assert!(only_asks.is_compatible(&writes));
    let beside = initialise(&mut world, |_: Query<&mut Size>| ());
    assert!(!reads.is_compatible(&beside) && only_asks.is_compatible(&beside));
    let pairs = initialise(&mut world, |_: PairsMut<Owes>| ());
    assert!(reads.is_compatible(&pairs));
    assert!(!access(&mut world, "(Owes, $to)").is_compatible(&pairs));
}

#[derive(Expression)]
#[expr("Tag, (DockedTo, $p), Size($p)")]
struct Reads;

#[derive(Expression)]
#[expr("Tag, (DockedTo, $p), [inout] Size($p)")]
struct Writes;

#[derive(Expression)]
#[expr("[inout] Fuel, Tag")]
struct WritesOwn;

/// The message with which a system is refused.
fn refusal<M>(system: impl IntoSystem<(), (), M>) -> Option<String> {
    panic_message(|| drop(IntoSystem::into_system(system).initialize(&mut world())))
}

#[track_caller]
fn refused<M>(system: impl IntoSystem<(), (), M>, words: &[&str]) {
    let message = refusal(system).expect("this must be refused");
    for word in words.iter().chain(&["B0001"]) {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
}

#[test]
fn a_conflict_is_refused_by_name() {
    fn reader_after(_: Query<&mut Size>, _: ExprQuery<Reads>) {}
    fn writer_after(_: Query<&Size>, _: ExprQuery<Writes>) {}
    fn reader_before(_: ExprQuery<Reads>, _: Query<&mut Size>) {}
    fn twice(_: ExprQuery<Writes>, _: ExprQuery<Reads>) {}
    fn data_after(_: Query<&mut Fuel>, _: ExprQuery<Reads, &Fuel>) {}
    refused(reader_after, &["ExprQuery<Reads>", "`Size($p)`"]);
    refused(writer_after, &["ExprQuery<Writes>", "`[inout] Size($p)`"]);
    refused(reader_before, &[]);
    refused(twice, &["ExprQuery<Reads>", "`Size($p)`"]);
    refused(data_after, &["ExprQuery<Reads, &Fuel>"]);
}

#[test]
fn data_may_not_meet_fields_of_other_entities() {
    fn writes_what_is_read(_: ExprQuery<Reads, &mut Size>) {}
    fn reads_what_is_written(_: ExprQuery<Writes, &Size>) {}
    fn both_write_own(_: ExprQuery<WritesOwn, &mut Fuel>) {}
    fn reads_own_that_is_written(_: ExprQuery<WritesOwn, &Fuel>) {}
    refused(writes_what_is_read, &["ExprQuery<Reads, &mut Size>", "`Size($p)`", "ParamSet"]);
    refused(reads_what_is_written, &["ExprQuery<Writes, &Size>", "`[inout] Size($p)`", "ParamSet"]);
    refused(both_write_own, &["ExprQuery<WritesOwn, &mut Fuel>", "`[inout] Fuel`"]);
    refused(reads_own_that_is_written, &["ExprQuery<WritesOwn, &Fuel>", "`[inout] Fuel`"]);
}

#[test]
fn what_does_not_meet_is_accepted() {
    fn both_read(_: Query<&Size>, _: ExprQuery<Reads, &Size>, _: ExprQuery<Reads>) {}
    fn other_components(_: ExprQuery<Reads, &mut Fuel>, _: Query<&Size>) {}
    fn other_entities(_: ExprQuery<Reads, &mut Fuel>, _: Query<&mut Fuel, Without<Tag>>) {}
    fn pairs(
        _: ExprQuery<Writes>,
        _: Pairs<DockedTo>,
        _: Query<(&Fuel, Targets<DockedTo>)>,
        _: PairsMut<Owes>,
    ) {
    }
    fn set(_: ParamSet<(ExprQuery<Writes>, ExprQuery<Reads>, Query<&mut Size>)>) {}
    fn mixed(_: ExprQuery<Reads>, _: Commands, _: Res<Time>, _: Local<u32>) {}
    for message in [
        refusal(both_read),
        refusal(other_components),
        refusal(other_entities),
        refusal(pairs),
        refusal(set),
        refusal(mixed),
    ] {
        assert_eq!(message, None);
    }
}

#[test]
fn what_may_not_be_written_is_an_error_at_its_place() {
    let mut world = world();
    let mut error =
        |text: &str| PairExpr::parse(text).unwrap().compile(&mut world).err().unwrap().to_string();
    assert!(error("Tag, [inout] Serial").starts_with("1:6: the component is immutable"));
    assert!(error("Tag, [out] Serial").starts_with("1:6: the component is immutable"));
    let twice = error("[inout] Fuel, (DockedTo, $p), [out] Fuel($p)");
    assert!(twice.starts_with("1:31: another field of the row writes the component"), "{twice}");
}

#[test]
fn an_access_to_what_has_no_value_is_accepted_as_in_flecs_and_gives_nothing_to_write() {
    let mut world = world();
    let port = world.spawn_empty().id();
    let ship = world.spawn(Tag).id();
    world.insert_pair(ship, DockedTo, port).unwrap();
    for text in ["Tag, [inout] (DockedTo, *)", "Tag, [out] !Fuel", "Tag, !{ [inout] Fuel }, [inout] ?Fuel"] {
        let mut expr = PairExpr::parse(text).unwrap().compile(&mut world).unwrap();
        let mut rows = 0;
        expr.for_each_mut(&mut world, |mut row| {
            rows += 1;
            for field in 1..row.as_row().field_count() {
                assert!(row.get_mut::<Fuel>(field).is_err(), "{text}");
            }
        })
        .unwrap();
        assert_eq!(rows, 1, "{text}");
    }
}

#[test]
fn an_expression_with_one_writing_field_may_read_the_component_too() {
    let mut world = world();
    assert_eq!(declared(&mut world, "Fuel, (DockedTo, $p), [inout] Fuel($p)"), (vec![], vec!["Fuel"]));
    let ship = world.spawn(Fuel(1)).id();
    let port = world.spawn(Fuel(5)).id();
    world.insert_pair(ship, DockedTo, port).unwrap();
    let expr = PairExpr::parse("Fuel, (DockedTo, $p), [inout] Fuel($p)").unwrap();
    let mut system =
        (ExprParam(expr),).build_state(&mut world).build_system(|mut docked: ExprQuery<AnyExpression>| {
            docked
                .for_each_mut(|(), mut row| {
                    assert!(row.get_mut::<Fuel>(0).is_err());
                    row.get_mut::<Fuel>(2).unwrap().0 += 1;
                })
                .unwrap();
        });
    system.initialize(&mut world);
    system.run((), &mut world).unwrap();
    assert_eq!((world.get::<Fuel>(ship).unwrap().0, world.get::<Fuel>(port).unwrap().0), (1, 6));
}
