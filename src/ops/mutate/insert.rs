//! Inserting pairs.

use super::{
    ends::EndCheck,
    error::{AttemptedPair, BrokenConstraint, ConstraintError, InsertPairError, PairRole, store_removed},
    event::{self, PairChange, PairEvent, Removal},
    keyed::free_keys,
    operation::despawn_orphans,
    order::{arrange, arrange_collections},
    plan::{Given, InsertPlan, Insertion, MAX_ROUNDS, ValueSource, attempted, make_values, plan, take_given},
    remove::{self, Completion},
    tag,
    writer::{self, FastPath, PairWriter},
};
use crate::{
    fetch,
    id::{PairId, StoredPair, StoredTag},
    ops::register::{
        entity::{relation_id_of, respawn},
        participant,
        relation::try_relation_id,
        report::report_warning,
        store::ensure_store,
    },
    relation::{Adopted, EntityName, InsertMade, Relation, TraitsError, Value},
    store::{Affected, FastPathFlags, PairStore},
};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::Entity,
    world::{DeferredWorld, World},
};
use core::any::{TypeId, type_name};
use smallvec::SmallVec;

/// Inserts a pair of relation type `R`: on the fast path, or by the rules.
#[inline]
pub(crate) fn insert_typed<R: Relation>(
    world: &mut World,
    source: Entity,
    value: R,
    target: Entity,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    if size_of::<R>() > 0 {
        return match try_insert_value(world, source, value, target) {
            Ok(_) => Ok(()),
            Err(value) => insert_typed_by_rules(world, source, value, target, ends),
        };
    }
    if let Some(store) = fetch::store_mut(world)
        && let Some(relation) = store.registry().of_type::<R>()
    {
        let pair = StoredPair { source, relation, target };
        match PairWriter::new(store).try_insert(pair) {
            FastPath::Done => return Ok(()),
            FastPath::NotReady => return insert_when_ready(world, pair),
            FastPath::Observed => return insert_observed(world, pair, insert_when_ready),
            FastPath::Declined => {}
        }
    }
    insert_typed_by_rules(world, source, value, target, ends)
}

/// Inserts a pair with a value on the fast path, or replaces the value, and returns the old one.
///
/// # Errors
/// The value, if the pair does not take the fast path.
#[inline]
fn try_insert_value<R: Relation>(
    world: &mut World,
    source: Entity,
    value: R,
    target: Entity,
) -> Result<Option<R>, R> {
    let tick = world.change_tick();
    let Some((store, values)) = fetch::store_and_values::<R>(world) else { return Err(value) };
    let Some(relation) = store.registry().of_type::<R>() else { return Err(value) };
    let affected = Affected::Target(target);
    match PairWriter::new(store).fast_values(relation, values, FastPathFlags::INSERT_VALUE, affected) {
        Some(mut fast) => fast.insert(source, value, target, tick),
        None => Err(value),
    }
}

#[inline(never)]
fn insert_typed_by_rules<R: Relation>(
    world: &mut World,
    source: Entity,
    value: R,
    target: Entity,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    let relation = try_relation_id::<R>(world)?;
    let mut slot = Some(value);
    insert_slot(world, StoredPair { source, relation, target }, &mut slot, ends)
}

/// Inserts a pair with the value in `slot`; a type without fields is no value.
pub(crate) fn insert_slot<T: Send + Sync + 'static>(
    world: &mut World,
    pair: StoredPair,
    slot: &mut Option<T>,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    let mut given = Given { type_id: TypeId::of::<T>(), name: type_name::<T>(), value: Value::Slot(slot) };
    insert(world, pair, (size_of::<T>() > 0).then_some(&mut given), ends)
}

/// Inserts a pair named by its entities, with a value or none; a tag, if that is what is named.
pub(crate) fn insert_by_id(
    world: &mut World,
    source: Entity,
    pair: PairId,
    given: Option<&mut Given<'_>>,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    match resolve_pair(world, source, pair) {
        Ok(pair) => insert(world, pair, given, ends),
        Err(error) => {
            let names_tags =
                |relation| fetch::store(world).is_some_and(|store| store.registry().names_tags(relation));
            match pair.entities().filter(|&(relation, _)| names_tags(relation)) {
                Some((_, tag)) => tag::insert_with(world, StoredTag { source, tag }, given.as_deref()),
                None => Err(error),
            }
        }
    }
}

