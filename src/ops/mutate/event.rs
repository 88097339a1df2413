//! Events of pairs.
//!
//! There is one event per kind, and patterns on it: `On<PairInserted<Likes>>` hears of the pairs of one
//! relation type, `On<PairInserted<Wildcard>>` of all. [`WorldPairExt::observe_pairs`] narrows an observer of
//! the latter kind to any [`PairId`], also of run-time relations. Nothing is built or queued when nobody
//! listens.
//!
//! [`WorldPairExt::observe_pairs`]: crate::WorldPairExt::observe_pairs
#![expect(
    unsafe_code,
    reason = "Bevy asks for unsafe to trigger an event from a hook, and for dynamic component ids"
)]

use super::plan::StoredPair;
use crate::ops::register::bootstrap::ensure_store;
use crate::{
    fetch,
    id::{PairId, Slot},
    relation::{Relation, Wildcard},
    store::PairStore,
};
use alloc::{borrow::Cow, vec, vec::Vec};
use bevy_ecs::{
    bundle::Bundle,
    change_detection::{CheckChangeTicks, MaybeLocation},
    component::{Component, ComponentCloneBehavior, ComponentDescriptor, ComponentId, StorageType},
    entity::Entity,
    event::{EntityComponentsTrigger, EntityEvent, Event, EventPattern, trigger_entity_internal},
    lifecycle::Insert,
    observer::{IntoObserver, Observer, On, TriggerContext},
    ptr::PtrMut,
    world::{DeferredWorld, World},
};
use core::{alloc::Layout, marker::PhantomData};
use smallvec::SmallVec;

/// A pair was inserted, or its value replaced. See [`PairInserted`].
#[derive(EntityEvent, Clone, Debug)]
#[entity_event(trigger = EntityComponentsTrigger<'a>)]
pub struct PairInsertedEvent {
    /// The entity that has the pair.
    #[event_target]
    pub source: Entity,
    /// The relation.
    pub relation: Entity,
    /// The target.
    pub target: Entity,
    /// The pair was there before and has a new value.
    pub replaced: bool,
}

/// A pair is about to be removed. See [`PairRemoved`].
#[derive(EntityEvent, Clone, Debug)]
#[entity_event(trigger = EntityComponentsTrigger<'a>)]
pub struct PairRemovedEvent {
    /// The entity that has the pair.
    #[event_target]
    pub source: Entity,
    /// The relation.
    pub relation: Entity,
    /// The target.
    pub target: Entity,
}

/// What an observer of pairs listens to: a [`Relation`] type, or [`Wildcard`] for every relation.
pub trait PairPattern: Send + Sync + 'static {
    #[doc(hidden)]
    type Key: Bundle;
}

impl<R: Relation> PairPattern for R {
    type Key = RelationKey<R>;
}

impl PairPattern for Wildcard {
    type Key = ();
}

/// `On<PairInserted<R>>`: after a pair of `R` was inserted, or its value replaced. The pair and all that came
/// with it are readable.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Relation)]
/// struct Likes;
///
/// let mut world = World::new();
/// world.add_observer(|on: On<PairInserted<Likes>>, mut commands: Commands| {
///     commands.entity(on.target).insert(Name::new("somebody liked"));
/// });
/// let (bob, alice) = (world.spawn_empty().id(), world.spawn_empty().id());
/// world.insert_pair(bob, Likes, alice)?;
/// assert!(world.entity(alice).contains::<Name>());
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
pub struct PairInserted<P>(PhantomData<fn() -> P>);

impl<P: PairPattern> EventPattern for PairInserted<P> {
    type Event = PairInsertedEvent;
    type Components = P::Key;
}

/// `On<PairRemoved<R>>`: before a pair of `R` goes, while it and its value are readable.
pub struct PairRemoved<P>(PhantomData<fn() -> P>);

impl<P: PairPattern> EventPattern for PairRemoved<P> {
    type Event = PairRemovedEvent;
    type Components = P::Key;
}

/// Its id stands for relation type `R` in the lists of observers. Never inserted.
#[doc(hidden)]
#[derive(Component)]
pub struct RelationKey<R: Send + Sync + 'static>(PhantomData<fn() -> R>);

