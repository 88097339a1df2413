//! The order of the sources of a target: `Children` tells that of `ChildOf`, and the user may change it there without
//! telling anyone.

use crate::{
    id::RelationId,
    relation::{CHILD_OF, Relation},
    store::SourceIter,
};
use bevy_ecs::{
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
