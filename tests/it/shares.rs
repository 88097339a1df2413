//! Many entities, of which some have a pair and some have none: every way of going over all pairs gives each once, whatever
//! the share is, and in whichever order the sources lie.

use crate::common::{Random, size};
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{prelude::*, relation::StoredRelation};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
};

#[derive(Relation, PartialEq, Debug)]
#[relation(exclusive)]
struct Rents(u64);

#[derive(Relation, PartialEq, Debug)]
struct Eats(u64);

#[derive(Component, Clone)]
struct Seen(u32);

#[derive(Component)]
struct Large;

/// More than are read one by one, and no multiple of a block.
const SOURCES: usize = size(5_003, 1_201);

/// A relation whose pairs have a number.
trait Valued: StoredRelation + From<u64> {
    const MAX_TARGETS: usize;
    fn value(&mut self) -> &mut u64;
    fn get(&self) -> u64;
}

macro_rules! valued {
    ($($relation:ident: $max:literal)*) => {$(
        impl From<u64> for $relation {
            fn from(value: u64) -> Self {
                Self(value)
            }
        }

        impl Valued for $relation {
            const MAX_TARGETS: usize = $max;

            fn value(&mut self) -> &mut u64 {
                &mut self.0
            }

            fn get(&self) -> u64 {
                self.0
            }
        }
    )*};
}

valued!(Rents: 1 Eats: 7);

/// Which of the sources have a pair.
type Share = fn(usize, &mut Random) -> bool;

const SHARES: [Share; 7] = [
    |_, _| false,
    |_, random| random.below(10) == 0,
    |_, random| random.below(2) == 0,
    |_, random| random.below(10) > 0,
    |_, _| true,
    // In the order of rows: first those with a pair, or every other one.
    |number, _| number < SOURCES / 2,
    |number, _| number.is_multiple_of(2),
];

/// A world with sources in two tables, and the pairs of those that have one, with values.
fn world<R: Valued>(share: Share, seed: u64) -> (World, Vec<(Entity, Entity, u64)>) {
    let (mut world, mut random) = (World::new(), Random(seed));
    let targets: Vec<Entity> = (0..7).map(|_| world.spawn(Seen(0)).id()).collect();
    let sources: Vec<Entity> = world.spawn_batch((0..SOURCES).map(|_| Seen(0))).collect();
    for &source in &sources {
        if random.below(3) == 0 {
            world.entity_mut(source).insert(Large);
        }
    }
    let mut expected = Vec::new();
    for (number, &source) in sources.iter().enumerate() {
        if share(number, &mut random) {
            // From one target each to more than a slot has room for.
            let count = 1 + number % R::MAX_TARGETS;
            for target in (0..count).map(|nth| targets[(number + nth) % targets.len()]) {
                world.insert_pair(source, R::from(number as u64), target).unwrap();
                expected.push((source, target, number as u64));
            }
        }
    }
    expected.sort_unstable();
    (world, expected)
}

fn sorted(mut rows: Vec<(Entity, Entity, u64)>) -> Vec<(Entity, Entity, u64)> {
    rows.sort_unstable();
    rows
}

/// Every way that every relation has.
fn check<R: Valued>(world: &mut World, expected: &[(Entity, Entity, u64)]) {
    world.check_pairs().unwrap();
    let expected = expected.to_vec();
    let of = expected.clone();
    let each = move |mut values: PairsMut<R>| {
        let mut rows = Vec::new();
        values.for_each_mut(|source, target, mut value| {
            rows.push((source, target, value.get()));
            *value.value() += 1;
        });
        assert_eq!(sorted(rows), of, "for_each_mut");
    };
    world.run_system_once(each).unwrap();
    let expected: Vec<_> =
        expected.into_iter().map(|(source, target, value)| (source, target, value + 1)).collect();
    let of = expected.clone();
    let query = move |mut query: PairQuery<R, (&mut Seen, Has<Large>)>| {
        let mut rows = Vec::new();
        query.for_each(|(mut seen, _), edge, ()| {
            seen.0 += 1;
            rows.push((edge.source, edge.target, edge.value().unwrap().get()));
        });
        assert_eq!(sorted(rows), of, "for_each");
    };
    world.run_system_once(query).unwrap();
    bevy_tasks::ComputeTaskPool::get_or_init(bevy_tasks::TaskPool::new);
    let of = expected.clone();
    let query = move |mut query: PairQuery<R, (&mut Seen, Has<Large>)>| {
        let rows = Mutex::new(Vec::new());
        query.par_for_each(|(mut seen, _), edge, ()| {
            seen.set_changed();
            rows.lock().unwrap().push((edge.source, edge.target, edge.value().unwrap().get()));
        });
        assert_eq!(sorted(rows.into_inner().unwrap()), of, "par_for_each");
    };
    world.run_system_once(query).unwrap();
    let query = move |query: PairQuery<R, (&Seen, Has<Large>)>| {
        let rows = query.iter().map(|(_, edge, ())| (edge.source, edge.target, edge.value().unwrap().get()));
        assert_eq!(sorted(rows.collect()), expected, "iter");
    };
    world.run_system_once(query).unwrap();
}

fn every_share<R: Valued>(also: impl Fn(&mut World, usize)) {
    for (number, share) in SHARES.into_iter().enumerate() {
        let (mut world, expected) = world::<R>(share, number as u64);
        check::<R>(&mut world, &expected);
        also(&mut world, expected.len());
    }
}

