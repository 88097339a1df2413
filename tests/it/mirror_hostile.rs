//! The component that shows the pairs of its entity, where users' code acts or panics in the midst, and where orders change in ways
//! that trigger no event.

use crate::common::{spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{entity::EntityCloner, prelude::*, relationship::RelationshipHookMode};
use bevy_reflect::Reflect;
use bevy_relations::{mirror::*, prelude::*, snapshot::*};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Relation, Reflect, Clone)]
struct Likes;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Owes(u32);

#[derive(Relation, Reflect, Clone)]
#[relation(ordered)]
struct Queues;

#[derive(Component)]
struct Open;

#[derive(Relation, Reflect, Clone)]
#[relation(target(Open))]
struct Visits;

/// Observers panic while it is there.
#[derive(Resource)]
struct Armed;

fn world_with<R: MirroredRelation>() -> World {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<R>().unwrap();
    world
}

fn tags<R: MirroredRelation>(value: R, targets: &[Entity]) -> MirroredPairs<R> {
    targets.iter().map(|&target| (value.clone(), target)).collect()
}

/// The component says what the pairs are, and is there only if there are any.
#[track_caller]
fn check<R: MirroredRelation>(world: &World, source: Entity) -> Vec<Entity> {
    world.check_pairs().unwrap();
    let targets: Vec<Entity> = world.pairs::<R>().targets(source).collect();
    let component = world.get::<MirroredPairs<R>>(source);
    assert_eq!(
        component.map(|pairs| pairs.targets().collect()),
        (!targets.is_empty()).then(|| targets.clone())
    );
    targets
}

/// The places of the sources of a target ascend.
#[track_caller]
fn check_places(world: &World, target: Entity) {
    let place = |source: Entity| {
        check::<Queues>(world, source);
        let component = world.get::<MirroredPairs<Queues>>(source).unwrap();
        component.pairs.iter().find(|pair| pair.target.entity() == Some(target)).unwrap().place.unwrap()
    };
    let places: Vec<u64> = world.pairs::<Queues>().sources(target).map(place).collect();
    assert!(places.is_sorted_by(|one, next| one < next), "{places:?}");
}

#[test]
fn behind_the_highest_place_there_is_room() {
    let mut world = world_with::<Queues>();
    let [a, b, c, target] = spawn(&mut world);
    let mut last = MirroredPair::new(Queues, target);
    last.place = Some(u64::MAX);
    world.entity_mut(a).insert(MirroredPairs { pairs: vec![last.clone()] });
    for source in [b, c] {
        world.insert_pair(source, Queues, target).unwrap();
        check_places(&world, target);
    }
    world.order_sources::<Queues>(target, &[c, a, b]).unwrap();
    check_places(&world, target);
    world.entity_mut(c).insert(MirroredPairs { pairs: vec![last] });
    world.order_sources::<Queues>(target, &[c, b, a]).unwrap();
    check_places(&world, target);
}

#[test]
fn orders_that_a_snapshot_brings_back_are_shown() {
    let mut world = world_with::<Queues>();
    let [a, b, c, target] = spawn(&mut world);
    for source in [a, b, c] {
        world.insert_pair(source, Queues, target).unwrap();
    }
    world.insert_pair(a, Queues, c).unwrap();
    let before = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
    world.order_sources::<Queues>(target, &[c, a, b]).unwrap();
    world.entity_mut(a).insert(tags(Queues, &[c, target]));
    before.apply(&mut world).unwrap();
    assert!(world.pairs::<Queues>().sources(target).eq([a, b, c]));
    assert_eq!(check::<Queues>(&world, a), [target, c]);
    check_places(&world, target);
}

