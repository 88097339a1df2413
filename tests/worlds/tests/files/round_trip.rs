//! Written and read back.

use crate::common::*;
use bevy_ecs::{
    entity::{EntityHashMap, EntityHashSet},
    prelude::*,
    reflect::AppTypeRegistry,
};
use bevy_relations::prelude::*;
use bevy_relations_worlds::write;
use bevy_world_serialization::DynamicWorld;

/// A world that has been changed for a while, and its entities.
fn changed_world(seed: u64) -> (World, [Entity; 9], Random) {
    let (mut world, mut random) = (world(), Random::new(seed));
    let entities = spawn(&mut world);
    for _ in 0..60 {
        change(&mut world, &mut random, &entities);
    }
    (world, entities, random)
}

/// A file with other entities in it.
fn renamed(world: &World, text: &str, map: &EntityHashMap<Entity>) -> String {
    let old: EntityHashMap<Entity> = map.iter().map(|(&old, &new)| (new, old)).collect();
    let words = text.split_inclusive(|end: char| !end.is_ascii_digit());
    let rename = |word: &str| {
        let number = word.trim_end_matches(|end: char| !end.is_ascii_digit());
        let entity = number.parse().ok().and_then(Entity::try_from_bits).and_then(|new| old.get(&new));
        entity.map_or(word.to_owned(), |old| word.replace(number, &old.to_bits().to_string()))
    };
    let mut scene = scene(world, &words.map(rename).collect::<String>());
    scene.entities.sort_unstable_by_key(|dynamic| dynamic.entity);
    scene.serialize(&world.resource::<AppTypeRegistry>().read()).unwrap()
}

#[test]
fn random_worlds_come_back_as_they_were_with_values_and_order() {
    for seed in 1..=60 {
        let (mut old, all, _) = changed_world(seed);
        let file = write(&old, all).unwrap();
        assert!(!file.contains("game::Sees"), "it is transient");
        // In the other world, entities and types have other numbers.
        let (mut new, _, _) = changed_world(seed + 100);
        let mut map = EntityHashMap::default();
        let read = scene(&new, &file);
        apply(&mut new, &read, &mut map);
        let loaded = all.map(|entity| map[&entity]);
        assert_eq!(take_errors(), [""; 0], "{seed}: {file}");
        new.check_pairs().unwrap();
        assert_eq!(described(&new, &loaded), described(&old, &all), "{seed}: {file}");
        assert_eq!(children(&new, &loaded), children(&old, &all), "{seed}: {file}");
        assert!(loaded.iter().all(|&entity| new.pairs::<Sees>().targets(entity).next().is_none()));
        assert_eq!(map.len(), 9, "{seed}");
        // Written once more, it is the same file, but for the names of the entities.
        assert_eq!(renamed(&new, &write(&new, loaded).unwrap(), &map), file, "{seed}");
        // And back over the first.
        let mut back = loaded.iter().copied().zip(all).collect();
        let read = scene(&old, &write(&new, loaded).unwrap());
        apply(&mut old, &read, &mut back);
        assert_eq!(write(&old, all).unwrap(), file, "{seed}");
        assert_eq!(take_errors(), [""; 0], "{seed}");
    }
}

#[test]
fn a_file_of_a_whole_world_comes_back_too() {
    let (old, all, _) = changed_world(7);
    let types = old.resource::<AppTypeRegistry>().read();
    let file = DynamicWorld::from_world(&old).serialize(&types).unwrap();
    let mut new = world();
    let mut map = EntityHashMap::default();
    let read = scene(&new, &file);
    apply(&mut new, &read, &mut map);
    assert_eq!(take_errors(), [""; 0]);
    new.check_pairs().unwrap();
    assert_eq!(described(&new, &all.map(|entity| map[&entity])), described(&old, &all));
}

#[test]
fn a_world_mirrors_what_a_file_brings_and_nothing_else() {
    let (old, all, _) = changed_world(8);
    let file = write(&old, all).unwrap();
    // It shares the types, and does not mirror anything yet.
    let mut new = World::new();
    new.insert_resource(old.resource::<AppTypeRegistry>().clone());
    new.adopt_relationship::<ChildOf>().adopt_relationship::<CrewOf>();
    new.entity_of::<Place>();
    let mut map = EntityHashMap::default();
    let read = scene(&new, &file);
    apply(&mut new, &read, &mut map);
    new.check_pairs().unwrap();
    assert_eq!(described(&new, &all.map(|entity| map[&entity])), described(&old, &all));
}

#[test]
fn targets_that_are_not_in_the_file_are_reported_and_not_made_up() {
    let mut old = world();
    let [a, b, c, outside] = spawn(&mut old);
    old.insert_pairs(a, [(Likes, outside), (Likes, b)]).unwrap();
    old.insert_pair(b, Knows(3), outside).unwrap();
    old.insert_pair(c, Owes { much: 1, witnesses: vec![outside, a] }, a).unwrap();
    let file = write(&old, [a, b, c]).unwrap();
    let mut new = world();
    let mut before = None;
    let mut map = EntityHashMap::default();
    let read = scene(&new, &file);
    for _ in 0..2 {
        apply(&mut new, &read, &mut map);
        let [a, b, c] = [a, b, c].map(|entity| map[&entity]);
        assert!(new.pairs::<Likes>().targets(a).eq([b]));
        assert_eq!(new.pairs::<Knows>().targets(b).count(), 0);
        let witnesses = &new.pair_value::<Owes>(c, a).unwrap().witnesses;
        assert!(!new.entities().contains(witnesses[0]), "a value may name what is gone");
        assert_eq!(witnesses[1], a);
        let errors = take_errors();
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(errors.iter().all(|error| error.contains("left out") && error.contains("not alive")));
        let count = count_entities(&new);
        assert_eq!(*before.get_or_insert(count), count, "again");
        new.check_pairs().unwrap();
    }
    assert!(!new.entities().contains(map[&outside]), "Bevy's map has a name for it");
}

#[test]
fn what_a_pair_needs_may_come_later_in_the_file() {
    let mut old = world();
    let [ship, first, second] = spawn(&mut old);
    for dock in [first, second] {
        old.entity_mut(dock).insert(Dock);
        old.insert_pair(ship, LandsOn, dock).unwrap();
    }
    let mut new = world();
    let mut map = EntityHashMap::default();
    let read = scene(&new, &write(&old, [ship, first, second]).unwrap());
    read.write_to_world(&mut new, &mut map).unwrap();
    new.maintain_pairs();
    assert_eq!(take_errors(), [""; 0]);
    let targets: EntityHashSet = new.pairs::<LandsOn>().targets(map[&ship]).collect();
    assert_eq!(targets, [map[&first], map[&second]].into_iter().collect());
}
