//! Constraints on ends, and cleanup from the source's side, of Bevy's own relationships.

use crate::common::{
    Random, fewer, record_errors_of, refused, spawn, take_errors, take_reported_errors,
    unpaid::{Crew, CrewOf},
    world_that_records_errors,
};
use bevy_app::App;
use bevy_ecs::{entity::EntityCloner, prelude::*};
use bevy_relations::{
    error::{InsertPairError, TraitsError},
    prelude::*,
    relation::{EndConstraint, OnLastSource, OnMissing, OnSourceDespawn},
};

#[derive(Component, Clone, Default)]
struct Sailor;

#[derive(Component, Clone, Default)]
struct Ship;

/// Despawns its sources with it.
#[derive(Component)]
#[relationship(relationship_target = Cargo)]
struct LoadedOn(Entity);

#[derive(Component)]
#[relationship_target(relationship = LoadedOn, linked_spawn)]
struct Cargo(Vec<Entity>);

fn sailors() -> RelationTraits {
    RelationTraits::new()
        .source(EndConstraint::with_default::<Sailor>())
        .target(EndConstraint::with_default::<Ship>())
}

fn world_with(traits: RelationTraits) -> World {
    let mut world = world_that_records_errors();
    world.adopt_relationship_with::<CrewOf>(traits).unwrap();
    world
}

/// What the store and Bevy's components say of the crew of a ship, which must be the same.
#[track_caller]
fn crew(world: &World, ship: Entity) -> Vec<Entity> {
    world.check_pairs().unwrap();
    let mut crew: Vec<Entity> = world.pairs::<CrewOf>().sources(ship).collect();
    let mut listed: Vec<Entity> =
        world.get::<Crew>(ship).into_iter().flat_map(RelationshipTarget::iter).collect();
    crew.sort_unstable();
    listed.sort_unstable();
    assert_eq!(crew, listed);
    assert!(crew.iter().all(|&member| world.get::<CrewOf>(member).unwrap().0 == ship));
    crew
}

fn sorted<const N: usize>(mut entities: [Entity; N]) -> Vec<Entity> {
    entities.sort_unstable();
    entities.to_vec()
}

#[test]
fn a_component_that_breaks_a_constraint_is_removed_by_the_check() {
    let ways: [fn(&mut World, Entity, Entity); 5] = [
        |world, a, ship| _ = world.entity_mut(a).insert(CrewOf(ship)),
        |world, a, ship| _ = world.commands().entity(a).insert(CrewOf(ship)),
        |world, a, ship| _ = world.entity_mut(ship).add_related::<CrewOf>(&[a]),
        |world, a, ship| _ = world.commands().entity(a).insert_pair(CrewOf(ship), ship),
        |world, a, ship| _ = world.commands().entity(a).insert_relationship(CrewOf(ship)),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let mut world = world_with(sailors());
        let [a, b, ship] = spawn(&mut world);
        way(&mut world, a, ship);
        way(&mut world, b, ship);
        // What follows makes one of them right.
        world.commands().entity(a).insert(Sailor);
        world.commands().entity(ship).insert(Ship);
        world.flush();
        assert_eq!((crew(&world, ship).len(), take_errors().len()), (2, 0), "way {number}");
        assert_eq!(world.check_constraints(), 1);
        assert_eq!(crew(&world, ship), [a], "way {number}");
        assert!(!world.entity(b).contains::<CrewOf>());
        let errors = take_reported_errors();
        assert!(
            errors.len() == 1 && errors[0].trim_end().ends_with("the source must have `Sailor`"),
            "{errors:?}"
        );
        // Later, too.
        world.entity_mut(ship).remove::<Ship>();
        assert!(crew(&world, ship).is_empty() && take_errors().len() == 1);
        assert!(!world.entity(a).contains::<CrewOf>());
    }
}

