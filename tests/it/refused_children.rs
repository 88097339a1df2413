//! Components that are refused while Bevy writes the list of the target by itself: the source is not in that list afterwards.

use crate::common::{CrewOf, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{observer::Observer, prelude::*};
use bevy_relations::prelude::*;

fn observers(world: &mut World) -> usize {
    world
        .query_filtered::<Entity, (With<Observer>, Allow<bevy_ecs::entity_disabling::Disabled>)>()
        .iter(world)
        .count()
}

#[test]
fn a_child_that_would_close_a_cycle_is_not_in_the_list_that_bevy_writes_and_outlives_the_parent() {
    let mut world = world_that_records_errors();
    world.entity_of::<ChildOf>();
    let [top, other, parent, child, new] = spawn(&mut world);
    world.entity_mut(other).insert(ChildOf(top));
    world.entity_mut(parent).insert(ChildOf(other));
    world.entity_mut(child).insert(ChildOf(parent));
    world.flush();
    let before = observers(&mut world);

    world.entity_mut(parent).replace_children(&[top, child, new, other]);
    assert_eq!(take_reported_errors().len(), 2);
    assert_eq!(**world.get::<Children>(parent).unwrap(), [child, new]);
    assert!(!world.entity(top).contains::<ChildOf>());
    // Here the old children go, and nothing stays.
    let [lone] = spawn(&mut world);
    world.entity_mut(lone).insert(ChildOf(child));
    world.entity_mut(child).replace_children(&[parent, child]);
    assert_eq!(take_reported_errors().len(), 2);
    assert!(!world.entity(child).contains::<Children>());

    world.maintain_pairs();
    assert_eq!(observers(&mut world), before);
    world.check_pairs().unwrap();
    world.despawn(parent);
    assert!(world.get_entity(top).is_ok() && world.get_entity(new).is_err());
    world.check_pairs().unwrap();
}

#[test]
fn a_refused_child_outlives_a_parent_that_an_observer_despawns_while_bevy_writes_its_list() {
    let mut world = world_that_records_errors();
    world.entity_of::<ChildOf>();
    let [top, parent, child] = spawn(&mut world);
    world.entity_mut(parent).insert(ChildOf(top));
    world.entity_mut(child).insert(ChildOf(parent));
    world.add_observer(move |on: On<Insert<Children>>, mut commands: Commands| {
        if on.entity == parent {
            commands.entity(parent).despawn();
        }
    });
    world.entity_mut(parent).replace_children(&[top, child]);
    assert_eq!(take_reported_errors().len(), 1);
    assert_eq!([top, parent, child].map(|entity| world.get_entity(entity).is_ok()), [true, false, false]);
    world.check_pairs().unwrap();
}

#[test]
fn the_lists_of_adopted_relationships_are_right_too() {
    let mut world = world_that_records_errors();
    world.adopt_relationship::<CrewOf>();
    let [ship, boat, cook] = spawn(&mut world);
    world.entity_mut(boat).insert(CrewOf { ship, wage: 1 });
    world.entity_mut(cook).insert(CrewOf { ship: boat, wage: 1 });
    let before = observers(&mut world);
    // Inserted one by one, nothing is left to be done.
    world.entity_mut(ship).insert(CrewOf { ship: boat, wage: 1 });
    assert_eq!(take_reported_errors().len(), 1);
    assert!(!world.entity(ship).contains::<CrewOf>());
    assert!(world.pairs::<CrewOf>().sources(boat).eq([cook]));
    assert_eq!(observers(&mut world), before);
    world.check_pairs().unwrap();
}
