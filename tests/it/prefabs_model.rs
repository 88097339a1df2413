//! Random prefabs with variants and nested instances, against a model that copies by definition.

use crate::{
    common::{Random, fewer, take_reported_errors},
    prefabs::{Armor, Health, Serial, children, world},
};
use bevy_ecs::prelude::*;
use bevy_relations::{
    prefab::{Prefab, WorldPrefabExt},
    prelude::*,
    world::WorldInheritanceExt,
};

#[derive(Clone, Default)]
struct Node {
    name: Option<u32>,
    health: Option<u32>,
    armor: Option<u32>,
    serial: Option<u32>,
    is_prefab: bool,
    bases: Vec<usize>,
    children: Vec<usize>,
    parent: Option<usize>,
    gone: bool,
}

/// By number.
#[derive(Default)]
struct Model(Vec<Node>);

impl Model {
    fn add(&mut self, node: Node) -> usize {
        self.0.push(node);
        self.0.len() - 1
    }

    fn attach(&mut self, child: usize, parent: usize) {
        self.0[parent].children.push(child);
        self.0[child].parent = Some(parent);
    }

    /// Gives an instance what it has not.
    fn instantiate(&mut self, prefab: usize, instance: usize) {
        self.0[instance].bases.push(prefab);
        let health = self.health(prefab);
        let own = &mut self.0[instance];
        own.health = own.health.or(health);
        for child in self.0[prefab].children.clone() {
            self.copy(child, instance);
        }
    }

    fn copy(&mut self, part: usize, parent: usize) {
        let node = self.0[part].clone();
        let is_prefab = self.0[parent].is_prefab;
        let health = self.health(part);
        let copy = self.add(Node { health, serial: None, is_prefab, children: Vec::new(), ..node.clone() });
        self.attach(copy, parent);
        for child in node.children {
            self.copy(child, copy);
        }
    }

    /// What a copy gets.
    fn health(&self, node: usize) -> Option<u32> {
        self.0[node].health.or_else(|| self.0[node].bases.iter().find_map(|&base| self.health(base)))
    }

    fn armor(&self, node: usize) -> Option<u32> {
        self.0[node].armor.or_else(|| self.0[node].bases.iter().find_map(|&base| self.armor(base)))
    }

    fn despawn(&mut self, node: usize) {
        if let Some(parent) = self.0[node].parent {
            self.0[parent].children.retain(|&child| child != node);
        }
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            self.0[node].gone = true;
            waiting.append(&mut self.0[node].children);
            for other in &mut self.0 {
                other.bases.retain(|&base| base != node);
            }
        }
    }

    fn describe(&self, node: usize) -> String {
        let Node { name, health, armor, serial, is_prefab, bases, children, .. } = &self.0[node];
        let below: Vec<String> = children.iter().map(|&child| self.describe(child)).collect();
        let bases: Vec<Option<u32>> = bases.iter().map(|&base| self.0[base].name).collect();
        format!(
            "{name:?} {health:?} {armor:?} {:?} {serial:?} {is_prefab} {bases:?} [{}]",
            self.armor(node),
            below.join(", ")
        )
    }

    /// Living nodes that have this.
    fn living(&self, holds: impl Fn(&Node) -> bool) -> Vec<usize> {
        (0..self.0.len()).filter(|&node| !self.0[node].gone && holds(&self.0[node])).collect()
    }

    fn root(&self, node: usize) -> usize {
        self.0[node].parent.map_or(node, |parent| self.root(parent))
    }

    fn is_a(&self, node: usize, base: usize) -> bool {
        node == base || self.0[node].bases.iter().any(|&above| self.is_a(above, base))
    }
}

fn name_of(world: &World, entity: Entity) -> Option<u32> {
    world.get::<Name>(entity).and_then(|name| name.as_str().parse().ok())
}

fn describe(world: &World, entity: Entity) -> String {
    let below: Vec<String> =
        children(world, entity).into_iter().map(|child| describe(world, child)).collect();
    let bases: Vec<Option<u32>> =
        world.pairs::<IsA>().targets(entity).map(|base| name_of(world, base)).collect();
    format!(
        "{:?} {:?} {:?} {:?} {:?} {} {bases:?} [{}]",
        name_of(world, entity),
        world.get::<Health>(entity).map(|it| it.0),
        world.get::<Armor>(entity).map(|it| it.0),
        world.get_inherited::<Armor>(entity).map(|it| it.0),
        world.get::<Serial>(entity).map(|it| it.0),
        world.get::<Prefab>(entity).is_some(),
        below.join(", ")
    )
}

/// The world, the model, and which entity is which node.
struct Game {
    world: World,
    model: Model,
    entities: Vec<Option<Entity>>,
    names: u32,
}

impl Game {
    fn new() -> Self {
        Self { world: world(), model: Model::default(), entities: Vec::new(), names: 0 }
    }

    fn entity(&self, node: usize) -> Entity {
        self.entities[node].unwrap_or_else(|| panic!("node {node} has no entity"))
    }

