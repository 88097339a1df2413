//! Subtypes of components and tags, of either kind, and lists of lists.

use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{
    expr::{AnyExpression, ExprParam, PairExpr},
    prelude::*,
};

#[derive(Component)]
struct Vehicle;

#[derive(Component)]
struct Boat(#[expect(dead_code, reason = "a component with a value")] u8);

/// A world in which `Vehicle` and `Boat` are known by their names and may have subtypes.
fn world() -> World {
    let mut world = World::new();
    world.register_component_name::<Vehicle>("Vehicle").register_component_name::<Boat>("Boat");
    for entity in [world.entity_of::<Vehicle>(), world.entity_of::<Boat>()] {
        world.set_traits(entity, RelationTraits::new().inheritable()).unwrap();
    }
    world
}

fn tag(world: &mut World, name: &'static str) -> Entity {
    world.spawn(Name::new(name)).id()
}

fn is_a(world: &mut World, sub: Entity, base: Entity) {
    world.insert_pair(sub, IsA, base).unwrap();
}

/// The names of `$this`, sorted, on the world and in a system.
#[track_caller]
fn found(world: &mut World, text: &str) -> String {
    fn join(mut names: Vec<String>) -> String {
        names.sort_unstable();
        names.join(" ")
    }
    let expr = PairExpr::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let mut compiled = expr.compile(world).unwrap_or_else(|error| panic!("{error}"));
    let name =
        |world: &World, entity: Entity| world.get::<Name>(entity).map_or("?".to_owned(), ToString::to_string);
    let mut names = Vec::new();
    compiled.for_each(world, |row| names.push(name(world, row.this().unwrap()))).unwrap();
    assert_eq!(compiled.count(world), Ok(names.len()), "{text}");
    let system = (ExprParam(expr),).build_state(world).build_system(|mut query: ExprQuery<AnyExpression>| {
        let mut found = Vec::new();
        query.for_each_row(|row| found.extend(row.this())).unwrap();
        found
    });
    let in_system = world.run_system_once(system).unwrap();
    let in_system = in_system.into_iter().map(|entity| name(world, entity)).collect();
    let names = join(names);
    assert_eq!(join(in_system), names, "{text}");
    names
}

#[test]
fn a_component_may_be_a_kind_of_a_tag() {
    let mut world = world();
    let thing = tag(&mut world, "Thing");
    let (vehicle, boat) = (world.entity_of::<Vehicle>(), world.entity_of::<Boat>());
    is_a(&mut world, vehicle, thing);
    is_a(&mut world, boat, vehicle);
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| tag(&mut world, name));
    world.insert_tag(a, thing).unwrap();
    world.entity_mut(b).insert(Vehicle);
    world.entity_mut(c).insert(Boat(1));
    world.entity_mut(d).insert(ChildOf(c));
    for (text, expected) in [
        ("Thing", "a b c"),
        ("Thing|self", "a"),
        ("Vehicle", "b c"),
        ("Thing($this), $this != a", "b c"),
        ("!Thing, $this ~= \"d\"", "d"),
        ("$this == b, Thing", "b"),
        ("Thing(up ChildOf)", "d"),
        ("Thing(self|up ChildOf)", "a b c d"),
        ("?Thing(up ChildOf), $this == c.d", "d"),
        ("(ChildOf, $x), Thing($x)", "d"),
        ("Thing || Boat", "a b c"),
        ("$this ~= \"d\", !{Thing}", "d"),
    ] {
        assert_eq!(found(&mut world, text), expected, "{text}");
    }
    let mut expr = PairExpr::parse("Thing(c)").unwrap().compile(&mut world).unwrap();
    let row = expr.first(&world).unwrap().unwrap();
    assert_eq!(row.id(0), Some(bevy_relations::expr::FieldId::Entity(boat)));
    assert!(row.get::<Boat>(0).is_some());
    let mut any = PairExpr::parse("Thing(_)").unwrap().compile(&mut world).unwrap();
    assert_eq!(any.count(&world), Ok(1));
}

