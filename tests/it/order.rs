//! Putting the sources of a target in another order: on the world (see also `traits`), on entities and as commands.

use crate::common::{refused, spawn, take_errors, world_that_records_errors};
use bevy_ecs::{error::Severity, prelude::*};
use bevy_reflect::Reflect;
use bevy_relations::{error::ReorderError, mirror::*, prelude::*};

#[derive(Relation, Reflect, Clone)]
#[relation(ordered)]
struct Queues;

#[derive(Relation)]
struct Likes;

fn queue(world: &World, desk: Entity) -> Vec<Entity> {
    world.pairs::<Queues>().sources(desk).collect()
}

#[test]
fn entities_and_commands_do_what_the_world_does() {
    let mut world = world_that_records_errors();
    let [desk, a, b, c] = spawn(&mut world);
    for source in [a, b, c] {
        world.insert_pair(source, Queues, desk).unwrap();
    }
    world.entity_mut(desk).order_sources::<Queues>(&[c, a, b]).unwrap();
    assert_eq!(queue(&world, desk), [c, a, b]);
    let error =
        refused(&mut world, |world| world.entity_mut(desk).order_sources::<Queues>(&[c, a]).map(|_| ()));
    assert!(matches!(error, ReorderError::NotAPermutation { .. }), "{error}");

    // The order is that of the sources when the command is applied.
    let mut commands = world.commands();
    let new = commands.spawn_empty().insert_pair(Queues, desk).id();
    commands.entity(a).remove_pair::<Queues>(desk);
    commands.entity(desk).order_sources::<Queues>([new, b, c]);
    world.flush();
    assert_eq!(queue(&world, desk), [new, b, c]);
    assert!(take_errors().is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn a_command_that_is_refused_changes_nothing_and_is_reported() {
    let mut world = world_that_records_errors();
    let [desk, gone, parent, a, b] = spawn(&mut world);
    for source in [a, b] {
        world.insert_pair(source, Queues, desk).unwrap();
        world.insert_pair(source, Likes, desk).unwrap();
        world.entity_mut(source).insert(ChildOf(parent));
    }
    world.despawn(gone);
    let mut commands = world.commands();
    commands.entity(desk).order_sources::<Queues>(vec![a]).order_sources::<Queues>(vec![b, b]);
    commands.entity(desk).order_sources::<Likes>([b, a]);
    commands.entity(parent).order_sources::<ChildOf>([b, a]);
    commands.entity(parent).order_sources::<Queues>([]);
    world.commands().queue(move |world: &mut World| {
        // As a command of a system whose target was despawned by one before.
        let target = world.spawn_empty().id();
        world.commands().entity(target).despawn();
        world.commands().entity(target).order_sources::<Queues>([]);
    });
    world.flush();
    let errors = take_errors();
    let texts: Vec<&str> = errors.iter().map(|(_, text)| text.as_str()).collect();
    assert!(errors.iter().all(|(severity, _)| *severity == Severity::Error));
    let reasons = [
        "not a permutation",
        "not a permutation",
        "not declared `ordered`",
        "Bevy's relationship",
        "despawned",
    ];
    assert_eq!(texts.len(), reasons.len(), "{texts:?}");
    for (text, reason) in texts.iter().zip(reasons) {
        assert!(text.contains(reason), "{reason}: {text}");
    }
    assert_eq!(queue(&world, desk), [a, b]);
    world.check_pairs().unwrap();
}

/// Observers order what is left; a scene's component shows the places; a source goes between the command and its application.
#[test]
fn observers_and_mirrors_and_sources_that_go_meanwhile() {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<Queues>().unwrap();
    world.add_observer(|on: On<PairRemoved<Queues>>, queues: Pairs<Queues>, mut commands: Commands| {
        let mut rest: Vec<Entity> = queues.sources(on.target).filter(|&source| source != on.source).collect();
        rest.reverse();
        commands.entity(on.target).order_sources::<Queues>(rest);
    });
    let [desk, a, b, c, d] = spawn(&mut world);
    for source in [a, b, c, d] {
        world.insert_pair(source, Queues, desk).unwrap();
    }
    world.remove_pair::<Queues>(b, desk);
    assert_eq!(queue(&world, desk), [d, c, a]);
    let place = |world: &World, source| world.get::<MirroredPairs<Queues>>(source).unwrap().pairs[0].place;
    let places = [d, c, a].map(|source| place(&world, source));
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{places:?}");

    let mut commands = world.commands();
    commands.entity(d).despawn();
    commands.entity(desk).order_sources::<Queues>([a, c, d]);
    world.flush();
    assert_eq!(queue(&world, desk), [a, c], "as the observer orders them");
    let errors = take_errors();
    assert!(
        matches!(&errors[..], [(Severity::Error, text)] if text.contains("not a permutation")),
        "{errors:?}"
    );

    // Whoever is in the way of a removal of all has nothing left to order.
    world.despawn(desk);
    assert!(take_errors().iter().all(|(severity, _)| *severity == Severity::Error));
    world.check_pairs().unwrap();
}
