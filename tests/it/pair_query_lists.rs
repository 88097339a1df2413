//! `PairQuery` by list: among many entities without pairs it goes from target to target, also after lists were given
//! back and used again for others.

use crate::common::{Random, fewer};
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{prelude::*, relation::ExclusiveRelation};

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation, Clone)]
#[relation(exclusive)]
struct Holds(u32);

#[derive(Relation)]
#[relation(exclusive, ordered)]
struct Queues;

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone)]
struct Eats(u32);

#[derive(Relation)]
#[relation(ordered)]
struct Follows;

#[derive(Relation)]
#[relation(symmetric)]
struct Near;

#[derive(Component, Clone)]
struct Fuel(u32);

/// A world with some entities that will have pairs, and so many that have none that scanning all would take longer.
fn world_with_bystanders() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let actors = (0..8).map(|fuel| world.spawn(Fuel(fuel)).id()).collect();
    world.spawn_batch((0..1_000).map(Fuel)).for_each(drop);
    (world, actors)
}

fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<_> = items.into_iter().collect();
    items.sort_unstable();
    items
}

/// Every form that every relation has gives these pairs.
fn check<R: Relation>(world: &mut World) {
    world.check_pairs().unwrap();
    let mut expected = Vec::new();
    for source in world.query_filtered::<Entity, With<Fuel>>().iter(world) {
        expected.extend(world.pairs::<R>().targets(source).map(|target| (source, target)));
    }
    let expected = sorted(expected);
    let system = move |mut query: PairQuery<R, &mut Fuel>, reading: Pairs<R>| {
        assert_eq!(sorted(reading.iter()), expected, "Pairs");
        let mut rows = Vec::new();
        query.for_each(|mut fuel, edge, ()| {
            fuel.0 += 1;
            rows.push((edge.source, edge.target));
        });
        assert_eq!(sorted(rows), expected, "for_each");
        let (mut rows, mut lending) = (Vec::new(), query.iter_lending());
        while let Some((_, edge, ())) = lending.fetch_next() {
            rows.push((edge.source, edge.target));
        }
        assert_eq!(sorted(rows), expected, "lend");
        expected.clone()
    };
    let expected = world.run_system_once(system).unwrap();
    let system = move |query: PairQuery<R, &Fuel>| {
        assert_eq!(sorted(query.iter().map(|(_, edge, ())| (edge.source, edge.target))), expected, "iter");
    };
    world.run_system_once(system).unwrap();
}

/// The mutable iterator gives every pair once, with pointers of which no two are equal.
fn check_exclusive<R: ExclusiveRelation>(world: &mut World) {
    check::<R>(world);
    let expected = sorted(world.pairs::<R>().iter());
    let system = move |mut query: PairQuery<R, &mut Fuel>| {
        // Collected: all of them are alive at once.
        let mut living: Vec<_> = query.iter_mut().collect();
        assert_eq!(sorted(living.iter().map(|(_, edge, ())| (edge.source, edge.target))), expected);
        let mut pointers = sorted(living.iter_mut().map(|(fuel, ..)| &raw mut **fuel as usize));
        pointers.dedup();
        assert_eq!(pointers.len(), expected.len(), "two `&mut` to one component");
    };
    world.run_system_once(system).unwrap();
}

#[test]
fn a_list_that_was_given_back_is_not_walked_for_the_target_that_it_had() {
    let (mut world, actors) = world_with_bystanders();
    let [a, b, t, u] = [actors[0], actors[1], actors[2], actors[3]];
    world.insert_pair(a, DockedTo, t).unwrap();
    world.insert_pair(b, DockedTo, u).unwrap();
    world.remove_pair::<DockedTo>(a, t);
    world.remove_pair::<DockedTo>(b, u);
    // The list that was given back last is used first.
    world.insert_pair(a, DockedTo, t).unwrap();
    check_exclusive::<DockedTo>(&mut world);
}

/// Links and unlinks at random, and despawns targets; checks after each step.
fn churn<R: Relation>(value: fn(u32) -> R, number_of: fn(&R) -> u32, check: fn(&mut World)) {
    for seed in 1..=fewer(4) as u64 {
        let (mut world, mut actors) = world_with_bystanders();
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        for number in 0..80 {
            let (source, target) = (random.pick(&actors), random.pick(&actors));
            match random.below(12) {
                0..=4 => {
                    world.insert_pair(source, value(number), target).unwrap();
                    let stored = world.pair_value::<R>(source, target).map(number_of);
                    assert!(stored.is_none_or(|stored| stored == number));
                }
                5..=8 => _ = world.remove_pairs::<R>(source),
                9 => _ = world.remove_pairs_everywhere(PairId::with_target(target)),
                10 => {
                    world.despawn(target);
                    actors.retain(|&actor| actor != target);
                    actors.push(world.spawn(Fuel(number)).id());
                }
                _ => world.clear_pairs(),
            }
            check(&mut world);
        }
    }
}

#[test]
fn every_form_gives_every_pair_once_while_lists_come_and_go() {
    churn(|_| DockedTo, |_| 0, check_exclusive::<DockedTo>);
    churn(Holds, |holds| holds.0, check_exclusive::<Holds>);
    churn(|_| Queues, |_| 0, check_exclusive::<Queues>);
    churn(|_| Likes, |_| 0, check::<Likes>);
    churn(Eats, |eats| eats.0, check::<Eats>);
    churn(|_| Follows, |_| 0, check::<Follows>);
    churn(|_| Near, |_| 0, check::<Near>);
}
