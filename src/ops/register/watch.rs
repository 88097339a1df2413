//! The observers that this crate depends on. They are entities like any other, and a user may despawn them: that is
//! noticed, and at the next use of a relation that is looked up, or at maintenance, they are spawned again, and what
//! happened meanwhile is imported.
//!
//! Not at once: while Bevy despawns many observers, those that are gone are still called until it has applied its
//! commands, and Bevy takes for granted that they are there.

use super::bootstrap::ensure_store;
use crate::ops::lifecycle::participant;
use crate::{
    fetch,
    store::{Abandoned, PairStore, Watch},
};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, observer::Observer, world::World};
use bevy_platform::sync::Weak;

/// Spawns observers that must not go. `spawn` also brings up to date what they keep right.
pub(in crate::ops) fn install(world: &mut World, spawn: fn(&mut World) -> Vec<Entity>) {
    let observers = spawn(world);
    world.flush();
    for &observer in &observers {
        if let Ok(mut entity) = world.get_entity_mut(observer) {
            entity.insert(participant::Participant);
        }
        if participant::note_marker(world, observer)
            && let Some(store) = fetch::store_mut(world)
        {
            store.participants.set_observer(observer);
        }
    }
    ensure_store(world).watches.push(Watch { observers, spawn });
}

/// [`mend`], if an observer is known to be gone.
#[inline]
pub(in crate::ops) fn mend_if_lost(world: &mut World) {
    if fetch::store(world).is_some_and(|store| store.watches_lost) {
        mend(world);
    }
}

/// Spawns the observers that are gone again.
#[cold]
fn mend(world: &mut World) {
    let Some(store) = fetch::store_mut(world) else { return };
    store.watches_lost = false;
    let Some(store) = fetch::store(world) else { return };
    let broken: Vec<bool> = store.watches.iter().map(|watch| !is_intact(world, watch)).collect();
    if !broken.contains(&true) {
        return;
    }
    let Some(store) = fetch::store_mut(world) else { return };
    let mut number = 0;
    let broken: Vec<Watch> = store
        .watches
        .extract_if(.., |_| {
            number += 1;
            broken[number - 1]
        })
        .collect();
    for watch in broken {
        for observer in watch.observers {
            let _ = world.try_despawn(observer);
        }
        install(world, watch.spawn);
    }
}

fn is_intact(world: &World, watch: &Watch) -> bool {
    watch.observers.iter().all(|&observer| world.get::<Observer>(observer).is_some())
}

/// Whether an observer is gone, as far as `is_observer` knows, or one is left that serves nobody.
pub(crate) fn needs_mending(store: &PairStore, is_observer: impl Fn(Entity) -> bool) -> bool {
    store.watches.iter().any(|watch| !watch.observers.iter().all(|&observer| is_observer(observer)))
        || store.abandoned.iter().any(Abandoned::is_due)
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

/// What has to be done about observers once in a while.
pub(crate) fn maintain(world: &mut World) {
    mend(world);
    sweep(world);
}
