//! What observers of pairs listen to: two events, patterns on them, and the component ids, called keys, under which
//! Bevy lists the observers of a relation type.

use crate::{
    fetch,
    relation::{Relation, Wildcard},
    store::StoreId,
};
use alloc::{vec, vec::Vec};
use bevy_ecs::{
    bundle::Bundle,
    component::{Component, ComponentId},
    entity::Entity,
    event::{EntityComponentsTrigger, EntityEvent, EventPattern},
    hierarchy::ChildOf,
    lifecycle::Insert,
    observer::{Observer, On},
    resource::Resource,
    world::{DeferredWorld, World},
};
use bevy_platform::collections::HashMap;
use core::marker::PhantomData;
use smallvec::SmallVec;

/// A pair was inserted, or its value replaced. See [`PairInserted`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # #[derive(Relation)]
/// # struct Owes(u32);
/// # #[derive(Resource, Default)]
/// # struct Log(Vec<(Entity, Entity, bool)>);
/// # let mut world = World::new();
/// # world.init_resource::<Log>();
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// world.add_observer(|on: On<PairInserted<Owes>>, mut log: ResMut<Log>| {
///     log.0.push((on.source, on.target, on.replaced));
/// });
/// world.insert_pair(ann, Owes(1), ben)?;
/// world.insert_pair(ann, Owes(2), ben)?;
/// assert_eq!(world.resource::<Log>().0, [(ann, ben, false), (ann, ben, true)]);
/// # Ok::<(), BevyError>(())
/// ```
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
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::event::RemovalCause;
/// # #[derive(Relation)]
/// # struct Likes;
/// # #[derive(Resource, Default)]
/// # struct Log(Vec<(Entity, Entity, RemovalCause)>);
/// # let mut world = World::new();
/// # world.init_resource::<Log>();
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// world.add_observer(|on: On<PairRemoved<Likes>>, mut log: ResMut<Log>| {
///     log.0.push((on.source, on.target, on.cause));
/// });
/// world.insert_pair(ann, Likes, ben)?;
/// world.despawn(ann);
/// assert_eq!(world.resource::<Log>().0, [(ann, ben, RemovalCause::SourceDespawned)]);
/// # Ok::<(), BevyError>(())
/// ```
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
    /// Why it is removed.
    pub cause: RemovalCause,
}

/// Why a pair is removed.
///
/// When an entity is despawned, the cause of each of its pairs is what the entity is in that pair, however it was
/// despawned. Of several that fit, the first in this order counts: relation, source, target. Of the two ends of a pair
/// that are despawned together, the one that goes first counts.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{event::RemovalCause, prelude::*};
///
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct DockedTo;
///
/// #[derive(Resource, Default)]
/// struct Causes(Vec<RemovalCause>);
///
/// let mut world = World::new();
/// world.init_resource::<Causes>();
/// world.add_observer(|on: On<PairRemoved<DockedTo>>, mut causes: ResMut<Causes>| causes.0.push(on.cause));
/// let [kite, oslo, hull] = [(); 3].map(|()| world.spawn_empty().id());
/// world.insert_pair(kite, DockedTo, oslo)?;
/// world.insert_pair(kite, DockedTo, hull)?;
/// world.despawn(hull);
/// assert_eq!(world.resource::<Causes>().0, [RemovalCause::Replaced, RemovalCause::TargetDespawned]);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum RemovalCause {
    /// It was removed by a method of this crate, by clearing the entity, or by removing the component in which a Bevy
    /// relationship keeps the pair.
    Removed,
    /// Another pair takes its place: of an exclusive relation, with the same key, or by
    /// [`move_sources`](crate::WorldPairExt::move_sources). If a Bevy relationship component is inserted again with the same
    /// target, that is the same pair.
    Replaced,
    /// It is the other direction of a symmetric pair that was removed or replaced, which the event before is about.
    /// When an end or the relation is despawned, each direction has its own cause.
    Mirror,
    /// The source is being despawned.
    SourceDespawned,
    /// The target is being despawned; or the tag, if the pair is a tag.
    TargetDespawned,
    /// The relation is being despawned.
    RelationDespawned,
    /// An end has lost a component that it must have, or has got one that it must not have.
    ConstraintBroken,
}

