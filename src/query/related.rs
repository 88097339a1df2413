//! Filters for entities that have a pair, or are the target of one: [`Related`] and [`TargetOf`].

use super::{
    entities::{EntitiesFetch, EntitiesState, ReadEntities, is_unit},
    macros::query_filter,
    read::{ReadPairs, ReadPairsFetch, ReadPairsState},
};
use crate::relation::Relation;
use bevy_ecs::{entity::Entity, query::QueryFilter};
use core::marker::PhantomData;

/// Query filter: entities that have a pair `(R, *)`; with a filter `F`, one whose target matches `F`.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct DockedTo;
///
/// #[derive(Component)]
/// struct Fuel(f32);
///
/// #[derive(Component)]
/// struct Station;
///
/// fn refuel(mut ships: Query<&mut Fuel, Related<DockedTo>>) {
///     for mut fuel in &mut ships {
///         fuel.0 += 1.0;
///     }
/// }
///
/// // Only where the target is a station; any filter of Bevy or of this crate can stand there.
/// fn at_stations(mut ships: Query<&mut Fuel, Related<DockedTo, With<Station>>>) {
///     for mut fuel in &mut ships {
///         fuel.0 += 1.0;
///     }
/// }
/// # let mut world = World::new();
/// # let [dock, station] = [world.spawn_empty().id(), world.spawn(Station).id()];
/// # let [near, far] = [station, dock].map(|at| world.spawn((Fuel(0.0), Pair(DockedTo, at))).id());
/// # world.run_system_cached(refuel).unwrap();
/// # world.run_system_cached(at_stations).unwrap();
/// # assert_eq!([near, far].map(|ship| world.get::<Fuel>(ship).unwrap().0), [2.0, 1.0]);
/// ```
///
/// Without `F`, any pair counts. With it, a target matches if `Query<(), F>` would return it: a disabled entity does not,
/// unless `F` says so. To read the targets that match, see [`TargetsWith`](super::TargetsWith).
///
/// # Complexity
/// O(1) per entity that is tested; with `F` O(targets), up to the first that matches. A filter tests every entity of the
/// query: if few of many entities have pairs, iterate over [`Pairs`](crate::Pairs) instead.
pub struct Related<R: Relation, F: QueryFilter + 'static = ()>(PhantomData<fn() -> (R, F)>);

/// Query filter: entities that are the target of a pair of `R`; with a filter `F`, of one whose source matches `F`.
///
/// See [`Related`], and [`SourcesWith`](super::SourcesWith) to read the sources that match.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::TargetOf};
///
/// #[derive(Component)]
/// struct Burning;
///
/// // Parents of which a child has caught fire since the system last ran.
/// fn alarm(parents: Query<Entity, TargetOf<ChildOf, Added<Burning>>>) -> usize {
///     parents.iter().count()
/// }
/// # let mut world = World::new();
/// # let [house, hut] = [(); 2].map(|()| world.spawn_empty().id());
/// # world.spawn((Burning, ChildOf(house)));
/// # world.spawn(ChildOf(hut));
/// # assert_eq!(world.run_system_cached(alarm).unwrap(), 1);
/// # assert_eq!(world.run_system_cached(alarm).unwrap(), 0);
/// ```
///
/// # Complexity
/// O(1) per entity that is tested; with `F` O(sources), up to the first that matches.
pub struct TargetOf<R: Relation, F: QueryFilter + 'static = ()>(PhantomData<fn() -> (R, F)>);

/// Pairs, and the filter for the entity at their other end.
type EndReads<R, F> = (ReadPairs<R, false>, ReadEntities<(), F, true>);

/// # Safety
/// As for [`QueryFilter::filter_fetch`].
#[inline(always)]
unsafe fn is_related<'w, R: Relation, F: QueryFilter + 'static>(
    (_, state): &(ReadPairsState, EntitiesState<(), F>),
    (pairs, ends): &mut (ReadPairsFetch<'w, R>, EntitiesFetch<'w, (), F>),
    entity: Entity,
) -> bool {
    if is_unit::<F>() {
        return pairs.is_source(entity);
    }
    if pairs.are_sources() == Some(false) {
        return false;
    }
    match ends.noted(entity) {
        Some(is_matching) => is_matching,
        // SAFETY: as the caller promises.
        None => unsafe { is_related_so_far(state, pairs, ends, entity) },
    }
}

/// [`is_related`] until it is noted of all. Apart, so that the rest is short enough to stay in registers.
///
/// # Safety
/// As for [`is_related`].
#[inline(never)]
unsafe fn is_related_so_far<'w, R: Relation, F: QueryFilter + 'static>(
    state: &EntitiesState<(), F>,
    pairs: &ReadPairsFetch<'w, R>,
    ends: &mut EntitiesFetch<'w, (), F>,
    entity: Entity,
) -> bool {
    let Some(index) = pairs.index else { return false };
    // SAFETY: the state belongs to the fetch, which has the rights that the caller has.
    unsafe { ends.note_matches(state, index, || pairs.compares()) };
    // SAFETY: as above.
    let matches = |target| unsafe { ends.matches(state, target) };
    match pairs.upward {
        // There is one at most, and a list need not be looked for.
        Some(upward) => upward.target(entity).is_some_and(matches),
        None => index.targets(entity).any(matches),
    }
}

/// # Safety
/// As for [`QueryFilter::filter_fetch`].
#[inline(always)]
unsafe fn is_target_of<R: Relation, F: QueryFilter + 'static>(
    (_, state): &(ReadPairsState, EntitiesState<(), F>),
    (pairs, ends): &mut (ReadPairsFetch<'_, R>, EntitiesFetch<'_, (), F>),
    entity: Entity,
) -> bool {
    if is_unit::<F>() {
        return pairs.is_target(entity);
    }
    // SAFETY: the state belongs to the fetch, which has the rights that the caller has.
    let matches = |source| unsafe { ends.matches(state, source) };
    pairs.index.is_some_and(|index| index.sources(entity).any(matches))
}

query_filter!(
    [R: Relation, F: QueryFilter + 'static] Related<R, F>,
    reads EndReads<R, F>, prepare |_| (), fetch is_related::<R, F>
);

query_filter!(
    [R: Relation, F: QueryFilter + 'static] TargetOf<R, F>,
    reads EndReads<R, F>, prepare |_| (), fetch is_target_of::<R, F>
);
