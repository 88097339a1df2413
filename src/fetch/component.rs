//! A component of a known entity, whose id is known too.

use bevy_ecs::{
    component::{Component, ComponentId, StorageType},
    entity::Entity,
    storage::TableId,
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::any::TypeId;

/// The component with this id of an entity, which is in this row of a table if that is known. `None` also if the component
/// is not of this type.
#[inline]
pub(crate) fn component<T: Component>(
    world: &World,
    id: ComponentId,
    entity: Entity,
    place: Option<(TableId, usize)>,
) -> Option<&T> {
    // SAFETY: nothing writes components while the world is borrowed: as with `World::get`, all of it may be read
    // through the borrow. Test: `a_field_is_read_wherever_its_component_is`.
    unsafe { read_component(world.as_unsafe_world_cell_readonly(), id, entity, place) }
}

/// [`component`] with a part of a world.
///
/// # Safety
/// For `'w`, this component may be read on every entity of the world, and nothing writes it.
#[inline]
pub(super) unsafe fn read_component<T: Component>(
    world: UnsafeWorldCell<'_>,
    id: ComponentId,
    entity: Entity,
    place: Option<(TableId, usize)>,
) -> Option<&T> {
    if world.components().get_info(id)?.type_id() != Some(TypeId::of::<T>()) {
        return None;
    }
    let Some((table, row)) = place.filter(|_| matches!(T::STORAGE_TYPE, StorageType::Table)) else {
        // SAFETY: the component may be read, as the caller promises.
        let value = unsafe { world.get_entity(entity).ok()?.get_by_id(id)? };
        // SAFETY: it is of this type, as was just compared. Nothing writes it, as the caller promises.
        return Some(unsafe { value.deref() });
    };
    // SAFETY: only the structure of the tables is looked at here.
    let table = unsafe { &world.storages().tables }.get(table)?;
    // SAFETY: the id is that of the type, as was just compared. The length is that of the table.
    let cells = unsafe { table.get_data_slice_for::<T>(id) }?;
    // SAFETY: nothing writes it, as the caller promises.
    cells.get(row).map(|cell| unsafe { &*cell.get() })
}
