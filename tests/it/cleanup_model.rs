//! Cleanup policies against a model written from the table alone: every policy, graph shape and verb, and
//! random graphs in which entities are sources, targets, relations and tags at once.

use crate::common::{fewer, take_reported_errors, world_that_records_errors};
use bevy_ecs::{lifecycle::Despawn, prelude::*, world::DeferredWorld};
use bevy_relations::{prelude::*, relation::Wildcard};
use std::collections::HashSet;

/// Number of the entity in its graph.
#[derive(Component, Clone, Copy)]
struct Node(usize);

#[derive(Component)]
struct Victim;

#[derive(Resource, Default)]
struct Log {
    despawned: Vec<usize>,
    removed: Vec<(Entity, Entity, Entity)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verb {
    WorldDespawn,
    EntityDespawn,
    CommandsDespawn,
    DespawnAll,
    DespawnAllWhere,
    CommandsDespawnAll,
    Dependents,
    EntityDependents,
    CommandsDependents,
}

impl Verb {
    const ALL: [Self; 9] = [
        Self::WorldDespawn,
        Self::EntityDespawn,
        Self::CommandsDespawn,
        Self::DespawnAll,
        Self::DespawnAllWhere,
        Self::CommandsDespawnAll,
        Self::Dependents,
        Self::EntityDependents,
        Self::CommandsDependents,
    ];

    fn is_ours(self) -> bool {
        matches!(self, Self::Dependents | Self::EntityDependents | Self::CommandsDependents)
    }

    fn run(self, world: &mut World, entity: Entity) {
        world.entity_mut(entity).insert(Victim);
        match self {
            Self::WorldDespawn => assert!(world.despawn(entity)),
            Self::EntityDespawn => world.entity_mut(entity).despawn(),
            Self::CommandsDespawn => world.commands().entity(entity).despawn(),
            Self::DespawnAll => world.despawn_all::<With<Victim>>(),
            Self::DespawnAllWhere => world.despawn_all_where::<Has<Victim>, ()>(|victim| victim),
            Self::CommandsDespawnAll => world.commands().despawn_all::<With<Victim>>(),
            Self::Dependents => _ = world.despawn_with_dependents(entity),
            Self::EntityDependents => _ = world.entity_mut(entity).despawn_with_dependents(),
            Self::CommandsDependents => world.commands().entity(entity).despawn_with_dependents(),
        }
        world.flush();
    }
}

/// A pair of nodes; without a relation it is a tag.
type Edge = (usize, Option<usize>, usize);

#[derive(Clone, Default, Debug)]
struct Graph {
    nodes: usize,
    /// Relation node, policies on its own despawn and on that of a target.
    relations: Vec<(usize, CleanupPolicy, CleanupPolicy)>,
    edges: Vec<Edge>,
}

impl Graph {
    fn policies(&self, node: usize) -> (CleanupPolicy, CleanupPolicy) {
        let found = self.relations.iter().find(|(relation, ..)| *relation == node);
        found.map_or((CleanupPolicy::Remove, CleanupPolicy::Remove), |&(_, own, target)| (own, target))
    }

    /// Sources of the pairs that use `node`, and what the policy says about them.
    fn users(&self, node: usize) -> impl Iterator<Item = (usize, CleanupPolicy)> + '_ {
        self.edges.iter().flat_map(move |&(source, relation, target)| {
            let as_target = (target == node).then(|| match relation {
                Some(relation) => (source, self.policies(relation).1),
                None => (source, self.policies(node).0),
            });
            let as_relation = (relation == Some(node)).then(|| (source, self.policies(node).0));
            [as_target, as_relation].into_iter().flatten()
        })
    }

    fn cascade(&self, root: usize) -> HashSet<usize> {
        let (mut dead, mut open) = (HashSet::from([root]), vec![root]);
        while let Some(node) = open.pop() {
            for (source, policy) in self.users(node) {
                if policy == CleanupPolicy::Despawn && dead.insert(source) {
                    open.push(source);
                }
            }
        }
        dead
    }

