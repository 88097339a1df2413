//! Searching up a relation for the nearest entity of which something can be read: what [`Up`](super::Up) reads.

use super::{
    cached::{CacheUpdater, CachedIndex},
    macros::any_entity,
    read::{ReadPairs, ReadPairsFetch, ReadPairsState},
};
use crate::{
    fetch::{CursorFetch, CursorState, RowHint},
    relation::{OnInstantiate, TraversableRelation},
    store::{Pages, RelationIndex, TargetIter, Upward},
    traverse::{self, Known, Limits, Search, VisitedSet},
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::{
    archetype::Archetype,
    change_detection::Tick,
    entity::Entity,
    query::{FilteredAccessSet, QueryFilter, ReadOnlyQueryData, WorldQuery},
    storage::{Table, TableRow},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use bevy_platform::sync::Arc;
use core::{any::TypeId, marker::PhantomData};

/// Reads `D` of the entities up `R` that match `F`, from `MIN` to `MAX` steps away; with `CACHED` it keeps what it has
/// found for the next time.
pub struct Climb<R, D, const MIN: u32, const MAX: u32, const CACHED: bool, F = ()>(
    PhantomData<fn() -> (R, D, F)>,
);

pub struct ClimbState<D: ReadOnlyQueryData, F: QueryFilter = ()> {
    pairs: ReadPairsState,
    cursor: CursorState<D, F>,
    kept: Option<CacheUpdater>,
}

pub struct ClimbFetch<'w, R: TraversableRelation, D: ReadOnlyQueryData, F: QueryFilter = ()> {
    pairs: ReadPairsFetch<'w, R>,
    /// For the entities at hand, which are in other tables than those above them.
    own: CursorFetch<'w, D, F>,
    above: CursorFetch<'w, D, F>,
    memo: ClimbMemo<'w>,
    kept: Option<Arc<CachedIndex>>,
    /// Whether `own` can be read of the entities of the table at hand, if that is decided by the table.
    table_has_own: Option<bool>,
    /// The entities of a table may have the same targets: with `storage = "Fragmenting"`.
    fragmenting: bool,
    table_above: TableAbove<'w>,
}

/// What is above the entities of the table at hand.
#[derive(Clone, Copy)]
enum TableAbove<'w> {
    /// For each something else, as far as it is known.
    Each,
    /// It is searched for the first entity.
    NotSearched(&'w Table),
    /// For all the same.
    All(Option<(Entity, RowHint)>),
}

impl<R: TraversableRelation, D: ReadOnlyQueryData, F: QueryFilter> ClimbFetch<'_, R, D, F> {
    /// What instances get of a component or of the pairs of a relation type.
    #[inline]
    pub(super) fn instantiate_rule(&self, shared: TypeId) -> OnInstantiate {
        self.pairs
            .store
            .map_or_else(OnInstantiate::default, |store| store.registry().instantiate_rule(shared))
    }
}

impl<R: TraversableRelation, D: ReadOnlyQueryData, F: QueryFilter> Clone for ClimbFetch<'_, R, D, F> {
    fn clone(&self) -> Self {
        let (own, above) = (self.own.clone(), self.above.clone());
        Self { own, above, memo: ClimbMemo::default(), kept: self.kept.clone(), ..*self }
    }
}

/// What searches have found, for those that come by the same entities. Good for as long as nothing changes.
#[derive(Default)]
pub(super) struct ClimbMemo<'w> {
    notes: HolderNotes,
    pub(super) holders: Vec<(Entity, RowHint)>,
    /// How many searches have done without notes.
    alone: u32,
    /// How many searches in a row have seen no others' way.
    apart: u32,
    /// Apart, so that a query that searches once or twice has little to make and to drop: `Query::get` makes all of this anew.
    memory: Option<Box<SearchMemory<'w>>>,
}

/// What searches need that are not straight.
#[derive(Default)]
struct SearchMemory<'w> {
    search: Search<TargetIter<'w>>,
    /// For searches with limits.
    met: Option<VisitedSet>,
    /// The entities that a search came by and others may come by too.
    shared: Vec<u32>,
}

/// By entity index, what is found from there, the entity itself first: [`UNKNOWN`], [`NOTHING`], or the number of a
/// holder plus [`HOLDER`].
#[derive(Default)]
pub(super) struct HolderNotes(Pages<u32>);

