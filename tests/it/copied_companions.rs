//! Companions (`with`) of pairs, components and tags that instances of a prefab get: those that the prefab has, and no others.

use crate::common::{panic_message, spawn, take_reported_errors, unpaid::CrewOf, world_that_records_errors};
use bevy_ecs::prelude::*;
use bevy_relations::{prefab::Prefab, prelude::*};

#[derive(Relation, Clone, PartialEq, Debug, Default)]
#[relation(exclusive)]
struct LivesIn(u32);

#[derive(Relation)]
#[relation(with = LivesIn)]
struct WorksIn;

fn home(world: &World, entity: Entity) -> Option<(Entity, u32)> {
    let homes = world.pairs::<LivesIn>();
    let target = homes.targets(entity).next()?;
    Some((target, homes.get(entity, target).unwrap().0))
}

#[track_caller]
fn check(world: &World) {
    assert_eq!(take_reported_errors(), [""; 0]);
    world.check_pairs().unwrap();
}

/// Worlds in which the relation or its companion has the lower number.
fn worlds() -> [World; 2] {
    [false, true].map(|companion_first| {
        let mut world = world_that_records_errors();
        if companion_first {
            world.register_relation::<LivesIn>().unwrap();
        }
        world.register_relation::<WorksIn>().unwrap();
        world.adopt_relationship_with::<CrewOf>(CrewOf::traits().with::<LivesIn>()).unwrap();
        world
    })
}

#[test]
fn an_instance_has_the_companions_of_the_prefab() {
    for mut world in worlds() {
        let [oslo, coast] = spawn(&mut world);
        for is_component in [false, true] {
            let prefab = match is_component {
                false => world.spawn((Prefab, pairs![(WorksIn, oslo)])).id(),
                true => world.spawn((Prefab, CrewOf(oslo))).id(),
            };
            let part = match is_component {
                false => world.spawn((ChildOf(prefab), pairs![(WorksIn, oslo)])).id(),
                true => world.spawn((ChildOf(prefab), CrewOf(oslo))).id(),
            };
            for expected in [Some((oslo, 7)), Some((coast, 8)), None] {
                for entity in [prefab, part] {
                    match expected {
                        Some((target, value)) => {
                            world.insert_pair(entity, LivesIn(value), target).unwrap();
                        }
                        None => _ = world.remove_pairs::<LivesIn>(entity),
                    }
                }
                let instance = world.instantiate(prefab).unwrap();
                let copy = world.get::<Children>(instance).unwrap()[0];
                for copy in [instance, copy] {
                    assert_eq!(home(&world, copy), expected, "{is_component}");
                    assert_eq!(world.has_pair::<WorksIn>(copy, oslo), !is_component);
                    assert_eq!(world.has_pair::<CrewOf>(copy, oslo), is_component);
                }
            }
        }
        check(&world);
    }
}

#[test]
fn a_component_whose_companion_would_replace_a_pair_of_the_instance_is_not_copied() {
    #[derive(Component, Clone)]
    struct Health;

    let mut world = world_that_records_errors();
    world.adopt_relationship_with::<CrewOf>(CrewOf::traits().with::<LivesIn>()).unwrap();
    let [hotel, cabin] = spawn(&mut world);
    let prefab = world.spawn((Prefab, Health, CrewOf(hotel))).id();
    let own = world.spawn((Pair(LivesIn(3), cabin), Pair(IsA, prefab))).id();
    assert_eq!(home(&world, own), Some((cabin, 3)));
    assert!(world.entity(own).contains::<Health>() && !world.entity(own).contains::<CrewOf>());
    let other = world.instantiate(prefab).unwrap();
    assert!(home(&world, other) == Some((hotel, 0)) && world.has_pair::<CrewOf>(other, hotel));

    // From the base of a variant.
    let variant = world.spawn((Prefab, Pair(IsA, prefab))).id();
    world.entity_mut(variant).remove::<CrewOf>();
    let own = world.spawn((Pair(LivesIn(3), cabin), Pair(IsA, variant))).id();
    assert!(home(&world, own) == Some((cabin, 3)) && !world.entity(own).contains::<CrewOf>());
    check(&world);
}

/// What was noted for the copy does not outlive an observer that panics: the companion comes with the next pair.
#[test]
fn an_observer_that_panics_while_components_are_copied_keeps_no_companion_away() {
    let mut world = world_that_records_errors();
    world.adopt_relationship_with::<CrewOf>(CrewOf::traits().with::<LivesIn>()).unwrap();
    let [hotel, copy] = spawn(&mut world);
    let prefab = world.spawn((Prefab, CrewOf(hotel))).id();
    let observer = world.add_observer(|_: On<Insert<CrewOf>>| panic!("no crew")).id();
    // Bevy may report a panic in a command as an error.
    let panicked = panic_message(|| world.insert_pair(copy, IsA, prefab)).is_some();
    assert!(panicked || !take_reported_errors().is_empty());
    world.despawn(observer);
    world.entity_mut(copy).remove::<CrewOf>();
    world.remove_pairs::<LivesIn>(copy);
    world.entity_mut(copy).insert(CrewOf(hotel));
    assert_eq!(home(&world, copy), Some((hotel, 0)));
    check(&world);
}

#[test]
fn a_tag_that_the_prefab_has_lost_is_not_brought_back() {
    let mut world = world_that_records_errors();
    let [burning, hot] = spawn(&mut world);
    world.set_traits(burning, RelationTraits::new().with_id(hot)).unwrap();
    let ship = world.spawn(Prefab).id();
    world.insert_tag(ship, burning).unwrap();
    for is_hot in [true, false] {
        let copy = world.instantiate(ship).unwrap();
        assert!(world.has_tag(copy, burning));
        assert_eq!(world.has_tag(copy, hot), is_hot);
        world.remove_tag(ship, hot);
    }
    check(&world);
}

#[test]
fn the_sources_of_an_instance_are_in_the_order_of_the_prefab() {
    #[derive(Relation)]
    #[relation(ordered)]
    struct InQueue;

    let mut world = world_that_records_errors();
    let desk = world.spawn(Prefab).id();
    let visitors = ["a", "b", "c"]
        .map(|name| world.spawn((Name::new(name), ChildOf(desk), pairs![(InQueue, desk)])).id());
    world.order_sources::<InQueue>(desk, &[visitors[2], visitors[0], visitors[1]]).unwrap();
    let first = world.spawn((Name::new("first"), Pair(IsA, desk))).id();
    let names = |world: &World| {
        let queue = world.pairs::<InQueue>().sources(first);
        queue.map(|visitor| world.get::<Name>(visitor).unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&world), ["c", "a", "b"]);
    check(&world);
}
