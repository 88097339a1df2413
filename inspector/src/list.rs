//! Which pairs are shown, and what they are called.

use bevy_ecs::{entity::Entity, name::Name, world::World};
use bevy_relations::prelude::*;

/// How many pairs are shown at first, and with each click more.
pub(crate) const PAGE: usize = 50;

/// Which end of its pairs an entity is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    AsSource,
    AsTarget,
}

impl Direction {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::AsSource => "Pairs",
            Self::AsTarget => "Pairs with this target",
        }
    }
}

/// A pair as it is shown.
pub(crate) struct ListedPair {
    pub(crate) source: Entity,
    pub(crate) relation: Entity,
    pub(crate) target: Entity,
    pub(crate) relation_name: String,
    /// The name of the end that is not the entity of the panel.
    pub(crate) other_name: String,
}

impl ListedPair {
    pub(crate) fn id(&self) -> PairId {
        PairId::new(self.relation, self.target)
    }

    pub(crate) fn other(&self, direction: Direction) -> Entity {
        match direction {
            Direction::AsSource => self.target,
            Direction::AsTarget => self.source,
        }
    }

    /// For messages.
    pub(crate) fn title(&self) -> String {
        format!("({}, {})", self.relation_name, self.other_name)
    }
}

/// The first pairs of an entity in one direction, and how many there are.
pub(crate) fn pairs(
    world: &World,
    entity: Entity,
    direction: Direction,
    limit: usize,
) -> (Vec<ListedPair>, usize) {
    let all = world.any_pairs();
    let listed = |source, relation, target, other| ListedPair {
        source,
        relation,
        target,
        relation_name: name(world, relation),
        other_name: name(world, other),
    };
    match direction {
        Direction::AsSource => {
            let pairs = all.pairs_of(entity).take(limit);
            let pairs = pairs.map(|(relation, target)| listed(entity, relation, target, target));
            (pairs.collect(), all.target_count(entity))
        }
        Direction::AsTarget => {
            let pairs = all.pairs_to(entity).take(limit);
            let pairs = pairs.map(|(source, relation)| listed(source, relation, entity, source));
            (pairs.collect(), all.source_count(entity))
        }
    }
}

/// The relations that there are, in alphabetical order.
pub(crate) fn relation_names(world: &World) -> Vec<String> {
    let relations = world.any_pairs().relations();
    let mut names: Vec<String> = relations.map(|relation| name(world, relation)).collect();
    names.sort_unstable();
    names
}

/// The `Name` of an entity, the type or relation that it stands for, or its id.
fn name(world: &World, entity: Entity) -> String {
    if let Some(name) = world.get::<Name>(entity) {
        return name.to_string();
    }
    match world.relation_name(entity) {
        Some(name) => name.to_string(),
        None => entity.to_string(),
    }
}