const UNKNOWN: u32 = 0;
const NOTHING: u32 = 1;
pub(super) const HOLDER: u32 = 2;

/// So many entities with one source each may be entered again by each of the searches that come by.
const MAX_PLAIN: u32 = 16;

/// After so many searches that saw no others' way, one in [`PROBE_INTERVAL`] looks for them.
const MAX_APART: u32 = 64;
const PROBE_INTERVAL: u32 = 8;

/// This many searches of a query do without notes, which cost more than they save if there are no others.
const ALONE: u32 = 4;

/// The relation has no cycles: from an entity on the same is found whichever way leads to it.
impl traverse::Memo<u32> for HolderNotes {
    const NOTES: bool = true;

    #[inline]
    fn known(&mut self, entity: Entity, _: u32) -> Known<u32> {
        match self.0.get(entity.index_u32()) {
            UNKNOWN => Known::Unknown,
            NOTHING => Known::Nothing,
            found => Known::Found(found),
        }
    }

    #[inline]
    fn note(&mut self, entity: Entity, found: Option<u32>) {
        *self.0.get_mut(entity.index_u32()) = found.unwrap_or(NOTHING);
    }
}

impl<'w> ClimbMemo<'w> {
    /// The nearest holder from the only target of an entity up, if it is noted: a search came by.
    #[inline]
    fn noted(&self, target: Entity) -> Option<&(Entity, RowHint)> {
        Some(&self.holders[holder(self.notes.0.get(target.index_u32()))?])
    }

    /// The nearest holder above `entity`. `holds` says where an entity is if it is a holder.
    fn nearest(
        &mut self,
        index: &'w RelationIndex,
        entity: Entity,
        holds: &mut impl FnMut(Entity) -> Option<RowHint>,
    ) -> Option<(Entity, RowHint)> {
        if self.alone < ALONE {
            self.alone += 1;
            if let Ok(found) = Self::straight(index, entity, holds) {
                return found;
            }
        }
        let number = self.above(index, entity, holds)?;
        Some(self.holders[number])
    }

    /// The nearest holder up an exclusive relation. A note costs as much as some steps: there is one where ways meet,
    /// and beyond [`MAX_PLAIN`] steps without one, so that no entity is entered by more than so many searches.
    fn only_way(
        &mut self,
        upward: Upward<'_>,
        entity: Entity,
        holds: &mut impl FnMut(Entity) -> Option<RowHint>,
    ) -> Option<(Entity, RowHint)> {
        let with_notes = self.alone >= ALONE;
        self.alone += u32::from(!with_notes);
        let looks = self.apart < MAX_APART || self.apart.is_multiple_of(PROBE_INTERVAL);
        self.apart += 1;
        let (mut at, mut plain) = (entity, 0);
        // The number of what was found, where it has one.
        let mut number = None;
        let found = loop {
            let Some(target) = upward.target(at) else { break None };
            plain += 1;
            let meets = looks && upward.has_siblings(at);
            if meets {
                self.apart = 0;
            }
            if with_notes && (meets || plain > MAX_PLAIN) {
                match self.notes.0.get(target.index_u32()) {
                    UNKNOWN => self.memory.get_or_insert_default().shared.push(target.index_u32()),
                    known => {
                        number = holder(known);
                        break number.map(|number| self.holders[number]);
                    }
                }
            }
            if let Some(place) = holds(target) {
                break Some((target, place));
            }
            at = target;
        };
        if let Some(memory) = &mut self.memory
            && !memory.shared.is_empty()
        {
            let number = number.or_else(|| {
                self.holders.push(found?);
                Some(self.holders.len() - 1)
            });
            let note = number.map_or(NOTHING, |number| HOLDER + number as u32);
            for index in memory.shared.drain(..) {
                *self.notes.0.get_mut(index) = note;
            }
        }
        found
    }

    /// The number of that holder.
    #[inline]
    pub(super) fn above(
        &mut self,
        index: &'w RelationIndex,
        entity: Entity,
        holds: &mut impl FnMut(Entity) -> Option<RowHint>,
    ) -> Option<usize> {
        index.targets(entity).find_map(|target| match self.notes.0.get(target.index_u32()) {
            UNKNOWN => self.search(index, target, holds),
            found => holder(found),
        })
    }

