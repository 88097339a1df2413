//! Pairs as a graph, for the algorithms of [`petgraph`] (feature `petgraph`).

use crate::traverse::{self, RelationView};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::entity::{Entity, EntityHashMap, EntityHashSet};
use core::{fmt, iter::Copied, slice};
use petgraph::{
    Directed,
    Direction::{self, Incoming, Outgoing},
    visit::{
        Data, EdgeCount, EdgeRef, GetAdjacencyMatrix, GraphBase, GraphProp, IntoEdgeReferences, IntoEdges,
        IntoEdgesDirected, IntoNeighbors, IntoNeighborsDirected, IntoNodeIdentifiers, IntoNodeReferences,
        NodeCompactIndexable, NodeCount, NodeIndexable, VisitMap, Visitable,
    },
};

/// The pairs of one relation as a directed graph, from sources to targets: a borrowed view that implements the visit
/// traits of [`petgraph`], so that its algorithms work on pairs as they are.
///
/// Nodes are the entities that have such a pair or are its target, in the order in which [`RelationView::iter`] names
/// them. Edges are read from the store while an algorithm runs. The pairs of a symmetric relation are there in both
/// directions, as the edges of an undirected graph.
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::{prelude::*, system::RunSystemOnce};
/// use bevy_relations::{graph::RelationGraph, prelude::*};
/// use petgraph::algo::astar;
///
/// #[derive(Relation)]
/// struct RoadTo {
///     miles: u32,
/// }
///
/// # let mut world = World::new();
/// let [a, b, c] = [(); 3].map(|()| world.spawn_empty().id());
/// for (from, to, miles) in [(a, b, 2), (b, c, 2), (a, c, 5)] {
///     world.insert_pair(from, RoadTo { miles }, to).unwrap();
/// }
/// let shortest = move |roads: Pairs<RoadTo>| {
///     let miles = |from, to| roads.get(from, to).map_or(0, |road| road.miles);
///     let graph = RelationGraph::with_weights(&roads, miles);
///     astar(&graph, a, |place| place == c, |road| road.weight, |_| 0)
/// };
/// assert_eq!(world.run_system_once(shortest).unwrap(), Some((4, vec![a, b, c])));
/// ```
///
/// # Complexity
/// Creating one takes O(pairs), to number the nodes. After that, the neighbors of a node cost what
/// [`targets`](RelationView::targets) and [`sources`](RelationView::sources) cost.
///
/// # Panics
/// [`to_index`](NodeIndexable::to_index) panics for an entity that is no node, and so do the algorithms that number
/// nodes when they start from one: ask [`contains`](Self::contains). Those that only mark what they have visited
/// (`dijkstra`, `astar`, `has_path_connecting`, `Dfs`) start from any entity.
pub struct RelationGraph<'g, W = ()> {
    view: RelationView<'g, 'g>,
    weight: Box<dyn Fn(Entity, Entity) -> W + 'g>,
    nodes: Vec<Entity>,
    numbers: EntityHashMap<usize>,
}

impl<'g> RelationGraph<'g> {
    /// The pairs of a relation, without weights.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::{graph::RelationGraph, prelude::*};
    /// use petgraph::algo::toposort;
    ///
    /// # let mut world = World::new();
    /// let needs = world.spawn_relation("Needs", RelationTraits::new().acyclic()).unwrap();
    /// let [house, wall, brick] = [(); 3].map(|()| world.spawn_empty().id());
    /// world.insert_pair_by_id(house, (needs, wall)).unwrap();
    /// world.insert_pair_by_id(wall, (needs, brick)).unwrap();
    ///
    /// let graph = RelationGraph::new(&world.pairs_by_id(needs));
    /// assert_eq!(toposort(&graph, None).unwrap(), [house, wall, brick]);
    /// ```
    pub fn new(view: &RelationView<'g, 'g>) -> Self {
        Self::with_weights(view, |_, _| ())
    }
}

impl<'g, W> RelationGraph<'g, W> {
    /// The pairs of a relation, with the weight that `weight` returns for source and target, for example from the
    /// value of the pair. It is called each time an algorithm visits an edge.
    pub fn with_weights(view: &RelationView<'g, 'g>, weight: impl Fn(Entity, Entity) -> W + 'g) -> Self {
        let mut graph = Self {
            view: *view,
            weight: Box::new(weight),
            nodes: Vec::new(),
            numbers: EntityHashMap::default(),
        };
        for (source, target) in view.iter() {
            for node in [source, target] {
                let nodes = &mut graph.nodes;
                graph.numbers.entry(node).or_insert_with(|| {
                    nodes.push(node);
                    nodes.len() - 1
                });
            }
        }
        graph
    }

