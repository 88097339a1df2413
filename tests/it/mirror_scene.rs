//! Entities with mirrored pairs written by reflection and read back, in the way in which Bevy's scenes do that: every entity is
//! there before the first component, and then the components come one by one.

use crate::common::{Random, fewer, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{
    entity::{EntityHashMap, SceneEntityMapper},
    prelude::*,
    reflect::AppTypeRegistry,
    relationship::RelationshipHookMode,
};
use bevy_reflect::{
    PartialReflect, Reflect,
    serde::{ReflectDeserializer, ReflectSerializer},
};
use bevy_relations::{mirror::*, prelude::*};
use serde::de::DeserializeSeed;
use serde_json::Value;

#[derive(Relation, Reflect, Clone)]
struct Likes;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Owes(u32, Option<Entity>);

#[derive(Relation, Reflect, Clone)]
#[relation(exclusive, traversable)]
struct Mounted;

#[derive(Relation, Reflect, Clone)]
#[relation(ordered)]
struct Queues;

#[derive(Relation, Reflect, Clone)]
struct Begins;

#[derive(Relation, Reflect, Clone)]
#[relation(transient)]
struct Sees;

#[derive(Reflect, Clone, PartialEq, Debug)]
struct Place(u32);

fn world() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().write().register::<Place>();
    world.entity_of::<Place>();
    world.mirror_pairs::<Likes>().unwrap();
    world.mirror_pairs::<Owes>().unwrap();
    world.mirror_pairs::<Mounted>().unwrap();
    world.mirror_pairs::<Queues>().unwrap();
    world.mirror_pairs::<Begins>().unwrap();
    world.mirror_pairs::<Sees>().unwrap();
    world
}

type File = Vec<(Entity, Vec<Value>)>;

fn save(world: &World, entities: &[Entity]) -> File {
    let registry = world.resource::<AppTypeRegistry>().read();
    let components = |entity: Entity| {
        let known = registry.iter().filter_map(|registration| registration.data::<ReflectComponent>());
        let there = known.filter_map(|reflect| reflect.reflect(world.entity(entity)));
        there
            .map(|component| {
                serde_json::to_value(ReflectSerializer::new(component.as_partial_reflect(), &registry))
                    .unwrap()
            })
            .collect()
    };
    entities.iter().map(|&entity| (entity, components(entity))).collect()
}

fn load(world: &mut World, file: &File, map: &mut EntityHashMap<Entity>) {
    let registry = world.resource::<AppTypeRegistry>().clone();
    let registry = registry.read();
    for (entity, _) in file {
        map.entry(*entity).or_insert_with(|| world.spawn_empty().id());
    }
    for (entity, components) in file {
        let entity = map[entity];
        for component in components {
            let component: Box<dyn PartialReflect> =
                ReflectDeserializer::new(&registry).deserialize(component).unwrap();
            let registration =
                registry.get(component.get_represented_type_info().unwrap().type_id()).unwrap();
            let reflect = registration.data::<ReflectComponent>().unwrap();
            SceneEntityMapper::world_scope(map, world, |world, mapper| {
                reflect.apply_or_insert_mapped(
                    &mut world.entity_mut(entity),
                    &*component,
                    &registry,
                    mapper,
                    RelationshipHookMode::Skip,
                );
            });
        }
    }
}

/// What the pairs of some entities are, with these named by their numbers.
fn described(world: &mut World, entities: &[Entity]) -> Vec<String> {
    let (begins, place) = (world.entity_of::<Begins>(), world.entity_of::<Place>());
    let number = |entity: Entity| entities.iter().position(|&other| other == entity);
    let describe = |&source: &Entity| {
        let targets = [
            world.pairs::<Likes>().targets(source).map(number).collect::<Vec<_>>(),
            world.pairs::<Owes>().targets(source).map(number).collect(),
            world.pairs::<Mounted>().targets(source).map(number).collect(),
            world.pairs::<Queues>().sources(source).map(number).collect(),
        ];
        let owes = world.pairs::<Owes>().targets(source).map(|target| {
            let Owes(much, witness) = *world.pair_value::<Owes>(source, target).unwrap();
            (much, witness.map(number))
        });
        let value: Option<&Place> = world.pair_value_by_id(source, (begins, place));
        format!("{targets:?} {:?} {value:?}", owes.collect::<Vec<_>>())
    };
    entities.iter().map(describe).collect()
}

