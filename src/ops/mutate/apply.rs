//! Carries out a plan: the values are stored, pairs are removed and inserted, and their events triggered.

use super::{
    bare::Bare,
    error::{BrokenConstraint, ConstraintError, InsertPairError, attempted, store_removed},
    event::{self, PairChange, PairEvent, Removal},
    operation::despawn_orphans,
    order::{arrange, arrange_collections},
    plan::{InsertPlan, Insertion},
    remove::{self, Completion},
    value::{GivenValue, ValueSource, take_given},
    writer::{self, PairWriter},
};
use crate::{
    fetch,
    id::StoredPair,
    ops::register::report::report_warning,
    relation::{Adopted, IS_A, InsertMade},
    store::ComponentWrite,
};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::Entity,
    world::{DeferredWorld, World},
};
use smallvec::SmallVec;

/// Carries out a plan: removals, then insertions, each with its events.
///
/// # Errors
/// If the store or a column is gone; then nothing has changed.
pub(super) fn apply(
    world: &mut World,
    pair: StoredPair,
    plan: InsertPlan,
    mut given: Option<&mut GivenValue<'_>>,
) -> Result<(), InsertPairError> {
    let InsertPlan { mut removals, dropped, mut insertions, adopted, mut ends, .. } = plan;
    let InsertPlan { adopted_dropped, orders, restores, .. } = plan;
    let defaults = ends.make_defaults();
    let mut deferred = DeferredWorld::from(&mut *world);
    // The last that may panic with everything as it was.
    let mut observed = remove::trigger_removed(&mut deferred, &removals, Removal::REPLACED);
    observed |= remove::trigger_removed(&mut deferred, &dropped, Removal::REMOVED);
    if fetch::store(&deferred).is_none() {
        return Err(store_removed(world, pair.source, pair.target));
    }
    let rows = store_values(&mut deferred, &mut insertions, given.as_deref_mut())?;
    removals.extend(dropped);
    writer::detach_moved(&mut deferred, &insertions);
    let orphans = remove::unlink(&mut deferred, &removals);
    write(&mut deferred, &insertions, &rows, &adopted);
    arrange(&mut deferred, &orders);
    let mut rest = Completion::default();
    ends.note_unchecked(world);
    if !defaults.is_empty() || !ends.warnings.is_empty() {
        let written: SmallVec<[_; 2]> =
            insertions.iter().map(|insertion| relation_with(world, insertion.pair)).collect();
        complete_ends(world, &mut rest, defaults, core::mem::take(&mut ends.warnings));
        // Observers of the components may have removed pairs, and relations, whose numbers others may have by now.
        let mut written = written.into_iter();
        insertions.retain(|insertion| {
            let relation = written.next().flatten();
            relation.is_some() && relation_with(world, insertion.pair) == relation
        });
        observed = true;
    }
    for &Insertion { pair, replaced, .. } in &insertions {
        if event::is_observed(world, PairEvent::Inserted, pair) {
            rest.run(|| match restores && pair.relation == IS_A {
                false => trigger_inserted(world, pair, replaced),
                true => {
                    trigger_inserted(Bare::begin(world, pair.source, pair.target).world(), pair, replaced);
                }
            });
            observed = true;
        }
    }
    if observed {
        rest.run(|| world.flush());
    }
    remove::remove_components(world, &mut rest, adopted_dropped);
    // The component goes in even if the store is gone by now: it is imported when the relation is used again.
    for (insertion, component) in adopted {
        let source = insertion.pair.source;
        rest.run(|| apply_adopted(world, component, insertion, given.as_deref_mut()));
        rest.sync(world, component, source);
        // The observer of the component has no place where the command was queued.
        ends.note_unchecked(world);
    }
    rest.run(|| arrange_collections(world, &orders));
    remove::complete(world, &mut rest);
    if orphans {
        rest.run(|| despawn_orphans(world));
    }
    rest.finish();
    Ok(())
}

/// The entity of the relation of a pair that is there.
fn relation_with(world: &World, pair: StoredPair) -> Option<Entity> {
    let store = fetch::store(world)?;
    let entity = store.registry().get(pair.relation)?.entity;
    store.relation(pair.relation).has(pair.source, pair.target).then_some(entity)
}

