//! Cloning entities with their pairs.

use super::{
    error::{report, to_bevy},
    insert,
    plan::{Given, StoredPair},
};
use crate::{access, relation::Value};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::{ComponentCloneCtx, Entity, EntityMapper, SourceComponent},
    error::Result,
    world::World,
};

/// The clone of an entity gets its pairs: with clones as targets where targets are cloned as well, with copies
/// of the values. An entity whose components are moved away keeps its pairs.
///
/// Left out are pairs kept in components, which Bevy clones, and those of relations both exclusive and
/// symmetric: the clone would take the partner of the original.
pub(super) fn clone_pairs(_: &SourceComponent, context: &mut ComponentCloneCtx) {
    if context.moving() {
        return;
    }
    let (original, clone) = (context.source(), context.target());
    context.queue_deferred(move |world, mapper| copy(world, original, clone, mapper));
}

fn copy(world: &mut World, original: Entity, clone: Entity, mapper: &mut dyn EntityMapper) {
    for pair in pairs_to_copy(world, original) {
        let mapped = mapper.get_mapped(pair.target);
        let target = if world.entities().contains_spawned(mapped) { mapped } else { pair.target };
        if let Err(error) = copy_pair(world, pair, StoredPair { source: clone, target, ..pair }) {
            report(world.commands(), error);
        }
    }
}

fn pairs_to_copy(world: &World, original: Entity) -> Vec<StoredPair> {
    let Some(store) = access::store(world) else { return Vec::new() };
    let mut pairs = Vec::new();
    for relation in store.relations_of(original) {
        let entry = store.registry.entry(relation);
        let steals = entry.traits.is_exclusive() && entry.traits.is_symmetric();
        if entry.adopted.is_none() && !steals {
            let targets = store.relation(relation).targets(original);
            pairs.extend(targets.map(|target| StoredPair { source: original, relation, target }));
        }
    }
    pairs
}

fn copy_pair(world: &mut World, from: StoredPair, to: StoredPair) -> Result {
    let Some(store) = access::store(world) else { return Ok(()) };
    let row = store.relation(from.relation).row(from.source, from.target);
    let mut given = None;
    if let (Some(row), Some(kind)) = (row, store.data_kind(from.relation, from.target)) {
        let value = (kind.get)(world, row).and_then(|value| (kind.clone)(value));
        let Some(value) = value else {
            let error = alloc::format!(
                "{} of {} was not cloned: `{}` is not `Clone`",
                store.registry.entry(from.relation).name(),
                from.source,
                kind.name
            );
            return Err(bevy_ecs::error::BevyError::error(error));
        };
        given = Some(Given { type_id: kind.type_id, name: kind.name, value: Value::Boxed(value) });
    }
    insert::insert(world, to, given.as_mut()).map_err(to_bevy)
}
