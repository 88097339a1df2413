//! The store of a world, made on first use.

use super::{
    cascade::Cascade,
    entity::entity_of,
    keys,
    participant::{Participant, ParticipantLifecycle},
    report::{report, to_bevy},
    watch::{self, Watches},
};
use crate::{
    fetch,
    names::NameIndex,
    relation::{CHILD_OF, IS_A, IsA, Relation, SLOT_OF, SlotOf, Tagged},
    store::PairStore,
};
use alloc::{vec, vec::Vec};
use bevy_ecs::{
    change_detection::CheckChangeTicks,
    entity::Entity,
    hierarchy::ChildOf,
    observer::On,
    world::{DeferredWorld, World},
};

/// The store, made on first use.
#[inline]
pub(crate) fn ensure_store(world: &mut World) -> &mut PairStore {
    if fetch::store(world).is_none() {
        bootstrap(world);
    }
    match fetch::store_mut(world) {
        Some(store) => store,
        None => unreachable!("the store was just inserted"),
    }
}

/// Makes the store, the built-in relations and the observers that keep them going.
#[cold]
fn bootstrap(world: &mut World) {
    // From here on observers may use relations, also these: their numbers are taken.
    world.insert_resource(PairStore::with_built_ins());
    world.init_resource::<NameIndex>();
    // Those of a store that is gone go with it.
    world.insert_resource(Watches::default());
    world.init_resource::<Cascade>();
    watch::install(world, keys::spawn_observers);
    watch::install(world, spawn_tick_observer);
    watch::install(world, Participant::spawn_observers);
    entity_of::<Tagged>(world);
    for register in [IsA::register, SlotOf::register, ChildOf::register] {
        if let Err(error) = register(world) {
            // Only if an observer of the store has adopted `ChildOf` with other traits.
            report(world.commands(), to_bevy(error));
        }
    }
    debug_assert!(fetch::store(world).is_none_or(|PairStore { registry, .. }| {
        registry.of_type::<IsA>() == Some(IS_A)
            && registry.of_type::<SlotOf>() == Some(SLOT_OF)
            && registry.of_type::<ChildOf>() == Some(CHILD_OF)
    }));
}

/// Spawns the observer that keeps old ticks from seeming new once the counter of the world wraps around.
fn spawn_tick_observer(world: &mut World) -> Vec<Entity> {
    let observer = world.add_observer(|on: On<CheckChangeTicks>, mut world: DeferredWorld| {
        let check = *on.event();
        let Some(store) = fetch::deferred_store(&mut world) else { return };
        store.clamp_ticks(check);
        let columns: Vec<_> = store.registry.columns().collect();
        columns.into_iter().for_each(|column| column.clamp_ticks(&mut world, check));
    });
    vec![observer.id()]
}
