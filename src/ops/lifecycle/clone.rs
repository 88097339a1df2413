//! Cloning entities with their pairs.

use crate::{
    fetch,
    id::StoredPair,
    ops::{
        mutate::{insert, plan::Given, remove},
        register::report::{report, to_bevy},
    },
    relation::Value,
    store::UnmappedClone,
};
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
pub(in crate::ops) fn clone_pairs(_: &SourceComponent, context: &mut ComponentCloneCtx) {
    let (original, clone) = (context.source(), context.target());
    if context.moving() {
        context.queue_deferred(move |world, _| {
            if let Some(store) = fetch::store_mut(world) {
                store.participants.set_moved(original);
            }
        });
        return;
    }
    let linked = context.linked_cloning();
    context.queue_deferred(move |world, mapper| {
        if linked {
            retarget_to_clone(world, original, clone, mapper);
        }
        copy(world, original, clone, mapper, linked);
    });
}

fn copy(world: &mut World, original: Entity, clone: Entity, mapper: &mut dyn EntityMapper, linked: bool) {
    for pair in pairs_to_copy(world, original) {
        let mut target = mapper.get_mapped(pair.target);
        if linked && !world.entities().contains_spawned(target) {
            // Its turn comes later. Bevy does not mind if it is there already.
            let _ = world.spawn_empty_at(target);
        }
        if !world.entities().contains_spawned(target) {
            target = pair.target;
        }
        let copied = StoredPair { source: clone, target, ..pair };
        if let Err(error) = copy_pair(world, pair, copied) {
            report(world.commands(), error);
        } else if linked
            && target == pair.target
            && let Some(store) = fetch::store_mut(world)
        {
            store.unmapped.push(UnmappedClone { original, clone, relation: pair.relation, target });
        }
    }
}

/// A linked clone reaches an entity to which entities cloned before it have pairs: the clones of those get the
/// pairs with this clone.
fn retarget_to_clone(world: &mut World, target: Entity, clone: Entity, mapper: &mut dyn EntityMapper) {
    let Some(store) = fetch::store_mut(world) else { return };
    // What another clone operation has left over has nothing to do with this mapping.
    store.unmapped.retain(|copied| mapper.get_mapped(copied.original) == copied.clone);
    let (here, later): (Vec<_>, Vec<_>) =
        core::mem::take(&mut store.unmapped).into_iter().partition(|copied| copied.target == target);
    store.unmapped = later;
    for UnmappedClone { original, clone: source, relation, target } in here {
        remove::remove_stored(world, StoredPair { source, relation, target });
        let from = StoredPair { source: original, relation, target };
        if let Err(error) = copy_pair(world, from, StoredPair { source, relation, target: clone }) {
            report(world.commands(), error);
        }
    }
}

fn pairs_to_copy(world: &World, original: Entity) -> Vec<StoredPair> {
    let Some(store) = fetch::store(world) else { return Vec::new() };
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
    let Some(store) = fetch::store(world) else { return Ok(()) };
    let row = store.relation(from.relation).row(from.source, from.target);
    let mut given = None;
    if let (Some(row), Some(kind)) = (row, store.column_of(from.relation, from.source, from.target)) {
        let value = kind.get(world, row).and_then(|value| kind.copy_value(value));
        let Some(value) = value else {
            let error = alloc::format!(
                "{} of {} was not cloned: `{}` is not `Clone`",
                store.registry.entry(from.relation).name(),
                from.source,
                kind.value_name()
            );
            return Err(bevy_ecs::error::BevyError::error(error));
        };
        given =
            Some(Given { type_id: kind.value_type(), name: kind.value_name(), value: Value::Boxed(value) });
    }
    insert::insert(world, to, given.as_mut()).map_err(to_bevy)
}
