//! Component data of known entities, one entity after the other.
//!
//! `Query::get` finds out for each entity anew which columns to read. Whoever follows pairs reads the same few
//! tables again and again: [`Cells`] keeps the columns of the table it was at last, and a [`Place`] that was
//! remembered for an entity spares the look-up of its location too. Measured: half the time of `Query::get`
//! without a place, a quarter with one in a large world whose entities are not in order.

use alloc::vec::Vec;
use bevy_ecs::{
    archetype::{ArchetypeEntity, ArchetypeGeneration, ArchetypeId},
    change_detection::Tick,
    component::StorageType,
    entity::{Entity, EntityLocation},
    entity_disabling::DefaultQueryFilters,
    query::{FilteredAccess, FilteredAccessSet, QueryData, QueryFilter, QueryState},
    storage::{TableId, TableRow},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::any::TypeId;

/// What to read of entities, and which of them match: a `Query` without its iteration.
pub(crate) struct CellsState<D: QueryData, F: QueryFilter = ()> {
    /// Declares the access and decides which archetypes match. Its own states of `D` and `F` are private.
    query: QueryState<D, F>,
    data: D::State,
    filter: F::State,
    /// Whether a table matches or does not match as a whole, with all archetypes in it.
    dense: bool,
    /// The tables that match if `dense`, else the archetypes; a bit each.
    matched: Vec<u64>,
    /// The same, in order.
    storages: Vec<u32>,
    generation: Option<ArchetypeGeneration>,
    /// `D` is `()`, and whether an entity matches is decided by its storage.
    reads_nothing: bool,
    /// If so, the storages that do not match.
    others: Vec<u32>,
}

impl<D: QueryData, F: QueryFilter> CellsState<D, F> {
    /// # Safety
    /// [`init_access`](Self::init_access) must be called before anything else.
    pub(crate) unsafe fn new(world: &mut World) -> Self
    where
        D: 'static,
    {
        let (data, filter) = (D::init_state(world), F::init_state(world));
        let disabling: Vec<_> = world
            .get_resource::<DefaultQueryFilters>()
            .map_or_else(Vec::new, |f| f.disabling_ids().collect());
        let in_tables =
            |id| world.components().get_info(id).is_some_and(|i| i.storage_type() == StorageType::Table);
        let dense = D::IS_DENSE && F::IS_DENSE && disabling.into_iter().all(in_tables);
        // SAFETY: the caller calls `init_access` first, which is that of the query.
        let query = unsafe { QueryState::new_unchecked(world) };
        let reads_nothing = TypeId::of::<D>() == TypeId::of::<()>() && F::IS_ARCHETYPAL;
        let (matched, storages, others) = (Vec::new(), Vec::new(), Vec::new());
        Self { query, data, filter, dense, matched, storages, generation: None, reads_nothing, others }
    }

    /// Declares everything that [`Cells`] read and write.
    ///
    /// # Panics
    /// If that conflicts with what is declared already.
    pub(crate) fn init_access(
        &self,
        system: Option<&str>,
        access: &mut FilteredAccessSet,
        world: UnsafeWorldCell<'_>,
    ) {
        self.query.init_access(system, access, world);
    }

    /// What is read and written of the entities themselves, and what decides which of them match.
    pub(crate) fn access(&self) -> &FilteredAccess {
        self.query.component_access()
    }

    /// The part of [`init_access`](Self::init_access) that is about what is read elsewhere than of the entities
    /// themselves.
    pub(crate) fn init_nested_access(
        &self,
        system: Option<&str>,
        access: &mut FilteredAccessSet,
        world: UnsafeWorldCell<'_>,
    ) {
        D::init_nested_access(&self.data, system, access, world);
        F::init_nested_access(&self.filter, system, access, world);
    }

    /// Gets to know new archetypes. Must come before [`Cells::new`].
    pub(crate) fn update(&mut self, world: UnsafeWorldCell<'_>) {
        D::update_archetypes(&mut self.data, world);
        F::update_archetypes(&mut self.filter, world);
        let generation = world.archetypes().generation();
        if self.generation == Some(generation) {
            return;
        }
        self.generation = Some(generation);
        self.query.update_archetypes_unsafe_world_cell(world);
        self.storages.clear();
        if self.dense {
            self.storages.extend(self.query.matched_tables().map(TableId::as_u32));
        } else {
            self.storages.extend(self.query.matched_archetypes().map(|archetype| archetype.index() as u32));
        }
        let words = self.storages.last().map_or(0, |&last| last as usize / 64 + 1);
        self.matched.resize(words, 0);
        for &storage in &self.storages {
            self.matched[storage as usize / 64] |= 1 << (storage % 64);
        }
        if self.reads_nothing {
            // SAFETY: only the structure of the tables is looked at here.
            let tables = unsafe { world.storages().tables.len() };
            let count = if self.dense { tables } else { world.archetypes().len() };
            let mut others = core::mem::take(&mut self.others);
            others.clear();
            others.extend((0..count as u32).filter(|&storage| !self.matches(storage)));
            self.others = others;
        }
    }

    #[inline]
    fn matches(&self, storage: u32) -> bool {
        let word = self.matched.get(storage as usize / 64);
        word.is_some_and(|word| word & 1 << (storage % 64) != 0)
    }

    /// The number of the table or archetype, whichever is matched as a whole.
    #[inline]
    fn storage(&self, location: EntityLocation) -> u32 {
        if self.dense { location.table_id.as_u32() } else { location.archetype_id.index() as u32 }
    }
}

/// Where an entity was seen last. It is checked before it is used: a wrong one costs time, nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    storage: u32,
    row: Option<TableRow>,
}

