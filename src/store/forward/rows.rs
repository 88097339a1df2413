//! The rows of the values of pairs.
//!
//! A pair's row is kept with its target: by the index of the source if that has no other target, else in its list. So a value is
//! found from the source's end alone, and rows are read in the order of sources, which is mostly that of the values. A relation
//! without values has no memory for rows.

use super::{
    EMPTY, ExclusiveForward, Forward, LONG, ManyForward, SHORT, SourceTargets, edge::NO_ROW, entity,
};
use crate::store::{bits::is_mixed, pages::Pages};
use alloc::{format, string::String};
use bevy_ecs::entity::Entity;

/// How many values are looked at before any is used.
const BLOCK: usize = 64;

/// The row of the only pair of each source. A source without a pair, or with several, has none.
#[derive(Default)]
pub(super) struct SourceRows(
    /// By source index: the row plus one, so that what was never written is none.
    Pages<u32>,
);

impl SourceRows {
    #[inline]
    pub(super) fn get(&self, source: u32) -> u32 {
        self.0.get(source).wrapping_sub(1)
    }

    #[inline]
    fn set(&mut self, source: u32, row: u32) {
        *self.0.get_mut(source) = row.wrapping_add(1);
    }

    #[inline]
    pub(super) fn take(&mut self, source: u32) -> u32 {
        self.0.existing_mut(source).map_or(0, core::mem::take).wrapping_sub(1)
    }

    /// Every row that is one, by source index.
    fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().filter(|&(_, row)| row != 0).map(|(source, row)| (source, row - 1))
    }
}

/// Calls a function with each of these values that is not 0, and its number. Where some are and some are not, so that a
/// processor may not predict which, they are found for a block of values without a branch.
#[inline]
fn for_each_set(values: &[u32], mut each: impl FnMut(usize, u32)) {
    let is_mixed = is_mixed(values.iter().step_by(BLOCK / 4).map(|&value| value != 0));
    for (number, block) in values.chunks(BLOCK).enumerate() {
        let all = u64::MAX >> (BLOCK - block.len());
        let bit = |(at, &value): (usize, &u32)| u64::from(value != 0) << at;
        let mut left = if is_mixed { block.iter().enumerate().map(bit).sum() } else { all };
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            if block[at] != 0 {
                each(number * BLOCK + at, block[at]);
            }
        }
    }
}

impl ExclusiveForward {
    #[inline]
    fn for_each_row(&self, mut each: impl FnMut(Entity, Entity, u32)) {
        for (first, rows) in self.rows.0.pages() {
            let (targets, ends) = (self.targets.page(first).values(), self.ends.page(first).values());
            for_each_set(rows, |offset, row| {
                let (Some(&target), Some(end)) = (targets.get(offset), ends.get(offset)) else { return };
                let source = entity(first + offset as u32, end.generation);
                if let Some((source, target)) = source.zip(Entity::try_from_bits(target)) {
                    each(source, target, row - 1);
                }
            });
        }
    }
}

impl ManyForward {
    fn row(&self, source: Entity, target: Entity) -> Option<u32> {
        match self.held(source) {
            SourceTargets::None => None,
            SourceTargets::One(own, _) => (own == target).then(|| self.rows.get(source.index_u32())),
            SourceTargets::Short(list) => self.short.find(list, target).map(|at| self.short.row(list, at)),
            SourceTargets::Long(list) => list.row(target),
        }
    }

    fn set_row(&mut self, source: Entity, target: Entity, row: u32) {
        let slot = self.slots.get(source.index_u32());
        match self.held_in(slot, source) {
            SourceTargets::None => {}
            SourceTargets::One(own, _) if own == target => self.rows.set(source.index_u32(), row),
            SourceTargets::One(..) => {}
            SourceTargets::Short(list) => {
                if let Some(at) = self.short.find(list, target) {
                    self.short.set_row(list, at, row);
                }
            }
            SourceTargets::Long(_) => self.long[slot.word as usize].set_row(target, row),
        }
    }

    #[inline]
    fn for_each_row(&self, mut each: impl FnMut(Entity, Entity, u32)) {
        for (first, slots) in self.slots.pages() {
            for (index, &slot) in (first..).zip(slots) {
                let Some(source) = entity(index, slot.generation) else { continue };
                match self.held_in(slot, source) {
                    SourceTargets::None => {}
                    SourceTargets::One(target, _) => each(source, target, self.rows.get(index)),
                    SourceTargets::Short(list) => {
                        for (target, edge) in self.short.iter(list) {
                            each(source, target, edge.row);
                        }
                    }
                    SourceTargets::Long(list) => {
                        for (target, row) in list.rows() {
                            each(source, target, row);
                        }
                    }
                }
            }
        }
    }
}

impl Forward {
    /// The row of a pair's value. `None` if there is no such pair, or if it has no value.
    #[inline]
    pub(crate) fn row(&self, source: Entity, target: Entity) -> Option<u32> {
        let row = match self {
            Self::Exclusive(forward) => {
                let is_target = forward.targets.get(source.index_u32()) == target.to_bits();
                (is_target && forward.place(source).is_some()).then(|| forward.rows.get(source.index_u32()))
            }
            Self::Many(forward) => forward.row(source, target),
        };
        row.filter(|&row| row != NO_ROW)
    }