#[test]
fn a_tag_may_be_a_kind_of_a_component() {
    let mut world = world();
    let vehicle = world.entity_of::<Vehicle>();
    let [bike, race] = ["Bike", "Race"].map(|name| tag(&mut world, name));
    let [a, b, c] = ["a", "b", "c"].map(|name| tag(&mut world, name));
    world.entity_mut(a).insert(Vehicle);
    world.insert_tag(b, bike).unwrap();
    world.insert_tag(c, race).unwrap();
    // Kept over the changes: the subtypes come later.
    let mut kept = PairExpr::parse("Vehicle").unwrap().compile(&mut world).unwrap();
    assert_eq!(kept.count(&world), Ok(1));
    is_a(&mut world, bike, vehicle);
    assert_eq!(kept.count(&world), Ok(2));
    is_a(&mut world, race, bike);
    assert_eq!(kept.count(&world), Ok(3));
    for (text, expected) in [
        ("Vehicle", "a b c"),
        ("Vehicle|self", "a"),
        ("Bike", "b c"),
        ("!Vehicle, Bike", ""),
        ("$this == c, Vehicle", "c"),
        ("$this == c, !Vehicle", ""),
        ("Vehicle, Race", "c"),
    ] {
        assert_eq!(found(&mut world, text), expected, "{text}");
    }
    world.remove_pair::<IsA>(race, bike);
    assert_eq!(kept.count(&world), Ok(2));
    world.check_pairs().unwrap();
}

#[test]
fn a_component_without_subtypes_of_its_own_takes_none() {
    let mut world = World::new();
    world.register_component_name::<Vehicle>("Vehicle");
    let vehicle = world.entity_of::<Vehicle>();
    let bike = tag(&mut world, "Bike");
    assert!(
        world.insert_pair(bike, IsA, vehicle).is_err(),
        "a Rust component is final unless it says otherwise"
    );
}

#[test]
fn an_entry_of_a_list_may_be_a_list() {
    let mut world = world();
    let [outer, inner, core, red, big, old] =
        ["outer", "inner", "core", "Red", "Big", "Old"].map(|name| tag(&mut world, name));
    world.insert_tag(core, old).unwrap();
    world.insert_tag(inner, big).unwrap();
    world.insert_tag(inner, core).unwrap();
    world.entity_mut(inner).insert(Vehicle);
    world.insert_tag(outer, red).unwrap();
    world.insert_tag(outer, inner).unwrap();
    let [all, most, some, other, named] =
        ["all_", "most", "some", "none", "that"].map(|name| tag(&mut world, name));
    for (entity, tags) in
        [(all, &[red, big, old][..]), (most, &[red, big]), (some, &[old]), (named, &[red, inner])]
    {
        for &tag in tags {
            world.insert_tag(entity, tag).unwrap();
        }
    }
    world.entity_mut(all).insert(Vehicle);
    world.insert_tag(other, all).unwrap();
    let mut among =
        |text: &str| found(&mut world, &format!("{text}, $this != outer, $this != inner, $this != core"));
    assert_eq!(among("and|outer"), "all_ that");
    assert_eq!(among("and|inner"), "all_");
    assert_eq!(among("and|core"), "all_ some");
    assert_eq!(among("or|outer"), "all_ most some that");
    assert_eq!(among("not|outer, $this ~= \"n\""), "none");
}

#[test]
fn lists_in_each_other_end() {
    let mut world = World::new();
    let [a, b, x] = ["a", "b", "x"].map(|name| tag(&mut world, name));
    let red = tag(&mut world, "Red");
    world.insert_tag(a, b).unwrap();
    world.insert_tag(b, a).unwrap();
    world.insert_tag(b, red).unwrap();
    world.insert_tag(x, red).unwrap();
    assert_eq!(found(&mut world, "and|a, Red"), "b x");
    let mut before = red;
    for _ in 0..3_000 {
        let list = world.spawn_empty().id();
        world.insert_tag(list, before).unwrap();
        before = list;
    }
    let bits = format!("and|#{}(x)", before.to_bits());
    let mut expr = PairExpr::parse(bits).unwrap().compile(&mut world).unwrap();
    let start = expr.count(&world);
    assert_eq!(start, Ok(1), "a long chain of lists is followed without recursion");
}
