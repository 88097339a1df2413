//! Pairs that commands insert before their ends are what they must be: checked when the commands are done.

use crate::common::{
    constrained::{City, Founded, Knows, LivesIn, Person, Ruin, Rules, Visits, WorksIn, check},
    refused, spawn, take_errors, take_reported_errors, world_that_records_errors,
};
use bevy_ecs::{
    error::{BevyError, ErrorContext, FallbackErrorHandler, Severity},
    prelude::*,
};
use bevy_relations::{
    error::InsertPairError,
    event::RemovalCause,
    prelude::*,
    relation::{EndConstraint, OnMissing},
};
use std::sync::Mutex;

/// What happened to pairs, in order: insertions, and removals with their causes.
#[derive(Resource, Default)]
struct Log(Vec<(Entity, Entity, Option<RemovalCause>)>);

fn listening_world<R: Relation>() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    world.add_observer(|on: On<PairInserted<R>>, mut log: ResMut<Log>| {
        log.0.push((on.source, on.target, None));
    });
    world.add_observer(|on: On<PairRemoved<R>>, mut log: ResMut<Log>| {
        log.0.push((on.source, on.target, Some(on.cause)));
    });
    world
}

#[test]
fn a_pair_may_be_inserted_before_the_components_that_its_ends_must_have() {
    let steps: [fn(Entity, Entity, &mut Commands); 4] = [
        |a, b, commands| _ = commands.entity(a).insert_pair(LivesIn, b),
        |a, _, commands| _ = commands.entity(a).insert(Person),
        |_, b, commands| _ = commands.entity(b).insert(City),
        |_, b, commands| _ = commands.entity(b).remove::<Ruin>(),
    ];
    for first in 0..4 {
        let mut world = listening_world::<LivesIn>();
        let [a, b] = spawn(&mut world);
        world.entity_mut(b).insert(Ruin);
        for step in 0..4 {
            steps[(first + step) % 4](a, b, &mut world.commands());
        }
        world.flush();
        assert!(world.has_pair::<LivesIn>(a, b), "it is there at once");
        assert_eq!(check(&mut world, 0), [""; 0]);
        assert!(world.has_pair::<LivesIn>(a, b));
        assert_eq!(world.resource::<Log>().0, [(a, b, None)]);
        // From now on it is watched.
        world.entity_mut(a).remove::<Person>();
        assert!(!world.has_pair::<LivesIn>(a, b) && take_errors().len() == 1);
    }
}

#[test]
fn a_pair_that_stays_incomplete_is_removed_and_reported() {
    let mut world = listening_world::<LivesIn>();
    let a = world.spawn((Person, Name::new("Ann"))).id();
    let b = world.spawn(Name::new("sea")).id();
    world.commands().entity(a).insert_pair(LivesIn, b);
    world.flush();
    let errors = check(&mut world, 1);
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].trim_end()
            == format!("removed (LivesIn, sea ({b})) on Ann ({a}): the target must have `City`"),
        "{errors:?}"
    );
    let broken = (a, b, Some(RemovalCause::ConstraintBroken));
    assert_eq!(world.resource::<Log>().0, [(a, b, None), broken]);
    assert!(world.pairs_of(a).is_empty());
}

static PLACES: Mutex<Vec<(Severity, String)>> = Mutex::new(Vec::new());

#[test]
fn the_report_says_where_the_command_was_queued() {
    fn record(error: BevyError, _: ErrorContext) {
        PLACES.lock().unwrap().push((error.severity(), error.to_string()));
    }
    let mut world = World::new();
    world.insert_resource(FallbackErrorHandler(record));
    let [a, b, c] = spawn(&mut world);
    let mut lines = [0; 3];
    let mut commands = world.commands();
    lines[0] = line!() + 1;
    commands.entity(a).insert_pair(LivesIn, b);
    lines[1] = line!() + 1;
    commands.entity(a).insert_pair(Visits, b);
    lines[2] = line!() + 1;
    let mut batch = commands.pair_batch::<LivesIn>();
    batch.insert(b, LivesIn, c);
    drop(batch);
    world.flush();
    assert_eq!(world.check_constraints(), 2);
    let reported = core::mem::take(&mut *PLACES.lock().unwrap());
    assert_eq!(reported.len(), 3);
    for ((severity, text), (line, expected)) in
        reported.into_iter().zip(lines.into_iter().zip([Severity::Error, Severity::Warning, Severity::Error]))
    {
        assert_eq!(severity, expected);
        assert!(text.starts_with(&format!("tests/it/constraint_commands.rs:{line}:")), "{text}");
    }
}

