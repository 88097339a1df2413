//! The filters for pairs that are new or changed.

use crate::common::{CrewOf, spawn};
use bevy_ecs::{
    component::Mutable,
    prelude::*,
    query::QueryFilter,
    system::{RunSystemOnce, SystemId},
};
use bevy_relations::{
    prelude::*,
    query::{AddedPair, ChangedAbove, ChangedBelow, ChangedPair, TargetOf, WithDescendant},
    relation::TraversableRelation,
};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
struct Eats(u32);

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Component)]
struct Health(u32);

fn added<R: Relation>(query: Query<Entity, AddedPair<R>>) -> Vec<Entity> {
    query.iter().collect()
}

fn changed<R: Relation>(query: Query<Entity, ChangedPair<R>>) -> Vec<Entity> {
    query.iter().collect()
}

type Watcher = SystemId<(), Vec<Entity>>;

/// Systems that find whose pairs of `R` were added and changed since they last ran.
fn watch<R: Relation>(world: &mut World) -> (Watcher, Watcher) {
    (world.register_system(added::<R>), world.register_system(changed::<R>))
}

#[track_caller]
fn assert_found(world: &mut World, (added, changed): (Watcher, Watcher), expected: [&[Entity]; 2]) {
    let found = [added, changed].map(|system| world.run_system(system).unwrap());
    assert_eq!(found.each_ref().map(Vec::as_slice), expected);
}

#[test]
fn a_pair_is_new_once() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    let watchers = watch::<Likes>(&mut world);
    // To a new system all is new.
    assert_found(&mut world, watchers, [&[a], &[a]]);
    assert_found(&mut world, watchers, [&[], &[]]);
    world.insert_pair(b, Likes, c).unwrap();
    assert_found(&mut world, watchers, [&[b], &[b]]);
    // It is there already.
    world.insert_pair(b, Likes, c).unwrap();
    assert_found(&mut world, watchers, [&[], &[]]);
    // A second one counts for the same source; the target has none.
    world.insert_pair(b, Likes, a).unwrap();
    assert_found(&mut world, watchers, [&[b], &[b]]);
    world.remove_pair::<Likes>(b, a);
    assert_found(&mut world, watchers, [&[], &[]]);
    world.insert_pair(b, Likes, a).unwrap();
    world.remove_pair::<Likes>(b, a);
    assert_found(&mut world, watchers, [&[], &[]]);
}

#[test]
fn a_value_that_is_replaced_changes_the_pair_and_does_not_make_it_new() {
    let mut world = World::new();
    let watchers = watch::<Eats>(&mut world);
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Eats(1), b).unwrap();
    assert_found(&mut world, watchers, [&[a], &[a]]);
    world.insert_pair(a, Eats(2), b).unwrap();
    assert_found(&mut world, watchers, [&[], &[a]]);
    assert_found(&mut world, watchers, [&[], &[]]);
}

#[test]
fn a_value_that_is_written_in_place_changes_the_pair() {
    let mut world = World::new();
    let watchers = watch::<Eats>(&mut world);
    let [a, b, c] = spawn(&mut world);
    for source in [a, b] {
        world.insert_pair(source, Eats(1), c).unwrap();
    }
    assert_found(&mut world, watchers, [&[a, b], &[a, b]]);
    let write = move |mut eats: PairsMut<Eats>| eats.get_mut(b, c).unwrap().0 += 1;
    world.run_system_once(write).unwrap();
    assert_found(&mut world, watchers, [&[], &[b]]);
    assert_found(&mut world, watchers, [&[], &[]]);
    // Looking is not writing.
    let look = move |mut eats: PairsMut<Eats>| assert_eq!(eats.get_mut(b, c).unwrap().0, 2);
    world.run_system_once(look).unwrap();
    assert_found(&mut world, watchers, [&[], &[]]);
}

#[test]
fn pairs_that_are_components_count_as_well() {
    let mut world = World::new();
    let watchers = watch::<CrewOf>(&mut world);
    let [a, b, c] = spawn(&mut world);
    world.entity_mut(a).insert(CrewOf { ship: b, wage: 1 });
    assert_found(&mut world, watchers, [&[a], &[a]]);
    assert_found(&mut world, watchers, [&[], &[]]);
    world.entity_mut(a).insert(CrewOf { ship: c, wage: 1 });
    assert_found(&mut world, watchers, [&[a], &[a]]);
    world.insert_pair(a, CrewOf { ship: c, wage: 2 }, c).unwrap();
    assert_found(&mut world, watchers, [&[], &[a]]);
}

