//! What is made in a world for pairs that are to be applied, and goes again if they are not.

use crate::{fetch, ops::unregister_relation};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::{Entity, EntityHashMap, EntityHashSet},
    world::World,
};
use core::mem::take;

/// What is made, until [`finish`](Self::finish) says whether it stays.
pub(super) struct Made<'a> {
    pub(super) world: &'a mut World,
    /// Where spawned entities are entered.
    pub(super) map: &'a mut EntityHashMap<Entity>,
    pub(super) spawned: Vec<Entity>,
    /// Entities that were no relations before.
    pub(super) relations: Vec<Entity>,
    is_finished: bool,
}

impl<'a> Made<'a> {
    pub(super) fn new(world: &'a mut World, map: &'a mut EntityHashMap<Entity>) -> Self {
        Self { world, map, spawned: Vec::new(), relations: Vec::new(), is_finished: false }
    }

    /// Returns the spawned entities if they stay.
    pub(super) fn finish(mut self, stays: bool) -> Vec<Entity> {
        self.is_finished = true;
        let spawned = take(&mut self.spawned);
        if stays {
            return spawned;
        }
        self.leave_map(&spawned);
        undo(self.world, spawned, take(&mut self.relations));
        Vec::new()
    }

    fn leave_map(&mut self, spawned: &[Entity]) {
        let spawned: EntityHashSet = spawned.iter().copied().collect();
        self.map.retain(|_, entity| !spawned.contains(entity));
    }
}

/// Users' code has panicked: where a value was copied or an entity looked up, or in an observer of pairs that are there by then.
impl Drop for Made<'_> {
    fn drop(&mut self) {
        if self.is_finished || self.spawned.iter().any(|&entity| is_used(self.world, entity)) {
            return;
        }
        let (spawned, relations) = (take(&mut self.spawned), take(&mut self.relations));
        self.leave_map(&spawned);
        // To despawn runs users' code, which must not be done while another panic is under way.
        self.world.commands().queue(move |world: &mut World| {
            if !spawned.iter().any(|&entity| is_used(world, entity)) {
                undo(world, spawned, relations);
            }
        });
    }
}

/// Whether an entity is part of any pair, relation or tag.
fn is_used(world: &World, entity: Entity) -> bool {
    fetch::store(world).is_some_and(|store| store.needs_marker(entity))
}

fn undo(world: &mut World, spawned: Vec<Entity>, relations: Vec<Entity>) {
    relations.into_iter().for_each(|relation| unregister_relation(world, relation));
    for entity in spawned {
        let _ = world.try_despawn(entity);
    }
}