    /// Whether `from` depends on `to`, however far, without `but`.
    fn depends(&self, from: usize, to: usize, but: Option<usize>) -> bool {
        let (mut seen, mut open) = (HashSet::from([to]), vec![to]);
        while let Some(node) = open.pop() {
            for (source, policy) in self.users(node) {
                if policy == CleanupPolicy::Despawn && Some(source) != but && seen.insert(source) {
                    open.push(source);
                }
            }
        }
        from != to && seen.contains(&from)
    }

    fn mentions(&(source, relation, target): &Edge, dead: &HashSet<usize>) -> bool {
        [Some(source), relation, Some(target)].into_iter().flatten().any(|node| dead.contains(&node))
    }
}

struct Built {
    world: World,
    nodes: Vec<Entity>,
}

fn build(graph: &Graph, listening: bool, data: bool) -> Built {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    world.add_observer(|on: On<Despawn<Node>>, nodes: Query<&Node>, mut log: ResMut<Log>| {
        log.despawned.push(nodes.get(on.entity).unwrap().0);
    });
    if listening {
        world.add_observer(|on: On<PairRemoved<Wildcard>>, mut world: DeferredWorld| {
            let id = PairId::new(on.relation, on.target);
            assert!(world.has_pair_by_id(on.source, id), "the pair is readable");
            let pairs = world.pairs_by_id(on.relation);
            assert!(pairs.targets(on.source).any(|target| target == on.target), "at its source");
            assert!(pairs.sources(on.target).any(|source| source == on.source), "at its target");
            assert!(world.get::<Node>(on.source).is_some() && world.get_entity(on.target).is_ok(), "alive");
            if let Some(&value) = world.pair_value_by_id::<u64>(on.source, (on.relation, on.target)) {
                assert_eq!(value, on.source.to_bits() ^ on.target.to_bits(), "with its value");
            }
            let removed = (on.source, on.relation, on.target);
            world.resource_mut::<Log>().removed.push(removed);
        });
    }
    let nodes: Vec<Entity> = (0..graph.nodes).map(|node| world.spawn(Node(node)).id()).collect();
    for &(relation, own, target) in &graph.relations {
        let mut traits = RelationTraits::new().on_relation_despawn(own).on_target_despawn(target);
        if data {
            traits = traits.data::<u64>();
        }
        world.set_traits(nodes[relation], traits).unwrap();
    }
    for &(source, relation, target) in &graph.edges {
        let (source, target) = (nodes[source], nodes[target]);
        match relation {
            Some(relation) if data => {
                let value = source.to_bits() ^ target.to_bits();
                world.insert_pair_value_by_id(source, (nodes[relation], target), value).unwrap();
            }
            Some(relation) => world.insert_pair_by_id(source, (nodes[relation], target)).unwrap(),
            None => world.insert_tag(source, target).unwrap(),
        }
    }
    world.check_pairs().unwrap();
    Built { world, nodes }
}

