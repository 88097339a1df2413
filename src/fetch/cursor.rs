//! Component data of known entities, one entity after the other.
//!
//! `Query::get` finds out for each entity anew which columns to read. Code that follows pairs reads the same few tables
//! again and again: [`FetchCursor`] keeps the columns of the table it was at last, and a [`RowHint`] that was
//! kept for an entity spares the look-up of its location too. The benches in `benches/peers` measure the
//! gain.

use super::{
    cursor_state::{CursorState, StorageMatches},
    origin::Origin,
    rows::{RowHint, StorageEntities},
};
use bevy_ecs::{
    archetype::ArchetypeId,
    change_detection::Tick,
    component::ComponentId,
    entity::{Entities, Entity, EntityLocation},
    query::{QueryData, QueryFilter, ReadOnlyQueryData},
    storage::{Table, TableId, TableRow},
    world::unsafe_world_cell::UnsafeWorldCell,
};
use smallvec::SmallVec;

/// What is kept from one entity to the next. Apart from the state, which the fetch of a query term cannot
/// borrow: the owner of one of these passes the state that it was made with.
pub(crate) struct CursorFetch<'w, D: QueryData, F: QueryFilter = ()> {
    world: UnsafeWorldCell<'w>,
    data: D::Fetch<'w>,
    filter: F::Fetch<'w>,
    /// The storage to which `data` and `filter` are set, and whether it matches.
    storage: u32,
    matches: bool,
    /// The entities in it, if it matches.
    rows: StorageEntities<'w>,
}

impl<D: QueryData, F: QueryFilter> Clone for CursorFetch<'_, D, F> {
    fn clone(&self) -> Self {
        Self { data: self.data.clone(), filter: self.filter.clone(), ..*self }
    }
}

impl<'w, D: QueryData, F: QueryFilter> CursorFetch<'w, D, F> {
    /// # Safety
    /// As for [`FetchCursor::new`].
    pub(crate) unsafe fn new(
        state: &StorageMatches<D::State, F::State>,
        world: UnsafeWorldCell<'w>,
        last_run: Tick,
        this_run: Tick,
    ) -> Self {
        // SAFETY: as the caller promises.
        let (data, filter) = unsafe {
            (
                D::init_fetch(world, &state.data, last_run, this_run),
                F::init_fetch(world, &state.filter, last_run, this_run),
            )
        };
        Self { world, data, filter, storage: u32::MAX, matches: false, rows: StorageEntities::NONE }
    }

    /// As Bevy's `shrink_fetch`.
    pub(crate) fn shrink<'short>(self) -> CursorFetch<'short, D, F>
    where
        'w: 'short,
    {
        let Self { world, data, filter, storage, matches, rows } = self;
        let (data, filter) = (D::shrink_fetch(data), F::shrink_fetch(filter));
        CursorFetch { world, data, filter, storage, matches, rows }
    }