    /// Whether the entity is a node: has a pair of the relation, or is the target of one. Constant time.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::graph::RelationGraph;
    /// # #[derive(Relation)]
    /// # struct RoadTo;
    /// # let mut world = World::new();
    /// # let [rome, capua, island] = [(); 3].map(|()| world.spawn_empty().id());
    /// world.insert_pair(rome, RoadTo, capua)?;
    /// let graph = RelationGraph::new(&world.pairs::<RoadTo>());
    /// assert!(graph.contains(capua) && !graph.contains(island));
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn contains(&self, entity: Entity) -> bool {
        self.numbers.contains_key(&entity)
    }

    fn edge(&self, source: Entity, target: Entity) -> Edge<W> {
        Edge { source, target, weight: (self.weight)(source, target) }
    }
}

impl<W> fmt::Debug for RelationGraph<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.view.iter()).finish()
    }
}

/// A pair, as an edge of a [`RelationGraph`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::graph::{Edge, RelationGraph};
/// # use petgraph::visit::IntoEdges;
/// #[derive(Relation)]
/// struct RoadTo(u32);
///
/// # let mut world = World::new();
/// # let [rome, capua] = [(); 2].map(|()| world.spawn_empty().id());
/// world.insert_pair(rome, RoadTo(132), capua)?;
/// let roads = world.pairs::<RoadTo>();
/// let graph = RelationGraph::with_weights(&roads, |from, to| roads.get(from, to).unwrap().0);
/// let Edge { source, target, weight, .. } = graph.edges(rome).next().unwrap();
/// assert_eq!((source, target, weight), (rome, capua, 132));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge<W> {
    /// The source of the pair.
    pub source: Entity,
    /// The target of the pair.
    pub target: Entity,
    /// The weight that the graph's function returned.
    pub weight: W,
}

impl<W: Copy> EdgeRef for Edge<W> {
    type NodeId = Entity;
    type EdgeId = (Entity, Entity);
    type Weight = W;

    fn source(&self) -> Entity {
        self.source
    }

    fn target(&self) -> Entity {
        self.target
    }

    fn weight(&self) -> &W {
        &self.weight
    }

    fn id(&self) -> (Entity, Entity) {
        (self.source, self.target)
    }
}

/// Iterator over the neighbors of a node of a [`RelationGraph`]: targets, or sources.
#[derive(Clone)]
pub struct Neighbors<'g>(traverse::Neighbors<'g>);

impl Iterator for Neighbors<'_> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

/// Iterator over the edges of a node of a [`RelationGraph`].
pub struct Edges<'a, 'g, W> {
    graph: &'a RelationGraph<'g, W>,
    node: Entity,
    direction: Direction,
    neighbors: Neighbors<'g>,
}

impl<W> Iterator for Edges<'_, '_, W> {
    type Item = Edge<W>;

    fn next(&mut self) -> Option<Edge<W>> {
        let neighbor = self.neighbors.next()?;
        Some(match self.direction {
            Outgoing => self.graph.edge(self.node, neighbor),
            Incoming => self.graph.edge(neighbor, self.node),
        })
    }
}

/// Iterator over all edges of a [`RelationGraph`], source by source.
pub struct EdgeReferences<'a, 'g, W> {
    graph: &'a RelationGraph<'g, W>,
    sources: slice::Iter<'a, Entity>,
    edges: Option<Edges<'a, 'g, W>>,
}

impl<W: Copy> Iterator for EdgeReferences<'_, '_, W> {
    type Item = Edge<W>;

    fn next(&mut self) -> Option<Edge<W>> {
        loop {
            if let Some(edge) = self.edges.as_mut().and_then(Iterator::next) {
                return Some(edge);
            }
            self.edges = Some(self.graph.edges(*self.sources.next()?));
        }
    }
}

/// Iterator over the nodes of a [`RelationGraph`], each with a weight of its own, which is `()`.
pub struct NodeReferences<'a>(slice::Iter<'a, Entity>);

impl Iterator for NodeReferences<'_> {
    type Item = (Entity, &'static ());

    fn next(&mut self) -> Option<Self::Item> {
        Some((*self.0.next()?, &()))
    }
}

/// The entities that an algorithm has visited in a [`RelationGraph`].
#[derive(Clone, Default, Debug)]
pub struct Visited(EntityHashSet);

