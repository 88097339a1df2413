//! Searches: the nearest holder up a relation, and whatever else is found by going depth first.
//!
//! What is found by way of an entity's first target comes before what is found by way of its second, however near that
//! is. Holders at distances that do not count are passed over. An entity that is reached in several ways lies at
//! several distances, and each of them counts.
//!
//! There is one [`Search`], which leaves two things open: a visitor decides what is found where, and a [`Memo`] records
//! which nodes need not be entered again. A single search records what it [has visited](VisitedSet); a query that searches for
//! each of its rows notes what was found, for those that come later.

use super::depth_first::DepthFirst;
use crate::store::RelationIndex;
use alloc::vec::Vec;
use bevy_ecs::entity::{Entity, EntityHashSet};
use bevy_platform::collections::HashSet;

/// How far from the start a holder may be: the start itself is at distance 0.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

impl Limits {
    /// The start itself, and everything beyond it.
    pub(crate) const FROM_SELF: Self = Self { min: 0, max: u32::MAX };
    /// Everything beyond the start.
    pub(crate) const BEYOND: Self = Self { min: 1, max: u32::MAX };

    /// Whether it makes a difference at which distance an entity is met.
    #[inline]
    pub(crate) fn matter(self) -> bool {
        self.min > 1 || self.max < u32::MAX
    }

    /// The distance, as far as it makes a difference: without a maximum, all that suffice are alike.
    #[inline]
    pub(crate) fn effective(self, distance: u32) -> u32 {
        if self.max == u32::MAX { distance.min(self.min) } else { distance }
    }
}

/// What is known of a node that a search comes to.
pub(crate) enum Known<T> {
    /// Nothing: it is visited.
    Unknown,
    /// There is nothing to be found from it on.
    Nothing,
    /// This is found from it on.
    Found(T),
}

/// What is recorded of the nodes that searches visited.
pub(crate) trait Memo<T, N = Entity> {
    /// Whether [`note`](Self::note) does something.
    const NOTES: bool = false;

    /// What is known of a node.
    fn known(&mut self, node: N, distance: u32) -> Known<T>;

    /// Notes what is found from a node on: once everything beyond it was tried, or something was found.
    #[inline]
    fn note(&mut self, _node: N, _found: Option<T>) {}
}

/// For graphs in which there is only one way to each node.
pub(crate) struct OnlyWay;

impl<T, N> Memo<T, N> for OnlyWay {
    #[inline]
    fn known(&mut self, _: N, _: u32) -> Known<T> {
        Known::Unknown
    }
}

/// The entities that one search has met.
#[derive(Default)]
pub(crate) enum VisitedSet {
    /// There is only one way to each.
    #[default]
    Once,
    Entities(EntityHashSet),
    At(HashSet<(Entity, u32)>, Limits),
}

impl VisitedSet {
    /// For a search up a relation.
    pub(crate) fn new(index: &RelationIndex, limits: Limits) -> Self {
        match limits.matter() {
            _ if index.is_exclusive() && index.is_acyclic() => Self::Once,
            false => Self::Entities(EntityHashSet::default()),
            true => Self::At(HashSet::default(), limits),
        }
    }

    /// Clears everything, for another search of the same kind.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Once => {}
            Self::Entities(met) => met.clear(),
            Self::At(met, _) => met.clear(),
        }
    }
}

impl<T> Memo<T> for VisitedSet {
    #[inline]
    fn known(&mut self, entity: Entity, distance: u32) -> Known<T> {
        let new = match self {
            Self::Once => true,
            Self::Entities(met) => met.insert(entity),
            Self::At(met, limits) => met.insert((entity, limits.effective(distance))),
        };
        if new { Known::Unknown } else { Known::Nothing }
    }
}

/// A search, or the memory for one after the other. `I` iterates over the neighbors of a node.
pub(crate) struct Search<I, N = Entity> {
    walk: DepthFirst<I>,
    /// From the start to where the search is, if the memo uses it.
    path: Vec<N>,
}

impl<I, N> Default for Search<I, N> {
    fn default() -> Self {
        Self { walk: DepthFirst::default(), path: Vec::new() }
    }
}

