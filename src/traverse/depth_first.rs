//! The order of every depth-first walk: a node, all that is reached from its first neighbour, then from its second.

use super::Direction;
use crate::store::{SourceIter, TargetIter};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

/// A depth-first walk over a graph that the caller knows: from a node of type `N`, `I` iterates over its neighbours.
///
/// Nodes that are reached in several ways are returned each time. A caller that has met one before, or has no interest
/// in what lies beyond it, calls [`prune`](Self::prune).
///
/// # Complexity
/// `O(1)` per neighbour. Memory for one iterator per node on the way that has more than one neighbour.
pub(crate) struct DepthFirst<N, I> {
    /// Where several neighbours of a node are to be visited: those that are left, and their depth.
    branches: Vec<(I, u32)>,
    /// The node that was returned last, whose neighbours come next.
    enter: Option<(N, u32)>,
}

impl<N, I> Default for DepthFirst<N, I> {
    fn default() -> Self {
        Self { branches: Vec::new(), enter: None }
    }
}

impl<N: Copy, I: Iterator<Item = N>> DepthFirst<N, I> {
    /// Starts anew at a node, which is not returned itself.
    #[inline]
    pub(crate) fn start(&mut self, node: N, depth: u32) {
        self.branches.clear();
        self.enter = Some((node, depth));
    }

    /// The next node and its depth: a neighbour of the one before, if its depth is below `max`, or of the last node
    /// that has more of them.
    #[inline]
    pub(crate) fn next(&mut self, max: u32, neighbours: impl FnOnce(N) -> I) -> Option<(N, u32)> {
        if let Some((node, depth)) = self.enter.take()
            && depth < max
        {
            let mut neighbours = neighbours(node);
            if let Some(first) = neighbours.next() {
                if neighbours.size_hint().1 != Some(0) {
                    self.branches.push((neighbours, depth + 1));
                }
                self.enter = Some((first, depth + 1));
                return self.enter;
            }
        }
        while let Some((neighbours, depth)) = self.branches.last_mut() {
            if let Some(next) = neighbours.next() {
                self.enter = Some((next, *depth));
                return self.enter;
            }
            self.branches.pop();
        }
        None
    }

    /// Leaves out everything beyond the node that was returned last, unless another way leads there.
    #[inline]
    pub(crate) fn prune(&mut self) {
        self.enter = None;
    }

    /// The node that was returned last and its depth, unless it was pruned. What lies beyond is left out.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(N, u32)> {
        self.enter.take()
    }

    /// The same memory for walks over another graph.
    pub(crate) fn recycle<J>(mut self) -> DepthFirst<N, J> {
        self.branches.clear();
        // Collects in place if the iterators have the same size, as those that differ in their lifetime do.
        DepthFirst { branches: self.branches.into_iter().filter_map(|_| None).collect(), enter: None }
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
