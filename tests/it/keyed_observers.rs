//! Observers of pairs with keys, and what they do in the midst of an insertion.

use crate::{
    common::{spawn, world_that_records_errors},
    keyed::{
        Equips, Log,
        Slot::{Foot, Head},
        equips, slots, take_log,
    },
};
use bevy_ecs::prelude::*;
use bevy_relations::{event::RemovalCause, prelude::*, relation::Wildcard};

#[test]
fn observers_that_act_meanwhile_leave_one_pair_per_key() {
    type Act = fn(&mut World, Entity, [Entity; 2]);
    let acts: [(&str, Act); 5] = [
        ("inserts the key again", |world, knight, [old, _]| {
            world.insert_pair(knight, equips(Head), old).unwrap();
        }),
        ("despawns the source", |world, knight, _| {
            world.despawn(knight);
        }),
        ("despawns the new target", |world, _, [_, new]| {
            world.despawn(new);
        }),
        ("moves the new pair to another key", |world, knight, [_, new]| {
            if world.entities().contains_spawned(knight) {
                world.insert_pair(knight, equips(Foot), new).unwrap();
            }
        }),
        ("clears everything", |world, _, _| world.clear_pairs()),
    ];
    for on_removal in [true, false] {
        for (name, act) in acts {
            let mut world = world_that_records_errors();
            let [knight, old, new] = spawn(&mut world);
            world.insert_pair(knight, equips(Head), old).unwrap();
            let mut acted = false;
            let mut queue = move |mut commands: Commands| {
                if !core::mem::replace(&mut acted, true) {
                    commands.queue(move |world: &mut World| act(world, knight, [old, new]));
                }
            };
            if on_removal {
                world.add_observer(move |_: On<PairRemoved<Equips>>, commands: Commands| queue(commands));
            } else {
                world.add_observer(move |_: On<PairInserted<Equips>>, commands: Commands| queue(commands));
            }
            world.insert_pair(knight, equips(Head), new).unwrap();
            world.check_pairs().unwrap_or_else(|error| panic!("{name}: {error}"));
            let kept = slots(&world, knight);
            match name {
                "inserts the key again" => assert_eq!(kept, [(Head, old)]),
                "moves the new pair to another key" => assert_eq!(kept, [(Foot, new)]),
                _ => assert_eq!(kept, [], "{name}"),
            }
        }
    }
}

#[test]
fn an_observer_of_every_relation_sees_the_pair_that_gives_way() {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    let [knight, helmet, hat] = spawn(&mut world);
    world.insert_pair(knight, equips(Head), helmet).unwrap();
    world.add_observer(|on: On<PairRemoved<Wildcard>>, mut log: ResMut<Log>| {
        assert_eq!(on.cause, RemovalCause::Replaced);
        log.0.push(("gave way", on.target, None));
    });
    let relation = world.entity_of::<Equips>();
    world.observe_pairs((relation, hat), |on: On<PairInserted<Wildcard>>, mut log: ResMut<Log>| {
        log.0.push(("inserted", on.target, None));
    });
    world.insert_pair(knight, equips(Head), hat).unwrap();
    assert_eq!(take_log(&mut world), [("gave way", helmet, None), ("inserted", hat, None)]);
}