fn trigger_inserted(world: &mut World, pair: StoredPair, replaced: bool) {
    event::trigger(&mut DeferredWorld::from(world), PairChange::Inserted { replaced }, pair);
}

/// Inserts the components that ends of new pairs lack, and reports what they should be and are not.
#[cold]
fn complete_ends(
    world: &mut World,
    rest: &mut Completion,
    defaults: Vec<(Entity, InsertMade)>,
    warnings: Vec<BrokenConstraint>,
) {
    for (end, insert) in defaults {
        rest.run(|| {
            // Hooks and observers of the component before may have despawned it.
            if let Ok(mut end) = world.get_entity_mut(end) {
                insert(&mut end);
            }
        });
    }
    for warning in warnings {
        report_warning(world.commands(), ConstraintError::Kept(warning));
    }
}

/// Writes the pairs of a plan to the store, with the rows of their values.
fn write(
    world: &mut DeferredWorld<'_>,
    insertions: &[Insertion],
    rows: &[Option<u32>],
    adopted: &[(Insertion, Adopted)],
) {
    let tick = world.change_tick();
    let Some(store) = fetch::deferred_store(world) else { return };
    for (&Insertion { pair, replaced, .. }, &row) in insertions.iter().zip(rows) {
        store.freeze(pair.relation);
        match replaced {
            true => PairWriter::new(store).replace(pair, row, tick),
            false => PairWriter::new(store).insert(pair, row, tick),
        }
    }
    for (Insertion { pair, .. }, _) in adopted {
        store.freeze(pair.relation);
    }
}

/// Stores the values of planned pairs, and returns the rows, pair by pair.
///
/// # Errors
/// If a column is gone. The values that were stored before are taken out again.
fn store_values(
    world: &mut DeferredWorld<'_>,
    insertions: &mut [Insertion],
    mut given: Option<&mut GivenValue<'_>>,
) -> Result<SmallVec<[Option<u32>; 2]>, InsertPairError> {
    let mut rows: SmallVec<[Option<u32>; 2]> = SmallVec::new();
    for at in 0..insertions.len() {
        let Insertion { pair, value, column, replaced } = &mut insertions[at];
        if let ValueSource::Moved(from) = *value {
            rows.push(
                fetch::store(world).and_then(|store| store.relation(pair.relation).row(pair.source, from)),
            );
            continue;
        }
        let Some(column) = *column else {
            rows.push(None);
            continue;
        };
        let row = match take_given(core::mem::replace(value, ValueSource::Nothing), given.as_deref_mut()) {
            // The other direction of a symmetric pair shares the value of the pair before.
            None => rows.last().copied().flatten(),
            Some(value) => {
                let old = fetch::store(world).filter(|_| *replaced);
                let old = old.and_then(|store| store.relation(pair.relation).row(pair.source, pair.target));
                let row = writer::store_value(world, column, value, old);
                if row.is_none() {
                    let pair = *pair;
                    writer::take_back(world, &insertions[..at], &rows);
                    remove::queue_completion(world);
                    return Err(match fetch::store(world) {
                        Some(store) => InsertPairError::ValuesRemoved {
                            pair: attempted(world, store, pair),
                            expected: column.value_name(),
                        },
                        None => store_removed(world, pair.source, pair.target),
                    });
                }
                row
            }
        };
        rows.push(row);
    }
    Ok(rows)
}

/// Inserts the component that keeps the pair; its observer writes the pair down.
fn apply_adopted(
    world: &mut World,
    adopted: Adopted,
    insertion: Insertion,
    given: Option<&mut GivenValue<'_>>,
) {
    let Insertion { pair, value, replaced, .. } = insertion;
    let writing = Writing::new(world, pair, replaced);
    (adopted.insert)(writing.0, pair.source, pair.target, take_given(value, given));
}

/// Shows the observers of the component that the pair was planned, and whether it stays and gets another value, until the first of
/// them has seen the component; or until a panic.
struct Writing<'w>(&'w mut World);

