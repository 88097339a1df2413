//! The data of both ends of pairs, in loops over whole tables and lists.
#![expect(unsafe_code, reason = "data of several entities is fetched past the borrow checker")]

use super::{PairEdge, Pairs, Scope};
use crate::{
    access::{Cells, Place},
    relation::Relation,
    store::RelationIndex,
};
use bevy_ecs::{
    entity::Entity,
    query::{QueryData, QueryFilter, ReadOnlyQueryData},
};
use core::ops::Range;

/// A table row is scanned for pairs in about this fraction of the time that it takes to look up a source.
const ROWS_PER_LOOKUP: usize = 4;

/// Fetches the data of both ends of a pair.
pub(super) struct Ends<'w, 's, S, T, F, TF>
where
    S: QueryData,
    T: ReadOnlyQueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    pub(super) sources: Cells<'w, 's, S, F>,
    pub(super) targets: Cells<'w, 's, T, TF>,
    /// `S` writes what `T` or `TF` reads: the two ends of a pair must not be one entity, and of two rows only one
    /// may be alive.
    pub(super) overlap: bool,
}

// The safety of each row rests on the same facts. *Access*: `state` has declared what `S`, `F`, `T` and `TF` access,
// and refused what they read of third entities if `S` writes it. *One at a time*: `each` cannot keep what it is
// given, since it must take items of any lifetime; so no row is alive when the next one is fetched. *No self*: where
// `S` writes what `T` reads, the two are of different entities.
// Test: `no_row_is_given_while_another_one_lives`, under Miri.
impl<'w, 's, S, T, F, TF> Ends<'w, 's, S, T, F, TF>
where
    S: QueryData,
    T: ReadOnlyQueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    /// The same for a shorter time.
    pub(super) fn shorter(&self) -> Ends<'_, 's, S, T, F, TF> {
        Ends { sources: self.sources.shorter(), targets: self.targets.shorter(), overlap: self.overlap }
    }

    /// The data of both ends of a pair. `None` if one of them does not match.
    ///
    /// # Safety
    /// No other row may be alive that has the same source, or whose source or target is one of these if `overlap`;
    /// no other row at all if `S` is not `IterQueryData`.
    #[inline]
    pub(super) unsafe fn fetch(
        &mut self,
        source: (Entity, &mut Place),
        target: (Entity, &mut Place),
    ) -> Option<(S::Item<'w, 's>, T::Item<'w, 's>)> {
        if self.overlap && source.0 == target.0 {
            return None;
        }
        // SAFETY: read-only. *Access*, and nothing that is alive writes what `T` reads, as the caller promises.
        let other = unsafe { self.targets.get_at(target.0, target.1)? };
        // SAFETY: *Access*. The caller promises that nothing conflicts but `other`, which does not: it is of another
        // entity, or of other components.
        let item = unsafe { self.sources.get_at(source.0, source.1)? };
        Some((item, other))
    }

    /// Shows all pairs of a scope.
    pub(super) fn visit<R: Relation>(
        &mut self,
        pairs: &Pairs<'_, '_, R>,
        scope: Scope,
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        let Some(index) = pairs.index else { return };
        match scope {
            Scope::All if self.scans(index) => {
                for &storage in self.sources.storages() {
                    self.visit_rows(pairs, storage, 0..usize::MAX, each);
                }
            }
            Scope::All => {
                for list in &index.reverse.lists {
                    self.visit_list(pairs, list.target, index.sources(list.target), each);
                }
            }
            Scope::Source(source) => self.visit_source(pairs, source, each),
            Scope::Target(target) => self.visit_list(pairs, target, pairs.sources(target), each),
        }
    }

    /// Whether scanning all sources takes less time than looking up those that have pairs.
    pub(super) fn scans(&self, index: &RelationIndex) -> bool {
        let mut left = index.len * ROWS_PER_LOOKUP;
        self.sources.storages().iter().all(|&storage| {
            let rest = left.checked_sub(self.sources.len_of(storage));
            left = rest.unwrap_or(0);
            rest.is_some()
        })
    }

    /// Shows the pairs of the sources in a part of a table or archetype.
    pub(super) fn visit_rows<R: Relation>(
        &mut self,
        pairs: &Pairs<'_, '_, R>,
        storage: u32,
        part: Range<usize>,
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        let Some(index) = pairs.index else { return };
        let rows = self.sources.enter(storage);
        let mut place = Place::UNKNOWN;
        for at in part.start..part.end.min(rows.len()) {
            let Some((source, row)) = rows.get(at) else { break };
            for target in index.targets(source) {
                if self.overlap && source == target {
                    continue;
                }
                // SAFETY: *Access*, *One at a time*.
                let Some(other) = (unsafe { self.targets.get_at(target, &mut place) }) else { continue };
                // SAFETY: *Access*, *One at a time*, *No self*; the source is in this row of the storage that
                // was entered.
                let Some(item) = (unsafe { self.sources.fetch_here(source, row) }) else { continue };
                each(item, PairEdge { source, target, pairs }, other);
            }
        }
    }

    /// Shows the pairs of one target.
    pub(super) fn visit_list<R: Relation>(
        &mut self,
        pairs: &Pairs<'_, '_, R>,
        target: Entity,
        sources: impl Iterator<Item = Entity>,
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        let (mut of_target, mut of_source) = (Place::UNKNOWN, Place::UNKNOWN);
        // SAFETY: read-only, *Access*; dropped at once.
        if unsafe { self.targets.get_at(target, &mut of_target) }.is_none() {
            return;
        }
        for source in sources {
            of_source = of_source.next();
            // SAFETY: *One at a time*.
            let row = unsafe { self.fetch((source, &mut of_source), (target, &mut of_target)) };
            if let Some((item, other)) = row {
                each(item, PairEdge { source, target, pairs }, other);
            }
        }
    }

    /// Shows the pairs of one source.
    fn visit_source<R: Relation>(
        &mut self,
        pairs: &Pairs<'_, '_, R>,
        source: Entity,
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        let (mut of_target, mut of_source) = (Place::UNKNOWN, Place::UNKNOWN);
        for target in pairs.targets(source) {
            of_target = of_target.next();
            // SAFETY: *One at a time*.
            let row = unsafe { self.fetch((source, &mut of_source), (target, &mut of_target)) };
            if let Some((item, other)) = row {
                each(item, PairEdge { source, target, pairs }, other);
            }
        }
    }
}
