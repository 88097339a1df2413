//! Rows through which fields are written.

use super::{
    compiled::CompiledExpr,
    rows::{Row, WriteFieldError},
};
use crate::{
    expr::{
        bind::Var,
        eval::{Datum, DeclaredAccess, WorldAccess},
        exec::{Batch, Executor, ExprRunError, VarId},
        plan::{Operand, ShapeId},
        text::FieldAccess,
    },
    fetch::{BorrowedWriter, Writer},
};
use bevy_ecs::{
    change_detection::Mut,
    component::{Component, Mutable},
    entity::Entity,
    storage::TableId,
    world::World,
};
use core::{any::TypeId, fmt, ops::Range};
use smallvec::SmallVec;

impl CompiledExpr {
    /// Calls a function with each row, through which fields can be written.
    ///
    /// Rows are found in batches: later reads of a component see what is written, but which rows are found does not
    /// depend on it. To write many own fields, [`for_each_table_mut`](Self::for_each_table_mut) is cheaper.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::expr::PairExpr;
    /// # #[derive(Component)]
    /// # struct Fuel(u32);
    /// # let mut world = World::new();
    /// # world.register_component_name::<Fuel>("Fuel");
    /// # world.spawn_batch([Fuel(3), Fuel(4)]);
    /// let mut ships = PairExpr::parse("Fuel")?.compile(&mut world)?;
    /// ships.for_each_mut(&mut world, |mut row| row.get_mut::<Fuel>(0).unwrap().0 -= 1)?;
    /// assert_eq!(world.query::<&Fuel>().iter(&world).map(|fuel| fuel.0).sum::<u32>(), 5);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn for_each_mut(
        &mut self,
        world: &mut World,
        mut each: impl FnMut(RowMut<'_>),
    ) -> Result<(), ExprRunError> {
        let mut writer = FieldWriter::new(world);
        self.start_rows_with_gaps(writer.access(), true)?;
        while self.next_batch(writer.access())? {
            let (executor, batch) = (self.executor(), self.batch());
            // The entities are in a column: those of the table cannot be borrowed while components are written.
            batch.each_row_with_this(&[], |row, this| {
                each(RowMut::new(executor, batch, (row, this), &mut writer));
            });
        }
        Ok(())
    }
}

/// What the rows of a run are written through.
pub(in crate::expr) struct FieldWriter<'w> {
    writer: Writer<'w>,
    /// What is read in a system.
    declared: Option<&'w DeclaredAccess<'w, 'w>>,
    known: KnownFields,
}

/// Fields of which is known that they may be written in each row, the type that they were asked for with, and the
/// entity.
type KnownFields = SmallVec<[(usize, TypeId, Operand); 2]>;

impl<'w> FieldWriter<'w> {
    /// Writes in a world.
    pub(in crate::expr) fn new(world: &'w mut World) -> Self {
        Self { writer: Writer::new(world), declared: None, known: SmallVec::new() }
    }

    /// Writes in a system what it has declared.
    pub(in crate::expr) fn declared(writer: Writer<'w>, declared: &'w DeclaredAccess<'w, 'w>) -> Self {
        Self { writer, declared: Some(declared), known: SmallVec::new() }
    }

    /// What is read meanwhile.
    pub(in crate::expr) fn access(&self) -> WorldAccess<'_> {
        access(self.declared, self.writer.world())
    }

    /// The same for the time of one row, or of rows side by side.
    #[inline]
    pub(super) fn reborrow(&mut self) -> BorrowedFieldWriter<'_> {
        let Self { writer, declared, known } = self;
        BorrowedFieldWriter { writer: writer.reborrow(), declared: *declared, known }
    }
}

/// A [`FieldWriter`] for the time of a row.
pub(super) struct BorrowedFieldWriter<'a> {
    writer: BorrowedWriter<'a>,
    declared: Option<&'a DeclaredAccess<'a, 'a>>,
    known: &'a mut KnownFields,
}