impl VisitMap<Entity> for Visited {
    fn visit(&mut self, entity: Entity) -> bool {
        self.0.insert(entity)
    }

    fn is_visited(&self, entity: &Entity) -> bool {
        self.0.contains(entity)
    }

    fn unvisit(&mut self, entity: Entity) -> bool {
        self.0.remove(&entity)
    }
}

impl<W> GraphBase for RelationGraph<'_, W> {
    type NodeId = Entity;
    type EdgeId = (Entity, Entity);
}

impl<W> Data for RelationGraph<'_, W> {
    type NodeWeight = ();
    type EdgeWeight = W;
}

impl<W> GraphProp for RelationGraph<'_, W> {
    type EdgeType = Directed;
}

impl<W> NodeCount for RelationGraph<'_, W> {
    fn node_count(&self) -> usize {
        self.nodes.len()
    }
}

impl<W> EdgeCount for RelationGraph<'_, W> {
    fn edge_count(&self) -> usize {
        self.view.len()
    }
}

impl<W> NodeIndexable for RelationGraph<'_, W> {
    fn node_bound(&self) -> usize {
        self.nodes.len()
    }

    fn to_index(&self, entity: Entity) -> usize {
        let number = self.numbers.get(&entity);
        *number.unwrap_or_else(|| panic!("{entity} is no node of the graph: it has no pair of the relation"))
    }

    fn from_index(&self, number: usize) -> Entity {
        self.nodes[number]
    }
}

impl<W> NodeCompactIndexable for RelationGraph<'_, W> {}

impl<W> Visitable for RelationGraph<'_, W> {
    type Map = Visited;

    fn visit_map(&self) -> Visited {
        Visited::default()
    }

    fn reset_map(&self, map: &mut Visited) {
        map.0.clear();
    }
}

impl<W> GetAdjacencyMatrix for RelationGraph<'_, W> {
    type AdjMatrix = ();

    fn adjacency_matrix(&self) {}

    fn is_adjacent(&self, (): &(), source: Entity, target: Entity) -> bool {
        self.view.has(source, target)
    }
}

impl<'g, W> IntoNeighbors for &RelationGraph<'g, W> {
    type Neighbors = Neighbors<'g>;

    fn neighbors(self, node: Entity) -> Neighbors<'g> {
        self.neighbors_directed(node, Outgoing)
    }
}

impl<'g, W> IntoNeighborsDirected for &RelationGraph<'g, W> {
    type NeighborsDirected = Neighbors<'g>;

    fn neighbors_directed(self, node: Entity, direction: Direction) -> Neighbors<'g> {
        let direction = match direction {
            Outgoing => traverse::Direction::Targets,
            Incoming => traverse::Direction::Sources,
        };
        Neighbors(self.view.neighbors(direction, node))
    }
}

impl<'a, 'g, W: Copy> IntoEdgeReferences for &'a RelationGraph<'g, W> {
    type EdgeRef = Edge<W>;
    type EdgeReferences = EdgeReferences<'a, 'g, W>;

    fn edge_references(self) -> EdgeReferences<'a, 'g, W> {
        EdgeReferences { graph: self, sources: self.nodes.iter(), edges: None }
    }
}

impl<'a, 'g, W: Copy> IntoEdges for &'a RelationGraph<'g, W> {
    type Edges = Edges<'a, 'g, W>;

    fn edges(self, node: Entity) -> Edges<'a, 'g, W> {
        self.edges_directed(node, Outgoing)
    }
}

impl<'a, 'g, W: Copy> IntoEdgesDirected for &'a RelationGraph<'g, W> {
    type EdgesDirected = Edges<'a, 'g, W>;

    fn edges_directed(self, node: Entity, direction: Direction) -> Edges<'a, 'g, W> {
        Edges { graph: self, node, direction, neighbors: self.neighbors_directed(node, direction) }
    }
}

impl<'a, W> IntoNodeIdentifiers for &'a RelationGraph<'_, W> {
    type NodeIdentifiers = Copied<slice::Iter<'a, Entity>>;

    fn node_identifiers(self) -> Self::NodeIdentifiers {
        self.nodes.iter().copied()
    }
}

impl<'a, W> IntoNodeReferences for &'a RelationGraph<'_, W> {
    type NodeRef = (Entity, &'static ());
    type NodeReferences = NodeReferences<'a>;

    fn node_references(self) -> NodeReferences<'a> {
        NodeReferences(self.nodes.iter())
    }
}