#[test]
fn random_entities_come_back_as_they_were_also_over_others_and_again() {
    for seed in 1..=fewer(40) as u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut old = world();
        let all: [Entity; 6] = spawn(&mut old);
        let mut new = world();
        let others: [Entity; 9] = spawn(&mut new);
        for (world, entities) in [(&mut old, &all[..]), (&mut new, &others[..])] {
            for _ in 0..20 {
                let (a, b, c) = (random.pick(entities), random.pick(entities), random.pick(entities));
                match random.below(6) {
                    0 => world.insert_pair(a, Likes, b).unwrap(),
                    1 => world.insert_pair(a, Owes(random.below(9) as u32, Some(c)), b).unwrap(),
                    2 => _ = world.insert_pair(a, Mounted, b),
                    3 => world.insert_pair(a, Queues, b).unwrap(),
                    4 => world.insert_pair_to::<Begins, Place>(a, Place(random.below(9) as u32)).unwrap(),
                    _ => world.insert_pair(a, Sees, b).unwrap(),
                }
            }
        }
        let file = save(&old, &all);
        let expected = described(&mut old, &all);
        let mut map = EntityHashMap::default();
        for _ in 0..2 {
            load(&mut new, &file, &mut map);
            new.maintain_pairs();
            new.check_pairs().unwrap();
            let loaded = all.map(|entity| map[&entity]);
            assert_eq!(described(&mut new, &loaded), expected, "{seed}: {file:#?}");
            assert!(loaded.iter().all(|&entity| new.pairs::<Sees>().targets(entity).next().is_none()));
        }
        // Over the entities that have been changed since.
        let loaded = all.map(|entity| map[&entity]);
        for _ in 0..5 {
            let (a, b) = (random.pick(&loaded), random.pick(&loaded));
            _ = new.insert_pair(a, Mounted, b);
            new.insert_pair(a, Owes(1, None), b).unwrap();
            new.insert_pair(a, Likes, b).unwrap();
        }
        for &entity in &loaded {
            // What has no component in the file is not touched by it.
            if new.get::<MirroredPairs<Mounted>>(entity).is_some() {
                new.remove_pairs::<Mounted>(entity);
            }
        }
        load(&mut new, &file, &mut map);
        new.maintain_pairs();
        let mounted: Vec<_> =
            loaded.iter().map(|&entity| new.pairs::<Mounted>().targets(entity).count()).collect();
        let before: Vec<_> =
            all.iter().map(|&entity| old.pairs::<Mounted>().targets(entity).count()).collect();
        assert_eq!(mounted, before);
        assert_eq!(take_reported_errors(), [""; 0]);
    }
}

#[test]
fn targets_outside_are_reported_and_not_made_up() {
    let mut old = world();
    let [a, b, outside] = spawn(&mut old);
    old.insert_pairs(a, [(Likes, outside), (Likes, b)]).unwrap();
    let file = save(&old, &[a, b]);
    let mut new = world();
    let mut map = EntityHashMap::default();
    load(&mut new, &file, &mut map);
    assert_eq!(take_reported_errors(), [""; 0], "it may come");
    new.maintain_pairs();
    assert!(new.pairs::<Likes>().targets(map[&a]).eq([map[&b]]));
    let errors = take_reported_errors();
    assert!(matches!(&*errors, [error] if error.contains("not alive")), "{errors:?}");
}

#[derive(Relation, Reflect, Clone)]
#[relation(exclusive, on_last_source = Despawn)]
struct Stays;

fn in_scene(world: &mut World, source: Entity, target: Entity) {
    let component = MirroredPairs::from_iter([(Stays, target)]);
    world.entity_mut(source).insert_with_relationship_hook_mode(component, RelationshipHookMode::Skip);
    world.check_pairs().unwrap();
}

#[test]
fn a_target_that_loses_its_last_source_in_the_middle_of_a_scene_stays_until_the_scene_is_complete() {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<Stays>().unwrap();
    let [ann, ben, inn, old_inn, barn] = spawn(&mut world);
    world.insert_pair(ann, Stays, inn).unwrap();
    world.insert_pair(ben, Stays, old_inn).unwrap();
    in_scene(&mut world, ann, barn);
    in_scene(&mut world, ben, barn);
    assert!(world.get_entity(inn).is_ok() && world.get_entity(old_inn).is_ok());
    // The scene goes on, with components of the inn and a new guest of it.
    in_scene(&mut world, ben, inn);
    world.maintain_pairs();
    assert!(world.get_entity(inn).is_ok(), "it has a guest again");
    assert!(world.get_entity(old_inn).is_err());
    assert!(world.pairs::<Stays>().sources(inn).eq([ben]));

    // Verbs wait for no scene.
    in_scene(&mut world, ann, inn);
    assert!(world.get_entity(barn).is_ok());
    world.remove_pair::<Stays>(ann, inn);
    world.remove_pair::<Stays>(ben, inn);
    assert!(world.get_entity(inn).is_err() && world.get_entity(barn).is_ok());
    world.maintain_pairs();
    assert!(world.get_entity(barn).is_err());
    world.check_pairs().unwrap();
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn a_target_that_a_scene_has_left_without_a_source_may_go_or_be_used_before_the_scene_is_complete() {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<Stays>().unwrap();
    let [ann, ben, inn, barn, mill] = spawn(&mut world);
    world.insert_pair(ann, Stays, inn).unwrap();
    world.insert_pair(ben, Stays, barn).unwrap();
    in_scene(&mut world, ann, mill);
    in_scene(&mut world, ben, mill);
    world.despawn(inn);
    world.despawn(ann);
    world.clear_pairs();
    world.maintain_pairs();
    assert!(world.get_entity(barn).is_ok(), "no pair is left that says anything");
    world.check_pairs().unwrap();
}
