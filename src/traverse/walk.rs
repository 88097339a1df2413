//! Iterators up and down a relation.

use super::{
    Direction,
    depth_first::{DepthFirst, Neighbors},
    view::RelationView,
};
use crate::relation::EntityName;
use alloc::collections::VecDeque;
use bevy_ecs::{
    entity::{Entity, EntityHashSet},
    world::World,
};
use core::{fmt, iter::FusedIterator};
use thiserror::Error;

/// Iterator over ancestors along first targets, nearest first. See [`RelationView::ancestors`].
///
/// [`take`](Iterator::take) limits it without an error, [`max_depth`](Self::max_depth) with one.
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # let mut world = World::new();
/// let root = world.spawn_empty().id();
/// let child = world.spawn(ChildOf(root)).id();
/// let leaf = world.spawn(ChildOf(child)).id();
/// let tree = world.pairs::<ChildOf>();
/// assert!(tree.ancestors(leaf).eq([child, root]) && tree.ancestors(leaf).take(1).eq([child]));
/// let checked: Result<Vec<_>, _> = tree.ancestors(leaf).max_depth(1).collect();
/// assert_eq!(checked.unwrap_err().entity, root);
/// ```
#[derive(Clone)]
pub struct AncestorIter<'w, 's> {
    view: RelationView<'w, 's>,
    at: Entity,
    /// What the walk has met, if it could meet them again.
    met: Option<EntityHashSet>,
}

impl<'w, 's> AncestorIter<'w, 's> {
    pub(super) fn new(view: RelationView<'w, 's>, entity: Entity) -> Self {
        let met = view.may_cycle().then(|| [entity].into_iter().collect());
        Self { view, at: entity, met }
    }

    /// Returns an error in place of the first ancestor further away than `limit`, and ends there.
    pub fn max_depth(self, limit: u32) -> MaxDepth<Self> {
        MaxDepth::new(self, limit)
    }
}

impl Iterator for AncestorIter<'_, '_> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        let target = self.view.target(self.at)?;
        if let Some(met) = &mut self.met
            && !met.insert(target)
        {
            return None;
        }
        self.at = target;
        Some(target)
    }
}

impl FusedIterator for AncestorIter<'_, '_> {}

/// A walk over all descendants or all ancestors, each with its distance from the start along the walk, from 1.
/// Depth first, unless [`breadth_first`](Self::breadth_first). See [`RelationView::descendants`] and
/// [`RelationView::all_ancestors`].
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # let mut world = World::new();
/// # world.register_relation::<ChildOf>().unwrap();
/// # let root = world.spawn_empty().id();
/// # let child = world.spawn(ChildOf(root)).id();
/// # let grandchild = world.spawn(ChildOf(child)).id();
/// let tree = world.pairs::<ChildOf>();
/// let below: Vec<_> = tree.descendants(root).breadth_first().collect();
/// assert_eq!(below, [(child, 1), (grandchild, 2)]);
/// let above: Vec<_> = tree.all_ancestors(grandchild).at_most(1).collect();
/// assert_eq!(above, [(child, 1)]);
/// let too_deep = tree.descendants(root).max_depth(1).find_map(Result::err).unwrap();
/// assert_eq!(too_deep.entity, grandchild);
///
/// // Nothing below the first.
/// let mut walk = tree.descendants(root);
/// assert_eq!(walk.next(), Some((child, 1)));
/// walk.prune();
/// assert_eq!(walk.next(), None);
/// ```
pub struct WalkIter<'w, 's> {
    view: RelationView<'w, 's>,
    direction: Direction,
    walk: DepthFirst<Neighbors<'w>>,
    /// If breadth first, the entities that were returned and not yet entered, with their depths.
    waiting: Option<VecDeque<(Entity, u32)>>,
    /// The entity that was returned last, to be entered next, and its depth.
    last: Option<(Entity, u32)>,
    most: u32,
    /// What the walk has met, if it could meet them again.
    met: Option<EntityHashSet>,
}

impl<'w, 's> WalkIter<'w, 's> {
    pub(super) fn new(view: RelationView<'w, 's>, direction: Direction, entity: Entity) -> Self {
        let met = view.may_revisit().then(|| [entity].into_iter().collect());
        let (walk, last) = (DepthFirst::default(), Some((entity, 0)));
        Self { view, direction, walk, waiting: None, last, most: u32::MAX, met }
    }

    /// Visits all entities of one depth before those of the next. The depth of an entity is then that of the
    /// shortest way to it.
    #[must_use]
    pub fn breadth_first(mut self) -> Self {
        self.waiting.get_or_insert_default();
        self
    }

    /// Does not go further than `limit` from the start. The rest is left out without an error;
    /// [`max_depth`](Self::max_depth) returns one.
    #[must_use]
    pub fn at_most(mut self, limit: u32) -> Self {
        self.most = limit;
        self
    }