#[test]
fn observers_may_put_sources_into_another_order_before_the_mirror_is_updated() {
    let mut world = world_that_records_errors();
    world.add_observer(|on: On<PairRemoved<Queues>>, mut commands: Commands| {
        let (source, target) = (on.source, on.target);
        commands.queue(move |world: &mut World| world.insert_pair(source, Queues, target).unwrap());
    });
    world.add_observer(|on: On<PairInserted<Queues>>, mut commands: Commands| {
        let (source, target) = (on.source, on.target);
        commands.queue(move |world: &mut World| {
            let others = world.pairs::<Queues>().sources(target).filter(|&other| other != source);
            let order: Vec<Entity> = core::iter::once(source).chain(others).collect();
            world.order_sources::<Queues>(target, &order).unwrap();
        });
    });
    world.mirror_pairs::<Queues>().unwrap();
    let [a, b, c, target] = spawn(&mut world);
    for source in [a, b, c] {
        world.insert_pair(source, Queues, target).unwrap();
        check_places(&world, target);
    }
    for source in [a, b, c, c] {
        world.remove_pair::<Queues>(source, target);
        check_places(&world, target);
        world.entity_mut(source).remove::<MirroredPairs<Queues>>();
        check_places(&world, target);
    }
}

/// Adds an observer that panics while it is to.
fn add_bomb(world: &mut World, event: usize) {
    match event {
        0 => world
            .add_observer(|_: On<PairInserted<Likes>>, armed: Option<Res<Armed>>| assert!(armed.is_none())),
        1 => world
            .add_observer(|_: On<PairRemoved<Likes>>, armed: Option<Res<Armed>>| assert!(armed.is_none())),
        2 => world.add_observer(|_: On<Insert<MirroredPairs<Likes>>>, armed: Option<Res<Armed>>| {
            assert!(armed.is_none());
        }),
        _ => world.add_observer(|_: On<Discard<MirroredPairs<Likes>>>, armed: Option<Res<Armed>>| {
            assert!(armed.is_none());
        }),
    };
}

#[test]
fn after_a_panic_of_an_observer_the_next_maintenance_puts_the_components_right() {
    for event in 0..4 {
        let mut world = world_with::<Likes>();
        let [a, b, c, d] = spawn(&mut world);
        world.insert_pair(a, Likes, b).unwrap();
        add_bomb(&mut world, event);
        for verb in 0..6 {
            world.insert_resource(Armed);
            let _ = catch_unwind(AssertUnwindSafe(|| match verb {
                0 => world.insert_pair(a, Likes, c).unwrap(),
                1 => drop(world.entity_mut(a).insert(tags(Likes, &[d, c]))),
                2 => drop(world.entity_mut(a).remove::<MirroredPairs<Likes>>()),
                3 => drop(world.entity_mut(b).insert(tags(Likes, &[d, c]))),
                4 => drop(world.despawn(d)),
                _ => drop(world.despawn(b)),
            }));
            world.remove_resource::<Armed>();
            world.check_pairs().unwrap();
            world.flush();
            world.maintain_pairs();
            for entity in [a, b, c, d].into_iter().filter(|&entity| world.get_entity(entity).is_ok()) {
                check::<Likes>(&world, entity);
            }
        }
    }
}

#[test]
fn a_panic_of_an_observer_does_not_lose_what_a_scene_has_brought() {
    let mut world = world_with::<Visits>();
    let [a, b, c, target] = spawn(&mut world);
    for source in [a, b, c] {
        let pairs = tags(Visits, &[target]);
        world.entity_mut(source).insert_with_relationship_hook_mode(pairs, RelationshipHookMode::Skip);
    }
    world.entity_mut(target).insert(Open);
    world.insert_resource(Armed);
    world.add_observer(|_: On<PairInserted<Visits>>, armed: Option<Res<Armed>>| assert!(armed.is_none()));
    assert!(catch_unwind(AssertUnwindSafe(|| world.maintain_pairs())).is_err());
    world.remove_resource::<Armed>();
    world.maintain_pairs();
    for source in [a, b, c] {
        assert_eq!(check::<Visits>(&world, source), [target]);
    }
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn components_that_are_there_are_applied_when_pairs_are_mirrored_again() {
    let mut world = world_with::<Owes>();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Owes(1), b).unwrap();
    // The pairs are gone, and the component is not.
    world.clear_resources();
    world.insert_pair(a, Owes(1), c).unwrap();
    world.mirror_pairs::<Owes>().unwrap();
    assert_eq!(check::<Owes>(&world, a), [b]);
    world.insert_pair(a, Owes(2), c).unwrap();
    assert_eq!(check::<Owes>(&world, a), [b, c]);
}

