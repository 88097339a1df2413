//! The reverse index of a relation: from a target to its sources.

use super::{
    pages::Pages,
    ticks::PairTicks,
    tombstones::{LiveIter, Tombstones},
};
use alloc::{format, string::String, vec::Vec};
use bevy_ecs::{change_detection::Tick, entity::Entity};
#[cfg(feature = "multi_threaded")]
use core::ops::Range;
use core::{iter::Enumerate, slice};
use smallvec::SmallVec;

/// The sources of one target.
pub(super) struct SourceList {
    /// `None` if the list is free: it has no sources, and waits for the next target.
    pub(super) target: Option<Entity>,
    pub(super) sources: SmallVec<[Entity; 2]>,
}

/// What belongs to the pairs of one list beyond their sources, place by place. Only some relations need it.
#[derive(Default)]
pub(crate) struct ListExtra {
    pub(crate) ticks: Vec<PairTicks>,
    /// Only for relations that keep order.
    pub(crate) tombstones: Tombstones,
}

/// Which parts of [`ListExtra`] a relation has.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extras {
    pub(crate) ticks: bool,
    pub(crate) ordered: bool,
}

impl Extras {
    #[inline]
    pub(crate) fn any(self) -> bool {
        self.ticks || self.ordered
    }
}

/// What a removal from a list means for the forward index.
pub(crate) enum Moved {
    Nothing,
    /// This source now stands at the place of the removed one.
    Last(Entity),
    /// The list was closed up: every source may stand elsewhere.
    All,
}

/// From a target to its sources, with a place for each that the forward index stores.
#[derive(Default)]
pub(crate) struct Reverse {
    /// By target index: number of the list, plus one.
    pub(super) slots: Pages<u32>,
    pub(super) lists: Vec<SourceList>,
    pub(crate) extra: Vec<ListExtra>,
    pub(super) free: Vec<u32>,
    pub(crate) extras: Extras,
}

impl Reverse {
    /// The list of a target index, whatever the generation; for targets known to be right.
    #[inline]
    pub(crate) fn list_of_index(&self, target: u32) -> Option<usize> {
        match self.slots.get(target) {
            0 => None,
            slot => Some(slot as usize - 1),
        }
    }

    #[inline]
    pub(crate) fn list(&self, target: Entity) -> Option<usize> {
        let list = self.list_of_index(target.index_u32())?;
        (self.lists[list].target == Some(target)).then_some(list)
    }

    /// The target that has this list. `None` if it is free, or if there is no list of this number.
    #[inline]
    pub(crate) fn target_of(&self, list: usize) -> Option<Entity> {
        // Does not panic, so that loops over sources can be optimised.
        self.lists.get(list)?.target
    }

    /// Number of lists, used or free: they are numbered from 0.
    pub(crate) fn list_count(&self) -> usize {
        self.lists.len()
    }

    /// Number of sources in a list.
    #[inline]
    pub(crate) fn len(&self, list: usize) -> usize {
        self.lists[list].sources.len() - self.tombstones(list).map_or(0, Tombstones::count)
    }

    #[inline]
    pub(crate) fn tombstones(&self, list: usize) -> Option<&Tombstones> {
        self.extras.ordered.then(|| &self.extra[list].tombstones)
    }

