//! The verbs on worlds, entities and commands: one shape for each, the same outcome on each, and what they refuse.

use crate::common::{CrewOf, dump, refused, spawn, take_errors, world_that_records_errors};
use bevy_ecs::{error::Severity, prelude::*};
use bevy_relations::{
    error::{DespawnError, InsertPairError},
    id::Slot,
    prelude::*,
};

#[derive(Relation, Debug)]
struct Likes;

#[derive(Relation, Debug, PartialEq)]
struct Eats(u32);

#[derive(Relation)]
#[relation(on_target_despawn = Refuse)]
struct LeansOn;

/// An entity that is dead.
fn dead(world: &mut World) -> Entity {
    let [entity] = spawn(world);
    world.despawn(entity);
    entity
}

#[test]
fn several_pairs_of_one_source_are_inserted_but_for_those_that_are_refused() {
    for verb in 0..3 {
        let mut world = world_that_records_errors();
        let [bob, a, b] = spawn(&mut world);
        let gone = dead(&mut world);
        let pairs = [(Eats(1), a), (Eats(2), gone), (Eats(3), b)];
        let numbers = match verb {
            0 => world.insert_pairs(bob, pairs).unwrap_err().refused,
            1 => world.entity_mut(bob).insert_pairs(pairs).map(drop).unwrap_err().refused,
            _ => {
                world.commands().entity(bob).insert_pairs(pairs);
                world.flush();
                let errors = take_errors();
                let [(Severity::Error, text)] = errors.as_slice() else { panic!("{errors:?}") };
                assert!(text.contains(&gone.to_string()), "{text}");
                Vec::new()
            }
        };
        assert!(
            numbers
                .iter()
                .all(|(number, error)| { *number == 1 && matches!(error, InsertPairError::Dead { .. }) })
        );
        assert_eq!(numbers.len(), usize::from(verb < 2));
        assert_eq!(world.pairs::<Eats>().targets(bob).collect::<Vec<_>>(), [a, b]);
        assert_eq!(world.pair_value::<Eats>(bob, b), Some(&Eats(3)));
        world.check_pairs().unwrap();
    }
}

#[test]
fn a_relationship_is_inserted_as_the_pair_that_it_is() {
    for verb in 0..3 {
        let mut world = world_that_records_errors();
        let [ship, other, cook] = spawn(&mut world);
        for (ship, wage) in [(ship, 1), (ship, 2), (other, 3)] {
            let crew = CrewOf { ship, wage };
            match verb {
                0 => world.insert_relationship(cook, crew.clone()).unwrap(),
                1 => drop(world.entity_mut(cook).insert_relationship(crew.clone()).unwrap()),
                _ => {
                    world.commands().entity(cook).insert_relationship(crew.clone());
                    world.flush();
                }
            }
            assert_eq!(world.get::<CrewOf>(cook), Some(&crew));
            assert_eq!(world.pairs::<CrewOf>().targets(cook).collect::<Vec<_>>(), [ship]);
            world.check_pairs().unwrap();
        }
        assert!(take_errors().is_empty());
    }
}

#[test]
fn a_relationship_to_the_dead_to_itself_in_a_cycle_or_of_the_dead_is_refused() {
    let mut world = world_that_records_errors();
    let [ship, turret] = spawn(&mut world);
    let gone = dead(&mut world);
    world.insert_relationship(turret, ChildOf(ship)).unwrap();
    world.adopt_relationship::<CrewOf>();
    let error = refused(&mut world, |world| world.insert_relationship(turret, ChildOf(gone)));
    assert!(matches!(error, InsertPairError::Dead { .. }), "{error}");
    let error = refused(&mut world, |world| world.insert_relationship(gone, ChildOf(ship)));
    assert!(matches!(error, InsertPairError::Dead { .. }), "{error}");
    let error = refused(&mut world, |world| world.insert_relationship(ship, ChildOf(ship)));
    assert!(matches!(error, InsertPairError::SelfReference { .. }), "{error}");
    let error = refused(&mut world, |world| world.insert_relationship(ship, ChildOf(turret)));
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
    world.commands().entity(ship).insert_relationship(CrewOf { ship: gone, wage: 1 });
    world.flush();
    assert_eq!(take_errors().len(), 1);
    assert!(!world.entity(ship).contains::<CrewOf>());
}