#[test]
fn a_relation_that_is_registered_anew_is_mirrored_from_the_next_maintenance_on() {
    let mut world = world_with::<Owes>();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Owes(1), b).unwrap();
    let relation = world.register_relation::<Owes>().unwrap();
    world.despawn(relation);
    assert_eq!(check::<Owes>(&world, a), []);
    world.insert_pair(a, Owes(1), c).unwrap();
    world.maintain_pairs();
    assert_eq!(check::<Owes>(&world, a), [c]);
    world.insert_pair(a, Owes(2), c).unwrap();
    assert_eq!(world.get::<MirroredPairs<Owes>>(a).unwrap().get(c), Some(&Owes(2)));
}

/// Does one of the things that can be done to an entity.
fn act(world: &mut World, entity: Entity, other: Entity, what: usize) {
    let Ok(mut found) = world.get_entity_mut(entity) else { return };
    match what {
        0 => drop(found.remove::<MirroredPairs<Likes>>()),
        1 => found.despawn(),
        2 => drop(found.clear()),
        3 => drop(found.take::<MirroredPairs<Likes>>()),
        4 => drop(found.insert(tags(Likes, &[other]))),
        5 => drop(found.clone_and_spawn()),
        6 => drop(world.remove_pairs::<Likes>(entity)),
        _ => drop(EntityCloner::build_opt_out(world).move_components(true).clone_entity(entity, other)),
    }
}

#[derive(Resource, Default)]
struct Acts(u32);

fn observe_and_act(world: &mut World, event: usize, what: usize, other: Entity) {
    let act_on = move |entity: Entity, commands: &mut Commands| {
        commands.queue(move |world: &mut World| {
            let mut acts = world.resource_mut::<Acts>();
            acts.0 += 1;
            if acts.0 <= 6 {
                act(world, entity, other, what);
            }
        });
    };
    match event {
        0 => world.add_observer(move |on: On<Insert<MirroredPairs<Likes>>>, mut commands: Commands| {
            act_on(on.entity, &mut commands);
        }),
        1 => world.add_observer(move |on: On<Discard<MirroredPairs<Likes>>>, mut commands: Commands| {
            act_on(on.entity, &mut commands);
        }),
        2 => world.add_observer(move |on: On<PairInserted<Likes>>, mut commands: Commands| {
            act_on(on.source, &mut commands);
        }),
        _ => world.add_observer(move |on: On<PairRemoved<Likes>>, mut commands: Commands| {
            act_on(on.source, &mut commands);
        }),
    };
}

#[test]
fn observers_may_do_anything_to_the_entity_while_its_component_is_written() {
    for (event, what) in (0..4).flat_map(|event| (0..8).map(move |what| (event, what))) {
        let mut world = world_with::<Likes>();
        let entities: [Entity; 4] = spawn(&mut world);
        let [a, b, c, d] = entities;
        observe_and_act(&mut world, event, what, d);
        for step in 0..5 {
            world.insert_resource(Acts(0));
            let is_alive = |entity| world.get_entity(entity).is_ok();
            match (step, is_alive(a), is_alive(b)) {
                (0, true, true) => world.insert_pair(a, Likes, b).unwrap(),
                (1, true, _) => drop(world.entity_mut(a).insert(tags(Likes, &[c, b]))),
                (2, true, _) => drop(world.remove_pair::<Likes>(a, c)),
                (3, _, true) => drop(world.despawn(b)),
                (4, true, _) => drop(world.despawn(a)),
                _ => {}
            }
            for entity in entities.into_iter().filter(|&entity| world.get_entity(entity).is_ok()) {
                check::<Likes>(&world, entity);
            }
        }
        take_reported_errors();
    }
}
