//! Random histories with snapshots, against a plain copy of the pairs.

use crate::{
    common::{Random, fewer, record_errors_of, take_reported_errors},
    snapshots::{
        Before, CrewOf, Eats, Equips, Events, Follows, Knows, Likes, MarriedTo, MountedOn, Trades,
        count_events, take,
    },
};
use bevy_ecs::{entity::EntityHashMap, prelude::*};
use bevy_relations::{
    prelude::*,
    snapshot::{PairFilter, PairSnapshot},
};
use std::collections::BTreeMap;

/// The pairs of a world: for each relation and source the targets in order, with values; for each ordered relation and target
/// the sources in order.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Pairs {
    pub(crate) targets: BTreeMap<(usize, Entity), Vec<(Entity, u32)>>,
    pub(crate) sources: BTreeMap<(usize, Entity), Vec<Entity>>,
}

pub(crate) const NAMES: [&str; 2] = ["tagged", "weighs"];

/// The relations of the test in a world.
pub(crate) struct Relations {
    tagged: Entity,
    weighs: Entity,
}

impl Relations {
    pub(crate) fn new(world: &mut World) -> Self {
        world.adopt_relationship::<CrewOf>();
        world.register_relation::<Likes>().unwrap();
        world.register_relation::<Eats>().unwrap();
        world.register_relation::<Knows>().unwrap();
        world.register_relation::<MountedOn>().unwrap();
        world.register_relation::<Trades>().unwrap();
        world.register_relation::<MarriedTo>().unwrap();
        world.register_relation::<Follows>().unwrap();
        world.register_relation::<Equips>().unwrap();
        world.register_relation::<Before>().unwrap();
        let tagged = world.spawn_relation(NAMES[0], RelationTraits::new().tag().traversable()).unwrap();
        let weighs = world.spawn_relation(NAMES[1], RelationTraits::new().data::<u32>()).unwrap();
        Self { tagged, weighs }
    }

    /// Everything that is to be read of the pairs.
    pub(crate) fn read(&self, world: &World, entities: &[Entity]) -> Pairs {
        let mut pairs = Pairs::default();
        fn typed<R: Relation>(
            world: &World,
            number: usize,
            entities: &[Entity],
            pairs: &mut Pairs,
            value: impl Fn(&R) -> u32,
        ) {
            for &entity in entities {
                let value = |target| world.pair_value::<R>(entity, target).map_or(0, &value);
                let targets: Vec<_> = world.pairs::<R>().targets(entity).map(|t| (t, value(t))).collect();
                if !targets.is_empty() {
                    pairs.targets.insert((number, entity), targets);
                }
                let traits = world.get_entity_of::<R>().and_then(|entity| world.traits_of(entity));
                let is_ordered = traits.is_some_and(|traits| traits.to_string().contains("ordered"));
                let sources: Vec<_> = world.pairs::<R>().sources(entity).collect();
                if is_ordered && !sources.is_empty() {
                    pairs.sources.insert((number, entity), sources);
                }
            }
        }
        typed::<Likes>(world, 0, entities, &mut pairs, |_| 0);
        typed::<Eats>(world, 1, entities, &mut pairs, |value| value.0);
        typed::<Knows>(world, 2, entities, &mut pairs, |value| value.0);
        typed::<MountedOn>(world, 3, entities, &mut pairs, |_| 0);
        typed::<Trades>(world, 4, entities, &mut pairs, |value| value.0);
        typed::<MarriedTo>(world, 5, entities, &mut pairs, |_| 0);
        typed::<Follows>(world, 6, entities, &mut pairs, |_| 0);
        typed::<Equips>(world, 7, entities, &mut pairs, |value| value.0.into());
        typed::<Before>(world, 8, entities, &mut pairs, |_| 0);
        typed::<CrewOf>(world, 9, entities, &mut pairs, |_| 0);
        typed::<ChildOf>(world, 10, entities, &mut pairs, |_| 0);
        for (number, relation) in [(11, self.tagged), (12, self.weighs)] {
            for &entity in entities {
                let value =
                    |target| world.pair_value_by_id::<u32>(entity, (relation, target)).copied().unwrap_or(0);
                let targets: Vec<_> =
                    world.pairs_by_id(relation).targets(entity).map(|t| (t, value(t))).collect();
                if !targets.is_empty() {
                    pairs.targets.insert((number, entity), targets);
                }
            }
        }
        pairs
    }

    /// Changes something at random. What is refused is no matter.
    pub(crate) fn change(&self, world: &mut World, random: &mut Random, entities: &[Entity]) {
        let [a, b, c] = [(); 3].map(|()| random.pick(entities));
        let number = random.below(9) as u32;
        if [a, b, c].iter().any(|&entity| world.get_entity(entity).is_err()) {
            return;
        }
        match random.below(26) {
            0 | 1 => _ = world.insert_pair(a, Likes, b),
            2 | 3 => _ = world.insert_pair(a, Eats(number), b),
            4 => _ = world.insert_pair(a, Knows(number), b),
            5 | 6 => _ = world.insert_pair(a, MountedOn, b),
            7 => _ = world.insert_pair(a, Trades(number), b),
            8 => _ = world.insert_pair(a, MarriedTo, b),
            9 | 10 => _ = world.insert_pair(a, Follows, b),
            11 | 12 => _ = world.insert_pair(a, Equips(number as u8 % 4), b),
            13 => _ = world.insert_pair(a, Before, b),
            14 => _ = world.insert_pair_by_id(a, (self.tagged, b)),
            15 => _ = world.insert_pair_value_by_id(a, (self.weighs, b), number),
            16 if a != b => _ = world.entity_mut(a).insert(CrewOf(b)),
            17 | 18 => _ = world.insert_relationship(a, ChildOf(b)),
            19 => _ = world.remove_pairs_by_id(a, PairId::with_target(b)),
            20 => _ = world.remove_pairs_by_id(a, PairId::ALL),
            21 => _ = world.move_sources::<Eats>(a, b),
            22 => _ = world.replace_targets(a, [(Eats(number), b), (Eats(1), c)]),
            23 => {
                let mut order: Vec<Entity> = world.pairs::<Follows>().sources(a).collect();
                order.reverse();
                world.order_sources::<Follows>(a, &order).unwrap();
            }
            24 => _ = world.remove_pairs::<MountedOn>(a),
            _ => {
                let mut state = bevy_ecs::system::SystemState::<PairsMut<Knows>>::new(world);
                let mut pairs = state.get_mut(world).unwrap();
                if let Some(mut knows) = pairs.get_mut(a, b) {
                    knows.0 += 1;
                }
            }
        }
    }
}

