//! The data of both ends of pairs, one pair at a time.
#![expect(unsafe_code, reason = "data of several entities is fetched past the borrow checker")]

use super::{
    PairEdge, Pairs, QueryScope,
    ends::{Ends, RowLoop, SourceLocation},
};
use crate::{
    fetch::{FetchCursor, RowHint, StorageEntities},
    relation::{ExclusiveRelation, Relation},
    store::{ExclusiveReader, ListIter, RelationIndex, SourceIter, TargetBlock, TargetIter},
};
use alloc::boxed::Box;
use bevy_ecs::{
    entity::Entity,
    query::{IterQueryData, QueryData, QueryFilter, ReadOnlyQueryData},
    storage::TableRow,
};
use core::{iter::FusedIterator, slice};

/// Goes over the sources of an exclusive relation by table.
struct ExclusiveRows<'w, 's> {
    storages: slice::Iter<'s, u32>,
    rows: StorageEntities<'w>,
    at: usize,
    reader: ExclusiveReader<'w>,
}

impl<'w, 's> ExclusiveRows<'w, 's> {
    /// The next source and its target.
    #[inline]
    fn next<D: QueryData, F: QueryFilter>(
        &mut self,
        cursor: &mut FetchCursor<'w, 's, D, F>,
    ) -> Option<(FoundSource, Entity)> {
        loop {
            match self.rows.get(self.at) {
                Some((source, row)) => {
                    self.at += 1;
                    if let Some(target) = self.reader.target(source) {
                        return Some(((source, Some(row)), target));
                    }
                }
                None => (self.rows, self.at) = (cursor.enter(*self.storages.next()?), 0),
            }
        }
    }
}

/// The same where some sources have a target and some have none.
struct MixedRows<'w, 's> {
    /// `at` is the first row behind the block.
    rows: ExclusiveRows<'w, 's>,
    /// The targets of a block of rows.
    block: TargetBlock,
    /// The first row of the block.
    start: usize,
}

impl<'w, 's> MixedRows<'w, 's> {
    /// [`ExclusiveRows::next`].
    #[inline]
    fn next<D: QueryData, F: QueryFilter>(
        &mut self,
        cursor: &mut FetchCursor<'w, 's, D, F>,
    ) -> Option<(FoundSource, Entity)> {
        loop {
            if let Some((at, target)) = self.block.next()
                && let Some((source, row)) = self.rows.rows.get(self.start + at)
            {
                return Some(((source, Some(row)), target));
            }
            self.read(cursor)?;
        }
    }

    /// Reads the targets of the next block.
    #[inline(never)]
    fn read<D: QueryData, F: QueryFilter>(&mut self, cursor: &mut FetchCursor<'w, 's, D, F>) -> Option<()> {
        let Self { rows: ExclusiveRows { storages, rows, at, reader }, block, start } = self;
        while *at == rows.len() {
            (*rows, *at) = (cursor.enter(*storages.next()?), 0);
        }
        (*start, *at) = (*at, rows.len().min(*at + TargetBlock::LEN));
        block.read(reader, (*start..*at).filter_map(|at| Some(rows.get(at)?.0)));
        Some(())
    }
}

/// Goes over pairs by table or by list. What is left of a single source or list is the end of either.
enum PairCursor<'w, 's> {
    Rows {
        storages: slice::Iter<'s, u32>,
        rows: StorageEntities<'w>,
        at: usize,
        /// What `targets` are of.
        source: Option<FoundSource>,
        targets: TargetIter<'w>,
    },
    /// The sources of one target, in tables that no others are in.
    Tables { storages: smallvec::IntoIter<[u32; 4]>, rows: StorageEntities<'w>, at: usize, target: Entity },
    Lists {
        /// The lists that are left. `None` if it goes over one list only.
        lists: Option<ListIter<'w>>,
        /// The target that `sources` are of.
        target: Option<Entity>,
        sources: SourceIter<'w>,
    },
}

/// A source with its row in the storage that was entered, or without if it comes from a list and has yet to be found.
type FoundSource = (Entity, Option<TableRow>);

impl<'w, 's> PairCursor<'w, 's> {
    /// The pairs of one target. `sources` are in the order that is wanted if they have one.
    fn of_target<D: QueryData, F: QueryFilter>(
        target: Entity,
        sources: SourceIter<'w>,
        index: Option<&RelationIndex>,
        cursor: &FetchCursor<'w, 's, D, F>,
    ) -> Self {
        let component =
            index.filter(|index| !index.is_ordered()).and_then(|index| index.target_component(target));
        match component {
            Some(component) => {
                let storages = cursor.storages_with(component).into_iter();
                Self::Tables { storages, rows: StorageEntities::NONE, at: 0, target }
            }
            None => Self::Lists { lists: None, target: Some(target), sources },
        }
    }

