//! Each target once, to write, with the data of its sources.
#![expect(unsafe_code, reason = "data of several entities is fetched past the borrow checker")]

use super::{PairEdge, PairQuery, Pairs, QueryScope, ends::Ends};
use crate::{
    fetch::{FetchCursor, RowHint, SharedData},
    relation::Relation,
    store::{ListIter, SourceIter, TargetIter},
};
use bevy_ecs::{
    entity::Entity,
    query::{QueryData, QueryFilter, ReadOnlyQueryData},
};
use core::iter::FusedIterator;

impl<'s, R, S, T, F, TF> PairQuery<'_, 's, R, S, T, F, TF>
where
    R: Relation,
    S: QueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    /// Calls `each` with the data of every target that has a source, and an iterator over the data of its sources. Both
    /// ends must match, as in the other forms.
    ///
    /// Use it to write each target once, from the data of its sources. [`for_each`](Self::for_each) gives a target once for each
    /// of them, and can write these, too. Where `T` writes what `S` reads, an entity is not among its own sources.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # #[derive(Relation)]
    /// # #[relation(exclusive)]
    /// # struct StoredIn;
    /// # #[derive(Component)]
    /// # struct Weight(f32);
    /// # #[derive(Component)]
    /// # struct Load(f32);
    /// fn weigh(mut stored: PairQuery<StoredIn, &Weight, &mut Load>) {
    ///     stored.for_each_target(|mut load, items| {
    ///         load.0 = items.map(|(weight, _)| weight.0).sum();
    ///     });
    /// }
    /// # let (mut world, mut schedule) = (World::new(), Schedule::default());
    /// # let chest = world.spawn(Load(0.0)).id();
    /// # for weight in [1.0, 2.5] {
    /// #     world.spawn((Weight(weight), Pair(StoredIn, chest)));
    /// # }
    /// # schedule.add_systems(weigh).run(&mut world);
    /// # assert_eq!(world.get::<Load>(chest).unwrap().0, 3.5);
    /// ```
    ///
    /// # Complexity
    /// `O(targets + pairs)`.
    pub fn for_each_target(&mut self, mut each: impl FnMut(T::Item<'_, 's>, TargetSources<'_, 's, R, S, F>))
    where
        S: SharedData,
    {
        let mut targets = self.iter_targets_lending();
        while let Some((target, sources)) = targets.fetch_next() {
            each(target, sources);
        }
    }

    /// [`for_each_target`](Self::for_each_target), one target at a time with [`PairTargetIter::fetch_next`].
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// #[relation(exclusive)]
    /// struct StoredIn;
    /// #[derive(Component)]
    /// struct Space(usize);
    ///
    /// // Until a chest is full.
    /// fn find_full(mut stored: PairQuery<StoredIn, (), &Space>) -> Option<Entity> {
    ///     let mut chests = stored.iter_targets_lending();
    ///     while let Some((space, items)) = chests.fetch_next() {
    ///         let chest = items.target();
    ///         if items.count() >= space.0 {
    ///             return Some(chest);
    ///         }
    ///     }
    ///     None
    /// }
    /// # let mut world = World::new();
    /// # let [empty, full] = [(); 2].map(|()| world.spawn(Space(2)).id());
    /// # world.spawn_batch_with_pair([full, full].map(|chest| ((), StoredIn, chest)));
    /// assert_eq!(world.run_system_cached(find_full).unwrap(), Some(full));
    /// ```
    pub fn iter_targets_lending(&mut self) -> PairTargetIter<'_, 's, R, S, T, F, TF>
    where
        S: SharedData,
    {
        let walk = match (self.scope, self.pairs.index) {
            (_, None) => Walk::One(None),
            (QueryScope::All, Some(index)) => Walk::All(index.targets_with_sources()),
            (QueryScope::Source(source), _) => Walk::Of(source, self.pairs.targets(source)),
            (QueryScope::Target(target), _) => Walk::One(Some(target)),
        };
        PairTargetIter { pairs: &self.pairs, ends: self.ends.shorter(), walk }
    }
}

/// The targets that are left.
enum Walk<'w> {
    All(ListIter<'w>),
    /// Those of one source.
    Of(Entity, TargetIter<'w>),
    One(Option<Entity>),
}

impl Walk<'_> {
    fn next(&mut self) -> Option<Entity> {
        match self {
            Self::All(lists) => lists.next().map(|(target, _)| target),
            Self::Of(_, targets) => targets.next(),
            Self::One(target) => target.take(),
        }
    }
}

/// Goes over the targets of a [`PairQuery`]. See [`PairQuery::iter_targets_lending`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Component)]
/// struct Rooms(usize);
///
/// fn count(mut rooms: PairQuery<ChildOf, (), &mut Rooms>) {
///     let mut houses = rooms.iter_targets_lending();
///     while let Some((mut house, rooms)) = houses.fetch_next() {
///         house.0 = rooms.count();
///     }
/// }
/// # let mut world = World::new();
/// let house = world.spawn(Rooms(0)).id();
/// world.spawn_batch([ChildOf(house), ChildOf(house)]);
/// world.run_system_cached(count).unwrap();
/// assert_eq!(world.get::<Rooms>(house).unwrap().0, 2);
/// ```
pub struct PairTargetIter<'w, 's, R, S, T, F = (), TF = ()>
where
    R: Relation,
    S: ReadOnlyQueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    pairs: &'w Pairs<'w, 's, R>,
    ends: Ends<'w, 's, S, T, F, TF>,
    walk: Walk<'w>,
}

