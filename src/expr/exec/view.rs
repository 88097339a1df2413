//! What evaluation sees of a world, and the values in columns.

use super::walk::{Walker, reaches};
use crate::{
    expr::{plan::Special, reads::Reads},
    id::RelationId,
    ops::TypeEntity,
    relation::{CHILD_OF, TAGGED},
    store::{PairStore, RelationIndex, SourceIter, TargetIter},
};
use bevy_ecs::{
    archetype::{Archetype, Archetypes},
    component::{ComponentId, Components},
    entity::{Entities, Entity},
    observer::Observer,
    resource::IsResource,
    system::SystemIdMarker,
};

/// What a column holds: an entity, a component that no entity stands for, or something [`Special`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Value(u64);

/// The low half of an entity's bits is never 0.
const NO_ENTITY: u32 = 32;
const SKIPPED: u64 = 1 << NO_ENTITY;
const NUMBERS: u64 = 2 << NO_ENTITY;
const COMPONENTS: u64 = 0x2_0000 << NO_ENTITY;

impl Value {
    pub(crate) const UNSET: Self = Self(0);

    #[inline]
    pub(crate) fn new(entity: Entity) -> Self {
        Self(entity.to_bits())
    }

    pub(crate) fn component(id: ComponentId) -> Self {
        Self(COMPONENTS + ((id.index() as u64) << NO_ENTITY))
    }

    /// The number of a row.
    #[inline]
    pub(crate) fn row(row: usize) -> Self {
        Self(row as u64)
    }

    #[inline]
    pub(crate) fn as_row(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(crate) fn entity(self) -> Option<Entity> {
        // Fails if the low half is 0, and only then.
        Entity::try_from_bits(self.0)
    }

    pub(crate) fn as_component(self) -> Option<ComponentId> {
        let index = self.0.checked_sub(COMPONENTS)? >> NO_ENTITY;
        (self.0 as u32 == 0).then(|| ComponentId::new(index as usize))
    }

    /// The number of a branch.
    pub(crate) fn number(self) -> Option<u16> {
        if self.0 as u32 != 0 || !(NUMBERS..COMPONENTS).contains(&self.0) {
            return None;
        }
        Some(((self.0 - NUMBERS) >> NO_ENTITY) as u16)
    }

    #[inline]
    pub(crate) fn is_skipped(self) -> bool {
        self.0 == SKIPPED
    }

    #[inline]
    pub(crate) fn is_unset(self) -> bool {
        self.0 == 0
    }
}

impl From<Special> for Value {
    fn from(special: Special) -> Self {
        match special {
            Special::Unset => Self::UNSET,
            Special::Skipped => Self(SKIPPED),
            Special::Number(number) => Self(NUMBERS + (u64::from(number) << NO_ENTITY)),
        }
    }
}

/// What evaluation sees of a world: pairs and where entities are, and what can be [read](Reads).
#[derive(Clone, Copy)]
pub(crate) struct View<'w> {
    pub(crate) reads: Reads<'w>,
    pub(crate) store: &'w PairStore,
    pub(crate) entities: &'w Entities,
    pub(crate) archetypes: &'w Archetypes,
}

impl<'w> View<'w> {
    /// `None` if relations were never used in the world, or are out of reach.
    pub(crate) fn new(reads: Reads<'w>) -> Option<Self> {
        let store = reads.store()?;
        Some(Self { reads, store, entities: reads.entities(), archetypes: reads.archetypes() })
    }

