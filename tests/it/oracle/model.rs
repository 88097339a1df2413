//! A world as plain data: named entities, which of them are on which, and triples.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// An entity of a [`Model`]: its number in the order of spawning.
pub(crate) type Node = usize;

pub(crate) const IS_A: Node = 0;
pub(crate) const CHILD_OF: Node = 1;
pub(crate) const PREFAB: Node = 2;
pub(crate) const DISABLED: Node = 3;
/// The number of entities that every model has.
pub(crate) const BUILT_IN: usize = 4;

/// What an entity is used as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A source, or a target.
    Entity,
    /// A mark without a target.
    Tag,
    /// A type with a field. In Bevy it is the component with this number.
    Component(usize),
    /// A resource. It is on the entity that stands for it, and asked for there.
    Singleton,
    /// A field of a component that names an entity. Its pairs lead from the holder to that entity.
    Member,
    Relation,
}

/// The traits that change what a query answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Traits {
    pub(crate) exclusive: bool,
    pub(crate) symmetric: bool,
    pub(crate) transitive: bool,
    pub(crate) reflexive: bool,
    pub(crate) traversable: bool,
    /// Instances share it: `OnInstantiate` is `Inherit`.
    pub(crate) inherit: bool,
    /// Targets are children of the relation.
    pub(crate) one_of: bool,
}

impl Traits {
    pub(crate) fn is_acyclic(self) -> bool {
        self.traversable || self.transitive
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Spec {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) traits: Traits,
}

/// A world. Symmetric pairs are listed in both directions.
#[derive(Clone, PartialEq)]
pub(crate) struct Model {
    pub(crate) nodes: Vec<Spec>,
    /// Who has which tag or component.
    pub(crate) marks: BTreeSet<(Node, Node)>,
    /// Source, relation and target; targets of one source in the order of insertion.
    pub(crate) pairs: Vec<(Node, Node, Node)>,
    /// The numbers that components and pairs carry: by source, component or relation, and target.
    pub(crate) values: BTreeMap<(Node, Node, Option<Node>), i64>,
}

impl Model {
    pub(crate) fn new() -> Self {
        let spec = |name: &str, kind, traits| Spec { name: name.into(), kind, traits };
        let is_a = Traits { transitive: true, reflexive: true, traversable: true, ..Traits::default() };
        let child_of = Traits { exclusive: true, traversable: true, ..Traits::default() };
        let nodes = vec![
            spec("IsA", Kind::Relation, is_a),
            spec("ChildOf", Kind::Relation, child_of),
            spec("Prefab", Kind::Tag, Traits::default()),
            spec("Disabled", Kind::Tag, Traits::default()),
        ];
        Self { nodes, marks: BTreeSet::new(), pairs: Vec::new(), values: BTreeMap::new() }
    }

    pub(crate) fn spawn(&mut self, name: &str, kind: Kind, traits: Traits) -> Node {
        self.nodes.push(Spec { name: name.into(), kind, traits });
        self.nodes.len() - 1
    }

    pub(crate) fn is_component(&self, node: Node) -> bool {
        let kind = self.nodes[node].kind;
        node == PREFAB || node == DISABLED || matches!(kind, Kind::Component(_) | Kind::Singleton)
    }

    /// Every entity. Fields of components are none, and resources are asked for by their name only.
    pub(crate) fn entities(&self) -> impl Iterator<Item = Node> {
        let by_name = |node: Node| matches!(self.nodes[node].kind, Kind::Member | Kind::Singleton);
        (0..self.nodes.len()).filter(move |&node| !by_name(node))
    }

    pub(crate) fn node(&self, name: &str) -> Option<Node> {
        self.nodes.iter().position(|spec| spec.name == name)
    }

    pub(crate) fn mark(&mut self, node: Node, mark: Node) {
        self.marks.insert((node, mark));
    }

    pub(crate) fn pair(&mut self, source: Node, relation: Node, target: Node) {
        if !self.has_pair(source, relation, target) {
            self.pairs.push((source, relation, target));
        }
    }

    pub(crate) fn has_pair(&self, source: Node, relation: Node, target: Node) -> bool {
        self.pairs.contains(&(source, relation, target))
    }

