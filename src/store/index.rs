//! All pairs of one relation: forward and reverse index, depths, version.

use super::{
    FastPathFlags,
    depth::Depths,
    first_target::{TableComponent, TableIndex},
    forward::{Edge, ExclusiveReader, Forward, Reader, TargetIter, Upward},
    journal::{Change, Journal, PairDeltaKind},
    pages::Pages,
    reverse::{ListIter, Moved, Reverse, SourceIter},
    target_components::TargetComponents,
    ticks::PairTicks,
};
use crate::relation::{CleanupPolicy, RelationTraits};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::{
    change_detection::{CheckChangeTicks, Tick},
    component::ComponentId,
    entity::Entity,
};
use smallvec::SmallVec;

/// Slots of sources are read one after the other if there are no more for each pair; else the sources are sorted.
const MAX_SLOTS_PER_PAIR: usize = 32;

/// The pairs of one relation.
pub(crate) struct RelationIndex {
    pub(super) forward: Forward,
    pub(super) reverse: Reverse,
    /// By source index, if ticks are kept: when a source got its newest pair or value. An older tick may be that of an entity before
    /// it.
    pub(super) newest: Pages<Tick>,
    pub(super) depths: Option<Depths>,
    /// If it is read.
    pub(super) journal: Option<Journal>,
    /// Some pairs have, or had, values.
    pub(super) has_values: bool,
    /// Counts changes of any kind.
    pub(super) version: u64,
    /// Number of pairs.
    pub(super) len: usize,
    /// One target per source.
    pub(super) exclusive: bool,
    /// Its bit in the records of participants.
    pub(super) bit: u64,
    /// What changes of its pairs need no more than this index.
    pub(super) fast_path: FastPathFlags,
    /// The same, but for observers.
    pub(super) allowed: FastPathFlags,
    /// Whether insertions, and removals, may have observers, beside those that are narrowed to a target. The first event finds
    /// out.
    pub(super) observed: [bool; 2],
    pub(super) acyclic: bool,
    pub(super) symmetric: bool,
    /// What happens to the sources of a target that goes.
    pub(super) on_target_despawn: CleanupPolicy,
    /// The targets of a source go with it.
    pub(super) despawns_targets: bool,
    /// A target goes that loses its last source.
    pub(super) counts_sources: bool,
    /// Its component on sources, with `storage = "Table"`.
    pub(super) table: Option<TableIndex>,
    /// The components of the sources of each target, with `storage = "Fragmenting"`.
    pub(super) for_targets: Option<Box<TargetComponents>>,
}

impl Default for RelationIndex {
    fn default() -> Self {
        Self::new(&RelationTraits::new(), 0)
    }
}

impl RelationIndex {
    /// An empty index, laid out for a relation with these traits.
    pub(crate) fn new(traits: &RelationTraits, bit: u64) -> Self {
        let mut reverse = Reverse::default();
        reverse.extras.ordered = traits.is_ordered();
        Self {
            forward: Forward::new(traits.is_exclusive()),
            reverse,
            newest: Pages::default(),
            depths: traits.is_traversable().then(Depths::default),
            journal: None,
            has_values: false,
            version: 0,
            len: 0,
            exclusive: traits.is_exclusive(),
            bit,
            fast_path: FastPathFlags::default(),
            allowed: FastPathFlags::default(),
            observed: [true; 2],
            acyclic: traits.is_acyclic(),
            symmetric: traits.is_symmetric(),
            on_target_despawn: traits.target_policy(),
            despawns_targets: traits.despawns_targets(),
            counts_sources: traits.counts_sources(),
            table: None,
            for_targets: None,
        }
    }

    /// Its bit in the records of participants.
    #[inline]
    pub(crate) fn bit(&self) -> u64 {
        self.bit
    }

    /// One target per source.
    #[inline]
    pub(crate) fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    #[inline]
    pub(crate) fn is_acyclic(&self) -> bool {
        self.acyclic
    }

    #[inline]
    pub(crate) fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// What happens to the sources of a target that goes.
    #[inline]
    pub(crate) fn target_policy(&self) -> CleanupPolicy {
        self.on_target_despawn
    }

