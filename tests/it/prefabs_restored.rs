//! Instances whose pairs are restored: nothing is copied from their prefab once more.

use crate::{
    common::{Random, fewer, take_reported_errors, world_that_records_errors},
    prefabs::{check, children, frigate},
};
use bevy_ecs::{
    entity::{EntityHashMap, SceneEntityMapper},
    prelude::*,
    reflect::AppTypeRegistry,
    relationship::RelationshipHookMode,
};
use bevy_relations::{mirror::*, prefab::*, prelude::*, snapshot::*};

/// A world with a prefab and an instance of it, and how many children that has.
fn world_with_instance() -> (World, Entity, Entity, usize) {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    let prefab = frigate(&mut world);
    let ship = world.instantiate(prefab).unwrap();
    let count = children(&world, ship).len();
    assert!(count > 0);
    (world, prefab, ship, count)
}

#[test]
fn applying_a_snapshot_gives_the_base_back_and_nothing_else() {
    let (mut world, prefab, ship, count) = world_with_instance();
    for filter in [PairFilter::all(), PairFilter::none().relation::<IsA>()] {
        let before = PairSnapshot::take(&mut world, filter).unwrap();
        let entities = world.entities().count_spawned();
        world.remove_pair::<IsA>(ship, prefab);
        before.apply(&mut world).unwrap();
        assert!(world.has_pair::<IsA>(ship, prefab));
        assert_eq!(children(&world, ship).len(), count);
        assert_eq!(world.entities().count_spawned(), entities);
        check(&world);
    }
    // The next one is inserted by a verb again.
    world.remove_pair::<IsA>(ship, prefab);
    world.insert_pair(ship, IsA, prefab).unwrap();
    assert_eq!(children(&world, ship).len(), 2 * count);
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn undoing_steps_with_instances_leaves_no_copies_behind() {
    for seed in 1..=fewer(20) as u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (mut world, prefab, ship, count) = world_with_instance();
        let variant = world.spawn((Prefab, Pair(IsA, prefab))).id();
        let ships = [ship, world.instantiate(variant).unwrap(), world.instantiate(prefab).unwrap()];
        let taken = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
        let now = ships.map(|ship| children(&world, ship).len());
        assert_eq!(now[0], count);
        for _ in 0..4 {
            for _ in 0..3 {
                world.remove_pairs::<IsA>(random.pick(&ships));
            }
            taken.apply(&mut world).unwrap();
            assert_eq!(ships.map(|ship| children(&world, ship).len()), now);
            check(&world);
        }
    }
}

#[test]
fn a_snapshot_that_is_applied_to_other_entities_copies_nothing_from_the_prefab() {
    let (mut world, prefab, ship, count) = world_with_instance();
    let saved = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
    // The prefab stands for itself.
    let part = children(&world, prefab);
    let mut map: EntityHashMap<Entity> = part.iter().map(|&part| (part, part)).collect();
    map.insert(prefab, prefab);
    let before = children(&world, prefab).len();
    saved.apply_mapped(&mut world, &mut map).unwrap();
    let copy = map[&ship];
    assert!(world.has_pair::<IsA>(copy, prefab) && copy != ship);
    assert_eq!((children(&world, copy).len(), children(&world, prefab).len()), (count, before));
    check(&world);
}

#[test]
fn a_save_that_is_loaded_into_a_world_with_the_prefab_copies_nothing_again() {
    let (mut world, prefab, ship, count) = world_with_instance();
    let mut ids = 0..;
    let entities: Vec<Entity> = [prefab, ship].into_iter().chain(children(&world, ship)).collect();
    for entity in entities {
        world.entity_mut(entity).insert(SaveId(ids.next().unwrap()));
    }
    let filter = || PairFilter::none().relation::<IsA>().relation::<ChildOf>();
    let save = |world: &mut World| {
        let sources = [ship].into_iter().chain(children(world, ship)).collect::<Vec<_>>();
        PairSnapshot::take(world, filter().sources(sources)).unwrap().to_saved(world).unwrap()
    };
    for _ in 0..2 {
        let saved = save(&mut world);
        let before = world.entities().count_spawned();
        world.remove_pair::<IsA>(ship, prefab);
        let loaded = saved.load(&mut world).unwrap();
        assert_eq!(loaded.spawned, []);
        assert!(world.has_pair::<IsA>(ship, prefab));
        assert_eq!((children(&world, ship).len(), world.entities().count_spawned()), (count, before));
        check(&world);
    }
    // The instance is gone: it comes back with the children that the save knows.
    let saved = save(&mut world);
    world.despawn(ship);
    let loaded = saved.load(&mut world).unwrap();
    let is_instance = |&&new: &&Entity| world.has_pair::<IsA>(new, prefab);
    let ships: Vec<Entity> = loaded.spawned.iter().filter(is_instance).copied().collect();
    assert!(matches!(*ships, [ship] if children(&world, ship).len() == count));
    assert_eq!(loaded.spawned.len(), count + 1);
    check(&world);
}

#[test]
fn an_instance_that_has_come_to_lie_in_its_prefab_is_restored() {
    let (mut world, prefab, ship, _) = world_with_instance();
    world.entity_mut(ship).insert(ChildOf(prefab));
    let before = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
    let entities = world.entities().count_spawned();
    world.remove_pair::<IsA>(ship, prefab);
    before.apply(&mut world).unwrap();
    assert!(world.has_pair::<IsA>(ship, prefab));
    assert_eq!(world.entities().count_spawned(), entities);
    check(&world);
}

#[test]
fn a_scene_with_an_instance_brings_its_children_once() {
    let (mut world, prefab, ship, count) = world_with_instance();
    world.mirror_pairs::<IsA>().unwrap();
    let kept = world.get::<MirroredPairs<IsA>>(ship).unwrap().clone();
    // What a scene does with each component, in a world in which the prefab is there.
    let registry = world.resource::<AppTypeRegistry>().clone();
    let registry = registry.read();
    let reflect = registry.get_type_data::<ReflectComponent>(core::any::TypeId::of::<MirroredPairs<IsA>>());
    let reflect = reflect.unwrap();
    let copy = world.spawn_empty().id();
    for _ in 0..count {
        world.spawn(ChildOf(copy));
    }
    let mut map = EntityHashMap::from_iter([(prefab, prefab), (ship, copy)]);
    for _ in 0..2 {
        SceneEntityMapper::world_scope(&mut map, &mut world, |world, mapper| {
            let mut copy = world.entity_mut(copy);
            let mode = RelationshipHookMode::Skip;
            reflect.apply_or_insert_mapped(&mut copy, &kept, &registry, mapper, mode);
        });
        world.update_mirrors();
        assert!(world.has_pair::<IsA>(copy, prefab));
        assert_eq!(children(&world, copy).len(), count);
    }
    // The same with the component alone, and over a base that has gone.
    let other = world.spawn(kept.clone()).id();
    assert!(world.has_pair::<IsA>(other, prefab) && children(&world, other).is_empty());
    world.remove_pair::<IsA>(ship, prefab);
    world.entity_mut(ship).insert(kept);
    assert!(world.has_pair::<IsA>(ship, prefab));
    assert_eq!(children(&world, ship).len(), count);
    check(&world);
    assert_eq!(take_reported_errors(), [""; 0]);
}
