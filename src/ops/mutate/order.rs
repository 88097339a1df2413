//! The order of the sources of a target.

use super::{error::ReorderError, writer::PairWriter};
use crate::ops::register::store::ensure_store;
use bevy_ecs::{
    entity::{Entity, EntityHashSet},
    world::World,
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
    let store = ensure_store(world);
    let Some(id) = store.registry.of_entity(entity) else {
        return Err(ReorderError::NotARelation { entity });
    };
    let entry = store.registry.entry(id);
    if entry.adopted.is_some() {
        return Err(ReorderError::Adopted { relation: entry.name(), target });
    }
    if !entry.traits.is_ordered() {
        return Err(ReorderError::NotOrdered { relation: entry.name(), target });
    }
    let mut left: EntityHashSet = store.relation(id).sources(target).collect();
    let all_known = order.iter().all(|source| left.remove(source));
    if !all_known || !left.is_empty() {
        return Err(ReorderError::NotAPermutation { relation: entry.name(), target });
    }
    PairWriter::new(store).reorder(id, target, order);
    Ok(())
}
