//! `on_last_source`, `on_source_despawn` and `on_target_despawn = Despawn` together: random histories against the plain rules.

use crate::common::{Random, fewer};
use bevy_ecs::{lifecycle::Despawn, prelude::*};
use bevy_relations::{
    prelude::*,
    relation::{OnLastSource, OnSourceDespawn, Wildcard},
};
use std::collections::BTreeSet;

#[derive(Component)]
struct Node;

#[derive(Resource, Default)]
struct Log(Vec<Entity>);

fn despawned(world: &mut World) -> Vec<Entity> {
    core::mem::take(&mut world.resource_mut::<Log>().0)
}

/// What a relation says of its targets.
#[derive(Clone, Copy, Debug)]
struct Rules {
    exclusive: bool,
    last: bool,
    along: bool,
    sources: bool,
}

type Edge = (usize, usize, usize);

/// The rules, in plain words.
#[derive(Clone)]
struct Model {
    rules: Vec<Rules>,
    alive: Vec<bool>,
    edges: BTreeSet<Edge>,
    /// Targets of pairs that were removed in the present operation.
    touched: BTreeSet<(usize, usize)>,
}

impl Model {
    fn remove(&mut self, edge: Edge) {
        if self.edges.remove(&edge) {
            self.touched.insert((edge.1, edge.2));
        }
    }

    fn insert(&mut self, (source, relation, target): Edge) {
        if self.edges.contains(&(source, relation, target)) {
            return;
        }
        if self.rules[relation].exclusive {
            let old: Vec<Edge> =
                self.edges.iter().copied().filter(|edge| (edge.0, edge.1) == (source, relation)).collect();
            old.into_iter().for_each(|edge| self.remove(edge));
        }
        self.edges.insert((source, relation, target));
    }

    fn despawn(&mut self, root: usize) {
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            if !core::mem::replace(&mut self.alive[node], false) {
                continue;
            }
            let of: Vec<Edge> =
                self.edges.iter().copied().filter(|edge| edge.0 == node || edge.2 == node).collect();
            for edge in of {
                self.remove(edge);
                let rules = self.rules[edge.1];
                if edge.0 == node && rules.along {
                    open.push(edge.2);
                }
                if edge.2 == node && rules.sources {
                    open.push(edge.0);
                }
            }
        }
    }

    /// The operation is done.
    fn finish(&mut self) {
        while let Some((relation, target)) = self.touched.pop_first() {
            let has_source = self.edges.iter().any(|edge| (edge.1, edge.2) == (relation, target));
            if self.rules[relation].last && !has_source {
                self.despawn(target);
            }
        }
    }

    fn gone_with(&self, root: usize) -> BTreeSet<usize> {
        let mut after = self.clone();
        after.despawn(root);
        after.finish();
        (0..self.alive.len()).filter(|&node| self.alive[node] && !after.alive[node]).collect()
    }
}

#[test]
fn random_histories_end_as_the_plain_rules_say() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..fewer(300) {
        let mut world = World::new();
        world.init_resource::<Log>();
        world.add_observer(|on: On<Despawn<Node>>, mut log: ResMut<Log>| log.0.push(on.entity));
        if round % 2 == 0 {
            world.add_observer(|_: On<PairRemoved<Wildcard>>| {});
        }
        let rules: Vec<Rules> = (0..3)
            .map(|_| Rules {
                exclusive: random.below(3) == 0,
                last: random.below(4) > 0,
                along: random.below(4) == 0,
                sources: random.below(4) == 0,
            })
            .collect();
        let relations: Vec<Entity> = rules
            .iter()
            .map(|rules| {
                let mut traits = RelationTraits::new();
                if rules.exclusive {
                    traits = traits.exclusive();
                }
                if rules.last {
                    traits = traits.on_last_source(OnLastSource::Despawn);
                }
                if rules.along {
                    traits = traits.on_source_despawn(OnSourceDespawn::DespawnTarget);
                }
                if rules.sources {
                    traits = traits.on_target_despawn(CleanupPolicy::Despawn);
                }
                if random.below(3) == 0 {
                    traits = traits.data_or_default::<u32>();
                }
                world.spawn_relation("R", traits).unwrap()
            })
            .collect();
        let count = 5 + random.below(8);
        let nodes: Vec<Entity> = (0..count).map(|_| world.spawn(Node).id()).collect();
        let mut model =
            Model { rules, alive: vec![true; count], edges: BTreeSet::new(), touched: BTreeSet::new() };
        for step in 0..30 {
            let edge: Edge = (random.below(count), random.below(3), random.below(count));
            let (source, relation, target) = (nodes[edge.0], relations[edge.1], nodes[edge.2]);
            match random.below(12) {
                0..6 => {
                    let inserted = world.insert_pair_by_id(source, (relation, target));
                    assert_eq!(inserted.is_ok(), model.alive[edge.0] && model.alive[edge.2]);
                    if inserted.is_ok() {
                        model.insert(edge);
                    }
                }
                6..8 => {
                    let known: Vec<Edge> = model.edges.iter().copied().collect();
                    if !known.is_empty() {
                        let edge = known[random.below(known.len())];
                        let pair = (relations[edge.1], nodes[edge.2]);
                        assert_eq!(world.remove_pairs_by_id(nodes[edge.0], pair), 1);
                        model.remove(edge);
                    }
                }
                8 => {
                    world.remove_pairs_by_id(source, PairId::ALL);
                    let own: Vec<Edge> =
                        model.edges.iter().copied().filter(|other| other.0 == edge.0).collect();
                    own.into_iter().for_each(|edge| model.remove(edge));
                }
                9 => {
                    world.remove_pairs_everywhere(PairId::new(relation, target));
                    let to = |other: &Edge| (other.1, other.2) == (edge.1, edge.2);
                    let to: Vec<Edge> = model.edges.iter().copied().filter(to).collect();
                    to.into_iter().for_each(|edge| model.remove(edge));
                }
                way if model.alive[edge.0] => {
                    let gone = model.gone_with(edge.0);
                    let would: Vec<Entity> = world.would_despawn(source).unwrap();
                    let expected: BTreeSet<Entity> = gone.iter().map(|&node| nodes[node]).collect();
                    assert_eq!(would.len(), expected.len(), "each once, in step {step} of round {round}");
                    assert_eq!(BTreeSet::from_iter(would.iter().copied()), expected);
                    despawned(&mut world);
                    if way == 10 {
                        world.despawn_with_dependents(source).unwrap();
                        let order = despawned(&mut world);
                        assert_eq!(order.len(), would.len());
                        let place = |order: &[Entity]| order.iter().position(|&entity| entity == source);
                        let direct = place(&would).unwrap() + 1;
                        assert_eq!(order[..direct], would[..direct], "step {step} of round {round}");
                    } else {
                        world.despawn(source);
                        assert_eq!(despawned(&mut world).len(), would.len());
                    }
                    model.despawn(edge.0);
                }
                _ => {}
            }
            model.finish();
            world.check_pairs().unwrap();
            for (node, &entity) in nodes.iter().enumerate() {
                let alive = world.entities().contains_spawned(entity);
                assert_eq!(alive, model.alive[node], "node {node}, step {step} of round {round}");
            }
            let pairs: usize = relations.iter().map(|&r| world.pairs_by_id(r).iter().count()).sum();
            assert_eq!(pairs, model.edges.len(), "step {step} of round {round}");
        }
    }
}
