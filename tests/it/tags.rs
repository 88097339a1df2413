//! Tags: entities that serve as a mark without a target. They are no pairs, and yet wildcards remove them.

use bevy_ecs::prelude::*;
use bevy_relations::{id::Slot, prelude::*};

#[derive(Relation)]
struct Likes;

/// Two entities with two tags each, of which one is a target of pairs too.
fn tagged() -> (World, [Entity; 4]) {
    let mut world = World::new();
    let [a, b, red, big] = [(); 4].map(|()| world.spawn_empty().id());
    for source in [a, b] {
        for tag in [red, big] {
            world.insert_tag(source, tag).unwrap();
        }
        world.insert_pair(source, Likes, red).unwrap();
    }
    (world, [a, b, red, big])
}

fn tags(world: &World, source: Entity) -> Vec<Entity> {
    world.check_pairs().unwrap();
    world.tags(source).collect()
}

#[test]
fn all_with_a_target_is_removed_from_an_entity_with_its_tags() {
    let (mut world, [a, b, red, big]) = tagged();
    assert_eq!(world.remove_pairs_by_id(a, PairId::with_target(red)), 2);
    assert_eq!((tags(&world, a), tags(&world, b)), (vec![big], vec![red, big]));
    assert!(world.pairs_of(a).is_empty());
    assert_eq!(world.remove_pairs_by_id(b, PairId::new(Slot::Any, red)), 1, "one match at most");
    assert_eq!((tags(&world, b), world.pairs_of(b).len()), (vec![big], 1));
    world.commands().entity(b).remove_pairs_by_id(PairId::with_target(big));
    world.flush();
    assert_eq!((tags(&world, b), world.pairs_of(b).len()), (vec![], 1));
    assert_eq!(world.entity_mut(a).remove_pairs_by_id(PairId::ALL).id(), a);
    assert_eq!(tags(&world, a), []);
}

#[test]
fn all_with_a_target_is_removed_everywhere_with_tags() {
    let (mut world, [a, b, red, big]) = tagged();
    assert_eq!(world.remove_pairs_everywhere(PairId::with_target(red)), 4);
    assert_eq!((tags(&world, a), tags(&world, b)), (vec![big], vec![big]));
    world.commands().remove_pairs_everywhere(PairId::with_target(big));
    world.flush();
    assert_eq!((tags(&world, a), tags(&world, b)), (vec![], vec![]));
    let (mut world, [a, b, ..]) = tagged();
    assert_eq!(world.remove_pairs_everywhere(PairId::ALL), 6);
    assert_eq!((tags(&world, a), tags(&world, b)), (vec![], vec![]));
    let (mut world, [a, ..]) = tagged();
    let likes = world.get_entity_of::<Likes>().unwrap();
    assert_eq!(
        world.remove_pairs_everywhere(PairId::with_relation(likes)),
        2,
        "a named relation has no tags"
    );
    assert_eq!(tags(&world, a).len(), 2);
}

#[test]
fn what_has_a_tag_is_despawned_by_a_wildcard() {
    let (mut world, [a, b, red, big]) = tagged();
    world.remove_tag(b, big);
    assert_eq!(world.despawn_sources(PairId::with_target(big)), Ok(1));
    assert!(world.get_entity(a).is_err() && world.get_entity(b).is_ok());
    world.commands().despawn_sources(PairId::with_target(red));
    world.flush();
    assert!(world.get_entity(b).is_err());
    world.check_pairs().unwrap();
}