    /// The data of an entity. `None` if it is dead or does not match.
    ///
    /// # Safety
    /// As for [`FetchCursor::get_at`], and `state` must be the one given to [`new`](Self::new).
    #[inline]
    pub(crate) unsafe fn get<'s>(
        &mut self,
        state: &'s StorageMatches<D::State, F::State>,
        entity: Entity,
    ) -> Option<D::Item<'w, 's>> {
        let location = self.world.entities().get_spawned(entity).ok()?;
        // SAFETY: as the caller promises, of state and entity.
        unsafe {
            let row = self.go(state, location)?;
            self.fetch_here(state, entity, row)
        }
    }

    /// [`FetchCursor::get_at`].
    ///
    /// # Safety
    /// As for [`get`](Self::get).
    #[inline]
    pub(crate) unsafe fn get_at<'s>(
        &mut self,
        state: &'s StorageMatches<D::State, F::State>,
        entity: Entity,
        place: &mut RowHint,
    ) -> Option<D::Item<'w, 's>> {
        // SAFETY: as the caller promises, of state and entity.
        unsafe {
            let row = self.seek(state, entity, place)?;
            self.fetch_here(state, entity, row)
        }
    }

    /// Where an entity is, if it matches; without going there, unless that takes a look at the entity itself.
    ///
    /// # Safety
    /// As for [`get`](Self::get).
    #[inline]
    pub(crate) unsafe fn find(
        &mut self,
        state: &StorageMatches<D::State, F::State>,
        entity: Entity,
    ) -> Option<RowHint> {
        if !(D::IS_ARCHETYPAL && F::IS_ARCHETYPAL) {
            let mut place = RowHint::UNKNOWN;
            // SAFETY: as the caller promises.
            return unsafe { self.get_at(state, entity, &mut place) }.map(|_| place);
        }
        let location = self.world.entities().get_spawned(entity).ok()?;
        let storage = state.storage(location);
        state.matches(storage).then_some(RowHint { storage, row: Some(location.table_row) })
    }

    /// Goes to a table, and returns whether its entities match. `None` if that is not decided by the table.
    ///
    /// # Safety
    /// `state` must be the one given to [`new`](Self::new).
    #[inline]
    pub(crate) unsafe fn enter_table(
        &mut self,
        state: &StorageMatches<D::State, F::State>,
        table: TableId,
    ) -> Option<bool> {
        if !state.dense {
            return None;
        }
        // SAFETY: as the caller promises.
        unsafe { self.enter(state, table.as_u32()) };
        Some(self.matches)
    }

    /// [`enter_table`](Self::enter_table) of a table whose number is read from its entities. `None` also if it has none.
    ///
    /// # Safety
    /// As for [`enter_table`](Self::enter_table).
    #[inline]
    pub(crate) unsafe fn enter_table_of(
        &mut self,
        state: &StorageMatches<D::State, F::State>,
        table: &Table,
    ) -> Option<bool> {
        let location = self.world.entities().get_spawned(*table.entities().first()?).ok()?;
        // SAFETY: as the caller promises.
        unsafe { self.enter_table(state, location.table_id) }
    }

    /// The data of an entity that was [found](Self::find) in this place since entities were moved.
    ///
    /// # Safety
    /// As for [`get`](Self::get), and it must be so.
    #[inline]
    pub(crate) unsafe fn get_found<'s>(
        &mut self,
        state: &'s StorageMatches<D::State, F::State>,
        entity: Entity,
        place: RowHint,
    ) -> Option<D::Item<'w, 's>> {
        // SAFETY: as the caller promises; a place that was found is in a storage that matches.
        unsafe {
            self.enter(state, place.storage);
            self.fetch_here(state, entity, place.row?)
        }
    }

    /// [`FetchCursor::seek`].
    ///
    /// # Safety
    /// `state` must be the one given to [`new`](Self::new).
    #[inline(always)]
    unsafe fn seek(
        &mut self,
        state: &StorageMatches<D::State, F::State>,
        entity: Entity,
        place: &mut RowHint,
    ) -> Option<TableRow> {
        if place.storage == self.storage
            && let Some(row) = self.row_at(entity, *place)
        {
            return Some(row);
        }
        // SAFETY: as the caller promises.
        unsafe { self.look_up(state, entity, place) }
    }

    /// [`seek`](Self::seek) of an entity that is not where it was last. Apart, so that the rest is short enough to be
    /// inlined.
    ///
    /// # Safety
    /// As for [`seek`](Self::seek).
    #[inline(never)]
    unsafe fn look_up(
        &mut self,
        state: &StorageMatches<D::State, F::State>,
        entity: Entity,
        place: &mut RowHint,
    ) -> Option<TableRow> {
        if place.storage != self.storage && place.row.is_some() {
            // SAFETY: as the caller promises.
            unsafe { self.enter(state, place.storage) };
            if let Some(row) = self.row_at(entity, *place) {
                return Some(row);
            }
        }
        let location = self.world.entities().get_spawned(entity).ok()?;
        *place = RowHint { storage: state.storage(location), row: Some(location.table_row) };
        // SAFETY: as the caller promises.
        unsafe { self.go(state, location) }
    }

    /// The row of an entity, if it is at this place in the table that is set.
    #[inline]
    fn row_at(&self, entity: Entity, place: RowHint) -> Option<TableRow> {
        let row = place.row?;
        // Rows of archetypes are others.
        let StorageEntities::Table(entities) = self.rows else { return None };
        (entities.get(row.index()) == Some(&entity)).then_some(row)
    }

    /// Goes to a location, and returns its row if its storage matches.
    ///
    /// # Safety
    /// As for [`seek`](Self::seek).
    #[inline]
    unsafe fn go(
        &mut self,
        state: &StorageMatches<D::State, F::State>,
        location: EntityLocation,
    ) -> Option<TableRow> {
        // SAFETY: as the caller promises.
        unsafe { self.enter(state, state.storage(location)) };
        self.matches.then_some(location.table_row)
    }

    /// Goes to a storage.
    ///
    /// # Safety
    /// As for [`seek`](Self::seek).
    #[inline]
    unsafe fn enter(&mut self, state: &StorageMatches<D::State, F::State>, storage: u32) {
        if storage != self.storage {
            // SAFETY: as the caller promises.
            unsafe { self.go_to(state, storage) };
        }
    }

    /// Whether the filter lets an entity pass.
    ///
    /// # Safety
    /// As for [`FetchCursor::passes`], and `state` must be the one given to [`new`](Self::new).
    #[inline]
    unsafe fn passes(
        &mut self,
        state: &StorageMatches<D::State, F::State>,
        entity: Entity,
        row: TableRow,
    ) -> bool {
        // SAFETY: as the caller promises.
        F::IS_ARCHETYPAL || unsafe { F::filter_fetch(&state.filter, &mut self.filter, entity, row) }
    }

    /// [`FetchCursor::fetch_here`].
    ///
    /// # Safety
    /// As for [`FetchCursor::fetch_here`], and `state` must be the one given to [`new`](Self::new).
    #[inline(always)]
    pub(crate) unsafe fn fetch_here<'s>(
        &mut self,
        state: &'s StorageMatches<D::State, F::State>,
        entity: Entity,
        row: TableRow,
    ) -> Option<D::Item<'w, 's>> {
        // SAFETY: as the caller promises. What the filter looks at is not used beside the item.
        unsafe {
            if !self.passes(state, entity, row) {
                return None;
            }
            D::fetch(&state.data, &mut self.data, entity, row)
        }
    }

    /// Sets the fetches to a storage, if it matches.
    ///
    /// # Safety
    /// As for [`seek`](Self::seek).
    unsafe fn go_to(&mut self, state: &StorageMatches<D::State, F::State>, storage: u32) {
        (self.storage, self.matches, self.rows) = (storage, false, StorageEntities::NONE);
        if !state.matches(storage) {
            return;
        }
        // SAFETY: only the structure of the tables is looked at here; columns are reached through the fetches.
        let tables = unsafe { &self.world.storages().tables };
        if state.dense {
            let Some(table) = tables.get(TableId::from_u32(storage)) else { return };
            // SAFETY: the table is of the world of the state, with which the fetches were made, and matches.
            unsafe {
                D::set_table(&mut self.data, &state.data, table);
                F::set_table(&mut self.filter, &state.filter, table);
            }
        } else {
            let Some(archetype) = self.world.archetypes().get(ArchetypeId::new(storage as usize)) else {
                return;
            };
            let Some(table) = tables.get(archetype.table_id()) else { return };
            // SAFETY: as above, and the table is that of the archetype.
            unsafe {
                D::set_archetype(&mut self.data, &state.data, archetype, table);
                F::set_archetype(&mut self.filter, &state.filter, archetype, table);
            }
        }
        (self.matches, self.rows) = (true, state.rows(self.world, storage));
    }
}