#[test]
fn ids_are_pairs_or_tuples_and_only_two_entities_can_be_inserted() {
    let mut world = world_that_records_errors();
    let [bob, alice] = spawn(&mut world);
    let likes = world.register_relation::<Likes>().unwrap();
    world.insert_pair_by_id(bob, (likes, alice)).unwrap();
    assert!(world.has_pair_by_id(bob, PairId::new(likes, alice)));
    assert!(
        world.has_pair_by_id(bob, (likes, Slot::Any))
            && world.has_pair_by_id(bob, PairId::with_target(alice))
    );
    for wildcard in [Slot::Wildcard, Slot::Any] {
        for pair in [PairId::new(likes, wildcard), (wildcard, alice).into(), (wildcard, wildcard).into()] {
            let error = refused(&mut world, |world| world.insert_pair_by_id(bob, pair));
            assert!(
                matches!(&error, InsertPairError::Wildcard { source_entity, .. } if *source_entity == bob),
                "{error}"
            );
            assert_eq!(world.pair_value_by_id::<Eats>(bob, pair), None);
        }
    }
    assert_eq!(world.remove_pairs_by_id(bob, (likes, Slot::Wildcard)), 1);
    world.check_pairs().unwrap();
}

#[test]
fn batches_in_commands_do_what_they_do_on_the_world() {
    let mut worlds = [(); 2].map(|()| world_that_records_errors());
    for (deferred, world) in [false, true].into_iter().zip(&mut worlds) {
        let [a, b, c] = spawn(world);
        let gone = dead(world);
        let inserted = [(a, Likes, b), (gone, Likes, b), (a, Likes, c), (b, Likes, gone), (c, Likes, c)];
        let removed = [(a, b), (a, gone), (c, a)];
        if deferred {
            world.commands().insert_pair_batch(inserted);
            world.commands().remove_pair_batch::<Likes>(removed);
            world.flush();
            assert_eq!(take_errors().len(), 1, "one error for the batch");
        } else {
            let refused = world.insert_pair_batch(inserted).unwrap_err().refused;
            assert_eq!(refused.iter().map(|&(number, _)| number).collect::<Vec<_>>(), [1, 3]);
            assert_eq!(world.remove_pair_batch::<Likes>(removed), 1);
        }
        world.check_pairs().unwrap();
    }
    let [now, later] = worlds.map(|world| dump(&world));
    assert_eq!(now, later);
}

#[test]
fn a_policy_refuses_the_despawn_of_sources_as_a_whole() {
    let mut world = world_that_records_errors();
    let [a, b, wall, tag] = spawn(&mut world);
    let leaning = world.spawn(Pair(LeansOn, b)).id();
    for source in [a, b] {
        world.insert_pair(source, Likes, wall).unwrap();
    }
    let likes = world.get_entity_of::<Likes>().unwrap();
    let error = world.despawn_sources((likes, wall)).unwrap_err();
    assert!(matches!(&error, DespawnError::InUse { entity, .. } if *entity == b), "{error}");
    assert!([a, b].iter().all(|&entity| world.has_pair::<Likes>(entity, wall)), "nothing has changed");
    world.despawn(leaning);
    assert_eq!(world.despawn_sources((likes, wall)), Ok(2));
    assert_eq!(world.despawn_sources((likes, wall)), Ok(0));
    world.insert_tag(wall, tag).unwrap();
    assert_eq!(world.despawn_sources(PairId::with_target(tag)), Ok(1));
    assert!(world.get_entity(wall).is_err() && world.get_entity(tag).is_ok());
    world.check_pairs().unwrap();
}
