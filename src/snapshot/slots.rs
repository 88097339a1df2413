//! Slots of prefabs, which are relations: many prefabs have an engine, so each is found again by its path.

use crate::{names::WorldNameExt, relation::SLOT_OF, store::PairStore};
use alloc::string::String;
use bevy_ecs::{entity::Entity, world::World};

/// The slots of all prefabs, relations by now or not.
pub(super) fn slots(store: &PairStore) -> impl Iterator<Item = Entity> + use<'_> {
    let is_known = store.registry().ids().any(|id| id == SLOT_OF);
    let pairs = is_known.then(|| store.relation(SLOT_OF).iter());
    pairs.into_iter().flatten().map(|(slot, _)| slot)
}

/// The names from the root of a prefab down to one of its slots. `None` if it is no slot, or if one of these has no name.
pub(super) fn slot_path(world: &World, store: &PairStore, entity: Entity) -> Option<String> {
    let mut ids = store.registry().ids();
    let is_slot = ids.any(|id| id == SLOT_OF) && store.relation(SLOT_OF).has_any(entity);
    is_slot.then(|| world.path_of(entity)).flatten()
}
