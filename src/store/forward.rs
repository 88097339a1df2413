//! The forward index of a relation: from a source to its targets.
//!
//! Two layouts behind one interface. An exclusive relation keeps the target of each source, in eight bytes, and eight
//! more apart that a loop over living sources does not read; any other keeps sixteen, enough for one pair or for the
//! place of a list of up to eight, and moves a source with more pairs to a list of its own. Each pair stores its place
//! in the target's list of sources, which makes unlinking independent of the number of sources, and the row of its value if
//! it has one: see [`rows`].

mod edge;
mod fault;
mod long;
mod reader;
mod rows;
mod short;
mod target_iter;

pub(crate) use edge::{Edge, NO_ROW};
pub(crate) use reader::{ExclusiveReader, Reader, TargetBlock, Upward};
pub use target_iter::TargetIter;

use super::{
    pages::Pages,
    reverse::{Moved, Reverse},
};
use alloc::vec::Vec;
use bevy_ecs::entity::{Entity, EntityGeneration, EntityIndex};
use long::LongList;
use rows::SourceRows;
use short::{ShortList, ShortLists};

#[inline]
fn generation(entity: Entity) -> u32 {
    entity.generation().to_bits()
}

/// The entity with an index and a generation.
#[inline]
fn entity(index: u32, generation: u32) -> Option<Entity> {
    let generation = EntityGeneration::from_bits(generation);
    EntityIndex::from_raw_u32(index).map(|index| Entity::from_index_and_generation(index, generation))
}

/// The slot of a source of a relation that is not exclusive.
#[derive(Clone, Copy)]
struct ManySlot {
    /// Bits of the only target, or where the source's list is.
    word: u64,
    /// Place in the only target's list of sources, or [`SHORT`], [`LONG`] or [`EMPTY`].
    place: u32,
    /// Of the source.
    generation: u32,
}

/// The slot's word is a [`ShortList`].
const SHORT: u32 = u32::MAX;
/// The slot's word is the number of a [`LongList`].
const LONG: u32 = u32::MAX - 1;
/// The source has no pair.
const EMPTY: u32 = u32::MAX - 2;

impl ManySlot {
    /// Whether it is in use, and that of this source.
    #[inline]
    fn is_of(self, source: Entity) -> bool {
        self.place != EMPTY && self.generation == generation(source)
    }

    /// The word is no target.
    #[inline]
    fn is_list(self) -> bool {
        self.place >= LONG
    }
}

impl Default for ManySlot {
    fn default() -> Self {
        Self { word: 0, place: EMPTY, generation: 0 }
    }
}

/// Forward index of an exclusive relation.
#[derive(Default)]
pub(crate) struct ExclusiveForward {
    /// Bits of the target; 0, which no entity has, means no target.
    targets: Pages<u64>,
    ends: Pages<SourceEnd>,
    rows: SourceRows,
}

/// What else is kept of a source with one target.
#[derive(Clone, Copy, Default)]
struct SourceEnd {
    /// Place in the target's list of sources.
    place: u32,
    /// Of the source.
    generation: u32,
}

impl ExclusiveForward {
    /// Where the source is in the list of its target. `None` if the slot is that of another with the same index.
    #[inline]
    fn place(&self, source: Entity) -> Option<u32> {
        let end = self.ends.get(source.index_u32());
        (end.generation == generation(source)).then_some(end.place)
    }

    #[inline]
    fn target(&self, source: Entity) -> Option<Entity> {
        let target = Entity::try_from_bits(self.targets.get(source.index_u32()))?;
        self.place(source).map(|_| target)
    }

    /// Notes that a source has come to the list of a target.
    #[inline]
    fn set(&mut self, source: Entity, place: u32) {
        *self.ends.get_mut(source.index_u32()) = SourceEnd { place, generation: generation(source) };
    }
}

/// Forward index of any other relation.
#[derive(Default)]
pub(crate) struct ManyForward {
    slots: Pages<ManySlot>,
    /// Of sources with one target.
    rows: SourceRows,
    short: ShortLists,
    long: Vec<LongList>,
    /// The numbers of long lists that no source has.
    free: Vec<u32>,
}

/// What a source of a relation that is not exclusive has.
enum SourceTargets<'a> {
    None,
    One(Entity, u32),
    Short(ShortList),
    Long(&'a LongList),
}

