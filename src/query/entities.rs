//! What terms read of other entities than the one at hand: data of those that match a filter.

use super::macros::any_entity;
use crate::{
    fetch::{CursorFetch, CursorState},
    store::{ExclusiveReader, RelationIndex},
};
use alloc::vec::Vec;
use bevy_ecs::{
    change_detection::Tick,
    component::Component,
    entity::Entity,
    query::{Changed, FilteredAccessSet, QueryFilter, ReadOnlyQueryData, WorldQuery},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::{any::TypeId, fmt, iter::FusedIterator, marker::PhantomData, num::NonZeroUsize};

/// Reads `D` of entities that match `F`, as a `Query<D, F>` sees them. With `OPTIONAL`, entities are not
/// tested if `F` is `()`, and nothing is kept for it.
pub struct ReadEntities<D, F, const OPTIONAL: bool>(PhantomData<fn() -> (D, F)>);

pub struct EntitiesState<D: ReadOnlyQueryData, F: QueryFilter>(CursorState<D, F>);

pub struct EntitiesFetch<'w, D: ReadOnlyQueryData, F: QueryFilter> {
    world: UnsafeWorldCell<'w>,
    /// `None` if entities are not tested.
    cursor: Option<CursorFetch<'w, D, F>>,
    noted: NotedMatches<'w>,
}

/// Test results for all pairs of a relation, once enough of their ends were tested: which targets match, if sources have one each,
/// or which sources have a target that matches. Neither pairs nor what a filter looks at change while there is a fetch.
#[derive(Default)]
struct NotedMatches<'w> {
    /// A bit per index of an entity. Nothing until then; then there are words for all entities.
    words: Vec<u64>,
    /// Reads the target of a source, if the bits are of targets.
    targets: Option<ExclusiveReader<'w>>,
    asked: usize,
    /// How often to look up one by one. Not known before the first look-up.
    limit: Option<NonZeroUsize>,
}

impl<C: Component> EntitiesState<(), Changed<C>> {
    /// Calls a function with each entity that matches.
    ///
    /// # Safety
    /// `world` must be that of the state, which must be up to date, and must give the right to what it declares.
    pub(super) unsafe fn for_each_changed(
        &self,
        world: UnsafeWorldCell<'_>,
        last_run: Tick,
        this_run: Tick,
        visit: impl FnMut(Entity),
    ) {
        // SAFETY: as the caller promises.
        unsafe { self.0.for_each_changed(world, last_run, this_run, visit) };
    }
}

impl<D: ReadOnlyQueryData, F: QueryFilter> Clone for EntitiesFetch<'_, D, F> {
    fn clone(&self) -> Self {
        Self { world: self.world, cursor: self.cursor.clone(), noted: NotedMatches::default() }
    }
}

impl<'w, D: ReadOnlyQueryData, F: QueryFilter> EntitiesFetch<'w, D, F> {
    /// As Bevy's `shrink_fetch`.
    pub(super) fn shrink<'short>(self) -> EntitiesFetch<'short, D, F>
    where
        'w: 'short,
    {
        let Self { world, cursor, noted } = self;
        EntitiesFetch { world, cursor: cursor.map(CursorFetch::shrink), noted }
    }

