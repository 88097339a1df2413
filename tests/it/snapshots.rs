//! Snapshots of pairs, and applying them.
//!
//! What a program can do, each tested here, in `snapshots_model` at random, and in `snapshots_refused`: take a snapshot of
//! all or some relations and sources; change pairs of every kind in every way (insert, replace, remove, move, reorder, write
//! in place); apply the snapshot once, twice, back and forth, with entities dead, spawned since, types or relations gone; in
//! the same world and in another, with observers that look or act.

use crate::common::{refused, spawn, take_reported_errors, targets, world_that_records_errors};
use bevy_ecs::{prelude::*, system::SystemState};
use bevy_relations::{
    error::{InsertPairError, SnapshotError},
    prelude::*,
    snapshot::{AppliedPairs, PairFilter, PairSnapshot},
};

#[derive(Relation)]
pub(crate) struct Likes;

#[derive(bevy_reflect::Reflect, Relation, Clone, PartialEq, Debug)]
pub(crate) struct Eats(pub(crate) u32);

/// A value that can be compared by reflection only.
#[derive(bevy_reflect::Reflect, Relation, Clone)]
pub(crate) struct Knows(pub(crate) u32);

#[derive(Relation)]
#[relation(exclusive, traversable)]
pub(crate) struct MountedOn;

#[derive(bevy_reflect::Reflect, Relation, Clone, PartialEq, Debug)]
#[relation(symmetric)]
pub(crate) struct Trades(pub(crate) u32);

#[derive(Relation)]
#[relation(symmetric, exclusive)]
pub(crate) struct MarriedTo;

#[derive(Relation)]
#[relation(ordered)]
pub(crate) struct Follows;

#[derive(bevy_reflect::Reflect, Relation, Clone, PartialEq, Debug)]
#[relation(key = u8)]
pub(crate) struct Equips(pub(crate) u8);

#[derive(Relation)]
#[relation(acyclic)]
pub(crate) struct Before;

#[derive(Relation)]
#[relation(transient)]
pub(crate) struct Hovers;

#[derive(Component, Clone, PartialEq, Debug)]
#[relationship(relationship_target = Crew)]
pub(crate) struct CrewOf(pub(crate) Entity);

#[derive(Component)]
#[relationship_target(relationship = CrewOf)]
pub(crate) struct Crew(Vec<Entity>);

pub(crate) fn take(world: &mut World) -> PairSnapshot {
    PairSnapshot::take(world, PairFilter::all()).unwrap()
}

fn counts(applied: AppliedPairs) -> [usize; 3] {
    [applied.inserted, applied.replaced, applied.removed]
}

/// How many events of pairs there were.
#[derive(Resource, Default, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Events {
    pub(crate) inserted: usize,
    pub(crate) replaced: usize,
    pub(crate) removed: usize,
}

pub(crate) fn count_events(world: &mut World) {
    world.init_resource::<Events>();
    world.add_observer(
        |on: On<PairInserted<bevy_relations::relation::Wildcard>>, mut events: ResMut<Events>| {
            if on.replaced {
                events.replaced += 1;
            } else {
                events.inserted += 1;
            }
        },
    );
    world.add_observer(
        |_: On<PairRemoved<bevy_relations::relation::Wildcard>>, mut events: ResMut<Events>| {
            events.removed += 1;
        },
    );
}

/// Applies a snapshot and compares what it says it did with the events that there were.
#[track_caller]
fn apply_counting(world: &mut World, snapshot: &PairSnapshot) -> [usize; 3] {
    world.insert_resource(Events::default());
    let applied = snapshot.apply(world).unwrap();
    let events = *world.resource::<Events>();
    assert_eq!([events.inserted, events.replaced, events.removed], counts(applied));
    world.check_pairs().unwrap();
    counts(applied)
}

