//! Pairs on [`Commands`] and [`EntityCommands`].

use super::{
    WorldPairExt,
    batch::PairBatch,
    queue::{queue, queue_at, queue_insertion, queue_removal},
};
use crate::{
    id::PairId,
    ops::{self, EndCheck, InsertPairError, PairRole, PropagatedEvent, to_bevy},
    relation::{KeyedRelation, Relation, TraversableRelation},
    sealed::Sealed,
    traverse::Direction,
};
use alloc::vec::Vec;
use bevy_ecs::{
    bundle::{Bundle, NoBundleEffect},
    entity::Entity,
    error::Result,
    relationship::Relationship,
    system::{Commands, EntityCommands},
    world::World,
};
use core::panic::Location;

/// Changing the pairs of one entity, deferred. See [`WorldPairExt`] for what each method does.
///
/// What is refused when the commands are applied goes to Bevy's error handler, with severity `Error` and the place in
/// the source where the command was queued.
///
/// A removal, `replace_targets` or `order_sources` is refused, too, if the entity is gone when the command is applied;
/// [`try_remove_pair`](Self::try_remove_pair) and [`move_sources`](Self::move_sources) do nothing then.
///
/// The components that a relation [requires](crate::RelationTraits::source) of the ends of its pairs are checked later, so
/// that commands that follow may insert them: see [`WorldPairExt::check_constraints`].
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # #[derive(Relation)]
/// # struct Likes;
/// # let mut world = World::new();
/// # let alice = world.spawn_empty().id();
/// fn befriend(alice: In<Entity>, mut commands: Commands) {
///     let bob = commands.spawn_empty().insert_pair(Likes, *alice).id();
///     commands.entity(*alice).insert_pair(Likes, bob).remove_pair::<Likes>(*alice);
/// }
/// world.run_system_cached_with(befriend, alice)?;
/// # assert_eq!(world.pairs::<Likes>().source_count(alice), 1);
/// # Ok::<(), BevyError>(())
/// ```
///
/// They can be chained, and are applied in order:
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Relation)]
/// struct Guards;
/// #[derive(Relation)]
/// #[relation(key = u8)]
/// struct Carries(u8);
/// #[derive(Relation)]
/// struct Begin;
/// struct Position(f32);
///
/// # let mut world = World::new();
/// # let [knight, page, gate, wall, sword, shield, hidden] = [(); 7].map(|()| world.spawn_empty().id());
/// let likes = world.spawn_relation("Likes", RelationTraits::new())?;
/// let rates = world.spawn_relation("Rates", RelationTraits::new().data::<u32>())?;
/// let mut commands = world.commands();
/// commands
///     .entity(knight)
///     .insert_pairs([(Guards, gate), (Guards, wall)])
///     .insert_pairs([(Carries(0), sword), (Carries(1), shield)])
///     .insert_pair_by_id((likes, gate))
///     .insert_pair_value_by_id((rates, wall), 5_u32)
///     .insert_pair_to::<Begin, Position>(Position(1.5))
///     .insert_relationship(ChildOf(wall))
///     .insert_tag(hidden);
/// commands.entity(page).insert_pair(Guards, knight);
/// world.flush();
/// assert!(world.has_tag(knight, hidden) && world.has_pair_by_id(knight, (likes, gate)));
/// assert_eq!(world.pairs_of(knight).len(), 8);
///
/// let mut commands = world.commands();
/// commands
///     .entity(knight)
///     .remove_pair_by_key::<Carries>(1)
///     .remove_pairs::<Carries>()
///     .remove_pairs_by_id((likes, gate))
///     .replace_targets([(Guards, sword)])
///     .remove_tag(hidden)
///     .move_sources::<Guards>(gate);
/// world.flush();
/// assert!(world.pairs::<Guards>().targets(knight).eq([sword]) && world.has_pair::<Guards>(page, gate));
/// assert!(!world.has_tag(knight, hidden) && !world.has_pair::<Carries>(knight, sword));
///
/// world.commands().entity(knight).despawn_with_dependents();
/// world.flush();
/// assert!(world.get_entity(knight).is_err());
/// # Ok::<(), BevyError>(())
/// ```
pub trait EntityCommandsPairExt: Sealed {
    /// See [`WorldPairExt::insert_pair`].
    #[track_caller]
    fn insert_pair<R: Relation>(&mut self, relation: R, target: Entity) -> &mut Self;

