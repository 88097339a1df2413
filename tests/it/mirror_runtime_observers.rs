//! The component that shows the pairs of run-time relations, written as scenes and programs do, while observers change pairs, relations,
//! entities and the component itself. In the end it says what the pairs are, and every invariant holds.

use crate::common::{Random, dump, fewer, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry, relationship::RelationshipHookMode};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use bevy_relations::{
    mirror::*,
    prelude::*,
    relation::{CleanupPolicy, Wildcard},
};

#[derive(Reflect, Clone, PartialEq, Default, Debug)]
#[reflect(Default, Clone, PartialEq)]
struct Trust(u32);

/// What observers have done, and may still do.
#[derive(Resource)]
struct Acts {
    random: Random,
    left: usize,
    entities: Vec<Entity>,
    relations: Vec<Entity>,
}

fn listed(random: &mut Random, entities: &[Entity], relations: &[Entity]) -> RuntimeMirroredPairs {
    let count = random.below(4);
    let pairs: Vec<_> = (0..count)
        .map(|_| {
            let relation = random.pick(relations);
            let named = match random.below(4) {
                0 => RuntimeRelation { entity: relation, name: Some("some".into()) },
                _ => RuntimeRelation { entity: relation, name: None },
            };
            let mut pair = RuntimeMirroredPair::new(named, random.pick(entities));
            pair.place = (random.below(2) == 0).then(|| random.below(3) as u64);
            match random.below(3) {
                0 => pair.with_value(Trust(random.below(3) as u32)),
                _ => pair,
            }
        })
        .collect();
    RuntimeMirroredPairs::from_iter(pairs)
}

fn act(world: &mut World, entity: Entity) {
    let Some(mut acts) = world.get_resource_mut::<Acts>() else { return };
    if acts.left == 0 || acts.random.below(3) > 0 {
        return;
    }
    acts.left -= 1;
    let Acts { random, entities, relations, .. } = &mut *acts;
    let what = random.below(14);
    let [a, b] = [(); 2].map(|()| random.pick(entities));
    let relation = random.pick(relations);
    let value = Trust(random.below(3) as u32);
    let component = listed(random, entities, relations);
    match what {
        0 => _ = world.despawn(entity),
        1 => _ = world.despawn(a),
        2 => _ = world.despawn(relation),
        3 => _ = world.insert_pair_by_id(entity, (relation, a)),
        4 => _ = world.insert_pair_by_id(a, (relation, entity)),
        5 => _ = world.insert_pair_value_by_id(a, (relation, b), value),
        6 => _ = world.remove_pairs_by_id(entity, PairId::ALL),
        7 => _ = world.remove_pairs_everywhere(PairId::with_relation(relation)),
        8 => world.maintain_pairs(),
        // A new relation, and one that was none.
        9 => _ = world.insert_pair_by_id(a, (b, entity)),
        10 => {
            if let Ok(mut entity) = world.get_entity_mut(entity) {
                entity.remove::<RuntimeMirroredPairs>();
            }
        }
        11 => {
            if let Ok(mut relation) = world.get_entity_mut(relation) {
                relation.insert(Name::new(["some", "other"][value.0 as usize % 2]));
            }
        }
        _ => {
            if let Ok(mut entity) = world.get_entity_mut(if what == 12 { entity } else { a }) {
                entity.insert(component);
            }
        }
    }
}

fn queue(entity: Entity, mut commands: Commands) {
    commands.queue(move |world: &mut World| act(world, entity));
}

fn world() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().write().register::<Trust>();
    world.mirror_runtime_pairs();
    world.add_observer(|on: On<Insert<RuntimeMirroredPairs>>, commands: Commands| queue(on.entity, commands));
    world.add_observer(|on: On<Discard<RuntimeMirroredPairs>>, commands: Commands| {
        queue(on.entity, commands);
    });
    world.add_observer(|on: On<PairInserted<Wildcard>>, commands: Commands| {
        queue(on.event().source, commands);
    });
    world
        .add_observer(|on: On<PairRemoved<Wildcard>>, commands: Commands| queue(on.event().target, commands));
    world
}

