//! The holders that were found up a relation in a run.

use crate::traverse::{Known, Memo};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

/// Holders that searches of this run have found, by the entities that they passed.
#[derive(Default)]
pub(crate) struct Holders {
    pub(super) notes: RoundNotes,
    /// A buffer of searches.
    pub(super) path: Vec<Entity>,
}

/// By entity index: the run in which it was visited, and the holder that was found from there.
#[derive(Default)]
pub(super) struct RoundNotes {
    pub(super) round: u64,
    found: Vec<(u64, Option<Entity>)>,
}

impl Memo<Entity> for RoundNotes {
    const NOTES: bool = true;

    #[inline]
    fn known(&mut self, entity: Entity, _: u32) -> Known<Entity> {
        match self.found.get(entity.index_u32() as usize) {
            Some(&(round, holder)) if round == self.round => holder.map_or(Known::Nothing, Known::Found),
            _ => Known::Unknown,
        }
    }

    #[inline]
    fn note(&mut self, entity: Entity, holder: Option<Entity>) {
        let index = entity.index_u32() as usize;
        if index >= self.found.len() {
            self.found.resize((index + 1).next_power_of_two(), (0, None));
        }
        self.found[index] = (self.round, holder);
    }
}
