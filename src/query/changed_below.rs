//! The filter for changes below an entity: [`ChangedBelow`].
//!
//! Looked for from the top, each root would walk over all that lies below it. Within a system it is the other way
//! round: the entities above every changed one are marked when the filter is first used, up to the first that is
//! marked already. The marks are kept in the state, as a fetch is made for each `get` and each task, for as long as the
//! query is borrowed: before it is borrowed anew, Bevy updates its archetypes, which drops them.
//!
//! A `QueryState` that is used by hand can be used again, without an update, after anything has happened to the world.
//! Then the change tick of the world has not moved on from that of the query, as it has in every system, and nothing is
//! kept.

use super::{
    cached::lock,
    entities::{EntitiesState, ReadEntities},
    macros::{any_entity, query_filter, require_traversable},
    reach::BelowNotes,
    read::ReadPairs,
    scratch::Scratch,
};
use crate::{
    relation::TraversableRelation,
    store::{BitSet, RelationIndex, Upward},
};
use alloc::vec::Vec;
use bevy_ecs::{
    change_detection::Tick,
    component::Component,
    entity::Entity,
    query::{Changed, FilteredAccessSet, WorldQuery},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use bevy_platform::sync::{Arc, Mutex};
use core::{any::type_name, marker::PhantomData};

/// Query filter: entities below which, in relation `R`, a component `C` was written or added since the system last ran.
///
/// The same as [`WithDescendant<R, Changed<C>>`](super::WithDescendant), found from the changed entities upwards.
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::ChangedBelow};
///
/// #[derive(Component)]
/// struct Text(&'static str);
///
/// // Every panel in which a text was changed has to be laid out again.
/// fn lay_out(panels: Query<Entity, ChangedBelow<ChildOf, Text>>) -> Vec<Entity> {
///     panels.iter().collect()
/// }
/// # let mut world = World::new();
/// # let [window, other] = [(); 2].map(|()| world.spawn_empty().id());
/// # let row = world.spawn(ChildOf(window)).id();
/// # let label = world.spawn((Text("a"), ChildOf(row))).id();
/// # assert_eq!(world.run_system_cached(lay_out).unwrap().len(), 2);
/// # assert_eq!(world.run_system_cached(lay_out).unwrap(), []);
/// # world.get_mut::<Text>(label).unwrap().0 = "b";
/// # let found = world.run_system_cached(lay_out).unwrap();
/// # assert!(found.len() == 2 && found.contains(&window) && !found.contains(&other));
/// ```
///
/// # Complexity
/// In a system, once per run: O(entities that have `C` + pairs above those that changed). Then O(1) per
/// entity that is tested, by `get` and in parallel as well. A `QueryState` that is used by hand searches as
/// [`WithDescendant`](super::WithDescendant) does.
///
/// # Panics
/// As for [`WithDescendant`](super::WithDescendant).
pub struct ChangedBelow<R: TraversableRelation, C: Component>(PhantomData<fn() -> (R, C)>);

type ChangedBelowReads<R, C> =
    (ReadPairs<R, false>, ReadEntities<(), Changed<C>, false>, Scratch<BelowNotes<'static>>, Marks);

/// The entities above those that match a filter, while a query is borrowed. Reads nothing.
pub struct Marks(());

/// By entity index, and the ticks of the query for which they are.
#[derive(Default)]
pub struct MarksState(Mutex<(Option<[Tick; 2]>, Arc<BitSet>)>);

#[derive(Clone)]
pub struct MarksFetch<'w> {
    world: UnsafeWorldCell<'w>,
    last_run: Tick,
    this_run: Tick,
    marks: Option<Arc<BitSet>>,
}