#[test]
fn a_system_that_did_not_run_for_a_while_sees_all_that_happened_meanwhile() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    let often = watch::<Likes>(&mut world);
    let seldom = watch::<Likes>(&mut world);
    assert_found(&mut world, seldom, [&[], &[]]);
    for source in [a, b] {
        world.insert_pair(source, Likes, c).unwrap();
        assert_found(&mut world, often, [&[source], &[source]]);
    }
    assert_found(&mut world, seldom, [&[a, b], &[a, b]]);
    assert_found(&mut world, seldom, [&[], &[]]);
}

fn matching<F: QueryFilter + 'static>(world: &mut World) -> SystemId<(), Vec<Entity>> {
    world.register_system(|query: Query<Entity, F>| {
        let mut found: Vec<_> = query.iter().collect();
        found.sort_unstable_by_key(|entity| entity.index_u32());
        found
    })
}

#[test]
fn filters_within_filters_see_what_was_added_or_changed_at_the_other_end() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    for (source, target) in [(a, b), (b, c)] {
        world.insert_pair(source, Likes, target).unwrap();
    }
    let changed = matching::<Related<Likes, Changed<Health>>>(&mut world);
    let added = matching::<TargetOf<Likes, Added<Health>>>(&mut world);
    let assert_found = |world: &mut World, expected: [&[Entity]; 2]| {
        let found = [changed, added].map(|system| world.run_system(system).unwrap());
        assert_eq!(found.each_ref().map(Vec::as_slice), expected);
    };
    assert_found(&mut world, [&[], &[]]);
    world.entity_mut(b).insert(Health(1));
    // It is the target of a, and a source of c.
    assert_found(&mut world, [&[a], &[c]]);
    assert_found(&mut world, [&[], &[]]);
    world.get_mut::<Health>(b).unwrap().0 += 1;
    assert_found(&mut world, [&[a], &[]]);
    // What changed with a pair to it that is new counts, what changed before does not.
    world.insert_pair(c, Likes, b).unwrap();
    assert_found(&mut world, [&[], &[]]);
    world.get_mut::<Health>(b).unwrap().0 += 1;
    assert_found(&mut world, [&[a, c], &[]]);
}

#[test]
fn changes_are_seen_from_below_and_from_above() {
    let mut world = World::new();
    let [ship, turret, gun, boat] = spawn(&mut world);
    for (source, target) in [(turret, ship), (gun, turret)] {
        world.insert_pair(source, MountedOn, target).unwrap();
    }
    for entity in [ship, turret, gun, boat] {
        world.entity_mut(entity).insert(Health(1));
    }
    let above = matching::<ChangedAbove<MountedOn, Health>>(&mut world);
    let below = matching::<WithDescendant<MountedOn, Changed<Health>>>(&mut world);
    let assert_found = |world: &mut World, expected: [&[Entity]; 2]| {
        let found = [above, below].map(|system| world.run_system(system).unwrap());
        assert_eq!(found.each_ref().map(Vec::as_slice), expected);
    };
    // To a new system everything is new.
    assert_found(&mut world, [&[turret, gun], &[ship, turret]]);
    assert_found(&mut world, [&[], &[]]);
    world.get_mut::<Health>(turret).unwrap().0 += 1;
    assert_found(&mut world, [&[gun], &[ship]]);
    world.get_mut::<Health>(boat).unwrap().0 += 1;
    assert_found(&mut world, [&[], &[]]);
}

#[test]
fn changes_below_are_seen_although_the_query_was_asked_before_in_the_same_run() {
    let mut world = World::new();
    let [ship, turret, gun] = spawn(&mut world);
    for (source, target) in [(turret, ship), (gun, turret)] {
        world.insert_pair(source, MountedOn, target).unwrap();
    }
    world.entity_mut(gun).insert(Health(1));
    type Below<'w, 's> = Query<'w, 's, (), ChangedBelow<MountedOn, Health>>;
    let count = move |In(write): In<bool>, mut set: ParamSet<(Query<&mut Health>, Below)>| {
        let before = set.p1().iter().count();
        if write {
            set.p0().get_mut(gun).unwrap().0 += 1;
        }
        (before, set.p1().iter().count(), set.p1().contains(ship))
    };
    let system = world.register_system(count);
    assert_eq!(world.run_system_with(system, false).unwrap(), (2, 2, true));
    assert_eq!(world.run_system_with(system, true).unwrap(), (0, 2, true));
    // What a system writes itself it sees once more.
    assert_eq!(world.run_system_with(system, false).unwrap(), (0, 0, false));
}

