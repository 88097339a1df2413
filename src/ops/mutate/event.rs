//! Events of pairs.
//!
//! There is one event per kind, and patterns on it: `On<PairInserted<Likes>>` observes the pairs of one
//! relation type, `On<PairInserted<Wildcard>>` of all. [`WorldPairExt::observe_pairs`] narrows an observer of
//! the latter kind to any [`PairId`], also of run-time relations. Nothing is built or queued if there are
//! no observers.
//!
//! [`WorldPairExt::observe_pairs`]: crate::WorldPairExt::observe_pairs
#![expect(
    unsafe_code,
    reason = "Bevy asks for unsafe to trigger an event from a hook, and to observe one with a plain function"
)]

use crate::{
    fetch,
    id::{PairId, Slot, StoredPair, StoredTag},
    ops::register::{
        entity::relation_id_of,
        keys::{Narrowed, NarrowedKeys, PairInsertedEvent, PairRemovedEvent, RelationKey},
        store::ensure_store,
    },
    relation::Tagged,
    store::PairStore,
};
use bevy_ecs::{
    change_detection::MaybeLocation,
    component::{Component, ComponentDescriptor, ComponentId},
    entity::Entity,
    event::{EntityComponentsTrigger, EntityEvent, Event, trigger_entity_internal},
    observer::{IntoObserver, Observer, TriggerContext},
    ptr::PtrMut,
    world::{DeferredWorld, World},
};
use smallvec::SmallVec;

/// Which of the two events.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PairEvent {
    Inserted,
    Removed,
}

/// Whether there may be observers of an event.
#[inline]
pub(crate) fn is_observed(world: &World, kind: PairEvent, pair: StoredPair) -> bool {
    fetch::store(world).is_some_and(|store| store.is_observed(kind as usize, pair))
}

/// [`is_observed`] for a tag.
#[inline]
pub(crate) fn is_tag_observed(world: &World, kind: PairEvent, tag: StoredTag) -> bool {
    fetch::store(world).is_some_and(|store| store.is_tag_observed(kind as usize, tag))
}

/// Triggers an event of a pair that may have observers.
pub(crate) fn trigger(world: &mut DeferredWorld<'_>, kind: PairEvent, pair: StoredPair, replaced: bool) {
    let StoredPair { source, target, .. } = pair;
    let Some(store) = fetch::store(world) else { return };
    let entry = store.registry.entry(pair.relation);
    let own = &entry.keys;
    let narrowed = narrowed_keys(world, store, [(Some(entry.entity), target), (None, target)]);
    let event = PairInsertedEvent { source, relation: entry.entity, target, replaced };
    let keys: SmallVec<[ComponentId; 3]> = own.iter().copied().chain(narrowed).collect();
    let own = own.len();
    if !trigger_keys(world, kind, event, &keys, own)
        && let Some(store) = fetch::deferred_store(world)
    {
        store.set_unobserved(kind as usize, Some(pair.relation));
    }
}

/// Triggers an event of a tag that may have observers. A tag has no relation: [`Tagged`] stands for it.
pub(crate) fn trigger_tag(world: &mut DeferredWorld<'_>, kind: PairEvent, tag: StoredTag) {
    let StoredTag { source, tag } = tag;
    let Some(store) = fetch::store(world) else { return };
    let Some(relation) = store.registry.tags_entity() else { return };
    let own = world.component_id::<RelationKey<Tagged>>();
    let narrowed = narrowed_keys(world, store, [(Some(relation), tag), (None, tag)]);
    let event = PairInsertedEvent { source, relation, target: tag, replaced: false };
    let keys: SmallVec<[ComponentId; 3]> = own.into_iter().chain(narrowed).collect();
    if !trigger_keys(world, kind, event, &keys, usize::from(own.is_some()))
        && let Some(store) = fetch::deferred_store(world)
    {
        store.set_unobserved(kind as usize, None);
    }
}