/// Which of the two events.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Inserted,
    Removed,
}

/// The id that observers of a relation type watch.
pub(in crate::ops) fn key_of_type<R: Relation>(world: &mut World) -> ComponentId {
    world.register_component::<RelationKey<R>>()
}

/// Whether anybody may hear of an event.
#[inline]
pub(crate) fn listening(world: &mut DeferredWorld<'_>, kind: Kind) -> bool {
    let may_be = |world: &DeferredWorld<'_>| {
        fetch::store(world).is_some_and(|store| store.listeners.any[kind as usize])
    };
    if may_be(world) {
        // Nobody tells when an observer goes.
        refresh_listeners(world);
        may_be(world)
    } else {
        false
    }
}

/// Tells observers of a pair.
pub(crate) fn fire(world: &mut DeferredWorld<'_>, kind: Kind, pair: StoredPair, replaced: bool) {
    let StoredPair { source, target, .. } = pair;
    let Some(store) = fetch::store(world) else { return };
    let Some(keys) = store.listeners.keys else { return };
    let (relation, components) = watched(store, pair);
    let mut trigger =
        EntityComponentsTrigger { components: &components, old_archetype: None, new_archetype: None };
    let key = keys[kind as usize];
    match kind {
        Kind::Inserted => {
            let mut event = PairInsertedEvent { source, relation, target, replaced };
            // SAFETY: `keys` holds the keys of the two events in the order of `Kind`, registered in this world
            // by `watch_observers`. Test: `observers_see_the_fields_of_their_own_event`.
            unsafe { world.trigger_raw(key, &mut event, &mut trigger, MaybeLocation::caller()) };
        }
        Kind::Removed => {
            let mut event = PairRemovedEvent { source, relation, target };
            // SAFETY: as above.
            unsafe { world.trigger_raw(key, &mut event, &mut trigger, MaybeLocation::caller()) };
        }
    }
}

/// The entity of the pair's relation, and the ids under which observers may watch for the pair.
fn watched(store: &PairStore, pair: StoredPair) -> (Entity, SmallVec<[ComponentId; 3]>) {
    let entry = store.registry.entry(pair.relation);
    let mut components: SmallVec<[ComponentId; 3]> = entry.keys.iter().copied().collect();
    if !store.listeners.narrow.is_empty() {
        for narrowed in [(Some(entry.entity), pair.target), (None, pair.target)] {
            components.extend(store.listeners.narrow.get(&narrowed).copied());
        }
    }
    (entry.entity, components)
}

/// Runs the observers of an entity event at its target, and no further, whatever its trigger would do on its own.
pub(in crate::ops) fn tell<E: EntityEvent>(
    world: &mut DeferredWorld<'_>,
    event: &mut E,
    trigger: &mut E::Trigger<'_>,
) {
    let Some(event_key) = world.event_key::<E>() else { return };
    let target = event.event_target();
    let cell = world.as_unsafe_world_cell();
    // SAFETY: the lists of observers are metadata; a deferred world gives nobody the right to change them.
    let Some(observers) = unsafe { cell.world_metadata() }.observers().try_get_observers(event_key) else {
        return;
    };
    let context = TriggerContext { event_key, caller: MaybeLocation::caller() };
    // SAFETY: `cell` is that of a deferred world that is borrowed mutably, and nothing of it is in use but the
    // observers. Those are of this world and of this event, whose key was looked up by its type in it, and the
    // trigger is of the type that the event asks for. Test: `an_event_climbs_from_its_target_to_the_root`.
    unsafe {
        trigger_entity_internal(
            cell.into_deferred(),
            observers,
            event.into(),
            trigger.into(),
            target,
            &context,
        );
    };
}

/// What to do about an entity whenever something happens to one of its components.
pub(in crate::ops) trait Watch: 'static {
    fn run(world: &mut DeferredWorld<'_>, entity: Entity);
}