    /// The targets of a source go with it.
    #[inline]
    pub(crate) fn despawns_targets(&self) -> bool {
        self.despawns_targets
    }

    /// A target goes that loses its last source.
    #[inline]
    pub(crate) fn counts_sources(&self) -> bool {
        self.counts_sources
    }

    /// Number of pairs.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Counts changes of any kind.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Counts a change of what is known of a pair.
    pub(crate) fn note_change(&mut self) {
        self.version += 1;
    }

    /// What was inserted and removed of late, if there is a reader.
    #[inline]
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// Keeps a journal from now on, for readers that may be late, with the values that are replaced.
    pub(super) fn follow(&mut self) {
        let journal = self.journal.get_or_insert_default();
        journal.keep_longer();
        journal.record_replaced_values();
    }

    /// Some pairs have, or had, values.
    #[inline]
    pub(crate) fn has_values(&self) -> bool {
        self.has_values
    }

    /// The component that has the first target of every source and of nothing else, if there is one and it is up to date.
    #[inline]
    pub(crate) fn table_component(&self) -> Option<TableComponent> {
        self.table.and_then(TableIndex::current)
    }

    /// The component that all sources of a target have and nothing else, if there is one and it is up to date.
    #[inline]
    pub(crate) fn target_component(&self, target: Entity) -> Option<ComponentId> {
        self.target_components()?.get(target)
    }

    /// Whether every target has such a component.
    #[inline]
    pub(crate) fn has_target_components(&self) -> bool {
        self.target_components().is_some()
    }

    /// The only target of all entities of a table, of which `entity` is one; within, `None` if they have no target. `None` also if
    /// that is not known. `has` says whether they have a component.
    pub(crate) fn common_target(
        &self,
        entity: Entity,
        has: impl FnOnce(ComponentId) -> bool,
    ) -> Option<Option<Entity>> {
        if !self.has_target_components() {
            return None;
        }
        let Some(target) = self.only_target(entity) else {
            // A source would have a component, as this entity has none.
            return (!self.has_any(entity)).then_some(None);
        };
        // All that have this component have this target; with another target they would have one more component.
        has(self.target_component(target)?).then_some(Some(target))
    }

    #[inline]
    fn target_components(&self) -> Option<&TargetComponents> {
        let components = self.for_targets.as_deref().filter(|components| components.are_used())?;
        self.table_component().map(|_| components)
    }

    /// Whether the sources of a target have an order that says something.
    #[inline]
    pub(crate) fn is_ordered(&self) -> bool {
        self.reverse.extras.ordered
    }

    /// How deep an entity lies. `None` if the relation is not traversable.
    #[inline]
    pub(crate) fn depth_of(&self, entity: Entity) -> Option<u32> {
        Some(self.depths.as_ref()?.get(&self.forward, entity))
    }

    #[inline]
    pub(crate) fn has(&self, source: Entity, target: Entity) -> bool {
        self.forward.find(source, target).is_some()
    }

    #[inline]
    pub(crate) fn has_any(&self, source: Entity) -> bool {
        self.forward.has_any(source)
    }

    #[inline]
    pub(crate) fn first_target(&self, source: Entity) -> Option<Entity> {
        self.forward.first(source)
    }

