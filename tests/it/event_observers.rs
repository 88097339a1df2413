//! Observers of pairs that are narrowed, come and go, and give commands.

use crate::common::{panic_message, take_reported_errors, world_that_records_errors};
use bevy_ecs::{lifecycle::Add, prelude::*};
use bevy_relations::{event::RemovalCause, prelude::*, relation::Wildcard};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
struct Fears;

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation, PartialEq, Debug)]
#[relation(exclusive)]
struct Rents(u32);

#[derive(Resource, Default)]
struct Log(Vec<(&'static str, Entity)>);

fn world_with_log() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    world
}

fn heard(world: &mut World) -> Vec<(&'static str, Entity)> {
    std::mem::take(&mut world.resource_mut::<Log>().0)
}

fn names(world: &mut World) -> Vec<&'static str> {
    let mut names: Vec<_> = heard(world).into_iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    names
}

fn note_inserted(
    name: &'static str,
) -> impl Fn(On<PairInserted<Wildcard>>, ResMut<Log>) + Send + Sync + 'static {
    move |on, mut log| log.0.push((name, on.source))
}

fn note_removed(
    name: &'static str,
) -> impl Fn(On<PairRemoved<Wildcard>>, ResMut<Log>) + Send + Sync + 'static {
    move |on, mut log| log.0.push((name, on.source))
}

#[test]
fn an_observer_can_be_narrowed_to_a_pair_of_run_time_entities() {
    let mut world = world_with_log();
    let likes = world.spawn_relation("likes", RelationTraits::new()).unwrap();
    let fears = world.spawn_relation("fears", RelationTraits::new()).unwrap();
    let [bob, alice, eve] = std::array::from_fn(|_| world.spawn_empty().id());
    world.observe_pairs(PairId::new(likes, alice), note_inserted("R,T"));
    world.observe_pairs(PairId::with_relation(likes), note_inserted("R,*"));
    world.observe_pairs(PairId::with_target(alice), note_inserted("*,T"));
    world.observe_pairs(PairId::ALL, note_inserted("*,*"));
    world.observe_pairs(PairId::new(likes, alice), note_removed("-R,T"));
    world.observe_pairs(PairId::with_relation(likes), note_removed("-R,*"));
    world.observe_pairs(PairId::with_target(alice), note_removed("-*,T"));
    world.observe_pairs(PairId::ALL, note_removed("-*,*"));
    let cases = [
        (likes, alice, vec!["*,*", "*,T", "R,*", "R,T"]),
        (likes, eve, vec!["*,*", "R,*"]),
        (fears, alice, vec!["*,*", "*,T"]),
        (fears, eve, vec!["*,*"]),
    ];
    for (relation, target, expected) in cases {
        world.insert_pair_by_id(bob, (relation, target)).unwrap();
        assert_eq!(names(&mut world), expected);
        world.remove_pairs_by_id(bob, PairId::new(relation, target));
        let removed: Vec<_> = names(&mut world).into_iter().map(|name| &name[1..]).collect();
        assert_eq!(removed, expected);
    }
}

#[test]
fn narrowing_works_for_relation_types_before_and_after_their_first_use() {
    for used in [false, true] {
        let mut world = world_with_log();
        let [bob, alice, eve] = std::array::from_fn(|_| world.spawn_empty().id());
        if used {
            world.insert_pair(eve, Likes, eve).unwrap();
        }
        let likes = world.entity_of::<Likes>();
        world.observe_pairs(PairId::new(likes, alice), note_inserted("R,T"));
        world.observe_pairs(PairId::with_relation(likes), note_inserted("R,*"));
        world.add_observer(|on: On<PairInserted<Likes>>, mut log: ResMut<Log>| {
            log.0.push(("typed", on.source));
        });
        world.add_observer(|on: On<PairInserted<Fears>>, mut log: ResMut<Log>| {
            log.0.push(("fears", on.source));
        });
        world.insert_pair(bob, Likes, alice).unwrap();
        assert_eq!(names(&mut world), ["R,*", "R,T", "typed"]);
        world.insert_pair(bob, Likes, eve).unwrap();
        assert_eq!(names(&mut world), ["R,*", "typed"]);
        world.insert_pair(bob, Fears, alice).unwrap();
        assert_eq!(names(&mut world), ["fears"]);
    }
}

#[test]
fn an_entity_that_was_no_relation_yet_can_be_observed_as_one() {
    let mut world = world_with_log();
    let [bob, alice, likes] = std::array::from_fn(|_| world.spawn_empty().id());
    world.observe_pairs(PairId::with_relation(likes), note_inserted("R,*"));
    world.insert_pair_by_id(bob, (likes, alice)).unwrap();
    assert_eq!(heard(&mut world), [("R,*", bob)]);
}

