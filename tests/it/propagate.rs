//! Events along relations: sent, and caused by components that come and go above.

use crate::common::{relation, spawn, take_errors, world_that_records_errors};
use bevy_ecs::{error::Severity, prelude::*};
use bevy_relations::{
    event::{InsertedAbove, RemovedAbove},
    prelude::*,
    relation::TraversableRelation,
    traverse::Direction,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Relation, Clone, Copy)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Relation)]
#[relation(traversable)]
struct PartOf;

#[derive(Relation)]
struct Likes;

/// The events of all entities, in order.
#[derive(Resource, Default)]
struct Heard(Vec<Entity>);

fn heard(world: &mut World) -> Vec<Entity> {
    core::mem::take(&mut world.resource_mut::<Heard>().0)
}

/// Ends the way of an event.
#[derive(Component)]
struct Deaf;

#[derive(EntityEvent)]
#[entity_event(propagate)]
struct Call {
    entity: Entity,
    origin: Entity,
}

impl Call {
    fn to(entity: Entity) -> Self {
        Self { entity, origin: entity }
    }
}

fn world() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<Heard>();
    world.add_observer(|mut on: On<Call>, deaf: Query<(), With<Deaf>>, mut heard: ResMut<Heard>| {
        assert_eq!(on.original_event_target(), on.origin);
        heard.0.push(on.entity);
        if deaf.contains(on.entity) {
            on.propagate(false);
        }
    });
    world
}

fn link<R: Relation + Copy>(world: &mut World, relation: R, pairs: &[(Entity, Entity)]) {
    for &(source, target) in pairs {
        world.insert_pair(source, relation, target).unwrap();
    }
}

#[test]
fn an_event_climbs_from_its_target_to_the_root() {
    let mut world = world();
    let [ship, turret, gun, other] = spawn(&mut world);
    link(&mut world, MountedOn, &[(turret, ship), (gun, turret), (other, ship)]);
    world.trigger_along::<MountedOn>(Call::to(gun), Direction::Targets);
    assert_eq!(heard(&mut world), [gun, turret, ship]);
    world.entity_mut(turret).insert(Deaf);
    world.trigger_along::<MountedOn>(Call::to(gun), Direction::Targets);
    assert_eq!(heard(&mut world), [gun, turret]);
    world.trigger_along::<MountedOn>(Call::to(turret), Direction::Targets);
    assert_eq!(heard(&mut world), [turret]);
    world.trigger_along::<PartOf>(Call::to(gun), Direction::Targets);
    assert_eq!(heard(&mut world), [gun], "it goes along one relation");
}

#[test]
fn an_event_descends_but_not_below_those_that_stop_it() {
    let mut world = world();
    let [ship, turret, gun, shell, radar] = spawn(&mut world);
    for (source, target) in [(turret, ship), (radar, ship), (gun, turret), (shell, gun)] {
        world.entity_mut(source).insert(ChildOf(target));
    }
    world.trigger_along::<ChildOf>(Call::to(ship), Direction::Sources);
    assert_eq!(heard(&mut world), [ship, turret, gun, shell, radar]);
    world.entity_mut(turret).insert(Deaf);
    world.trigger_along::<ChildOf>(Call::to(ship), Direction::Sources);
    assert_eq!(heard(&mut world), [ship, turret, radar]);
    world.entity_mut(ship).detach_child(turret);
    world.entity_mut(ship).insert_children(0, &[radar]);
    world.trigger_along::<ChildOf>(Call::to(ship), Direction::Sources);
    assert_eq!(heard(&mut world), [ship, radar]);
}

