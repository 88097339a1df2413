//! Components of one type as reflected values, one entity after the other.
//!
//! `ReflectComponent` finds the component id by a hash of the type, and the column anew for each entity. Here the column of the
//! table that was read last is kept.

use super::changed::for_each_new;
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::Archetype,
    change_detection::Tick,
    component::{ComponentId, StorageType},
    entity::Entity,
    query::Access,
    storage::{Column, TableId},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use bevy_reflect::{Reflect, ReflectFromPtr};
use core::any::TypeId;

/// The right to read components, on whichever entity they are.
pub(crate) struct ReadRights<'w, 's> {
    world: UnsafeWorldCell<'w>,
    access: &'s Access,
}

impl<'w, 's> ReadRights<'w, 's> {
    /// # Safety
    /// While the result is borrowed, what `access` reads may be read on every entity of the world, and nothing writes it.
    pub(crate) unsafe fn new(world: UnsafeWorldCell<'w>, access: &'s Access) -> Self {
        Self { world, access }
    }

    /// `None` also if the component must not be read.
    pub(crate) fn cursor(
        &self,
        component: ComponentId,
        type_of: &ReflectFromPtr,
    ) -> Option<ReflectCursor<'_>> {
        if !self.access.has_read(component) {
            return None;
        }
        // SAFETY: the component is one that may be read for as long as `self` is borrowed, as `new` was promised. Test:
        // `a_system_compares_what_it_has_declared`.
        unsafe { ReflectCursor::new(self.world, component, type_of) }
    }
}

/// Reads the components of one type.
#[derive(Clone, Copy)]
pub(crate) struct ReflectCursor<'w> {
    world: UnsafeWorldCell<'w>,
    component: ComponentId,
    cast: fn(*mut ()) -> *mut dyn Reflect,
    is_sparse: bool,
    /// The table that was read last, and its column.
    table: Option<TableId>,
    column: Option<&'w Column>,
}

impl<'w> ReflectCursor<'w> {
    /// A cursor in a world that is borrowed. `None` if the component is not of the type that `type_of` is for.
    pub(crate) fn of_world(
        world: &'w World,
        component: ComponentId,
        type_of: &ReflectFromPtr,
    ) -> Option<Self> {
        // SAFETY: nothing writes components while the world is borrowed, and who borrows it may read all of them.
        // Test: `fields_at_every_place_of_a_component_are_compared`.
        unsafe { Self::new(world.as_unsafe_world_cell_readonly(), component, type_of) }
    }

    /// # Safety
    /// For `'w`, the component may be read on every entity of the world, and nothing writes it.
    unsafe fn new(
        world: UnsafeWorldCell<'w>,
        component: ComponentId,
        type_of: &ReflectFromPtr,
    ) -> Option<Self> {
        let info = world.components().get_info(component)?;
        let expected: TypeId = type_of.type_id();
        (info.type_id() == Some(expected)).then(|| Self {
            world,
            component,
            cast: type_of.raw_pointer_cast(),
            is_sparse: info.storage_type() == StorageType::SparseSet,
            table: None,
            column: None,
        })
    }

    /// The component of an entity. `None` if it is dead or has none.
    #[inline]
    pub(crate) fn get(&mut self, entity: Entity) -> Option<&'w dyn Reflect> {
        let location = self.world.entities().get_spawned(entity).ok()?;
        let value = if self.is_sparse {
            // SAFETY: of the storages, the set of the component is read, which `new` was promised.
            unsafe { self.world.storages() }.sparse_sets.get(self.component)?.get(entity)?
        } else {
            if self.table != Some(location.table_id) {
                self.enter(location.table_id);
            }
            // SAFETY: the column is that of the entity's table, so it has the entity's row. Nothing writes it, as `new` was
            // promised. Test: `fields_at_every_place_of_a_component_are_compared`.
            unsafe { self.column?.get_data_unchecked(location.table_row) }
        };
        let value: *mut dyn Reflect = (self.cast)(value.as_ptr().cast_mut().cast());
        // SAFETY: the pointer is to a component of the type that the cast is for, as `new` has made sure. It is read alone,
        // and nothing writes or moves it for `'w`. Test: `fields_at_every_place_of_a_component_are_compared`.
        Some(unsafe { &*value })
    }

    #[cold]
    fn enter(&mut self, table: TableId) {
        self.table = Some(table);
        // SAFETY: of the storages, the column of the component is read, which `new` was promised.
        let tables = unsafe { &self.world.storages().tables };
        self.column = tables.get(table).and_then(|table| table.get_column(self.component));
    }

    /// Calls a function with each entity whose component was inserted or written after a tick, or with all. Columns with a
    /// summary tick that is no newer are passed over. Returns how many entities have the component.
    ///
    /// # Complexity
    /// O(archetypes with the component), and O(entities with it) in columns without a summary tick or with a newer one.
    pub(crate) fn for_each_changed(&self, after: Option<Tick>, mut each: impl FnMut(Entity)) -> usize {
        let now = self.world.change_tick().get();
        let age = after.map_or(u32::MAX, |after| now.wrapping_sub(after.get()));
        // Ticks that are read belong to writes that are over, so that none is newer than the world's.
        let is_new = |tick: Tick| now.wrapping_sub(tick.get()) < age;
        let archetypes = self.world.archetypes();
        let Some(with) = archetypes.component_index().get(&self.component) else { return 0 };
        let with = with.keys().filter_map(|&id| archetypes.get(id)).filter(|archetype| !archetype.is_empty());
        // SAFETY: of the storages, only ticks of the component are read, which `new` was promised.
        let storages = unsafe { self.world.storages() };
        let mut len = 0;
        if self.is_sparse {
            let Some(set) = storages.sparse_sets.get(self.component) else { return 0 };
            for entity in with.flat_map(Archetype::entities) {
                len += 1;
                // SAFETY: nothing writes the component, and so nothing its ticks, as `new` was promised.
                let tick = set.get_changed_tick(entity.id()).map(|tick| unsafe { *tick.get() });
                if tick.is_some_and(is_new) {
                    each(entity.id());
                }
            }
            return len;
        }
        let mut tables: Vec<TableId> = with.map(Archetype::table_id).collect();
        tables.sort_unstable_by_key(|table| table.as_usize());
        tables.dedup();
        for table in tables.into_iter().filter_map(|id| storages.tables.get(id)) {
            len += table.entity_count() as usize;
            if table.get_summary_tick(self.component).is_some_and(|summary| !is_new(summary.get())) {
                continue;
            }
            let Some(ticks) = table.get_changed_ticks_slice_for(self.component) else { continue };
            // SAFETY: nothing writes the component, and so nothing its ticks, as `new` was promised.
            unsafe { for_each_new(ticks, table.entities(), is_new, &mut each) };
        }
        len
    }
}