#[test]
fn observers_added_before_the_first_use_of_relations_are_triggered_by_it() {
    let mut world = world_with_log();
    world.add_observer(|on: On<PairInserted<Likes>>, mut log: ResMut<Log>| log.0.push(("in", on.source)));
    world.add_observer(|on: On<PairRemoved<Likes>>, mut log: ResMut<Log>| log.0.push(("out", on.source)));
    let [bob, alice] = std::array::from_fn(|_| world.spawn_empty().id());
    world.insert_pair(bob, Likes, alice).unwrap();
    world.despawn(alice);
    assert_eq!(heard(&mut world), [("in", bob), ("out", bob)]);
}

#[test]
fn observers_added_later_are_triggered_by_what_comes_then() {
    let mut world = world_with_log();
    let [bob, alice, eve] = std::array::from_fn(|_| world.spawn_empty().id());
    world.insert_pair(bob, Likes, alice).unwrap();
    world.insert_pair(eve, DockedTo, alice).unwrap();
    world
        .commands()
        .add_observer(|on: On<PairInserted<Likes>>, mut log: ResMut<Log>| log.0.push(("in", on.source)));
    world.commands().entity(eve).insert_pair(Likes, alice);
    world.flush();
    assert_eq!(heard(&mut world), [("in", eve)]);
    world
        .entity_mut(bob)
        .observe(|on: On<PairRemoved<Likes>>, mut log: ResMut<Log>| log.0.push(("out", on.source)));
    world.despawn(alice);
    assert_eq!(heard(&mut world), [("out", bob)]);
}

#[test]
fn an_observer_that_watches_several_entities_and_events_given_by_hand_is_triggered() {
    let mut world = world_with_log();
    let [bob, alice, eve] = std::array::from_fn(|_| world.spawn_empty().id());
    world.insert_pair(eve, Likes, eve).unwrap();
    let mut observer =
        Observer::new(|on: On<PairInserted<Likes>>, mut log: ResMut<Log>| log.0.push(("in", on.source)));
    observer.watch_entity(bob);
    observer.watch_entity(alice);
    world.spawn(observer);
    for source in [bob, alice, eve] {
        world.insert_pair(source, Likes, bob).unwrap();
    }
    assert_eq!(heard(&mut world), [("in", bob), ("in", alice)]);
}

#[test]
fn despawned_observers_are_not_triggered() {
    let mut world = world_with_log();
    let [bob, alice] = std::array::from_fn(|_| world.spawn_empty().id());
    let likes = world.entity_of::<Likes>();
    let observers = [
        world.observe_pairs(PairId::new(likes, alice), note_inserted("R,T")),
        world.observe_pairs(PairId::ALL, note_inserted("*,*")),
        world
            .add_observer(|_: On<PairRemoved<Likes>>, mut log: ResMut<Log>| {
                log.0.push(("out", Entity::PLACEHOLDER));
            })
            .id(),
    ];
    world.insert_pair(bob, Likes, alice).unwrap();
    assert_eq!(names(&mut world), ["*,*", "R,T"]);
    observers.into_iter().for_each(|observer| assert!(world.despawn(observer)));
    world.remove_pair::<Likes>(bob, alice);
    world.insert_pair(bob, Likes, alice).unwrap();
    assert_eq!(names(&mut world), [""; 0]);
    world.observe_pairs(PairId::new(likes, alice), note_removed("again"));
    world.remove_pair::<Likes>(bob, alice);
    assert_eq!(names(&mut world), ["again"]);
}

#[test]
fn the_key_of_a_despawned_relation_is_not_delivered_to_its_old_observers() {
    let mut world = world_with_log();
    let [bob, alice, target] = std::array::from_fn(|_| world.spawn_empty().id());
    let old = world.spawn_relation("old", RelationTraits::new()).unwrap();
    world.observe_pairs(PairId::with_relation(old), note_inserted("old"));
    world.observe_pairs(PairId::new(old, target), note_inserted("old,target"));
    world.observe_pairs(PairId::with_target(target), note_inserted("*,target"));
    world.insert_pair_by_id(bob, (old, target)).unwrap();
    assert_eq!(names(&mut world), ["*,target", "old", "old,target"]);
    world.despawn(old);
    world.despawn(target);
    for round in 0..5 {
        let new = world.spawn_relation("new", RelationTraits::new()).unwrap();
        let observer = world.observe_pairs(PairId::with_relation(new), note_inserted("new"));
        let narrow = world.observe_pairs(PairId::new(new, alice), note_inserted("new,alice"));
        world.insert_pair_by_id(bob, (new, alice)).unwrap();
        assert_eq!(names(&mut world), ["new", "new,alice"], "{round}");
        if round % 2 == 0 {
            world.despawn(observer);
            world.despawn(narrow);
        }
        world.despawn(new);
    }
    world.check_pairs().unwrap();
}