/// [`insert_by_id`] with a value; a type without fields is none.
pub(crate) fn insert_value_by_id<T: Send + Sync + 'static>(
    world: &mut World,
    source: Entity,
    pair: PairId,
    value: T,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    let mut slot = Some(value);
    let mut given =
        Given { type_id: TypeId::of::<T>(), name: type_name::<T>(), value: Value::Slot(&mut slot) };
    insert_by_id(world, source, pair, (size_of::<T>() > 0).then_some(&mut given), ends)
}

/// The relation and target of a pair named by its entities.
pub(crate) fn resolve_pair(
    world: &mut World,
    source_entity: Entity,
    pair: PairId,
) -> Result<StoredPair, InsertPairError> {
    let Some((relation, target)) = pair.entities() else {
        return Err(InsertPairError::Wildcard { source_entity: EntityName::new(world, source_entity), pair });
    };
    let relation = relation_id_of(world, relation).map_err(|error| match error {
        TraitsError::Dead { entity } => {
            let relation = ensure_store(world).registry().name_of(entity);
            let [source_entity, target] = [source_entity, target].map(|end| EntityName::new(world, end));
            let pair = AttemptedPair { source_entity, relation, target };
            InsertPairError::Dead { pair, dead: PairRole::Relation }
        }
        error => error.into(),
    })?;
    Ok(StoredPair { source: source_entity, relation, target })
}

/// Inserts a pair: on the fast path, or by the rules.
///
/// # Errors
/// The first rule that is broken; then nothing has changed.
pub(crate) fn insert(
    world: &mut World,
    pair: StoredPair,
    given: Option<&mut Given<'_>>,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    if given.is_none()
        && let Some(store) = fetch::store_mut(world)
    {
        match PairWriter::new(store).try_insert(pair) {
            FastPath::Done => return Ok(()),
            FastPath::NotReady => return insert_when_ready(world, pair),
            FastPath::Observed => return insert_observed(world, pair, insert_when_ready),
            FastPath::Declined => {}
        }
    }
    insert_by_plan(world, pair, given, ends)
}

/// [`insert`] for clones that have not got their components yet.
///
/// # Errors
/// As there.
pub(in crate::ops) fn insert_for_clone(
    world: &mut World,
    pair: StoredPair,
    given: Option<&mut Given<'_>>,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    // Companions may have constraints, too.
    let may_be_constrained = |store: &PairStore| {
        let entry = store.registry().entry(pair.relation);
        !entry.constraints.is_empty() || !entry.with.is_empty()
    };
    match fetch::store(world).is_some_and(may_be_constrained) {
        true => insert_by_plan(world, pair, given, ends),
        false => insert(world, pair, given, ends),
    }
}

/// Marks the ends of a pair that was not ready for the fast path, which is taken then, unless the pair may close a cycle.
#[inline(never)]
pub(super) fn insert_when_ready(world: &mut World, pair: StoredPair) -> Result<(), InsertPairError> {
    let Some(store) = fetch::store(world) else { return Err(store_removed(world, pair.source, pair.target)) };
    let mut unmarked = InsertPlan::default();
    for (dead, entity) in [(PairRole::Source, pair.source), (PairRole::Target, pair.target)] {
        if !store.participants().is_marked(entity) {
            if !world.entities().contains_spawned(entity) {
                return Err(InsertPairError::Dead { pair: attempted(world, store, pair), dead });
            }
            unmarked.newcomers.push(entity);
        }
    }
    if !unmarked.newcomers.is_empty() {
        prepare(world, pair, &unmarked)?;
        let Some(store) = fetch::store_mut(world) else {
            return Err(store_removed(world, pair.source, pair.target));
        };
        match PairWriter::new(store).try_insert(pair) {
            FastPath::Done => return Ok(()),
            FastPath::Observed => {
                return insert_observed(world, pair, insert_by_rules);
            }
            FastPath::NotReady | FastPath::Declined => {}
        }
    }
    insert_by_rules(world, pair)
}