#[test]
fn a_verb_of_pairs_is_checked_at_once() {
    let mut world = world_with(sailors());
    let [a, b, ship] = spawn(&mut world);
    for _ in 0..2 {
        let error = refused(&mut world, |world| world.insert_relationship(a, CrewOf(ship)));
        assert!(matches!(error, InsertPairError::Constraint(_)), "{error}");
        world.entity_mut(ship).insert(Ship);
    }
    world.entity_mut(a).insert(Sailor);
    world.insert_relationship(a, CrewOf(ship)).unwrap();
    refused(&mut world, |world| world.insert_pair(b, CrewOf(ship), ship));
    refused(&mut world, |world| world.insert_pair(a, CrewOf(b), b));
    assert_eq!(crew(&world, ship), [a]);
    assert_eq!((world.check_constraints(), take_errors().len()), (0, 0));
}

#[test]
fn a_bundle_and_what_is_spawned_with_it_are_complete_when_they_are_checked() {
    let mut world = world_with(sailors());
    let ship =
        world.spawn((Ship, related!(Crew[Sailor, (Sailor, Name::new("cook")), Name::new("rat")]))).id();
    assert_eq!(crew(&world, ship).len(), 3);
    assert_eq!(world.check_constraints(), 1);
    assert_eq!((crew(&world, ship).len(), take_errors().len()), (2, 1));
    let clone = {
        let a = crew(&world, ship)[0];
        let clone = world.spawn_empty().id();
        EntityCloner::build_opt_out(&mut world).clone_entity(a, clone);
        world.flush();
        clone
    };
    assert_eq!(world.check_constraints(), 0);
    assert!(crew(&world, ship).contains(&clone) && take_errors().is_empty());
    let boat = world.spawn_empty().id();
    let batch: Vec<Entity> = world.spawn_batch([(CrewOf(boat), Sailor), (CrewOf(ship), Sailor)]).collect();
    assert_eq!(world.check_constraints(), 1);
    assert!(crew(&world, boat).is_empty() && crew(&world, ship).contains(&batch[1]));
    assert_eq!(take_errors().len(), 1);
}

#[test]
fn defaults_and_warnings_are_for_relationships_too() {
    let mut world = world_with(sailors().on_missing(OnMissing::Insert));
    let [a, b, ship] = spawn(&mut world);
    world.entity_mut(a).insert(CrewOf(ship));
    assert!(!world.entity(a).contains::<Sailor>());
    assert_eq!(world.check_constraints(), 0);
    assert!(world.entity(a).contains::<Sailor>() && world.entity(ship).contains::<Ship>());
    world.insert_relationship(b, CrewOf(ship)).unwrap();
    assert!(world.entity(b).contains::<Sailor>() && take_errors().is_empty());
    assert_eq!(crew(&world, ship), sorted([a, b]));

    let mut world = world_with(sailors().on_missing(OnMissing::Warn));
    let [a, b, ship] = spawn(&mut world);
    world.entity_mut(ship).insert(Ship);
    world.entity_mut(a).insert(CrewOf(ship));
    world.insert_relationship(b, CrewOf(ship)).unwrap();
    assert_eq!(world.check_constraints(), 0);
    assert_eq!((crew(&world, ship), take_errors().len()), (sorted([a, b]), 2));
    world.check_constraints();
    world.entity_mut(ship).remove::<Ship>();
    assert_eq!(take_errors().len(), 2);
}

#[test]
fn what_happens_to_the_ends_before_the_check_is_no_matter() {
    let mut world = world_with(sailors());
    let [a, b, c, ship, boat] = spawn(&mut world);
    world.entity_mut(boat).insert(Ship);
    for member in [a, b, c] {
        world.entity_mut(member).insert(CrewOf(ship));
    }
    world.despawn(a);
    world.entity_mut(b).remove::<CrewOf>();
    world.entity_mut(c).insert((CrewOf(boat), Sailor));
    assert_eq!(world.check_constraints(), 0);
    assert_eq!((crew(&world, boat), take_errors().len()), (vec![c], 0));
    world.entity_mut(b).insert(CrewOf(ship));
    world.despawn(ship);
    assert_eq!(world.check_constraints(), 0);
    assert!(!world.entity(b).contains::<CrewOf>() && take_errors().is_empty());
}

