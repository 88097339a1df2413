//! The observers that this crate depends on. They are entities like any other, and a user may despawn them: that is
//! noticed, and at the next use of a relation that is looked up, or at maintenance, they are spawned again, and what
//! happened meanwhile is imported.
//!
//! Not at once: while Bevy despawns many observers, those that are gone are still called until it has applied its
//! commands, and Bevy takes for granted that they are there.

use super::participant::{self, Participant, ParticipantLifecycle};
use crate::fetch;
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, observer::Observer, resource::Resource, world::World};

/// Observers that keep something right, and how to get them back, with what they have missed.
struct Watch {
    observers: Vec<Entity>,
    spawn: fn(&mut World) -> Vec<Entity>,
    /// Others are needed once the pairs of `ChildOf` are in the store.
    until_import: bool,
    /// They are there, but others are needed by now.
    is_stale: bool,
}

impl Watch {
    /// An observer that is gone, as far as `is_observer` says, or stale.
    fn lost(&self, is_observer: impl Fn(Entity) -> bool) -> Option<Entity> {
        self.observers.iter().copied().find(|&observer| self.is_stale || !is_observer(observer))
    }
}

/// The observers of a world that must not go.
#[derive(Resource, Default)]
pub(crate) struct Watches(Vec<Watch>);

impl Watches {
    /// An observer that is gone, as far as `is_observer` says.
    pub(super) fn lost(&self, is_observer: impl Fn(Entity) -> bool) -> Option<Entity> {
        self.0.iter().find_map(|watch| watch.lost(&is_observer))
    }
}

/// Spawns observers that must not go. `spawn` also brings up to date what they keep right.
pub(crate) fn install(world: &mut World, spawn: fn(&mut World) -> Vec<Entity>) {
    install_watch(world, spawn, false);
}

/// [`install`] of observers that are [renewed](renew) when the pairs of `ChildOf` come into the store.
pub(in crate::ops) fn install_until_import(world: &mut World, spawn: fn(&mut World) -> Vec<Entity>) {
    install_watch(world, spawn, true);
}

fn install_watch(world: &mut World, spawn: fn(&mut World) -> Vec<Entity>, until_import: bool) {
    let has_children = |world: &World| fetch::store(world).is_some_and(|store| !store.lacks_children());
    let had_children = has_children(world);
    let observers = spawn(world);
    world.flush();
    for &observer in &observers {
        if let Ok(mut entity) = world.get_entity_mut(observer) {
            entity.insert(Participant);
        }
        if participant::note_marker(world, observer)
            && let Some(store) = fetch::store_mut(world)
        {
            store.participants_mut().set_observer(observer);
        }
    }
    if !observers.is_empty() {
        // That runs users' code, which may have made the index of children.
        let is_stale = until_import && !had_children && has_children(world);
        let watch = Watch { observers, spawn, until_import, is_stale };
        world.get_resource_or_init::<Watches>().0.push(watch);
        if is_stale {
            restore_observers(world);
        }
    }
}

/// [`restore_observers`], if an observer is known to be gone; and puts markers back, if entities wait for them: the commands that do so
/// are lost if another panics before.
#[inline]
pub(in crate::ops) fn restore_if_lost(world: &mut World) {
    if fetch::store(world).is_some_and(|store| store.participants().needs_repair()) {
        Participant::restore_markers(world);
        restore_observers(world);
    }
}

/// Spawns the observers that are gone again.
#[cold]
pub(super) fn restore_observers(world: &mut World) {
    let Some(store) = fetch::store_mut(world) else { return };
    store.participants_mut().clear_lost_observers();
    let Some(watches) = world.get_resource::<Watches>() else { return };
    let is_observer = |entity| world.get::<Observer>(entity).is_some();
    let broken: Vec<bool> = watches.0.iter().map(|watch| watch.lost(is_observer).is_some()).collect();
    if !broken.contains(&true) {
        return;
    }
    let Some(mut watches) = world.get_resource_mut::<Watches>() else { return };
    let mut number = 0;
    let is_broken = |_: &mut Watch| {
        number += 1;
        broken[number - 1]
    };
    let broken: Vec<Watch> = watches.0.extract_if(.., is_broken).collect();
    respawn(world, broken);
}

/// Spawns the observers anew that others take the place of now that the pairs of `ChildOf` come into the store.
pub(super) fn renew(world: &mut World) {
    let Some(mut watches) = world.get_resource_mut::<Watches>() else { return };
    watches.0.iter_mut().for_each(|watch| watch.is_stale |= watch.until_import);
    restore_observers(world);
}

fn respawn(world: &mut World, watches: Vec<Watch>) {
    let mut respawn = Respawn { world, left: watches };
    while let Some(&Watch { ref observers, spawn, until_import, .. }) = respawn.left.first() {
        let observers = observers.clone();
        for observer in observers {
            let _ = respawn.world.try_despawn(observer);
        }
        install_watch(respawn.world, spawn, until_import);
        respawn.left.remove(0);
    }
}

/// What is still to be spawned anew. If a user's observer panics, that is done at the next use or maintenance.
struct Respawn<'w> {
    world: &'w mut World,
    left: Vec<Watch>,
}

impl Drop for Respawn<'_> {
    fn drop(&mut self) {
        if self.left.is_empty() {
            return;
        }
        self.world.get_resource_or_init::<Watches>().0.append(&mut self.left);
        if let Some(store) = fetch::store_mut(self.world) {
            store.participants_mut().note_lost_observers();
        }
    }
}

/// What is called with each new run-time relation.
#[cfg(feature = "bevy_reflect")]
#[derive(Resource, Default)]
struct NewRelations(Vec<fn(&mut World, Entity)>);

/// Calls a function with each run-time relation that there will be, before its first pair. It may run users' code.
#[cfg(feature = "bevy_reflect")]
pub(crate) fn announce_relations(world: &mut World, announce: fn(&mut World, Entity)) {
    let mut all = world.get_resource_or_init::<NewRelations>();
    if !all.0.iter().any(|&known| core::ptr::fn_addr_eq(known, announce)) {
        all.0.push(announce);
    }
}

#[cfg(feature = "bevy_reflect")]
pub(super) fn announce(world: &mut World, relation: Entity) {
    let Some(all) = world.get_resource::<NewRelations>() else { return };
    all.0.clone().into_iter().for_each(|announce| announce(world, relation));
}
