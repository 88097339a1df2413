//! Values of pairs, on the fast path and by the rules.

use crate::common::{Random, fewer, spawn, world_that_records_errors};
use bevy_ecs::prelude::*;
use bevy_relations::{prelude::*, query::ChangedPair};
use std::{collections::BTreeMap, sync::Arc};

#[derive(Relation, Clone)]
struct Owes(u32, #[expect(dead_code, reason = "it counts the values")] Arc<()>);

#[derive(Relation, Clone)]
#[relation(exclusive)]
struct Rents(u32, #[expect(dead_code, reason = "it counts the values")] Arc<()>);

#[derive(Relation, Clone)]
#[relation(traversable, acyclic)]
struct Reports(u32, #[expect(dead_code, reason = "it counts the values")] Arc<()>);

#[derive(Relation, Clone)]
#[relation(ordered)]
struct Queues(u32, #[expect(dead_code, reason = "it counts the values")] Arc<()>);

/// A relation whose values are told apart and counted.
trait Valued: Relation {
    const EXCLUSIVE: bool = false;
    const ACYCLIC: bool = false;
    fn new(number: u32, counter: Arc<()>) -> Self;
    fn number(&self) -> u32;
}

macro_rules! valued {
    ($name:ident $(, $flag:ident)?) => {
        impl Valued for $name {
            $(const $flag: bool = true;)?
            fn new(number: u32, counter: Arc<()>) -> Self {
                Self(number, counter)
            }
            fn number(&self) -> u32 {
                self.0
            }
        }
    };
}

valued!(Owes);
valued!(Rents, EXCLUSIVE);
valued!(Reports, ACYCLIC);
valued!(Queues);

type Model = BTreeMap<(Entity, Entity), u32>;

/// Whether a path leads from `start` to `end`.
fn leads(model: &Model, start: Entity, end: Entity) -> bool {
    start == end || model.keys().any(|&(source, target)| source == start && leads(model, target, end))
}

fn model_insert<R: Valued>(model: &mut Model, source: Entity, target: Entity, number: u32) -> bool {
    if R::ACYCLIC && leads(model, target, source) {
        return false;
    }
    if R::EXCLUSIVE {
        model.retain(|pair, _| pair.0 != source);
    }
    model.insert((source, target), number);
    true
}

fn compare<R: Valued>(world: &World, model: &Model, counter: &Arc<()>) {
    world.check_pairs().unwrap();
    for (&(source, target), &number) in model {
        assert_eq!(world.pair_value::<R>(source, target).map(R::number), Some(number));
    }
    let count: usize = world.pairs::<R>().iter().count();
    assert_eq!((count, Arc::strong_count(counter)), (model.len(), model.len() + 1));
}

/// Random changes of every kind, one by one and many at once, beside a model.
fn storm<R: Valued>(seed: u64) {
    let mut world = world_that_records_errors();
    let (mut random, counter, mut model) = (Random(seed), Arc::new(()), Model::new());
    let mut entities = spawn::<8>(&mut world).to_vec();
    for step in 0..fewer(600) as u32 {
        let several: Vec<_> = (0..1 + random.below(5))
            .map(|_| (random.pick(&entities), random.pick(&entities)))
            .filter(|(source, target)| source != target)
            .collect();
        match random.below(5) {
            0 => {
                let pairs =
                    several.iter().map(|&(source, target)| (source, R::new(step, counter.clone()), target));
                let result = world.insert_pair_batch(pairs);
                let mut refused = 0;
                for (source, target) in several {
                    refused += usize::from(!model_insert::<R>(&mut model, source, target, step));
                }
                assert_eq!(result.map_or_else(|error| error.refused.len(), |()| 0), refused);
            }
            1 => {
                let there = world.remove_pair_batch::<R>(several.iter().copied());
                let removed = several.iter().filter(|pair| model.remove(*pair).is_some()).count();
                assert_eq!(there, removed);
            }
            2 => {
                let at = random.below(entities.len());
                world.despawn(entities[at]);
                model.retain(|pair, _| pair.0 != entities[at] && pair.1 != entities[at]);
                entities[at] = world.spawn_empty().id();
            }
            3 => {
                for pair in several {
                    assert_eq!(world.remove_pair::<R>(pair.0, pair.1), model.remove(&pair).is_some());
                }
            }
            _ => {
                for (source, target) in several {
                    let inserted = world.insert_pair(source, R::new(step, counter.clone()), target).is_ok();
                    assert_eq!(inserted, model_insert::<R>(&mut model, source, target, step));
                }
            }
        }
        compare::<R>(&world, &model, &counter);
    }
}

#[test]
fn values_on_the_fast_path_are_those_that_were_inserted() {
    for seed in 1..4 {
        storm::<Owes>(seed);
        storm::<Rents>(seed);
        storm::<Reports>(seed);
        storm::<Queues>(seed);
    }
}

#[test]
fn observers_see_each_value_that_comes_and_goes_whatever_came_before() {
    #[derive(Resource, Default)]
    struct Seen(Vec<(u32, bool)>);
    let counter = Arc::new(());
    let mut world = world_that_records_errors();
    world.init_resource::<Seen>();
    let [a, b, c] = spawn(&mut world);
    for number in 0..3 {
        world.insert_pair(a, Owes(number, counter.clone()), b).unwrap();
    }
    world.add_observer(|on: On<PairInserted<Owes>>, pairs: Pairs<Owes>, mut seen: ResMut<Seen>| {
        seen.0.push((pairs.get(on.source, on.target).unwrap().0, on.replaced));
    });
    world.add_observer(|on: On<PairRemoved<Owes>>, pairs: Pairs<Owes>, mut seen: ResMut<Seen>| {
        seen.0.push((pairs.get(on.source, on.target).unwrap().0 + 100, false));
    });
    world.insert_pair(a, Owes(3, counter.clone()), b).unwrap();
    world.insert_pair_batch([(a, Owes(4, counter.clone()), c), (a, Owes(5, counter.clone()), c)]).unwrap();
    assert!(world.remove_pair::<Owes>(a, b));
    assert_eq!(world.remove_pair_batch::<Owes>([(a, b), (a, c)]), 1);
    assert_eq!(world.resource::<Seen>().0, [(3, true), (4, false), (5, true), (103, false), (105, false)]);
    assert_eq!(Arc::strong_count(&counter), 1);
    world.check_pairs().unwrap();
}

#[test]
fn values_go_into_the_column_of_the_store_that_is_there() {
    let counter = Arc::new(());
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    for number in 0..3 {
        world.insert_pair(a, Owes(number, counter.clone()), b).unwrap();
    }
    world.clear_resources();
    assert_eq!(Arc::strong_count(&counter), 1);
    for number in 3..6 {
        world.insert_pair(a, Owes(number, counter.clone()), b).unwrap();
    }
    assert_eq!(world.pair_value::<Owes>(a, b).map(Valued::number), Some(5));
    assert_eq!(Arc::strong_count(&counter), 2);
    world.check_pairs().unwrap();
}

/// Far more relations than a record of a participant has bits for.
#[test]
fn many_relations_of_run_time_and_what_is_removed_from_them_agree() {
    let mut world = world_that_records_errors();
    let relations: Vec<Entity> =
        (0..100).map(|_| world.spawn_relation("R", RelationTraits::new()).unwrap()).collect();
    let entities = spawn::<6>(&mut world);
    let mut random = Random(7);
    let mut model = std::collections::BTreeSet::new();
    for _ in 0..fewer(3_000) {
        let (relation, source, target) =
            (random.pick(&relations), random.pick(&entities), random.pick(&entities));
        if random.below(3) == 0 {
            let removed = world.remove_pairs_by_id(source, (relation, target));
            assert_eq!(removed, usize::from(model.remove(&(relation, source, target))));
        } else {
            world.insert_pair_by_id(source, (relation, target)).unwrap();
            model.insert((relation, source, target));
        }
    }
    world.check_pairs().unwrap();
    for &entity in &entities {
        let count = model.iter().filter(|pair| pair.1 == entity).count();
        assert_eq!(world.pairs_of(entity).len(), count);
    }
    world.despawn(entities[0]);
    model.retain(|pair| pair.1 != entities[0] && pair.2 != entities[0]);
    let left: usize = entities[1..].iter().map(|&entity| world.pairs_of(entity).len()).sum();
    assert_eq!(left, model.len());
    world.check_pairs().unwrap();
}

/// A pair of a symmetric relation leaves its value to the end that is a type with fields. With two such ends each direction would
/// have a value of its own.
#[test]
fn a_symmetric_pair_of_two_types_with_fields_is_refused() {
    #[derive(Relation)]
    #[relation(symmetric)]
    struct Conflicts;
    #[derive(Relation)]
    #[relation(symmetric, tag)]
    struct Beside;
    #[derive(Relation)]
    #[relation(tag, with = Conflicts)]
    struct Fights;
    #[derive(Relation)]
    struct Begin;
    #[derive(Relation, Default, Debug, PartialEq, Clone)]
    struct Place(u32);
    #[derive(Component, Default, Debug, PartialEq, Clone)]
    struct Speed(u64);

    let mut world = world_that_records_errors();
    let conflicts = world.register_relation::<Conflicts>().unwrap();
    let begin = world.register_relation::<Begin>().unwrap();
    let (place, speed) = (world.entity_of::<Place>(), world.entity_of::<Speed>());
    let [x, y] = spawn(&mut world);
    world.insert_pair_value_by_id(x, (begin, place), Place(7)).unwrap();
    for (source, target) in [(place, speed), (speed, place)] {
        let refused = [
            world.insert_pair_value_by_id(source, (conflicts, target), Speed(5)).unwrap_err(),
            world.insert_pair_value_by_id(source, (conflicts, target), Place(5)).unwrap_err(),
            world.insert_pair_by_id(source, (conflicts, target)).unwrap_err(),
            world.insert_pair(source, Fights, target).unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, bevy_relations::error::InsertPairError::TwoValueTypes { .. }), "{error}");
            assert!(error.to_string().contains("declare the relation a tag"), "{error}");
        }
        assert!(!world.has_pair::<Conflicts>(source, target) && !world.has_pair::<Fights>(source, target));
        world.insert_pair(source, Beside, target).unwrap();
        world.check_pairs().unwrap();
    }
    // One end, either of them, or one type at both.
    world.insert_pair_value_by_id(place, (conflicts, y), Place(3)).unwrap();
    world.insert_pair_value_by_id(y, (conflicts, speed), Speed(4)).unwrap();
    world.insert_pair_value_by_id(place, (conflicts, place), Place(8)).unwrap();
    for (one, other) in [(place, y), (y, place)] {
        assert_eq!(world.pair_value_by_id::<Place>(one, (conflicts, other)), Some(&Place(3)));
    }
    for (one, other) in [(speed, y), (y, speed)] {
        assert_eq!(world.pair_value_by_id::<Speed>(one, (conflicts, other)), Some(&Speed(4)));
    }
    world.check_pairs().unwrap();
    world.remove_pairs::<Conflicts>(place);
    assert_eq!(world.pair_value_by_id::<Place>(x, (begin, place)), Some(&Place(7)));
    world.check_pairs().unwrap();
}

/// The target of an exclusive relation that makes way for another may be a type with fields.
#[test]
fn the_value_of_a_pair_that_makes_way_is_dropped_by_every_way_of_insertion() {
    #[derive(Relation, Default)]
    #[relation(exclusive)]
    struct Carries;
    #[derive(Relation, Default)]
    #[relation(exclusive, storage = "Table")]
    struct CarriesInTable;
    #[derive(Relation, Default)]
    #[relation(exclusive, storage = "Fragmenting")]
    struct CarriesInArchetype;
    #[derive(Relation, Default)]
    #[relation(exclusive, traversable, on_target_despawn = Despawn)]
    struct CarriesAlong;
    #[derive(Relation, Default)]
    #[relation(exclusive, ordered)]
    struct CarriesInOrder;
    dropped::<Carries>();
    dropped::<CarriesInTable>();
    dropped::<CarriesInArchetype>();
    dropped::<CarriesAlong>();
    dropped::<CarriesInOrder>();
}

#[derive(Component, Clone)]
struct Cargo(#[expect(dead_code, reason = "it counts the values")] Arc<()>);

fn dropped<R: Relation + Default>() {
    for way in 0..8 {
        let mut world = world_that_records_errors();
        let relation = world.register_relation::<R>().unwrap();
        let cargo = world.entity_of::<Cargo>();
        let [ship, other, load] = spawn(&mut world);
        let values = Arc::new(());
        // Used before without values.
        world.insert_pair(ship, R::default(), other).unwrap();
        world.insert_pair_value_by_id(ship, (relation, cargo), Cargo(values.clone())).unwrap();
        assert_eq!(Arc::strong_count(&values), 2);
        match way {
            0 => world.insert_pair(ship, R::default(), load).unwrap(),
            1 => world.insert_pair_by_id(ship, (relation, load)).unwrap(),
            2 => world.insert_pair_batch([(ship, R::default(), load)]).unwrap(),
            3 => _ = world.commands().entity(ship).insert_pair(R::default(), load),
            4 => _ = world.entity_mut(ship).insert(Pair(R::default(), load)),
            5 => world.replace_targets(ship, [(R::default(), load)]).unwrap(),
            6 => _ = world.remove_pairs::<R>(ship),
            _ => _ = world.despawn(ship),
        }
        world.flush();
        world.check_pairs().unwrap_or_else(|error| panic!("{}, {way}: {error}", core::any::type_name::<R>()));
        assert_eq!(Arc::strong_count(&values), 1, "{}, {way}", core::any::type_name::<R>());
    }
}

/// What [`WorldPairExt::pair_value_mut`] returns, and who notices what is written there.
#[test]
fn a_value_is_written_on_the_world() {
    let mut world = world_that_records_errors();
    let [a, b, dead] = spawn(&mut world);
    world.despawn(dead);
    let counter = Arc::new(());
    assert!(world.pair_value_mut::<Owes>(a, b).is_none(), "the relation was never used");
    world.insert_pair(a, Owes(1, counter.clone()), b).unwrap();
    world.insert_pair(a, Owes(9, counter.clone()), a).unwrap();
    let reader = world.register_system(|changed: Query<Entity, ChangedPair<Owes>>| changed.iter().count());
    assert_eq!(world.run_system(reader).unwrap(), 1);
    assert_eq!(world.run_system(reader).unwrap(), 0);

    let value = world.pair_value_mut::<Owes>(a, b).unwrap();
    assert_eq!(value.0, 1);
    assert_eq!(world.run_system(reader).unwrap(), 0, "nothing was written");
    world.pair_value_mut::<Owes>(a, b).unwrap().0 += 4;
    assert_eq!(world.pair_value::<Owes>(a, b).unwrap().0, 5);
    assert_eq!(world.pair_value::<Owes>(a, a).unwrap().0, 9);
    assert_eq!(world.run_system(reader).unwrap(), 1);
    assert_eq!(world.run_system(reader).unwrap(), 0);

    for (source, target) in [(b, a), (a, dead), (dead, a), (dead, dead)] {
        assert!(world.pair_value_mut::<Owes>(source, target).is_none());
    }
    world.remove_pair::<Owes>(a, b);
    assert!(world.pair_value_mut::<Owes>(a, b).is_none());
    world.clear_pairs();
    assert!(world.pair_value_mut::<Owes>(a, a).is_none());
    assert_eq!(Arc::strong_count(&counter), 1);
    world.check_pairs().unwrap();
}
