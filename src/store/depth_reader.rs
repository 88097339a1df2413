//! Reading the depths of many entities while nothing changes.

use super::index::RelationIndex;
use bevy_ecs::entity::{Entity, EntityHashMap};

/// Reads the depths of many entities.
pub(crate) struct DepthReader<'a> {
    index: &'a RelationIndex,
    /// Those that are not stored.
    known: EntityHashMap<u32>,
}

impl<'a> DepthReader<'a> {
    pub(crate) fn new(index: &'a RelationIndex) -> Self {
        Self { index, known: EntityHashMap::default() }
    }

    /// [`RelationIndex::depth_of`].
    ///
    /// # Complexity
    /// Constant, unless subtrees were moved since depths were recomputed: then proportional to the number of ancestors that no call before
    /// has visited.
    #[inline]
    pub(crate) fn depth_of(&mut self, entity: Entity) -> Option<u32> {
        let Self { index, known } = self;
        Some(index.depths.as_ref()?.get_with(&index.forward, entity, known))
    }
}