impl ManyForward {
    #[inline]
    fn held(&self, source: Entity) -> SourceTargets<'_> {
        self.held_in(self.slots.get(source.index_u32()), source)
    }

    /// What a slot says, if it is that of `source`.
    #[inline]
    fn held_in(&self, slot: ManySlot, source: Entity) -> SourceTargets<'_> {
        if !slot.is_of(source) {
            SourceTargets::None
        } else if slot.place == SHORT {
            SourceTargets::Short(ShortList::of_word(slot.word))
        } else if slot.place == LONG {
            SourceTargets::Long(&self.long[slot.word as usize])
        } else {
            // A slot in use has an entity; asking instead of asserting costs less.
            Entity::try_from_bits(slot.word)
                .map_or(SourceTargets::None, |target| SourceTargets::One(target, slot.place))
        }
    }

    /// Adds a pair unless it is there. True if it was added.
    #[inline(always)]
    fn insert(&mut self, reverse: &mut Reverse, source: Entity, target: Entity) -> bool {
        let slot = self.slots.get_mut(source.index_u32());
        if slot.place == EMPTY {
            let place = reverse.push(target, source);
            *slot = ManySlot { word: target.to_bits(), place, generation: generation(source) };
            return true;
        }
        if !slot.is_list() && slot.word == target.to_bits() {
            return false;
        }
        self.insert_further(reverse, source, target)
    }

    /// [`insert`](Self::insert) for a source that has another target.
    fn insert_further(&mut self, reverse: &mut Reverse, source: Entity, target: Entity) -> bool {
        let Self { slots, rows, short, long, free } = self;
        let slot = slots.get_mut(source.index_u32());
        if slot.place == LONG {
            let edge = || Edge::without_value(reverse.push(target, source));
            return long[slot.word as usize].insert(target, edge);
        }
        let list = if slot.place == SHORT {
            let list = ShortList::of_word(slot.word);
            if short.find(list, target).is_some() {
                return false;
            }
            list
        } else {
            let edge = Edge { place: slot.place, row: rows.take(source.index_u32()) };
            short.create(Entity::from_bits(slot.word), edge)
        };
        let edge = Edge::without_value(reverse.push(target, source));
        if let Some(list) = short.push(list, target, edge) {
            (slot.word, slot.place) = (list.to_word(), SHORT);
            return true;
        }
        let number = free.pop().unwrap_or_else(|| {
            long.push(LongList::default());
            long.len() as u32 - 1
        });
        let edges = short.iter(list).chain([(target, edge)]);
        edges.for_each(|(target, edge)| _ = long[number as usize].insert(target, || edge));
        short.free(list);
        (slot.word, slot.place) = (u64::from(number), LONG);
        true
    }

    #[inline]
    fn remove(&mut self, source: Entity, target: Entity) -> Option<Edge> {
        let slot = self.slots.existing_mut(source.index_u32())?;
        if !slot.is_of(source) {
            return None;
        }
        if slot.is_list() {
            return self.remove_listed(source, target);
        }
        if slot.word != target.to_bits() {
            return None;
        }
        Some(Edge {
            place: core::mem::replace(&mut slot.place, EMPTY),
            row: self.rows.take(source.index_u32()),
        })
    }

    /// Removes a target from a list. A list is given up only when it is empty: a source that had several targets may have
    /// them again.
    fn remove_listed(&mut self, source: Entity, target: Entity) -> Option<Edge> {
        let slot = self.slots.existing_mut(source.index_u32())?;
        let (edge, emptied) = if slot.place == SHORT {
            let mut list = ShortList::of_word(slot.word);
            let at = self.short.find(list, target)?;
            let edge = self.short.remove(&mut list, at);
            slot.word = list.to_word();
            if list.is_empty() {
                self.short.free(list);
            }
            (edge, list.is_empty())
        } else {
            let list = &mut self.long[slot.word as usize];
            let edge = list.remove(target)?;
            if list.is_empty() {
                self.free.push(slot.word as u32);
            }
            (edge, list.is_empty())
        };
        if emptied {
            slot.place = EMPTY;
        }
        Some(edge)
    }

    /// Puts the targets of a source into another order. `order` must be a permutation of them.
    fn reorder(&mut self, source: Entity, order: &[Entity]) {
        let slot = self.slots.get(source.index_u32());
        match self.held_in(slot, source) {
            SourceTargets::None | SourceTargets::One(..) => {}
            SourceTargets::Short(list) => self.short.reorder(list, order),
            SourceTargets::Long(_) => self.long[slot.word as usize].reorder(order),
        }
    }

    #[inline]
    fn set_place(&mut self, source: Entity, target: Entity, place: u32) {
        let Some(slot) = self.slots.existing_mut(source.index_u32()) else { return };
        match slot.place {
            SHORT => self.short.set_place(ShortList::of_word(slot.word), target, place),
            LONG => self.long[slot.word as usize].set_place(target, place),
            _ => slot.place = place,
        }
    }

    /// Moves short lists together once most of their memory is free.
    fn compact(&mut self) {
        if !self.short.is_sparse() {
            return;
        }
        let scattered = core::mem::take(&mut self.short);
        self.slots.for_each_mut(|slot| {
            if slot.place == SHORT {
                slot.word = self.short.adopt(&scattered, ShortList::of_word(slot.word)).to_word();
            }
        });
    }
}