    /// The next source and target.
    fn next<D: QueryData, F: QueryFilter>(
        &mut self,
        index: &'w RelationIndex,
        cursor: &mut FetchCursor<'w, 's, D, F>,
    ) -> Option<(FoundSource, Entity)> {
        match self {
            Self::Rows { storages, rows, at, source, targets } => loop {
                if let Some(target) = targets.next() {
                    return source.map(|source| (source, target));
                }
                match rows.get(*at) {
                    Some((entity, row)) => {
                        (*at, *source) = (*at + 1, Some((entity, Some(row))));
                        *targets = index.targets(entity);
                    }
                    None => (*rows, *at) = (cursor.enter(*storages.next()?), 0),
                }
            },
            Self::Tables { storages, rows, at, target } => loop {
                if let Some((source, row)) = rows.get(*at) {
                    *at += 1;
                    return Some(((source, Some(row)), *target));
                }
                (*rows, *at) = (cursor.enter(storages.next()?), 0);
            },
            Self::Lists { lists, target, sources } => loop {
                if let Some(source) = sources.next() {
                    return target.map(|target| ((source, None), target));
                }
                let (next, list) = lists.as_mut()?.next()?;
                (*target, *sources) = (Some(next), index.sources_in(list));
            },
        }
    }
}

/// How all pairs of a scope are met.
enum Walk<'w, 's> {
    /// The most common: compiled into the loop of the caller.
    Exclusive(ExclusiveRows<'w, 's>),
    /// Large, and made once for all pairs.
    Mixed(Box<MixedRows<'w, 's>>),
    Other(PairCursor<'w, 's>),
}

/// Goes over the pairs of a [`PairQuery`](crate::PairQuery): an iterator if the data is read-only.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Relation)]
/// struct Feeds;
/// #[derive(Component)]
/// struct Stock(u32);
///
/// fn feed(mut query: PairQuery<Feeds, &mut Stock>) {
///     let mut feeding = query.iter_lending();
///     while let Some((mut stock, ..)) = feeding.fetch_next() {
///         stock.0 -= 1;
///     }
/// }
/// # let mut world = World::new();
/// # let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
/// # let farmer = world.spawn((Stock(5), pairs![(Feeds, a), (Feeds, b)])).id();
/// world.run_system_cached(feed).unwrap();
/// assert_eq!(world.get::<Stock>(farmer).unwrap().0, 3);
/// ```
pub struct PairIter<'w, 's, R, S, T = (), F = (), TF = ()>
where
    R: Relation,
    S: QueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    pairs: &'w Pairs<'w, 's, R>,
    ends: Ends<'w, 's, S, T, F, TF>,
    walk: Walk<'w, 's>,
    /// Where the source of a list was that came last.
    near: RowHint,
}

impl<'w, 's, R, S, T, F, TF> PairIter<'w, 's, R, S, T, F, TF>
where
    R: Relation,
    S: QueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    /// Starts to go over a scope.
    pub(super) fn new(
        pairs: &'w Pairs<'w, 's, R>,
        mut ends: Ends<'w, 's, S, T, F, TF>,
        scope: QueryScope,
    ) -> Self {
        let walk = match scope {
            QueryScope::All => ends.walk(pairs),
            QueryScope::Source(source) => {
                let row = ends.sources.find(source);
                let targets = if row.is_some() { pairs.targets(source) } else { TargetIter::none() };
                let (storages, rows, source) = ([].iter(), StorageEntities::NONE, Some((source, row)));
                Walk::Other(PairCursor::Rows { storages, rows, at: 0, source, targets })
            }
            QueryScope::Target(target) => {
                let sources = pairs.sources(target);
                Walk::Other(PairCursor::of_target(target, sources, pairs.index, &ends.sources))
            }
        };
        Self { pairs, ends, walk, near: RowHint::UNKNOWN }
    }

    /// The next pair with the data of its ends, whose borrow must end before the one after it is fetched.
    #[inline]
    pub fn fetch_next(&mut self) -> Option<(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>)> {
        // SAFETY: the row borrows this until it is gone, so that no other is alive.
        let (item, edge, other) = unsafe { self.next_row()? };
        Some((S::shrink(item), edge, T::shrink(other)))
    }

    /// # Safety
    /// As for [`Ends::fetch`].
    #[inline]
    unsafe fn next_row(&mut self) -> Option<PairRow<'w, 's, R, S, T>> {
        let index = self.pairs.index?;
        loop {
            let ((source, row), target) = match &mut self.walk {
                Walk::Exclusive(rows) => rows.next(&mut self.ends.sources)?,
                Walk::Mixed(rows) => rows.next(&mut self.ends.sources)?,
                Walk::Other(cursor) => cursor.next(index, &mut self.ends.sources)?,
            };
            let place = match row {
                Some(row) => SourceLocation::Row(row),
                None => {
                    self.near = self.near.next();
                    SourceLocation::Near(&mut self.near)
                }
            };
            // SAFETY: as the caller promises. A row that is known is one of the storage that was entered last, since nothing but
            // `next` enters another as long as there are such rows.
            let row = unsafe { self.ends.fetch((source, place), target) };
            if let Some((item, other)) = row {
                return Some((item, PairEdge::new(self.pairs, source, target), other));
            }
        }
    }
}