#[test]
fn pairs_that_were_removed_come_back_and_new_ones_go() {
    let mut world = World::new();
    count_events(&mut world);
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    world.insert_pair(a, Eats(1), b).unwrap();
    let snapshot = take(&mut world);
    assert_eq!(snapshot.len(), 2);
    assert_eq!(apply_counting(&mut world, &snapshot), [0, 0, 0]);
    world.remove_pairs::<Likes>(a);
    world.insert_pair(a, Eats(2), b).unwrap();
    world.insert_pair(b, Eats(3), c).unwrap();
    let late = world.spawn(Pair(Likes, a)).id();
    assert_eq!(apply_counting(&mut world, &snapshot), [1, 1, 2]);
    assert!(world.has_pair::<Likes>(a, b) && !world.has_pair::<Likes>(late, a));
    assert_eq!(world.pair_value::<Eats>(a, b), Some(&Eats(1)));
    assert_eq!(apply_counting(&mut world, &snapshot), [0, 0, 0]);
}

#[test]
fn what_does_not_differ_keeps_its_ticks() {
    let mut world = World::new();
    world.track_pair_changes::<Eats>();
    world.track_pair_changes::<Knows>();
    let [a, b, c] = spawn(&mut world);
    for target in [b, c] {
        world.insert_pair(a, Eats(1), target).unwrap();
        world.insert_pair(a, Knows(1), target).unwrap();
    }
    let snapshot = take(&mut world);
    world.increment_change_tick();
    world.insert_pair(a, Eats(2), b).unwrap();
    world.insert_pair(a, Knows(2), b).unwrap();
    let ticks = |world: &World, target| {
        (world.pairs::<Eats>().ticks(a, target).unwrap(), world.pairs::<Knows>().ticks(a, target).unwrap())
    };
    let (before_b, before_c) = (ticks(&world, b), ticks(&world, c));
    world.increment_change_tick();
    let applied = snapshot.apply(&mut world).unwrap();
    assert_eq!(counts(applied), [0, 2, 0]);
    assert_eq!(ticks(&world, c), before_c);
    assert_ne!(ticks(&world, b), before_b);
    let after = ticks(&world, b);
    world.increment_change_tick();
    // A value that can be compared is not written twice; one that cannot, and was written since, is.
    assert_eq!(counts(snapshot.apply(&mut world).unwrap()), [0, 1, 0]);
    assert_eq!(ticks(&world, b).0, after.0);
}

#[test]
fn a_value_that_cannot_be_compared_is_known_by_where_and_when_it_was_written() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Knows(1), b).unwrap();
    world.insert_pair(a, Knows(2), c).unwrap();
    let snapshot = take(&mut world);
    // The old value of the one pair, not written since, is now that of the other.
    world.remove_pair::<Knows>(a, c);
    world.move_sources::<Knows>(b, c).unwrap();
    snapshot.apply(&mut world).unwrap();
    let value = |world: &World, target| world.pair_value::<Knows>(a, target).unwrap().0;
    assert_eq!((value(&world, b), value(&world, c)), (1, 2));
    // A write in place.
    let mut state = SystemState::<PairsMut<Knows>>::new(&mut world);
    let mut pairs = state.get_mut(&mut world).unwrap();
    pairs.get_mut(a, b).unwrap().0 = 7;
    snapshot.apply(&mut world).unwrap();
    assert_eq!(value(&world, b), 1);
    world.check_pairs().unwrap();
}

#[test]
fn targets_and_ordered_sources_come_back_in_their_order() {
    let mut world = World::new();
    count_events(&mut world);
    let [a, b, c, d] = spawn(&mut world);
    for target in [b, c, d] {
        world.insert_pair(a, Eats(1), target).unwrap();
        world.insert_pair(target, Follows, a).unwrap();
    }
    let snapshot = take(&mut world);
    world.remove_pair::<Eats>(a, b);
    world.remove_pair::<Follows>(c, a);
    world.order_sources::<Follows>(a, &[d, b]).unwrap();
    assert_eq!(apply_counting(&mut world, &snapshot), [2, 0, 0]);
    assert!(world.pairs::<Eats>().targets(a).eq([b, c, d]));
    assert!(world.pairs::<Follows>().sources(a).eq([b, c, d]));
    // The order alone: no event.
    world.order_sources::<Follows>(a, &[d, b, c]).unwrap();
    world.remove_pair::<Eats>(a, c);
    world.insert_pair(a, Eats(1), c).unwrap();
    assert_eq!(apply_counting(&mut world, &snapshot), [0, 0, 0]);
    assert!(world.pairs::<Eats>().targets(a).eq([b, c, d]));
    assert!(world.pairs::<Follows>().sources(a).eq([b, c, d]));
}