impl Place {
    /// Nowhere: the entity will be looked up.
    pub(crate) const UNKNOWN: Self = Self { storage: u32::MAX, row: None };

    /// The next row: where the next entity is, if they were spawned one after the other.
    #[inline]
    pub(crate) fn next(self) -> Self {
        let next = |row: TableRow| Some(TableRow::new((row.index_u32() + 1).try_into().ok()?));
        Self { row: self.row.and_then(next), ..self }
    }
}

/// The row of this number.
///
/// # Safety
/// There must be a table with this row.
#[inline]
pub(crate) unsafe fn table_row(index: usize) -> TableRow {
    // SAFETY: a table has at most `u32::MAX` rows.
    TableRow::new(unsafe { (index as u32).try_into().unwrap_unchecked() })
}

/// The entities of a table or an archetype.
#[derive(Clone, Copy)]
pub(crate) enum Rows<'w> {
    Table(&'w [Entity]),
    Archetype(&'w [ArchetypeEntity]),
}

impl Rows<'_> {
    pub(crate) const NONE: Self = Self::Table(&[]);

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Table(entities) => entities.len(),
            Self::Archetype(entities) => entities.len(),
        }
    }

    /// The entity number `at`, and its row in the table.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<(Entity, TableRow)> {
        match self {
            Self::Table(entities) => {
                let entity = *entities.get(at)?;
                // SAFETY: the table has this row.
                Some((entity, unsafe { table_row(at) }))
            }
            Self::Archetype(entities) => entities.get(at).map(|entity| (entity.id(), entity.table_row())),
        }
    }
}

/// What [`Cells`] are made of. Can be given to another thread.
pub(crate) struct Origin<'w, 's, D: QueryData, F: QueryFilter> {
    world: UnsafeWorldCell<'w>,
    state: &'s CellsState<D, F>,
    last_run: Tick,
    this_run: Tick,
}

impl<D: QueryData, F: QueryFilter> Clone for Origin<'_, '_, D, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: QueryData, F: QueryFilter> Copy for Origin<'_, '_, D, F> {}

/// Reads and writes `D` of entities that match `F`.
pub(crate) struct Cells<'w, 's, D: QueryData, F: QueryFilter = ()> {
    origin: Origin<'w, 's, D, F>,
    data: D::Fetch<'w>,
    filter: F::Fetch<'w>,
    /// The storage to which `data` and `filter` are set, and whether it matches.
    storage: u32,
    matches: bool,
    /// The entities in it, if it matches.
    rows: Rows<'w>,
}

impl<D: QueryData, F: QueryFilter> Clone for Cells<'_, '_, D, F> {
    fn clone(&self) -> Self {
        Self { data: self.data.clone(), filter: self.filter.clone(), ..*self }
    }
}

