//! Pairs of relations that were made at run time: they are found by their names in the world that a file is read in.

use crate::common::{Random, apply, record, scene, spawn, take_errors, types, with_changed_bytes};
use bevy_ecs::{entity::EntityHashMap, error::FallbackErrorHandler, prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::Reflect;
use bevy_relations::{mirror::*, prelude::*};
use bevy_relations_worlds::{read, write};

#[derive(Reflect, Clone, PartialEq, Debug)]
#[type_path = "game"]
struct Trust {
    much: u32,
    because_of: Entity,
}

const NAMES: [&str; 3] = ["rival of", "trusts", "queues for"];

/// A world with three relations: of tags, with a value, ordered.
fn world(order: [usize; 3]) -> (World, [Entity; 3]) {
    take_errors();
    let mut world = World::new();
    world.insert_resource(types());
    world.resource::<AppTypeRegistry>().write().register::<Trust>();
    let mut relations = [Entity::PLACEHOLDER; 3];
    for number in order {
        let traits = match number {
            0 => RelationTraits::new(),
            1 => RelationTraits::new().data::<Trust>(),
            _ => RelationTraits::new().ordered(),
        };
        relations[number] = world.spawn_relation(NAMES[number], traits).unwrap();
    }
    world.mirror_runtime_pairs();
    (world, relations)
}

fn changed_world(seed: u64) -> (World, [Entity; 3], [Entity; 6]) {
    let (mut world, relations) = world([0, 1, 2]);
    let (all, mut random): ([Entity; 6], _) = (spawn(&mut world), Random::new(seed));
    for _ in 0..30 {
        let [a, b, c] = [(); 3].map(|()| random.pick(&all));
        match random.below(4) {
            0 => world.insert_pair_by_id(a, (relations[0], b)).unwrap(),
            1 => {
                let trust = Trust { much: random.below(9) as u32, because_of: c };
                world.insert_pair_value_by_id(a, (relations[1], b), trust).unwrap();
            }
            2 => world.insert_pair_by_id(a, (relations[2], b)).unwrap(),
            _ => drop(world.remove_pairs_by_id(a, (relations[0], b))),
        }
    }
    (world, relations, all)
}

/// The pairs of some entities, with the entities named by their numbers.
fn described(world: &World, relations: [Entity; 3], all: [Entity; 6]) -> Vec<String> {
    let number = |entity: Entity| all.iter().position(|&other| other == entity);
    let of_source = |&source: &Entity| {
        let targets =
            relations.map(|relation| world.pairs_by_id(relation).targets(source).collect::<Vec<_>>());
        let values = targets[1].iter().map(|&target| {
            let trust = world.pair_value_by_id::<Trust>(source, (relations[1], target)).unwrap();
            (trust.much, number(trust.because_of))
        });
        let values: Vec<_> = values.collect();
        let sources: Vec<_> = world.pairs_by_id(relations[2]).sources(source).map(number).collect();
        let targets = targets.map(|targets| targets.into_iter().map(number).collect::<Vec<_>>());
        format!("{targets:?} {values:?} {sources:?}")
    };
    all.iter().map(of_source).collect()
}

#[test]
fn they_come_back_with_values_and_order() {
    for seed in 1..=40 {
        let (old, of_old, all) = changed_world(seed);
        let file = write(&old, all).unwrap();
        // There, relations and entities have other numbers.
        let (mut new, of_new) = world([2, 0, 1]);
        let others: [Entity; 7] = spawn(&mut new);
        new.insert_pair_by_id(others[0], (of_new[0], others[1])).unwrap();
        let mut map = EntityHashMap::default();
        for _ in 0..2 {
            let read = scene(&new, &file);
            apply(&mut new, &read, &mut map);
            let loaded = all.map(|entity| map[&entity]);
            new.check_pairs().unwrap();
            assert_eq!(described(&new, of_new, loaded), described(&old, of_old, all), "{seed}: {file}");
        }
        assert!(new.has_pair_by_id(others[0], (of_new[0], others[1])), "{seed}");
    }
}

#[test]
fn a_relation_that_the_world_does_not_have_is_reported() {
    let (mut old, relations) = world([0, 1, 2]);
    let [a, b] = spawn(&mut old);
    old.insert_pair_by_id(a, (relations[0], b)).unwrap();
    old.insert_pair_by_id(a, (relations[2], b)).unwrap();
    let file = write(&old, [a, b]).unwrap().replace(NAMES[0], "no rival of");
    let (mut new, of_new) = world([1, 0, 2]);
    new.insert_resource(FallbackErrorHandler(record));
    let mut map = EntityHashMap::default();
    let read = scene(&new, &file);
    apply(&mut new, &read, &mut map);
    let [a, b] = [a, b].map(|entity| map[&entity]);
    assert!(new.has_pair_by_id(a, (of_new[2], b)), "the others are there");
    assert!(!new.has_pair_by_id(a, (of_new[0], b)));
    let errors = take_errors();
    assert!(errors.len() == 1 && errors[0].contains("no rival of"), "{errors:?}");
    new.check_pairs().unwrap();
}

#[test]
fn values_and_names_that_mean_something_else_are_reported() {
    let (mut old, relations) = world([0, 1, 2]);
    let [a, b] = spawn(&mut old);
    old.insert_pair_by_id(a, (relations[0], b)).unwrap();
    let trust = Trust { much: 5, because_of: b };
    old.insert_pair_value_by_id(a, (relations[1], b), trust).unwrap();
    let file = write(&old, [a, b]).unwrap();
    // A tag with the name of a relation with values, and the reverse; a number for an entity; a type that is none.
    let changes = [
        (NAMES[0], NAMES[1]),
        (NAMES[1], NAMES[0]),
        ("game::Trust", "game::Dock"),
        ("game::Trust", "game::Unknown"),
        ("much: 5", "much: -5"),
        ("much: 5", "much: \"much\""),
    ];
    for (from, to) in changes {
        let changed = file.replace(from, to);
        let (mut new, of_new) = world([1, 0, 2]);
        new.insert_resource(FallbackErrorHandler(record));
        let scene = read(&new.resource::<AppTypeRegistry>().read(), &changed);
        assert_ne!(changed, file, "{from} is in {file}");
        let Ok(scene) = scene else { continue };
        let mut map = EntityHashMap::default();
        apply(&mut new, &scene, &mut map);
        let errors = take_errors();
        assert!(!errors.is_empty(), "{from} as {to}: {changed}");
        let loaded = map[&a];
        assert!(of_new.iter().all(|&of| new.pairs_by_id(of).target_count(loaded) <= 1), "{from} as {to}");
        new.check_pairs().unwrap();
    }
}

#[test]
fn broken_files_do_no_harm() {
    let mut random = Random::new(5);
    let files: Vec<String> = (1..=8)
        .map(|seed| {
            let (old, _, all) = changed_world(seed);
            write(&old, all).unwrap()
        })
        .collect();
    let (mut readable, mut unreadable) = (0, 0);
    for number in 0..600 {
        let text = with_changed_bytes(&files[number % files.len()], b"0123456789()[]:,\"a", &mut random);
        let (mut new, _) = world([1, 2, 0]);
        new.insert_resource(FallbackErrorHandler(record));
        let Ok(broken) = read(&new.resource::<AppTypeRegistry>().read(), &text) else {
            unreadable += 1;
            continue;
        };
        readable += 1;
        let mut map = EntityHashMap::default();
        // What Bevy cannot write it refuses; the pairs are right either way.
        let _ = broken.write_to_world(&mut new, &mut map);
        new.maintain_pairs();
        new.check_pairs().unwrap_or_else(|error| panic!("{error}: {text}"));
    }
    assert!(readable > 50 && unreadable > 50, "{readable} and {unreadable}");
}
