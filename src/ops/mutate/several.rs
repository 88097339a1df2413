//! Inserting pairs of several relations on one source: all of them, or none.

use super::{
    change::{Request, execute},
    ends::EndCheck,
    error::{AttemptedPair, InsertPairError, PairRole, attempted},
    insert::resolve_pair,
    keyed::free_keys,
    plan::{InsertPlan, make_values, plan_all},
    value::{TypedValue, ValueSource, ValueType, validated},
};
use crate::{
    fetch,
    id::{PairId, RelationId, StoredPair},
    ops::register::store::ensure_store,
    relation::EntityName,
    store::PairStore,
};
use alloc::vec::Vec;
use bevy_ecs::{component::ComponentId, entity::Entity, world::World};
use bevy_platform::collections::HashMap;

/// A pair that is to be inserted, with its value if it brings one.
pub(crate) struct NewPair {
    pub(crate) relation: Entity,
    pub(crate) target: Entity,
    pub(crate) value: Option<TypedValue>,
}

/// The pairs of one source that are to be inserted. Relations are known by their entities, which stay what they are
/// while users' code runs.
struct SeveralPairs<'a> {
    source: Entity,
    pairs: &'a mut [NewPair],
}

impl SeveralPairs<'_> {
    /// What is to be inserted first, with what is known of its value.
    fn stored(
        &self,
        world: &World,
        store: &PairStore,
        pair: &NewPair,
    ) -> Result<(StoredPair, Option<ValueType>), InsertPairError> {
        let given = pair.value.as_ref().map(|value| value.value_type);
        match store.registry().of_entity(pair.relation) {
            Some(relation) => Ok((StoredPair { source: self.source, relation, target: pair.target }, given)),
            None => Err(self.dead_relation(world, store, pair)),
        }
    }

    fn dead_relation(&self, world: &World, store: &PairStore, pair: &NewPair) -> InsertPairError {
        let pair = AttemptedPair::new(world, store, self.source, pair.relation, pair.target);
        InsertPairError::Dead { pair, dead: PairRole::Relation }
    }

    /// A plan for the first of the pairs.
    fn plan_first(
        &self,
        world: &World,
        store: &PairStore,
        count: usize,
        ends: EndCheck<'_>,
    ) -> Result<InsertPlan, InsertPairError> {
        let pairs = self.pairs[..count].iter().map(|pair| self.stored(world, store, pair));
        let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
        check_exclusive(world, store, pairs.iter().map(|(pair, _)| *pair))?;
        plan_all(world, store, pairs, ends, false)
    }

    /// A plan for all of them.
    ///
    /// # Errors
    /// The number of the first pair that is refused, or that brings one that is, and why.
    fn plan_or_number(
        &self,
        world: &World,
        store: &PairStore,
        ends: EndCheck<'_>,
    ) -> Result<InsertPlan, (usize, InsertPairError)> {
        self.plan(world, store, ends).map_err(|error| {
            // The plan does not say which pair has caused the error.
            let refused = |&count: &usize| self.plan_first(world, store, count + 1, ends).is_err();
            ((0..self.pairs.len()).find(refused).unwrap_or(0), error)
        })
    }

    /// The number of the pair of which a plan has the value.
    fn number_of(&self, store: &PairStore, pair: StoredPair) -> Option<usize> {
        let relation = store.registry().entry(pair.relation).entity;
        self.pairs.iter().position(|new| new.relation == relation && new.target == pair.target)
    }
}

impl Request for SeveralPairs<'_> {
    fn plan(
        &self,
        world: &World,
        store: &PairStore,
        ends: EndCheck<'_>,
    ) -> Result<InsertPlan, InsertPairError> {
        self.plan_first(world, store, self.pairs.len(), ends)
    }

    fn value(
        &mut self,
        world: &World,
        store: &PairStore,
        pair: StoredPair,
    ) -> Result<ValueSource, InsertPairError> {
        let number = self.number_of(store, pair);
        let value = number.and_then(|number| self.pairs[number].value.take());
        match value {
            Some(value) => Ok(ValueSource::Default(validated(world, store, pair, value.value)?)),
            None => unreachable!("a value is asked for once per pair that brings one"),
        }
    }
}

