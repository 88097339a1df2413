//! Where names are looked up.

use crate::{expr::reads::Reads, ops::entity_of_type_id};
use bevy_ecs::{component::ComponentId, entity::Entity, world::World};
use core::any::TypeId;

/// A world that names are looked up in.
pub(in crate::expr) enum Site<'w> {
    /// As it is. What is missing can be made.
    Now(&'w mut World),
    /// As it is before a system runs: a name without a meaning stands for an entity that is still to come.
    Ahead(&'w mut World),
    /// What a system reads of it while it runs.
    Reads(Reads<'w>),
}

impl Site<'_> {
    pub(super) fn reads(&self) -> Reads<'_> {
        match self {
            Self::Now(world) | Self::Ahead(world) => Reads::World(world),
            Self::Reads(reads) => *reads,
        }
    }

    pub(super) fn is_ahead(&self) -> bool {
        matches!(self, Self::Ahead(_))
    }

    pub(super) fn world_mut(&mut self) -> Option<&mut World> {
        match self {
            Self::Now(world) | Self::Ahead(world) => Some(world),
            Self::Reads(_) => None,
        }
    }

    /// The entity that stands for a type. `None` if there is none, and none can be made.
    pub(super) fn entity_of(&mut self, id: TypeId) -> Option<Entity> {
        if let Some(world) = self.world_mut() {
            return Some(entity_of_type_id(world, id));
        }
        let entity = self.reads().store()?.registry.entity_of(id);
        entity.filter(|&entity| self.reads().entities().contains_spawned(entity))
    }

    /// The component that a type is, registered if it is known to be one and that can be done.
    pub(super) fn component_of(&mut self, id: TypeId) -> Option<ComponentId> {
        if let Some(component) = self.reads().components().get_id(id) {
            return Some(component);
        }
        #[cfg(feature = "bevy_reflect")]
        {
            use bevy_ecs::reflect::ReflectComponent;
            let types = self.reads().types()?.clone();
            let reflect = types.read().get_type_data::<ReflectComponent>(id)?.clone();
            Some(reflect.register_component(self.world_mut()?))
        }
        #[cfg(not(feature = "bevy_reflect"))]
        None
    }
}
