//! The data of both ends of pairs, in loops over whole tables and lists.
#![expect(unsafe_code, reason = "data of several entities is fetched past the borrow checker")]

use super::{PairEdge, Pairs, QueryScope};
use crate::{
    fetch::{CursorSet, FetchCursor, RowHint, StorageEntities, table_row},
    relation::Relation,
    store::{ExclusiveReader, Reader, RelationIndex, SourceIter, TargetBlock, ones},
};
use alloc::vec::Vec;
use bevy_ecs::{
    component::ComponentId,
    entity::Entity,
    query::{QueryData, QueryFilter},
    storage::TableRow,
};
use core::ops::Range;

/// So many entities are compared before anything is done with them, so that the processor waits for all of them at
/// once.
const BLOCK: usize = 16;

/// A table row is scanned for pairs in about this fraction of the time that it takes to look up a source.
const ROWS_PER_LOOKUP: usize = 4;

/// Where a source is.
pub(super) enum SourceLocation<'a> {
    /// In this row of the storage that was entered.
    Row(TableRow),
    /// Here, or somewhere else.
    Near(&'a mut RowHint),
}

/// How the rows of sources are gone over.
#[derive(Clone, Copy)]
pub(super) enum RowLoop {
    /// One by one, in tables, with at most one target each.
    Exclusive,
    /// In blocks, in tables: some have a target and some have none.
    Mixed,
    /// One by one.
    General,
}

/// Fetches the data of both ends of a pair.
pub(super) struct Ends<'w, 's, S, T, F, TF>
where
    S: QueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    pub(super) sources: FetchCursor<'w, 's, S, F>,
    pub(super) targets: FetchCursor<'w, 's, T, TF>,
    /// For targets that are met in any order.
    target_set: CursorSet<'w, 's, T, TF>,
    /// One end writes what is accessed of the other: the two ends of a pair must not be one entity, and of two rows only
    /// one may be alive.
    pub(super) overlap: bool,
}

impl<'w, 's, S, T, F, TF> Ends<'w, 's, S, T, F, TF>
where
    S: QueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    pub(super) fn new(
        sources: FetchCursor<'w, 's, S, F>,
        targets: FetchCursor<'w, 's, T, TF>,
        overlap: bool,
    ) -> Self {
        let target_set = CursorSet::new(&targets);
        Self { sources, targets, target_set, overlap }
    }

    /// The same for a shorter time.
    pub(super) fn shorter(&self) -> Ends<'_, 's, S, T, F, TF> {
        Ends::new(self.sources.shorter(), self.targets.shorter(), self.overlap)
    }
}

