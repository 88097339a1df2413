//! Which entities lie below others along one relation.

use crate::store::{Change, DepthReader, RelationIndex};
use alloc::{collections::BTreeMap, vec::Vec};
use bevy_ecs::entity::{Entity, EntityHashMap, EntityHashSet};

/// What is disabled along one relation.
#[derive(Default)]
pub(super) struct Cover {
    /// The entities below which everything is disabled, with the number of causes.
    pub(super) roots: EntityHashMap<u32>,
    /// Every entity below one of them.
    pub(super) below: EntityHashSet,
}

impl Cover {
    /// Makes `below` right for the pairs that there are now, and returns the entities that were added or taken out.
    /// `changes` came to the pairs since the last time, `None` if that is not known; `root` has become a root, or is
    /// one no longer.
    ///
    /// # Complexity
    /// O(pairs with a target that was added or taken out), beside the changes.
    pub(super) fn update(
        &mut self,
        index: &RelationIndex,
        changes: Option<&[Change]>,
        root: Option<Entity>,
    ) -> Vec<Entity> {
        // By depth: what an entity depends on is looked at before it, and each once.
        let (mut queue, mut depths) = (BTreeMap::<u32, Vec<Entity>>::new(), DepthReader::new(index));
        let mut add = |cover: &Self, entity: Entity| {
            if cover.is_wrong(index, entity) {
                queue.entry(depths.depth_of(entity).unwrap_or(0)).or_default().push(entity);
            }
        };
        match changes {
            Some(changes) => changes.iter().for_each(|change| add(self, change.source)),
            None => {
                let all = index.all_sources().into_iter().chain(self.below.iter().copied());
                all.for_each(|entity| add(self, entity));
            }
        }
        root.into_iter().flat_map(|root| index.sources(root)).for_each(|source| add(self, source));
        let mut changed = Vec::new();
        while let Some((_, mut entities)) = queue.pop_first() {
            // In an order that does not depend on that of the pairs.
            entities.sort_unstable();
            entities.dedup();
            for entity in entities {
                if !self.is_wrong(index, entity) {
                    continue;
                }
                if !self.below.remove(&entity) {
                    self.below.insert(entity);
                }
                changed.push(entity);
                for source in index.sources(entity) {
                    queue.entry(depths.depth_of(source).unwrap_or(0)).or_default().push(source);
                }
            }
        }
        changed
    }

    /// Whether `below` does not say of an entity what its targets ask for.
    fn is_wrong(&self, index: &RelationIndex, entity: Entity) -> bool {
        let is_below = index.targets(entity).any(|target| self.covers(target));
        is_below != self.below.contains(&entity)
    }

    /// Whether the sources of an entity are below a root.
    fn covers(&self, target: Entity) -> bool {
        self.roots.contains_key(&target) || self.below.contains(&target)
    }
}
