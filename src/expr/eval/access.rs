//! What evaluation and rows read of a world.
//!
//! With the world, all of it is read. A system reads what it has [declared](DeclaredAccess), through queries that give
//! out nothing else: whatever the stages ask for, they get no more than that.

#[cfg(feature = "bevy_reflect")]
use super::field_index::FieldIndices;
use super::names::ExprNames;
#[cfg(feature = "bevy_reflect")]
use crate::fetch::ReflectCursor;
use crate::{
    fetch::{self, ReadRights, TickCursor},
    names::{LookupError, NamePaths, WorldNameExt},
    relation::{ColumnRef, EntityName},
    store::{PairData, PairStore, RelationIndex, TableComponent},
    world::WorldPairExt,
};
#[cfg(feature = "bevy_reflect")]
use bevy_ecs::reflect::AppTypeRegistry;
use bevy_ecs::{
    archetype::Archetypes,
    change_detection::Tick,
    component::{Component, ComponentId, Components},
    entity::{Entities, Entity},
    entity_disabling::DefaultQueryFilters,
    hierarchy::Children,
    name::Name,
    query::Access,
    resource::IsResource,
    storage::{Table, TableId},
    system::Query,
    world::{FilteredEntityMut, FilteredEntityRef, World, WorldId, unsafe_world_cell::UnsafeWorldCell},
};
use core::ops::Range;
use smallvec::SmallVec;

/// A query for the components that fields, members and comparisons of names are about, on all entities.
pub(crate) type FieldQuery<'w, 's> = Query<'w, 's, FilteredEntityMut<'static, 'static>>;

/// A query for the order of children, on all entities.
pub(crate) type ChildrenOf<'w, 's> = Query<'w, 's, &'static Children>;

/// What a system has declared that it reads.
pub(crate) struct DeclaredAccess<'w, 's> {
    /// For what is known of entities, archetypes and components.
    pub(crate) world: UnsafeWorldCell<'w>,
    pub(crate) store: Option<&'w PairStore>,
    pub(crate) expr_names: Option<&'w ExprNames>,
    #[cfg(feature = "bevy_reflect")]
    pub(crate) field_indices: Option<&'w FieldIndices>,
    /// To read what `fields` declares.
    pub(crate) rights: ReadRights<'w, 's>,
    pub(crate) fields: FieldQuery<'w, 's>,
    /// The access of `fields`, and between which ticks they count as changed.
    pub(crate) access: &'s Access,
    pub(crate) last_run: Tick,
    pub(crate) this_run: Tick,
    pub(crate) children: Option<ChildrenOf<'w, 's>>,
    pub(crate) names: Option<NamePaths<'w, 's>>,
    /// For the components that disable an entity.
    pub(crate) filters: Option<&'w DefaultQueryFilters>,
    /// The handle that the resource held when the system was initialised.
    #[cfg(feature = "bevy_reflect")]
    pub(crate) types: Option<&'s AppTypeRegistry>,
}

/// A world to read.
#[derive(Clone, Copy)]
pub(crate) enum WorldAccess<'w> {
    World(&'w World),
    Declared(&'w DeclaredAccess<'w, 'w>),
}

/// The values in a column.
pub(crate) enum ColumnValues<'w> {
    World(ColumnRef, &'w World),
    /// On the entity of the resource that they lie in.
    Declared(ColumnRef, FilteredEntityRef<'w, 'w>),
}

impl<'w> ColumnValues<'w> {
    /// The value in a row.
    pub(crate) fn get(&self, row: u32) -> Option<&'w dyn core::any::Any> {
        Some(match self {
            Self::World(column, world) => column.get(world, row)?,
            Self::Declared(column, resource) => column.get_in(resource, row)?,
        })
    }
}

impl<'w> WorldAccess<'w> {
    pub(crate) fn world_id(self) -> WorldId {
        match self {
            Self::World(world) => world.id(),
            Self::Declared(declared) => declared.world.id(),
        }
    }

