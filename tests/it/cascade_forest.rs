//! Random forests that change between runs, for the tests of cascades.

use crate::common::Random;
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{
    prelude::*,
    relation::{ExclusiveRelation, TraversableRelation},
};
use std::collections::HashMap;

/// A forest that may be built with Bevy's own hierarchy, or with a relation of this crate.
#[derive(Relation, Clone, Default)]
#[relation(exclusive, traversable)]
pub(crate) struct Under;

#[derive(Component, Clone, Copy, Debug)]
pub(crate) struct Local(pub(crate) i64);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Global(pub(crate) i64);

/// How often an entity was visited.
#[derive(Component, Default)]
pub(crate) struct Visits(pub(crate) u32);

/// Only moves entities to other tables.
#[derive(Component)]
struct Marker;

/// What a child's value is, given the parent's.
pub(crate) fn combine(local: i64, parent: Option<i64>) -> i64 {
    parent.map_or(local, |parent| parent.wrapping_mul(31).wrapping_add(local))
}

/// A world with a forest along relation `R`.
pub(crate) struct Forest<R> {
    pub(crate) world: World,
    pub(crate) random: Random,
    pub(crate) entities: Vec<Entity>,
    /// Entities that got another parent or lost theirs, until the list is cleared.
    pub(crate) relinked: Vec<Entity>,
    link: fn(&mut World, Entity, Entity) -> bool,
    relation: core::marker::PhantomData<R>,
}

impl Forest<ChildOf> {
    pub(crate) fn of_children(seed: u64, size: usize) -> Self {
        Self::new(seed, size, |world, child, parent| {
            world.insert_pair(child, ChildOf(parent), parent).is_ok()
        })
    }
}

impl Forest<Under> {
    pub(crate) fn of_relation(seed: u64, size: usize) -> Self {
        Self::new(seed, size, |world, child, parent| world.insert_pair(child, Under, parent).is_ok())
    }
}

impl<R: ExclusiveRelation + TraversableRelation> Forest<R> {
    fn new(seed: u64, size: usize, link: fn(&mut World, Entity, Entity) -> bool) -> Self {
        let (world, random) = (World::new(), Random(seed));
        let mut forest =
            Self { world, random, entities: vec![], relinked: vec![], link, relation: Default::default() };
        for _ in 0..size {
            forest.spawn();
        }
        forest
    }

    fn spawn(&mut self) {
        let mut entity = self.world.spawn(Visits::default());
        if self.random.below(10) > 0 {
            entity.insert(Local(self.random.below(1000) as i64));
        }
        if self.random.below(10) > 0 {
            entity.insert(Global(-1));
        }
        let entity = entity.id();
        self.entities.push(entity);
        if self.random.below(8) > 0 {
            self.reparent(entity);
        }
    }

    pub(crate) fn parent(&self, entity: Entity) -> Option<Entity> {
        self.world.pairs::<R>().target(entity)
    }

    /// Gives an entity another parent, unless that would close a cycle.
    fn reparent(&mut self, entity: Entity) {
        let parent = self.random.pick(&self.entities);
        let tree = self.world.pairs::<R>();
        let closes_a_cycle = entity == parent || tree.is_ancestor(entity, parent);
        if !closes_a_cycle && self.parent(entity) != Some(parent) {
            assert!((self.link)(&mut self.world, entity, parent));
            self.relinked.push(entity);
        }
    }

    /// Does something to a random entity.
    fn change(&mut self) {
        let entity = self.random.pick(&self.entities);
        let action = self.random.below(100);
        if action < 20 {
            return self.spawn();
        }
        if action < 45 {
            return self.reparent(entity);
        }
        if action < 60 {
            let orphans: Vec<_> = self.world.pairs::<R>().sources(entity).collect();
            self.world.despawn(entity);
            self.entities.retain(|&entity| self.world.get_entity(entity).is_ok());
            self.relinked.extend(orphans);
            return;
        }
        if action < 70 {
            if self.world.remove_pairs::<R>(entity) > 0 {
                self.relinked.push(entity);
            }
            return;
        }
        let on = self.random.below(2) == 0;
        let local = Local(self.random.below(1000) as i64);
        let mut entity = self.world.entity_mut(entity);
        match (action % 4, on) {
            (0, true) => entity.insert(local),
            (0, false) => entity.remove::<Local>(),
            (1, true) => entity.insert(Global(-2)),
            (1, false) => entity.remove::<Global>(),
            (2, true) => entity.insert(Disabled),
            (2, false) => entity.remove::<Disabled>(),
            (_, true) => entity.insert(Marker),
            (_, false) => entity.remove::<Marker>(),
        };
    }

    pub(crate) fn change_some(&mut self) {
        let most = [1, 4, 20, 300][self.random.below(4)];
        for _ in 0..self.random.below(most) {
            self.change();
            if self.entities.len() < 3 {
                self.spawn();
            }
        }
        if self.random.below(3) == 0 {
            self.world.maintain_pairs();
        }
    }

    /// Whether a query for both values sees the entity.
    pub(crate) fn matches(&self, entity: Entity) -> bool {
        let entity = self.world.entity(entity);
        entity.contains::<Local>() && entity.contains::<Global>() && !entity.contains::<Disabled>()
    }

    /// What every entity's global value must be after a run, found by climbing from each.
    pub(crate) fn expected(&self) -> HashMap<Entity, i64> {
        let mut known = HashMap::new();
        for &entity in &self.entities {
            let mut path = vec![entity];
            while let Some(parent) = self.parent(path[path.len() - 1]) {
                path.push(parent);
            }
            let mut above: Option<Entity> = None;
            for &entity in path.iter().rev() {
                let parent = above.replace(entity);
                let parent = parent.filter(|&parent| !self.world.entity(parent).contains::<Disabled>());
                let parent = parent.and_then(|parent| known.get(&parent).copied());
                let stored = self.world.get::<Global>(entity).map(|global| global.0);
                let local = self.world.get::<Local>(entity);
                let value = local.filter(|_| self.matches(entity)).map(|local| combine(local.0, parent));
                if let Some(value) = value.or(stored) {
                    known.insert(entity, value);
                }
            }
        }
        known
    }

    /// Compares every global value with what it must be, and every count of visits with `visits`.
    #[track_caller]
    pub(crate) fn check_values(&self, expected: &HashMap<Entity, i64>) {
        for &entity in &self.entities {
            let value = self.world.get::<Global>(entity).map(|global| global.0);
            let expected = expected.get(&entity).copied();
            assert_eq!(value, expected, "{entity} below {:?}", self.parent(entity));
        }
    }

    /// Every match was visited once, no other entity at all. Resets the counts.
    #[track_caller]
    pub(crate) fn check_visits(&mut self) {
        for &entity in &self.entities {
            let visits = self.world.get_mut::<Visits>(entity).unwrap().0;
            assert_eq!(visits, u32::from(self.matches(entity)), "visits of {entity}");
            self.world.get_mut::<Visits>(entity).unwrap().0 = 0;
        }
    }
}
