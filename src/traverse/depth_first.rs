//! The order of every depth-first walk: a node, all that is reached from its first neighbor, then from its second.

use crate::store::{SourceIter, TargetIter};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

/// What is left to visit of a depth-first walk over a graph that the caller provides: from a node of type `N`, `I`
/// iterates over its neighbors.
///
/// After each node the caller adds its neighbors, or leaves out what lies beyond: since it was met before, say, for
/// nodes that are reached in several ways come each time.
///
/// # Complexity
/// `O(1)` per neighbor. Memory for one iterator per node on the way that has more than one neighbor.
pub(crate) struct DepthFirst<I> {
    /// The neighbors that are left of each node on the way, and their depth.
    branches: Vec<(I, u32)>,
}

impl<I> Default for DepthFirst<I> {
    fn default() -> Self {
        Self { branches: Vec::new() }
    }
}

impl<N, I: Iterator<Item = N>> DepthFirst<I> {
    /// Adds the neighbors of a node, which have this depth: they come next.
    #[inline]
    pub(super) fn push(&mut self, neighbors: I, depth: u32) {
        self.branches.push((neighbors, depth));
    }

    /// The first of the neighbors of a node, which have this depth. The others come once everything beyond it was
    /// visited. Spares the memory that [`push`](Self::push) takes where there is only one way.
    #[inline]
    pub(crate) fn enter(&mut self, mut neighbors: I, depth: u32) -> Option<(N, u32)> {
        let first = neighbors.next()?;
        if neighbors.size_hint().1 != Some(0) {
            self.branches.push((neighbors, depth));
        }
        Some((first, depth))
    }

    /// The next neighbor of the last node that has more of them.
    #[inline]
    pub(crate) fn resume(&mut self) -> Option<(N, u32)> {
        while let Some((neighbors, depth)) = self.branches.last_mut() {
            if let Some(next) = neighbors.next() {
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
#[derive(Clone)]
pub(crate) enum Neighbors<'w> {
    Targets(TargetIter<'w>),
    Sources(SourceIter<'w>),
}

impl Iterator for Neighbors<'_> {
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