/// What an observer of pairs listens to: a [`Relation`] type, or [`Wildcard`] for every relation.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::{event::PairPattern, relation::Wildcard};
/// # #[derive(Relation)]
/// # struct Likes;
/// #[derive(Resource, Default)]
/// struct Seen(u32);
///
/// fn count<P: PairPattern>(_: On<PairInserted<P>>, mut seen: ResMut<Seen>) {
///     seen.0 += 1;
/// }
/// # let mut world = World::new();
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// world.init_resource::<Seen>();
/// world.add_observer(count::<Likes>);
/// world.add_observer(count::<Wildcard>);
/// world.insert_pair(ann, Likes, ben)?;
/// assert_eq!(world.resource::<Seen>().0, 2);
/// # Ok::<(), BevyError>(())
/// ```
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
/// A clone has its components when its pairs are inserted, and may be despawned by an observer. Not so where Bevy
/// clones several entities at once ([`linked_cloning`](bevy_ecs::entity::EntityClonerBuilder::linked_cloning)), and
/// some of those that go with the clone are still to be cloned: Bevy 0.20 panics then, whichever observer despawned
/// them.
///
/// In the book: [Pairs in systems](crate::book::pairs).
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

/// `On<PairRemoved<R>>`: before a pair of `R` is removed, while it and its value are readable. The event says why:
/// [`RemovalCause`].
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{event::RemovalCause, prelude::*};
///
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct DockedTo;
///
/// #[derive(Component)]
/// struct Adrift;
///
/// let mut world = World::new();
/// world.add_observer(|on: On<PairRemoved<DockedTo>>, mut commands: Commands| {
///     if on.cause == RemovalCause::TargetDespawned {
///         commands.entity(on.source).insert(Adrift);
///     }
/// });
/// let [earth, mars] = [(); 2].map(|()| world.spawn_empty().id());
/// let ship = world.spawn(Pair(DockedTo, earth)).id();
/// world.insert_pair(ship, DockedTo, mars)?;
/// assert!(!world.entity(ship).contains::<Adrift>());
/// world.despawn(mars);
/// assert!(world.entity(ship).contains::<Adrift>());
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
pub struct PairRemoved<P>(PhantomData<fn() -> P>);

impl<P: PairPattern> EventPattern for PairRemoved<P> {
    type Event = PairRemovedEvent;
    type Components = P::Key;
}

/// Its id stands for relation type `R` in the lists of observers. Never inserted.
#[doc(hidden)]
#[derive(Component)]
pub struct RelationKey<R: Send + Sync + 'static>(PhantomData<fn() -> R>);

/// The id that observers of a relation type watch.
pub(in crate::ops) fn key_of_type<R: Relation>(world: &mut World) -> ComponentId {
    world.register_component::<RelationKey<R>>()
}

/// Whether there are observers of pairs of `ChildOf`, or of all relations: those that are narrowed to a target aside.
pub(super) fn may_observe_children(world: &World) -> bool {
    let events = [world.event_key::<PairInsertedEvent>(), world.event_key::<PairRemovedEvent>()];
    let mut observers =
        events.into_iter().flatten().filter_map(|key| world.observers().try_get_observers(key));
    let key = world.component_id::<RelationKey<ChildOf>>();
    observers.any(|observers| {
        !observers.global_observers().is_empty()
            || !observers.entity_observers().is_empty()
            || key.is_some_and(|key| observers.component_observers().contains_key(&key))
    })
}