#[test]
fn every_command_that_inserts_pairs_is_checked_later() {
    let ways: [fn(&mut World, [Entity; 3]); 11] = [
        |world, [a, b, _]| _ = world.commands().entity(a).insert_pair(Rules(1), b),
        |world, [a, b, _]| _ = world.commands().entity(a).try_insert_pair(Rules(1), b),
        |world, [a, b, _]| {
            let rules = world.register_relation::<Rules>().unwrap();
            world.commands().entity(a).insert_pair_by_id((rules, b));
        },
        |world, [a, b, _]| {
            let rules = world.register_relation::<Rules>().unwrap();
            world.commands().entity(a).try_insert_pair_by_id((rules, b));
        },
        |world, [a, b, _]| {
            let rules = world.register_relation::<Rules>().unwrap();
            world.commands().entity(a).insert_pair_value_by_id((rules, b), Rules(1));
        },
        |world, [a, b, _]| _ = world.commands().entity(a).insert_pairs([(Rules(1), b)]),
        |world, [a, b, _]| _ = world.commands().entity(a).replace_targets([(Rules(1), b)]),
        |world, [a, b, _]| world.commands().insert_pair_batch([(a, Rules(1), b)]),
        |world, [a, b, _]| _ = world.commands().pair_batch().insert(a, Rules(1), b),
        |world, [a, b, c]| {
            world.entity_mut(c).insert(City);
            world.insert_pair(a, Rules(1), c).unwrap();
            world.commands().entity(c).move_sources::<Rules>(b);
        },
        |world, [a, b, c]| {
            world.entity_mut(c).insert(City);
            world.insert_pair(a, Rules(1), c).unwrap();
            CommandsPairExt::move_sources::<Rules>(&mut world.commands(), c, b);
        },
    ];
    for (number, way) in ways.into_iter().enumerate() {
        for is_completed in [false, true] {
            let mut world = world_that_records_errors();
            let [a, b, c] = spawn(&mut world);
            way(&mut world, [a, b, c]);
            if is_completed {
                world.commands().entity(b).insert(City);
            }
            world.flush();
            assert!(world.has_pair::<Rules>(a, b), "way {number}");
            assert_eq!(check(&mut world, usize::from(!is_completed)).len(), usize::from(!is_completed));
            assert_eq!(world.has_pair::<Rules>(a, b), is_completed, "way {number}");
            // The target before has given way.
            assert!(!world.has_pair::<Rules>(a, c));
        }
    }
}

#[test]
fn types_as_targets_are_checked_later_too() {
    #[derive(Default)]
    struct Atlantis;
    let mut world = world_that_records_errors();
    let [a] = spawn(&mut world);
    world.commands().entity(a).insert_pair_to::<Rules, Atlantis>(Rules(3));
    world.flush();
    let atlantis = world.get_entity_of::<Atlantis>().unwrap();
    assert!(world.has_pair::<Rules>(a, atlantis));
    assert_eq!(check(&mut world, 1).len(), 1);
    world.commands().entity(a).insert_pair_to::<Rules, Atlantis>(Rules(3));
    world.commands().entity(atlantis).insert(City);
    world.flush();
    assert_eq!(check(&mut world, 0), [""; 0]);
}

#[test]
fn a_verb_on_the_world_is_checked_at_once() {
    let mut world = world_that_records_errors();
    let [a, b, c] = spawn(&mut world);
    world.entity_mut(c).insert(City);
    world.commands().entity(a).insert_pair(LivesIn, b);
    world.commands().entity(a).insert_pair(Rules(1), b);
    world.flush();
    // Also of a pair that is there and still to be checked.
    for target in [b, c] {
        let error = refused(&mut world, |world| world.insert_pair(a, LivesIn, target));
        assert!(matches!(error, InsertPairError::Constraint(_)), "{error}");
    }
    refused(&mut world, |world| world.insert_pair(a, Rules(2), b));
    assert_eq!(world.pair_value::<Rules>(a, b), Some(&Rules(1)));
    world.entity_mut(a).insert(Person);
    world.entity_mut(b).insert(City);
    world.insert_pair(a, LivesIn, b).unwrap();
    world.insert_pair(a, Rules(2), b).unwrap();
    assert_eq!(check(&mut world, 0), [""; 0]);
    // A bundle is one thing, also in a command.
    let [d] = spawn(&mut world);
    let e = world.commands().spawn(Pair(LivesIn, d)).id();
    world.commands().entity(e).insert(Person);
    world.flush();
    assert!(world.pairs_of(e).is_empty() && take_errors().len() == 1);
}

