//! Entities that are spawned with pairs, and that an observer despawns or clears before they are there.

use super::*;

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
