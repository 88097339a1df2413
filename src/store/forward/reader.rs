//! Reading the pairs of many sources that mostly follow each other: their slots are on the same page.

use super::{ExclusiveForward, Forward, Held, ManyForward, ManySlot, generation};
use crate::store::{pages::Page, reverse::Reverse};
use bevy_ecs::entity::Entity;

/// Reads sources of an exclusive relation.
pub(crate) struct ExclusiveReader<'w> {
    forward: &'w ExclusiveForward,
    reverse: &'w Reverse,
    page: Page<'w, u64>,
}

impl ExclusiveReader<'_> {
    /// The index of the target, in the low half, plus one. 0 if there is no target.
    #[inline]
    fn word(&mut self, source: Entity) -> u32 {
        let word = self.page.get(&self.forward.words, source.index_u32());
        if (word >> 32) as u32 == generation(source) { word as u32 } else { 0 }
    }

    /// The index of the target of a source.
    #[inline]
    pub(crate) fn target_index(&mut self, source: Entity) -> Option<u32> {
        self.word(source).checked_sub(1)
    }

    #[inline]
    pub(crate) fn has_any(&mut self, source: Entity) -> bool {
        self.word(source) != 0
    }

    #[inline]
    pub(crate) fn has(&mut self, source: Entity, target: Entity) -> bool {
        self.word(source) == target.index_u32() + 1 && self.reverse.list(target).is_some()
    }
}

/// Follows an exclusive relation from entity index to entity index, without the lists of the targets.
#[derive(Clone, Copy)]
pub(crate) struct Upward<'w>(&'w ExclusiveForward);

impl Upward<'_> {
    /// The index of the target of a source.
    #[inline]
    pub(crate) fn target_index(self, source: Entity) -> Option<u32> {
        self.0.target_index(source)
    }

    /// False if a source came first to its target, which may have no other then.
    #[inline]
    pub(crate) fn has_siblings(self, source: Entity) -> bool {
        self.0.places.get(source.index_u32()) > 0
    }
}

/// Reads sources of a relation that is not exclusive.
pub(crate) struct ManyReader<'w> {
    forward: &'w ManyForward,
    page: Page<'w, ManySlot>,
}

impl ManyReader<'_> {
    #[inline]
    fn held(&mut self, source: Entity) -> Held<'_> {
        let slot = self.page.get(&self.forward.slots, source.index_u32());
        self.forward.held_in(slot, source)
    }

    #[inline]
    pub(crate) fn has_any(&mut self, source: Entity) -> bool {
        self.page.get(&self.forward.slots, source.index_u32()).is_of(source)
    }

    #[inline]
    pub(crate) fn has(&mut self, source: Entity, target: Entity) -> bool {
        match self.held(source) {
            Held::None => false,
            Held::One(own, _) => own == target,
            Held::List(list) => list.find(target).is_some(),
        }
    }
}

/// Reads sources of any relation.
pub(crate) enum Reader<'w> {
    Exclusive(ExclusiveReader<'w>),
    Many(ManyReader<'w>),
}

impl Forward {
    #[inline]
    pub(crate) fn upward(&self) -> Option<Upward<'_>> {
        match self {
            Self::Exclusive(forward) => Some(Upward(forward)),
            Self::Many(_) => None,
        }
    }

    pub(crate) fn reader<'w>(&'w self, reverse: &'w Reverse) -> Reader<'w> {
        match self {
            Self::Exclusive(forward) => {
                Reader::Exclusive(ExclusiveReader { forward, reverse, page: forward.words.page(0) })
            }
            Self::Many(forward) => Reader::Many(ManyReader { forward, page: forward.slots.page(0) }),
        }
    }
}
