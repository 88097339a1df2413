//! Observers that act while an instance is being made.

use crate::{
    common::{all_entities, panic_message, take_reported_errors},
    prefabs::{Armor, Health, Likes, children, set_rule, world},
};
use bevy_ecs::prelude::*;
use bevy_relations::{
    error::InstantiateError,
    prefab::{CommandsPrefabExt, Prefab, SlotOf, WorldPrefabExt},
    prelude::*,
    relation::{OnInstantiate, Wildcard},
};

/// Of a part, so that observers can wait for it.
#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Number(u32);

/// What the observers act on.
#[derive(Resource, Clone, Copy)]
struct Known {
    prefab: Entity,
    middle: Entity,
    last: Entity,
}

/// A prefab with four parts, one of them below another, that have numbers.
fn numbered() -> (World, Known) {
    let mut world = world();
    let prefab = world.spawn((Prefab, Name::new("Prefab"), Health(1), Armor(1), Number(0))).id();
    world.spawn((Number(1), ChildOf(prefab), Pair(SlotOf, prefab)));
    let middle = world.spawn((Number(2), ChildOf(prefab))).id();
    world.spawn((Number(3), ChildOf(middle)));
    let last = world.spawn((Number(4), Name::new("Last"), ChildOf(prefab), Pair(Likes, prefab))).id();
    let known = Known { prefab, middle, last };
    world.insert_resource(known);
    (world, known)
}

fn numbers(world: &World, instance: Entity) -> Vec<u32> {
    let all = world.pairs::<ChildOf>().descendants(instance);
    all.filter_map(|(entity, _)| world.get::<Number>(entity).map(|number| number.0)).collect()
}

/// Runs `act` when the copy with a number gets it.
fn when(
    world: &mut World,
    at: u32,
    mut act: impl FnMut(&mut Commands, Entity, Known) + Send + Sync + 'static,
) {
    world.add_observer(
        move |on: On<Add<Number>>, numbers: Query<&Number>, known: Res<Known>, mut commands: Commands| {
            // Prefabs are not seen by the query.
            if numbers.get(on.entity) == Ok(&Number(at)) {
                act(&mut commands, on.entity, *known);
            }
        },
    );
}

#[test]
fn an_instance_that_is_despawned_meanwhile_is_gone_with_all_parts() {
    for at in 0..5 {
        let (mut world, known) = numbered();
        when(&mut world, at, |commands, copy, _| {
            commands.queue(move |world: &mut World| {
                let root = world.pairs::<ChildOf>().root(copy);
                world.despawn(root);
            });
        });
        let instance = world.instantiate(known.prefab).unwrap();
        assert!(world.get_entity(instance).is_err());
        let before = all_entities(&world).len();
        world.spawn(Pair(IsA, known.prefab));
        world.instantiate_batch(known.prefab, 3).unwrap();
        assert_eq!(all_entities(&world).len(), before, "at {at}");
        assert_eq!(world.query::<&Number>().iter(&world).count(), 0);
        assert_eq!(take_reported_errors(), Vec::<String>::new());
        world.check_pairs().unwrap();
    }
}

#[test]
fn parts_of_the_instance_that_are_despawned_meanwhile_are_left_out() {
    let (mut world, known) = numbered();
    when(&mut world, 2, |commands, copy, _| commands.entity(copy).despawn());
    let instance = world.instantiate(known.prefab).unwrap();
    assert_eq!(numbers(&world, instance), [1, 4]);
    assert_eq!(take_reported_errors(), Vec::<String>::new());
    world.check_pairs().unwrap();
}

#[test]
fn a_part_of_the_prefab_that_is_despawned_meanwhile_is_an_error() {
    let (mut world, known) = numbered();
    when(&mut world, 1, |commands, _, known| commands.entity(known.last).try_despawn());
    let error = world.instantiate(known.prefab).unwrap_err();
    let InstantiateError::Incomplete { instance, part, .. } = &error else { panic!("{error}") };
    assert!(*part == known.last && error.to_string().contains("Prefab"), "{error}");
    assert_eq!(numbers(&world, instance.entity()), [1, 2, 3]);
    // It is no part any more.
    let instance = world.instantiate(known.prefab).unwrap();
    assert_eq!(numbers(&world, instance), [1, 2, 3]);
    assert_eq!(take_reported_errors(), Vec::<String>::new());
    world.check_pairs().unwrap();
}

