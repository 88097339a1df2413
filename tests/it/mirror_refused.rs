//! Components that say what the rules do not allow: they are reported and put right before the command that wrote them returns.

use crate::common::{dump, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{error::FallbackErrorHandler, prelude::*, relationship::RelationshipHookMode};
use bevy_reflect::Reflect;
use bevy_relations::{
    mirror::*,
    prelude::*,
    relation::{PairContext, PairRefusal},
};

#[derive(Relation, Reflect, Clone)]
struct Likes;

#[derive(Relation, Reflect, Clone)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation, Reflect, Clone)]
#[relation(traversable)]
struct Below;

#[derive(Relation, Reflect, Clone)]
#[relation(one_of)]
struct Mood;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(validate = few)]
struct Eats(u32);

fn few(eats: &mut Eats, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    if eats.0 < 10 { Ok(()) } else { Err("too much".into()) }
}

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(key = u32)]
struct Slot(u32);

#[derive(Component, Default)]
struct Dock;

#[derive(Relation, Reflect, Clone)]
#[relation(target(Dock))]
struct LandsOn;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Costs(u32);

/// Writes a component that is refused. Returns what is reported: nothing else has changed.
#[track_caller]
fn refused<R: MirroredRelation>(world: &mut World, source: Entity, pairs: MirroredPairs<R>) -> String {
    let before = dump(world);
    let there = world.get::<MirroredPairs<R>>(source).map(|there| there.targets().collect::<Vec<_>>());
    // As a command, and directly.
    world.commands().entity(source).insert(pairs.clone());
    world.flush();
    world.entity_mut(source).insert(pairs);
    assert_eq!(dump(world), before);
    let now = world.get::<MirroredPairs<R>>(source).map(|there| there.targets().collect::<Vec<_>>());
    assert_eq!(now, there, "it is put right");
    world.check_pairs().unwrap();
    let mut errors = take_reported_errors();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert_eq!(errors[0], errors[1]);
    errors.remove(0)
}

fn tags<R>(pairs: impl IntoIterator<Item = (R, Entity)>) -> MirroredPairs<R> {
    pairs.into_iter().collect()
}

#[test]
fn a_cycle_is_refused() {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<Below>().unwrap();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair_batch([(a, Below, b), (b, Below, c)]).unwrap();
    let error = refused(&mut world, c, tags([(Below, a)]));
    assert!(error.contains("would close the cycle"), "{error}");
    let error = refused(&mut world, b, tags([(Below, c), (Below, b)]));
    assert!(error.contains("would close the cycle"), "{error}");
}

#[test]
fn a_second_exclusive_target_is_refused() {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<DockedTo>().unwrap();
    let [a, b, c, d] = spawn(&mut world);
    let error = refused(&mut world, a, tags([(DockedTo, b), (DockedTo, c)]));
    assert!(error.contains("exclusive"), "{error}");
    world.insert_pair(a, DockedTo, d).unwrap();
    let error = refused(&mut world, a, tags([(DockedTo, b), (DockedTo, d)]));
    assert!(error.contains("the mirrored pairs of") && error.contains("exclusive"), "{error}");
}

#[test]
fn values_keys_scopes_and_components_are_checked() {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<Mood>().unwrap();
    world.mirror_pairs::<Eats>().unwrap();
    world.mirror_pairs::<Slot>().unwrap();
    world.mirror_pairs::<LandsOn>().unwrap();
    let [a, b, c] = spawn(&mut world);
    let error = refused(&mut world, a, tags([(Mood, b)]));
    assert!(error.contains("must be a child of"), "{error}");
    world.insert_pair(a, Eats(1), b).unwrap();
    let error = refused(&mut world, a, tags([(Eats(2), c), (Eats(10), b)]));
    assert!(error.contains("too much"), "{error}");
    assert_eq!(world.pair_value::<Eats>(a, b), Some(&Eats(1)));
    world.insert_pair(a, Slot(1), b).unwrap();
    let error = refused(&mut world, a, tags([(Slot(1), b), (Slot(1), c)]));
    assert!(error.contains("has the same key"), "{error}");
    let error = refused(&mut world, a, tags([(LandsOn, b)]));
    assert!(error.contains("must have `") && error.contains("Dock"), "{error}");
    // No value, and no default of it.
    world.mirror_pairs::<Costs>().unwrap();
    let without = MirroredPairs { pairs: vec![MirroredPair { target: b.into(), value: None, place: None }] };
    let error = refused::<Costs>(&mut world, a, without);
    assert!(error.contains("it needs a value"), "{error}");
}