#[test]
fn changes_below_are_seen_by_a_query_state_that_is_not_updated() {
    let mut world = World::new();
    let [ship, turret, gun, boat] = spawn(&mut world);
    for (source, target) in [(turret, ship), (gun, turret)] {
        world.insert_pair(source, MountedOn, target).unwrap();
    }
    world.entity_mut(boat).insert(Health(1));
    world.entity_mut(gun).insert(Health(1));
    world.clear_trackers();
    let query = world.query_filtered::<Entity, ChangedBelow<MountedOn, Health>>();
    assert_eq!(query.iter_manual(&world).count(), 0);
    world.get_mut::<Health>(gun).unwrap().0 += 1;
    assert_eq!(query.iter_manual(&world).count(), 2);
    assert!(query.get_manual(&world, ship).is_ok() && query.get_manual(&world, boat).is_err());
    world.remove_pair::<MountedOn>(turret, ship);
    assert_eq!(query.iter_manual(&world).collect::<Vec<_>>(), [turret]);
    world.entity_mut(gun).remove::<Health>();
    assert_eq!(query.iter_manual(&world).count(), 0);
}

#[derive(Relation)]
#[relation(traversable)]
struct PartOf;

#[derive(Component, Default)]
#[component(storage = "SparseSet")]
struct Heat;

#[derive(Component, Default)]
#[component(summary_tick)]
struct Dirt;

#[derive(Component, Default)]
struct Rust;

/// One entity below each of 150, and then writes to those at some places.
fn assert_changes_are_found<R: TraversableRelation, C: Component<Mutability = Mutable> + Default>(
    relation: fn() -> R,
) {
    let mut world = World::new();
    let tops: Vec<Entity> = (0..150).map(|_| world.spawn_empty().id()).collect();
    let below: Vec<Entity> =
        tops.iter().map(|&top| world.spawn((C::default(), Pair(relation(), top))).id()).collect();
    let system = matching::<ChangedBelow<R, C>>(&mut world);
    assert_eq!(world.run_system(system).unwrap(), tops);
    for places in [&[][..], &[0], &[63], &[64], &[127, 128], &[149], &[0, 1, 63, 64, 100, 148], &[]] {
        for &place in places {
            world.get_mut::<C>(below[place]).unwrap().set_changed();
        }
        let expected: Vec<Entity> = places.iter().map(|&place| tops[place]).collect();
        assert_eq!(world.run_system(system).unwrap(), expected);
    }
}

#[test]
fn changes_below_are_found_however_components_are_stored() {
    assert_changes_are_found::<MountedOn, Rust>(|| MountedOn);
    assert_changes_are_found::<MountedOn, Dirt>(|| MountedOn);
    assert_changes_are_found::<MountedOn, Heat>(|| MountedOn);
    assert_changes_are_found::<PartOf, Rust>(|| PartOf);
    assert_changes_are_found::<PartOf, Heat>(|| PartOf);
}

#[test]
fn a_value_counts_as_changed_however_it_is_written_after_runs_that_found_nothing() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    for source in [a, b] {
        world.insert_pairs(source, [(Eats(1), c), (Eats(2), source)]).unwrap();
    }
    let watchers = watch::<Eats>(&mut world);
    assert_found(&mut world, watchers, [&[a, b], &[a, b]]);
    for _ in 0..3 {
        assert_found(&mut world, watchers, [&[], &[]]);
        // Values that are lent and not written.
        world.run_system_once(|mut eats: PairsMut<Eats>| eats.for_each_mut(|_, _, _| {})).unwrap();
        assert_found(&mut world, watchers, [&[], &[]]);
        world.insert_pair(b, Eats(3), c).unwrap();
        assert_found(&mut world, watchers, [&[], &[b]]);
        world.pair_value_mut::<Eats>(a, a).unwrap().0 += 1;
        assert_found(&mut world, watchers, [&[], &[a]]);
        world.run_system_once(move |mut eats: PairsMut<Eats>| eats.get_mut(b, b).unwrap().0 += 1).unwrap();
        assert_found(&mut world, watchers, [&[], &[b]]);
        // The newest pair goes, and an older one is written.
        let d = world.spawn_empty().id();
        world.insert_pair(a, Eats(9), d).unwrap();
        world.insert_pair(b, Eats(4), c).unwrap();
        world.despawn(d);
        assert_found(&mut world, watchers, [&[], &[b]]);
    }
}
