//! Which relations have changed of those whose pairs are mirrored in components. `ops` has these written before an operation
//! returns, after the components of [first targets](super::first_target).

use super::PairStore;
use crate::{id::RelationId, relation::UpdateMirror};

impl PairStore {
    /// Notes that pairs of a relation have changed, if they are mirrored.
    #[inline]
    pub(crate) fn note_mirrored(&mut self, id: RelationId) {
        if let Some((_, update)) = self.registry.get(id).and_then(|entry| entry.mirror)
            && self.stale_mirrors.iter().all(|&(stale, _)| stale != id)
        {
            self.stale_mirrors.push((id, update));
        }
    }

    /// Whether components that mirror pairs are to be written.
    #[inline]
    pub(super) fn has_stale_mirrors(&self) -> bool {
        !self.stale_mirrors.is_empty()
    }

    /// The next relation whose components are to be written, and what writes them. The relation may be gone by now.
    #[inline]
    pub(crate) fn next_stale_mirror(&mut self) -> Option<(RelationId, UpdateMirror)> {
        self.stale_mirrors.pop()
    }
}
