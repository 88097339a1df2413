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
