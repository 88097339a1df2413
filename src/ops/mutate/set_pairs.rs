//! Making the pairs that a source has of a relation exactly those of a list, with their values and in its order.

use super::{
    change::{Request, carry_out, remove_all_targets},
    ends::EndCheck,
    error::InsertPairError,
    plan::{InsertPlan, ValueSource, ValueType, attempted, plan_all, validated},
    remove::with_mirrors,
    writer::PairWriter,
};
use crate::{
    fetch,
    id::{RelationId, StoredPair},
    relation::{BoxedValue, EntityName},
    store::PairStore,
};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::{Entity, EntityHashMap},
    world::World,
};

/// A pair that a source is to have.
pub(crate) struct WantedPair {
    pub(crate) target: Entity,
    /// The value that it is to get. Without one it keeps its own, or gets a default.
    pub(crate) value: Option<(ValueType, BoxedValue)>,
}

/// Makes the pairs that `source` has of a relation exactly these, in this order. Each target is named once.
///
/// # Errors
/// The first rule that is broken by one of the pairs; then nothing has changed.
pub(crate) fn set_pairs(
    world: &mut World,
    source: Entity,
    relation: RelationId,
    pairs: Vec<WantedPair>,
) -> Result<(), InsertPairError> {
    let order: Vec<Entity> = pairs.iter().map(|pair| pair.target).collect();
    let Some(&target) = order.first() else {
        remove_all_targets(world, source, relation);
        return Ok(());
    };
    let numbers = order.iter().enumerate().map(|(number, &target)| (target, number)).collect();
    let mut request = NewPairs { relation, source, pairs, numbers };
    carry_out(world, StoredPair { source, relation, target }, &mut request, EndCheck::Now)?;
    order_targets(world, source, relation, &order);
    Ok(())
}

/// Puts the targets of a source into this order, before those that are not in it: observers may have changed them.
fn order_targets(world: &mut World, source: Entity, relation: RelationId, order: &[Entity]) {
    let Some(store) = fetch::store_mut(world) else { return };
    let index = store.relation(relation);
    let there: Vec<Entity> = index.targets(source).collect();
    if there == order {
        return;
    }
    let others = there.iter().copied().filter(|target| !order.contains(target));
    let order: Vec<Entity> =
        order.iter().copied().filter(|&target| index.has(source, target)).chain(others).collect();
    if there != order {
        PairWriter::new(store).reorder_targets(relation, source, &order);
    }
}

/// The pairs that a source is to have, at least one.
struct NewPairs {
    relation: RelationId,
    source: Entity,
    /// With the values, until they are taken.
    pairs: Vec<WantedPair>,
    /// The numbers of the targets in that list.
    numbers: EntityHashMap<usize>,
}

impl NewPairs {
    fn pair_with(&self, target: Entity) -> StoredPair {
        StoredPair { source: self.source, relation: self.relation, target }
    }
}

impl Request for NewPairs {
    fn plan(
        &self,
        world: &World,
        store: &PairStore,
        ends: EndCheck<'_>,
    ) -> Result<InsertPlan, InsertPairError> {
        let index = store.relation(self.relation);
        if let [first, second, ..] = &*self.pairs
            && index.is_exclusive()
        {
            let pair = attempted(world, store, self.pair_with(first.target));
            return Err(InsertPairError::Exclusive { pair, other: EntityName::new(world, second.target) });
        }
        let changed = self
            .pairs
            .iter()
            .filter(|pair| pair.value.is_some() || !index.has(self.source, pair.target))
            .map(|pair| {
                (self.pair_with(pair.target), pair.value.as_ref().map(|(value_type, _)| *value_type))
            });
        let mut plan = plan_all(world, store, changed, ends)?;
        // The pair of an exclusive relation gives way in the plan.
        if !index.is_exclusive() {
            let old = index.targets(self.source).filter(|target| !self.numbers.contains_key(target));
            plan.dropped = with_mirrors(store, old.map(|target| self.pair_with(target)).collect());
        }
        Ok(plan)
    }

    fn value(
        &mut self,
        world: &World,
        store: &PairStore,
        pair: StoredPair,
    ) -> Result<ValueSource, InsertPairError> {
        let number = self.numbers.get(&pair.target);
        let value = number.and_then(|&number| self.pairs[number].value.take());
        match value {
            Some((_, value)) => Ok(ValueSource::Default(validated(world, store, pair, value)?)),
            None => unreachable!("a value is asked for once per pair that brings one"),
        }
    }

    fn keeps(&self, pair: StoredPair) -> bool {
        pair == self.pair_with(pair.target) && self.numbers.contains_key(&pair.target)
    }
}
