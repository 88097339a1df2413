//! The participants of a relation by depth, kept from run to run.
//!
//! An entity lies one level below its deepest target; one without targets, whether it takes part in the relation or
//! not, lies in the first level. Every level was filled in the order of table rows, so that a run streams through
//! the tables, and each node has the slot of its parent, so that it costs no look-up.
//!
//! The relation's journal says what to change: a leaf that moves below another parent of the same depth is one
//! slot that is written; a node that changes its level takes those below it along. Slots of others never move.
//! Once too many nodes are out of order, or too many changes came at once, everything is [built anew](super::build).

use crate::{
    fetch::{RowHint, StorageRows},
    store::{Change, Cursor, Pages, RelationIndex},
};
use alloc::vec::Vec;
use bevy_ecs::entity::{Entities, Entity};

/// The place of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NodeSlot {
    pub(super) level: u32,
    pub(super) at: u32,
}

impl Default for NodeSlot {
    fn default() -> Self {
        Self { level: 0, at: NOWHERE }
    }
}

/// No level has a slot of this number.
const NOWHERE: u32 = u32::MAX;

/// The parent's slot of a node without a parent.
pub(super) const NO_PARENT: u32 = u32::MAX;

/// An entity in a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// `None` if the slot is free.
    pub(super) entity: Option<Entity>,
    pub(super) place: RowHint,
    /// The slot of the parent in the level above, if the relation is exclusive; else of one of the deepest parents.
    pub(super) parent: u32,
    /// Must be visited by the next run over what changed: it is new, or its link is.
    pub(super) stale: bool,
    /// Was visited by the run over what changed that is going on.
    pub(super) visited: bool,
}

impl Node {
    /// A node without a parent.
    pub(super) fn new(entity: Entity, place: RowHint, stale: bool) -> Self {
        Self { entity: Some(entity), place, parent: NO_PARENT, stale, visited: false }
    }
}

/// The nodes of one depth.
#[derive(Default)]
pub(super) struct Level {
    pub(super) nodes: Vec<Node>,
    /// The parents of nodes that follow each other lie anywhere in their tables.
    pub(super) scattered: bool,
    free: Vec<u32>,
}

/// Some nodes of a level, to be visited.
pub(super) struct LevelNodes<'a> {
    /// The level above.
    pub(super) above: &'a [Node],
    pub(super) nodes: &'a mut [Node],
    /// As in [`Level`].
    pub(super) scattered: bool,
}

impl LevelNodes<'_> {
    /// The nodes from a slot on.
    pub(super) fn skip(self, first: usize) -> Self {
        Self { nodes: self.nodes.get_mut(first..).unwrap_or_default(), ..self }
    }
}

/// The levels of one relation.
///
/// *One slot*: an entity is in at most one slot, that in which [`find`](Self::find) finds it. Code that hands out
/// mutable data of one node after the other rests on it. It holds whatever the journal says; debug builds verify it
/// after each update.
#[derive(Default)]
pub(super) struct Levels {
    pub(super) levels: Vec<Level>,
    /// By entity index.
    pub(super) slots: Pages<NodeSlot>,
    /// How far the journal was read.
    cursor: Cursor,
    /// Number of nodes.
    pub(super) len: usize,
    /// Number of free slots.
    pub(super) free: usize,
    /// Nodes that were put somewhere since everything was built.
    pub(super) misplaced: usize,
    /// Nodes whose entity was found dead by the last run: without pairs there is no event.
    pub(super) dead: usize,
    /// Entities to be looked at.
    work: Vec<Entity>,
}

/// Finds an entity in levels whose slots are `slots`.
#[inline]
pub(super) fn node(levels: &[Level], slot: NodeSlot, entity: Entity) -> Option<&Node> {
    let node = levels.get(slot.level as usize)?.nodes.get(slot.at as usize)?;
    (node.entity == Some(entity)).then_some(node)
}

impl Levels {
    /// Where an entity is.
    #[inline]
    pub(super) fn find(&self, entity: Entity) -> Option<NodeSlot> {
        let slot = self.slots.get(entity.index_u32());
        node(&self.levels, slot, entity).map(|_| slot)
    }

    #[inline]
    pub(super) fn node_mut(&mut self, entity: Entity) -> Option<&mut Node> {
        let slot = self.find(entity)?;
        self.levels.get_mut(slot.level as usize)?.nodes.get_mut(slot.at as usize)
    }

