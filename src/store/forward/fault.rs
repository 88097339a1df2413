//! What can be wrong with the forward index by itself, for the invariant checker.

use super::{Forward, LINEAR, LIST, ManyForward, TargetList, keys};
use alloc::{format, string::String};
use bevy_ecs::entity::EntityHashSet;

impl Forward {
    /// What is wrong with the lists by themselves, if anything. An exclusive relation has none: whether its words are
    /// right is told by the reverse index.
    pub(crate) fn fault(&self) -> Option<String> {
        match self {
            Self::Exclusive(_) => None,
            Self::Many(forward) => forward.fault(),
        }
    }
}

impl ManyForward {
    fn fault(&self) -> Option<String> {
        // How often each list is used, and how often it is free.
        let mut times = alloc::vec![(0, 0); self.lists.len()];
        for (index, slot) in self.slots.iter().filter(|(_, slot)| slot.place == LIST) {
            match times.get_mut(slot.word as usize) {
                Some((used, _)) => *used += 1,
                None => return Some(format!("index {index} has list {}, which is not there", slot.word)),
            }
        }
        for &number in &self.free {
            match times.get_mut(number as usize) {
                Some((_, free)) => *free += 1,
                None => return Some(format!("list {number} is free but not there")),
            }
        }
        let mut lists = self.lists.iter().zip(times).enumerate();
        lists.find_map(|(number, (list, times))| match times {
            (1, 0) => Some(format!("list {number} of targets: {}", list.fault()?)),
            (0, 1) if list.edges.is_empty() && list.long.is_none() => None,
            (used, free) => {
                let edges = list.edges.len();
                Some(format!("list {number} of {edges} targets is used {used} times and free {free} times"))
            }
        })
    }
}

impl TargetList {
    fn fault(&self) -> Option<String> {
        let edges = self.edges.len();
        let Some(long) = &self.long else {
            let distinct: EntityHashSet = self.edges.iter().map(|edge| edge.target).collect();
            let fits = (1..=LINEAR).contains(&edges) && distinct.len() == edges;
            return (!fits).then(|| format!("{edges} places for {} targets, not indexed", distinct.len()));
        };
        if let Some(fault) = long.tombstones.fault(edges) {
            return Some(fault);
        }
        let live = (0..edges).filter(|&at| !long.tombstones.is_tombstone(at));
        let found = live
            .filter(|&at| long.by_target.get(self.edges[at].target.to_bits(), keys(&self.edges)) == Some(at));
        let (found, live, indexed) = (found.count(), self.len(), long.by_target.len());
        let fits = live > 0 && found == live && indexed == live;
        (!fits).then(|| format!("{live} targets, of which {found} are found by an index of {indexed}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Edge, ExclusiveForward, Forward, LINEAR, LIST, ManyForward};
    use crate::{
        relation::RelationTraits,
        store::{Invariant, RelationIndex, check::tests::Bed},
    };

    fn many(index: &mut RelationIndex) -> &mut ManyForward {
        match &mut index.forward {
            Forward::Many(forward) => forward,
            Forward::Exclusive(_) => panic!("not exclusive"),
        }
    }

    fn exclusive(index: &mut RelationIndex) -> &mut ExclusiveForward {
        match &mut index.forward {
            Forward::Exclusive(forward) => forward,
            Forward::Many(_) => panic!("exclusive"),
        }
    }

    /// A source with so many targets that they are indexed, others with one or two, and a list that was given back.
    fn bed() -> Bed {
        let mut bed = Bed::new(RelationTraits::new());
        for target in 2..LINEAR + 8 {
            bed.link(0, target);
        }
        bed.link(1, 2);
        bed.link(2, 3);
        bed.link(2, 4);
        bed.link(3, 4);
        bed.link(3, 5);
        for target in [4, 9, 5] {
            bed.unlink(0, target);
        }
        bed.unlink(3, 4);
        bed.unlink(3, 5);
        bed
    }

    #[test]
    fn lists_of_targets_that_are_not_used_as_they_should_be_are_named() {
        type Corrupt = fn(&mut ManyForward);
        let corrupt: [Corrupt; 10] = [
            |forward| forward.lists[0].edges.truncate(3),
            |forward| _ = forward.free.pop(),
            |forward| forward.free.push(0),
            |forward| forward.free.push(forward.free[0]),
            |forward| forward.free.push(99),
            |forward| {
                let edge: Edge = forward.lists[0].edges[0];
                let free = forward.free[0] as usize;
                forward.lists[free].edges.push(edge);
            },
            |forward| {
                let edge: Edge = forward.lists[1].edges[0];
                forward.lists[1].edges.push(edge);
            },
            |forward| forward.lists[0].long = None,
            |forward| {
                let list = &mut forward.lists[0];
                if let Some(long) = &mut list.long {
                    long.by_target.clear();
                }
            },
            |forward| {
                if let Some(long) = &mut forward.lists[0].long {
                    long.tombstones.clear();
                }
            },
        ];
        for (number, corrupt) in corrupt.into_iter().enumerate() {
            let mut bed = bed();
            bed.is_sound();
            corrupt(many(bed.index()));
            assert_eq!(bed.broken(), Some(Invariant::Lists), "corruption {number}");
        }
    }

    #[test]
    fn slots_that_name_the_list_of_another_are_named() {
        for word in [1, 99] {
            let mut bed = bed();
            let source = bed.entities[1].index_u32();
            let slot = many(bed.index()).slots.get_mut(source);
            (slot.word, slot.place) = (word, LIST);
            assert_eq!(bed.broken(), Some(Invariant::Lists));
        }
    }

    #[test]
    fn slots_that_are_stale_are_named() {
        let mut bed = bed();
        let (source, other) = (bed.entities[1].index_u32(), bed.entities[6].index_u32());
        let forward = many(bed.index());
        *forward.slots.get_mut(other) = forward.slots.get(source);
        assert_eq!(bed.broken(), Some(Invariant::Mirror));

        let mut bed = Bed::new(RelationTraits::new().exclusive());
        bed.link(0, 1);
        bed.link(2, 3);
        let source = bed.entities[2].index_u32();
        let target = exclusive(bed.index()).targets.get(source);
        bed.unlink(2, 3);
        bed.is_sound();
        // Its target has no list any more.
        *exclusive(bed.index()).targets.get_mut(source) = target;
        assert_eq!(bed.broken(), Some(Invariant::Mirror));
    }
}
