//! Entities that are spawned with pairs, and that an observer despawns or clears before they are there.

use super::*;
use bevy_relations::bundle::Participant;

#[test]
fn a_batch_whose_entities_an_observer_despawns_or_clears_leaves_no_pair_of_the_dead() {
    for act in 0..4 {
        for every in [1, 3] {
            let mut world = world_that_records_errors();
            let [alice] = entities(&mut world);
            let mut count = 0;
            world.add_observer(move |on: On<Add<Ship>>, mut commands: Commands| {
                count += 1;
                if count % every != 0 {
                    return;
                }
                let entity = on.entity;
                commands.queue(move |world: &mut World| match act {
                    0 => _ = world.despawn(entity),
                    1 => _ = world.entity_mut(entity).clear(),
                    2 => {
                        // In the middle of the batch another entity takes the index.
                        let new = replace(world, entity).unwrap();
                        world.insert_pair(new, Likes, alice).unwrap();
                        world.insert_pair(alice, Holds, new).unwrap();
                    }
                    _ => {
                        let new = replace(world, entity).unwrap();
                        world.entity_mut(alice).insert(ChildOf(new));
                    }
                });
            });
            let spawned = world.spawn_batch_with_pair((0..9).map(|_| (Ship, Likes, alice)));
            assert_eq!(spawned.len(), 9);
            no_ghosts(&mut world);
            for &entity in &spawned {
                let alive = world.get_entity(entity).is_ok();
                assert_eq!(world.has_pair::<Likes>(entity, alice), alive, "act {act}");
            }
            let refused = take_reported_errors().len();
            assert_eq!(refused, spawned.iter().filter(|&&entity| world.get_entity(entity).is_err()).count());
            for entity in spawned {
                let now = world.entities().resolve_from_index(entity.index());
                if world.get_entity(now).is_ok() {
                    world.despawn(now);
                }
                no_ghosts(&mut world);
            }
            world.despawn(alice);
            no_ghosts(&mut world);
        }
    }
}

#[test]
fn a_bundle_with_pairs_whose_entity_an_observer_despawns_or_clears_leaves_no_pair_of_the_dead() {
    for act in 0..3 {
        let mut world = world_that_records_errors();
        let [alice] = entities(&mut world);
        world.add_observer(move |on: On<Add<Ship>>, mut commands: Commands| {
            let entity = on.entity;
            commands.queue(move |world: &mut World| match act {
                0 => _ = world.despawn(entity),
                1 => _ = world.entity_mut(entity).clear(),
                _ => _ = replace(world, entity),
            });
        });
        for _ in 0..3 {
            let one = world.spawn((Ship, pairs![(Likes, alice), (Holds, alice)])).id();
            no_ghosts(&mut world);
            let two = world.spawn((Ship, Pair(Likes, alice))).id();
            no_ghosts(&mut world);
            let three = world.spawn((Ship, sources![Likes: Ship, ()])).id();
            no_ghosts(&mut world);
            for entity in [one, two, three] {
                let now = world.entities().resolve_from_index(entity.index());
                if world.get_entity(now).is_ok() {
                    world.despawn(now);
                }
                no_ghosts(&mut world);
            }
        }
        world.despawn(alice);
        no_ghosts(&mut world);
    }
}

#[derive(Component, Clone, Default)]
#[require(Participant)]
struct Dock;

#[test]
fn the_first_pair_of_an_entity_that_came_with_the_marker_moves_it_to_no_other_archetype() {
    let mut world = world_that_records_errors();
    let [alice] = entities(&mut world);
    let alone = world.spawn(Dock).id();
    let archetype = |world: &World, entity: Entity| world.entity(entity).archetype().id();
    let expected = archetype(&world, alone);
    let mut spawned = vec![
        world.spawn((Dock, Pair(Likes, alice))).id(),
        world.spawn((Dock, pairs![(Holds, alice), (Likes, alone)])).id(),
        world.spawn((Dock, Pair(Eats { grams: 1 }, alice))).id(),
        world.spawn((Dock, sources![Likes: Dock])).id(),
    ];
    spawned.extend(world.spawn_batch_with_pair([(Dock, Likes, alice), (Dock, Likes, alone)]));
    let later = world.spawn(Dock).id();
    world.insert_pair(later, Likes, alice).unwrap();
    world.commands().spawn((Dock, Pair(Likes, later)));
    world.flush();
    spawned.extend([alone, later]);
    for &entity in &spawned {
        assert_eq!(archetype(&world, entity), expected);
    }
    no_ghosts(&mut world);
    // It is a participant as any other: each despawn ends its pairs.
    for entity in spawned {
        world.despawn(entity);
        no_ghosts(&mut world);
    }
    assert_eq!(world.pairs::<Likes>().len(), 0);
    assert_eq!(take_reported_errors().len(), 0);
}

#[test]
fn a_marker_without_pairs_is_cloned_removed_and_despawned_like_any_component() {
    let mut world = world_that_records_errors();
    let [alice] = entities(&mut world);
    let alone = world.spawn(Dock).id();
    let clone = world.entity_mut(alone).clone_and_spawn();
    let stripped = world.spawn(Dock).remove::<Participant>().id();
    let cleared = world.spawn(Dock).id();
    world.entity_mut(cleared).clear();
    let inserted = world.spawn(Participant).insert(Participant).id();
    assert!(!world.entity(stripped).contains::<Participant>(), "it has no pairs");
    for entity in [alone, clone, stripped, cleared, inserted] {
        assert!(!world.has_pair::<Likes>(entity, alice));
        world.insert_pair(entity, Likes, alice).unwrap();
        no_ghosts(&mut world);
        let is_all_it_has = world.entity(entity).archetype().component_count() == 1;
        world.entity_mut(entity).remove::<Participant>();
        // Nothing is left of it without the marker, as if it had been cleared.
        assert_eq!(world.has_pair::<Likes>(entity, alice), !is_all_it_has);
        no_ghosts(&mut world);
        world.remove_pairs::<Likes>(entity);
        world.despawn(entity);
        no_ghosts(&mut world);
    }
    // Before relations are used in the world at all.
    let mut world = World::new();
    let first = world.spawn(Dock).id();
    world.spawn((Dock, Pair(Likes, first)));
    world.despawn(first);
    assert_eq!(world.pairs::<Likes>().len(), 0);
    no_ghosts(&mut world);
}
