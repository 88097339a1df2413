//! Events of pairs: which, when, in which order, and what can be read then.

use crate::common::{take_reported_errors, world_that_records_errors};
use bevy_ecs::{lifecycle::Add, prelude::*, world::DeferredWorld};
use bevy_relations::{event::RemovalCause, prelude::*, relation::Wildcard};
use std::sync::Arc;

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone, Debug, PartialEq)]
struct Eats {
    grams: u32,
}

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
#[relation(symmetric)]
struct Meets;

#[derive(Relation)]
#[relation(symmetric, exclusive)]
struct MarriedTo;

#[derive(Relation, Clone, Debug, PartialEq, Default)]
#[relation(symmetric)]
struct Road {
    length: u32,
}

#[derive(Relation)]
#[relation(with = Likes)]
struct Loves;

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct MountedOn;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Heard {
    Inserted(Entity, Entity, Entity),
    Replaced(Entity, Entity, Entity),
    Removed(Entity, Entity, Entity),
}
use Heard::{Inserted, Removed, Replaced};

#[derive(Resource, Default)]
struct Log(Vec<Heard>);

fn heard(world: &mut World) -> Vec<Heard> {
    std::mem::take(&mut world.resource_mut::<Log>().0)
}

/// Notes an inserted pair, and that it is readable from both sides.
fn note_inserted<P: bevy_relations::event::PairPattern>(on: On<PairInserted<P>>, mut world: DeferredWorld) {
    assert_readable(&world, on.source, on.relation, on.target);
    let make = if on.replaced { Replaced } else { Inserted };
    let note = make(on.source, on.relation, on.target);
    world.resource_mut::<Log>().0.push(note);
}

fn note_removed<P: bevy_relations::event::PairPattern>(on: On<PairRemoved<P>>, mut world: DeferredWorld) {
    assert_readable(&world, on.source, on.relation, on.target);
    let note = Removed(on.source, on.relation, on.target);
    world.resource_mut::<Log>().0.push(note);
}

fn assert_readable(world: &World, source: Entity, relation: Entity, target: Entity) {
    assert!(world.get_entity(source).is_ok() && world.get_entity(target).is_ok());
    let pairs = world.pairs_by_id(relation);
    assert!(pairs.has(source, target));
    assert!(pairs.targets(source).any(|other| other == target));
    assert!(pairs.sources(target).any(|other| other == source));
    if world.traits_of(relation).is_some_and(|traits| traits.names().contains(&"symmetric")) {
        assert!(pairs.has(target, source), "both sides agree");
    }
    world.check_pairs().unwrap();
}

/// A world that notes every event, and `N` entities.
fn noting_world<const N: usize>() -> (World, [Entity; N]) {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    world.add_observer(note_inserted::<Wildcard>);
    world.add_observer(note_removed::<Wildcard>);
    let entities = std::array::from_fn(|_| world.spawn_empty().id());
    (world, entities)
}

#[test]
fn a_tag_pair_is_announced_once_and_its_removal_once() {
    let (mut world, [bob, alice]) = noting_world();
    let likes = world.entity_of::<Likes>();
    world.insert_pair(bob, Likes, alice).unwrap();
    world.insert_pair(bob, Likes, alice).unwrap();
    world.insert_pair_by_id(bob, (likes, alice)).unwrap();
    assert_eq!(heard(&mut world), [Inserted(bob, likes, alice)]);
    world.remove_pair::<Likes>(bob, alice);
    world.remove_pair::<Likes>(bob, alice);
    assert_eq!(heard(&mut world), [Removed(bob, likes, alice)]);
}

#[test]
fn a_replaced_value_is_announced_as_replaced_and_moves_only_the_changed_tick() {
    let (mut world, [bob, apple]) = noting_world();
    let eats = world.entity_of::<Eats>();
    world.track_pair_changes::<Eats>();
    world.insert_pair(bob, Eats { grams: 1 }, apple).unwrap();
    let before = world.pairs::<Eats>().ticks(bob, apple).unwrap();
    world.increment_change_tick();
    world.insert_pair(bob, Eats { grams: 2 }, apple).unwrap();
    let after = world.pairs::<Eats>().ticks(bob, apple).unwrap();
    assert_eq!(heard(&mut world), [Inserted(bob, eats, apple), Replaced(bob, eats, apple)]);
    assert_eq!(before.inserted, after.inserted);
    assert_ne!(before.changed, after.changed);
    assert_eq!(world.pair_value::<Eats>(bob, apple), Some(&Eats { grams: 2 }));
}