    /// The data of an entity. `None` if it is dead or does not match.
    ///
    /// # Safety
    /// `state` must be the one that this was made with, and the world must still give the right to what it declares.
    #[inline]
    pub(super) unsafe fn get<'s>(
        &mut self,
        state: &'s EntitiesState<D, F>,
        entity: Entity,
    ) -> Option<D::Item<'w, 's>> {
        // SAFETY: as the caller promises. Items that only read do not conflict.
        unsafe { self.cursor.as_mut()?.get(&state.0, entity) }
    }

    /// Whether there is data of an entity.
    ///
    /// # Safety
    /// As for [`get`](Self::get).
    #[inline]
    pub(super) unsafe fn matches(&mut self, state: &EntitiesState<D, F>, entity: Entity) -> bool {
        if D::IS_ARCHETYPAL && F::IS_ARCHETYPAL {
            return state.0.matches_entity(self.world.entities(), entity);
        }
        // SAFETY: as the caller promises. Items that only read do not conflict.
        self.cursor.as_mut().is_some_and(|cursor| unsafe { cursor.get(&state.0, entity) }.is_some())
    }

    /// Whether a source has a target that matches, if that is [noted](Self::note_matches).
    #[inline(always)]
    pub(super) fn noted(&mut self, source: Entity) -> Option<bool> {
        let NotedMatches { words, targets, .. } = &mut self.noted;
        let end = match targets {
            Some(targets) => match targets.target(source) {
                Some(target) => target,
                None => return Some(false),
            },
            None => source,
        };
        let at = end.index_u32() as usize;
        Some(words.get(at / WORD)? >> (at % WORD) & 1 == 1)
    }

    /// Counts the sources that were tested, and tests all of them when that takes about twice as long as the tests so far.
    /// Of an exclusive relation it is noted which targets match, of another which sources have a target that
    /// does. `index` must be the same at each call; `compares` says whether it may have sources that are dead.
    ///
    /// # Safety
    /// As for [`get`](Self::get).
    #[inline]
    pub(super) unsafe fn note_matches(
        &mut self,
        state: &EntitiesState<D, F>,
        index: &'w RelationIndex,
        compares: impl FnOnce() -> bool,
    ) {
        self.noted.asked += 1;
        match self.noted.limit {
            None => {
                let words = self.world.entities().len() as usize / WORD;
                let looked_up = match index.is_exclusive() {
                    true => index.list_count() / 2,
                    false => index.len() / NOTED_PER_LOOKUP,
                };
                self.noted.limit = NonZeroUsize::new(MIN_ASKED + looked_up + words / CLEARED_PER_LOOKUP);
            }
            Some(limit) if self.noted.asked < limit.get() => {}
            // SAFETY: as the caller promises.
            Some(_) => unsafe { self.note_all(state, index, compares()) },
        }
    }

    /// Notes which targets match, or sources.
    ///
    /// # Safety
    /// As for [`note_matches`](Self::note_matches).
    #[cold]
    #[inline(never)]
    unsafe fn note_all(&mut self, state: &EntitiesState<D, F>, index: &'w RelationIndex, compares: bool) {
        let entities = self.world.entities();
        let mut words = alloc::vec![0_u64; entities.len() as usize / WORD + 1];
        let mut note = |entity: Entity| {
            let at = entity.index_u32() as usize;
            if let Some(word) = words.get_mut(at / WORD) {
                *word |= 1 << (at % WORD);
            }
        };
        for (target, list) in index.targets_with_sources() {
            // SAFETY: as the caller promises.
            if !unsafe { self.matches(state, target) } {
                continue;
            }
            match index.is_exclusive() {
                true => note(target),
                false => {
                    let sources = index.sources_in(list);
                    let alive = |source: &Entity| !compares || entities.contains_spawned(*source);
                    sources.filter(alive).for_each(&mut note);
                }
            }
        }
        self.noted.words = words;
        self.noted.targets = index.exclusive_reader(compares);
    }
}

/// Entities to a word.
const WORD: usize = u64::BITS as usize;

/// At least this many are looked up one by one: a query may be used for one entity.
const MIN_ASKED: usize = 16;

/// Of so many sources one is looked up before all are noted, which takes about as long as to look up a seventh of them.
const NOTED_PER_LOOKUP: usize = 16;

/// How many words are cleared in the time in which one source is looked up.
const CLEARED_PER_LOOKUP: usize = 16;

/// Whether a filter lets everything pass.
#[inline]
pub(super) fn is_unit<F: 'static>() -> bool {
    TypeId::of::<F>() == TypeId::of::<()>()
}

// SAFETY: no component of the entity at hand is accessed as such. The cursor declares what it reads in
// `init_nested_access`, unless it is never asked, and is made with the rights that the caller has by that. Test:
// `terms_refuse_what_writes_beside_them`.
unsafe impl<D, F, const OPTIONAL: bool> WorldQuery for ReadEntities<D, F, OPTIONAL>
where
    D: ReadOnlyQueryData,
    F: QueryFilter + 'static,
{
    type Fetch<'w> = EntitiesFetch<'w, D, F>;
    type State = EntitiesState<D, F>;

    any_entity!();

    fn shrink_fetch<'long: 'short, 'short>(fetch: Self::Fetch<'long>) -> Self::Fetch<'short> {
        fetch.shrink()
    }

    #[inline]
    unsafe fn init_fetch<'w>(
        world: UnsafeWorldCell<'w>,
        state: &Self::State,
        last_run: Tick,
        this_run: Tick,
    ) -> EntitiesFetch<'w, D, F> {
        if OPTIONAL && is_unit::<F>() {
            return EntitiesFetch { world, cursor: None, noted: NotedMatches::default() };
        }
        // SAFETY: what is read was declared, and the caller has the right to it.
        let cursor = unsafe { CursorFetch::new(&state.0, world, last_run, this_run) };
        EntitiesFetch { world, cursor: Some(cursor), noted: NotedMatches::default() }
    }

    fn init_nested_access(
        state: &Self::State,
        system: Option<&str>,
        declared: &mut FilteredAccessSet,
        world: UnsafeWorldCell<'_>,
    ) {
        if !(OPTIONAL && is_unit::<F>()) {
            state.0.init_access(system, declared, world);
        }
    }

    fn init_state(world: &mut World) -> Self::State {
        // SAFETY: what only reads cannot conflict with itself; `init_nested_access` looks for conflicts with others
        // before anything is fetched.
        EntitiesState(unsafe { CursorState::new(world) })
    }

    #[inline]
    fn update_archetypes(state: &mut Self::State, world: UnsafeWorldCell<'_>) {
        if !(OPTIONAL && is_unit::<F>()) {
            state.0.update(world);
        }
    }
}

