//! What the tests of terms that look at other entities share: a relation as a system reads it, and random worlds.

use crate::{
    common::{Random, fewer, spawn},
    terms::{Armor, Model, step},
};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, system::SystemState};
use bevy_relations::prelude::*;
use std::collections::BTreeMap;

/// A relation as a system reads it, and what filters see of each entity.
pub(crate) struct Seen {
    pub(crate) model: Model,
    /// The sources of each entity, in order.
    pub(crate) sources: BTreeMap<Entity, Vec<Entity>>,
    /// Who has no armor and is not disabled.
    pub(crate) bare: Vec<Entity>,
    pub(crate) disabled: Vec<Entity>,
}

impl Seen {
    pub(crate) fn new<R: Relation>(world: &mut World, relation: Entity) -> Self {
        let model = Model::new(world, relation);
        let mut state = SystemState::<Pairs<R>>::new(world);
        let pairs = state.get(world).unwrap();
        let sources =
            model.entities.iter().map(|&entity| (entity, pairs.sources(entity).collect())).collect();
        let (disabled, enabled): (Vec<_>, Vec<_>) =
            model.entities.iter().copied().partition(|&entity| world.get::<Disabled>(entity).is_some());
        let bare = enabled.into_iter().filter(|&entity| world.get::<Armor>(entity).is_none()).collect();
        Self { model, sources, bare, disabled }
    }

    /// Whether a query sees armor of the entity.
    pub(crate) fn is_armored(&self, entity: Entity) -> bool {
        self.model.armored.contains(&entity)
    }
}

/// The entities of some data, of which each has the armor of its own.
pub(crate) fn entities<'a>(items: impl Iterator<Item = (Entity, &'a Armor)>) -> Vec<Entity> {
    let checked = |(entity, armor): (Entity, &Armor)| {
        assert_eq!(entity, armor.0);
        entity
    };
    items.map(checked).collect()
}

/// Makes terms, and what checks them.
pub(crate) type Check = fn(&mut World) -> Box<dyn FnMut(&mut World)>;

/// Lets things happen to random worlds, and checks them after each few.
pub(crate) fn run_of(checks: &[Check]) {
    for seed in 0..16 {
        let mut world = World::new();
        let mut random = Random(seed * 7901 + 1);
        let mut entities = spawn::<9>(&mut world);
        let mut checks: Vec<_> = checks.iter().map(|check| check(&mut world)).collect();
        for round in 0..fewer(24).max(7) {
            for _ in 0..1 + round % 7 {
                step(&mut world, &mut random, &mut entities);
            }
            checks.iter_mut().for_each(|check| check(&mut world));
        }
        world.check_pairs().unwrap();
    }
}
