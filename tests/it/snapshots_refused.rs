//! Saves that are broken: cut off, with other bytes, or well-formed and wrong in meaning. Each gives an error that says where,
//! and leaves the world as it was.
//!
//! `PAIR_SAVE_CASES` is the number of broken saves; before a release it is 10,000.

use crate::{
    common::{Random, fewer, refused, take_reported_errors},
    snapshots::take,
    snapshots_model::{Pairs, Relations},
    snapshots_saves::{from_json, from_ron, to_json, to_ron, world},
};
use bevy_ecs::{entity::EntityHashMap, prelude::*};
use bevy_relations::{prelude::*, snapshot::*};

#[derive(Relation)]
#[relation(exclusive, one_of)]
struct Colour;

#[derive(Relation)]
#[relation(transient)]
struct Hovers;

#[derive(Component)]
struct Ship;

#[derive(Relation)]
#[relation(source(Ship))]
struct Docks;

/// A world with pairs of every kind, its relations, and its entities.
fn full_world() -> (World, Relations, Vec<Entity>) {
    let (mut world, relations) = world();
    world.register_relation::<Hovers>().unwrap();
    world.register_relation::<Docks>().unwrap();
    let colour = world.register_relation::<Colour>().unwrap();
    let mut entities: Vec<Entity> = (0..8).map(|n| world.spawn(SaveId(n)).id()).collect();
    let red = world.spawn((SaveId(8), Name::new("red"), ChildOf(colour))).id();
    world.insert_pair(entities[0], Colour, red).unwrap();
    let mut random = Random(7);
    for _ in 0..40 {
        relations.change(&mut world, &mut random, &entities);
    }
    // Every entity is in a save.
    for pair in entities.chunks(2) {
        world.insert_pair(pair[0], crate::snapshots::Likes, pair[1]).unwrap();
    }
    entities.push(red);
    take_reported_errors();
    (world, relations, entities)
}

/// What must not change.
fn state(world: &World, relations: &Relations, entities: &[Entity]) -> (Pairs, usize, u32) {
    let colours = entities.iter().filter(|&&entity| world.pairs::<Colour>().has_any(entity)).count();
    (relations.read(world, entities), colours, world.entities().count_spawned())
}

/// Tries to load; a save that is refused changes nothing, one that is not leaves a sound world.
fn attempt(
    (world, relations, entities): &mut (World, Relations, Vec<Entity>),
    before: &(Pairs, usize, u32),
    read: Result<SavedPairs, String>,
) -> Option<String> {
    let error = match read {
        Err(error) => error,
        Ok(saved) => match saved.load(world) {
            Err(error) => error.to_string(),
            Ok(_) => {
                world.check_pairs().unwrap();
                return None;
            }
        },
    };
    assert!(!error.is_empty());
    assert_eq!(&state(world, relations, entities), before, "{error}");
    Some(error)
}

/// How many saves are broken, half of them as texts and half in meaning.
fn cases() -> usize {
    let given = std::env::var("PAIR_SAVE_CASES").ok().and_then(|value| value.parse().ok());
    fewer(given.unwrap_or(1000)) / 2
}

/// Changes a text somewhere.
fn corrupt(text: &str, random: &mut Random) -> String {
    let mut bytes: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len().max(1));
        let end = (at + 1 + random.below(20)).min(bytes.len());
        match random.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                bytes[at] =
                    one_of(random, &['(', ')', '[', ']', '{', '}', ':', ',', '"', '-', '0', '9', 'N']);
            }
            3 => {
                let chunk: Vec<char> = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, chunk);
            }
            4 => {
                let number: &str =
                    one_of(random, &["4294967295", "-1", "18446744073709551616", "1e300", "99"]);
                bytes.splice(at..at, number.chars());
            }
            5 => {
                let nested = ["(", "[", "{", "Some("][random.below(4)].repeat(5000);
                bytes.splice(at..at, nested.chars());
            }
            6 => {
                let all: String = bytes.iter().collect();
                let digit = random.below(9).to_string();
                let other = random.below(12).to_string();
                bytes = all.replacen(&format!(" {digit},"), &format!(" {other},"), 1).chars().collect();
            }
            _ => bytes.swap(at, end - 1),
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes.into_iter().collect()
}