#[test]
fn an_observer_of_a_dead_relation_is_not_triggered() {
    let mut world = world_with_log();
    let [bob, alice, dead] = std::array::from_fn(|_| world.spawn_empty().id());
    world.despawn(dead);
    world.observe_pairs(PairId::with_relation(dead), note_inserted("dead"));
    world.observe_pairs(PairId::new(dead, alice), note_inserted("dead,alice"));
    world.observe_pairs(PairId::with_target(dead), note_inserted("*,dead"));
    world.insert_pair(bob, Likes, alice).unwrap();
    assert_eq!(names(&mut world), [""; 0]);
}

#[test]
fn observers_of_a_relation_type_go_on_after_its_entity_was_despawned_and_made_anew() {
    let mut world = world_with_log();
    let [bob, alice] = std::array::from_fn(|_| world.spawn_empty().id());
    world.add_observer(|on: On<PairInserted<Likes>>, mut log: ResMut<Log>| log.0.push(("in", on.source)));
    world.insert_pair(bob, Likes, alice).unwrap();
    let old = world.entity_of::<Likes>();
    world.despawn(old);
    world.insert_pair(bob, Likes, alice).unwrap();
    assert_eq!(heard(&mut world), [("in", bob), ("in", bob)]);
    assert_ne!(world.entity_of::<Likes>(), old);
    take_reported_errors();
}

#[test]
fn an_observer_of_one_pair_is_still_triggered_after_the_relation_type_got_another_entity() {
    // The narrowed pair named the old entity, which is gone: silence is right, and nothing may be misdelivered.
    let mut world = world_with_log();
    let [bob, alice] = std::array::from_fn(|_| world.spawn_empty().id());
    let old = world.entity_of::<Likes>();
    world.observe_pairs(PairId::new(old, alice), note_inserted("narrow"));
    world.despawn(old);
    take_reported_errors();
    world.insert_pair(bob, Fears, alice).unwrap();
    assert_eq!(heard(&mut world), []);
}

