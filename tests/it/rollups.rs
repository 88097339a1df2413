//! Rollups: what is refused, what is on which entity, errors of folds, memory.
//!
//! `rollups_model` compares them with a fold from scratch.

use crate::common::{panic_message, spawn, take_reported_errors, world_that_records_errors};
use bevy_app::prelude::*;
use bevy_ecs::{entity_disabling::Disabled, observer::Observer, prelude::*};
use bevy_relations::{error::RollupError, live::*, prelude::*};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Component)]
struct Load(u8);

impl RollupValue for Load {
    type Value = u8;

    fn rollup_value(&self) -> u8 {
        self.0
    }
}

#[derive(Component)]
struct Ready(bool);

impl RollupValue for Ready {
    type Value = bool;

    fn rollup_value(&self) -> bool {
        self.0
    }
}

#[derive(Component)]
struct Speed(f64);

impl RollupValue for Speed {
    type Value = f64;

    fn rollup_value(&self) -> f64 {
        self.0
    }
}

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(acyclic)]
struct PartOf;

type Sums = Rollup<ChildOf, Load, Sum>;

fn sum(world: &World, entity: Entity) -> Option<u8> {
    world.get::<Sums>(entity).map(|rollup| *rollup.get())
}

#[test]
fn a_relation_that_is_not_acyclic_is_refused_by_its_name() {
    let mut world = World::new();
    let error = world.add_rollup::<Likes, Load, Sum>().unwrap_err();
    assert!(matches!(error, RollupError::NotAcyclic { .. }));
    assert!(error.to_string().contains("along Likes, which is not acyclic"), "{error}");
    assert!(world.add_pair_rollup::<Likes, Count>().is_err());
    let refused = panic_message(|| _ = App::new().add_rollup::<Likes, Load, Sum>());
    assert!(refused.is_some_and(|refused| refused.contains("along Likes")));
    world.update_rollups();
}

#[test]
fn entities_with_nothing_below_have_no_rollup_and_disabled_ones_count() {
    let mut world = World::new();
    world.add_rollup::<ChildOf, Load, Sum>().unwrap();
    let root = world.spawn(Load(1)).id();
    let middle = world.spawn(ChildOf(root)).id();
    let leaf = world.spawn((Load(2), ChildOf(middle))).id();
    let empty = world.spawn(ChildOf(middle)).id();
    world.spawn(ChildOf(empty));
    world.update_rollups();
    assert_eq!([root, middle, leaf, empty].map(|entity| sum(&world, entity)), [Some(2), Some(2), None, None]);
    assert_eq!(world.get::<Sums>(root).unwrap().with_own(), &3);
    assert_eq!(format!("{:?}", world.get::<Sums>(root).unwrap()), "Rollup { below: 2, with_own: 3 }");
    world.entity_mut(leaf).insert(Disabled);
    world.spawn((Load(4), Disabled, ChildOf(middle)));
    world.update_rollups();
    assert_eq!(sum(&world, root), Some(6));
    world.despawn(middle);
    world.update_rollups();
    assert_eq!(sum(&world, root), None);
}

#[test]
fn a_sum_that_wraps_around_is_right_once_it_is_back_in_range() {
    let mut world = World::new();
    world.add_rollup::<ChildOf, Load, Sum>().unwrap();
    let root = world.spawn_empty().id();
    let [a, b] = [200, 100].map(|load| world.spawn((Load(load), ChildOf(root))).id());
    world.update_rollups();
    assert_eq!(sum(&world, root), Some(44));
    world.despawn(a);
    world.update_rollups();
    assert_eq!(sum(&world, root), Some(100));
    world.entity_mut(b).remove::<Load>();
    world.update_rollups();
    assert_eq!(sum(&world, root), None);
}

#[test]
fn sums_of_fractions_do_not_drift_and_extremes_leave_out_what_is_no_number() {
    let mut world = World::new();
    world.add_rollup::<ChildOf, Speed, Sum>().unwrap();
    world.add_rollup::<ChildOf, Speed, Max>().unwrap();
    let root = world.spawn_empty().id();
    world.spawn((Speed(0.1), ChildOf(root)));
    for _ in 0..100 {
        let huge = world.spawn((Speed(1e17), ChildOf(root))).id();
        world.update_rollups();
        world.despawn(huge);
        world.update_rollups();
    }
    assert_eq!(world.get::<Rollup<ChildOf, Speed, Sum>>(root).unwrap().get(), &0.1);
    world.spawn((Speed(f64::NAN), ChildOf(root)));
    world.update_rollups();
    assert_eq!(world.get::<Rollup<ChildOf, Speed, Max>>(root).unwrap().get(), &Some(0.1));
}

