//! Pairs on [`World`].

use super::{
    bundle, propagate,
    trigger::{self, NotTraversableError, PropagatedEvent},
};
use crate::{
    fetch,
    id::{PairId, RelationId, Slot, StoredPair},
    ops::{
        lifecycle::cleanup,
        mutate::{
            error::{DespawnError, InsertPairError, InsertPairsError, ReorderError},
            event, insert, remove,
        },
        register::{
            entity,
            participant::Participant,
            relation::{self, relation_id},
            store::ensure_store,
            traits, upkeep,
        },
    },
    relation::{Relation, RelationTraits, TAGGED, TraitsError, TraversableRelation},
    store::PairInvariantError,
    traverse::Direction,
};
use alloc::{borrow::Cow, vec::Vec};
use bevy_ecs::{
    bundle::{Bundle, NoBundleEffect},
    component::Component,
    entity::{Entity, EntityHashSet},
    observer::IntoObserver,
    world::World,
};
use core::any::TypeId;

/// Changing pairs, directly on the [`World`].
///
/// Everything here takes effect at once. The same verbs exist on
/// [`EntityWorldMut`](crate::EntityWorldMutPairExt) and, deferred, on
/// [`EntityCommands`](crate::EntityCommandsPairExt). Reading is on [`WorldPairReadExt`](crate::WorldPairReadExt).
pub trait WorldPairExt {
    /// Inserts the pair `(relation, target)` on `source`, with `relation` as its value if it has fields.
    ///
    /// A tag pair that is there already stays as it is; the value of a data pair is replaced. Everything that
    /// the relation's traits bring along happens too.
    ///
    /// # Errors
    /// See [`InsertPairError`]. Nothing has changed then.
    ///
    /// # Complexity
    /// Constant, whatever the number of sources or targets. An acyclic relation also takes a step per pair
    /// above `target`, if `source` has sources of its own.
    fn insert_pair<R: Relation>(
        &mut self,
        source: Entity,
        relation: R,
        target: Entity,
    ) -> Result<(), InsertPairError>;

    /// [`insert_pair`](Self::insert_pair) for any relation. A pair that carries a value gets its default.
    ///
    /// # Errors
    /// See [`InsertPairError`]; `*` and `_` are errors too.
    fn insert_pair_by_id(
        &mut self,
        source: Entity,
        relation: impl Into<Slot>,
        target: impl Into<Slot>,
    ) -> Result<(), InsertPairError>;

