//! What evaluation and rows read of a world.
//!
//! Whoever has the world reads all of it. A system reads what it has [declared](Declared), through queries that give
//! out nothing else: whatever the stages ask for, they get no more than that.

use crate::{
    access,
    names::{LookupError, NamePaths, WorldNameExt},
    param::WorldPairReadExt,
    store::{PairData, PairStore},
};
#[cfg(feature = "bevy_reflect")]
use bevy_ecs::reflect::AppTypeRegistry;
use bevy_ecs::{
    archetype::Archetypes,
    component::{Component, ComponentId, Components},
    entity::{Entities, Entity},
    hierarchy::Children,
    name::Name,
    resource::IsResource,
    system::Query,
    world::{FilteredEntityMut, FilteredEntityRef, World, WorldId},
};

/// A query for the components that fields, members and comparisons of names are about, of everybody.
pub(crate) type Fields<'w, 's> = Query<'w, 's, FilteredEntityMut<'static, 'static>>;

/// A query for the order of children, of everybody.
pub(crate) type ChildrenOf<'w, 's> = Query<'w, 's, &'static Children>;

/// What a system has declared that it reads.
pub(crate) struct Declared<'w, 's> {
    pub(crate) world: WorldId,
    pub(crate) entities: &'w Entities,
    pub(crate) archetypes: &'w Archetypes,
    pub(crate) components: &'w Components,
    pub(crate) store: Option<&'w PairStore>,
    pub(crate) fields: Fields<'w, 's>,
    pub(crate) children: Option<ChildrenOf<'w, 's>>,
    pub(crate) names: Option<NamePaths<'w, 's>>,
    /// As they were when the system was initialised: a handle, not the resource.
    #[cfg(feature = "bevy_reflect")]
    pub(crate) types: Option<&'s AppTypeRegistry>,
}

/// A world to read.
#[derive(Clone, Copy)]
pub(crate) enum Reads<'w> {
    World(&'w World),
    Declared(&'w Declared<'w, 'w>),
}

impl<'w> Reads<'w> {
    pub(crate) fn world_id(self) -> WorldId {
        match self {
            Self::World(world) => world.id(),
            Self::Declared(declared) => declared.world,
        }
    }

    /// `None` if relations were never used in the world, or are out of reach.
    pub(crate) fn store(self) -> Option<&'w PairStore> {
        match self {
            Self::World(world) => access::store(world),
            Self::Declared(declared) => declared.store,
        }
    }

    pub(crate) fn entities(self) -> &'w Entities {
        match self {
            Self::World(world) => world.entities(),
            Self::Declared(declared) => declared.entities,
        }
    }

    pub(crate) fn archetypes(self) -> &'w Archetypes {
        match self {
            Self::World(world) => world.archetypes(),
            Self::Declared(declared) => declared.archetypes,
        }
    }

    pub(crate) fn components(self) -> &'w Components {
        match self {
            Self::World(world) => world.components(),
            Self::Declared(declared) => declared.components,
        }
    }

    /// The entity that Bevy keeps a resource on.
    pub(crate) fn resource_entity(self, resource: ComponentId) -> Option<Entity> {
        let declared = match self {
            Self::World(world) => return world.resource_entities().get(resource),
            Self::Declared(declared) => declared,
        };
        let marker = declared.components.component_id::<IsResource>()?;
        let archetypes = declared.archetypes.component_index().get(&resource)?.keys();
        let mut archetypes = archetypes.filter_map(|&id| declared.archetypes.get(id));
        archetypes.find_map(|archetype| {
            let entity = archetype.entities().first()?;
            archetype.contains(marker).then(|| entity.id())
        })
    }

    fn entity(self, entity: Entity) -> Option<FilteredEntityRef<'w, 'w>> {
        match self {
            Self::World(world) => world.get_entity(entity).ok().map(Into::into),
            Self::Declared(declared) => declared.fields.get(entity).ok(),
        }
    }

    /// A component. `None` also if a system has not declared that it reads it.
    pub(crate) fn get<T: Component>(self, entity: Entity) -> Option<&'w T> {
        match self {
            Self::World(world) => world.get(entity),
            Self::Declared(_) => self.entity(entity)?.get(),
        }
    }

    /// [`get`](Self::get) by reflection.
    #[cfg(feature = "bevy_reflect")]
    pub(crate) fn reflect(
        self,
        entity: Entity,
        component: &bevy_ecs::reflect::ReflectComponent,
    ) -> Option<&'w dyn bevy_reflect::Reflect> {
        component.reflect(self.entity(entity)?)
    }

    #[cfg(feature = "bevy_reflect")]
    pub(crate) fn types(self) -> Option<&'w AppTypeRegistry> {
        match self {
            Self::World(world) => world.get_resource(),
            Self::Declared(declared) => declared.types,
        }
    }

    pub(crate) fn name(self, entity: Entity) -> Option<&'w Name> {
        self.get(entity)
    }

    pub(crate) fn children(self, entity: Entity) -> Option<&'w Children> {
        match self {
            Self::World(world) => world.get(entity),
            Self::Declared(declared) => declared.children.as_ref()?.get(entity).ok(),
        }
    }

    /// The value of a pair. `None` also if a system has not declared that it reads such values.
    pub(crate) fn pair_value<V: Send + Sync + 'static>(
        self,
        source: Entity,
        relation: Entity,
        target: Entity,
    ) -> Option<&'w V> {
        let declared = match self {
            Self::World(world) => return world.pair_value_by_id(source, relation, target),
            Self::Declared(declared) => declared,
        };
        let store = declared.store?;
        let id = store.registry.of_entity(relation)?;
        let kind = store.data_kind(id, source, target)?;
        let row = store.relation(id).row(source, target)?;
        let column = self.resource_entity((kind.column)(declared.components)?)?;
        self.get::<PairData<V>>(column)?.get(row)
    }

    /// The first entity at a path below `parent`, or from the roots.
    pub(crate) fn lookup(self, parent: Option<Entity>, path: &str) -> Option<Entity> {
        let found = match (self, parent) {
            (Self::World(world), None) => world.lookup(path),
            (Self::World(world), Some(parent)) => world.lookup_in(parent, path),
            (Self::Declared(declared), None) => declared.names.as_ref()?.lookup(path),
            (Self::Declared(declared), Some(parent)) => declared.names.as_ref()?.lookup_in(parent, path),
        };
        found.ok()
    }

    /// The only entity at a path. `None` if a system has not declared that it reads names.
    pub(crate) fn lookup_unique(
        self,
        parent: Option<Entity>,
        path: &str,
    ) -> Option<Result<Entity, LookupError>> {
        Some(match (self, parent) {
            (Self::World(world), None) => world.lookup_unique(path),
            (Self::World(world), Some(parent)) => world.lookup_unique_in(parent, path),
            (Self::Declared(declared), None) => declared.names.as_ref()?.lookup_unique(path),
            (Self::Declared(declared), Some(parent)) => {
                declared.names.as_ref()?.lookup_unique_in(parent, path)
            }
        })
    }
}