// The safety of each row rests on the same facts. *Access*: `state` has declared what `S`, `F`, `T` and `TF` access,
// and refused what they read of third entities if `S` or `T` writes it. *One at a time*: `each` cannot keep what it is
// given, since it must take items of any lifetime; so no row is alive when the next one is fetched. *No self*: where
// one of `S` and `T` writes what the other accesses, the two are of different entities.
// Tests: `no_row_is_given_while_another_one_lives`, `a_target_is_written_with_each_of_its_sources`.
impl<'w, 's, S, T, F, TF> Ends<'w, 's, S, T, F, TF>
where
    S: QueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    /// The data of both ends of a pair. `None` if one of them does not match.
    ///
    /// # Safety
    /// No other row may be alive that has the same source, or whose source or target is one of these if `overlap`; no
    /// other row at all if `S` is not `IterQueryData`, or `T` not `ReadOnlyQueryData`. If the row of the source is given, it must be
    /// in the storage that `sources` has entered.
    #[inline]
    pub(super) unsafe fn fetch(
        &mut self,
        (source, place): (Entity, SourceLocation<'_>),
        target: Entity,
    ) -> Option<(S::Item<'w, 's>, T::Item<'w, 's>)> {
        if self.overlap && source == target {
            return None;
        }
        let location = self.targets.entities().get_spawned(target).ok()?;
        let (cursor, row) = self.target_set.at(location)?;
        // SAFETY: the entity is there. *Access*, and nothing that is alive conflicts with `T`, as the caller promises.
        let other = unsafe { cursor.fetch_here(target, row)? };
        // SAFETY: *Access*. The caller promises the row, and that nothing conflicts but `other`, which does not: it is of another
        // entity, or of other components.
        let item = unsafe {
            match place {
                SourceLocation::Row(row) => self.sources.fetch_here(source, row)?,
                SourceLocation::Near(near) => self.sources.get_at(source, near)?,
            }
        };
        Some((item, other))
    }

    /// Shows all pairs of a scope.
    #[inline]
    pub(super) fn visit<R: Relation>(
        &mut self,
        pairs: &Pairs<'_, '_, R>,
        scope: QueryScope,
        places: &mut SourceLocations,
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        let Some(index) = pairs.index else { return };
        match scope {
            QueryScope::All if self.scans(index) => {
                let storages = self.sources.storages();
                self.visit_rows(self.row_loop(pairs), pairs, (storages, 0..usize::MAX), each);
            }
            QueryScope::All => {
                for (target, list) in index.targets_with_sources() {
                    self.visit_list(pairs, target, index.sources(target), places.of(list), each);
                }
            }
            QueryScope::Source(source) => self.visit_source(pairs, source, each),
            QueryScope::Target(target) => {
                let Some(list) = index.list_of(target) else { return };
                if let Some(component) = index.target_component(target).filter(|_| !index.is_ordered()) {
                    return self.visit_tables(pairs, target, component, each);
                }
                self.visit_list(pairs, target, pairs.sources_in(index, list, target), places.of(list), each);
            }
        }
    }

    /// Whether scanning all sources takes less time than looking up those that have pairs.
    pub(super) fn scans(&self, index: &RelationIndex) -> bool {
        let mut left = index.len() * ROWS_PER_LOOKUP;
        self.sources.storages().iter().all(|&storage| {
            let rest = left.checked_sub(self.sources.rows_of(storage).len());
            left = rest.unwrap_or(0);
            rest.is_some()
        })
    }

    /// The loop over the rows of all storages.
    pub(super) fn row_loop<R: Relation>(&self, pairs: &Pairs<'_, '_, R>) -> RowLoop {
        let Some(index) = pairs.index.filter(|_| self.sources.is_dense()) else { return RowLoop::General };
        if self.is_mixed(index, pairs.compare) {
            RowLoop::Mixed
        } else if index.is_exclusive() {
            RowLoop::Exclusive
        } else {
            RowLoop::General
        }
    }

    /// Whether some sources of a large table have a target while others have none.
    fn is_mixed(&self, index: &RelationIndex, compare: bool) -> bool {
        let mut reader = index.reader(compare);
        self.sources.storages().iter().any(|&storage| {
            let rows = self.sources.rows_of(storage);
            matches!(rows, StorageEntities::Table(sources) if reader.is_mixed(sources))
        })
    }

    /// Shows the pairs of the sources in a part of each of some storages.
    #[inline]
    pub(super) fn visit_rows<R: Relation>(
        &mut self,
        row_loop: RowLoop,
        pairs: &Pairs<'_, '_, R>,
        (storages, part): (&[u32], Range<usize>),
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        let Some(index) = pairs.index else { return };
        // Separate loops, since what `each` counts can stay in registers in the one that calls nothing else with it.
        match row_loop {
            RowLoop::Exclusive => {
                for &storage in storages {
                    self.visit_exclusive(pairs, index, (storage, part.clone()), each);
                }
            }
            RowLoop::Mixed => {
                for &storage in storages {
                    self.visit_mixed(pairs, index, (storage, part.clone()), each);
                }
            }
            RowLoop::General => {
                for &storage in storages {
                    self.visit_general(pairs, index, (storage, part.clone()), each);
                }
            }
        }
    }

    /// [`RowLoop::General`], over a part of a storage.
    #[inline]
    fn visit_general<R: Relation>(
        &mut self,
        pairs: &Pairs<'_, '_, R>,
        index: &RelationIndex,
        (storage, part): (u32, Range<usize>),
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        let rows = self.sources.enter(storage);
        let all_match = self.all_match(index, rows);
        for (source, row) in (part.start..part.end.min(rows.len())).filter_map(|at| rows.get(at)) {
            for target in index.targets(source) {
                // SAFETY: the source is in this row of the storage that was entered, `all_match` was checked; *One at a time*.
                unsafe { self.show_row(all_match, pairs, (source, row), target, each) };
            }
        }
    }

    /// Whether nothing is read of any target. Takes O(rows).
    fn all_match(&self, index: &RelationIndex, rows: StorageEntities<'_>) -> bool {
        self.targets.all_match(rows.len(), |entity| !index.is_target(entity))
    }

    /// [`RowLoop::Exclusive`], over a part of a table.
    #[inline]
    fn visit_exclusive<R: Relation>(
        &mut self,
        pairs: &Pairs<'_, '_, R>,
        index: &RelationIndex,
        (storage, part): (u32, Range<usize>),
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        let (rows, reader) = (self.sources.enter(storage), index.exclusive_reader(pairs.compare));
        let (StorageEntities::Table(sources), Some(reader)) = (rows, reader) else { return };
        let sources = (part.start, &sources[part.start..part.end.min(sources.len())]);
        // SAFETY: these are the entities of the table that was entered, from this row on; `all_match` as required.
        unsafe {
            match self.all_match(index, rows) {
                true => self.visit_exclusive_rows::<true, R>(pairs, reader, sources, each),
                false => self.visit_exclusive_rows::<false, R>(pairs, reader, sources, each),
            }
        }
    }

    /// Shows the pairs of the sources in a part of a table, if each has one target. Where nothing is read of targets,
    /// nothing in this loop calls or panics.
    ///
    /// # Safety
    /// The sources must be the entities of the table that was entered from the given row on. `ALL_MATCH` must say whether
    /// [`FetchCursor::all_match`] holds for the targets.
    #[inline]
    unsafe fn visit_exclusive_rows<const ALL_MATCH: bool, R: Relation>(
        &mut self,
        pairs: &Pairs<'_, '_, R>,
        mut reader: ExclusiveReader<'_>,
        (first, sources): (usize, &[Entity]),
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        for (at, &source) in sources.iter().enumerate() {
            let Some(target) = reader.target(source) else { continue };
            // SAFETY: the table has this row; as the caller promises; *One at a time*.
            unsafe { self.show_row(ALL_MATCH, pairs, (source, table_row(first + at)), target, each) };
        }
    }

    /// [`RowLoop::Mixed`], over a part of a table.
    #[inline]
    fn visit_mixed<R: Relation>(
        &mut self,
        pairs: &Pairs<'_, '_, R>,
        index: &RelationIndex,
        (storage, part): (u32, Range<usize>),
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        let rows = self.sources.enter(storage);
        let StorageEntities::Table(sources) = rows else { return };
        let all_match = self.all_match(index, rows);
        let part = part.start..part.end.min(sources.len());
        let (mut targets, mut reader) = (TargetBlock::default(), index.reader(pairs.compare));
        for (sources, start) in
            sources[part.clone()].chunks(TargetBlock::LEN).zip(part.step_by(TargetBlock::LEN))
        {
            // SAFETY: the table that was entered has the source in this row; `all_match` was checked; *One at a time*.
            let mut show = |at: usize, target| unsafe {
                self.show_row(all_match, pairs, (sources[at], table_row(start + at)), target, each);
            };
            match &mut reader {
                Reader::Exclusive(reader) => {
                    targets.read(reader, sources.iter().copied());
                    while let Some((at, target)) = targets.next() {
                        show(at, target);
                    }
                }
                Reader::Many(reader) => {
                    for at in ones(reader.having(sources)) {
                        let at = at as usize;
                        index.targets(sources[at]).for_each(|target| show(at, target));
                    }
                }
            }
        }
    }

    /// Shows one pair of a source in the storage that was entered, with a target that may be in any.
    ///
    /// # Safety
    /// The source must be in this row. `all_match` must say whether [`FetchCursor::all_match`] holds for the targets. No other row
    /// may be alive.
    #[inline(always)]
    unsafe fn show_row<R: Relation>(
        &mut self,
        all_match: bool,
        pairs: &Pairs<'_, '_, R>,
        (source, row): (Entity, TableRow),
        target: Entity,
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        let (cursor, of_target) = if all_match {
            (&mut self.targets, row)
        } else {
            let Ok(location) = self.targets.entities().get_spawned(target) else { return };
            let Some(found) = self.target_set.at(location) else { return };
            found
        };
        let cursors = (&mut self.sources, cursor, self.overlap);
        // SAFETY: both were found in their rows, or nothing is read of targets; the caller promises the rest.
        unsafe { show(cursors, pairs, (source, row), (target, of_target), each) };
    }

    /// Shows the pairs of one target. `places` are where its sources were last.
    #[inline]
    pub(super) fn visit_list<R: Relation>(
        &mut self,
        pairs: &Pairs<'_, '_, R>,
        target: Entity,
        sources: SourceIter<'_>,
        places: &mut ListPlaces,
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        let Some(of_target) = self.targets.find_unless_all_match(target) else { return };
        let Some(list) = sources.as_slice() else {
            for source in sources {
                if let Some(row) = self.sources.find(source) {
                    // SAFETY: both were found in their rows; *One at a time*.
                    unsafe { self.show(pairs, (source, row), (target, of_target), each) };
                }
            }
            return;
        };
        let (mut at, mut next_row) = (0, usize::MAX);
        if places.all.is_empty() {
            next_row = self.sources.row_of_first(list, &mut places.first);
        }
        while at < list.len() {
            let run = run_length(&list[at..], self.sources.table().get(next_row..).unwrap_or(&[]));
            for (&source, row) in list[at..at + run].iter().zip(next_row..) {
                // SAFETY: the source is in this row of the table that is set, as was just compared; the target was
                // found; *One at a time*.
                unsafe { self.show(pairs, (source, table_row(row)), (target, of_target), each) };
            }
            if run > 0 {
                (at, next_row) = (at + run, next_row + run);
                continue;
            }
            let block = at..(at + BLOCK).min(list.len());
            at = block.end;
            let (places, block) = (&mut places.of_all(list.len())[block.clone()], &list[block]);
            let rows = self.sources.rows_at::<BLOCK>(block, places);
            for (n, &source) in block.iter().enumerate() {
                let row = match rows {
                    Some(rows) => Some(rows[n]),
                    None => self.sources.seek(source, &mut places[n]),
                };
                if let Some(row) = row {
                    // SAFETY: both were found in their rows; *One at a time*.
                    unsafe { self.show(pairs, (source, row), (target, of_target), each) };
                    next_row = row.index() + 1;
                }
            }
        }
    }

    /// Shows the pairs of one target, of which all sources have a component and nothing else has it.
    #[inline]
    fn visit_tables<R: Relation>(
        &mut self,
        pairs: &Pairs<'_, '_, R>,
        target: Entity,
        component: ComponentId,
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        let Some(of_target) = self.targets.find(target) else { return };
        for storage in self.sources.storages_with(component) {
            let rows = self.sources.enter(storage);
            if let StorageEntities::Table(entities) = rows {
                for (row, &source) in entities.iter().enumerate() {
                    // SAFETY: the source is in this row of the table that was entered; the target was found; *One at a time*.
                    unsafe { self.show(pairs, (source, table_row(row)), (target, of_target), each) };
                }
                continue;
            }
            for (source, row) in (0..rows.len()).filter_map(|at| rows.get(at)) {
                // SAFETY: as above, of the archetype.
                unsafe { self.show(pairs, (source, row), (target, of_target), each) };
            }
        }
    }

    /// Shows the pairs of one source.
    #[inline]
    fn visit_source<R: Relation>(
        &mut self,
        pairs: &Pairs<'_, '_, R>,
        source: Entity,
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        let Some(row) = self.sources.find(source) else { return };
        let mut place = RowHint::UNKNOWN;
        for target in pairs.targets(source) {
            place = place.next();
            if let Some(of_target) = self.targets.seek(target, &mut place) {
                // SAFETY: both were found in their rows; *One at a time*.
                unsafe { self.show(pairs, (source, row), (target, of_target), each) };
            }
        }
    }

    /// Shows one pair.
    ///
    /// # Safety
    /// As for [`show`], of the cursors of this.
    #[inline(always)]
    unsafe fn show<R: Relation>(
        &mut self,
        pairs: &Pairs<'_, '_, R>,
        source: (Entity, TableRow),
        target: (Entity, TableRow),
        each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
    ) {
        // SAFETY: as the caller promises.
        unsafe { show((&mut self.sources, &mut self.targets, self.overlap), pairs, source, target, each) };
    }
}