impl<'w> Writing<'w> {
    fn new(world: &'w mut World, pair: StoredPair, replaced: bool) -> Self {
        if let Some(store) = fetch::store_mut(world) {
            store.set_writing(Some(ComponentWrite { pair, replaced }));
        }
        Self(world)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if let Some(store) = fetch::store_mut(self.0) {
            store.set_writing(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            ends::EndCheck,
            insert::insert_typed,
            plan::{Companions, plan},
            value::ValueType,
        },
        *,
    };
    use crate::{
        id::PairId,
        ops::register::{participant::Participant, relation::relation_id},
        relation::{BoxedValue, ColumnRef, Value},
        store::{PairData, PairStore},
    };
    use alloc::{boxed::Box, string::ToString, sync::Arc};
    use bevy_relations_macros::Relation;

    #[derive(Relation)]
    #[relation(exclusive)]
    struct Carries(#[expect(dead_code, reason = "it is dropped")] Arc<()>);

    fn check(world: &World) {
        let is_marked = |entity: Entity| world.entity(entity).contains::<Participant>();
        fetch::store(world).unwrap().check(world, is_marked).unwrap();
    }

    /// Plans a second pair of an exclusive relation, loses something, and carries the plan out.
    fn insert_after(lose: impl FnOnce(&mut World)) -> (World, InsertPairError, Arc<()>) {
        let (mut world, value) = (World::new(), Arc::new(()));
        let [a, b, c] = [(); 3].map(|()| world.spawn_empty().id());
        insert_typed(&mut world, a, Carries(value.clone()), b, EndCheck::Now).unwrap();
        insert_typed(&mut world, b, Carries(value.clone()), c, EndCheck::Now).unwrap();
        let relation = relation_id::<Carries>(&mut world);
        let pair = StoredPair { source: a, relation, target: c };
        let mut slot = Some(Carries(value.clone()));
        let value_type = ValueType::of::<Carries>();
        let mut given = GivenValue { value_type, value: Value::Slot(&mut slot) };
        let store = fetch::store(&world).unwrap();
        let plan = plan(&world, store, pair, Some(value_type), EndCheck::Now, Companions::All).unwrap();
        assert_eq!((plan.removals.len(), plan.insertions.len(), plan.unmarked.len()), (1, 1, 0));
        lose(&mut world);
        let error = apply(&mut world, pair, plan, Some(&mut given)).unwrap_err();
        if let Some(store) = fetch::store(&world) {
            assert!(store.relation(relation).has(a, b) && !store.relation(relation).has(a, c));
        }
        (world, error, value)
    }

    #[test]
    fn a_value_without_a_column_is_an_error_and_the_pair_that_would_go_stays() {
        let (mut world, error, value) = insert_after(|world| {
            world.remove_resource::<PairData<Carries>>();
        });
        assert!(matches!(error, InsertPairError::ValuesRemoved { .. }), "{error}");
        assert_eq!(Arc::strong_count(&value), 1);
        let pairs = remove::select(fetch::store(&world).unwrap(), None, PairId::ALL);
        assert_eq!(remove::remove_selected(&mut world, pairs, Removal::REMOVED), 2);
        check(&world);
    }

    #[test]
    fn a_pair_without_a_store_is_an_error() {
        let (mut world, error, value) = insert_after(|world| {
            world.remove_resource::<PairStore>();
        });
        assert!(matches!(error, InsertPairError::StoreRemoved { .. }), "{error}");
        let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
        insert_typed(&mut world, a, Carries(value), b, EndCheck::Now).unwrap();
        check(&world);
    }

    #[test]
    fn values_are_taken_out_again_if_a_later_one_has_no_column() {
        let (mut world, value) = (World::new(), Arc::new(()));
        let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
        let relation = relation_id::<Carries>(&mut world);
        let insertion = |column, value: BoxedValue| Insertion {
            pair: StoredPair { source: a, relation, target: b },
            value: ValueSource::Default(value),
            column: Some(column),
            replaced: false,
        };
        let kinds: (ColumnRef, ColumnRef) = (PairData::<Carries>::COLUMN, PairData::<u8>::COLUMN);
        let mut insertions =
            [insertion(kinds.0, Box::new(Carries(value.clone()))), insertion(kinds.1, Box::new(1_u8))];
        let error = store_values(&mut DeferredWorld::from(&mut world), &mut insertions, None).unwrap_err();
        assert!(error.to_string().contains("u8"), "{error}");
        world.flush();
        assert_eq!(Arc::strong_count(&value), 1);
        check(&world);
    }
}
