//! Finding things in a world: the pair store, and components of known entities ([`cursor`]).
//!
//! Every operation on the world starts here, and finding a resource the ordinary way costs more than what is then
//! done to the store: hashing a type id, then going from the component to the resource's entity, its location and
//! its archetype. Here the component id found last, in whichever world, is tried first; that it is the store's is
//! checked each time. From there it is two steps to the value, since Bevy keeps resources in sparse sets.
#![expect(
    unsafe_code,
    reason = "a component found by its id comes without its type; columns are reached past the borrow checker"
)]

mod ahead;
mod all_entities;
mod changed;
mod component;
mod cursor;
mod cursor_set;
mod cursor_state;
mod origin;
#[cfg(feature = "bevy_reflect")]
mod reflected;
mod rights;
mod rows;
mod shared;
mod slices;
mod ticks;
mod writer;

pub(crate) use ahead::{Ahead, prefetch};
pub(crate) use all_entities::AllEntities;
pub(crate) use changed::for_each_changed;
pub(crate) use component::component;
pub(crate) use cursor::{CursorFetch, FetchCursor};
pub(crate) use cursor_set::CursorSet;
pub(crate) use cursor_state::CursorState;
#[cfg(feature = "bevy_reflect")]
pub(crate) use reflected::ReflectCursor;
pub(crate) use rights::ReadRights;
pub(crate) use rows::{
    RowHint, StorageEntities, StorageRows, first_targets, has_column, table_entities, table_row,
};
pub use shared::SharedData;
pub(crate) use slices::table_slice;
pub(crate) use ticks::{KnownTicks, TickCursor};
pub(crate) use writer::{BorrowedWriter, Writer};

use crate::{
    relation::Relation,
    store::{PairData, PairStore},
};
#[cfg(feature = "bevy_reflect")]
use bevy_ecs::component::Mutable;
use bevy_ecs::{
    component::{Component, ComponentId},
    ptr::Ptr,
    resource::Resource,
    world::{DeferredWorld, EntityWorldMut, World, unsafe_world_cell::UnsafeWorldCell},
};
use core::{
    any::TypeId,
    ptr::NonNull,
    sync::atomic::{AtomicUsize, Ordering},
};

/// The component id of the store, as found last.
static COMPONENT: AtomicUsize = AtomicUsize::new(0);

/// A pointer to the store.
#[inline]
fn find(world: &World) -> Option<Ptr<'_>> {
    find_resource(world, TypeId::of::<PairStore>(), &COMPONENT)
}

/// A pointer to a resource, in fewer steps than Bevy takes.
///
/// # Safety
/// The caller has the right to read the resource for as long as the result lives.
#[inline]
pub(crate) unsafe fn resource_by_id(world: UnsafeWorldCell<'_>, component: ComponentId) -> Option<Ptr<'_>> {
    // SAFETY: only the structure of the storages is looked at here, but for the resource, which may be read.
    let (entities, storages) = unsafe { (world.resource_entities(), world.storages()) };
    storages.sparse_sets.get(component)?.get(entities.get(component)?)
}

/// A pointer to the resource of a type, whose component id was `found` last.
#[inline]
fn find_resource<'w>(world: &'w World, type_id: TypeId, found: &AtomicUsize) -> Option<Ptr<'w>> {
    let component = component_id(world, type_id, found)?;
    let entity = world.resource_entities().get(component)?;
    world.storages().sparse_sets.get(component)?.get(entity)
}

/// The id of a component type, which was `found` last.
#[inline]
fn component_id(world: &World, type_id: TypeId, found: &AtomicUsize) -> Option<ComponentId> {
    let component = ComponentId::new(found.load(Ordering::Relaxed));
    let is_right = world.components().get_info(component).is_some_and(|info| info.type_id() == Some(type_id));
    if is_right { Some(component) } else { search(world, type_id, found) }
}

#[cold]
fn search(world: &World, type_id: TypeId, found: &AtomicUsize) -> Option<ComponentId> {
    let component = world.components().get_valid_id(type_id)?;
    found.store(component.index(), Ordering::Relaxed);
    Some(component)
}