fn relations(world: &mut World, random: &mut Random) -> Vec<Entity> {
    let kinds = [
        RelationTraits::new(),
        RelationTraits::new().data::<Trust>(),
        RelationTraits::new().symmetric(),
        RelationTraits::new().symmetric().exclusive(),
        RelationTraits::new().exclusive().traversable().on_target_despawn(CleanupPolicy::Despawn),
        RelationTraits::new().on_relation_despawn(CleanupPolicy::Despawn),
        RelationTraits::new().ordered(),
        RelationTraits::new().symmetric().data::<Trust>(),
    ];
    let mut all: Vec<Entity> = Vec::new();
    for (number, traits) in kinds.into_iter().enumerate() {
        let name = ["some", "other", "third"][number % 3];
        all.push(world.spawn_relation(name, traits).unwrap());
    }
    let companion = RelationTraits::new().with_id(random.pick(&all));
    all.push(world.spawn_relation("companion", companion).unwrap());
    all
}

/// Every component says what the pairs of its entity are, and no source is without one.
fn check(world: &World, seed: u64) {
    world.check_pairs().unwrap_or_else(|error| panic!("{seed}: {error}"));
    for source in crate::common::all_entities(world) {
        let mut expected: Vec<(Entity, Entity, Option<u32>)> = Vec::new();
        for (relation, target) in world.pairs_of(source) {
            let value = world.pair_value_by_id::<Trust>(source, (relation, target)).map(|value| value.0);
            expected.push((relation, target, value));
        }
        let there = world.get::<RuntimeMirroredPairs>(source);
        let shown = there.into_iter().flat_map(|there| &there.pairs).map(|pair| {
            let value = pair.value.as_ref().map(|value| value.get().try_downcast_ref::<Trust>().unwrap().0);
            (pair.relation.entity, pair.target.entity().unwrap(), value)
        });
        let mut shown: Vec<_> = shown.collect();
        // Of one relation in their order, which a stable sort keeps.
        shown.sort_by_key(|&(relation, ..)| relation);
        expected.sort_by_key(|&(relation, ..)| relation);
        assert_eq!(shown, expected, "{seed}: {source}");
        assert_eq!(there.is_some(), !expected.is_empty(), "{seed}: {source}");
    }
}

#[test]
fn whatever_observers_do_the_component_says_what_the_pairs_are() {
    for seed in 1..=fewer(150) as u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = world();
        let entities = spawn::<6>(&mut world).to_vec();
        let relations = relations(&mut world, &mut random);
        let acts = Acts {
            random: random.clone(),
            left: 0,
            entities: entities.clone(),
            relations: relations.clone(),
        };
        world.insert_resource(acts);
        for _ in 0..5 {
            world.resource_mut::<Acts>().left = random.below(12);
            for _ in 0..1 + random.below(8) {
                let (a, b) = (random.pick(&entities), random.pick(&entities));
                let relation = random.pick(&relations);
                let component = listed(&mut random, &entities, &relations);
                match (random.below(7), world.get_entity_mut(a)) {
                    (0..=1, Ok(mut entity)) => {
                        // As scenes are written.
                        entity.insert_with_relationship_hook_mode(component, RelationshipHookMode::Skip);
                    }
                    (2..=3, Ok(mut entity)) => _ = entity.insert(component),
                    (4, _) => _ = world.insert_pair_by_id(a, (relation, b)),
                    (5, Ok(mut entity)) => _ = entity.remove::<RuntimeMirroredPairs>(),
                    (6, _) if random.below(3) == 0 => _ = world.despawn(a),
                    _ => _ = world.remove_pairs_by_id(a, PairId::with_relation(relation)),
                }
                world.check_pairs().unwrap_or_else(|error| panic!("{seed}: {error}"));
            }
            // What observers bring in the last round may wait for the next.
            world.maintain_pairs();
            world.resource_mut::<Acts>().left = 0;
            world.maintain_pairs();
            check(&world, seed);
            // Nothing is left to do.
            let before = dump(&world);
            take_reported_errors();
            world.maintain_pairs();
            assert_eq!(dump(&world), before, "{seed}");
            assert_eq!(take_reported_errors(), [""; 0], "{seed}");
        }
    }
}
