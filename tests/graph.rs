//! The algorithms of `petgraph` on pairs, against definitions.

use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{graph::RelationGraph, prelude::*};
use petgraph::{
    Direction::{Incoming, Outgoing},
    algo::{
        bellman_ford, connected_components, dijkstra, has_path_connecting, is_cyclic_directed, tarjan_scc,
        toposort,
    },
    visit::{
        EdgeCount, EdgeRef, GetAdjacencyMatrix, IntoEdgeReferences, IntoEdgesDirected, IntoNeighborsDirected,
        IntoNodeReferences, NodeCount, NodeIndexable, VisitMap, Visitable,
    },
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Relation)]
struct RoadTo {
    miles: u32,
}

#[derive(Relation)]
#[relation(symmetric)]
struct Borders;

/// A world with random roads between some of its entities.
struct Map {
    world: World,
    places: Vec<Entity>,
    roads: BTreeMap<(Entity, Entity), u32>,
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

impl Map {
    fn random(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut world = World::new();
        let places: Vec<_> = (0..2 + random.below(9)).map(|_| world.spawn_empty().id()).collect();
        let mut roads = BTreeMap::new();
        for _ in 0..random.below(3 * places.len()) {
            let [from, to] = [(); 2].map(|()| places[random.below(places.len())]);
            let miles = random.below(20) as u32;
            if from != to {
                world.insert_pair(from, RoadTo { miles }, to).unwrap();
                roads.insert((from, to), miles);
            }
        }
        // Lists that had members removed.
        let mut gone: Vec<_> = roads.keys().copied().collect();
        gone.retain(|_| random.below(4) == 0);
        for (from, to) in gone {
            assert!(world.remove_pair::<RoadTo>(from, to));
            roads.remove(&(from, to));
        }
        Self { world, places, roads }
    }

    fn nodes(&self) -> BTreeSet<Entity> {
        self.roads.keys().flat_map(|&(from, to)| [from, to]).collect()
    }

    /// The least miles from a place to all that it reaches.
    fn distances(&self, start: Entity) -> BTreeMap<Entity, u32> {
        let mut least = BTreeMap::from([(start, 0)]);
        for _ in &self.places {
            for (&(from, to), miles) in &self.roads {
                if let Some(so_far) = least.get(&from).map(|so_far| so_far + miles)
                    && least.get(&to).is_none_or(|&known| so_far < known)
                {
                    least.insert(to, so_far);
                }
            }
        }
        least
    }