    /// The sources of a target.
    #[inline]
    pub(crate) fn sources(&self, target: Entity) -> SourceIter<'_> {
        match self.list(target) {
            Some(list) => self.sources_in(list),
            None => SourceIter::none(),
        }
    }

    /// The sources in a list.
    #[inline]
    pub(crate) fn sources_in(&self, list: usize) -> SourceIter<'_> {
        SourceIter::new(&self.lists[list].sources, self.tombstones(list))
    }

    /// Appends a source to the list of `target` and returns its place.
    #[inline(always)]
    pub(crate) fn push(&mut self, target: Entity, source: Entity) -> u32 {
        let slot = self.slots.get_mut(target.index_u32());
        if *slot == 0 {
            *slot = match self.free.pop() {
                Some(free) => {
                    self.lists[free as usize].target = Some(target);
                    free
                }
                None => {
                    self.lists.push(SourceList { target: Some(target), sources: SmallVec::new() });
                    self.lists.len() as u32 - 1
                }
            } + 1;
        }
        let list = *slot as usize - 1;
        let sources = &mut self.lists[list].sources;
        let place = sources.len() as u32;
        sources.push(source);
        if self.extras.any() {
            self.push_extra(list);
        }
        place
    }

    fn push_extra(&mut self, list: usize) {
        if self.extra.len() < self.lists.len() {
            self.extra.resize_with(self.lists.len(), ListExtra::default);
        }
        let extra = &mut self.extra[list];
        if self.extras.ticks {
            extra.ticks.push(PairTicks::default());
        }
    }

    /// Notes when the pair was inserted that was pushed last, of those with this target.
    pub(super) fn stamp_last(&mut self, target: Entity, tick: Tick) {
        if let Some(list) = self.list(target)
            && let Some(last) = self.extra[list].ticks.last_mut()
        {
            *last = PairTicks::new(tick);
        }
    }

    /// Removes the source at `place`.
    #[inline(always)]
    pub(crate) fn remove(&mut self, list: usize, place: u32) -> Moved {
        if self.extras.any() {
            return self.remove_with_extra(list, place);
        }
        let sources = &mut self.lists[list].sources;
        sources.swap_remove(place as usize);
        let moved = sources.get(place as usize).map_or(Moved::Nothing, |&last| Moved::Last(last));
        if sources.is_empty() {
            self.release(list);
        }
        moved
    }

    fn remove_with_extra(&mut self, list: usize, place: u32) -> Moved {
        if self.extras.ordered {
            return self.remove_in_order(list, place as usize);
        }
        let sources = &mut self.lists[list].sources;
        sources.swap_remove(place as usize);
        let moved = sources.get(place as usize).map_or(Moved::Nothing, |&last| Moved::Last(last));
        let extra = &mut self.extra[list];
        if self.extras.ticks {
            extra.ticks.swap_remove(place as usize);
        }
        if sources.is_empty() {
            self.release(list);
        }
        moved
    }

    fn remove_in_order(&mut self, list: usize, place: usize) -> Moved {
        let extra = &mut self.extra[list];
        let sources = &mut self.lists[list].sources;
        let len = sources.len() - extra.tombstones.mark_empty(place, sources.len());
        sources.truncate(len);
        if self.extras.ticks {
            extra.ticks.truncate(len);
        }
        if len == 0 {
            self.release(list);
            Moved::Nothing
        } else if extra.tombstones.should_compact(len) {
            self.compact(list);
            Moved::All
        } else {
            Moved::Nothing
        }
    }

    /// Drops the tombstones of a list.
    pub(crate) fn compact(&mut self, list: usize) {
        let extra = &mut self.extra[list];
        let sources = &mut self.lists[list].sources;
        let tombstones = core::mem::take(&mut extra.tombstones);
        let (mut live_source, mut live_tick) = (live_places(&tombstones), live_places(&tombstones));
        sources.retain(|_| live_source());
        // Empty unless the relation has ticks.
        extra.ticks.retain(|_| live_tick());
    }

    /// Takes all sources of a target away at once.
    pub(crate) fn take(&mut self, target: Entity) -> Option<SmallVec<[Entity; 2]>> {
        let list = self.list(target)?;
        if self.extras.ordered {
            self.compact(list);
        }
        let sources = core::mem::take(&mut self.lists[list].sources);
        self.release(list);
        Some(sources)
    }

    /// Frees an empty list. It names no target any more: that target may have another list by the time this
    /// one is read.
    fn release(&mut self, list: usize) {
        if let Some(target) = self.lists[list].target.take() {
            *self.slots.get_mut(target.index_u32()) = 0;
        }
        self.free.push(list as u32);
        // A list that was long gives its memory back; short ones are kept for the next target.
        if self.lists[list].sources.capacity() > 64 {
            self.lists[list].sources = SmallVec::new();
        }
        if let Some(extra) = self.extra.get_mut(list) {
            *extra = ListExtra::default();
        }
    }

    /// Starts to keep ticks, for existing pairs too.
    pub(crate) fn track(&mut self, tick: PairTicks) {
        self.extra.resize_with(self.lists.len(), ListExtra::default);
        for (list, extra) in self.lists.iter().zip(&mut self.extra) {
            extra.ticks.resize(list.sources.len(), tick);
        }
        self.extras.ticks = true;
    }

    /// Targets that have sources, with their lists: each once.
    #[inline]
    pub(crate) fn targets(&self) -> ListIter<'_> {
        ListIter { lists: self.lists.iter().enumerate() }
    }

    /// What is wrong with the lists by themselves, if anything, for the invariant checker.
    pub(super) fn fault(&self) -> Option<String> {
        for (index, slot) in self.slots.iter().filter(|&(_, slot)| slot != 0) {
            let target = self.target_of(slot as usize - 1);
            if target.is_none_or(|target| target.index_u32() != index) {
                return Some(format!("index {index} finds the list of {target:?}"));
            }
        }
        let mut waiting = alloc::vec![0; self.lists.len()];
        for &number in &self.free {
            match waiting.get_mut(number as usize) {
                Some(times) => *times += 1,
                None => return Some(format!("list {number} is free but not there")),
            }
        }
        for (number, list) in self.lists.iter().enumerate() {
            let fits = match list.target {
                None => waiting[number] == 1 && list.sources.is_empty(),
                Some(target) => {
                    waiting[number] == 0 && self.list(target) == Some(number) && !list.sources.is_empty()
                }
            };
            if !fits {
                let (target, sources, waiting) = (list.target, list.sources.len(), waiting[number]);
                return Some(format!(
                    "list {number} of {target:?} has {sources} places and is {waiting} times free"
                ));
            }
        }
        self.extra_fault()
    }

    /// What is wrong with the ticks and tombstones of lists, if anything.
    fn extra_fault(&self) -> Option<String> {
        let (lists, extras) = (self.lists.len(), self.extra.len());
        if self.extras.any() && lists != extras {
            return Some(format!("{extras} extras for {lists} lists"));
        }
        self.extra.iter().zip(&self.lists).enumerate().find_map(|(number, (extra, list))| {
            let places = |kept| if kept { list.sources.len() } else { 0 };
            let ticks = extra.ticks.len();
            if ticks != places(self.extras.ticks) {
                return Some(format!("list {number} has {ticks} ticks"));
            }
            let fault = extra.tombstones.fault(places(self.extras.ordered))?;
            Some(format!("list {number}: {fault}"))
        })
    }
}