#[test]
fn long_lists_come_back_in_their_order() {
    let mut world = World::new();
    let source = world.spawn_empty().id();
    let all: Vec<Entity> = (0..100).map(|_| world.spawn_empty().id()).collect();
    for &target in &all {
        world.insert_pair(source, Likes, target).unwrap();
    }
    let snapshot = take(&mut world);
    for &target in all.iter().step_by(3) {
        world.remove_pair::<Likes>(source, target);
    }
    assert_eq!(counts(snapshot.apply(&mut world).unwrap()), [34, 0, 0]);
    assert!(world.pairs::<Likes>().targets(source).eq(all.iter().copied()));
    world.check_pairs().unwrap();
    for &target in all.iter().skip(1).step_by(2) {
        world.remove_pair::<Likes>(source, target);
        assert!(world.has_pair::<Likes>(source, all[0]));
    }
    world.check_pairs().unwrap();
}

#[test]
fn a_hierarchy_that_was_turned_round_is_turned_back() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, MountedOn, b).unwrap();
    world.insert_pair(b, MountedOn, c).unwrap();
    world.insert_pair(a, Before, b).unwrap();
    let snapshot = take(&mut world);
    world.remove_pairs::<MountedOn>(a);
    world.remove_pairs::<MountedOn>(b);
    world.insert_pair(c, MountedOn, b).unwrap();
    world.insert_pair(b, MountedOn, a).unwrap();
    world.remove_pair::<Before>(a, b);
    world.insert_pair(b, Before, a).unwrap();
    let turned = take(&mut world);
    snapshot.apply(&mut world).unwrap();
    assert!(world.pairs::<MountedOn>().ancestors(a).eq([b, c]));
    assert!(world.has_pair::<Before>(a, b) && !world.has_pair::<Before>(b, a));
    world.check_pairs().unwrap();
    turned.apply(&mut world).unwrap();
    assert!(world.pairs::<MountedOn>().ancestors(c).eq([b, a]));
    assert!(world.has_pair::<Before>(b, a) && !world.has_pair::<Before>(a, b));
    world.check_pairs().unwrap();
}

#[test]
fn parents_and_children_come_back_with_their_order() {
    let mut world = world_that_records_errors();
    world.adopt_relationship::<CrewOf>();
    let [root, a, b, c] = spawn(&mut world);
    for child in [a, b, c] {
        world.entity_mut(child).insert(ChildOf(root));
        world.entity_mut(child).insert(CrewOf(root));
    }
    let snapshot = take(&mut world);
    world.entity_mut(b).remove::<ChildOf>();
    world.entity_mut(root).insert(ChildOf(b));
    world.entity_mut(a).insert(CrewOf(c));
    let late = world.spawn(ChildOf(root)).id();
    let turned = take(&mut world);
    let applied = snapshot.apply(&mut world).unwrap();
    // Inserted: b below root, and a in the crew of root. Removed: root, late, and a from the crew of c.
    assert_eq!(counts(applied), [2, 0, 3]);
    assert_eq!(**world.get::<Children>(root).unwrap(), [a, b, c]);
    assert!(world.get::<ChildOf>(root).is_none() && world.get::<ChildOf>(late).is_none());
    assert_eq!(world.get::<CrewOf>(a), Some(&CrewOf(root)));
    assert_eq!(world.get::<Crew>(root).unwrap().0.len(), 3);
    world.check_pairs().unwrap();
    turned.apply(&mut world).unwrap();
    assert_eq!(**world.get::<Children>(root).unwrap(), [a, c, late]);
    assert_eq!(world.get::<ChildOf>(root).map(ChildOf::parent), Some(b));
    world.check_pairs().unwrap();
    // Bevy's own way to sort, which updates no index.
    world.get_mut::<Children>(root).unwrap().sort_by_key(|child| core::cmp::Reverse(child.index()));
    assert_eq!(counts(turned.apply(&mut world).unwrap()), [0, 0, 0]);
    assert_eq!(**world.get::<Children>(root).unwrap(), [a, c, late]);
    assert_eq!(take_reported_errors(), Vec::<String>::new());
}