impl<'w, 's, D: QueryData, F: QueryFilter> Cells<'w, 's, D, F> {
    /// # Safety
    /// `world` must be that of `state`, which must be up to date, and must give the right to the access that
    /// `state` declares for as long as this lives.
    pub(crate) unsafe fn new(
        state: &'s CellsState<D, F>,
        world: UnsafeWorldCell<'w>,
        last_run: Tick,
        this_run: Tick,
    ) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self::of(Origin { world, state, last_run, this_run }) }
    }

    /// # Safety
    /// As for the cells that the origin is [taken from](Self::origin).
    pub(crate) unsafe fn of(origin: Origin<'w, 's, D, F>) -> Self {
        let Origin { world, state, last_run, this_run } = origin;
        // SAFETY: as the caller promises.
        let (data, filter) = unsafe {
            (
                D::init_fetch(world, &state.data, last_run, this_run),
                F::init_fetch(world, &state.filter, last_run, this_run),
            )
        };
        Self { origin, data, filter, storage: u32::MAX, matches: false, rows: Rows::NONE }
    }

    /// What these are made of, to make others.
    pub(crate) fn origin(&self) -> Origin<'w, 's, D, F> {
        self.origin
    }

    /// The same for a shorter time.
    pub(crate) fn shorter(&self) -> Cells<'_, 's, D, F> {
        let (data, filter) = (D::shrink_fetch(self.data.clone()), F::shrink_fetch(self.filter.clone()));
        Cells { data, filter, ..*self }
    }

    /// The tables or archetypes that match, for [`enter`](Self::enter).
    pub(crate) fn storages(&self) -> &'s [u32] {
        &self.origin.state.storages
    }

    /// Whether nothing is read, and every entity matches but for some for which `is_other` holds. Costs a
    /// step per entity that does not match, and gives up if there are more than `limit`.
    ///
    /// If so, [`fetch_here`](Self::fetch_here) may be called with those entities as if they were found, with any row.
    pub(crate) fn all_match(&self, limit: usize, is_other: impl Fn(Entity) -> bool) -> bool {
        let (state, mut left) = (self.origin.state, limit);
        state.reads_nothing
            && state.others.iter().all(|&storage| {
                let rows = self.rows_of(storage);
                let few = left.checked_sub(rows.len());
                left = few.unwrap_or(0);
                few.is_some()
                    && (0..rows.len()).all(|at| rows.get(at).is_some_and(|(entity, _)| is_other(entity)))
            })
    }

    /// The entities of any storage.
    fn rows_of(&self, storage: u32) -> Rows<'w> {
        if self.origin.state.dense {
            // SAFETY: only the structure of the tables is looked at here.
            let tables = unsafe { &self.origin.world.storages().tables };
            tables.get(TableId::from_u32(storage)).map_or(Rows::NONE, |table| Rows::Table(table.entities()))
        } else {
            let archetype = self.origin.world.archetypes().get(ArchetypeId::new(storage as usize));
            archetype.map_or(Rows::NONE, |archetype| Rows::Archetype(archetype.entities()))
        }
    }

    /// Number of entities in one of the [`storages`](Self::storages).
    pub(crate) fn len_of(&self, storage: u32) -> usize {
        self.rows_of(storage).len()
    }

    /// The data of an entity. `None` if it is dead or does not match.
    ///
    /// # Safety
    /// As for [`QueryData::fetch`]: no other item of this entity that conflicts with it may be alive; and of no
    /// entity at all, if `D` is not `IterQueryData`.
    #[inline]
    pub(crate) unsafe fn get(&mut self, entity: Entity) -> Option<D::Item<'w, 's>> {
        let row = self.find(entity)?;
        // SAFETY: the entity was found in this row; the rest is up to the caller.
        unsafe { self.fetch_here(entity, row) }
    }

    /// [`get`](Self::get) of an entity that was at `place` last, which is put right.
    ///
    /// # Safety
    /// As for [`get`](Self::get).
    #[inline]
    pub(crate) unsafe fn get_at(&mut self, entity: Entity, place: &mut Place) -> Option<D::Item<'w, 's>> {
        let row = self.find_at(entity, place)?;
        // SAFETY: as in `get`.
        unsafe { self.fetch_here(entity, row) }
    }

    /// Goes to the storage of an entity, for [`fetch_here`](Self::fetch_here). `None` if it is dead or in one that
    /// does not match.
    #[inline]
    pub(crate) fn find(&mut self, entity: Entity) -> Option<TableRow> {
        let location = self.origin.world.entities().get_spawned(entity).ok()?;
        self.enter(self.origin.state.storage(location));
        self.matches.then_some(location.table_row)
    }

    /// Goes to where an entity was last, or if it is not there any more to where it is, for
    /// [`fetch_here`](Self::fetch_here). `None` if it is dead or in a storage that does not match.
    #[inline]
    pub(crate) fn find_at(&mut self, entity: Entity, place: &mut Place) -> Option<TableRow> {
        if let Some(row) = place.row {
            self.enter(place.storage);
            // Rows of archetypes are others.
            if let Rows::Table(entities) = self.rows
                && entities.get(row.index()) == Some(&entity)
            {
                return Some(row);
            }
        }
        let row = self.find(entity);
        *place = Place { storage: self.storage, row };
        row
    }

    /// The rows of some entities, if all of them are where they were last and that is in the table that is set, for
    /// [`fetch_here`](Self::fetch_here).
    #[inline]
    pub(crate) fn rows_at<const N: usize>(
        &self,
        entities: &[Entity],
        places: &[Place],
    ) -> Option<[TableRow; N]> {
        let (table, first) = (self.table(), places.first()?.row?);
        let mut rows = [first; N];
        let mut all = entities.len() == N && places.len() == N;
        for ((row, entity), place) in rows.iter_mut().zip(entities).zip(places) {
            *row = place.row.unwrap_or(first);
            all &= place.storage == self.storage && table.get(row.index()) == Some(entity);
        }
        all.then_some(rows)
    }

    /// The entities of the table that is set, if tables match as a whole.
    #[inline]
    pub(crate) fn table(&self) -> &'w [Entity] {
        match self.rows {
            Rows::Table(entities) => entities,
            Rows::Archetype(_) => &[],
        }
    }

    /// The place of an entity in this row of the storage that is set.
    #[inline]
    pub(crate) fn place(&self, row: TableRow) -> Place {
        Place { storage: self.storage, row: Some(row) }
    }

    /// Goes to one of the [`storages`](Self::storages), and gives its entities.
    #[inline]
    pub(crate) fn enter(&mut self, storage: u32) -> Rows<'w> {
        if storage != self.storage {
            self.go_to(storage);
        }
        self.rows
    }

    /// The data of an entity that was found or entered, if the filters match.
    ///
    /// # Safety
    /// As for [`get`](Self::get), and the entity must be in this row of the storage that is set, which matches.
    #[inline]
    pub(crate) unsafe fn fetch_here(&mut self, entity: Entity, row: TableRow) -> Option<D::Item<'w, 's>> {
        // SAFETY: as the caller promises. What the filter looks at is not used beside the item.
        unsafe {
            if !F::IS_ARCHETYPAL && !F::filter_fetch(&self.origin.state.filter, &mut self.filter, entity, row)
            {
                return None;
            }
            D::fetch(&self.origin.state.data, &mut self.data, entity, row)
        }
    }

    /// Sets the fetches to a storage.
    fn go_to(&mut self, storage: u32) {
        self.storage = storage;
        self.matches = false;
        self.rows = Rows::NONE;
        if self.origin.state.matches(storage) {
            self.matches =
                if self.origin.state.dense { self.set_table() } else { self.set_archetype() }.is_some();
        }
    }

    fn set_table(&mut self) -> Option<()> {
        // SAFETY: only the structure of the tables is looked at here; columns are reached through the fetches.
        let table = unsafe { self.origin.world.storages().tables.get(TableId::from_u32(self.storage))? };
        // SAFETY: the table belongs to the world of the state, and matches.
        unsafe {
            D::set_table(&mut self.data, &self.origin.state.data, table);
            F::set_table(&mut self.filter, &self.origin.state.filter, table);
        }
        self.rows = Rows::Table(table.entities());
        Some(())
    }

    fn set_archetype(&mut self) -> Option<()> {
        let archetype = self.origin.world.archetypes().get(ArchetypeId::new(self.storage as usize))?;
        // SAFETY: as in `set_table`.
        let table = unsafe { self.origin.world.storages().tables.get(archetype.table_id())? };
        // SAFETY: archetype and table belong to the world of the state and to each other, and match.
        unsafe {
            D::set_archetype(&mut self.data, &self.origin.state.data, archetype, table);
            F::set_archetype(&mut self.filter, &self.origin.state.filter, archetype, table);
        }
        self.rows = Rows::Archetype(archetype.entities());
        Some(())
    }
}
