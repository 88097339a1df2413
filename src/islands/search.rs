//! Into which pieces an island falls.

use crate::store::{RelationIndex, SourceIter, TargetIter};
use alloc::{collections::VecDeque, vec::Vec};
use bevy_ecs::entity::{Entity, EntityHashMap, EntityHashSet};
use core::{iter::Chain, mem::take};

/// What is found of an island that has lost pairs.
#[derive(Default)]
pub(super) struct Pieces {
    /// Entities that have no pair any more.
    pub(super) alone: Vec<Entity>,
    /// The connected components of the island but one, which is the rest.
    pub(super) complete: Vec<Vec<Entity>>,
}

/// Finds the pieces of an island from the ends of the pairs that it has lost: each piece has such an end, since the
/// whole hung together before.
///
/// # Complexity
/// The searches from all ends proceed by one pair each, in turns, and two that meet go on as one. What is left when one
/// search remains is not visited, so that cutting off a small piece takes steps in proportion to its pairs, times the
/// number of ends, however large the island is. It is at most O(pairs of the island).
pub(super) fn pieces(
    index: &RelationIndex,
    is_member: impl Fn(Entity) -> bool,
    ends: impl IntoIterator<Item = Entity>,
) -> Pieces {
    let mut pieces = Pieces::default();
    let mut search = PieceSearch { index, is_member, groups: Vec::new(), owners: EntityHashMap::default() };
    let mut met_alone = EntityHashSet::default();
    for end in ends {
        if index.has_any(end) || index.is_target(end) {
            search.start(end);
        } else if met_alone.insert(end) {
            pieces.alone.push(end);
        }
    }
    search.run(&mut pieces.complete);
    pieces
}

/// The entities around one: its targets, then its sources.
type AllNeighbors<'a> = Chain<TargetIter<'a>, SourceIter<'a>>;

/// What was reached from one end, or from several that met.
struct SearchGroup<'a> {
    /// Itself, or the group that it has become part of.
    parent: usize,
    members: Vec<Entity>,
    /// Members whose neighbors are still to be looked at.
    queue: VecDeque<Entity>,
    /// Neighbors that are being looked at.
    open: Vec<AllNeighbors<'a>>,
}

/// What a step of a search has led to.
enum Step {
    /// To nothing in particular.
    Onward,
    /// To another group.
    Reached(usize),
    /// There is nothing left to look at.
    Exhausted,
}

struct PieceSearch<'a, F> {
    index: &'a RelationIndex,
    is_member: F,
    groups: Vec<SearchGroup<'a>>,
    /// The group that has reached an entity.
    owners: EntityHashMap<usize>,
}

impl<F: Fn(Entity) -> bool> PieceSearch<'_, F> {
    /// Adds an end to search from.
    fn start(&mut self, end: Entity) {
        let number = self.groups.len();
        if self.owners.contains_key(&end) {
            return;
        }
        self.owners.insert(end, number);
        self.groups.push(SearchGroup {
            parent: number,
            members: Vec::from([end]),
            queue: VecDeque::from([end]),
            open: Vec::new(),
        });
    }

    /// Searches until at most one group has something left to look at, and lists the others.
    fn run(&mut self, complete: &mut Vec<Vec<Entity>>) {
        let mut active: Vec<usize> = (0..self.groups.len()).collect();
        let mut left = active.len();
        while left > 1 {
            let mut at = 0;
            while at < active.len() && left > 1 {
                let number = active[at];
                if self.groups[number].parent != number {
                    active.swap_remove(at);
                    continue;
                }
                match self.step(number) {
                    Step::Onward => at += 1,
                    Step::Reached(other) => {
                        self.unite(number, other);
                        left -= 1;
                    }
                    Step::Exhausted => {
                        complete.push(take(&mut self.groups[number].members));
                        active.swap_remove(at);
                        left -= 1;
                    }
                }
            }
        }
    }

    /// Looks at one neighbor.
    fn step(&mut self, number: usize) -> Step {
        let (index, group) = (self.index, &mut self.groups[number]);
        let found = loop {
            if let Some(open) = group.open.last_mut() {
                match open.next() {
                    Some(found) => break found,
                    None => _ = group.open.pop(),
                }
            } else {
                let Some(next) = group.queue.pop_front() else { return Step::Exhausted };
                group.open.push(index.targets(next).chain(index.sources(next)));
            }
        };
        if !(self.is_member)(found) {
            return Step::Onward;
        }
        match self.owners.get(&found) {
            Some(&owner) => match self.root(owner) {
                owner if owner == number => Step::Onward,
                owner => Step::Reached(owner),
            },
            None => {
                self.owners.insert(found, number);
                let group = &mut self.groups[number];
                group.members.push(found);
                group.queue.push_back(found);
                Step::Onward
            }
        }
    }

    /// The group that another has become part of.
    fn root(&mut self, mut number: usize) -> usize {
        while self.groups[number].parent != number {
            let parent = self.groups[number].parent;
            self.groups[number].parent = self.groups[parent].parent;
            number = parent;
        }
        number
    }

    /// Makes one group of two.
    fn unite(&mut self, a: usize, b: usize) {
        let larger_is_a = self.groups[a].members.len() >= self.groups[b].members.len();
        let (into, from) = if larger_is_a { (a, b) } else { (b, a) };
        let group = &mut self.groups[from];
        group.parent = into;
        let (members, queue, open) =
            (take(&mut group.members), take(&mut group.queue), take(&mut group.open));
        let group = &mut self.groups[into];
        group.members.extend(members);
        group.queue.extend(queue);
        group.open.extend(open);
    }
}
