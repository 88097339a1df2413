//! What relations and types are called in saves.

use super::error::{LoadError, SaveError};
use crate::{
    fetch,
    id::RelationId,
    names::{is_named, relation_name, slot_path, slots},
    relation::{RelationEntry, RelationName},
    store::PairStore,
};
use alloc::string::{String, ToString};
use bevy_ecs::{entity::Entity, reflect::AppTypeRegistry, world::World};
use bevy_reflect::TypeRegistry;

/// Where names are looked up.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) world: &'a World,
    pub(super) store: &'a PairStore,
    pub(super) types: &'a TypeRegistry,
}

/// Looks up names in a world, where there is nothing to be found without a store or registered types.
pub(super) fn with_names<T, E>(world: &World, look: impl FnOnce(Names<'_>) -> Result<T, E>) -> Result<T, E> {
    let no_types = TypeRegistry::empty();
    let types = world.get_resource::<AppTypeRegistry>().map(|types| types.read());
    let types = types.as_deref().unwrap_or(&no_types);
    let no_store = PairStore::default();
    look(Names { world, store: fetch::store(world).unwrap_or(&no_store), types })
}

impl<'a> Names<'a> {
    fn path(&self, entry: &RelationEntry) -> Option<&'a str> {
        let info = self.types.get_type_info(entry.type_id?)?;
        Some(info.type_path())
    }

    fn named(&self, name: &str) -> impl Iterator<Item = RelationId> {
        self.store.registry().ids().filter(move |&id| {
            let entry = self.store.registry().entry(id);
            is_named((self.world, self.store), Some(entry), entry.entity, name)
                || self.path(entry) == Some(name)
        })
    }

    /// The name by which a relation is found again. For slots it is their path: there are many prefabs with an engine.
    pub(super) fn of_relation(&self, id: RelationId) -> Result<String, SaveError> {
        let entry = self.store.registry().entry(id);
        let own = relation_name(self.world, Some(entry), entry.entity);
        let own = own.ok_or_else(|| SaveError::Unnamed { relation: entry.name() })?;
        let path = self.path(entry).map(ToString::to_string);
        let names = [slot_path(self.world, self.store, entry.entity), Some(own.to_string()), path];
        let mut only = names.into_iter().flatten().filter(|name| self.named(name).count() == 1);
        let relation = || RelationName { name: Some(own.to_string().into()), ..entry.name() };
        only.next().ok_or_else(|| SaveError::Ambiguous { relation: relation() })
    }

    /// The slot of that name, if it is not a relation yet: no instance of its prefab was made in this world.
    pub(super) fn new_slot(&self, name: &str) -> Result<Option<Entity>, LoadError> {
        if self.named(name).next().is_some() {
            return Ok(None);
        }
        let mut slots =
            slots(self.store).filter(|&slot| is_named((self.world, self.store), None, slot, name));
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
