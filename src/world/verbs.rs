//! What the methods on [`World`] do: they call down.

use super::WorldPairExt;
#[cfg(feature = "bevy_reflect")]
use crate::mirror;
use crate::{
    disabling, fetch,
    id::{PairId, StoredTag},
    islands,
    ops::{
        self, DespawnError, EndCheck, InsertPairError, InsertPairsError, NotTraversableError, Participant,
        PropagatedEvent, Removal, ReorderError,
    },
    relation::{
        KeyedRelation, Relation, RelationName, RelationTraits, StoredRelation, TraitsError,
        TraversableRelation,
    },
    store::{PairInvariantError, TargetIter},
    system_param::{AnyPairs, Pairs, any_pair_value},
    traverse::{Direction, Limits, RelationView},
};
use alloc::{borrow::Cow, vec::Vec};
use bevy_ecs::{
    bundle::{Bundle, NoBundleEffect},
    change_detection::Mut,
    component::Component,
    entity::Entity,
    observer::IntoObserver,
    relationship::Relationship,
    world::World,
};
use core::{
    any::{Any, TypeId},
    panic::Location,
};

impl WorldPairExt for World {
    #[inline]
    fn insert_pair<R: Relation>(
        &mut self,
        source: Entity,
        relation: R,
        target: Entity,
    ) -> Result<(), InsertPairError> {
        ops::insert_typed(self, source, relation, target, EndCheck::Now)
    }

    fn insert_pair_by_id(&mut self, source: Entity, pair: impl Into<PairId>) -> Result<(), InsertPairError> {
        ops::insert_by_id(self, source, pair.into(), None, EndCheck::Now)
    }

