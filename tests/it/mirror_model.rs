//! The mirror against the pairs after each step of random histories, from both sides.

use crate::common::{Random, fewer, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{
    change_detection::Tick, entity::EntityCloner, prelude::*, relationship::RelationshipHookMode,
};
use bevy_reflect::Reflect;
use bevy_relations::{mirror::*, prelude::*};
use std::collections::BTreeMap;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Plain;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Valued(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct Mounted;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(symmetric)]
struct Knows(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(ordered, with = Plain)]
struct Queued;

/// A relation of the test.
trait Tested: MirroredRelation + PartialEq + core::fmt::Debug {
    fn value(number: u32) -> Self;
    /// Whether a source has at most one target.
    const EXCLUSIVE: bool = false;
}

impl Tested for Plain {
    fn value(_: u32) -> Self {
        Self
    }
}

impl Tested for Valued {
    fn value(number: u32) -> Self {
        Self(number)
    }
}

impl Tested for Mounted {
    const EXCLUSIVE: bool = true;

    fn value(_: u32) -> Self {
        Self
    }
}

impl Tested for Knows {
    fn value(number: u32) -> Self {
        Self(number)
    }
}

impl Tested for Queued {
    fn value(_: u32) -> Self {
        Self
    }
}

/// What a component says, and when it was written.
type Said = BTreeMap<Entity, (String, Tick)>;

/// Every component says what the pairs of its entity are, and no source is without one. Returns what they say.
fn check<R: Tested>(world: &mut World, history: &[String]) -> Said {
    let mut said = Said::new();
    let mut sources: Vec<Entity> = world.pairs::<R>().iter().map(|(source, _)| source).collect();
    let mut holders = world.query_filtered::<Entity, With<MirroredPairs<R>>>();
    sources.extend(holders.iter(world));
    sources.sort_unstable();
    sources.dedup();
    for source in sources {
        let expected: Vec<(Entity, Option<R>)> = world
            .pairs::<R>()
            .targets(source)
            .map(|target| (target, world.pair_value::<R>(source, target).cloned()))
            .collect();
        let Some(there) = world.get::<MirroredPairs<R>>(source) else {
            panic!("{source} has no component: {history:#?}");
        };
        let found: Vec<(Entity, Option<R>)> =
            there.pairs.iter().map(|pair| (pair.target.entity().unwrap(), pair.value.clone())).collect();
        assert!(!found.is_empty() && found == expected, "{source}: {found:?} {expected:?} {history:#?}");
        let ticks = world.entity(source).get_change_ticks::<MirroredPairs<R>>().unwrap();
        said.insert(source, (format!("{there:?}"), ticks.changed));
    }
    said
}

/// Of an ordered relation, the places ascend in the order of the sources of each target.
fn check_places(world: &World, entities: &[Entity], history: &[String]) {
    for &target in entities {
        let place = |source| {
            let pairs = &world.get::<MirroredPairs<Queued>>(source).unwrap().pairs;
            pairs.iter().find(|pair| pair.target.entity() == Some(target)).unwrap().place.unwrap()
        };
        let places: Vec<u64> = world.pairs::<Queued>().sources(target).map(place).collect();
        assert!(places.is_sorted(), "{target}: {places:?} {history:#?}");
    }
}

/// One change of the pairs of `R`, from either side. Returns what it was.
fn change<R: Tested>(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random) -> String {
    let (a, b, c) = (random.pick(entities), random.pick(entities), random.pick(entities));
    let value = |random: &mut Random| R::value(random.below(4) as u32);
    let name = core::any::type_name::<R>();
    let step = random.below(15);
    let told = format!("{step} of {name}: {a} {b} {c}");
    let pairs = |random: &mut Random| {
        let count = random.below(if R::EXCLUSIVE { 3 } else { 5 });
        MirroredPairs::from_iter(
            (0..count).map(|_| (R::value(random.below(4) as u32), random.pick(entities))),
        )
    };
    match step {
        0 | 1 => _ = world.insert_pair(a, value(random), b),
        2 => _ = world.remove_pair::<R>(a, b),
        3 => _ = world.remove_pairs::<R>(a),
        4 => {
            _ = world.insert_pair_batch([
                (a, value(random), b),
                (b, value(random), c),
                (a, value(random), c),
            ]);
        }
        5 => _ = world.move_sources::<R>(a, b),
        6 => _ = world.replace_targets(a, [(value(random), b), (value(random), c)]),
        7 | 8 => _ = world.entity_mut(a).insert(pairs(random)),
        9 => _ = world.entity_mut(a).remove::<MirroredPairs<R>>(),
        10 => {
            let (pairs, value) = (pairs(random), value(random));
            world.commands().entity(a).insert(pairs).insert_pair(value, b);
            world.flush();
        }
        11 => {
            let pairs = pairs(random);
            _ = world.entity_mut(a).insert_with_relationship_hook_mode(pairs, RelationshipHookMode::Skip);
        }
        12 => {
            // What is there already, written once more.
            if let Some(there) = world.get::<MirroredPairs<R>>(a).cloned() {
                world.entity_mut(b).insert(there);
            }
        }
        13 => {
            let mut cloner = EntityCloner::build_opt_out(world);
            cloner.linked_cloning(random.below(2) == 0);
            let clone = cloner.finish().spawn_clone(world, a);
            entities.push(clone);
        }
        _ => {
            let pairs = pairs(random);
            entities.push(world.spawn((pairs, Pair(value(random), a))).id());
        }
    }
    told
}

fn step(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random) -> String {
    match random.below(13) {
        0 | 1 => change::<Plain>(world, entities, random),
        2..=4 => change::<Valued>(world, entities, random),
        5 | 6 => change::<Mounted>(world, entities, random),
        7 | 8 => change::<Knows>(world, entities, random),
        9 | 10 => change::<Queued>(world, entities, random),
        11 => {
            let target = random.pick(entities);
            let mut order: Vec<Entity> = world.pairs::<Queued>().sources(target).collect();
            for at in (1..order.len()).rev() {
                order.swap(at, random.below(at + 1));
            }
            world.order_sources::<Queued>(target, &order).unwrap();
            format!("order of {target}")
        }
        _ => {
            let entity = random.pick(entities);
            match random.below(3) {
                0 => _ = world.entity_mut(entity).clear(),
                1 => _ = world.entity_mut(entity).retain::<Name>(),
                _ => world.entity_mut(entity).despawn(),
            }
            format!("end of {entity}")
        }
    }
}

fn history(seed: u64, with_observers: bool) {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<Plain>().unwrap();
    world.mirror_pairs::<Valued>().unwrap();
    world.mirror_pairs::<Mounted>().unwrap();
    world.mirror_pairs::<Knows>().unwrap();
    world.mirror_pairs::<Queued>().unwrap();
    if with_observers {
        world.add_observer(|on: On<PairInserted<Valued>>, mut commands: Commands| {
            commands.entity(on.target).try_insert_pair(Plain, on.source);
        });
        world.add_observer(|on: On<PairRemoved<Knows>>, mut commands: Commands| {
            commands.entity(on.source).try_insert(MirroredPairs::from_iter([(Valued(1), on.target)]));
        });
        world.add_observer(|on: On<Insert<MirroredPairs<Mounted>>>, mut commands: Commands| {
            commands.entity(on.entity).try_remove::<MirroredPairs<Plain>>();
        });
    }
    let mut random = Random(seed | 1);
    let mut entities = spawn::<6>(&mut world).to_vec();
    let mut told = Vec::new();
    let mut before: [Said; 5] = Default::default();
    for _ in 0..fewer(60) {
        world.increment_change_tick();
        told.push(step(&mut world, &mut entities, &mut random));
        if random.below(4) == 0 {
            world.maintain_pairs();
        }
        entities.retain(|&entity| world.get_entity(entity).is_ok());
        while entities.len() < 4 {
            entities.push(world.spawn_empty().id());
        }
        entities.truncate(12);
        world.check_pairs().unwrap_or_else(|error| panic!("{error}: {told:#?}"));
        let now = [
            check::<Plain>(&mut world, &told),
            check::<Valued>(&mut world, &told),
            check::<Mounted>(&mut world, &told),
            check::<Knows>(&mut world, &told),
            check::<Queued>(&mut world, &told),
        ];
        check_places(&world, &entities, &told);
        for (before, now) in before.iter().zip(&now) {
            for (source, (text, tick)) in now {
                if let Some((old, then)) = before.get(source)
                    && tick != then
                    && !with_observers
                {
                    let is_written = told.last().is_some_and(|last| last.contains(&format!("{source}")));
                    assert!(old != text || is_written, "{source} is written and the same: {told:#?}");
                }
            }
        }
        before = now;
    }
    drop(take_reported_errors());
}

#[test]
fn after_each_step_the_components_say_what_the_pairs_are() {
    for seed in 0..fewer(25) as u64 {
        history(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678, false);
    }
}

#[test]
fn also_if_observers_write_either_side() {
    for seed in 0..fewer(25) as u64 {
        history(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x8765_4321, true);
    }
}