    #[inline]
    pub(crate) fn index(&self, relation: RelationId) -> &'w RelationIndex {
        self.store.relation(relation)
    }

    #[inline]
    pub(crate) fn is_alive(&self, entity: Entity) -> bool {
        self.entities.contains_spawned(entity)
    }

    #[inline]
    pub(crate) fn targets(&self, relation: RelationId, source: Entity) -> TargetIter<'w> {
        self.index(relation).targets(source)
    }

    /// The sources of a target; children in the order of `Children`, which the user may change.
    #[inline]
    pub(crate) fn sources(&self, relation: RelationId, target: Entity) -> SourceIter<'w> {
        if relation == CHILD_OF
            && let Some(children) = self.reads.children(target)
            && children.len() == self.index(relation).source_count(target)
        {
            return SourceIter::new(children, None, children.len());
        }
        self.index(relation).sources(target)
    }

    /// The sources in a list of a relation, which is that of `target`.
    #[inline]
    pub(crate) fn sources_in(&self, relation: RelationId, target: Entity, list: usize) -> SourceIter<'w> {
        match relation {
            CHILD_OF => self.sources(relation, target),
            _ => self.index(relation).reverse.sources_in(list),
        }
    }

    #[inline]
    pub(crate) fn has_component(&self, entity: Entity, component: ComponentId) -> bool {
        let Ok(location) = self.entities.get_spawned(entity) else { return false };
        self.archetypes.get(location.archetype_id).is_some_and(|archetype| archetype.contains(component))
    }

    pub(crate) fn has_tag(&self, entity: Entity, tag: Entity) -> bool {
        self.index(TAGGED).has(entity, tag)
    }

    /// The target of the first pair of a transitive relation over which `source` reaches `target`. `None` if the
    /// relation is not transitive, or there is no such pair.
    pub(crate) fn stored_target(&self, source: Entity, relation: Entity, target: Entity) -> Option<Entity> {
        let registry = &self.store.registry;
        let relation = registry.of_entity(relation)?;
        if !registry.entry(relation).traits.is_transitive() {
            return None;
        }
        let mut walker = Walker::default();
        let mut leads = |own| own == target || reaches(self, &mut walker, relation, own, target).0;
        let mut targets = self.targets(relation, source);
        match (targets.next(), targets.next()) {
            // The only one must be the one, unless the relation is reflexive too.
            (Some(only), None) if source != target => Some(only),
            _ => self.targets(relation, source).find(|&own| leads(own)),
        }
    }

    /// The component of the type that an entity stands for.
    pub(crate) fn component_of(&self, entity: Entity) -> Option<ComponentId> {
        let type_id = self.store.registry.type_entities.get(&entity)?;
        self.reads.components().get_id(*type_id)
    }

    /// Whether an entity has the component that `id` stands for.
    pub(crate) fn has_as_component(&self, entity: Entity, id: Entity) -> bool {
        self.component_of(id).is_some_and(|component| self.has_component(entity, component))
    }

    /// What a column holds for a component: the entity that stands for its type, if there is one.
    pub(crate) fn value_of_component(&self, component: ComponentId) -> Value {
        let info = self.reads.components().get_info(component);
        let type_id = info.and_then(bevy_ecs::component::ComponentInfo::type_id);
        let entity = type_id.and_then(|type_id| self.store.registry.entity_of(type_id));
        entity.filter(|&entity| self.is_alive(entity)).map_or(Value::component(component), Value::new)
    }

    /// Every entity that has a component, whoever it is.
    pub(crate) fn with_component(&self, component: ComponentId, each: &mut dyn FnMut(Entity)) {
        let Some(archetypes) = self.archetypes.component_index().get(&component) else { return };
        for archetype in archetypes.keys().filter_map(|&id| self.archetypes.get(id)) {
            archetype.entities().iter().for_each(|entity| each(entity.id()));
        }
    }

    /// Every entity there is, but for those that Bevy keeps for itself.
    pub(crate) fn every_entity(&self, each: &mut dyn FnMut(Entity)) {
        for archetype in self.archetypes.iter().filter(|archetype| !self.is_internal(archetype)) {
            archetype.entities().iter().for_each(|entity| each(entity.id()));
        }
    }

    fn is_internal(&self, archetype: &Archetype) -> bool {
        unlisted_markers(self.reads.components()).any(|marker| archetype.contains(marker))
    }

    /// The first child of an entity at a path.
    pub(crate) fn child(&self, parent: Entity, path: &str) -> Option<Entity> {
        self.reads.lookup(Some(parent), path)
    }

    /// Every relation, but for the one that keeps tags.
    pub(crate) fn relations(&self) -> impl Iterator<Item = RelationId> + use<'w> {
        self.store.registry.ids().filter(|&id| id != TAGGED)
    }
}

/// The components of entities that Bevy keeps for itself: no variable goes through them.
pub(crate) fn unlisted_markers(components: &Components) -> impl Iterator<Item = ComponentId> + use<> {
    [
        components.component_id::<IsResource>(),
        components.component_id::<Observer>(),
        components.component_id::<SystemIdMarker>(),
    ]
    .into_iter()
    .flatten()
}

/// The components of entities that Bevy and this crate keep for themselves, which are no `$this`.
pub(crate) fn internal_markers(components: &Components) -> impl Iterator<Item = ComponentId> + use<> {
    unlisted_markers(components).chain(components.component_id::<TypeEntity>())
}