/// Reads and writes `D` of entities that match `F`.
pub(crate) struct FetchCursor<'w, 's, D: QueryData, F: QueryFilter = ()> {
    origin: Origin<'w, 's, D, F>,
    fetch: CursorFetch<'w, D, F>,
}

impl<D: QueryData, F: QueryFilter> Clone for FetchCursor<'_, '_, D, F> {
    fn clone(&self) -> Self {
        Self { fetch: self.fetch.clone(), ..*self }
    }
}

impl<'w, 's, D: QueryData, F: QueryFilter> FetchCursor<'w, 's, D, F> {
    /// # Safety
    /// `world` must be that of `state`, which must be up to date, and must give the right to the access that
    /// `state` declares for as long as this lives.
    pub(crate) unsafe fn new(
        state: &'s CursorState<D, F>,
        world: UnsafeWorldCell<'w>,
        last_run: Tick,
        this_run: Tick,
    ) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self::of(Origin { world, state, last_run, this_run }) }
    }

    /// # Safety
    /// As for the cursor that the origin is [taken from](Self::origin).
    pub(crate) unsafe fn of(origin: Origin<'w, 's, D, F>) -> Self {
        let Origin { world, state, last_run, this_run } = origin;
        // SAFETY: as the caller promises.
        Self { origin, fetch: unsafe { CursorFetch::new(state, world, last_run, this_run) } }
    }

    /// The same, to be read only.
    pub(crate) fn as_read_only(&self) -> FetchCursor<'_, 's, D::ReadOnly, F> {
        let Origin { world, state, last_run, this_run } = self.origin;
        // SAFETY: what only reads needs no more than what was declared, and this gives nothing to be written as long as it is
        // borrowed.
        unsafe { FetchCursor::of(Origin { world, state, last_run, this_run }) }
    }

    /// What these are made of, to make others.
    pub(crate) fn origin(&self) -> Origin<'w, 's, D, F> {
        self.origin
    }

    /// The same for a shorter time.
    pub(crate) fn shorter(&self) -> FetchCursor<'_, 's, D, F> {
        FetchCursor { fetch: self.fetch.clone().shrink(), ..*self }
    }

    /// The entities of the world.
    #[inline]
    pub(crate) fn entities(&self) -> &'w Entities {
        self.origin.world.entities()
    }

    /// The numbers of the storages that match, for [`enter`](Self::enter).
    pub(crate) fn storages(&self) -> &'s [u32] {
        &self.origin.state.storages
    }

    /// Those of the [`storages`](Self::storages) whose entities have a component that is kept in tables.
    pub(crate) fn storages_with(&self, component: ComponentId) -> SmallVec<[u32; 4]> {
        let (state, archetypes) = (self.origin.state, self.origin.world.archetypes());
        let having = archetypes.component_index().get(&component);
        let having = having.into_iter().flat_map(|having| having.keys());
        let mut storages: SmallVec<[u32; 4]> = SmallVec::new();
        for archetype in having.filter_map(|&id| archetypes.get(id)) {
            let storage = match state.dense {
                true => archetype.table_id().as_u32(),
                false => archetype.id().index() as u32,
            };
            if state.matches(storage) && !storages.contains(&storage) {
                storages.push(storage);
            }
        }
        storages
    }

    /// The entities in one of the [`storages`](Self::storages).
    pub(crate) fn rows_of(&self, storage: u32) -> StorageEntities<'w> {
        self.origin.state.rows(self.origin.world, storage)
    }

    /// Goes to one of the [`storages`](Self::storages), and returns its entities.
    pub(crate) fn enter(&mut self, storage: u32) -> StorageEntities<'w> {
        // SAFETY: the state is the one it was made with.
        unsafe { self.fetch.enter(self.origin.state, storage) };
        self.fetch.rows
    }

    /// Whether tables match as a whole: their numbers are those of storages.
    pub(crate) fn is_dense(&self) -> bool {
        self.origin.state.dense
    }

    /// The entities of the table that is set, if tables match as a whole.
    #[inline]
    pub(crate) fn table(&self) -> &'w [Entity] {
        match self.fetch.rows {
            StorageEntities::Table(entities) => entities,
            StorageEntities::Archetype(_) => &[],
        }
    }

    /// Whether nothing is read, and every entity matches but for some for which `is_other` holds. Takes
    /// O(entities that do not match), and gives up if there are more than `limit`.
    ///
    /// If so, [`fetch_here`](Self::fetch_here) may be called with those entities as if they were found, with any row.
    pub(crate) fn all_match(&self, limit: usize, is_other: impl Fn(Entity) -> bool) -> bool {
        let (state, mut left) = (self.origin.state, limit);
        state.reads_nothing
            && state.others.iter().all(|&storage| {
                let rows = state.rows(self.origin.world, storage);
                let few = left.checked_sub(rows.len());
                left = few.unwrap_or(0);
                few.is_some()
                    && (0..rows.len()).all(|at| rows.get(at).is_some_and(|(entity, _)| is_other(entity)))
            })
    }

    /// The rows of some entities, if all of them are where they were last and that is in the table that is set, for
    /// [`fetch_here`](Self::fetch_here).
    #[inline]
    pub(crate) fn rows_at<const N: usize>(
        &self,
        entities: &[Entity],
        places: &[RowHint],
    ) -> Option<[TableRow; N]> {
        let (table, first) = (self.table(), places.first()?.row?);
        let mut rows = [first; N];
        let mut all = entities.len() <= N && places.len() == entities.len();
        for ((row, entity), place) in rows.iter_mut().zip(entities).zip(places) {
            *row = place.row.unwrap_or(first);
            all &= place.storage == self.fetch.storage && table.get(row.index()) == Some(entity);
        }
        all.then_some(rows)
    }

    /// The data of an entity that was at `place` last, which is put right. `None` if it is dead or does not match.
    ///
    /// # Safety
    /// As for [`QueryData::fetch`]: no other item of this entity that conflicts with it may be alive; and of no
    /// entity at all, if `D` is not `IterQueryData`.
    #[inline]
    pub(crate) unsafe fn get_at(&mut self, entity: Entity, place: &mut RowHint) -> Option<D::Item<'w, 's>> {
        // SAFETY: the state is the one it was made with; the rest is up to the caller.
        unsafe { self.fetch.get_at(self.origin.state, entity, place) }
    }

    /// Goes to the storage of an entity, and returns its row. `None` if it is dead or its storage does not match.
    #[inline]
    pub(crate) fn find(&mut self, entity: Entity) -> Option<TableRow> {
        let location = self.origin.world.entities().get_spawned(entity).ok()?;
        // SAFETY: the state is the one it was made with.
        unsafe { self.fetch.go(self.origin.state, location) }
    }

    /// [`find`](Self::find); any row if [all entities match](Self::all_match) but for a few others.
    #[inline]
    pub(crate) fn find_unless_all_match(&mut self, entity: Entity) -> Option<TableRow> {
        const FEW: usize = 4;
        let state = self.origin.state;
        if state.reads_nothing && state.others.len() <= FEW && self.all_match(FEW, |other| other != entity) {
            return 0_u32.try_into().ok().map(TableRow::new);
        }
        self.find(entity)
    }

    /// Goes to the first of some entities, which was at `place` last, and returns its row; no row of any table if tables do not match
    /// as a whole, or it is not in one that does.
    #[inline]
    pub(crate) fn row_of_first(&mut self, entities: &[Entity], place: &mut RowHint) -> usize {
        let first = entities.first().filter(|_| self.is_dense());
        first.and_then(|&first| self.seek(first, place)).map_or(usize::MAX, TableRow::index)
    }

    /// [`find`](Self::find) of an entity that was at `place` last, which is put right.
    #[inline(always)]
    pub(crate) fn seek(&mut self, entity: Entity, place: &mut RowHint) -> Option<TableRow> {
        // SAFETY: the state is the one it was made with.
        unsafe { self.fetch.seek(self.origin.state, entity, place) }
    }

    /// Whether the filter lets an entity pass.
    ///
    /// # Safety
    /// The entity must be in this row of the storage that is set, which matches: [`seek`](Self::seek) says so. Nothing
    /// may write what the filter looks at meanwhile.
    #[inline]
    pub(crate) unsafe fn passes(&mut self, entity: Entity, row: TableRow) -> bool {
        // SAFETY: the state is the one it was made with; the rest is up to the caller.
        unsafe { self.fetch.passes(self.origin.state, entity, row) }
    }

    /// The data of an entity that was [sought](Self::seek) last, or is among those that [`enter`](Self::enter) has
    /// given.
    ///
    /// # Safety
    /// As for [`get_at`](Self::get_at), and the entity must be in this row of the storage that is set, which matches.
    #[inline(always)]
    pub(crate) unsafe fn fetch_here(&mut self, entity: Entity, row: TableRow) -> Option<D::Item<'w, 's>> {
        // SAFETY: the state is the one it was made with; the rest is up to the caller.
        unsafe { self.fetch.fetch_here(self.origin.state, entity, row) }
    }
}

impl<'w, 's, D: ReadOnlyQueryData, F: QueryFilter> FetchCursor<'w, 's, D, F> {
    /// The data of an entity. `None` if it is dead or does not match.
    #[inline]
    pub(crate) fn get(&mut self, entity: Entity) -> Option<D::Item<'w, 's>> {
        // SAFETY: the state is the one it was made with. Items that only read do not conflict.
        unsafe { self.fetch.get(self.origin.state, entity) }
    }
}
