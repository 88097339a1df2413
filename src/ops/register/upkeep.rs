//! What has to be done once in a while.

use super::{
    cascade::Cascade,
    participant::{Participant, ParticipantLifecycle},
    table,
    watch::{self, Watches},
};
use crate::{
    fetch,
    store::{Invariant, PairInvariantError},
};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::{Entity, EntityHashMap},
    observer::Observer,
    resource::Resource,
    world::World,
};
use bevy_platform::sync::Weak;
use core::mem::take;
use smallvec::SmallVec;

/// Observers that are of no use without their owner.
struct Abandoned {
    owner: Weak<()>,
    observers: Vec<Entity>,
}

impl Abandoned {
    /// The owner is gone.
    fn is_due(&self) -> bool {
        self.owner.strong_count() == 0
    }
}

/// The observers of a world that go with their owners.
#[derive(Resource, Default)]
pub(crate) struct OwnedObservers(Vec<Abandoned>);

/// Whether an observer is gone, or the owner of one was dropped; or commands were lost.
pub(crate) fn needs_repair(world: &World) -> bool {
    let is_observer = |entity| world.get::<Observer>(entity).is_some();
    let Some(store) = fetch::store(world) else { return false };
    store.participants().any_stripped()
        || store.has_noted_orphans()
        || store.has_stale_sources()
        || world.get_resource::<AwaitedTargets>().is_some_and(|awaited| !awaited.sources.is_empty())
        || world.get_resource::<Watches>().is_some_and(|watches| watches.lost(is_observer).is_some())
        || world.get_resource::<OwnedObservers>().is_some_and(|owned| owned.0.iter().any(Abandoned::is_due))
        || world.get_resource::<Cascade>().is_some_and(Cascade::is_due)
}

/// Verifies the invariants of what depends on upkeep: *Cascade* and *Watched*.
pub(crate) fn check(world: &World) -> Result<(), PairInvariantError> {
    let is_observer = |entity| world.get::<Observer>(entity).is_some();
    let watches = world.get_resource::<Watches>();
    if let Some(observer) = watches.and_then(|watches| watches.lost(is_observer)) {
        let detail = "it observes no more: call `maintain_pairs`";
        return Err(PairInvariantError::about(Invariant::Watched, observer, detail));
    }
    let cascade = world.get_resource::<Cascade>().filter(|cascade| cascade.is_due());
    match cascade.and_then(|cascade| cascade.pending.first()) {
        None => Ok(()),
        Some(&entity) => {
            let detail = "it is to be despawned, and will not be";
            Err(PairInvariantError::about(Invariant::Cascade, entity, detail))
        }
    }
}

/// Sources of relationships whose targets were not spawned yet when they were noticed, and what to do then.
#[derive(Resource, Default)]
struct AwaitedTargets {
    sources: Vec<(Entity, Retry)>,
    /// With so many, those that are gone are looked for: a world may never be maintained.
    limit: usize,
}

type Retry = fn(&mut World, Entity);

/// Looks at the relationship of `source` again at the next maintenance: its target is to be spawned by then.
pub(crate) fn await_target(world: &mut World, source: Entity, retry: Retry) {
    let mut awaited = take(&mut *world.get_resource_or_init::<AwaitedTargets>());
    if awaited.sources.len() >= awaited.limit {
        let mut met = EntityHashMap::<SmallVec<[usize; 1]>>::default();
        awaited.sources.retain(|&(source, retry)| {
            let known = met.entry(source).or_default();
            let is_new = !known.contains(&(retry as usize));
            known.push(retry as usize);
            is_new && world.entities().contains_spawned(source)
        });
        awaited.limit = 2 * awaited.sources.len().max(32);
    }
    awaited.sources.push((source, retry));
    *world.get_resource_or_init::<AwaitedTargets>() = awaited;
}

fn retry_awaited(world: &mut World) {
    let Some(mut awaited) = world.get_resource_mut::<AwaitedTargets>() else { return };
    for (source, retry) in take(&mut awaited.sources) {
        retry(world, source);
    }
}

/// Despawns `observers` at the next maintenance after `owner` has been dropped.
pub(crate) fn despawn_after(world: &mut World, owner: Weak<()>, observers: Vec<Entity>) {
    sweep(world);
    world.get_resource_or_init::<OwnedObservers>().0.push(Abandoned { owner, observers });
}

/// Despawns the observers whose owners were dropped.
fn sweep(world: &mut World) {
    let Some(mut owned) = world.get_resource_mut::<OwnedObservers>() else { return };
    let due: Vec<Abandoned> = owned.0.extract_if(.., |abandoned| abandoned.is_due()).collect();
    for observer in due.into_iter().flat_map(|abandoned| abandoned.observers) {
        let _ = world.try_despawn(observer);
    }
}

/// Does what lost commands were to do, spawns lost observers again, and despawns those whose owners were dropped.
pub(crate) fn maintain(world: &mut World) {
    Participant::resume(world);
    table::write_stale(world);
    watch::restore_observers(world);
    retry_awaited(world);
    sweep(world);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::register::store::ensure_store;

    #[test]
    fn sources_that_are_gone_are_not_awaited_for_ever() {
        let mut world = World::new();
        let kept = world.spawn_empty().id();
        for _ in 0..1000 {
            let source = world.spawn_empty().id();
            for source in [source, kept] {
                await_target(&mut world, source, |_, _| ());
            }
            world.despawn(source);
        }
        let awaited = world.resource::<AwaitedTargets>();
        assert!(awaited.sources.len() < 100, "{}", awaited.sources.len());
        assert!(awaited.sources.iter().any(|&(source, _)| source == kept));
    }

    #[test]
    fn dependents_that_would_never_be_despawned_are_named() {
        let mut world = World::new();
        ensure_store(&mut world);
        let entity = world.spawn_empty().id();
        world.resource_mut::<Cascade>().pending.push(entity);
        assert_eq!(check(&world).unwrap_err().invariant, Invariant::Cascade);
        world.resource_mut::<Cascade>().running = true;
        assert_eq!(check(&world), Ok(()));
    }
}