    /// The number of the nearest holder from `start` up, of which nothing is known. Each entity is entered once.
    fn search(
        &mut self,
        index: &'w RelationIndex,
        start: Entity,
        holds: &mut impl FnMut(Entity) -> Option<RowHint>,
    ) -> Option<usize> {
        let Self { notes, holders, memory, .. } = self;
        let search = &mut memory.get_or_insert_default().search;
        let visit = |entity, _| {
            holders.push((entity, holds(entity)?));
            Some(HOLDER + holders.len() as u32 - 1)
        };
        let found = search.run((start, 1), u32::MAX, |entity| index.targets(entity), notes, visit);
        found.and_then(holder)
    }

    /// The nearest holder above `entity`, without notes. An error if there is more than one way up to it.
    fn straight(
        index: &RelationIndex,
        entity: Entity,
        holds: &mut impl FnMut(Entity) -> Option<RowHint>,
    ) -> Result<Option<(Entity, RowHint)>, Branches> {
        let mut at = entity;
        while let Some(target) = index.only_target(at) {
            if let Some(place) = holds(target) {
                return Ok(Some((target, place)));
            }
            at = target;
        }
        if index.has_any(at) { Err(Branches) } else { Ok(None) }
    }

    /// The nearest holder within limits above `entity`, depth first.
    fn within(
        &mut self,
        index: &'w RelationIndex,
        entity: Entity,
        limits: Limits,
        holds: &mut impl FnMut(Entity) -> Option<RowHint>,
    ) -> Option<(Entity, RowHint)> {
        let visit = |at, distance| {
            if distance < limits.min { None } else { holds(at).map(|place| (at, place)) }
        };
        let SearchMemory { search, met, .. } = &mut **self.memory.get_or_insert_default();
        let met = met.get_or_insert_with(|| VisitedSet::new(index, limits));
        met.clear();
        search.run((entity, 0), limits.max, |at| index.targets(at), met, visit)
    }
}

/// An entity on the way up has several targets.
#[derive(Clone, Copy)]
struct Branches;

/// The number of a holder, of what is noted.
#[inline]
fn holder(found: u32) -> Option<usize> {
    found.checked_sub(HOLDER).map(|number| number as usize)
}

