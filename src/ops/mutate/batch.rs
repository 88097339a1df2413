//! Inserting many pairs of one relation.

use super::{
    ends::EndCheck,
    error::{InsertPairError, InsertPairsError},
    insert::{complete_insertion, insert, insert_typed},
    operation::Operation,
    writer::{FastPath, PairWriter},
};
use crate::{
    fetch,
    id::{RelationId, StoredPair},
    ops::register::{relation::try_relation_id, table::write_stale},
    relation::{Relation, TraitsError},
    store::{Affected, FastPathFlags, PairStore},
};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, world::World};

/// Inserts many pairs of one relation, in order. Those that are refused do not keep the others out.
pub(crate) fn insert_batch<R: Relation>(
    world: &mut World,
    pairs: impl IntoIterator<Item = (Entity, R, Entity)>,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairsError> {
    let inserted = insert_numbered(world, pairs.into_iter().enumerate(), ends);
    if R::IN_TABLE {
        write_stale(world);
    }
    inserted
}

/// [`insert_batch`], but for the components of sources in tables, of which some are still to be written.
fn insert_numbered<R: Relation>(
    world: &mut World,
    mut pairs: impl Iterator<Item = (usize, (Entity, R, Entity))>,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairsError> {
    let Some(mut next) = insert_to_next(world, &mut pairs) else { return Ok(()) };
    let mut refused = Vec::new();
    let mut operation = Operation::begin(world);
    loop {
        let world = operation.world();
        let inserted = next.and_then(|(relation, (number, (source, value, target), why))| {
            let pair = StoredPair { source, relation, target };
            let inserted = complete_insertion(world, pair, why, ends, |world| match size_of::<R>() {
                0 => insert(world, pair, None, ends),
                _ => insert_typed(world, source, value, target, ends),
            });
            inserted.map_err(|error| (number, error))
        });
        refused.extend(inserted.err());
        match insert_to_next(world, &mut pairs) {
            Some(after) => next = after,
            None => break,
        }
    }
    operation.finish();
    if refused.is_empty() { Ok(()) } else { Err(InsertPairsError { refused }) }
}

/// A pair of a batch with its number, and why it does not take the fast path.
type Declined<R> = (usize, (Entity, R, Entity), FastPath);

/// What comes next in a batch: a pair, or the number of one that is refused with its relation.
type Next<R> = Result<(RelationId, Declined<R>), (usize, InsertPairError)>;

/// [`insert_run`] for the relation as it is by now: rules and observers run users' code, after which it may have
/// another number, or be refused.
#[inline]
fn insert_to_next<R: Relation>(
    world: &mut World,
    pairs: &mut impl Iterator<Item = (usize, (Entity, R, Entity))>,
) -> Option<Next<R>> {
    match insertable_id::<R>(world) {
        Ok(relation) => Some(Ok((relation, insert_run(world, relation, pairs)?))),
        Err(error) => pairs.next().map(|(number, _)| Err((number, error.into()))),
    }
}

/// Inserts pairs for as long as they take the fast path: the store is found once for all of them. Returns the first
/// that does not, and why.
fn insert_run<R: Relation>(
    world: &mut World,
    relation: RelationId,
    pairs: &mut impl Iterator<Item = (usize, (Entity, R, Entity))>,
) -> Option<Declined<R>> {
    let tick = world.change_tick();
    let comes_with_others =
        |store: &PairStore| store.relation(relation).allows(FastPathFlags::INSERT_TOGETHER);
    if size_of::<R>() == 0 && (R::IN_TABLE || fetch::store(world).is_some_and(comes_with_others)) {
        let mut store = fetch::store_mut(world);
        return pairs.find_map(|(number, (source, value, target))| {
            let writer = store.as_deref_mut().map(PairWriter::new);
            let pair = StoredPair { source, relation, target };
            let path = writer.map_or(FastPath::Declined, |writer| match R::IN_TABLE {
                true => writer.try_insert_in_table(pair, tick),
                false => writer.try_insert_together(pair, tick),
            });
            (path != FastPath::Done).then_some((number, (source, value, target), path))
        });
    }
    if size_of::<R>() == 0 {
        let writer = fetch::store_mut(world).map(PairWriter::new);
        if let Some(mut fast) = writer.and_then(|writer| writer.fast_path(relation, tick)) {
            return pairs.find_map(|(number, pair)| match fast.insert(pair.0, pair.2) {
                FastPath::Done => None,
                why => Some((number, pair, why)),
            });
        }
    } else {
        let found = fetch::store_and_values::<R>(world);
        if let Some(mut fast) = found.and_then(|(store, values)| {
            let (flag, affected) = (FastPathFlags::INSERT_VALUE, Affected::Insertions);
            PairWriter::new(store).fast_values(relation, values, flag, affected)
        }) {
            return pairs.find_map(|(number, (source, value, target))| {
                let declined = fast.insert(source, value, target, tick).err()?;
                Some((number, (source, declined, target), FastPath::Declined))
            });
        }
    }
    let (number, pair) = pairs.next()?;
    let store = fetch::store(world).filter(|_| size_of::<R>() == 0);
    let allows = |flag| store.is_some_and(|store| store.relation(relation).allows(flag));
    let why = if allows(FastPathFlags::INSERT) {
        FastPath::Observed
    } else if allows(FastPathFlags::INSERT_IN_TABLE) {
        FastPath::WithComponents
    } else if allows(FastPathFlags::INSERT_CONSTRAINED) {
        FastPath::Constrained
    } else {
        FastPath::Declined
    };
    Some((number, pair, why))
}

/// [`try_relation_id`], with less to look at for a relation whose pairs can be inserted without rules.
#[inline]
fn insertable_id<R: Relation>(world: &mut World) -> Result<RelationId, TraitsError> {
    let known = fetch::store(world).filter(|store| !store.participants().needs_repair()).and_then(|store| {
        let id = store.registry().of_type::<R>()?;
        let index = store.relation(id);
        let is_fast = match R::IN_TABLE {
            true => index.allows(FastPathFlags::INSERT_IN_TABLE),
            false => index.allows(FastPathFlags::INSERT) || index.allows(FastPathFlags::INSERT_CONSTRAINED),
        };
        is_fast.then_some(id)
    });
    known.map_or_else(|| try_relation_id::<R>(world), Ok)
}
