//! Random operations through every API on a few entities, with the invariants checked after each.

use crate::common::{Crew, CrewOf};
use crate::{
    common::Random,
    common::{take_reported_errors, world_that_records_errors},
};
use bevy_ecs::{entity::EntityCloner, prelude::*, world::DeferredWorld};
use bevy_relations::{bundle::Participant, prelude::*, relation::Wildcard};

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone, Default)]
struct Weighs(u32);

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct MountedOn;

#[derive(Relation)]
#[relation(symmetric, exclusive)]
struct MarriedTo;

#[derive(Relation, Clone, Default)]
#[relation(symmetric, on_target_despawn = Despawn)]
struct BoundTo(u8);

#[derive(Relation)]
#[relation(ordered, on_relation_despawn = Despawn, with = Likes)]
struct Loves;

#[derive(Component, Clone)]
pub(crate) struct Plain;

fn check(world: &mut World, doing: &str) {
    if let Err(error) = world.check_pairs() {
        panic!("{error} after {doing}");
    }
    let mut components: Vec<_> =
        world.query::<(Entity, &ChildOf)>().iter(world).map(|(e, c)| (e, c.0)).collect();
    let mut pairs: Vec<_> = world.pairs::<ChildOf>().iter().collect();
    components.sort_unstable();
    pairs.sort_unstable();
    assert_eq!(components, pairs, "ChildOf after {doing}");
    let mut components: Vec<_> =
        world.query::<(Entity, &CrewOf)>().iter(world).map(|(e, c)| (e, c.ship)).collect();
    let mut pairs: Vec<_> = world.pairs::<CrewOf>().iter().collect();
    components.sort_unstable();
    pairs.sort_unstable();
    assert_eq!(components, pairs, "CrewOf after {doing}");
    // Every value is where its pair is. One that is missing on purpose was given by default.
    for (source, target) in world.pairs::<Weighs>().iter() {
        assert!(
            matches!(world.pair_value::<Weighs>(source, target), Some(Weighs(0 | 1 | 7))),
            "after {doing}"
        );
    }
    for (source, target) in world.pairs::<BoundTo>().iter() {
        assert!(matches!(world.pair_value::<BoundTo>(source, target), Some(BoundTo(1))), "after {doing}");
    }
    for (source, target) in world.pairs::<CrewOf>().iter() {
        assert!(matches!(world.pair_value::<CrewOf>(source, target), Some(CrewOf { wage: 1 | 2, .. })));
    }
}

