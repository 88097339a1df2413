//! Inserting pairs.

use super::{
    apply::apply,
    bare::Bare,
    ends::{EndCheck, meets_constraints},
    error::{AttemptedPair, InsertPairError, PairRole, store_removed},
    given::try_insert_given,
    keyed::{free_keys, is_key_taken},
    observed::{insert_observed, insert_observed_value},
    plan::{Companions, make_values, plan},
    ready::{mark_ends, plan_until_it_holds},
    tag,
    value::GivenValue,
    writer::{FastPath, PairWriter},
};
use crate::{
    fetch,
    id::{PairId, StoredPair, StoredTag},
    ops::register::{
        entity::relation_id_of, relation::try_relation_id, store::ensure_store, table::write_stale,
    },
    relation::{EntityName, IS_A, PairName, Relation, TraitsError, if_fields},
    store::{Affected, FastPathFlags, PairStore},
};
use bevy_ecs::{change_detection::Tick, entity::Entity, world::World};

/// Inserts a pair of relation type `R`: on the fast path, or by the rules.
#[inline]
pub(crate) fn insert_typed<R: Relation>(
    world: &mut World,
    source: Entity,
    value: R,
    target: Entity,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    let with_value: Option<InsertTyped<R>> = const { if_fields::<R, _>(insert_typed_value::<R>) };
    match with_value {
        Some(insert) => insert(world, source, value, target, ends),
        None => insert_typed_tag::<R>(world, source, target, ends),
    }
}

type InsertTyped<R> = fn(&mut World, Entity, R, Entity, EndCheck<'_>) -> Result<(), InsertPairError>;

#[inline]
fn insert_typed_value<R: Relation>(
    world: &mut World,
    source: Entity,
    value: R,
    target: Entity,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    match try_insert_value(world, source, value, target, FastPathFlags::INSERT_VALUE) {
        Ok(_) => Ok(()),
        Err(value) => insert_value_when_ready(world, source, value, target, ends),
    }
}

#[inline]
fn insert_typed_tag<R: Relation>(
    world: &mut World,
    source: Entity,
    target: Entity,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    let tick = world.change_tick();
    if let Some(store) = fetch::store_mut(world)
        && let Some(relation) = store.registry().of_type::<R>()
    {
        let pair = StoredPair { source, relation, target };
        if R::IN_TABLE {
            let inserted = match PairWriter::new(store).try_insert_in_table(pair, tick) {
                FastPath::Done => Ok(()),
                FastPath::NotReady => insert_when_ready(world, pair, ends),
                FastPath::Observed
                | FastPath::WithComponents
                | FastPath::Together
                | FastPath::Constrained
                | FastPath::Declined => insert_typed_by_rules::<R>(world, source, None, target, ends),
            };
            write_stale(world);
            return inserted;
        }
        match PairWriter::new(store).try_insert(pair, tick) {
            FastPath::Done => Ok(()),
            path => complete_insertion(world, pair, path, ends, |world| {
                insert_typed_by_rules::<R>(world, source, None, target, ends)
            }),
        }
    } else {
        insert_typed_by_rules::<R>(world, source, None, target, ends)
    }
}

/// Completes an insertion that was tried on the fast path; `by_plan`, if it takes a plan.
#[inline]
pub(super) fn complete_insertion(
    world: &mut World,
    pair: StoredPair,
    path: FastPath,
    ends: EndCheck<'_>,
    by_plan: impl FnOnce(&mut World) -> Result<(), InsertPairError>,
) -> Result<(), InsertPairError> {
    match path {
        FastPath::Done => Ok(()),
        FastPath::NotReady => insert_when_ready(world, pair, ends),
        FastPath::Observed => insert_observed(world, pair, ends, insert_when_ready),
        FastPath::WithComponents => insert_with_components(world, pair, ends),
        FastPath::Together => insert_together(world, pair, ends),
        FastPath::Constrained => insert_constrained(world, pair, ends),
        FastPath::Declined => by_plan(world),
    }
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
    flag: FastPathFlags,
) -> Result<Option<R>, R> {
    let tick = world.change_tick();
    let Some((store, values)) = fetch::store_and_values::<R>(world) else { return Err(value) };
    let Some(relation) = store.registry().of_type::<R>() else { return Err(value) };
    let affected = Affected::Insertion(source, target);
    match PairWriter::new(store).fast_values(relation, values, flag, affected) {
        Some(mut fast) => fast.insert(source, value, target, tick),
        None => Err(value),
    }
}

/// Inserts a pair with a value that did not take the fast path: looks at the components of its ends and at its key, marks its ends, and
/// tries again if they were not marked.
#[inline(never)]
fn insert_value_when_ready<R: Relation>(
    world: &mut World,
    source: Entity,
    value: R,
    target: Entity,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    let (plain, checked) = (FastPathFlags::INSERT_VALUE, FastPathFlags::INSERT_VALUE_CHECKED);
    let allows = |store: &PairStore| {
        let relation = store.registry().of_type::<R>()?;
        let flag = [plain, checked].into_iter().find(|&flag| store.relation(relation).allows(flag))?;
        Some((StoredPair { source, relation, target }, flag))
    };
    let mut value = value;
    if let Some((pair, flag)) = fetch::store(world).and_then(allows) {
        if flag == plain {
            value = match insert_observed_value(world, pair, value) {
                Ok(()) => return Ok(()),
                Err(value) => value,
            };
        }
        for was_tried in [flag == plain, true] {
            if (was_tried && !mark_ends(world, pair)?)
                || !meets_constraints(world, pair, ends)
                || is_key_taken(world, pair, &value)
            {
                break;
            }
            let tried = try_insert_value(world, source, value, target, flag).map(drop);
            value = match tried.or_else(|value| insert_observed_value(world, pair, value)) {
                Ok(()) => return Ok(()),
                Err(value) => value,
            };
        }
    }
    let mut value = Some(value);
    insert_typed_by_rules::<R>(world, source, GivenValue::if_value(&mut value).as_mut(), target, ends)
}

#[inline(never)]
fn insert_typed_by_rules<R: Relation>(
    world: &mut World,
    source: Entity,
    given: Option<&mut GivenValue<'_>>,
    target: Entity,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    let relation = try_relation_id::<R>(world)?;
    insert(world, StoredPair { source, relation, target }, given, ends)
}

/// [`insert`] with a value; a type without fields is none.
pub(crate) fn insert_with_value<T: Send + Sync + 'static>(
    world: &mut World,
    pair: StoredPair,
    value: T,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    insert(world, pair, GivenValue::if_value(&mut Some(value)).as_mut(), ends)
}