/// What terms with data of several entities return, such as [`TargetsWith`](super::TargetsWith): an iterator over the data of those that match. There is at least
/// one.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::query::TargetsWith;
/// #[derive(Relation)]
/// struct Carries;
/// #[derive(Component)]
/// struct Weight(u32);
///
/// fn loads(mules: Query<TargetsWith<Carries, &Weight>>) -> Vec<u32> {
///     mules.iter().map(|weights| weights.map(|weight| weight.0).sum()).collect()
/// }
/// # let mut world = World::new();
/// # let [rope, tent] = [2, 9].map(|weight| world.spawn(Weight(weight)).id());
/// # world.spawn(pairs![(Carries, rope), (Carries, tent)]);
/// assert_eq!(world.run_system_cached(loads).unwrap(), [11]);
/// ```
///
/// # Complexity
/// `O(1)` per entity that is tested, also per one that does not match.
pub struct DataIter<'w, 's, I, D: ReadOnlyQueryData, F: QueryFilter> {
    /// Was looked at to know that there is one.
    first: Option<D::Item<'w, 's>>,
    rest: I,
    state: &'s EntitiesState<D, F>,
    fetch: EntitiesFetch<'w, D, F>,
}

impl<'w, 's, I: Iterator<Item = Entity>, D: ReadOnlyQueryData, F: QueryFilter> DataIter<'w, 's, I, D, F> {
    /// The data of `entities`. `None` if there is none.
    ///
    /// # Safety
    /// As for [`EntitiesFetch::get`], for as long as this lives.
    #[inline]
    pub(super) unsafe fn new(
        entities: I,
        state: &'s EntitiesState<D, F>,
        fetch: &mut EntitiesFetch<'w, D, F>,
    ) -> Option<Self> {
        let mut rest = entities;
        // SAFETY: as the caller promises.
        let first = rest.find_map(|entity| unsafe { fetch.get(state, entity) })?;
        Some(Self { first: Some(first), rest, state, fetch: fetch.clone() })
    }

    /// As Bevy's `shrink`.
    pub(super) fn shrink<'short>(self) -> DataIter<'short, 's, I, D, F>
    where
        'w: 'short,
    {
        let Self { first, rest, state, fetch } = self;
        DataIter { first: first.map(D::shrink), rest, state, fetch: fetch.shrink() }
    }
}

impl<'w, 's, I, D, F> Clone for DataIter<'w, 's, I, D, F>
where
    I: Clone,
    D: ReadOnlyQueryData,
    D::Item<'w, 's>: Clone,
    F: QueryFilter,
{
    fn clone(&self) -> Self {
        let Self { first, rest, state, fetch } = self;
        Self { first: first.clone(), rest: rest.clone(), state, fetch: fetch.clone() }
    }
}

impl<'w, 's, I, D, F> Iterator for DataIter<'w, 's, I, D, F>
where
    I: Iterator<Item = Entity>,
    D: ReadOnlyQueryData,
    F: QueryFilter,
{
    type Item = D::Item<'w, 's>;

    #[inline]
    fn next(&mut self) -> Option<D::Item<'w, 's>> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let Self { rest, state, fetch, .. } = self;
        // SAFETY: the state is the one the fetch was made with, and the right to read lasts as `new` was promised.
        rest.find_map(|entity| unsafe { fetch.get(state, entity) })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let first = usize::from(self.first.is_some());
        (first, self.rest.size_hint().1.and_then(|rest| rest.checked_add(first)))
    }
}

impl<I, D, F> FusedIterator for DataIter<'_, '_, I, D, F>
where
    I: FusedIterator<Item = Entity>,
    D: ReadOnlyQueryData,
    F: QueryFilter,
{
}

impl<I, D: ReadOnlyQueryData, F: QueryFilter> fmt::Debug for DataIter<'_, '_, I, D, F>
where
    I: Clone + Iterator<Item = Entity> + fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataIter").field("rest", &self.rest).finish_non_exhaustive()
    }
}