/// From a source to its targets.
pub(crate) enum Forward {
    Exclusive(ExclusiveForward),
    Many(ManyForward),
}

impl Forward {
    pub(crate) fn new(exclusive: bool) -> Self {
        if exclusive {
            Self::Exclusive(ExclusiveForward::default())
        } else {
            Self::Many(ManyForward::default())
        }
    }

    /// The place of `source` in the list of `target`, if there is such a pair.
    #[inline]
    pub(crate) fn find(&self, source: Entity, target: Entity) -> Option<u32> {
        match self {
            Self::Exclusive(forward) => {
                let is_target = forward.targets.get(source.index_u32()) == target.to_bits();
                is_target.then(|| forward.place(source)).flatten()
            }
            Self::Many(forward) => match forward.held(source) {
                SourceTargets::None => None,
                SourceTargets::One(own, place) => (own == target).then_some(place),
                SourceTargets::Short(list) => {
                    forward.short.find(list, target).map(|at| forward.short.place(list, at))
                }
                SourceTargets::Long(list) => list.place(target),
            },
        }
    }

    /// Number of targets.
    #[inline]
    pub(crate) fn len(&self, source: Entity) -> usize {
        match self {
            Self::Exclusive(forward) => usize::from(forward.target(source).is_some()),
            Self::Many(forward) => match forward.held(source) {
                SourceTargets::None => 0,
                SourceTargets::One(..) => 1,
                SourceTargets::Short(list) => list.len(),
                SourceTargets::Long(list) => list.len(),
            },
        }
    }

    #[inline]
    pub(crate) fn has_any(&self, source: Entity) -> bool {
        match self {
            Self::Exclusive(forward) => forward.target(source).is_some(),
            Self::Many(forward) => forward.slots.get(source.index_u32()).is_of(source),
        }
    }

    /// The target inserted first.
    #[inline]
    pub(crate) fn first(&self, source: Entity) -> Option<Entity> {
        match self {
            Self::Exclusive(forward) => forward.target(source),
            Self::Many(forward) => match forward.held(source) {
                SourceTargets::None => None,
                SourceTargets::One(target, _) => Some(target),
                SourceTargets::Short(list) => forward.short.targets(list).first().copied(),
                SourceTargets::Long(list) => list.nth(0),
            },
        }
    }

    /// The only target. `None` if there is no target, or more than one.
    #[inline]
    pub(crate) fn only(&self, source: Entity) -> Option<Entity> {
        match self {
            Self::Exclusive(forward) => forward.target(source),
            Self::Many(forward) => match forward.held(source) {
                SourceTargets::One(target, _) => Some(target),
                _ => None,
            },
        }
    }

    pub(crate) fn nth(&self, source: Entity, nth: usize) -> Option<Entity> {
        match self {
            Self::Exclusive(forward) if nth == 0 => forward.target(source),
            Self::Exclusive(_) => None,
            Self::Many(forward) => match forward.held(source) {
                SourceTargets::None => None,
                SourceTargets::One(target, _) => (nth == 0).then_some(target),
                SourceTargets::Short(list) => forward.short.targets(list).get(nth).copied(),
                SourceTargets::Long(list) => list.nth(nth),
            },
        }
    }

