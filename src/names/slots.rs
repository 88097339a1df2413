//! Slots of prefabs, which are relations: many prefabs have an engine, so each is found again by its path.

use super::WorldNameExt;
use crate::{
    relation::SLOT_OF,
    store::{PairStore, RelationIndex},
};
use alloc::string::String;
use bevy_ecs::{entity::Entity, world::World};

fn pairs(store: &PairStore) -> Option<&RelationIndex> {
    store.registry().ids().any(|id| id == SLOT_OF).then(|| store.relation(SLOT_OF))
}

/// The slots of all prefabs, relations by now or not.
pub(crate) fn slots(store: &PairStore) -> impl Iterator<Item = Entity> + use<'_> {
    pairs(store).into_iter().flat_map(RelationIndex::iter).map(|(slot, _)| slot)
}

/// The names from the root of a prefab down to one of its slots. `None` if it is no slot, or if one of these has no name.
pub(crate) fn slot_path(world: &World, store: &PairStore, entity: Entity) -> Option<String> {
    let is_slot = pairs(store).is_some_and(|pairs| pairs.has_any(entity));
    is_slot.then(|| world.path_of(entity)).flatten()
}
