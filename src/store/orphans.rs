//! Targets that have lost their last source, of relations that despawn those.

use super::PairStore;
use crate::id::RelationId;
use alloc::vec::Vec;
use bevy_ecs::entity::{Entity, EntityHashSet};

/// A target that had no source of the relation for a moment.
struct Orphan {
    relation: RelationId,
    /// The relation's entity: its number may serve another by the time this is looked at.
    entity: Entity,
    target: Entity,
}

/// The targets that are to be despawned unless they get another source before the operation is done.
#[derive(Default)]
pub(super) struct Orphans {
    noted: Vec<Orphan>,
    /// Those that are looked at with the next maintenance.
    postponed: Vec<Orphan>,
    /// Operations that are not done yet.
    held: u32,
}

impl PairStore {
    /// Notes that a target has lost its last source.
    #[cold]
    pub(crate) fn note_orphan(&mut self, relation: RelationId, target: Entity) {
        let entity = self.registry().entry(relation).entity;
        self.orphans.noted.push(Orphan { relation, entity, target });
    }

    /// Keeps what was noted, and what will be, until [`release_orphans`](Self::release_orphans). False, and no need for
    /// that, if nothing was noted.
    #[inline]
    pub(crate) fn defer_noted_orphans(&mut self) -> bool {
        let any = !self.orphans.noted.is_empty();
        self.orphans.held += u32::from(any);
        any
    }

    /// Keeps what will be noted until [`release_orphans`](Self::release_orphans).
    pub(crate) fn defer_orphans(&mut self) {
        self.orphans.held += 1;
    }

    /// Ends what [`defer_orphans`](Self::defer_orphans) began.
    pub(crate) fn release_orphans(&mut self) {
        self.orphans.held = self.orphans.held.saturating_sub(1);
    }

    /// How many were noted.
    #[cfg(feature = "bevy_reflect")]
    pub(crate) fn noted_orphans(&self) -> usize {
        self.orphans.noted.len()
    }

    /// Leaves all but so many that were noted first to the next maintenance.
    #[cfg(feature = "bevy_reflect")]
    pub(crate) fn postpone_orphans(&mut self, first: usize) {
        let Orphans { noted, postponed, .. } = &mut self.orphans;
        postponed.extend(noted.drain(first.min(noted.len())..));
    }

    /// Clears which operations are not done: they were lost. What was postponed is due.
    pub(crate) fn release_all_orphans(&mut self) {
        let Orphans { noted, postponed, held } = &mut self.orphans;
        noted.append(postponed);
        *held = 0;
    }

    /// Whether something was noted, also by an operation that is not done, or postponed.
    #[inline]
    pub(crate) fn has_noted_orphans(&self) -> bool {
        !self.orphans.noted.is_empty() || !self.orphans.postponed.is_empty()
    }

    /// Whether something was noted and no operation goes on.
    #[inline]
    pub(crate) fn has_orphans(&self) -> bool {
        self.orphans.held == 0 && !self.orphans.noted.is_empty()
    }

    /// Takes those that were noted and have no source still, each once, in the order in which they lost their last one.
    pub(crate) fn take_orphans(&mut self) -> Vec<Entity> {
        let mut met = EntityHashSet::default();
        let noted = core::mem::take(&mut self.orphans.noted);
        let orphans = noted.into_iter().filter(|orphan| !self.has_source(orphan));
        orphans.map(|orphan| orphan.target).filter(|&target| met.insert(target)).collect()
    }

    /// Clears what was noted.
    pub(crate) fn clear_orphans(&mut self) {
        self.orphans.noted.clear();
        self.orphans.postponed.clear();
    }

    fn has_source(&self, orphan: &Orphan) -> bool {
        let entry = self.registry().get(orphan.relation);
        // The entity of a type may have been replaced.
        entry.is_some_and(|entry| entry.type_id.is_some() || entry.entity == orphan.entity)
            && self.relation(orphan.relation).is_target(orphan.target)
    }
}
