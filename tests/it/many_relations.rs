//! Thousands of relations: time and memory must stay in proportion.

use crate::common::{Random, reuse_index, spawn, world_that_records_errors};
use bevy_ecs::prelude::*;
use bevy_relations::{expr::PairExpr, prelude::*};
use std::collections::BTreeSet;

#[derive(Component)]
struct Held;

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

/// Relations with one target and with several, more than a word has bits, and more sources than are looked at together.
#[test]
fn every_pair_of_any_of_many_relations_is_a_row() {
    let mut world = world_that_records_errors();
    world.register_component_name::<Held>("Held");
    let relations: Vec<Entity> = (0..70)
        .map(|number| {
            let traits = RelationTraits::new();
            let traits = if number % 3 == 0 { traits } else { traits.exclusive() };
            world.spawn_relation("R", traits).unwrap()
        })
        .collect();
    let holders: Vec<Entity> = (0..1_500).map(|_| world.spawn(Held).id()).collect();
    let mut random = Random(41);
    for _ in 0..6_000 {
        let (source, target) = (random.pick(&holders), random.pick(&holders));
        world.insert_pair_by_id(source, (random.pick(&relations), target)).unwrap();
        world.remove_pairs_by_id(random.pick(&holders), PairId::new(random.pick(&relations), target));
    }
    for &holder in &holders[..3] {
        world.despawn(holder);
        let other = reuse_index(&mut world, holder);
        world.entity_mut(other).insert(Held);
    }
    let mut expr = PairExpr::parse("Held, ($r, $t)").unwrap().compile(&mut world).unwrap();
    let mut found = Vec::new();
    expr.for_each(&world, |row| {
        let variable = |name| row.var(name).unwrap();
        found.push((row.this().unwrap(), variable("r"), variable("t")));
    })
    .unwrap();
    let mut expected = Vec::new();
    for source in world.query_filtered::<Entity, With<Held>>().iter(&world) {
        for &relation in &relations {
            let targets = world.pairs_by_id(relation).targets(source);
            expected.extend(targets.map(|target| (source, relation, target)));
        }
    }
    assert!(found.len() > 3_000);
    // The rows about an entity come one after the other.
    assert_eq!(
        found.chunk_by(|a, b| a.0 == b.0).count(),
        found.iter().map(|row| row.0).collect::<BTreeSet<_>>().len()
    );
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}
