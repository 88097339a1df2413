//! Inserting pairs.

use super::{
    error::{InsertPairError, InsertPairsError, PairRole},
    event::{self, Kind},
    plan::{Given, Insertion, Plan, Source, attempted, make_values, plan},
    remove::{self, Completion},
};
use crate::{
    fetch,
    id::{PairId, StoredPair},
    ops::register::{
        entity::{relation_id_of, respawn},
        participant,
        relation::{relation_id, try_relation_id},
        store::ensure_store,
    },
    relation::{Adopted, Relation, TraitsError, Value},
    store::{NO_ROW, Simple},
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::{
    entity::Entity,
    world::{DeferredWorld, World},
};
use core::any::{TypeId, type_name};
use smallvec::SmallVec;

/// How often an insertion prepares the world for its plan, before it takes observers to undo that each time.
const MAX_ROUNDS: usize = 8;

/// Inserts a pair of relation type `R`: writes it down if that is all there is to it, else goes by the rules.
#[inline]
pub(crate) fn insert_typed<R: Relation>(
    world: &mut World,
    source: Entity,
    value: R,
    target: Entity,
) -> Result<(), InsertPairError> {
    if size_of::<R>() == 0
        && let Some(store) = fetch::store_mut(world)
        && let Some(relation) = store.registry.of_type::<R>()
    {
        if let Simple::Done = store.insert_simple(relation, source, target) {
            return Ok(());
        }
        if store.relation(relation).simple {
            return insert(world, StoredPair { source, relation, target }, None);
        }
    }
    insert_typed_by_rules(world, source, value, target)
}

#[inline(never)]
fn insert_typed_by_rules<R: Relation>(
    world: &mut World,
    source: Entity,
    value: R,
    target: Entity,
) -> Result<(), InsertPairError> {
    let relation = try_relation_id::<R>(world)?;
    let mut slot = Some(value);
    insert_slot(world, StoredPair { source, relation, target }, &mut slot)
}

/// Inserts a pair with the value in `slot`; a type without fields is no value.
pub(crate) fn insert_slot<T: Send + Sync + 'static>(
    world: &mut World,
    pair: StoredPair,
    slot: &mut Option<T>,
) -> Result<(), InsertPairError> {
    let mut given = Given { type_id: TypeId::of::<T>(), name: type_name::<T>(), value: Value::Slot(slot) };
    insert(world, pair, (size_of::<T>() > 0).then_some(&mut given))
}

/// The relation and target of a pair named by its entities.
pub(crate) fn resolve_pair(
    world: &mut World,
    source_entity: Entity,
    pair: PairId,
) -> Result<StoredPair, InsertPairError> {
    let Some((relation, target)) = pair.entities() else {
        return Err(InsertPairError::Wildcard { source_entity, pair });
    };
    let relation = relation_id_of(world, relation).map_err(|error| match error {
        TraitsError::Dead { entity } => {
            let relation = ensure_store(world).registry.name_of(entity);
            let pair = super::error::AttemptedPair { source_entity, relation, target };
            InsertPairError::Dead { pair, dead: PairRole::Relation }
        }
        error => error.into(),
    })?;
    Ok(StoredPair { source: source_entity, relation, target })
}

/// Inserts a pair by the rules: plans, applies, tells observers.
///
/// # Errors
/// Whatever rule is broken; then nothing has changed.
pub(crate) fn insert(
    world: &mut World,
    pair: StoredPair,
    mut given: Option<&mut Given<'_>>,
) -> Result<(), InsertPairError> {
    if given.is_none() && insert_simple(world, pair)? {
        return Ok(());
    }
    for round in 0.. {
        let Some(store) = fetch::store(world) else { return Err(store_removed(pair)) };
        let mut plan = plan(world, store, pair, given.as_deref())?;
        if round > MAX_ROUNDS {
            let dead = if plan.lost.is_empty() { PairRole::Target } else { PairRole::Relation };
            return Err(InsertPairError::Dead { pair: attempted(store, pair), dead });
        }
        if plan.newcomers.is_empty() && plan.lost.is_empty() {
            make_values(world, store, &mut plan, given.as_deref_mut())?;
            apply(world, plan, given);
            break;
        }
        prepare(world, pair, &plan)?;
    }
    Ok(())
}

