//! The component of relations with `storage = "Table"`, or `"Fragmenting"`: the first target of each source, in Bevy's tables.
//!
//! It follows the indices and is never asked what the pairs are while it may differ from them. A source of which the first target
//! may be another is noted as *stale*. `ops` writes the components of stale sources before an operation returns. A
//! relation with stale sources is read from the indices alone.
#![expect(unsafe_code, reason = "the components of run-time relations have no type")]

use super::{PairStore, target_components::TargetComponentPool};
use crate::{id::RelationId, relation::Relation};
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    component::{Component, ComponentCloneBehavior, ComponentDescriptor, ComponentId, StorageType},
    entity::{Entity, EntityLocation},
    lifecycle::ComponentHook,
    ptr::OwningPtr,
    storage::Table,
    world::{EntityWorldMut, World},
};
use bevy_platform::collections::HashMap;
use core::{alloc::Layout, any::TypeId, cell::UnsafeCell, marker::PhantomData, ptr::NonNull};
use smallvec::SmallVec;

/// On each source of a relation type `R` with `storage = "Table"`: its first target.
///
/// Its own type keeps the component id for a store that is made after another one of the same world was lost.
#[repr(transparent)]
pub(crate) struct FirstTarget<R>(Entity, PhantomData<fn() -> R>);

/// The id of a component of which each value is an entity, the first target of a source: a [`FirstTarget`], or one for a
/// relation that is known at run time only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TableComponent(ComponentId);

impl TableComponent {
    /// That of a relation type.
    pub(crate) fn of_type<R: Relation>(world: &mut World) -> Self
    where
        FirstTarget<R>: Component,
    {
        Self(world.register_component::<FirstTarget<R>>())
    }

    /// Registers one for any relation.
    fn register(world: &mut World, on_remove: ComponentHook) -> Self {
        Self(register(world, "FirstTarget", Layout::new::<Entity>(), on_remove))
    }

    #[inline]
    pub(crate) fn id(self) -> ComponentId {
        self.0
    }

    /// The first targets of the entities of a table, row by row. `None` if they have none.
    #[inline]
    pub(crate) fn column(self, table: &Table) -> Option<&[UnsafeCell<Entity>]> {
        // SAFETY: the values of the component are entities, or `FirstTarget`s, which are transparent.
        unsafe { table.get_data_slice_for::<Entity>(self.0) }
    }

    fn cell(self, world: &World, location: EntityLocation) -> Option<&UnsafeCell<Entity>> {
        let table = world.storages().tables.get(location.table_id)?;
        self.column(table)?.get(location.table_row.index())
    }

    /// Gives an entity this component, if it has none, and others that have no value, at once or one after the other. Runs users'
    /// code.
    pub(crate) fn insert_with(
        self,
        source: &mut EntityWorldMut<'_>,
        target: Entity,
        others: &[ComponentId],
        at_once: bool,
    ) {
        let mut value = target;
        let mut all: SmallVec<[ComponentId; 8]> = others.iter().copied().collect();
        match self.cell(source.world(), source.location()) {
            // SAFETY: the entity is borrowed mutably, and with it the world: nothing else reads or writes the value.
            Some(there) => unsafe { *there.get() = target },
            None => all.push(self.0),
        }
        let values = all.iter().map(|&component| match component == self.0 {
            true => NonNull::from(&mut value).cast::<u8>(),
            // Nothing is read there: see `register_target_component`.
            false => NonNull::dangling(),
        });
        // SAFETY: the value of this component is an entity, which has nothing to drop, and lives as long as the call takes; the
        // others have none, for which any aligned pointer will do. All are registered in this world, whose store has them.
        // `insert_by_ids` was not broken off before: see `PairStore::inserts_at_once`. An observer may have despawned the entity
        // between two calls of `insert_by_id`.
        unsafe {
            let mut values = values.map(|value| OwningPtr::new(value));
            match at_once {
                true => _ = source.insert_by_ids(&all, values),
                false => all.iter().zip(&mut values).for_each(|(&component, value)| {
                    if !source.is_despawned() {
                        source.insert_by_id(component, value);
                    }
                }),
            }
        }
    }

