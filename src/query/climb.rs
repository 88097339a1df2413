//! Searching up a relation for the nearest entity of which something can be read: what [`Up`](super::Up) reads.

use super::{
    cached::{CacheUpdater, CachedIndex},
    read::{ReadPairs, ReadPairsFetch, ReadPairsState},
};
use crate::{
    fetch::{CursorFetch, CursorState, RowHint},
    relation::TraversableRelation,
    store::{Pages, RelationIndex, TargetIter},
};
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::Archetype,
    change_detection::Tick,
    component::{ComponentId, Components},
    entity::Entity,
    query::{FilteredAccess, FilteredAccessSet, ReadOnlyQueryData, WorldQuery},
    storage::Table,
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use bevy_platform::{collections::HashSet, sync::Arc};
use core::marker::PhantomData;

/// Reads `D` of the entities up `R`, from `MIN` to `MAX` steps away; with `CACHED` it keeps what it has found for the
/// next time.
pub struct Climb<R, D, const MIN: u32, const MAX: u32, const CACHED: bool>(PhantomData<fn() -> (R, D)>);

pub struct ClimbState<D: ReadOnlyQueryData> {
    pairs: ReadPairsState,
    cursor: CursorState<D>,
    kept: Option<CacheUpdater>,
}

pub struct ClimbFetch<'w, R: TraversableRelation, D: ReadOnlyQueryData> {
    pairs: ReadPairsFetch<'w, R>,
    /// For the entities at hand, which are in other tables than those above them.
    own: CursorFetch<'w, D>,
    above: CursorFetch<'w, D>,
    memo: Memo<'w>,
    kept: Option<Arc<CachedIndex>>,
}

impl<R: TraversableRelation, D: ReadOnlyQueryData> Clone for ClimbFetch<'_, R, D> {
    fn clone(&self) -> Self {
        let (own, above) = (self.own.clone(), self.above.clone());
        Self { own, above, memo: Memo::default(), kept: self.kept.clone(), ..*self }
    }
}

/// What searches have found, for those that come by the same entities. Good for as long as nothing changes.
#[derive(Default)]
pub(super) struct Memo<'w> {
    /// By entity index, what is found from there, the entity itself first: [`UNKNOWN`], [`NOTHING`], or the number of
    /// a holder plus [`HOLDER`].
    found: Pages<u32>,
    pub(super) holders: Vec<(Entity, RowHint)>,
    /// From the start to where the search is, with the targets that are still to be tried.
    path: Vec<(Entity, TargetIter<'w>)>,
    /// Entities met in a search with limits, at how many steps from the start.
    met: HashSet<(Entity, u32)>,
    /// How many searches have done without the memo.
    alone: u32,
}

const UNKNOWN: u32 = 0;
const NOTHING: u32 = 1;
const HOLDER: u32 = 2;

/// This many searches of a query do without memo, which costs more than it saves if there are no others.
const ALONE: u32 = 4;

