//! Removing pairs.

use super::{
    event::{self, Kind},
    plan::StoredPair,
};
use crate::{
    access,
    id::PairId,
    relation::{DataKind, Relation},
    store::{NO_ROW, PairStore},
    traverse::Relations,
};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::Entity,
    world::{DeferredWorld, World},
};
use smallvec::SmallVec;

/// Tells observers of the pairs, then removes them with their values. True if anybody was told.
///
/// The pairs are removed as they are: whoever calls has added the other directions of symmetric ones, and
/// takes care of the components of adopted ones.
pub(crate) fn remove(world: &mut DeferredWorld<'_>, pairs: &[StoredPair]) -> bool {
    let listening = !pairs.is_empty() && event::listening(world, Kind::Removed);
    if listening {
        for &pair in pairs {
            event::fire(world, Kind::Removed, pair, false);
        }
    }
    let mut rows: SmallVec<[(DataKind, u32); 4]> = SmallVec::new();
    if let Some(store) = access::deferred_store(world) {
        for &StoredPair { source, relation, target } in pairs {
            let row = store.relation_mut(relation).unlink(source, target).unwrap_or(NO_ROW);
            if row != NO_ROW
                && let Some(kind) = store.data_kind(relation, source, target)
            {
                rows.push((kind, row));
            }
        }
    }
    drop_rows(world, rows);
    listening
}

/// Drops values. Both directions of a symmetric pair name one row, which goes with the first.
pub(crate) fn drop_rows(world: &mut DeferredWorld<'_>, rows: impl IntoIterator<Item = (DataKind, u32)>) {
    for (kind, row) in rows {
        (kind.remove)(world, row);
    }
}

/// The pairs with the other directions of symmetric ones, each once.
pub(crate) fn with_mirrors(store: &PairStore, pairs: Vec<StoredPair>) -> Vec<StoredPair> {
    if pairs.len() < 2 && !pairs.iter().any(|pair| store.relation(pair.relation).symmetric) {
        return pairs;
    }
    let mut all: Vec<StoredPair> = Vec::with_capacity(pairs.len() * 2);
    let mut seen = bevy_platform::collections::HashSet::<(u32, Entity, Entity)>::default();
    for pair in pairs {
        let mirror = StoredPair { source: pair.target, target: pair.source, ..pair };
        let symmetric = store.relation(pair.relation).symmetric;
        for pair in [Some(pair), symmetric.then_some(mirror)].into_iter().flatten() {
            if seen.insert((pair.relation.0, pair.source, pair.target)) {
                all.push(pair);
            }
        }
    }
    all
}

/// Removes pairs, and the other directions of symmetric ones. Gives the number of those that were there.
pub(crate) fn remove_selected(world: &mut World, pairs: Vec<StoredPair>) -> usize {
    let count = pairs.len();
    let Some(store) = access::store(world) else { return 0 };
    let is_adopted = |pair: &StoredPair| store.registry.entry(pair.relation).adopted;
    let components: Vec<_> = pairs.iter().filter_map(|pair| Some((is_adopted(pair)?, pair.source))).collect();
    let own = pairs.into_iter().filter(|pair| is_adopted(pair).is_none()).collect();
    let own = with_mirrors(store, own);
    let told = remove(&mut DeferredWorld::from(&mut *world), &own);
    for (adopted, source) in components {
        (adopted.remove)(world, source);
    }
    if told {
        world.flush();
    }
    count
}

/// Removes one pair of relation type `R`. True if it was there.
#[inline]
pub(crate) fn remove_typed<R: Relation>(world: &mut World, source: Entity, target: Entity) -> bool {
    let Some(store) = access::store_mut(world) else { return false };
    let Some(relation) = store.registry.of_type::<R>() else { return false };
    match store.remove_simple(relation, source, target) {
        Some(removed) => removed,
        None => remove_stored(world, StoredPair { source, relation, target }),
    }
}

#[inline(never)]
pub(crate) fn remove_stored(world: &mut World, pair: StoredPair) -> bool {
    let there =
        access::store(world).is_some_and(|store| store.relation(pair.relation).has(pair.source, pair.target));
    there && remove_selected(world, alloc::vec![pair]) > 0
}

/// Removes many pairs of one relation, in order. Gives the number of those that were there.
pub(crate) fn remove_batch<R: Relation>(
    world: &mut World,
    pairs: impl IntoIterator<Item = (Entity, Entity)>,
) -> usize {
    let Some(relation) = access::store(world).and_then(|store| store.registry.of_type::<R>()) else {
        return 0;
    };
    let mut pairs = pairs.into_iter();
    let mut count = 0;
    loop {
        let Some(store) = access::store_mut(world) else { return count };
        let involved = pairs.find(|&(source, target)| match store.remove_simple(relation, source, target) {
            Some(removed) => {
                count += usize::from(removed);
                false
            }
            None => true,
        });
        let Some((source, target)) = involved else { return count };
        count += usize::from(remove_stored(world, StoredPair { source, relation, target }));
    }
}

/// The stored pairs that fit `id`, of one source or of all.
pub(crate) fn select(store: &PairStore, source: Option<Entity>, id: PairId) -> Vec<StoredPair> {
    let pairs = Relations::new(store, None).select(source, id);
    pairs.map(|(relation, source, target)| StoredPair { source, relation, target }).collect()
}

/// Every pair that `entity` has as a source is removed, but for those kept in components.
pub(crate) fn remove_own(world: &mut World, entity: Entity) {
    let Some(store) = access::store(world) else { return };
    let mut pairs = Vec::new();
    for relation in store.relations_of(entity) {
        if store.registry.entry(relation).adopted.is_none() {
            let targets = store.relation(relation).targets(entity);
            pairs.extend(targets.map(|target| StoredPair { source: entity, relation, target }));
        }
    }
    remove_selected(world, pairs);
}
