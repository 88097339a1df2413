//! Data of the nearest entity down a relation that has it: [`Down`] and [`SelfDown`].

use super::{
    entities::ReadEntities,
    macros::{query_data, require_traversable},
    read::{AllChildren, ReadOrder, ReadPairs},
    scratch::{Scratch, ScratchState},
};
use crate::{
    fetch::SharedData,
    relation::TraversableRelation,
    store::RelationIndex,
    traverse::{Known, Limits, Memo, RelationView, VisitedSet},
};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::Entity,
    query::{ReadOnlyQueryData, ReleaseStateQueryData, WorldQuery},
    storage::TableRow,
};
use core::{any::type_name, marker::PhantomData};

/// Query data: `D` of the nearest entity down relation `R` for which there is `D`.
///
/// The search starts with the sources of the entity, which are 1 step away; see [`SelfDown`] for one that starts with
/// the entity itself. It goes breadth first: what is nearer comes first, and of what is equally near, what lies below
/// the first of the sources, in the order of [`Sources`](super::Sources). Holders that are nearer than `MIN` steps or
/// farther than `MAX` are passed over. An entity for which nothing is found does not match; write `Option<Down<..>>`
/// to get it as well.
///
/// As with every `Query`, `D` of disabled entities is not read; the search goes on below them.
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::Down};
///
/// #[derive(Component)]
/// struct Camera(u32);
///
/// // The camera of each vehicle, wherever on it that is mounted.
/// fn cameras(vehicles: Query<(Entity, Down<ChildOf, &Camera>)>) -> Vec<(Entity, u32)> {
///     vehicles.iter().map(|(vehicle, camera)| (vehicle, camera.0)).collect()
/// }
/// # let mut world = World::new();
/// # let car = world.spawn_empty().id();
/// # let roof = world.spawn(ChildOf(car)).id();
/// # world.spawn((Camera(7), ChildOf(roof)));
/// # assert_eq!(world.run_system_cached(cameras).unwrap(), [(car, 7), (roof, 7)]);
/// ```
///
/// A minimum above the maximum is a compile error:
///
/// ```compile_fail
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{prelude::*, query::Down};
/// fn never(_: Query<Down<ChildOf, &Name, 3, 2>>) {}
/// let mut world = World::new();
/// world.run_system_cached(never).unwrap();
/// ```
///
/// # Complexity
/// `O(pairs)` from the entity down to the level of the one that is found, or of everything below if there is none.
/// Nothing is cached between rows; only allocations are reused.
///
/// # Panics
/// When a system is initialised, if `R` is a Bevy relationship that allows an entity to point to itself.
pub struct Down<R: TraversableRelation, D, const MIN: u32 = 1, const MAX: u32 = { u32::MAX }>(
    PhantomData<fn() -> (R, D)>,
);

/// Query data: as [`Down`], looking at the entity itself first.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::SelfDown};
///
/// // The name of everything, or else of the first part that has one.
/// fn list(things: Query<(Entity, SelfDown<ChildOf, &Name>)>) -> Vec<(Entity, String)> {
///     things.iter().map(|(thing, name)| (thing, name.to_string())).collect()
/// }
/// # let mut world = World::new();
/// # let cart = world.spawn_empty().id();
/// # let wheel = world.spawn((Name::new("wheel"), ChildOf(cart))).id();
/// # let names = world.run_system_cached(list).unwrap();
/// # assert!([cart, wheel].iter().all(|&thing| names.contains(&(thing, "wheel".into()))));
/// ```
pub type SelfDown<R, D, const MAX: u32 = { u32::MAX }> = Down<R, D, 0, MAX>;

type DownReads<R, D> =
    (ReadPairs<R, false>, ReadEntities<D, (), false>, ReadOrder<R, AllChildren>, Scratch<DownSearch>);

/// The memory of searches.
#[derive(Default)]
pub struct DownSearch {
    /// What was met and not yet entered, with its distance.
    queue: Vec<(Entity, u32)>,
    met: Option<VisitedSet>,
}

impl ScratchState for DownSearch {
    type Of<'w> = Self;
}

impl DownSearch {
    /// What `holds` returns first, of the entities below `start` that are from `MIN` to `MAX` steps away, breadth
    /// first.
    fn nearest<T, const MIN: u32, const MAX: u32>(
        &mut self,
        index: &RelationIndex,
        view: RelationView<'_, '_>,
        start: Entity,
        mut holds: impl FnMut(Entity) -> Option<T>,
    ) -> Option<T> {
        let Self { queue, met } = self;
        // Going breadth first, the maximum makes no difference to what was met: nothing is met at a smaller distance later.
        let met = met.get_or_insert_with(|| VisitedSet::new(index, Limits { min: MIN, max: u32::MAX }));
        met.clear();
        queue.clear();
        let (mut at, mut distance, mut entered) = (start, 0, 0);
        loop {
            if distance < MAX {
                for source in view.sources(at) {
                    let known: Known<()> = met.known(source, distance + 1);
                    if !matches!(known, Known::Unknown) {
                        continue;
                    }
                    if distance + 1 >= MIN
                        && let Some(found) = holds(source)
                    {
                        return Some(found);
                    }
                    if index.is_target(source) {
                        queue.push((source, distance + 1));
                    }
                }
            }
            (at, distance) = *queue.get(entered)?;
            entered += 1;
        }
    }
}

/// # Safety
/// As for [`QueryData::fetch`](bevy_ecs::query::QueryData::fetch).
#[inline(always)]
unsafe fn down<'w, 's, R, D, const MIN: u32, const MAX: u32>(
    (_, state, order, ()): &'s <DownReads<R, D> as WorldQuery>::State,
    (pairs, below, children, scratch): &mut <DownReads<R, D> as WorldQuery>::Fetch<'w>,
    entity: Entity,
    row: TableRow,
) -> Option<D::Item<'w, 's>>
where
    R: TraversableRelation,
    D: ReadOnlyQueryData,
{
    // SAFETY: the state belongs to the fetch, which has the rights that the caller has.
    let mut holds = |entity| unsafe {
        // First without going there: most entities on the way may be in tables that do not match.
        if below.matches(state, entity) { below.get(state, entity) } else { None }
    };
    if MIN == 0
        && let Some(own) = holds(entity)
    {
        return Some(own);
    }
    let index = pairs.index.filter(|index| index.is_target(entity))?;
    // SAFETY: as the caller promises.
    let view = unsafe { ReadOrder::<R, AllChildren>::view(Some(index), order, children, entity, row) };
    scratch.0.nearest::<_, MIN, MAX>(index, view, entity, holds)
}

query_data!(
    [R: TraversableRelation, D: SharedData, const MIN: u32, const MAX: u32] Down<R, D, MIN, MAX>,
    reads DownReads<R, D>,
    prepare |world| {
        const { assert!(MIN <= MAX, "`Down` with a minimum above its maximum matches nothing") };
        require_traversable::<R>(world, type_name::<Self>());
    },
    item<'w, 's> D::Item<'w, 's>, fetch down::<R, D, MIN, MAX>, shrink D::shrink, archetypal false
);

impl<R, D, const MIN: u32, const MAX: u32> ReleaseStateQueryData for Down<R, D, MIN, MAX>
where
    R: TraversableRelation,
    D: ReadOnlyQueryData + ReleaseStateQueryData,
{
    fn release_state<'w>(item: Self::Item<'w, '_>) -> Self::Item<'w, 'static> {
        D::release_state(item)
    }
}
