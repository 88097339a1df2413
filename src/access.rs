//! Finding the pair store in a world.

use crate::store::PairStore;
use bevy_ecs::world::{DeferredWorld, Mut, World};

/// The store, unless relations were never used in this world, or its resources were cleared.
#[inline]
pub(crate) fn store(world: &World) -> Option<&PairStore> {
    world.get_resource::<PairStore>()
}

/// [`store`], to change it.
#[inline]
pub(crate) fn store_mut(world: &mut World) -> Option<&mut PairStore> {
    world.get_resource_mut::<PairStore>().map(Mut::into_inner)
}

/// [`store_mut`] for hooks and observers.
#[inline]
pub(crate) fn deferred_store<'a>(world: &'a mut DeferredWorld<'_>) -> Option<&'a mut PairStore> {
    world.get_resource_mut::<PairStore>().map(Mut::into_inner)
}
