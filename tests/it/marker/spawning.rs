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

#[test]
fn a_pair_in_a_bundle_that_is_refused_leaves_the_entity_unmarked() {
    let mut world = world_that_records_errors();
    let [dead] = entities(&mut world);
    world.despawn(dead);
    let refused = world.spawn((Rest, Pair(Likes, dead))).id();
    assert_eq!(take_reported_errors().len(), 1);
    assert!(!world.entity(refused).contains::<Participant>());
    no_ghosts(&mut world);
}

#[test]
fn a_marker_that_is_moved_taken_or_left_alone_leaves_no_pair_of_the_dead() {
    for way in 0..6 {
        for (is_required, has_pairs) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut world = world_that_records_errors();
            let target = world.spawn(Dock).id();
            let [ship, other] = [(); 2].map(|()| world.spawn(Rest).id());
            if is_required {
                world.entity_mut(ship).insert(Dock);
            }
            if has_pairs {
                world.insert_pair(ship, MountedOn, target).unwrap();
                world.insert_pair(other, Meets, ship).unwrap();
            }
            match way {
                0 => _ = world.entity_mut(ship).move_components::<Participant>(other),
                1 => _ = world.entity_mut(ship).take::<Participant>(),
                2 => _ = world.entity_mut(ship).retain::<Participant>(),
                3 => _ = world.entity_mut(ship).retain::<Dock>(),
                4 => world.insert_batch([ship, other, target].map(|entity| (entity, Participant))),
                _ => {
                    let clone = world.spawn_empty().id();
                    EntityCloner::build_opt_out(&mut world).move_components(true).clone_entity(ship, clone);
                }
            }
            no_ghosts(&mut world);
            world.insert_pair(ship, Likes, other).unwrap();
            world.insert_pair(other, Likes, target).unwrap();
            for entity in [other, ship, target] {
                world.despawn(entity);
                no_ghosts(&mut world);
            }
            assert_eq!(world.any_pairs().iter().count(), 0, "way {way}");
        }
    }
}

/// Does something to an entity whose marker has come or goes.
fn act_on(entity: Entity, act: usize, target: Entity, commands: &mut Commands) {
    commands.queue(move |world: &mut World| {
        let Ok(mut entity) = world.get_entity_mut(entity) else { return };
        // This crate's own observers have the marker, too.
        if entity.contains::<Observer>() {
            return;
        }
        match act {
            0 => _ = entity.remove::<Participant>(),
            1 => entity.despawn(),
            2 => _ = entity.clear(),
            3 => _ = entity.retain::<Rest>(),
            4 => _ = entity.insert_pair(Likes, target),
            _ => _ = entity.insert_pair(Meets, target),
        }
    });
}

#[test]
fn observers_of_the_marker_may_do_anything_to_its_entity() {
    /// An observer of an event of the marker, which acts a few times.
    macro_rules! observe {
        ($world:expr, $event:ident, $act:expr, $target:expr) => {{
            let (act, target, mut left) = ($act, $target, 20);
            _ = $world.add_observer(move |on: On<$event<Participant>>, mut commands: Commands| {
                if left > 0 {
                    left -= 1;
                    act_on(on.entity, act, target, &mut commands);
                }
            });
        }};
    }
    for (event, act) in (0..5).flat_map(|event| (0..6).map(move |act| (event, act))) {
        let mut world = world_that_records_errors();
        let [target] = entities(&mut world);
        match event {
            0 => observe!(world, Add, act, target),
            1 => observe!(world, Insert, act, target),
            2 => observe!(world, Discard, act, target),
            3 => observe!(world, Remove, act, target),
            _ => observe!(world, Despawn, act, target),
        }
        let mut all = vec![
            world.spawn((Dock, Pair(Likes, target))).id(),
            world.spawn((Dock, Rest, pairs![(Likes, target), (Meets, target)])).id(),
            world.spawn(Rest).id(),
        ];
        _ = world.insert_pair(all[2], Likes, target);
        no_ghosts(&mut world);
        all.extend(world.spawn_batch_with_pair([(Dock, Likes, target), (Dock, Likes, target)]));
        all.push(target);
        for &entity in &all {
            _ = world.get_entity_mut(entity).map(|mut entity| _ = entity.remove::<(Participant, Dock)>());
            no_ghosts(&mut world);
        }
        for &entity in &all {
            _ = world.get_entity_mut(entity).map(|mut entity| _ = entity.clear());
            no_ghosts(&mut world);
        }
        for &entity in &all {
            _ = world.try_despawn(entity);
            no_ghosts(&mut world);
        }
        take_reported_errors();
    }
}
