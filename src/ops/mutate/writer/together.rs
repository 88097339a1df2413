//! The fast path of what is more than one pair without a value: both directions of a symmetric pair, a pair with its companions, all
//! pairs of a source, a pair whose ends were looked at, and a pair with a value of a type that is not known here.

use super::{FastPath, PairWriter, insert_if_ready, may_close_cycle, note_relation_of_ends};
use crate::{
    id::{RelationId, StoredPair},
    relation::ColumnRef,
    store::{Affected, FastPathFlags, PairStore},
};
use bevy_ecs::{change_detection::Tick, entity::Entity};
use core::any::TypeId;
use smallvec::SmallVec;

/// More targets than these are replaced by the rules.
const MAX_SEARCHED: usize = 8;

/// The pair, and those that come with it, each with what its relation must allow.
fn inserted_with(store: &PairStore, pair: StoredPair) -> SmallVec<[(StoredPair, FastPathFlags); 4]> {
    let companions = store.registry().entry(pair.relation).with.iter();
    let companions = companions.map(|&relation| StoredPair { relation, ..pair });
    let own = store.both_ways(pair).map(|pair| (pair, FastPathFlags::INSERT_TOGETHER));
    own.chain(companions.map(|pair| (pair, FastPathFlags::INSERT))).collect()
}

impl PairWriter<'_> {
    /// Inserts a pair and those that come with it, if all of them take the fast path. Companions come with new pairs only.
    pub(in crate::ops) fn try_insert_together(self, pair: StoredPair, tick: Tick) -> FastPath {
        if self.store.relation(pair.relation).has(pair.source, pair.target) {
            return FastPath::Done;
        }
        let all = inserted_with(self.store, pair);
        for &(pair, flag) in &all {
            let affected = Affected::Insertion(pair.source, pair.target);
            let Some((index, participants)) = self.store.fast_access(pair.relation, flag, affected) else {
                return FastPath::Declined;
            };
            if !note_relation_of_ends(index, participants, pair, None)
                || may_close_cycle(index, pair.source, pair.target)
            {
                return FastPath::NotReady;
            }
        }
        for (pair, _) in all {
            let (index, participants) = self.store.write_access(pair.relation);
            if insert_if_ready(index, participants, pair, tick, Some(pair.target)) != FastPath::Done {
                debug_assert!(false, "all of them were found ready");
            }
        }
        FastPath::Done
    }

    /// Inserts a pair on the fast path of relations whose ends must have components, or must not: they are what they must be.
    pub(in crate::ops) fn try_insert_constrained(self, pair: StoredPair, tick: Tick) -> FastPath {
        let StoredPair { source, relation, target } = pair;
        self.store.remove_unchecked_unless_there(pair);
        let affected = Affected::Insertion(source, target);
        match self.store.fast_access(relation, FastPathFlags::INSERT_CONSTRAINED, affected) {
            Some((index, participants)) => insert_if_ready(index, participants, pair, tick, None),
            None => FastPath::Declined,
        }
    }

    /// Makes the targets of a source exactly these, on the fast path. False if that takes more. Those that stay keep their places.
    pub(in crate::ops) fn try_replace_targets(
        self,
        relation: RelationId,
        source: Entity,
        targets: &[Entity],
        tick: Tick,
    ) -> bool {
        let mut affected = targets.iter().map(|&target| Affected::Target(target));
        if self.store.fast_access(relation, FastPathFlags::REMOVE, Affected::Source(source)).is_none()
            || !affected.all(|one| self.store.fast_access(relation, FastPathFlags::INSERT, one).is_some())
        {
            return false;
        }
        let (index, participants) = self.store.write_access(relation);
        let is_ready = |&target: &Entity| {
            let pair = StoredPair { source, relation, target };
            note_relation_of_ends(index, participants, pair, None) && !may_close_cycle(index, source, target)
        };
        // Each is looked for among the others.
        if targets.len() > MAX_SEARCHED
            || (index.is_exclusive() && targets.len() > 1)
            || !targets.iter().all(is_ready)
        {
            return false;
        }
        let old: SmallVec<[Entity; MAX_SEARCHED]> = index.targets(source).collect();
        old.into_iter().filter(|target| !targets.contains(target)).for_each(|target| {
            index.unlink(source, target);
        });
        targets.iter().for_each(|&target| {
            index.link(source, target, tick);
        });
        true
    }

    /// The column for the value of a pair, and the row that the pair has there already, if such a value can be stored on the fast
    /// path.
    ///
    /// # Errors
    /// Why not.
    pub(in crate::ops) fn row_for_value(
        self,
        pair: StoredPair,
        value_type: TypeId,
    ) -> Result<(ColumnRef, Option<u32>), FastPath> {
        let StoredPair { source, relation, target } = pair;
        let column = self.store.registry().entry(relation).data;
        let column = column.filter(|column| column.value_type() == value_type).ok_or(FastPath::Declined)?;
        for pair in self.store.both_ways(pair) {
            let affected = Affected::Insertion(pair.source, pair.target);
            let access = self.store.fast_access(relation, FastPathFlags::INSERT_GIVEN, affected);
            access.ok_or(FastPath::Declined)?;
        }
        let (index, participants) = self.store.write_access(relation);
        if !note_relation_of_ends(index, participants, pair, None) {
            return Err(FastPath::NotReady);
        }
        let row = index.row(source, target);
        let needs_rules = match index.has(source, target) {
            true => row.is_none(),
            false => {
                may_close_cycle(index, source, target) || (index.is_exclusive() && index.has_any(source))
            }
        };
        if needs_rules { Err(FastPath::Declined) } else { Ok((column, row)) }
    }

    /// Removes both directions of a pair of a symmetric relation on the fast path. Returns whether it was there; `None` if the
    /// relation does not have the fast path.
    pub(in crate::ops) fn try_remove_together(&mut self, pair: StoredPair) -> Option<bool> {
        let StoredPair { source, relation, target } = pair;
        for end in [source, target] {
            self.store.fast_access(relation, FastPathFlags::REMOVE_TOGETHER, Affected::Target(end))?;
        }
        let index = self.store.write_access(relation).0;
        let was_there = index.unlink(source, target).is_some();
        index.unlink(target, source);
        Some(was_there)
    }
}
