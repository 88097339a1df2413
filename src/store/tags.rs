//! Tags: entities put on other entities as marks, without a relation.
//!
//! They have an index of their own, built like that of a relation: the entity that has a tag stands as the source, the tag
//! as the target. It is in no registry, so that readers of pairs do not meet tags.

use super::{Journal, PairStore, Participants, RelationIndex};
use bevy_ecs::entity::Entity;

impl PairStore {
    /// The entities with tags as sources, the tags as targets.
    #[inline]
    pub(crate) fn tags(&self) -> &RelationIndex {
        &self.tags
    }

    /// Has the changes of tags noted from now on.
    pub(crate) fn keep_tag_journal(&mut self) -> &mut Journal {
        self.tags.journal.get_or_insert_default()
    }

    /// The tags, and the roles of entities, to change them. The only caller is `PairWriter`.
    #[inline]
    pub(crate) fn tags_access(&mut self) -> (&mut RelationIndex, &mut Participants) {
        (&mut self.tags, &mut self.participants)
    }

    /// Whether the entity has a tag, or serves as one.
    #[inline]
    pub(crate) fn has_tags(&self, entity: Entity) -> bool {
        self.participants.is_tagged(entity) && self.is_in_tags(entity)
    }

    #[cold]
    fn is_in_tags(&self, entity: Entity) -> bool {
        self.tags.has_any(entity) || self.tags.is_target(entity)
    }
}
