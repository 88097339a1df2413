//! Components and entities that are kept out of results.

use super::WorldAccess;
use crate::{
    disabling::DisabledBelow,
    ops::{InternalEntity, Participant, TypeEntity},
    relation::Prefab,
};
use alloc::vec::Vec;
use bevy_ecs::{component::ComponentId, hierarchy::Children, name::Name};

/// The components that `*` does not match: of this crate, and those that keep pairs.
pub(crate) fn internal_components(access: WorldAccess<'_>) -> Vec<ComponentId> {
    let components = access.components();
    let own = [
        components.component_id::<Participant>(),
        components.component_id::<TypeEntity>(),
        components.component_id::<InternalEntity>(),
        components.component_id::<DisabledBelow>(),
        components.component_id::<Children>(),
    ];
    own.into_iter()
        .flatten()
        .chain(adopted_components(access))
        .chain(mirrors(access))
        .chain(tables(access))
        .collect()
}

/// The components that show the pairs of mirrored relations.
fn mirrors(access: WorldAccess<'_>) -> Vec<ComponentId> {
    let Some(store) = access.store() else { return Vec::new() };
    store.registry().entries().filter_map(|entry| Some(entry.mirror?.0)).collect()
}

/// The components of relations with `storage = "Table"`.
fn tables(access: WorldAccess<'_>) -> Vec<ComponentId> {
    access.store().map(|store| store.table_components().ids().collect()).unwrap_or_default()
}

/// Components that do not make an entity what it is.
pub(crate) fn unlisted_components(access: WorldAccess<'_>, internal: &[ComponentId]) -> Vec<ComponentId> {
    let components = access.components();
    let own = [components.component_id::<Name>(), components.component_id::<Prefab>()];
    own.into_iter().flatten().chain(access.disabling()).chain(internal.iter().copied()).collect()
}

/// The components of adopted relationships.
fn adopted_components(access: WorldAccess<'_>) -> Vec<ComponentId> {
    let Some(store) = access.store() else { return Vec::new() };
    let adopted = store.registry().entries().filter_map(|entry| entry.adopted);
    adopted.filter_map(|adopted| access.components().get_id(adopted.column.value_type())).collect()
}