#[test]
fn parents_and_children_have_constraints_as_long_as_there_are_none() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    let traits = ChildOf::traits().source(EndConstraint::with::<Sailor>());
    let child_of = app.adopt_relationship_with::<ChildOf>(traits.clone()).unwrap();
    record_errors_of(app.world_mut());
    // The same again is no error, less is one, and so is what contradicts.
    assert_eq!(app.adopt_relationship_with::<ChildOf>(traits.clone()), Ok(child_of));
    assert!(app.adopt_relationship_with::<ChildOf>(ChildOf::traits()).is_err());
    let contrary = traits.clone().source(EndConstraint::without::<Sailor>());
    assert!(app.adopt_relationship_with::<ChildOf>(contrary).is_err());
    let world = app.world_mut();
    let parent = world.spawn(children![Sailor, Name::new("rat")]).id();
    let children: Vec<Entity> = world.get::<Children>(parent).unwrap().iter().collect();
    app.update();
    let world = app.world_mut();
    assert_eq!(world.get::<Children>(parent).unwrap().iter().collect::<Vec<_>>(), children[..1]);
    assert!(world.get_entity(children[1]).is_ok() && !world.entity(children[1]).contains::<ChildOf>());
    assert_eq!(take_errors().len(), 1);
    let error = app.adopt_relationship_with::<ChildOf>(traits.on_missing(OnMissing::Warn)).unwrap_err();
    assert!(matches!(error, TraitsError::Frozen { .. }), "{error}");
    app.world_mut().despawn(parent);
    assert!(app.world().get_entity(children[0]).is_err());
    app.world().check_pairs().unwrap();
}

#[test]
fn a_target_goes_with_its_last_source() {
    let ways: [fn(&mut World, Entity); 5] = [
        |world, a| _ = world.entity_mut(a).remove::<CrewOf>(),
        |world, a| _ = world.despawn(a),
        |world, a| _ = world.remove_pairs::<CrewOf>(a),
        |world, a| {
            let other = world.spawn_empty().id();
            world.entity_mut(a).insert(CrewOf(other));
        },
        |world, a| world.commands().entity(a).despawn_with_dependents(),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let mut world = world_with(RelationTraits::new().on_last_source(OnLastSource::Despawn));
        let [a, b, ship] = spawn(&mut world);
        world.entity_mut(a).insert(CrewOf(ship));
        world.entity_mut(b).insert(CrewOf(ship));
        way(&mut world, a);
        world.flush();
        assert_eq!(crew(&world, ship), [b], "way {number}");
        // The component is replaced by one with the same target.
        world.entity_mut(b).insert(CrewOf(ship));
        assert_eq!(crew(&world, ship), [b]);
        if number == 4 {
            assert_eq!(world.would_despawn(b), Ok(vec![b, ship]));
        }
        way(&mut world, b);
        world.flush();
        assert!(world.get_entity(ship).is_err(), "way {number}");
        assert_eq!(take_reported_errors(), [""; 0]);
        world.check_pairs().unwrap();
    }
}

#[test]
fn a_target_goes_with_any_source() {
    let ways: [fn(&mut World, Entity); 3] = [
        |world, a| _ = world.despawn(a),
        |world, a| world.commands().entity(a).despawn(),
        |world, a| world.despawn_with_dependents(a).unwrap(),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        for is_marked in [false, true] {
            let traits = RelationTraits::new().on_source_despawn(OnSourceDespawn::DespawnTarget);
            let mut world = world_with(traits);
            let [a, b, c, ship, port] = spawn(&mut world);
            for (source, target) in [(a, ship), (b, ship), (ship, port), (c, port)] {
                world.entity_mut(source).insert(CrewOf(target));
            }
            if is_marked {
                // It takes part in other pairs.
                world.insert_tag(a, c).unwrap();
            }
            // The component goes, the source stays.
            world.entity_mut(b).remove::<CrewOf>().insert(CrewOf(ship));
            assert!(world.get_entity(ship).is_ok());
            assert_eq!(world.would_despawn(a), Ok(vec![port, ship, a]));
            way(&mut world, a);
            world.flush();
            assert!([a, ship, port].iter().all(|&entity| world.get_entity(entity).is_err()), "way {number}");
            assert!([b, c].iter().all(|&entity| !world.entity(entity).contains::<CrewOf>()));
            assert_eq!(take_reported_errors(), [""; 0]);
            world.check_pairs().unwrap();
        }
    }
}