#[test]
fn keys_may_be_exchanged() {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<Slot>().unwrap();
    let [a, b, c] = spawn(&mut world);
    world.insert_pairs(a, [(Slot(1), b), (Slot(2), c)]).unwrap();
    world.entity_mut(a).insert(tags([(Slot(2), b), (Slot(1), c)]));
    assert_eq!(take_reported_errors(), [""; 0]);
    let slots = [b, c].map(|target| world.pair_value::<Slot>(a, target).unwrap().0);
    assert_eq!(slots, [2, 1]);
}

#[test]
fn a_dead_target_is_left_out_and_named_and_one_that_is_named_twice_counts_once() {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<Costs>().unwrap();
    let [a, b, c, dead] = spawn(&mut world);
    world.entity_mut(a).insert(Name::new("Ann"));
    world.despawn(dead);
    world.entity_mut(a).insert(tags([(Costs(1), b), (Costs(2), dead), (Costs(3), b), (Costs(4), c)]));
    let pairs = world.get::<MirroredPairs<Costs>>(a).unwrap();
    assert!(pairs.targets().eq([b, c]) && pairs.get(b) == Some(&Costs(3)));
    let errors = take_reported_errors();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors.iter().all(|error| error.contains("Ann")), "{errors:?}");
    assert!(errors.iter().any(|error| error.contains("left out") && error.contains("target is not alive")));
    assert!(errors.iter().any(|error| error.contains("twice")), "{errors:?}");
    world.entity_mut(a).insert(tags([(Costs(1), dead)]));
    assert!(!world.entity(a).contains::<MirroredPairs<Costs>>());
    assert_eq!(take_reported_errors().len(), 1);
}

/// Inserts a component as scenes do.
fn insert_skipping<R: MirroredRelation>(world: &mut World, source: Entity, pairs: MirroredPairs<R>) {
    world.entity_mut(source).insert_with_relationship_hook_mode(pairs, RelationshipHookMode::Skip);
}

#[test]
fn what_a_scene_brings_may_wait_for_the_rest_of_it() {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<LandsOn>().unwrap();
    world.mirror_pairs::<Below>().unwrap();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair_batch([(a, Below, b), (b, Below, c)]).unwrap();
    // The other way round, and only the last of it makes the first possible.
    insert_skipping(&mut world, c, tags([(Below, b)]));
    insert_skipping(&mut world, b, tags([(Below, a)]));
    assert!(world.has_pair::<Below>(b, c), "it is put right meanwhile");
    assert!(world.get::<MirroredPairs<Below>>(b).unwrap().contains(c));
    insert_skipping(&mut world, a, tags::<Below>([]));
    insert_skipping(&mut world, a, tags([(LandsOn, c)]));
    world.entity_mut(c).insert(Dock);
    assert_eq!(take_reported_errors(), [""; 0]);
    world.maintain_pairs();
    assert_eq!(take_reported_errors(), [""; 0]);
    assert!(
        world.has_pair::<Below>(c, b) && world.has_pair::<Below>(b, a) && world.has_pair::<LandsOn>(a, c)
    );
    assert!(world.get::<MirroredPairs<LandsOn>>(a).unwrap().contains(c));
    world.check_pairs().unwrap();
}

