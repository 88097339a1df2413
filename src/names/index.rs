//! Where names were found.

use super::view::Source;
use bevy_ecs::{entity::Entity, name::Name, resource::Resource};
use bevy_platform::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};
use core::ops::ControlFlow;

/// Remembers which entity a name led to. What it says must be checked: nothing tells it of changes.
#[derive(Resource, Default)]
pub(crate) struct NameIndex(RwLock<Known>);

#[derive(Default)]
struct Known {
    /// By parent and hash of the name. An entry that is not right any more gives way to the next one.
    entities: HashMap<(Option<Entity>, u64), Entity>,
    groups: HashMap<Option<Entity>, Group>,
    /// Number of entries at which those of no use are thrown away.
    limit: usize,
}

/// What is known of the children of one entity, or of the entities without a parent.
#[derive(Default)]
struct Group {
    /// Number of children gone through; later ones are new, unless some were taken away.
    seen: usize,
    /// How often a name was found only by going through everybody.
    missed: u32,
}

/// Entries from which on it pays to look for useless ones.
const MANY: usize = 1024;

/// Everybody is filed with one in so many names that had to be searched for.
const SEARCHES: u32 = 8;

impl NameIndex {
    /// The entity that had a name of this hash, and may still have it.
    pub(super) fn get(&self, parent: Option<Entity>, hash: u64) -> Option<Entity> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.entities.get(&(parent, hash)).copied()
    }

    /// Finds an entity that [`get`](Self::get) does not know, and remembers it.
    ///
    /// # Complexity
    /// A step per child that was added since the last search, if it is one of them; otherwise a step per child.
    pub(super) fn search(
        &self,
        source: &Source<'_, '_>,
        parent: Option<Entity>,
        name: &str,
        hash: u64,
    ) -> Option<Entity> {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(parent) = parent {
            let children = source.children(parent);
            let group = known.groups.entry(Some(parent)).or_default();
            let seen = group.seen.min(children.len());
            group.seen = children.len();
            // Bevy appends children.
            for &child in &children[seen..] {
                if let Some(name) = source.name(child) {
                    known.file(source, Some(parent), name.pre_hash(), child);
                }
            }
            let new = known.entities.get(&(Some(parent), hash)).copied();
            if let Some(new) = new.filter(|&new| source.is_named(new, Some(parent), name, hash)) {
                return Some(new);
            }
        }
        let found = source.first_named(parent, name, hash)?;
        let group = known.groups.entry(parent).or_default();
        if group.missed.is_multiple_of(SEARCHES) {
            let _: ControlFlow<()> = source.each(parent, &mut |entity, name: &Name| {
                known.file(source, parent, name.pre_hash(), entity);
                ControlFlow::Continue(())
            });
        } else {
            known.file(source, parent, hash, found);
        }
        known.groups.entry(parent).or_default().missed += 1;
        Some(found)
    }
}

impl Known {
    /// Enters an entity, unless another one has the name already.
    fn file(&mut self, source: &Source<'_, '_>, parent: Option<Entity>, hash: u64, entity: Entity) {
        let known = self.entities.entry((parent, hash)).or_insert(entity);
        if !source.is_hashed(*known, parent, hash) {
            *known = entity;
        }
        if self.entities.len() > self.limit.max(MANY) {
            self.entities.retain(|&(parent, hash), entity| source.is_hashed(*entity, parent, hash));
            self.groups.retain(|parent, _| parent.is_none_or(|parent| !source.children(parent).is_empty()));
            self.limit = 2 * self.entities.len();
        }
    }
}
