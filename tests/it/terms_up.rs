//! What is particular about climbing, and about keeping what was found.

use crate::common::{Random, all_entities, size, spawn, try_reuse_index};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, system::RunSystemOnce};
use bevy_relations::{
    prelude::*,
    query::{Cached, Depth, SelfUp, Up},
};

#[derive(Relation)]
#[relation(traversable)]
struct PartOf;

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Armor(u32);

/// Moves an entity to another table.
#[derive(Component)]
struct Elsewhere;

#[test]
fn what_is_far_up_the_first_target_comes_before_what_is_near_up_the_second() {
    let mut world = World::new();
    let [entity, first, second, far, near] = spawn(&mut world);
    world.entity_mut(far).insert(Armor(1));
    world.entity_mut(second).insert(Armor(2));
    world.entity_mut(near).insert(Armor(3));
    for (source, target) in [(entity, first), (entity, second), (first, far), (second, near)] {
        world.insert_pair(source, PartOf, target).unwrap();
    }
    let check = move |up: Query<Up<PartOf, &Armor>>,
                      next: Query<Up<PartOf, &Armor, 1, 1>>,
                      kept: Query<Cached<Up<PartOf, &Armor>>>,
                      own: Query<SelfUp<PartOf, &Armor>>| {
        assert_eq!(up.get(entity), Ok(&Armor(1)));
        assert_eq!(kept.get(entity), Ok(&Armor(1)));
        assert_eq!(next.get(entity), Ok(&Armor(2)));
        assert_eq!((up.get(second), own.get(second)), (Ok(&Armor(3)), Ok(&Armor(2))));
    };
    world.run_system_once(check).unwrap();
}

#[test]
fn a_long_chain_is_climbed_to_its_end() {
    const LENGTH: usize = 100_000;
    let mut world = World::new();
    let chain: Vec<Entity> = (0..LENGTH).map(|_| world.spawn_empty().id()).collect();
    world.entity_mut(chain[LENGTH - 1]).insert(Armor(1));
    // From the top down, so that no cycle has to be looked for.
    let pairs = chain.windows(2).rev().map(|pair| (pair[0], MountedOn, pair[1]));
    world.insert_pair_batch(pairs).unwrap();
    let check = move |up: Query<Up<MountedOn, &Armor>>,
                      kept: Query<Cached<Up<MountedOn, &Armor>>>,
                      limited: Query<Up<MountedOn, &Armor, 2>>,
                      depth: Query<Depth<MountedOn>>| {
        assert_eq!(up.get(chain[0]), Ok(&Armor(1)));
        assert_eq!(up.iter().count(), LENGTH - 1);
        assert_eq!(kept.iter().count(), LENGTH - 1);
        assert_eq!((limited.get(chain[0]), limited.get(chain[LENGTH - 2]).is_err()), (Ok(&Armor(1)), true));
        assert_eq!(depth.get(chain[0]), Ok(LENGTH as u32 - 1));
    };
    world.run_system_once(check).unwrap();
}

#[test]
fn what_is_found_is_what_a_plain_walk_finds_whoever_searched_before() {
    let mut random = Random(11);
    for round in 0..size(40, 3) {
        let mut world = World::new();
        let entities: Vec<Entity> = (0..size(200, 30)).map(|_| world.spawn_empty().id()).collect();
        for (number, &entity) in entities.iter().enumerate().skip(1) {
            // Bushes, chains, and what lies between.
            let above = [1, 2, 10, number][round % 4].min(number);
            let target = entities[number - 1 - random.below(above)];
            world.insert_pair(entity, MountedOn, target).unwrap();
            if random.below(30) == 0 {
                world.entity_mut(entity).insert(Armor(number as u32));
            }
            match random.below(20) {
                0 => _ = world.remove_pairs::<MountedOn>(entity),
                1 => _ = world.entity_mut(entity).insert(Elsewhere),
                _ => {}
            }
        }
        for _ in 0..entities.len() / 10 {
            _ = world.try_despawn(random.pick(&entities));
        }
        let plain = |world: &World, entity: Entity| {
            let above = |&at: &Entity| world.pairs::<MountedOn>().target(at);
            let mut above = core::iter::successors(above(&entity), above);
            above.find_map(|at| world.get::<Armor>(at).copied())
        };
        let expected: Vec<_> = all_entities(&world)
            .into_iter()
            .filter_map(|entity| Some((entity, plain(&world, entity)?)))
            .collect();
        let mut up = world.query::<(Entity, Up<MountedOn, &Armor>)>();
        let mut found: Vec<_> = up.iter(&world).map(|(entity, armor)| (entity, *armor)).collect();
        found.sort_unstable_by_key(|&(entity, _)| entity);
        let mut expected = expected;
        expected.sort_unstable_by_key(|&(entity, _)| entity);
        assert_eq!(found, expected);
    }
}

