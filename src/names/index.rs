//! Where names were found.

use super::view::Source;
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, name::Name, resource::Resource};
use bevy_platform::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};
use core::ops::ControlFlow;

/// Remembers which entity a name led to. What it says must be checked: nothing tells it of changes.
#[derive(Resource, Default)]
pub(crate) struct NameIndex {
    cache: RwLock<NameCache>,
    /// The entities below which paths start, innermost last; what none of them leads to starts at the entities without
    /// a parent.
    pub(crate) scopes: Vec<Entity>,
}

#[derive(Default)]
struct NameCache {
    /// By parent and hash of the name. An entry that is not right any more gives way to the next one.
    entities: HashMap<(Option<Entity>, u64), Entity>,
    /// How often a child of this parent was found only by a full search.
    searches: HashMap<Option<Entity>, u32>,
    /// Number of entries at which those of no use are thrown away.
    limit: usize,
}

/// Entries from which on it pays to look for useless ones.
const MAX_FORGOTTEN: usize = 1024;

/// One in so many searches files every entity.
const SEARCHES: u32 = 8;

impl NameIndex {
    /// The entity that had a name of this hash, and may still have it.
    pub(super) fn get(&self, parent: Option<Entity>, hash: u64) -> Option<Entity> {
        let known = self.cache.read().unwrap_or_else(PoisonError::into_inner);
        known.entities.get(&(parent, hash)).copied()
    }

    /// Finds an entity that [`get`](Self::get) does not know, and remembers it.
    ///
    /// # Complexity
    /// O(entities that were added since the last search), if it is one of them; otherwise O(entities with this
    /// parent).
    pub(super) fn search(
        &self,
        source: &Source<'_, '_>,
        parent: Option<Entity>,
        name: &str,
        hash: u64,
    ) -> Option<Entity> {
        let mut known = self.cache.write().unwrap_or_else(PoisonError::into_inner);
        for (entity, name) in source.newest(parent, |entity, name| known.knows(parent, entity, name)) {
            known.file(source, parent, name.pre_hash(), entity);
        }
        let new = known.entities.get(&(parent, hash)).copied();
        if let Some(new) = new.filter(|&new| source.is_named(new, parent, name, hash)) {
            return Some(new);
        }
        let found = source.first_named(parent, name, hash)?;
        let searches = known.searches.entry(parent).or_default();
        *searches = searches.wrapping_add(1);
        if searches.is_multiple_of(SEARCHES) {
            let _: ControlFlow<()> = source.each(parent, &mut |entity, name: &Name| {
                known.file(source, parent, name.pre_hash(), entity);
                ControlFlow::Continue(())
            });
        } else {
            known.file(source, parent, hash, found);
        }
        Some(found)
    }
}

impl NameCache {
    fn knows(&self, parent: Option<Entity>, entity: Entity, name: &Name) -> bool {
        self.entities.get(&(parent, name.pre_hash())) == Some(&entity)
    }

    /// Enters an entity, unless another one has the name already.
    fn file(&mut self, source: &Source<'_, '_>, parent: Option<Entity>, hash: u64, entity: Entity) {
        let known = self.entities.entry((parent, hash)).or_insert(entity);
        if *known != entity && !source.is_hashed(*known, parent, hash) {
            *known = entity;
        }
        // No entity needs more than one.
        if self.entities.len() > self.limit.max(MAX_FORGOTTEN).max(source.entity_count()) {
            self.entities.retain(|&(parent, hash), entity| source.is_hashed(*entity, parent, hash));
            self.searches.retain(|parent, _| parent.is_none_or(|parent| !source.children(parent).is_empty()));
            self.limit = 2 * self.entities.len();
        }
    }
}
