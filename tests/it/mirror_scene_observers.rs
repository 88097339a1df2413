//! Scenes with mirrored pairs that are written over entities while observers change pairs, components and entities; again and again,
//! with other pairs. In the end the components say what the pairs are, and every invariant holds.

use crate::common::{Random, fewer, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{prelude::*, relationship::RelationshipHookMode};
use bevy_reflect::Reflect;
use bevy_relations::{mirror::*, prelude::*, relation::Wildcard};
use core::fmt::Debug;

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
struct Owes(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct Mounted;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(symmetric)]
struct Knows(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(symmetric, exclusive)]
struct Married;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(ordered, acyclic)]
struct Queues;

#[derive(Relation, Reflect, Clone, PartialEq, Eq, Debug)]
#[relation(key = Self)]
struct Equips(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(exclusive, on_last_source = Despawn)]
struct Stays;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(with = Owes, storage = "Table", exclusive)]
struct Trades;

/// What observers have done, and may still do.
#[derive(Resource)]
struct Acts {
    random: Random,
    left: usize,
    entities: Vec<Entity>,
}

fn act(world: &mut World, entity: Entity) {
    let Some(mut acts) = world.get_resource_mut::<Acts>() else { return };
    if acts.left == 0 || acts.random.below(3) > 0 {
        return;
    }
    acts.left -= 1;
    let what = acts.random.below(13);
    let entities = core::mem::take(&mut acts.entities);
    let [a, b] = [(); 2].map(|()| acts.random.pick(&entities));
    acts.entities = entities;
    let number = acts.random.below(3) as u32;
    match what {
        0 => _ = world.despawn(entity),
        1 => _ = world.despawn(a),
        2 => _ = world.insert_pair(entity, Owes(number), a),
        3 => _ = world.insert_pair(a, Mounted, b),
        4 => _ = world.insert_pair(entity, Married, a),
        5 => _ = world.insert_pair(a, Knows(number), entity),
        6 => _ = world.insert_pair(a, Trades, b),
        7 => _ = world.remove_pairs::<Knows>(entity),
        8 => _ = world.remove_pairs_by_id(entity, PairId::ALL),
        9 => _ = world.insert_pair(entity, Queues, a),
        10 => world.maintain_pairs(),
        11 => {
            if let Ok(mut entity) = world.get_entity_mut(entity) {
                entity.remove::<MirroredPairs<Queues>>();
            }
        }
        _ => {
            if let Ok(mut entity) = world.get_entity_mut(entity) {
                entity.insert(MirroredPairs::from_iter([(Equips(number), a), (Equips(number + 1), b)]));
            }
        }
    }
}

fn observe<R: MirroredRelation>(world: &mut World) {
    world.mirror_pairs::<R>().unwrap();
    world.add_observer(|on: On<Insert<MirroredPairs<R>>>, mut commands: Commands| {
        let entity = on.entity;
        commands.queue(move |world: &mut World| act(world, entity));
    });
}

fn world() -> World {
    let mut world = world_that_records_errors();
    observe::<Owes>(&mut world);
    observe::<Mounted>(&mut world);
    observe::<Knows>(&mut world);
    observe::<Married>(&mut world);
    observe::<Queues>(&mut world);
    observe::<Equips>(&mut world);
    observe::<Stays>(&mut world);
    observe::<Trades>(&mut world);
    world.add_observer(|on: On<PairInserted<Wildcard>>, mut commands: Commands| {
        let source = on.event().source;
        commands.queue(move |world: &mut World| act(world, source));
    });
    world.add_observer(|on: On<PairRemoved<Wildcard>>, mut commands: Commands| {
        let target = on.event().target;
        commands.queue(move |world: &mut World| act(world, target));
    });
    world
}

/// Writes a component as scenes do.
fn write<R: MirroredRelation>(
    world: &mut World,
    random: &mut Random,
    (source, entities): (Entity, &[Entity]),
    value: fn(u32) -> R,
) {
    let count = random.below(4);
    let pairs: Vec<_> = (0..count)
        .map(|_| {
            let (target, number) = (random.pick(entities), random.below(3) as u32);
            let mut pair = MirroredPair::new(value(number), target);
            pair.place = (random.below(2) == 0).then_some(number.into());
            if random.below(5) == 0 {
                pair.value = None;
            }
            pair
        })
        .collect();
    if let Ok(mut source) = world.get_entity_mut(source) {
        source.insert_with_relationship_hook_mode(MirroredPairs { pairs }, RelationshipHookMode::Skip);
    }
}

fn check<R: MirroredRelation + PartialEq + Debug>(world: &World, seed: u64, entities: &[Entity]) {
    for &source in entities {
        let shown = world.get::<MirroredPairs<R>>(source);
        let shown: Vec<_> = shown
            .into_iter()
            .flat_map(|shown| &shown.pairs)
            .map(|pair| (pair.target.entity().unwrap(), pair.value.clone()))
            .collect();
        let there: Vec<_> = world
            .pairs::<R>()
            .targets(source)
            .map(|target| (target, world.pair_value::<R>(source, target).cloned()))
            .collect();
        assert_eq!(shown, there, "{seed}: {} of {source}", core::any::type_name::<R>());
    }
}

fn check_all(world: &World, seed: u64, entities: &[Entity]) {
    world.check_pairs().unwrap_or_else(|error| panic!("{seed}: {error}"));
    check::<Owes>(world, seed, entities);
    check::<Mounted>(world, seed, entities);
    check::<Knows>(world, seed, entities);
    check::<Married>(world, seed, entities);
    check::<Queues>(world, seed, entities);
    check::<Equips>(world, seed, entities);
    check::<Stays>(world, seed, entities);
    check::<Trades>(world, seed, entities);
}

#[test]
fn whatever_observers_do_the_components_say_what_the_pairs_are() {
    for seed in 1..=fewer(120) as u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = world();
        let entities: [Entity; 6] = spawn(&mut world);
        world.insert_resource(Acts { random: random.clone(), left: 0, entities: entities.to_vec() });
        for _ in 0..4 {
            world.resource_mut::<Acts>().left = random.below(12);
            for _ in 0..1 + random.below(8) {
                let part = (random.pick(&entities), &entities[..]);
                let (world, random) = (&mut world, &mut random);
                match random.below(8) {
                    0 => write(world, random, part, Owes),
                    1 => write(world, random, part, |_| Mounted),
                    2 => write(world, random, part, Knows),
                    3 => write(world, random, part, |_| Married),
                    4 => write(world, random, part, |_| Queues),
                    5 => write(world, random, part, Equips),
                    6 => write(world, random, part, |_| Stays),
                    _ => write(world, random, part, |_| Trades),
                }
                world.check_pairs().unwrap_or_else(|error| panic!("{seed}: {error}"));
            }
            // What observers bring in the last round may wait for the next.
            world.maintain_pairs();
            world.resource_mut::<Acts>().left = 0;
            world.maintain_pairs();
            check_all(&world, seed, &entities);
            // Nothing is left to do.
            let before = format!("{:?}", crate::common::dump(&world));
            take_reported_errors();
            world.maintain_pairs();
            assert_eq!(format!("{:?}", crate::common::dump(&world)), before, "{seed}");
            assert_eq!(take_reported_errors(), [""; 0], "{seed}");
        }
    }
}
