//! The order of the sources of a target: `Children` tells that of `ChildOf`, and the user may change it there without
//! telling anyone.

use crate::{
    id::RelationId,
    relation::{CHILD_OF, Relation},
    store::SourceIter,
};
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    entity::Entity,
    hierarchy::{ChildOf, Children},
    system::Query,
    world::World,
};
use core::any::TypeId;

/// Whether the order of the sources in this relation is that of `Children`.
#[inline]
pub(crate) fn is_ordered_by_children(relation: RelationId) -> bool {
    relation == CHILD_OF
}

/// The same, of a relation type.
#[inline]
pub(crate) fn is_child_of<R: Relation>() -> bool {
    TypeId::of::<R>() == TypeId::of::<ChildOf>()
}

/// The sources of a target of `ChildOf`, given its `Children` and what is stored.
#[inline]
pub(crate) fn ordered_by<'w>(children: Option<&'w [Entity]>, stored: SourceIter<'w>) -> SourceIter<'w> {
    match children {
        // While a parent is being despawned, or a link is in the making, the two sides differ.
        Some(children) if children.len() == stored.len() => SourceIter::new(children, None, children.len()),
        _ => stored,
    }
}

/// How to read `Children`.
#[derive(Clone, Copy)]
pub(crate) enum ChildrenAccess<'w, 's> {
    World(&'w World),
    Query(Query<'w, 's, &'static Children>),
}

impl<'w> ChildrenAccess<'w, '_> {
    pub(super) fn get(self, parent: Entity) -> Option<&'w [Entity]> {
        match self {
            Self::World(world) => world.get::<Children>(parent).map(|children| &**children),
            Self::Query(query) => query.get_inner(parent).ok().map(|children| &**children),
        }
    }
}

/// Parents and children as Bevy's components tell of them: what there is to read while no index is kept.
///
/// Bevy lets a component close a cycle. The index will not have that pair; until there is one, every walk remembers what it
/// has met.
#[derive(Clone, Copy)]
pub(crate) struct Hierarchy<'w>(pub(crate) &'w World);

impl<'w> Hierarchy<'w> {
    /// The parent, if it is another entity that is alive: what else Bevy's component may name is no pair.
    pub(crate) fn parent(self, child: Entity) -> Option<Entity> {
        let parent = self.0.get::<ChildOf>(child)?.parent();
        (parent != child && self.0.entities().contains_spawned(parent)).then_some(parent)
    }

    /// The children, in their order.
    pub(crate) fn children(self, parent: Entity) -> &'w [Entity] {
        self.0.get::<Children>(parent).map_or(&[], |children| &**children)
    }

    /// Every child with its parent, parent by parent.
    pub(super) fn iter(self) -> impl Iterator<Item = (Entity, Entity)> + use<'w> {
        let children = self.0.component_id::<Children>();
        let archetypes = self.0.archetypes().iter();
        let archetypes =
            archetypes.filter(move |archetype| children.is_some_and(|id| archetype.contains(id)));
        let parents = archetypes.flat_map(Archetype::entities).map(ArchetypeEntity::id);
        parents.flat_map(move |parent| self.children(parent).iter().map(move |&child| (child, parent)))
    }

    /// Number of children. A step per archetype.
    pub(super) fn len(self) -> usize {
        let Some(child_of) = self.0.component_id::<ChildOf>() else { return 0 };
        let archetypes = self.0.archetypes().iter().filter(|archetype| archetype.contains(child_of));
        archetypes.map(|archetype| archetype.len() as usize).sum()
    }
}