    /// The nodes of a level, and those of the level above.
    #[inline]
    pub(super) fn split(&mut self, level: usize) -> LevelNodes<'_> {
        let (above, rest) = self.levels.split_at_mut(level);
        let above = above.last().map_or(&[][..], |above| &above.nodes);
        let (nodes, scattered) =
            rest.first_mut().map_or((&mut [][..], false), |level| (&mut level.nodes, level.scattered));
        LevelNodes { above, nodes, scattered }
    }

    /// Makes the levels those of the relation as it is now.
    ///
    /// # Complexity
    /// Proportional to what changed, with everything below nodes that changed their level; to the whole relation if
    /// that is less.
    pub(super) fn update<'w, S: Iterator<Item = StorageRows<'w>>>(
        &mut self,
        index: Option<&RelationIndex>,
        entities: &Entities,
        storages: impl FnOnce() -> S,
    ) {
        // An entity without pairs lies in the first level.
        self.make_level(0);
        let journal = index.and_then(|index| Some((index, index.journal()?)));
        let Some((index, journal)) = journal else {
            // The store of this world was removed. There is no event for what changes.
            self.cursor = Cursor::default();
            return self.rebuild(index, storages(), true);
        };
        let changes = journal.since(self.cursor);
        self.cursor = journal.cursor();
        let Some(changes) = changes else {
            return self.rebuild(Some(index), storages(), true);
        };
        if !self.apply(index, entities, changes) || self.misplaced + self.free + self.dead > self.tolerance()
        {
            self.rebuild(Some(index), storages(), false);
        }
        for change in changes {
            if let Some(node) = self.node_mut(change.source) {
                node.stale = true;
            }
        }
    }

    /// *One slot* holds.
    pub(super) fn one_slot(&self) -> bool {
        self.levels.iter().zip(0..).all(|(nodes, level)| {
            nodes.nodes.iter().zip(0..).all(|(node, at)| {
                node.entity.is_none_or(|entity| self.find(entity) == Some(NodeSlot { level, at }))
            })
        })
    }

    /// How much work, or disorder, is less than that of building everything anew.
    fn tolerance(&self) -> usize {
        64 + self.len / 4
    }

    /// Follows the changes; false if that is too much work. The pairs are those after all of them.
    fn apply(&mut self, index: &RelationIndex, entities: &Entities, changes: &[Change]) -> bool {
        let mut left = self.tolerance();
        changes.len() <= left
            && changes.iter().all(|change| {
                // The target's own links are not in question, only whether it takes part.
                let settled = index.source_count(change.target) > 0 && self.find(change.target).is_some();
                (settled || self.settle(index, entities, change.target, &mut left))
                    && self.settle(index, entities, change.source, &mut left)
            })
    }

    /// Puts an entity where it belongs, and those below it. False if that takes more than the steps that are left.
    fn settle(
        &mut self,
        index: &RelationIndex,
        entities: &Entities,
        entity: Entity,
        left: &mut usize,
    ) -> bool {
        self.work.push(entity);
        while let Some(entity) = self.work.pop() {
            if *left == 0 {
                self.work.clear();
                return false;
            }
            *left -= 1;
            self.update_entity(index, entities, entity);
        }
        true
    }

    fn update_entity(&mut self, index: &RelationIndex, entities: &Entities, entity: Entity) {
        let (mut level, mut parent) = (0, NO_PARENT);
        for target in index.targets(entity) {
            let Some(slot) = self.find(target) else {
                self.work.extend([entity, target]);
                return;
            };
            if slot.level >= level {
                (level, parent) = (slot.level + 1, slot.at);
            }
        }
        let old = self.find(entity);
        if level == 0 && index.source_count(entity) == 0 && !entities.contains_spawned(entity) {
            old.map(|slot| self.vacate(slot));
            return;
        }
        let node = match old {
            Some(slot) if slot.level == level => {
                self.levels[level as usize].nodes[slot.at as usize].parent = parent;
                return;
            }
            Some(slot) => Node { parent, ..self.vacate(slot) },
            None => Node { parent, ..Node::new(entity, RowHint::UNKNOWN, true) },
        };
        self.put(level, entity, node);
        self.work.extend(index.sources(entity));
    }

    /// Empties a slot and returns what was in it.
    fn vacate(&mut self, slot: NodeSlot) -> Node {
        let level = &mut self.levels[slot.level as usize];
        let node = &mut level.nodes[slot.at as usize];
        let old = *node;
        node.entity = None;
        level.free.push(slot.at);
        self.free += 1;
        self.len -= 1;
        old
    }

    /// Puts a node of an entity that is in no slot into a free one of the level.
    fn put(&mut self, level: u32, entity: Entity, node: Node) {
        self.evict(entity);
        self.misplaced += 1;
        let Some(at) = self.levels.get_mut(level as usize).and_then(|level| level.free.pop()) else {
            return self.append(level, entity, node);
        };
        self.levels[level as usize].nodes[at as usize] = node;
        *self.slots.get_mut(entity.index_u32()) = NodeSlot { level, at };
        self.len += 1;
        self.free -= 1;
    }

    /// Puts a node of an entity that is in no slot behind all others of the level.
    pub(super) fn append(&mut self, level: u32, entity: Entity, node: Node) {
        self.make_level(level);
        let nodes = &mut self.levels[level as usize].nodes;
        *self.slots.get_mut(entity.index_u32()) = NodeSlot { level, at: nodes.len() as u32 };
        nodes.push(node);
        self.len += 1;
    }

    /// Takes the node of a dead entity away that had the index of this one.
    fn evict(&mut self, entity: Entity) {
        let slot = self.slots.get(entity.index_u32());
        let level = self.levels.get(slot.level as usize);
        let occupant = level.and_then(|level| level.nodes.get(slot.at as usize)?.entity);
        if occupant.is_some_and(|occupant| occupant.index() == entity.index()) {
            self.vacate(slot);
        }
    }

    fn make_level(&mut self, level: u32) {
        if self.levels.len() <= level as usize {
            self.levels.resize_with(level as usize + 1, Level::default);
        }
    }

    /// Where a living entity is, which is put into the first level if it is nowhere: it has no pairs.
    pub(super) fn find_or_put(&mut self, entity: Entity) -> NodeSlot {
        if self.find(entity).is_none() {
            self.put(0, entity, Node::new(entity, RowHint::UNKNOWN, true));
        }
        self.slots.get(entity.index_u32())
    }

    /// Puts entities of storages in which fewer were counted than there are behind all others of the first level;
    /// returns the first slot of the new ones. These have no pairs, or they would be in the journal.
    ///
    /// # Complexity
    /// O(storages + entities that stand behind a new one in a storage): new ones come in at the end.
    pub(super) fn discover<'w>(
        &mut self,
        storages: impl Iterator<Item = StorageRows<'w>>,
        counts: &RowCounts,
    ) -> usize {
        let first = self.levels.first().map_or(0, |roots| roots.nodes.len());
        for storage in storages {
            let mut missing = storage.len().saturating_sub(counts.of(storage.number));
            let mut entities = storage.iter().rev();
            while missing > 0
                && let Some((entity, place)) = entities.next()
            {
                if self.find(entity).is_none() {
                    self.evict(entity);
                    self.append(0, entity, Node::new(entity, place, true));
                    self.misplaced += 1;
                    missing -= 1;
                }
            }
        }
        first
    }
}