#[test]
fn symmetric_pairs_come_back_in_both_directions_with_one_value() {
    let mut world = World::new();
    count_events(&mut world);
    let [a, b, c, d] = spawn(&mut world);
    world.insert_pair(a, Trades(1), b).unwrap();
    world.insert_pair(c, Trades(2), a).unwrap();
    world.insert_pair(a, MarriedTo, b).unwrap();
    world.insert_pair(c, MarriedTo, d).unwrap();
    let snapshot = take(&mut world);
    assert_eq!(snapshot.len(), 8);
    world.remove_pairs::<Trades>(b);
    world.insert_pair(a, Trades(5), c).unwrap();
    world.insert_pair(a, MarriedTo, d).unwrap();
    // Removed: a and d; inserted: two marriages and a trade, in both directions.
    assert_eq!(apply_counting(&mut world, &snapshot), [6, 2, 2]);
    assert_eq!(world.pair_value::<Trades>(b, a), Some(&Trades(1)));
    assert_eq!(world.pair_value::<Trades>(a, c), Some(&Trades(2)));
    assert!(world.has_pair::<MarriedTo>(b, a) && world.has_pair::<MarriedTo>(d, c));
    assert!(world.pairs::<Trades>().targets(a).eq([b, c]));
}

#[test]
fn keys_change_places() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Equips(1), b).unwrap();
    world.insert_pair(a, Equips(2), c).unwrap();
    let snapshot = take(&mut world);
    world.remove_pairs::<Equips>(a);
    world.insert_pair(a, Equips(2), b).unwrap();
    world.insert_pair(a, Equips(1), c).unwrap();
    assert_eq!(counts(snapshot.apply(&mut world).unwrap()), [0, 2, 0]);
    assert_eq!(world.pair_value::<Equips>(a, b), Some(&Equips(1)));
    // The key is taken by another.
    let d = world.spawn_empty().id();
    world.insert_pair(a, Equips(2), d).unwrap();
    assert_eq!(counts(snapshot.apply(&mut world).unwrap()), [1, 0, 1]);
    assert!(world.pairs::<Equips>().targets(a).eq([b, c]));
    world.check_pairs().unwrap();
}

#[test]
fn run_time_relations_and_values_of_type_targets_come_back() {
    #[derive(Relation)]
    struct Begins;
    #[derive(Clone, PartialEq, Debug, Relation)]
    struct Place(f32, f32);
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    world.register_relation::<Place>().unwrap();
    let costs = world.spawn_relation("costs", RelationTraits::new().data::<u32>()).unwrap();
    world.insert_pair_value_by_id(a, (costs, b), 3_u32).unwrap();
    world.insert_pair_to::<Begins, Place>(a, Place(1.0, 2.0)).unwrap();
    let place = world.entity_of::<Place>();
    let snapshot = take(&mut world);
    world.insert_pair_value_by_id(a, (costs, b), 4_u32).unwrap();
    world.remove_pairs::<Begins>(a);
    snapshot.apply(&mut world).unwrap();
    let begins = world.entity_of::<Begins>();
    assert_eq!(world.pair_value_by_id::<u32>(a, (costs, b)), Some(&3));
    assert_eq!(world.pair_value_by_id::<Place>(a, (begins, place)), Some(&Place(1.0, 2.0)));
    // The types lose their entities, and get others.
    for entity in [begins, place] {
        world.despawn(entity);
    }
    take_reported_errors();
    snapshot.apply(&mut world).unwrap();
    let pair = (world.entity_of::<Begins>(), world.entity_of::<Place>());
    assert_eq!(world.pair_value_by_id::<Place>(a, pair), Some(&Place(1.0, 2.0)));
    world.check_pairs().unwrap();
    // A run-time relation that is gone is gone.
    world.despawn(costs);
    let error = refused(&mut world, |world| snapshot.apply(world));
    assert_eq!(error.to_string(), "the relation costs of the snapshot is not in the world");
    assert_eq!(snapshot.apply_to_living(&mut world).unwrap().skipped, 1);
}