fn store_removed(pair: StoredPair) -> InsertPairError {
    InsertPairError::StoreRemoved { source_entity: pair.source, target: pair.target }
}

/// Does what a plan needs before it holds: entities get the marker, relation types that lost their entity another one.
/// That runs users' code, after which the relation may be another.
fn prepare(world: &mut World, pair: StoredPair, plan: &Plan) -> Result<(), InsertPairError> {
    let Some(store) = fetch::store(world) else { return Err(store_removed(pair)) };
    let (id, entry) = (store.id(), store.registry.entry(pair.relation));
    let (entity, type_id) = (entry.entity, entry.type_id);
    let named = type_id.is_none().then(|| attempted(store, pair));
    for &relation in &plan.lost {
        respawn(world, relation);
    }
    for &(newcomer, relation) in &plan.newcomers {
        participant::mark(world, newcomer, relation);
    }
    let Some(store) = fetch::store(world).filter(|store| store.id() == id) else {
        return Err(store_removed(pair));
    };
    let entry = store.registry.get(pair.relation);
    match named {
        // A run-time relation: its number may serve another by now.
        Some(named) if entry.is_none_or(|entry| entry.entity != entity) => {
            Err(InsertPairError::Dead { pair: named, dead: PairRole::Relation })
        }
        None if entry.is_none_or(|entry| entry.type_id != type_id) => Err(store_removed(pair)),
        _ => Ok(()),
    }
}

/// Tries the short way. False if rules have to be checked first, or an end has no marker yet.
fn insert_simple(world: &mut World, pair: StoredPair) -> Result<bool, InsertPairError> {
    let StoredPair { source, relation, target } = pair;
    let Some(store) = fetch::store(world) else { return Ok(false) };
    if !store.relation(relation).simple {
        return Ok(false);
    }
    let mut newcomers = Plan::default();
    for (dead, entity) in [(PairRole::Source, source), (PairRole::Target, target)] {
        if !store.participants.is_marked(entity) {
            if !world.entities().contains_spawned(entity) {
                return Err(InsertPairError::Dead { pair: attempted(store, pair), dead });
            }
            newcomers.newcomers.push((entity, relation));
        }
    }
    if !newcomers.newcomers.is_empty() {
        prepare(world, pair, &newcomers)?;
    }
    let Some(store) = fetch::store_mut(world) else { return Ok(false) };
    Ok(matches!(store.insert_simple(relation, source, target), Simple::Done))
}

/// Carries out a plan: removals, then insertions, each with its events.
fn apply(world: &mut World, plan: Plan, mut given: Option<&mut Given<'_>>) {
    let Plan { removals, insertions, adopted, .. } = plan;
    for insertion in insertions.iter().chain(&adopted) {
        let StoredPair { source, relation, target } = insertion.pair;
        let Some(store) = fetch::store_mut(world) else { continue };
        store.freeze(relation);
        if !insertion.replaced {
            store.participants.join(source, relation);
            store.participants.join(target, relation);
        }
    }
    let mut deferred = DeferredWorld::from(&mut *world);
    // The last that may panic with everything as it was.
    let removed = remove::remove(&mut deferred, &removals);
    let mut row = NO_ROW;
    let mut events: SmallVec<[_; 4]> = SmallVec::new();
    let listening = event::listening(&mut deferred, Kind::Inserted);
    for insertion in insertions {
        if listening {
            events.push((insertion.pair, insertion.replaced));
        }
        row = apply_one(&mut deferred, insertion, given.as_deref_mut(), row);
    }
    let mut rest = Completion::default();
    for (pair, replaced) in events {
        rest.run(|| event::fire(&mut DeferredWorld::from(&mut *world), Kind::Inserted, pair, replaced));
    }
    if listening || removed {
        rest.run(|| world.flush());
    }
    for insertion in adopted {
        let StoredPair { source, relation, .. } = insertion.pair;
        let component = fetch::store(world).and_then(|store| store.registry.entry(relation).adopted);
        let Some(component) = component else { continue };
        rest.run(|| apply_adopted(world, component, insertion, given.as_deref_mut()));
        rest.sync(world, component, source);
    }
    if fetch::store(world).is_some_and(|store| !store.removed.is_empty()) {
        rest.run(|| remove::drop_removed(world));
    }
    rest.finish();
}