/// Counts the nodes that a run finds in each storage.
#[derive(Default)]
pub(super) struct RowCounts {
    counts: Vec<usize>,
    storage: usize,
    /// Counted in `storage` and not yet written down.
    count: usize,
    /// Nodes whose entity is dead.
    pub(super) dead: usize,
}

impl RowCounts {
    #[inline]
    pub(super) fn count(&mut self, storage: u32) {
        if storage as usize != self.storage {
            self.write_down();
            self.storage = storage as usize;
        }
        self.count += 1;
    }

    fn write_down(&mut self) {
        self.add(self.storage, self.count);
        self.count = 0;
    }

    fn add(&mut self, storage: usize, count: usize) {
        if self.counts.len() <= storage {
            self.counts.resize(storage + 1, 0);
        }
        self.counts[storage] += count;
    }

    /// Adds what another counted.
    #[cfg(feature = "multi_threaded")]
    pub(super) fn merge(&mut self, other: &Self) {
        for (storage, &count) in other.counts.iter().enumerate() {
            self.add(storage, count);
        }
        self.add(other.storage, other.count);
        self.dead += other.dead;
    }

    fn of(&self, storage: u32) -> usize {
        let rest = if self.storage == storage as usize { self.count } else { 0 };
        self.counts.get(storage as usize).copied().unwrap_or(0) + rest
    }
}