    /// See [`WorldPairExt::insert_pair_by_id`].
    #[track_caller]
    fn insert_pair_by_id(&mut self, pair: impl Into<PairId>) -> &mut Self;

    /// See [`WorldPairExt::insert_pair_value_by_id`].
    #[track_caller]
    fn insert_pair_value_by_id<V: Send + Sync + 'static>(
        &mut self,
        pair: impl Into<PairId>,
        value: V,
    ) -> &mut Self;

    /// See [`WorldPairExt::insert_pair_to`].
    #[track_caller]
    fn insert_pair_to<R: Relation, T: Send + Sync + 'static>(
        &mut self,
        value: impl Send + Sync + 'static,
    ) -> &mut Self;

    /// See [`WorldPairExt::insert_pairs`].
    #[track_caller]
    fn insert_pairs<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (R, Entity)> + Send + 'static,
    ) -> &mut Self;

    /// See [`WorldPairExt::insert_relationship`].
    #[track_caller]
    fn insert_relationship<C: Relationship + Relation>(&mut self, relationship: C) -> &mut Self;

    /// As [`insert_pair`](Self::insert_pair), but it is no error if source or target are gone when the command is
    /// applied.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::prelude::*;
    ///
    /// #[derive(Relation)]
    /// struct Targets;
    ///
    /// # let mut world = World::new();
    /// # let [turret, ship] = [(); 2].map(|()| world.spawn_empty().id());
    /// let mut commands = world.commands();
    /// commands.entity(ship).despawn();
    /// commands.entity(turret).try_insert_pair(Targets, ship);
    /// # world.flush();
    /// # assert!(!world.has_pair::<Targets>(turret, ship));
    /// ```
    #[track_caller]
    fn try_insert_pair<R: Relation>(&mut self, relation: R, target: Entity) -> &mut Self;

    /// As [`insert_pair_by_id`](Self::insert_pair_by_id), but it is no error if source or target are gone when the
    /// command is applied.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # let mut world = World::new();
    /// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
    /// let likes = world.spawn_relation("Likes", RelationTraits::new())?;
    /// world.commands().entity(ann).try_insert_pair_by_id((likes, ben));
    /// world.flush();
    /// assert!(world.has_pair_by_id(ann, (likes, ben)));
    /// # Ok::<(), BevyError>(())
    /// ```
    #[track_caller]
    fn try_insert_pair_by_id(&mut self, pair: impl Into<PairId>) -> &mut Self;

    /// See [`WorldPairExt::remove_pair`].
    #[track_caller]
    fn remove_pair<R: Relation>(&mut self, target: Entity) -> &mut Self;

    /// As [`remove_pair`](Self::remove_pair), but it is no error if the source is gone.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Likes;
    ///
    /// # let mut world = World::new();
    /// # let ann = world.spawn_empty().id();
    /// let ben = world.spawn(Pair(Likes, ann)).id();
    /// world.commands().entity(ben).try_remove_pair::<Likes>(ann).despawn();
    /// world.commands().entity(ben).try_remove_pair::<Likes>(ann); // no error
    /// world.flush();
    /// assert!(!world.has_pair::<Likes>(ben, ann));
    /// ```
    #[track_caller]
    fn try_remove_pair<R: Relation>(&mut self, target: Entity) -> &mut Self;

    /// See [`WorldPairExt::remove_pair_by_key`]: the pair that has the key when the command is applied.
    #[track_caller]
    fn remove_pair_by_key<R: KeyedRelation>(&mut self, key: R::Key) -> &mut Self;

    /// See [`WorldPairExt::remove_pairs`].
    #[track_caller]
    fn remove_pairs<R: Relation>(&mut self) -> &mut Self;

    /// See [`WorldPairExt::remove_pairs_by_id`].
    #[track_caller]
    fn remove_pairs_by_id(&mut self, pair: impl Into<PairId>) -> &mut Self;

    /// See [`WorldPairExt::replace_targets`].
    #[track_caller]
    fn replace_targets<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (R, Entity)> + Send + 'static,
    ) -> &mut Self;

    /// See [`WorldPairExt::move_sources`]: the sources of this entity get the target `to` instead.
    #[track_caller]
    fn move_sources<R: Relation>(&mut self, to: Entity) -> &mut Self;

    /// See [`WorldPairExt::order_sources`].
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// #[relation(ordered)]
    /// struct WaitsAt;
    ///
    /// fn reverse(desk: In<Entity>, queue: Pairs<WaitsAt>, mut commands: Commands) {
    ///     let mut waiting: Vec<Entity> = queue.sources(*desk).collect();
    ///     waiting.reverse();
    ///     commands.entity(*desk).order_sources::<WaitsAt>(waiting);
    /// }
    /// # let mut world = World::new();
    /// # let desk = world.spawn_empty().id();
    /// # let [ann, bob] = [(); 2].map(|()| world.spawn(pairs![(WaitsAt, desk)]).id());
    /// # world.run_system_cached_with(reverse, desk)?;
    /// # assert!(world.pairs::<WaitsAt>().sources(desk).eq([bob, ann]));
    /// # Ok::<(), BevyError>(())
    /// ```
    #[track_caller]
    fn order_sources<R: Relation>(&mut self, order: impl Into<Vec<Entity>>) -> &mut Self;

    /// See [`WorldPairExt::insert_tag`].
    #[track_caller]
    fn insert_tag(&mut self, tag: Entity) -> &mut Self;

    /// See [`WorldPairExt::remove_tag`].
    #[track_caller]
    fn remove_tag(&mut self, tag: Entity) -> &mut Self;

    /// See [`WorldPairExt::despawn_with_dependents`].
    #[track_caller]
    fn despawn_with_dependents(&mut self);
}

