use bevy_ecs::prelude::*;
use bevy_relations::{prelude::*, relation::Wildcard};

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone, Debug, PartialEq)]
struct Eats {
    grams: f32,
}

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct MountedOn;

#[test]
fn a_pair_is_there_after_insertion_and_gone_after_removal() {
    let mut world = World::new();
    let (bob, alice) = (world.spawn_empty().id(), world.spawn_empty().id());
    world.insert_pair(bob, Likes, alice).unwrap();
    world.insert_pair(bob, Eats { grams: 2.0 }, alice).unwrap();
    world.check_pairs().unwrap();
    assert!(world.has_pair::<Likes>(bob, alice));
    assert_eq!(world.pair_value::<Eats>(bob, alice), Some(&Eats { grams: 2.0 }));
    assert!(world.remove_pair::<Likes>(bob, alice));
    assert!(!world.has_pair::<Likes>(bob, alice));
    world.despawn(alice);
    world.check_pairs().unwrap();
    assert!(world.pairs_of(bob).is_empty());
}

#[test]
fn trees_go_with_their_root() {
    let mut world = World::new();
    let root = world.spawn_empty().id();
    let mut at = root;
    for _ in 0..100 {
        let next = world.spawn(pairs![(MountedOn, at)]).id();
        world.spawn((ChildOf(next), Pair(Likes, root)));
        at = next;
    }
    world.check_pairs().unwrap();
    assert_eq!(world.pairs::<MountedOn>().descendants(root).count(), 100);
    let before = world.entities().count_spawned();
    world.despawn(root);
    assert_eq!(world.entities().count_spawned(), before - 201);
    world.check_pairs().unwrap();
}

#[test]
fn a_symmetric_despawn_relation_takes_everybody_along() {
    let mut world = World::new();
    let r = world
        .spawn_relation("R", RelationTraits::new().symmetric().on_target_despawn(CleanupPolicy::Despawn))
        .unwrap();
    let [a, b, c] = [(); 3].map(|()| world.spawn_empty().id());
    world.insert_pair_by_id(a, (r, b)).unwrap();
    world.insert_pair_by_id(a, (r, c)).unwrap();
    world.despawn(c);
    assert!(world.get_entity(a).is_err() && world.get_entity(b).is_err());
    // The relation itself may be one of them.
    let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
    world.insert_pair_by_id(a, (r, b)).unwrap();
    world.insert_pair_by_id(a, (r, r)).unwrap();
    world.despawn(r);
    assert!(world.get_entity(a).is_err() && world.get_entity(b).is_err());
}

#[test]
fn a_relation_that_is_a_parent_takes_those_along_that_depend_on_its_children() {
    let mut world = World::new();
    let r = world
        .spawn_relation("R", RelationTraits::new().symmetric().on_target_despawn(CleanupPolicy::Despawn))
        .unwrap();
    let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
    world.insert_pair_by_id(a, (r, b)).unwrap();
    world.insert_pair(a, ChildOf(r), r).unwrap();
    world.despawn(r);
    assert!([a, b, r].iter().all(|&entity| world.get_entity(entity).is_err()));
}

#[test]
fn commands_remove_pairs_from_everybody_and_despawn_all_that_have_them() {
    let mut world = World::new();
    let [a, b, c, target] = [(); 4].map(|()| world.spawn_empty().id());
    for source in [a, b] {
        world.insert_pair(source, Likes, target).unwrap();
    }
    world.insert_pair(c, Eats { grams: 1.0 }, target).unwrap();
    let likes = world.entity_of::<Likes>();
    world.commands().remove_pairs_everywhere(PairId::with_relation(likes));
    world.flush();
    assert_eq!(world.pairs_to(target).len(), 1);
    world.insert_pair(a, Likes, target).unwrap();
    world.commands().despawn_sources(PairId::with_target(target));
    world.flush();
    assert_eq!([a, b, c, target].map(|entity| world.get_entity(entity).is_ok()), [false, true, false, true]);
    world.check_pairs().unwrap();
}

#[test]
fn observing_pairs_of_a_dead_entity_leaves_the_one_with_its_index_alone() {
    let mut world = World::new();
    let [dead, alice] = [(); 2].map(|()| world.spawn_empty().id());
    world.insert_pair(dead, Likes, alice).unwrap();
    world.despawn(dead);
    let bob = crate::common::reuse_index(&mut world, dead);
    world.insert_pair(bob, Likes, alice).unwrap();
    for gone in [dead, Entity::PLACEHOLDER] {
        world.observe_pairs(PairId::with_target(gone), |_: On<PairInserted<Wildcard>>| {});
        world.observe_pairs(PairId::new(gone, gone), |_: On<PairRemoved<Wildcard>>| {});
        assert!(world.insert_pair(gone, Likes, gone).is_err());
        assert!(!world.remove_pair::<Likes>(gone, gone) && world.pairs_of(gone).is_empty());
    }
    world.check_pairs().unwrap();
    world.despawn(bob);
    assert!(world.pairs_to(alice).is_empty());
    world.check_pairs().unwrap();
}