/// Observes lifecycle event `E` of component `C` with a plain function: a system would cost more than
/// mirroring a pair does.
pub(in crate::ops) fn watch<E: EntityEvent, C: Component, W: Watch>(world: &mut World) -> Entity {
    let key = world.register_event_key::<E>();
    let component = world.register_component::<C>();
    // SAFETY: the runner takes the event for an `E`, whose key this is.
    // Test: `writing_through_either_api_shows_in_the_other`.
    let observer = unsafe { Observer::with_dynamic_runner(run::<E, W>).with_event_key(key) };
    world.spawn(observer.with_component(component)).id()
}

/// [`Watch`], with what the entity has before and after.
pub(in crate::ops) trait WatchChange: 'static {
    fn run(world: &mut DeferredWorld<'_>, entity: Entity, change: &EntityComponentsTrigger<'_>);
}

/// A lifecycle event.
pub(in crate::ops) trait Lifecycle:
    EntityEvent + for<'a> Event<Trigger<'a> = EntityComponentsTrigger<'a>>
{
}

impl<E: EntityEvent + for<'a> Event<Trigger<'a> = EntityComponentsTrigger<'a>>> Lifecycle for E {}

/// [`watch`] for a [`WatchChange`].
pub(in crate::ops) fn watch_change<E: Lifecycle, C: Component, W: WatchChange>(world: &mut World) -> Entity {
    let key = world.register_event_key::<E>();
    let component = world.register_component::<C>();
    // SAFETY: the runner takes the event for an `E`, whose key this is.
    // Test: `clearing_is_told_from_retaining_whatever_observers_do`.
    let observer = unsafe { Observer::with_dynamic_runner(run_change::<E, W>).with_event_key(key) };
    world.spawn(observer.with_component(component)).id()
}