impl EntityCommandsPairExt for EntityCommands<'_> {
    #[inline]
    fn insert_pair<R: Relation>(&mut self, relation: R, target: Entity) -> &mut Self {
        let source = self.id();
        queue_insertion(self, move |world, ends| {
            ops::insert_typed(world, source, relation, target, ends).map_err(to_bevy)
        })
    }

    fn insert_pair_by_id(&mut self, pair: impl Into<PairId>) -> &mut Self {
        let (source, pair) = (self.id(), pair.into());
        queue_insertion(self, move |world, ends| {
            ops::insert_by_id(world, source, pair, None, ends).map_err(to_bevy)
        })
    }

    fn insert_pair_value_by_id<V: Send + Sync + 'static>(
        &mut self,
        pair: impl Into<PairId>,
        value: V,
    ) -> &mut Self {
        let (source, pair) = (self.id(), pair.into());
        queue_insertion(self, move |world, ends| {
            ops::insert_value_by_id(world, source, pair, value, ends).map_err(to_bevy)
        })
    }

    fn insert_pair_to<R: Relation, T: Send + Sync + 'static>(
        &mut self,
        value: impl Send + Sync + 'static,
    ) -> &mut Self {
        let source = self.id();
        queue_insertion(self, move |world, ends| {
            ops::insert_to::<R, T, _>(world, source, value, ends).map_err(to_bevy)
        })
    }

    fn insert_pairs<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (R, Entity)> + Send + 'static,
    ) -> &mut Self {
        let source = self.id();
        queue_insertion(self, move |world, ends| {
            let pairs = pairs.into_iter().map(|(relation, target)| (source, relation, target));
            ops::insert_batch(world, pairs, ends).map_err(to_bevy)
        })
    }

    fn insert_relationship<C: Relationship + Relation>(&mut self, relationship: C) -> &mut Self {
        let (source, target) = (self.id(), relationship.get());
        queue_insertion(self, move |world, ends| {
            ops::insert_typed(world, source, relationship, target, ends).map_err(to_bevy)
        })
    }

    #[inline]
    fn try_insert_pair<R: Relation>(&mut self, relation: R, target: Entity) -> &mut Self {
        let source = self.id();
        queue_insertion(self, move |world, ends| {
            unless_gone(ops::insert_typed(world, source, relation, target, ends))
        })
    }

    fn try_insert_pair_by_id(&mut self, pair: impl Into<PairId>) -> &mut Self {
        let (source, pair) = (self.id(), pair.into());
        queue_insertion(self, move |world, ends| {
            unless_gone(ops::insert_by_id(world, source, pair, None, ends))
        })
    }

    fn try_remove_pair<R: Relation>(&mut self, target: Entity) -> &mut Self {
        let source = self.id();
        queue(self, move |world| {
            world.remove_pair::<R>(source, target);
            Ok(())
        })
    }

    #[inline]
    fn remove_pair<R: Relation>(&mut self, target: Entity) -> &mut Self {
        queue_removal(self, move |world, source| {
            world.remove_pair::<R>(source, target);
        })
    }

    fn remove_pair_by_key<R: KeyedRelation>(&mut self, key: R::Key) -> &mut Self {
        queue_removal(self, move |world, source| {
            world.remove_pair_by_key::<R>(source, &key);
        })
    }

    fn remove_pairs<R: Relation>(&mut self) -> &mut Self {
        queue_removal(self, |world, source| {
            world.remove_pairs::<R>(source);
        })
    }

    fn remove_pairs_by_id(&mut self, pair: impl Into<PairId>) -> &mut Self {
        let pair = pair.into();
        queue_removal(self, move |world, source| {
            world.remove_pairs_by_id(source, pair);
        })
    }

    fn replace_targets<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (R, Entity)> + Send + 'static,
    ) -> &mut Self {
        let source = self.id();
        queue_insertion(self, move |world, ends| {
            world.entities().get_spawned(source).map_err(to_bevy)?;
            ops::replace_targets(world, source, pairs, ends).map_err(to_bevy)
        })
    }

    fn move_sources<R: Relation>(&mut self, to: Entity) -> &mut Self {
        let from = self.id();
        queue_insertion(self, move |world, ends| {
            ops::move_sources::<R>(world, from, to, ends).map_err(to_bevy)?;
            Ok(())
        })
    }

    fn order_sources<R: Relation>(&mut self, order: impl Into<Vec<Entity>>) -> &mut Self {
        let (target, order) = (self.id(), order.into());
        queue(self, move |world| {
            world.entities().get_spawned(target).map_err(to_bevy)?;
            world.order_sources::<R>(target, &order).map_err(to_bevy)
        })
    }

    fn insert_tag(&mut self, tag: Entity) -> &mut Self {
        let source = self.id();
        queue(self, move |world| world.insert_tag(source, tag).map_err(to_bevy))
    }

    fn remove_tag(&mut self, tag: Entity) -> &mut Self {
        queue_removal(self, move |world, source| {
            world.remove_tag(source, tag);
        })
    }

    fn despawn_with_dependents(&mut self) {
        let entity = self.id();
        queue(self, move |world| world.despawn_with_dependents(entity).map_err(to_bevy));
    }
}

