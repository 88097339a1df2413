//! The observers that this crate depends on. They are entities like any other, and a user may despawn them: that is
//! noticed, and at the next use of a relation that is looked up, or at maintenance, they are spawned again, and what
//! happened meanwhile is imported.
//!
//! Not at once: while Bevy despawns many observers, those that are gone are still called until it has applied its
//! commands, and Bevy takes for granted that they are there.

use super::participant::{self, Participant};
use crate::{fetch, store::Watch};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, observer::Observer, world::World};

/// Spawns observers that must not go. `spawn` also brings up to date what they keep right.
pub(in crate::ops) fn install(world: &mut World, spawn: fn(&mut World) -> Vec<Entity>) {
    let observers = spawn(world);
    world.flush();
    for &observer in &observers {
        if let Ok(mut entity) = world.get_entity_mut(observer) {
            entity.insert(Participant);
        }
        if participant::note_marker(world, observer)
            && let Some(store) = fetch::store_mut(world)
        {
            store.participants.set_observer(observer);
        }
    }
    if !observers.is_empty()
        && let Some(store) = fetch::store_mut(world)
    {
        store.watches.push(Watch { observers, spawn });
    }
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
pub(super) fn mend(world: &mut World) {
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
