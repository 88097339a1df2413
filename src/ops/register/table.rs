//! Writing the components of relations with `storage = "Table"`; for `"Fragmenting"`, see [`fragment`].

use super::fragment;
use crate::{
    fetch,
    id::RelationId,
    relation::Relation,
    store::{FirstTarget, PairStore, StaleSource, TableComponent},
};
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    component::{Component, ComponentCloneBehavior, Immutable, StorageType},
    entity::Entity,
    lifecycle::{ComponentHook, HookContext},
    world::{DeferredWorld, World},
};

impl<R: Relation> Component for FirstTarget<R> {
    const STORAGE_TYPE: StorageType = StorageType::Table;
    type Mutability = Immutable;

    fn on_remove() -> Option<ComponentHook> {
        Some(on_remove)
    }

    /// A clone gets it from its pairs.
    fn clone_behavior() -> ComponentCloneBehavior {
        ComponentCloneBehavior::Ignore
    }
}

/// Clearing an entity, or retaining some of its components, takes this one, too. It is put back if there are pairs still.
fn on_remove(mut world: DeferredWorld, context: HookContext) {
    let lost = fetch::deferred_store(&mut world)
        .is_some_and(|store| store.note_lost_component(context.component_id, context.entity));
    if lost {
        world.commands().queue(write_stale);
    }
}

/// The component that a relation is to have. Runs no users' code.
pub(super) fn component_for(world: &mut World, id: RelationId) -> Option<TableComponent> {
    let register = fetch::store_mut(world)?.table_registration(id);
    Some(register(world, on_remove))
}

/// Gives a relation its component. Some entities may have it, if the store that it was made for is lost.
pub(super) fn set_component(world: &mut World, id: RelationId, component: TableComponent) {
    let having = world.archetypes().iter().filter(|archetype| archetype.contains(component.id()));
    let holders: Vec<Entity> = having.flat_map(Archetype::entities).map(ArchetypeEntity::id).collect();
    if let Some(store) = fetch::store_mut(world) {
        store.set_table_component(id, component, holders.into_iter());
    }
}

/// Writes the components of all stale sources, and those that mirror pairs. Runs users' code.
pub(in crate::ops) fn write_stale(world: &mut World) {
    // If components are being written already, that call goes on with these.
    if let Some(stale) = fetch::store_mut(world).and_then(PairStore::start_writing) {
        write_first_targets(world, stale);
    }
    while let Some((id, update)) = fetch::store_mut(world).and_then(PairStore::next_stale_mirror) {
        update(world, id);
    }
}

fn write_first_targets(world: &mut World, mut stale: StaleSource) {
    let writing = Writing(world);
    loop {
        match stale.fragmenting {
            Some(relation) => fragment::write(writing.0, &stale, relation, on_remove),
            None => stale.component.write(writing.0, stale.source, stale.target),
        }
        match fetch::store_mut(writing.0).and_then(|store| store.next_to_write(&stale)) {
            Some(next) => stale = next,
            None => break,
        }
    }
    // The writing has ended.
    core::mem::forget(writing);
}

/// Stale sources are being written. This is dropped by a panic in a user's observer.
struct Writing<'w>(&'w mut World);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if let Some(store) = fetch::store_mut(self.0) {
            store.abort_writing();
        }
    }
}
