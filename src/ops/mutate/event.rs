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

use super::error::ObservePairsError;
use crate::{
    fetch,
    id::{PairId, RelationId, Slot, StoredPair, StoredTag},
    ops::register::{
        entity::relation_id_of,
        keys::{Narrowed, NarrowedKeys, PairInsertedEvent, PairRemovedEvent, RelationKey, RemovalCause},
        report::{report, to_bevy},
        store::{ensure_store, index_children_for},
    },
    relation::{PairName, Tagged},
    store::PairStore,
};
use bevy_ecs::{
    change_detection::MaybeLocation,
    component::{Component, ComponentDescriptor, ComponentId},
    entity::Entity,
    event::{EntityComponentsTrigger, EntityEvent, Event, EventKey, Trigger, trigger_entity_internal},
    observer::{CachedObservers, IntoObserver, Observer, TriggerContext},
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

/// An event, with what it says beside its pair.
#[derive(Clone, Copy)]
pub(crate) enum PairChange {
    Inserted { replaced: bool },
    Removed(Removal),
}

impl PairChange {
    fn event(self) -> PairEvent {
        match self {
            Self::Inserted { .. } => PairEvent::Inserted,
            Self::Removed(_) => PairEvent::Removed,
        }
    }
}

/// Why pairs are removed together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    /// For one cause.
    Because(RemovalCause),
    /// An entity is being despawned, which is the source of one and the target of another.
    DespawnOf(Entity),
}

impl Removal {
    pub(crate) const REMOVED: Self = Self::Because(RemovalCause::Removed);
    pub(crate) const REPLACED: Self = Self::Because(RemovalCause::Replaced);

    /// The cause of one of the pairs.
    fn cause(self, source: Entity, relation: Entity) -> RemovalCause {
        match self {
            Self::Because(cause) => cause,
            Self::DespawnOf(entity) if entity == relation => RemovalCause::RelationDespawned,
            Self::DespawnOf(entity) if entity == source => RemovalCause::SourceDespawned,
            Self::DespawnOf(_) => RemovalCause::TargetDespawned,
        }
    }