    #[inline]
    pub(crate) fn targets(&self, source: Entity) -> TargetIter<'_> {
        self.forward.targets(source)
    }

    /// The number of targets that a source has.
    #[inline]
    pub(crate) fn target_count(&self, source: Entity) -> usize {
        self.forward.len(source)
    }

    /// The target with this number in the order of insertion.
    #[inline]
    pub(crate) fn nth_target(&self, source: Entity, nth: usize) -> Option<Entity> {
        self.forward.nth(source, nth)
    }

    /// The only target. `None` if there is no target, or more than one.
    #[inline]
    pub(crate) fn only_target(&self, source: Entity) -> Option<Entity> {
        self.forward.only(source)
    }

    /// Every source, by index.
    pub(crate) fn all_sources(&self) -> Vec<Entity> {
        self.forward.sources()
    }

    /// Replaces what is in a list by every source, each once, by index and generation.
    pub(crate) fn sources_into(&self, sources: &mut Vec<Entity>) {
        sources.clear();
        if self.is_dense() {
            return self.forward.sources_into(sources);
        }
        sources.extend(self.iter().map(|(source, _)| source));
        sources.sort_unstable_by_key(|source| (source.index_u32(), source.generation().to_bits()));
        sources.dedup();
    }

    /// Whether the entity is the target of a pair.
    #[inline]
    pub(crate) fn is_target(&self, entity: Entity) -> bool {
        self.reverse.list(entity).is_some()
    }

    /// Every target, with the number of the list of its sources.
    #[inline]
    pub(crate) fn targets_with_sources(&self) -> ListIter<'_> {
        self.reverse.targets()
    }

    /// The number of the list of a target's sources.
    #[inline]
    pub(crate) fn list_of(&self, target: Entity) -> Option<usize> {
        self.reverse.list(target)
    }

    /// The sources in a list.
    #[inline]
    pub(crate) fn sources_in(&self, list: usize) -> SourceIter<'_> {
        self.reverse.sources_in(list)
    }

    /// The number of lists; some may be of no target.
    #[inline]
    pub(crate) fn list_count(&self) -> usize {
        self.reverse.list_count()
    }

    /// The target of which a list holds the sources.
    #[inline]
    pub(crate) fn target_of_list(&self, list: usize) -> Option<Entity> {
        self.reverse.target_of(list)
    }

    /// Reads the pairs of many sources. `compare` unless [`PairStore::compares`](super::PairStore::compares) says that it is not
    /// needed, and every source is alive.
    pub(crate) fn reader(&self, compare: bool) -> Reader<'_> {
        self.forward.reader(compare)
    }

    /// Reads the targets of many sources, if the relation is exclusive. `compare` as for [`reader`](Self::reader).
    pub(crate) fn exclusive_reader(&self, compare: bool) -> Option<ExclusiveReader<'_>> {
        match self.reader(compare) {
            Reader::Exclusive(reader) => Some(reader),
            Reader::Many(_) => None,
        }
    }

    /// The way from sources to targets, if the relation is exclusive. `compare` as for [`reader`](Self::reader).
    #[inline]
    pub(crate) fn upward(&self, compare: bool) -> Option<Upward<'_>> {
        self.forward.upward(compare)
    }

    #[inline]
    pub(crate) fn sources(&self, target: Entity) -> SourceIter<'_> {
        self.reverse.sources(target)
    }

    #[inline]
    pub(crate) fn source_count(&self, target: Entity) -> usize {
        self.reverse.list(target).map_or(0, |list| self.reverse.len(list))
    }

    /// Every pair, target by target.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Entity, Entity)> + use<'_> {
        self.reverse
            .targets()
            .flat_map(|(target, _)| self.sources(target).map(move |source| (source, target)))
    }

    /// Calls a function with every pair that has a value, and its row, in no particular order.
    #[inline]
    pub(crate) fn for_each_row(&self, mut each: impl FnMut(Entity, Entity, u32)) {
        if !self.has_values {
            return;
        }
        if self.is_dense() {
            return self.forward.for_each_row(each);
        }
        self.iter().for_each(|(source, target)| {
            if let Some(row) = self.row_of_known(source, target) {
                each(source, target, row);
            }
        });
    }

    /// Whether there are few enough slots for each pair that sources are read one after the other.
    fn is_dense(&self) -> bool {
        self.forward.slots() <= MAX_SLOTS_PER_PAIR * self.len
    }

    /// Adds a pair unless it is there. True if it was added. An exclusive relation must have no other target for
    /// the source.
    #[inline(always)]
    pub(crate) fn link(&mut self, source: Entity, target: Entity, tick: Tick) -> bool {
        if !self.forward.insert(&mut self.reverse, source, target) {
            return false;
        }
        if self.reverse.extras.ticks {
            self.reverse.stamp_last(target, tick);
            *self.newest.get_mut(source.index_u32()) = tick;
        }
        self.version += 1;
        self.len += 1;
        self.record(source, target, PairDeltaKind::Inserted);
        if let Some(depths) = &mut self.depths {
            depths.linked(&self.forward, &self.reverse, source, target);
        }
        true
    }

    /// Adds a pair of an exclusive relation without values, in place of the one that the source has.
    #[inline]
    pub(crate) fn retarget(&mut self, source: Entity, target: Entity) -> bool {
        if self.depths.is_some() || self.journal.is_some() || self.has_values || self.reverse.extras.any() {
            return false;
        }
        let done = self.forward.retarget(&mut self.reverse, source, target);
        self.version += u64::from(done);
        done
    }

    /// Removes a pair; returns the row of its value, or `NO_ROW`. `None` if there is no such pair.
    #[inline(always)]
    pub(crate) fn unlink(&mut self, source: Entity, target: Entity) -> Option<u32> {
        let list = self.reverse.list(target)?;
        let Edge { place, row } = self.forward.remove(source, target)?;
        match self.reverse.remove(list, place) {
            Moved::Nothing => {}
            Moved::Last(last) => self.forward.set_place(last, target, place),
            Moved::All => self.renumber(list, target),
        }
        self.version += 1;
        self.len -= 1;
        self.record(source, target, PairDeltaKind::Removed);
        if let Some(depths) = &mut self.depths {
            depths.unlinked(&self.forward, &self.reverse, source);
        }
        Some(row)
    }

    /// Removes all pairs of a target, which have no values; returns the sources in order.
    pub(crate) fn unlink_target(&mut self, target: Entity) -> Option<SmallVec<[Entity; 2]>> {
        let sources = self.reverse.take(target)?;
        self.forward.remove_all(&sources, target);
        self.version += 1;
        self.len -= sources.len();
        sources.iter().for_each(|&source| self.record(source, target, PairDeltaKind::Removed));
        if let Some(depths) = &mut self.depths {
            for &source in &sources {
                depths.unlinked(&self.forward, &self.reverse, source);
            }
        }
        Some(sources)
    }

    #[inline]
    fn record(&mut self, source: Entity, target: Entity, kind: PairDeltaKind) {
        if let Some(journal) = &mut self.journal {
            journal.record(Change { source, target, kind }, self.len);
        }
    }

    /// Sets the places of all sources of a list in the forward index.
    fn renumber(&mut self, list: usize, target: Entity) {
        for (place, &source) in self.reverse.lists[list].sources.iter().enumerate() {
            self.forward.set_place(source, target, place as u32);
        }
    }

    /// Puts the sources of a target into another order. `order` must be a permutation of them.
    pub(crate) fn reorder(&mut self, target: Entity, order: &[Entity]) {
        let Some(list) = self.reverse.list(target) else { return };
        if self.reverse.extras.ordered {
            self.reverse.compact(list);
            self.renumber(list, target);
        }
        let place = |&source: &Entity| self.forward.find(source, target).map(|place| place as usize);
        let places: Vec<usize> = order.iter().filter_map(place).collect();
        self.reverse.lists[list].sources = SmallVec::from_slice(order);
        if self.reverse.extras.ticks
            && let Some(extra) = self.reverse.extra.get_mut(list)
        {
            extra.ticks = places.iter().map(|&place| extra.ticks[place]).collect();
        }
        self.renumber(list, target);
        self.version += 1;
        // Readers that keep the order find it in the journal.
        if let Some(&first) = order.first() {
            self.record(first, target, PairDeltaKind::SourcesReordered);
        }
    }

    /// Puts the targets of a source into another order. `order` must be a permutation of them.
    pub(crate) fn reorder_targets(&mut self, source: Entity, order: &[Entity]) {
        self.forward.reorder(source, order);
        self.version += 1;
        // What is nearest or first may be another now.
        if let Some(&first) = order.first() {
            self.record(source, first, PairDeltaKind::TargetsReordered);
        }
    }

    fn place(&self, source: Entity, target: Entity) -> Option<(usize, usize)> {
        let place = self.forward.find(source, target)?;
        // The list is that of the target, since there is such a pair (*Mirror*).
        Some((self.reverse.list_of_index(target.index_u32())?, place as usize))
    }

    /// The row of a pair's value.
    #[inline]
    pub(crate) fn row(&self, source: Entity, target: Entity) -> Option<u32> {
        self.forward.row(source, target)
    }

    /// The same for a pair that is known to be there.
    #[inline]
    pub(crate) fn row_of_known(&self, source: Entity, target: Entity) -> Option<u32> {
        self.forward.row_of_known(source, target)
    }

    #[inline]
    pub(crate) fn set_row(&mut self, source: Entity, target: Entity, row: u32) {
        self.has_values = true;
        self.forward.set_row(source, target, row);
    }

    /// Notes that pairs are about to have values.
    pub(crate) fn expect_values(&mut self) {
        self.has_values = true;
    }

    /// Starts to keep ticks; pairs that exist count as inserted at `tick`.
    pub(crate) fn track(&mut self, tick: Tick) {
        if !self.reverse.extras.ticks {
            self.reverse.track(PairTicks::new(tick));
            for source in self.reverse.lists.iter().flat_map(|list| &list.sources) {
                *self.newest.get_mut(source.index_u32()) = tick;
            }
        }
    }

    /// When a source got its newest pair or value, values that were written in place aside, if it still has a pair; some other tick
    /// if it has none. Needs ticks to be kept.
    #[inline]
    pub(crate) fn newest(&self, source: Entity) -> Tick {
        self.newest.get(source.index_u32())
    }

    /// Keeps old ticks from seeming new once the world's counter wraps around.
    pub(crate) fn clamp_ticks(&mut self, check: CheckChangeTicks) {
        let extra = self.reverse.extra.iter_mut();
        extra.flat_map(|extra| &mut extra.ticks).for_each(|ticks| ticks.clamp(check));
    }

    pub(crate) fn ticks(&self, source: Entity, target: Entity) -> Option<PairTicks> {
        let (list, place) = self.place(source, target)?;
        self.reverse.extra.get(list)?.ticks.get(place).copied()
    }

    /// Notes that the value of a pair was replaced.
    #[inline]
    pub(crate) fn note_replaced(&mut self, source: Entity, target: Entity, tick: Tick) {
        self.note_change();
        if self.journal.as_ref().is_some_and(Journal::records_replaced_values) {
            self.record(source, target, PairDeltaKind::Written);
        }
        if self.reverse.extras.ticks
            && let Some((list, place)) = self.place(source, target)
        {
            self.reverse.extra[list].ticks[place].changed = tick;
            *self.newest.get_mut(source.index_u32()) = tick;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sources come in one order, whether there are many slots per pair, as on pages with one source each, or few.
    #[test]
    fn sources_are_listed_once_and_by_index_however_far_apart_they_are() {
        let entity = |index: u32| Entity::from_raw_u32(index).unwrap();
        for traits in [RelationTraits::new(), RelationTraits::new().exclusive()] {
            for apart in [1, 5_000] {
                let mut index = RelationIndex::new(&traits, 0);
                for source in [7, 2, 9, 4].map(|source| entity(source * apart)) {
                    index.link(source, entity(1), Tick::new(1));
                    if !index.is_exclusive() {
                        index.link(source, entity(3), Tick::new(1));
                    }
                }
                index.unlink(entity(9 * apart), entity(1));
                index.unlink(entity(9 * apart), entity(3));
                assert!(index.forward.slots() > MAX_SLOTS_PER_PAIR * index.len(), "they are sorted");
                let mut sources = alloc::vec![entity(8)];
                index.sources_into(&mut sources);
                assert_eq!(sources, [2, 4, 7].map(|source| entity(source * apart)));
                // Enough pairs on one page that its slots are read in a row.
                (100..400).rev().for_each(|source| _ = index.link(entity(source), entity(1), Tick::new(1)));
                index.sources_into(&mut sources);
                assert!(index.forward.slots() <= MAX_SLOTS_PER_PAIR * index.len(), "they are read in a row");
                assert!(sources.is_sorted_by_key(|source| source.index_u32()));
                assert_eq!(sources.len(), 303);
            }
        }
    }
}