#[test]
fn companions_of_relations_outside_the_snapshot_come_and_others_do_not() {
    #[derive(Relation)]
    struct Near;
    #[derive(Relation)]
    #[relation(with = Near)]
    struct Touches;
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Touches, b).unwrap();
    world.remove_pairs::<Near>(a);
    let both = take(&mut world);
    let one = PairSnapshot::take(&mut world, PairFilter::none().relation::<Touches>()).unwrap();
    world.remove_pairs::<Touches>(a);
    both.apply(&mut world).unwrap();
    assert!(world.has_pair::<Touches>(a, b) && !world.has_pair::<Near>(a, b));
    world.remove_pairs::<Touches>(a);
    one.apply(&mut world).unwrap();
    assert!(world.has_pair::<Touches>(a, b) && world.has_pair::<Near>(a, b));
    world.check_pairs().unwrap();
}

#[test]
fn one_of_holds_for_the_children_that_there_will_be() {
    #[derive(Relation)]
    #[relation(exclusive, one_of)]
    struct Colour;
    let mut world = World::new();
    let colour = world.entity_of::<Colour>();
    let [car, other] = spawn(&mut world);
    let red = world.spawn(ChildOf(colour)).id();
    world.insert_pair(car, Colour, red).unwrap();
    let snapshot = take(&mut world);
    let colours = PairSnapshot::take(&mut world, PairFilter::none().relation::<Colour>()).unwrap();
    world.remove_pairs::<Colour>(car);
    world.entity_mut(red).insert(ChildOf(other));
    let error = refused(&mut world, |world| colours.apply(world));
    assert!(matches!(error, SnapshotError::Refused(InsertPairError::NotOneOf { .. })), "{error}");
    snapshot.apply(&mut world).unwrap();
    assert_eq!(world.pairs::<Colour>().target(car), Some(red));
    world.check_pairs().unwrap();
}

#[test]
fn a_target_that_gets_its_last_source_back_stays() {
    #[derive(Relation)]
    #[relation(on_last_source = Despawn)]
    struct Uses;
    let mut world = World::new();
    let [a, b, texture, other] = spawn(&mut world);
    world.insert_pair(a, Uses, texture).unwrap();
    let snapshot = take(&mut world);
    world.insert_pair(b, Uses, texture).unwrap();
    world.remove_pairs::<Uses>(a);
    world.insert_pair(b, Uses, other).unwrap();
    snapshot.apply(&mut world).unwrap();
    assert!(world.get_entity(texture).is_ok() && world.get_entity(other).is_err());
    assert!(world.pairs::<Uses>().sources(texture).eq([a]));
    world.check_pairs().unwrap();
}

#[test]
fn observers_that_act_do_not_break_what_is_applied() {
    let mut world = world_that_records_errors();
    let [a, b, c, d] = spawn(&mut world);
    for target in [b, c] {
        world.insert_pair(a, Eats(1), target).unwrap();
    }
    world.insert_pair(a, MountedOn, b).unwrap();
    let snapshot = take(&mut world);
    world.remove_pairs::<Eats>(a);
    world.remove_pairs::<MountedOn>(a);
    world.insert_pair(b, MountedOn, a).unwrap();
    world.add_observer(move |on: On<PairInserted<Eats>>, mut commands: Commands| {
        if on.source != d {
            commands.entity(on.source).remove_pairs::<Eats>();
            commands.entity(d).insert_pair(Eats(9), on.target);
        }
    });
    world.add_observer(move |_: On<PairRemoved<MountedOn>>, mut commands: Commands| {
        commands.entity(c).despawn();
    });
    snapshot.apply(&mut world).unwrap();
    world.check_pairs().unwrap();
    // All was there; then the observers acted.
    assert!(world.get_entity(c).is_err() && world.has_pair::<MountedOn>(a, b));
    assert!(!world.pairs::<Eats>().has_any(a) && world.has_pair::<Eats>(d, b));
    take_reported_errors();
}

