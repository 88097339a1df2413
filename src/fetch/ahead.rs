//! Asking for data of known entities before it is their turn.
//!
//! Reading one entity after the other in no order of the tables waits for memory each time: the processor looks ahead by a
//! few of them at most. So it is given the addresses of what comes a little later. That is a hint: it changes nothing
//! but the time.

use super::{CursorState, RowHint, rows::table_row};
use bevy_ecs::{
    component::{ComponentId, StorageType},
    query::{ComponentIdSet, QueryData, QueryFilter},
    storage::{Table, TableId},
    world::unsafe_world_cell::UnsafeWorldCell,
};
use smallvec::SmallVec;

/// Prefetches the memory at an address, on processors that have an instruction for it.
#[inline]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, for which every address will do.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches what [`FetchCursor`](super::FetchCursor) will look at.
pub(crate) struct Ahead<'w> {
    world: UnsafeWorldCell<'w>,
    /// What is kept in tables, with the size of a value.
    components: SmallVec<[(ComponentId, usize); 4]>,
    /// The table in which `columns` are: the address of the first value, and the size of one.
    storage: u32,
    columns: SmallVec<[(*const u8, usize); 4]>,
}

impl<'w> Ahead<'w> {
    pub(crate) fn new<D: QueryData, F: QueryFilter>(
        state: &CursorState<D, F>,
        world: UnsafeWorldCell<'w>,
    ) -> Self {
        let access = state.access().access().reads().as_finite_set();
        let components = access.filter(|_| state.dense);
        let in_tables = |id| {
            let info = world.components().get_info(id)?;
            let size = info.layout().size();
            (info.storage_type() == StorageType::Table && size > 0).then_some((id, size))
        };
        let components =
            components.into_iter().flat_map(ComponentIdSet::iter).filter_map(in_tables).collect();
        Self { world, components, storage: u32::MAX, columns: SmallVec::new() }
    }

    /// Prefetches what is in a place.
    #[inline]
    pub(crate) fn ask(&mut self, place: RowHint) {
        let Some(row) = place.row else { return };
        if place.storage != self.storage {
            self.go_to(place.storage);
        }
        for &(first, size) in &self.columns {
            let address = first.wrapping_add(row.index() * size);
            prefetch(address);
            if size > 16 {
                prefetch(address.wrapping_add(size - 1));
            }
        }
    }

    #[cold]
    fn go_to(&mut self, storage: u32) {
        self.storage = storage;
        self.columns.clear();
        // SAFETY: only the structure of the tables is looked at, no component.
        let table = unsafe { self.world.storages().tables.get(TableId::from_u32(storage)) };
        let Some(table) = table.filter(|table| !self.components.is_empty() && !Table::is_empty(table)) else {
            return;
        };
        self.columns.push((table.entities().as_ptr().cast(), size_of::<bevy_ecs::entity::Entity>()));
        for &(id, size) in &self.components {
            if let Some(column) = table.get_column(id) {
                // SAFETY: the table has a first row. No reference is made, only the address is taken.
                let first = unsafe { column.get_data_unchecked(table_row(0)) };
                self.columns.push((first.as_ptr(), size));
            }
        }
    }
}
