//! Live expressions with lists of what another entity has.

use super::named::{Cargo, Fuel, Likes, Ship, is_updated, live, world};
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[test]
fn lists_are_followed_with_what_they_say() {
    let mut world = world();
    world.register_component_name::<Cargo>("Cargo");
    let port = world.spawn(Name::new("port")).id();
    let inner = world.spawn(Fuel).id();
    let list = world.spawn((Name::new("list"), Cargo(1), Pair(Likes, port))).id();
    let texts = ["Ship, and|list", "Ship, or|list", "Ship, not|list"];
    let mut all = texts.map(|text| live(&mut world, text));
    let ships: Vec<_> = (0..3).map(|_| world.spawn(Ship).id()).collect();
    let mut check = |world: &mut World, counts: [usize; 3], few: bool| {
        for ((text, live), count) in texts.iter().zip(&mut all).zip(counts) {
            assert_eq!(is_updated(world, live, text), few, "{text}\n{}", live.explain());
            assert_eq!(live.len(), count, "{text}");
        }
    };
    check(&mut world, [0, 0, 3], true);
    world.entity_mut(ships[0]).insert(Cargo(7));
    check(&mut world, [0, 1, 2], true);
    world.insert_pair(ships[0], Likes, port).unwrap();
    world.insert_pair(ships[1], Likes, ships[0]).unwrap();
    check(&mut world, [1, 1, 2], true);
    // The list says more: all rows are found anew, and what it says now is followed.
    world.insert_tag(list, inner).unwrap();
    check(&mut world, [0, 1, 2], false);
    world.entity_mut(ships[0]).insert(Fuel);
    check(&mut world, [1, 1, 2], true);
    world.insert_tag(ships[1], inner).unwrap();
    check(&mut world, [1, 2, 1], true);
    // What is listed within it says more.
    world.insert_pair(inner, Likes, inner).unwrap();
    check(&mut world, [0, 2, 1], false);
    // It says nothing any more, and then it is gone.
    world.entity_mut(list).remove::<Cargo>();
    assert!(world.remove_tag(list, inner));
    world.remove_pairs::<Likes>(list);
    check(&mut world, [3, 3, 3], false);
    world.despawn(list);
    for live in &mut all {
        live.update(&mut world).unwrap();
        assert!(live.is_empty() && live.ran_whole());
    }
}