#[test]
fn values_that_are_not_equal_to_themselves_do_not_keep_the_rest_from_being_tried_again() {
    #[derive(Relation, Reflect, Clone, PartialEq, Debug)]
    #[relation(target(Dock))]
    struct Waits(f32);

    let mut world = world_that_records_errors();
    world.mirror_pairs::<Waits>().unwrap();
    let [ship, first, second] = spawn(&mut world);
    world.entity_mut(first).insert(Dock);
    world.insert_pair(ship, Waits(f32::NAN), first).unwrap();
    insert_skipping(&mut world, ship, [(Waits(f32::NAN), first), (Waits(1.0), second)].into_iter().collect());
    world.entity_mut(second).insert(Dock);
    world.maintain_pairs();
    assert_eq!(take_reported_errors(), [""; 0]);
    assert!(world.pairs::<Waits>().targets(ship).eq([first, second]));

    // The pairs that the entity gets meanwhile stay, as for other values.
    insert_skipping(&mut world, ship, [(Waits(f32::NAN), ship)].into_iter().collect());
    world.remove_pair::<Waits>(ship, second);
    world.entity_mut(ship).insert(Dock);
    world.maintain_pairs();
    assert!(world.pairs::<Waits>().targets(ship).eq([first]));
    assert_eq!(take_reported_errors().len(), 1);
}

#[test]
fn what_is_not_possible_in_the_end_is_reported_once() {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<LandsOn>().unwrap();
    world.mirror_pairs::<Likes>().unwrap();
    let [a, b, c, dead] = spawn(&mut world);
    world.despawn(dead);
    insert_skipping(&mut world, a, tags([(LandsOn, b)]));
    insert_skipping(&mut world, a, tags([(Likes, dead), (Likes, b)]));
    assert!(world.has_pair::<Likes>(a, b));
    assert_eq!(take_reported_errors(), [""; 0]);
    world.update_mirrors();
    let errors = take_reported_errors();
    assert!(errors.len() == 2 && errors.iter().any(|error| error.contains("not alive")), "{errors:?}");
    world.update_mirrors();
    assert_eq!(take_reported_errors(), [""; 0]);

    // The pairs that the entity gets meanwhile stay.
    insert_skipping(&mut world, a, tags([(LandsOn, c)]));
    world.entity_mut(b).insert(Dock);
    world.insert_pair(a, LandsOn, b).unwrap();
    world.entity_mut(c).insert(Dock);
    world.update_mirrors();
    assert!(world.pairs::<LandsOn>().targets(a).eq([b]));
    assert_eq!(take_reported_errors().len(), 1);
    // What is written again counts.
    insert_skipping(&mut world, a, tags([(LandsOn, a)]));
    world.entity_mut(a).insert(tags([(LandsOn, b), (LandsOn, c)]));
    world.update_mirrors();
    assert!(world.pairs::<LandsOn>().targets(a).eq([b, c]));
    assert_eq!(take_reported_errors(), [""; 0]);
}

/// What waits is lost with the mirror, but not without a word.
#[test]
fn what_waits_is_reported_if_every_resource_is_removed_meanwhile() {
    for at_once in [true, false] {
        let mut world = world_that_records_errors();
        world.mirror_pairs::<Likes>().unwrap();
        let [a, b, gone] = spawn(&mut world);
        world.despawn(gone);
        world.add_observer(move |_: On<PairInserted<Likes>>, mut commands: Commands| {
            commands.queue(|world: &mut World| {
                let handler = world.remove_resource::<FallbackErrorHandler>();
                world.clear_resources();
                handler.into_iter().for_each(|handler| world.insert_resource(handler));
            });
        });
        if at_once {
            world.entity_mut(a).insert(tags([(Likes, b), (Likes, gone)]));
        } else {
            insert_skipping(&mut world, a, tags([(Likes, b), (Likes, gone)]));
        }
        world.flush();
        let errors = take_reported_errors();
        assert_eq!(errors.len(), 1, "{errors:?}");
        world.maintain_pairs();
        assert_eq!(take_reported_errors(), [""; 0]);
        world.check_pairs().unwrap();
    }
}
