//! Ends that lose a component while a pair is being inserted: observers whose commands run in the middle of it, when an end gets the
//! hidden marker of entities with pairs. Every way to insert a pair looks at its ends once more. Also ends that are dead, and targets
//! whose pairs are observed.

use crate::{
    common::{spawn, take_errors, world_that_records_errors},
    stale_plans::when_marked,
};
use bevy_ecs::prelude::*;
use bevy_relations::{
    prelude::*,
    relation::{EndConstraint, Wildcard},
};

#[derive(Component)]
struct Ship;

#[derive(Relation)]
#[relation(source(Ship))]
struct Follows;

#[derive(Relation)]
#[relation(exclusive, source(Ship))]
struct DockedTo;

#[derive(Relation)]
#[relation(source(Ship))]
struct Owes(#[expect(dead_code, reason = "it makes a value")] u32);

#[derive(Relation)]
#[relation(exclusive, source(Ship))]
struct Rents(#[expect(dead_code, reason = "it makes a value")] u32);

#[derive(Relation)]
#[relation(key = u8, source(Ship))]
struct Carries(u8);

type InsertPair = fn(&mut World, Entity, Entity) -> Result<(), String>;

fn text<E: ToString>(result: Result<(), E>) -> Result<(), String> {
    result.map_err(|error| error.to_string())
}

/// A relation created at run time, whose pairs have values.
fn created(world: &mut World) -> Entity {
    let traits = RelationTraits::new().source(EndConstraint::with::<Ship>()).data::<String>();
    world.spawn_relation("Rates", traits).unwrap()
}

const WAYS: [(&str, InsertPair); 11] = [
    ("tag", |world, source, target| text(world.insert_pair(source, Follows, target))),
    ("exclusive tag", |world, source, target| text(world.insert_pair(source, DockedTo, target))),
    ("value", |world, source, target| text(world.insert_pair(source, Owes(1), target))),
    ("exclusive value", |world, source, target| text(world.insert_pair(source, Rents(1), target))),
    ("keyed", |world, source, target| text(world.insert_pair(source, Carries(1), target))),
    ("batch of keyed", |world, source, target| text(world.insert_pair_batch([(source, Carries(1), target)]))),
    ("batch of tags", |world, source, target| text(world.insert_pair_batch([(source, Follows, target)]))),
    ("batch of values", |world, source, target| text(world.insert_pair_batch([(source, Rents(1), target)]))),
    ("tag by id", |world, source, target| {
        world.register_relation::<Follows>().unwrap();
        let follows = world.entity_of::<Follows>();
        text(world.insert_pair_by_id(source, (follows, target)))
    }),
    ("value by id", |world, source, target| {
        let rates = created(world);
        text(world.insert_pair_value_by_id(source, (rates, target), String::from("well")))
    }),
    ("command", |world, source, target| {
        world.commands().entity(source).insert_pair(Owes(1), target);
        world.flush();
        // It is noted, and checked at the end of the frame.
        match world.check_constraints() {
            0 => Ok(()),
            _ => Err(take_errors().remove(0).1),
        }
    }),
];

#[test]
fn ends_that_lose_a_component_as_they_are_marked_have_no_pair() {
    for (way, insert) in WAYS {
        for is_source in [true, false] {
            for stays in [true, false] {
                let mut world = world_that_records_errors();
                let source = world.spawn(Ship).id();
                let [target] = spawn(&mut world);
                let marked = if is_source { source } else { target };
                when_marked(&mut world, marked, move |world| {
                    if !stays {
                        world.entity_mut(source).remove::<Ship>();
                    }
                });
                let inserted = insert(&mut world, source, target);
                let case = format!("{way}, the source is marked: {is_source}, {inserted:?}");
                assert_eq!(inserted.is_ok(), stays, "{case}");
                assert!(inserted.err().is_none_or(|error| error.contains("Ship")), "{case}");
                assert_eq!(world.pairs_of(source).is_empty(), !stays, "{case}");
                assert_eq!(world.entity(source).contains::<Ship>(), stays, "{case}");
                world.check_pairs().unwrap();
            }
        }
    }
}

/// Neither of an end that is gone, nor of one whose index another entity has.
#[test]
fn dead_ends_are_refused_in_every_way() {
    for (way, insert) in WAYS.into_iter().filter(|(way, _)| *way != "command") {
        for dead in [[true, false], [false, true], [true, true]] {
            for is_reused in [false, true] {
                let mut world = world_that_records_errors();
                let ends = [(); 2].map(|()| world.spawn(Ship).id());
                for (&end, _) in ends.iter().zip(dead).filter(|(_, dead)| *dead) {
                    world.despawn(end);
                    if is_reused {
                        world.spawn(Ship);
                    }
                }
                let refused = insert(&mut world, ends[0], ends[1]);
                assert!(refused.is_err(), "{way}, {dead:?}");
                world.check_pairs().unwrap();
                let mut ships = world.query_filtered::<Entity, With<Ship>>();
                let ships: Vec<_> = ships.iter(&world).collect();
                assert!(ships.iter().all(|&ship| world.pairs_of(ship).is_empty()), "{way}, {dead:?}");
            }
        }
    }
}

/// An observer that is narrowed to a target keeps the pairs of that target alone from the fast path, and acts.
#[test]
fn observers_of_one_target_are_triggered_once_in_every_way() {
    for (way, insert) in WAYS.into_iter().filter(|(way, _)| !way.ends_with("by id")) {
        for is_marked in [false, true] {
            let mut world = world_that_records_errors();
            let [target, other] = spawn(&mut world);
            let ships = [(); 2].map(|()| world.spawn(Ship).id());
            if is_marked {
                insert(&mut world, ships[0], other).unwrap();
                insert(&mut world, ships[1], other).unwrap();
            }
            for relation in relations(&mut world) {
                let acts = |on: On<PairInserted<Wildcard>>, mut commands: Commands, mut count: Local<u32>| {
                    *count += 1;
                    assert_eq!(*count, 1, "triggered twice");
                    commands.entity(on.source).remove::<Ship>().insert(Name::new("seen"));
                };
                world.observe_pairs(PairId::new(relation, target), acts);
            }
            insert(&mut world, ships[0], other).unwrap();
            assert!(!world.entity(ships[0]).contains::<Name>(), "{way}: it is about another target");
            _ = insert(&mut world, ships[0], target);
            assert!(world.entity(ships[0]).contains::<Name>(), "{way}, marked: {is_marked}");
            world.check_constraints();
            assert!(world.pairs_of(ships[0]).is_empty(), "{way}: it has lost its component");
            world.check_pairs().unwrap();
        }
    }
}

fn relations(world: &mut World) -> [Entity; 5] {
    world.register_relation::<Follows>().unwrap();
    world.register_relation::<DockedTo>().unwrap();
    world.register_relation::<Owes>().unwrap();
    world.register_relation::<Rents>().unwrap();
    world.register_relation::<Carries>().unwrap();
    [
        world.entity_of::<Follows>(),
        world.entity_of::<DockedTo>(),
        world.entity_of::<Owes>(),
        world.entity_of::<Rents>(),
        world.entity_of::<Carries>(),
    ]
}

#[test]
fn ends_without_their_component_are_not_even_marked() {
    for (way, insert) in WAYS.into_iter().filter(|(way, _)| *way != "command") {
        let mut world = world_that_records_errors();
        let ends = spawn::<2>(&mut world);
        insert(&mut world, ends[0], ends[1]).unwrap_err();
        for end in ends {
            assert!(world.entity(end).archetype().components().is_empty(), "{way}");
        }
    }
}