impl<R, D, const MIN: u32, const MAX: u32, const CACHED: bool, F> Climb<R, D, MIN, MAX, CACHED, F>
where
    R: TraversableRelation,
    D: ReadOnlyQueryData,
    F: QueryFilter,
{
    const LIMITED: bool = MIN > 1 || MAX < u32::MAX;

    /// Of what is looked for above the entity itself.
    const ABOVE: Limits = Limits { min: if MIN > 0 { MIN } else { 1 }, max: MAX };

    const CHECK: () = {
        assert!(MIN <= MAX, "`Up` with a minimum above its maximum matches nothing");
        assert!(!(CACHED && Self::LIMITED), "`Cached` does not know limits: remove them from `Up`");
        assert!(!CACHED || D::IS_ARCHETYPAL, "`Cached` needs data that depends on components only");
    };

    /// # Safety
    /// As for [`QueryData::fetch`](bevy_ecs::query::QueryData::fetch).
    #[inline(always)]
    pub(super) unsafe fn fetch<'w, 's>(
        state: &'s ClimbState<D, F>,
        fetch: &mut ClimbFetch<'w, R, D, F>,
        entity: Entity,
        row: TableRow,
    ) -> Option<D::Item<'w, 's>> {
        // SAFETY: as the caller promises.
        unsafe {
            let own = if MIN == 0 { Self::fetch_own(state, fetch, entity, row) } else { None };
            if own.is_some() { own } else { Self::fetch_above(state, fetch, entity) }
        }
    }

    /// What is found above the entity, whatever it has itself.
    ///
    /// # Safety
    /// As for [`fetch`](Self::fetch).
    #[inline(always)]
    pub(super) unsafe fn fetch_above<'w, 's>(
        state: &'s ClimbState<D, F>,
        fetch: &mut ClimbFetch<'w, R, D, F>,
        entity: Entity,
    ) -> Option<D::Item<'w, 's>> {
        let cursor = &state.cursor;
        match &fetch.table_above {
            TableAbove::Each => {}
            // SAFETY: as the caller promises. It was found there by this fetch, while which lives the world is borrowed.
            TableAbove::All(found) => unsafe {
                let &(holder, place) = found.as_ref()?;
                return fetch.above.get_found(cursor, holder, place);
            },
            // SAFETY: as the caller promises.
            &TableAbove::NotSearched(table) => unsafe {
                fetch.table_above = Self::above_table(state, fetch, entity, table);
                return Self::fetch_above(state, fetch, entity);
            },
        }
        let known = match &fetch.kept {
            Some(kept) => Some(kept.above(entity)?),
            None if Self::LIMITED => None,
            None => {
                let target = match fetch.pairs.upward {
                    Some(upward) => Some(upward.target(entity)?),
                    None => fetch.pairs.index?.only_target(entity),
                };
                target.and_then(|target| fetch.memo.noted(target))
            }
        };
        // By reference: put together from two ways to get it, a pair of 16 bytes goes through memory, and stalls.
        if let Some((holder, place)) = known {
            let mut now = *place;
            // SAFETY: as above.
            if let Some(item) = unsafe { fetch.above.get_at(cursor, *holder, &mut now) } {
                if let Some(kept) = &fetch.kept {
                    kept.note_place(*place, now);
                }
                return Some(item);
            }
            // It is kept, and being changed just now.
        }
        // SAFETY: as the caller promises.
        unsafe { Self::search(state, fetch, entity) }
    }

    /// What the entity itself has, whatever lies above it.
    ///
    /// # Safety
    /// As for [`fetch`](Self::fetch).
    #[inline(always)]
    pub(super) unsafe fn fetch_own<'w, 's>(
        state: &'s ClimbState<D, F>,
        fetch: &mut ClimbFetch<'w, R, D, F>,
        entity: Entity,
        row: TableRow,
    ) -> Option<D::Item<'w, 's>> {
        // SAFETY: the state belongs to the fetch, and items that only read do not conflict. `own` was set to the table at
        // hand, which matches, and the entity is in this row of it, as the caller promises.
        unsafe {
            match fetch.table_has_own {
                Some(true) => fetch.own.fetch_here(&state.cursor, entity, row),
                Some(false) => None,
                None => fetch.own.get(&state.cursor, entity),
            }
        }
    }

    /// What is above the entities of a table, of which `entity` is one.
    ///
    /// # Safety
    /// As for [`fetch`](Self::fetch).
    #[inline(never)]
    unsafe fn above_table<'w>(
        state: &ClimbState<D, F>,
        fetch: &mut ClimbFetch<'w, R, D, F>,
        entity: Entity,
        table: &'w Table,
    ) -> TableAbove<'w> {
        let index = fetch.pairs.index;
        match index.and_then(|index| index.common_target(entity, |component| table.has_column(component))) {
            None => TableAbove::Each,
            Some(None) => TableAbove::All(None),
            // SAFETY: as the caller promises.
            Some(Some(_)) => TableAbove::All(unsafe { Self::find_above(state, fetch, entity) }),
        }
    }

    /// # Safety
    /// As for [`fetch`](Self::fetch).
    #[inline(never)]
    unsafe fn search<'w, 's>(
        state: &'s ClimbState<D, F>,
        fetch: &mut ClimbFetch<'w, R, D, F>,
        entity: Entity,
    ) -> Option<D::Item<'w, 's>> {
        // SAFETY: as the caller promises. It was found there by this search or an earlier one of this fetch, while which
        // lives the world is borrowed, so that nothing moves.
        unsafe {
            let (holder, place) = Self::find_above(state, fetch, entity)?;
            fetch.above.get_found(&state.cursor, holder, place)
        }
    }

    /// The nearest holder above the entity, and where it is.
    ///
    /// # Safety
    /// As for [`fetch`](Self::fetch).
    #[inline]
    unsafe fn find_above<'w>(
        state: &ClimbState<D, F>,
        fetch: &mut ClimbFetch<'w, R, D, F>,
        entity: Entity,
    ) -> Option<(Entity, RowHint)> {
        let ClimbFetch { pairs, above, memo, .. } = fetch;
        let index = pairs.index?;
        // SAFETY: the state belongs to the fetch, and items that only read do not conflict; so below.
        let mut holds = |entity| unsafe { above.find(&state.cursor, entity) };
        if Self::LIMITED {
            memo.within(index, entity, Self::ABOVE, &mut holds)
        } else if let Some(upward) = pairs.upward {
            memo.only_way(upward, entity, &mut holds)
        } else {
            memo.nearest(index, entity, &mut holds)
        }
    }
}

