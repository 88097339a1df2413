//! Files that are well-formed and wrong in meaning: each is an error of the file, or reported, and the rest of the file is there.

use crate::common::*;
use bevy_ecs::{entity::EntityHashMap, prelude::*, reflect::AppTypeRegistry};
use bevy_relations::prelude::*;
use bevy_relations_worlds::read;

/// An entity in a file.
fn entity(index: u32) -> Entity {
    Entity::from_raw_u32(index).unwrap()
}

/// A file with these components, each with the entity that has it.
fn file(components: &[(u32, &str)]) -> String {
    let entities = components.iter().map(|(source, component)| {
        format!("    {}: (components: {{ {component} }}),\n", entity(*source).to_bits())
    });
    format!("(\n  resources: {{}},\n  entities: {{\n{}  }},\n)", entities.collect::<String>())
}

/// The component of a relation, with these pairs.
fn pairs(relation: &str, pairs: &[&str]) -> String {
    format!(r#""bevy_relations::mirror::MirroredPairs<game::{relation}>": (pairs: [{}])"#, pairs.join(", "))
}

fn tag(target: u32) -> String {
    format!("(target: Entity({}), value: None, place: None)", entity(target).to_bits())
}

fn valued(target: u32, value: &str) -> String {
    format!("(target: Entity({}), value: Some({value}), place: None)", entity(target).to_bits())
}

/// Writes a file with wrong pairs to a new world that has the entities 1 to 4. Returns these, and what was reported.
#[track_caller]
fn apply_wrong(components: &[(u32, String)]) -> (World, [Entity; 4], Vec<String>) {
    let mut world = world();
    let mut map: EntityHashMap<Entity> =
        (1..=4).map(|index| (entity(index), world.spawn_empty().id())).collect();
    let all = [1, 2, 3, 4].map(|index| map[&entity(index)]);
    let components: Vec<(u32, &str)> =
        components.iter().map(|(source, text)| (*source, text.as_str())).collect();
    let text = file(&components);
    let read = scene(&world, &text);
    apply(&mut world, &read, &mut map);
    world.check_pairs().unwrap();
    let errors = take_errors();
    // What could be read and what could not are both done with.
    world.maintain_pairs();
    assert_eq!(take_errors(), [""; 0]);
    (world, all, errors)
}

/// The same, if one error is reported.
#[track_caller]
fn refused(components: &[(u32, String)], expected: &str) -> (World, [Entity; 4]) {
    let (world, all, errors) = apply_wrong(components);
    assert!(matches!(&*errors, [error] if error.contains(expected)), "{errors:#?}");
    (world, all)
}

/// What is wrong with a file that cannot be read.
#[track_caller]
fn unreadable(component: &str) -> String {
    let world = world();
    let types = world.resource::<AppTypeRegistry>().read();
    read(&types, &file(&[(1, component)])).err().unwrap_or_else(|| panic!("{component}")).to_string()
}

#[test]
fn a_cycle_leaves_out_the_pairs_of_one_entity() {
    let below = |target| pairs("Below", &[&tag(target)]);
    let (world, [a, b, c, _]) =
        refused(&[(1, below(2)), (2, below(3)), (3, below(1))], "would close the cycle");
    assert!(world.has_pair::<Below>(a, b) && world.has_pair::<Below>(b, c) && !world.has_pair::<Below>(c, a));
    let (world, [a, ..]) = refused(&[(1, below(1))], "would close the cycle");
    assert!(!world.has_pair::<Below>(a, a));
}

#[test]
fn a_second_exclusive_target_leaves_out_the_pairs_of_the_entity() {
    let (world, [a, ..]) = refused(&[(1, pairs("Mounted", &[&tag(2), &tag(3)]))], "exclusive");
    assert_eq!(world.pairs::<Mounted>().targets(a).count(), 0);
}

#[test]
fn a_second_pair_with_a_key_leaves_out_the_pairs_of_the_entity() {
    let equips = pairs("Equips", &[&valued(2, "Left"), &valued(3, "Left")]);
    refused(&[(1, equips)], "has the same key");
}

#[test]
fn a_target_without_the_component_that_it_must_have_leaves_out_the_pairs_of_the_entity() {
    refused(&[(1, pairs("LandsOn", &[&tag(2)]))], "must have `");
}

#[test]
fn a_target_that_is_none_of_those_allowed_leaves_out_the_pairs_of_the_entity() {
    let ranks = |target| pairs("Ranks", &[&tag(target)]);
    let likes = pairs("Likes", &[&tag(3)]);
    let (world, [a, b, c, _]) = refused(&[(1, ranks(2)), (1, likes)], "the target must be a child of");
    assert!(!world.has_pair::<Ranks>(a, b) && world.has_pair::<Likes>(a, c));
    // In a world where it is one, the same file is right.
    let mut world = crate::common::world();
    let ranks_entity = world.register_relation::<Ranks>().unwrap();
    let [a, captain] = [world.spawn_empty().id(), world.spawn(ChildOf(ranks_entity)).id()];
    let mut map = EntityHashMap::from_iter([(entity(1), a), (entity(2), captain)]);
    let read = scene(&world, &file(&[(1, &ranks(2))]));
    apply(&mut world, &read, &mut map);
    assert_eq!(take_errors(), [""; 0]);
    assert!(world.has_pair::<Ranks>(a, captain));
}

#[test]
fn a_target_that_is_not_there_leaves_out_the_pair() {
    let likes = pairs("Likes", &[&tag(2), &tag(9), &tag(3)]);
    let (world, [a, b, c, _]) = refused(&[(1, likes)], "not alive");
    assert!(world.pairs::<Likes>().targets(a).eq([b, c]));
    let nobody = format!("(target: Entity({}), value: None, place: None)", Entity::PLACEHOLDER.to_bits());
    refused(&[(1, pairs("Likes", &[&nobody]))], "not alive");
}

#[test]
fn of_a_pair_twice_the_last_counts() {
    let owes = |much| valued(2, &format!("(much: {much}, witnesses: [])"));
    let (world, [a, b, ..]) = refused(&[(1, pairs("Owes", &[&owes(1), &owes(2)]))], "twice");
    assert_eq!(world.pair_value::<Owes>(a, b).unwrap().much, 2);
}

#[test]
fn two_values_of_a_symmetric_pair_are_one() {
    let knows = |target, much| pairs("Knows", &[&valued(target, &format!("({much})"))]);
    let (world, [a, b, ..], errors) = apply_wrong(&[(1, knows(2, 1)), (2, knows(1, 2))]);
    assert_eq!(errors, [""; 0]);
    assert_eq!(world.pair_value::<Knows>(a, b), world.pair_value::<Knows>(b, a));
    // One side does not know of it: the last one counts.
    let (world, [a, b, ..], errors) = apply_wrong(&[(1, knows(2, 1)), (2, pairs("Knows", &[]))]);
    assert_eq!(errors, [""; 0]);
    assert!(!world.has_pair::<Knows>(a, b));
}

#[test]
fn a_value_that_is_missing_or_incomplete_leaves_out_the_pair() {
    let whole = valued(3, "(much: 1, witnesses: [])");
    let owes = |wrong: &str| pairs("Owes", &[wrong, &whole]);
    refused(&[(1, owes(&tag(2)))], "it needs a value");
    for wrong in ["()", "(much: 1)", "(witnesses: [])"] {
        let (world, [a, _, c, _]) = refused(&[(1, owes(&valued(2, wrong)))], "its value is no `game::Owes`");
        assert!(world.pairs::<Owes>().targets(a).eq([c]));
    }
}

#[test]
fn a_pair_without_a_target_is_left_out() {
    for wrong in ["()", "(value: None)", "(target: Type(()))"] {
        let (world, [a, b, ..], errors) = apply_wrong(&[(1, pairs("Likes", &[wrong, &tag(2)]))]);
        assert!(matches!(&*errors, [error] if error.contains("left out")), "{wrong}: {errors:?}");
        assert!(world.pairs::<Likes>().targets(a).eq([b]));
    }
}

#[test]
fn a_component_without_pairs_removes_them() {
    for wrong in ["()", "(pairs: [])"] {
        let empty = format!(r#""bevy_relations::mirror::MirroredPairs<game::Likes>": {wrong}"#);
        let (world, [a, ..], errors) = apply_wrong(&[(1, pairs("Likes", &[&tag(2)])), (1, empty)]);
        assert_eq!(errors, [""; 0]);
        assert_eq!(world.pairs::<Likes>().targets(a).count(), 0);
    }
}

#[test]
fn types_and_values_of_types_are_checked() {
    let begins = |path: &str, value: &str| {
        pairs(
            "Begins",
            &[&format!(r#"(target: Type((path: "{path}", value: {value})), value: None, place: None)"#)],
        )
    };
    let some = |value: &str| format!("Some({{ {value} }})");
    refused(&[(1, begins("game::Nowhere", "None"))], "`game::Nowhere`, is not in the type registry");
    let name = some(r#""bevy_ecs::name::Name": "x""#);
    refused(&[(1, begins("game::Place", &name))], "its value is no `game::Place`");
    let half = some(r#""game::Place": (distance: 3)"#);
    refused(&[(1, begins("game::Place", &half))], "its value is no `game::Place`");
    refused(&[(1, begins("game::Place", "None"))], "it needs a value");
    let owner =
        |entity: Entity| some(&format!(r#""game::Place": (distance: 3, owner: {})"#, entity.to_bits()));
    let (world, [a, b, ..], errors) = apply_wrong(&[(1, begins("game::Place", &owner(entity(2))))]);
    assert_eq!(errors, [""; 0]);
    let pair = (world.get_entity_of::<Begins>().unwrap(), world.get_entity_of::<Place>().unwrap());
    assert_eq!(world.pair_value_by_id(a, pair), Some(&Place { distance: 3, owner: b }));
}

#[test]
fn any_place_in_an_order_is_taken() {
    let queues = |place: u64| {
        pairs(
            "Queues",
            &[&format!("(target: Entity({}), value: None, place: Some({place}))", entity(4).to_bits())],
        )
    };
    let (world, [a, b, c, d], errors) =
        apply_wrong(&[(1, queues(u64::MAX)), (2, queues(u64::MAX)), (3, queues(0))]);
    assert_eq!(errors, [""; 0]);
    assert!(world.pairs::<Queues>().sources(d).eq([c, a, b]));
}

#[test]
fn unknown_relations_and_wrong_types_of_values_are_errors_of_the_file() {
    let likes = |wrong: &str| pairs("Likes", &[wrong]);
    for (component, expected) in [
        (pairs("Hates", &[&tag(2)]), "MirroredPairs<game::Hates>"),
        (pairs("Owes", &[&valued(2, "(much: \"one\", witnesses: [])")]), "Expected integer"),
        (pairs("Owes", &[&valued(2, "(much: -1, witnesses: [])")]), "out of bounds"),
        (pairs("Knows", &[&valued(2, "()")]), "Expected integer"),
        (pairs("Owes", &[&valued(2, "(more: 1)")]), "more"),
        (pairs("Equips", &[&valued(2, "Middle")]), "Middle"),
        (likes("(target: Entity(\"a\"))"), "Expected integer"),
        (likes("(target: Entity(0))"), "invalid entity"),
        (likes("(target: Entity())"), "Expected integer"),
        (likes("(target: Name(\"a\"))"), "Name"),
        (likes("(target: None)"), "None"),
        (likes("(targets: [])"), "targets"),
    ] {
        let error = unreadable(&component);
        assert!(
            error.contains(expected) && error.starts_with(|first: char| first.is_ascii_digit()),
            "{error}"
        );
    }
    // `transient` relations are not in files.
    let mut world = world();
    let read = scene(&world, &file(&[(1, &pairs("Sees", &[&tag(1)]))]));
    let error = read.write_to_world(&mut world, &mut EntityHashMap::default()).unwrap_err().to_string();
    assert!(error.contains("MirroredPairs<game::Sees>"), "{error}");
    world.check_pairs().unwrap();
}

#[test]
fn relationships_of_bevy_are_checked_too() {
    let child_of = |target: u32| format!(r#""bevy_ecs::hierarchy::ChildOf": ({})"#, entity(target).to_bits());
    let (world, [a, b, ..], errors) = apply_wrong(&[(1, child_of(2)), (2, child_of(1))]);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(!(world.has_pair::<ChildOf>(a, b) && world.has_pair::<ChildOf>(b, a)));
    let (world, [a, ..]) = refused(&[(1, child_of(9))], "not alive");
    assert!(world.get::<ChildOf>(a).is_none(), "Bevy would leave the component");
}
