//! Random changes of a world, of every kind that an expression can depend on.

use crate::{
    oracle::{
        model::{BUILT_IN, Kind, Model},
        random::Random,
    },
    ours::Ours,
};
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{prelude::*, relation::Prefab};

/// A world that changes.
pub(super) struct Changing {
    pub(super) ours: Ours,
    random: Random,
    entities: Vec<Entity>,
    pub(super) relations: Vec<Entity>,
    marks: Vec<Entity>,
}

impl Changing {
    pub(super) fn new(model: &Model, random: Random, named: bool) -> Self {
        let ours = Ours::new(model, named);
        let of_kind = |fits: fn(&Kind) -> bool| -> Vec<Entity> {
            let nodes = BUILT_IN..model.nodes.len();
            nodes.filter(|&node| fits(&model.nodes[node].kind)).map(|node| ours.entities()[node]).collect()
        };
        let mut relations = of_kind(|kind| *kind == Kind::Relation);
        relations.extend(&ours.entities()[..2]);
        let (entities, marks) = (of_kind(|kind| *kind == Kind::Entity), of_kind(|kind| *kind == Kind::Tag));
        Self { ours, random, entities, relations, marks }
    }

    pub(super) fn world(&mut self) -> &mut World {
        &mut self.ours.world
    }

    pub(super) fn entities(&self) -> &[Entity] {
        &self.entities
    }

    /// A number of changes, and how many those were.
    pub(super) fn change(&mut self) -> usize {
        let wanted = self.random.weighted(&[(50, 1), (30, 3), (15, 10), (5, 100)]);
        let count = 1 + self.random.below(wanted);
        (0..count).for_each(|_| self.change_once(count));
        count
    }

    fn change_once(&mut self, count: usize) {
        let [a, b] = [0; 2].map(|_| self.random.pick(&self.entities));
        let relation = self.random.pick(&self.relations);
        let mark = self.random.pick(&self.marks);
        let number = self.random.below(4);
        // What turns everything over is rare where much is changed.
        let rare = if count < 4 { 2 } else { 0 };
        let kinds = [(60, 0), (20, 1), (30, 2), (10, 3), (25, 4), (8, 5), (4, 6), (10, 7), (5, 8), (rare, 9)];
        match self.random.weighted(&kinds) {
            0 => drop(self.world().insert_pair_by_id(a, (relation, b))),
            1 => self.remove_pair(a, relation),
            2 => drop(self.world().insert_tag(a, mark)),
            3 => drop(self.world().remove_tag(a, mark)),
            4 => self.ours.insert_component(a, number, b),
            5 => self.ours.remove_component(a, number),
            6 => self.hide(a),
            7 => self.change_parent(a, b),
            8 => self.come_and_go(a, b),
            _ => self.turn_over(a, b),
        }
    }

    fn remove_pair(&mut self, source: Entity, relation: Entity) {
        let mut pairs = self.world().pairs_of(source);
        pairs.retain(|pair| pair.0 == relation);
        if !pairs.is_empty() {
            let pair = self.random.pick(&pairs);
            self.world().remove_pairs_by_id(source, pair);
        }
    }

    fn hide(&mut self, entity: Entity) {
        let which = self.random.below(4);
        let Ok(mut entity) = self.world().get_entity_mut(entity) else { return };
        match which {
            0 => drop(entity.insert(Disabled)),
            1 => drop(entity.remove::<Disabled>()),
            2 => drop(entity.insert(Prefab)),
            _ => drop(entity.remove::<Prefab>()),
        }
    }

    /// By Bevy.
    fn change_parent(&mut self, child: Entity, parent: Entity) {
        let removes = self.random.chance(40);
        let world = self.world();
        if child == parent || world.get_entity(child).is_err() || world.get_entity(parent).is_err() {
            return;
        }
        let mut above = Some(parent);
        while let Some(at) = above {
            if at == child {
                return;
            }
            above = world.get::<ChildOf>(at).map(ChildOf::parent);
        }
        match removes {
            true => drop(world.entity_mut(child).remove::<ChildOf>()),
            false => drop(world.entity_mut(child).insert(ChildOf(parent))),
        }
    }

    fn come_and_go(&mut self, a: Entity, b: Entity) {
        match self.random.below(7) {
            5 => {
                let relation = self.random.pick(&self.relations);
                let mut order: Vec<_> = self.world().pairs_by_id(relation).sources(a).collect();
                order.reverse();
                let _ = self.world().order_sources_by_id(relation, a, &order);
            }
            6 if self.random.chance(30) => self.world().maintain_pairs(),
            0 => {
                let entity = self.world().spawn_empty().id();
                self.entities.push(entity);
            }
            1 if self.entities.len() > 3 => {
                let _ = self.world().try_despawn(a);
                self.remove_dead();
            }
            2 => {
                if let Ok(mut entity) = self.world().get_entity_mut(a) {
                    entity.insert(Name::new(format!("name of {b}")));
                }
            }
            3 => self.ours.write_in_place(a, b),
            _ => {
                if let Ok(mut entity) = self.world().get_entity_mut(a) {
                    let copy = entity.clone_and_spawn();
                    self.entities.push(copy);
                }
            }
        }
    }

    fn turn_over(&mut self, a: Entity, b: Entity) {
        match self.random.below(8) {
            6 => {
                let relation = self.random.pick(&self.relations);
                self.world().remove_pairs_everywhere(PairId::with_relation(relation));
            }
            7 if self.random.chance(30) => self.world().clear_pairs(),
            0 if self.relations.len() > 6 => {
                let at = self.random.below(self.relations.len() - 2);
                let relation = self.relations.remove(at);
                let _ = self.world().try_despawn(relation);
                self.remove_dead();
            }
            1 if self.marks.len() > 1 => {
                let at = self.random.below(self.marks.len());
                let mark = self.marks.remove(at);
                let _ = self.world().try_despawn(mark);
            }
            2 => {
                let relation = self.world().spawn_relation("new", RelationTraits::new()).unwrap();
                self.relations.push(relation);
            }
            3 => self.ours.toggle_resource(),
            4 => {
                // Another kind of a tag.
                let [sub, base] = [0; 2].map(|_| self.random.pick(&self.marks));
                let is_a = self.world().entity_of::<IsA>();
                let _ = self.world().insert_pair_by_id(sub, (is_a, base));
            }
            _ => {
                // The index of an entity is used again.
                let _ = self.world().try_despawn(a);
                self.remove_dead();
                let new = self.world().spawn_empty().id();
                let mark = self.marks[0];
                let _ = self.world().insert_tag(new, mark);
                let relation = self.relations[0];
                let _ = self.world().insert_pair_by_id(new, (relation, b));
                self.entities.push(new);
            }
        }
    }

    fn remove_dead(&mut self) {
        let world = &self.ours.world;
        let is_alive = |entity: &Entity| world.get_entity(*entity).is_ok();
        self.entities.retain(is_alive);
        self.relations.retain(is_alive);
        while self.entities.len() < 2 {
            let entity = self.ours.world.spawn_empty().id();
            self.entities.push(entity);
        }
    }
}
