//! The filters for pairs that are new or changed.

use crate::common::spawn;
use bevy_ecs::{
    prelude::*,
    system::{RunSystemOnce, SystemId},
};
use bevy_relations::{
    prelude::*,
    query::{AddedPair, ChangedPair},
};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
struct Eats(u32);

#[derive(Component)]
#[relationship(relationship_target = Crew)]
struct CrewOf {
    #[relationship]
    ship: Entity,
    #[expect(dead_code, reason = "values that change")]
    wage: u32,
}

#[derive(Component)]
#[relationship_target(relationship = CrewOf)]
struct Crew(Vec<Entity>);

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
