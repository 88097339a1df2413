//! Where names are looked up.

use crate::{expr::eval::WorldAccess, ops::entity_of_type_id};
use bevy_ecs::{component::ComponentId, entity::Entity, world::World};
use core::any::TypeId;

/// A world that names are looked up in.
pub(crate) enum BindContext<'w> {
    /// As it is. What is missing can be made.
    World(&'w mut World),
    /// As it is before a system runs: a name without a meaning stands for an entity that is still to come.
    Init(&'w mut World),
    /// What a system reads of it while it runs.
    System(WorldAccess<'w>),
}

impl BindContext<'_> {
    pub(super) fn access(&self) -> WorldAccess<'_> {
        match self {
            Self::World(world) | Self::Init(world) => WorldAccess::World(world),
            Self::System(access) => *access,
        }
    }

    pub(super) fn is_init(&self) -> bool {
        matches!(self, Self::Init(_))
    }

    pub(super) fn world_mut(&mut self) -> Option<&mut World> {
        match self {
            Self::World(world) | Self::Init(world) => Some(world),
            Self::System(_) => None,
        }
    }

    /// The entity that stands for a type. `None` if there is none, and none can be made.
    pub(super) fn entity_of(&mut self, id: TypeId) -> Option<Entity> {
        if let Some(world) = self.world_mut() {
            return Some(entity_of_type_id(world, id));
        }
        let entity = self.access().store()?.registry().entity_of(id);
        entity.filter(|&entity| self.access().entities().contains_spawned(entity))
    }

    /// The component that a type is, registered if it is known to be one and that can be done.
    pub(super) fn component_of(&mut self, id: TypeId) -> Option<ComponentId> {
        if let Some(component) = self.access().components().get_id(id) {
            return Some(component);
        }
        #[cfg(feature = "bevy_reflect")]
        {
            use bevy_ecs::reflect::ReflectComponent;
            let types = self.access().types()?.clone();
            let reflect = types.read().get_type_data::<ReflectComponent>(id)?.clone();
            Some(reflect.register_component(self.world_mut()?))
        }
        #[cfg(not(feature = "bevy_reflect"))]
        None
    }
}
