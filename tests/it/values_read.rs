//! Values of pairs: every way of reading or writing them gives the same, in relations of every kind, while pairs come and go.

use crate::common::{Random, fewer};
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{
    prelude::*,
    query::{Sources, Target, Targets},
    relation::StoredRelation,
};
use std::collections::BTreeMap;

trait Numbered: StoredRelation {
    fn new(number: u32) -> Self;
    fn number(&self) -> u32;
    fn add(&mut self, more: u32);
}

macro_rules! numbered {
    ($($(#[$attribute:meta])* $name:ident)*) => {$(
        #[derive(Relation)]
        $(#[$attribute])*
        struct $name(u32);

        impl Numbered for $name {
            fn new(number: u32) -> Self {
                Self(number)
            }

            fn number(&self) -> u32 {
                self.0
            }

            fn add(&mut self, more: u32) {
                self.0 += more;
            }
        }
    )*};
}

numbered! {
    Plain
    #[relation(exclusive)] Single
    #[relation(symmetric)] Mutual
    #[relation(symmetric, exclusive)] Paired
    #[relation(ordered)] InOrder
    #[relation(ordered, exclusive)] SingleInOrder
    #[relation(exclusive, storage = "Table")] InTable
    #[relation(exclusive, storage = "Fragmenting")] PerTarget
}

/// All pairs with their values.
type Values = BTreeMap<(Entity, Entity), u32>;

/// What is given one by one, each pair once.
#[track_caller]
fn once(all: impl IntoIterator<Item = ((Entity, Entity), u32)>) -> Values {
    let mut values = Values::new();
    for (pair, value) in all {
        assert_eq!(values.insert(pair, value), None, "{pair:?} comes twice");
    }
    values
}

/// The values by the pairs themselves, which `World::pair_value` looks up one by one.
fn values<R: Numbered>(world: &World, entities: &[Entity]) -> Values {
    let ends = entities.iter().flat_map(|&source| entities.iter().map(move |&target| (source, target)));
    ends.filter_map(|(s, t)| Some(((s, t), world.pair_value::<R>(s, t)?.number()))).collect()
}

fn assert_read_alike<R: Numbered>(world: &mut World, entities: &[Entity], is_exclusive: bool) {
    world.check_pairs().unwrap();
    let expected = values::<R>(world, entities);
    let pairs = world.pairs::<R>();
    assert_eq!(once(pairs.values().map(|(s, t, value)| ((s, t), value.number()))), expected);
    for &entity in entities {
        let targets = pairs.values_of(entity).map(|(target, value)| (target, value.number()));
        assert!(targets.eq(pairs.targets(entity).map(|target| (target, expected[&(entity, target)]))));
        let sources = pairs.values_to(entity).map(|(source, value)| (source, value.number()));
        assert!(sources.eq(pairs.sources(entity).map(|source| (source, expected[&(source, entity)]))));
    }
    let by_target = |sources: Query<(Entity, Targets<R>)>| {
        once(sources.iter().flat_map(|(source, targets)| {
            let values = targets.with_values().map(move |(target, value)| ((source, target), value.number()));
            values.collect::<Vec<_>>()
        }))
    };
    assert_eq!(world.run_system_once(by_target).unwrap(), expected);
    let by_source = |targets: Query<(Entity, Sources<R>)>| {
        once(targets.iter().flat_map(|(target, sources)| {
            let values = sources.with_values().map(move |(source, value)| ((source, target), value.number()));
            values.collect::<Vec<_>>()
        }))
    };
    assert_eq!(world.run_system_once(by_source).unwrap(), expected);
    let both_ends = |pairs: PairQuery<R, Entity, Entity>| {
        once(pairs.iter().map(|(source, edge, target)| ((source, target), edge.value().unwrap().number())))
    };
    assert_eq!(world.run_system_once(both_ends).unwrap(), expected);
    if is_exclusive {
        let first = |sources: Query<(Entity, Target<R>)>| {
            once(sources.iter().map(|(source, target)| ((source, *target), target.value().unwrap().number())))
        };
        assert_eq!(world.run_system_once(first).unwrap(), expected);
    }
}

fn assert_written_alike<R: Numbered>(world: &mut World, entities: &[Entity], is_symmetric: bool) {
    let before = values::<R>(world, entities);
    let all = |mut pairs: PairsMut<R>| {
        let mut seen = Vec::new();
        pairs.for_each_mut(|source, target, mut value| {
            seen.push(((source, target), value.number()));
            value.add(1);
        });
        once(seen)
    };
    let seen = world.run_system_once(all).unwrap();
    let mut both = seen.clone();
    if is_symmetric {
        both.extend(seen.iter().map(|(&(source, target), &value)| ((target, source), value)));
        let selves = seen.keys().filter(|(source, target)| source == target).count();
        assert_eq!(seen.len() * 2, before.len() + selves);
    }
    assert_eq!(both, before);
    let once_more: Values = before.into_iter().map(|(pair, value)| (pair, value + 1)).collect();
    assert_eq!(values::<R>(world, entities), once_more);
    let ends = entities.to_vec();
    let by_end = move |mut pairs: PairsMut<R>| {
        let (mut of, mut to) = (Vec::new(), Vec::new());
        for &entity in &ends {
            pairs.for_each_of(entity, |target, value| of.push(((entity, target), value.number())));
            pairs.for_each_to(entity, |source, value| to.push(((source, entity), value.number())));
        }
        (once(of), once(to))
    };
    let (of, to) = world.run_system_once(by_end).unwrap();
    assert_eq!(of, once_more);
    assert_eq!(to, once_more);
}

/// Changes pairs of the first `sources` entities, or of their targets.
fn change<R: Numbered>(world: &mut World, entities: &mut [Entity], sources: usize, random: &mut Random) {
    let (source, target) = (random.pick(&entities[..sources]), random.pick(entities));
    let number = random.below(1_000) as u32;
    match random.below(12) {
        0..=5 => _ = world.insert_pair(source, R::new(number), target),
        6..=7 => _ = world.remove_pair::<R>(source, target),
        8 => {
            let relation = world.entity_of::<R>();
            world.remove_pairs_everywhere((relation, target));
        }
        9 => {
            let mut order: Vec<_> = world.pairs::<R>().sources(target).collect();
            order.reverse();
            _ = world.order_sources::<R>(target, &order);
        }
        10 => {
            let pairs = [(source, R::new(number), target), (target, R::new(number + 1), source)];
            _ = world.insert_pair_batch(pairs);
        }
        _ => {
            // Rather of the targets, so that sources come to have many.
            let entity = if random.below(4) == 0 { source } else { target };
            world.despawn(entity);
            let place = entities.iter().position(|&other| other == entity).unwrap();
            entities[place] = world.spawn_empty().id();
        }
    }
}

fn histories<R: Numbered>(seed: u64, is_exclusive: bool, is_symmetric: bool) {
    let mut random = Random(seed);
    // Few targets for each source, or so many that some are found by hash; and entities that are far apart.
    for (sources, all, apart) in [(9, 9, 0), (2, 24, 0), (5, 9, 3_000)] {
        let mut world = World::new();
        world.register_relation::<R>().unwrap();
        let mut entities = Vec::new();
        for _ in 0..all {
            entities.push(world.spawn_empty().id());
            (0..apart).for_each(|_| _ = world.entity_allocator().alloc());
        }
        for _ in 0..fewer(70) {
            for _ in 0..=random.below(4) {
                change::<R>(&mut world, &mut entities, sources, &mut random);
            }
            assert_read_alike::<R>(&mut world, &entities, is_exclusive);
            assert_written_alike::<R>(&mut world, &entities, is_symmetric);
        }
    }
}

#[test]
fn every_way_of_reading_values_agrees_while_pairs_change() {
    for seed in 1..=3 {
        histories::<Plain>(seed, false, false);
        histories::<Single>(seed, true, false);
        histories::<Mutual>(seed, false, true);
        histories::<Paired>(seed, true, true);
        histories::<InOrder>(seed, false, false);
        histories::<SingleInOrder>(seed, true, false);
        histories::<InTable>(seed, true, false);
        histories::<PerTarget>(seed, true, false);
    }
}

#[test]
fn values_stay_after_a_panic_and_go_with_their_pairs_and_ends() {
    let mut world = World::new();
    let [a, b, c] = crate::common::spawn(&mut world);
    for (source, target) in [(a, b), (a, c), (b, c), (c, c)] {
        world.insert_pair(source, Plain(1), target).unwrap();
    }
    // A loop that panics leaves all values in their places.
    let panics = |mut pairs: PairsMut<Plain>| {
        let mut left = 2;
        pairs.for_each_mut(|_, _, mut value| {
            value.0 += 1;
            left -= 1;
            assert!(left > 0, "enough");
        });
    };
    assert!(crate::common::panic_message(|| world.run_system_once(panics)).is_some());
    world.check_pairs().unwrap();
    assert_eq!(world.pairs::<Plain>().values().map(|(_, _, value)| value.0).sum::<u32>(), 6);
    assert!(world.pair_value::<Plain>(b, a).is_none() && world.pair_value_mut::<Plain>(b, a).is_none());
    // An end that is dead, also where another entity has its index.
    world.despawn(c);
    let again = world.spawn_empty().id();
    for dead_or_new in [c, again] {
        assert!(world.pair_value::<Plain>(a, dead_or_new).is_none());
        assert!(world.pair_value_mut::<Plain>(dead_or_new, dead_or_new).is_none());
        let to = move |mut pairs: PairsMut<Plain>| {
            pairs.for_each_to(dead_or_new, |_, _| panic!("it has no sources"));
        };
        world.run_system_once(to).unwrap();
    }
    assert_eq!(values::<Plain>(&world, &[a, b, again]).len(), 1);
    let relation = world.entity_of::<Plain>();
    world.remove_pairs_everywhere(PairId::with_relation(relation));
    assert!(world.pair_value::<Plain>(a, b).is_none());
    world.check_pairs().unwrap();
}

/// A type without fields has no values of its own: what its pairs carry is of their target's type.
#[test]
fn values_of_other_types_are_not_taken_for_those_of_the_relation() {
    #[derive(Relation)]
    struct Begins;

    let mut world = World::new();
    let [a] = crate::common::spawn(&mut world);
    world.insert_pair(a, Plain(3), a).unwrap();
    let (begins, plain) = (world.entity_of::<Begins>(), world.entity_of::<Plain>());
    world.insert_pair_value_by_id(a, (begins, plain), Plain(4)).unwrap();
    assert!(world.pair_value::<Begins>(a, plain).is_none());
    assert_eq!(world.pair_value_by_id::<Plain>(a, (begins, plain)).unwrap().0, 4);
    assert_eq!(world.pair_value::<Plain>(a, a).unwrap().0, 3);
    world.check_pairs().unwrap();
}

/// What a source had is not found at another with its index: after its despawn, after its marker was taken, and after that of the
/// target and type of its value.
#[test]
fn values_of_an_entity_that_had_the_index_are_not_found() {
    #[derive(Relation, Default)]
    struct Begins;

    #[derive(Relation, Default)]
    #[relation(exclusive)]
    struct Ends;

    fn goes<R: Relation + Default>(go: fn(&mut World, Entity)) {
        let mut world = World::new();
        world.register_relation::<R>().unwrap();
        let (relation, plain) = (world.entity_of::<R>(), world.entity_of::<Plain>());
        let source = world.spawn_empty().id();
        world.insert_pair_value_by_id(source, (relation, plain), Plain(4)).unwrap();
        go(&mut world, source);
        world.maintain_pairs();
        let [target] = crate::common::spawn(&mut world);
        for _ in 0..4 {
            let next = world.spawn_empty().id();
            world.insert_pair(next, R::default(), target).unwrap();
            let relation = world.entity_of::<R>();
            assert!(world.pair_value_by_id::<Plain>(next, (relation, target)).is_none());
            world.check_pairs().unwrap();
        }
        let count =
            |mut pairs: PairsMut<Plain>| pairs.for_each_mut(|_, _, _| panic!("there is no such pair"));
        world.run_system_once(count).unwrap();
        assert_eq!(world.pairs::<R>().sources(target).count(), 4);
    }
    let ways: [fn(&mut World, Entity); 3] = [
        |world, source| _ = world.despawn(source),
        |world, source| {
            world.entity_mut(source).clear();
            world.despawn(source);
        },
        |world, source| {
            let relation = world.entity_of::<Plain>();
            world.despawn(relation);
            world.despawn(source);
        },
    ];
    for go in ways {
        goes::<Begins>(go);
        goes::<Ends>(go);
    }
}