/// Despawns `root` and compares with the model.
fn check(graph: &Graph, root: usize, verb: Verb, listening: bool, data: bool) {
    let case = format!("{verb:?} of {root}, listening: {listening}, data: {data}, in {graph:?}");
    let Built { mut world, nodes } = build(graph, listening, data);
    let mut dead = graph.cascade(root);
    let in_the_way = |node: usize| graph.users(node).any(|(_, policy)| policy == CleanupPolicy::Refuse);
    let refused = verb.is_ours() && dead.iter().any(|&node| in_the_way(node));
    if refused {
        dead.clear();
    }
    verb.run(&mut world, nodes[root]);

    if let Err(error) = world.check_pairs() {
        panic!("{error} after {case}");
    }
    let errors = take_reported_errors();
    if verb.is_ours() {
        assert_eq!(!errors.is_empty(), refused && verb == Verb::CommandsDependents, "{errors:?} by {case}");
    } else if in_the_way(root) {
        assert!(!errors.is_empty(), "no report by {case}");
    } else if !dead.iter().any(|&node| in_the_way(node)) {
        assert!(errors.is_empty(), "{errors:?} by {case}");
    }
    let gone: HashSet<usize> =
        (0..graph.nodes).filter(|&node| world.get_entity(nodes[node]).is_err()).collect();
    assert_eq!(gone, dead, "who is gone by {case}");
    for edge in &graph.edges {
        let (source, target) = (nodes[edge.0], nodes[edge.2]);
        let there = match edge.1 {
            Some(relation) => world.has_pair_by_id(source, PairId::new(nodes[relation], target)),
            None => world.has_tag(source, target),
        };
        assert_eq!(there, !Graph::mentions(edge, &dead), "{edge:?} after {case}");
    }
    let log = world.remove_resource::<Log>().unwrap();
    check_order(graph, root, verb, &log.despawned, &dead, &case);
    if listening {
        check_events(graph, &nodes, &log.removed, &dead, &case);
    }
}

fn check_order(graph: &Graph, root: usize, verb: Verb, order: &[usize], dead: &HashSet<usize>, case: &str) {
    assert_eq!(order.len(), dead.len(), "each once: {order:?} by {case}");
    assert_eq!(&order.iter().copied().collect::<HashSet<_>>(), dead, "{case}");
    let place = |node| order.iter().position(|&other| other == node).unwrap();
    let first = (!verb.is_ours() && !dead.is_empty()).then_some(root);
    if let Some(root) = first {
        assert_eq!(order[0], root, "Bevy despawns the root first: {order:?} by {case}");
    }
    for edge in &graph.edges {
        // Pairs of the root go with it, and say nothing any more when the others are put in order.
        if first.is_some_and(|root| Graph::mentions(edge, &HashSet::from([root]))) {
            continue;
        }
        let on = [
            Some((edge.2, edge.1.map_or(graph.policies(edge.2).0, |relation| graph.policies(relation).1))),
            edge.1.map(|relation| (relation, graph.policies(relation).0)),
        ];
        for (used, policy) in on.into_iter().flatten() {
            let both = dead.contains(&edge.0) && dead.contains(&used) && edge.0 != used;
            if policy == CleanupPolicy::Despawn && both && !graph.depends(used, edge.0, first) {
                assert!(place(edge.0) < place(used), "{} before {used}: {order:?} by {case}", edge.0);
            }
        }
    }
}

fn check_events(
    graph: &Graph,
    nodes: &[Entity],
    removed: &[(Entity, Entity, Entity)],
    dead: &HashSet<usize>,
    case: &str,
) {
    let pairs = graph.edges.iter().filter_map(|edge| Some((edge, edge.1?)));
    for (edge, relation) in pairs {
        let pair = (nodes[edge.0], nodes[relation], nodes[edge.2]);
        let times = removed.iter().filter(|&&removed| removed == pair).count();
        assert_eq!(times, usize::from(Graph::mentions(edge, dead)), "events of {edge:?} by {case}");
    }
}

const POLICIES: [CleanupPolicy; 3] = [CleanupPolicy::Remove, CleanupPolicy::Despawn, CleanupPolicy::Refuse];

/// The last node is the relation; node 0 is despawned.
fn shapes() -> Vec<(usize, Vec<(usize, usize)>)> {
    vec![
        (2, vec![(1, 0)]),
        (5, vec![(1, 0), (2, 1), (3, 2), (4, 3)]),
        (6, vec![(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)]),
        (5, vec![(1, 0), (2, 0), (3, 1), (3, 2), (4, 3)]),
        (4, vec![(1, 0), (2, 1), (0, 2), (3, 1)]),
        (2, vec![(0, 0)]),
        (3, vec![(0, 0), (1, 0), (1, 1), (2, 1)]),
        (4, vec![(0, 1), (1, 2), (3, 2)]),
        (40, (1..40).map(|source| (source, 0)).collect()),
        (40, (1..40).map(|target| (0, target)).collect()),
    ]
}