pub(crate) fn step(world: &mut World, random: &mut Random, entities: &mut Vec<Entity>) -> String {
    let (a, b, c) = (random.pick(entities), random.pick(entities), random.pick(entities));
    let run_time = entities[0];
    let kind = random.below(46);
    match kind {
        0..=2 => _ = world.insert_pair(a, Likes, b),
        3 => _ = world.insert_pair(a, Weighs(7), b),
        4..=6 => _ = world.insert_pair(a, MountedOn, b),
        7 => _ = world.insert_pair(a, MarriedTo, b),
        8 => _ = world.insert_pair(a, BoundTo(1), b),
        9..=10 => _ = world.insert_pair(a, Loves, b),
        11..=12 => _ = world.insert_pair(a, ChildOf(b), b),
        13 => _ = world.insert_pair(a, CrewOf { ship: b, wage: 1 }, b),
        14 => _ = world.insert_pair_by_id(a, (run_time, b)),
        15 => _ = world.insert_pair_by_id(a, (c, b)),
        16 => _ = world.insert_tag(a, b),
        17 => _ = world.remove_pairs::<Likes>(a),
        18 => _ = world.remove_pair::<MountedOn>(a, b),
        19 => _ = world.remove_pairs_by_id(a, PairId::ALL),
        20 => _ = world.remove_pairs_everywhere(PairId::with_target(b)),
        21 => _ = world.remove_pairs_everywhere(PairId::with_relation(run_time)),
        22..=23 => _ = world.get_entity_mut(a).map(|mut e| e.insert(ChildOf(b)).id()),
        24 => _ = world.get_entity_mut(a).map(|mut e| e.remove::<ChildOf>().id()),
        25 => _ = world.get_entity_mut(a).map(|mut e| e.insert(CrewOf { ship: b, wage: 2 }).id()),
        26 if world.get_entity(b).is_ok() && world.get_entity(c).is_ok() => {
            _ = world.get_entity_mut(a).map(|mut e| e.add_children(&[b, c]).id());
        }
        27 if world.get_entity(b).is_ok() && a != b => {
            _ = world.get_entity_mut(a).map(|mut e| e.detach_all_children().add_child(b).id());
        }
        28 => _ = world.try_despawn(a),
        29 => _ = world.despawn_with_dependents(a),
        30 => world.commands().entity(a).try_despawn(),
        31 => _ = world.get_entity_mut(a).map(|mut e| e.clear().id()),
        32 => {
            _ = world.get_entity_mut(a).map(|mut e| e.retain::<(ChildOf, Children, CrewOf, Crew)>().id());
        }
        33 => {
            if let Ok(mut entity) = world.get_entity_mut(a) {
                entities.push(entity.clone_and_spawn());
            }
        }
        34 if world.get_entity(a).is_ok() => {
            let clone = world.spawn_empty().id();
            EntityCloner::build_opt_out(world).linked_cloning(true).clone_entity(a, clone);
            entities.push(clone);
        }
        35 => entities.push(world.spawn((Plain, Pair(Likes, a), Pair(MountedOn, b), ChildOf(c))).id()),
        36 => entities.push(world.spawn((pairs![(Loves, a), (MarriedTo, b), (Weighs(1), c)], Plain)).id()),
        37 => entities.push(world.spawn((sources![MountedOn: Plain, Pair(Likes, a)], Plain)).id()),
        38 => {
            let mut commands = world.commands();
            commands.entity(a).insert_pair(MountedOn, b).insert_pair(Likes, c).remove_pair::<Likes>(c);
            commands.entity(b).try_despawn();
            commands.pair_batch::<Likes>().insert(a, Likes, b).insert(a, Likes, c).remove(c, a);
        }
        39 => _ = world.insert_pair_batch([(a, MountedOn, b), (b, MountedOn, c), (c, MountedOn, a)]),
        40 => _ = world.despawn_sources(PairId::with_target(a)),
        41 => {
            let relation = world.entity_of::<Loves>();
            assert!(world.despawn(relation));
        }
        42 => world.maintain_pairs(),
        43 => _ = world.get_entity_mut(a).map(|mut e| e.remove::<Participant>().id()),
        44 => _ = world.get_entity_mut(a).map(|mut e| e.insert(Participant).id()),
        _ => _ = world.get_entity_mut(a).map(|mut e| e.despawn_children().id()),
    }
    world.flush();
    let alive: Vec<Entity> =
        entities.iter().copied().filter(|&entity| world.get_entity(entity).is_ok()).collect();
    if alive.len() < 4 || alive.len() > 24 {
        alive.iter().skip(4).for_each(|&entity| _ = world.try_despawn(entity));
        entities.retain(|&entity| world.get_entity(entity).is_ok());
        while entities.len() < 8 {
            entities.push(world.spawn(Plain).id());
        }
    }
    format!("{kind} with {a} {b} {c}")
}

/// A world that knows the relations, with some entities.
pub(crate) fn beginning() -> (World, Vec<Entity>) {
    beginning_in(world_that_records_errors())
}

/// The same, where entities are spawned with the marker of participants.
fn beginning_marked() -> (World, Vec<Entity>) {
    let mut world = world_that_records_errors();
    world.register_required_components::<Plain, Participant>();
    beginning_in(world)
}

fn beginning_in(mut world: World) -> (World, Vec<Entity>) {
    world.adopt_relationship::<ChildOf>().adopt_relationship::<CrewOf>();
    world.register_relation::<Loves>().unwrap();
    let entities = (0..8).map(|_| world.spawn(Plain).id()).collect();
    (world, entities)
}

fn storm(observed: bool, seed: u64, steps: usize) {
    let (mut world, mut entities) = if seed.is_multiple_of(2) { beginning() } else { beginning_marked() };
    if observed {
        let readable = |world: &World, source: Entity, relation: Entity, target: Entity| {
            let pairs = world.pairs_by_id(relation);
            assert!(pairs.has(source, target) && pairs.sources(target).any(|other| other == source));
            assert!(pairs.targets(source).any(|other| other == target));
            assert!(world.get_entity(source).is_ok() && world.get_entity(target).is_ok());
        };
        world.add_observer(move |on: On<PairInserted<Wildcard>>, world: DeferredWorld| {
            readable(&world, on.source, on.relation, on.target);
        });
        world.add_observer(move |on: On<PairRemoved<Wildcard>>, world: DeferredWorld| {
            readable(&world, on.source, on.relation, on.target);
        });
    }
    let mut random = Random(seed);
    let mut history = Vec::new();
    for number in 0..steps {
        history.push(step(&mut world, &mut random, &mut entities));
        let recent = &history[number.saturating_sub(6)..];
        check(&mut world, &format!("{recent:?} at step {number} of seed {seed:#x}"));
        take_reported_errors();
    }
}

#[test]
fn a_storm_of_random_operations_breaks_no_invariant() {
    for seed in 1..=5 {
        storm(false, 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed), 400);
    }
}

#[test]
fn a_storm_of_random_operations_in_front_of_observers_breaks_no_invariant() {
    for seed in 1..=5 {
        storm(true, 0x2545_f491_4f6c_dd1d_u64.wrapping_mul(seed), 400);
    }
}
