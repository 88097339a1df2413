//! Entities of which a component was written, found in the columns of ticks.

use super::{CursorState, FetchCursor};
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    change_detection::{MAX_CHANGE_AGE, Tick},
    component::{Component, ComponentId},
    entity::Entity,
    query::Changed,
    storage::TableId,
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::cell::UnsafeCell;

/// How many ticks are compared before one of them is looked at by itself.
pub(super) const TICKS_AT_ONCE: usize = 16;

/// Calls a function with each entity of a table whose tick in one of its columns is new.
///
/// # Safety
/// Nothing may write the ticks meanwhile.
unsafe fn for_each_new(
    ticks: &[UnsafeCell<Tick>],
    entities: &[Entity],
    is_new: impl Fn(Tick) -> bool,
    each: &mut impl FnMut(Entity),
) {
    // SAFETY: as the caller promises.
    let is_new = |tick: &UnsafeCell<Tick>| is_new(unsafe { *tick.get() });
    let mut each_of = |ticks: &[UnsafeCell<Tick>], entities: &[Entity]| {
        let new = ticks.iter().zip(entities).filter(|(tick, _)| is_new(tick));
        new.for_each(|(_, &entity)| each(entity));
    };
    let (chunks, last_ticks) = ticks.as_chunks::<TICKS_AT_ONCE>();
    let (entity_chunks, last_entities) = entities.as_chunks::<TICKS_AT_ONCE>();
    for (ticks, entities) in chunks.iter().zip(entity_chunks) {
        // Without a branch per tick, so that several are compared at once.
        if ticks.iter().fold(false, |any, tick| any | is_new(tick)) {
            each_of(ticks, entities);
        }
    }
    each_of(last_ticks, last_entities);
}

/// Whether ticks are newer than `last_run`: [`Tick::is_newer_than`], with a single comparison per tick.
fn is_newer(last_run: Tick, this_run: Tick) -> impl Fn(Tick) -> bool + Copy {
    let now = this_run.get();
    let age = now.wrapping_sub(last_run.get()).min(MAX_CHANGE_AGE);
    move |tick: Tick| now.wrapping_sub(tick.get()) < age
}

/// Calls a function with each entity, also with those that are disabled, of which a component was inserted or written
/// after `since`. The world's change tick has to be a newer one.
///
/// # Complexity
/// O(tables + entities with the component); O(1) for a table in which nothing was written, if the component has a
/// summary tick.
pub(crate) fn for_each_changed(
    world: &mut World,
    component: ComponentId,
    since: Tick,
    visit: impl FnMut(Entity),
) {
    let now = world.change_tick();
    // SAFETY: the world is borrowed for writing, and nothing is written here.
    unsafe { for_each_changed_of(world.as_unsafe_world_cell(), component, since, now, visit) }
}

/// [`for_each_changed`] with a part of a world, up to a tick.
///
/// # Safety
/// The component may be read on every entity, and nothing may write it meanwhile.
pub(super) unsafe fn for_each_changed_of(
    world: UnsafeWorldCell<'_>,
    component: ComponentId,
    since: Tick,
    now: Tick,
    mut visit: impl FnMut(Entity),
) {
    let is_new = is_newer(since, now);
    // SAFETY: the structure of the storages is looked at, and ticks that may be read, as the caller promises.
    let storages = unsafe { world.storages() };
    if let Some(set) = storages.sparse_sets.get(component) {
        let archetypes = world.archetypes().iter().filter(|archetype| archetype.contains(component));
        let entities = archetypes.flat_map(Archetype::entities).map(ArchetypeEntity::id);
        let changed = |&entity: &Entity| {
            // SAFETY: nothing writes the ticks, as the caller promises.
            set.get_changed_tick(entity).is_some_and(|tick| is_new(unsafe { *tick.get() }))
        };
        entities.filter(changed).for_each(visit);
        return;
    }
    for table in storages.tables.iter() {
        let Some(ticks) = table.get_changed_ticks_slice_for(component) else { continue };
        if table.get_summary_tick(component).is_none_or(|summary| is_new(summary.get())) {
            // SAFETY: nothing writes the ticks, as the caller promises.
            unsafe { for_each_new(ticks, table.entities(), is_new, &mut visit) };
        }
    }
}

impl<C: Component> CursorState<(), Changed<C>> {
    /// Calls a function with each entity that matches.
    ///
    /// # Complexity
    /// O(entities with the component); O(1) for a table in which nothing was written, if the component has a summary
    /// tick.
    ///
    /// # Safety
    /// As for [`FetchCursor::new`].
    pub(crate) unsafe fn for_each_changed(
        &self,
        world: UnsafeWorldCell<'_>,
        last_run: Tick,
        this_run: Tick,
        mut visit: impl FnMut(Entity),
    ) {
        // SAFETY: as the caller promises.
        let mut cursor = unsafe { FetchCursor::new(self, world, last_run, this_run) };
        // SAFETY: only the structure of the tables is looked at, and ticks that may be read, see below.
        let tables = unsafe { &world.storages().tables };
        let is_new = is_newer(last_run, this_run);
        for &storage in &self.storages {
            let table = self.dense.then(|| tables.get(TableId::from_u32(storage))).flatten();
            let column =
                table.and_then(|table| Some((table, table.get_changed_ticks_slice_for(self.filter)?)));
            if let Some((table, ticks)) = column {
                if table.get_summary_tick(self.filter).is_none_or(|summary| is_new(summary.get())) {
                    // SAFETY: the caller may read the component, so nothing writes its ticks.
                    unsafe { for_each_new(ticks, table.entities(), is_new, &mut visit) };
                }
                continue;
            }
            let rows = cursor.enter(storage);
            for (entity, row) in (0..rows.len()).filter_map(|at| rows.get(at)) {
                // SAFETY: the entity is in this row of the storage that was entered, and matches. Nothing is written.
                if unsafe { cursor.passes(entity, row) } {
                    visit(entity);
                }
            }
        }
    }
}