#[test]
fn what_is_gone_by_the_check_is_not_checked() {
    let ways: [fn(&mut World, Entity, Entity); 8] = [
        |world, a, b| _ = world.remove_pair::<Rules>(a, b),
        |world, a, b| _ = world.commands().entity(a).remove_pair::<Rules>(b),
        |world, a, _| _ = world.despawn(a),
        |world, _, b| world.commands().entity(b).despawn(),
        |world, _, b| world.despawn_with_dependents(b).unwrap(),
        |world, _, _| world.clear_pairs(),
        |world, a, _| _ = world.entity_mut(a).clear(),
        // Replaced.
        |world, a, _| {
            let c = world.spawn(City).id();
            world.commands().entity(a).insert_pair(Rules(2), c);
        },
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let mut world = world_that_records_errors();
        let [a, b] = spawn(&mut world);
        world.commands().entity(a).insert_pair(Rules(1), b);
        if number != 1 {
            world.flush();
        }
        way(&mut world, a, b);
        world.flush();
        assert_eq!(check(&mut world, 0), [""; 0], "way {number}");
        assert_eq!(world.pairs::<Rules>().iter().count(), usize::from(number == 7));
    }
}

#[test]
fn what_was_removed_and_inserted_again_is_checked_as_the_last_command_asks() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    for is_right in [false, true] {
        world.commands().entity(a).insert_pair(LivesIn, b).remove_pair::<LivesIn>(b);
        if is_right {
            world.commands().entity(a).insert(Person);
            world.commands().entity(b).insert(City);
        }
        world.commands().entity(a).insert_pair(LivesIn, b);
        world.flush();
        if is_right {
            // It is as it must be, and watched.
            world.entity_mut(b).insert(Ruin);
            assert!(!world.has_pair::<LivesIn>(a, b) && take_errors().len() == 1);
        } else {
            assert_eq!(check(&mut world, 1).len(), 1);
        }
    }
}

#[test]
fn the_pair_before_of_an_exclusive_relation_does_not_come_back() {
    let mut world = listening_world::<Rules>();
    let [a, b] = spawn(&mut world);
    let rome = world.spawn(City).id();
    world.insert_pair(a, Rules(1), rome).unwrap();
    world.commands().entity(a).insert_pair(Rules(2), b);
    world.flush();
    assert_eq!(check(&mut world, 1).len(), 1);
    assert!(world.pairs_of(a).is_empty());
    let causes: Vec<_> =
        world.resource::<Log>().0.iter().map(|&(_, target, cause)| (target, cause)).collect();
    let replaced = (rome, Some(RemovalCause::Replaced));
    assert_eq!(causes, [(rome, None), replaced, (b, None), (b, Some(RemovalCause::ConstraintBroken))]);
}

#[test]
fn components_that_come_and_go_before_the_check_have_no_bearing() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    let mut commands = world.commands();
    commands.entity(a).insert_pair(LivesIn, b).insert(Person).remove::<Person>();
    commands.entity(b).insert((City, Ruin)).remove::<City>().remove::<Ruin>().insert(City);
    commands.entity(a).insert(Person);
    world.flush();
    assert_eq!(check(&mut world, 0), [""; 0]);
    world.remove_pairs::<LivesIn>(a);
    world.entity_mut(a).remove::<Person>();
    world.commands().entity(a).insert_pair(LivesIn, b).insert(Person);
    world.commands().entity(b).insert(Ruin);
    world.flush();
    let errors = check(&mut world, 1);
    assert!(errors.len() == 1 && errors[0].contains("must not have `Ruin`"), "{errors:?}");
}