/// Iterator over the lists in use, with their targets.
pub(crate) struct ListIter<'w> {
    lists: Enumerate<slice::Iter<'w, SourceList>>,
}

impl Iterator for ListIter<'_> {
    type Item = (Entity, usize);

    #[inline]
    fn next(&mut self) -> Option<(Entity, usize)> {
        self.lists.find_map(|(number, list)| Some((list.target?, number)))
    }
}

/// Says of one place after the other whether it is live.
pub(super) fn live_places(tombstones: &Tombstones) -> impl FnMut() -> bool + use<'_> {
    let mut next = 0;
    move || {
        next += 1;
        !tombstones.is_tombstone(next - 1)
    }
}

/// Iterator over the sources of a target: see [`RelationView::sources`](crate::traverse::RelationView::sources). In insertion order if the relation is `Ordered`.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # #[derive(Relation)]
/// # #[relation(ordered)]
/// # struct Likes;
/// # let mut world = World::new();
/// # let [ann, ben, cy] = [(); 3].map(|()| world.spawn_empty().id());
/// world.insert_pair_batch([(ann, Likes, cy), (ben, Likes, cy)])?;
/// let sources = world.pairs::<Likes>().sources(cy);
/// assert_eq!((sources.len(), sources.collect::<Vec<_>>()), (2, vec![ann, ben]));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone)]
pub struct SourceIter<'w>(LiveIter<'w, Entity>);

impl<'w> SourceIter<'w> {
    #[inline]
    pub(crate) fn none() -> Self {
        Self::new(&[], None)
    }

    /// The sources of a list that are no tombstones.
    #[inline]
    pub(crate) fn new(sources: &'w [Entity], tombstones: Option<&'w Tombstones>) -> Self {
        Self(LiveIter::new(sources, tombstones))
    }

    /// The sources that are left, unless there are tombstones between them.
    #[inline]
    pub(crate) fn as_slice(&self) -> Option<&'w [Entity]> {
        self.0.as_slice()
    }

    /// Some of the sources that are left, by their numbers.
    #[cfg(feature = "multi_threaded")]
    pub(crate) fn part(self, numbers: Range<usize>) -> Self {
        Self(self.0.part(numbers))
    }
}

impl Iterator for SourceIter<'_> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        self.0.next().copied()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<Entity> {
        self.0.nth(n).copied()
    }

    #[inline]
    fn fold<B, F: FnMut(B, Entity) -> B>(self, init: B, mut f: F) -> B {
        self.0.fold(init, |folded, &source| f(folded, source))
    }
}

impl ExactSizeIterator for SourceIter<'_> {}

impl core::iter::FusedIterator for SourceIter<'_> {}

impl core::fmt::Debug for SourceIter<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
