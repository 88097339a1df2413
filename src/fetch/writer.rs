//! Components of known entities, to be written, of types that nothing names beforehand.
//!
//! Finding a component takes its id, the access to it, the entity's table and the column there. [`Writer`] keeps all of
//! it but the entity's row, for each type that was asked for.

use super::{
    rows::{table_entities, table_row},
    slices::write_slice,
};
use bevy_ecs::{
    change_detection::{Mut, Tick},
    component::{Component, ComponentId, Mutable, StorageType},
    entity::Entity,
    query::Access,
    storage::{Column, TableId, TableRow},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::{any::TypeId, ops::Range};
use smallvec::SmallVec;

/// Writes components of entities one after the other.
pub(crate) struct Writer<'w> {
    world: UnsafeWorldCell<'w>,
    /// What may be written, unless everything may be.
    access: Option<&'w Access>,
    last_run: Tick,
    this_run: Tick,
    columns: SmallVec<[WrittenColumn<'w>; 2]>,
}

/// Where the components of one type are.
struct WrittenColumn<'w> {
    type_id: TypeId,
    id: ComponentId,
    /// The table that was visited last, its entities, and its column. `None` if it has no such column, or if it was not visited.
    table: TableId,
    entities: &'w [Entity],
    column: Option<&'w Column>,
}

impl<'w> Writer<'w> {
    /// Writes everything.
    pub(crate) fn new(world: &'w mut World) -> Self {
        let (last_run, this_run) = (world.last_change_tick(), world.change_tick());
        let world = world.as_unsafe_world_cell();
        Self { world, access: None, last_run, this_run, columns: SmallVec::new() }
    }

    /// Writes what `access` allows.
    ///
    /// # Safety
    /// For as long as this lives, it must have the right to what `access` says, and nothing may write entities' places
    /// or reach the components meanwhile that are asked of it, but through a borrow of this.
    pub(crate) unsafe fn within(
        world: UnsafeWorldCell<'w>,
        access: &'w Access,
        last_run: Tick,
        this_run: Tick,
    ) -> Self {
        Self { world, access: Some(access), last_run, this_run, columns: SmallVec::new() }
    }

    /// The world, if everything may be written.
    pub(crate) fn world(&self) -> Option<&World> {
        // SAFETY: without a narrower access this was made of `&mut World`. No component that was given out is alive,
        // since this is borrowed for as long as it is.
        self.access.is_none().then(|| unsafe { self.world.world() })
    }

