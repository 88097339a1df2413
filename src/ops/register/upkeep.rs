//! What has to be done once in a while.

use super::{
    participant::{Participant, ParticipantLifecycle},
    store::ensure_store,
    watch,
};
use crate::{
    fetch,
    store::{Abandoned, PairStore},
};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, world::World};
use bevy_platform::sync::Weak;

/// Whether an observer is gone, as far as `is_observer` knows, or the owner of one was dropped; or commands were lost.
pub(crate) fn needs_mending(store: &PairStore, is_observer: impl Fn(Entity) -> bool) -> bool {
    store.watches.iter().any(|watch| !watch.observers.iter().all(|&observer| is_observer(observer)))
        || store.abandoned.iter().any(Abandoned::is_due)
        || store.cascade.is_due()
        || store.participants.any_stripped()
}

/// Despawns `observers` at the next maintenance after `owner` has been dropped.
pub(crate) fn despawn_after(world: &mut World, owner: Weak<()>, observers: Vec<Entity>) {
    sweep(world);
    ensure_store(world).abandoned.push(Abandoned { owner, observers });
}

/// Despawns the observers whose owners were dropped.
fn sweep(world: &mut World) {
    let Some(store) = fetch::store_mut(world) else { return };
    let due: Vec<Abandoned> = store.abandoned.extract_if(.., |abandoned| abandoned.is_due()).collect();
    for observer in due.into_iter().flat_map(|abandoned| abandoned.observers) {
        let _ = world.try_despawn(observer);
    }
}

/// Does what lost commands were to do, spawns lost observers again, and despawns those whose owners were dropped.
pub(crate) fn maintain(world: &mut World) {
    Participant::resume(world);
    watch::mend(world);
    sweep(world);
}
