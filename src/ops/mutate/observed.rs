//! Inserting pairs that only observers keep from the fast path.

use super::{
    ends::EndCheck,
    error::{InsertPairError, store_removed},
    event::{self, PairChange, PairEvent, Removal},
    remove::{Completion, trigger_removed},
    writer::{FastPath, InsertionKind, PairWriter},
};
use crate::{fetch, id::StoredPair, relation::Relation};
use bevy_ecs::world::{DeferredWorld, World};

/// Inserts a pair that only observers keep from the fast path, and triggers its events; or does `otherwise`, if its ends
/// are not ready.
#[inline(never)]
pub(super) fn insert_observed(
    world: &mut World,
    pair: StoredPair,
    ends: EndCheck<'_>,
    otherwise: fn(&mut World, StoredPair, EndCheck<'_>) -> Result<(), InsertPairError>,
) -> Result<(), InsertPairError> {
    let writer = fetch::store_mut(world).map(PairWriter::new);
    let Some(kind) = writer.and_then(|writer| writer.insertion_kind(pair)) else {
        return otherwise(world, pair, ends);
    };
    if kind == InsertionKind::Existing {
        return Ok(());
    }
    // If an observer panics, nothing has changed yet.
    trigger_replaced(world, pair, kind);
    let tick = world.change_tick();
    let Some(store) = fetch::store_mut(world) else {
        return Err(store_removed(world, pair.source, pair.target));
    };
    let inserted = PairWriter::new(store).insert_observed(pair, tick) == FastPath::Done;
    debug_assert!(inserted, "no code has run that could change that");
    let mut rest = Completion::default();
    trigger_inserted(world, &mut rest, pair, false);
    rest.finish();
    Ok(())
}

/// Inserts a pair with a value that only observers keep from the fast path, or replaces its value, and triggers its events.
///
/// # Errors
/// The value, if more has to be done for it; then nothing has happened.
#[inline(never)]
pub(super) fn insert_observed_value<R: Relation>(
    world: &mut World,
    pair: StoredPair,
    value: R,
) -> Result<(), R> {
    let writer = fetch::store_mut(world).map(PairWriter::new);
    let kind = writer.and_then(|writer| writer.insertion_kind_of_value(pair));
    let has_values =
        fetch::store_and_values::<R>(world).is_some_and(|(store, values)| values.is_of(store.id()));
    let Some(kind) = kind.filter(|_| has_values) else { return Err(value) };
    // If an observer panics, nothing has changed yet.
    trigger_replaced(world, pair, kind);
    let tick = world.change_tick();
    let Some((store, values)) = fetch::store_and_values::<R>(world) else { return Err(value) };
    let Some(mut fast) = PairWriter::new(store).observed_values(pair, values) else { return Err(value) };
    let old = fast.insert(pair.source, value, pair.target, tick)?;
    let mut rest = Completion::default();
    trigger_inserted(world, &mut rest, pair, kind == InsertionKind::Existing);
    rest.run(|| drop(old));
    rest.finish();
    Ok(())
}

/// Triggers the event of the pair that is replaced.
fn trigger_replaced(world: &mut World, pair: StoredPair, kind: InsertionKind) {
    if let InsertionKind::Retarget(target) = kind {
        let replaced = StoredPair { target, ..pair };
        trigger_removed(&mut DeferredWorld::from(world), &[replaced], Removal::REPLACED);
    }
}

/// Triggers the event of a pair that was inserted, and applies the commands of all observers.
fn trigger_inserted(world: &mut World, rest: &mut Completion, pair: StoredPair, replaced: bool) {
    if event::is_observed(world, PairEvent::Inserted, pair) {
        rest.run(|| {
            event::trigger(&mut DeferredWorld::from(&mut *world), PairChange::Inserted { replaced }, pair);
        });
    }
    rest.run(|| world.flush());
}