impl BorrowedFieldWriter<'_> {
    /// What is read meanwhile.
    #[inline]
    pub(super) fn access(&self) -> WorldAccess<'_> {
        access(self.declared, self.writer.world())
    }

    /// Whether fields need no mark to be written.
    pub(super) fn is_exclusive(&self) -> bool {
        self.declared.is_none()
    }

    /// The components of rows of a table, all of which count as changed if that is wanted. `None` also if they may not be written.
    #[track_caller]
    pub(super) fn slice_mut<T: Component<Mutability = Mutable>>(
        &mut self,
        table: TableId,
        rows: Range<usize>,
        changed: bool,
    ) -> Option<&mut [T]> {
        self.writer.slice_mut(table, rows, changed)
    }

    /// The same for a shorter time.
    pub(super) fn reborrow(&mut self) -> BorrowedFieldWriter<'_> {
        BorrowedFieldWriter { writer: self.writer.reborrow(), declared: self.declared, known: self.known }
    }
}

const OF_WORLD: &str = "it was made of a world";

#[inline]
fn access<'a>(declared: Option<&'a DeclaredAccess<'a, 'a>>, world: Option<&'a World>) -> WorldAccess<'a> {
    match declared {
        Some(declared) => WorldAccess::Declared(declared),
        None => WorldAccess::World(world.expect(OF_WORLD)),
    }
}

/// A [`Row`] through which fields can be written.
///
/// In the book: [Expressions](crate::book::expressions).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{expr::PairExpr, prelude::*};
/// #[derive(Component)]
/// struct Fuel(u32);
///
/// # let mut world = World::new();
/// # world.register_component_name::<Fuel>("Fuel");
/// let ship = world.spawn(Fuel(3)).id();
/// let mut ships = PairExpr::parse("Fuel")?.compile(&mut world)?;
/// let this = ships.var_id("this").unwrap();
/// ships.for_each_mut(&mut world, |mut row| {
///     assert_eq!((row.this(), row.var("this"), row.var_by_id(this)), (Some(ship), Some(ship), Some(ship)));
///     row.get_mut::<Fuel>(0).unwrap().0 -= 1;
/// })?;
/// assert_eq!(world.get::<Fuel>(ship).unwrap().0, 2);
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
pub struct RowMut<'a> {
    executor: &'a Executor,
    batch: &'a Batch,
    row: usize,
    this: Datum,
    fields: BorrowedFieldWriter<'a>,
}

impl<'a> RowMut<'a> {
    #[inline]
    pub(in crate::expr) fn new(
        executor: &'a Executor,
        batch: &'a Batch,
        row: (usize, Datum),
        writer: &'a mut FieldWriter<'_>,
    ) -> Self {
        Self::of(executor, batch, row, writer.reborrow())
    }

    /// A row that is written through what was borrowed for it.
    #[inline]
    pub(super) fn of(
        executor: &'a Executor,
        batch: &'a Batch,
        (row, this): (usize, Datum),
        fields: BorrowedFieldWriter<'a>,
    ) -> Self {
        Self { executor, batch, row, this, fields }
    }

    /// The entity that the row is about; see [`Row::this`].
    #[inline]
    pub fn this(&self) -> Option<Entity> {
        self.this.entity()
    }

    /// The value of a variable; see [`Row::var`].
    pub fn var(&self, name: &str) -> Option<Entity> {
        self.as_row().var(name)
    }

    /// The value of a variable; see [`Row::var_by_id`].
    #[inline]
    pub fn var_by_id(&self, var: VarId) -> Option<Entity> {
        self.as_row().var_by_id(var)
    }