/// The error of an insertion, unless an end of the pair is gone.
fn unless_gone(inserted: core::result::Result<(), InsertPairError>) -> Result {
    match inserted {
        Err(InsertPairError::Dead { dead: PairRole::Source | PairRole::Target, .. }) => Ok(()),
        inserted => inserted.map_err(to_bevy),
    }
}

/// Changing the pairs of many entities, deferred: see [`pair_batch`](Self::pair_batch). Refusals are reported as by [`EntityCommandsPairExt`].
///
#[doc = include_str!("commands.md")]
pub trait CommandsPairExt: Sealed {
    /// Collects insertions and removals of pairs of one relation, and queues them as a single command when it
    /// goes out of scope: several times faster than a command each. The batch borrows the commands, so that
    /// everything keeps its order.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # #[derive(Relation)]
    /// # struct Likes;
    /// fn befriend(mut commands: Commands, people: Query<Entity, With<Name>>) {
    ///     let mut likes = commands.pair_batch::<Likes>();
    ///     for [a, b] in people.iter_combinations() {
    ///         likes.insert(a, Likes, b);
    ///     }
    /// }
    /// # let mut world = World::new();
    /// # let (a, b) = (world.spawn(Name::new("a")).id(), world.spawn(Name::new("b")).id());
    /// # world.run_system_cached(befriend).unwrap();
    /// # assert!(world.has_pair::<Likes>(a, b) || world.has_pair::<Likes>(b, a));
    /// ```
    #[track_caller]
    fn pair_batch<R: Relation>(&mut self) -> PairBatch<'_, '_, R>;

