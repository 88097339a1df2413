//! Very many of everything. Nothing here looks at a clock: where a step took time in proportion to the hub or to
//! the chain, a test would do some 10^12 steps and not end.

use crate::common::fewer;
use bevy_ecs::{entity::EntityCloner, lifecycle::Despawn, prelude::*, relationship::RelationshipTarget};
use bevy_relations::{prelude::*, relation::Wildcard};
use std::thread;

fn million() -> usize {
    fewer(1_000_000)
}

/// A million, too, but not in a dev build, where that would take minutes: the hubs there are smaller. What grows
/// with the hub would still take 10^10 steps and more.
fn many() -> usize {
    fewer(if cfg!(debug_assertions) { 100_000 } else { 1_000_000 })
}

const KIB: usize = 1024;

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct MountedOn;

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(on_target_despawn = Despawn)]
struct BoundTo;

#[derive(Relation)]
#[relation(ordered)]
struct ListedIn;

#[derive(Relation, Clone, Copy, Debug, PartialEq)]
struct Weighs(u32);

#[derive(Component)]
struct Counted;

#[derive(Resource, Default)]
struct Despawned(usize);

/// Runs on a thread with little stack.
fn on_stack(kib: usize, run: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(kib * KIB).spawn(run).unwrap().join().unwrap();
}

fn counting_world() -> World {
    let mut world = World::new();
    world.init_resource::<Despawned>();
    world.add_observer(|_: On<Despawn<Counted>>, mut despawned: ResMut<Despawned>| despawned.0 += 1);
    world
}

fn spawn(world: &mut World, count: usize) -> Vec<Entity> {
    world.spawn_batch((0..count).map(|_| ())).collect()
}

/// The numbers below `count` in random order.
fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for at in (1..count).rev() {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        order.swap(at, (seed % (at as u64 + 1)) as usize);
    }
    order
}

fn chain(world: &mut World, length: usize) -> Vec<Entity> {
    let entities = spawn(world, length);
    let pairs = entities.windows(2).map(|pair| (pair[1], MountedOn, pair[0]));
    world.insert_pair_batch(pairs).unwrap();
    entities
}

#[test]
fn a_chain_of_a_million_is_built_and_despawned_on_a_small_stack() {
    on_stack(256, || {
        let mut world = World::new();
        let entities = chain(&mut world, million());
        let [root, last] = [entities[0], entities[million() - 1]];
        assert_eq!(world.pairs::<MountedOn>().depth(last), Some(million() as u32 - 1));
        world.insert_pair(root, MountedOn, last).unwrap_err();
        let before = world.entities().count_spawned();
        assert!(world.despawn(root));
        assert_eq!(before - world.entities().count_spawned(), million() as u32);
        assert!(world.pairs::<MountedOn>().is_empty());
        world.check_pairs().unwrap();
    });
}

#[test]
fn a_long_chain_is_walked_checked_and_despawned_with_dependents_on_a_small_stack() {
    on_stack(256, || {
        let mut world = World::new();
        let entities = chain(&mut world, many());
        let [root, last] = [entities[0], entities[many() - 1]];
        assert_eq!(world.pairs::<MountedOn>().root(last), root);
        assert_eq!(world.pairs::<MountedOn>().descendants(root).count(), many() - 1);
        world.check_pairs().unwrap();
        let before = world.entities().count_spawned();
        world.despawn_with_dependents(root).unwrap();
        assert_eq!(before - world.entities().count_spawned(), many() as u32);
        world.check_pairs().unwrap();
    });
}

#[test]
fn a_long_chain_of_children_is_despawned_by_bevy_on_a_small_stack() {
    // Bevy alone overflows a stack of 2 MiB at some 1,400 levels.
    on_stack(256, || {
        let mut world = World::new();
        world.adopt_relationship::<ChildOf>();
        let entities = spawn(&mut world, many());
        for pair in entities.windows(2) {
            world.entity_mut(pair[1]).insert(ChildOf(pair[0]));
        }
        let before = world.entities().count_spawned();
        assert!(world.despawn(entities[0]));
        assert_eq!(before - world.entities().count_spawned(), many() as u32);
        world.check_pairs().unwrap();
    });
}