    /// Returns an error in place of the first entity further away than `limit`, and ends there.
    pub fn max_depth(self, limit: u32) -> MaxDepth<Self> {
        MaxDepth::new(self, limit)
    }

    /// Leaves out everything beyond the entity that was given last, unless another way leads there.
    pub fn prune(&mut self) {
        self.last = None;
    }
}

impl Iterator for WalkIter<'_, '_> {
    /// The entity and its depth.
    type Item = (Entity, u32);

    fn next(&mut self) -> Option<(Entity, u32)> {
        let Self { view, direction, walk, waiting, last, most, met } = self;
        if let Some((entity, depth)) = last.take()
            && depth < *most
        {
            match waiting {
                Some(waiting) => waiting.push_back((entity, depth)),
                None => walk.push(view.neighbors(*direction, entity), depth + 1),
            }
        }
        loop {
            let Some(next) = walk.resume() else {
                let (entity, depth) = waiting.as_mut()?.pop_front()?;
                walk.push(view.neighbors(*direction, entity), depth + 1);
                continue;
            };
            if met.as_mut().is_none_or(|met| met.insert(next.0)) {
                *last = Some(next);
                return Some(next);
            }
        }
    }
}

impl FusedIterator for WalkIter<'_, '_> {}

/// A walk that went further than its limit. See [`WalkIter::max_depth`].
///
/// The entity has its name if the walk began at a world. A system that walks along [`Pairs`](crate::Pairs) has no
/// access to names: there the entity is named by its id, and [`display`](Self::display) gives the message with the
/// name.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{entity} is more than {limit} steps from the start of the walk")]
pub struct DepthError {
    /// The first entity that is too far away.
    pub entity: EntityName,
    /// How far the walk may go.
    pub limit: u32,
}

impl DepthError {
    /// The message with the name that the entity has in `world`.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # let mut world = World::new();
    /// # world.register_relation::<ChildOf>().unwrap();
    /// # let root = world.spawn(Name::new("Root")).id();
    /// # let child = world.spawn(ChildOf(root)).id();
    /// fn check(tree: Pairs<ChildOf>, all: Query<Entity>) -> Option<bevy_relations::error::DepthError> {
    ///     all.iter().find_map(|entity| tree.ancestors(entity).max_depth(0).find_map(Result::err))
    /// }
    /// let error = world.run_system_cached(check).unwrap().unwrap();
    /// let message = error.display(&world).to_string();
    /// assert_eq!(message, format!("Root ({root}) is more than 0 steps from the start of the walk"));
    /// ```
    pub fn display(&self, world: &World) -> impl fmt::Display + use<> {
        let entity = EntityName::new(world, self.entity.entity());
        Self { entity, limit: self.limit }
    }
}

/// A walk with a limit on the distance from its start. See [`WalkIter::max_depth`] and [`AncestorIter::max_depth`].
///
/// To get all or nothing, collect into a `Result`:
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # let mut world = World::new();
/// # world.register_relation::<ChildOf>().unwrap();
/// # let root = world.spawn_empty().id();
/// # let child = world.spawn(ChildOf(root)).id();
/// # let grandchild = world.spawn(ChildOf(child)).id();
/// let tree = world.pairs::<ChildOf>();
/// let above: Result<Vec<_>, _> = tree.ancestors(grandchild).max_depth(2).collect();
/// assert_eq!(above, Ok(vec![child, root]));
/// let above: Result<Vec<_>, _> = tree.ancestors(grandchild).max_depth(1).collect();
/// assert!(above.is_err_and(|error| error.entity == root && error.limit == 1));
/// ```
pub struct MaxDepth<I> {
    /// Ends with the first error.
    walk: Option<I>,
    limit: u32,
    /// How many were given, if the walk does not count its steps itself.
    given: u32,
}

impl<I> MaxDepth<I> {
    fn new(walk: I, limit: u32) -> Self {
        Self { walk: Some(walk), limit, given: 0 }
    }

    #[cold]
    fn exceeded(&mut self, entity: EntityName) -> DepthError {
        self.walk = None;
        DepthError { entity, limit: self.limit }
    }
}

impl Iterator for MaxDepth<AncestorIter<'_, '_>> {
    type Item = Result<Entity, DepthError>;

    fn next(&mut self) -> Option<Self::Item> {
        let walk = self.walk.as_mut()?;
        let entity = walk.next()?;
        self.given = self.given.saturating_add(1);
        if self.given <= self.limit {
            return Some(Ok(entity));
        }
        let entity = walk.view.name_of(entity);
        Some(Err(self.exceeded(entity)))
    }
}

impl Iterator for MaxDepth<WalkIter<'_, '_>> {
    type Item = Result<(Entity, u32), DepthError>;

    fn next(&mut self) -> Option<Self::Item> {
        let walk = self.walk.as_mut()?;
        let (entity, depth) = walk.next()?;
        if depth <= self.limit {
            return Some(Ok((entity, depth)));
        }
        let entity = walk.view.name_of(entity);
        Some(Err(self.exceeded(entity)))
    }
}