// SAFETY: no component of the entity at hand is accessed as such. Pairs and cursor declare what they read in
// `init_nested_access`, and are fetched with the rights that the caller has by that. Test:
// `terms_refuse_what_writes_beside_them`.
unsafe impl<R, D, const MIN: u32, const MAX: u32, const CACHED: bool, F> WorldQuery
    for Climb<R, D, MIN, MAX, CACHED, F>
where
    R: TraversableRelation,
    D: ReadOnlyQueryData,
    F: QueryFilter,
{
    type Fetch<'w> = ClimbFetch<'w, R, D, F>;
    type State = ClimbState<D, F>;

    any_entity!(but set_table, set_archetype);

    #[inline]
    unsafe fn set_archetype<'w>(
        fetch: &mut Self::Fetch<'w>,
        state: &Self::State,
        archetype: &'w Archetype,
        table: &'w Table,
    ) {
        if fetch.fragmenting {
            fetch.table_above = TableAbove::NotSearched(table);
        }
        if MIN == 0 {
            // SAFETY: the state belongs to the fetch.
            fetch.table_has_own = unsafe { fetch.own.enter_table(&state.cursor, archetype.table_id()) };
        }
    }

    #[inline]
    unsafe fn set_table<'w>(fetch: &mut Self::Fetch<'w>, state: &Self::State, table: &'w Table) {
        if fetch.fragmenting {
            fetch.table_above = TableAbove::NotSearched(table);
        }
        if MIN == 0 {
            // SAFETY: the state belongs to the fetch.
            fetch.table_has_own = unsafe { fetch.own.enter_table_of(&state.cursor, table) };
        }
    }

    fn shrink_fetch<'long: 'short, 'short>(fetch: Self::Fetch<'long>) -> Self::Fetch<'short> {
        let ClimbFetch { own, above, .. } = fetch;
        ClimbFetch { own: own.shrink(), above: above.shrink(), ..fetch }
    }

    #[inline]
    unsafe fn init_fetch<'w>(
        world: UnsafeWorldCell<'w>,
        state: &ClimbState<D, F>,
        last_run: Tick,
        this_run: Tick,
    ) -> ClimbFetch<'w, R, D, F> {
        // SAFETY: both have declared what they read, and the caller has the right to it.
        let (mut pairs, mut above) = unsafe {
            (
                ReadPairs::<R, false>::init_fetch(world, &state.pairs, last_run, this_run),
                CursorFetch::new(&state.cursor, world, last_run, this_run),
            )
        };
        // Searches end because there are no cycles.
        pairs.index = pairs.index.filter(|index| index.is_acyclic());
        pairs.upward = pairs.upward.filter(|_| pairs.index.is_some());
        // SAFETY: the state belongs to the fetch, and items that only read do not conflict.
        let holds = |entity| unsafe { above.find(&state.cursor, entity) };
        let kept = state.kept.as_ref().zip(pairs.index).and_then(|(kept, index)| kept.current(index, holds));
        let (own, memo) = (above.clone(), ClimbMemo::default());
        let fragmenting = pairs.index.is_some_and(RelationIndex::has_target_components);
        let table_above = TableAbove::Each;
        ClimbFetch { pairs, own, above, memo, kept, table_has_own: None, fragmenting, table_above }
    }

    fn init_nested_access(
        state: &Self::State,
        system: Option<&str>,
        declared: &mut FilteredAccessSet,
        world: UnsafeWorldCell<'_>,
    ) {
        ReadPairs::<R, false>::init_nested_access(&state.pairs, system, declared, world);
        state.cursor.init_access(system, declared, world);
    }

    fn init_state(world: &mut World) -> ClimbState<D, F> {
        let () = Self::CHECK;
        let pairs = ReadPairs::<R, false>::init_state(world);
        // SAFETY: what only reads cannot conflict with itself; `init_nested_access` looks for conflicts with others
        // before anything is fetched.
        let cursor = unsafe { CursorState::new(world) };
        let kept = CACHED.then(|| CacheUpdater::new::<R>(world, cursor.access()));
        ClimbState { pairs, cursor, kept }
    }

    fn update_archetypes(state: &mut Self::State, world: UnsafeWorldCell<'_>) {
        state.cursor.update(world);
    }
}