#[test]
fn deep_trees_of_mixed_relations_are_despawned_in_every_way_on_a_small_stack() {
    on_stack(256, || {
        let mut world = counting_world();
        world.adopt_relationship::<ChildOf>();
        let length = 10_000;
        for way in 0..7 {
            let entities: Vec<Entity> = world.spawn_batch((0..length).map(|_| Counted)).collect();
            for (number, pair) in entities.windows(2).enumerate() {
                match number % 3 {
                    0 => world.insert_pair(pair[1], MountedOn, pair[0]).unwrap(),
                    1 => world.insert_pair(pair[1], BoundTo, pair[0]).unwrap(),
                    _ => _ = world.entity_mut(pair[1]).insert(ChildOf(pair[0])),
                }
            }
            let root = entities[0];
            match way {
                0 => assert!(world.despawn(root)),
                1 => world.despawn_with_dependents(root).unwrap(),
                2 => world.commands().entity(root).despawn(),
                3 => world.commands().entity(root).despawn_with_dependents(),
                4 => {
                    let above = world.spawn(Counted).id();
                    world.entity_mut(root).insert(ChildOf(above));
                    world.entity_mut(above).despawn_children();
                    world.resource_mut::<Despawned>().0 += 1;
                }
                5 => {
                    let relation = world.entity_of::<MountedOn>();
                    let above = world.spawn(Pair(MountedOn, root)).id();
                    world.despawn(above);
                    assert_eq!(world.despawn_sources(PairId::new(relation, root)), Ok(1));
                    assert!(world.despawn(root));
                }
                _ => world.despawn_all::<With<Counted>>(),
            }
            world.flush();
            let count = std::mem::take(&mut world.resource_mut::<Despawned>().0);
            let expected = if way == 4 { length + 1 } else { length };
            assert_eq!(count, expected, "way {way}: each once");
            assert!(entities.iter().all(|&entity| world.get_entity(entity).is_err()));
            world.check_pairs().unwrap();
            world.despawn_all::<With<Counted>>();
            world.resource_mut::<Despawned>().0 = 0;
        }
    });
}

#[test]
fn a_chain_that_is_cut_and_moved_keeps_its_depths() {
    on_stack(256, || {
        let mut world = World::new();
        let entities = chain(&mut world, 100_000);
        let top = world.spawn_empty().id();
        world.insert_pair(entities[0], MountedOn, top).unwrap();
        world.maintain_pairs();
        assert_eq!(world.pairs::<MountedOn>().depth(entities[99_999]), Some(100_000));
        world.remove_pair::<MountedOn>(entities[50_000], entities[49_999]);
        world.maintain_pairs();
        assert_eq!(world.pairs::<MountedOn>().depth(entities[99_999]), Some(49_999));
        world.check_pairs().unwrap();
        assert_eq!(world.pairs::<MountedOn>().descendants(entities[50_000]).count(), 49_999);
        world.despawn(top);
        assert_eq!(world.pairs::<MountedOn>().len(), 49_999);
    });
}

