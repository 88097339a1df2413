//! The fast path of pairs that come with a value of the type that their relation carries, where neither is known when this is
//! compiled: relations that are created at run time, and clones.

use super::{
    ends::{EndCheck, meets_constraints},
    error::InsertPairError,
    ready::mark_ends,
    remove::complete_at_once,
    value::{GivenValue, ValueSource, take_given},
    writer::{FastPath, PairWriter, store_value},
};
use crate::{fetch, id::StoredPair};
use bevy_ecs::world::{DeferredWorld, World};

/// Inserts a pair with its value on the fast path, or replaces the value. Returns whether that was possible; otherwise the value
/// is still there.
///
/// # Errors
/// If an end is dead.
pub(super) fn try_insert_given(
    world: &mut World,
    pair: StoredPair,
    given: &mut GivenValue<'_>,
    ends: EndCheck<'_>,
) -> Result<bool, InsertPairError> {
    let type_id = given.value_type.type_id;
    let find_row = |world: &mut World| {
        if !meets_constraints(world, pair, ends) {
            return Err(FastPath::Declined);
        }
        let writer = fetch::store_mut(world).map(PairWriter::new);
        writer.map_or(Err(FastPath::Declined), |writer| writer.row_for_value(pair, type_id))
    };
    let mut found = find_row(world);
    if matches!(found, Err(FastPath::NotReady)) && mark_ends(world, pair)? {
        found = find_row(world);
    }
    let Some((column, row)) = found.ok().filter(|(column, _)| column.exists(world)) else {
        return Ok(false);
    };
    let tick = world.change_tick();
    let mut deferred = DeferredWorld::from(&mut *world);
    let value = take_given(ValueSource::Given, Some(given));
    let stored = value.and_then(|value| store_value(&mut deferred, column, value, row));
    let (Some(stored), Some(store)) = (stored, fetch::deferred_store(&mut deferred)) else {
        debug_assert!(false, "column and store were there before, and no code of users has run");
        return Ok(false);
    };
    for pair in store.both_ways(pair) {
        match row {
            None => PairWriter::new(store).insert(pair, Some(stored), tick),
            Some(_) => PairWriter::new(store).replace(pair, Some(stored), tick),
        }
    }
    complete_at_once(world);
    Ok(true)
}