/// Inserts a pair that only observers keep from the fast path, and triggers its event; or does `otherwise`, if its ends are not
/// ready, or another pair has to go.
#[inline(never)]
pub(super) fn insert_observed(
    world: &mut World,
    pair: StoredPair,
    otherwise: fn(&mut World, StoredPair) -> Result<(), InsertPairError>,
) -> Result<(), InsertPairError> {
    let writer = fetch::store_mut(world).map(PairWriter::new);
    match writer.and_then(|writer| writer.insert_observed(pair)) {
        Some(true) => {
            let mut rest = Completion::default();
            let deferred = &mut DeferredWorld::from(&mut *world);
            rest.run(|| event::trigger(deferred, PairChange::Inserted { replaced: false }, pair));
            rest.run(|| world.flush());
            rest.finish();
            Ok(())
        }
        Some(false) => Ok(()),
        None => otherwise(world, pair),
    }
}

/// Inserts a pair by the rules: plans, applies the plan, triggers events.
fn insert_by_rules(world: &mut World, pair: StoredPair) -> Result<(), InsertPairError> {
    insert_by_plan(world, pair, None, EndCheck::Now)
}

fn insert_by_plan(
    world: &mut World,
    pair: StoredPair,
    mut given: Option<&mut Given<'_>>,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    for round in 0.. {
        let Some(store) = fetch::store(world) else {
            return Err(store_removed(world, pair.source, pair.target));
        };
        let mut plan = plan(world, store, pair, given.as_deref(), ends)?;
        if round > MAX_ROUNDS {
            let dead = if plan.lost.is_empty() { PairRole::Target } else { PairRole::Relation };
            return Err(InsertPairError::Dead { pair: attempted(world, store, pair), dead });
        }
        if plan.newcomers.is_empty() && plan.lost.is_empty() {
            make_values(world, store, &mut plan, given.as_deref_mut())?;
            if plan.has_keys {
                free_keys(world, store, &mut plan, given.as_deref(), |_| false)?;
            }
            return apply(world, pair, plan, given);
        }
        prepare(world, pair, &plan)?;
    }
    Ok(())
}

/// Does what a plan needs before it holds: entities get the marker, relation types that lost their entity another one.
/// That runs users' code, after which the relation may be another.
pub(super) fn prepare(world: &mut World, pair: StoredPair, plan: &InsertPlan) -> Result<(), InsertPairError> {
    let Some(store) = fetch::store(world) else { return Err(store_removed(world, pair.source, pair.target)) };
    let (id, entry) = (store.id(), store.registry().entry(pair.relation));
    let (entity, type_id) = (entry.entity, entry.type_id);
    let named = type_id.is_none().then(|| attempted(world, store, pair));
    for &relation in &plan.lost {
        respawn(world, relation);
    }
    for &newcomer in &plan.newcomers {
        participant::mark(world, newcomer);
    }
    let Some(store) = fetch::store(world).filter(|store| store.id() == id) else {
        return Err(store_removed(world, pair.source, pair.target));
    };
    let entry = store.registry().get(pair.relation);
    match named {
        // A run-time relation: its number may serve another by now.
        Some(named) if entry.is_none_or(|entry| entry.entity != entity) => {
            Err(InsertPairError::Dead { pair: named, dead: PairRole::Relation })
        }
        None if entry.is_none_or(|entry| entry.type_id != type_id) => {
            Err(store_removed(world, pair.source, pair.target))
        }
        _ => Ok(()),
    }
}