#[test]
fn very_many_sources_leave_a_hub_one_by_one_in_random_order() {
    let mut world = World::new();
    let hub = world.spawn_empty().id();
    let sources = spawn(&mut world, many());
    world.insert_pair_batch(sources.iter().map(|&source| (source, Likes, hub))).unwrap();
    assert_eq!(world.pairs::<Likes>().source_count(hub), many());
    let order = shuffled(many());
    let (first, second) = order.split_at(many() / 2);
    for &number in first {
        assert!(world.remove_pair::<Likes>(sources[number], hub));
    }
    assert_eq!(world.pairs::<Likes>().source_count(hub), many() / 2);
    world.check_pairs().unwrap();
    for &number in second {
        assert!(world.despawn(sources[number]));
    }
    assert!(world.pairs::<Likes>().is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn a_hub_leaves_its_very_many_targets_one_by_one_in_random_order() {
    let mut world = World::new();
    let hub = world.spawn_empty().id();
    let targets = spawn(&mut world, many());
    world.insert_pair_batch(targets.iter().map(|&target| (hub, Likes, target))).unwrap();
    let order = shuffled(many());
    let (first, second) = order.split_at(many() / 2);
    for &number in first {
        assert!(world.remove_pair::<Likes>(hub, targets[number]));
    }
    let mut left = second.to_vec();
    left.sort_unstable();
    let expected = left.iter().map(|&number| targets[number]);
    assert!(world.pairs::<Likes>().targets(hub).eq(expected), "in insertion order");
    for &number in second {
        assert!(world.despawn(targets[number]));
    }
    assert!(world.pairs::<Likes>().is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn a_hub_of_very_many_is_despawned_with_its_pairs_or_with_its_sources() {
    let mut world = World::new();
    let [hub, anchor] = [(); 2].map(|()| world.spawn_empty().id());
    let sources = spawn(&mut world, many());
    world.insert_pair_batch(sources.iter().map(|&source| (source, Likes, hub))).unwrap();
    world.insert_pair_batch(sources.iter().map(|&source| (source, BoundTo, anchor))).unwrap();
    assert!(world.despawn(hub));
    assert!(world.pairs::<Likes>().is_empty());
    assert_eq!(world.pairs::<BoundTo>().source_count(anchor), many());
    let before = world.entities().count_spawned();
    assert!(world.despawn(anchor));
    assert_eq!(before - world.entities().count_spawned(), many() as u32 + 1);
    world.check_pairs().unwrap();
}

#[test]
fn a_hub_of_fifty_thousand_works_the_slow_way_too() {
    // With values and an observer every pair goes by the rules.
    let count = 50_000;
    let mut world = counting_world();
    world.add_observer(
        |on: On<PairRemoved<Weighs>>, weighs: Pairs<Weighs>, mut despawned: ResMut<Despawned>| {
            assert!(weighs.get(on.source, on.target).is_some());
            despawned.0 += 1;
        },
    );
    let hub = world.spawn_empty().id();
    let sources = spawn(&mut world, count);
    world
        .insert_pair_batch(sources.iter().zip(0..).map(|(&source, weight)| (source, Weighs(weight), hub)))
        .unwrap();
    for &number in &shuffled(count)[..count / 2] {
        assert_eq!(world.pair_value::<Weighs>(sources[number], hub), Some(&Weighs(number as u32)));
        assert!(world.remove_pair::<Weighs>(sources[number], hub));
    }
    assert!(world.despawn(hub));
    assert_eq!(world.resource::<Despawned>().0, count);
    assert!(world.pairs::<Weighs>().is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn an_ordered_hub_of_very_many_keeps_its_order_through_random_removals() {
    let mut world = World::new();
    let hub = world.spawn_empty().id();
    let sources = spawn(&mut world, many());
    world.insert_pair_batch(sources.iter().map(|&source| (source, ListedIn, hub))).unwrap();
    let order = shuffled(many());
    let (first, second) = order.split_at(many() * 9 / 10);
    for &number in first {
        assert!(world.remove_pair::<ListedIn>(sources[number], hub));
    }
    let mut left = second.to_vec();
    left.sort_unstable();
    assert!(world.pairs::<ListedIn>().sources(hub).eq(left.iter().map(|&number| sources[number])));
    world.insert_pair(sources[first[0]], ListedIn, hub).unwrap();
    assert_eq!(world.pairs::<ListedIn>().sources(hub).last(), Some(sources[first[0]]));
    for &number in second {
        assert!(world.despawn(sources[number]));
    }
    assert_eq!(world.pairs::<ListedIn>().source_count(hub), 1);
    world.check_pairs().unwrap();
}

#[test]
fn a_parent_of_forty_thousand_children_goes_in_reverse_order_of_its_collection() {
    // `Children` is searched from its end: oldest first would take 8 * 10^8 steps, newest first 4 * 10^4.
    #[derive(Resource, Default)]
    struct Order(Vec<Entity>);
    let mut world = counting_world();
    world.init_resource::<Order>();
    world.adopt_relationship::<ChildOf>();
    world.add_observer(|on: On<Despawn<Counted>>, mut order: ResMut<Order>| order.0.push(on.entity));
    for ours in [false, true] {
        let parent = world.spawn_empty().id();
        let mut children: Vec<Entity> =
            world.spawn_batch((0..40_000).map(|_| (Counted, ChildOf(parent)))).collect();
        if ours {
            world.despawn_with_dependents(parent).unwrap();
        } else {
            assert!(world.despawn(parent));
        }
        children.reverse();
        assert_eq!(std::mem::take(&mut world.resource_mut::<Order>().0), children, "ours: {ours}");
    }
}

#[test]
fn a_crowd_is_cloned_with_its_pairs_to_an_entity_outside() {
    let count = fewer(50_000);
    let mut world = World::new();
    let [parent, clone, outside] = [(); 3].map(|()| world.spawn_empty().id());
    for child in spawn(&mut world, count) {
        world.entity_mut(child).insert(ChildOf(parent)).insert_pair(Likes, outside).unwrap();
    }
    EntityCloner::build_opt_out(&mut world).linked_cloning(true).clone_entity(parent, clone);
    assert_eq!(world.get::<Children>(clone).map(RelationshipTarget::len), Some(count));
    assert_eq!(world.pairs::<Likes>().source_count(outside), 2 * count);
    world.check_pairs().unwrap();
}

#[test]
fn many_narrowed_observers_do_not_slow_down_despawning_others() {
    // Removing an entity must not look at every narrowed observer: that would be 2 * 10^9 steps.
    let mut world = World::new();
    let targets = spawn(&mut world, 20_000);
    let hub = world.spawn_empty().id();
    for &target in &targets {
        world.observe_pairs(PairId::with_target(target), |_: On<PairInserted<Wildcard>>| {});
    }
    let sources = spawn(&mut world, 100_000);
    world.insert_pair_batch(sources.iter().map(|&source| (source, Likes, hub))).unwrap();
    sources.into_iter().for_each(|source| assert!(world.despawn(source)));
    assert!(world.pairs::<Likes>().is_empty());
}

#[test]
fn many_narrowed_observers_whose_targets_are_gone_do_not_slow_down_new_ones() {
    let mut world = World::new();
    let targets = spawn(&mut world, many());
    for &target in &targets {
        world.observe_pairs(PairId::with_target(target), |_: On<PairInserted<Wildcard>>| {});
        world.insert_pair(target, Likes, target).unwrap();
    }
    targets.into_iter().for_each(|target| assert!(world.despawn(target)));
    for _ in 0..many() {
        let target = world.spawn_empty().id();
        world.observe_pairs(PairId::with_target(target), |_: On<PairInserted<Wildcard>>| {});
        world.despawn(target);
    }
    world.check_pairs().unwrap();
}

#[test]
fn the_first_of_a_long_queue_is_read_and_removed_again_and_again() {
    let mut world = World::new();
    let queue = world.spawn_empty().id();
    let members = spawn(&mut world, many());
    world.insert_pair_batch(members.iter().map(|&member| (member, ListedIn, queue))).unwrap();
    world.insert_pair_batch(members.iter().map(|&member| (queue, Likes, member))).unwrap();
    for &member in &members {
        assert_eq!(world.pairs::<ListedIn>().sources(queue).next(), Some(member));
        assert_eq!(world.pairs::<Likes>().targets(queue).next(), Some(member));
        assert!(world.remove_pair::<ListedIn>(member, queue) && world.remove_pair::<Likes>(queue, member));
    }
    assert!(world.pairs::<Likes>().is_empty() && world.pairs::<ListedIn>().is_empty());
    world.check_pairs().unwrap();
}
