//! What relations and types are called in saves.

use super::error::{LoadError, SaveError};
use crate::{id::RelationId, relation::RelationEntry, store::PairStore};
use alloc::string::{String, ToString};
use bevy_ecs::{name::Name, world::World};
use bevy_reflect::TypeRegistry;

/// Where names are looked up.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) world: &'a World,
    pub(super) store: &'a PairStore,
    pub(super) types: &'a TypeRegistry,
}

impl<'a> Names<'a> {
    fn short(&self, entry: &'a RelationEntry) -> Option<&'a str> {
        let name = entry.name.as_deref();
        name.or_else(|| self.world.get::<Name>(entry.entity).map(Name::as_str))
    }

    fn path(&self, entry: &RelationEntry) -> Option<&'a str> {
        let info = self.types.get_type_info(entry.type_id?)?;
        Some(info.type_path())
    }

    fn named(&self, name: &str) -> impl Iterator<Item = RelationId> {
        let entry = |id| self.store.registry().entry(id);
        let is_named =
            move |&id: &RelationId| self.short(entry(id)) == Some(name) || self.path(entry(id)) == Some(name);
        self.store.registry().ids().filter(is_named)
    }

    /// The name by which a relation is found again.
    pub(super) fn of_relation(&self, id: RelationId) -> Result<String, SaveError> {
        let entry = self.store.registry().entry(id);
        let relation = || entry.name();
        let short = self.short(entry).ok_or_else(|| SaveError::Unnamed { relation: relation() })?;
        let names = [Some(short), self.path(entry)].into_iter().flatten();
        let mut only = names.filter(|name| self.named(name).count() == 1);
        only.next().map(ToString::to_string).ok_or_else(|| SaveError::Ambiguous { relation: relation() })
    }

    /// The relation of a name.
    pub(super) fn relation(&self, name: &str) -> Result<RelationId, LoadError> {
        let mut named = self.named(name);
        let first = named.next().ok_or_else(|| LoadError::UnknownRelation { relation: name.into() })?;
        match named.next() {
            None => Ok(first),
            Some(_) => Err(LoadError::AmbiguousRelation { relation: name.into() }),
        }
    }
}