    /// What the component of an entity says.
    pub(super) fn get(self, world: &World, source: Entity) -> Option<Entity> {
        let cell = self.cell(world, world.get_entity(source).ok()?.location())?;
        // SAFETY: nothing writes components while the world is borrowed.
        Some(unsafe { *cell.get() })
    }

    /// Makes the component of an entity say what its first target is. Runs users' code.
    pub(crate) fn write(self, world: &mut World, source: Entity, target: Option<Entity>) {
        // It may be gone by now.
        let Ok(mut source) = world.get_entity_mut(source) else { return };
        let there = self.cell(source.world(), source.location());
        match (there, target) {
            (None, None) => {}
            (Some(_), None) => {
                source.remove_by_id(self.0);
            }
            // SAFETY: the entity is borrowed mutably, and with it the world: nothing else reads or writes the value.
            (Some(there), Some(target)) => unsafe { *there.get() = target },
            // SAFETY: the values of the component are entities. It is registered in this world, whose store has it.
            (None, Some(target)) => OwningPtr::make(target, |target| unsafe {
                source.insert_by_id(self.0, target);
            }),
        }
    }
}

/// Registers a component for all sources of a target. It has no value.
pub(crate) fn register_target_component(world: &mut World, on_remove: ComponentHook) -> ComponentId {
    register(world, "SourceOf", Layout::new::<()>(), on_remove)
}

/// Registers a component whose values are entities or nothing.
fn register(world: &mut World, name: &'static str, layout: Layout, on_remove: ComponentHook) -> ComponentId {
    // SAFETY: an `Entity`, or nothing, is `Send` and `Sync` and has nothing to drop.
    let descriptor = unsafe {
        ComponentDescriptor::new_with_layout(
            name,
            StorageType::Table,
            layout,
            None,
            false,
            false,
            ComponentCloneBehavior::Ignore,
            None,
        )
    };
    let component = world.register_component_with_descriptor(descriptor);
    if let Some(hooks) = world.register_component_hooks_by_id(component) {
        hooks.on_remove(on_remove);
    }
    component
}

/// The components of the relations with `storage = "Table"` or `"Fragmenting"`.
#[derive(Default)]
pub(crate) struct TableComponents {
    /// With the number of the relation that each serves.
    used: Vec<(TableComponent, RelationId)>,
    /// Of run-time relations that are gone, for others: Bevy keeps a component for ever.
    free: Vec<TableComponent>,
    /// What registers those of relation types.
    of_types: HashMap<TypeId, fn(&mut World) -> TableComponent>,
    /// Sources whose component may not say what their first target is.
    stale: Vec<(TableComponent, Entity)>,
    /// Stale ones whose component an observer removed while it was being written: they wait for the next operation.
    lost: Vec<(TableComponent, Entity)>,
    /// The stale ones are being written.
    is_writing: bool,
    /// A panic has broken off the writing once.
    was_broken_off: bool,
    /// Those for targets.
    pub(super) for_targets: TargetComponentPool,
}

impl TableComponents {
    /// All of them.
    pub(crate) fn ids(&self) -> impl Iterator<Item = ComponentId> + use<'_> {
        let used = self.used.iter().map(|(component, _)| component);
        used.chain(&self.free).map(|component| component.0).chain(self.for_targets.ids())
    }

    /// Notes what registers the component of a relation type.
    pub(crate) fn note_type(&mut self, type_id: TypeId, register: fn(&mut World) -> TableComponent) {
        self.of_types.insert(type_id, register);
    }

    pub(super) fn is_stale(&self, component: TableComponent, source: Entity) -> bool {
        self.stale.iter().chain(&self.lost).any(|&stale| stale == (component, source))
    }
}