/// Writes one pair down and gives the row of its value.
fn apply_one(
    world: &mut DeferredWorld<'_>,
    insertion: Insertion,
    given: Option<&mut Given<'_>>,
    last_row: u32,
) -> u32 {
    let Insertion { pair, value, kind, replaced } = insertion;
    let StoredPair { source, relation, target } = pair;
    let tick = world.change_tick();
    let old_row = fetch::deferred_store(world)
        .filter(|_| replaced)
        .and_then(|store| store.relation(relation).row(source, target));
    let row = match (kind, take_value(value, given), old_row) {
        (Some(kind), Some(value), Some(row)) => {
            kind.replace(world, row, value);
            if let Some(store) = fetch::deferred_store(world) {
                store.note_removed(kind);
            }
            row
        }
        (Some(kind), Some(value), None) => kind.insert(world, value),
        (Some(_), None, _) => last_row,
        (None, ..) => NO_ROW,
    };
    let Some(store) = fetch::deferred_store(world) else { return row };
    let index = store.relation_mut(relation);
    if !replaced {
        index.link(source, target);
        if row != NO_ROW {
            index.set_row(source, target, row);
        }
    }
    if replaced {
        index.note_change();
    }
    index.stamp(source, target, tick, !replaced);
    row
}

/// Inserts the component that keeps the pair; its observer writes the pair down.
fn apply_adopted(world: &mut World, adopted: Adopted, insertion: Insertion, given: Option<&mut Given<'_>>) {
    let StoredPair { source, target, .. } = insertion.pair;
    let replacing = Replacing::new(world, insertion.replaced.then_some(source));
    (adopted.insert)(replacing.0, source, target, take_value(insertion.value, given));
}

/// Tells the observers of the component that the pair stays and gets another value. The first that hears of the new
/// value ends it; so does a panic.
struct Replacing<'w>(&'w mut World);

impl<'w> Replacing<'w> {
    fn new(world: &'w mut World, source: Option<Entity>) -> Self {
        if let Some(store) = fetch::store_mut(world) {
            store.replacing = source;
        }
        Self(world)
    }
}

impl Drop for Replacing<'_> {
    fn drop(&mut self) {
        if let Some(store) = fetch::store_mut(self.0) {
            store.replacing = None;
        }
    }
}

/// The value that goes with a planned pair, if it brings one.
fn take_value<'a>(source: Source, given: Option<&'a mut Given<'_>>) -> Option<Value<'a>> {
    match source {
        Source::Nothing | Source::Missing | Source::Shared => None,
        Source::Default(value) => Some(Value::Boxed(value)),
        Source::Given => given.map(|given| match &mut given.value {
            Value::Slot(slot) => Value::Slot(&mut **slot),
            Value::Boxed(value) => Value::Boxed(core::mem::replace(value, Box::new(()))),
        }),
    }
}

/// Inserts many pairs of one relation, in order. Those that are refused do not keep the others out.
pub(crate) fn insert_batch<R: Relation>(
    world: &mut World,
    pairs: impl IntoIterator<Item = (Entity, R, Entity)>,
) -> Result<(), InsertPairsError> {
    let mut refused = Vec::new();
    let mut pairs = pairs.into_iter().enumerate();
    loop {
        // The long way runs users' code, after which the relation may have another number.
        let relation = relation_id::<R>(world);
        // The store is found once for as long a run of pairs as has nothing else to it.
        let involved = match fetch::store_mut(world) {
            Some(store) if size_of::<R>() == 0 => {
                store.insert_simple_run(relation, &mut pairs, |(_, (source, _, target))| (*source, *target))
            }
            _ => pairs.next(),
        };
        let Some((number, (source, value, target))) = involved else { break };
        let pair = StoredPair { source, relation, target };
        if let Err(error) = insert_slot(world, pair, &mut Some(value)) {
            refused.push((number, error));
        }
    }
    if refused.is_empty() { Ok(()) } else { Err(InsertPairsError { refused }) }
}