// The safety of each fetch rests on these facts. *Access*: `state` has declared what `S`, `F`, `T` and `TF` access, and refused
// what is read of third entities if `S` or `T` writes it. *One target*: what `fetch_next` returns borrows the iterator, so that
// it is gone when the next target is fetched. *No self*: if `S` or `F` accesses what `T` writes, a source is not the target.
// Test: `a_target_is_written_while_its_sources_are_read`.
impl<'w, 's, R, S, T, F, TF> PairTargetIter<'w, 's, R, S, T, F, TF>
where
    R: Relation,
    S: ReadOnlyQueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    /// The data of the next target that has a matching source, with those sources. The borrow of both must end before
    /// the one after it is fetched.
    pub fn fetch_next(&mut self) -> Option<(T::Item<'_, 's>, TargetSources<'_, 's, R, S, F>)> {
        // SAFETY: *One target*.
        let Next { target, item, first, rest } = unsafe { self.next_target()? };
        let sources = TargetSources {
            pairs: self.pairs,
            cursor: self.ends.sources.shorter(),
            target,
            overlap: self.ends.overlap,
            first: Some((S::shrink(first.0), PairEdge::new(self.pairs, first.1, target))),
            rest,
            place: RowHint::UNKNOWN,
        };
        Some((T::shrink(item), sources))
    }

    /// # Safety
    /// Nothing that this returned before may be alive.
    unsafe fn next_target(&mut self) -> Option<Next<'w, 's, S, T>> {
        loop {
            let target = self.walk.next()?;
            let (mut only, mut rest) = match self.walk {
                Walk::Of(source, _) => (Some(source), SourceIter::none()),
                _ => (None, self.pairs.sources(target)),
            };
            let (mut of_target, mut place) = (RowHint::UNKNOWN, RowHint::UNKNOWN);
            // SAFETY: *Access*; nothing else is alive, as the caller promises.
            let item = unsafe { self.ends.targets.get_at(target, &mut of_target) };
            let Some(item) = item else { continue };
            while let Some(source) = only.take().or_else(|| rest.next()) {
                if self.ends.overlap && source == target {
                    continue;
                }
                // SAFETY: *Access*; only `item` is alive that is written, and does not conflict by *No self*.
                if let Some(data) = unsafe { self.ends.sources.get_at(source, &mut place) } {
                    return Some(Next { target, item, first: (data, source), rest });
                }
            }
        }
    }
}

/// A target with the first of its sources, and those after it.
struct Next<'w, 's, S: QueryData, T: QueryData> {
    target: Entity,
    item: T::Item<'w, 's>,
    first: (S::Item<'w, 's>, Entity),
    rest: SourceIter<'w>,
}

/// Iterates over the sources of one target: their data, and the pairs. See [`PairQuery::for_each_target`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct StoredIn;
/// #[derive(Component)]
/// struct Weight(u32);
/// #[derive(Component)]
/// struct Load(u32);
///
/// fn weigh(mut stored: PairQuery<StoredIn, &Weight, &mut Load>) {
///     stored.for_each_target(|mut load, items| {
///         let chest = items.target();
///         load.0 = items.filter(|(_, edge)| edge.target == chest).map(|(weight, _)| weight.0).sum();
///     });
/// }
/// # let mut world = World::new();
/// # let chest = world.spawn(Load(0)).id();
/// # for weight in [1, 2] {
/// #     world.spawn((Weight(weight), Pair(StoredIn, chest)));
/// # }
/// world.run_system_cached(weigh).unwrap();
/// assert_eq!(world.get::<Load>(chest).unwrap().0, 3);
/// ```
pub struct TargetSources<'w, 's, R, S, F = ()>
where
    R: Relation,
    S: ReadOnlyQueryData,
    F: QueryFilter,
{
    pairs: &'w Pairs<'w, 'w, R>,
    cursor: FetchCursor<'w, 's, S, F>,
    target: Entity,
    overlap: bool,
    first: Option<(S::Item<'w, 's>, PairEdge<'w, R>)>,
    rest: SourceIter<'w>,
    place: RowHint,
}

impl<R, S, F> TargetSources<'_, '_, R, S, F>
where
    R: Relation,
    S: ReadOnlyQueryData,
    F: QueryFilter,
{
    /// The target.
    pub fn target(&self) -> Entity {
        self.target
    }
}

impl<'w, 's, R, S, F> Iterator for TargetSources<'w, 's, R, S, F>
where
    R: Relation,
    S: ReadOnlyQueryData,
    F: QueryFilter,
{
    type Item = (S::Item<'w, 's>, PairEdge<'w, R>);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            let source = self.rest.next()?;
            self.place = self.place.next();
            if self.overlap && source == self.target {
                continue;
            }
            // SAFETY: *Access*; of what is alive only the data of the target is written, by *One target*, and does not
            // conflict, by *No self*.
            if let Some(data) = unsafe { self.cursor.get_at(source, &mut self.place) } {
                return Some((data, PairEdge::new(self.pairs, source, self.target)));
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let first = usize::from(self.first.is_some());
        (first, self.rest.size_hint().1.map(|rest| rest + first))
    }
}

impl<R, S, F> FusedIterator for TargetSources<'_, '_, R, S, F>
where
    R: Relation,
    S: ReadOnlyQueryData,
    F: QueryFilter,
{
}
