//! Components of known entities, to be written, of types that nothing names beforehand.
//!
//! Finding a component takes its id, the access to it, the entity's table and the column there. [`Writer`] keeps all of
//! it but the entity's row, for each type that was written.

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
    /// By key, modulo the number of places.
    in_place: [Option<InPlace<'w>>; IN_PLACE],
}

/// So many components of a row are found without a search.
const IN_PLACE: usize = 4;

/// The column of a table whose rows are written one after the other.
struct InPlace<'w> {
    key: usize,
    type_id: TypeId,
    table: TableId,
    /// Number of rows.
    len: usize,
    column: &'w Column,
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
        Self::of(world, None, last_run, this_run)
    }

    /// Writes what `access` allows.
    ///
    /// # Safety
    /// For as long as this lives, it must have the right to what `access` says, and nothing may write entities' places
    /// or reach the components that it returns meanwhile, but through a borrow of this.
    pub(crate) unsafe fn within(
        world: UnsafeWorldCell<'w>,
        access: &'w Access,
        last_run: Tick,
        this_run: Tick,
    ) -> Self {
        Self::of(world, Some(access), last_run, this_run)
    }

    fn of(world: UnsafeWorldCell<'w>, access: Option<&'w Access>, last_run: Tick, this_run: Tick) -> Self {
        let in_place = [const { None }; IN_PLACE];
        Self { world, access, last_run, this_run, columns: SmallVec::new(), in_place }
    }

    /// The world, if everything may be written.
    pub(crate) fn world(&self) -> Option<&World> {
        // SAFETY: without a narrower access this was made of `&mut World`. No component that was given out is alive,
        // since this is borrowed for as long as it is.
        self.access.is_none().then(|| unsafe { self.world.world() })
    }

    /// The same for a shorter time.
    pub(crate) fn reborrow(&mut self) -> BorrowedWriter<'_> {
        let writer = core::ptr::from_mut(self).cast::<Writer<'static>>();
        // SAFETY: the types differ in a lifetime only. What is borrowed gives out nothing that lives longer than the borrow
        // of `self`, and stores nothing but columns of its own world.
        BorrowedWriter(unsafe { &mut *writer })
    }

    /// The column of a table that [`get_mut`](Self::get_mut) found last with this key, if that is of this type and has the row.
    #[inline]
    fn in_place<T: Component>(&self, key: usize, (table, row): (TableId, usize)) -> Option<&'w Column> {
        let known = self.in_place[key % IN_PLACE].as_ref()?;
        let fits = known.key == key && known.table == table && known.type_id == TypeId::of::<T>();
        (fits && row < known.len).then_some(known.column)
    }

    /// The component of the entity in a row of a table. `None` if [`in_place`](Self::in_place) finds no column.
    #[inline]
    fn get_in_place<T: Component<Mutability = Mutable>>(
        &mut self,
        key: usize,
        place: (TableId, usize),
    ) -> Option<Mut<'_, T>> {
        let column = self.in_place::<T>(key, place)?;
        // SAFETY: the column is that of `T`, and its table has this row; `get_mut` has made sure that the component may be
        // written. Else as there.
        unsafe { Some(component(column, table_row(place.1), self.last_run, self.this_run)) }
    }

    /// A component, as `World::get_mut` returns it. `None` also if it may not be written. `place` is where the entity may be;
    /// with a `key`, [`get_in_place`](Self::get_in_place) finds what else is in that table.
    #[inline]
    fn get_mut<T: Component<Mutability = Mutable>>(
        &mut self,
        entity: Entity,
        place: Option<(TableId, usize)>,
        key: Option<usize>,
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
        let in_place = place.filter(|&place| known.has(entity, place));
        let row = match in_place {
            // SAFETY: the table has this row.
            Some((_, row)) => unsafe { table_row(row) },
            None => known.find(self.world, entity)?,
        };
        let column = known.column?;
        if let Some((key, (table, _))) = key.zip(in_place) {
            let (type_id, len) = (TypeId::of::<T>(), known.entities.len());
            self.in_place[key % IN_PLACE] = Some(InPlace { key, type_id, table, len, column });
        }
        // SAFETY: the column is that of `T` in the entity's table, which has this row: places and tables do not change as
        // long as this lives. `add` has made sure that the component may be written. Nothing else reaches it, as this is
        // borrowed for as long as the result is. Test: `fields_of_entities_in_several_tables_are_written`.
        unsafe { Some(component(column, row, self.last_run, self.this_run)) }
    }

    /// The components of rows of a table, all of which count as changed if that is wanted. `None` if the table has no such column or
    /// no such rows, or if the component may not be written.
    #[track_caller]
    pub(crate) fn slice_mut<T: Component<Mutability = Mutable>>(
        &mut self,
        table: TableId,
        rows: Range<usize>,
        changed: bool,
    ) -> Option<&mut [T]> {
        let id = self.world.components().component_id::<T>()?;
        if !self.may_write(id) {
            return None;
        }
        // SAFETY: the component may be written, and nothing else reaches it, as this is borrowed for as long as the result is.
        // Tests: `slices_that_are_written_count_as_changed`, `a_system_reads_and_writes_tables_as_the_world_does`.
        unsafe { write_slice(self.world, changed.then_some(self.this_run), table, rows) }
    }

    fn may_write(&self, component: ComponentId) -> bool {
        self.access.is_none_or(|access| access.has_write(component))
    }

    /// Adds a type, and returns its number. `None` if it may not be written.
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