#[test]
fn many_ways_to_the_same_entities_are_not_tried_one_by_one() {
    let mut world = World::new();
    // Two to the power of 40 ways lead from the first layer to the last.
    let layers: Vec<[Entity; 2]> = (0..41).map(|_| spawn(&mut world)).collect();
    for pair in layers.windows(2).rev() {
        for (source, target) in pair[0].into_iter().flat_map(|source| pair[1].map(|target| (source, target)))
        {
            world.insert_pair(source, PartOf, target).unwrap();
        }
    }
    let [bottom, top] = [layers[0][0], layers[40][1]];
    world.entity_mut(top).insert(Armor(1));
    let check = move |up: Query<Up<PartOf, &Armor>>,
                      kept: Query<Cached<Up<PartOf, &Armor>>>,
                      farther: Query<Up<PartOf, &Armor, 41>>,
                      exact: Query<Up<PartOf, &Armor, 40, 40>>,
                      nearer: Query<Up<PartOf, &Armor, 1, 39>>| {
        assert_eq!(
            (up.get(bottom), kept.get(bottom), exact.get(bottom)),
            (Ok(&Armor(1)), Ok(&Armor(1)), Ok(&Armor(1)))
        );
        assert!(farther.get(bottom).is_err() && nearer.get(bottom).is_err());
        assert_eq!((up.iter().count(), kept.iter().count(), nearer.iter().count()), (80, 80, 78));
    };
    world.run_system_once(check).unwrap();
}

/// A chain of three with what [`Cached`] finds from its lowest.
struct Chain {
    world: World,
    top: Entity,
    middle: Entity,
    bottom: Entity,
    query: QueryState<Cached<Up<MountedOn, &'static Armor>>>,
}

impl Chain {
    fn new() -> Self {
        let mut world = World::new();
        let query = world.query();
        let [top, middle, bottom] = spawn(&mut world);
        world.entity_mut(top).insert(Armor(1));
        for (source, target) in [(middle, top), (bottom, middle)] {
            world.insert_pair(source, MountedOn, target).unwrap();
        }
        let mut chain = Self { world, top, middle, bottom, query };
        assert_eq!(chain.found(), Some(1));
        chain
    }

    fn found(&mut self) -> Option<u32> {
        self.query.get(&self.world, self.bottom).ok().map(|armor| armor.0)
    }
}

#[test]
fn what_is_kept_follows_holders_that_come_and_go() {
    let mut chain = Chain::new();
    let (middle, top) = (chain.middle, chain.top);
    chain.world.entity_mut(middle).insert(Armor(2));
    assert_eq!(chain.found(), Some(2));
    chain.world.entity_mut(middle).insert(Armor(3));
    assert_eq!(chain.found(), Some(3));
    chain.world.entity_mut(middle).insert(Disabled);
    assert_eq!(chain.found(), Some(1));
    chain.world.entity_mut(middle).remove::<Disabled>();
    assert_eq!(chain.found(), Some(3));
    chain.world.entity_mut(middle).remove::<Armor>();
    assert_eq!(chain.found(), Some(1));
    // To another table, twice, so that its place is looked up and used.
    for _ in 0..2 {
        chain.world.entity_mut(top).insert(Elsewhere);
        assert_eq!((chain.found(), chain.found()), (Some(1), Some(1)));
        chain.world.entity_mut(top).remove::<Elsewhere>();
        assert_eq!((chain.found(), chain.found()), (Some(1), Some(1)));
    }
    chain.world.entity_mut(top).remove::<Armor>();
    assert_eq!(chain.found(), None);
}

#[test]
fn what_is_kept_follows_pairs_that_come_and_go() {
    let mut chain = Chain::new();
    let (bottom, middle, top) = (chain.bottom, chain.middle, chain.top);
    let [other] = spawn(&mut chain.world);
    chain.world.entity_mut(other).insert(Armor(2));
    chain.world.insert_pair(middle, MountedOn, other).unwrap();
    assert_eq!(chain.found(), Some(2));
    chain.world.remove_pair::<MountedOn>(bottom, middle);
    assert_eq!(chain.found(), None);
    chain.world.insert_pair(bottom, MountedOn, top).unwrap();
    assert_eq!(chain.found(), Some(1));
    chain.world.despawn(top);
    assert_eq!(chain.found(), None);
    // Changes that are no longer known one by one.
    chain.world.insert_pair(bottom, MountedOn, middle).unwrap();
    for _ in 0..3 {
        chain.world.maintain_pairs();
    }
    assert_eq!(chain.found(), Some(2));
}

