//! What can be wrong with the forward index by itself, for the invariant checker.

use super::{Forward, LONG, ManyForward, SHORT, ShortList};
use alloc::{format, string::String};

impl Forward {
    /// What is wrong with the lists and rows by themselves, if anything. An exclusive relation has no lists: its words are
    /// checked against the reverse index.
    pub(crate) fn fault(&self) -> Option<String> {
        let fault = match self {
            Self::Exclusive(_) => None,
            Self::Many(forward) => forward.fault(),
        };
        fault.or_else(|| self.fault_of_rows())
    }
}

impl ManyForward {
    fn fault(&self) -> Option<String> {
        // How often each long list is used, and how often it is free.
        let mut times = alloc::vec![(0, 0); self.long.len()];
        for (index, slot) in self.slots.iter().filter(|(_, slot)| slot.place == LONG) {
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
        let mut lists = self.long.iter().zip(times).enumerate();
        let fault = lists.find_map(|(number, (list, times))| match times {
            (1, 0) => Some(format!("list {number} of targets: {}", list.fault()?)),
            (0, 1) if list.is_empty() => None,
            (used, free) => {
                let len = list.len();
                Some(format!("list {number} of {len} targets is used {used} times and free {free} times"))
            }
        });
        let short = self.slots.iter().filter(|(_, slot)| slot.place == SHORT);
        fault.or_else(|| self.short.fault(short.map(|(index, slot)| (index, ShortList::of_word(slot.word)))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ExclusiveForward, Forward, LONG, ManyForward, SHORT};
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

    /// A source with so many targets that they are indexed, others with one or a few, and lists of both kinds that were given
    /// back.
    fn bed() -> Bed {
        let mut bed = Bed::new(RelationTraits::new());
        for target in 2..24 {
            bed.link(0, target);
            bed.link(4, target);
        }
        bed.link(1, 2);
        bed.link(2, 3);
        bed.link(2, 4);
        bed.link(3, 4);
        bed.link(3, 5);
        for target in 5..11 {
            bed.link(5, target);
        }
        for target in [4, 9, 5] {
            bed.unlink(0, target);
        }
        for target in 2..24 {
            bed.unlink(4, target);
        }
        bed.unlink(3, 4);
        bed.unlink(3, 5);
        bed
    }

    #[test]
    fn long_lists_of_targets_that_are_not_used_as_they_should_be_are_named() {
        type Corrupt = fn(&mut ManyForward);
        let corrupt: [Corrupt; 4] = [
            |forward| _ = forward.free.pop(),
            |forward| forward.free.push(0),
            |forward| forward.free.push(forward.free[0]),
            |forward| forward.free.push(99),
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
        for (word, place) in [(Some(0), LONG), (Some(99), LONG), (None, SHORT), (Some(99), SHORT)] {
            let mut bed = bed();
            let [source, other] = [1, 5].map(|number| bed.entities[number].index_u32());
            let slots = &mut many(bed.index()).slots;
            let word = word.unwrap_or(slots.get(other).word);
            let slot = slots.get_mut(source);
            (slot.word, slot.place) = (word, place);
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
