//! The components of one type in a table, side by side.

use bevy_ecs::{
    change_detection::{MaybeLocation, Tick},
    component::{Component, Mutable},
    storage::{Table, TableId},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::{cell::UnsafeCell, ops::Range, panic::Location};

/// The components of rows of a table. `None` if the table has no such column or no such rows.
pub(crate) fn table_slice<T: Component>(world: &World, table: TableId, rows: Range<usize>) -> Option<&[T]> {
    // SAFETY: nothing writes components while the world is borrowed: as with `World::get`, all of it may be read
    // through the borrow. Test: `slices_hold_what_rows_hold`.
    unsafe { read_slice(world.as_unsafe_world_cell_readonly(), table, rows) }
}

/// [`table_slice`] with a part of a world.
///
/// # Safety
/// For `'w`, components of this type may be read on every entity of the world, and nothing writes them.
pub(super) unsafe fn read_slice<T: Component>(
    world: UnsafeWorldCell<'_>,
    table: TableId,
    rows: Range<usize>,
) -> Option<&[T]> {
    let (_, cells) = cells::<T>(world, table, rows)?;
    // SAFETY: `UnsafeCell<T>` has the layout of `T`. Nothing writes it, as the caller promises.
    Some(unsafe { &*(core::ptr::from_ref(cells) as *const [T]) })
}

/// [`table_slice`], to be written. All of it counts as changed at a tick, if there is one.
///
/// # Safety
/// For `'w`, components of this type may be written on every entity of the world, and nothing else reaches them or their
/// ticks.
#[track_caller]
pub(super) unsafe fn write_slice<T: Component<Mutability = Mutable>>(
    world: UnsafeWorldCell<'_>,
    now: Option<Tick>,
    table: TableId,
    rows: Range<usize>,
) -> Option<&mut [T]> {
    let (table, cells) = cells::<T>(world, table, rows.clone())?;
    if let Some(now) = now {
        // SAFETY: nothing else reaches the ticks, as the caller promises.
        unsafe { mark_changed::<T>(world, now, table, rows)? };
    }
    let first = UnsafeCell::raw_get(cells.as_ptr());
    // SAFETY: the pointer is to so many cells, which have the layout of `T` and may be written through a shared
    // reference to them. Nothing else reaches the components, as the caller promises.
    // Test: `slices_that_are_written_count_as_changed`.
    Some(unsafe { core::slice::from_raw_parts_mut(first, cells.len()) })
}

/// Makes components of rows of a table count as changed. `None` if the table has none of the type.
///
/// # Safety
/// Nothing else reaches their ticks meanwhile.
#[track_caller]
unsafe fn mark_changed<T: Component>(
    world: UnsafeWorldCell<'_>,
    now: Tick,
    table: &Table,
    rows: Range<usize>,
) -> Option<()> {
    let id = world.components().component_id::<T>()?;
    let ticks: &[UnsafeCell<Tick>] = table.get_changed_ticks_slice_for(id)?.get(rows.clone())?;
    for tick in ticks {
        // SAFETY: nothing else reads or writes the tick, as the caller promises.
        unsafe { *tick.get() = now };
    }
    table.get_summary_tick(id).into_iter().for_each(|summary| summary.set(now));
    let caller = MaybeLocation::caller();
    table.get_changed_by_slice_for(id).zip(caller).map(|(places, caller)| {
        let places: &[UnsafeCell<&'static Location<'static>>] = places.and_then(|places| places.get(rows))?;
        for place in places {
            // SAFETY: as for the ticks.
            unsafe { *place.get() = caller };
        }
        Some(())
    });
    Some(())
}

fn cells<T: Component>(
    world: UnsafeWorldCell<'_>,
    table: TableId,
    rows: Range<usize>,
) -> Option<(&Table, &[UnsafeCell<T>])> {
    let id = world.components().component_id::<T>()?;
    // SAFETY: only the structure of the tables is looked at here.
    let table = unsafe { &world.storages().tables }.get(table)?;
    // SAFETY: the id is that of the type. The length is that of the table.
    let cells = unsafe { table.get_data_slice_for::<T>(id) }?;
    Some((table, cells.get(rows)?))
}
