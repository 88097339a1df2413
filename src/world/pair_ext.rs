//! The methods of the world: what they promise. `verbs` has what they do.

use crate::{
    id::PairId,
    ops::{
        DespawnError, InsertPairError, InsertPairsError, NotTraversableError, PropagatedEvent, ReorderError,
    },
    relation::{
        KeyedRelation, Relation, RelationName, RelationTraits, StoredRelation, TraitsError,
        TraversableRelation,
    },
    sealed::Sealed,
    store::{PairInvariantError, TargetIter},
    system_param::{AnyPairs, Pairs},
    traverse::{Direction, RelationView},
};
use alloc::{borrow::Cow, vec::Vec};
use bevy_ecs::{
    bundle::{Bundle, NoBundleEffect},
    change_detection::Mut,
    component::Component,
    entity::Entity,
    observer::IntoObserver,
    relationship::Relationship,
};

/// Changing and reading pairs, directly on the [`World`](bevy_ecs::world::World).
///
#[doc = include_str!("pair_ext.md")]
pub trait WorldPairExt: Sealed {
    /// Inserts the pair `(relation, target)` on `source`, with `relation` as its value if it has fields.
    ///
    /// A tag pair that is there already stays as it is; the value of a data pair is replaced. The effects of the
    /// relation's traits, such as companions, take place too. Example: [inserting](WorldPairExt#inserting).
    ///
    /// # Errors
    /// See [`InsertPairError`]. Nothing has changed then.
    ///
    /// # Complexity
    /// O(1), whatever the number of sources or targets. For an acyclic relation O(pairs above `target`), if `source`
    /// has sources of its own; for a [keyed relation](KeyedRelation) O(targets of `source`).
    fn insert_pair<R: Relation>(
        &mut self,
        source: Entity,
        relation: R,
        target: Entity,
    ) -> Result<(), InsertPairError>;

    /// [`insert_pair`](Self::insert_pair) for any relation. A pair that carries a value gets its default.
    /// Example: [inserting](WorldPairExt#inserting).
    ///
    /// # Errors
    /// See [`InsertPairError`]; `*` and `_` are errors too.
    fn insert_pair_by_id(&mut self, source: Entity, pair: impl Into<PairId>) -> Result<(), InsertPairError>;