    /// See [`WorldPairExt::insert_pair_batch`]. What is refused goes to Bevy's error handler.
    #[track_caller]
    fn insert_pair_batch<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (Entity, R, Entity)> + Send + 'static,
    );

    /// See [`WorldPairExt::spawn_batch_with_pair`]. Refused pairs are reported to Bevy's error handler in one error; their
    /// entities are spawned.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # #[derive(Relation)]
    /// # struct DockedTo;
    /// # #[derive(Component)]
    /// # struct Ship;
    /// fn launch(mut commands: Commands) {
    ///     let station = commands.spawn_empty().id();
    ///     commands.spawn_batch_with_pair((0..100).map(move |_| (Ship, DockedTo, station)));
    /// }
    /// # let mut world = World::new();
    /// # world.run_system_cached(launch).unwrap();
    /// # assert_eq!(world.pairs::<DockedTo>().len(), 100);
    /// ```
    #[track_caller]
    fn spawn_batch_with_pair<B, R>(
        &mut self,
        batch: impl IntoIterator<Item = (B, R, Entity)> + Send + 'static,
    ) where
        B: Bundle<Effect: NoBundleEffect>,
        R: Relation;

    /// See [`WorldPairExt::remove_pair_batch`].
    #[track_caller]
    fn remove_pair_batch<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (Entity, Entity)> + Send + 'static,
    );

    /// See [`WorldPairExt::move_sources`]. What is refused goes to Bevy's error handler.
    #[track_caller]
    fn move_sources<R: Relation>(&mut self, from: Entity, to: Entity);

    /// See [`WorldPairExt::remove_pairs_everywhere`].
    #[track_caller]
    fn remove_pairs_everywhere(&mut self, pair: impl Into<PairId>);

    /// See [`WorldPairExt::despawn_sources`]. What is refused goes to Bevy's error handler.
    #[track_caller]
    fn despawn_sources(&mut self, pair: impl Into<PairId>);

    /// See [`WorldPairExt::trigger_along`]. Traits that are rejected go to Bevy's error handler.
    #[track_caller]
    fn trigger_along<R: TraversableRelation>(&mut self, event: impl PropagatedEvent, towards: Direction);

    /// See [`WorldPairExt::trigger_along_by_id`]. A relation that is not traversable goes to Bevy's error handler.
    #[track_caller]
    fn trigger_along_by_id(&mut self, relation: Entity, event: impl PropagatedEvent, towards: Direction);
}

impl<'w> CommandsPairExt for Commands<'w, '_> {
    fn pair_batch<R: Relation>(&mut self) -> PairBatch<'_, '_, R> {
        PairBatch::new(self.reborrow())
    }

    fn insert_pair_batch<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (Entity, R, Entity)> + Send + 'static,
    ) {
        let place = Location::caller();
        queue_at(self, place, move |world| {
            ops::insert_batch(world, pairs, EndCheck::Later(Some(place))).map_err(to_bevy)
        });
    }

    fn spawn_batch_with_pair<B, R>(
        &mut self,
        batch: impl IntoIterator<Item = (B, R, Entity)> + Send + 'static,
    ) where
        B: Bundle<Effect: NoBundleEffect>,
        R: Relation,
    {
        let place = Location::caller();
        queue_at(self, place, move |world| {
            ops::spawn_batch(world, batch, EndCheck::Later(Some(place))).1.map_err(to_bevy)
        });
    }

    fn remove_pair_batch<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (Entity, Entity)> + Send + 'static,
    ) {
        self.queue(move |world: &mut World| {
            world.remove_pair_batch::<R>(pairs);
        });
    }

    fn move_sources<R: Relation>(&mut self, from: Entity, to: Entity) {
        let place = Location::caller();
        queue_at(self, place, move |world| {
            ops::move_sources::<R>(world, from, to, EndCheck::Later(Some(place))).map_err(to_bevy)?;
            Ok(())
        });
    }

    fn remove_pairs_everywhere(&mut self, pair: impl Into<PairId>) {
        let pair = pair.into();
        self.queue(move |world: &mut World| {
            world.remove_pairs_everywhere(pair);
        });
    }

    fn despawn_sources(&mut self, pair: impl Into<PairId>) {
        let pair = pair.into();
        queue_at(self, Location::caller(), move |world| {
            world.despawn_sources(pair).map_err(to_bevy)?;
            Ok(())
        });
    }

    fn trigger_along<R: TraversableRelation>(&mut self, event: impl PropagatedEvent, towards: Direction) {
        queue_at(self, Location::caller(), move |world| {
            world.register_relation::<R>().map_err(to_bevy)?;
            world.trigger_along::<R>(event, towards);
            Ok(())
        });
    }

    fn trigger_along_by_id(&mut self, relation: Entity, event: impl PropagatedEvent, towards: Direction) {
        queue_at(self, Location::caller(), move |world| {
            world.trigger_along_by_id(relation, event, towards).map_err(to_bevy)
        });
    }
}
