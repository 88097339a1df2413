//! The targets of a source, one after the other.

use crate::store::tombstones::{LiveIter, Tombstones};
use bevy_ecs::entity::Entity;

/// Iterator over the targets of a source, in insertion order: see [`RelationView::targets`](crate::traverse::RelationView::targets).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # #[derive(Relation)]
/// # struct Likes;
/// # let mut world = World::new();
/// # let [ann, ben, cy] = [(); 3].map(|()| world.spawn_empty().id());
/// world.insert_pairs(ann, [(Likes, ben), (Likes, cy)])?;
/// let mut targets = world.pairs::<Likes>().targets(ann);
/// assert_eq!((targets.len(), targets.next(), targets.next(), targets.next()), (2, Some(ben), Some(cy), None));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone)]
pub struct TargetIter<'w> {
    one: Option<Entity>,
    list: LiveIter<'w, Entity>,
}

impl<'w> TargetIter<'w> {
    #[inline]
    pub(crate) fn none() -> Self {
        Self::one(None)
    }

    #[inline]
    pub(crate) fn one(target: Option<Entity>) -> Self {
        Self { one: target, list: LiveIter::new(&[], None) }
    }

    #[inline]
    pub(super) fn list(targets: &'w [Entity], tombstones: Option<&'w Tombstones>) -> Self {
        Self { one: None, list: LiveIter::new(targets, tombstones) }
    }
}

impl Iterator for TargetIter<'_> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        self.one.take().or_else(|| self.list.next().copied())
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::from(self.one.is_some()) + self.list.len();
        (left, Some(left))
    }

    fn nth(&mut self, n: usize) -> Option<Entity> {
        match self.one.take() {
            Some(one) if n == 0 => Some(one),
            one => self.list.nth(n - usize::from(one.is_some())).copied(),
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, Entity) -> B>(self, init: B, mut f: F) -> B {
        let folded = match self.one {
            Some(one) => f(init, one),
            None => init,
        };
        self.list.fold(folded, |folded, &target| f(folded, target))
    }
}

impl ExactSizeIterator for TargetIter<'_> {}

impl core::iter::FusedIterator for TargetIter<'_> {}

impl core::fmt::Debug for TargetIter<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
