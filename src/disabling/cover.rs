//! Which entities lie below others along one relation.

use crate::store::{Change, RelationIndex};
use alloc::{collections::BTreeSet, vec::Vec};
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
        let mut queue = BTreeSet::new();
        let mut add = |entity: Entity| _ = queue.insert((index.depth_of(entity).unwrap_or(0), entity));
        match changes {
            Some(changes) => changes.iter().for_each(|change| add(change.source)),
            None => index.all_sources().into_iter().chain(self.below.iter().copied()).for_each(&mut add),
        }
        root.into_iter().flat_map(|root| index.sources(root)).for_each(add);
        let mut changed = Vec::new();
        while let Some((_, entity)) = queue.pop_first() {
            let is_below = index.targets(entity).any(|target| self.covers(target));
            if is_below == self.below.contains(&entity) {
                continue;
            }
            if is_below {
                self.below.insert(entity);
            } else {
                self.below.remove(&entity);
            }
            changed.push(entity);
            queue.extend(index.sources(entity).map(|source| (index.depth_of(source).unwrap_or(0), source)));
        }
        changed
    }

    /// Whether the sources of an entity are below a root.
    fn covers(&self, target: Entity) -> bool {
        self.roots.contains_key(&target) || self.below.contains(&target)
    }
}
