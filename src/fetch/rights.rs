//! What a system may read, whatever its query terms are.

#[cfg(feature = "bevy_reflect")]
use super::reflected::ReflectCursor;
use super::{TickCursor, changed::for_each_changed_of, component::read_component, slices::read_slice};
use bevy_ecs::{
    change_detection::Tick,
    component::{Component, ComponentId},
    entity::Entity,
    query::Access,
    storage::TableId,
    world::unsafe_world_cell::UnsafeWorldCell,
};
#[cfg(feature = "bevy_reflect")]
use bevy_reflect::ReflectFromPtr;
use core::ops::Range;

/// The right to read components, on whichever entity they are.
pub(crate) struct ReadRights<'w, 's> {
    world: UnsafeWorldCell<'w>,
    access: &'s Access,
}

impl<'w, 's> ReadRights<'w, 's> {
    /// # Safety
    /// While the result is borrowed, what `access` reads may be read on every entity of the world, and nothing writes
    /// it.
    pub(crate) unsafe fn new(world: UnsafeWorldCell<'w>, access: &'s Access) -> Self {
        Self { world, access }
    }

    /// `None` also if the component must not be read.
    #[cfg(feature = "bevy_reflect")]
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

    /// `None` also if the component must not be read.
    pub(crate) fn ticks(&self, component: ComponentId) -> Option<TickCursor<'_>> {
        if !self.access.has_read(component) {
            return None;
        }
        // SAFETY: as in `cursor`. Test: `the_rows_of_live_expressions_are_those_of_a_run_from_scratch`.
        unsafe { TickCursor::new(self.world, component) }
    }

    /// Calls a function with each entity, also with those that are disabled, of which a component was inserted or written
    /// after `since`, up to `now`. Returns false if it must not be read.
    ///
    /// # Complexity
    /// As for [`for_each_changed`](super::for_each_changed).
    pub(crate) fn for_each_changed(
        &self,
        component: ComponentId,
        (since, now): (Tick, Tick),
        visit: impl FnMut(Entity),
    ) -> bool {
        let may_read = self.access.has_read(component);
        if may_read {
            // SAFETY: as in `cursor`. Test: `a_system_keeps_groups_and_order_as_the_world_does`.
            unsafe { for_each_changed_of(self.world, component, since, now, visit) }
        }
        may_read
    }

    /// As [`component`](super::component()). `None` also if it must not be read.
    #[inline]
    pub(crate) fn component<T: Component>(
        &self,
        id: ComponentId,
        entity: Entity,
        place: Option<(TableId, usize)>,
    ) -> Option<&T> {
        if !self.access.has_read(id) {
            return None;
        }
        // SAFETY: as in `cursor`. Test: `a_field_is_read_wherever_its_component_is`.
        unsafe { read_component(self.world, id, entity, place) }
    }

    /// The components of rows of a table. `None` if the table has no such column or no such rows, or if the component must
    /// not be read.
    pub(crate) fn slice<T: Component>(&self, table: TableId, rows: Range<usize>) -> Option<&[T]> {
        let component = self.world.components().component_id::<T>()?;
        if !self.access.has_read(component) {
            return None;
        }
        // SAFETY: as in `cursor`. Test: `a_system_reads_and_writes_tables_as_the_world_does`.
        unsafe { read_slice(self.world, table, rows) }
    }
}
