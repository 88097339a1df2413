//! Components of a scene that are written over entities again after their pairs were changed: the pairs are those of the scene again, with
//! values and orders, whatever happened in between; and worlds with mirrors whose entities are all cleared.

use crate::common::{Random, fewer, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, relationship::RelationshipHookMode};
use bevy_reflect::Reflect;
use bevy_relations::{mirror::*, prelude::*};
use core::fmt::Debug;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Owes(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(exclusive, traversable)]
struct PartOf;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(symmetric)]
struct Knows(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(ordered)]
struct Queues;

#[derive(Relation, Reflect, Clone, PartialEq, Eq, Debug)]
#[relation(key = Self)]
struct Equips(u32);

fn change(world: &mut World, random: &mut Random, entities: &[Entity]) {
    let (x, y) = (random.below(entities.len()), random.below(entities.len()));
    let (a, b, number) = (entities[x], entities[y], random.below(4) as u32);
    match random.below(12) {
        0 | 1 => _ = world.insert_pair(a, Owes(number), b),
        // Never in a circle, so that the scene can be what it was.
        2 if x < y => _ = world.insert_pair(a, PartOf, b),
        3 => _ = world.insert_pair(a, Knows(number), b),
        4 | 5 => _ = world.insert_pair(a, Queues, b),
        6 => _ = world.insert_pair(a, Equips(number), b),
        7 => _ = world.remove_pairs_by_id(a, PairId::with_target(b)),
        8 => _ = world.remove_pairs_by_id(a, PairId::ALL),
        9 => _ = world.entity_mut(a).insert(Disabled),
        10 => {
            let mut order: Vec<Entity> = world.pairs::<Queues>().sources(b).collect();
            order.reverse();
            world.order_sources::<Queues>(b, &order).unwrap();
        }
        _ => world.maintain_pairs(),
    }
}

/// The components of all entities, as a scene has them.
struct Scene<R: MirroredRelation>(Vec<(Entity, MirroredPairs<R>)>);

impl<R: MirroredRelation + PartialEq + Debug> Scene<R> {
    fn of(world: &World, entities: &[Entity]) -> Self {
        let all = entities.iter().filter_map(|&entity| Some((entity, world.get(entity).cloned()?)));
        Self(all.collect())
    }

    /// One component after the other, in whichever order.
    fn write(&self, world: &mut World, random: &mut Random) {
        let start = random.below(self.0.len().max(1));
        for (entity, component) in self.0[start..].iter().chain(&self.0[..start]) {
            let mode = RelationshipHookMode::Skip;
            world.entity_mut(*entity).insert_with_relationship_hook_mode(component.clone(), mode);
        }
    }

    fn check(&self, world: &World, place: &str) {
        for (source, component) in &self.0 {
            let listed: Vec<_> =
                component.pairs.iter().map(|it| (it.target.entity().unwrap(), it.value.as_ref())).collect();
            let pairs = world.pairs::<R>();
            let there: Vec<_> = pairs
                .targets(*source)
                .map(|target| (target, world.pair_value::<R>(*source, target)))
                .collect();
            let name = core::any::type_name::<R>();
            // A tag is listed as a value without fields.
            match size_of::<R>() {
                0 => assert!(there.iter().map(|it| it.0).eq(listed.iter().map(|it| it.0)), "{place}: {name}"),
                _ => assert_eq!(there, listed, "{place}: {name} of {source}"),
            }
        }
    }
}

/// The sources of each target that the scene has, in their order.
fn orders(world: &World, entities: &[Entity], scene: &Scene<Queues>) -> Vec<Vec<Entity>> {
    let in_scene = |source: &Entity| scene.0.iter().any(|(entity, _)| entity == source);
    let sources = |&target: &Entity| world.pairs::<Queues>().sources(target).filter(in_scene).collect();
    entities.iter().map(sources).collect()
}

#[test]
fn a_scene_that_is_written_again_brings_its_pairs_back() {
    for seed in 1..=fewer(150) as u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = world_that_records_errors();
        world.mirror_pairs::<Owes>().unwrap();
        world.mirror_pairs::<PartOf>().unwrap();
        world.mirror_pairs::<Knows>().unwrap();
        world.mirror_pairs::<Queues>().unwrap();
        world.mirror_pairs::<Equips>().unwrap();
        let entities = spawn::<7>(&mut world).to_vec();
        for _ in 0..20 {
            change(&mut world, &mut random, &entities);
        }
        world.maintain_pairs();
        let owes = Scene::<Owes>::of(&world, &entities);
        let part_of = Scene::<PartOf>::of(&world, &entities);
        let knows = Scene::<Knows>::of(&world, &entities);
        let queues = Scene::<Queues>::of(&world, &entities);
        let equips = Scene::<Equips>::of(&world, &entities);
        let order = orders(&world, &entities, &queues);
        for round in 0..4 {
            for _ in 0..random.below(25) {
                change(&mut world, &mut random, &entities);
            }
            take_reported_errors();
            owes.write(&mut world, &mut random);
            part_of.write(&mut world, &mut random);
            knows.write(&mut world, &mut random);
            queues.write(&mut world, &mut random);
            equips.write(&mut world, &mut random);
            world.maintain_pairs();
            let place = format!("{seed}, {round}");
            world.check_pairs().unwrap_or_else(|error| panic!("{place}: {error}"));
            owes.check(&world, &place);
            part_of.check(&world, &place);
            knows.check(&world, &place);
            queues.check(&world, &place);
            equips.check(&world, &place);
            assert_eq!(orders(&world, &entities, &queues), order, "{place}");
            assert_eq!(take_reported_errors(), [""; 0], "{place}");
        }
    }
}

/// Bevy cannot insert the resources again: see `worlds`.
#[test]
fn a_world_with_mirrors_whose_entities_are_cleared_reads_as_empty() {
    let mut world = World::new();
    world.mirror_pairs::<Owes>().unwrap();
    world.mirror_pairs::<Queues>().unwrap();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Owes(1), b).unwrap();
    world.insert_pair(b, Queues, a).unwrap();
    let observers: Vec<Entity> = world.query_filtered::<Entity, With<Observer>>().iter(&world).collect();
    observers.into_iter().for_each(|observer| _ = world.despawn(observer));
    world.clear_entities();
    assert_eq!(world.any_pairs().iter().count(), 0);
    world.maintain_pairs();
    world.update_mirrors();
    let [c, d] = spawn(&mut world);
    assert!(!world.has_pair::<Owes>(c, d) && world.pairs_of(c).is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn mirrored_components_bring_their_pairs_back_after_the_resources_are_cleared() {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<Owes>().unwrap();
    world.mirror_pairs::<Queues>().unwrap();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Owes(1), b).unwrap();
    world.insert_pair(b, Queues, a).unwrap();
    world.insert_pair(c, Queues, a).unwrap();
    world.clear_resources();
    world.check_pairs().unwrap();
    assert_eq!(world.any_pairs().iter().count(), 0);
    world.mirror_pairs::<Owes>().unwrap();
    world.mirror_pairs::<Queues>().unwrap();
    world.maintain_pairs();
    world.check_pairs().unwrap();
    assert_eq!(world.pair_value::<Owes>(a, b), Some(&Owes(1)));
    assert!(world.pairs::<Queues>().sources(a).eq([b, c]));
    world.remove_pair::<Owes>(a, b);
    assert!(world.get::<MirroredPairs<Owes>>(a).is_none());
    world.check_pairs().unwrap();
    take_reported_errors();
}