impl<N: Copy, I: Iterator<Item = N>> Search<I, N> {
    /// What `visit` finds first, going depth first from `start`, which is that far away already and is visited first.
    /// Goes no further than `max`.
    ///
    /// # Complexity
    /// A visit per node that is not in the memo, `O(1)` per neighbor of these.
    #[inline]
    pub(crate) fn run<T: Copy, M: Memo<T, N>>(
        &mut self,
        start: (N, u32),
        max: u32,
        mut neighbors: impl FnMut(N) -> I,
        memo: &mut M,
        mut visit: impl FnMut(N, u32) -> Option<T>,
    ) -> Option<T> {
        self.walk.clear();
        self.path.clear();
        let (mut node, mut distance) = start;
        let found = loop {
            let first = match memo.known(node, distance) {
                Known::Found(found) => break Some(found),
                Known::Nothing => None,
                Known::Unknown => {
                    if M::NOTES {
                        self.path.push(node);
                    }
                    if let Some(found) = visit(node, distance) {
                        break Some(found);
                    }
                    if distance < max { self.walk.enter(neighbors(node), distance + 1) } else { None }
                }
            };
            if let Some(first) = first {
                (node, distance) = first;
                continue;
            }
            let Some(next) = self.walk.resume() else { break None };
            (node, distance) = next;
            if M::NOTES {
                self.leave((distance - start.1) as usize, memo, None);
            }
        };
        if M::NOTES {
            self.leave(0, memo, found);
        }
        found
    }

    /// Notes what was found from the nodes on the path beyond a length.
    #[inline]
    fn leave<T: Copy>(&mut self, length: usize, memo: &mut impl Memo<T, N>, found: Option<T>) {
        while self.path.len() > length
            && let Some(node) = self.path.pop()
        {
            memo.note(node, found);
        }
    }

    /// Whether there is memory worth [recycling](Self::recycle): it met a node with several neighbors.
    #[inline]
    pub(crate) fn has_memory(&self) -> bool {
        self.walk.has_memory()
    }

    /// The same memory for searches of another graph.
    pub(crate) fn recycle<J>(self) -> Search<J, N> {
        Search { walk: self.walk.recycle(), path: self.path }
    }
}

/// [`Search::run`] where a node has one neighbor at most, and there is no circle: a loop. `path` is memory for the
/// nodes that are passed to the memo.
///
/// # Complexity
/// A visit per node, up to the first that the memo has.
#[inline]
pub(crate) fn follow<N: Copy, T: Copy, M: Memo<T, N>>(
    start: (N, u32),
    max: u32,
    mut next: impl FnMut(N) -> Option<N>,
    memo: &mut M,
    path: &mut Vec<N>,
    mut visit: impl FnMut(N, u32) -> Option<T>,
) -> Option<T> {
    let (mut node, mut distance) = start;
    let found = loop {
        let found = visit(node, distance);
        if found.is_some() {
            break found;
        }
        match memo.known(node, distance) {
            Known::Found(found) => break Some(found),
            Known::Nothing => break None,
            Known::Unknown => {}
        }
        if M::NOTES {
            path.push(node);
        }
        if distance >= max {
            break None;
        }
        let Some(neighbor) = next(node) else { break None };
        (node, distance) = (neighbor, distance + 1);
    };
    if M::NOTES {
        path.drain(..).for_each(|node| memo.note(node, found));
    }
    found
}

/// The nearest entity up a relation, within limits, of which `holds` is true.
///
/// # Complexity
/// At most O(pairs above `entity`); with limits, for each of the distances at which it is met.
pub(crate) fn nearest(
    index: &RelationIndex,
    entity: Entity,
    limits: Limits,
    mut holds: impl FnMut(Entity) -> bool,
) -> Option<Entity> {
    let mut visit = |entity, distance| (distance >= limits.min && holds(entity)).then_some(entity);
    if index.is_exclusive() && index.is_acyclic() {
        let target = |entity| index.first_target(entity);
        return follow((entity, 0), limits.max, target, &mut OnlyWay, &mut Vec::new(), visit);
    }
    let mut met = VisitedSet::new(index, limits);
    Search::default().run((entity, 0), limits.max, |entity| index.targets(entity), &mut met, &mut visit)
}
