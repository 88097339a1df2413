//! Reading pairs on [`World`].

use super::{AnyPairs, Pairs};
use crate::{
    fetch,
    id::PairId,
    relation::{Relation, RelationName, RelationTraits, TAGGED},
    store::TargetIter,
    traverse::RelationView,
};
use alloc::vec::Vec;
use bevy_ecs::{component::Component, entity::Entity, world::World};
use core::any::{Any, TypeId};

/// Reading pairs, directly on the [`World`]. A relation that was never used has no pairs; a dead entity has
/// none either.
///
/// A Bevy relationship other than `ChildOf` counts as used once it was
/// [adopted](crate::AdoptRelationshipExt::adopt_relationship) or named in a system parameter, a query term or a change of
/// pairs: reading a shared `&World` cannot adopt it. Its components that are there by then are pairs from then on.
pub trait WorldPairReadExt {
    /// The pairs of relation type `R`, as the system parameter of the same name gives them.
    fn pairs<R: Relation>(&self) -> Pairs<'_, '_, R>;

    /// The pairs of all relations, as the system parameter of the same name gives them.
    fn any_pairs(&self) -> AnyPairs<'_, '_>;

    /// The pairs of any relation.
    fn pairs_by_id(&self, relation: Entity) -> RelationView<'_, '_>;

    /// Whether `source` has the pair. Of a Bevy relationship that is not adopted yet: never.
    fn has_pair<R: Relation>(&self, source: Entity, target: Entity) -> bool;

    /// Whether `source` has a pair that fits `pair`.
    ///
    /// # Complexity
    /// Constant, but for `(*, T)`, which takes a step per relation in which `source` takes part.
    fn has_pair_by_id(&self, source: Entity, pair: PairId) -> bool;

    /// The value of a pair. `None` if there is no such pair, or if it carries no value: a tag pair never does, ask
    /// [`has_pair`](Self::has_pair) for it.
    fn pair_value<R: Relation>(&self, source: Entity, target: Entity) -> Option<&R>;

    /// The value of a pair of any relation. `None` also if it is not a `V`, and for every tag pair.
    fn pair_value_by_id<V: Send + Sync + 'static>(
        &self,
        source: Entity,
        relation: Entity,
        target: Entity,
    ) -> Option<&V>;

    /// Every pair that `source` has, relation by relation: [`AnyPairs::pairs_of`], collected. Tags are not pairs.
    fn pairs_of(&self, source: Entity) -> Vec<PairId>;

    /// Every pair in which `target` is the target, as source and relation: [`AnyPairs::pairs_to`], collected.
    fn pairs_to(&self, target: Entity) -> Vec<(Entity, Entity)>;

    /// The nearest entity up the relation, along first targets, that has the component, `entity` first.
    fn target_with<R: Relation, C: Component>(&self, entity: Entity) -> Option<Entity>;

    /// Whether `source` has the tag.
    fn has_tag(&self, source: Entity, tag: Entity) -> bool;

    /// The tags of `source`, in insertion order.
    fn tags(&self, source: Entity) -> TargetIter<'_>;

    /// The entity that stands for the type `T`, if there is one yet.
    fn get_entity_of<T: 'static>(&self) -> Option<Entity>;

    /// What is known of a relation, a tag or a type entity, if anything is.
    fn traits_of(&self, entity: Entity) -> Option<&RelationTraits>;

    /// The name of a relation for messages: that of its type, or the one given when it was spawned.
    fn relation_name(&self, relation: Entity) -> Option<RelationName>;
}

impl WorldPairReadExt for World {
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

    fn has_pair_by_id(&self, source: Entity, pair: PairId) -> bool {
        self.any_pairs().has(source, pair)
    }

    fn pair_value<R: Relation>(&self, source: Entity, target: Entity) -> Option<&R> {
        let relation = self.get_entity_of::<R>()?;
        self.pair_value_by_id(source, relation, target)
    }

    fn pair_value_by_id<V: Send + Sync + 'static>(
        &self,
        source: Entity,
        relation: Entity,
        target: Entity,
    ) -> Option<&V> {
        (any_pair_value(self, source, relation, target)? as &dyn Any).downcast_ref()
    }

    fn pairs_of(&self, source: Entity) -> Vec<PairId> {
        self.any_pairs().pairs_of(source).map(|(relation, target)| PairId::new(relation, target)).collect()
    }

    fn pairs_to(&self, target: Entity) -> Vec<(Entity, Entity)> {
        self.any_pairs().pairs_to(target).collect()
    }

    fn target_with<R: Relation, C: Component>(&self, entity: Entity) -> Option<Entity> {
        let pairs = self.pairs::<R>();
        core::iter::once(entity)
            .chain(pairs.ancestors(entity))
            .find(|&entity| self.get::<C>(entity).is_some())
    }

    fn has_tag(&self, source: Entity, tag: Entity) -> bool {
        fetch::store(self).is_some_and(|store| store.relation(TAGGED).has(source, tag))
    }

    fn tags(&self, source: Entity) -> TargetIter<'_> {
        fetch::store(self).map_or_else(TargetIter::none, |store| store.relation(TAGGED).targets(source))
    }

    fn get_entity_of<T: 'static>(&self) -> Option<Entity> {
        let entity = fetch::store(self)?.registry.entity_of(TypeId::of::<T>())?;
        self.entities().contains_spawned(entity).then_some(entity)
    }

    fn traits_of(&self, entity: Entity) -> Option<&RelationTraits> {
        let registry = &fetch::store(self)?.registry;
        Some(&registry.entry(registry.of_entity(entity)?).traits)
    }

    fn relation_name(&self, relation: Entity) -> Option<RelationName> {
        self.any_pairs().relation_name(relation)
    }
}

/// The value of a pair, whatever its type.
pub(crate) fn any_pair_value(
    world: &World,
    source: Entity,
    relation: Entity,
    target: Entity,
) -> Option<&(dyn Any + Send + Sync)> {
    let store = fetch::store(world)?;
    let id = store.registry.of_entity(relation)?;
    match store.registry.entry(id).adopted {
        Some(adopted) if store.relation(id).has(source, target) => (adopted.get)(world, source),
        Some(_) => None,
        None => store.column_of(id, source, target)?.get(world, store.relation(id).row(source, target)?),
    }
}