#[test]
fn the_prefab_may_be_despawned_meanwhile() {
    for at in 0..5 {
        let (mut world, known) = numbered();
        when(&mut world, at, |commands, _, known| commands.entity(known.prefab).try_despawn());
        let result = world.instantiate(known.prefab);
        // Behind the last part there is nothing to miss.
        assert_eq!(result.is_err(), at < 4, "at {at}: {result:?}");
        let (mut world, known) = numbered();
        when(&mut world, at, |commands, _, known| commands.entity(known.prefab).try_despawn());
        let instance = world.spawn((Armor(2), Pair(IsA, known.prefab))).id();
        assert_eq!(take_reported_errors().len(), usize::from(at < 4));
        assert!(world.pairs_of(instance).is_empty() && world.get::<Health>(instance) == Some(&Health(1)));
        world.check_pairs().unwrap();
    }
}

#[test]
fn the_pair_may_be_removed_before_anything_is_copied() {
    let (mut world, known) = numbered();
    world.add_observer(|on: On<PairInserted<IsA>>, mut commands: Commands| {
        let (source, target) = (on.source, on.target);
        commands.queue(move |world: &mut World| {
            world.remove_pair::<IsA>(source, target);
        });
    });
    let instance = world.instantiate(known.prefab).unwrap();
    assert!(children(&world, instance).is_empty() && world.get::<Health>(instance).is_none());
    assert_eq!(take_reported_errors(), Vec::<String>::new());
    world.check_pairs().unwrap();
}

#[test]
fn observers_may_change_what_they_see() {
    let (mut world, known) = numbered();
    let health = world.spawn(Health(3)).id();
    when(&mut world, 1, move |commands, copy, known| {
        commands.entity(copy).insert(Health(9)).insert_pair(Likes, known.middle).insert_pair(Likes, health);
        commands.entity(known.middle).insert_pair(Likes, health);
        // A new part comes too late for this instance.
        commands.spawn((Number(5), ChildOf(known.prefab)));
    });
    let instance = world.instantiate(known.prefab).unwrap();
    assert_eq!(numbers(&world, instance), [1, 2, 3, 4]);
    let [first, middle, ..] = children(&world, instance)[..] else { panic!("parts are missing") };
    assert_eq!(world.get::<Health>(first), Some(&Health(9)));
    assert!(world.has_pair::<Likes>(first, known.middle) && world.has_pair::<Likes>(middle, health));
    let other = world.instantiate(known.prefab).unwrap();
    assert_eq!(numbers(&world, other), [1, 2, 3, 4, 5]);
    assert_eq!(take_reported_errors(), Vec::<String>::new());
    world.check_pairs().unwrap();
}

#[test]
fn observers_may_instantiate_again() {
    let (mut world, known) = numbered();
    let small = world.spawn((Prefab, Health(7))).id();
    when(&mut world, 2, move |commands, copy, _| {
        commands.instantiate(small).insert(ChildOf(copy));
        commands.entity(copy).insert_pair(IsA, small);
    });
    let instance = world.instantiate(known.prefab).unwrap();
    assert_eq!(numbers(&world, instance), [1, 2, 3, 4]);
    let middle = children(&world, instance)[1];
    assert_eq!(world.get::<Health>(middle), Some(&Health(7)));
    assert!(children(&world, middle).into_iter().any(|child| world.has_pair::<IsA>(child, small)));
    // The same prefab again, for as long as the observer asks for it.
    let (mut world, known) = numbered();
    let mut left = 5;
    when(&mut world, 4, move |commands, _, known| {
        if left > 0 {
            left -= 1;
            commands.instantiate(known.prefab);
        }
    });
    world.instantiate(known.prefab).unwrap();
    assert_eq!(world.pairs::<IsA>().source_count(known.prefab), 6);
    assert_eq!(take_reported_errors(), Vec::<String>::new());
    world.check_pairs().unwrap();
}