impl MarksFetch<'_> {
    /// The marks for this run, made if this is the first to ask. `None` if they cannot be kept.
    ///
    /// # Safety
    /// `changed` must be up to date, and the world must give the right to read what it declares.
    unsafe fn get<C: Component>(
        &mut self,
        kept: &MarksState,
        changed: &EntitiesState<(), Changed<C>>,
        (index, upward): (&RelationIndex, Option<Upward<'_>>),
    ) -> Option<&BitSet> {
        let Self { world, last_run, this_run, marks } = self;
        if marks.is_none() && world.change_tick() != *this_run {
            let (of, kept) = &mut *lock(&kept.0);
            let ticks = [*last_run, *this_run];
            if *of != Some(ticks) {
                // Should a panic come between, everything is marked anew.
                *of = None;
                if Arc::get_mut(kept).is_none() {
                    *kept = Arc::default();
                }
                if let Some(marks) = Arc::get_mut(kept) {
                    marks.clear();
                    let mut waiting = Vec::new();
                    // SAFETY: as the caller promises.
                    unsafe {
                        changed.for_each_changed(*world, *last_run, *this_run, |entity| match upward {
                            Some(upward) => mark_upward(upward, entity, marks),
                            None => mark_above(index, entity, marks, &mut waiting),
                        });
                    }
                }
                *of = Some(ticks);
            }
            *marks = Some(kept.clone());
        }
        marks.as_deref()
    }
}

/// Marks everything above an entity that is alive, in an exclusive relation.
fn mark_upward(upward: Upward<'_>, mut entity: Entity, marks: &mut BitSet) {
    while let Some(target) = upward.target(entity).filter(|target| marks.insert(target.index_u32() as usize))
    {
        entity = target;
    }
}

/// Marks everything above an entity. `waiting` is memory.
fn mark_above(index: &RelationIndex, entity: Entity, marks: &mut BitSet, waiting: &mut Vec<Entity>) {
    waiting.push(entity);
    while let Some(entity) = waiting.pop() {
        let unmarked = index.targets(entity).filter(|target| marks.insert(target.index_u32() as usize));
        waiting.extend(unmarked);
    }
}

// SAFETY: nothing is accessed but the change tick of the world, and every entity matches.
unsafe impl WorldQuery for Marks {
    type Fetch<'w> = MarksFetch<'w>;
    type State = MarksState;

    any_entity!();

    fn shrink_fetch<'long: 'short, 'short>(fetch: Self::Fetch<'long>) -> Self::Fetch<'short> {
        fetch
    }

    #[inline]
    unsafe fn init_fetch<'w>(
        world: UnsafeWorldCell<'w>,
        _: &MarksState,
        last_run: Tick,
        this_run: Tick,
    ) -> MarksFetch<'w> {
        MarksFetch { world, last_run, this_run, marks: None }
    }

    fn init_nested_access(
        _: &MarksState,
        _: Option<&str>,
        _: &mut FilteredAccessSet,
        _: UnsafeWorldCell<'_>,
    ) {
    }

    fn init_state(_: &mut World) -> MarksState {
        MarksState::default()
    }

    /// The query is about to be borrowed: what happened since it was borrowed last is not known.
    fn update_archetypes(state: &mut MarksState, _: UnsafeWorldCell<'_>) {
        lock(&state.0).0 = None;
    }
}

/// # Safety
/// As for [`QueryFilter::filter_fetch`](bevy_ecs::query::QueryFilter::filter_fetch).
#[inline]
unsafe fn changed_below<R: TraversableRelation, C: Component>(
    (_, changed, (), kept): &<ChangedBelowReads<R, C> as WorldQuery>::State,
    (pairs, below, scratch, marks): &mut <ChangedBelowReads<R, C> as WorldQuery>::Fetch<'_>,
    entity: Entity,
) -> bool {
    // Searches end because there are no cycles.
    let Some(index) = pairs.index.filter(|index| index.is_acyclic() && index.is_target(entity)) else {
        return false;
    };
    // SAFETY: the state belongs to the fetch, which has the rights that the caller has.
    match unsafe { marks.get(kept, changed, (index, pairs.upward)) } {
        Some(marks) => marks.contains(entity.index_u32() as usize),
        // SAFETY: as above.
        None => scratch.0.any_below(index, entity, |entity| unsafe { below.matches(changed, entity) }),
    }
}

query_filter!(
    [R: TraversableRelation, C: Component] ChangedBelow<R, C>,
    reads ChangedBelowReads<R, C>, prepare |world| require_traversable::<R>(world, type_name::<Self>()),
    fetch changed_below::<R, C>
);