/// The data of the source, the pair, the data of the target.
type PairRow<'w, 's, R, S, T> =
    (<S as QueryData>::Item<'w, 's>, PairEdge<'w, R>, <T as QueryData>::Item<'w, 's>);

impl<'w, 's, R, S, T, F, TF> Iterator for PairIter<'w, 's, R, S, T, F, TF>
where
    R: Relation,
    S: ReadOnlyQueryData,
    T: ReadOnlyQueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    type Item = PairRow<'w, 's, R, S, T>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: nothing is written.
        unsafe { self.next_row() }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.pairs.len()))
    }
}

impl<R, S, T, F, TF> FusedIterator for PairIter<'_, '_, R, S, T, F, TF>
where
    R: Relation,
    S: ReadOnlyQueryData,
    T: ReadOnlyQueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
}

/// Iterates over the pairs of an exclusive relation. See [`PairQuery::iter_mut`](crate::PairQuery::iter_mut).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Component)]
/// struct Heat(u32);
///
/// fn warm(mut rooms: PairQuery<ChildOf, &mut Heat, &Name>) {
///     for (mut heat, _, _house) in rooms.iter_mut() {
///         heat.0 += 1;
///     }
/// }
/// # let mut world = World::new();
/// let house = world.spawn(Name::new("house")).id();
/// let room = world.spawn((Heat(0), ChildOf(house))).id();
/// world.run_system_cached(warm).unwrap();
/// assert_eq!(world.get::<Heat>(room).unwrap().0, 1);
/// ```
pub struct PairIterMut<'w, 's, R, S, T = (), F = (), TF = ()>(PairIter<'w, 's, R, S, T, F, TF>)
where
    R: ExclusiveRelation,
    S: IterQueryData,
    T: ReadOnlyQueryData,
    F: QueryFilter,
    TF: QueryFilter;

impl<'w, 's, R, S, T, F, TF> PairIterMut<'w, 's, R, S, T, F, TF>
where
    R: ExclusiveRelation,
    S: IterQueryData,
    T: ReadOnlyQueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    /// # Safety
    /// Nothing may overlap, and the index must be exclusive.
    pub(super) unsafe fn new(
        pairs: &'w Pairs<'w, 's, R>,
        ends: Ends<'w, 's, S, T, F, TF>,
        scope: QueryScope,
    ) -> Self {
        let mut iter = PairIter::new(pairs, ends, scope);
        // Not in the order of `Children`, which a user could make name a child twice.
        if let (QueryScope::Target(target), Some(index)) = (scope, pairs.index) {
            let (sources, cursor) = (index.sources(target), &iter.ends.sources);
            iter.walk = Walk::Other(PairCursor::of_target(target, sources, Some(index), cursor));
        }
        Self(iter)
    }
}

impl<'w, 's, R, S, T, F, TF> Iterator for PairIterMut<'w, 's, R, S, T, F, TF>
where
    R: ExclusiveRelation,
    S: IterQueryData,
    T: ReadOnlyQueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    type Item = PairRow<'w, 's, R, S, T>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: every source comes once: by table, an entity is in one row of one table, each of which comes once, also where
        // rows are read in blocks, as a block begins behind the one before it; and it has one target (*Exclusive*); by list, `targets` gives no list that is free (*Lists*), and each entity is in one place of
        // one of the others at most (*Mirror*, *Exclusive*). Nothing of what `S` writes is read of targets. Both was
        // promised to `new`. `S` is `IterQueryData`.
        // Tests: `a_mutable_iterator_gives_every_source_once`, `every_way_of_reading_agrees_while_pairs_change`,
        // `every_form_gives_every_pair_once_while_lists_come_and_go`,
        // `every_pair_of_an_exclusive_relation_comes_once_whatever_share_of_the_sources_has_one`.
        unsafe { self.0.next_row() }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.0.pairs.len()))
    }
}

impl<R, S, T, F, TF> FusedIterator for PairIterMut<'_, '_, R, S, T, F, TF>
where
    R: ExclusiveRelation,
    S: IterQueryData,
    T: ReadOnlyQueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
}

impl<'w, 's, S, T, F, TF> Ends<'w, 's, S, T, F, TF>
where
    S: QueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    /// Over all pairs, whichever way is shorter.
    fn walk<R: Relation>(&self, pairs: &Pairs<'w, '_, R>) -> Walk<'w, 's> {
        let (storages, rows, at) = (self.sources.storages().iter(), StorageEntities::NONE, 0);
        match pairs.index {
            Some(index) if !self.scans(index) => {
                let lists = Some(index.targets_with_sources());
                Walk::Other(PairCursor::Lists { lists, target: None, sources: SourceIter::none() })
            }
            index => match index.and_then(|index| index.exclusive_reader(pairs.compare)) {
                Some(reader) => {
                    let rows = ExclusiveRows { storages, rows, at, reader };
                    match self.row_loop(pairs) {
                        RowLoop::Mixed => {
                            Walk::Mixed(Box::new(MixedRows { rows, block: TargetBlock::default(), start: 0 }))
                        }
                        RowLoop::Exclusive | RowLoop::General => Walk::Exclusive(rows),
                    }
                }
                None => {
                    let targets = TargetIter::none();
                    Walk::Other(PairCursor::Rows { storages, rows, at, source: None, targets })
                }
            },
        }
    }
}
