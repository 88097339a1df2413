//! What columns hold.

use bevy_ecs::{component::ComponentId, entity::Entity};

/// What a column holds: an entity, a component that no entity stands for, or something [`Special`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Datum(u64);

/// The low half of an entity's bits is never 0.
const NO_ENTITY: u32 = 32;
const SKIPPED: u64 = 1 << NO_ENTITY;
const NUMBERS: u64 = 2 << NO_ENTITY;
const COMPONENTS: u64 = 0x2_0000 << NO_ENTITY;

impl Datum {
    pub(crate) const UNSET: Self = Self(0);

    #[inline]
    pub(crate) fn new(entity: Entity) -> Self {
        Self(entity.to_bits())
    }

    /// Of the bits of an entity, or `none` if these are 0. Without a branch, which a processor could not predict where some have
    /// an entity and some have none.
    #[inline]
    pub(crate) fn from_bits_or(bits: u64, none: Self) -> Self {
        let is_none = u64::from(bits == 0).wrapping_neg();
        Self(bits | none.0 & is_none)
    }

    pub(crate) fn component(id: ComponentId) -> Self {
        Self(COMPONENTS + ((id.index() as u64) << NO_ENTITY))
    }

    /// The number of a row.
    #[inline]
    pub(crate) fn row(row: usize) -> Self {
        Self(row as u64)
    }

    #[inline]
    pub(crate) fn as_row(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(crate) fn entity(self) -> Option<Entity> {
        // Fails if the low half is 0, and only then.
        Entity::try_from_bits(self.0)
    }

    pub(crate) fn as_component(self) -> Option<ComponentId> {
        let index = self.0.checked_sub(COMPONENTS)? >> NO_ENTITY;
        (self.0 as u32 == 0).then(|| ComponentId::new(index as usize))
    }

    /// The number of a branch.
    pub(crate) fn number(self) -> Option<u16> {
        if self.0 as u32 != 0 || !(NUMBERS..COMPONENTS).contains(&self.0) {
            return None;
        }
        Some(((self.0 - NUMBERS) >> NO_ENTITY) as u16)
    }

    #[inline]
    pub(crate) fn is_skipped(self) -> bool {
        self.0 == SKIPPED
    }

    #[inline]
    pub(crate) fn is_unset(self) -> bool {
        self.0 == 0
    }
}

impl From<Special> for Datum {
    fn from(special: Special) -> Self {
        match special {
            Special::Unset => Self::UNSET,
            Special::Skipped => Self(SKIPPED),
            Special::Number(number) => Self(NUMBERS + (u64::from(number) << NO_ENTITY)),
        }
    }
}

/// So many are compared at a time, without an early exit: the compiler makes a few instructions of it.
const BLOCK: usize = 16;

/// How many data are the entities beside them, from the start.
#[inline]
pub(crate) fn common_start(data: &[Datum], entities: &[Entity]) -> usize {
    if data.first().copied() != entities.first().map(|&entity| Datum::new(entity)) {
        return 0;
    }
    let is_same = |(data, entities): (&[Datum], &[Entity])| {
        data.iter().zip(entities).fold(0, |bits, (datum, entity)| bits | (datum.0 ^ entity.to_bits())) == 0
    };
    let blocks = data.chunks_exact(BLOCK).zip(entities.chunks_exact(BLOCK));
    let same = blocks.take_while(|&blocks| is_same(blocks)).count() * BLOCK;
    let rest = data[same..].iter().zip(&entities[same..]);
    same + rest.take_while(|(datum, entity)| **datum == Datum::new(**entity)).count()
}

/// What a column holds in place of an entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Special {
    /// No, not found.
    Unset,
    /// A variable that an optional term or a branch left unset: terms that use it are skipped.
    Skipped,
    /// Yes; the number of a branch.
    Number(u16),
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn data_that_are_entities_are_counted_up_to_the_first_that_is_not() {
        let entities: Vec<_> = (0..70).filter_map(Entity::from_raw_u32).collect();
        let data: Vec<_> = entities.iter().map(|&entity| Datum::new(entity)).collect();
        assert_eq!(common_start(&data, &entities), 70);
        for differs in 0..70 {
            let mut other = data.clone();
            other[differs] = Special::Number(7).into();
            assert_eq!(common_start(&other, &entities), differs);
            assert_eq!(common_start(&data[..differs], &entities), differs);
            assert_eq!(common_start(&other, &entities[..differs]), differs);
        }
    }
}
