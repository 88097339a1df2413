//! The order of every depth-first walk: a node, all that is reached from its first neighbour, then from its second.

use super::Direction;
use crate::store::{SourceIter, TargetIter};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

/// What is left to visit of a depth-first walk over a graph that the caller provides: from a node of type `N`, `I`
/// iterates over its neighbours.
///
/// After each node the caller adds its neighbours, or leaves out what lies beyond: since it was met before, say, for
/// nodes that are reached in several ways come each time.
///
/// # Complexity
/// `O(1)` per neighbour. Memory for one iterator per node on the way that has more than one neighbour.
pub(crate) struct DepthFirst<I> {
    /// The neighbours that are left of each node on the way, and their depth.
    branches: Vec<(I, u32)>,
}

impl<I> Default for DepthFirst<I> {
    fn default() -> Self {
        Self { branches: Vec::new() }
    }
}

impl<N, I: Iterator<Item = N>> DepthFirst<I> {
    /// Adds the neighbours of a node, which have this depth: they come next.
    #[inline]
    pub(super) fn push(&mut self, neighbours: I, depth: u32) {
        self.branches.push((neighbours, depth));
    }

    /// The first of the neighbours of a node, which have this depth. The others come once everything beyond it was
    /// visited. Spares the memory that [`push`](Self::push) takes where there is only one way.
    #[inline]
    pub(crate) fn enter(&mut self, mut neighbours: I, depth: u32) -> Option<(N, u32)> {
        let first = neighbours.next()?;
        if neighbours.size_hint().1 != Some(0) {
            self.branches.push((neighbours, depth));
        }
        Some((first, depth))
    }

    /// The next neighbour of the last node that has more of them.
    #[inline]
    pub(crate) fn resume(&mut self) -> Option<(N, u32)> {
        while let Some((neighbours, depth)) = self.branches.last_mut() {
            if let Some(next) = neighbours.next() {
                return Some((next, *depth));
            }
            self.branches.pop();
        }
        None
    }

    /// Drops what is left.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.branches.clear();
    }

    #[inline]
    pub(super) fn has_memory(&self) -> bool {
        self.branches.capacity() > 0
    }

    /// The same memory for walks over another graph.
    pub(super) fn recycle<J>(mut self) -> DepthFirst<J> {
        self.branches.clear();
        // Collects in place if the iterators have the same size, as those that differ in their lifetime do.
        DepthFirst { branches: self.branches.into_iter().filter_map(|_| None).collect() }
    }
}

/// The entities one step from another.
pub(crate) enum Neighbours<'w> {
    Targets(TargetIter<'w>),
    Sources(SourceIter<'w>),
}

impl<'w> Neighbours<'w> {
    /// The neighbours in one of two directions.
    #[inline]
    pub(crate) fn new(
        direction: Direction,
        targets: impl FnOnce() -> TargetIter<'w>,
        sources: impl FnOnce() -> SourceIter<'w>,
    ) -> Self {
        match direction {
            Direction::Targets => Self::Targets(targets()),
            Direction::Sources => Self::Sources(sources()),
        }
    }
}

impl Iterator for Neighbours<'_> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        match self {
            Self::Targets(targets) => targets.next(),
            Self::Sources(sources) => sources.next(),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Targets(targets) => targets.size_hint(),
            Self::Sources(sources) => sources.size_hint(),
        }
    }
}