#[test]
fn an_entity_with_two_targets_counts_for_each_path_or_once() {
    let mut world = World::new();
    world.add_rollup::<PartOf, Load, Sum>().unwrap();
    world.add_rollup::<PartOf, Load, Distinct<Sum>>().unwrap();
    let [top, left, right] = spawn(&mut world);
    let bolt = world.spawn(Load(1)).id();
    for (source, target) in [(left, top), (right, top), (bolt, left), (bolt, right)] {
        world.insert_pair(source, PartOf, target).unwrap();
    }
    world.update_rollups();
    let results = |world: &World| {
        let paths = world.get::<Rollup<PartOf, Load, Sum>>(top).map(|rollup| *rollup.get());
        (paths, world.get::<Rollup<PartOf, Load, Distinct<Sum>>>(top).map(|rollup| *rollup.get()))
    };
    assert_eq!(results(&world), (Some(2), Some(1)));
    world.get_mut::<Load>(bolt).unwrap().0 = 5;
    world.update_rollups();
    assert_eq!(results(&world), (Some(10), Some(5)));
    world.remove_pair::<PartOf>(bolt, left);
    world.update_rollups();
    assert_eq!(results(&world), (Some(5), Some(5)));
}

#[test]
fn whether_any_or_all_below_is_so() {
    let mut world = World::new();
    world.add_rollup::<ChildOf, Ready, Any>().unwrap();
    world.add_rollup::<ChildOf, Ready, All>().unwrap();
    let root = world.spawn_empty().id();
    let [a, b] = [false, false].map(|ready| world.spawn((Ready(ready), ChildOf(root))).id());
    for (a_is, b_is) in [(false, false), (true, false), (true, true), (false, true), (false, false)] {
        world.get_mut::<Ready>(a).unwrap().0 = a_is;
        world.get_mut::<Ready>(b).unwrap().0 = b_is;
        world.update_rollups();
        assert_eq!(world.get::<Rollup<ChildOf, Ready, Any>>(root).unwrap().get(), &(a_is || b_is));
        assert_eq!(world.get::<Rollup<ChildOf, Ready, All>>(root).unwrap().get(), &(a_is && b_is));
    }
}

#[test]
fn observers_of_rollups_are_triggered_by_new_results_only() {
    let mut world = World::new();
    world.add_rollup::<ChildOf, Load, Sum>().unwrap();
    world.init_resource::<Told>();
    world.add_observer(|on: On<Insert<Sums>>, mut told: ResMut<Told>| told.0.push(on.entity));
    let root = world.spawn_empty().id();
    let leaf = world.spawn((Load(2), ChildOf(root))).id();
    world.update_rollups();
    world.update_rollups();
    assert_eq!(core::mem::take(&mut world.resource_mut::<Told>().0), [root]);
    world.get_mut::<Load>(leaf).unwrap().0 = 2;
    world.update_rollups();
    assert_eq!(world.resource::<Told>().0, []);
    world.get_mut::<Load>(leaf).unwrap().0 = 3;
    world.update_rollups();
    assert_eq!(world.resource::<Told>().0, [root]);
}

#[derive(Resource, Default)]
struct Told(Vec<Entity>);

#[test]
fn a_clone_has_no_rollup_until_something_is_below_it() {
    let mut world = World::new();
    world.add_rollup::<ChildOf, Load, Sum>().unwrap();
    let root = world.spawn_empty().id();
    world.spawn((Load(2), ChildOf(root)));
    world.update_rollups();
    let clone = world.entity_mut(root).clone_and_spawn();
    world.update_rollups();
    assert_eq!((sum(&world, root), sum(&world, clone)), (Some(2), None));
}

/// A sum that panics on demand.
struct Fragile;

static PANICS: AtomicBool = AtomicBool::new(false);

impl RollupFold<Load> for Fragile {
    type Output = u32;

    fn empty() -> u32 {
        0
    }

    fn of(load: &Load) -> u32 {
        assert!(!PANICS.load(Ordering::Relaxed), "as it was told");
        load.0.into()
    }

    fn add(total: &mut u32, part: &u32) {
        *total += part;
    }
}

#[test]
fn after_a_panic_in_a_fold_or_an_observer_the_next_update_is_right() {
    let mut world = World::new();
    world.add_rollup::<ChildOf, Load, Fragile>().unwrap();
    let root = world.spawn_empty().id();
    let middle = world.spawn(ChildOf(root)).id();
    world.spawn((Load(2), ChildOf(middle)));
    world.update_rollups();
    world.spawn((Load(3), ChildOf(middle)));
    PANICS.store(true, Ordering::Relaxed);
    assert!(panic_message(|| world.update_rollups()).is_some());
    PANICS.store(false, Ordering::Relaxed);
    world.update_rollups();
    let found = |world: &World, entity| *world.get::<Rollup<ChildOf, Load, Fragile>>(entity).unwrap().get();
    assert_eq!(found(&world, root), 5);
    let observer = world.add_observer(|_: On<Insert<Rollup<ChildOf, Load, Fragile>>>| panic!("as well")).id();
    world.spawn((Load(4), ChildOf(middle)));
    assert!(panic_message(|| world.update_rollups()).is_some());
    world.despawn(observer);
    world.update_rollups();
    assert_eq!([root, middle].map(|entity| found(&world, entity)), [9, 9]);
}

