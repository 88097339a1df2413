//! The store of a world, made on first use.

use super::{
    cascade::Cascade,
    entity::entity_of_type,
    keys,
    participant::{self, Participant, ParticipantLifecycle},
    report::{report, to_bevy},
    watch::{self, Watches},
};
use crate::{
    fetch,
    names::NameIndex,
    relation::{CHILD_OF, IS_A, IsA, Prefab, Relation, SLOT_OF, SlotOf, Tagged},
    store::{Activity, PairStore, type_ref},
};
use alloc::{vec, vec::Vec};
use bevy_ecs::{
    change_detection::CheckChangeTicks,
    entity::Entity,
    entity_disabling::DefaultQueryFilters,
    hierarchy::ChildOf,
    lifecycle::Insert,
    observer::{Observer, On},
    system::Commands,
    world::{DeferredWorld, World},
};

/// The store, made on first use.
#[inline]
pub(crate) fn ensure_store(world: &mut World) -> &mut PairStore {
    fetch::store_mut_if(world, |_| true).unwrap_or_else(|world| {
        bootstrap(world, Activity::Starting);
        // It was inserted, but an observer may have cleared the resources since.
        world.get_resource_or_insert_with(PairStore::with_built_ins).into_inner()
    })
}

/// Makes the store, if there is none, without taking relations into use: until something does, parents and children are
/// read from Bevy's components, and nothing follows how those change.
pub(crate) fn prepare(world: &mut World) {
    if fetch::store(world).is_none() {
        let activity = if keys::are_observed(world) { Activity::Starting } else { Activity::Idle };
        bootstrap(world, activity);
    }
}

/// [`ensure_store`] for what uses relations. From then on an index of parents and children is kept, too.
#[inline]
pub(crate) fn use_store(world: &mut World) -> &mut PairStore {
    fetch::store_mut_if(world, |store| !store.is_idle()).unwrap_or_else(|world| {
        end_idleness(world);
        ensure_store(world)
    })
}

/// Marks an entity that is alive, and takes relations into use.
#[inline]
pub(in crate::ops) fn mark_living(world: &mut World, entity: Entity) {
    let is_ready =
        |store: &PairStore| !store.is_idle() && store.participants().stripped_before(entity).is_none();
    match fetch::store_mut_if(world, is_ready) {
        Ok(store) if store.participants().is_marked(entity) => {}
        Ok(store) => {
            store.participants_mut().set_marked(entity, true);
            participant::insert_marker(world, entity);
        }
        Err(world) => {
            use_store(world);
            participant::mark(world, entity);
        }
    }
}

/// Takes relations into use if the store is there and idle.
#[inline]
pub(crate) fn end_idleness(world: &mut World) {
    if fetch::store(world).is_some_and(PairStore::is_idle) {
        start(world);
    }
}

/// Builds the index of parents and children: the observers that keep it import what is there. No pair is inserted by
/// that, so that no observer of pairs is triggered.
#[cold]
fn start(world: &mut World) {
    let Some(store) = fetch::store_mut(world) else { return };
    store.set_activity(Activity::Starting);
    let start = Start(world);
    watch::renew(start.0);
}

/// What is there is being imported. That ends when this is dropped, also by a panic in a user's observer.
struct Start<'w>(&'w mut World);

impl Drop for Start<'_> {
    fn drop(&mut self) {
        let store = fetch::store_mut(self.0).filter(|store| store.activity() == Activity::Starting);
        store.into_iter().for_each(|store| store.set_activity(Activity::InUse));
    }
}

/// While the store is idle, an observer of pairs is the one use of relations that does not come to this crate.
fn spawn_idle_observer(world: &mut World) -> Vec<Entity> {
    if !fetch::store(world).is_some_and(PairStore::is_idle) {
        return Vec::new();
    }
    let observer = world.add_observer(|_: On<Insert<Observer>>, mut commands: Commands| {
        commands.queue(|world: &mut World| {
            if keys::are_observed(world) {
                use_store(world);
            }
        });
    });
    vec![observer.id()]
}

/// Makes the store, the built-in relations and the observers that keep them going.
#[cold]
fn bootstrap(world: &mut World, activity: Activity) {
    let start = Start(world);
    let world = &mut *start.0;
    // From here on observers may use relations, also these: their numbers are taken.
    let mut store = PairStore::with_built_ins();
    store.set_activity(activity);
    world.insert_resource(store);
    world.init_resource::<NameIndex>();
    // Those of a store that is gone go with it.
    world.insert_resource(Watches::default());
    world.init_resource::<Cascade>();
    hide_prefabs(world);
    watch::install(world, keys::spawn_observers);
    watch::install(world, spawn_tick_observer);
    watch::install(world, spawn_idle_observer);
    watch::install(world, Participant::spawn_observers);
    entity_of_type(world, type_ref::<Tagged>());
    for register in [IsA::register, SlotOf::register, ChildOf::register] {
        if let Err(error) = register(world) {
            // Only if an observer of the store has adopted `ChildOf` with other traits.
            report(world.commands(), to_bevy(error));
        }
    }
    debug_assert!(fetch::store(world).is_none_or(|store| {
        store.registry().of_type::<IsA>() == Some(IS_A)
            && store.registry().of_type::<SlotOf>() == Some(SLOT_OF)
            && store.registry().of_type::<ChildOf>() == Some(CHILD_OF)
    }));
}

/// Lets queries leave prefabs out: those that are made from now on.
fn hide_prefabs(world: &mut World) {
    let prefab = world.register_component::<Prefab>();
    // It is missing while the user has it out of the world, or has removed it.
    if let Some(mut filters) = world.get_resource_mut::<DefaultQueryFilters>() {
        filters.register_disabling_component(prefab);
    }
}

/// Spawns the observer that keeps old ticks from seeming new once the counter of the world wraps around.
fn spawn_tick_observer(world: &mut World) -> Vec<Entity> {
    let observer = world.add_observer(|on: On<CheckChangeTicks>, mut world: DeferredWorld| {
        let check = *on.event();
        let Some(store) = fetch::deferred_store(&mut world) else { return };
        store.clamp_ticks(check);
        let columns: Vec<_> = store.registry().columns().collect();
        columns.into_iter().for_each(|column| column.clamp_ticks(&mut world, check));
    });
    vec![observer.id()]
}