/// Carries out a plan: removals, then insertions, each with its events.
///
/// # Errors
/// If the store or a column is gone; then nothing has changed.
pub(super) fn apply(
    world: &mut World,
    pair: StoredPair,
    plan: InsertPlan,
    mut given: Option<&mut Given<'_>>,
) -> Result<(), InsertPairError> {
    let InsertPlan { mut removals, dropped, mut insertions, adopted, mut ends, .. } = plan;
    let InsertPlan { adopted_dropped, orders, .. } = plan;
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
        complete_ends(world, &mut rest, defaults, core::mem::take(&mut ends.warnings));
        observed = true;
    }
    for &Insertion { pair, replaced, .. } in &insertions {
        if event::is_observed(world, PairEvent::Inserted, pair) {
            let world = &mut DeferredWorld::from(&mut *world);
            rest.run(|| event::trigger(world, PairChange::Inserted { replaced }, pair));
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
        // The observer of the component does not know where the command was queued.
        ends.note_unchecked(world);
    }
    rest.run(|| arrange_collections(world, &orders));
    if fetch::store(world).is_some_and(PairStore::has_removed_values) {
        rest.run(|| remove::drop_removed(world));
    }
    if orphans {
        rest.run(|| despawn_orphans(world));
    }
    rest.finish();
    Ok(())
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
    mut given: Option<&mut Given<'_>>,
) -> Result<SmallVec<[Option<u32>; 2]>, InsertPairError> {
    let mut rows: SmallVec<[Option<u32>; 2]> = SmallVec::new();
    for at in 0..insertions.len() {
        let Insertion { pair, value, kind, replaced } = &mut insertions[at];
        if let ValueSource::Moved(from) = *value {
            rows.push(
                fetch::store(world).and_then(|store| store.relation(pair.relation).row(pair.source, from)),
            );
            continue;
        }
        let Some(kind) = *kind else {
            rows.push(None);
            continue;
        };
        let row = match take_given(core::mem::replace(value, ValueSource::Nothing), given.as_deref_mut()) {
            // The other direction of a symmetric pair shares the value of the pair before.
            None => rows.last().copied().flatten(),
            Some(value) => {
                let old = fetch::store(world).filter(|_| *replaced);
                let old = old.and_then(|store| store.relation(pair.relation).row(pair.source, pair.target));
                let row = writer::store_value(world, kind, value, old);
                if row.is_none() {
                    let pair = *pair;
                    writer::take_back(world, &insertions[..at], &rows);
                    remove::queue_drop_removed(world);
                    return Err(match fetch::store(world) {
                        Some(store) => InsertPairError::ValuesRemoved {
                            pair: attempted(world, store, pair),
                            expected: kind.value_name(),
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
fn apply_adopted(world: &mut World, adopted: Adopted, insertion: Insertion, given: Option<&mut Given<'_>>) {
    let StoredPair { source, target, .. } = insertion.pair;
    let replacing = Replacing::new(world, insertion.replaced.then_some(source));
    (adopted.insert)(replacing.0, source, target, take_given(insertion.value, given));
}

/// Shows the observers of the component that the pair stays and gets another value, until the first of them has seen the
/// new value; or until a panic.
struct Replacing<'w>(&'w mut World);

impl<'w> Replacing<'w> {
    fn new(world: &'w mut World, source: Option<Entity>) -> Self {
        if let Some(store) = fetch::store_mut(world) {
            store.set_replacing(source);
        }
        Self(world)
    }
}

impl Drop for Replacing<'_> {
    fn drop(&mut self) {
        if let Some(store) = fetch::store_mut(self.0) {
            store.set_replacing(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ops::register::{participant::Participant, relation::relation_id},
        relation::{BoxedValue, ColumnRef},
        store::PairData,
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
        let mut given = Given {
            type_id: TypeId::of::<Carries>(),
            name: type_name::<Carries>(),
            value: Value::Slot(&mut slot),
        };
        let store = fetch::store(&world).unwrap();
        let plan = plan(&world, store, pair, Some(&given), EndCheck::Now).unwrap();
        assert_eq!((plan.removals.len(), plan.insertions.len(), plan.newcomers.len()), (1, 1, 0));
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
        let insertion = |kind, value: BoxedValue| Insertion {
            pair: StoredPair { source: a, relation, target: b },
            value: ValueSource::Default(value),
            kind: Some(kind),
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
