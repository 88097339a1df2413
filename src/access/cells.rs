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
    query::{FilteredAccessSet, QueryData, QueryFilter, QueryState},
    storage::{Table, TableId, TableRow},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use nonmax::NonMaxU32;

/// What to read of entities, and which of them match: a `Query` without its iteration.
pub(crate) struct CellsState<D: QueryData + 'static, F: QueryFilter + 'static = ()> {
    /// Declares the access and decides which archetypes match. Its own states of `D` and `F` are private.
    query: QueryState<D, F>,
    data: D::State,
    filter: F::State,
    /// Whether a table matches or does not match as a whole, with all archetypes in it.
    pub(super) dense: bool,
    /// The tables that match if `dense`, else the archetypes; a bit each.
    matched: Vec<u64>,
    generation: Option<ArchetypeGeneration>,
}

impl<D: QueryData + 'static, F: QueryFilter + 'static> CellsState<D, F> {
    /// # Safety
    /// [`init_access`](Self::init_access) must be called before anything else.
    pub(crate) unsafe fn new(world: &mut World) -> Self {
        let (data, filter) = (D::init_state(world), F::init_state(world));
        let disabling: Vec<_> = world
            .get_resource::<DefaultQueryFilters>()
            .into_iter()
            .flat_map(DefaultQueryFilters::disabling_ids)
            .collect();
        let in_tables =
            |id| world.components().get_info(id).is_some_and(|i| i.storage_type() == StorageType::Table);
        let dense = D::IS_DENSE && F::IS_DENSE && disabling.into_iter().all(in_tables);
        // SAFETY: the caller calls `init_access` first, which is that of the query.
        let query = unsafe { QueryState::new_unchecked(world) };
        Self { query, data, filter, dense, matched: Vec::new(), generation: None }
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

    /// The query that decides.
    pub(crate) fn query(&self) -> &QueryState<D, F> {
        &self.query
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
        let matched = &mut self.matched;
        let mut insert = |storage: usize| {
            if matched.len() <= storage / 64 {
                matched.resize(storage / 64 + 1, 0);
            }
            matched[storage / 64] |= 1 << (storage % 64);
        };
        if self.dense {
            self.query.matched_tables().for_each(|table| insert(table.as_usize()));
        } else {
            self.query.matched_archetypes().for_each(|archetype| insert(archetype.index()));
        }
    }

    /// The storages that match as a whole, each with its entities: tables if that suffices, else archetypes.
    pub(crate) fn storages<'w>(&self, world: UnsafeWorldCell<'w>) -> impl Iterator<Item = StorageRows<'w>> {
        // SAFETY: only the structure of the tables is looked at, no component.
        let tables = unsafe { &world.storages().tables };
        let table = |id| Some((TableId::as_u32(id), Rows::Table(tables.get(id)?.entities())));
        let archetype = move |id: ArchetypeId| {
            Some((id.index() as u32, Rows::Archetype(world.archetypes().get(id)?.entities())))
        };
        let tables = self.dense.then(|| self.query.matched_tables().filter_map(table));
        let archetypes = (!self.dense).then(|| self.query.matched_archetypes().filter_map(archetype));
        let storages = tables.into_iter().flatten().chain(archetypes.into_iter().flatten());
        storages.map(|(number, rows)| StorageRows { number, rows })
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
    pub(super) storage: u32,
    pub(super) row: Option<TableRow>,
}

impl Place {
    /// Nowhere: the entity will be looked up.
    pub(crate) const UNKNOWN: Self = Self { storage: u32::MAX, row: None };

    /// The number of the storage, as in [`StorageRows`].
    #[inline]
    pub(crate) fn storage(self) -> u32 {
        self.storage
    }
}

/// A storage that matches as a whole.
pub(crate) struct StorageRows<'w> {
    pub(crate) number: u32,
    rows: Rows<'w>,
}

enum Rows<'w> {
    Table(&'w [Entity]),
    Archetype(&'w [ArchetypeEntity]),
}

impl StorageRows<'_> {
    pub(crate) fn len(&self) -> usize {
        match self.rows {
            Rows::Table(rows) => rows.len(),
            Rows::Archetype(rows) => rows.len(),
        }
    }

    /// The entities with their places, in the order of rows.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (Entity, Place)> {
        let storage = self.number;
        (0..self.len()).map(move |at| match self.rows {
            Rows::Table(rows) => {
                let row = NonMaxU32::new(at as u32).map(TableRow::new);
                (rows[at], Place { storage, row })
            }
            Rows::Archetype(rows) => (rows[at].id(), Place { storage, row: Some(rows[at].table_row()) }),
        })
    }
}

/// Reads and writes `D` of entities that match `F`.
pub(crate) struct Cells<'w, 's, D: QueryData + 'static, F: QueryFilter + 'static = ()> {
    world: UnsafeWorldCell<'w>,
    state: &'s CellsState<D, F>,
    data: D::Fetch<'w>,
    filter: F::Fetch<'w>,
    /// The storage to which `data` and `filter` are set, and whether it matches.
    storage: u32,
    matches: bool,
    /// The entities of the table to which they are set, if they are matched by the table.
    rows: &'w [Entity],
}