    /// In the order of insertion.
    pub(crate) fn targets(&self, source: Node, relation: Node) -> impl Iterator<Item = Node> {
        let of_source = self.pairs.iter().filter(move |&&(s, r, _)| (s, r) == (source, relation));
        of_source.map(|&(_, _, target)| target)
    }

    /// Whether `to` is reached from `from` over at least one pair.
    pub(crate) fn reaches(&self, from: Node, relation: Node, to: Node) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            for target in self.targets(at, relation) {
                if target == to {
                    return true;
                }
                if seen.insert(target) {
                    open.push(target);
                }
            }
        }
        false
    }

    /// Everything above `from`, depth first through the targets in order, each once.
    pub(crate) fn ancestors(&self, from: Node, relation: Node) -> Vec<Node> {
        walk(from, &|node| self.targets(node, relation).collect())
    }

    /// Everything below `from`, depth first through the sources in order, each once.
    pub(crate) fn descendants(&self, from: Node, relation: Node) -> Vec<Node> {
        walk(from, &|node| {
            let to_node = self.pairs.iter().filter(|&&(_, r, target)| (r, target) == (relation, node));
            to_node.map(|&(source, ..)| source).collect()
        })
    }

    /// The number of steps of the longest way up.
    pub(crate) fn depth(&self, node: Node, relation: Node) -> usize {
        self.targets(node, relation).map(|target| 1 + self.depth(target, relation)).max().unwrap_or(0)
    }

    /// Left out of `$this` unless the marker is named.
    pub(crate) fn is_hidden(&self, node: Node, marker: Node) -> bool {
        self.marks.contains(&(node, marker))
    }

    /// The parent's path and the entity's own name.
    pub(crate) fn path(&self, node: Node) -> String {
        let name = escaped(&self.nodes[node].name);
        match self.targets(node, CHILD_OF).next() {
            Some(parent) => format!("{}.{name}", self.path(parent)),
            None => name,
        }
    }

    /// What stands for the entity in the place of a target: children of a relation are looked up there.
    pub(crate) fn target_path(&self, relation: Node, target: Node) -> String {
        let is_child = self.has_pair(target, CHILD_OF, relation);
        if self.nodes[relation].traits.one_of && is_child {
            escaped(&self.nodes[target].name)
        } else {
            self.path(target)
        }
    }
}

/// The name with a backslash before what is no letter.
pub(crate) fn escaped(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '_';
    name.chars().flat_map(|c| (!plain(c)).then_some('\\').into_iter().chain([c])).collect()
}

/// What is reached from an entity, depth first, each once.
fn walk(from: Node, neighbors: &dyn Fn(Node) -> Vec<Node>) -> Vec<Node> {
    fn go(from: Node, neighbors: &dyn Fn(Node) -> Vec<Node>, met: &mut Vec<Node>) {
        for node in neighbors(from) {
            if !met.contains(&node) {
                met.push(node);
                go(node, neighbors, met);
            }
        }
    }
    let mut met = Vec::new();
    go(from, neighbors, &mut met);
    met
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (node, spec) in self.nodes.iter().enumerate().skip(BUILT_IN) {
            let name = |node: Node| &self.nodes[node].name;
            write!(f, "  {} ({node})", spec.name)?;
            if spec.kind != Kind::Entity {
                write!(f, " is a {:?}", spec.kind)?;
            }
            let flags = [
                (spec.traits.exclusive, "exclusive"),
                (spec.traits.symmetric, "symmetric"),
                (spec.traits.transitive, "transitive"),
                (spec.traits.reflexive, "reflexive"),
                (spec.traits.traversable, "traversable"),
                (spec.traits.inherit, "inherit"),
                (spec.traits.one_of, "one_of"),
            ];
            for (_, flag) in flags.iter().filter(|(set, _)| *set) {
                write!(f, " {flag}")?;
            }
            for &(_, mark) in self.marks.iter().filter(|&&(source, _)| source == node) {
                write!(f, " {}", name(mark))?;
            }
            for &(_, relation, target) in self.pairs.iter().filter(|&&(source, ..)| source == node) {
                write!(f, " ({}, {})", name(relation), name(target))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