#[test]
fn rollups_survive_the_loss_of_their_observers_and_end_with_the_resources_of_the_world() {
    let mut world = World::new();
    world.add_rollup::<ChildOf, Load, Sum>().unwrap();
    let root = world.spawn_empty().id();
    let leaf = world.spawn((Load(2), ChildOf(root))).id();
    world.update_rollups();
    let observers: Vec<Entity> = world.query_filtered::<Entity, With<Observer>>().iter(&world).collect();
    observers.into_iter().for_each(|observer| _ = world.despawn(observer));
    world.entity_mut(leaf).remove::<Load>();
    world.maintain_pairs();
    world.update_rollups();
    assert_eq!(sum(&world, root), None);
    world.clear_resources();
    world.update_rollups();
    world.add_rollup::<ChildOf, Load, Sum>().unwrap();
    let root = world.spawn_empty().id();
    world.spawn((Load(2), ChildOf(root)));
    world.update_rollups();
    assert_eq!(sum(&world, root), Some(2));
}

/// What Bevy lets a program write, and what despawns make of it.
#[test]
fn cycles_dead_parents_and_despawned_relations_leave_right_sums() {
    let mut world = world_that_records_errors();
    world.add_rollup::<ChildOf, Load, Sum>().unwrap();
    world.add_rollup::<PartOf, Load, Sum>().unwrap();
    let [a, b, c] = spawn(&mut world);
    for entity in [a, b, c] {
        world.entity_mut(entity).insert(Load(1));
    }
    world.entity_mut(b).insert(ChildOf(a));
    world.entity_mut(c).insert(ChildOf(b));
    world.update_rollups();
    assert_eq!([a, b, c].map(|entity| sum(&world, entity)), [Some(2), Some(1), None]);
    // A cycle that Bevy does not see, and a pair with itself.
    world.entity_mut(a).insert(ChildOf(c));
    world.entity_mut(b).insert(ChildOf(b));
    world.update_rollups();
    assert_eq!(take_reported_errors().len(), 1, "the cycle");
    world.check_pairs().unwrap();
    assert_eq!([a, b, c].map(|entity| sum(&world, entity)), [None, Some(1), None]);
    // A parent that is dead when the command is applied.
    world.entity_mut(b).insert(ChildOf(a));
    world.update_rollups();
    let dead = world.spawn_empty().id();
    world.despawn(dead);
    world.entity_mut(b).insert(ChildOf(dead));
    world.update_rollups();
    world.check_pairs().unwrap();
    assert_eq!(sum(&world, a), None);
    // The relation goes, and comes again with its next pair.
    world.insert_pair(a, PartOf, b).unwrap();
    world.update_rollups();
    assert_eq!(world.get::<Rollup<PartOf, Load, Sum>>(b).map(|rollup| *rollup.get()), Some(1));
    let relation = world.entity_of::<PartOf>();
    world.despawn(relation);
    world.update_rollups();
    assert!(world.get::<Rollup<PartOf, Load, Sum>>(b).is_none());
    world.insert_pair(c, PartOf, b).unwrap();
    world.update_rollups();
    assert_eq!(world.get::<Rollup<PartOf, Load, Sum>>(b).map(|rollup| *rollup.get()), Some(1));
}

#[test]
fn an_observer_that_panics_before_a_rollup_is_written_is_made_up_for() {
    let mut world = World::new();
    world.add_rollup::<ChildOf, Load, Sum>().unwrap();
    let root = world.spawn_empty().id();
    let leaf = world.spawn((Load(1), ChildOf(root))).id();
    world.update_rollups();
    let observer = world.add_observer(|_: On<Discard<Sums>>| panic!("on purpose")).id();
    world.get_mut::<Load>(leaf).unwrap().0 = 2;
    assert!(panic_message(|| world.update_rollups()).is_some());
    world.despawn(observer);
    world.update_rollups();
    assert_eq!(sum(&world, root), Some(2));

    let observer = world.add_observer(|_: On<Remove<Sums>>| panic!("on purpose")).id();
    world.entity_mut(leaf).remove::<Load>();
    assert!(panic_message(|| world.update_rollups()).is_some());
    world.despawn(observer);
    world.update_rollups();
    assert_eq!(sum(&world, root), None);
}

#[test]
fn an_outdated_rollup_that_is_put_back_becomes_right_again() {
    let mut world = World::new();
    world.add_rollup::<ChildOf, Load, Sum>().unwrap();
    let root = world.spawn(Load(1)).id();
    let leaf = world.spawn((Load(2), ChildOf(root))).id();
    world.update_rollups();
    let outdated = world.get::<Rollup<ChildOf, Load, Sum>>(root).unwrap().clone();
    assert_eq!((*outdated, outdated.get()), (2, &2));
    world.entity_mut(root).remove::<Rollup<ChildOf, Load, Sum>>();
    world.entity_mut(leaf).insert(Load(5));
    world.update_rollups();
    world.entity_mut(root).insert(outdated);
    world.update_rollups();
    assert_eq!(world.get::<Rollup<ChildOf, Load, Sum>>(root).map(|load| *load.get()), Some(5));
    // Nothing is written when nothing has changed.
    world.clear_trackers();
    world.update_rollups();
    let mut changed = world.query_filtered::<(), Changed<Rollup<ChildOf, Load, Sum>>>();
    assert_eq!(changed.iter(&world).count(), 0);
}
