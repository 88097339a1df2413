//! The order of the sources of a target, and of the targets of a source.

use super::{error::ReorderError, plan::PairOrder, writer::PairWriter};
use crate::{
    fetch,
    id::RelationId,
    ops::register::store::{ensure_store, use_relation},
    relation::EntityName,
};
use bevy_ecs::{
    entity::{Entity, EntityHashSet},
    world::{DeferredWorld, World},
};

/// Reorders the sources of a target.
///
/// # Errors
/// If the relation keeps no order of its own, or `order` names other entities than those sources.
pub(crate) fn order_sources(
    world: &mut World,
    entity: Entity,
    target: Entity,
    order: &[Entity],
) -> Result<(), ReorderError> {
    use_relation(world, entity);
    let relation = check(world, entity, target, order)?;
    PairWriter::new(ensure_store(world)).reorder(relation, target, order);
    Ok(())
}

/// The relation, if its sources of `target` may be put in this order.
fn check(
    world: &World,
    entity: Entity,
    target: Entity,
    order: &[Entity],
) -> Result<RelationId, ReorderError> {
    let store = fetch::store(world);
    let Some((store, id)) = store.and_then(|store| Some((store, store.registry().of_entity(entity)?))) else {
        return Err(ReorderError::NotARelation { entity: EntityName::new(world, entity) });
    };
    let entry = store.registry().entry(id);
    let named = || (entry.name(), EntityName::new(world, target));
    if entry.adopted.is_some() {
        let (relation, target) = named();
        return Err(ReorderError::Adopted { relation, target });
    }
    if !entry.traits.is_ordered() {
        let (relation, target) = named();
        return Err(ReorderError::NotOrdered { relation, target });
    }
    let mut left: EntityHashSet = store.relation(id).sources(target).collect();
    let all_known = order.iter().all(|source| left.remove(source));
    if !all_known || !left.is_empty() {
        let (relation, target) = named();
        return Err(ReorderError::NotAPermutation { relation, target });
    }
    Ok(id)
}

/// Puts pairs that are in the store into their order.
pub(super) fn arrange(world: &mut DeferredWorld<'_>, orders: &[PairOrder]) {
    let Some(store) = fetch::deferred_store(world) else { return };
    for order in orders {
        if store.registry().entry(order.relation).adopted.is_none() {
            PairWriter::new(store).arrange(order);
        }
    }
}

/// [`arrange`] for pairs that are kept in components.
pub(super) fn arrange_collections(world: &mut World, orders: &[PairOrder]) {
    for PairOrder { relation, entity, order, .. } in orders {
        let entry = fetch::store(world).and_then(|store| store.registry().get(*relation));
        if let Some(adopted) = entry.and_then(|entry| entry.adopted) {
            (adopted.arrange)(world, *entity, order);
        }
    }
}