#[test]
fn defaults_are_inserted_by_the_check_where_nothing_else_came() {
    #[derive(Component)]
    struct Name(&'static str);
    #[derive(Component, PartialEq, Debug)]
    struct Hall(&'static str);
    impl Default for Hall {
        fn default() -> Self {
            Self("empty")
        }
    }
    #[derive(Relation)]
    #[relation(source(Hall), target(Hall), on_missing = Insert)]
    struct BuiltBy;
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    world.commands().entity(a).insert_pair(BuiltBy, b).insert((Hall("old"), Name("a")));
    world.flush();
    assert_eq!(world.get::<Hall>(b), None);
    assert_eq!(check(&mut world, 0), [""; 0]);
    assert_eq!((world.get::<Hall>(a), world.get::<Hall>(b)), (Some(&Hall("old")), Some(&Hall("empty"))));
    assert_eq!(world.get::<Name>(a).unwrap().0, "a");
    // What must not be there cannot be inserted; then nothing is.
    let [c, d] = spawn(&mut world);
    world.commands().entity(c).insert_pair(Founded, d);
    world.commands().entity(d).insert(Ruin);
    world.flush();
    let errors = check(&mut world, 1);
    assert!(errors.len() == 1 && errors[0].contains("must not have `Ruin`"), "{errors:?}");
    assert!(!world.entity(c).contains::<Person>() && !world.entity(d).contains::<City>());
}

#[test]
fn a_warning_is_reported_once_for_each_pair_and_component() {
    let mut world = world_that_records_errors();
    let [a, b, c] = spawn(&mut world);
    world.commands().entity(a).insert_pair(Visits, b).insert_pair(Visits, c);
    world.commands().entity(b).insert(Ruin);
    world.flush();
    assert_eq!(take_errors().len(), 0);
    assert_eq!(world.check_constraints(), 0);
    let errors = take_errors();
    assert!(errors.iter().all(|(severity, _)| *severity == Severity::Warning));
    // The source of both, and the target of one.
    assert_eq!(errors.len(), 3, "{errors:?}");
    // Other components and other pairs are no reason to say it again.
    world.entity_mut(c).insert(Ruin);
    let errors = take_reported_errors();
    assert!(errors.len() == 1 && errors[0].contains("the target must not have `Ruin`"), "{errors:?}");
    world.entity_mut(a).insert((City, Person));
    assert_eq!(take_errors().len(), 0);
    world.entity_mut(b).insert(Ruin);
    assert_eq!(take_errors().len(), 0, "it was there");
    world.entity_mut(a).remove::<Person>();
    assert_eq!(take_errors().len(), 2, "it is missing again, for both");
    world.entity_mut(b).remove::<Ruin>();
    world.entity_mut(a).remove::<City>();
    assert_eq!(take_errors().len(), 0);
    // Another relation that is watched as well is no reason either.
    let traits = RelationTraits::new()
        .target(EndConstraint::with::<Name>())
        .source(EndConstraint::without::<City>())
        .on_missing(OnMissing::Warn);
    world.spawn_relation("R", traits).unwrap();
    assert_eq!(take_errors().len(), 0);
    assert_eq!(world.pairs::<Visits>().target_count(a), 2);
    world.check_pairs().unwrap();
}

#[test]
fn a_companion_is_removed_alone_and_both_directions_of_a_symmetric_pair_together() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    world.commands().entity(a).insert_pair(WorksIn, b).insert_pair(Knows, b);
    world.flush();
    assert!(world.has_pair::<LivesIn>(a, b) && world.has_pair::<Knows>(b, a));
    world.entity_mut(b).insert(Person);
    world.entity_mut(b).remove::<Person>();
    let errors = check(&mut world, 2);
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(world.has_pair::<WorksIn>(a, b) && world.pairs_of(a).len() == 1 && world.pairs_of(b).is_empty());
    world.commands().entity(a).insert_pair(Knows, b).insert(Person);
    world.commands().entity(b).insert(Person);
    world.flush();
    assert_eq!(check(&mut world, 0), [""; 0]);
    assert!(world.has_pair::<Knows>(a, b) && world.has_pair::<Knows>(b, a));
}

#[test]
fn a_companion_is_checked_later_however_often_its_relation_was_used() {
    let mut world = world_that_records_errors();
    for way in 0..6 {
        let [ann, ben, rome] = spawn(&mut world);
        // Ends that take part already, and others.
        if way >= 3 {
            world.insert_pair(rome, Knows, rome).unwrap_err();
            world.insert_tag(ann, rome).unwrap();
        }
        let works_in = world.entity_of::<WorksIn>();
        let mut commands = world.commands();
        match way % 3 {
            0 => _ = commands.entity(ann).insert_pair(WorksIn, rome),
            1 => _ = commands.entity(ann).insert_pair_by_id((works_in, rome)),
            _ => commands.insert_pair_batch([(ann, WorksIn, rome), (ben, WorksIn, rome)]),
        }
        commands.entity(ann).insert(Person);
        commands.entity(rome).insert(City);
        world.flush();
        assert!(world.has_pair::<LivesIn>(ann, rome), "{way}");
        // Ben is no person.
        assert_eq!(check(&mut world, usize::from(way % 3 == 2)).len(), usize::from(way % 3 == 2));
        assert!(world.has_pair::<WorksIn>(ann, rome) && world.has_pair::<LivesIn>(ann, rome));
    }
}
