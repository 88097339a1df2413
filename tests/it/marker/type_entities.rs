//! The entities of relation types and of other types are cleared and despawned by observers of their marker.

use super::*;

#[derive(Resource, Default)]
struct ClearsLeft(u32);

/// Clears so many of the next entities that get the marker.
fn clear_next(world: &mut World, count: u32) {
    let marker = marker(world);
    world.insert_resource(ClearsLeft(count));
    let clear = |on: On<Add<()>>, mut left: ResMut<ClearsLeft>, mut commands: Commands| {
        if let Some(fewer) = left.0.checked_sub(1) {
            left.0 = fewer;
            commands.entity(on.entity).clear();
        }
    };
    world.spawn(Observer::new(clear).with_component(marker));
}

#[test]
fn the_entity_of_a_relation_type_that_is_cleared_as_it_comes_is_one_whose_despawn_counts() {
    for clears in 1..4 {
        let mut world = world_that_records_errors();
        clear_next(&mut world, 0);
        let [bob, alice] = entities(&mut world);
        world.insert_pair(bob, Holds, alice).unwrap();
        for _ in 0..3 {
            let relation = world.entity_of::<Holds>();
            world.resource_mut::<ClearsLeft>().0 = clears;
            // It gets another, which is cleared.
            world.despawn(relation);
            world.check_pairs().unwrap();
            world.resource_mut::<ClearsLeft>().0 = 0;
            world.insert_pair(bob, Holds, alice).unwrap();
            assert!(world.has_pair::<Holds>(bob, alice));
            no_ghosts(&mut world);
        }
        let relation = world.entity_of::<Holds>();
        world.despawn(relation);
        assert!(
            !world.has_pair::<Holds>(bob, alice),
            "the pairs go with the relation, cleared {clears} times"
        );
        no_ghosts(&mut world);
        take_reported_errors();
    }
}

#[test]
fn the_entity_of_a_type_that_is_cleared_as_it_comes_is_one_whose_despawn_counts() {
    for clears in 1..4 {
        let mut world = world_that_records_errors();
        clear_next(&mut world, clears);
        world.register_component::<Ship>();
        let ship = world.entity_of::<Ship>();
        world.check_pairs().unwrap();
        world.resource_mut::<ClearsLeft>().0 = 0;
        let ship = if world.get_entity(ship).is_ok() { ship } else { world.entity_of::<Ship>() };
        let [bob] = entities(&mut world);
        world.insert_pair(bob, Likes, ship).unwrap();
        world.despawn(ship);
        assert_eq!(world.pairs_of(bob), [], "cleared {clears} times");
        assert_ne!(world.entity_of::<Ship>(), ship);
        no_ghosts(&mut world);
        take_reported_errors();
    }
}
