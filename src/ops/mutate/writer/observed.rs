//! Insertions that only observers keep from the fast path: what they do is found out first, and the pair is written after the event of
//! the one that it replaces.

use super::{FastPath, FastValues, PairWriter, insert_if_ready, may_close_cycle};
use crate::{
    id::{RelationId, StoredPair},
    store::{FastPathFlags, PairData},
};
use bevy_ecs::{change_detection::Tick, entity::Entity};

/// What an insertion of a pair does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ops) enum InsertionKind {
    /// The pair is there: at most its value is replaced.
    Existing,
    /// The pair is new, and replaces no other.
    New,
    /// The pair replaces the one that the source of an exclusive relation has with this target.
    Retarget(Entity),
}

impl<'s> PairWriter<'s> {
    /// What the insertion of a pair does if only observers keep it from the fast path; `None` if more has to be done for it.
    pub(in crate::ops) fn insertion_kind(&self, pair: StoredPair) -> Option<InsertionKind> {
        let StoredPair { source, relation, target } = pair;
        let (index, participants) = (self.store.relation(relation), self.store.participants());
        if index.has(source, target) {
            return Some(InsertionKind::Existing);
        }
        let is_ready = participants.is_ready(source)
            && participants.is_ready(target)
            && !may_close_cycle(index, source, target);
        let goes = || if index.is_exclusive() { index.first_target(source) } else { None };
        is_ready.then(|| goes().map_or(InsertionKind::New, InsertionKind::Retarget))
    }

    /// Inserts a pair of a relation without values whose [`insertion_kind`](Self::insertion_kind) is known.
    pub(in crate::ops) fn insert_observed(self, pair: StoredPair, tick: Tick) -> FastPath {
        let (index, participants) = self.store.write_access(pair.relation);
        insert_if_ready(index, participants, pair, tick, None)
    }

    /// [`insertion_kind`](Self::insertion_kind) of a pair with a value: it has a row if it is there, and another pair can be replaced.
    pub(in crate::ops) fn insertion_kind_of_value(&self, pair: StoredPair) -> Option<InsertionKind> {
        let index = self.store.relation(pair.relation);
        self.insertion_kind(pair).filter(|kind| match kind {
            InsertionKind::Existing => {
                self.store.participants().is_ready(pair.source)
                    && self.store.participants().is_ready(pair.target)
                    && index.row(pair.source, pair.target).is_some()
            }
            InsertionKind::New => true,
            InsertionKind::Retarget(_) => index.allows(FastPathFlags::REMOVE_VALUE),
        })
    }

    /// The fast path of pairs with values, whatever observers there are. `None` if the column is another's.
    pub(in crate::ops) fn observed_values<T: Send + Sync + 'static>(
        self,
        pair: StoredPair,
        values: &'s mut PairData<T>,
    ) -> Option<FastValues<'s, T>> {
        let relation: RelationId = pair.relation;
        if !values.is_of(self.store.id()) {
            return None;
        }
        self.store.remove_unchecked_unless_there(pair);
        let (index, participants) = self.store.write_access(relation);
        let gives_way = index.allows(FastPathFlags::REMOVE_VALUE);
        Some(FastValues { relation, index, participants, values, last_target: None, gives_way })
    }
}
