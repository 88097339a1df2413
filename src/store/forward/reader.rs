//! Reading the pairs of many sources that mostly follow each other: their slots are on the same page.
//!
//! A slot is found by the index of the source, and holds the generation of its entity. An entity that was just found alive need not be
//! compared with that, as no pair names a dead entity (*Alive*): `compare` says whether it has to be all the same.

use super::{ExclusiveForward, Forward, ManyForward, ManySlot, SourceEnd, SourceTargets, generation};
use crate::store::{bits::is_mixed, pages::Page};
use bevy_ecs::entity::Entity;

/// Reads sources of an exclusive relation.
pub(crate) struct ExclusiveReader<'w> {
    forward: &'w ExclusiveForward,
    targets: Page<'w, u64>,
    ends: Page<'w, SourceEnd>,
    compare: bool,
}

impl ExclusiveReader<'_> {
    /// The bits of the target, or 0.
    #[inline]
    pub(crate) fn target_bits(&mut self, source: Entity) -> u64 {
        let Self { forward, targets, ends, compare } = self;
        let index = source.index_u32();
        let word = targets.get(&forward.targets, index);
        if *compare && ends.get(&forward.ends, index).generation != generation(source) { 0 } else { word }
    }

    #[inline]
    pub(crate) fn target(&mut self, source: Entity) -> Option<Entity> {
        Entity::try_from_bits(self.target_bits(source))
    }

    #[inline]
    pub(crate) fn has_any(&mut self, source: Entity) -> bool {
        self.target_bits(source) != 0
    }

    #[inline]
    pub(crate) fn has(&mut self, source: Entity, target: Entity) -> bool {
        self.target_bits(source) == target.to_bits()
    }
}

/// The targets of a block of sources of an exclusive relation. They are read without a branch, which a processor could not
/// predict where some sources have a target and some have none.
pub(crate) struct TargetBlock {
    /// Bits of the targets, or 0.
    targets: [u64; Self::LEN],
    /// A bit for each source that has a target and is still to be returned.
    left: u64,
}

impl Default for TargetBlock {
    fn default() -> Self {
        Self { targets: [0; Self::LEN], left: 0 }
    }
}

impl TargetBlock {
    /// The most sources that it reads at once.
    pub(crate) const LEN: usize = 64;

    /// Reads the targets of up to [`LEN`](Self::LEN) sources.
    #[inline]
    pub(crate) fn read(&mut self, reader: &mut ExclusiveReader<'_>, sources: impl Iterator<Item = Entity>) {
        let mut left = 0;
        for (at, (target, source)) in self.targets.iter_mut().zip(sources).enumerate() {
            *target = reader.target_bits(source);
            left |= u64::from(*target != 0) << at;
        }
        self.left = left;
    }

    /// The number of the next source that has a target, and that target.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(usize, Entity)> {
        while self.left != 0 {
            let at = self.left.trailing_zeros() as usize;
            self.left &= self.left - 1;
            if let Some(target) = Entity::try_from_bits(self.targets[at]) {
                return Some((at, target));
            }
        }
        None
    }
}

/// Follows an exclusive relation from source to target.
#[derive(Clone, Copy)]
pub(crate) struct Upward<'w> {
    forward: &'w ExclusiveForward,
    compare: bool,
}

impl Upward<'_> {
    #[inline]
    pub(crate) fn target(self, source: Entity) -> Option<Entity> {
        let target = Entity::try_from_bits(self.forward.targets.get(source.index_u32()))?;
        if self.compare && !self.is_of(source) {
            return None;
        }
        Some(target)
    }

    /// The same, of a source that may have died.
    #[inline]
    pub(crate) fn compared_target(self, source: Entity) -> Option<Entity> {
        self.forward.target(source)
    }

    /// Whether the slot with this index is that of the source.
    #[inline]
    fn is_of(self, source: Entity) -> bool {
        self.forward.place(source).is_some()
    }

    /// False if a source came first to its target, which may have no other then.
    #[inline]
    pub(crate) fn has_siblings(self, source: Entity) -> bool {
        self.forward.ends.get(source.index_u32()).place > 0
    }
}

/// Reads sources of a relation that is not exclusive.
pub(crate) struct ManyReader<'w> {
    forward: &'w ManyForward,
    page: Page<'w, ManySlot>,
}

