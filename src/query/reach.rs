//! Filters for what lies above or below an entity: [`WithAncestor`], [`WithDescendant`] and [`ChangedAbove`].

use super::{
    climb::{Climb, ClimbFetch, ClimbState, HOLDER, HolderNotes},
    entities::ReadEntities,
    macros::{query_filter, require_traversable},
    read::ReadPairs,
    scratch::{Scratch, ScratchState},
};
use crate::{
    relation::TraversableRelation,
    store::{RelationIndex, SourceIter},
    traverse::{Known, Memo, OnlyWay, Search},
};
use bevy_ecs::{
    entity::Entity,
    query::{Changed, QueryFilter, WorldQuery},
};
use core::{any::type_name, marker::PhantomData};

/// Query filter: entities with an entity above them in relation `R` that matches the filter `F`: a target, a target of
/// that, and so on; every target counts, not only the first.
///
/// Disabled entities do not match `F`, unless it names `Disabled`; the search goes on above them. To read what is found, see
/// [`Up`](super::Up).
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::WithAncestor};
///
/// #[derive(Component)]
/// struct Frozen;
///
/// // Everything inside of something that is frozen.
/// fn stop(inside: Query<Entity, WithAncestor<ChildOf, With<Frozen>>>) -> Vec<Entity> {
///     inside.iter().collect()
/// }
/// # let mut world = World::new();
/// # let lake = world.spawn(Frozen).id();
/// # let fish = world.spawn(ChildOf(lake)).id();
/// # let eye = world.spawn(ChildOf(fish)).id();
/// # let found = world.run_system_cached(stop).unwrap();
/// # assert!(found.len() == 2 && found.contains(&fish) && found.contains(&eye));
/// ```
///
/// # Complexity
/// As for [`Up`](super::Up): O(entities that are met), and each entity is entered a constant number of times per
/// iteration, however many lie below it.
///
/// # Panics
/// When a system is initialised, if `R` is a Bevy relationship that allows an entity to point to itself.
pub struct WithAncestor<R: TraversableRelation, F: QueryFilter + 'static>(PhantomData<fn() -> (R, F)>);

/// Query filter: entities with an entity below them in relation `R` that matches the filter `F`: a source, a source of
/// that, and so on.
///
/// See [`WithAncestor`]. To read what is found, see [`Down`](super::Down) and [`Descendants`](super::Descendants).
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::WithDescendant};
///
/// #[derive(Component)]
/// struct Alarm;
///
/// // Every room, floor and house in which an alarm was set off since the system last ran.
/// fn evacuate(places: Query<Entity, WithDescendant<ChildOf, Added<Alarm>>>) -> Vec<Entity> {
///     places.iter().collect()
/// }
/// # let mut world = World::new();
/// # let house = world.spawn_empty().id();
/// # let floor = world.spawn(ChildOf(house)).id();
/// # world.spawn((Alarm, ChildOf(floor)));
/// # assert_eq!(world.run_system_cached(evacuate).unwrap().len(), 2);
/// # assert_eq!(world.run_system_cached(evacuate).unwrap(), []);
/// ```
///
/// # Complexity
/// O(entities that are met), up to the first that matches. Each entity is entered a constant number of times per
/// iteration, however many lie above it; `get` and each task of a parallel iteration start anew.
///
/// # Panics
/// As for [`WithAncestor`].
pub struct WithDescendant<R: TraversableRelation, F: QueryFilter + 'static>(PhantomData<fn() -> (R, F)>);

/// Query filter: entities above which a component `C` was written or added since the system last ran.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::ChangedAbove};
///
/// #[derive(Component)]
/// struct Scale(f32);
///
/// fn refresh(stale: Query<Entity, ChangedAbove<ChildOf, Scale>>) -> usize {
///     stale.iter().count()
/// }
/// # let mut world = World::new();
/// # let root = world.spawn(Scale(1.0)).id();
/// # world.spawn(ChildOf(root));
/// # let mut counts = || world.run_system_cached(refresh).unwrap();
/// # assert_eq!([counts(), counts()], [1, 0]);
/// # world.get_mut::<Scale>(root).unwrap().0 = 2.0;
/// # assert_eq!(world.run_system_cached(refresh).unwrap(), 1);
/// ```
///
/// # Complexity
/// As for [`WithAncestor`].
pub type ChangedAbove<R, C> = WithAncestor<R, Changed<C>>;

type AncestorClimb<R, F> = Climb<R, (), 1, { u32::MAX }, false, F>;
type DescendantReads<R, F> = (ReadPairs<R, false>, ReadEntities<(), F, false>, Scratch<BelowNotes<'static>>);

/// What was found below entities.
#[derive(Default)]
pub struct BelowNotes<'w> {
    notes: HolderNotes,
    search: Search<SourceIter<'w>>,
    /// A search was made already.
    again: bool,
}

impl ScratchState for BelowNotes<'static> {
    type Of<'w> = BelowNotes<'w>;
}

impl<'w> BelowNotes<'w> {
    /// Whether there is an entity below `entity` that matches. The relation must have no cycles.
    pub(super) fn any_below(
        &mut self,
        index: &'w RelationIndex,
        entity: Entity,
        mut matches: impl FnMut(Entity) -> bool,
    ) -> bool {
        let Self { notes, search, again } = self;
        let mut visit = |below, _| matches(below).then_some(HOLDER);
        // Notes cost more than they save if there is no other search.
        let alone = !core::mem::replace(again, true) && index.is_exclusive();
        let mut from = |source| {
            let start = (source, 1);
            let sources = |entity| index.sources(entity);
            match alone {
                true => search.run(start, u32::MAX, sources, &mut OnlyWay, &mut visit),
                false => match notes.known(source, 1) {
                    Known::Unknown => search.run(start, u32::MAX, sources, notes, &mut visit),
                    Known::Nothing => None,
                    Known::Found(found) => Some(found),
                },
            }
        };
        index.sources(entity).any(|source| from(source).is_some())
    }
}

/// # Safety
/// As for [`QueryFilter::filter_fetch`].
#[inline(always)]
unsafe fn any_above<R: TraversableRelation, F: QueryFilter>(
    state: &ClimbState<(), F>,
    fetch: &mut ClimbFetch<'_, R, (), F>,
    entity: Entity,
) -> bool {
    // SAFETY: as the caller promises.
    unsafe { AncestorClimb::<R, F>::fetch_above(state, fetch, entity) }.is_some()
}

/// # Safety
/// As for [`QueryFilter::filter_fetch`].
unsafe fn any_below<R: TraversableRelation, F: QueryFilter + 'static>(
    (_, state, ()): &<DescendantReads<R, F> as WorldQuery>::State,
    (pairs, below, scratch): &mut <DescendantReads<R, F> as WorldQuery>::Fetch<'_>,
    entity: Entity,
) -> bool {
    // Searches end because there are no cycles.
    let Some(index) = pairs.index.filter(|index| index.is_acyclic()) else { return false };
    // SAFETY: the state belongs to the fetch, which has the rights that the caller has.
    scratch.0.any_below(index, entity, |entity| unsafe { below.matches(state, entity) })
}

query_filter!(
    [R: TraversableRelation, F: QueryFilter + 'static] WithAncestor<R, F>,
    reads AncestorClimb<R, F>, prepare |world| require_traversable::<R>(world, type_name::<Self>()),
    fetch any_above::<R, F>
);

query_filter!(
    [R: TraversableRelation, F: QueryFilter + 'static] WithDescendant<R, F>,
    reads DescendantReads<R, F>, prepare |world| require_traversable::<R>(world, type_name::<Self>()),
    fetch any_below::<R, F>
);