    /// [`insert_pair_by_id`](Self::insert_pair_by_id) with a value. Example: [inserting](WorldPairExt#inserting).
    ///
    /// # Errors
    /// See [`InsertPairError`]; a value of another type than the pair carries is an error.
    fn insert_pair_value_by_id<V: Send + Sync + 'static>(
        &mut self,
        source: Entity,
        pair: impl Into<PairId>,
        value: V,
    ) -> Result<(), InsertPairError>;

    /// Inserts a pair whose target is the entity that stands for the type `T`.
    ///
    /// The value is of type `R` if the relation has fields, else of type `T`, else `()`:
    /// `world.insert_pair_to::<Begin, Position>(source, Position::ZERO)`. Example: [inserting](WorldPairExt#inserting).
    ///
    /// # Errors
    /// See [`InsertPairError`].
    fn insert_pair_to<R: Relation, T: Send + Sync + 'static>(
        &mut self,
        source: Entity,
        value: impl Send + Sync + 'static,
    ) -> Result<(), InsertPairError>;

    /// Inserts several pairs of one source, in order. Those that are refused do not keep the others out. Of an exclusive relation,
    /// and of pairs with one key, the last one stays; [`replace_targets`](Self::replace_targets) refuses several instead.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Carries(u32);
    ///
    /// # let mut world = World::new();
    /// # let [hero, arrow, rope, lost] = [(); 4].map(|()| world.spawn_empty().id());
    /// world.despawn(lost);
    /// let error = world.insert_pairs(hero, [(Carries(20), arrow), (Carries(1), lost), (Carries(1), rope)]).unwrap_err();
    /// assert_eq!(error.refused.len(), 1);
    /// assert_eq!(world.pairs::<Carries>().target_count(hero), 2);
    /// ```
    ///
    /// # Errors
    /// What was refused, and why, by the place in `pairs`.
    fn insert_pairs<R: Relation>(
        &mut self,
        source: Entity,
        pairs: impl IntoIterator<Item = (R, Entity)>,
    ) -> Result<(), InsertPairsError>;

    /// Inserts a Bevy relationship component as the pair that it is: the target is the one that it names.
    ///
    /// Inserting the component itself does the same, but for errors, which Bevy only logs.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// let mut world = World::new();
    /// let [ship, turret] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.insert_relationship(turret, ChildOf(ship)).unwrap();
    /// assert!(world.has_pair::<ChildOf>(turret, ship));
    /// assert!(world.insert_relationship(ship, ChildOf(turret)).is_err(), "a cycle");
    /// ```
    ///
    /// # Errors
    /// See [`InsertPairError`]. Nothing has changed then.
    fn insert_relationship<C: Relationship + Relation>(
        &mut self,
        source: Entity,
        relationship: C,
    ) -> Result<(), InsertPairError>;

    /// Inserts many pairs of one relation, in order: several times faster than one by one.
    /// Example: [batches](WorldPairExt#batches).
    ///
    /// # Errors
    /// Lists the pairs that were refused; the others have been inserted.
    fn insert_pair_batch<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (Entity, R, Entity)>,
    ) -> Result<(), InsertPairsError>;

    /// Removes the pair with exactly this target. Returns whether it was there. Example: [removing](WorldPairExt#removing).
    ///
    /// # Complexity
    /// Constant on average, whatever the number of sources or targets.
    fn remove_pair<R: Relation>(&mut self, source: Entity, target: Entity) -> bool;

    /// Removes the pair that has the key and returns its target, if there is one. [`remove_pair`](Self::remove_pair)
    /// removes by target; [`pair_by_key`](Self::pair_by_key) reads. Example: [values and keys](WorldPairExt#values-and-keys).
    ///
    /// # Complexity
    /// O(targets of `source` in the relation).
    fn remove_pair_by_key<R: KeyedRelation>(&mut self, source: Entity, key: &R::Key) -> Option<Entity>;

    /// Makes the targets of `source` exactly those of `pairs`, all at once.
    ///
    /// Pairs that are there already stay as they are, with their values and their places in the order of targets, and
    /// trigger no events; the values in `pairs` are for new ones. These follow in the given order. If a target is named twice, the last value counts.
    /// Without any, it does what [`remove_pairs`](Self::remove_pairs) does, also for an entity that is not alive:
    /// nothing.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Patrols;
    ///
    /// # let mut world = World::new();
    /// # let [guard, gate, wall, tower] = [(); 4].map(|()| world.spawn_empty().id());
    /// world.insert_pairs(guard, [(Patrols, gate), (Patrols, wall)])?;
    /// world.replace_targets(guard, [(Patrols, wall), (Patrols, tower)])?;
    /// assert!(world.pairs::<Patrols>().targets(guard).eq([wall, tower]));
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If one of the new pairs is refused, see [`InsertPairError`], or there is more than one target and the relation
    /// is exclusive, or two pairs have one key of a [keyed relation](KeyedRelation). Nothing has changed then.
    ///
    /// # Complexity
    /// O(old targets + new targets); for a keyed relation their product.
    fn replace_targets<R: Relation>(
        &mut self,
        source: Entity,
        pairs: impl IntoIterator<Item = (R, Entity)>,
    ) -> Result<(), InsertPairError>;

    /// Gives every source of `from` the target `to` instead, all at once, and returns their number. It is 0 if `from`
    /// is not alive; then `to` is not checked.
    ///
    /// The pairs keep their values; so do the other fields of a Bevy relationship. The sources come after those that `to` has,
    /// in their former order. A source that has both targets keeps the pair with `to` as it is. The
    /// pairs with `from` are [replaced](crate::event::RemovalCause::Replaced).
    ///
    /// If the relation has [`validate`](Relation::validate), that is called with a copy of each value: such values must
    /// be `Clone`.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// #[relation(exclusive)]
    /// struct DockedTo {
    ///     bay: u32,
    /// }
    ///
    /// # let mut world = World::new();
    /// # let [ship, ruin, station] = [(); 3].map(|()| world.spawn_empty().id());
    /// world.insert_pair(ship, DockedTo { bay: 3 }, ruin)?;
    /// assert_eq!(world.move_sources::<DockedTo>(ruin, station)?, 1);
    /// assert_eq!(world.pair_value::<DockedTo>(ship, station).unwrap().bay, 3);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If one of the new pairs is refused, see [`InsertPairError`]; a source below `to` would close a cycle of an
    /// acyclic relation. Nothing has changed then.
    ///
    /// # Complexity
    /// O(sources), beside the search for cycles.
    fn move_sources<R: Relation>(&mut self, from: Entity, to: Entity) -> Result<usize, InsertPairError>;

    /// Removes all pairs of the relation from `source` and returns their number. Example: [removing](WorldPairExt#removing).
    fn remove_pairs<R: Relation>(&mut self, source: Entity) -> usize;

    /// Removes the pairs that fit `pair` from `source` and returns their number: `(R, T)`, all of a relation
    /// `(R, *)`, all with a target `(*, T)`, or everything `(*, *)`. The last two remove
    /// tags, too: a tag counts as a target. Example: [removing](WorldPairExt#removing).
    fn remove_pairs_by_id(&mut self, source: Entity, pair: impl Into<PairId>) -> usize;

    /// [`remove_pairs_by_id`](Self::remove_pairs_by_id) from every source: `(R, T)` removes all pairs of `R` with the
    /// target `T`. Returns the number of removed pairs. Example: [removing](WorldPairExt#removing).
    fn remove_pairs_everywhere(&mut self, pair: impl Into<PairId>) -> usize;

    /// Removes many pairs of one relation, in order: several times faster than one by one. Returns the
    /// number of those that were there. Example: [batches](WorldPairExt#batches).
    fn remove_pair_batch<R: Relation>(&mut self, pairs: impl IntoIterator<Item = (Entity, Entity)>) -> usize;

    /// Removes every pair. Pairs kept in Bevy's relationship components go with the components. The relations
    /// stay registered, and their traits can be set again. No entity is despawned for it.
    /// Example: [removing](WorldPairExt#removing).
    fn clear_pairs(&mut self);

    /// [`despawn_with_dependents`](Self::despawn_with_dependents) for every entity that has a pair that fits `pair`;
    /// `(*, tag)` fits what has the tag. Returns the number of those that had the pair.
    /// Example: [despawning](WorldPairExt#despawning).
    ///
    /// # Errors
    /// If a policy `Refuse` forbids one of these despawns. Nothing has changed then.
    fn despawn_sources(&mut self, pair: impl Into<PairId>) -> Result<usize, DespawnError>;

    /// Despawns `entity` and all that goes with it by the cleanup policies, dependents first. A target that loses its
    /// last source of a relation with [`on_last_source`](RelationTraits::on_last_source) follows when it has lost it.
    /// In contrast to Bevy's `despawn`, it plans the whole cascade first, so that a policy `Refuse` can refuse it, and
    /// the root goes last. Example: [despawning](WorldPairExt#despawning).
    ///
    /// # Errors
    /// If the entity is dead, or a policy `Refuse` forbids the despawn. Nothing has changed then.
    fn despawn_with_dependents(&mut self, entity: Entity) -> Result<(), DespawnError>;

    /// The entities that [`despawn_with_dependents`](Self::despawn_with_dependents) would despawn, in its order:
    /// dependents first, then `entity`, then targets that lose their last source of a relation with
    /// [`on_last_source`](RelationTraits::on_last_source), with their dependents; of those, entities that do not depend
    /// on each other may come in another order. No entity and no pair is changed.
    ///
    /// What observers and hooks would despawn is not listed, nor what is despawned by a Bevy relationship that is not
    /// adopted.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # let mut world = World::new();
    /// let ship = world.spawn_empty().id();
    /// let hull = world.spawn(ChildOf(ship)).id();
    /// let door = world.spawn(ChildOf(hull)).id();
    /// assert_eq!(world.would_despawn(ship).unwrap(), [door, hull, ship]);
    /// ```
    ///
    /// # Errors
    /// If the entity is dead, or a policy `Refuse` forbids the despawn: what `despawn_with_dependents` would return.
    ///
    /// # Complexity
    /// O(entities that would be despawned + their pairs). It takes `&mut self` to mark the entities that it visits.
    fn would_despawn(&mut self, entity: Entity) -> Result<Vec<Entity>, DespawnError>;

    /// Spawns entities, each with a bundle and a pair, like Bevy's `spawn_batch`, which accepts no pairs.
    ///
    /// A pair that is refused goes to Bevy's error handler, also because an observer of the bundle has despawned the
    /// entity, which is returned all the same. Example: [batches](WorldPairExt#batches).
    #[track_caller]
    fn spawn_batch_with_pair<B, R>(&mut self, batch: impl IntoIterator<Item = (B, R, Entity)>) -> Vec<Entity>
    where
        B: Bundle<Effect: NoBundleEffect>,
        R: Relation;

    /// Makes `tag` a tag of `source`: an entity that serves as a mark without a target.
    /// Example: [ids, names and tags](WorldPairExt#ids-names-and-tags).
    ///
    /// # Errors
    /// See [`InsertPairError`].
    fn insert_tag(&mut self, source: Entity, tag: Entity) -> Result<(), InsertPairError>;

    /// Removes a tag. Returns whether `source` had it. Example: [ids, names and tags](WorldPairExt#ids-names-and-tags).
    fn remove_tag(&mut self, source: Entity, tag: Entity) -> bool;

    /// Registers relation type `R`, as its first use does, and returns its entity.
    /// Example: [relations and traits](WorldPairExt#relations-and-traits).
    ///
    /// # Errors
    /// If its traits are rejected.
    fn register_relation<R: Relation>(&mut self) -> Result<Entity, TraitsError>;

    /// Spawns a relation that has no Rust type. Its entity gets a [`Name`](bevy_ecs::name::Name) with `name`, by which expressions,
    /// [`lookup`](crate::WorldNameExt::lookup) and saves find it; errors and drawings show it.
    /// Example: [relations and traits](WorldPairExt#relations-and-traits).
    ///
    /// # Errors
    /// If the traits are rejected; nothing is spawned then.
    fn spawn_relation(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        traits: RelationTraits,
    ) -> Result<Entity, TraitsError>;

    /// Adds traits to a relation, a tag, or the entity of a type, before its first pair.
    ///
    /// [`on_relation_despawn`](RelationTraits::on_relation_despawn) of a component's entity says what happens to the
    /// component, and to the entities that have it, when that entity is despawned.
    /// [`with_component`](RelationTraits::with_component) and [`with_id`](RelationTraits::with_id) say what is added to
    /// an entity along with the component, before the insertion returns: other components by their defaults, tags. The
    /// component must be registered, and no entity may have it yet. If the type is a relation too, companions that have
    /// no default concern its pairs only, and so do those that `#[relation(with = ..)]` declares. The other traits
    /// concern the pairs of which the component's type is the relation.
    /// Example: [relations and traits](WorldPairExt#relations-and-traits).
    ///
    /// # Errors
    /// If they contradict each other or earlier traits, or come too late; or a companion of a component cannot be
    /// made.
    fn set_traits(&mut self, entity: Entity, traits: RelationTraits) -> Result<(), TraitsError>;

    /// The entity that stands for the type `T`, made if there is none. For a relation type it is the relation.
    ///
    /// The traits that a relation type declares hold once it is [registered](Self::register_relation), or used as a type. They are
    /// refused if a pair was inserted by its entity before that. Example: [ids, names and tags](WorldPairExt#ids-names-and-tags).
    fn entity_of<T: Send + Sync + 'static>(&mut self) -> Entity;

    /// Puts the sources of a target of an `ordered` relation into the given order. Example: [order](WorldPairExt#order).
    ///
    /// # Errors
    /// If the traits of `R` are rejected, the relation keeps no order, or `order` is not a permutation of the sources.
    fn order_sources<R: Relation>(&mut self, target: Entity, order: &[Entity]) -> Result<(), ReorderError>;

    /// [`order_sources`](Self::order_sources) for any relation. Example: [order](WorldPairExt#order).
    ///
    /// # Errors
    /// As for [`order_sources`](Self::order_sources), and if `relation` is no relation.
    fn order_sources_by_id(
        &mut self,
        relation: Entity,
        target: Entity,
        order: &[Entity],
    ) -> Result<(), ReorderError>;

    /// Starts to keep, for each pair of the relation, when it was inserted and changed. Pairs that exist count as inserted now.
    /// Example: [events, observers and tracking](WorldPairExt#events-observers-and-tracking).
    ///
    /// # Panics
    /// If the traits of `R` are rejected.
    fn track_pair_changes<R: Relation>(&mut self);

    /// Adds an observer of the pairs that fit `pair` and returns its entity. The observer must be one of
    /// `On<PairInserted<Wildcard>>` or `On<PairRemoved<Wildcard>>`; this narrows it. One that would observe more than that is despawned,
    /// and an [`ObservePairsError`](crate::error::ObservePairsError) goes to Bevy's error handler.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{prelude::*, relation::Wildcard};
    /// # let mut world = World::new();
    /// # let (likes, alice, bob) = (world.spawn_empty().id(), world.spawn_empty().id(), world.spawn_empty().id());
    /// world.observe_pairs(PairId::new(likes, alice), |on: On<PairInserted<Wildcard>>, mut commands: Commands| {
    ///     commands.entity(on.source).insert(Name::new("likes alice"));
    /// });
    /// world.insert_pair_by_id(bob, (likes, alice))?;
    /// assert!(world.entity(bob).contains::<Name>());
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    fn observe_pairs<M>(&mut self, pair: impl Into<PairId>, observer: impl IntoObserver<M>) -> Entity;

    /// Triggers an event at its target, then at the entities above or below it along `R`, each once, depth first.
    ///
    /// The event is one with `#[entity_event(propagate)]`, whatever it propagates along by itself. An observer that
    /// calls [`On::propagate(false)`](bevy_ecs::observer::On::propagate) ends the path at its entity: the event is not triggered
    /// beyond it, unless another path leads there. Commands of the observers are applied at the end: they do not change the path.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
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
    /// # Panics
    /// If the traits of `R` are rejected.
    ///
    /// # Complexity
    /// O(pairs on the way).
    fn trigger_along<R: TraversableRelation>(&mut self, event: impl PropagatedEvent, towards: Direction);

    /// [`trigger_along`](Self::trigger_along) for any relation.
    /// Example: [events, observers and tracking](WorldPairExt#events-observers-and-tracking).
    ///
    /// # Errors
    /// If the relation is not traversable; the event is not triggered then.
    fn trigger_along_by_id(
        &mut self,
        relation: Entity,
        event: impl PropagatedEvent,
        towards: Direction,
    ) -> Result<(), NotTraversableError>;

    /// Triggers events at entities when component `C` comes and goes above them along `R`: from now on
    /// [`InsertedAbove`](crate::event::InsertedAbove) and [`RemovedAbove`](crate::event::RemovedAbove) are triggered.
    /// Another order of targets triggers neither. Relations and components for which this was not called cost nothing.
    /// Example: [events, observers and tracking](WorldPairExt#events-observers-and-tracking).
    ///
    /// # Panics
    /// If the traits of `R` are rejected.
    fn propagate_changes<R: TraversableRelation, C: Component>(&mut self);

    /// Checks the ends of pairs that commands have inserted: whether they have the components that the relation
    /// [requires](RelationTraits::source). Returns the number of pairs that were removed.
    ///
    /// A command is applied before those that follow it, which may insert what is missing. So a pair that a command
    /// inserts is there at once, and is checked by this: the relation's [`OnMissing`](crate::relation::OnMissing) says
    /// whether it is removed, gets the default of what its end lacks, or stays. What is removed or stays is reported to
    /// Bevy's error handler, with the place in the source where the command was queued. Pairs that are removed by then
    /// are not checked, and changes of components in between do not count. The same holds for a Bevy relationship whose
    /// component is inserted, and for the clone of a pair that is still to be checked.
    ///
    /// [`RelationsPlugin`](crate::RelationsPlugin) does this at the end of each frame, in
    /// [`Constraints`](crate::RelationsSystems::Constraints), and so does [`maintain_pairs`](Self::maintain_pairs).
    /// Pairs of a method of the world, a bundle or a clone are checked at once, those that observers insert by commands
    /// meanwhile the next time.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Component)]
    /// struct City;
    ///
    /// #[derive(Relation)]
    /// #[relation(target(City))]
    /// struct LivesIn;
    ///
    /// # let mut world = World::new();
    /// # let [ann, rome, sea] = [(); 3].map(|()| world.spawn_empty().id());
    /// let mut commands = world.commands();
    /// commands.entity(ann).insert_pair(LivesIn, rome).insert_pair(LivesIn, sea);
    /// commands.entity(rome).insert(City);
    /// world.flush();
    /// assert_eq!(world.check_constraints(), 1);
    /// assert!(world.has_pair::<LivesIn>(ann, rome) && !world.has_pair::<LivesIn>(ann, sea));
    /// ```
    ///
    /// # Panics
    /// If the `Default` of a component, an observer or a hook does; each pair has been checked then.
    ///
    /// # Complexity
    /// O(pairs that commands have inserted).
    fn check_constraints(&mut self) -> usize;

    /// The upkeep that [`RelationsPlugin`](crate::RelationsPlugin) does once per frame; call it in a world without the
    /// plugin. Depths of all traversable relations become constant to read again, after entities with sources of their
    /// own were moved; records of pairs that were removed before the last call are dropped. Observers that this crate depends on
    /// come back if they were despawned, and import what they have missed; [islands](crate::islands) and what is
    /// [disabled along relations](crate::disabling) are brought up to date. The ends of pairs are
    /// [checked](Self::check_constraints). Work of this crate that Bevy dropped because a command panicked is done.
    /// Example: [checks and maintenance](WorldPairExt#checks-and-maintenance).
    fn maintain_pairs(&mut self);

    /// Verifies every [`Invariant`](crate::error::Invariant) of the pair store.
    /// Example: [checks and maintenance](WorldPairExt#checks-and-maintenance).
    ///
    /// # Errors
    /// The first that is broken: a bug in this crate.
    fn check_pairs(&self) -> Result<(), PairInvariantError>;

    // Reading.

    /// The pairs of relation type `R`, as the system parameter of the same name returns them.
    /// Example: [reading](WorldPairExt#reading).
    fn pairs<R: Relation>(&self) -> Pairs<'_, '_, R>;

    /// The pairs of all relations, as the system parameter of the same name returns them. Example: [reading](WorldPairExt#reading).
    fn any_pairs(&self) -> AnyPairs<'_, '_>;

    /// The pairs of any relation. Example: [reading](WorldPairExt#reading).
    fn pairs_by_id(&self, relation: Entity) -> RelationView<'_, '_>;

    /// Whether `source` has the pair. Of a Bevy relationship that is not adopted yet: never.
    /// Example: [reading](WorldPairExt#reading).
    fn has_pair<R: Relation>(&self, source: Entity, target: Entity) -> bool;

    /// Whether `source` has a pair that fits `pair`. Example: [reading](WorldPairExt#reading).
    ///
    /// # Complexity
    /// O(1), but for `(*, T)`: O(relations in which `source` takes part).
    fn has_pair_by_id(&self, source: Entity, pair: impl Into<PairId>) -> bool;

    /// The value of a pair. `None` if there is no such pair, or if it carries no value: a tag pair never does, so
    /// test it with [`has_pair`](Self::has_pair). Example: [values and keys](WorldPairExt#values-and-keys).
    fn pair_value<R: Relation>(&self, source: Entity, target: Entity) -> Option<&R>;

    /// The value of a pair of any relation. `None` also if it is not a `V`, and for every tag pair.
    /// Example: [values and keys](WorldPairExt#values-and-keys).
    fn pair_value_by_id<V: Send + Sync + 'static>(
        &self,
        source: Entity,
        pair: impl Into<PairId>,
    ) -> Option<&V>;

    /// The value of a pair, to write. `None` as in [`pair_value`](Self::pair_value). It is marked as changed as a component is,
    /// and `PairInserted` is not triggered; see [`PairsMut`](crate::PairsMut), which is for systems.
    /// Example: [values and keys](WorldPairExt#values-and-keys).
    fn pair_value_mut<R: StoredRelation>(&mut self, source: Entity, target: Entity) -> Option<Mut<'_, R>>;

    /// The target of `source` whose pair has the key, and the value of the pair.
    /// Example: [values and keys](WorldPairExt#values-and-keys).
    ///
    /// # Complexity
    /// O(targets of `source` in the relation).
    fn pair_by_key<R: KeyedRelation>(&self, source: Entity, key: &R::Key) -> Option<(Entity, &R)>;

    /// [`pair_by_key`](Self::pair_by_key) of a relation created at run time, with values of type `R`: see
    /// [`keyed_data`](RelationTraits::keyed_data). Example: [values and keys](WorldPairExt#values-and-keys).
    fn pair_by_key_by_id<R: KeyedRelation>(
        &self,
        source: Entity,
        relation: Entity,
        key: &R::Key,
    ) -> Option<(Entity, &R)>;

    /// Every pair that `source` has, as relation and target, relation by relation: [`AnyPairs::pairs_of`], collected. Tags are
    /// not pairs. Example: [reading](WorldPairExt#reading).
    fn pairs_of(&self, source: Entity) -> Vec<(Entity, Entity)>;

    /// Every pair in which `target` is the target, as source and relation, relation by relation: [`AnyPairs::pairs_to`],
    /// collected. Example: [reading](WorldPairExt#reading).
    fn pairs_to(&self, target: Entity) -> Vec<(Entity, Entity)>;

    /// The nearest entity up the relation that has the component, `entity` first. Nearest is as for
    /// [`Up`](crate::query::Up): everything that is found by way of the first target comes before the second.
    /// Example: [reading](WorldPairExt#reading).
    fn target_with<R: Relation, C: Component>(&self, entity: Entity) -> Option<Entity>;

    /// Whether `source` has the tag. Example: [ids, names and tags](WorldPairExt#ids-names-and-tags).
    fn has_tag(&self, source: Entity, tag: Entity) -> bool;

    /// The tags of `source`, in insertion order. Example: [ids, names and tags](WorldPairExt#ids-names-and-tags).
    fn tags(&self, source: Entity) -> TargetIter<'_>;

    /// The entity that stands for the type `T`, if there is one yet.
    /// Example: [ids, names and tags](WorldPairExt#ids-names-and-tags).
    fn get_entity_of<T: 'static>(&self) -> Option<Entity>;

    /// The traits of a relation, a tag or the entity of a type, if any are known.
    /// Example: [relations and traits](WorldPairExt#relations-and-traits).
    fn traits_of(&self, entity: Entity) -> Option<&RelationTraits>;

    /// The name of a relation for messages: that of its type, or the one given when it was spawned.
    /// Example: [relations and traits](WorldPairExt#relations-and-traits).
    fn relation_name(&self, relation: Entity) -> Option<RelationName>;
}
