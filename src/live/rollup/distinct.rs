//! Rollups for which each entity below counts once, over relations in which several paths may lead to it.

use super::{fold::RollupFold, graph::Graph};
use crate::store::RelationIndex;
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

/// A value that came, went or is another: of an entity, or of a pair with this target.
pub(super) struct ChangedValue<T> {
    pub(super) entity: Entity,
    /// It counts for the entity itself: it is that of a pair.
    pub(super) of_pair: bool,
    pub(super) old: Option<T>,
    pub(super) new: Option<T>,
}

impl<V, F: RollupFold<V>> Graph<V, F> {
    /// Updates the results. `targets` are those of pairs that came or went: what lies below them, and below what is
    /// above them, is folded again. Elsewhere the same entities are below as before, and values that changed are
    /// exchanged.
    ///
    /// Of the pairs on a path that is broken, the uppermost one that went has a target from which the rest of the path
    /// still leads up: so no entity is missed.
    ///
    /// Returns the entities whose results may be others.
    pub(super) fn update_distinct(
        &mut self,
        index: &RelationIndex,
        targets: &[Entity],
        values: Vec<ChangedValue<F::Output>>,
    ) -> Vec<Entity> {
        for entity in self.above(index, targets) {
            self.touch(entity).refold = true;
        }
        for ChangedValue { entity, of_pair, old, new } in values {
            for above in self.above(index, &[entity]) {
                // What it has together with its own value is another in any case.
                let node = self.touch(above);
                if !node.refold && (above != entity || of_pair) {
                    self.pass(above, old.as_ref(), new.as_ref());
                }
            }
        }
        let changed = self.take_dirty();
        for &entity in &changed {
            self.fold_below(index, entity);
        }
        self.remove_empty(&changed);
        changed
    }

    /// Folds everything below an entity if that has to be.
    fn fold_below(&mut self, index: &RelationIndex, entity: Entity) {
        let Some(node) = self.nodes.get_mut(&entity) else { return };
        node.dirty = false;
        if !core::mem::take(&mut node.refold) {
            return;
        }
        let (mut below, mut parts) = (F::empty(), 0);
        self.met.clear();
        self.stack.clear();
        self.stack.push((entity, false));
        while let Some((target, _)) = self.stack.pop() {
            for source in index.sources(target) {
                let of_pair = self.edges.get(&(source, target));
                let is_new = self.met.insert(source);
                let own = self.nodes.get(&source).filter(|_| is_new).and_then(|node| node.own.as_ref());
                for part in of_pair.into_iter().chain(own) {
                    F::add(&mut below, part);
                    parts += 1;
                }
                if is_new {
                    self.stack.push((source, false));
                }
            }
        }
        if let Some(node) = self.nodes.get_mut(&entity) {
            (node.below, node.parts) = (below, parts);
        }
    }
}
