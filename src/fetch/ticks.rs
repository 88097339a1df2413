//! The change ticks of a component on all entities, compared with those that were read before.

use super::changed::TICKS_AT_ONCE;
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::Archetype,
    change_detection::Tick,
    component::{ComponentId, StorageType},
    entity::Entity,
    storage::TableId,
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::cell::UnsafeCell;

/// Reads the change ticks of a component.
#[derive(Clone, Copy)]
pub(crate) struct TickCursor<'w> {
    pub(super) world: UnsafeWorldCell<'w>,
    pub(super) component: ComponentId,
    pub(super) is_sparse: bool,
}

impl<'w> TickCursor<'w> {
    /// A cursor in a world that is borrowed. `None` if there is no such component.
    pub(crate) fn of_world(world: &'w World, component: ComponentId) -> Option<Self> {
        // SAFETY: nothing writes components while the world is borrowed, and all of them may be read through the borrow.
        // Test: `the_rows_of_live_expressions_are_those_of_a_run_from_scratch`.
        unsafe { Self::new(world.as_unsafe_world_cell_readonly(), component) }
    }

    /// # Safety
    /// For `'w`, the component may be read on every entity of the world, and nothing writes it.
    pub(super) unsafe fn new(world: UnsafeWorldCell<'w>, component: ComponentId) -> Option<Self> {
        let info = world.components().get_info(component)?;
        Some(Self { world, component, is_sparse: info.storage_type() == StorageType::SparseSet })
    }

    /// Calls a function with each entity whose component was inserted or written since this was called last with the
    /// same ticks, or after a tick; with some others that were moved; or with all, without a tick. Returns how many
    /// entities have the component.
    ///
    /// A tick to compare with is not enough: Bevy inserts with the tick at which the operation began, and observers may
    /// read in the midst of it, in ticks of their own, so that what is inserted next seems older than that. It has
    /// another tick than what was in its row, though, or its row is new: rows change hands between operations only, and
    /// those that follow have newer ticks.
    ///
    /// # Complexity
    /// O(archetypes with the component), and O(entities with it) in columns without a summary tick or with one that is
    /// no older than the trackers that were cleared last before the call before.
    pub(crate) fn for_each_changed(
        &self,
        after: Option<Tick>,
        known: &mut KnownTicks,
        mut each: impl FnMut(Entity),
    ) -> usize {
        if after.is_none() {
            *known = KnownTicks::default();
        }
        let now = self.world.change_tick().get();
        let age = |tick: Tick| now.wrapping_sub(tick.get());
        let limit = after.map_or(u32::MAX, age);
        // Ticks that are read belong to writes that are over, so that none is newer than the world's.
        let unread = Tick::new(now.wrapping_add(1));
        let is_new = |tick: Tick, known: Tick| (age(tick) < limit) | (tick != known);
        // Trackers are cleared while no operation goes on, so that what is written later has a newer tick.
        let cleared = known.cleared.replace(self.world.last_change_tick());
        let is_settled = |tick: Tick| cleared.is_some_and(|cleared| age(tick) > age(cleared));
        let archetypes = self.world.archetypes();
        let Some(with) = archetypes.component_index().get(&self.component) else { return 0 };
        let with = with.keys().filter_map(|&id| archetypes.get(id)).filter(|archetype| !archetype.is_empty());
        // SAFETY: of the storages, only ticks of the component are read, which `new` was promised.
        let storages = unsafe { self.world.storages() };
        let mut len = 0;
        if self.is_sparse {
            let Some(set) = storages.sparse_sets.get(self.component) else { return 0 };
            for archetype in with {
                let entities = archetype.entities();
                len += entities.len();
                let known = known.of(archetype.id().index());
                known.resize(entities.len(), unread);
                for (entity, known) in entities.iter().zip(known) {
                    // SAFETY: nothing writes the component, and so nothing its ticks, as `new` was promised.
                    let tick = set.get_changed_tick(entity.id()).map(|tick| unsafe { *tick.get() });
                    if let Some(tick) = tick.filter(|&tick| is_new(tick, *known)) {
                        *known = tick;
                        each(entity.id());
                    }
                }
            }
            return len;
        }
        let mut tables: Vec<TableId> = with.map(Archetype::table_id).collect();
        tables.sort_unstable_by_key(|table| table.as_usize());
        tables.dedup();
        for (id, table) in tables.into_iter().filter_map(|id| Some((id, storages.tables.get(id)?))) {
            let Some(ticks) = table.get_changed_ticks_slice_for(self.component) else { continue };
            len += ticks.len();
            let known = known.of(id.as_usize());
            let summary = table.get_summary_tick(self.component);
            if known.len() == ticks.len() && summary.is_some_and(|summary| is_settled(summary.get())) {
                continue;
            }
            known.resize(ticks.len(), unread);
            // SAFETY: nothing writes the component, and so nothing its ticks, as `new` was promised.
            let read = |tick: &UnsafeCell<Tick>| unsafe { *tick.get() };
            let mut each_of = |ticks: &[UnsafeCell<Tick>], known: &mut [Tick], entities: &[Entity]| {
                for ((tick, known), &entity) in ticks.iter().zip(known).zip(entities) {
                    if is_new(read(tick), *known) {
                        *known = read(tick);
                        each(entity);
                    }
                }
            };
            let (ticks, last_ticks) = ticks.as_chunks::<TICKS_AT_ONCE>();
            let (known, last_known) = known.as_chunks_mut::<TICKS_AT_ONCE>();
            let (entities, last_entities) = table.entities().as_chunks::<TICKS_AT_ONCE>();
            for ((ticks, known), entities) in ticks.iter().zip(known).zip(entities) {
                // Without a branch per tick, so that several are compared at once.
                let pairs = ticks.iter().zip(&*known);
                if pairs.fold(false, |any, (tick, &known)| any | is_new(read(tick), known)) {
                    each_of(ticks, known, entities);
                }
            }
            each_of(last_ticks, last_known, last_entities);
        }
        len
    }
}

/// The change ticks of a component that were read.
#[derive(Default)]
pub(crate) struct KnownTicks {
    /// Row by row, by the number of the table, or of the archetype if the component is not kept in tables.
    ticks: Vec<Vec<Tick>>,
    /// When trackers had been cleared last.
    cleared: Option<Tick>,
}

impl KnownTicks {
    fn of(&mut self, storage: usize) -> &mut Vec<Tick> {
        if storage >= self.ticks.len() {
            self.ticks.resize_with(storage + 1, Vec::new);
        }
        &mut self.ticks[storage]
    }
}
