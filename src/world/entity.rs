//! Pairs on [`EntityWorldMut`].

use super::WorldPairExt;
use crate::{
    id::PairId,
    ops::{DespawnError, InsertPairError, InsertPairsError, ReorderError},
    relation::{KeyedRelation, Relation},
    sealed::Sealed,
    store::{SourceIter, TargetIter},
};
use bevy_ecs::{entity::Entity, relationship::Relationship, world::EntityWorldMut};

/// Changing and reading the pairs of one entity. See [`WorldPairExt`] for what each method does.
///
/// Bevy's `EntityRef` and `EntityMut` cannot reach pairs, as they have access to the components of one entity only:
/// read with [`Pairs`](crate::Pairs) or [`WorldPairExt`], and the id of the entity.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Relation)]
/// struct Owes {
///     gold: u32,
/// }
///
/// # let mut world = World::new();
/// # let [bank, bob] = [(); 2].map(|()| world.spawn_empty().id());
/// let mut bob = world.entity_mut(bob);
/// bob.insert_pair(Owes { gold: 3 }, bank)?;
/// assert!(bob.has_pair::<Owes>(bank));
/// assert_eq!(bob.pair_value::<Owes>(bank).unwrap().gold, 3);
/// assert!(bob.targets::<Owes>().eq([bank]));
/// # Ok::<(), BevyError>(())
/// ```
///
/// Methods that change pairs can be chained. Those that need more than one entity are methods of the world.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Relation)]
/// #[relation(ordered)]
/// struct Guards;
/// #[derive(Relation)]
/// #[relation(key = u8)]
/// struct Carries(u8);
///
/// # let mut world = World::new();
/// # let [gate, wall, sword, shield, hidden] = [(); 5].map(|()| world.spawn_empty().id());
/// let likes = world.spawn_relation("Likes", RelationTraits::new())?;
/// let rates = world.spawn_relation("Rates", RelationTraits::new().data::<u32>())?;
/// let mut knight = world.spawn_empty();
/// knight
///     .insert_pairs([(Guards, gate), (Guards, wall)])?
///     .insert_pairs([(Carries(0), sword), (Carries(1), shield)])?
///     .insert_pair_by_id((likes, gate))?
///     .insert_pair_value_by_id((rates, wall), 5_u32)?
///     .insert_relationship(ChildOf(wall))?
///     .insert_tag(hidden)?;
/// assert!(knight.has_tag(hidden) && knight.has_pair_by_id((likes, gate)));
/// assert_eq!(knight.pair_by_key::<Carries>(&1).unwrap().0, shield);
/// assert_eq!((knight.target::<Guards>(), knight.target::<ChildOf>()), (Some(gate), Some(wall)));
///
/// knight.remove_pair_by_key::<Carries>(&1).remove_pair::<Carries>(sword).remove_tag(hidden);
/// knight.remove_pairs_by_id(PairId::with_target(wall)).replace_targets([(Guards, sword)])?;
/// assert!(knight.targets::<Guards>().eq([sword]) && !knight.has_tag(hidden));
/// knight.remove_pairs::<Guards>();
///
/// // As a target.
/// let knight = knight.id();
/// let [ann, ben] = [(); 2].map(|()| world.spawn(Pair(Guards, knight)).id());
/// let mut entity = world.entity_mut(knight);
/// entity.order_sources::<Guards>(&[ben, ann])?;
/// assert!(entity.sources::<Guards>().eq([ben, ann]));
/// entity.move_sources::<Guards>(gate)?;
/// assert_eq!(entity.sources::<Guards>().count(), 0);
/// entity.despawn_with_dependents()?;
/// assert!(world.get_entity(knight).is_err());
/// # Ok::<(), BevyError>(())
/// ```
pub trait EntityWorldMutPairExt: Sealed + Sized {
    /// See [`WorldPairExt::insert_pair`].
    ///
    /// # Errors
    /// See [`InsertPairError`].
    fn insert_pair<R: Relation>(&mut self, relation: R, target: Entity)
    -> Result<&mut Self, InsertPairError>;

    /// See [`WorldPairExt::insert_pair_by_id`].
    ///
    /// # Errors
    /// See [`InsertPairError`].
    fn insert_pair_by_id(&mut self, pair: impl Into<PairId>) -> Result<&mut Self, InsertPairError>;