#[test]
fn a_batch_follows_what_changes_between_instances() {
    let (mut world, known) = numbered();
    let mut first = true;
    when(&mut world, 4, move |commands, _, known| {
        if core::mem::take(&mut first) {
            commands.spawn((Number(5), ChildOf(known.middle)));
            commands.entity(known.prefab).insert(Armor(2)).remove::<Health>();
        }
    });
    let all = world.instantiate_batch(known.prefab, 3).unwrap();
    let found: Vec<_> =
        all.iter().map(|&ship| (numbers(&world, ship), world.get::<Health>(ship).is_some())).collect();
    assert_eq!(found[0], (vec![1, 2, 3, 4], true));
    assert_eq!(found[1..], [(vec![1, 2, 3, 5, 4], false), (vec![1, 2, 3, 5, 4], false)]);
    // One that ends it.
    when(&mut world, 1, |commands, _, known| commands.entity(known.prefab).try_despawn());
    assert!(world.instantiate_batch(known.prefab, 3).is_err());
    world.check_pairs().unwrap();
}

#[test]
fn a_batch_follows_another_order_of_the_parts() {
    let (mut world, known) = numbered();
    let mut first = true;
    when(&mut world, 4, move |commands, _, known| {
        if core::mem::take(&mut first) {
            commands.queue(move |world: &mut World| {
                let parts: Vec<Entity> = children(world, known.prefab).into_iter().rev().collect();
                world.entity_mut(known.prefab).replace_children(&parts);
            });
        }
    });
    let all = world.instantiate_batch(known.prefab, 3).unwrap();
    let found: Vec<_> = all.iter().map(|&ship| numbers(&world, ship)).collect();
    assert_eq!(found, [[1, 2, 3, 4], [4, 2, 3, 1], [4, 2, 3, 1]]);
    world.check_pairs().unwrap();
}

#[test]
fn a_batch_follows_another_rule_of_a_component() {
    let (mut world, known) = numbered();
    let mut first = true;
    when(&mut world, 4, move |commands, _, _| {
        if core::mem::take(&mut first) {
            commands.queue(|world: &mut World| set_rule::<Health>(world, OnInstantiate::DontInherit));
        }
    });
    let all = world.instantiate_batch(known.prefab, 3).unwrap();
    let found: Vec<_> = all.iter().map(|&ship| world.get::<Health>(ship).is_some()).collect();
    assert_eq!(found, [true, false, false]);
    world.check_pairs().unwrap();
}

/// Observers of pairs. If one of components panics, Bevy 0.20 itself is left without what it needs to insert the same components
/// into another clone.
#[test]
fn a_panic_leaves_a_world_that_goes_on() {
    for at in 0..3 {
        let (mut world, known) = numbered();
        let mut left: usize = at + 1;
        world.add_observer(move |_: On<PairInserted<Wildcard>>| {
            left = left.saturating_sub(1);
            if left == 0 {
                left = usize::MAX;
                panic!("observer");
            }
        });
        assert!(panic_message(|| world.instantiate(known.prefab)).is_some());
        world.flush();
        world.maintain_pairs();
        world.check_pairs().unwrap();
        let instance = world.instantiate(known.prefab).unwrap();
        assert_eq!(numbers(&world, instance), [1, 2, 3, 4]);
        let spawned = world.spawn(Pair(IsA, known.prefab)).id();
        assert_eq!(numbers(&world, spawned), [1, 2, 3, 4]);
        world.check_pairs().unwrap();
    }
}

#[test]
fn slots_and_pairs_of_parts_are_events_like_others() {
    #[derive(Resource, Default)]
    struct Heard(Vec<(Entity, Entity, Entity)>);
    let (mut world, known) = numbered();
    world.init_resource::<Heard>();
    world.add_observer(|on: On<PairInserted<Wildcard>>, mut heard: ResMut<Heard>| {
        heard.0.push((on.source, on.relation, on.target));
    });
    let instance = world.instantiate(known.prefab).unwrap();
    let heard = core::mem::take(&mut world.resource_mut::<Heard>().0);
    let [is_a, likes] = [world.entity_of::<IsA>(), world.entity_of::<Likes>()];
    let slot = children(&world, known.prefab)[0];
    let [first, .., last] = children(&world, instance)[..] else { panic!("parts are missing") };
    for pair in [(instance, is_a, known.prefab), (instance, slot, first), (last, likes, instance)] {
        assert_eq!(heard.iter().filter(|heard| **heard == pair).count(), 1, "{heard:?}");
    }
}

