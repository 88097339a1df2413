//! Buffers that are kept from row to row.

use crate::{
    expr::eval::{Reach, Searcher, Stamps},
    id::RelationId,
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::{entity::Entity, storage::TableId};
use smallvec::SmallVec;

/// Buffers of [`Matcher`](super::atom::Matcher).
#[derive(Default)]
pub(crate) struct AtomBuffers {
    // Boxed, since they are taken out while they are at work.
    pub(super) up: Option<Box<Searcher>>,
    pub(super) bases: Option<Box<Searcher>>,
    pub(super) reach: Option<Box<Searcher>>,
    pub(super) around: Option<Box<Searcher>>,
    pub(super) leads: Reach,
    pub(super) candidates: Vec<Entity>,
    pub(super) candidate: Stamps,
    /// In searches with limits, the holders and the targets that were tried.
    pub(super) tried: Stamps,
    pub(super) tried_targets: Stamps,
    pub(super) met: Stamps,
    /// What was looked at, and how much may be.
    pub(super) steps: u64,
    pub(super) limit: u64,
}

impl AtomBuffers {
    /// Whether evaluation is to end: what is found then is of no account.
    pub(super) fn is_over(&self) -> bool {
        self.steps > self.limit
    }
}

/// The only targets that all entities of a table have, by relation, as far as they are known: the parts of the table need not look
/// them up again, each at an entity that was not touched before.
#[derive(Default)]
pub(super) struct CommonTargets {
    table: Option<TableId>,
    found: SmallVec<[(RelationId, Option<Option<Entity>>); 1]>,
}

impl CommonTargets {
    /// For a new run.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// That of a relation, or what `find` says if it is not known of this table.
    pub(super) fn of(
        &mut self,
        table: TableId,
        relation: RelationId,
        find: impl FnOnce() -> Option<Option<Entity>>,
    ) -> Option<Option<Entity>> {
        if self.table != Some(table) {
            self.table = Some(table);
            self.found.clear();
        }
        if let Some(&(_, target)) = self.found.iter().find(|(found, _)| *found == relation) {
            return target;
        }
        let target = find();
        self.found.push((relation, target));
        target
    }
}