impl<'w> Memo<'w> {
    /// The nearest holder above `entity`, if it is noted: the way up is the only one, and a search came by.
    #[inline]
    fn noted(&self, index: &RelationIndex, entity: Entity) -> Option<&(Entity, RowHint)> {
        let target = index.only_target_index(entity)?;
        Some(&self.holders[holder(self.found.get(target))?])
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
            match Self::straight(index, entity, holds) {
                Way::LeadsTo(holder, place) => return Some((holder, place)),
                Way::Ends => return None,
                Way::Branches => {}
            }
        }
        let number = self.above(index, entity, holds)?;
        Some(self.holders[number])
    }

    /// The number of that holder.
    #[inline]
    pub(super) fn above(
        &mut self,
        index: &'w RelationIndex,
        entity: Entity,
        holds: &mut impl FnMut(Entity) -> Option<RowHint>,
    ) -> Option<usize> {
        index.targets(entity).find_map(|target| match self.found.get(target.index_u32()) {
            UNKNOWN => self.search(index, target, holds),
            found => holder(found),
        })
    }

    /// The number of the nearest holder from `start` up, of which nothing is known.
    ///
    /// Depth first: an entity, then what is found from its first target, then from its second. From an entity on the
    /// way the same is found whichever way leads to it, so that each is entered once.
    fn search(
        &mut self,
        index: &'w RelationIndex,
        start: Entity,
        holds: &mut impl FnMut(Entity) -> Option<RowHint>,
    ) -> Option<usize> {
        self.path.clear();
        let mut at = start;
        let found = loop {
            if let Some(place) = holds(at) {
                let found = HOLDER + self.holders.len() as u32;
                self.holders.push((at, place));
                *self.found.get_mut(at.index_u32()) = found;
                break found;
            }
            self.path.push((at, index.targets(at)));
            match self.next_target()? {
                (target, UNKNOWN) => at = target,
                (_, found) => break found,
            }
        };
        for (entity, _) in self.path.drain(..) {
            *self.found.get_mut(entity.index_u32()) = found;
        }
        holder(found)
    }

    /// The next target along the path from which there may be something to find, and what is known of it.
    fn next_target(&mut self) -> Option<(Entity, u32)> {
        while let Some((entity, targets)) = self.path.last_mut() {
            for target in targets {
                let found = self.found.get(target.index_u32());
                if found != NOTHING {
                    return Some((target, found));
                }
            }
            *self.found.get_mut(entity.index_u32()) = NOTHING;
            self.path.pop();
        }
        None
    }

    /// The nearest holder above `entity`, without notes, if there is only one way up to it.
    fn straight(
        index: &RelationIndex,
        entity: Entity,
        holds: &mut impl FnMut(Entity) -> Option<RowHint>,
    ) -> Way {
        let mut at = entity;
        loop {
            let mut targets = index.targets(at);
            let Some(target) = targets.next() else { return Way::Ends };
            if targets.len() > 0 {
                return Way::Branches;
            }
            if let Some(place) = holds(target) {
                return Way::LeadsTo(target, place);
            }
            at = target;
        }
    }

    /// The nearest holder from `MIN` to `MAX` steps above `entity`, depth first. An entity that is reached in several
    /// ways counts at each of its distances.
    fn within<const MIN: u32, const MAX: u32>(
        &mut self,
        index: &'w RelationIndex,
        entity: Entity,
        holds: &mut impl FnMut(Entity) -> Option<RowHint>,
    ) -> Option<(Entity, RowHint)> {
        self.met.clear();
        self.path.clear();
        self.path.push((entity, index.targets(entity)));
        loop {
            let (_, targets) = self.path.last_mut()?;
            let Some(target) = targets.next() else {
                self.path.pop();
                continue;
            };
            let steps = self.path.len() as u32;
            // Without a maximum there is no difference between distances that suffice.
            let distance = if MAX == u32::MAX { steps.min(MIN) } else { steps };
            if steps > MAX || !(index.is_exclusive() || self.met.insert((target, distance))) {
                continue;
            }
            if steps >= MIN
                && let Some(place) = holds(target)
            {
                return Some((target, place));
            }
            self.path.push((target, index.targets(target)));
        }
    }
}

/// Where the only way up leads.
enum Way {
    LeadsTo(Entity, RowHint),
    Ends,
    Branches,
}

/// The number of a holder, of what is noted.
#[inline]
fn holder(found: u32) -> Option<usize> {
    found.checked_sub(HOLDER).map(|number| number as usize)
}

