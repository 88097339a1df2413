//! Prefabs, and what lies below them. The program makes them before it loads, so saves refer to them by their paths.

use super::saved::SaveId;
use crate::{names::WorldNameExt, relation::Prefab};
use alloc::{string::String, vec::Vec};
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    entity::{Entity, EntityHashSet},
    hierarchy::Children,
    world::World,
};
use bevy_platform::collections::HashMap;

/// The entities of prefabs that have no [`SaveId`].
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
                waiting.extend(world.get::<Children>(entity).into_iter().flatten());
            }
        }
        let mut all = Self::default();
        for entity in met.into_iter().filter(|&entity| world.get::<SaveId>(entity).is_none()) {
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
