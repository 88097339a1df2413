//! Bevy writes a relationship in two steps: the component at once, the collection of the target by a command. What other
//! commands do in between leaves no pair and no component that names a dead entity.

use crate::common::{
    spawn, take_errors,
    unpaid::{Crew, CrewOf},
    world_that_records_errors,
};
use bevy_ecs::{prelude::*, relationship::Relationship};
use bevy_relations::prelude::*;

#[derive(Relation)]
struct Likes;

fn world() -> World {
    let mut world = world_that_records_errors();
    world.register_relation::<ChildOf>().unwrap();
    world.adopt_relationship::<CrewOf>();
    world
}

/// No entity is left in the relationship, by component or by pair.
#[track_caller]
fn is_empty<C: Relation + Relationship>(world: &mut World) {
    world.check_pairs().unwrap();
    assert!(world.pairs::<C>().is_empty());
    assert_eq!(world.query::<&C>().iter(world).count(), 0, "a component is left");
}

#[test]
fn a_target_that_is_despawned_before_bevy_has_noted_its_source_leaves_neither_pair_nor_component() {
    for (is_marked, has_crew) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut world = world();
        let [ship, bob, eve] = spawn(&mut world);
        if is_marked {
            world.insert_pair(eve, Likes, ship).unwrap();
        }
        if has_crew {
            world.entity_mut(eve).insert(CrewOf(ship));
        }
        world.commands().entity(ship).despawn();
        world.entity_mut(bob).insert(CrewOf(ship));
        world.flush();
        assert!(world.get_entity(ship).is_err() && world.get_entity(bob).is_ok());
        is_empty::<CrewOf>(&mut world);
    }
}

#[test]
fn a_parent_that_is_despawned_before_bevy_has_noted_its_child_takes_it_along() {
    for is_marked in [false, true] {
        let mut world = world();
        let [root, child, other] = spawn(&mut world);
        world.entity_of::<ChildOf>();
        if is_marked {
            world.insert_pair(other, Likes, root).unwrap();
        }
        world.commands().entity(root).despawn();
        world.entity_mut(child).insert(ChildOf(root));
        world.flush();
        assert!(world.get_entity(child).is_err(), "as if it had been noted");
        is_empty::<ChildOf>(&mut world);
    }
}

#[test]
fn a_target_that_loses_its_last_noted_source_meanwhile_is_noticed_when_it_is_despawned() {
    let mut world = world();
    let [ship, bob, eve] = spawn(&mut world);
    world.entity_mut(eve).insert(CrewOf(ship));
    world.commands().entity(eve).remove::<CrewOf>();
    world.commands().entity(ship).despawn();
    world.entity_mut(bob).insert(CrewOf(ship));
    world.flush();
    assert!(world.get_entity(ship).is_err());
    is_empty::<CrewOf>(&mut world);
}

#[test]
fn a_target_that_is_spawned_after_its_source_was_written_has_the_pair() {
    let mut world = world();
    let [bob] = spawn(&mut world);
    let ship = world.commands().spawn_empty().id();
    world.entity_mut(bob).insert(CrewOf(ship));
    world.flush();
    assert_eq!(world.get::<Crew>(ship).map(|crew| crew.iter().collect::<Vec<_>>()), Some(vec![bob]));
    assert!(world.has_pair::<CrewOf>(bob, ship));
    world.check_pairs().unwrap();
    assert!(take_errors().is_empty());
}

#[test]
fn a_dead_target_written_while_bevys_hooks_are_skipped_is_removed_and_reported() {
    let mut world = world();
    let [root, child, dead] = spawn(&mut world);
    world.entity_mut(root).add_child(child);
    world.despawn(dead);
    world.entity_mut(child).insert_with_relationship_hook_mode(
        ChildOf(dead),
        bevy_ecs::relationship::RelationshipHookMode::Skip,
    );
    assert!(world.get::<ChildOf>(child).is_none());
    assert_eq!(take_errors().len(), 1, "and reported");
    is_empty::<ChildOf>(&mut world);
}