    /// See [`WorldPairExt::insert_pair_value_by_id`].
    ///
    /// # Errors
    /// See [`InsertPairError`].
    fn insert_pair_value_by_id<V: Send + Sync + 'static>(
        &mut self,
        pair: impl Into<PairId>,
        value: V,
    ) -> Result<&mut Self, InsertPairError>;

    /// See [`WorldPairExt::insert_pair_to`].
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Begin;
    /// struct Position(f32);
    ///
    /// # let mut world = World::new();
    /// let ship = world.spawn_empty().insert_pair_to::<Begin, Position>(Position(1.5))?.id();
    /// let pair = (world.entity_of::<Begin>(), world.entity_of::<Position>());
    /// assert_eq!(world.pair_value_by_id::<Position>(ship, pair).unwrap().0, 1.5);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// See [`InsertPairError`].
    fn insert_pair_to<R: Relation, T: Send + Sync + 'static>(
        &mut self,
        value: impl Send + Sync + 'static,
    ) -> Result<&mut Self, InsertPairError>;

    /// See [`WorldPairExt::insert_pairs`].
    ///
    /// # Errors
    /// See [`InsertPairsError`].
    fn insert_pairs<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (R, Entity)>,
    ) -> Result<&mut Self, InsertPairsError>;

    /// See [`WorldPairExt::insert_relationship`].
    ///
    /// # Errors
    /// See [`InsertPairError`].
    fn insert_relationship<C: Relationship + Relation>(
        &mut self,
        relationship: C,
    ) -> Result<&mut Self, InsertPairError>;

    /// See [`WorldPairExt::replace_targets`].
    ///
    /// # Errors
    /// See [`InsertPairError`].
    fn replace_targets<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (R, Entity)>,
    ) -> Result<&mut Self, InsertPairError>;

    /// See [`WorldPairExt::move_sources`]: the sources of this entity get the target `to` instead.
    ///
    /// # Errors
    /// See [`InsertPairError`].
    fn move_sources<R: Relation>(&mut self, to: Entity) -> Result<&mut Self, InsertPairError>;

    /// See [`WorldPairExt::order_sources`].
    ///
    /// # Errors
    /// See [`ReorderError`].
    fn order_sources<R: Relation>(&mut self, order: &[Entity]) -> Result<&mut Self, ReorderError>;

    /// See [`WorldPairExt::remove_pair`].
    fn remove_pair<R: Relation>(&mut self, target: Entity) -> &mut Self;

    /// See [`WorldPairExt::remove_pair_by_key`].
    fn remove_pair_by_key<R: KeyedRelation>(&mut self, key: &R::Key) -> &mut Self;

    /// See [`WorldPairExt::remove_pairs`].
    fn remove_pairs<R: Relation>(&mut self) -> &mut Self;

    /// See [`WorldPairExt::remove_pairs_by_id`].
    fn remove_pairs_by_id(&mut self, pair: impl Into<PairId>) -> &mut Self;

    /// See [`WorldPairExt::insert_tag`].
    ///
    /// # Errors
    /// See [`InsertPairError`].
    fn insert_tag(&mut self, tag: Entity) -> Result<&mut Self, InsertPairError>;

    /// See [`WorldPairExt::remove_tag`].
    fn remove_tag(&mut self, tag: Entity) -> &mut Self;

    /// See [`WorldPairExt::despawn_with_dependents`].
    ///
    /// # Errors
    /// See [`DespawnError`].
    fn despawn_with_dependents(self) -> Result<(), DespawnError>;

    // Reading.

    /// See [`WorldPairExt::has_pair`].
    fn has_pair<R: Relation>(&self, target: Entity) -> bool;

    /// See [`WorldPairExt::has_pair_by_id`].
    fn has_pair_by_id(&self, pair: impl Into<PairId>) -> bool;

    /// See [`WorldPairExt::pair_value`].
    fn pair_value<R: Relation>(&self, target: Entity) -> Option<&R>;

    /// See [`WorldPairExt::pair_by_key`].
    fn pair_by_key<R: KeyedRelation>(&self, key: &R::Key) -> Option<(Entity, &R)>;

    /// The targets of this entity, in insertion order.
    fn targets<R: Relation>(&self) -> TargetIter<'_>;

    /// The first target of this entity in insertion order: the only one, if the relation is exclusive.
    fn target<R: Relation>(&self) -> Option<Entity>;

    /// The sources of which this entity is the target, in the order of
    /// [`sources`](crate::traverse::RelationView::sources).
    fn sources<R: Relation>(&self) -> SourceIter<'_>;

    /// See [`WorldPairExt::has_tag`].
    fn has_tag(&self, tag: Entity) -> bool;
}

/// Does something to the world for an entity, and returns the entity.
macro_rules! on_world {
    ($entity:ident, $id:ident, $world:ident => $body:expr) => {{
        let $id = $entity.id();
        $entity.world_scope(|$world| $body)
    }};
}

