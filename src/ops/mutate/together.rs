//! The fast path of pairs that are inserted or removed together: both directions of a symmetric one, and one with its companions.

use super::{
    error::InsertPairError,
    insert::{insert_by_rules, mark_ends},
    writer::{FastPath, PairWriter, insert_if_ready, may_close_cycle, note_relation_of_ends},
};
use crate::{
    fetch,
    id::{RelationId, StoredPair},
    store::{Affected, FastPathFlags, PairStore},
};
use bevy_ecs::{change_detection::Tick, entity::Entity, world::World};
use smallvec::SmallVec;

/// More targets than these are replaced by the rules.
const MAX_SEARCHED: usize = 8;

/// Inserts a pair for which the fast path was [`FastPath::Together`].
#[inline(never)]
pub(super) fn insert_together(world: &mut World, pair: StoredPair) -> Result<(), InsertPairError> {
    let try_insert = |world: &mut World| {
        let tick = world.change_tick();
        let store = fetch::store_mut(world);
        store.map_or(FastPath::Declined, |store| PairWriter::new(store).try_insert_together(pair, tick))
    };
    let mut path = try_insert(world);
    if path == FastPath::NotReady && mark_ends(world, pair)? {
        path = try_insert(world);
    }
    match path {
        FastPath::Done => Ok(()),
        _ => insert_by_rules(world, pair),
    }
}

/// The pair, and those that come with it, each with what its relation must allow.
fn inserted_with(store: &PairStore, pair: StoredPair) -> SmallVec<[(StoredPair, FastPathFlags); 4]> {
    let entry = store.registry().entry(pair.relation);
    let mirror = StoredPair { source: pair.target, target: pair.source, ..pair };
    let mirror = Some(mirror).filter(|_| entry.traits.is_symmetric() && mirror != pair);
    let companions = entry.with.iter().map(|&relation| StoredPair { relation, ..pair });
    let own = [pair].into_iter().chain(mirror).map(|pair| (pair, FastPathFlags::INSERT_TOGETHER));
    own.chain(companions.map(|pair| (pair, FastPathFlags::INSERT))).collect()
}

impl PairWriter<'_> {
    /// Inserts a pair and those that come with it, if all of them take the fast path. Companions come with new pairs only.
    pub(super) fn try_insert_together(self, pair: StoredPair, tick: Tick) -> FastPath {
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

    /// Makes the targets of a source exactly these, on the fast path. False if that takes more. Those that stay keep their places.
    pub(super) fn try_replace_targets(
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

    /// Removes both directions of a pair of a symmetric relation on the fast path. Returns whether it was there; `None` if the
    /// relation does not have the fast path.
    pub(super) fn try_remove_together(&mut self, pair: StoredPair) -> Option<bool> {
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
