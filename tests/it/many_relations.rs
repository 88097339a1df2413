//! Thousands of relations: time and memory must stay in proportion.

use crate::common::{spawn, world_that_records_errors};
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

fn relation(world: &mut World, with: &[Entity]) -> Entity {
    let traits = with.iter().fold(RelationTraits::new(), |traits, &with| traits.with_id(with));
    world.spawn_relation("R", traits).unwrap()
}

/// Two relations a level, of which each brings both of the next level along: a number of ways that has twelve digits.
#[test]
fn forty_levels_of_diamonds_insert_every_companion_once() {
    let mut world = world_that_records_errors();
    let mut level = Vec::new();
    for _ in 0..40 {
        level = vec![relation(&mut world, &level), relation(&mut world, &level)];
    }
    let top = relation(&mut world, &level);
    let [a, b] = spawn(&mut world);
    world.insert_pair_by_id(a, (top, b)).unwrap();
    assert_eq!(world.pairs_of(a).len(), 81);
    world.insert_pair_by_id(b, (level[0], a)).unwrap();
    assert_eq!(world.pairs_of(b).len(), 79);
    let error = world.set_traits(top, RelationTraits::new().acyclic()).unwrap_err();
    assert!(error.to_string().contains("used"), "{error}");
    world.check_pairs().unwrap();
}

#[test]
fn a_cycle_through_diamonds_is_found_and_named() {
    let mut world = world_that_records_errors();
    let bottom = relation(&mut world, &[]);
    let mut level = vec![bottom];
    for _ in 0..40 {
        level = vec![relation(&mut world, &level), relation(&mut world, &level)];
    }
    let error = world.set_traits(bottom, RelationTraits::new().with_id(level[0])).unwrap_err();
    let bevy_relations::error::TraitsError::WithCycle { path, .. } = error else { panic!("{error}") };
    assert_eq!((path.relations().len(), path.relations()[0].entity()), (42, bottom));
    assert_eq!(path.relations().last().map(bevy_relations::relation::RelationName::entity), Some(bottom));
}

#[test]
fn tags_that_bring_tags_along_form_diamonds_too() {
    let mut world = world_that_records_errors();
    let mut level = Vec::new();
    for _ in 0..40 {
        level = vec![relation(&mut world, &level), relation(&mut world, &level)];
    }
    let [a] = spawn(&mut world);
    world.insert_tag(a, level[0]).unwrap();
    assert_eq!(world.tags(a).count(), 79);
    world.check_pairs().unwrap();
}

#[test]
fn a_chain_of_two_thousand_companions_comes_along() {
    let mut world = world_that_records_errors();
    let mut top = relation(&mut world, &[]);
    for _ in 1..2_000 {
        top = relation(&mut world, &[top]);
    }
    let [a, b] = spawn(&mut world);
    for (source, target) in [(a, b), (b, a), (a, a)] {
        world.insert_pair_by_id(source, (top, target)).unwrap();
    }
    assert_eq!((world.pairs_of(a).len(), world.pairs_of(b).len()), (4_000, 2_000));
    world.despawn(b);
    assert_eq!(world.pairs_of(a).len(), 2_000);
}

#[test]
fn an_entity_has_pairs_of_three_thousand_relations() {
    let mut world = world_that_records_errors();
    let relations: Vec<Entity> = (0..3_000).map(|_| relation(&mut world, &[])).collect();
    let [a, b, c] = spawn(&mut world);
    for &relation in &relations {
        world.insert_pair_by_id(a, (relation, b)).unwrap();
        world.insert_pair_by_id(c, (relation, a)).unwrap();
    }
    assert_eq!((world.pairs_of(a).len(), world.pairs_to(a).len()), (3_000, 3_000));
    for &relation in relations.iter().step_by(2) {
        assert_eq!(world.remove_pairs_by_id(a, PairId::new(relation, b)), 1);
    }
    assert_eq!(world.pairs_of(a).len(), 1_500);
    world.despawn(a);
    assert!(world.pairs_of(c).is_empty() && world.pairs_to(b).is_empty());
}