/// What is to be written.
pub(crate) struct StaleSource {
    pub(crate) component: TableComponent,
    /// The relation, if its targets have components.
    pub(crate) fragmenting: Option<RelationId>,
    pub(crate) source: Entity,
    /// What its component is to say; `None` if it is to go.
    pub(crate) target: Option<Entity>,
}

/// The component of a relation, in its index.
#[derive(Clone, Copy)]
pub(super) struct TableIndex {
    pub(super) component: TableComponent,
    /// It is that of a relation type, and serves no other.
    is_of_type: bool,
    /// The number of its sources, or former sources, that are stale.
    stale: u32,
}

impl TableIndex {
    /// The component, if it is up to date.
    #[inline]
    pub(super) fn current(self) -> Option<TableComponent> {
        (self.stale == 0).then_some(self.component)
    }
}

impl PairStore {
    pub(crate) fn table_components(&self) -> &TableComponents {
        &self.tables
    }

    /// [`table_components`](Self::table_components), to change them. The only callers are in `ops`.
    pub(crate) fn table_components_mut(&mut self) -> &mut TableComponents {
        &mut self.tables
    }

    /// What registers the component of a relation: the same that it had, if it is of a type.
    pub(crate) fn table_registration(
        &mut self,
        id: RelationId,
    ) -> impl FnOnce(&mut World, ComponentHook) -> TableComponent + use<> {
        let of_type = self.registry.entry(id).type_id.and_then(|type_id| self.tables.of_types.get(&type_id));
        let (of_type, there) = (of_type.copied(), self.relation(id).table.map(|table| table.component));
        let free = if of_type.is_none() && there.is_none() { self.tables.free.pop() } else { None };
        move |world, on_remove| match (of_type, there.or(free)) {
            (Some(register), _) => register(world),
            (None, Some(component)) => component,
            (None, None) => TableComponent::register(world, on_remove),
        }
    }

    /// The relation keeps its first targets in this component from now on. It has no pairs yet; entities that `have` the component
    /// all the same are stale.
    pub(crate) fn set_table_component(
        &mut self,
        id: RelationId,
        component: TableComponent,
        have: impl Iterator<Item = Entity>,
    ) {
        self.release_table_component(id);
        self.tables.free.retain(|free| *free != component);
        self.tables.used.retain(|(used, _)| *used != component);
        self.tables.used.push((component, id));
        self.tables.stale.extend(have.map(|source| (component, source)));
        let all = self.tables.stale.iter().chain(&self.tables.lost);
        let stale = all.filter(|(stale, _)| *stale == component).count() as u32;
        let type_id = self.registry.entry(id).type_id;
        let is_of_type = type_id.is_some_and(|type_id| self.tables.of_types.contains_key(&type_id));
        let is_fragmenting = self.registry.entry(id).traits.is_fragmenting();
        let index = self.relation_mut(id);
        index.table = Some(TableIndex { component, is_of_type, stale });
        index.for_targets = is_fragmenting.then(Default::default);
    }

    /// The relation has no component any more. That of a run-time relation will serve another.
    pub(super) fn release_table_component(&mut self, id: RelationId) {
        self.release_target_components(id);
        if let Some(TableIndex { component, is_of_type, .. }) = self.relation_mut(id).table.take() {
            self.tables.used.retain(|(used, _)| *used != component);
            if !is_of_type {
                self.tables.free.push(component);
            }
        }
    }

    /// Notes that the targets of a source may be others.
    #[inline]
    pub(crate) fn note_stale(&mut self, id: RelationId, source: Entity) {
        self.note_mirrored(id);
        if let Some(table) = &mut self.relations[id.index()].table {
            let (stale, tables) = ((table.component, source), &mut self.tables);
            // The last one may be just being written: then it is to be written again.
            if tables.is_writing || tables.stale.last() != Some(&stale) {
                table.stale += 1;
                tables.stale.push(stale);
            }
        }
    }