#[test]
fn with_several_targets_each_entity_is_observed_once() {
    let mut world = world();
    let [top, left, right, bottom] = spawn(&mut world);
    let links = [(left, top), (right, top), (bottom, left), (bottom, right)];
    let part_of = relation(&mut world, RelationTraits::new().traversable());
    for (source, target) in links {
        world.insert_pair(source, PartOf, target).unwrap();
        world.insert_pair_by_id(source, (part_of, target)).unwrap();
    }
    for (from, towards, order) in [
        (bottom, Direction::Targets, [bottom, left, top, right]),
        (top, Direction::Sources, [top, left, bottom, right]),
    ] {
        world.trigger_along::<PartOf>(Call::to(from), towards);
        assert_eq!(heard(&mut world), order);
        world.trigger_along_by_id(part_of, Call::to(from), towards).unwrap();
        assert_eq!(heard(&mut world), order);
    }
    world.entity_mut(left).insert(Deaf);
    world.trigger_along::<PartOf>(Call::to(bottom), Direction::Targets);
    assert_eq!(heard(&mut world), [bottom, left, right, top], "another way leads there");
}

#[test]
fn an_event_does_not_go_along_what_is_not_traversable() {
    let mut world = world();
    let [a, b] = spawn(&mut world);
    let likes = world.entity_of::<Likes>();
    world.insert_pair(a, Likes, b).unwrap();
    let error = world.trigger_along_by_id(likes, Call::to(a), Direction::Targets).unwrap_err();
    assert_eq!(error.to_string(), "Likes is not traversable: declare it `traversable` to follow it");
    assert!(world.trigger_along_by_id(a, Call::to(a), Direction::Targets).is_err(), "no relation at all");
    world.commands().trigger_along_by_id(likes, Call::to(a), Direction::Sources);
    world.flush();
    let reported = take_errors();
    assert!(
        matches!(&reported[..], [(Severity::Error, text)] if text.trim_end() == error.to_string()),
        "{reported:?}"
    );
    assert_eq!(heard(&mut world), []);
}

