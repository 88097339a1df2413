//! What evaluation sees of a world.

use super::{Datum, WorldAccess};
use crate::{
    id::RelationId,
    ops::unlisted_markers,
    relation::IS_A,
    store::{PairStore, RelationIndex, SourceIter, TargetIter},
    traverse::{Direction, Neighbors, is_ordered_by_children, ordered_by},
};
use bevy_ecs::{
    archetype::{Archetype, Archetypes},
    component::ComponentId,
    entity::{Entities, Entity},
    storage::TableId,
};
use smallvec::SmallVec;

/// What evaluation sees of a world: pairs and where entities are, and what can be [read](WorldAccess).
#[derive(Clone, Copy)]
pub(crate) struct View<'w> {
    pub(crate) access: WorldAccess<'w>,
    pub(crate) store: &'w PairStore,
    pub(crate) entities: &'w Entities,
    pub(crate) archetypes: &'w Archetypes,
}

impl<'w> View<'w> {
    /// `None` if relations were never used in the world, or are out of reach.
    pub(crate) fn new(access: WorldAccess<'w>) -> Option<Self> {
        let store = access.store()?;
        Some(Self { access, store, entities: access.entities(), archetypes: access.archetypes() })
    }

    /// An entity and everything that is a kind of it.
    pub(crate) fn subtypes<T: smallvec::Array<Item = Entity>>(&self, of: Entity) -> SmallVec<T> {
        let index = self.index(IS_A);
        let mut found: SmallVec<T> = SmallVec::new();
        found.push(of);
        let mut at = 0;
        while let Some(&entity) = found.get(at) {
            for subtype in index.sources(entity) {
                if !found.contains(&subtype) {
                    found.push(subtype);
                }
            }
            at += 1;
        }
        found
    }

    #[inline]
    pub(crate) fn index(&self, relation: RelationId) -> &'w RelationIndex {
        self.store.relation(relation)
    }

    #[inline]
    pub(crate) fn is_alive(&self, entity: Entity) -> bool {
        self.entities.contains_spawned(entity)
    }

    /// Whether a pair of whichever relation is stored, with a target or with any.
    #[inline]
    pub(crate) fn has_any_relation(&self, source: Entity, target: Option<Entity>) -> bool {
        let mut relations = self.store.relations_of(source);
        match target {
            Some(target) => relations.any(|id| self.index(id).has(source, target)),
            None => relations.next().is_some(),
        }
    }

    #[inline]
    pub(crate) fn targets(&self, relation: RelationId, source: Entity) -> TargetIter<'w> {
        self.index(relation).targets(source)
    }

    /// The sources of a target; children in the order of `Children`, which the user may change.
    #[inline]
    pub(crate) fn sources(&self, relation: RelationId, target: Entity) -> SourceIter<'w> {
        let stored = self.index(relation).sources(target);
        match is_ordered_by_children(relation) {
            true => ordered_by(self.access.children(target).map(|children| &**children), stored),
            false => stored,
        }
    }

    /// The entities one step from another.
    #[inline]
    pub(crate) fn neighbors(
        &self,
        relation: RelationId,
        direction: Direction,
        entity: Entity,
    ) -> Neighbors<'w> {
        match direction {
            Direction::Targets => Neighbors::Targets(self.targets(relation, entity)),
            Direction::Sources => Neighbors::Sources(self.sources(relation, entity)),
        }
    }

    /// The sources in a list of a relation, which is that of `target`.
    #[inline]
    pub(crate) fn sources_in(&self, relation: RelationId, target: Entity, list: usize) -> SourceIter<'w> {
        match is_ordered_by_children(relation) {
            true => self.sources(relation, target),
            false => self.index(relation).sources_in(list),
        }
    }

    #[inline]
    pub(crate) fn has_component(&self, entity: Entity, component: ComponentId) -> bool {
        let Ok(location) = self.entities.get_spawned(entity) else { return false };
        self.archetypes.get(location.archetype_id).is_some_and(|archetype| archetype.contains(component))
    }

    /// The components that an entity has.
    pub(crate) fn components_on(&self, entity: Entity) -> &'w [ComponentId] {
        let location = self.entities.get_spawned(entity).ok();
        let archetype = location.and_then(|location| self.archetypes.get(location.archetype_id));
        archetype.map_or(&[], Archetype::components)
    }

    /// The tags of entities.
    #[inline]
    pub(crate) fn tags(&self) -> &'w RelationIndex {
        self.store.tags()
    }

    pub(crate) fn has_tag(&self, entity: Entity, tag: Entity) -> bool {
        self.tags().has(entity, tag)
    }

    /// The component of the type that an entity stands for.
    pub(crate) fn component_of(&self, entity: Entity) -> Option<ComponentId> {
        let type_id = self.store.registry().type_of(entity)?;
        self.access.components().get_id(type_id)
    }

    /// Whether an entity has the component that `id` stands for.
    pub(crate) fn has_as_component(&self, entity: Entity, id: Entity) -> bool {
        self.component_of(id).is_some_and(|component| self.has_component(entity, component))
    }

    /// What a column holds for a component: the entity that stands for its type, if there is one.
    pub(crate) fn value_of_component(&self, component: ComponentId) -> Datum {
        let info = self.access.components().get_info(component);
        let type_id = info.and_then(bevy_ecs::component::ComponentInfo::type_id);
        let entity = type_id.and_then(|type_id| self.store.registry().entity_of(type_id));
        entity.filter(|&entity| self.is_alive(entity)).map_or(Datum::component(component), Datum::new)
    }

    /// Every entity that has a component, hidden or not.
    pub(crate) fn with_component(&self, component: ComponentId, each: &mut dyn FnMut(Entity)) {
        let Some(archetypes) = self.archetypes.component_index().get(&component) else { return };
        for archetype in archetypes.keys().filter_map(|&id| self.archetypes.get(id)) {
            archetype.entities().iter().for_each(|entity| each(entity.id()));
        }
    }

    /// The entities of a table, in the order of its rows.
    pub(crate) fn table(&self, table: TableId) -> &'w [Entity] {
        self.access.table(table)
    }

    /// Every entity there is, but for those that Bevy keeps for itself.
    pub(crate) fn every_entity(&self, each: &mut dyn FnMut(Entity)) {
        for archetype in self.archetypes.iter().filter(|archetype| !self.is_internal(archetype)) {
            archetype.entities().iter().for_each(|entity| each(entity.id()));
        }
    }

    fn is_internal(&self, archetype: &Archetype) -> bool {
        unlisted_markers(self.access.components()).any(|marker| archetype.contains(marker))
    }

    /// The first child of an entity at a path.
    pub(crate) fn child(&self, parent: Entity, path: &str) -> Option<Entity> {
        self.access.lookup(Some(parent), path)
    }

    /// Every relation.
    pub(crate) fn relations(&self) -> impl Iterator<Item = RelationId> + use<'w> {
        self.store.registry().ids()
    }
}