/// A part that takes part in no pair yet when those of the parts are copied, and does before it is its turn.
#[test]
fn a_part_that_gets_its_first_pair_while_pairs_are_copied_has_it_copied() {
    let (mut world, known) = numbered();
    let (likes, slot_of) = (world.entity_of::<Likes>(), world.entity_of::<SlotOf>());
    let bare = world.spawn((Number(5), ChildOf(known.prefab))).id();
    let friend = world.spawn_empty().id();
    let prefab = known.prefab;
    world.insert_pair(prefab, Likes, friend).unwrap();
    world.add_observer(move |on: On<PairInserted<Likes>>, mut commands: Commands| {
        if on.target == friend && on.source != bare {
            commands.entity(bare).insert_pair_by_id((likes, friend)).insert_pair_by_id((slot_of, prefab));
        }
    });
    let instance = world.instantiate(prefab).unwrap();
    let copy = *children(&world, instance).last().unwrap();
    assert!(world.has_pair::<Likes>(instance, friend) && world.has_pair::<Likes>(copy, friend));
    assert_eq!(world.pairs_by_id(bare).target(instance), Some(copy));
    assert_eq!(take_reported_errors(), Vec::<String>::new());
    world.check_pairs().unwrap();
}

/// An empty list of children is a component as well: a first child does not change the archetype of its part.
#[test]
fn a_batch_follows_the_first_child_of_a_part_with_an_empty_list() {
    let (mut world, known) = numbered();
    world.entity_mut(known.last).insert(Children::default());
    let mut first = true;
    when(&mut world, 4, move |commands, _, known| {
        if core::mem::take(&mut first) {
            commands.spawn((Number(5), ChildOf(known.last)));
        }
    });
    let all = world.instantiate_batch(known.prefab, 3).unwrap();
    let found: Vec<_> = all.iter().map(|&ship| numbers(&world, ship)).collect();
    assert_eq!(found, [vec![1, 2, 3, 4], vec![1, 2, 3, 4, 5], vec![1, 2, 3, 4, 5]]);
    world.check_pairs().unwrap();
}

/// What the pair with the prefab meets that takes no plan: its relation has lost its entity, or is mirrored, or observers
/// of the pair take the ends away.
#[test]
fn the_pair_with_the_prefab_goes_in_whatever_becomes_of_its_relation_and_ends() {
    let (mut world, known) = numbered();
    world.instantiate(known.prefab).unwrap();
    let is_a = world.entity_of::<IsA>();
    world.despawn(is_a);
    for instance in world.instantiate_batch(known.prefab, 2).unwrap() {
        assert!(world.has_pair::<IsA>(instance, known.prefab));
        assert_eq!(numbers(&world, instance), [1, 2, 3, 4]);
    }
    world.check_pairs().unwrap();

    for takes_prefab in [false, true] {
        let (mut world, known) = numbered();
        world.instantiate(known.prefab).unwrap();
        let before = all_entities(&world).len();
        world.add_observer(move |on: On<PairInserted<IsA>>, mut commands: Commands| {
            commands.entity(if takes_prefab { on.target } else { on.source }).despawn();
        });
        let results = [(); 2].map(|()| world.instantiate(known.prefab));
        match takes_prefab {
            // Nothing is copied: the pair is gone with its target.
            true => {
                assert!(results[0].is_ok(), "{results:?}");
                assert!(matches!(results[1], Err(InstantiateError::Dead { .. })), "{results:?}");
            }
            false => {
                assert!(
                    results.iter().all(|made| !world.entities().contains_spawned(*made.as_ref().unwrap()))
                );
                // The observer.
                assert_eq!(all_entities(&world).len(), before + 1);
            }
        }
        assert_eq!(take_reported_errors(), Vec::<String>::new());
        world.check_pairs().unwrap();
    }
}

#[test]
fn the_pair_with_the_prefab_is_mirrored() {
    use bevy_relations::mirror::{MirroredPairs, WorldMirrorExt};
    let (mut world, known) = numbered();
    world.mirror_pairs::<IsA>().unwrap();
    for instance in world.instantiate_batch(known.prefab, 2).unwrap() {
        let mirrored = world.get::<MirroredPairs<IsA>>(instance).unwrap();
        assert_eq!(mirrored.targets().collect::<Vec<_>>(), [known.prefab]);
    }
    world.check_pairs().unwrap();
}