    /// Why the other direction of a symmetric pair is removed.
    pub(super) fn of_mirror(self) -> Self {
        match self {
            Self::Because(_) => Self::Because(RemovalCause::Mirror),
            Self::DespawnOf(_) => self,
        }
    }
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
pub(crate) fn trigger(world: &mut DeferredWorld<'_>, change: PairChange, pair: StoredPair) {
    let StoredPair { source, target, .. } = pair;
    let Some(store) = fetch::store(world) else { return };
    let Some(event_key) = store.event_key(change.event() as usize) else { return };
    let entry = store.registry().entry(pair.relation);
    let own = entry.keys.len();
    let mut keys: SmallVec<[ComponentId; 3]> = SmallVec::from_slice(&entry.keys);
    add_narrowed(world, store, [(Some(entry.entity), target), (None, target)], &mut keys);
    let pair_entities = (source, entry.entity, target);
    if !trigger_keys(world, change, event_key, pair_entities, &keys, own) {
        note_unobserved(world, Some(pair.relation), &keys[..own]);
    }
}

/// Triggers an event of a tag that may have observers. A tag has no relation: [`Tagged`] stands for it.
pub(crate) fn trigger_tag(world: &mut DeferredWorld<'_>, change: PairChange, tag: StoredTag) {
    let StoredTag { source, tag } = tag;
    let Some(store) = fetch::store(world) else { return };
    let Some(event_key) = store.event_key(change.event() as usize) else { return };
    let Some(relation) = store.registry().tags_entity() else { return };
    let mut keys: SmallVec<_> = world.component_id::<RelationKey<Tagged>>().into_iter().collect();
    let own = keys.len();
    add_narrowed(world, store, [(Some(relation), tag), (None, tag)], &mut keys);
    if !trigger_keys(world, change, event_key, (source, relation, tag), &keys, own) {
        note_unobserved(world, None, &keys[..own]);
    }
}

/// Finds out which of the two events of a relation, or of tags, have observers, of which one has none.
#[cold]
fn note_unobserved(world: &mut DeferredWorld<'_>, relation: Option<RelationId>, own: &[ComponentId]) {
    let Some(store) = fetch::store(world) else { return };
    let observed = [0, 1].map(|event| {
        let observers = store.event_key(event).and_then(|key| world.observers().try_get_observers(key));
        observers.is_some_and(|observers| watches(observers, own))
    });
    if let Some(store) = fetch::deferred_store(world) {
        store.set_observed(relation, observed);
    }
}

/// Whether there are observers of all pairs, or of one of `components`.
#[inline]
fn watches(observers: &CachedObservers, components: &[ComponentId]) -> bool {
    let by_component = observers.component_observers();
    components.iter().any(|component| by_component.contains_key(component))
        || !observers.global_observers().is_empty()
        || !observers.entity_observers().is_empty()
}

/// Runs the observers of an event that watch all pairs, or one of `components`. False if there are none of all pairs or
/// of the first `own` of the components, which are the relation's.
fn trigger_keys(
    world: &mut DeferredWorld<'_>,
    change: PairChange,
    event_key: EventKey,
    (source, relation, target): (Entity, Entity, Entity),
    components: &[ComponentId],
    own: usize,
) -> bool {
    let cell = world.as_unsafe_world_cell();
    // SAFETY: the lists of observers are metadata; a deferred world cannot change them.
    let Some(observers) = (unsafe { cell.world_metadata() }).observers().try_get_observers(event_key) else {
        return false;
    };
    // It is not noticed when an observer goes.
    let observed = watches(observers, &components[..own]);
    if !observed && components.len() == own {
        return false;
    }
    let mut trigger = EntityComponentsTrigger { components, old_archetype: None, new_archetype: None };
    let context = TriggerContext { event_key, caller: MaybeLocation::caller() };
    match change {
        // SAFETY: `cell` is that of a deferred world that is borrowed mutably, and nothing of it is in use but the
        // observers. Those are of this world and of this event, whose key was registered in it by its type, and the
        // trigger is of the type that the event asks for. Test: `observers_see_the_fields_of_their_own_event`.
        PairChange::Inserted { replaced } => unsafe {
            let mut event = PairInsertedEvent { source, relation, target, replaced };
            trigger.trigger(cell.into_deferred(), observers, &context, &mut event);
        },
        PairChange::Removed(removal) => {
            let cause = removal.cause(source, relation);
            let mut event = PairRemovedEvent { source, relation, target, cause };
            // SAFETY: as above.
            unsafe { trigger.trigger(cell.into_deferred(), observers, &context, &mut event) };
        }
    }
    observed
}

/// Adds the ids that narrowed observers watch.
#[inline]
fn add_narrowed(
    world: &World,
    store: &PairStore,
    narrowed: [Narrowed; 2],
    components: &mut SmallVec<[ComponentId; 3]>,
) {
    if store.participants().is_narrowed(narrowed[0].1)
        && let Some(keys) = world.get_resource::<NarrowedKeys>()
    {
        components.extend(narrowed.iter().filter_map(|&narrowed| keys.get(narrowed)));
    }
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
pub(crate) trait ObserveEntity: 'static {
    fn run(world: &mut DeferredWorld<'_>, entity: Entity);
}

/// Observes lifecycle event `E` of component `C` with a plain function: a system would cost more than
/// mirroring a pair does.
pub(crate) fn observe_entity<E: EntityEvent, C: Component, W: ObserveEntity>(world: &mut World) -> Entity {
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
    // Test: `clearing_is_distinguished_from_retaining_whatever_observers_do`.
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
    ensure_store(world);
    index_children_for(world, pair);
    let key = match (pair.relation(), pair.target()) {
        (Slot::Entity(relation), Slot::Entity(target)) => narrow_key(world, (Some(relation), target)),
        // A dead relation has no pairs to observe; an id of its own keeps the observer silent.
        (Slot::Entity(relation), _) => relation_key(world, relation).unwrap_or_else(|| new_key(world)),
        (_, Slot::Entity(target)) => narrow_key(world, (None, target)),
        _ => return world.spawn(observer.into_observer()).id(),
    };
    let observer = world.spawn(observer.into_observer().with_component(key)).id();
    if !observes_only(world, observer, key) {
        world.despawn(observer);
        let relation = fetch::store(world).and_then(|store| store.registry().relation_name(pair));
        let pair = PairName::new(world, relation, pair);
        report(world.commands(), to_bevy(ObservePairsError { pair }));
        world.flush();
    }
    observer
}

/// Whether an observer is one of events of pairs, of those with this key and no others.
fn observes_only(world: &mut World, observer: Entity, key: ComponentId) -> bool {
    let events =
        [world.register_event_key::<PairInsertedEvent>(), world.register_event_key::<PairRemovedEvent>()];
    // Other observers may have despawned it.
    world.get::<Observer>(observer).is_none_or(|observer| {
        let descriptor = observer.descriptor();
        descriptor.components().iter().all(|&watched| watched == key)
            && descriptor.event_keys().iter().all(|event| events.contains(event))
    })
}

/// The id that observers of a relation watch.
fn relation_key(world: &mut World, relation: Entity) -> Option<ComponentId> {
    if fetch::store(world).is_some_and(|store| store.registry().names_tags(relation)) {
        return Some(world.register_component::<RelationKey<Tagged>>());
    }
    let id = relation_id_of(world, relation).ok()?;
    if let Some(&key) = ensure_store(world).registry().entry(id).keys.first() {
        return Some(key);
    }
    let key = free_key(world);
    let store = ensure_store(world);
    store.registry_mut().entry_mut(id).keys.push(key);
    store.set_maybe_observed(id);
    Some(key)
}

fn narrow_key(world: &mut World, narrowed: Narrowed) -> ComponentId {
    let known = world.get_resource::<NarrowedKeys>().and_then(|keys| keys.get(narrowed));
    let key = known.unwrap_or_else(|| free_key(world));
    // Also if it is known: the store that has its entities on record may be another by now.
    NarrowedKeys::insert(world, narrowed, key);
    key
}

/// How many ids of what is gone are looked at for one that no observer watches. The observers may be as many as the ids.
const MAX_LOOKED_AT: usize = 16;

/// An id of something that is gone and that no observer watches any more, or a new one.
fn free_key(world: &mut World) -> ComponentId {
    let store = ensure_store(world);
    let keys = [store.event_key(0), store.event_key(1)];
    let mut free = ensure_store(world).registry_mut().take_free_keys();
    let watched = |key: &ComponentId| {
        let observers = keys.iter().flatten().filter_map(|&event| world.observers().try_get_observers(event));
        observers.into_iter().any(|observers| observers.component_observers().contains_key(key))
    };
    // Those that are watched go to the end, so that the others are found in time.
    let mut unwatched = None;
    for _ in 0..free.len().min(MAX_LOOKED_AT) {
        free.rotate_left(1);
        unwatched = free.pop_back_if(|key| !watched(key));
        if unwatched.is_some() {
            break;
        }
    }
    ensure_store(world).registry_mut().add_free_keys(free);
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
