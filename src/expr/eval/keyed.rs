//! The keys of pairs.

use super::{View, access::ColumnValues};
use crate::{id::RelationId, relation::NamedKey, store::RelationIndex};
use bevy_ecs::entity::Entity;

/// The pairs of a relation of which some have a key.
pub(crate) struct KeyedPairs<'w, 'a> {
    index: &'w RelationIndex,
    key: &'a NamedKey,
    values: ColumnValues<'w>,
}

impl<'w> View<'w> {
    /// The pairs of a keyed relation, to ask which have a key. `None` also if a system has not declared that it reads
    /// their values.
    pub(crate) fn keyed_pairs<'a>(
        &self,
        relation: RelationId,
        key: &'a NamedKey,
    ) -> Option<KeyedPairs<'w, 'a>> {
        let column = self.store.registry().entry(relation).data?;
        Some(KeyedPairs { index: self.index(relation), key, values: self.access.column(column)? })
    }
}

impl KeyedPairs<'_, '_> {
    /// Whether there is the pair, and it has the key.
    pub(crate) fn has(&self, source: Entity, target: Entity) -> bool {
        let value = self.index.row(source, target).and_then(|row| self.values.get(row));
        value.is_some_and(|value| self.key.is_of(value))
    }

    /// Whether any pair of a source has the key. Counts the pairs that are looked at.
    pub(crate) fn has_any(&self, source: Entity, steps: &mut u64) -> bool {
        self.index.targets(source).any(|target| {
            *steps += 1;
            self.has(source, target)
        })
    }
}