impl<R, D, const MIN: u32, const MAX: u32, const CACHED: bool> Climb<R, D, MIN, MAX, CACHED>
where
    R: TraversableRelation,
    D: ReadOnlyQueryData,
{
    const LIMITED: bool = MIN > 1 || MAX < u32::MAX;

    const CHECK: () = {
        assert!(MIN <= MAX, "`Up` with a minimum above its maximum matches nothing");
        assert!(!(CACHED && Self::LIMITED), "`Cached` does not know limits: remove them from `Up`");
        assert!(!CACHED || D::IS_ARCHETYPAL, "`Cached` needs data that depends on components only");
    };

    /// # Safety
    /// As for [`QueryData::fetch`](bevy_ecs::query::QueryData::fetch).
    #[inline(always)]
    pub(super) unsafe fn fetch<'w, 's>(
        state: &'s ClimbState<D>,
        fetch: &mut ClimbFetch<'w, R, D>,
        entity: Entity,
    ) -> Option<D::Item<'w, 's>> {
        let cursor = &state.cursor;
        if MIN == 0 {
            // SAFETY: the state belongs to the fetch, and items that only read do not conflict; so below.
            let own = unsafe { fetch.own.get(cursor, entity) };
            if own.is_some() {
                return own;
            }
        }
        let known = match &fetch.kept {
            Some(kept) => Some(kept.above(entity)?),
            None if Self::LIMITED => None,
            None => fetch.memo.noted(fetch.pairs.index?, entity),
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

    /// # Safety
    /// As for [`fetch`](Self::fetch).
    #[inline(never)]
    unsafe fn search<'w, 's>(
        state: &'s ClimbState<D>,
        fetch: &mut ClimbFetch<'w, R, D>,
        entity: Entity,
    ) -> Option<D::Item<'w, 's>> {
        let ClimbFetch { pairs, above, memo, .. } = fetch;
        let index = pairs.index?;
        // SAFETY: the state belongs to the fetch, and items that only read do not conflict; so below.
        let mut holds = |entity| unsafe { above.find(&state.cursor, entity) };
        let (holder, mut place) = if Self::LIMITED {
            memo.within::<MIN, MAX>(index, entity, &mut holds)?
        } else {
            memo.nearest(index, entity, &mut holds)?
        };
        // SAFETY: as above.
        unsafe { above.get_at(&state.cursor, holder, &mut place) }
    }
}

// SAFETY: no component of the entity at hand is accessed as such. Pairs and cursor declare what they read in
// `init_nested_access`, and are fetched with the rights that the caller has by that. Test:
// `terms_refuse_what_writes_beside_them`.
unsafe impl<R, D, const MIN: u32, const MAX: u32, const CACHED: bool> WorldQuery
    for Climb<R, D, MIN, MAX, CACHED>
where
    R: TraversableRelation,
    D: ReadOnlyQueryData,
{
    type Fetch<'w> = ClimbFetch<'w, R, D>;
    type State = ClimbState<D>;

    const IS_DENSE: bool = true;

    fn shrink_fetch<'long: 'short, 'short>(fetch: Self::Fetch<'long>) -> Self::Fetch<'short> {
        let ClimbFetch { pairs, own, above, memo, kept } = fetch;
        ClimbFetch { pairs, own: own.shrink(), above: above.shrink(), memo, kept }
    }

    #[inline]
    unsafe fn init_fetch<'w>(
        world: UnsafeWorldCell<'w>,
        state: &ClimbState<D>,
        last_run: Tick,
        this_run: Tick,
    ) -> ClimbFetch<'w, R, D> {
        // SAFETY: both have declared what they read, and the caller has the right to it.
        let (mut pairs, mut above) = unsafe {
            (
                ReadPairs::<R, false>::init_fetch(world, &state.pairs, last_run, this_run),
                CursorFetch::new(&state.cursor, world, last_run, this_run),
            )
        };
        // Searches end because there are no cycles.
        pairs.index = pairs.index.filter(|index| index.is_acyclic());
        // SAFETY: the state belongs to the fetch, and items that only read do not conflict.
        let holds = |entity| unsafe { above.find(&state.cursor, entity) };
        let kept = state.kept.as_ref().zip(pairs.index).and_then(|(kept, index)| kept.current(index, holds));
        ClimbFetch { pairs, own: above.clone(), above, memo: Memo::default(), kept }
    }

    #[inline]
    unsafe fn set_archetype<'w>(_: &mut Self::Fetch<'w>, _: &Self::State, _: &'w Archetype, _: &'w Table) {}

    #[inline]
    unsafe fn set_table<'w>(_: &mut Self::Fetch<'w>, _: &Self::State, _: &'w Table) {}

    fn update_component_access(_: &Self::State, _: &mut FilteredAccess) {}

    fn init_nested_access(
        state: &Self::State,
        system: Option<&str>,
        declared: &mut FilteredAccessSet,
        world: UnsafeWorldCell<'_>,
    ) {
        ReadPairs::<R, false>::init_nested_access(&state.pairs, system, declared, world);
        state.cursor.init_access(system, declared, world);
    }

    fn init_state(world: &mut World) -> ClimbState<D> {
        let () = Self::CHECK;
        let pairs = ReadPairs::<R, false>::init_state(world);
        // SAFETY: what only reads cannot conflict with itself; `init_nested_access` looks for conflicts with others
        // before anything is fetched.
        let cursor = unsafe { CursorState::new(world) };
        let kept = CACHED.then(|| CacheUpdater::new::<R>(world, cursor.access()));
        ClimbState { pairs, cursor, kept }
    }

    fn get_state(_: &Components) -> Option<ClimbState<D>> {
        None
    }

    fn matches_component_set(_: &Self::State, _: &impl Fn(ComponentId) -> bool) -> bool {
        true
    }

    fn update_archetypes(state: &mut Self::State, world: UnsafeWorldCell<'_>) {
        state.cursor.update(world);
    }
}