    /// The row, to be read.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::expr::PairExpr;
    /// #[derive(Component)]
    /// struct Fuel(u32);
    /// #[derive(Relation)]
    /// struct DockedTo;
    ///
    /// # let mut world = World::new();
    /// # world.register_component_name::<Fuel>("Fuel").register_relation::<DockedTo>()?;
    /// # let [oslo, hull] = [(); 2].map(|()| world.spawn_empty().id());
    /// # for (fuel, port) in [(1, oslo), (4, hull), (2, oslo)] {
    /// #     world.spawn((Fuel(fuel), Pair(DockedTo, port)));
    /// # }
    /// let mut docked = PairExpr::parse("Fuel, (DockedTo, $port)")?.compile(&mut world)?;
    /// let port = docked.var_id("port").unwrap();
    /// docked.for_each_mut(&mut world, |mut row| {
    ///     assert_eq!(row.var_by_id(port), row.var("port"));
    ///     if row.as_row().get::<Fuel>(0).is_some_and(|fuel| fuel.0 < 2) {
    ///         row.get_mut::<Fuel>(0).unwrap().0 = 9;
    ///     }
    /// })?;
    /// assert_eq!(world.query::<&Fuel>().iter(&world).map(|fuel| fuel.0).sum::<u32>(), 15);
    /// # Ok::<(), BevyError>(())
    /// ```
    #[inline]
    pub fn as_row(&self) -> Row<'_> {
        Row::about(self.executor, self.batch, (self.row, self.this), self.fields.access())
    }

    /// The value of a field, to be written.
    ///
    /// # Errors
    /// If it is not set or of another type, or if it may only be read: fields marked `[in]` or `[none]`, and those that
    /// are not of `$this` itself unless marked `[inout]` or `[out]`. In a system, only fields marked `[inout]` or
    /// `[out]` may be written.
    #[inline]
    pub fn get_mut<T: Component<Mutability = Mutable>>(
        &mut self,
        field: usize,
    ) -> Result<Mut<'_, T>, WriteFieldError> {
        let place = self.batch.in_place.map(|in_place| in_place.place(self.row));
        match place {
            Some(place) if self.fields.writer.has_in_place::<T>(field, place) => {
                let value = self.fields.writer.get_in_place(field, place);
                value.ok_or_else(|| WriteFieldError::read_only(self.executor, field))
            }
            _ => self.find_mut(field, place),
        }
    }

    /// [`get_mut`](Self::get_mut) of a field that was not written in the row before, or that is anywhere.
    #[inline(never)]
    fn find_mut<T: Component<Mutability = Mutable>>(
        &mut self,
        field: usize,
        place: Option<(TableId, usize)>,
    ) -> Result<Mut<'_, T>, WriteFieldError> {
        let asked = (field, TypeId::of::<T>());
        let known = self.fields.known.iter().find(|known| (known.0, known.1) == asked);
        let of_this = known.is_some_and(|known| known.2 == Operand::Column(Var::THIS.0));
        let source = match known.and_then(|known| self.as_row().entity(known.2)) {
            Some(source) => source,
            None => self.source_of::<T>(field)?,
        };
        match self.fields.writer.get_mut(source, place, of_this.then_some(field)) {
            Some(value) => Ok(value),
            None => Err(WriteFieldError::read_only(self.executor, field)),
        }
    }

    /// The entity on which a field may be written in this row. Notes if it may be in each.
    #[cold]
    fn source_of<T: Component>(&mut self, field: usize) -> Result<Entity, WriteFieldError> {
        let row = self.as_row();
        let source = row.writable::<T>(field, self.fields.is_exclusive())?;
        let (executor, type_id) = (self.executor, TypeId::of::<T>());
        let steady = executor.plan().fields.get(field).filter(|plan| plan.set.is_none());
        let shape = steady.and_then(|plan| plan.shapes.first());
        let shape = shape.filter(|shape| matches!(shape.id, ShapeId::Component(_)));
        let marked = matches!(row.field_access(field), Some(FieldAccess::InOut | FieldAccess::Out));
        // Without a mark it may be written because it is of `$this`, which must be so in each row.
        let operand = shape.and_then(|shape| shape.source);
        let operand = operand.filter(|&source| marked || source == Operand::Column(Var::THIS.0));
        let known = self.fields.known.iter().any(|known| (known.0, known.1) == (field, type_id));
        self.fields.known.extend(operand.filter(|_| !known).map(|operand| (field, type_id, operand)));
        Ok(source)
    }
}

impl fmt::Debug for RowMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_row().fmt(f)
    }
}