    /// All targets, in insertion order.
    #[inline]
    pub(crate) fn targets(&self, source: Entity) -> TargetIter<'_> {
        match self {
            Self::Exclusive(forward) => TargetIter::one(forward.target(source)),
            Self::Many(forward) => match forward.held(source) {
                SourceTargets::None => TargetIter::none(),
                SourceTargets::One(target, _) => TargetIter::one(Some(target)),
                SourceTargets::Short(list) => TargetIter::list(forward.short.targets(list), None),
                SourceTargets::Long(list) => list.targets(),
            },
        }
    }

    /// Adds a pair on both sides unless it is there. True if it was added. An exclusive relation must have no
    /// other target for the source.
    #[inline(always)]
    pub(crate) fn insert(&mut self, reverse: &mut Reverse, source: Entity, target: Entity) -> bool {
        match self {
            Self::Exclusive(forward) => {
                let slot = forward.targets.get_mut(source.index_u32());
                if core::mem::replace(slot, target.to_bits()) == target.to_bits()
                    && forward.place(source).is_some()
                {
                    return false;
                }
                forward.set(source, reverse.push(target, source));
                true
            }
            Self::Many(forward) => forward.insert(reverse, source, target),
        }
    }

    /// Removes a pair that is known to be there, if the relation is exclusive; finds out, if not.
    #[inline]
    pub(crate) fn remove(&mut self, source: Entity, target: Entity) -> Option<Edge> {
        match self {
            Self::Exclusive(forward) => {
                let ExclusiveForward { targets, ends, rows } = forward;
                let slot = targets.existing_mut(source.index_u32())?;
                let end = ends.get(source.index_u32());
                if *slot != target.to_bits() || end.generation != generation(source) {
                    return None;
                }
                *slot = 0;
                Some(Edge { place: end.place, row: rows.take(source.index_u32()) })
            }
            Self::Many(forward) => forward.remove(source, target),
        }
    }

    /// Removes the pairs of all sources of a target, which have no values.
    pub(crate) fn remove_all(&mut self, sources: &[Entity], target: Entity) {
        match self {
            Self::Exclusive(forward) => {
                for source in sources {
                    if let Some(slot) = forward.targets.existing_mut(source.index_u32()) {
                        *slot = 0;
                    }
                }
            }
            Self::Many(forward) => {
                for &source in sources {
                    forward.remove(source, target);
                }
            }
        }
    }

    /// Replaces the target of a source of an exclusive relation, if it has one; false if not.
    #[inline]
    pub(crate) fn retarget(&mut self, reverse: &mut Reverse, source: Entity, target: Entity) -> bool {
        let Self::Exclusive(forward) = self else { return false };
        let Some(place) = forward.place(source) else { return false };
        let slot = forward.targets.get_mut(source.index_u32());
        let old = Entity::try_from_bits(*slot);
        let Some(list) = old.and_then(|old| reverse.list_of_index(old.index_u32())) else { return false };
        *slot = target.to_bits();
        if let Moved::Last(last) = reverse.remove(list, place) {
            forward.ends.get_mut(last.index_u32()).place = place;
        }
        forward.set(source, reverse.push(target, source));
        true
    }

    /// Puts the targets of a source into another order. `order` must be a permutation of them.
    pub(crate) fn reorder(&mut self, source: Entity, order: &[Entity]) {
        if let Self::Many(forward) = self {
            forward.reorder(source, order);
        }
    }

    /// Compacts the lists if enough of their memory is unused.
    pub(crate) fn compact(&mut self) {
        if let Self::Many(forward) = self {
            forward.compact();
        }
    }

    /// Notes that a pair has moved to another place in its target's list.
    #[inline]
    pub(crate) fn set_place(&mut self, source: Entity, target: Entity, place: u32) {
        match self {
            Self::Exclusive(forward) => forward.ends.get_mut(source.index_u32()).place = place,
            Self::Many(forward) => forward.set_place(source, target, place),
        }
    }

    /// How many slots [`sources`](Self::sources) looks at, empty ones as well.
    pub(crate) fn slots(&self) -> usize {
        match self {
            Self::Exclusive(forward) => forward.targets.capacity(),
            Self::Many(forward) => forward.slots.capacity(),
        }
    }

    /// Every source, by index.
    pub(crate) fn sources(&self) -> Vec<Entity> {
        let mut sources = Vec::new();
        self.sources_into(&mut sources);
        sources
    }

    pub(crate) fn sources_into(&self, into: &mut Vec<Entity>) {
        match self {
            Self::Exclusive(forward) => {
                for (first, targets) in forward.targets.pages() {
                    let slots = (first..).zip(targets).zip(forward.ends.page(first).values());
                    let used = slots.filter(|((_, target), _)| **target != 0);
                    into.extend(used.filter_map(|((index, _), end)| entity(index, end.generation)));
                }
            }
            Self::Many(forward) => {
                for (first, slots) in forward.slots.pages() {
                    let used = (first..).zip(slots).filter(|(_, slot)| slot.place != EMPTY);
                    into.extend(used.filter_map(|(index, slot)| entity(index, slot.generation)));
                }
            }
        }
    }
}
