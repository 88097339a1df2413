//! Which archetypes fit.

use super::view::View;
use crate::expr::plan::MaskSpec;
use alloc::vec::Vec;
use bevy_ecs::{archetype::ArchetypeId, entity::Entity};

/// The archetypes that fit each mask of a plan; new archetypes are looked at once.
#[derive(Default)]
pub(crate) struct Masks {
    masks: Vec<Mask>,
    /// Archetypes that were looked at.
    known: usize,
}

/// The archetypes that fit.
#[derive(Default)]
pub(crate) struct Mask {
    bits: Vec<u64>,
    pub(crate) archetypes: Vec<ArchetypeId>,
}

impl Mask {
    #[inline]
    pub(crate) fn fits(&self, view: &View<'_>, entity: Entity) -> bool {
        let Ok(location) = view.entities.get_spawned(entity) else { return false };
        let archetype = location.archetype_id.index();
        self.bits.get(archetype / 64).is_some_and(|word| word >> (archetype % 64) & 1 == 1)
    }
}

impl Masks {
    pub(crate) fn clear(&mut self) {
        self.masks.clear();
        self.known = 0;
    }

    #[inline]
    pub(crate) fn get(&self, mask: usize) -> &Mask {
        &self.masks[mask]
    }

    /// Gets to know new archetypes.
    pub(crate) fn update(&mut self, specs: &[MaskSpec], view: &View<'_>) {
        self.masks.resize_with(specs.len(), Mask::default);
        for archetype in view.archetypes.iter().skip(self.known) {
            for (mask, spec) in self.masks.iter_mut().zip(specs) {
                let fits = spec.with.iter().all(|&id| archetype.contains(id))
                    && !spec.without.iter().any(|&id| archetype.contains(id));
                if fits {
                    let index = archetype.id().index();
                    if index / 64 >= mask.bits.len() {
                        mask.bits.resize(index / 64 + 1, 0);
                    }
                    mask.bits[index / 64] |= 1 << (index % 64);
                    mask.archetypes.push(archetype.id());
                }
            }
        }
        self.known = view.archetypes.len();
    }
}