#[test]
fn the_value_is_readable_when_a_pair_is_about_to_go() {
    #[derive(Resource, Default)]
    struct Grams(Vec<u32>);
    let mut world = world_that_records_errors();
    world.init_resource::<Grams>();
    world.add_observer(|on: On<PairRemoved<Eats>>, eats: Pairs<Eats>, mut grams: ResMut<Grams>| {
        grams.0.push(eats.get(on.source, on.target).unwrap().grams);
    });
    let [bob, eve, apple] = std::array::from_fn(|_| world.spawn_empty().id());
    let eats = world.entity_of::<Eats>();
    let insert = |world: &mut World, grams| world.insert_pair(bob, Eats { grams }, apple).unwrap();
    insert(&mut world, 1);
    world.remove_pair::<Eats>(bob, apple);
    insert(&mut world, 2);
    world.remove_pairs::<Eats>(bob);
    insert(&mut world, 3);
    world.remove_pairs_everywhere(PairId::with_target(apple));
    insert(&mut world, 4);
    world.clear_pairs();
    insert(&mut world, 5);
    world.remove_pair_batch::<Eats>([(bob, apple), (eve, apple)]);
    insert(&mut world, 6);
    world.despawn(apple);
    let pear = world.spawn_empty().id();
    world.insert_pair(bob, Eats { grams: 7 }, pear).unwrap();
    world.despawn_with_dependents(bob).unwrap();
    world.insert_pair(eve, Eats { grams: 8 }, pear).unwrap();
    world.entity_mut(eve).clear();
    world.insert_pair(eve, Eats { grams: 9 }, pear).unwrap();
    world.despawn(eats);
    assert_eq!(world.resource::<Grams>().0, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    world.check_pairs().unwrap();
}

#[test]
fn an_exclusive_relation_removes_the_old_pair_then_inserts_the_new() {
    let (mut world, [ship, a, b]) = noting_world();
    let docked = world.entity_of::<DockedTo>();
    world.insert_pair(ship, DockedTo, a).unwrap();
    world.insert_pair(ship, DockedTo, a).unwrap();
    world.insert_pair(ship, DockedTo, b).unwrap();
    let expected = [Inserted(ship, docked, a), Removed(ship, docked, a), Inserted(ship, docked, b)];
    assert_eq!(heard(&mut world), expected);
}

#[test]
fn a_symmetric_relation_announces_each_direction_once() {
    let (mut world, [a, b]) = noting_world();
    let meets = world.entity_of::<Meets>();
    world.insert_pair(a, Meets, b).unwrap();
    world.insert_pair(b, Meets, a).unwrap();
    assert_eq!(heard(&mut world), [Inserted(a, meets, b), Inserted(b, meets, a)]);
    world.remove_pair::<Meets>(b, a);
    assert_eq!(heard(&mut world), [Removed(b, meets, a), Removed(a, meets, b)]);
    world.insert_pair(a, Meets, a).unwrap();
    world.remove_pair::<Meets>(a, a);
    assert_eq!(heard(&mut world), [Inserted(a, meets, a), Removed(a, meets, a)]);
    world.insert_pair(a, Meets, b).unwrap();
    heard(&mut world);
    world.remove_pairs_everywhere(PairId::with_relation(meets));
    assert_eq!(heard(&mut world).len(), 2);
    world.insert_pair(a, Meets, b).unwrap();
    world.insert_pair(a, Meets, a).unwrap();
    heard(&mut world);
    world.despawn(a);
    let mut removed = heard(&mut world);
    removed.sort_by_key(|heard| format!("{heard:?}"));
    let mut expected = [Removed(a, meets, b), Removed(b, meets, a), Removed(a, meets, a)];
    expected.sort_by_key(|heard| format!("{heard:?}"));
    assert_eq!(removed, expected);
}

#[test]
fn a_symmetric_value_is_replaced_in_both_directions() {
    let (mut world, [a, b]) = noting_world();
    let road = world.entity_of::<Road>();
    world.insert_pair(a, Road { length: 1 }, b).unwrap();
    assert_eq!(heard(&mut world), [Inserted(a, road, b), Inserted(b, road, a)]);
    world.insert_pair(b, Road { length: 2 }, a).unwrap();
    assert_eq!(heard(&mut world), [Replaced(b, road, a), Replaced(a, road, b)]);
    assert_eq!(world.pair_value::<Road>(a, b), Some(&Road { length: 2 }));
    world.despawn(b);
    assert_eq!(heard(&mut world).len(), 2);
}

#[test]
fn both_former_partners_are_announced_when_an_exclusive_symmetric_pair_is_replaced() {
    let (mut world, [a, b, c, d]) = noting_world();
    let married = world.entity_of::<MarriedTo>();
    world.insert_pair(a, MarriedTo, b).unwrap();
    world.insert_pair(c, MarriedTo, d).unwrap();
    heard(&mut world);
    world.insert_pair(a, MarriedTo, c).unwrap();
    let events = heard(&mut world);
    assert_eq!(events.len(), 6, "{events:?}");
    let removed = [(a, b), (b, a), (c, d), (d, c)].map(|(x, y)| Removed(x, married, y));
    assert!(removed.iter().all(|event| events[..4].contains(event)), "{events:?}");
    assert_eq!(events[4..], [Inserted(a, married, c), Inserted(c, married, a)]);
}

#[test]
fn a_companion_is_announced_after_its_pair_and_not_removed_with_it() {
    let (mut world, [a, b]) = noting_world();
    let (likes, loves) = (world.entity_of::<Likes>(), world.entity_of::<Loves>());
    world.insert_pair(a, Loves, b).unwrap();
    assert_eq!(heard(&mut world), [Inserted(a, loves, b), Inserted(a, likes, b)]);
    world.remove_pair::<Loves>(a, b);
    assert_eq!(heard(&mut world), [Removed(a, loves, b)]);
    world.insert_pair(a, Loves, b).unwrap();
    assert_eq!(heard(&mut world), [Inserted(a, loves, b)]);
}

#[test]
fn cleanup_announces_every_pair_that_goes() {
    let (mut world, [ship, bob]) = noting_world();
    let (likes, mounted) = (world.entity_of::<Likes>(), world.entity_of::<MountedOn>());
    let gun = world.spawn(pairs![(MountedOn, ship), (Likes, bob)]).id();
    let sight = world.spawn(Pair(MountedOn, gun)).id();
    world.insert_pair(bob, Likes, ship).unwrap();
    heard(&mut world);
    world.despawn(ship);
    let events = heard(&mut world);
    let expected = [
        Removed(gun, mounted, ship),
        Removed(bob, likes, ship),
        Removed(sight, mounted, gun),
        Removed(gun, likes, bob),
    ];
    assert_eq!(events.len(), 4, "{events:?}");
    assert!(expected.iter().all(|event| events.contains(event)), "{events:?}");
    assert!(events[..2].iter().all(|event| matches!(event, Removed(_, _, target) if *target == ship)));
}

#[test]
fn batches_keep_the_callers_order() {
    let (mut world, [hub]) = noting_world();
    let likes = world.entity_of::<Likes>();
    let entities: Vec<Entity> = (0..20).map(|_| world.spawn_empty().id()).collect();
    let order = [7, 3, 11, 0, 19, 3, 8];
    world.insert_pair_batch(order.map(|n: usize| (entities[n], Likes, hub))).unwrap();
    let expected = [7, 3, 11, 0, 19, 8].map(|n: usize| Inserted(entities[n], likes, hub));
    assert_eq!(heard(&mut world), expected);
    world.remove_pair_batch::<Likes>([8, 0, 5, 7].map(|n: usize| (entities[n], hub)));
    assert_eq!(heard(&mut world), [8, 0, 7].map(|n: usize| Removed(entities[n], likes, hub)));
    {
        let mut commands = world.commands();
        let mut batch = commands.pair_batch::<Likes>();
        batch.insert(entities[8], Likes, hub).remove(entities[3], hub).insert(entities[1], Likes, hub);
    }
    world.flush();
    let expected = [
        Inserted(entities[8], likes, hub),
        Removed(entities[3], likes, hub),
        Inserted(entities[1], likes, hub),
    ];
    assert_eq!(heard(&mut world), expected);
    let spawned = world.spawn_batch_with_pair((0..3).map(|_| ((), Likes, hub)));
    let expected: Vec<_> = spawned.iter().map(|&source| Inserted(source, likes, hub)).collect();
    assert_eq!(heard(&mut world), expected);
}

#[test]
fn at_spawn_pairs_exist_after_the_bundles_own_observers() {
    #[derive(Component)]
    struct Marker;
    #[derive(Resource, Default)]
    struct Seen(Vec<bool>);
    let mut world = world_that_records_errors();
    world.init_resource::<Seen>();
    let hub = world.spawn_empty().id();
    world.add_observer(move |on: On<Add<Marker>>, mut world: DeferredWorld| {
        let there = world.has_pair::<Likes>(on.entity, hub);
        world.resource_mut::<Seen>().0.push(there);
    });
    world.add_observer(move |on: On<PairInserted<Likes>>, mut world: DeferredWorld| {
        let there = world.get::<Marker>(on.source).is_some() && world.has_pair::<Likes>(on.source, hub);
        world.resource_mut::<Seen>().0.push(there);
    });
    world.spawn((Marker, Pair(Likes, hub)));
    world.spawn((pairs![(Likes, hub)], Marker));
    world.spawn_empty().insert((Marker, Pair(Likes, hub)));
    assert_eq!(world.resource::<Seen>().0, [false, true, false, true, false, true]);
}

#[test]
fn a_refused_pair_of_a_bundle_is_reported_and_the_others_apply() {
    let (mut world, [hub, dead]) = noting_world();
    let likes = world.entity_of::<Likes>();
    world.despawn(dead);
    let bob = world.spawn((Pair(Likes, dead), Pair(Likes, hub))).id();
    assert_eq!(heard(&mut world), [Inserted(bob, likes, hub)]);
    assert_eq!(take_reported_errors().len(), 1);
    let eve = world.spawn(pairs![(Likes, dead), (Likes, hub)]).id();
    assert_eq!(heard(&mut world), [Inserted(eve, likes, hub)]);
    assert_eq!(take_reported_errors().len(), 1);
}

#[test]
fn observers_see_the_fields_of_their_own_event() {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    world.add_observer(note_inserted::<Likes>);
    world.add_observer(note_removed::<Likes>);
    world.add_observer(note_inserted::<Eats>);
    let [bob, alice, apple] = std::array::from_fn(|_| world.spawn_empty().id());
    let (likes, eats) = (world.entity_of::<Likes>(), world.entity_of::<Eats>());
    world.insert_pair(bob, Likes, alice).unwrap();
    world.insert_pair(bob, DockedTo, alice).unwrap();
    world.insert_pair(bob, Eats { grams: 1 }, apple).unwrap();
    world.insert_pair(bob, Eats { grams: 2 }, apple).unwrap();
    world.remove_pair::<Eats>(bob, apple);
    world.remove_pair::<Likes>(bob, alice);
    let expected = [
        Inserted(bob, likes, alice),
        Inserted(bob, eats, apple),
        Replaced(bob, eats, apple),
        Removed(bob, likes, alice),
    ];
    assert_eq!(heard(&mut world), expected);
}

#[test]
fn an_observer_of_one_entity_is_triggered_by_pairs_of_which_it_is_the_source() {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    let [bob, alice] = std::array::from_fn(|_| world.spawn_empty().id());
    let likes = world.entity_of::<Likes>();
    world.entity_mut(bob).observe(note_inserted::<Likes>).observe(note_removed::<Wildcard>);
    world.insert_pair(alice, Likes, bob).unwrap();
    world.insert_pair(bob, Likes, alice).unwrap();
    world.insert_pair(bob, DockedTo, alice).unwrap();
    world.remove_pairs::<Likes>(bob);
    world.remove_pairs::<Likes>(alice);
    assert_eq!(heard(&mut world), [Inserted(bob, likes, alice), Removed(bob, likes, alice)]);
    let docked = world.entity_of::<DockedTo>();
    world.despawn(bob);
    assert_eq!(heard(&mut world), [Removed(bob, docked, alice)]);
}

#[derive(Resource, Default)]
struct Count(u32);

#[test]
fn an_observer_on_an_entity_sees_the_pairs_of_which_it_is_the_source() {
    let mut world = World::new();
    world.init_resource::<Count>();
    let [alice, bob] = [(); 2].map(|()| world.spawn_empty().id());
    world.entity_mut(alice).observe(|_: On<PairInserted<Likes>>, mut count: ResMut<Count>| count.0 += 1);
    world.insert_pair(bob, Likes, alice).unwrap();
    assert_eq!(world.resource::<Count>().0, 0);
    world.insert_pair(alice, Likes, bob).unwrap();
    assert_eq!(world.resource::<Count>().0, 1);
}

#[test]
fn an_equal_value_is_an_event_and_a_tag_again_or_a_write_in_place_is_none() {
    let mut world = World::new();
    world.init_resource::<Count>();
    world.add_observer(|_: On<PairInserted<Wildcard>>, mut count: ResMut<Count>| count.0 += 1);
    let [alice, bob] = [(); 2].map(|()| world.spawn_empty().id());
    for _ in 0..2 {
        world.insert_pair(alice, Eats { grams: 1 }, bob).unwrap();
        world.insert_pair(alice, Likes, bob).unwrap();
    }
    assert_eq!(world.resource::<Count>().0, 3);
    let write = |mut eats: PairsMut<Eats>| eats.for_each_mut(|_, _, mut eats| eats.grams = 2);
    world.run_system_cached(write).unwrap();
    assert_eq!(world.resource::<Count>().0, 3);
    assert_eq!(world.pair_value::<Eats>(alice, bob), Some(&Eats { grams: 2 }));
}

#[test]
fn a_pair_with_a_value_that_takes_the_place_of_another_is_reported_after_that_one() {
    #[derive(Relation, Clone, PartialEq, Debug)]
    #[relation(exclusive)]
    struct Rents(Arc<u32>);
    #[derive(Resource, Default)]
    struct Log(Vec<(&'static str, Entity, u32)>);

    let mut world = World::new();
    world.init_resource::<Log>();
    let [ann, flat, house] = [(); 3].map(|()| world.spawn_empty().id());
    world.add_observer(|on: On<PairInserted<Rents>>, rents: Pairs<Rents>, mut log: ResMut<Log>| {
        let what = if on.replaced { "replaced" } else { "inserted" };
        log.0.push((what, on.target, *rents.get(on.source, on.target).unwrap().0));
    });
    let prices = [500, 600, 900].map(Arc::new);
    let rent = |nth: usize| Rents(prices[nth].clone());
    let take = |world: &mut World| core::mem::take(&mut world.resource_mut::<Log>().0);

    world.insert_pair(ann, rent(0), flat).unwrap();
    world.insert_pair(ann, rent(1), flat).unwrap();
    world.insert_pair(ann, rent(2), house).unwrap();
    assert_eq!(
        take(&mut world),
        [("inserted", flat, 500), ("replaced", flat, 600), ("inserted", house, 900)]
    );
    assert_eq!(prices.each_ref().map(Arc::strong_count), [1, 1, 2], "the others are dropped");

    let observer = |on: On<PairRemoved<Rents>>, rents: Pairs<Rents>, mut log: ResMut<Log>| {
        assert_eq!(on.cause, RemovalCause::Replaced);
        log.0.push(("removed", on.target, *rents.get(on.source, on.target).unwrap().0));
    };
    world.add_observer(observer);
    world.insert_pair(ann, rent(0), flat).unwrap();
    world.insert_pair_batch([(ann, rent(1), house), (ann, rent(2), house)]).unwrap();
    let expected = [
        ("removed", house, 900),
        ("inserted", flat, 500),
        ("removed", flat, 500),
        ("inserted", house, 600),
        ("replaced", house, 900),
    ];
    assert_eq!(take(&mut world), expected);
    assert_eq!(prices.each_ref().map(Arc::strong_count), [1, 1, 2]);
    world.check_pairs().unwrap();
}
