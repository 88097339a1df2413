//! One pair per source and key: the rule of keyed relations.

use super::{
    error::{InsertPairError, attempted},
    plan::{InsertPlan, Insertion},
    value::{GivenValue, ValueSource},
};
use crate::{
    fetch,
    id::{RelationId, StoredPair},
    relation::{EntityName, KeyRef, Value},
    store::PairStore,
};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, world::World};
use bevy_platform::collections::{HashMap, HashSet};
use core::any::Any;

/// Pairs of one keyed relation that one source is to get.
struct Keyed {
    rule: KeyRef,
    /// Their numbers in the plan.
    insertions: Vec<usize>,
}

/// Lets the pairs go that have the keys of the pairs of a plan, whose values are made.
///
/// Compares keys, which is code of the user: it sees the world as it is before the insertion and cannot change it.
///
/// # Errors
/// If two of the pairs have the same key, or one that `keeps` says is to stay has it.
///
/// # Complexity
/// A comparison per pair that is to be inserted and pair that its source has of the relation.
pub(super) fn free_keys(
    world: &World,
    store: &PairStore,
    plan: &mut InsertPlan,
    given: Option<&GivenValue<'_>>,
    keeps: impl Fn(StoredPair) -> bool,
) -> Result<(), InsertPairError> {
    let gone: HashSet<StoredPair> = plan.removals.iter().chain(&plan.dropped).copied().collect();
    let mut freed = Vec::new();
    for ((relation, source), keyed) in by_source(store, plan) {
        let there: Vec<Entity> = store.relation(relation).targets(source).collect();
        for (nth, &at) in keyed.insertions.iter().enumerate() {
            let insertion = &plan.insertions[at];
            let pair = insertion.pair;
            let Some(value) = value_of(world, store, insertion, given, keyed.rule) else { continue };
            let same_key = |other: Entity| InsertPairError::SameKey {
                pair: attempted(world, store, pair),
                other: EntityName::new(world, other),
            };
            for earlier in keyed.insertions[..nth].iter().map(|&at| &plan.insertions[at]) {
                let other = value_of(world, store, earlier, given, keyed.rule);
                if other.is_some_and(|other| keyed.rule.is_same(value, other)) {
                    return Err(same_key(earlier.pair.target));
                }
            }
            for other in there.iter().map(|&target| StoredPair { target, ..pair }) {
                if other == pair || gone.contains(&other) {
                    continue;
                }
                // A pair that gets another value frees the key that it has.
                let gets_another = keyed.insertions.iter().any(|&at| plan.insertions[at].pair == other);
                let stored = stored_value(world, store, other).filter(|_| !gets_another);
                if stored.is_some_and(|stored| keyed.rule.is_same(value, stored)) {
                    if keeps(other) {
                        return Err(same_key(other.target));
                    }
                    freed.push(other);
                }
            }
        }
    }
    plan.removals.extend(freed);
    Ok(())
}

/// The pairs of keyed relations that are to be inserted, in the order of the plan.
fn by_source(store: &PairStore, plan: &InsertPlan) -> Vec<((RelationId, Entity), Keyed)> {
    let mut numbers: HashMap<(RelationId, Entity), usize> = HashMap::default();
    let mut all: Vec<((RelationId, Entity), Keyed)> = Vec::new();
    for (at, insertion) in plan.insertions.iter().enumerate() {
        let StoredPair { source, relation, .. } = insertion.pair;
        let Some(rule) = store.registry().entry(relation).traits.key_rule() else { continue };
        let number = *numbers.entry((relation, source)).or_insert(all.len());
        match all.get_mut(number) {
            Some((_, keyed)) => keyed.insertions.push(at),
            None => all.push(((relation, source), Keyed { rule, insertions: alloc::vec![at] })),
        }
    }
    all
}

/// The value that a planned pair will have.
fn value_of<'a>(
    world: &'a World,
    store: &'a PairStore,
    insertion: &'a Insertion,
    given: Option<&'a GivenValue<'_>>,
    rule: KeyRef,
) -> Option<&'a dyn Any> {
    match &insertion.value {
        ValueSource::Given => match &given?.value {
            Value::Slot(slot) => rule.in_slot(&**slot as &dyn Any),
            Value::Boxed(value) => Some(&**value as &dyn Any),
        },
        ValueSource::Default(value) => Some(&**value as &dyn Any),
        ValueSource::Moved(from) => {
            stored_value(world, store, StoredPair { target: *from, ..insertion.pair })
        }
        // A keyed relation is not symmetric, and its pairs have values.
        ValueSource::Nothing | ValueSource::Missing | ValueSource::Shared => None,
    }
}

/// Whether an entity has a pair with the key that a pair of another entity has.
pub(crate) fn has_key_of(world: &World, store: &PairStore, pair: StoredPair, other: Entity) -> bool {
    let Some(rule) = store.registry().entry(pair.relation).traits.key_rule() else { return false };
    let Some(value) = stored_value(world, store, pair) else { return false };
    store.relation(pair.relation).targets(other).any(|target| {
        let stored = stored_value(world, store, StoredPair { source: other, target, ..pair });
        stored.is_some_and(|stored| rule.is_same(value, stored))
    })
}

/// Whether another pair of the source has the key of the value that a pair is to get. Compares keys, as [`free_keys`] does.
pub(super) fn is_key_taken(world: &World, pair: StoredPair, value: &dyn Any) -> bool {
    let Some(store) = fetch::store(world) else { return false };
    let Some(rule) = store.registry().entry(pair.relation).traits.key_rule() else { return false };
    let mut others =
        store.relation(pair.relation).targets(pair.source).filter(|&target| target != pair.target);
    others.any(|target| {
        let stored = stored_value(world, store, StoredPair { target, ..pair });
        stored.is_some_and(|stored| rule.is_same(value, stored))
    })
}

/// The value of a pair that is there.
fn stored_value<'a>(world: &'a World, store: &'a PairStore, pair: StoredPair) -> Option<&'a dyn Any> {
    let row = store.relation(pair.relation).row(pair.source, pair.target)?;
    let column = store.column_of(pair.relation, pair.source, pair.target)?;
    Some(column.get(world, row)? as &dyn Any)
}