#[test]
fn commands_of_observers_run_once_the_operation_is_complete() {
    let mut world = world_with_log();
    let [ship, a, b] = std::array::from_fn(|_| world.spawn_empty().id());
    world.add_observer(|on: On<PairInserted<DockedTo>>, mut commands: Commands| {
        commands.entity(on.source).insert_pair(Likes, on.target);
    });
    world.add_observer(|on: On<PairRemoved<DockedTo>>, mut commands: Commands| {
        let (source, target) = (on.source, on.target);
        commands.queue(move |world: &mut World| {
            assert!(!world.has_pair::<DockedTo>(source, target), "it has gone by now");
            world.remove_pair::<Likes>(source, target);
        });
    });
    world.insert_pair(ship, DockedTo, a).unwrap();
    assert!(world.has_pair::<Likes>(ship, a));
    world.insert_pair(ship, DockedTo, b).unwrap();
    assert!(!world.has_pair::<Likes>(ship, a) && world.has_pair::<Likes>(ship, b));
    world.remove_pair::<DockedTo>(ship, b);
    assert!(world.pairs_of(ship).is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn an_observer_may_undo_or_repeat_what_it_observes() {
    let mut world = world_with_log();
    let [bob, alice, eve] = std::array::from_fn(|_| world.spawn_empty().id());
    world.add_observer(move |on: On<PairInserted<Likes>>, mut commands: Commands| {
        if on.target == alice {
            commands.entity(on.source).remove_pair::<Likes>(alice);
        } else if on.source != eve {
            commands.entity(eve).insert_pair(Likes, on.target);
            commands.entity(on.target).despawn();
        }
    });
    world.insert_pair(bob, Likes, alice).unwrap();
    assert!(!world.has_pair::<Likes>(bob, alice));
    let doomed = world.spawn_empty().id();
    world.insert_pair_batch([(bob, Likes, doomed), (alice, Likes, alice)]).unwrap();
    assert!(world.get_entity(doomed).is_err());
    assert!(world.pairs::<Likes>().is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn run_time_relations_trigger_wildcard_observers() {
    let mut world = world_with_log();
    world.add_observer(note_inserted("in"));
    world.add_observer(note_removed("out"));
    let relation = world.spawn_relation("r", RelationTraits::new().exclusive()).unwrap();
    let [bob, alice, eve] = std::array::from_fn(|_| world.spawn_empty().id());
    world.insert_pair_by_id(bob, (relation, alice)).unwrap();
    world.insert_pair_by_id(bob, (relation, eve)).unwrap();
    world.despawn(relation);
    assert_eq!(heard(&mut world), [("in", bob), ("out", bob), ("in", bob), ("out", bob)]);
}

#[test]
fn an_observer_that_cannot_be_narrowed_is_reported_and_gone() {
    let mut world = world_with_log();
    let likes = world.register_relation::<Likes>().unwrap();
    let [bob, alice, eve] = std::array::from_fn(|_| world.spawn_empty().id());
    let inserted = |on: On<PairInserted<Likes>>, mut log: ResMut<Log>| log.0.push(("in", on.target));
    let removed = |on: On<PairRemoved<Likes>>, mut log: ResMut<Log>| log.0.push(("out", on.target));
    let named = |on: On<Add<Name>>, mut log: ResMut<Log>| log.0.push(("name", on.entity));
    let refused = [
        (world.observe_pairs((likes, alice), inserted), "(Likes, "),
        (world.observe_pairs(PairId::with_target(alice), removed), "(*, "),
        (world.observe_pairs(PairId::with_relation(likes), named), "(Likes, *)"),
    ];
    let errors = take_reported_errors();
    assert_eq!(errors.len(), 3, "{errors:?}");
    for ((observer, pair), error) in refused.into_iter().zip(errors) {
        assert!(world.get_entity(observer).is_err());
        assert!(error.contains(pair) && error.contains("On<PairInserted<Wildcard>>"), "{error}");
    }
    // Of these, the type says no more than the pair, or less.
    world.observe_pairs(PairId::with_relation(likes), inserted);
    world.observe_pairs(PairId::ALL, removed);
    world.insert_pair(bob, Likes, eve).unwrap();
    world.entity_mut(bob).remove_pair::<Likes>(eve).insert(Name::new("Bob"));
    assert_eq!(heard(&mut world), [("in", eve), ("out", eve)]);
    assert!(take_reported_errors().is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn a_pair_stays_if_an_observer_of_its_replacement_panics() {
    #[derive(Resource)]
    struct IsArmed(bool);

    let mut world = world_with_log();
    world.insert_resource(IsArmed(true));
    let [ship, from, to] = std::array::from_fn(|_| world.spawn_empty().id());
    world.insert_pair(ship, DockedTo, from).unwrap();
    world.insert_pair(ship, Rents(1), from).unwrap();
    world.add_observer(|_: On<PairRemoved<Wildcard>>, armed: Res<IsArmed>| assert!(!armed.0, "observed"));
    panic_message(|| drop(world.insert_pair(ship, DockedTo, to)));
    panic_message(|| drop(world.insert_pair(ship, Rents(2), to)));
    world.check_pairs().unwrap();
    assert!(world.has_pair::<DockedTo>(ship, from));
    assert_eq!(world.pair_value::<Rents>(ship, from), Some(&Rents(1)));
    world.insert_resource(IsArmed(false));
    world.insert_pair(ship, DockedTo, to).unwrap();
    world.insert_pair(ship, Rents(2), to).unwrap();
    assert!(world.has_pair::<DockedTo>(ship, to));
    assert_eq!(world.pair_value::<Rents>(ship, to), Some(&Rents(2)));
    world.check_pairs().unwrap();
}

#[test]
fn an_observer_of_a_replacement_may_end_all_that_it_is_about() {
    let mut world = world_with_log();
    let [ship, from, to, other] = std::array::from_fn(|_| world.spawn_empty().id());
    world.insert_pair(ship, Rents(1), from).unwrap();
    world.add_observer(move |on: On<PairRemoved<Rents>>, mut commands: Commands| {
        if on.cause == RemovalCause::Replaced {
            commands.entity(to).try_despawn();
            commands.entity(ship).insert_pair(Rents(9), other);
        }
    });
    world.add_observer(move |on: On<PairInserted<Rents>>, mut commands: Commands| {
        if on.target == other {
            commands.entity(ship).remove_pair::<Rents>(other).despawn();
        }
    });
    world.insert_pair(ship, Rents(2), to).unwrap();
    world.flush();
    world.check_pairs().unwrap();
    assert!([ship, to].iter().all(|&gone| world.get_entity(gone).is_err()));
    assert!(world.pairs::<Rents>().is_empty());
}