/// Inserts a pair named by its entities, with a value or none; a tag, if that is what is named.
pub(crate) fn insert_by_id(
    world: &mut World,
    source: Entity,
    pair: PairId,
    given: Option<&mut GivenValue<'_>>,
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
    insert_by_id(world, source, pair, GivenValue::if_value(&mut Some(value)).as_mut(), ends)
}

/// The relation and target of a pair named by its entities.
pub(crate) fn resolve_pair(
    world: &mut World,
    source_entity: Entity,
    pair: PairId,
) -> Result<StoredPair, InsertPairError> {
    let Some((relation, target)) = pair.entities() else {
        let relation = fetch::store(world).and_then(|store| store.registry().relation_name(pair));
        let (source_entity, pair) =
            (EntityName::new(world, source_entity), PairName::new(world, relation, pair));
        return Err(InsertPairError::Wildcard { source_entity, pair });
    };
    let relation = relation_id_of(world, relation).map_err(|error| match error {
        TraitsError::Dead { entity } => {
            ensure_store(world);
            let Some(store) = fetch::store(world) else { return store_removed(world, source_entity, target) };
            let pair = AttemptedPair::new(world, store, source_entity, entity, target);
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
    mut given: Option<&mut GivenValue<'_>>,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    let tick = world.change_tick();
    if let Some(given) = given.as_deref_mut() {
        if try_insert_given(world, pair, given, ends)? {
            return Ok(());
        }
    } else if let Some(store) = fetch::store_mut(world) {
        return match PairWriter::new(store).try_insert(pair, tick) {
            FastPath::Done => Ok(()),
            path => {
                complete_insertion(world, pair, path, ends, |world| insert_by_plan(world, pair, None, ends))
            }
        };
    }
    insert_by_plan(world, pair, given, ends)
}

/// Inserts a pair of `IsA` for which nothing is instantiated, without a plan if no rule but those of `IsA` itself stands
/// in the way.
///
/// # Errors
/// As for [`insert`].
pub(crate) fn insert_bare_base(
    world: &mut World,
    source: Entity,
    base: Entity,
) -> Result<(), InsertPairError> {
    let pair = StoredPair { source, relation: IS_A, target: base };
    let is_allowed = |world: &World| {
        let store = fetch::store(world);
        store.is_some_and(|store| {
            store.relation(IS_A).allows(FastPathFlags::INSERT_BASE) && !store.registry().is_final(base)
        })
    };
    let mut bare = Bare::begin(world, source, base);
    let world = bare.world();
    if is_allowed(world) {
        mark_ends(world, pair)?;
        // That runs users' code.
        if is_allowed(world) {
            return insert_observed(world, pair, EndCheck::Now, insert_by_rules);
        }
    }
    insert(world, pair, None, EndCheck::Now)
}

/// [`insert`] for copies, which may not have got their components yet. Companions that are left out are copied on their own.
///
/// # Errors
/// As for [`insert`].
pub(in crate::ops) fn insert_copy(
    world: &mut World,
    pair: StoredPair,
    given: Option<&mut GivenValue<'_>>,
    ends: EndCheck<'_>,
    companions: Companions,
) -> Result<(), InsertPairError> {
    let takes_plan = |store: &PairStore| {
        let entry = store.registry().entry(pair.relation);
        !entry.constraints.is_empty() || !entry.with.is_empty()
    };
    match fetch::store(world).is_some_and(takes_plan) {
        true => insert_by_plan_with(world, pair, given, ends, companions),
        false => insert(world, pair, given, ends),
    }
}

/// Marks the ends of a pair that was not ready for the fast path, which is taken then, unless the pair may close a
/// cycle. The components of a source in tables may still have to be written.
#[inline(never)]
fn insert_when_ready(world: &mut World, pair: StoredPair, ends: EndCheck<'_>) -> Result<(), InsertPairError> {
    if mark_ends(world, pair)? {
        let tick = world.change_tick();
        let Some(store) = fetch::store_mut(world) else {
            return Err(store_removed(world, pair.source, pair.target));
        };
        match PairWriter::new(store).try_insert(pair, tick) {
            FastPath::Done => return Ok(()),
            FastPath::Observed => {
                return insert_observed(world, pair, ends, insert_by_rules);
            }
            FastPath::WithComponents => {
                if PairWriter::new(store).try_insert_in_table(pair, tick) == FastPath::Done {
                    return Ok(());
                }
            }
            FastPath::Together => return insert_together(world, pair, ends),
            FastPath::Constrained | FastPath::NotReady | FastPath::Declined => {}
        }
    }
    insert_by_rules(world, pair, ends)
}

/// Inserts a pair for which the fast path was [`FastPath::WithComponents`], and has the components of its source written.
#[inline(never)]
fn insert_with_components(
    world: &mut World,
    pair: StoredPair,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    if !try_when_marked(world, pair, |store, tick| PairWriter::new(store).try_insert_in_table(pair, tick))? {
        return insert_by_rules(world, pair, ends);
    }
    write_stale(world);
    Ok(())
}

/// Inserts a pair for which the fast path was [`FastPath::Together`].
#[inline(never)]
fn insert_together(world: &mut World, pair: StoredPair, ends: EndCheck<'_>) -> Result<(), InsertPairError> {
    match try_when_marked(world, pair, |store, tick| PairWriter::new(store).try_insert_together(pair, tick))?
    {
        true => Ok(()),
        false => insert_by_rules(world, pair, ends),
    }
}

/// Inserts a pair for which the fast path was [`FastPath::Constrained`]: by the rules, if its ends are not what they must be.
#[inline(never)]
fn insert_constrained(
    world: &mut World,
    pair: StoredPair,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    let meets = |world: &World| meets_constraints(world, pair, ends);
    let insert = |store: &mut PairStore, tick| PairWriter::new(store).try_insert_constrained(pair, tick);
    match try_when_marked_if(world, pair, meets, insert)? {
        true => Ok(()),
        false => insert_by_plan(world, pair, None, ends),
    }
}

/// [`try_when_marked_if`] without a condition.
fn try_when_marked(
    world: &mut World,
    pair: StoredPair,
    insert: impl Fn(&mut PairStore, Tick) -> FastPath,
) -> Result<bool, InsertPairError> {
    try_when_marked_if(world, pair, |_| true, insert)
}

/// Tries to insert a pair if a condition holds, and tries again once its ends are marked, which runs users' code. Returns whether it
/// is there.
fn try_when_marked_if(
    world: &mut World,
    pair: StoredPair,
    condition: impl Fn(&World) -> bool,
    insert: impl Fn(&mut PairStore, Tick) -> FastPath,
) -> Result<bool, InsertPairError> {
    let try_insert = |world: &mut World| {
        if !condition(world) {
            return FastPath::Declined;
        }
        let tick = world.change_tick();
        fetch::store_mut(world).map_or(FastPath::Declined, |store| insert(store, tick))
    };
    let mut path = try_insert(world);
    if path == FastPath::NotReady && mark_ends(world, pair)? {
        path = try_insert(world);
    }
    Ok(path == FastPath::Done)
}

/// Inserts a pair by the rules: plans, applies the plan, triggers events.
fn insert_by_rules(world: &mut World, pair: StoredPair, ends: EndCheck<'_>) -> Result<(), InsertPairError> {
    insert_by_plan(world, pair, None, ends)
}

fn insert_by_plan(
    world: &mut World,
    pair: StoredPair,
    given: Option<&mut GivenValue<'_>>,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    insert_by_plan_with(world, pair, given, ends, Companions::All)
}

fn insert_by_plan_with(
    world: &mut World,
    pair: StoredPair,
    mut given: Option<&mut GivenValue<'_>>,
    ends: EndCheck<'_>,
    companions: Companions,
) -> Result<(), InsertPairError> {
    let value_type = given.as_deref().map(|given| given.value_type);
    let mut plan = plan_until_it_holds(world, pair, |world, store| {
        plan(world, store, pair, value_type, ends, companions)
    })?;
    let store = fetch::store(world).ok_or_else(|| store_removed(world, pair.source, pair.target))?;
    make_values(world, store, &mut plan, given.as_deref_mut())?;
    if plan.has_keys {
        free_keys(world, store, &mut plan, given.as_deref(), |_| false)?;
    }
    apply(world, pair, plan, given)
}