    fn insert_pair_value_by_id<V: Send + Sync + 'static>(
        &mut self,
        source: Entity,
        pair: impl Into<PairId>,
        value: V,
    ) -> Result<(), InsertPairError> {
        ops::insert_value_by_id(self, source, pair.into(), value, EndCheck::Now)
    }

    fn insert_pair_to<R: Relation, T: Send + Sync + 'static>(
        &mut self,
        source: Entity,
        value: impl Send + Sync + 'static,
    ) -> Result<(), InsertPairError> {
        ops::insert_to::<R, T, _>(self, source, value, EndCheck::Now)
    }

    fn insert_pairs<R: Relation>(
        &mut self,
        source: Entity,
        pairs: impl IntoIterator<Item = (R, Entity)>,
    ) -> Result<(), InsertPairsError> {
        let pairs = pairs.into_iter().map(|(relation, target)| (source, relation, target));
        ops::insert_batch(self, pairs, EndCheck::Now)
    }

    fn insert_relationship<C: Relationship + Relation>(
        &mut self,
        source: Entity,
        relationship: C,
    ) -> Result<(), InsertPairError> {
        let target = relationship.get();
        self.insert_pair(source, relationship, target)
    }

    fn insert_pair_batch<R: Relation>(
        &mut self,
        pairs: impl IntoIterator<Item = (Entity, R, Entity)>,
    ) -> Result<(), InsertPairsError> {
        ops::insert_batch(self, pairs, EndCheck::Now)
    }

    #[inline]
    fn remove_pair<R: Relation>(&mut self, source: Entity, target: Entity) -> bool {
        ops::remove_typed::<R>(self, source, target)
    }

    fn remove_pair_by_key<R: KeyedRelation>(&mut self, source: Entity, key: &R::Key) -> Option<Entity> {
        let (target, _) = self.pair_by_key::<R>(source, key)?;
        self.remove_pair::<R>(source, target).then_some(target)
    }

    fn replace_targets<R: Relation>(
        &mut self,
        source: Entity,
        pairs: impl IntoIterator<Item = (R, Entity)>,
    ) -> Result<(), InsertPairError> {
        ops::replace_targets(self, source, pairs, EndCheck::Now)
    }

    fn move_sources<R: Relation>(&mut self, from: Entity, to: Entity) -> Result<usize, InsertPairError> {
        ops::move_sources::<R>(self, from, to, EndCheck::Now)
    }

    fn remove_pairs<R: Relation>(&mut self, source: Entity) -> usize {
        ops::remove_source::<R>(self, source)
    }

    fn remove_pairs_by_id(&mut self, source: Entity, pair: impl Into<PairId>) -> usize {
        let pair = pair.into();
        if let Some(removed) = ops::remove_by_id(self, source, pair) {
            return usize::from(removed);
        }
        ops::index_children_for(self, pair);
        let Some(store) = fetch::store(self) else { return 0 };
        let pairs = ops::select(store, Some(source), pair);
        ops::remove_selected(self, pairs, Removal::REMOVED)
    }

    fn remove_pairs_everywhere(&mut self, pair: impl Into<PairId>) -> usize {
        let pair = pair.into();
        ops::index_children_for(self, pair);
        let Some(store) = fetch::store(self) else { return 0 };
        let pairs = ops::select(store, None, pair);
        ops::remove_selected(self, pairs, Removal::REMOVED)
    }

    fn remove_pair_batch<R: Relation>(&mut self, pairs: impl IntoIterator<Item = (Entity, Entity)>) -> usize {
        ops::remove_batch::<R>(self, pairs)
    }

    fn clear_pairs(&mut self) {
        ops::clear_pairs(self);
    }

    fn despawn_sources(&mut self, pair: impl Into<PairId>) -> Result<usize, DespawnError> {
        ops::despawn_sources(self, pair.into())
    }

    fn despawn_with_dependents(&mut self, entity: Entity) -> Result<(), DespawnError> {
        ops::despawn_with_dependents(self, entity)
    }

    fn would_despawn(&mut self, entity: Entity) -> Result<Vec<Entity>, DespawnError> {
        ops::would_despawn(self, entity)
    }

    fn spawn_batch_with_pair<B, R>(&mut self, batch: impl IntoIterator<Item = (B, R, Entity)>) -> Vec<Entity>
    where
        B: Bundle<Effect: NoBundleEffect>,
        R: Relation,
    {
        let place = Location::caller();
        let (spawned, inserted) = ops::spawn_batch(self, batch, EndCheck::Now);
        for (_, error) in inserted.map_or_else(|error| error.refused, |()| Vec::new()) {
            ops::refused(self, error, place);
        }
        spawned
    }

    fn insert_tag(&mut self, source: Entity, tag: Entity) -> Result<(), InsertPairError> {
        ops::insert_tag(self, StoredTag { source, tag })
    }

    fn remove_tag(&mut self, source: Entity, tag: Entity) -> bool {
        ops::remove_tag(self, StoredTag { source, tag }, Removal::REMOVED)
    }

    fn register_relation<R: Relation>(&mut self) -> Result<Entity, TraitsError> {
        ops::register_relation::<R>(self)
    }

    fn spawn_relation(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        traits: RelationTraits,
    ) -> Result<Entity, TraitsError> {
        ops::spawn_relation(self, name.into(), traits)
    }

    fn set_traits(&mut self, entity: Entity, traits: RelationTraits) -> Result<(), TraitsError> {
        ops::set_traits(self, entity, traits)
    }

    fn entity_of<T: Send + Sync + 'static>(&mut self) -> Entity {
        ops::entity_of::<T>(self)
    }

    fn order_sources<R: Relation>(&mut self, target: Entity, order: &[Entity]) -> Result<(), ReorderError> {
        let relation = ops::register_relation::<R>(self)?;
        self.order_sources_by_id(relation, target, order)
    }

    fn order_sources_by_id(
        &mut self,
        entity: Entity,
        target: Entity,
        order: &[Entity],
    ) -> Result<(), ReorderError> {
        ops::order_sources(self, entity, target, order)?;
        #[cfg(feature = "bevy_reflect")]
        mirror::note_order(self);
        Ok(())
    }

    fn track_pair_changes<R: Relation>(&mut self) {
        ops::track_pair_changes::<R>(self);
    }

    fn observe_pairs<M>(&mut self, pair: impl Into<PairId>, observer: impl IntoObserver<M>) -> Entity {
        ops::observe(self, pair.into(), observer)
    }

    fn trigger_along<R: TraversableRelation>(&mut self, mut event: impl PropagatedEvent, towards: Direction) {
        ops::trigger_along::<R>(self, &mut event, towards);
    }

    fn trigger_along_by_id(
        &mut self,
        relation: Entity,
        mut event: impl PropagatedEvent,
        towards: Direction,
    ) -> Result<(), NotTraversableError> {
        ops::trigger_by_id(self, relation, &mut event, towards)
    }

    fn propagate_changes<R: TraversableRelation, C: Component>(&mut self) {
        ops::propagate_changes::<R, C>(self);
    }

    fn check_constraints(&mut self) -> usize {
        ops::check_constraints(self)
    }

    fn maintain_pairs(&mut self) {
        ops::maintain(self);
        ops::check_constraints(self);
        islands::update_all(self);
        disabling::update_all(self);
        #[cfg(feature = "bevy_reflect")]
        mirror::update_all(self);
        if let Some(store) = fetch::store_mut(self) {
            store.maintain();
        }
    }

    fn check_pairs(&self) -> Result<(), PairInvariantError> {
        match fetch::store(self) {
            Some(store) => {
                let is_marked = |entity| self.get::<Participant>(entity).is_some();
                store
                    .check(self, is_marked)
                    .and_then(|()| ops::check(self))
                    .and_then(|()| islands::check(self))
            }
            None => Ok(()),
        }
    }

    #[inline]
    fn pairs<R: Relation>(&self) -> Pairs<'_, '_, R> {
        Pairs::of_world(self)
    }

    fn any_pairs(&self) -> AnyPairs<'_, '_> {
        AnyPairs::of_world(self)
    }

    fn pairs_by_id(&self, relation: Entity) -> RelationView<'_, '_> {
        self.any_pairs().relation(relation)
    }

    fn has_pair<R: Relation>(&self, source: Entity, target: Entity) -> bool {
        self.pairs::<R>().has(source, target)
    }

    fn has_pair_by_id(&self, source: Entity, pair: impl Into<PairId>) -> bool {
        self.any_pairs().has(source, pair.into())
    }

    fn pair_value<R: Relation>(&self, source: Entity, target: Entity) -> Option<&R> {
        let store = fetch::store(self)?;
        let known = store.registry().known::<R>();
        let Some(id) = known.filter(|&id| store.registry().entry(id).has_own_values()) else {
            return self.pair_value_by_id(source, (self.get_entity_of::<R>()?, target));
        };
        let row = store.relation(id).row(source, target)?;
        fetch::values::<R>(self)?.get(row)
    }

    fn pair_value_by_id<V: Send + Sync + 'static>(
        &self,
        source: Entity,
        pair: impl Into<PairId>,
    ) -> Option<&V> {
        let (relation, target) = pair.into().entities()?;
        (any_pair_value(self, source, relation, target)? as &dyn Any).downcast_ref()
    }

    fn pair_value_mut<R: StoredRelation>(&mut self, source: Entity, target: Entity) -> Option<Mut<'_, R>> {
        let (last_run, this_run) = (self.last_change_tick(), self.change_tick());
        let (store, values) = fetch::store_and_values::<R>(self)?;
        let row = store.relation(store.registry().known::<R>()?).row(source, target)?;
        values.values_mut(last_run, this_run).into_value(row)
    }

    fn pair_by_key<R: KeyedRelation>(&self, source: Entity, key: &R::Key) -> Option<(Entity, &R)> {
        self.pair_by_key_by_id(source, self.get_entity_of::<R>()?, key)
    }

    fn pair_by_key_by_id<R: KeyedRelation>(
        &self,
        source: Entity,
        relation: Entity,
        key: &R::Key,
    ) -> Option<(Entity, &R)> {
        self.pairs_by_id(relation).targets(source).find_map(|target| {
            let value: &R = self.pair_value_by_id(source, (relation, target))?;
            (value.key() == key).then_some((target, value))
        })
    }

    fn pairs_of(&self, source: Entity) -> Vec<(Entity, Entity)> {
        self.any_pairs().pairs_of(source).collect()
    }

    fn pairs_to(&self, target: Entity) -> Vec<(Entity, Entity)> {
        self.any_pairs().pairs_to(target).collect()
    }

    fn target_with<R: Relation, C: Component>(&self, entity: Entity) -> Option<Entity> {
        self.pairs::<R>().nearest(entity, Limits::FROM_SELF, |entity| self.get::<C>(entity).is_some())
    }

    fn has_tag(&self, source: Entity, tag: Entity) -> bool {
        fetch::store(self).is_some_and(|store| store.tags().has(source, tag))
    }

    fn tags(&self, source: Entity) -> TargetIter<'_> {
        fetch::store(self).map_or_else(TargetIter::none, |store| store.tags().targets(source))
    }

    fn get_entity_of<T: 'static>(&self) -> Option<Entity> {
        let entity = fetch::store(self)?.registry().entity_of(TypeId::of::<T>())?;
        self.entities().contains_spawned(entity).then_some(entity)
    }

    fn traits_of(&self, entity: Entity) -> Option<&RelationTraits> {
        let registry = &fetch::store(self)?.registry();
        Some(&registry.entry(registry.of_entity(entity)?).traits)
    }

    fn relation_name(&self, relation: Entity) -> Option<RelationName> {
        self.any_pairs().relation_name(relation)
    }
}
