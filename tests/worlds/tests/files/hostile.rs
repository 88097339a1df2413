//! Broken files, thousands of them: each is an error, or is reported, or is another file. Whatever it is, nothing panics, and the
//! world is as good as any afterwards.

use crate::common::*;
use bevy_ecs::{archetype::Archetype, entity::EntityHashMap, prelude::*, reflect::AppTypeRegistry};
use bevy_relations::{mirror::*, prelude::*};
use bevy_relations_worlds::{read, write};

/// How many files of each kind.
const FILES: usize = 500;

/// Files of some entities that have much to do with each other.
fn files() -> [String; 10] {
    core::array::from_fn(|seed| {
        let (mut world, mut random) = (world(), Random::new(seed as u64 + 1));
        let all: [Entity; 6] = spawn(&mut world);
        for _ in 0..50 {
            change(&mut world, &mut random, &all);
        }
        write(&world, all).unwrap()
    })
}

/// What has become of files.
#[derive(Default, Debug)]
struct Outcomes {
    unreadable: usize,
    refused: usize,
    reported: usize,
    silent: usize,
}

/// Reads a file and writes it to a new world, which must be fit for anything after that.
fn attempt(types: &AppTypeRegistry, text: &str, outcomes: &mut Outcomes) {
    let Ok(scene) = read(&types.read(), text) else {
        outcomes.unreadable += 1;
        return;
    };
    let mut world = world();
    let mut map = EntityHashMap::default();
    let written = scene.write_to_world(&mut world, &mut map);
    world.check_pairs().unwrap();
    world.maintain_pairs();
    check(&world);
    let reported = take_errors();
    match () {
        () if written.is_err() => outcomes.refused += 1,
        () if !reported.is_empty() => outcomes.reported += 1,
        () => outcomes.silent += 1,
    }
    // What it has is a scene like any other.
    let entities: Vec<Entity> = scene.entities.iter().map(|dynamic| map[&dynamic.entity]).collect();
    let again = write(&world, entities.iter().copied()).unwrap();
    let mut other = self::world();
    let scene = read(&other.resource::<AppTypeRegistry>().read(), &again).unwrap();
    let mut map = EntityHashMap::default();
    scene.write_to_world(&mut other, &mut map).unwrap();
    other.maintain_pairs();
    check(&other);
    let loaded: Vec<Entity> = entities.iter().map(|entity| map[entity]).collect();
    assert_eq!(described(&other, &loaded), described(&world, &entities), "{text}");
    for entity in entities {
        _ = world.try_despawn(entity);
    }
    check(&world);
    take_errors();
}

/// All invariants hold, and the components say what the pairs are.
#[track_caller]
fn check(world: &World) {
    world.check_pairs().unwrap();
    let archetypes = world.archetypes().iter();
    for entity in archetypes.flat_map(Archetype::entities) {
        check_mirror::<Likes>(world, entity.id());
        check_mirror::<Owes>(world, entity.id());
        check_mirror::<Mounted>(world, entity.id());
        check_mirror::<Below>(world, entity.id());
        check_mirror::<Knows>(world, entity.id());
        check_mirror::<Queues>(world, entity.id());
        check_mirror::<Equips>(world, entity.id());
        check_mirror::<Begins>(world, entity.id());
        check_mirror::<LandsOn>(world, entity.id());
    }
}

#[track_caller]
fn check_mirror<R: MirroredRelation>(world: &World, source: Entity) {
    let pairs = world.pairs::<R>().targets(source).count();
    assert_eq!(world.get::<MirroredPairs<R>>(source).map_or(0, |mirrored| mirrored.pairs.len()), pairs);
    assert_eq!(world.get::<MirroredPairs<R>>(source).is_some(), pairs > 0);
}

#[test]
fn files_that_end_early() {
    let types = world().resource::<AppTypeRegistry>().clone();
    let mut outcomes = Outcomes::default();
    let [text, ..] = files();
    for end in 0..text.trim_end().len() {
        attempt(&types, &text[..end], &mut outcomes);
    }
    assert_eq!(outcomes.unreadable, text.trim_end().len(), "{outcomes:?}");
}

#[test]
fn files_with_changed_bytes() {
    let types = world().resource::<AppTypeRegistry>().clone();
    let mut outcomes = Outcomes::default();
    let files = files();
    let mut random = Random::new(2);
    for file in 0..FILES {
        let text = with_changed_bytes(&files[file % 10], b" (),:[]{}\"0123456789aeSN-.#\n", &mut random);
        attempt(&types, &text, &mut outcomes);
    }
    println!("{outcomes:?}");
    assert!(outcomes.unreadable > 100 && outcomes.reported > 5, "{outcomes:?}");
}

#[test]
fn files_with_changed_lines() {
    let types = world().resource::<AppTypeRegistry>().clone();
    let mut outcomes = Outcomes::default();
    let files = files();
    let mut random = Random::new(3);
    for file in 0..FILES {
        let text = &files[file % 10];
        let mut lines: Vec<&str> = text.lines().collect();
        for _ in 0..=random.below(2) {
            // Lines that look alike are exchanged and repeated, so that most files can be read.
            let at = random.below(lines.len());
            let depth = |line: &str| line.len() - line.trim_start().len();
            let alike: Vec<usize> =
                (0..lines.len()).filter(|&other| depth(lines[other]) == depth(lines[at])).collect();
            let other = alike[random.below(alike.len())];
            match random.below(3) {
                0 => lines.swap(at, other),
                1 => _ = lines.remove(at),
                _ => lines[at] = lines[other],
            }
        }
        attempt(&types, &lines.join("\n"), &mut outcomes);
    }
    println!("{outcomes:?}");
    assert!(outcomes.unreadable > 100 && outcomes.reported > 5, "{outcomes:?}");
}

/// Every number in the text, with what stands before each.
fn numbers(text: &str) -> Vec<(&str, &str)> {
    let mut numbers = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let end = number.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(number.len());
        numbers.push((before, &number[..end]));
        rest = &number[end..];
    }
    numbers.push((rest, ""));
    numbers
}

#[test]
fn files_with_other_entities_and_numbers() {
    let types = world().resource::<AppTypeRegistry>().clone();
    let mut outcomes = Outcomes::default();
    let files = files();
    let mut random = Random::new(4);
    let foreign = Entity::from_raw_u32(7777).unwrap().to_bits().to_string();
    for file in 0..FILES * 2 {
        let text = &files[file % 10];
        let mut numbers = numbers(text);
        for _ in 0..=random.below(5) {
            let (at, other) = (random.below(numbers.len()), random.below(numbers.len()));
            numbers[at].1 = match random.below(8) {
                0 => &foreign,
                1 => "18446744073709551615",
                _ => numbers[other].1,
            };
        }
        let text: String = numbers.iter().flat_map(|&(before, number)| [before, number]).collect();
        attempt(&types, &text, &mut outcomes);
    }
    println!("{outcomes:?}");
    assert!(outcomes.reported > 300, "{outcomes:?}");
}