/// Shows one pair.
///
/// # Safety
/// The cursors must be those of [`Ends`], with its `overlap`. The entities must be in these rows of the storages that
/// the cursors have entered, and no other row may be alive.
#[inline(always)]
unsafe fn show<'w, 's, R, S, T, F, TF>(
    (sources, targets, overlap): (&mut FetchCursor<'w, 's, S, F>, &mut FetchCursor<'w, 's, T, TF>, bool),
    pairs: &Pairs<'_, '_, R>,
    (source, of_source): (Entity, TableRow),
    (target, of_target): (Entity, TableRow),
    each: &mut impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>),
) where
    R: Relation,
    S: QueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    if overlap && source == target {
        return;
    }
    // SAFETY: *Access*; nothing is alive. The caller promises the rest.
    let Some(other) = (unsafe { targets.fetch_here(target, of_target) }) else { return };
    // SAFETY: *Access*; only `other` is alive, and does not conflict by *No self*. The caller promises the rest.
    let Some(item) = (unsafe { sources.fetch_here(source, of_source) }) else { return };
    each(item, PairEdge::new(pairs, source, target), other);
}

/// Where the sources of targets were seen last, list by list.
#[derive(Default)]
pub(super) struct SourceLocations(Vec<ListPlaces>);

/// Where the sources of a target were seen last. If they were spawned one after the other, the first is enough to find all of them.
/// An entity that is not in the row after the one before is looked for where it was: entities that are linked at random
/// move seldom.
pub(super) struct ListPlaces {
    first: RowHint,
    /// Empty until one of them is not in the row after the one before.
    all: Vec<RowHint>,
}