/// Spawns the observer that notes that there may be observers of pairs: it looks at every observer that is added.
pub(super) fn spawn_observers(world: &mut World) -> Vec<Entity> {
    let keys =
        [world.register_event_key::<PairInsertedEvent>(), world.register_event_key::<PairRemovedEvent>()];
    if let Some(store) = fetch::store_mut(world) {
        store.set_event_keys(keys);
        // The first event of each relation finds out. There may even be an observer that is just being added: one whose
        // parameters have brought relations into the world.
        store.set_all_maybe_observed([true; 2]);
    }
    let observer = world.add_observer(|on: On<Insert<Observer>>, mut world: DeferredWorld| {
        let observer = on.entity;
        let Some(store) = fetch::deferred_store(&mut world) else { return };
        store.begin_adding_observer();
        let store = store.id();
        // The hook of the component has queued the command that makes Bevy list the observer.
        world.commands().queue(move |world: &mut World| added(world, observer, store));
    });
    vec![observer.id()]
}

/// Bevy has listed an observer, if it is still there.
fn added(world: &mut World, observer: Entity, before: StoreId) {
    let observed = match (fetch::store(world), world.get::<Observer>(observer)) {
        (Some(store), Some(observer)) => {
            let watched = observer.descriptor().event_keys();
            [0, 1].map(|event| store.event_key(event).is_some_and(|key| watched.contains(&key)))
        }
        _ => [false; 2],
    };
    let Some(store) = fetch::store_mut(world) else { return };
    if observed.contains(&true) {
        store.set_all_maybe_observed(observed);
    }
    if store.id() == before {
        store.end_adding_observer();
    }
}

/// What a narrowed observer watches: a target, of one relation or of any.
pub(in crate::ops) type Narrowed = (Option<Entity>, Entity);

/// The ids that narrowed observers watch.
#[derive(Resource, Default)]
pub(in crate::ops) struct NarrowedKeys {
    keys: HashMap<Narrowed, ComponentId>,
    /// With how many of them those of dead entities are freed. At a despawn that would be a look at all of them, and that of an
    /// entity which never took part in a pair is not even seen.
    sweep_at: usize,
}

impl NarrowedKeys {
    pub(in crate::ops) fn get(&self, narrowed: Narrowed) -> Option<ComponentId> {
        self.keys.get(&narrowed).copied()
    }

    /// Notes the id that an observer watches, and that its entities have one.
    pub(in crate::ops) fn insert(world: &mut World, narrowed: Narrowed, key: ComponentId) {
        Self::sweep(world);
        world.get_resource_or_init::<Self>().keys.insert(narrowed, key);
        // A dead entity has no pairs to observe, and its index may belong to another by now.
        let named = [narrowed.0, Some(narrowed.1)].into_iter().flatten();
        let alive: SmallVec<[Entity; 2]> =
            named.filter(|&entity| world.entities().contains_spawned(entity)).collect();
        let Some(store) = fetch::store_mut(world) else { return };
        for entity in alive {
            store.set_narrowed(entity);
        }
    }

    /// Frees the ids of dead entities, if there are twice as many ids as after the last time.
    fn sweep(world: &mut World) {
        let Some(mut narrowed) = world.get_resource_mut::<Self>() else { return };
        if narrowed.keys.len() < narrowed.sweep_at.max(64) {
            return;
        }
        let mut keys = core::mem::take(&mut narrowed.keys);
        let dead = |entity: Entity| !world.entities().contains(entity);
        let gone =
            |&(relation, target): &Narrowed, _: &mut ComponentId| dead(target) || relation.is_some_and(dead);
        let free: Vec<ComponentId> = keys.extract_if(gone).map(|(_, key)| key).collect();
        if let Some(mut narrowed) = world.get_resource_mut::<Self>() {
            *narrowed = Self { sweep_at: 2 * keys.len(), keys };
        }
        if let Some(store) = fetch::store_mut(world) {
            store.registry_mut().add_free_keys(free);
        }
    }
}
