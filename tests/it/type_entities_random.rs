//! Entities that stand for types and are despawned, cleared and made again: as relations, as targets and as sources, with values and
//! without, alone and together, also by observers and by commands of systems that iterate over their pairs.

use crate::common::{Random, dump, fewer, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{prelude::*, relation::Wildcard};
use core::cell::Cell;
use std::collections::BTreeMap;

thread_local! {
    static ALIVE: Cell<isize> = const { Cell::new(0) };
}

/// Counts values.
#[derive(Debug)]
struct Counted(());

impl Default for Counted {
    fn default() -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self(())
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

#[derive(Relation, Clone)]
struct Begins;

#[derive(Relation, Clone)]
#[relation(exclusive)]
struct Starts;

#[derive(Relation, Clone, Default, Debug)]
struct Owes(u32, Counted);

/// With fields, and a component alone.
#[derive(Component, Clone, Default, Debug)]
struct Place(u32, Counted);

/// Without fields.
#[derive(Component, Clone)]
struct Plain;

/// The types, in the order of their numbers.
const BEGINS: usize = 0;
const STARTS: usize = 1;
const OWES: usize = 2;
const PLACE: usize = 3;
const TYPES: usize = 5;

fn entity_of(world: &mut World, number: usize) -> Entity {
    match number {
        BEGINS => world.entity_of::<Begins>(),
        STARTS => world.entity_of::<Starts>(),
        OWES => world.entity_of::<Owes>(),
        PLACE => world.entity_of::<Place>(),
        _ => world.entity_of::<Plain>(),
    }
}

fn known_entity_of(world: &World, number: usize) -> Option<Entity> {
    match number {
        BEGINS => world.get_entity_of::<Begins>(),
        STARTS => world.get_entity_of::<Starts>(),
        OWES => world.get_entity_of::<Owes>(),
        PLACE => world.get_entity_of::<Place>(),
        _ => world.get_entity_of::<Plain>(),
    }
}

/// The type whose values a pair carries: its relation, or its target.
fn values(relation: usize, target: Option<usize>) -> Option<usize> {
    match (relation, target) {
        (OWES | PLACE, _) => Some(relation),
        (_, Some(target @ (OWES | PLACE))) => Some(target),
        _ => None,
    }
}

/// A pair by its entities, with its value.
type Model = BTreeMap<(Entity, Entity, Entity), Option<u32>>;

fn read(world: &World) -> Model {
    let pairs = world.any_pairs();
    let all = pairs.iter().map(|(source, relation, target)| {
        let owes = world.pair_value_by_id::<Owes>(source, (relation, target)).map(|owes| owes.0);
        let place = world.pair_value_by_id::<Place>(source, (relation, target)).map(|place| place.0);
        ((source, relation, target), owes.or(place))
    });
    all.collect()
}

fn check(world: &World, model: &Model, seed: u64) {
    world.check_pairs().unwrap_or_else(|error| panic!("{seed}: {error}"));
    assert_eq!(&read(world), model, "{seed}");
    let values = model.values().filter(|value| value.is_some()).count();
    assert_eq!(ALIVE.get(), values as isize, "{seed}: values");
}

fn world() -> World {
    ALIVE.set(0);
    let mut world = world_that_records_errors();
    world.register_relation::<Begins>().unwrap();
    world.register_relation::<Starts>().unwrap();
    world.register_relation::<Owes>().unwrap();
    for number in 0..TYPES {
        entity_of(&mut world, number);
    }
    world
}

/// An end of a pair: an entity, or a type by its number.
fn end(world: &mut World, random: &mut Random, entities: &[Entity]) -> (Entity, Option<usize>) {
    match random.below(8) {
        0..=4 => (random.pick(entities), None),
        _ => {
            let number = random.below(TYPES);
            (entity_of(world, number), Some(number))
        }
    }
}

#[test]
fn pairs_go_with_the_entity_of_a_type_and_it_can_be_used_again() {
    for seed in 1..=fewer(150) as u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = world();
        let entities = spawn::<4>(&mut world).to_vec();
        let mut model = Model::new();
        for _ in 0..60 {
            match random.below(12) {
                0..=5 => {
                    let number = random.below(TYPES);
                    let (target, target_type) = end(&mut world, &mut random, &entities);
                    let (source, _) = end(&mut world, &mut random, &entities);
                    // Last, as the others may have made it anew.
                    let relation = entity_of(&mut world, number);
                    let given = random.below(9) as u32;
                    let pair = (relation, target);
                    let carries = values(number, target_type);
                    let given = match carries {
                        Some(OWES) if given > 2 => {
                            let value = Owes(given, Counted::default());
                            world.insert_pair_value_by_id(source, pair, value).unwrap();
                            Some(given)
                        }
                        Some(PLACE) => {
                            let value = Place(given, Counted::default());
                            world.insert_pair_value_by_id(source, pair, value).unwrap();
                            Some(given)
                        }
                        carries => {
                            world.insert_pair_by_id(source, pair).unwrap();
                            carries.map(|_| 0)
                        }
                    };
                    let key = (source, relation, target);
                    if number == STARTS {
                        model.retain(|&(s, r, t), _| (s, r) != (source, relation) || t == target);
                    }
                    match (model.get(&key), given) {
                        // Without a value that is given, the one that is there stays, or it is the default again.
                        (Some(_), Some(0)) => {
                            model.insert(key, read(&world)[&key]);
                        }
                        _ => _ = model.insert(key, given),
                    }
                }
                step @ 6..=8 => {
                    let Some(gone) = known_entity_of(&world, random.below(TYPES)) else { continue };
                    match step {
                        6 => _ = world.despawn(gone),
                        7 => {
                            world.commands().entity(gone).despawn();
                            world.flush();
                        }
                        // Its own pairs go, and those with it stay.
                        _ if random.below(2) == 0 => {
                            world.entity_mut(gone).clear();
                            model.retain(|&(s, ..), _| s != gone);
                            check(&world, &model, seed);
                            world.despawn(gone);
                        }
                        _ => {
                            let alive = world.despawn_with_dependents(gone).is_err();
                            if alive {
                                // Its pairs refuse that.
                                check(&world, &model, seed);
                                continue;
                            }
                        }
                    }
                    model.retain(|&(s, r, t), _| s != gone && r != gone && t != gone);
                }
                9 => {
                    // By a system that iterates over all pairs.
                    let gone = known_entity_of(&world, random.below(TYPES));
                    let despawn = move |pairs: AnyPairs, mut commands: Commands| {
                        for (source, relation, target) in pairs.iter() {
                            if let Some(gone) = gone
                                && [source, relation, target].contains(&gone)
                            {
                                commands.entity(gone).try_despawn();
                                commands.entity(source).try_insert(Name::new("former"));
                            }
                        }
                    };
                    world.run_system_once(despawn).unwrap();
                    if let Some(gone) = gone.filter(|&gone| world.get_entity(gone).is_err()) {
                        model.retain(|&(s, r, t), _| s != gone && r != gone && t != gone);
                    }
                }
                10 => {
                    let (target, _) = end(&mut world, &mut random, &entities);
                    world.remove_pairs_everywhere(PairId::with_target(target));
                    model.retain(|&(_, _, t), _| t != target);
                }
                _ => world.maintain_pairs(),
            }
            check(&world, &model, seed);
        }
        take_reported_errors();
        drop(world);
        assert_eq!(ALIVE.get(), 0, "{seed}");
    }
}

/// What observers may still do.
#[derive(Resource)]
struct Acts {
    random: Random,
    left: usize,
    entities: Vec<Entity>,
}

fn act(world: &mut World, entity: Entity) {
    let Some(mut acts) = world.get_resource_mut::<Acts>() else { return };
    if acts.left == 0 || acts.random.below(2) > 0 {
        return;
    }
    acts.left -= 1;
    let Acts { random, entities, .. } = &mut *acts;
    let (what, number, other) = (random.below(6), random.below(TYPES), random.pick(entities));
    match what {
        0 | 1 => _ = known_entity_of(world, number).map(|gone| world.despawn(gone)),
        2 => {
            let relation = entity_of(world, number);
            _ = world.insert_pair_by_id(entity, (relation, other));
        }
        3 => _ = world.insert_pair_to::<Begins, Place>(other, Place::default()),
        4 => {
            let target = entity_of(world, number);
            _ = world.insert_pair(other, Begins, target);
        }
        _ => {
            if let Some(Ok(mut cleared)) = known_entity_of(world, number).map(|it| world.get_entity_mut(it)) {
                cleared.clear();
            }
        }
    }
}

#[test]
fn observers_may_despawn_the_entities_of_types_at_any_time() {
    for seed in 1..=fewer(150) as u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = world();
        let entities = spawn::<4>(&mut world).to_vec();
        world.add_observer(|on: On<PairInserted<Wildcard>>, mut commands: Commands| {
            let source = on.event().source;
            commands.queue(move |world: &mut World| act(world, source));
        });
        world.add_observer(|on: On<PairRemoved<Wildcard>>, mut commands: Commands| {
            let target = on.event().target;
            commands.queue(move |world: &mut World| act(world, target));
        });
        world.add_observer(|on: On<Despawn<Name>>, mut commands: Commands| {
            let entity = on.entity;
            commands.queue(move |world: &mut World| act(world, entity));
        });
        world.insert_resource(Acts { random: random.clone(), left: 0, entities: entities.clone() });
        for _ in 0..40 {
            world.resource_mut::<Acts>().left = random.below(4);
            let number = random.below(TYPES);
            let (source, _) = end(&mut world, &mut random, &entities);
            let (target, _) = end(&mut world, &mut random, &entities);
            match random.below(4) {
                0 | 1 => {
                    let relation = entity_of(&mut world, number);
                    _ = world.insert_pair_by_id(source, (relation, target));
                }
                2 => _ = known_entity_of(&world, number).map(|gone| world.despawn(gone)),
                _ => _ = world.insert_pair_to::<Begins, Place>(source, Place::default()),
            }
            world.check_pairs().unwrap_or_else(|error| panic!("{seed}: {error}"));
            let values = read(&world).values().filter(|value| value.is_some()).count();
            assert_eq!(ALIVE.get(), values as isize, "{seed}: {:#?}", dump(&world));
        }
        // Each can be used again.
        world.remove_resource::<Acts>();
        let [a, b] = [entities[0], entities[1]];
        for number in 0..TYPES {
            let relation = entity_of(&mut world, number);
            match number {
                PLACE => world.insert_pair_value_by_id(a, (relation, b), Place::default()).unwrap(),
                _ => world.insert_pair_by_id(a, (relation, b)).unwrap(),
            }
            assert!(world.has_pair_by_id(a, (relation, b)), "{seed}");
        }
        world.insert_pair_to::<Begins, Place>(b, Place(8, Counted::default())).unwrap();
        let pair = (world.entity_of::<Begins>(), world.entity_of::<Place>());
        assert_eq!(world.pair_value_by_id::<Place>(b, pair).map(|place| place.0), Some(8));
        world.check_pairs().unwrap_or_else(|error| panic!("{seed}: {error}"));
        take_reported_errors();
        drop(world);
        assert_eq!(ALIVE.get(), 0, "{seed}");
    }
}
