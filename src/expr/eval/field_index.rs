//! Ordered indices of fields: which entities have which value in a field.
//!
//! An index is brought up to date when it is read: entities whose component was inserted or written since are found by
//! the change ticks of its columns, so that writing costs nothing, and every way to write counts. Removals are
//! not looked for: each entity that is found is checked for the component.

use super::{FieldSteps, WorldAccess};
use crate::fetch::{KnownTicks, ReflectCursor};
use alloc::{boxed::Box, collections::BTreeSet, vec::Vec};
use bevy_ecs::{
    change_detection::{CheckChangeTicks, Tick},
    component::ComponentId,
    entity::Entity,
    resource::Resource,
};
use bevy_platform::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use bevy_reflect::{PartialReflect, ReflectFromPtr};
use core::ops::RangeInclusive;

/// Entities of an index that may be gone before it is made anew, beside as many as there are left.
const MAX_GONE: usize = 64;

/// What a field is found by. The order is that of the values; what lies close together may be the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum FieldKey {
    Number(i64),
    Text(Box<str>),
}

/// Makes the key of a field. `None` if nothing but `!=` is true of it: NaN.
pub(crate) type KeyOf = Box<dyn Fn(&dyn PartialReflect) -> Option<FieldKey> + Send + Sync>;

/// The indices of a world.
#[derive(Resource, Default)]
pub(crate) struct FieldIndices {
    indices: Vec<FieldIndex>,
    /// Changes whenever an index is made or dropped.
    version: u64,
}

/// The index of a field.
pub(crate) struct FieldIndex {
    component: ComponentId,
    path: Box<str>,
    steps: FieldSteps,
    type_of: ReflectFromPtr,
    key_of: KeyOf,
    entries: Mutex<Entries>,
}

/// What is known of the values, as of a tick.
#[derive(Default)]
struct Entries {
    /// With the bits of the entity.
    ordered: BTreeSet<(FieldKey, u64)>,
    keys: HashMap<Entity, FieldKey>,
    /// What was written at this tick or before is known. `None` if nothing is.
    known: Option<Tick>,
    /// The ticks that were read.
    ticks: KnownTicks,
}

impl FieldIndices {
    /// An index by the path of its field, as reflection writes it.
    pub(crate) fn get(&self, component: ComponentId, path: &str) -> Option<&FieldIndex> {
        self.indices.iter().find(|index| index.component == component && *index.path == *path)
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn add(&mut self, index: FieldIndex) {
        self.version += 1;
        self.indices.push(index);
    }

    /// False if there is none.
    pub(crate) fn remove(&mut self, component: ComponentId, path: &str) -> bool {
        let before = self.indices.len();
        self.indices.retain(|index| index.component != component || *index.path != *path);
        self.version += 1;
        self.indices.len() < before
    }

    /// Keeps old ticks from seeming new once the counter of the world wraps around. What was read too long ago for ticks
    /// to be compared is read anew.
    pub(crate) fn clamp_ticks(&self, check: CheckChangeTicks) {
        for index in &self.indices {
            index.lock().known.take_if(|tick| tick.check_tick(check));
        }
    }
}

impl FieldIndex {
    pub(crate) fn new(
        component: ComponentId,
        path: Box<str>,
        steps: FieldSteps,
        type_of: ReflectFromPtr,
        key_of: KeyOf,
    ) -> Self {
        Self { component, path, steps, type_of, key_of, entries: Mutex::default() }
    }

    /// A panic while it was brought up to date leaves entries that are brought up to date again.
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many entities had a value within a range when the index was read last, or `limit` if there are more.
    pub(crate) fn count(&self, range: &RangeInclusive<FieldKey>, limit: usize) -> usize {
        self.lock().range(range).take(limit).count()
    }

    /// Collects the entities with a value within a range, in no order. A value on the edge of the range may lie outside
    /// of it. False if the component cannot be read.
    pub(crate) fn find(
        &self,
        access: WorldAccess<'_>,
        range: &RangeInclusive<FieldKey>,
        found: &mut Vec<Entity>,
    ) -> bool {
        found.clear();
        let Some(mut cursor) = access.cursor(self.component, &self.type_of) else { return false };
        let mut entries = self.lock();
        let entries = &mut *entries;
        self.update(entries, &mut cursor, access.write_tick());
        let (entities, archetypes) = (access.entities(), access.archetypes());
        let has = |archetype| archetypes.get(archetype).is_some_and(|known| known.contains(self.component));
        let mut gone = Vec::new();
        for entity in entries.range(range) {
            let is_there = entities.get_spawned(entity).is_ok_and(|location| has(location.archetype_id));
            if is_there { found.push(entity) } else { gone.push(entity) }
        }
        gone.into_iter().for_each(|entity| entries.set(entity, None));
        true
    }

    /// Takes what was inserted and written since. Whatever is written later has at least the tick `now`.
    fn update(&self, entries: &mut Entries, cursor: &mut ReflectCursor<'_>, now: Tick) {
        // Should a panic come between, everything is read anew.
        let known = entries.known.take();
        let len = self.read(entries, cursor, known);
        if entries.keys.len() > 2 * len + MAX_GONE {
            self.read(entries, cursor, None);
        }
        entries.known = Some(Tick::new(now.get().wrapping_sub(1)));
    }

    /// Takes what was inserted and written after a tick, or everything anew. Returns how many entities have the
    /// component.
    fn read(&self, entries: &mut Entries, cursor: &mut ReflectCursor<'_>, after: Option<Tick>) -> usize {
        if after.is_none() {
            (entries.ordered, entries.keys) = Default::default();
        }
        let (changes, mut ticks) = (cursor.ticks(), core::mem::take(&mut entries.ticks));
        let len = changes.for_each_changed(after, &mut ticks, |entity| {
            let value = cursor.get(entity).and_then(|value| self.steps.find(value.as_partial_reflect()));
            entries.set(entity, value.and_then(|field| (self.key_of)(field)));
        });
        entries.ticks = ticks;
        len
    }
}

impl Entries {
    fn range(&self, range: &RangeInclusive<FieldKey>) -> impl Iterator<Item = Entity> {
        let (first, last) = (range.start().clone(), range.end());
        let within = self.ordered.range((first, 0)..).take_while(move |(key, _)| key <= last);
        within.filter_map(|&(_, entity)| Entity::try_from_bits(entity))
    }

    /// Takes the value of an entity, or removes it.
    fn set(&mut self, entity: Entity, key: Option<FieldKey>) {
        let before = match &key {
            Some(key) => self.keys.insert(entity, key.clone()),
            None => self.keys.remove(&entity),
        };
        if before == key {
            return;
        }
        if let Some(before) = before {
            self.ordered.remove(&(before, entity.to_bits()));
        }
        self.ordered.extend(key.map(|key| (key, entity.to_bits())));
    }
}