#[test]
fn every_target_policy_holds_in_every_shape_by_every_verb() {
    for (count, arrows) in shapes() {
        for policy in POLICIES {
            let edges = arrows.iter().map(|&(source, target)| (source, Some(count), target)).collect();
            let relations = vec![(count, CleanupPolicy::Remove, policy)];
            let graph = Graph { nodes: count + 1, relations, edges };
            for verb in Verb::ALL {
                for (listening, data) in [(false, false), (true, false), (false, true), (true, true)] {
                    check(&graph, 0, verb, listening, data);
                }
            }
        }
    }
}

#[test]
fn every_relation_policy_holds_in_every_shape_by_every_verb() {
    for (count, arrows) in shapes() {
        for policy in POLICIES {
            let edges = arrows.iter().map(|&(source, target)| (source, Some(count), target)).collect();
            let graph =
                Graph { nodes: count + 1, relations: vec![(count, policy, CleanupPolicy::Remove)], edges };
            for verb in Verb::ALL {
                for (listening, data) in [(false, false), (true, false), (false, true), (true, true)] {
                    check(&graph, count, verb, listening, data);
                }
            }
        }
    }
}

#[test]
fn every_relation_policy_of_a_tag_holds_for_those_that_have_the_tag() {
    for policy in POLICIES {
        let edges = [(1, None, 0), (2, None, 0), (1, None, 2), (0, None, 3), (0, None, 0)];
        for edges in [&edges[..1], &edges[..4], &edges[..]] {
            let relations = vec![(0, policy, CleanupPolicy::Remove)];
            let graph = Graph { nodes: 4, relations, edges: edges.to_vec() };
            for verb in Verb::ALL {
                check(&graph, 0, verb, false, false);
                check(&graph, 0, verb, true, false);
            }
        }
    }
}

#[test]
fn a_policy_applies_only_to_its_own_relation() {
    // 5 likes (4) and 6 is mounted on (7) the same target.
    for (likes, mounted) in POLICIES.into_iter().flat_map(|a| POLICIES.map(|b| (a, b))) {
        let relations = vec![(4, CleanupPolicy::Remove, likes), (7, CleanupPolicy::Remove, mounted)];
        let edges = vec![
            (5, Some(4), 0),
            (6, Some(7), 0),
            (1, Some(4), 6),
            (2, Some(7), 5),
            (3, Some(4), 0),
            (3, Some(7), 0),
        ];
        let graph = Graph { nodes: 8, relations, edges };
        for verb in Verb::ALL {
            check(&graph, 0, verb, true, false);
            check(&graph, 0, verb, false, true);
        }
    }
}

#[test]
fn random_graphs_of_entities_in_every_role_end_as_the_model_says() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 33) as usize % below
    };
    for round in 0..fewer(1500) {
        let nodes = 4 + random(8);
        // Refuse seldom, or everything is refused.
        let policy = |number: usize| POLICIES[[0, 0, 1, 1, 1, 2][number]];
        let limit = if round % 3 == 0 { 6 } else { 5 };
        let relations: Vec<_> = (0..1 + random(3))
            .map(|relation| (relation, policy(random(limit)), policy(random(limit))))
            .collect();
        let mut edges: Vec<Edge> = Vec::new();
        for _ in 0..random(2 * nodes) {
            let relation = (random(5) > 0).then(|| random(relations.len()));
            let edge = (random(nodes), relation, random(nodes));
            if !edges.contains(&edge) {
                edges.push(edge);
            }
        }
        let graph = Graph { nodes, relations, edges };
        let verb = Verb::ALL[random(Verb::ALL.len())];
        check(&graph, random(nodes), verb, random(2) == 0, random(3) == 0);
    }
}