fn one_of<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len())]
}

#[test]
fn broken_texts_are_refused_and_change_nothing() {
    let mut full = full_world();
    let saved = take(&mut full.0).to_saved(&full.0).unwrap();
    let texts = [to_ron(&full.0, &saved), to_json(&full.0, &saved)];
    let (mut before, mut loaded) = (state(&full.0, &full.1, &full.2), 0);
    for case in 0..cases() {
        let mut random = Random((case as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let format = case % 2;
        let text = corrupt(&texts[format], &mut random);
        let read = if format == 0 { from_ron(&full.0, &text) } else { from_json(&full.0, &text) };
        if attempt(&mut full, &before, read).is_none() {
            loaded += 1;
            full = full_world();
            before = state(&full.0, &full.1, &full.2);
        }
    }
    // Some changes leave a save that means something else, or the same.
    assert!(loaded <= cases() / 2, "{loaded}");
    take_reported_errors();
}

/// A change of a save, and what the error must say.
type Wrong = (fn(&mut SavedPairs, &mut Random), &'static str);

fn relation<'a>(saved: &'a mut SavedPairs, name: &str) -> &'a mut SavedRelation {
    if !saved.relations.iter().any(|relation| relation.name == name) {
        saved.relations.push(SavedRelation { name: name.into(), ..Default::default() });
    }
    saved.relations.iter_mut().find(|relation| relation.name == name).unwrap()
}

fn pair(source: u32, target: u32) -> SavedPair {
    SavedPair { source, target, value: None }
}

fn set(saved: &mut SavedPairs, name: &str, pairs: impl IntoIterator<Item = SavedPair>) {
    let relation = relation(saved, name);
    relation.pairs = pairs.into_iter().collect();
    relation.orders.clear();
}

const WRONG: &[Wrong] = &[
    (
        |saved, random| {
            let start = random.below(4) as u32;
            set(
                saved,
                "MountedOn",
                [pair(start, start + 1), pair(start + 1, start + 2), pair(start + 2, start)],
            );
        },
        "would close the cycle",
    ),
    (|saved, _| set(saved, "Before", [pair(3, 3)]), "would close the cycle"),
    (|saved, _| set(saved, "ChildOf", [pair(1, 2), pair(2, 1)]), "would close the cycle"),
    (
        |saved, random| {
            let source = random.below(5) as u32;
            set(saved, "MountedOn", [pair(source, 5), pair(source, 6)]);
        },
        "the relation is exclusive",
    ),
    (|saved, _| set(saved, "MarriedTo", [pair(1, 2), pair(2, 3)]), "the relation is exclusive"),
    (
        |saved, _| {
            let value = |text: &str| Some(Box::new(text.to_owned()) as Box<dyn bevy_reflect::PartialReflect>);
            set(saved, "Eats", [SavedPair { source: 0, target: 1, value: value("much") }]);
        },
        "relation `Eats`, pair 0, value: the value must be a ",
    ),
    (|saved, _| set(saved, "Knows", [pair(9, 1)]), "relation `Knows`, pair 0: cannot insert (Knows, "),
    (
        |saved, _| {
            let value: Option<Box<dyn bevy_reflect::PartialReflect>> = Some(Box::new(5_u32));
            set(saved, "Likes", [pair(0, 1), SavedPair { source: 0, target: 2, value }]);
        },
        "relation `Likes`, pair 1, value: such pairs have no values",
    ),
    (
        |saved, random| {
            let count = saved.entities.len() as u32;
            set(saved, "Likes", [pair(0, 1), pair(0, count + random.below(3) as u32)]);
        },
        "relation `Likes`, pair 1, target: there is no entity ",
    ),
    (
        |saved, _| set(saved, "Likes", [pair(u32::MAX, 1)]),
        "relation `Likes`, pair 0, source: there is no entity 4294967295",
    ),
    (|saved, _| set(saved, "Loathes", [pair(0, 1)]), "no relation of that name is registered"),
    (|saved, _| set(saved, "Hovers", [pair(0, 1)]), "`Hovers`, which is declared `transient`"),
    (|saved, _| set(saved, "Colour", [pair(0, 1)]), "the target must be a child of"),
    (|saved, _| set(saved, "Docks", [pair(0, 1)]), "the source must have"),
    (|saved, _| set(saved, "CrewOf", [pair(4, 4)]), "relation `CrewOf`, pair 0: "),
    (
        |saved, _| {
            let equips = |target| {
                let value: Option<Box<dyn bevy_reflect::PartialReflect>> =
                    Some(Box::new(crate::snapshots::Equips(1)));
                SavedPair { source: 0, target, value }
            };
            set(saved, "Equips", [equips(1), equips(2)]);
        },
        "has the same key",
    ),
    (
        |saved, random| {
            let at = random.below(4) as u32;
            set(saved, "Likes", [pair(at, 1), pair(0, 5), pair(at, 1)]);
        },
        "relation `Likes`, pair 2, target: the pair is the same as pair 0",
    ),
    (
        |saved, _| {
            let trades = |source, target| {
                let value: Option<Box<dyn bevy_reflect::PartialReflect>> =
                    Some(Box::new(crate::snapshots::Trades(1)));
                SavedPair { source, target, value }
            };
            set(saved, "Trades", [trades(1, 2), trades(2, 1)]);
        },
        "relation `Trades`, pair 1, value: the other direction of the pair, pair 0, has a value already",
    ),
    (
        |saved, _| {
            set(saved, "Follows", [pair(0, 1), pair(2, 1)]);
            relation(saved, "Follows").orders.push((1, vec![2, 2]));
        },
        "relation `Follows`, order 0: entity 2 is listed twice",
    ),
    (
        |saved, _| {
            set(saved, "Follows", [pair(0, 1)]);
            relation(saved, "Follows").orders.push((1, vec![3]));
        },
        "relation `Follows`, order 0: entity 3 is",
    ),
    (
        |saved, _| {
            let name = relation(saved, "Likes").name.clone();
            saved.relations.push(SavedRelation { name, ..Default::default() });
        },
        "the relation `Likes` twice",
    ),
    (|saved, _| saved.entities.push(SavedEntity::Entity { id: 3, name: None }), "two entities have the id 3"),
    (|saved, _| saved.entities.push(SavedEntity::Type("no::Such".into())), "stands for the type `no::Such`"),
    (
        |saved, _| saved.entities.extend([(); 2].map(|()| SavedEntity::Relation("Likes".into()))),
        "are the same in the world",
    ),
    (|saved, _| saved.version = 9, "the save has version 9, and this program reads up to 0"),
    (|saved, _| saved.sources = Some(vec![99]), "sources: there is no entity 99"),
    (
        |saved, _| {
            set(saved, "Likes", [pair(0, 1), pair(1, 2)]);
            saved.relations.retain(|relation| relation.name == "Likes");
            saved.sources = Some(vec![0]);
        },
        "relation `Likes`, pair 1, source: entity 1 is not among the `sources`",
    ),
];

#[test]
fn saves_that_are_wrong_in_meaning_are_refused_and_change_nothing() {
    let mut full = full_world();
    let saved = take(&mut full.0).to_saved(&full.0).unwrap();
    // All are in it, so that the numbers are those of `full_world`; the last is the parent of the colours.
    assert_eq!(saved.entities.len(), 10);
    let text = to_json(&full.0, &saved);
    let before = state(&full.0, &full.1, &full.2);
    for case in 0..cases().max(WRONG.len()) {
        let mut random = Random((case as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut saved = from_json(&full.0, &text).unwrap();
        // New entities as well, which must go again.
        saved.entities.insert(9, SavedEntity::Entity { id: 100, name: Some("new".into()) });
        for relation in &mut saved.relations {
            let later = |number: &mut u32| *number += u32::from(*number >= 9);
            for pair in &mut relation.pairs {
                later(&mut pair.source);
                later(&mut pair.target);
            }
            for (target, sources) in &mut relation.orders {
                later(target);
                sources.iter_mut().for_each(later);
            }
        }
        let (change, says) = WRONG[case % WRONG.len()];
        change(&mut saved, &mut random);
        let error = attempt(&mut full, &before, Ok(saved));
        let error = error.unwrap_or_else(|| panic!("`{says}` was not refused"));
        assert!(error.contains(says), "{error}\n{says}");
    }
    assert_eq!(take_reported_errors(), Vec::<String>::new());
    full.0.check_pairs().unwrap();
}

#[test]
fn a_dead_or_foreign_entity_is_refused() {
    let (mut world, _, entities) = full_world();
    let saved = take(&mut world).to_saved(&world).unwrap();
    let text = to_json(&world, &saved);
    let dead = world.spawn_empty().id();
    world.despawn(dead);
    let read = from_json(&world, &text).unwrap();
    let error = refused(&mut world, |world| {
        read.load_with(world, |_, number, _| Some(if number == 0 { dead } else { entities[number] }))
    });
    assert!(matches!(error, LoadError::Refused { place: Some(_), .. }), "{error}");
    let read = from_json(&world, &text).unwrap();
    let error = refused(&mut world, |world| {
        read.load_with(world, |_, number, _| Some(if number == 0 { entities[1] } else { entities[number] }))
    });
    assert_eq!(error, LoadError::SameEntity { first: 0, second: 1 });
}

#[test]
fn errors_of_form_say_where_they_are() {
    let (world, _, _) = full_world();
    let save = |pairs: &str| {
        format!(
            "(format: 1, version: 0, all_relations: false, entities: [], sources: None, \
             relations: [(name: \"Eats\", pairs: [{pairs}], orders: [])])"
        )
    };
    let error = |pairs: &str| from_ron(&world, &save(pairs)).unwrap_err();
    for (pairs, says) in [
        ("(0, 1, None), (0, \"x\", None)", "relation `Eats`, pair 1"),
        ("(0, 1, Some({\"no::Type\": 1}))", "relation `Eats`, pair 0"),
        ("(0, 1)", "relation `Eats`, pair 0"),
        ("(0, 99999999999, None)", "relation `Eats`, pair 0"),
    ] {
        assert!(error(pairs).contains(says), "{}", error(pairs));
    }
    let newer = save("").replace("format: 1", "format: 2");
    let error = from_ron(&world, &newer).unwrap_err();
    assert!(error.contains("the save has format 2, and this version reads format 1"), "{error}");
}

#[test]
fn one_entity_cannot_stand_for_two_of_a_snapshot() {
    use crate::snapshots::Likes;
    let mut world = World::new();
    let [a, b, x, y, both] = [(); 5].map(|()| world.spawn_empty().id());
    world.insert_pair(a, Likes, x).unwrap();
    world.insert_pair(b, Likes, y).unwrap();
    let snapshot = take(&mut world);
    let mut map = EntityHashMap::from_iter([(a, both), (b, both)]);
    let spawned = world.entities().count_spawned();
    let error = snapshot.apply_mapped(&mut world, &mut map).unwrap_err();
    assert_eq!(error.to_string(), format!("{both} cannot stand for both {a} and {b} of the snapshot"));
    assert_eq!((map.len(), world.entities().count_spawned()), (2, spawned));
    assert!(!world.pairs::<Likes>().has_any(both));
}