    /// [`insert_pair_by_id`](Self::insert_pair_by_id) with a value.
    ///
    /// # Errors
    /// See [`InsertPairError`]; a value of another type than the pair carries is an error.
    fn insert_pair_value_by_id<V: Send + Sync + 'static>(
        &mut self,
        source: Entity,
        relation: impl Into<Slot>,
        target: impl Into<Slot>,
        value: V,
    ) -> Result<(), InsertPairError>;

    /// Inserts a pair whose target is the entity that stands for the type `T`.
    ///
    /// The value is of type `R` if the relation has fields, else of type `T`, else `()`:
    /// `world.insert_pair_to::<Begin, Position>(source, Position::ZERO)`.
    ///
    /// # Errors
    /// See [`InsertPairError`].
    fn insert_pair_to<R: Relation, T: Send + Sync + 'static>(
        &mut self,
        source: Entity,
        value: impl Send + Sync + 'static,
    ) -> Result<(), InsertPairError>;

    /// Inserts many pairs of one relation, in order: several times faster than one by one.
    ///
    /// # Errors
    /// Lists the pairs that were refused; the others have been inserted.
    fn insert_pairs<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (Entity, R, Entity)>,
    ) -> Result<(), InsertPairsError>;

    /// Removes the pair with exactly this target. True if it was there.
    ///
    /// # Complexity
    /// Constant on average, whatever the number of sources or targets.
    fn remove_pair<R: Relation>(&mut self, source: Entity, target: Entity) -> bool;

    /// Removes all pairs of the relation from `source` and gives their number.
    fn remove_pairs<R: Relation>(&mut self, source: Entity) -> usize;

    /// Removes the pairs that fit `pair` from `source` and returns their number: `(R, T)`, all of a relation
    /// `(R, *)`, all with a target `(*, T)`, or everything `(*, *)`. The last two remove tags too: a tag is a target
    /// without a relation that has a name.
    fn remove_pairs_by_id(&mut self, source: Entity, pair: PairId) -> usize;

    /// Removes the pairs that fit `pair` from every source and returns their number; tags as
    /// [`remove_pairs_by_id`](Self::remove_pairs_by_id) does.
    fn remove_pairs_everywhere(&mut self, pair: PairId) -> usize;

    /// Removes many pairs of one relation, in order: several times faster than one by one. Gives the number
    /// of those that were there.
    fn remove_pair_batch<R: Relation>(&mut self, pairs: impl IntoIterator<Item = (Entity, Entity)>) -> usize;

    /// Removes every pair. Pairs kept in Bevy's relationship components go with the components. The relations
    /// stay registered, and their traits can be set again.
    fn clear_pairs(&mut self);

    /// Despawns every entity that has a pair that fits `pair`, with what depends on it; `(*, tag)` fits what has the
    /// tag. Returns the number of those that had the pair.
    ///
    /// # Errors
    /// If a policy `Refuse` stands in the way of one of them: those before it are gone.
    fn despawn_with_pair(&mut self, pair: PairId) -> Result<usize, DespawnError>;

    /// Despawns `entity` and all that goes with it by the cleanup policies, dependents first.
    ///
    /// In contrast to Bevy's `despawn` it looks at the whole cascade before it starts, so that a policy
    /// `Refuse` can refuse it, and the root goes last.
    ///
    /// # Errors
    /// If the entity is dead, or a policy stands in the way. Nothing has changed then.
    fn despawn_with_dependents(&mut self, entity: Entity) -> Result<(), DespawnError>;

    /// Spawns entities, each with a bundle and a pair, like Bevy's `spawn_batch`, which accepts no pairs.
    ///
    /// A pair that is refused goes to Bevy's error handler, also because an observer of the bundle has despawned the
    /// entity, which is returned all the same.
    fn spawn_batch_with_pair<B, R>(&mut self, batch: impl IntoIterator<Item = (B, R, Entity)>) -> Vec<Entity>
    where
        B: Bundle<Effect: NoBundleEffect>,
        R: Relation;

    /// Makes `tag` a tag of `source`: an entity that serves as a mark without a target.
    ///
    /// # Errors
    /// See [`InsertPairError`].
    fn insert_tag(&mut self, source: Entity, tag: Entity) -> Result<(), InsertPairError>;

    /// Takes a tag away. True if it was there.
    fn remove_tag(&mut self, source: Entity, tag: Entity) -> bool;

    /// Registers relation type `R`, as its first use does, and gives its entity.
    ///
    /// # Errors
    /// If its traits are rejected.
    fn register_relation<R: Relation>(&mut self) -> Result<Entity, TraitsError>;

    /// Spawns a relation that has no Rust type.
    ///
    /// # Errors
    /// If the traits are rejected; nothing is spawned then.
    fn spawn_relation(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        traits: RelationTraits,
    ) -> Result<Entity, TraitsError>;

    /// Adds facts about a relation, a tag, or the entity of a type, before its first pair.
    ///
    /// [`on_relation_despawn`](RelationTraits::on_relation_despawn) of a component's entity says what happens to the
    /// component, and to the entities that have it, when that entity is despawned. `with` so far concerns only pairs and
    /// tags that name the entity: no component is inserted along with another.
    ///
    /// # Errors
    /// If they contradict each other or what is known, or come too late.
    fn set_traits(&mut self, entity: Entity, traits: RelationTraits) -> Result<(), TraitsError>;

    /// The entity that stands for the type `T`, made if there is none. For a relation type it is the relation.
    fn entity_of<T: Send + Sync + 'static>(&mut self) -> Entity;

    /// Puts the sources of a target of an `ordered` relation into the given order.
    ///
    /// # Errors
    /// If the relation keeps no order, or `order` is not a permutation of the sources.
    fn order_sources<R: Relation>(&mut self, target: Entity, order: &[Entity]) -> Result<(), ReorderError>;

    /// [`order_sources`](Self::order_sources) for any relation.
    ///
    /// # Errors
    /// As there, and if `relation` is no relation.
    fn order_sources_by_id(
        &mut self,
        relation: Entity,
        target: Entity,
        order: &[Entity],
    ) -> Result<(), ReorderError>;

    /// Starts to keep, for each pair of the relation, when it was inserted and changed. Pairs that exist count
    /// as inserted now.
    fn track_pair_changes<R: Relation>(&mut self);

    /// Adds an observer of the pairs that fit `pair` and gives its entity. The observer must be one of
    /// `On<PairInserted<Wildcard>>` or `On<PairRemoved<Wildcard>>`; this narrows it.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{prelude::*, relation::Wildcard};
    /// # let mut world = World::new();
    /// # let (likes, alice, bob) = (world.spawn_empty().id(), world.spawn_empty().id(), world.spawn_empty().id());
    /// world.observe_pairs(PairId::new(likes, alice), |on: On<PairInserted<Wildcard>>, mut commands: Commands| {
    ///     commands.entity(on.source).insert(Name::new("likes alice"));
    /// });
    /// world.insert_pair_by_id(bob, likes, alice)?;
    /// assert!(world.entity(bob).contains::<Name>());
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    fn observe_pairs<M>(&mut self, pair: PairId, observer: impl IntoObserver<M>) -> Entity;

    /// Triggers an event at its target, then at the entities above or below it along `R`, each once, depth first.
    ///
    /// The event is one with `#[entity_event(propagate)]`. What it propagates along on its own does not matter here,
    /// nor whether it does so by itself. An observer that calls [`On::propagate(false)`](bevy_ecs::observer::On::propagate) ends the way
    /// at its entity: nothing above it, or nothing below it, hears of the event, unless another way leads there.
    /// Commands of the observers are applied at the end, so that they do not change the way.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::prelude::*;
    ///
    /// #[derive(Relation)]
    /// #[relation(exclusive, traversable)]
    /// struct MountedOn;
    ///
    /// #[derive(EntityEvent)]
    /// #[entity_event(propagate)]
    /// struct PowerCut {
    ///     entity: Entity,
    /// }
    ///
    /// #[derive(Component)]
    /// struct Battery;
    ///
    /// #[derive(Component)]
    /// struct Dark;
    ///
    /// let mut world = World::new();
    /// let ship = world.spawn_empty().id();
    /// let turret = world.spawn(Pair(MountedOn, ship)).id();
    /// let radar = world.spawn((Battery, Pair(MountedOn, ship))).id();
    /// let antenna = world.spawn(Pair(MountedOn, radar)).id();
    /// world.add_observer(|mut on: On<PowerCut>, batteries: Query<(), With<Battery>>, mut commands: Commands| {
    ///     if batteries.contains(on.entity) {
    ///         on.propagate(false);
    ///     } else {
    ///         commands.entity(on.entity).insert(Dark);
    ///     }
    /// });
    /// world.trigger_along::<MountedOn>(PowerCut { entity: ship }, bevy_relations::traverse::Direction::Sources);
    /// let dark = [ship, turret, radar, antenna].map(|entity| world.entity(entity).contains::<Dark>());
    /// assert_eq!(dark, [true, true, false, false]);
    /// ```
    ///
    /// # Complexity
    /// A step per pair on the way.
    fn trigger_along<R: TraversableRelation>(&mut self, event: impl PropagatedEvent, towards: Direction);

    /// [`trigger_along`](Self::trigger_along) any traversable relation.
    ///
    /// # Errors
    /// If the relation is not traversable; nobody hears of the event then.
    fn trigger_along_by_id(
        &mut self,
        relation: Entity,
        event: impl PropagatedEvent,
        towards: Direction,
    ) -> Result<(), NotTraversableError>;

    /// Lets entities hear when component `C` comes and goes above them along `R`: from now on
    /// [`InsertedAbove`](crate::event::InsertedAbove) and [`RemovedAbove`](crate::event::RemovedAbove) are triggered. Nothing is
    /// paid for relations and components for which this was not called.
    fn propagate_changes<R: TraversableRelation, C: Component>(&mut self);

    /// The upkeep that [`RelationsPlugin`](crate::RelationsPlugin) does once per frame; call it in a world
    /// without the plugin. Depths of all traversable relations become constant to read again, after entities
    /// with sources of their own were moved; pairs that were removed before the last call are forgotten. Observers that
    /// this crate depends on come back if they were despawned, and import what they have missed.
    fn maintain_pairs(&mut self);

    /// Verifies every [`Invariant`](crate::error::Invariant) of the pair store.
    ///
    /// # Errors
    /// The first that is broken: a bug in this crate.
    fn check_pairs(&self) -> Result<(), PairInvariantError>;
}

