//! Where names were found.

use super::view::Source;
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, name::Name, resource::Resource};
use bevy_platform::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};
use core::ops::ControlFlow;

/// A cache of the entities that names led to. Its entries must be checked: it is not updated by changes.
#[derive(Resource, Default)]
pub(crate) struct NameIndex {
    cache: RwLock<NameCache>,
    /// The entities below which paths start, innermost last; what none of them leads to starts at the entities without
    /// a parent.
    pub(crate) scopes: Vec<Entity>,
}

#[derive(Default)]
struct NameCache {
    /// By parent, if one of its children is known. Each has a table of its own, so that none grows by many entries at a time.
    parents: HashMap<Option<Entity>, SiblingNames>,
    /// Number of entities in all of them.
    len: usize,
    /// Number of entities at which those of no use are thrown away.
    limit: usize,
}

/// Children of one parent.
#[derive(Default)]
struct SiblingNames {
    /// By hash of the name. An entry that is not right any more gives way to the next one.
    entities: HashMap<u64, Entity>,
    /// How often one was found only by a full search.
    searches: u32,
}

/// Entries from which on it pays to look for useless ones.
const MAX_UNCHECKED: usize = 1024;

/// One in so many searches files every entity.
const SEARCHES: u32 = 8;

impl NameIndex {
    /// The entity that had a name of this hash, and may still have it.
    pub(super) fn get(&self, parent: Option<Entity>, hash: u64) -> Option<Entity> {
        let known = self.cache.read().unwrap_or_else(PoisonError::into_inner);
        known.parents.get(&parent)?.entities.get(&hash).copied()
    }

    /// Finds an entity that [`get`](Self::get) does not have, and caches it.
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
        let siblings = known.parents.get(&parent);
        let is_known = |entity, name: &Name| siblings.is_some_and(|siblings| siblings.has(entity, name));
        let new = source.newest(parent, is_known);
        known.file(source, parent, &new);
        let new = known.parents.get(&parent).and_then(|siblings| siblings.entities.get(&hash).copied());
        if let Some(new) = new.filter(|&new| source.is_named(new, parent, name, hash)) {
            return Some(new);
        }
        let found = source.first_named(parent, name, hash)?;
        let siblings = known.parents.entry(parent).or_default();
        siblings.searches = siblings.searches.wrapping_add(1);
        let mut filed = Vec::new();
        if siblings.searches.is_multiple_of(SEARCHES) {
            let _: ControlFlow<()> = source.each(parent, &mut |entity, name| {
                filed.push((entity, name));
                ControlFlow::Continue(())
            });
        } else {
            filed.extend(source.name(found).map(|name| (found, name)));
        }
        known.file(source, parent, &filed);
        Some(found)
    }
}

impl SiblingNames {
    fn has(&self, entity: Entity, name: &Name) -> bool {
        self.entities.get(&name.pre_hash()) == Some(&entity)
    }
}

impl NameCache {
    /// Enters children of a parent, unless others have their names already.
    fn file(&mut self, source: &Source<'_, '_>, parent: Option<Entity>, children: &[(Entity, &Name)]) {
        if children.is_empty() {
            return;
        }
        let known = &mut self.parents.entry(parent).or_default().entities;
        self.len -= known.len();
        known.reserve(children.len().saturating_sub(known.len()));
        for &(entity, name) in children {
            let hash = name.pre_hash();
            let known = known.entry(hash).or_insert(entity);
            if *known != entity && !source.is_hashed(*known, parent, hash) {
                *known = entity;
            }
        }
        self.len += known.len();
        // No entity needs more than one.
        if self.len > self.limit.max(MAX_UNCHECKED).max(source.entity_count()) {
            self.prune(source);
        }
    }

    /// Throws away what is of no use.
    fn prune(&mut self, source: &Source<'_, '_>) {
        self.len = 0;
        self.parents.retain(|&parent, siblings| {
            siblings.entities.retain(|&hash, entity| source.is_hashed(*entity, parent, hash));
            self.len += siblings.entities.len();
            !siblings.entities.is_empty()
        });
        self.limit = 2 * self.len;
    }
}
