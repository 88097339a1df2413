//! What relations and types are called in saves.

use super::error::{LoadError, SaveError};
use crate::{
    id::RelationId,
    names::{slot_path, slots},
    relation::{RelationEntry, RelationName},
    store::PairStore,
};
use alloc::string::{String, ToString};
use bevy_ecs::{entity::Entity, name::Name, world::World};
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

    fn slot_path(&self, entity: Entity) -> Option<String> {
        slot_path(self.world, self.store, entity)
    }

    fn named(&self, name: &str) -> impl Iterator<Item = RelationId> {
        let entry = |id| self.store.registry().entry(id);
        let is_named = move |&id: &RelationId| {
            let entry = entry(id);
            self.short(entry) == Some(name)
                || self.path(entry) == Some(name)
                || (name.contains('.') && self.slot_path(entry.entity).as_deref() == Some(name))
        };
        self.store.registry().ids().filter(is_named)
    }

    /// The name by which a relation is found again. For slots it is their path: there are many prefabs with an engine.
    pub(super) fn of_relation(&self, id: RelationId) -> Result<String, SaveError> {
        let entry = self.store.registry().entry(id);
        let short = self.short(entry).ok_or_else(|| SaveError::Unnamed { relation: entry.name() })?;
        let path = self.path(entry).map(ToString::to_string);
        let names = [self.slot_path(entry.entity), Some(short.to_string()), path];
        let mut only = names.into_iter().flatten().filter(|name| self.named(name).count() == 1);
        let relation = || RelationName { name: Some(short.to_string().into()), ..entry.name() };
        only.next().ok_or_else(|| SaveError::Ambiguous { relation: relation() })
    }

    /// The slot of that name, if it is not a relation yet: no instance of its prefab was made in this world.
    pub(super) fn new_slot(&self, name: &str) -> Result<Option<Entity>, LoadError> {
        if self.named(name).next().is_some() {
            return Ok(None);
        }
        let is_named = |slot: &Entity| {
            self.world.get::<Name>(*slot).is_some_and(|own| own.as_str() == name)
                || self.slot_path(*slot).as_deref() == Some(name)
        };
        let mut slots = slots(self.store).filter(is_named);
        match (slots.next(), slots.next()) {
            (found, None) => Ok(found),
            (_, Some(_)) => Err(LoadError::AmbiguousRelation { relation: name.into() }),
        }
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
