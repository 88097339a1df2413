//! Pairs whose ends are still to be looked at: commands have inserted them, or a component of an end has come or gone.

use super::PairStore;
use crate::id::StoredPair;
use alloc::vec::Vec;
use bevy_ecs::{component::ComponentId, entity::Entity};
use bevy_platform::collections::{HashMap, HashSet};
use core::{mem::take, panic::Location};

/// A pair whose ends did not have the components that its relation asks for when a command inserted it.
pub(crate) struct UncheckedPair {
    pub(crate) pair: StoredPair,
    /// The relation's entity: its number may serve another by the time this is looked at.
    relation: Entity,
    /// Where in the source the command was queued, if that is known.
    pub(crate) place: Option<&'static Location<'static>>,
}

/// What is to be looked at, in the order in which it came.
#[derive(Default)]
pub(crate) struct UncheckedPairs {
    /// Those to which no position leads are there no more.
    pairs: Vec<UncheckedPair>,
    /// Their positions in that list.
    positions: HashMap<StoredPair, usize>,
    /// At this number, pairs that are there no more are removed: there is no event when one goes.
    limit: usize,
    /// Entities with pairs of which a component has come or gone, or any may have.
    ends: Vec<(Entity, Option<ComponentId>)>,
}

impl PairStore {
    /// Notes that the ends of a pair are still to be looked at.
    #[cold]
    pub(crate) fn note_unchecked(&mut self, pair: StoredPair, place: Option<&'static Location<'static>>) {
        // Users' code may have run since it was inserted.
        let Some(relation) = self.registry.get(pair.relation).map(|entry| entry.entity) else { return };
        if let Some(position) = self.position_of_unchecked(pair) {
            let known = &mut self.unchecked.pairs[position];
            *known = UncheckedPair { pair: known.pair, relation, place: place.or(known.place) };
            return;
        }
        if self.unchecked.pairs.len() >= self.unchecked.limit {
            let pairs = self.take_unchecked();
            let positions = pairs.iter().enumerate();
            self.unchecked.positions =
                positions.map(|(position, unchecked)| (unchecked.pair, position)).collect();
            self.unchecked.limit = (2 * pairs.len()).max(64);
            self.unchecked.pairs = pairs;
        }
        self.unchecked.positions.insert(pair, self.unchecked.pairs.len());
        self.unchecked.pairs.push(UncheckedPair { pair, relation, place });
    }

    /// Removes what was noted of a pair that is inserted now: it was removed in between.
    #[inline]
    pub(crate) fn remove_unchecked(&mut self, pair: StoredPair) {
        if self.has_unchecked() {
            self.unchecked.positions.remove(&pair);
        }
    }

    /// The same, unless the pair is there: then its ends are still to be looked at.
    #[inline]
    pub(crate) fn remove_unchecked_unless_there(&mut self, pair: StoredPair) {
        if self.has_unchecked() && !self.relation(pair.relation).has(pair.source, pair.target) {
            self.remove_unchecked(pair);
        }
    }

    /// Whether the ends of some pair are still to be looked at.
    #[inline]
    pub(crate) fn has_unchecked(&self) -> bool {
        !self.unchecked.pairs.is_empty()
    }

    /// What was noted of a pair, or of the other direction of a symmetric one.
    pub(crate) fn unchecked(&self, pair: StoredPair) -> Option<&UncheckedPair> {
        let position = self.position_of_unchecked(pair)?;
        self.unchecked.pairs.get(position).filter(|unchecked| self.is_there(unchecked))
    }

    fn position_of_unchecked(&self, pair: StoredPair) -> Option<usize> {
        if !self.has_unchecked() {
            return None;
        }
        let positions = &self.unchecked.positions;
        let mirror = || positions.get(&self.mirror_of(pair)?);
        positions.get(&pair).or_else(mirror).copied()
    }

    /// Takes the pairs whose ends are to be looked at and that are still there, in the order in which they came.
    pub(crate) fn take_unchecked(&mut self) -> Vec<UncheckedPair> {
        let (pairs, positions) = (take(&mut self.unchecked.pairs), take(&mut self.unchecked.positions));
        let known = pairs.into_iter().enumerate();
        let known = known.filter(|(position, unchecked)| positions.get(&unchecked.pair) == Some(position));
        known.map(|(_, unchecked)| unchecked).filter(|unchecked| self.is_there(unchecked)).collect()
    }

    /// Notes that a component of an entity with pairs has come or gone, or, without one, that any may have.
    pub(crate) fn note_changed_end(&mut self, entity: Entity, component: Option<ComponentId>) {
        self.unchecked.ends.push((entity, component));
    }

    /// Takes what [`note_changed_end`](Self::note_changed_end) has noted, each once.
    pub(crate) fn take_changed_ends(&mut self) -> Vec<(Entity, Option<ComponentId>)> {
        let (mut ends, mut met) = (take(&mut self.unchecked.ends), HashSet::<_>::default());
        ends.retain(|&end| met.insert(end));
        ends
    }

    /// Whether it is still the pair that was noted.
    pub(crate) fn is_there(&self, unchecked: &UncheckedPair) -> bool {
        let UncheckedPair { pair, relation, .. } = *unchecked;
        // The entity of a type may have been replaced.
        let entry = self.registry.get(pair.relation);
        entry.is_some_and(|entry| entry.type_id.is_some() || entry.entity == relation)
            && self.relation(pair.relation).has(pair.source, pair.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{relation::RelationTraits, store::check::tests::Bed};

    #[test]
    fn what_is_noted_is_bounded_by_the_pairs_that_there_are() {
        let mut bed = Bed::new(RelationTraits::new());
        let relation = bed.id;
        for round in 0..10 {
            for (source, target) in (0..40).flat_map(|source| (0..40).map(move |target| (source, target))) {
                bed.link(source, target);
                let pair =
                    StoredPair { source: bed.entities[source], relation, target: bed.entities[target] };
                bed.store.remove_unchecked(pair);
                assert!(bed.store.unchecked(pair).is_none(), "it was removed in round {round}");
                bed.store.note_unchecked(pair, None);
                assert!(bed.store.unchecked(pair).is_some());
                if (source, target) != (3, 4) {
                    bed.unlink(source, target);
                    assert!(bed.store.unchecked(pair).is_none());
                }
                assert!(bed.store.unchecked.pairs.len() <= 64);
            }
            assert_eq!(bed.store.take_unchecked().len(), 1);
            assert!(!bed.store.has_unchecked() && bed.store.take_unchecked().is_empty());
            bed.unlink(3, 4);
        }
    }
}
