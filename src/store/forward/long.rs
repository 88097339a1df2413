//! A list of many targets, which are found by hash.

use super::{
    TargetIter,
    edge::{Edge, NO_ROW},
};
use crate::store::{HashIndex, reverse::live_places, tombstones::Tombstones};
use alloc::{format, string::String, vec::Vec};
use bevy_ecs::entity::Entity;

/// The targets of one source, in insertion order.
#[derive(Default)]
pub(super) struct LongList {
    targets: Vec<Entity>,
    /// Of each target, the place of the source in its list of sources.
    places: Vec<u32>,
    /// The rows of values, as far as pairs with values go.
    rows: Vec<u32>,
    by_target: HashIndex,
    tombstones: Tombstones,
}

/// The keys of [`LongList::by_target`].
fn keys(targets: &[Entity]) -> impl Fn(usize) -> u64 {
    |at| targets[at].to_bits()
}

impl LongList {
    fn find(&self, target: Entity) -> Option<usize> {
        self.by_target.get(target.to_bits(), keys(&self.targets))
    }

    #[inline]
    pub(super) fn contains(&self, target: Entity) -> bool {
        self.find(target).is_some()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.targets.len() - self.tombstones.count()
    }

    #[inline]
    pub(super) fn nth(&self, nth: usize) -> Option<Entity> {
        let len = self.targets.len();
        let at = if nth == 0 { self.tombstones.first_live(len) } else { self.tombstones.nth_live(nth, len) };
        self.targets.get(at?).copied()
    }

    pub(super) fn targets(&self) -> TargetIter<'_> {
        TargetIter::list(&self.targets, Some(&self.tombstones))
    }

    /// The place of the source in the list of a target.
    pub(super) fn place(&self, target: Entity) -> Option<u32> {
        self.find(target).map(|at| self.places[at])
    }

    pub(super) fn set_place(&mut self, target: Entity, place: u32) {
        if let Some(at) = self.find(target) {
            self.places[at] = place;
        }
    }

    /// The row of the value of the pair with a target.
    pub(super) fn row(&self, target: Entity) -> Option<u32> {
        self.find(target).map(|at| self.row_at(at))
    }

    fn row_at(&self, at: usize) -> u32 {
        self.rows.get(at).copied().unwrap_or(NO_ROW)
    }

    pub(super) fn set_row(&mut self, target: Entity, row: u32) {
        if let Some(at) = self.find(target) {
            self.set_row_at(at, row);
        }
    }

    fn set_row_at(&mut self, at: usize, row: u32) {
        if row != NO_ROW && at >= self.rows.len() {
            self.rows.resize(at + 1, NO_ROW);
        }
        if let Some(own) = self.rows.get_mut(at) {
            *own = row;
        }
    }

    /// Every target with its row.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Entity, u32)> + '_ {
        let live = (0..self.rows.len()).filter(|&at| !self.tombstones.is_tombstone(at));
        live.map(|at| (self.targets[at], self.rows[at]))
    }

    /// Adds a target unless it is there. True if it was added.
    pub(super) fn insert(&mut self, target: Entity, edge: impl FnOnce() -> Edge) -> bool {
        if self.contains(target) {
            return false;
        }
        let Edge { place, row } = edge();
        self.targets.push(target);
        self.places.push(place);
        self.set_row_at(self.targets.len() - 1, row);
        self.by_target.insert(self.targets.len() - 1, keys(&self.targets));
        true
    }

    /// Removes a target. A list that is empty then has no memory.
    pub(super) fn remove(&mut self, target: Entity) -> Option<Edge> {
        let at = self.find(target)?;
        let edge = Edge { place: self.places[at], row: self.row_at(at) };
        self.by_target.remove(target.to_bits(), keys(&self.targets));
        let len = self.targets.len() - self.tombstones.mark_empty(at, self.targets.len());
        self.targets.truncate(len);
        self.places.truncate(len);
        self.rows.truncate(len);
        if len == 0 {
            *self = Self::default();
        } else if self.tombstones.should_compact(len) {
            self.compact();
        }
        Some(edge)
    }

    fn compact(&mut self) {
        let live = || live_places(&self.tombstones);
        let (mut live_target, mut live_place, mut live_row) = (live(), live(), live());
        self.targets.retain(|_| live_target());
        self.places.retain(|_| live_place());
        self.rows.retain(|_| live_row());
        drop((live_target, live_place, live_row));
        self.tombstones.clear();
        self.index();
    }

    /// Indexes a list without tombstones anew.
    fn index(&mut self) {
        self.by_target.clear();
        for at in 0..self.targets.len() {
            self.by_target.insert(at, keys(&self.targets));
        }
    }

    /// Puts the targets into another order. `order` must be a permutation of them.
    pub(super) fn reorder(&mut self, order: &[Entity]) {
        let found: Vec<usize> = order.iter().filter_map(|&target| self.find(target)).collect();
        self.targets = order.to_vec();
        self.places = found.iter().map(|&at| self.places[at]).collect();
        if !self.rows.is_empty() {
            self.rows = found.iter().map(|&at| self.row_at(at)).collect();
        }
        self.tombstones.clear();
        self.index();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    pub(super) fn fault(&self) -> Option<String> {
        let (targets, places) = (self.targets.len(), self.places.len());
        if let Some(fault) = self.tombstones.fault(targets) {
            return Some(fault);
        }
        let live = (0..targets).filter(|&at| !self.tombstones.is_tombstone(at));
        let found = live.filter(|&at| self.find(self.targets[at]) == Some(at)).count();
        let (live, indexed) = (self.len(), self.by_target.len());
        let has_rows = self.rows.len() <= targets;
        let fits = live > 0 && found == live && indexed == live && places == targets && has_rows;
        (!fits).then(|| {
            format!(
                "{live} targets with {places} places, of which {found} are found by an index of {indexed}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::LongList;
    use crate::{
        relation::RelationTraits,
        store::{Invariant, check::tests::Bed, forward::Forward},
    };

    #[test]
    fn lists_that_are_not_indexed_as_they_should_be_are_named() {
        type Corrupt = fn(&mut LongList);
        let corrupt: [Corrupt; 6] = [
            |list| list.targets.truncate(3),
            |list| list.targets[1] = list.targets[0],
            |list| _ = list.places.pop(),
            |list| list.rows.resize(list.targets.len() + 1, 0),
            |list| list.by_target.clear(),
            |list| list.tombstones.clear(),
        ];
        for (number, corrupt) in corrupt.into_iter().enumerate() {
            let mut bed = Bed::new(RelationTraits::new());
            (2..24).for_each(|target| bed.link(0, target));
            [4, 9, 5].into_iter().for_each(|target| bed.unlink(0, target));
            bed.is_sound();
            match &mut bed.index().forward {
                Forward::Many(forward) => corrupt(&mut forward.long[0]),
                Forward::Exclusive(_) => panic!("not exclusive"),
            }
            assert_eq!(bed.broken(), Some(Invariant::Lists), "corruption {number}");
        }
    }
}