#[test]
fn what_is_kept_of_the_dead_is_not_taken_for_the_living() {
    let mut chain = Chain::new();
    let old = chain.bottom;
    chain.world.despawn(old);
    let Some(new) = try_reuse_index(&mut chain.world, old) else { return };
    chain.bottom = new;
    assert_eq!(chain.found(), None);
    let (middle, top) = (chain.middle, chain.top);
    chain.world.despawn(middle);
    let Some(new) = try_reuse_index(&mut chain.world, middle) else { return };
    chain.world.entity_mut(new).insert(Armor(5));
    assert_eq!(chain.found(), None);
    let bottom = chain.bottom;
    chain.world.insert_pair(bottom, MountedOn, new).unwrap();
    assert_eq!(chain.found(), Some(5));
    chain.world.insert_pair(bottom, MountedOn, top).unwrap();
    assert_eq!(chain.found(), Some(1));
}

#[test]
fn what_is_kept_is_right_after_an_observer_has_asked_in_the_middle_of_a_change() {
    let mut chain = Chain::new();
    let (bottom, middle) = (chain.bottom, chain.middle);
    chain.world.entity_mut(middle).insert((Armor(2), Disabled));
    let asked =
        move |kept: Query<Cached<Up<MountedOn, &Armor>>>| kept.get(bottom).map(|armor| armor.0).unwrap_or(0);
    let ask = chain.world.register_system(asked);
    // The component is still there when this runs, and the query is brought up to date with it.
    let mut query = chain.world.query::<Cached<Up<MountedOn, &'static Armor>>>();
    chain.world.add_observer(move |_: On<Remove<Disabled>>, kept: Query<Cached<Up<MountedOn, &Armor>>>| {
        assert_eq!(kept.get(bottom), Ok(&Armor(1)));
    });
    assert_eq!(chain.world.run_system(ask).unwrap(), 1);
    assert_eq!(query.get(&chain.world, bottom), Ok(&Armor(1)));
    chain.world.entity_mut(middle).remove::<Disabled>();
    assert_eq!((chain.found(), chain.world.run_system(ask).unwrap()), (Some(2), 2));
    assert_eq!(query.get(&chain.world, bottom), Ok(&Armor(2)));
    chain.world.entity_mut(middle).remove::<Armor>();
    assert_eq!((chain.found(), chain.world.run_system(ask).unwrap()), (Some(1), 1));
}

#[test]
fn many_changes_between_two_runs_are_all_seen() {
    let mut world = World::new();
    let mut kept = world.query::<(Entity, Cached<Up<MountedOn, &'static Armor>>)>();
    let mut up = world.query::<(Entity, Up<MountedOn, &'static Armor>)>();
    let roots: Vec<Entity> = (0..40).map(|number| world.spawn(Armor(number)).id()).collect();
    let nodes: Vec<Entity> = (0..400).map(|_| world.spawn_empty().id()).collect();
    for (round, many) in [400, 3, 120, 1, 40, 400, 0, 7].into_iter().enumerate() {
        for step in 0..many {
            let at = (step * 31 + round * 7) % nodes.len();
            let target = if at < 40 { roots[(step + round) % 40] } else { nodes[(at + step) % at] };
            world.insert_pair(nodes[at], MountedOn, target).unwrap();
            if step % 5 == round % 5 {
                let holder = world.entity(nodes[at]).contains::<Armor>();
                let mut node = world.entity_mut(nodes[at]);
                if holder {
                    node.remove::<Armor>()
                } else {
                    node.insert(Armor(1000 + at as u32))
                };
            }
        }
        let rows = |(entity, armor): (Entity, &Armor)| (entity, *armor);
        let expected: Vec<_> = up.iter(&world).map(rows).collect();
        assert_eq!(kept.iter(&world).map(rows).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn nobody_watches_for_a_query_that_is_gone() {
    let mut chain = Chain::new();
    let before = all_entities(&chain.world).len();
    let query = chain.world.query::<Cached<Up<MountedOn, &'static Armor>>>();
    assert_eq!(all_entities(&chain.world).len(), before + 2);
    drop(query);
    // They notice it when there is something to see.
    let top = chain.top;
    chain.world.entity_mut(top).remove::<Armor>().insert(Armor(4));
    assert_eq!(all_entities(&chain.world).len(), before);
    assert_eq!(chain.found(), Some(4));
}