    /// The same for a pair that is known to be there.
    #[inline]
    pub(crate) fn row_of_known(&self, source: Entity, target: Entity) -> Option<u32> {
        match self {
            Self::Exclusive(forward) => {
                Some(forward.rows.get(source.index_u32())).filter(|&row| row != NO_ROW)
            }
            Self::Many(_) => self.row(source, target),
        }
    }

    /// Sets the row of a pair, if there is such a pair.
    #[inline]
    pub(crate) fn set_row(&mut self, source: Entity, target: Entity, row: u32) {
        match self {
            Self::Exclusive(forward) => {
                if forward.target(source) == Some(target) {
                    forward.rows.set(source.index_u32(), row);
                }
            }
            Self::Many(forward) => forward.set_row(source, target, row),
        }
    }

    /// Calls a function with every pair that has a value, and its row.
    #[inline]
    pub(crate) fn for_each_row(&self, mut each: impl FnMut(Entity, Entity, u32)) {
        let each = |source, target, row| {
            if row != NO_ROW {
                each(source, target, row);
            }
        };
        match self {
            Self::Exclusive(forward) => forward.for_each_row(each),
            Self::Many(forward) => forward.for_each_row(each),
        }
    }

    /// What is wrong with the rows of sources with one target: that a source with another number of targets has one.
    pub(super) fn fault_of_rows(&self) -> Option<String> {
        let stray = match self {
            Self::Exclusive(forward) => {
                forward.rows.iter().find(|&(index, _)| forward.targets.get(index) == 0)
            }
            Self::Many(forward) => {
                let has_one = |index| {
                    let place = forward.slots.get(index).place;
                    place != EMPTY && place != SHORT && place != LONG
                };
                forward.rows.iter().find(|&(index, _)| !has_one(index))
            }
        };
        stray.map(|(index, row)| format!("index {index} has row {row}, and not one target"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Forward, NO_ROW, SourceRows};
    use crate::{
        relation::RelationTraits,
        store::{Invariant, RelationIndex, check::tests::Bed},
    };
    use alloc::vec::Vec;

    fn rows(index: &mut RelationIndex) -> &mut SourceRows {
        match &mut index.forward {
            Forward::Exclusive(forward) => &mut forward.rows,
            Forward::Many(forward) => &mut forward.rows,
        }
    }

    /// The rows of sources with one, few and many targets are where their pairs are, whatever becomes of the number of targets.
    #[test]
    fn rows_stay_with_their_pairs_whatever_becomes_of_the_number_of_targets() {
        for removed in [0, 1, 7, 19] {
            let mut bed = Bed::new(RelationTraits::new());
            let entities = bed.entities.clone();
            let mut expected = Vec::new();
            for target in 1..21 {
                bed.link(0, target);
                if target % 3 != 2 {
                    bed.index().set_row(entities[0], entities[target], target as u32);
                    expected.push((entities[target], target as u32));
                }
                let mut found = Vec::new();
                bed.index().forward.for_each_row(|_, target, row| found.push((target, row)));
                assert_eq!(found, expected, "{target} targets");
            }
            let target = entities[removed + 1];
            let row = expected.iter().find(|(with_row, _)| *with_row == target).map_or(NO_ROW, |edge| edge.1);
            assert_eq!(bed.index().row(entities[0], target).unwrap_or(NO_ROW), row);
            assert_eq!(bed.index().unlink(entities[0], target), Some(row));
            expected.retain(|&(with_row, _)| with_row != target);
            let order: Vec<_> = bed.targets(0).into_iter().rev().collect();
            bed.index().reorder_targets(entities[0], &order);
            assert_eq!(bed.targets(0), order);
            for &(target, row) in &expected {
                assert_eq!(bed.index().row(entities[0], target), Some(row));
                assert_eq!(bed.index().unlink(entities[0], target), Some(row));
            }
            // Nothing is left for the next pairs.
            while let Some(target) = bed.index().first_target(entities[0]) {
                assert_eq!(bed.index().unlink(entities[0], target), Some(NO_ROW));
            }
            for target in 1..21 {
                bed.link(0, target);
                assert_eq!(bed.index().row(entities[0], entities[target]), None);
            }
            bed.is_sound();
        }
    }

    #[test]
    fn rows_of_sources_that_have_not_one_target_are_named() {
        for traits in [RelationTraits::new(), RelationTraits::new().exclusive()] {
            let mut bed = Bed::new(traits);
            bed.link(0, 1);
            if !bed.index().is_exclusive() {
                bed.link(2, 3);
                bed.link(2, 4);
            }
            bed.is_sound();
            for source in [5, 2] {
                let index = bed.entities[source].index_u32();
                rows(bed.index()).set(index, 3);
                assert_eq!(bed.broken(), Some(Invariant::Lists));
                assert_eq!(rows(bed.index()).take(index), 3);
                bed.is_sound();
            }
        }
    }
}