    /// Runs `check` with the graph of the roads.
    fn check(&self, check: impl FnOnce(&RelationGraph<'_, u32>)) {
        let roads = self.world.pairs::<RoadTo>();
        let miles = |from, to| roads.get(from, to).expect("every road has its miles").miles;
        check(&RelationGraph::with_weights(&roads, miles));
    }
}

#[test]
fn a_graph_has_the_pairs_as_edges_whichever_way_it_is_read() {
    for seed in 0..200 {
        let map = Map::random(seed);
        map.check(|graph| {
            let all: Vec<_> = graph.edge_references().map(|edge| (edge.id(), *edge.weight())).collect();
            assert_eq!(all.len(), graph.edge_count());
            assert_eq!(all.into_iter().collect::<BTreeMap<_, _>>(), map.roads);
            let nodes: Vec<_> = graph.node_references().map(|(node, ())| node).collect();
            assert_eq!(nodes.len(), graph.node_count());
            assert_eq!(nodes.iter().copied().collect::<BTreeSet<_>>(), map.nodes());
            for (number, &node) in nodes.iter().enumerate() {
                assert_eq!((graph.to_index(node), graph.from_index(number)), (number, node));
            }
            for &place in &map.places {
                assert_eq!(graph.contains(place), nodes.contains(&place));
                for direction in [Outgoing, Incoming] {
                    let edges: BTreeSet<_> =
                        graph.edges_directed(place, direction).map(|edge| edge.id()).collect();
                    let expected = map.roads.keys().copied();
                    let expected: BTreeSet<_> = match direction {
                        Outgoing => expected.filter(|&(from, _)| from == place).collect(),
                        Incoming => expected.filter(|&(_, to)| to == place).collect(),
                    };
                    assert_eq!(edges, expected);
                    let other = |&(from, to): &(Entity, Entity)| if from == place { to } else { from };
                    assert_eq!(
                        graph.neighbors_directed(place, direction).collect::<BTreeSet<_>>(),
                        expected.iter().map(other).collect()
                    );
                }
                for &to in &map.places {
                    assert_eq!(graph.is_adjacent(&(), place, to), map.roads.contains_key(&(place, to)));
                }
            }
        });
    }
}

#[test]
fn algorithms_find_what_they_are_defined_to_find() {
    let mut cyclic = 0;
    for seed in 200..400 {
        let map = Map::random(seed);
        map.check(|graph| {
            let reach: BTreeMap<_, _> = map.places.iter().map(|&from| (from, map.distances(from))).collect();
            for &from in &map.places {
                let found = dijkstra(graph, from, None, |road| road.weight);
                assert_eq!(found.into_iter().collect::<BTreeMap<_, _>>(), reach[&from]);
                for &to in &map.places {
                    assert_eq!(has_path_connecting(graph, from, to, None), reach[&from].contains_key(&to));
                }
            }
            let on_cycle = map.roads.keys().any(|&(from, to)| reach[&to].contains_key(&from));
            cyclic += usize::from(on_cycle);
            assert_eq!(is_cyclic_directed(graph), on_cycle);
            match toposort(graph, None) {
                Err(_) => assert!(on_cycle),
                Ok(order) => {
                    let place = |node| order.iter().position(|&other| other == node).unwrap();
                    assert!(map.roads.keys().all(|&(from, to)| place(from) < place(to)));
                    assert_eq!(order.len(), graph.node_count());
                }
            }
            let components: BTreeSet<BTreeSet<_>> =
                tarjan_scc(graph).into_iter().map(|component| component.into_iter().collect()).collect();
            let expected: BTreeSet<BTreeSet<_>> = map
                .nodes()
                .iter()
                .map(|&a| {
                    let both = |b: &Entity| reach[&a].contains_key(b) && reach[b].contains_key(&a);
                    map.nodes().into_iter().filter(both).collect()
                })
                .collect();
            assert_eq!(components, expected);
        });
    }
    assert!((20..180).contains(&cyclic), "{cyclic} of 200 graphs have cycles");
}

#[test]
fn weights_may_be_of_any_kind_and_a_graph_may_have_none() {
    let mut world = World::new();
    let [a, b, c, d] = [(); 4].map(|()| world.spawn_empty().id());
    for (from, to) in [(a, b), (c, d)] {
        world.insert_pair(from, Borders, to).unwrap();
    }
    let view = world.pairs::<Borders>();
    let graph = RelationGraph::new(&view);
    assert_eq!((graph.node_count(), graph.edge_count()), (4, 4));
    assert_eq!(connected_components(&graph), 2);
    let costs = RelationGraph::with_weights(&view, |from, _| if from == a { -1.5 } else { 2.0 });
    let paths = bellman_ford(&costs, a).unwrap();
    assert_eq!((paths.distances[0], paths.distances[1]), (0.0, -1.5));
    let mut visited = graph.visit_map();
    assert!(visited.visit(a) && !visited.visit(a) && visited.is_visited(&a));
    assert!(visited.unvisit(a) && !visited.unvisit(a) && visited.visit(a));
    graph.reset_map(&mut visited);
    assert!(!visited.is_visited(&a));
}

#[test]
fn relations_of_run_time_and_bevys_are_graphs_too_and_one_without_pairs_is_empty() {
    let mut world = World::new();
    let [root, child] = [(); 2].map(|()| world.spawn_empty().id());
    world.entity_mut(child).insert(ChildOf(root));
    let needs = world.spawn_relation("Needs", RelationTraits::new()).unwrap();
    assert_eq!(RelationGraph::new(&world.pairs_by_id(needs)).node_count(), 0);
    world.insert_pair_by_id(root, (needs, child)).unwrap();
    assert_eq!(toposort(&RelationGraph::new(&world.pairs_by_id(needs)), None).unwrap(), [root, child]);
    assert_eq!(toposort(&RelationGraph::new(&world.pairs::<ChildOf>()), None).unwrap(), [child, root]);
    let in_system = |parents: Pairs<ChildOf>| toposort(&RelationGraph::new(&parents), None).unwrap();
    assert_eq!(world.run_system_once(in_system).unwrap(), [child, root]);
}

#[test]
fn an_entity_that_is_no_node_has_no_number_and_is_named() {
    let mut world = World::new();
    let lonely = world.spawn_empty().id();
    let graph = RelationGraph::new(&world.pairs::<Borders>());
    assert!(!graph.contains(lonely));
    assert_eq!(dijkstra(&graph, lonely, None, |_| 1).into_iter().collect::<Vec<_>>(), [(lonely, 0)]);
    let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| graph.to_index(lonely)));
    let message = asked.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(*message, format!("{lonely} is no node of the graph: it has no pair of the relation"));
}
