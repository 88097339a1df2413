//! Scenes over what they were written to before.

use crate::common::*;
use bevy_ecs::{entity::EntityHashMap, prelude::*};
use bevy_relations::{mirror::*, prelude::*};
use bevy_relations_worlds::write;

/// How often pairs were inserted, replaced or removed.
#[derive(Resource, Default)]
struct Events(usize);

fn count_events<R: Relation>(world: &mut World) {
    world.init_resource::<Events>();
    world.add_observer(|_: On<PairInserted<R>>, mut events: ResMut<Events>| events.0 += 1);
    world.add_observer(|_: On<PairRemoved<R>>, mut events: ResMut<Events>| events.0 += 1);
    world.flush();
}

fn count_all_events(world: &mut World) {
    count_events::<Likes>(world);
    count_events::<Owes>(world);
    count_events::<Mounted>(world);
    count_events::<Below>(world);
    count_events::<Knows>(world);
    count_events::<Queues>(world);
    count_events::<Equips>(world);
    count_events::<Begins>(world);
    count_events::<LandsOn>(world);
}

#[test]
fn the_same_scene_over_the_same_entities_changes_nothing() {
    for seed in 1..=20 {
        let (mut old, mut random) = (world(), Random::new(seed));
        let all: [Entity; 8] = spawn(&mut old);
        for _ in 0..60 {
            change(&mut old, &mut random, &all);
        }
        let mut new = world();
        count_all_events(&mut new);
        let read = scene(&new, &write(&old, all).unwrap());
        let mut map = EntityHashMap::default();
        apply(&mut new, &read, &mut map);
        let (events, count) = (new.resource::<Events>().0, count_entities(&new));
        let loaded = all.map(|entity| map[&entity]);
        let file = write(&new, loaded).unwrap();
        for _ in 0..3 {
            apply(&mut new, &read, &mut map);
            assert_eq!(
                (new.resource::<Events>().0, count_entities(&new), map.len()),
                (events, count, 8),
                "{seed}"
            );
            assert_eq!(write(&new, loaded).unwrap(), file, "{seed}");
            new.check_pairs().unwrap();
        }
        assert_eq!(take_errors(), [""; 0], "{seed}");
    }
}

#[test]
fn two_instances_of_a_scene_share_nothing() {
    let (mut old, mut random) = (world(), Random::new(5));
    let all: [Entity; 8] = spawn(&mut old);
    for _ in 0..60 {
        change(&mut old, &mut random, &all);
    }
    let mut new = world();
    let read = scene(&new, &write(&old, all).unwrap());
    let mut maps = [(); 2].map(|()| EntityHashMap::default());
    for map in &mut maps {
        apply(&mut new, &read, map);
    }
    let loaded = maps.map(|map| all.map(|entity| map[&entity]));
    for one in loaded {
        assert_eq!(described(&new, &one), described(&old, &all));
    }
    // One goes, and the other stays as it was.
    for entity in loaded[0] {
        new.despawn(entity);
    }
    new.check_pairs().unwrap();
    assert_eq!(described(&new, &loaded[1]), described(&old, &all));
    assert_eq!(take_errors(), [""; 0]);
}

#[test]
fn a_changed_scene_updates_what_it_was_written_to() {
    for seed in 1..=40 {
        let (mut old, mut random) = (world(), Random::new(seed));
        let all: [Entity; 8] = spawn(&mut old);
        for _ in 0..60 {
            change(&mut old, &mut random, &all);
        }
        let mut new = world();
        let mut map = EntityHashMap::default();
        let read = scene(&new, &write(&old, all).unwrap());
        apply(&mut new, &read, &mut map);
        for _ in 0..10 {
            change(&mut old, &mut random, &all);
        }
        let read = scene(&new, &write(&old, all).unwrap());
        let loaded = all.map(|entity| map[&entity]);
        // As with any component: one that is not in the file is not touched by it.
        for entity in all {
            let (is_in_file, other) = (old.entity(entity), map[&entity]);
            remove_unless::<Likes>(is_in_file, &mut new, other);
            remove_unless::<Owes>(is_in_file, &mut new, other);
            remove_unless::<Mounted>(is_in_file, &mut new, other);
            remove_unless::<Below>(is_in_file, &mut new, other);
            remove_unless::<Knows>(is_in_file, &mut new, other);
            remove_unless::<Queues>(is_in_file, &mut new, other);
            remove_unless::<Equips>(is_in_file, &mut new, other);
        }
        apply(&mut new, &read, &mut map);
        assert_eq!(take_errors(), [""; 0], "{seed}");
        new.check_pairs().unwrap();
        assert_eq!(described(&new, &loaded), described(&old, &all), "{seed}");
    }
}

#[test]
fn any_order_replaces_any_other() {
    for seed in 1..=30 {
        let (mut old, mut random) = (world(), Random::new(seed));
        let all: [Entity; 7] = spawn(&mut old);
        let [target, sources @ ..] = all;
        old.insert_pair_batch(sources.map(|source| (source, Queues, target))).unwrap();
        let mut new = world();
        let mut map = EntityHashMap::default();
        for _ in 0..4 {
            let mut order = sources;
            for last in (1..order.len()).rev() {
                order.swap(last, random.below(last + 1));
            }
            old.order_sources::<Queues>(target, &order).unwrap();
            let read = scene(&new, &write(&old, all).unwrap());
            apply(&mut new, &read, &mut map);
            let there: Vec<Entity> = new.pairs::<Queues>().sources(map[&target]).collect();
            assert_eq!(there, order.map(|source| map[&source]), "{seed}");
        }
        assert_eq!(take_errors(), [""; 0]);
    }
}

#[test]
fn what_was_not_in_the_file_may_come_with_the_next() {
    let mut old = world();
    let [a, b] = spawn(&mut old);
    old.insert_pair(a, Likes, b).unwrap();
    let mut new = world();
    let mut map = EntityHashMap::default();
    let first = scene(&new, &write(&old, [a]).unwrap());
    apply(&mut new, &first, &mut map);
    assert_eq!(take_errors().len(), 1);
    // Bevy has given it a name of an entity that will never be, and would panic.
    map.retain(|_, entity| new.entities().contains_spawned(*entity));
    old.entity_mut(b).insert(Dock);
    let second = scene(&new, &write(&old, [a, b]).unwrap());
    apply(&mut new, &second, &mut map);
    assert_eq!(take_errors(), [""; 0]);
    assert!(new.has_pair::<Likes>(map[&a], map[&b]));
    new.check_pairs().unwrap();
}

fn remove_unless<R: MirroredRelation>(in_file: EntityRef<'_>, world: &mut World, entity: Entity) {
    if !in_file.contains::<MirroredPairs<R>>() {
        world.remove_pairs::<R>(entity);
    }
}
