//! Random changes of a keyed relation against a plain definition.

use crate::{
    common::{Random, fewer, take_reported_errors, world_that_records_errors},
    keyed::{
        Equips,
        Slot::{self, Foot, Hand, Head},
        equips, slots,
    },
};
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use std::collections::BTreeMap;

/// Plain definition: the targets of each source in order, with their slots.
#[derive(Default)]
struct Model(BTreeMap<Entity, Vec<(Slot, Entity)>>);

impl Model {
    fn insert(&mut self, source: Entity, slot: Slot, target: Entity) {
        let pairs = self.0.entry(source).or_default();
        pairs.retain(|&(other, at)| other != slot || at == target);
        match pairs.iter_mut().find(|(_, at)| *at == target) {
            Some(pair) => pair.0 = slot,
            None => pairs.push((slot, target)),
        }
    }

    fn remove(&mut self, source: Entity, mut goes: impl FnMut(Slot, Entity) -> bool) {
        self.0.entry(source).or_default().retain(|&(slot, target)| !goes(slot, target));
    }

    fn replace_targets(&mut self, source: Entity, new: &[(Slot, Entity)]) -> bool {
        let pairs = self.0.entry(source).or_default();
        let mut last: Vec<(Slot, Entity)> = Vec::new();
        for &(slot, target) in new {
            match last.iter_mut().find(|(_, at)| *at == target) {
                Some(pair) => pair.0 = slot,
                None => last.push((slot, target)),
            }
        }
        let mut kept = pairs.clone();
        kept.retain(|&(_, target)| last.iter().any(|&(_, at)| at == target));
        for (slot, target) in last {
            if !kept.iter().any(|&(_, at)| at == target) {
                if kept.iter().any(|&(other, _)| other == slot) {
                    return false;
                }
                kept.push((slot, target));
            }
        }
        *pairs = kept;
        true
    }

    fn despawn(&mut self, gone: Entity) {
        self.0.remove(&gone);
        self.0.values_mut().for_each(|pairs| pairs.retain(|&(_, target)| target != gone));
    }

    fn move_sources(&mut self, from: Entity, to: Entity) {
        for pairs in self.0.values_mut() {
            let Some(&(slot, _)) = pairs.iter().find(|(_, target)| *target == from) else { continue };
            pairs.retain(|&(_, target)| target != from);
            if !pairs.iter().any(|&(_, target)| target == to) {
                pairs.push((slot, to));
            }
        }
    }
}

#[test]
fn random_changes_agree_with_a_plain_definition() {
    for seed in 0..fewer(60) as u64 {
        let mut random = Random(0x6B65_7973 + seed * 77);
        let mut world = world_that_records_errors();
        if seed % 3 == 0 {
            // With observers there is no fast path.
            world.add_observer(|_: On<PairRemoved<Equips>>| {});
        }
        if seed % 4 == 1 {
            world.track_pair_changes::<Equips>();
        }
        let mut entities: Vec<Entity> = (0..7).map(|_| world.spawn_empty().id()).collect();
        let mut model = Model::default();
        for _ in 0..120 {
            let (source, target) = (random.pick(&entities), random.pick(&entities));
            let slot = [Head, Hand, Foot][random.below(3)];
            match random.below(12) {
                0..5 => {
                    world.insert_pair(source, equips(slot), target).unwrap();
                    model.insert(source, slot, target);
                }
                5 => {
                    let more = random.pick(&entities);
                    let batch = [(source, equips(slot), target), (source, equips(Hand), more)];
                    world.insert_pair_batch(batch).unwrap();
                    model.insert(source, slot, target);
                    model.insert(source, Hand, more);
                }
                6 => {
                    world.remove_pair::<Equips>(source, target);
                    model.remove(source, |_, at| at == target);
                }
                7 => {
                    world.remove_pair_by_key::<Equips>(source, &slot);
                    model.remove(source, |other, _| other == slot);
                }
                8 => {
                    let count = random.below(4);
                    let new: Vec<(Slot, Entity)> = (0..count)
                        .map(|_| ([Head, Hand, Foot][random.below(3)], random.pick(&entities)))
                        .collect();
                    let pairs = new.iter().map(|&(slot, target)| (equips(slot), target));
                    let done = world.replace_targets(source, pairs).is_ok();
                    if new.is_empty() {
                        model.remove(source, |_, _| true);
                    } else {
                        assert_eq!(done, model.replace_targets(source, &new), "{new:?}");
                    }
                }
                9 => {
                    world.move_sources::<Equips>(source, target).unwrap();
                    if source != target {
                        model.move_sources(source, target);
                    }
                }
                10 => {
                    world.despawn(source);
                    model.despawn(source);
                    let at = entities.iter().position(|&entity| entity == source).unwrap();
                    entities[at] = world.spawn_empty().id();
                }
                _ => {
                    world.commands().entity(source).insert(Pair(equips(slot), target));
                    world.flush();
                    model.insert(source, slot, target);
                }
            }
            world.check_pairs().unwrap();
            for &entity in &entities {
                let expected = model.0.get(&entity).cloned().unwrap_or_default();
                assert_eq!(slots(&world, entity), expected, "seed {seed}");
                for slot in [Head, Hand, Foot] {
                    let by_key = expected.iter().find(|(own, _)| *own == slot).map(|&(_, target)| target);
                    assert_eq!(world.pairs::<Equips>().target_by_key(entity, &slot), by_key);
                }
            }
        }
        assert_eq!(take_reported_errors(), Vec::<String>::new());
    }
}
