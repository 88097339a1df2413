//! Finding the pair store in a world.
//!
//! Every operation on the world starts here, and the search costs as much as what is then done to the store.
//! Finding a resource by type hashes the type's id; here the component id found last, in whichever world, is
//! tried first (`Components` tells for certain whether it is the right one). That saves a quarter of an
//! insertion.
#![expect(unsafe_code, reason = "a resource found by component id comes without its type")]

use crate::store::PairStore;
use bevy_ecs::{
    component::{ComponentId, Components},
    world::{DeferredWorld, World},
};
use core::{
    any::TypeId,
    sync::atomic::{AtomicUsize, Ordering},
};

static HINT: AtomicUsize = AtomicUsize::new(0);

/// The component id of [`PairStore`] in the world of `components`.
#[inline]
fn store_id(components: &Components) -> Option<ComponentId> {
    let guess = ComponentId::new(HINT.load(Ordering::Relaxed));
    let is_store =
        |id| components.get_info(id).is_some_and(|info| info.type_id() == Some(TypeId::of::<PairStore>()));
    if is_store(guess) { Some(guess) } else { search(components) }
}

#[cold]
fn search(components: &Components) -> Option<ComponentId> {
    let id = components.component_id::<PairStore>()?;
    HINT.store(id.index(), Ordering::Relaxed);
    Some(id)
}

/// The store, unless relations were never used in this world, or its resources were cleared.
#[inline]
pub(crate) fn store(world: &World) -> Option<&PairStore> {
    let id = store_id(world.components())?;
    // SAFETY: the component with this id is of type `PairStore`, as `store_id` has checked by its type id.
    // Test: `worlds_with_another_order_of_registration_find_their_own_store`.
    world.get_resource_by_id(id).map(|store| unsafe { store.deref::<PairStore>() })
}

/// [`store`], to change it.
#[inline]
pub(crate) fn store_mut(world: &mut World) -> Option<&mut PairStore> {
    let id = store_id(world.components())?;
    // SAFETY: as in `store`.
    world.get_resource_mut_by_id(id).map(|store| unsafe { store.into_inner().deref_mut::<PairStore>() })
}

/// [`store_mut`] for hooks and observers.
#[inline]
pub(crate) fn deferred_store<'a>(world: &'a mut DeferredWorld<'_>) -> Option<&'a mut PairStore> {
    let id = store_id(world.components())?;
    // SAFETY: as in `store`.
    world.get_resource_mut_by_id(id).map(|store| unsafe { store.into_inner().deref_mut::<PairStore>() })
}
