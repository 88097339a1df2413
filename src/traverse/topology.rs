//! The order of the sources of a target. That of `ChildOf` is read from `Children`, where it can change without an event.

use crate::{id::RelationId, relation::CHILD_OF, store::SourceIter};
use alloc::vec::Vec;
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

/// Whether a type is `ChildOf`.
#[inline]
pub(crate) fn is_child_of<T: 'static>() -> bool {
    TypeId::of::<T>() == TypeId::of::<ChildOf>()
}

/// The sources of a target of `ChildOf`, given its `Children` and what is stored.
#[inline]
pub(crate) fn ordered_by<'w>(children: Option<&'w [Entity]>, stored: SourceIter<'w>) -> SourceIter<'w> {
    match children {
        // While a parent is being despawned, or a link is in the making, the two sides differ.
        Some(children) if children.len() == stored.len() => SourceIter::new(children, None),
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

/// Parents and children as they stand in Bevy's components: what there is to read while no index is kept.
///
/// Bevy lets a component close a cycle. The index will not have that pair; until there is one, every walk records
/// what it has met.
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

    /// The children whose own component says so. Bevy leaves an entity in `Children` when its `ChildOf` is moved to another entity, as
    /// `move_components` does, and when hooks are skipped; it may be dead by now.
    pub(crate) fn confirmed_children(
        self,
        parent: Entity,
    ) -> impl DoubleEndedIterator<Item = Entity> + use<'w> {
        let is_child = move |&child: &Entity| self.parent(child) == Some(parent);
        self.children(parent).iter().copied().filter(is_child)
    }

    /// Every child with its parent, in no particular order; also children that the collection of the parent lacks,
    /// since hooks were skipped.
    pub(super) fn iter(self) -> impl Iterator<Item = (Entity, Entity)> + use<'w> {
        let child_of = self.0.component_id::<ChildOf>();
        let archetypes = self.0.archetypes().iter();
        let archetypes =
            archetypes.filter(move |archetype| child_of.is_some_and(|id| archetype.contains(id)));
        let children = archetypes.flat_map(Archetype::entities).map(ArchetypeEntity::id);
        children.filter_map(move |child| Some((child, self.parent(child)?)))
    }

    /// [`iter`](Self::iter), parent by parent.
    pub(super) fn by_parent(self) -> alloc::vec::IntoIter<(Entity, Entity)> {
        let mut pairs: Vec<_> = self.iter().collect();
        pairs.sort_by_key(|&(_, parent)| parent);
        pairs.into_iter()
    }
}