impl Pairs {
    /// What is left of them when some entities are dead.
    fn without_dead(mut self, world: &World) -> Self {
        let lives = |entity: Entity| world.get_entity(entity).is_ok();
        self.targets.retain(|&(_, source), targets| {
            targets.retain(|&(target, _)| lives(target));
            lives(source) && !targets.is_empty()
        });
        self.sources.retain(|&(_, target), sources| {
            sources.retain(|&source| lives(source));
            lives(target) && !sources.is_empty()
        });
        self
    }

    pub(crate) fn mapped(&self, map: &EntityHashMap<Entity>) -> Self {
        let targets =
            |targets: &Vec<(Entity, u32)>| targets.iter().map(|&(t, value)| (map[&t], value)).collect();
        Self {
            targets: self.targets.iter().map(|(&(n, s), list)| ((n, map[&s]), targets(list))).collect(),
            sources: self
                .sources
                .iter()
                .map(|(&(n, t), list)| ((n, map[&t]), list.iter().map(|s| map[s]).collect()))
                .collect(),
        }
    }
}

/// Applies a snapshot: what was there then is there now, and each difference had one event.
fn go_back(world: &mut World, relations: &Relations, entities: &[Entity], to: &(PairSnapshot, Pairs)) {
    let (snapshot, then) = to;
    for is_second in [false, true] {
        world.insert_resource(Events::default());
        let applied = snapshot.apply_to_living(world).unwrap();
        world.check_pairs().unwrap();
        assert_eq!(relations.read(world, entities), then.clone().without_dead(world));
        let events = *world.resource::<Events>();
        let counted =
            Events { inserted: applied.inserted, replaced: applied.replaced, removed: applied.removed };
        assert_eq!(events, counted);
        // Of the values, those of `Knows` and `weighs` cannot be compared.
        assert!(!is_second || (events.inserted, events.removed) == (0, 0), "{events:?}");
    }
}

#[test]
fn histories_go_back_and_forth() {
    for seed in 1..=fewer(12) {
        let mut random = Random((seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = World::new();
        record_errors_of(&mut world);
        let relations = Relations::new(&mut world);
        count_events(&mut world);
        let mut entities: Vec<Entity> = (0..8).map(|_| world.spawn_empty().id()).collect();
        let mut kept: Vec<(PairSnapshot, Pairs)> = Vec::new();
        for _ in 0..50 {
            for _ in 0..random.below(12) {
                relations.change(&mut world, &mut random, &entities);
            }
            match random.below(8) {
                0 | 1 => {
                    kept.push((take(&mut world), relations.read(&world, &entities)));
                }
                2 if !kept.is_empty() => {
                    let at = random.below(kept.len());
                    kept[at].0.update(&mut world).unwrap();
                    kept[at].1 = relations.read(&world, &entities);
                }
                3 => entities.push(world.spawn_empty().id()),
                4 if random.below(4) == 0 => {
                    world.despawn(random.pick(&entities));
                    entities.retain(|&entity| world.get_entity(entity).is_ok());
                }
                _ if !kept.is_empty() => {
                    let at = random.below(kept.len());
                    go_back(&mut world, &relations, &entities, &kept[at]);
                }
                _ => {}
            }
            world.check_pairs().unwrap();
        }
        take_reported_errors();
    }
}

#[test]
fn random_worlds_are_copied_into_another() {
    for seed in 1..=fewer(24) {
        let mut random = Random((seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut worlds = [World::new(), World::new()];
        worlds.iter_mut().for_each(record_errors_of);
        let [from, to] = &mut worlds;
        let there = Relations::new(to);
        to.spawn_batch([(); 5]).count();
        let here = Relations::new(from);
        let entities: Vec<Entity> = (0..10).map(|_| from.spawn_empty().id()).collect();
        let mut map = EntityHashMap::<Entity>::default();
        for _ in 0..4 {
            for _ in 0..30 {
                here.change(from, &mut random, &entities);
            }
            for &entity in &entities {
                map.entry(entity).or_insert_with(|| to.spawn_empty().id());
            }
            // Also sources that have no pairs.
            let filter = PairFilter::all().sources(entities.iter().copied());
            let snapshot = PairSnapshot::take(from, filter).unwrap();
            snapshot.apply_mapped(to, &mut map).unwrap();
            let copies: Vec<Entity> = entities.iter().map(|entity| map[entity]).collect();
            assert_eq!(there.read(to, &copies), here.read(from, &entities).mapped(&map));
            to.check_pairs().unwrap();
        }
        take_reported_errors();
    }
}
