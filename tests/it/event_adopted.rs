//! Events of pairs that are kept in Bevy's relationship components.

use crate::common::{CrewOf, world_that_records_errors};
use bevy_ecs::{prelude::*, world::DeferredWorld};
use bevy_relations::{prelude::*, relation::Wildcard};

/// The events that were observed: `+` inserted, `=` replaced, `-` removed; source and target; the wage at the time.
#[derive(Resource, Default)]
struct Log(Vec<(char, Entity, Entity, u32)>);

fn note(world: &mut DeferredWorld, sign: char, source: Entity, relation: Entity, target: Entity) {
    assert!(world.has_pair_by_id(source, PairId::new(relation, target)));
    assert!(world.pairs_by_id(relation).sources(target).any(|other| other == source));
    assert!(world.get_entity(source).is_ok() && world.get_entity(target).is_ok());
    let wage = world.pair_value::<CrewOf>(source, target).map_or(0, |crew| crew.wage);
    world.resource_mut::<Log>().0.push((sign, source, target, wage));
}

fn noting_world<const N: usize>() -> (World, [Entity; N]) {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    world.adopt_relationship::<ChildOf>().adopt_relationship::<CrewOf>();
    world.add_observer(|on: On<PairInserted<Wildcard>>, mut world: DeferredWorld| {
        note(&mut world, if on.replaced { '=' } else { '+' }, on.source, on.relation, on.target);
    });
    world.add_observer(|on: On<PairRemoved<Wildcard>>, mut world: DeferredWorld| {
        note(&mut world, '-', on.source, on.relation, on.target);
    });
    let entities = std::array::from_fn(|_| world.spawn_empty().id());
    (world, entities)
}

fn heard(world: &mut World) -> Vec<(char, Entity, Entity, u32)> {
    std::mem::take(&mut world.resource_mut::<Log>().0)
}

#[test]
fn spawning_reparenting_and_removing_a_child_is_announced_in_order() {
    let (mut world, [a, b]) = noting_world();
    let child = world.spawn(ChildOf(a)).id();
    assert_eq!(heard(&mut world), [('+', child, a, 0)]);
    world.entity_mut(child).insert(ChildOf(b));
    assert_eq!(heard(&mut world), [('-', child, a, 0), ('+', child, b, 0)]);
    world.insert_pair(child, ChildOf(a), a).unwrap();
    assert_eq!(heard(&mut world), [('-', child, b, 0), ('+', child, a, 0)]);
    world.entity_mut(b).add_child(child);
    assert_eq!(heard(&mut world), [('-', child, a, 0), ('+', child, b, 0)]);
    world.entity_mut(child).remove::<ChildOf>();
    assert_eq!(heard(&mut world), [('-', child, b, 0)]);
    world.insert_pair(child, ChildOf(a), a).unwrap();
    world.remove_pair::<ChildOf>(child, a);
    assert_eq!(heard(&mut world), [('+', child, a, 0), ('-', child, a, 0)]);
    let grandchild = world.spawn((ChildOf(child), Pair(ChildOf(child), child))).id();
    assert_eq!(heard(&mut world), [('+', grandchild, child, 0)]);
    world.entity_mut(a).add_children(&[child]).detach_all_children();
    assert_eq!(heard(&mut world), [('+', child, a, 0), ('-', child, a, 0)]);
    world.despawn(child);
    assert_eq!(heard(&mut world), [('-', grandchild, child, 0)]);
}

#[test]
fn the_same_target_again_through_our_api_is_no_event() {
    let (mut world, [a, child]) = noting_world();
    let child_of = world.entity_of::<ChildOf>();
    world.insert_pair(child, ChildOf(a), a).unwrap();
    world.insert_pair(child, ChildOf(a), a).unwrap();
    world.insert_pair_by_id(child, (child_of, a)).unwrap();
    assert_eq!(heard(&mut world), [('+', child, a, 0)]);
}

/// When Bevy discards the old component, nobody can know yet that the new one has the same target, and later the
/// old value would not be readable.
#[test]
fn the_same_target_again_through_bevys_component_is_a_removal_and_an_insertion() {
    let (mut world, [a, child]) = noting_world();
    world.entity_mut(child).insert(ChildOf(a));
    world.entity_mut(child).insert(ChildOf(a));
    assert_eq!(heard(&mut world), [('+', child, a, 0), ('-', child, a, 0), ('+', child, a, 0)]);
    world.insert_pair(child, ChildOf(a), a).unwrap();
    assert_eq!(heard(&mut world), [], "through ours it is nothing");
}

#[test]
fn another_value_with_the_same_target_through_our_api_is_a_replacement() {
    let (mut world, [ship, cook]) = noting_world();
    world.insert_pair(cook, CrewOf { ship, wage: 1 }, ship).unwrap();
    world.insert_pair(cook, CrewOf { ship, wage: 2 }, ship).unwrap();
    assert_eq!(heard(&mut world), [('+', cook, ship, 1), ('=', cook, ship, 2)]);
}

#[test]
fn the_old_value_is_readable_when_an_adopted_pair_is_about_to_go() {
    let (mut world, [ship, boat, cook]) = noting_world();
    world.entity_mut(cook).insert(CrewOf { ship, wage: 1 });
    heard(&mut world);
    world.entity_mut(cook).insert(CrewOf { ship: boat, wage: 2 });
    assert_eq!(heard(&mut world), [('-', cook, ship, 1), ('+', cook, boat, 2)]);
    let crew_of = world.entity_of::<CrewOf>();
    world.insert_pair_by_id(cook, (crew_of, ship)).unwrap();
    assert_eq!(heard(&mut world), [('-', cook, boat, 2), ('+', cook, ship, 2)]);
    world.despawn(ship);
    assert_eq!(heard(&mut world), [('-', cook, ship, 2)]);
    world.entity_mut(cook).insert(CrewOf { ship: boat, wage: 3 });
    world.despawn(cook);
    assert_eq!(heard(&mut world), [('+', cook, boat, 3), ('-', cook, boat, 3)]);
}

#[test]
fn children_moved_to_another_parent_with_hooks_skipped_are_announced_too() {
    let (mut world, [a, b]) = noting_world();
    let child = world.spawn(ChildOf(a)).id();
    heard(&mut world);
    world.entity_mut(a).move_components::<Children>(b);
    world.flush();
    assert_eq!(world.get::<ChildOf>(child), Some(&ChildOf(b)));
    assert!(world.has_pair::<ChildOf>(child, b));
    assert_eq!(heard(&mut world), [('-', child, a, 0), ('+', child, b, 0)]);
    let second = world.spawn_empty().id();
    world.entity_mut(b).replace_children(&[second]);
    assert_eq!(heard(&mut world), [('-', child, b, 0), ('+', second, b, 0)]);
}

#[test]
fn absorbed_pairs_are_announced_to_observers_that_are_there() {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    let ship = world.spawn_empty().id();
    let cook = world.spawn(CrewOf { ship, wage: 1 }).id();
    world.add_observer(|on: On<PairInserted<Wildcard>>, mut world: DeferredWorld| {
        note(&mut world, if on.replaced { '=' } else { '+' }, on.source, on.relation, on.target);
    });
    world.adopt_relationship::<CrewOf>();
    assert_eq!(heard(&mut world), [('+', cook, ship, 1)]);
}