impl SourceLocations {
    /// Of a list of the reverse index.
    fn of(&mut self, list: usize) -> &mut ListPlaces {
        if list >= self.0.len() {
            self.0.resize_with(list + 1, || ListPlaces::UNKNOWN);
        }
        &mut self.0[list]
    }
}

impl ListPlaces {
    pub(super) const UNKNOWN: Self = Self { first: RowHint::UNKNOWN, all: Vec::new() };

    /// One for each source.
    fn of_all(&mut self, count: usize) -> &mut [RowHint] {
        self.all.resize(count, RowHint::UNKNOWN);
        &mut self.all
    }
}

/// How many entities are the same from the start.
#[inline]
fn run_length(a: &[Entity], b: &[Entity]) -> usize {
    if a.first() != b.first() {
        return 0;
    }
    let differ = |(a, b): (&[Entity], &[Entity])| {
        a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a.to_bits() ^ b.to_bits())) != 0
    };
    // Without an early exit, blocks are compared several entities at a time.
    let blocks =
        a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|blocks| !differ(*blocks)).count();
    let (a, b) = (&a[blocks * BLOCK..], &b[blocks * BLOCK..]);
    let left = a.len().min(b.len());
    let same = match differ((&a[..left], &b[..left])) {
        false => left,
        true => a.iter().zip(b).take_while(|(a, b)| a == b).count(),
    };
    blocks * BLOCK + same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_where_entities_differ() {
        let entities: Vec<_> = (0..71).filter_map(Entity::from_raw_u32).collect();
        let (entities, other_entity) = (&entities[..70], entities[70]);
        for differs in 0..70 {
            let mut other = entities.to_vec();
            other[differs] = other_entity;
            assert_eq!(run_length(entities, &other), differs);
            assert_eq!(run_length(&entities[..differs], entities), differs);
            assert_eq!(run_length(entities, &other[..differs]), differs);
        }
    }
}
