//! Pairs on [`EntityWorldMut`].

use super::{WorldPairExt, sealed};
use crate::{
    id::PairId,
    ops::{DespawnError, InsertPairError, InsertPairsError},
    relation::Relation,
};
use bevy_ecs::{entity::Entity, relationship::Relationship, world::EntityWorldMut};

/// Changing the pairs of one entity. See [`WorldPairExt`] for what each verb does.
pub trait EntityWorldMutPairExt: sealed::Sealed + Sized {
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

    /// See [`WorldPairExt::remove_pair`].
    fn remove_pair<R: Relation>(&mut self, target: Entity) -> &mut Self;

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

    fn remove_pair<R: Relation>(&mut self, target: Entity) -> &mut Self {
        on_world!(self, source, world => world.remove_pair::<R>(source, target));
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
}