/// Runs the observers of an event that watch all pairs, or one of `components`. False if there are none of all pairs or of
/// the first `own` of the components, which are the relation's.
fn trigger_keys(
    world: &mut DeferredWorld<'_>,
    kind: PairEvent,
    mut event: PairInsertedEvent,
    components: &[ComponentId],
    own: usize,
) -> bool {
    let Some(key) = fetch::store(world).and_then(|store| store.event_key(kind as usize)) else { return true };
    // It is not noticed when an observer goes.
    let Some(observers) = world.observers().try_get_observers(key) else { return false };
    let by_component = observers.component_observers();
    let is_watched = |component: &ComponentId| by_component.contains_key(component);
    let observed = !observers.global_observers().is_empty()
        || !observers.entity_observers().is_empty()
        || components[..own].iter().any(is_watched);
    if !observed && !components[own..].iter().any(is_watched) {
        return false;
    }
    let mut trigger = EntityComponentsTrigger { components, old_archetype: None, new_archetype: None };
    match kind {
        // SAFETY: the key was registered in this world by the type of the event, and the trigger is of the type that
        // the event asks for. Test: `observers_see_the_fields_of_their_own_event`.
        PairEvent::Inserted => unsafe {
            world.trigger_raw(key, &mut event, &mut trigger, MaybeLocation::caller());
        },
        PairEvent::Removed => {
            let PairInsertedEvent { source, relation, target, .. } = event;
            let mut event = PairRemovedEvent { source, relation, target };
            // SAFETY: as above.
            unsafe { world.trigger_raw(key, &mut event, &mut trigger, MaybeLocation::caller()) };
        }
    }
    observed
}

/// The ids that narrowed observers watch.
#[inline]
fn narrowed_keys(
    world: &World,
    store: &PairStore,
    narrowed: [Narrowed; 2],
) -> impl Iterator<Item = ComponentId> + use<> {
    let is_narrowed = store.participants.is_narrowed(narrowed[0].1);
    let keys = if is_narrowed { world.get_resource::<NarrowedKeys>() } else { None };
    let found = keys.map_or([None; 2], |keys| narrowed.map(|narrowed| keys.get(narrowed)));
    found.into_iter().flatten()
}

/// Runs the observers of an entity event at its target, and no further, whatever its trigger would do on its own.
pub(in crate::ops) fn trigger_at<E: EntityEvent>(
    world: &mut DeferredWorld<'_>,
    event: &mut E,
    trigger: &mut E::Trigger<'_>,
) {
    let Some(event_key) = world.event_key::<E>() else { return };
    let target = event.event_target();
    let cell = world.as_unsafe_world_cell();
    // SAFETY: the lists of observers are metadata; a deferred world cannot change them.
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
pub(in crate::ops) trait ObserveEntity: 'static {
    fn run(world: &mut DeferredWorld<'_>, entity: Entity);
}

/// Observes lifecycle event `E` of component `C` with a plain function: a system would cost more than
/// mirroring a pair does.
pub(in crate::ops) fn observe_entity<E: EntityEvent, C: Component, W: ObserveEntity>(
    world: &mut World,
) -> Entity {
    let key = world.register_event_key::<E>();
    let component = world.register_component::<C>();
    // SAFETY: the runner takes the event for an `E`, whose key this is.
    // Test: `writing_through_either_api_shows_in_the_other`.
    let observer = unsafe { Observer::with_dynamic_runner(run::<E, W>).with_event_key(key) };
    world.spawn(observer.with_component(component)).id()
}

/// [`ObserveEntity`], with what the entity has before and after.
pub(in crate::ops) trait ObserveChange: 'static {
    fn run(world: &mut DeferredWorld<'_>, entity: Entity, change: &EntityComponentsTrigger<'_>);
}

/// A lifecycle event.
pub(in crate::ops) trait Lifecycle:
    EntityEvent + for<'a> Event<Trigger<'a> = EntityComponentsTrigger<'a>>
{
}