impl<D: QueryData + 'static, F: QueryFilter + 'static> Clone for Cells<'_, '_, D, F> {
    fn clone(&self) -> Self {
        Self { data: self.data.clone(), filter: self.filter.clone(), ..*self }
    }
}

impl<'w, 's, D: QueryData + 'static, F: QueryFilter + 'static> Cells<'w, 's, D, F> {
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
        let (data, filter) = unsafe {
            (
                D::init_fetch(world, &state.data, last_run, this_run),
                F::init_fetch(world, &state.filter, last_run, this_run),
            )
        };
        Self { world, state, data, filter, storage: u32::MAX, matches: false, rows: &[] }
    }

    /// The data of an entity. `None` if it is dead or does not match.
    ///
    /// # Safety
    /// As for [`QueryData::fetch`]: no other item of this entity that conflicts with it may be alive; and of no
    /// entity at all, if `D` is not `IterQueryData`.
    #[inline]
    pub(crate) unsafe fn get(&mut self, entity: Entity) -> Option<D::Item<'w, 's>> {
        let location = self.world.entities().get_spawned(entity).ok()?;
        let row = self.go(location)?;
        // SAFETY: the storage of the entity is set, and matches; the rest is up to the caller.
        unsafe { self.fetch_here(entity, row) }
    }

    /// [`get`](Self::get) of an entity that was at `place` last, which is put right.
    ///
    /// # Safety
    /// As for [`get`](Self::get).
    #[inline]
    pub(crate) unsafe fn get_at(&mut self, entity: Entity, place: &mut Place) -> Option<D::Item<'w, 's>> {
        let row = self.seek(entity, place)?;
        // SAFETY: the entity was just sought; the rest is up to the caller.
        unsafe { self.fetch_here(entity, row) }
    }

    /// Goes to the storage of an entity that was at `place` last, which is put right, and gives its row. `None` if
    /// the entity is dead or its storage does not match.
    #[inline(always)]
    pub(crate) fn seek(&mut self, entity: Entity, place: &mut Place) -> Option<TableRow> {
        // Rows are known only of tables that match as a whole.
        if let Some(row) = place.row
            && place.storage == self.storage
            && self.rows.get(row.index()) == Some(&entity)
        {
            return Some(row);
        }
        self.look_up(entity, place)
    }

    /// [`seek`](Self::seek) of an entity that is not at `place`.
    fn look_up(&mut self, entity: Entity, place: &mut Place) -> Option<TableRow> {
        let location = self.world.entities().get_spawned(entity).ok()?;
        *place = Place { storage: self.state.storage(location), row: Some(location.table_row) };
        self.go(location)
    }

    /// Goes to a location, if its storage matches.
    #[inline]
    fn go(&mut self, location: EntityLocation) -> Option<TableRow> {
        let storage = self.state.storage(location);
        if storage != self.storage {
            self.go_to(storage, location);
        }
        self.matches.then_some(location.table_row)
    }

    /// Whether the filter lets an entity pass.
    ///
    /// # Safety
    /// The entity must be in this row of the storage that is set, which matches: [`seek`](Self::seek) says so. Nobody
    /// may write what the filter looks at meanwhile.
    #[inline]
    pub(crate) unsafe fn passes(&mut self, entity: Entity, row: TableRow) -> bool {
        // SAFETY: as the caller promises.
        F::IS_ARCHETYPAL || unsafe { F::filter_fetch(&self.state.filter, &mut self.filter, entity, row) }
    }

    /// The data of an entity that was [sought](Self::seek) last.
    ///
    /// # Safety
    /// As for [`get`](Self::get), and the entity must be in this row of the storage that is set, which matches.
    #[inline(always)]
    pub(crate) unsafe fn fetch_here(&mut self, entity: Entity, row: TableRow) -> Option<D::Item<'w, 's>> {
        // SAFETY: as the caller promises. What the filter looks at is not used beside the item.
        unsafe {
            if !self.passes(entity, row) {
                return None;
            }
            D::fetch(&self.state.data, &mut self.data, entity, row)
        }
    }

    /// Sets the fetches to the storage of a location.
    fn go_to(&mut self, storage: u32, location: EntityLocation) {
        self.storage = storage;
        self.matches = self.state.matches(storage);
        self.rows = &[];
        if !self.matches {
            return;
        }
        let Some(archetype) = self.world.archetypes().get(location.archetype_id) else { return };
        // SAFETY: only the structure of the tables is looked at here; columns are reached through the fetches.
        let tables = unsafe { &self.world.storages().tables };
        let Some(table) = tables.get(location.table_id) else { return };
        // SAFETY: archetype and table are those of a location in the world of the state, and match.
        unsafe {
            if self.state.dense {
                D::set_table(&mut self.data, &self.state.data, table);
                F::set_table(&mut self.filter, &self.state.filter, table);
            } else {
                D::set_archetype(&mut self.data, &self.state.data, archetype, table);
                F::set_archetype(&mut self.filter, &self.state.filter, archetype, table);
            }
        }
        if self.state.dense {
            self.rows = Table::entities(table);
        }
    }
}