/// # Safety
/// The event must be an `E`.
unsafe fn run_change<E: Lifecycle, W: WatchChange>(
    mut world: DeferredWorld<'_>,
    _observer: Entity,
    _context: &TriggerContext,
    event: PtrMut<'_>,
    trigger: PtrMut<'_>,
) {
    // SAFETY: promised by the caller.
    let entity = unsafe { event.as_ref().deref::<E>() }.event_target();
    // SAFETY: the trigger is of the type that belongs to `E`, which `Lifecycle` names; what it refers to lives as long
    // as the event is being triggered.
    let change = unsafe { trigger.as_ref().deref::<EntityComponentsTrigger<'_>>() };
    W::run(&mut world, entity, change);
}

/// # Safety
/// The event must be an `E`.
unsafe fn run<E: EntityEvent, W: Watch>(
    mut world: DeferredWorld<'_>,
    _observer: Entity,
    _context: &TriggerContext,
    event: PtrMut<'_>,
    _trigger: PtrMut<'_>,
) {
    // SAFETY: promised by the caller.
    let entity = unsafe { event.as_ref().deref::<E>() }.event_target();
    W::run(&mut world, entity);
}

/// Keeps track of whether anybody listens, and of ticks that grow old.
pub(in crate::ops) fn watch_observers(world: &mut World) -> Vec<Entity> {
    let keys =
        [world.register_event_key::<PairInsertedEvent>(), world.register_event_key::<PairRemovedEvent>()];
    ensure_store(world).listeners.keys = Some(keys);
    // The first event finds out. There may even be an observer that is just being added: one whose parameters
    // have brought relations into the world.
    set_listening(&mut DeferredWorld::from(&mut *world), [true; 2]);
    let listeners = world.add_observer(|_: On<Insert<Observer>>, mut world: DeferredWorld| {
        set_listening(&mut world, [true; 2]);
    });
    let listeners = listeners.id();
    let ticks = world.add_observer(|on: On<CheckChangeTicks>, mut world: DeferredWorld| {
        let check = *on.event();
        let Some(store) = fetch::deferred_store(&mut world) else { return };
        for index in &mut store.relations {
            let extra = index.reverse.extra.iter_mut();
            extra.flat_map(|extra| &mut extra.ticks).for_each(|ticks| ticks.clamp(check));
        }
        let columns: Vec<_> = store.registry.data_kinds().map(|kind| kind.clamp_ticks).collect();
        columns.into_iter().for_each(|clamp| clamp(&mut world, check));
    });
    let ticks = ticks.id();
    vec![listeners, ticks]
}

/// Finds out whether anybody listens.
fn refresh_listeners(world: &mut DeferredWorld<'_>) {
    let Some(keys) = fetch::store(world).and_then(|store| store.listeners.keys) else { return };
    let any = keys.map(|key| {
        world.observers().try_get_observers(key).is_some_and(|observers| {
            !observers.global_observers().is_empty()
                || !observers.entity_observers().is_empty()
                || !observers.component_observers().is_empty()
        })
    });
    set_listening(world, any);
}

fn set_listening(world: &mut DeferredWorld<'_>, any: [bool; 2]) {
    if let Some(store) = fetch::deferred_store(world) {
        store.listeners.any = any;
        store.listeners.anybody = any != [false; 2];
    }
}

/// Adds an observer of the pairs that fit `pair`.
pub(crate) fn observe<M>(world: &mut World, pair: PairId, observer: impl IntoObserver<M>) -> Entity {
    let observer = observer.into_observer();
    let observer = match (pair.relation(), pair.target()) {
        (Slot::Entity(relation), Slot::Entity(target)) => {
            observer.with_component(narrow_key(world, (Some(relation), target)))
        }
        (Slot::Entity(relation), _) => match relation_key(world, relation) {
            Some(key) => observer.with_component(key),
            // A dead relation has no pairs to hear of; an id of its own keeps the observer silent.
            None => observer.with_component(new_key(world)),
        },
        (_, Slot::Entity(target)) => observer.with_component(narrow_key(world, (None, target))),
        _ => observer,
    };
    world.spawn(observer).id()
}

/// The id that observers of a relation watch.
fn relation_key(world: &mut World, relation: Entity) -> Option<ComponentId> {
    let id = crate::ops::register::bootstrap::relation_id_of(world, relation).ok()?;
    if let Some(&key) = ensure_store(world).registry.entry(id).keys.first() {
        return Some(key);
    }
    let key = free_key(world);
    ensure_store(world).registry.entry_mut(id).keys.push(key);
    Some(key)
}

fn narrow_key(world: &mut World, narrowed: (Option<Entity>, Entity)) -> ComponentId {
    if let Some(&key) = ensure_store(world).listeners.narrow.get(&narrowed) {
        return key;
    }
    let key = free_key(world);
    // A dead entity has no pairs to hear of, and its index may belong to another by now.
    let named = [narrowed.0, Some(narrowed.1)].into_iter().flatten();
    let alive: SmallVec<[Entity; 2]> =
        named.filter(|&entity| world.entities().contains_spawned(entity)).collect();
    let store = ensure_store(world);
    store.listeners.narrow.insert(narrowed, key);
    for entity in alive {
        store.participants.set_narrowed(entity);
    }
    key
}

/// An id of something that is gone and that no observer watches any more, or a new one.
fn free_key(world: &mut World) -> ComponentId {
    let store = ensure_store(world);
    let keys = store.listeners.keys;
    let mut free = core::mem::take(&mut store.registry.free_keys);
    let watched = |key: &ComponentId| {
        let observers = keys.iter().flatten().filter_map(|&event| world.observers().try_get_observers(event));
        observers.into_iter().any(|observers| observers.component_observers().contains_key(key))
    };
    let unwatched = free.iter().position(|key| !watched(key)).map(|at| free.swap_remove(at));
    ensure_store(world).registry.free_keys = free;
    unwatched.unwrap_or_else(|| new_key(world))
}

fn new_key(world: &mut World) -> ComponentId {
    // SAFETY: a type without size needs no drop function, is `Send` and `Sync`, and is never inserted.
    // Test: `an_observer_can_be_narrowed_to_a_pair_of_run_time_entities`.
    let descriptor = unsafe {
        ComponentDescriptor::new_with_layout(
            Cow::Borrowed("bevy_relations::PairKey"),
            StorageType::SparseSet,
            Layout::new::<()>(),
            None,
            false,
            false,
            ComponentCloneBehavior::Ignore,
            None,
        )
    };
    world.register_component_with_descriptor(descriptor)
}