impl<E: EntityEvent + for<'a> Event<Trigger<'a> = EntityComponentsTrigger<'a>>> Lifecycle for E {}

/// [`observe_entity`] for a [`ObserveChange`].
pub(in crate::ops) fn observe_change<E: Lifecycle, C: Component, W: ObserveChange>(
    world: &mut World,
) -> Entity {
    let key = world.register_event_key::<E>();
    let component = world.register_component::<C>();
    // SAFETY: the runner takes the event for an `E`, whose key this is.
    // Test: `clearing_is_told_from_retaining_whatever_observers_do`.
    let observer = unsafe { Observer::with_dynamic_runner(run_change::<E, W>).with_event_key(key) };
    world.spawn(observer.with_component(component)).id()
}

/// # Safety
/// The event must be an `E`.
unsafe fn run_change<E: Lifecycle, W: ObserveChange>(
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
unsafe fn run<E: EntityEvent, W: ObserveEntity>(
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

/// Adds an observer of the pairs that fit `pair`.
pub(crate) fn observe<M>(world: &mut World, pair: PairId, observer: impl IntoObserver<M>) -> Entity {
    let observer = observer.into_observer();
    let observer = match (pair.relation(), pair.target()) {
        (Slot::Entity(relation), Slot::Entity(target)) => {
            observer.with_component(narrow_key(world, (Some(relation), target)))
        }
        (Slot::Entity(relation), _) => match relation_key(world, relation) {
            Some(key) => observer.with_component(key),
            // A dead relation has no pairs to observe; an id of its own keeps the observer silent.
            None => observer.with_component(new_key(world)),
        },
        (_, Slot::Entity(target)) => observer.with_component(narrow_key(world, (None, target))),
        _ => observer,
    };
    world.spawn(observer).id()
}

/// The id that observers of a relation watch.
fn relation_key(world: &mut World, relation: Entity) -> Option<ComponentId> {
    if fetch::store(world).is_some_and(|store| store.registry.names_tags(relation)) {
        return Some(world.register_component::<RelationKey<Tagged>>());
    }
    let id = relation_id_of(world, relation).ok()?;
    if let Some(&key) = ensure_store(world).registry.entry(id).keys.first() {
        return Some(key);
    }
    let key = free_key(world);
    let store = ensure_store(world);
    store.registry.entry_mut(id).keys.push(key);
    store.set_maybe_observed(id);
    Some(key)
}

fn narrow_key(world: &mut World, narrowed: Narrowed) -> ComponentId {
    let known = world.get_resource::<NarrowedKeys>().and_then(|keys| keys.get(narrowed));
    let key = known.unwrap_or_else(|| free_key(world));
    // Also if it is known: the store that knew of its entities may be another by now.
    NarrowedKeys::insert(world, narrowed, key);
    key
}

/// An id of something that is gone and that no observer watches any more, or a new one.
fn free_key(world: &mut World) -> ComponentId {
    let store = ensure_store(world);
    let keys = [store.event_key(0), store.event_key(1)];
    let mut free = core::mem::take(&mut ensure_store(world).registry.free_keys);
    let watched = |key: &ComponentId| {
        let observers = keys.iter().flatten().filter_map(|&event| world.observers().try_get_observers(event));
        observers.into_iter().any(|observers| observers.component_observers().contains_key(key))
    };
    let unwatched = free.iter().position(|key| !watched(key)).map(|at| free.swap_remove(at));
    ensure_store(world).registry.free_keys = free;
    unwatched.unwrap_or_else(|| new_key(world))
}

/// Its ids stand for what observers of run-time relations and of single pairs listen to. Never inserted.
#[derive(Component)]
#[component(storage = "SparseSet", immutable, clone_behavior = Ignore)]
struct PairKey;

/// A new id with each call, in contrast to [`World::register_component`].
fn new_key(world: &mut World) -> ComponentId {
    world.register_component_with_descriptor(ComponentDescriptor::new::<PairKey>())
}
