//! The other ends of an entity's pairs with their data: [`TargetsWith`] and [`SourcesWith`].

use super::{
    entities::{DataIter, EntitiesFetch, EntitiesState, ReadEntities},
    macros::query_data,
    read::{ReadOrder, ReadPairs, ReadPairsFetch, ReadPairsState},
};
use crate::{
    fetch::SharedData,
    relation::Relation,
    store::{SourceIter, TargetIter},
    traverse::ordered_by,
};
use bevy_ecs::{
    entity::Entity,
    query::{QueryFilter, ReadOnlyQueryData, WorldQuery},
    storage::TableRow,
};
use core::marker::PhantomData;

/// Query data: `D` of all targets of an entity in relation `R` that match the filter `F`, in insertion order.
///
/// The item is a [`DataIter`]: an iterator over `D`. Targets that do not match `D` are left out, and so are disabled
/// ones, as by every `Query<D, F>`. An entity without any such target does not match; write `Option<TargetsWith<..>>`
/// to get it as well. Read `(Entity, D)` to get the targets too; [`Targets`](super::Targets) has all, with the
/// values of the pairs.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::TargetsWith};
///
/// #[derive(Relation)]
/// struct Owes;
///
/// #[derive(Component)]
/// struct Money(u32);
///
/// #[derive(Component)]
/// struct Bank;
///
/// // Each debtor, with the money of the richest bank among its creditors.
/// fn richest(debtors: Query<(Entity, TargetsWith<Owes, &Money, With<Bank>>)>) -> Vec<(Entity, u32)> {
///     debtors.iter().map(|(debtor, banks)| (debtor, banks.map(|money| money.0).max().unwrap())).collect()
/// }
/// # let mut world = World::new();
/// # let [small, large] = [10, 1000].map(|money| world.spawn((Bank, Money(money))).id());
/// # let friend = world.spawn(Money(5000)).id();
/// # let debtor = world.spawn(pairs![(Owes, small), (Owes, friend), (Owes, large)]).id();
/// # assert_eq!(world.run_system_cached(richest).unwrap(), [(debtor, 1000)]);
/// ```
///
/// # Complexity
/// `O(1)` per target, also per one that does not match.
pub struct TargetsWith<R: Relation, D: 'static, F: QueryFilter + 'static = ()>(
    PhantomData<fn() -> (R, D, F)>,
);

/// Query data: `D` of all sources of an entity in relation `R` that match the filter `F`.
///
/// In the order of [`Sources`](super::Sources), else as [`TargetsWith`].
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::SourcesWith};
///
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct DockedTo;
///
/// #[derive(Component)]
/// struct Fuel(f32);
///
/// #[derive(Component)]
/// struct Needed(f32);
///
/// fn measure(mut stations: Query<(&mut Needed, SourcesWith<DockedTo, &Fuel>)>) {
///     for (mut needed, tanks) in &mut stations {
///         needed.0 = tanks.map(|fuel| 10.0 - fuel.0).sum();
///     }
/// }
/// # let mut world = World::new();
/// # let station = world.spawn(Needed(0.0)).id();
/// # for fuel in [4.0, 9.0] {
/// #     world.spawn((Fuel(fuel), Pair(DockedTo, station)));
/// # }
/// # world.run_system_cached(measure).unwrap();
/// # assert_eq!(world.get::<Needed>(station).unwrap().0, 7.0);
/// ```
///
/// # Complexity
/// `O(1)` per source, also per one that does not match.
pub struct SourcesWith<R: Relation, D: 'static, F: QueryFilter + 'static = ()>(
    PhantomData<fn() -> (R, D, F)>,
);

type TargetReads<R, D, F> = (ReadPairs<R, false>, ReadEntities<D, F, false>);
type SourceReads<R, D, F> = (ReadPairs<R, false>, ReadEntities<D, F, false>, ReadOrder<R>);

/// # Safety
/// As for [`QueryData::fetch`](bevy_ecs::query::QueryData::fetch).
#[inline(always)]
unsafe fn targets<'w, 's, R: Relation, D: ReadOnlyQueryData, F: QueryFilter>(
    (_, state): &'s (ReadPairsState, EntitiesState<D, F>),
    (pairs, ends): &mut (ReadPairsFetch<'w, R>, EntitiesFetch<'w, D, F>),
    source: Entity,
    _: TableRow,
) -> Option<DataIter<'w, 's, TargetIter<'w>, D, F>> {
    // SAFETY: the state belongs to the fetch, and the caller keeps the right to what they declare.
    unsafe { DataIter::new(pairs.index?.targets(source), state, ends) }
}

/// # Safety
/// As for [`QueryData::fetch`](bevy_ecs::query::QueryData::fetch).
#[inline(always)]
unsafe fn sources<'w, 's, R: Relation, D: ReadOnlyQueryData, F: QueryFilter + 'static>(
    (_, state, order): &'s <SourceReads<R, D, F> as WorldQuery>::State,
    (pairs, ends, children): &mut <SourceReads<R, D, F> as WorldQuery>::Fetch<'w>,
    target: Entity,
    row: TableRow,
) -> Option<DataIter<'w, 's, SourceIter<'w>, D, F>> {
    let sources = pairs.index?.sources(target);
    if sources.len() == 0 {
        return None;
    }
    // SAFETY: as the caller promises.
    let sources = ordered_by(unsafe { ReadOrder::<R>::children(order, children, target, row) }, sources);
    // SAFETY: the state belongs to the fetch, and the caller keeps the right to what they declare.
    unsafe { DataIter::new(sources, state, ends) }
}

query_data!(
    [R: Relation, D: SharedData + 'static, F: QueryFilter + 'static] TargetsWith<R, D, F>,
    reads TargetReads<R, D, F>, prepare |_| (),
    item<'w, 's> DataIter<'w, 's, TargetIter<'w>, D, F>, fetch targets::<R, D, F>, shrink DataIter::shrink, archetypal false
);

query_data!(
    [R: Relation, D: SharedData + 'static, F: QueryFilter + 'static] SourcesWith<R, D, F>,
    reads SourceReads<R, D, F>, prepare |_| (),
    item<'w, 's> DataIter<'w, 's, SourceIter<'w>, D, F>, fetch sources::<R, D, F>, shrink DataIter::shrink, archetypal false
);
