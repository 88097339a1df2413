//! The fast path: which changes of a relation's pairs need no more than its index.

use super::{PairStore, Participants, RelationIndex};
use crate::{
    id::RelationId,
    relation::{IS_A, RelationEntry},
};

/// The changes for which no rule has to be asked, no value be moved and no observer be triggered. Computed when traits,
/// ticks or listeners change, so that a change of pairs only looks at a bit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct FastPathFlags(u8);

impl FastPathFlags {
    /// A pair is inserted. That it closes no cycle, and that both ends are marked, has to be looked at each time.
    pub(crate) const INSERT: Self = Self(1);
    /// A pair is removed by its name.
    pub(crate) const REMOVE: Self = Self(1 << 1);
    /// A component that keeps a pair is inserted, and the pair follows it.
    pub(crate) const MIRROR: Self = Self(1 << 2);
    /// A pair goes with one of its ends, or with the component that keeps it.
    pub(crate) const UNLINK: Self = Self(1 << 3);

    #[inline]
    pub(crate) fn contains(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    fn set(&mut self, flag: Self, on: bool) {
        if on {
            self.0 |= flag.0;
        }
    }

    /// What a relation allows. One that has lost its entity has to get another first.
    fn of(id: RelationId, entry: &RelationEntry, index: &RelationIndex, has_entity: bool) -> Self {
        let has_rules = !entry.frozen
            || !entry.with.is_empty()
            || entry.traits.one_of_rule().is_some()
            || entry.traits.is_symmetric()
            || id == IS_A
            || index.reverse.extras.ticks;
        let has_values = entry.data.is_some() || entry.adopted.is_some();
        let is_plain = !has_rules && !has_values && has_entity;
        let unlink = !index.symmetric && !index.reverse.extras.rows;
        let mut flags = Self::default();
        flags.set(Self::INSERT, is_plain);
        flags.set(Self::REMOVE, is_plain && unlink);
        flags.set(Self::MIRROR, !has_rules);
        flags.set(Self::UNLINK, unlink);
        flags
    }

    /// What observers of insertions and of removals stand in the way of. An insertion may remove a pair, too.
    fn declined_for([inserted, removed]: [bool; 2]) -> Self {
        let mut flags = Self::default();
        flags.set(Self::INSERT, inserted || removed);
        flags.set(Self::REMOVE, removed);
        flags.set(Self::MIRROR, inserted || removed);
        flags.set(Self::UNLINK, removed);
        flags
    }
}

/// Which events of pairs may have observers.
#[derive(Default)]
pub(crate) struct Observed {
    /// Insertions, removals.
    events: [bool; 2],
    /// What they stand in the way of.
    declined: FastPathFlags,
}

impl Observed {
    /// Whether observers stand in the way of a change.
    #[inline]
    pub(super) fn declines(&self, flag: FastPathFlags) -> bool {
        self.declined.contains(flag)
    }
}

impl PairStore {
    /// [`write_access`](Self::write_access), if a change of the relation's pairs takes the fast path.
    #[inline]
    pub(crate) fn fast_access(
        &mut self,
        id: RelationId,
        flag: FastPathFlags,
    ) -> Option<(&mut RelationIndex, &mut Participants)> {
        let index = &mut self.relations[id.index()];
        let fast = index.fast_path.contains(flag) && !self.observed.declines(flag);
        fast.then_some((index, &mut self.participants))
    }

    /// To be called when what [`FastPathFlags`] are computed from has changed.
    pub(crate) fn refresh_fast_path(&mut self, id: RelationId) {
        let flags = self.registry.get(id).map(|entry| {
            let has_entity = self.participants.is_relation(entry.entity);
            FastPathFlags::of(id, entry, self.relation(id), has_entity)
        });
        self.relation_mut(id).fast_path = flags.unwrap_or_default();
    }

    /// Notes whether there may be observers of insertions and of removals.
    pub(crate) fn set_observed(&mut self, any: [bool; 2]) {
        self.observed = Observed { events: any, declined: FastPathFlags::declined_for(any) };
    }

    /// Whether there may be observers of insertions, and of removals.
    #[inline]
    pub(crate) fn observed(&self) -> [bool; 2] {
        self.observed.events
    }
}