impl WorldPairExt for World {
    #[inline]
    fn insert_pair<R: Relation>(
        &mut self,
        source: Entity,
        relation: R,
        target: Entity,
    ) -> Result<(), InsertPairError> {
        insert::insert_typed(self, source, relation, target)
    }

    fn insert_pair_by_id(
        &mut self,
        source: Entity,
        relation: impl Into<Slot>,
        target: impl Into<Slot>,
    ) -> Result<(), InsertPairError> {
        let pair = insert::resolve_pair(self, source, relation.into(), target.into())?;
        insert::insert(self, pair, None)
    }

    fn insert_pair_value_by_id<V: Send + Sync + 'static>(
        &mut self,
        source: Entity,
        relation: impl Into<Slot>,
        target: impl Into<Slot>,
        value: V,
    ) -> Result<(), InsertPairError> {
        let pair = insert::resolve_pair(self, source, relation.into(), target.into())?;
        insert::insert_slot(self, pair, &mut Some(value))
    }

    fn insert_pair_to<R: Relation, T: Send + Sync + 'static>(
        &mut self,
        source: Entity,
        value: impl Send + Sync + 'static,
    ) -> Result<(), InsertPairError> {
        bundle::insert_to::<R, T, _>(self, source, value)
    }

    fn insert_pairs<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (Entity, R, Entity)>,
    ) -> Result<(), InsertPairsError> {
        insert::insert_batch(self, pairs)
    }

    #[inline]
    fn remove_pair<R: Relation>(&mut self, source: Entity, target: Entity) -> bool {
        remove::remove_typed::<R>(self, source, target)
    }

    fn remove_pairs<R: Relation>(&mut self, source: Entity) -> usize {
        let Some(relation) = fetch::store(self).and_then(|store| store.registry.entity_of(TypeId::of::<R>()))
        else {
            return 0;
        };
        self.remove_pairs_by_id(source, PairId::any_target(relation))
    }

    fn remove_pairs_by_id(&mut self, source: Entity, pair: PairId) -> usize {
        let Some(store) = fetch::store(self) else { return 0 };
        let pairs = remove::select(store, Some(source), pair);
        remove::remove_selected(self, pairs)
    }

    fn remove_pairs_everywhere(&mut self, pair: PairId) -> usize {
        let Some(store) = fetch::store(self) else { return 0 };
        let pairs = remove::select(store, None, pair);
        remove::remove_selected(self, pairs)
    }

    fn remove_pair_batch<R: Relation>(&mut self, pairs: impl IntoIterator<Item = (Entity, Entity)>) -> usize {
        remove::remove_batch::<R>(self, pairs)
    }

    fn clear_pairs(&mut self) {
        self.remove_pairs_everywhere(PairId::ALL);
        let Some(store) = fetch::store_mut(self) else { return };
        let ids: Vec<_> = store.registry.ids().collect();
        for id in ids {
            // Observers may have inserted pairs again.
            let is_used = store.relation(id).len() > 0;
            let entry = store.registry.entry_mut(id);
            entry.frozen = is_used || entry.adopted.is_some();
            store.refresh_simple(id);
        }
        let columns: Vec<_> = store.registry.columns().collect();
        columns.into_iter().for_each(|column| column.init(self));
    }

    fn despawn_with_pair(&mut self, pair: PairId) -> Result<usize, DespawnError> {
        let Some(store) = fetch::store(self) else { return Ok(0) };
        let pairs = remove::select(store, None, pair);
        let sources: EntityHashSet = pairs.iter().map(|pair| pair.source).collect();
        let mut ordered = sources.clone();
        for pair in &pairs {
            if ordered.remove(&pair.source) && self.entities().contains_spawned(pair.source) {
                cleanup::despawn_with_dependents(self, pair.source)?;
            }
        }
        Ok(sources.len())
    }

    fn despawn_with_dependents(&mut self, entity: Entity) -> Result<(), DespawnError> {
        cleanup::despawn_with_dependents(self, entity)
    }

    fn spawn_batch_with_pair<B, R>(&mut self, batch: impl IntoIterator<Item = (B, R, Entity)>) -> Vec<Entity>
    where
        B: Bundle<Effect: NoBundleEffect>,
        R: Relation,
    {
        bundle::spawn_batch(self, batch)
    }

    fn insert_tag(&mut self, source: Entity, tag: Entity) -> Result<(), InsertPairError> {
        let relation = ensure_store(self).registry.entry(TAGGED).entity;
        self.insert_pair_by_id(source, relation, tag)
    }

    fn remove_tag(&mut self, source: Entity, target: Entity) -> bool {
        let pair = StoredPair { source, relation: TAGGED, target };
        remove::remove_stored(self, pair)
    }

    fn register_relation<R: Relation>(&mut self) -> Result<Entity, TraitsError> {
        relation::register_relation::<R>(self)
    }

    fn spawn_relation(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        traits: RelationTraits,
    ) -> Result<Entity, TraitsError> {
        relation::spawn_relation(self, name.into(), traits)
    }

    fn set_traits(&mut self, entity: Entity, traits: RelationTraits) -> Result<(), TraitsError> {
        traits::set_traits(self, entity, traits)
    }

    fn entity_of<T: Send + Sync + 'static>(&mut self) -> Entity {
        entity::entity_of::<T>(self)
    }

    fn order_sources<R: Relation>(&mut self, target: Entity, order: &[Entity]) -> Result<(), ReorderError> {
        let relation = relation_id::<R>(self);
        let relation = ensure_store(self).registry.entry(relation).entity;
        self.order_sources_by_id(relation, target, order)
    }

    fn order_sources_by_id(
        &mut self,
        entity: Entity,
        target: Entity,
        order: &[Entity],
    ) -> Result<(), ReorderError> {
        let store = ensure_store(self);
        let Some(id) = store.registry.of_entity(entity) else {
            return Err(ReorderError::NotARelation { entity });
        };
        let entry = store.registry.entry(id);
        if entry.adopted.is_some() {
            return Err(ReorderError::Adopted { relation: entry.name(), target });
        }
        if !entry.traits.is_ordered() {
            return Err(ReorderError::NotOrdered { relation: entry.name(), target });
        }
        let mut left: EntityHashSet = store.relation(id).sources(target).collect();
        let all_known = order.iter().all(|source| left.remove(source));
        if !all_known || !left.is_empty() {
            return Err(ReorderError::NotAPermutation { relation: entry.name(), target });
        }
        store.relation_mut(id).reorder(target, order);
        Ok(())
    }

    fn track_pair_changes<R: Relation>(&mut self) {
        let relation = relation_id::<R>(self);
        let tick = self.change_tick();
        ensure_store(self).relation_mut(relation).track(tick);
    }

    fn observe_pairs<M>(&mut self, pair: PairId, observer: impl IntoObserver<M>) -> Entity {
        event::observe(self, pair, observer)
    }

    fn trigger_along<R: TraversableRelation>(&mut self, mut event: impl PropagatedEvent, towards: Direction) {
        let relation = relation_id::<R>(self);
        trigger::trigger(self, relation, &mut event, towards);
        self.flush();
    }

    fn trigger_along_by_id(
        &mut self,
        relation: Entity,
        mut event: impl PropagatedEvent,
        towards: Direction,
    ) -> Result<(), NotTraversableError> {
        let registry = &ensure_store(self).registry;
        let traversable = |&id: &RelationId| registry.entry(id).traits.is_traversable();
        let Some(id) = registry.of_entity(relation).filter(traversable) else {
            return Err(NotTraversableError { relation: registry.name_of(relation) });
        };
        trigger::trigger(self, id, &mut event, towards);
        self.flush();
        Ok(())
    }

    fn propagate_changes<R: TraversableRelation, C: Component>(&mut self) {
        propagate::propagate_changes::<R, C>(self);
    }

    fn maintain_pairs(&mut self) {
        upkeep::maintain(self);
        if let Some(store) = fetch::store_mut(self) {
            store.maintain();
        }
    }

    fn check_pairs(&self) -> Result<(), PairInvariantError> {
        match fetch::store(self) {
            Some(store) => store.check(self, |entity| {
                self.get_entity(entity).is_ok_and(|entity| entity.contains::<Participant>())
            }),
            None => Ok(()),
        }
    }
}