/// The store, unless relations were never used in this world, or its resources were cleared.
#[inline]
pub(crate) fn store(world: &World) -> Option<&PairStore> {
    // SAFETY: the component is of type `PairStore`, as `find_resource` or the look-up by type has made sure. Nothing
    // changes it while the world is borrowed: `store_mut` and `deferred_store` borrow the world mutably, and a
    // system with `ResMut<PairStore>`, which only this crate can write, runs beside no reader of the world.
    // Test: `two_worlds_that_registered_in_another_order_do_not_mix`.
    find(world).map(|store| unsafe { store.deref() })
}

/// [`store`], to change it.
#[inline]
pub(crate) fn store_mut(world: &mut World) -> Option<&mut PairStore> {
    // SAFETY: of the right type, as in `store`. The world is borrowed mutably for as long as the store is, so that
    // nothing else reaches it.
    find(world).map(|store| unsafe { store.assert_unique().deref_mut() })
}

/// [`store_mut`] if there is one that meets a condition.
///
/// # Errors
/// The world, if there is none.
#[inline]
pub(crate) fn store_mut_if(
    world: &mut World,
    condition: impl FnOnce(&PairStore) -> bool,
) -> Result<&mut PairStore, &mut World> {
    let found = store_mut(world).filter(|store| condition(store)).map(NonNull::from);
    // SAFETY: it was borrowed from the world above, which is borrowed mutably for as long as the store is, and nothing else is
    // handed out with it. The pointer is what the borrow checker cannot see: that the world is free where there is no store.
    // Test: `two_worlds_that_registered_in_another_order_do_not_mix`.
    found.map(|mut store| unsafe { store.as_mut() }).ok_or(world)
}

/// The values of a relation's own type.
#[inline]
pub(crate) fn values<R: Relation>(world: &World) -> Option<&PairData<R>> {
    resource(world, R::info().hint.values())
}

/// The store and the values of a relation's own type, to change both. `None` if the world does not have both.
#[inline]
pub(crate) fn store_and_values<R: Relation>(world: &mut World) -> Option<(&mut PairStore, &mut PairData<R>)> {
    let values = find_resource(world, TypeId::of::<PairData<R>>(), R::info().hint.values())?;
    let store = find(world)?;
    // SAFETY: of the right types: that of the store as in `store`, that of the values likewise. They are
    // two components, so they do not overlap, and the world is borrowed mutably for as long as both are.
    // Test: `values_on_the_fast_path_are_those_that_were_inserted`.
    Some(unsafe { (store.assert_unique().deref_mut(), values.assert_unique().deref_mut()) })
}

/// [`store_mut`] for hooks and observers.
#[inline]
pub(crate) fn deferred_store<'a>(world: &'a mut DeferredWorld<'_>) -> Option<&'a mut PairStore> {
    // SAFETY: as in `store_mut`; a deferred world may change resources.
    find(world).map(|store| unsafe { store.assert_unique().deref_mut() })
}

/// Whether an entity has a component whose id was `found` last, in fewer steps than Bevy takes.
#[inline]
pub(crate) fn has_component<C: Component>(entity: &EntityWorldMut<'_>, found: &AtomicUsize) -> bool {
    component_id(entity.world(), TypeId::of::<C>(), found)
        .is_some_and(|component| entity.contains_id(component))
}

/// A resource whose component id was `found` last, in whichever world.
#[inline]
pub(crate) fn resource<'w, T: Resource>(world: &'w World, found: &AtomicUsize) -> Option<&'w T> {
    // SAFETY: the component is of type `T`, as `find_resource` or the look-up by type has made sure. Nothing changes it while the
    // world is borrowed. Test: `two_worlds_that_registered_in_another_order_do_not_mix`.
    find_resource(world, TypeId::of::<T>(), found).map(|resource| unsafe { resource.deref() })
}

/// [`resource`], to change it without marking it as changed.
#[cfg(feature = "bevy_reflect")]
#[inline]
pub(crate) fn deferred_resource<'a, T: Resource<Mutability = Mutable>>(
    world: &'a mut DeferredWorld<'_>,
    found: &AtomicUsize,
) -> Option<&'a mut T> {
    // SAFETY: of the right type, as in `resource`. The world is borrowed mutably for as long as the resource is, and a deferred
    // world may change resources.
    find_resource(world, TypeId::of::<T>(), found)
        .map(|resource| unsafe { resource.assert_unique().deref_mut() })
}
