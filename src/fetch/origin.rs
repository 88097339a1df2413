//! What cursors are made of.

use super::cursor_state::StorageMatches;
use bevy_ecs::{
    change_detection::Tick,
    query::{QueryData, QueryFilter},
    world::unsafe_world_cell::UnsafeWorldCell,
};

/// What [`FetchCursor`](super::FetchCursor)s are made of. Can be given to another thread.
pub(crate) struct Origin<'w, 's, D: QueryData, F: QueryFilter> {
    pub(super) world: UnsafeWorldCell<'w>,
    pub(super) state: &'s StorageMatches<D::State, F::State>,
    pub(super) last_run: Tick,
    pub(super) this_run: Tick,
}

impl<D: QueryData, F: QueryFilter> Clone for Origin<'_, '_, D, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: QueryData, F: QueryFilter> Copy for Origin<'_, '_, D, F> {}