#[test]
fn another_world_gets_a_copy() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    let likes = world.spawn_relation("likes", RelationTraits::new()).unwrap();
    world.insert_pair_by_id(a, (likes, b)).unwrap();
    world.insert_pair(a, Eats(3), c).unwrap();
    world.insert_pair(a, Eats(4), b).unwrap();
    world.insert_pair(b, MountedOn, c).unwrap();
    world.insert_pair(a, Trades(2), c).unwrap();
    world.entity_mut(a).insert(ChildOf(c));
    let snapshot = take(&mut world);

    let mut other = World::new();
    assert_eq!(refused(&mut other, |world| snapshot.apply(world)), SnapshotError::OtherWorld);
    let mut map = bevy_ecs::entity::EntityHashMap::default();
    let error = snapshot.apply_mapped(&mut other, &mut map).unwrap_err();
    assert_eq!(error.to_string(), "the relation likes of the snapshot is not in the world");
    let there = other.spawn_relation("likes", RelationTraits::new()).unwrap();
    let mine = other.spawn_empty().id();
    map.insert(a, mine);
    snapshot.apply_mapped(&mut other, &mut map).unwrap();
    assert_eq!((map.len(), map[&a]), (3, mine));
    let [a, b, c] = [a, b, c].map(|entity| map[&entity]);
    assert_eq!(targets(&other, there, a), [b]);
    assert!(other.pairs::<Eats>().targets(a).eq([c, b]));
    assert_eq!(other.pair_value::<Eats>(a, c), Some(&Eats(3)));
    assert_eq!(other.pair_value::<Trades>(c, a), Some(&Trades(2)));
    assert_eq!(other.pairs::<MountedOn>().target(b), Some(c));
    assert_eq!(**other.get::<Children>(c).unwrap(), [a]);
    other.check_pairs().unwrap();
    // Once more with the same map: nothing to do; what others have stays.
    let extra = other.spawn(Pair(Likes, a)).id();
    other.insert_pair(a, Likes, extra).unwrap();
    let applied = snapshot.apply_mapped(&mut other, &mut map).unwrap();
    assert_eq!((counts(applied), map.len()), ([0, 0, 0], 3));
    assert!(other.has_pair::<Likes>(a, extra));
    other.check_pairs().unwrap();
    // A second relation of that name.
    other.spawn_relation("likes", RelationTraits::new()).unwrap();
    let error = refused(&mut other, |world| snapshot.apply_mapped(world, &mut map));
    assert_eq!(error.to_string(), "several relations in the world are called likes");
    // A copy in the same world.
    let mut copies = bevy_ecs::entity::EntityHashMap::default();
    assert_eq!(snapshot.apply_mapped(&mut world, &mut copies).unwrap().removed, 0);
    assert_eq!(world.pairs::<Eats>().len(), 4);
    world.check_pairs().unwrap();
}

#[test]
fn a_snapshot_is_brought_up_to_date() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Eats(1), b).unwrap();
    world.insert_pair(a, Knows(1), b).unwrap();
    let mut snapshot = take(&mut world);
    world.insert_pair(a, Eats(2), b).unwrap();
    world.insert_pair(a, Likes, c).unwrap();
    let mut state = SystemState::<PairsMut<Knows>>::new(&mut world);
    let mut pairs = state.get_mut(&mut world).unwrap();
    pairs.get_mut(a, b).unwrap().0 = 7;
    snapshot.update(&mut world).unwrap();
    world.clear_pairs();
    snapshot.apply(&mut world).unwrap();
    assert_eq!(world.pair_value::<Eats>(a, b), Some(&Eats(2)));
    assert_eq!(world.pair_value::<Knows>(a, b).map(|knows| knows.0), Some(7));
    assert!(world.has_pair::<Likes>(a, c));
    snapshot.update(&mut world).unwrap();
    assert_eq!(snapshot.len(), 3);
    // In another world it is a snapshot of that.
    let mut other = World::new();
    let [x, y] = spawn(&mut other);
    other.insert_pair(x, Likes, y).unwrap();
    snapshot.update(&mut other).unwrap();
    assert_eq!((snapshot.len(), counts(snapshot.apply(&mut other).unwrap())), (1, [0, 0, 0]));
    world.check_pairs().unwrap();
}

#[test]
fn a_value_that_cannot_be_copied_is_an_error_that_names_it() {
    #[derive(Relation)]
    struct Holds(#[expect(dead_code, reason = "it is no copy")] u32);
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Holds(1), b).unwrap();
    world.entity_mut(a).insert(Name::new("hand"));
    let error = PairSnapshot::take(&mut world, PairFilter::all()).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("cannot take a snapshot of (Holds, {b}) on hand ({a}): `")),
        "{error}"
    );
}