    /// Notes that an entity loses a component that it should have. False if it should not have it; or if components are being
    /// written: then an observer has taken it, which would do so again.
    pub(crate) fn note_lost_component(&mut self, component: ComponentId, source: Entity) -> bool {
        let of_target = self.tables.for_targets.owner(component);
        let of_relation = || self.tables.used.iter().find(|(used, _)| used.0 == component);
        let Some(id) = of_target.map(|(id, _)| id).or_else(|| of_relation().map(|&(_, id)| id)) else {
            return false;
        };
        let (index, tables) = (&mut self.relations[id.index()], &mut self.tables);
        let should_have = match of_target {
            Some((_, target)) => index.has(source, target),
            None => index.has_any(source),
        };
        let Some(table) = index.table.as_mut().filter(|_| should_have) else { return false };
        table.stale += 1;
        let list = if tables.is_writing { &mut tables.lost } else { &mut tables.stale };
        list.push((table.component, source));
        !tables.is_writing
    }

    /// Whether components of sources are to be written.
    #[inline]
    pub(crate) fn has_stale_sources(&self) -> bool {
        !self.tables.stale.is_empty() || self.has_stale_mirrors()
    }

    /// Notes that components of sources are being written, and returns the first source. `None` if there is none, or if they were
    /// being written already.
    pub(crate) fn start_writing(&mut self) -> Option<StaleSource> {
        let first = self.next_stale().filter(|_| !self.tables.is_writing)?;
        self.tables.is_writing = true;
        Some(first)
    }

    /// Notes that the component of a source was written, and returns the next source. If there is none, the writing has ended.
    pub(crate) fn next_to_write(&mut self, written: &StaleSource) -> Option<StaleSource> {
        self.note_written(written);
        let next = self.next_stale();
        if next.is_none() {
            self.end_writing();
        }
        next
    }

    /// Notes that a panic in a user's observer has broken off the writing.
    pub(crate) fn abort_writing(&mut self) {
        self.tables.was_broken_off = true;
        self.end_writing();
    }

    /// Whether components of one source may be inserted in one call. Bevy's `insert_by_ids` loses how components are stored when
    /// an observer panics in it, and with the same components writes nothing from then on.
    pub(crate) fn inserts_at_once(&self) -> bool {
        !self.tables.was_broken_off
    }

    /// Notes that no components of sources are being written.
    pub(crate) fn end_writing(&mut self) {
        let tables = &mut self.tables;
        tables.stale.append(&mut tables.lost);
        tables.is_writing = false;
    }

    /// The next source whose component is to be written.
    fn next_stale(&self) -> Option<StaleSource> {
        let &(component, source) = self.tables.stale.last()?;
        let owner = self.tables.used.iter().find(|(used, _)| *used == component);
        let target = owner.and_then(|&(_, id)| self.relation(id).first_target(source));
        let fragmenting = owner.map(|&(_, id)| id).filter(|&id| self.relation(id).for_targets.is_some());
        Some(StaleSource { component, fragmenting, source, target })
    }

    /// Notes that the component of a source was written.
    fn note_written(&mut self, written: &StaleSource) {
        let tables = &mut self.tables;
        let is_written = |stale: &(TableComponent, Entity)| *stale == (written.component, written.source);
        let Some(place) = tables.stale.iter().rposition(is_written) else { return };
        tables.stale.swap_remove(place);
        let owner = tables.used.iter().find(|(used, _)| *used == written.component);
        if let Some(&(_, id)) = owner
            && let Some(table) = &mut self.relations[id.index()].table
        {
            table.stale -= 1;
        }
    }

    /// A source whose component does not say what its first target is, or an entity that has the component and is no source, for the
    /// invariant checker. Stale ones are left out.
    pub(super) fn table_fault(&self, id: RelationId, world: &World) -> Option<Entity> {
        let index = self.relation(id);
        let component = index.table?.component;
        let having = world.archetypes().iter().filter(|archetype| archetype.contains(component.0));
        let having = having.flat_map(Archetype::entities).map(ArchetypeEntity::id);
        let mut all = index.all_sources().into_iter().chain(having);
        all.find(|&source| {
            component.get(world, source) != index.first_target(source)
                && !self.tables.is_stale(component, source)
        })
    }
}