#[test]
fn commands_send_events_and_what_observers_queue_comes_after() {
    let mut world = world();
    let [ship, turret, gun] = spawn(&mut world);
    link(&mut world, MountedOn, &[(turret, ship), (gun, turret)]);
    world.add_observer(|on: On<Call>, mut commands: Commands| {
        commands.entity(on.entity).remove_pairs::<MountedOn>();
    });
    world.commands().trigger_along::<MountedOn>(Call::to(gun), Direction::Targets);
    world.flush();
    assert_eq!(heard(&mut world), [gun, turret, ship]);
    assert!(world.pairs::<MountedOn>().is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn observers_of_one_entity_are_triggered_for_it_alone() {
    let mut world = world();
    let [ship, turret, gun] = spawn(&mut world);
    link(&mut world, MountedOn, &[(turret, ship), (gun, turret)]);
    #[derive(Resource, Default)]
    struct Own(Vec<Entity>);
    world.init_resource::<Own>();
    world.entity_mut(turret).observe(|on: On<Call>, mut own: ResMut<Own>| own.0.push(on.entity));
    world.trigger_along::<MountedOn>(Call::to(gun), Direction::Targets);
    assert_eq!(world.resource::<Own>().0, [turret]);
}

#[derive(Component)]
struct Armor(u32);

#[derive(Debug, PartialEq, Clone, Copy)]
enum News {
    Inserted(Entity, Entity),
    Removed(Entity, Entity),
}

#[derive(Resource, Default)]
struct Log(Vec<News>);

/// A world that logs the events of armor above. What they say of holders is checked against `target_with`.
fn armored<R: TraversableRelation>() -> World {
    let mut world = world();
    world.init_resource::<Log>();
    world.propagate_changes::<R, Armor>();
    // Asking twice does not trigger twice.
    world.propagate_changes::<R, Armor>();
    world.add_observer(|on: On<InsertedAbove<R, Armor>>, armor: Query<&Armor>, mut log: ResMut<Log>| {
        assert!(armor.contains(on.holder) && !armor.contains(on.entity));
        log.0.push(Inserted(on.entity, on.holder));
    });
    world.add_observer(|on: On<RemovedAbove<R, Armor>>, armor: Query<&Armor>, mut log: ResMut<Log>| {
        assert!(armor.contains(on.holder) && !armor.contains(on.entity));
        log.0.push(Removed(on.entity, on.holder));
    });
    world
}

fn news(world: &mut World) -> Vec<News> {
    core::mem::take(&mut world.resource_mut::<Log>().0)
}

use News::{Inserted, Removed};

#[test]
fn instances_are_observed_when_a_component_of_a_base_comes_and_goes() {
    let mut world = armored::<IsA>();
    let [base, middle, leaf, stranger] = spawn(&mut world);
    for (source, target) in [(middle, base), (leaf, middle)] {
        world.insert_pair(source, IsA, target).unwrap();
    }
    world.entity_mut(base).insert(Armor(1));
    assert_eq!(news(&mut world), [Inserted(middle, base), Inserted(leaf, base)]);
    world.entity_mut(base).insert(Armor(2));
    assert_eq!(news(&mut world), [Inserted(middle, base), Inserted(leaf, base)], "a new value");
    world.entity_mut(stranger).insert(Armor(3));
    assert_eq!(news(&mut world), []);
    world.entity_mut(middle).insert(Armor(4));
    assert_eq!(news(&mut world), [Inserted(leaf, middle)]);
    world.entity_mut(base).remove::<Armor>();
    assert_eq!(news(&mut world), [], "no entity sees it");
    world.entity_mut(base).insert(Armor(5));
    assert_eq!(news(&mut world), []);
    world.entity_mut(middle).remove::<Armor>();
    assert_eq!(news(&mut world), [Removed(leaf, middle), Inserted(middle, base), Inserted(leaf, base)]);
    world.entity_mut(base).remove::<Armor>();
    assert_eq!(news(&mut world), [Removed(middle, base), Removed(leaf, base)]);
    assert_eq!(world.get::<Armor>(stranger).map(|armor| armor.0), Some(3));
}

#[test]
fn linking_and_unlinking_below_a_holder_counts() {
    let mut world = armored::<MountedOn>();
    let [ship, other, turret, gun] = spawn(&mut world);
    world.entity_mut(ship).insert(Armor(1));
    world.entity_mut(other).insert(Armor(1));
    link(&mut world, MountedOn, &[(gun, turret)]);
    assert_eq!(news(&mut world), []);
    link(&mut world, MountedOn, &[(turret, ship)]);
    assert_eq!(news(&mut world), [Inserted(turret, ship), Inserted(gun, ship)]);
    link(&mut world, MountedOn, &[(turret, ship)]);
    assert_eq!(news(&mut world), [], "nothing has changed");
    link(&mut world, MountedOn, &[(turret, other)]);
    let expected = [Removed(turret, ship), Removed(gun, ship), Inserted(turret, other), Inserted(gun, other)];
    assert_eq!(news(&mut world), expected);
    world.despawn(other);
    assert_eq!(news(&mut world), [Removed(turret, other), Removed(gun, other)]);
    world.entity_mut(gun).insert(Armor(1));
    link(&mut world, MountedOn, &[(turret, ship)]);
    assert_eq!(news(&mut world), [Inserted(turret, ship)], "the gun has its own");
    world.despawn(turret);
    assert_eq!(news(&mut world), [Removed(turret, ship)]);
    world.check_pairs().unwrap();
}

#[test]
fn children_are_observed_through_bevys_own_component() {
    let mut world = armored::<ChildOf>();
    let parent = world.spawn(Armor(1)).id();
    let child = world.spawn(ChildOf(parent)).id();
    assert_eq!(news(&mut world), [Inserted(child, parent)]);
    world.entity_mut(child).remove::<ChildOf>();
    assert_eq!(news(&mut world), [Removed(child, parent)]);
}

#[test]
fn with_several_bases_the_first_that_has_the_component_counts() {
    let mut world = armored::<PartOf>();
    let [first, second, entity, below] = spawn(&mut world);
    for (source, target) in [(entity, first), (entity, second), (below, entity)] {
        world.insert_pair(source, PartOf, target).unwrap();
    }
    world.entity_mut(second).insert(Armor(2));
    assert_eq!(news(&mut world), [Inserted(entity, second), Inserted(below, second)]);
    world.entity_mut(first).insert(Armor(1));
    assert_eq!(news(&mut world), [Inserted(entity, first), Inserted(below, first)]);
    world.entity_mut(second).insert(Armor(3));
    assert_eq!(news(&mut world), [], "hidden behind the first");
    world.entity_mut(first).remove::<Armor>();
    let next =
        [Removed(entity, first), Removed(below, first), Inserted(entity, second), Inserted(below, second)];
    assert_eq!(news(&mut world), next);
    world.entity_mut(first).insert(Armor(1));
    news(&mut world);
    world.remove_pair::<PartOf>(entity, first);
    assert_eq!(news(&mut world), next, "the way to the first goes");
    world.insert_pair(entity, PartOf, first).unwrap();
    assert_eq!(news(&mut world), [], "now it is the last");
}

#[test]
fn components_that_were_not_named_trigger_nothing() {
    #[derive(Component)]
    struct Other;
    let mut world = armored::<IsA>();
    let [base, instance] = spawn(&mut world);
    world.insert_pair(instance, IsA, base).unwrap();
    world.entity_mut(base).insert(Other).remove::<Other>();
    world.insert_pair(instance, PartOf, base).unwrap();
    world.entity_mut(instance).insert(Armor(1)).remove::<Armor>();
    assert_eq!(news(&mut world), []);
}

/// The holder that each entity sees, by the events.
#[derive(Resource, Default)]
struct Seen(BTreeMap<Entity, Entity>);

#[derive(Clone, Copy, Debug)]
enum Change {
    Insert,
    Remove,
    Link(usize),
    Unlink(usize),
    Replace,
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        2 => Just(Change::Insert),
        2 => Just(Change::Remove),
        4 => (0..8usize).prop_map(Change::Link),
        2 => (0..8usize).prop_map(Change::Unlink),
        1 => Just(Change::Replace),
    ]
}

/// Makes changes and checks after each that the events give the nearest holder of every entity.
fn check_news<R: TraversableRelation>(changes: &[(usize, Change)]) {
    let mut world = world();
    let relation = world.register_relation::<R>().unwrap();
    world.init_resource::<Seen>();
    world.propagate_changes::<R, Armor>();
    world.add_observer(|on: On<InsertedAbove<R, Armor>>, mut seen: ResMut<Seen>| {
        seen.0.insert(on.entity, on.holder);
    });
    world.add_observer(|on: On<RemovedAbove<R, Armor>>, mut seen: ResMut<Seen>| {
        // Triggered twice if several pairs on the way go at once.
        let holder = seen.0.remove(&on.entity);
        assert!(holder.is_none_or(|holder| holder == on.holder), "{} was seen before", on.holder);
    });
    // An entity with its own sees no other, without an event.
    world.add_observer(|on: On<Add<Armor>>, mut seen: ResMut<Seen>| {
        seen.0.remove(&on.entity);
    });
    let mut entities = spawn::<8>(&mut world);
    for &(nth, change) in changes {
        let entity = entities[nth];
        match change {
            Change::Insert => {
                world.entity_mut(entity).insert(Armor(1));
            }
            Change::Remove => {
                world.entity_mut(entity).remove::<Armor>();
            }
            Change::Link(target) => {
                // A cycle is refused.
                let _ = world.insert_pair_by_id(entity, (relation, entities[target]));
            }
            Change::Unlink(target) => {
                world.remove_pairs_by_id(entity, PairId::new(relation, entities[target]));
            }
            Change::Replace => {
                world.despawn(entity);
                for entity in &mut entities {
                    if !world.entities().contains_spawned(*entity) {
                        world.resource_mut::<Seen>().0.remove(entity);
                        *entity = world.spawn_empty().id();
                    }
                }
            }
        }
        let view = world.pairs_by_id(relation);
        let holds = |entity: Entity| world.get::<Armor>(entity).is_some();
        for &entity in &entities {
            let sees = view.all_ancestors(entity).map(|(above, _)| above).find(|&above| holds(above));
            let told = world.resource::<Seen>().0.get(&entity).copied();
            assert_eq!(
                told,
                sees.filter(|_| !holds(entity)),
                "{entity} after {change:?} of {}",
                entities[nth]
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn observers_always_get_the_nearest_holder(
        changes in prop::collection::vec((0..8usize, any_change()), 1..40),
    ) {
        check_news::<PartOf>(&changes);
        check_news::<MountedOn>(&changes);
        check_news::<ChildOf>(&changes);
    }
}