/// The component in a row of a column.
///
/// # Safety
/// The column must hold components of type `T` and have this row, and nothing else may reach the component.
#[inline]
unsafe fn component<T>(column: &Column, row: TableRow, last_run: Tick, this_run: Tick) -> Mut<'_, T> {
    // SAFETY: as the caller promises.
    unsafe {
        Mut::new(
            column.get_data_unchecked(row).assert_unique().deref_mut(),
            &mut *column.get_added_tick_unchecked(row).get(),
            &mut *column.get_changed_tick_unchecked(row).get(),
            column.get_summary_tick(),
            last_run,
            this_run,
            column.get_changed_by_unchecked(row).map(|place| &mut *place.get()),
        )
    }
}

/// A [`Writer`] for the time of one row.
pub(crate) struct BorrowedWriter<'a>(&'a mut Writer<'static>);

impl BorrowedWriter<'_> {
    /// The same for a shorter time.
    pub(crate) fn reborrow(&mut self) -> BorrowedWriter<'_> {
        BorrowedWriter(self.0)
    }

    /// [`Writer::slice_mut`].
    #[track_caller]
    pub(crate) fn slice_mut<T: Component<Mutability = Mutable>>(
        &mut self,
        table: TableId,
        rows: Range<usize>,
        changed: bool,
    ) -> Option<&mut [T]> {
        self.0.slice_mut(table, rows, changed)
    }

    /// [`Writer::world`].
    pub(crate) fn world(&self) -> Option<&World> {
        self.0.world()
    }

    /// Whether [`get_in_place`](Self::get_in_place) finds a component.
    #[inline]
    pub(crate) fn has_in_place<T: Component>(&self, key: usize, place: (TableId, usize)) -> bool {
        self.0.in_place::<T>(key, place).is_some()
    }

    /// [`Writer::get_in_place`].
    #[inline]
    pub(crate) fn get_in_place<T: Component<Mutability = Mutable>>(
        &mut self,
        key: usize,
        place: (TableId, usize),
    ) -> Option<Mut<'_, T>> {
        self.0.get_in_place(key, place)
    }

    /// [`Writer::get_mut`].
    #[inline]
    pub(crate) fn get_mut<T: Component<Mutability = Mutable>>(
        &mut self,
        entity: Entity,
        place: Option<(TableId, usize)>,
        key: Option<usize>,
    ) -> Option<Mut<'_, T>> {
        self.0.get_mut(entity, place, key)
    }
}
