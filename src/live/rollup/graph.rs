//! The nodes of a rollup, and their update.
//!
//! Each entity with a value, its own or below it, is a node. A node passes its total on to each of its targets, and
//! stores what it has passed on. So the results below any node are at all times those of what its sources have
//! passed on, whatever has happened to the pairs and values since, and an update is three steps:
//!
//! 1. Pairs that went take what was passed on along them out of their targets, those that came add it there.
//! 2. Values that changed are read again.
//! 3. Of the nodes that have changed, and those above them, sources come before their targets: each passes on what is
//!    new.

use super::fold::RollupFold;
use crate::store::{Change, PairDeltaKind, RelationIndex};
use alloc::vec::Vec;
use bevy_ecs::entity::{Entity, EntityHashMap, EntityHashSet};
use bevy_platform::collections::HashMap;
use core::mem::take;

/// An entity with a value, its own or below it.
pub(super) struct RollupNode<T> {
    pub(super) own: Option<T>,
    /// What comes out of everything below.
    pub(super) below: T,
    /// The number of pairs along which something was passed on to this node. If each entity counts once: of those
    /// entities.
    pub(super) parts: usize,
    /// What was passed on to each target, with what the pairs themselves carry left out.
    passed: Option<T>,
    /// `below` is to be folded again.
    pub(super) refold: bool,
    /// Something has changed, and has not been passed on.
    pub(super) dirty: bool,
}

/// All nodes of a rollup.
pub(super) struct Graph<V, F: RollupFold<V>> {
    pub(super) nodes: EntityHashMap<RollupNode<F::Output>>,
    /// What the pairs themselves carry, if the values are theirs.
    pub(super) edges: HashMap<(Entity, Entity), F::Output>,
    /// Entities whose nodes have changed.
    dirty: Vec<Entity>,
    /// Entities that were found to have no value, nor any below them.
    empty: Vec<Entity>,
    /// Memory for walks.
    order: Vec<Entity>,
    pub(super) stack: Vec<(Entity, bool)>,
    pub(super) met: EntityHashSet,
}

impl<V, F: RollupFold<V>> Default for Graph<V, F> {
    fn default() -> Self {
        let (nodes, edges) = (EntityHashMap::default(), HashMap::default());
        let (dirty, empty, order, stack) = Default::default();
        Self { nodes, edges, dirty, empty, order, stack, met: EntityHashSet::default() }
    }
}

fn new_node<V, F: RollupFold<V>>() -> RollupNode<F::Output> {
    RollupNode { own: None, below: F::empty(), parts: 0, passed: None, refold: false, dirty: false }
}

/// The sum of two parts, either of which may be missing.
fn both<V, F: RollupFold<V>>(one: Option<&F::Output>, other: Option<&F::Output>) -> Option<F::Output> {
    let mut total = one.or(other)?.clone();
    if let (Some(_), Some(other)) = (one, other) {
        F::add(&mut total, other);
    }
    Some(total)
}

impl<V, F: RollupFold<V>> Graph<V, F> {
    /// The node of an entity, which counts as changed now.
    pub(super) fn touch(&mut self, entity: Entity) -> &mut RollupNode<F::Output> {
        let node = self.nodes.entry(entity).or_insert_with(new_node::<V, F>);
        if !node.dirty {
            node.dirty = true;
            self.dirty.push(entity);
        }
        node
    }

    /// Sets the value that an entity has itself.
    pub(super) fn set_own(&mut self, entity: Entity, own: Option<F::Output>) {
        match self.nodes.get(&entity) {
            Some(node) if node.own == own => {}
            None if own.is_none() => {}
            _ => self.touch(entity).own = own,
        }
    }

    /// Exchanges the value that an entity has itself, and returns the old and the new one, without noting that.
    pub(super) fn replace_own(
        &mut self,
        entity: Entity,
        own: Option<F::Output>,
    ) -> (Option<F::Output>, Option<F::Output>) {
        let old = match self.nodes.get_mut(&entity) {
            Some(node) => core::mem::replace(&mut node.own, own.clone()),
            None if own.is_none() => None,
            None => {
                self.touch(entity).own = own.clone();
                None
            }
        };
        (old, own)
    }

    /// Exchanges what a pair carries, and returns the old and the new value, without noting that.
    pub(super) fn replace_edge(
        &mut self,
        source: Entity,
        target: Entity,
        value: Option<F::Output>,
    ) -> (Option<F::Output>, Option<F::Output>) {
        let old = match value.clone() {
            Some(value) => self.edges.insert((source, target), value),
            None => self.edges.remove(&(source, target)),
        };
        (old, value)
    }

    /// Replaces what is passed on along one pair.
    pub(super) fn pass(&mut self, target: Entity, old: Option<&F::Output>, new: Option<&F::Output>) {
        if old == new {
            return;
        }
        let node = self.touch(target);
        if let Some(old) = old {
            node.parts = node.parts.saturating_sub(1);
            if node.parts == 0 {
                (node.below, node.refold) = (F::empty(), false);
            } else if !node.refold {
                node.refold = !F::subtract(&mut node.below, old);
            }
        }
        if let Some(new) = new {
            node.parts += 1;
            if !node.refold {
                F::add(&mut node.below, new);
            }
        }
    }

