//! Prefabs, and what lies below them. The program makes them before it loads, so saves refer to them by their paths.

use super::saved::SaveId;
use crate::{names::WorldNameExt, relation::Prefab, traverse::Hierarchy, world::WorldPairExt};
use alloc::{string::String, vec::Vec};
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    entity::{Entity, EntityHashSet},
    hierarchy::ChildOf,
    world::World,
};
use bevy_platform::collections::HashMap;
use core::iter;

/// The prefabs without a [`SaveId`], and what lies below them.
#[derive(Default)]
pub(super) struct Prefabs {
    entities: EntityHashSet,
    by_path: HashMap<String, Vec<Entity>>,
}

impl Prefabs {
    /// # Complexity
    /// A step per entity of a prefab and name above it.
    pub(super) fn of(world: &World) -> Self {
        let Some(component) = world.component_id::<Prefab>() else { return Self::default() };
        let archetypes = world.archetypes().iter().filter(|archetype| archetype.contains(component));
        let prefabs = archetypes.flat_map(Archetype::entities).map(ArchetypeEntity::id);
        let mut waiting: Vec<Entity> = prefabs.collect();
        let mut met = EntityHashSet::default();
        while let Some(entity) = waiting.pop() {
            if met.insert(entity) {
                waiting.extend(Hierarchy(world).confirmed_children(entity));
            }
        }
        let mut all = Self::default();
        for entity in met.into_iter().filter(|&entity| !has_save_id(world, entity)) {
            all.entities.insert(entity);
            if let Some(path) = world.path_of(entity) {
                all.by_path.entry(path).or_default().push(entity);
            }
        }
        all
    }

    pub(super) fn contains(&self, entity: Entity) -> bool {
        self.entities.contains(&entity)
    }

    /// Those at a path.
    pub(super) fn at(&self, path: &str) -> &[Entity] {
        self.by_path.get(path).map_or(&[], Vec::as_slice)
    }
}

/// Whether an entity, or what is above it in its prefab, has a [`SaveId`].
fn has_save_id(world: &World, entity: Entity) -> bool {
    let (mut has_id, mut has_id_in_prefab) = (false, false);
    for at in iter::once(entity).chain(world.pairs::<ChildOf>().ancestors(entity)) {
        has_id |= world.get::<SaveId>(at).is_some();
        if world.get::<Prefab>(at).is_some() {
            has_id_in_prefab = has_id;
        }
    }
    has_id_in_prefab
}