    /// `None` if relations were never used in the world, or are out of reach.
    pub(crate) fn store(self) -> Option<&'w PairStore> {
        match self {
            Self::World(world) => fetch::store(world),
            Self::Declared(declared) => declared.store,
        }
    }

    /// The names that were registered for components and resources, if any were.
    pub(crate) fn expr_names(self) -> Option<&'w ExprNames> {
        match self {
            Self::World(world) => world.get_resource(),
            Self::Declared(declared) => declared.expr_names,
        }
    }

    /// The indices of fields, if there are any.
    #[cfg(feature = "bevy_reflect")]
    pub(crate) fn field_indices(self) -> Option<&'w FieldIndices> {
        match self {
            Self::World(world) => world.get_resource(),
            Self::Declared(declared) => declared.field_indices,
        }
    }

    /// Whatever is written from now on has at least this change tick. For a system that is the tick of its run, which
    /// another of its parameters may write with.
    pub(crate) fn write_tick(self) -> Tick {
        match self {
            Self::World(world) => world.read_change_tick(),
            Self::Declared(declared) => declared.this_run,
        }
    }

    /// Reads the components of one type. `None` also if a system has not declared that it reads them.
    #[cfg(feature = "bevy_reflect")]
    pub(crate) fn cursor(
        self,
        component: ComponentId,
        type_of: &bevy_reflect::ReflectFromPtr,
    ) -> Option<ReflectCursor<'w>> {
        match self {
            Self::World(world) => ReflectCursor::of_world(world, component, type_of),
            Self::Declared(declared) => declared.rights.cursor(component, type_of),
        }
    }

    /// The change ticks of a component. `None` also if a system has not declared that it reads it.
    pub(crate) fn ticks(self, component: ComponentId) -> Option<TickCursor<'w>> {
        match self {
            Self::World(world) => TickCursor::of_world(world, component),
            Self::Declared(declared) => declared.rights.ticks(component),
        }
    }

    pub(crate) fn entities(self) -> &'w Entities {
        match self {
            Self::World(world) => world.entities(),
            Self::Declared(declared) => declared.world.entities(),
        }
    }

    pub(crate) fn archetypes(self) -> &'w Archetypes {
        match self {
            Self::World(world) => world.archetypes(),
            Self::Declared(declared) => declared.world.archetypes(),
        }
    }

    /// The entities of a table, in the order of its rows.
    pub(crate) fn table(self, table: TableId) -> &'w [Entity] {
        match self {
            Self::World(world) => world.storages().tables.get(table).map_or(&[][..], Table::entities),
            Self::Declared(declared) => fetch::table_entities(declared.world, table),
        }
    }

    /// Whether the entities of a table have a component that is kept there.
    pub(crate) fn has_column(self, table: TableId, component: ComponentId) -> bool {
        match self {
            Self::World(world) => {
                let table = world.storages().tables.get(table);
                table.is_some_and(|table| table.has_column(component))
            }
            Self::Declared(declared) => fetch::has_column(declared.world, table, component),
        }
    }

    /// The first targets of the entities of a table, by a component that is up to date. `None` if they have none.
    pub(crate) fn first_targets(self, table: TableId, component: TableComponent) -> Option<&'w [Entity]> {
        match self {
            Self::World(world) => {
                fetch::first_targets(world.as_unsafe_world_cell_readonly(), table, component)
            }
            Self::Declared(declared) => fetch::first_targets(declared.world, table, component),
        }
    }

    pub(crate) fn components(self) -> &'w Components {
        match self {
            Self::World(world) => world.components(),
            Self::Declared(declared) => declared.world.components(),
        }
    }

    /// The entity that Bevy keeps a resource on.
    pub(crate) fn resource_entity(self, resource: ComponentId) -> Option<Entity> {
        let declared = match self {
            Self::World(world) => return world.resource_entities().get(resource),
            Self::Declared(declared) => declared,
        };
        let marker = declared.world.components().component_id::<IsResource>()?;
        let archetypes = declared.world.archetypes().component_index().get(&resource)?.keys();
        let mut archetypes = archetypes.filter_map(|&id| declared.world.archetypes().get(id));
        archetypes.find_map(|archetype| {
            let entity = archetype.entities().first()?;
            archetype.contains(marker).then(|| entity.id())
        })
    }

    /// The components that disable an entity.
    pub(crate) fn disabling(self) -> SmallVec<[ComponentId; 4]> {
        let filters = match self {
            Self::World(world) => world.get_resource::<DefaultQueryFilters>(),
            Self::Declared(declared) => declared.filters,
        };
        filters.into_iter().flat_map(DefaultQueryFilters::disabling_ids).collect()
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

    /// [`get`](Self::get) for many entities: the component is looked up by its type once.
    pub(crate) fn reader<T: Component>(self) -> impl Fn(Entity) -> Option<&'w T> {
        let id = self.components().component_id::<T>();
        move |entity| match self {
            Self::World(world) => fetch::component(world, id?, entity, None),
            Self::Declared(_) => self.get(entity),
        }
    }

    /// The component with this id of an entity, which is in this row of a table if that is known. `None` if it is not of this
    /// type; also if a system has not declared that it reads it.
    #[inline]
    pub(crate) fn component<T: Component>(
        self,
        id: ComponentId,
        entity: Entity,
        place: Option<(TableId, usize)>,
    ) -> Option<&'w T> {
        match self {
            Self::World(world) => fetch::component(world, id, entity, place),
            Self::Declared(declared) => declared.rights.component(id, entity, place),
        }
    }

    /// The components of rows of a table. `None` if it has no such column or rows; also if a system has not declared that
    /// it reads it.
    pub(crate) fn slice<T: Component>(self, table: TableId, rows: Range<usize>) -> Option<&'w [T]> {
        match self {
            Self::World(world) => fetch::table_slice(world, table, rows),
            Self::Declared(declared) => declared.rights.slice(table, rows),
        }
    }

    /// When a component was written last. `None` also if a system has not declared that it reads it.
    pub(crate) fn changed(self, entity: Entity, component: ComponentId) -> Option<Tick> {
        Some(self.entity(entity)?.get_change_ticks_by_id(component)?.changed)
    }

    /// When the value of a pair was written last. `None` also if a system has not declared that it reads such values.
    pub(crate) fn pair_changed(self, source: Entity, relation: Entity, target: Entity) -> Option<Tick> {
        let store = self.store()?;
        let id = store.registry().of_entity(relation)?;
        let column = store.column_of(id, source, target)?;
        let row = store.relation(id).row(source, target)?;
        column.changed_in(&self.values(column)?, row)
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

    /// The name of an entity that may be meant by a name that no entity has. A system looks names up by other means
    /// than those by which it reads the components that an expression is about.
    pub(crate) fn name_to_suggest(self, entity: Entity) -> Option<&'w Name> {
        match self {
            Self::World(world) => world.get(entity),
            Self::Declared(declared) => declared.names.as_ref()?.name(entity),
        }
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
            Self::World(world) => return world.pair_value_by_id(source, (relation, target)),
            Self::Declared(declared) => declared,
        };
        let store = declared.store?;
        let id = store.registry().of_entity(relation)?;
        let kind = store.column_of(id, source, target)?;
        let row = store.relation(id).row(source, target)?;
        let column = self.resource_entity(kind.resource(self.components())?)?;
        self.get::<PairData<V>>(column)?.get(row)
    }

    /// The resource with the values in a column. `None` also if a system has not declared that it reads them.
    fn values(self, column: ColumnRef) -> Option<FilteredEntityRef<'w, 'w>> {
        self.entity(self.resource_entity(column.resource(self.components())?)?)
    }

    /// How often values in a column were borrowed to be written in place. `None` also if a system has not declared that it
    /// reads them.
    pub(crate) fn write_borrows(self, column: ColumnRef) -> Option<u64> {
        column.lent_in(&self.values(column)?)
    }

    /// Calls a function with each pair of a relation of which the value in a column was written between two ticks.
    ///
    /// # Complexity
    /// O(pairs).
    pub(crate) fn for_each_written(
        self,
        index: &RelationIndex,
        column: ColumnRef,
        (since, now): (Tick, Tick),
        mut each: impl FnMut(Entity, Entity),
    ) {
        let Some(values) = self.values(column) else { return };
        let is_new = |row| column.changed_in(&values, row).is_some_and(|tick| tick.is_newer_than(since, now));
        index.for_each_row(|source, target, row| {
            if is_new(row) {
                each(source, target);
            }
        });
    }

    /// Reads the values in a column. `None` also if a system has not declared that it reads them.
    pub(crate) fn column(self, column: ColumnRef) -> Option<ColumnValues<'w>> {
        match self {
            Self::World(world) => Some(ColumnValues::World(column, world)),
            Self::Declared(_) => Some(ColumnValues::Declared(column, self.values(column)?)),
        }
    }

    /// The value of a pair, whatever its type. `None` in a system.
    #[cfg(feature = "bevy_reflect")]
    pub(crate) fn any_pair_value(
        self,
        source: Entity,
        relation: Entity,
        target: Entity,
    ) -> Option<&'w dyn core::any::Any> {
        match self {
            Self::World(world) => Some(crate::system_param::any_pair_value(world, source, relation, target)?),
            Self::Declared(_) => None,
        }
    }

    /// The value of a pair, whatever its type. `None` also if a system has not declared that it reads such values, or
    /// if it is the component of an adopted relationship.
    #[cfg(feature = "bevy_reflect")]
    pub(crate) fn value_of_pair(
        self,
        source: Entity,
        relation: Entity,
        target: Entity,
    ) -> Option<&'w dyn core::any::Any> {
        let store = self.store()?;
        let id = store.registry().of_entity(relation)?;
        let column = store.column_of(id, source, target)?;
        let row = store.relation(id).row(source, target)?;
        match self {
            Self::World(world) => Some(column.get(world, row)?),
            Self::Declared(_) => Some(column.get_in(&self.values(column)?, row)?),
        }
    }

    /// Whether a pair is stored.
    #[cfg(feature = "bevy_reflect")]
    pub(crate) fn has_pair(self, source: Entity, relation: Entity, target: Entity) -> bool {
        self.store().is_some_and(|store| {
            let id = store.registry().of_entity(relation);
            id.is_some_and(|id| store.relation(id).has(source, target))
        })
    }

    /// The path of an entity. `None` also if a system has not declared that it reads names.
    pub(crate) fn path_of(self, entity: Entity) -> Option<alloc::string::String> {
        match self {
            Self::World(world) => world.path_of(entity),
            Self::Declared(declared) => declared.names.as_ref()?.path_of(entity),
        }
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

    /// The only entity at a path. There is none for a system that has not declared that it reads names.
    pub(crate) fn lookup_unique(self, parent: Option<Entity>, path: &str) -> Result<Entity, LookupError> {
        let declared = match self {
            Self::World(world) => {
                return match parent {
                    Some(parent) => world.lookup_unique_in(parent, path),
                    None => world.lookup_unique(path),
                };
            }
            Self::Declared(declared) => declared,
        };
        match (&declared.names, parent) {
            (Some(names), Some(parent)) => names.lookup_unique_in(parent, path),
            (Some(names), None) => names.lookup_unique(path),
            (None, _) => {
                Err(LookupError::Unknown { step: path.into(), parent: parent.map(EntityName::unnamed) })
            }
        }
    }
}
