//! Components of one type as reflected values, one entity after the other.
//!
//! `ReflectComponent` finds the component id by a hash of the type, and the column anew for each entity. Here the
//! column of the table that was read last is kept.

use super::TickCursor;
use bevy_ecs::{
    component::ComponentId,
    entity::Entity,
    storage::{Column, TableId},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use bevy_reflect::{Reflect, ReflectFromPtr};
use core::any::TypeId;

/// Reads the components of one type.
#[derive(Clone, Copy)]
pub(crate) struct ReflectCursor<'w> {
    ticks: TickCursor<'w>,
    cast: fn(*mut ()) -> *mut dyn Reflect,
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
        // SAFETY: nothing writes components while the world is borrowed, and all of them may be read through the borrow.
        // Test: `fields_at_every_place_of_a_component_are_compared`.
        unsafe { Self::new(world.as_unsafe_world_cell_readonly(), component, type_of) }
    }

    /// # Safety
    /// For `'w`, the component may be read on every entity of the world, and nothing writes it.
    pub(super) unsafe fn new(
        world: UnsafeWorldCell<'w>,
        component: ComponentId,
        type_of: &ReflectFromPtr,
    ) -> Option<Self> {
        let info = world.components().get_info(component)?;
        let expected: TypeId = type_of.type_id();
        (info.type_id() == Some(expected)).then_some(())?;
        // SAFETY: as the caller promises.
        let ticks = unsafe { TickCursor::new(world, component)? };
        Some(Self { ticks, cast: type_of.raw_pointer_cast(), table: None, column: None })
    }

    /// The change ticks of the component.
    pub(crate) fn ticks(&self) -> TickCursor<'w> {
        self.ticks
    }

    /// The component of an entity. `None` if it is dead or has none.
    #[inline]
    pub(crate) fn get(&mut self, entity: Entity) -> Option<&'w dyn Reflect> {
        let TickCursor { world, component, is_sparse } = self.ticks;
        let location = world.entities().get_spawned(entity).ok()?;
        let value = if is_sparse {
            // SAFETY: of the storages, the set of the component is read, which `new` was promised.
            unsafe { world.storages() }.sparse_sets.get(component)?.get(entity)?
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
        let tables = unsafe { &self.ticks.world.storages().tables };
        self.column = tables.get(table).and_then(|table| table.get_column(self.ticks.component));
    }
}