    /// The same for a shorter time.
    pub(crate) fn lend(&mut self) -> LentWriter<'_> {
        let writer = core::ptr::from_mut(self).cast::<Writer<'static>>();
        // SAFETY: the types differ in a lifetime only. What is lent gives out nothing that lives longer than the borrow
        // of `self`, and stores nothing but columns of its own world.
        LentWriter(unsafe { &mut *writer })
    }

    /// A component, as `World::get_mut` returns it. `None` also if it may not be written. `place` is where the entity may be.
    #[inline]
    fn get_mut<T: Component<Mutability = Mutable>>(
        &mut self,
        entity: Entity,
        place: Option<(TableId, usize)>,
    ) -> Option<Mut<'_, T>> {
        let known = self.columns.iter().position(|known| known.type_id == TypeId::of::<T>());
        let number = match known {
            Some(number) => number,
            None => self.add::<T>()?,
        };
        if let StorageType::SparseSet = T::STORAGE_TYPE {
            return self.get_sparse(entity);
        }
        let known = &mut self.columns[number];
        let row = match place {
            // SAFETY: the table has this row.
            Some(place) if known.has(entity, place) => unsafe { table_row(place.1) },
            _ => known.find(self.world, entity)?,
        };
        let column = known.column?;
        // SAFETY: the column is that of `T` in the entity's table, which has this row: places and tables do not change as
        // long as this lives. `add` has made sure that the component may be written. Nothing else reaches it, as this is
        // borrowed for as long as the result is. Test: `fields_of_entities_in_several_tables_are_written`.
        unsafe {
            Some(Mut::new(
                column.get_data_unchecked(row).assert_unique().deref_mut(),
                &mut *column.get_added_tick_unchecked(row).get(),
                &mut *column.get_changed_tick_unchecked(row).get(),
                column.get_summary_tick(),
                self.last_run,
                self.this_run,
                column.get_changed_by_unchecked(row).map(|place| &mut *place.get()),
            ))
        }
    }

    /// The components of rows of a table, all of which count as changed. `None` if the table has no such column or no such
    /// rows, or if the component may not be written.
    #[track_caller]
    pub(crate) fn slice_mut<T: Component<Mutability = Mutable>>(
        &mut self,
        table: TableId,
        rows: Range<usize>,
    ) -> Option<&mut [T]> {
        let id = self.world.components().component_id::<T>()?;
        if !self.may_write(id) {
            return None;
        }
        // SAFETY: the component may be written, and nothing else reaches it, as this is borrowed for as long as the result is.
        // Tests: `slices_that_are_written_count_as_changed`, `a_system_reads_and_writes_tables_as_the_world_does`.
        unsafe { write_slice(self.world, self.this_run, table, rows) }
    }

    fn may_write(&self, component: ComponentId) -> bool {
        self.access.is_none_or(|access| access.has_write(component))
    }

    /// Gets to know a type, and returns its number. `None` if it may not be written.
    #[cold]
    fn add<T: Component>(&mut self) -> Option<usize> {
        let id = self.world.components().component_id::<T>()?;
        if !self.may_write(id) {
            return None;
        }
        let nowhere = TableId::from_u32(u32::MAX);
        let type_id = TypeId::of::<T>();
        self.columns.push(WrittenColumn { type_id, id, table: nowhere, entities: &[], column: None });
        Some(self.columns.len() - 1)
    }

    fn get_sparse<T: Component<Mutability = Mutable>>(&mut self, entity: Entity) -> Option<Mut<'_, T>> {
        let entity = self.world.get_entity_with_ticks(entity, self.last_run, self.this_run).ok()?;
        // SAFETY: as in `get_mut`.
        unsafe { entity.get_mut() }
    }
}

impl<'w> WrittenColumn<'w> {
    /// Whether an entity is in this place, and that in the table that was visited last.
    #[inline]
    fn has(&self, entity: Entity, (table, row): (TableId, usize)) -> bool {
        table == self.table && self.entities.get(row) == Some(&entity)
    }

    /// Goes to the table of an entity, and returns its row.
    fn find(&mut self, world: UnsafeWorldCell<'w>, entity: Entity) -> Option<TableRow> {
        let location = world.entities().get_spawned(entity).ok()?;
        if self.table != location.table_id {
            self.go_to(world, location.table_id);
        }
        Some(location.table_row)
    }

    /// Goes to a table.
    fn go_to(&mut self, world: UnsafeWorldCell<'w>, table: TableId) {
        (self.table, self.entities) = (table, table_entities(world, table));
        // SAFETY: only the structure of the tables is looked at here.
        let table = unsafe { &world.storages().tables }.get(table);
        self.column = table.and_then(|table| table.get_column(self.id));
    }
}

/// A [`Writer`] for the time of one row.
pub(crate) struct LentWriter<'a>(&'a mut Writer<'static>);

impl LentWriter<'_> {
    /// The same for a shorter time.
    pub(crate) fn lend(&mut self) -> LentWriter<'_> {
        LentWriter(self.0)
    }

    /// [`Writer::slice_mut`].
    #[track_caller]
    pub(crate) fn slice_mut<T: Component<Mutability = Mutable>>(
        &mut self,
        table: TableId,
        rows: Range<usize>,
    ) -> Option<&mut [T]> {
        self.0.slice_mut(table, rows)
    }

    /// [`Writer::world`].
    pub(crate) fn world(&self) -> Option<&World> {
        self.0.world()
    }

    /// [`Writer::get_mut`].
    #[inline]
    pub(crate) fn get_mut<T: Component<Mutability = Mutable>>(
        &mut self,
        entity: Entity,
        place: Option<(TableId, usize)>,
    ) -> Option<Mut<'_, T>> {
        self.0.get_mut(entity, place)
    }
}