impl EntityWorldMutPairExt for EntityWorldMut<'_> {
    fn insert_pair<R: Relation>(
        &mut self,
        relation: R,
        target: Entity,
    ) -> Result<&mut Self, InsertPairError> {
        on_world!(self, source, world => world.insert_pair(source, relation, target))?;
        Ok(self)
    }

    fn insert_pair_by_id(&mut self, pair: impl Into<PairId>) -> Result<&mut Self, InsertPairError> {
        on_world!(self, source, world => world.insert_pair_by_id(source, pair))?;
        Ok(self)
    }

    fn insert_pair_value_by_id<V: Send + Sync + 'static>(
        &mut self,
        pair: impl Into<PairId>,
        value: V,
    ) -> Result<&mut Self, InsertPairError> {
        on_world!(self, source, world => world.insert_pair_value_by_id(source, pair, value))?;
        Ok(self)
    }

    fn insert_pair_to<R: Relation, T: Send + Sync + 'static>(
        &mut self,
        value: impl Send + Sync + 'static,
    ) -> Result<&mut Self, InsertPairError> {
        on_world!(self, source, world => world.insert_pair_to::<R, T>(source, value))?;
        Ok(self)
    }

    fn insert_pairs<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (R, Entity)>,
    ) -> Result<&mut Self, InsertPairsError> {
        on_world!(self, source, world => world.insert_pairs(source, pairs))?;
        Ok(self)
    }

    fn insert_relationship<C: Relationship + Relation>(
        &mut self,
        relationship: C,
    ) -> Result<&mut Self, InsertPairError> {
        on_world!(self, source, world => world.insert_relationship(source, relationship))?;
        Ok(self)
    }

    fn replace_targets<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (R, Entity)>,
    ) -> Result<&mut Self, InsertPairError> {
        on_world!(self, source, world => world.replace_targets(source, pairs))?;
        Ok(self)
    }

    fn move_sources<R: Relation>(&mut self, to: Entity) -> Result<&mut Self, InsertPairError> {
        on_world!(self, from, world => world.move_sources::<R>(from, to))?;
        Ok(self)
    }

    fn order_sources<R: Relation>(&mut self, order: &[Entity]) -> Result<&mut Self, ReorderError> {
        on_world!(self, target, world => world.order_sources::<R>(target, order))?;
        Ok(self)
    }

    fn remove_pair<R: Relation>(&mut self, target: Entity) -> &mut Self {
        on_world!(self, source, world => world.remove_pair::<R>(source, target));
        self
    }

    fn remove_pair_by_key<R: KeyedRelation>(&mut self, key: &R::Key) -> &mut Self {
        on_world!(self, source, world => world.remove_pair_by_key::<R>(source, key));
        self
    }

    fn remove_pairs<R: Relation>(&mut self) -> &mut Self {
        on_world!(self, source, world => world.remove_pairs::<R>(source));
        self
    }

    fn remove_pairs_by_id(&mut self, pair: impl Into<PairId>) -> &mut Self {
        on_world!(self, source, world => world.remove_pairs_by_id(source, pair));
        self
    }

    fn insert_tag(&mut self, tag: Entity) -> Result<&mut Self, InsertPairError> {
        on_world!(self, source, world => world.insert_tag(source, tag))?;
        Ok(self)
    }

    fn remove_tag(&mut self, tag: Entity) -> &mut Self {
        on_world!(self, source, world => world.remove_tag(source, tag));
        self
    }

    fn despawn_with_dependents(self) -> Result<(), DespawnError> {
        let entity = self.id();
        self.into_world_mut().despawn_with_dependents(entity)
    }

    fn has_pair<R: Relation>(&self, target: Entity) -> bool {
        self.world().has_pair::<R>(self.id(), target)
    }

    fn has_pair_by_id(&self, pair: impl Into<PairId>) -> bool {
        self.world().has_pair_by_id(self.id(), pair)
    }

    fn pair_value<R: Relation>(&self, target: Entity) -> Option<&R> {
        self.world().pair_value::<R>(self.id(), target)
    }

    fn pair_by_key<R: KeyedRelation>(&self, key: &R::Key) -> Option<(Entity, &R)> {
        self.world().pair_by_key::<R>(self.id(), key)
    }

    fn targets<R: Relation>(&self) -> TargetIter<'_> {
        self.world().pairs::<R>().targets(self.id())
    }

    fn target<R: Relation>(&self) -> Option<Entity> {
        self.world().pairs::<R>().target(self.id())
    }

    fn sources<R: Relation>(&self) -> SourceIter<'_> {
        self.world().pairs::<R>().sources(self.id())
    }

    fn has_tag(&self, tag: Entity) -> bool {
        self.world().has_tag(self.id(), tag)
    }
}