/// A source of an exclusive relation cannot get two targets, not even one that it has and another.
fn check_exclusive(
    world: &World,
    store: &PairStore,
    pairs: impl Iterator<Item = StoredPair>,
) -> Result<(), InsertPairError> {
    let mut targets = HashMap::<RelationId, Entity>::default();
    for pair in pairs.filter(|pair| store.relation(pair.relation).is_exclusive()) {
        let other = *targets.entry(pair.relation).or_insert(pair.target);
        if other != pair.target {
            let other = EntityName::new(world, other);
            return Err(InsertPairError::Exclusive { pair: attempted(world, store, pair), other });
        }
    }
    Ok(())
}

/// Whether [`insert_several`] would insert the pairs if `source` had the `promised` components. Takes the values out of
/// the pairs: relations look at them.
///
/// # Errors
/// The number of the first pair that is refused, or that brings one that is, and why.
pub(crate) fn check_several(
    world: &mut World,
    source: Entity,
    pairs: &mut [NewPair],
    promised: &[ComponentId],
) -> Result<(), (usize, InsertPairError)> {
    resolve_all(world, source, pairs)?;
    let world: &World = world;
    let Some(store) = fetch::store(world) else { return Ok(()) };
    let ends = EndCheck::With(source, promised);
    let mut request = SeveralPairs { source, pairs };
    let mut plan = request.plan_or_number(world, store, ends)?;
    let mut with_defaults: Vec<ComponentId> = plan.ends.defaults_of(source).collect();
    if !with_defaults.is_empty() {
        // Another pair may not be allowed with what one of them inserts.
        with_defaults.extend(promised);
        request.plan_or_number(world, store, EndCheck::With(source, &with_defaults))?;
    }
    for insertion in plan.all_insertions_mut() {
        if matches!(insertion.value, ValueSource::Given) {
            let number = request.number_of(store, insertion.pair).unwrap_or(0);
            insertion.value = request.value(world, store, insertion.pair).map_err(|error| (number, error))?;
        }
    }
    let checked = make_values(world, store, &mut plan, None).and_then(|()| match plan.has_keys {
        true => free_keys(world, store, &mut plan, None, |_| false),
        false => Ok(()),
    });
    checked.map_err(|error| (number_in(&error, request.pairs), error))
}

/// Inserts pairs of one source, each of another relation or target, with the rules and events of them all; those that
/// are there get the new values.
///
/// # Errors
/// The number of a pair that is refused, or that brings one that is, and why. Nothing has changed then.
pub(crate) fn insert_several(
    world: &mut World,
    source: Entity,
    pairs: &mut [NewPair],
) -> Result<(), (usize, InsertPairError)> {
    let Some(first) = resolve_all(world, source, pairs)? else { return Ok(()) };
    let inserted = execute(world, first, &mut SeveralPairs { source, pairs }, EndCheck::Now);
    inserted.map_err(|error| (number_in(&error, pairs), error))
}

/// Makes relations of the entities that are to be some, and returns the first pair.
fn resolve_all(
    world: &mut World,
    source: Entity,
    pairs: &[NewPair],
) -> Result<Option<StoredPair>, (usize, InsertPairError)> {
    ensure_store(world);
    for (number, pair) in pairs.iter().enumerate() {
        let id = PairId::new(pair.relation, pair.target);
        resolve_pair(world, source, id).map_err(|error| (number, error))?;
    }
    let Some(first) = pairs.first() else { return Ok(None) };
    let first = resolve_pair(world, source, PairId::new(first.relation, first.target));
    first.map(Some).map_err(|error| (0, error))
}

/// The number of the pair that an error is about; the first, if it is about a companion of one.
fn number_in(error: &InsertPairError, pairs: &[NewPair]) -> usize {
    let (InsertPairError::Dead { pair, .. }
    | InsertPairError::MissingValue { pair, .. }
    | InsertPairError::Refused { pair, .. }
    | InsertPairError::SameKey { pair, .. }
    | InsertPairError::Exclusive { pair, .. }
    | InsertPairError::Cycle { pair, .. }) = error
    else {
        return 0;
    };
    let is_requested = |new: &NewPair| new.relation == pair.relation.entity() && pair.target == new.target;
    pairs.iter().position(is_requested).unwrap_or(0)
}