impl ManyReader<'_> {
    #[inline]
    fn held(&mut self, source: Entity) -> SourceTargets<'_> {
        let slot = self.page.get(&self.forward.slots, source.index_u32());
        self.forward.held_in(slot, source)
    }

    #[inline]
    pub(crate) fn has_any(&mut self, source: Entity) -> bool {
        self.page.get(&self.forward.slots, source.index_u32()).is_of(source)
    }

    /// A bit for each of up to 64 sources that has a target.
    #[inline]
    pub(crate) fn having(&mut self, sources: &[Entity]) -> u64 {
        (0..).zip(sources).fold(0, |bits, (at, &source)| bits | u64::from(self.has_any(source)) << at)
    }

    #[inline]
    pub(crate) fn has(&mut self, source: Entity, target: Entity) -> bool {
        match self.held(source) {
            SourceTargets::None => false,
            SourceTargets::One(own, _) => own == target,
            SourceTargets::Short(list) => self.forward.short.find(list, target).is_some(),
            SourceTargets::Long(list) => list.contains(target),
        }
    }
}

/// Reads sources of any relation.
pub(crate) enum Reader<'w> {
    Exclusive(ExclusiveReader<'w>),
    Many(ManyReader<'w>),
}

impl Reader<'_> {
    /// Whether some sources have a target and some have none, by a sample, so that it is worth it to read them in blocks. False
    /// if there are few sources.
    pub(crate) fn is_mixed(&mut self, sources: &[Entity]) -> bool {
        const MIN: usize = 1024;
        const SAMPLE: usize = 32;
        sources.len() >= MIN
            && is_mixed(sources.iter().step_by(sources.len() / SAMPLE).map(|&source| match self {
                Self::Exclusive(reader) => reader.has_any(source),
                Self::Many(reader) => reader.has_any(source),
            }))
    }
}

impl Forward {
    #[inline]
    pub(crate) fn upward(&self, compare: bool) -> Option<Upward<'_>> {
        match self {
            Self::Exclusive(forward) => Some(Upward { forward, compare }),
            Self::Many(_) => None,
        }
    }

    pub(crate) fn reader(&self, compare: bool) -> Reader<'_> {
        match self {
            Self::Exclusive(forward) => {
                let (targets, ends) = (forward.targets.page(0), forward.ends.page(0));
                Reader::Exclusive(ExclusiveReader { forward, targets, ends, compare })
            }
            Self::Many(forward) => Reader::Many(ManyReader { forward, page: forward.slots.page(0) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reader;
    use crate::{relation::RelationTraits, store::check::tests::Bed};
    use bevy_ecs::entity::Entity;

    #[test]
    fn a_source_is_not_taken_for_another_that_had_its_index() {
        for traits in [RelationTraits::new(), RelationTraits::new().exclusive()] {
            let mut bed = Bed::new(traits);
            bed.link(0, 1);
            let (source, target) = (bed.entities[0], bed.entities[1]);
            let later = source.generation().after_versions(1);
            let later = Entity::from_index_and_generation(source.index(), later);
            let index = bed.index();
            for (entity, has) in [(source, true), (later, false), (target, false)] {
                let found = match index.reader(true) {
                    Reader::Exclusive(mut reader) => {
                        assert_eq!(reader.target(entity), has.then_some(target));
                        (reader.has_any(entity), reader.has(entity, target))
                    }
                    Reader::Many(mut reader) => (reader.has_any(entity), reader.has(entity, target)),
                };
                assert_eq!(found, (has, has));
                assert_eq!((index.has_any(entity), index.has(entity, target)), found);
                assert_eq!(index.first_target(entity), has.then_some(target));
                if let Some(upward) = index.upward(true) {
                    assert_eq!(upward.target(entity), has.then_some(target));
                    assert_eq!(upward.compared_target(entity), has.then_some(target));
                }
            }
            // Nor does it find the pair, or remove it.
            assert_eq!(index.unlink(later, target), None);
            assert!(index.unlink(source, target).is_some());
            bed.is_sound();
        }
    }

    #[test]
    fn it_is_known_when_sources_have_to_be_compared() {
        let mut bed = Bed::new(RelationTraits::new().exclusive());
        bed.link(0, 1);
        assert!(!bed.store.compares(bed.id));
        let source = bed.entities[0];
        bed.store.participants_mut().strip(source);
        assert!(bed.store.compares(bed.id));
        bed.store.participants_mut().set_marked(source, true);
        assert!(!bed.store.compares(bed.id));
    }
}
