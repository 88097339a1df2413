//! The fast path of pairs that come with a value of the type that their relation carries, where neither is known when this is
//! compiled: relations that are created at run time, and clones.

use super::{
    error::InsertPairError,
    insert::mark_ends,
    plan::{Given, ValueSource, take_given},
    remove::{Completion, complete},
    writer::{FastPath, PairWriter, may_close_cycle, note_relation_of_ends, store_value},
};
use crate::{
    fetch,
    id::StoredPair,
    relation::ColumnRef,
    store::{Affected, FastPathFlags, PairStore},
};
use bevy_ecs::world::{DeferredWorld, World};
use smallvec::SmallVec;

/// Inserts a pair with its value on the fast path, or replaces the value. Returns whether that was possible; otherwise the value
/// is still there.
///
/// # Errors
/// If an end is dead.
pub(super) fn try_insert_given(
    world: &mut World,
    pair: StoredPair,
    given: &mut Given<'_>,
) -> Result<bool, InsertPairError> {
    let mut found = find_row(world, pair, given);
    if matches!(found, Err(FastPath::NotReady)) && mark_ends(world, pair)? {
        found = find_row(world, pair, given);
    }
    let Ok((column, row)) = found else { return Ok(false) };
    let tick = world.change_tick();
    let mut deferred = DeferredWorld::from(&mut *world);
    let value = take_given(ValueSource::Given, Some(given));
    let stored = value.and_then(|value| store_value(&mut deferred, column, value, row));
    let (Some(stored), Some(store)) = (stored, fetch::deferred_store(&mut deferred)) else {
        debug_assert!(false, "column and store were there before, and no code of users has run");
        return Ok(false);
    };
    for pair in both_ways(store, pair) {
        match row {
            None => PairWriter::new(store).insert(pair, Some(stored), tick),
            Some(_) => PairWriter::new(store).replace(pair, Some(stored), tick),
        }
    }
    let mut rest = Completion::default();
    complete(world, &mut rest);
    rest.finish();
    Ok(true)
}

/// A pair, and its other direction if it has one.
pub(super) fn both_ways(store: &PairStore, pair: StoredPair) -> SmallVec<[StoredPair; 2]> {
    let mirror = StoredPair { source: pair.target, target: pair.source, ..pair };
    let has_mirror = mirror != pair && store.relation(pair.relation).is_symmetric();
    [pair].into_iter().chain(Some(mirror).filter(|_| has_mirror)).collect()
}

/// The column for the value of a pair, and the row that the pair has there already.
///
/// # Errors
/// Why the pair does not take the fast path.
fn find_row(
    world: &mut World,
    pair: StoredPair,
    given: &Given<'_>,
) -> Result<(ColumnRef, Option<u32>), FastPath> {
    let StoredPair { source, relation, target } = pair;
    let store = fetch::store_mut(world).ok_or(FastPath::Declined)?;
    let column = store.registry().entry(relation).data.filter(|column| column.value_type() == given.type_id);
    let column = column.ok_or(FastPath::Declined)?;
    for pair in both_ways(store, pair) {
        let affected = Affected::Insertion(pair.source, pair.target);
        store.fast_access(relation, FastPathFlags::INSERT_GIVEN, affected).ok_or(FastPath::Declined)?;
    }
    let (index, participants) = store.write_access(relation);
    if !note_relation_of_ends(index, participants, pair, None) {
        return Err(FastPath::NotReady);
    }
    let row = index.row(source, target);
    let is_new = !index.has(source, target);
    let needs_rules = match is_new {
        true => may_close_cycle(index, source, target) || (index.is_exclusive() && index.has_any(source)),
        false => row.is_none(),
    };
    match !needs_rules && column.exists(world) {
        true => Ok((column, row)),
        false => Err(FastPath::Declined),
    }
}