    /// What the source has passed on, with what the pair carries.
    fn part(&self, source: Entity, target: Entity) -> Option<F::Output> {
        let passed = self.nodes.get(&source).and_then(|node| node.passed.as_ref());
        both::<V, F>(self.edges.get(&(source, target)), passed)
    }

    /// A pair has come or gone, or its value is another: what it carries now, if values are those of pairs.
    pub(super) fn set_edge(&mut self, change: &Change, value: Option<F::Output>) {
        let Change { source, target, kind } = *change;
        // Along a pair that is new nothing was passed on.
        let old = if kind == PairDeltaKind::Inserted { None } else { self.part(source, target) };
        match value {
            Some(value) => _ = self.edges.insert((source, target), value),
            None => _ = self.edges.remove(&(source, target)),
        }
        let new = if kind == PairDeltaKind::Removed { None } else { self.part(source, target) };
        self.pass(target, old.as_ref(), new.as_ref());
    }

    /// Lists `entities` and everything above them, each after all that lies below it.
    fn sort_upward(&mut self, index: &RelationIndex, entities: &[Entity]) {
        let Self { order, stack, met, .. } = self;
        order.clear();
        if let &[entity] = entities
            && index.is_exclusive()
        {
            // No two ways lead to one of them.
            order.extend(core::iter::successors(Some(entity), |&entity| index.first_target(entity)));
            return;
        }
        met.clear();
        for &entity in entities {
            stack.push((entity, false));
            while let Some((entity, is_done)) = stack.pop() {
                if is_done {
                    order.push(entity);
                } else if met.insert(entity) {
                    stack.push((entity, true));
                    stack.extend(index.targets(entity).map(|target| (target, false)));
                }
            }
        }
        order.reverse();
    }

    /// Passes on what has changed. Returns the entities whose results may be others.
    ///
    /// # Complexity
    /// O(pairs above what has changed). Where a part cannot be taken out of a result, also the sources of that entity.
    pub(super) fn update(&mut self, index: &RelationIndex) -> Vec<Entity> {
        let dirty = take(&mut self.dirty);
        self.sort_upward(index, &dirty);
        let order = take(&mut self.order);
        order.iter().for_each(|&entity| self.pass_on(index, entity));
        self.order = order;
        // What was touched since `dirty` was taken has been updated as well: it lies above.
        let mut changed = self.take_dirty();
        changed.extend(dirty);
        let mut empty = take(&mut self.empty);
        self.remove_empty(&empty);
        empty.clear();
        self.empty = empty;
        changed
    }

    /// The entities that were noted as changed since the last call.
    pub(super) fn take_dirty(&mut self) -> Vec<Entity> {
        take(&mut self.dirty)
    }

    /// Drops those of the nodes that have no value, nor any below them.
    pub(super) fn remove_empty(&mut self, entities: &[Entity]) {
        for entity in entities {
            if self.nodes.get(entity).is_some_and(|node| node.own.is_none() && node.parts == 0) {
                self.nodes.remove(entity);
            }
        }
    }

    /// Some entities and everything above them, each once.
    pub(super) fn above(&mut self, index: &RelationIndex, entities: &[Entity]) -> Vec<Entity> {
        self.sort_upward(index, entities);
        self.order.clone()
    }

    /// What an entity has below it, and together with its own value. `None` if there is no value below.
    pub(super) fn result(&self, entity: Entity) -> Option<(F::Output, F::Output)> {
        let node = self.nodes.get(&entity).filter(|node| node.parts > 0)?;
        let total = both::<V, F>(node.own.as_ref(), Some(&node.below))?;
        Some((node.below.clone(), total))
    }

    /// Folds what was passed on to an entity.
    fn refold(&mut self, index: &RelationIndex, entity: Entity) {
        let mut below = F::empty();
        for source in index.sources(entity) {
            if let Some(part) = self.part(source, entity) {
                F::add(&mut below, &part);
            }
        }
        if let Some(node) = self.nodes.get_mut(&entity) {
            node.below = below;
        }
    }

    /// Passes the total of an entity on to its targets, if something has changed.
    fn pass_on(&mut self, index: &RelationIndex, entity: Entity) {
        let Some(mut node) = self.nodes.get_mut(&entity).filter(|node| node.dirty) else { return };
        node.dirty = false;
        if take(&mut node.refold) {
            self.refold(index, entity);
            let Some(folded) = self.nodes.get_mut(&entity) else { return };
            node = folded;
        }
        let below = (node.parts > 0).then_some(&node.below);
        let total = both::<V, F>(node.own.as_ref(), below);
        if total.is_none() {
            self.empty.push(entity);
        }
        if total == node.passed {
            return;
        }
        let passed = core::mem::replace(&mut node.passed, total.clone());
        for target in index.targets(entity) {
            match self.edges.get(&(entity, target)) {
                None => self.pass(target, passed.as_ref(), total.as_ref()),
                edge => {
                    let (old, new) =
                        (both::<V, F>(edge, passed.as_ref()), both::<V, F>(edge, total.as_ref()));
                    self.pass(target, old.as_ref(), new.as_ref());
                }
            }
        }
    }
}