#[test]
fn sources_and_targets_may_go_with_each_other() {
    for traits in [
        RelationTraits::new().on_source_despawn(OnSourceDespawn::DespawnTarget),
        RelationTraits::new().on_last_source(OnLastSource::Despawn),
    ] {
        let is_counted = traits == RelationTraits::new().on_last_source(OnLastSource::Despawn);
        for root in 0..4 {
            let mut world = world_that_records_errors();
            world.adopt_relationship_with::<LoadedOn>(traits.clone()).unwrap();
            let [ship, crate_1, crate_2, box_1] = spawn(&mut world);
            let all = [ship, crate_1, crate_2, box_1];
            for (source, target) in [(crate_1, ship), (crate_2, ship), (box_1, crate_1)] {
                world.entity_mut(source).insert(LoadedOn(target));
            }
            world.despawn(all[root]);
            world.flush();
            let left: Vec<usize> = (0..4).filter(|&at| world.get_entity(all[at]).is_ok()).collect();
            let expected: &[usize] = match (is_counted, root) {
                (false, _) | (true, 0) => &[],
                (true, 1 | 3) => &[0, 2],
                (true, _) => &[0, 1, 3],
            };
            assert_eq!(left, expected, "{root}");
            assert_eq!(take_reported_errors(), [""; 0]);
            world.check_pairs().unwrap();
        }
    }
}

#[test]
fn random_crews_are_counted_as_a_model_counts_them() {
    let mut random = Random(0x0dd0_1234_5678_9abc);
    for _ in 0..fewer(60) {
        let mut world = world_with(RelationTraits::new().on_last_source(OnLastSource::Despawn));
        let ships: [Entity; 4] = spawn(&mut world);
        let sailors: [Entity; 8] = spawn(&mut world);
        let (mut model, mut alive) = ([None; 8], [true; 4]);
        for _ in 0..50 {
            let (sailor, ship) = (random.below(8), random.below(4));
            let before = model;
            match random.below(6) {
                0 => {
                    world.entity_mut(sailors[sailor]).remove::<CrewOf>();
                    model[sailor] = None;
                }
                1 => {
                    world.remove_pairs::<CrewOf>(sailors[sailor]);
                    model[sailor] = None;
                }
                2 if alive[ship] && random.below(4) == 0 => {
                    world.despawn(ships[ship]);
                    alive[ship] = false;
                    model.iter_mut().filter(|at| **at == Some(ship)).for_each(|at| *at = None);
                }
                3 if alive[ship] => {
                    world.insert_relationship(sailors[sailor], CrewOf(ships[ship])).unwrap();
                    model[sailor] = Some(ship);
                }
                _ if alive[ship] => {
                    world.entity_mut(sailors[sailor]).insert(CrewOf(ships[ship]));
                    model[sailor] = Some(ship);
                }
                _ => {}
            }
            for lost in before.into_iter().flatten().filter(|ship| !model.contains(&Some(*ship))) {
                alive[lost] = false;
            }
            for (at, &ship) in ships.iter().enumerate() {
                assert_eq!(world.get_entity(ship).is_ok(), alive[at]);
                let mut expected: Vec<Entity> = (0..8)
                    .filter(|&sailor| model[sailor] == Some(at))
                    .map(|sailor| sailors[sailor])
                    .collect();
                expected.sort_unstable();
                assert_eq!(crew(&world, ship), expected);
            }
        }
        assert_eq!(take_reported_errors(), [""; 0]);
    }
}
