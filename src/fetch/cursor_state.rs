//! What a cursor reads, and of which entities.
#![expect(unsafe_code, reason = "a query is made whose access is declared later")]

use super::rows::{StorageEntities, StorageRows, table_entities};
use crate::store::BitSet;
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::{ArchetypeGeneration, ArchetypeId},
    component::StorageType,
    entity::{Entities, Entity, EntityLocation},
    entity_disabling::DefaultQueryFilters,
    query::{FilteredAccess, FilteredAccessSet, QueryData, QueryFilter, QueryState},
    storage::TableId,
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::{any::TypeId, ops::Deref};

/// What to read of entities, and which of them match: a `Query` without its iteration.
pub(crate) struct CursorState<D: QueryData, F: QueryFilter = ()> {
    /// Declares the access and decides which archetypes match. Its own states of `D` and `F` are private.
    query: QueryState<D, F>,
    matches: StorageMatches<D::State, F::State>,
    /// Whether an archetype matches; those that are not there do not.
    archetypes: Vec<bool>,
    generation: Option<ArchetypeGeneration>,
}

/// Which storages match, with the states of data and filter: those of data that is written are those of the same that is
/// only read.
pub(crate) struct StorageMatches<D, F> {
    pub(super) data: D,
    pub(super) filter: F,
    /// Whether a table matches or does not match as a whole, with all archetypes in it.
    pub(super) dense: bool,
    /// The tables that match if `dense`, else the archetypes.
    matched: BitSet,
    /// What matches as in `matched`, in order.
    pub(super) storages: Vec<u32>,
    /// The data is `()`, and whether an entity matches is decided by its storage.
    pub(super) reads_nothing: bool,
    /// If so, the storages that do not match.
    pub(super) others: Vec<u32>,
}

impl<D: QueryData, F: QueryFilter> Deref for CursorState<D, F> {
    type Target = StorageMatches<D::State, F::State>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.matches
    }
}

impl<D: QueryData, F: QueryFilter> CursorState<D, F> {
    /// # Safety
    /// [`init_access`](Self::init_access) must be called before anything else, unless `D` only reads.
    pub(crate) unsafe fn new(world: &mut World) -> Self {
        // SAFETY: the caller calls `init_access` first, which is that of the query.
        let query = unsafe { QueryState::new_unchecked(world) };
        Self::of(query, world)
    }

    /// For what a query has declared.
    pub(crate) fn of(query: QueryState<D, F>, world: &mut World) -> Self {
        let (data, filter) = (D::init_state(world), F::init_state(world));
        let disabling: Vec<_> = world
            .get_resource::<DefaultQueryFilters>()
            .map_or_else(Vec::new, |filters| filters.disabling_ids().collect());
        let in_tables =
            |id| world.components().get_info(id).is_some_and(|i| i.storage_type() == StorageType::Table);
        let dense = D::IS_DENSE && F::IS_DENSE && disabling.into_iter().all(in_tables);
        let matches = StorageMatches {
            data,
            filter,
            dense,
            matched: BitSet::default(),
            storages: Vec::new(),
            reads_nothing: false,
            others: Vec::new(),
        };
        Self { query, matches, archetypes: Vec::new(), generation: None }
    }

    /// The query that declares the access.
    pub(crate) fn query(&self) -> &QueryState<D, F> {
        &self.query
    }

    /// Finds out whether there is nothing to read, for [`FetchCursor::all_match`](super::FetchCursor::all_match).
    pub(crate) fn detect_no_reads(mut self) -> Self
    where
        D: 'static,
    {
        self.matches.reads_nothing = TypeId::of::<D>() == TypeId::of::<()>() && F::IS_ARCHETYPAL;
        self
    }

    /// Declares everything that a [`FetchCursor`](super::FetchCursor) reads and writes.
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

    /// What is read and written of the entities themselves, and what decides which of them match.
    pub(crate) fn access(&self) -> &FilteredAccess {
        self.query.component_access()
    }

    /// Adds new archetypes. Must come before [`FetchCursor::new`](super::FetchCursor::new).
    pub(crate) fn update(&mut self, world: UnsafeWorldCell<'_>) {
        let Self { query, matches, archetypes, generation: known } = self;
        D::update_archetypes(&mut matches.data, world);
        F::update_archetypes(&mut matches.filter, world);
        let generation = world.archetypes().generation();
        if known.replace(generation) == Some(generation) {
            return;
        }
        query.update_archetypes_unsafe_world_cell(world);
        matches.storages.clear();
        if matches.dense {
            matches.storages.extend(query.matched_tables().map(TableId::as_u32));
        } else {
            matches.storages.extend(query.matched_archetypes().map(|archetype| archetype.index() as u32));
        }
        for &storage in &matches.storages {
            matches.matched.insert(storage as usize);
        }
        archetypes.resize(world.archetypes().len(), false);
        for archetype in query.matched_archetypes() {
            archetypes[archetype.index()] = true;
        }
        if matches.reads_nothing {
            matches.find_others(world);
        }
    }

    /// Whether an entity is alive and matches, as far as its archetype decides that.
    #[inline]
    pub(crate) fn matches_entity(&self, entities: &Entities, entity: Entity) -> bool {
        let location = entities.get_spawned(entity);
        location.is_ok_and(|location| self.archetypes.get(location.archetype_id.index()) == Some(&true))
    }
}

impl<D, F> StorageMatches<D, F> {
    /// Finds the storages that do not match.
    fn find_others(&mut self, world: UnsafeWorldCell<'_>) {
        // SAFETY: only the structure of the tables is looked at here.
        let tables = unsafe { world.storages().tables.len() };
        let count = if self.dense { tables } else { world.archetypes().len() };
        let mut others = core::mem::take(&mut self.others);
        others.clear();
        others.extend((0..count as u32).filter(|&storage| !self.matches(storage)));
        self.others = others;
    }

    /// The storages that match as a whole, each with its entities: tables if that suffices, else archetypes.
    pub(crate) fn storages<'w>(&self, world: UnsafeWorldCell<'w>) -> impl Iterator<Item = StorageRows<'w>> {
        self.storages.iter().map(move |&number| StorageRows { number, rows: self.rows(world, number) })
    }

    /// The entities of a storage.
    pub(super) fn rows<'w>(&self, world: UnsafeWorldCell<'w>, storage: u32) -> StorageEntities<'w> {
        if self.dense {
            StorageEntities::Table(table_entities(world, TableId::from_u32(storage)))
        } else {
            let archetype = world.archetypes().get(ArchetypeId::new(storage as usize));
            archetype
                .map_or(StorageEntities::NONE, |archetype| StorageEntities::Archetype(archetype.entities()))
        }
    }

    #[inline]
    pub(super) fn matches(&self, storage: u32) -> bool {
        self.matched.contains(storage as usize)
    }

    /// The number of the table or archetype, whichever is matched as a whole.
    #[inline]
    pub(super) fn storage(&self, location: EntityLocation) -> u32 {
        if self.dense { location.table_id.as_u32() } else { location.archetype_id.index() as u32 }
    }
}
