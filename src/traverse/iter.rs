//! Iterating over the pairs of one relation.

use super::topology::Hierarchy;
use crate::store::{ListIter, RelationIndex, SourceIter};
use alloc::vec;
use bevy_ecs::entity::Entity;
use core::{fmt, iter::FusedIterator};

/// Iterator over the pairs of a relation, as `(source, target)`: see [`RelationView::iter`](super::RelationView::iter).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # #[derive(Relation)]
/// # struct Likes;
/// # let mut world = World::new();
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// world.insert_pair_batch([(ann, Likes, ben), (ben, Likes, ann)])?;
/// let pairs: Vec<(Entity, Entity)> = world.pairs::<Likes>().iter().collect();
/// assert!(pairs.len() == 2 && pairs.contains(&(ben, ann)));
/// # Ok::<(), BevyError>(())
/// ```
pub struct RelationIter<'w> {
    lists: Option<(&'w RelationIndex, ListIter<'w>)>,
    /// The target at hand, and what is left of its sources.
    target: Option<(Entity, SourceIter<'w>)>,
    /// Instead, if no index is kept.
    hierarchy: vec::IntoIter<(Entity, Entity)>,
}

impl<'w> RelationIter<'w> {
    pub(super) fn new(index: Option<&'w RelationIndex>, hierarchy: Option<Hierarchy<'w>>) -> Self {
        Self {
            lists: index.map(|index| (index, index.targets_with_sources())),
            target: None,
            hierarchy: hierarchy.map(Hierarchy::by_parent).unwrap_or_default(),
        }
    }
}

impl Iterator for RelationIter<'_> {
    type Item = (Entity, Entity);

    #[inline]
    fn next(&mut self) -> Option<(Entity, Entity)> {
        loop {
            if let Some((target, sources)) = &mut self.target
                && let Some(source) = sources.next()
            {
                return Some((source, *target));
            }
            let Some((index, lists)) = &mut self.lists else { return self.hierarchy.next() };
            let (target, list) = lists.next()?;
            self.target = Some((target, index.sources_in(list)));
        }
    }

    fn fold<B, F: FnMut(B, (Entity, Entity)) -> B>(self, init: B, mut each: F) -> B {
        let Self { lists, target, hierarchy } = self;
        let mut folded = init;
        if let Some((target, sources)) = target {
            folded = sources.fold(folded, |folded, source| each(folded, (source, target)));
        }
        if let Some((index, lists)) = lists {
            for (target, list) in lists {
                folded = index.sources_in(list).fold(folded, |folded, source| each(folded, (source, target)));
            }
        }
        hierarchy.fold(folded, each)
    }
}

impl FusedIterator for RelationIter<'_> {}

impl fmt::Debug for RelationIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelationIter").finish_non_exhaustive()
    }
}
