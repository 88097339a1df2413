//! Filling the levels from nothing: depths by a walk from the roots, then one scan of the tables in the order of
//! rows.

use super::levels::{Level, Levels, Node, NodeSlot, node};
use crate::{
    fetch::{RowHint, StorageRows},
    store::{Pages, RelationIndex},
};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

/// In the place of a slot's number: the level is known, the slot is not; the node is not stale.
const PENDING: u32 = u32::MAX - 1;
/// As [`PENDING`], for a node that is stale.
const PENDING_STALE: u32 = u32::MAX - 2;

impl Levels {
    /// Fills the levels with all participants of the relation, and the entities of the storages. Entities that
    /// were not there before are stale; with `all_stale`, all are.
    pub(super) fn rebuild<'w>(
        &mut self,
        index: Option<&RelationIndex>,
        storages: impl Iterator<Item = StorageRows<'w>>,
        all_stale: bool,
    ) {
        let mut old = core::mem::take(&mut self.levels);
        if all_stale {
            old.clear();
        }
        (self.len, self.free, self.misplaced, self.dead) = (0, 0, 0, 0);
        let participants = index.map_or_else(Vec::new, |index| announce(index, &mut self.slots, &old));
        let mut left = participants.len();
        for storage in storages {
            for (entity, place) in storage.iter() {
                let slot = self.slots.get(entity.index_u32());
                match pending(slot) {
                    Some(stale) => {
                        left -= 1;
                        self.append(slot.level, entity, Node::new(entity, place, stale));
                    }
                    None => {
                        let stale = was_stale(&old, slot, entity);
                        self.append(0, entity, Node::new(entity, place, stale));
                    }
                }
            }
        }
        if left > 0 {
            for entity in participants {
                let slot = self.slots.get(entity.index_u32());
                if let Some(stale) = pending(slot) {
                    self.append(slot.level, entity, Node::new(entity, RowHint::UNKNOWN, stale));
                }
            }
        }
        if let Some(index) = index {
            self.link(index);
        }
    }

    /// Links every node to its parent. If it has several, only the deepest is in the level above.
    fn link(&mut self, index: &RelationIndex) {
        for (target, _) in index.targets_with_sources() {
            let Some(parent) = self.find(target) else { continue };
            for source in index.sources(target) {
                if let Some(slot) = self.find(source)
                    && slot.level == parent.level + 1
                {
                    self.levels[slot.level as usize].nodes[slot.at as usize].parent = parent.at;
                }
            }
        }
        for level in &mut self.levels {
            // In order, each parent comes where the one before it was, or behind it.
            let steps_back = level.nodes.windows(2).filter(|pair| pair[1].parent < pair[0].parent).count();
            level.scattered = steps_back > level.nodes.len() / 8;
        }
    }
}

/// Whether a node that has no slot yet is stale.
#[inline]
fn pending(slot: NodeSlot) -> Option<bool> {
    match slot.at {
        PENDING => Some(false),
        PENDING_STALE => Some(true),
        _ => None,
    }
}

/// Whether an entity was stale in the old levels, or was not there.
fn was_stale(old: &[Level], slot: NodeSlot, entity: Entity) -> bool {
    node(old, slot, entity).is_none_or(|node| node.stale)
}

/// Writes the level of every participant down, and gives all of them.
fn announce(index: &RelationIndex, slots: &mut Pages<NodeSlot>, old: &[Level]) -> Vec<Entity> {
    let mut write = |entity: Entity, level| {
        let slot = slots.get_mut(entity.index_u32());
        *slot = NodeSlot { level, at: if was_stale(old, *slot, entity) { PENDING_STALE } else { PENDING } };
    };
    let roots = index.targets_with_sources().map(|(target, _)| target);
    let mut order: Vec<Entity> = roots.filter(|&target| !index.has_any(target)).collect();
    order.iter().for_each(|&root| write(root, 0));
    // How many targets of a source were met. The last is the deepest: whole levels come one after the other.
    let mut met: Pages<u32> = Pages::default();
    let (mut next, mut level, mut level_end) = (0, 0, order.len());
    while let Some(&target) = order.get(next) {
        if next == level_end {
            (level, level_end) = (level + 1, order.len());
        }
        next += 1;
        for source in index.sources(target) {
            if !index.is_exclusive() {
                let met = met.get_mut(source.index_u32());
                *met += 1;
                if (*met as usize) < index.target_count(source) {
                    continue;
                }
            }
            write(source, level + 1);
            order.push(source);
        }
    }
    order
}
