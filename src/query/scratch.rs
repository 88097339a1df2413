//! Memory that a term uses from one row to the next.

use super::macros::any_entity;
use bevy_ecs::{
    change_detection::Tick,
    query::{FilteredAccessSet, WorldQuery},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::marker::PhantomData;

/// What is kept while a query is iterated.
pub trait ScratchState {
    /// The same while the world is borrowed. Empty at first; to lose it costs time, nothing else.
    type Of<'w>: Default;
}

/// Keeps an `M` in the fetch of a term. Reads nothing.
pub struct Scratch<M>(PhantomData<fn() -> M>);

pub struct ScratchFetch<T>(pub(super) T);

/// Memory is not shared: a copy starts without.
impl<T: Default> Clone for ScratchFetch<T> {
    fn clone(&self) -> Self {
        Self(T::default())
    }
}

// SAFETY: nothing is accessed, and every entity matches.
unsafe impl<M: ScratchState> WorldQuery for Scratch<M> {
    type Fetch<'w> = ScratchFetch<M::Of<'w>>;
    type State = ();

    any_entity!();

    fn shrink_fetch<'long: 'short, 'short>(_: Self::Fetch<'long>) -> Self::Fetch<'short> {
        ScratchFetch(M::Of::default())
    }

    #[inline]
    unsafe fn init_fetch<'w>(_: UnsafeWorldCell<'w>, (): &(), _: Tick, _: Tick) -> Self::Fetch<'w> {
        ScratchFetch(M::Of::default())
    }

    fn init_nested_access((): &(), _: Option<&str>, _: &mut FilteredAccessSet, _: UnsafeWorldCell<'_>) {}

    fn init_state(_: &mut World) {}

    fn update_archetypes((): &mut (), _: UnsafeWorldCell<'_>) {}
}
