//! The components of one type in a table, side by side.

use bevy_ecs::{
    change_detection::{MaybeLocation, Tick},
    component::{Component, Mutable},
    storage::TableId,
    world::World,
};
use core::{cell::UnsafeCell, ops::Range, panic::Location};

/// The components of rows of a table. `None` if the table has no such column or no such rows.
pub(crate) fn table_slice<T: Component>(world: &World, table: TableId, rows: Range<usize>) -> Option<&[T]> {
    let cursor = cursor::<T>(world, table, rows)?;
    // SAFETY: `UnsafeCell<T>` has the layout of `T`. Nothing writes components while the world is borrowed: as with
    // `World::get`, who borrows it may read all of it.
    // Test: `slices_hold_what_rows_hold`.
    Some(unsafe { &*(core::ptr::from_ref(cursor) as *const [T]) })
}

/// [`table_slice`], to be written. All of it counts as changed.
#[track_caller]
pub(crate) fn table_slice_mut<T: Component<Mutability = Mutable>>(
    world: &mut World,
    table: TableId,
    rows: Range<usize>,
) -> Option<&mut [T]> {
    let now = world.change_tick();
    let world = &*world;
    let cursor = cursor::<T>(world, table, rows.clone())?;
    let id = world.components().component_id::<T>()?;
    let columns = world.storages().tables.get(table)?;
    let ticks: &[UnsafeCell<Tick>] = columns.get_changed_ticks_slice_for(id)?.get(rows.clone())?;
    for tick in ticks {
        // SAFETY: the world is borrowed mutably by the caller, so nothing else reads or writes the tick.
        unsafe { *tick.get() = now };
    }
    columns.get_summary_tick(id).into_iter().for_each(|summary| summary.set(now));
    let caller = MaybeLocation::caller();
    columns.get_changed_by_slice_for(id).zip(caller).map(|(places, caller)| {
        let places: &[UnsafeCell<&'static Location<'static>>] = places.and_then(|places| places.get(rows))?;
        for place in places {
            // SAFETY: as for the ticks.
            unsafe { *place.get() = caller };
        }
        Some(())
    });
    let first = UnsafeCell::raw_get(cursor.as_ptr());
    // SAFETY: the pointer is to so many cursor, which have the layout of `T` and may be written through a shared
    // reference to them. The world is borrowed mutably for as long as the result is, so nothing else reaches the
    // components. Test: `slices_that_are_written_count_as_changed`.
    Some(unsafe { core::slice::from_raw_parts_mut(first, cursor.len()) })
}

fn cursor<T: Component>(world: &World, table: TableId, rows: Range<usize>) -> Option<&[UnsafeCell<T>]> {
    let id = world.components().component_id::<T>()?;
    let table = world.storages().tables.get(table)?;
    // SAFETY: the id is that of the type. The length is that of the table.
    unsafe { table.get_data_slice_for::<T>(id) }?.get(rows)
}