    fn spawn(&mut self, is_prefab: bool) -> (usize, Entity) {
        self.names += 1;
        let entity = self.world.spawn(Name::new(self.names.to_string())).id();
        if is_prefab {
            self.world.entity_mut(entity).insert(Prefab);
        }
        let node = self.model.add(Node { name: Some(self.names), is_prefab, ..Node::default() });
        self.entities.resize(self.model.0.len(), None);
        self.entities[node] = Some(entity);
        (node, entity)
    }

    fn spawn_part(&mut self, parent: usize) -> (usize, Entity) {
        let (node, entity) = self.spawn(false);
        let above = self.entity(parent);
        self.world.entity_mut(entity).insert(ChildOf(above));
        self.model.0[node].is_prefab = true;
        self.model.attach(node, parent);
        (node, entity)
    }

    /// Finds the entities of copies, which are in the same order.
    fn learn(&mut self, node: usize) {
        self.entities.resize(self.model.0.len(), None);
        let entity = self.entity(node);
        let (nodes, entities) = (self.model.0[node].children.clone(), children(&self.world, entity));
        assert_eq!(
            nodes.len(),
            entities.len(),
            "{}\n{}",
            self.model.describe(node),
            describe(&self.world, entity)
        );
        for (child, entity) in nodes.into_iter().zip(entities) {
            self.entities[child] = Some(entity);
            self.learn(child);
        }
    }

    fn step(&mut self, random: &mut Random) {
        if self.model.0.len() > 600 {
            return;
        }
        let prefabs = self.model.living(|node| node.is_prefab && node.parent.is_none());
        let parts = self.model.living(|node| node.is_prefab);
        let pick = |random: &mut Random, of: &[usize]| of[random.below(of.len())];
        match random.below(12) {
            _ if prefabs.is_empty() => drop(self.spawn(true)),
            0 => drop(self.spawn(true)),
            1 | 2 => {
                let parent = pick(random, &parts);
                self.spawn_part(parent);
            }
            3 | 4 => {
                let all = self.model.living(|_| true);
                let node = pick(random, &all);
                let (entity, number) = (self.entity(node), random.below(100) as u32);
                let mut entity = self.world.entity_mut(entity);
                let node = &mut self.model.0[node];
                match random.below(4) {
                    0 => {
                        entity.insert(Health(number));
                        node.health = Some(number);
                    }
                    1 => {
                        entity.insert(Armor(number));
                        node.armor = Some(number);
                    }
                    2 => {
                        entity.insert(Serial(number));
                        node.serial = Some(number);
                    }
                    _ => {
                        entity.remove::<(Health, Armor)>();
                        (node.health, node.armor) = (None, None);
                    }
                }
            }
            // A variant.
            5 => {
                let base = pick(random, &prefabs);
                let (node, entity) = self.spawn(true);
                self.instantiate(base, node, entity);
            }
            // A part that is an instance of another prefab.
            6 | 7 => {
                let (parent, base) = (pick(random, &parts), pick(random, &prefabs));
                let root = self.model.root(parent);
                if self.model.is_a(base, root) {
                    return;
                }
                let (node, entity) = self.spawn_part(parent);
                self.instantiate(base, node, entity);
            }
            8 => {
                let node = pick(random, &parts);
                let entity = self.entity(node);
                self.world.despawn(entity);
                self.model.despawn(node);
            }
            // Instances, with something of their own.
            _ => {
                let base = pick(random, &prefabs);
                let (node, entity) = self.spawn(false);
                if random.below(3) == 0 {
                    self.world.entity_mut(entity).insert(Health(7));
                    self.model.0[node].health = Some(7);
                }
                self.instantiate(base, node, entity);
                if random.below(3) == 0 {
                    let before = self.model.0.len();
                    let prefab = self.entity(base);
                    let instances = self.world.instantiate_batch(prefab, 2).unwrap();
                    for instance in instances {
                        let node = self.model.add(Node::default());
                        self.model.instantiate(base, node);
                        self.entities.resize(self.model.0.len(), None);
                        self.entities[node] = Some(instance);
                        self.learn(node);
                    }
                    assert!(self.model.0.len() >= before + 2);
                }
            }
        }
    }

    fn instantiate(&mut self, base: usize, node: usize, entity: Entity) {
        let prefab = self.entity(base);
        self.world.insert_pair(entity, IsA, prefab).unwrap();
        self.model.instantiate(base, node);
        self.learn(node);
    }

    fn check(&self, context: &str) {
        for node in self.model.living(|node| node.parent.is_none()) {
            let expected = self.model.describe(node);
            assert_eq!(describe(&self.world, self.entity(node)), expected, "{context}");
        }
        self.world.check_pairs().unwrap();
        assert_eq!(take_reported_errors(), Vec::<String>::new(), "{context}");
    }
}

#[test]
fn random_prefabs_give_what_the_definition_says() {
    for seed in 1..=fewer(60) as u64 {
        let mut random = Random(seed * 0x9e37_79b9);
        let mut game = Game::new();
        for step in 0..40 {
            game.step(&mut random);
            game.check(&format!("seed {seed}, step {step}"));
        }
    }
}