#[test]
fn every_pair_of_an_exclusive_relation_comes_once_whatever_share_of_the_sources_has_one() {
    every_share::<Rents>(|world, count| {
        let mutably = move |mut set: ParamSet<(PairQuery<Rents, &mut Seen>, Query<&Seen>)>| {
            for (mut seen, _, ()) in &mut set.p0() {
                seen.0 += 1;
            }
            let query = set.p1();
            // Once before, and once now.
            let (once, never) =
                (query.iter().filter(|seen| seen.0 == 2).count(), query.iter().filter(|seen| seen.0 == 0));
            assert_eq!((once, never.count()), (count, 7 + SOURCES - count));
        };
        world.run_system_once(mutably).unwrap();
    });
}

#[test]
fn every_pair_of_another_relation_comes_once_whatever_share_of_the_sources_has_one() {
    every_share::<Eats>(|world, count| assert_eq!(world.pairs::<Eats>().len(), count));
}

#[test]
fn a_loop_that_ends_early_or_panics_in_the_middle_of_a_block_leaves_nothing_behind() {
    let (mut world, expected) = world::<Rents>(SHARES[2], 3);
    let early = |mut query: PairQuery<Rents, &mut Seen>| {
        let mut rows = query.iter_mut();
        assert_eq!(rows.by_ref().take(70).count(), 70);
        let (mut seen, _, ()) = rows.next().unwrap();
        seen.0 += 1;
    };
    world.run_system_once(early).unwrap();
    let panics = |mut query: PairQuery<Rents, &mut Seen>| {
        let mut left = 70;
        query.for_each(|_, _, ()| {
            left -= 1;
            assert!(left > 0, "in the middle");
        });
    };
    assert!(catch_unwind(AssertUnwindSafe(|| world.run_system_once(panics).unwrap())).is_err());
    check::<Rents>(&mut world, &expected);
}

#[test]
fn sources_that_died_were_cleared_or_point_to_themselves_are_read_as_what_they_are_now() {
    let (mut world, mut expected) = world::<Rents>(SHARES[2], 4);
    for number in (0..expected.len()).rev() {
        let (source, _, value) = expected[number];
        match number % 7 {
            0 => {
                // Another entity has its index.
                world.despawn(source);
                world.spawn(Seen(0));
                expected.remove(number);
            }
            1 => {
                world.entity_mut(source).clear().insert(Seen(0));
                expected.remove(number);
            }
            2 => {
                world.insert_pair(source, Rents(value), source).unwrap();
                expected[number].1 = source;
            }
            _ => {}
        }
    }
    expected.sort_unstable();
    let both = |mut query: PairQuery<Rents, &mut Seen, &mut Seen>| {
        let mut rows = 0;
        query.for_each(|mut source, edge, mut target| {
            assert_ne!(edge.source, edge.target);
            (source.0, target.0, rows) = (1, 1, rows + 1);
        });
        rows
    };
    let others = expected.iter().filter(|(source, target, _)| source != target).count();
    assert_eq!(
        world.run_system_once(both).unwrap(),
        others,
        "a pair with itself cannot be written at both ends"
    );
    check::<Rents>(&mut world, &expected);
}

/// The entities of a variable in each row of an expression beside those of `$this`, sorted; the placeholder where it has none.
fn rows_of(world: &mut World, text: &str, var: &str) -> Vec<(Entity, Entity)> {
    let mut expr = PairExpr::parse(text).unwrap().compile(world).unwrap();
    let mut rows = Vec::new();
    expr.for_each(world, |row| {
        rows.push((row.this().unwrap(), row.var(var).unwrap_or(Entity::PLACEHOLDER)));
    })
    .unwrap();
    rows.sort_unstable();
    rows
}

/// Optional and any relation, of few relations and of more than are read one after the other for each source.
#[test]
fn expressions_agree_with_the_pairs_whatever_share_of_the_sources_has_one() {
    for (number, share) in SHARES.into_iter().enumerate() {
        let (mut world, expected) = world::<Rents>(share, number as u64);
        world.register_component_name::<Seen>("Seen").register_relation::<Rents>().unwrap();
        let mut random = Random(number as u64);
        let mut pairs: Vec<_> = expected.iter().map(|&(source, target, _)| (source, target)).collect();
        let all: Vec<Entity> = world.query_filtered::<Entity, With<Seen>>().iter(&world).collect();

        let mut optional = pairs.clone();
        let sources: Vec<Entity> = pairs.iter().map(|pair| pair.0).collect();
        let others = all.iter().filter(|entity| sources.binary_search(entity).is_err());
        optional.extend(others.map(|&entity| (entity, Entity::PLACEHOLDER)));
        optional.sort_unstable();
        assert_eq!(rows_of(&mut world, "Seen, (Rents, $t)", "t"), pairs);
        assert_eq!(rows_of(&mut world, "Seen, ?(Rents, $t)", "t"), optional);
        // The last ones have no bit of their own in the record of an entity.
        for relations in 0..80 {
            if relations < 12 || relations % 10 == 9 {
                assert_eq!(rows_of(&mut world, "Seen, (*, $t)", "t"), pairs, "{relations} more relations");
            }
            let relation = world.spawn_relation(format!("R{relations}"), RelationTraits::new()).unwrap();
            // Sometimes one source has more pairs than a block has room for.
            let one = (relations % 4 == 0).then(|| all[random.below(all.len())]);
            for _ in 0..random.below(200) {
                let [source, target] = [(); 2].map(|()| all[random.below(all.len())]);
                let source = one.unwrap_or(source);
                if !world.has_pair_by_id(source, (relation, target)) {
                    world.insert_pair_by_id(source, (relation, target)).unwrap();
                    pairs.push((source, target));
                }
            }
            pairs.sort_unstable();
        }
    }
}
