//! Names of relations, by which they are found again in another world.

use super::slots::slot_path;
use crate::{relation::RelationEntry, store::PairStore};
use bevy_ecs::{entity::Entity, name::Name, world::World};

/// The name with which a relation was made, or its `Name`. A slot without instances is no relation yet and has no entry.
pub(crate) fn relation_name<'a>(
    world: &'a World,
    entry: Option<&'a RelationEntry>,
    entity: Entity,
) -> Option<&'a str> {
    let made_with = entry.and_then(|entry| entry.name.as_deref());
    made_with.or_else(|| world.get::<Name>(entity).map(Name::as_str))
}

/// Whether a relation, or a slot, is found by a name: its own, or the path of the slot.
pub(crate) fn is_named(
    (world, store): (&World, &PairStore),
    entry: Option<&RelationEntry>,
    entity: Entity,
    name: &str,
) -> bool {
    relation_name(world, entry, entity) == Some(name)
        || (name.contains('.') && slot_path(world, store, entity).as_deref() == Some(name))
}
