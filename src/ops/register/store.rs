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
    id::PairId,
    names::NameIndex,
    relation::{CHILD_OF, IS_A, IsA, Prefab, Relation, SLOT_OF, SlotOf, Tagged},
    store::{ChildIndex, PairStore, type_ref},
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

/// The store, made on first use. Parents and children are read from Bevy's components, and nothing follows how those
/// change, until the pairs of `ChildOf` are first used: [`index_children`].
#[inline]
pub(crate) fn ensure_store(world: &mut World) -> &mut PairStore {
    fetch::store_mut_if(world, |_| true).unwrap_or_else(|world| {
        // Systems that were initialised with a former store count on an index.
        let has_had_one = world.component_id::<Participant>().is_some();
        let is_needed = has_had_one || keys::may_observe_children(world);
        bootstrap(world, if is_needed { ChildIndex::Importing } else { ChildIndex::None });
        // It was inserted, but an observer may have cleared the resources since.
        world.get_resource_or_insert_with(PairStore::with_built_ins).into_inner()
    })
}

/// [`ensure_store`], with the pairs of `ChildOf`: for what may read or write those of any relation.
#[inline]
pub(crate) fn use_all_relations(world: &mut World) -> &mut PairStore {
    fetch::store_mut_if(world, |store| !store.lacks_children()).unwrap_or_else(|world| {
        ensure_store(world);
        index_children(world);
        ensure_store(world)
    })
}

/// [`ensure_store`], with the pairs of `ChildOf` if that is what `relation` is.
#[inline]
pub(crate) fn use_relation(world: &mut World, relation: Entity) -> &mut PairStore {
    let is_child_of = ensure_store(world).registry().of_entity(relation) == Some(CHILD_OF);
    if is_child_of { use_all_relations(world) } else { ensure_store(world) }
}

/// Marks an entity that is alive.
#[inline]
pub(in crate::ops) fn mark_living(world: &mut World, entity: Entity) {
    let is_ready = |store: &PairStore| store.participants().stripped_before(entity).is_none();
    match fetch::store_mut_if(world, is_ready) {
        Ok(store) if store.participants().is_marked(entity) => {}
        Ok(store) => {
            store.participants_mut().set_marked(entity, true);
            participant::insert_marker(world, entity);
        }
        Err(world) => {
            ensure_store(world);
            participant::mark(world, entity);
        }
    }
}

/// [`index_children`], if `pair` may be one of `ChildOf`.
pub(crate) fn index_children_for(world: &mut World, pair: PairId) {
    let Some(store) = fetch::store(world) else { return };
    let relation = pair.relation().entity().map(|relation| store.registry().of_entity(relation));
    if relation.is_none_or(|relation| relation == Some(CHILD_OF)) {
        index_children(world);
    }
}

/// Puts the pairs of `ChildOf` into the store, if there is one and it lacks them: the observers that follow Bevy's
/// component import what is there. No pair is inserted by that, so that no observer of pairs is triggered.
#[inline]
pub(crate) fn index_children(world: &mut World) {
    if fetch::store(world).is_some_and(PairStore::lacks_children) {
        import_children(world);
    }
}

#[cold]
fn import_children(world: &mut World) {
    let Some(store) = fetch::store_mut(world) else { return };
    store.set_child_index(ChildIndex::Importing);
    let import = Import(world);
    watch::renew(import.0);
}

/// What is there is being imported. That ends when this is dropped, also by a panic in a user's observer.
struct Import<'w>(&'w mut World);

impl Drop for Import<'_> {
    fn drop(&mut self) {
        let store = fetch::store_mut(self.0).filter(|store| store.child_index() == ChildIndex::Importing);
        store.into_iter().for_each(|store| store.set_child_index(ChildIndex::Kept));
    }
}

/// While the store lacks the pairs of `ChildOf`, an observer of theirs is the one use that does not come to this crate.
fn spawn_use_observer(world: &mut World) -> Vec<Entity> {
    if !fetch::store(world).is_some_and(PairStore::lacks_children) {
        return Vec::new();
    }
    let observer = world.add_observer(|_: On<Insert<Observer>>, mut commands: Commands| {
        commands.queue(|world: &mut World| {
            if keys::may_observe_children(world) {
                index_children(world);
            }
        });
    });
    vec![observer.id()]
}

/// Makes the store, the built-in relations and the observers that keep them going.
#[cold]
fn bootstrap(world: &mut World, child_index: ChildIndex) {
    let import = Import(world);
    let world = &mut *import.0;
    // From here on observers may use relations, also these: their numbers are taken.
    let mut store = PairStore::with_built_ins();
    store.set_child_index(child_index);
    world.insert_resource(store);
    world.init_resource::<NameIndex>();
    // Those of a store that is gone go with it.
    world.insert_resource(Watches::default());
    world.init_resource::<Cascade>();
    hide_prefabs(world);
    watch::install(world, keys::spawn_observers);
    watch::install(world, spawn_tick_observer);
    watch::install_until_import(world, spawn_use_observer);
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
