//! Expressions as system parameters.
#![expect(unsafe_code, reason = "data is fetched past the borrow checker, which spares a look-up per row")]

mod build;
mod order;
mod parallel;
mod required;
mod state;

pub use build::ExprParam;
pub(crate) use state::ExprQueryState;

use super::{
    bind::Var,
    eval::{Datum, DeclaredAccess, WorldAccess, common_start},
    exec::{Batch, Executor, ExprRunError, InPlace, VarId},
    result::{
        CompiledExpr, FieldWriter, PageError, PageStart, Row, RowCursor, RowMut, RowTable, RowTableMut, Rows,
        without_dollar,
    },
    text::PairExpr,
};
use crate::fetch::{FetchCursor, StorageEntities, Writer, table_row};
use alloc::string::String;
use bevy_ecs::{
    change_detection::Tick,
    component::ComponentId,
    entity::Entity,
    query::{Access, QueryData, ROQueryItem},
    system::Query,
};
use core::{fmt, marker::PhantomData};

/// So many entities are looked up one by one before their neighbors in the table are tried again.
const LOOKED_UP: usize = 16;

/// A type that stands for an expression, for [`ExprQuery`].
///
/// In the book: [Expressions](crate::book::expressions).
///
/// ```
/// # use bevy_relations::prelude::*;
/// #[derive(Expression)]
/// #[expr("SpaceShip, (DockedTo, $planet), Planet($planet)")]
/// struct Docked;
/// ```
///
/// The text is read while the program is compiled, so a mistake in it is a compile error. Its names are looked up when a
/// system with it is initialised.
///
/// An expression that is put together by calls is implemented by hand:
///
/// ```
/// # use bevy_ecs::prelude::*;
/// use bevy_relations::{expr::{Expression, PairExpr, ReadFields}, prelude::*};
///
/// #[derive(Component)]
/// struct Ship;
/// #[derive(Relation)]
/// struct DockedTo;
///
/// struct Docked;
///
/// impl Expression for Docked {
///     type Fields = ReadFields;
///
///     fn expr() -> Option<PairExpr> {
///         PairExpr::builder().with::<Ship>().pair::<DockedTo>("$port").build().ok()
///     }
/// }
///
/// fn count(mut docked: ExprQuery<Docked>) -> usize {
///     docked.count().unwrap()
/// }
/// # let mut world = World::new();
/// # let port = world.spawn_empty().id();
/// # world.spawn((Ship, Pair(DockedTo, port)));
/// # assert_eq!(world.run_system_cached(count)?, 1);
/// # Ok::<(), BevyError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an expression",
    label = "not an expression",
    note = "write `#[derive(Expression)]` and `#[expr(\"..\")]` above the type, or use `AnyExpression`"
)]
pub trait Expression: Send + Sync + 'static {
    /// Whether fields are only read, or may be written as well. The derive macro chooses [`WriteFields`] if a term
    /// is marked `[inout]` or `[out]`.
    type Fields: FieldMode;

    /// The expression. `None` if it is given when the system is built; see [`ExprParam`].
    fn expr() -> Option<PairExpr>;
}

/// An expression that is given when a system is built, with [`ExprParam`].
///
/// ```
/// use bevy_ecs::{prelude::*, system::RunSystemOnce};
/// use bevy_relations::{expr::{AnyExpression, ExprParam, PairExpr}, prelude::*};
///
/// fn count(mut found: ExprQuery<AnyExpression>) -> usize {
///     found.count().unwrap()
/// }
///
/// let mut world = World::new();
/// let fleet = world.spawn(Name::new("Fleet")).id();
/// world.spawn_batch([ChildOf(fleet), ChildOf(fleet)]);
/// let expr = PairExpr::parse("(ChildOf, Fleet)")?; // from a file
/// let system = (ExprParam(expr),).build_state(&mut world).build_system(count);
/// assert_eq!(world.run_system_once(system).unwrap(), 2);
/// # Ok::<(), BevyError>(())
/// ```
pub struct AnyExpression;

impl Expression for AnyExpression {
    type Fields = WriteFields;

    fn expr() -> Option<PairExpr> {
        None
    }
}

/// Whether an [`Expression`] writes: [`ReadFields`] or [`WriteFields`].
///
/// ```
/// # use bevy_relations::{expr::{Expression, FieldMode, ReadFields, WriteFields}, prelude::*};
/// #[derive(Expression)]
/// #[expr("Ship, (DockedTo, $port)")]
/// struct Docked;
///
/// #[derive(Expression)]
/// #[expr("Ship, (DockedTo, $port), [inout] Fuel($port)")]
/// struct Refuelled;
///
/// fn has<E: Expression<Fields = M>, M: FieldMode>() {}
/// has::<Docked, ReadFields>();
/// has::<Refuelled, WriteFields>();
/// ```
pub trait FieldMode: sealed::Sealed {
    #[doc(hidden)]
    const CAN_WRITE: bool;
}

/// All fields of an [`Expression`] are only read: a system that has it as its only parameter can be a run condition.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{expr::{Expression, ReadFields}, prelude::*};
///
/// #[derive(Relation)]
/// struct DockedTo;
///
/// #[derive(Expression)]
/// #[expr("(DockedTo, *)")]
/// struct Docked;
///
/// #[derive(Resource, Default)]
/// struct Runs(u32);
///
/// fn any<E: Expression<Fields = ReadFields>>(mut found: ExprQuery<E>) -> bool {
///     found.any().unwrap_or(false)
/// }
///
/// let mut world = World::new();
/// world.init_resource::<Runs>();
/// world.register_relation::<DockedTo>()?;
/// let mut frame = Schedule::default();
/// frame.add_systems((|mut runs: ResMut<Runs>| runs.0 += 1).run_if(any::<Docked>));
/// frame.run(&mut world);
/// let port = world.spawn_empty().id();
/// world.spawn(Pair(DockedTo, port));
/// frame.run(&mut world);
/// assert_eq!(world.resource::<Runs>().0, 1);
/// # Ok::<(), BevyError>(())
/// ```
pub struct ReadFields;

/// Some field of an [`Expression`] may be written. [`FieldMode`] has an example.
pub struct WriteFields;

impl FieldMode for ReadFields {
    const CAN_WRITE: bool = false;
}

impl FieldMode for WriteFields {
    const CAN_WRITE: bool = true;
}

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for ReadFields {}
impl sealed::Sealed for WriteFields {}

/// The rows of an expression, together with typed data of the entity that each is about: a system parameter.
///
/// In the book: [Expressions](crate::book::expressions).
///
#[doc = include_str!("query.md")]
pub struct ExprQuery<'w, 's, E: Expression, D: QueryData + 'static = ()> {
    compiled: &'s mut CompiledExpr,
    rebinds: u32,
    declared: DeclaredAccess<'w, 's>,
    /// The part of the access that is to fields of `$this`.
    own: &'s Access,
    data: Query<'w, 's, D>,
    /// For the same data, row by row.
    cursor: FetchCursor<'w, 's, D>,
    _expression: PhantomData<fn() -> E>,
}

/// A run fails with [`ExprRunError::StepLimit`], if a [limit](Self::set_step_limit) is set and reached, and for no
/// other reason, unless [`group_by_id`](Self::group_by_id) was given something that is no relation.
impl<'s, E: Expression, D: QueryData + 'static> ExprQuery<'_, 's, E, D> {
    /// Calls a function with the data of `$this` to be read, and the row.
    ///
    /// # Errors
    /// If it took too many steps; some rows have been seen then.
    pub fn for_each(
        &mut self,
        mut each: impl FnMut(ROQueryItem<'_, 's, D>, Row<'_>),
    ) -> Result<(), ExprRunError> {
        let Self { compiled, declared, cursor, .. } = self;
        let access = WorldAccess::Declared(declared);
        let mut cursor = cursor.as_read_only();
        start_rows(compiled, access, cursor.is_dense())?;
        while compiled.next_batch(access)? {
            let (executor, batch) = (compiled.executor(), compiled.batch());
            // SAFETY: `self` is borrowed mutably until this is done, and nothing is written.
            unsafe {
                visit_rows(&mut cursor, batch, |item, row| {
                    each(item, Row::about(executor, batch, row, access));
                });
            }
        }
        Ok(())
    }

    /// Calls a function with the data of `$this`, and the row, to be written.
    ///
    /// An entity is passed once for each of its rows. Rows are found in batches: later reads see what is written, but
    /// which rows are found does not depend on it.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn for_each_mut(
        &mut self,
        mut each: impl FnMut(D::Item<'_, 's>, RowMut<'_>),
    ) -> Result<(), ExprRunError> {
        let Self { compiled, declared, cursor, .. } = self;
        let declared = &*declared;
        // SAFETY: `self` is borrowed mutably until this is done.
        let mut fields = unsafe { field_writer(declared) };
        start_rows(compiled, WorldAccess::Declared(declared), cursor.is_dense())?;
        while compiled.next_batch(WorldAccess::Declared(declared))? {
            let (executor, batch) = (compiled.executor(), compiled.batch());
            // SAFETY: as above.
            unsafe {
                visit_rows(cursor, batch, |item, row| {
                    each(item, RowMut::new(executor, batch, row, &mut fields));
                });
            }
        }
        Ok(())
    }

    /// [`for_each_mut`](Self::for_each_mut) for rows of the expression that were found before.
    pub(crate) fn for_each_kept_mut(
        &mut self,
        (executor, rows): (&Executor, &Batch),
        mut each: impl FnMut(D::Item<'_, 's>, RowMut<'_>),
    ) {
        // SAFETY: `self` is borrowed mutably until this is done.
        unsafe {
            let mut fields = field_writer(&self.declared);
            visit_rows(&mut self.cursor, rows, |item, row| {
                each(item, RowMut::new(executor, rows, row, &mut fields));
            });
        }
    }

    /// [`for_each_kept_mut`](Self::for_each_kept_mut) for some of the rows.
    pub(crate) fn for_some_kept_mut(
        &mut self,
        (executor, rows): (&Executor, &Batch),
        numbers: impl Iterator<Item = usize>,
        mut each: impl FnMut(D::Item<'_, 's>, RowMut<'_>),
    ) {
        // SAFETY: `self` is borrowed mutably until this is done.
        let mut fields = unsafe { field_writer(&self.declared) };
        for number in numbers {
            let this = rows.datum(Var::THIS.0, number);
            if let Some(item) = this.entity().and_then(|this| self.data.get_mut(this).ok()) {
                each(item, RowMut::new(executor, rows, (number, this), &mut fields));
            }
        }
    }

    /// Reads the data of one entity after the other.
    pub(crate) fn reader(&self) -> FetchCursor<'_, 's, D::ReadOnly> {
        self.cursor.as_read_only()
    }

    /// The tick of this run.
    pub(crate) fn this_run(&self) -> Tick {
        self.declared.this_run
    }

    /// Calls a function with each entity of which a component was inserted or written between two ticks. Returns false if
    /// it is not read.
    pub(crate) fn for_each_changed(
        &self,
        component: ComponentId,
        ticks: (Tick, Tick),
        visit: impl FnMut(Entity),
    ) -> bool {
        self.declared.rights.for_each_changed(component, ticks, visit)
    }

    /// How often the names in it got another meaning.
    pub(crate) fn rebinds(&self) -> u32 {
        self.rebinds
    }

    /// What may be read.
    pub(crate) fn access(&self) -> WorldAccess<'_> {
        WorldAccess::Declared(&self.declared)
    }

    /// Whether something that was written at a tick is new to the system.
    pub(crate) fn is_new(&self, tick: Tick) -> bool {
        tick.is_newer_than(self.declared.last_run, self.declared.this_run)
    }

    /// The rows of the expression, one after the other. Each is borrowed until the next one is read.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn rows(&mut self) -> Result<Rows<'_>, ExprRunError> {
        Rows::new(self.compiled, WorldAccess::Declared(&self.declared))
    }

    /// Calls a function with each row of the expression.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn for_each_row(&mut self, each: impl FnMut(Row<'_>)) -> Result<(), ExprRunError> {
        self.compiled.for_each_of(WorldAccess::Declared(&self.declared), each)
    }

    /// Calls a function with at most `limit` rows of the expression, from an offset or a cursor on, and returns the
    /// cursor for the next page; see [`CompiledExpr::page`].
    ///
    /// # Errors
    /// As for [`CompiledExpr::page`].
    pub fn page(
        &mut self,
        start: impl Into<PageStart>,
        limit: usize,
        each: impl FnMut(Row<'_>),
    ) -> Result<Option<RowCursor>, PageError> {
        self.compiled.page_of(WorldAccess::Declared(&self.declared), start.into(), limit, each)
    }

    /// The number of rows of the expression.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn count(&mut self) -> Result<usize, ExprRunError> {
        self.compiled.count_of(WorldAccess::Declared(&self.declared))
    }

    /// Whether the expression has a row.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn any(&mut self) -> Result<bool, ExprRunError> {
        self.compiled.any_of(WorldAccess::Declared(&self.declared))
    }

    /// The first row of the expression, if there is one.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn first(&mut self) -> Result<Option<Row<'_>>, ExprRunError> {
        self.compiled.first_of(WorldAccess::Declared(&self.declared))
    }

    /// Calls a function with rows a table at a time; see [`CompiledExpr::for_each_table`]. Slices are of fields, not of `D`.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn for_each_table(&mut self, each: impl FnMut(RowTable<'_>)) -> Result<(), ExprRunError> {
        self.compiled.for_each_table_of(WorldAccess::Declared(&self.declared), each)
    }

    /// [`for_each_table`](Self::for_each_table), through which fields can be written that are marked `[inout]` or `[out]`.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # #[derive(Relation)]
    /// # struct DockedTo;
    /// #[derive(Component)]
    /// struct Fuel(f32);
    ///
    /// #[derive(Expression)]
    /// #[expr("[inout] Fuel, !(DockedTo, *)")]
    /// struct Flying;
    ///
    /// fn burn(mut flying: ExprQuery<Flying>) -> Result {
    ///     flying.for_each_table_mut(|mut table| {
    ///         for fuel in table.slice_mut::<Fuel>(0).unwrap() {
    ///             fuel.0 -= 1.0;
    ///         }
    ///     })?;
    ///     Ok(())
    /// }
    /// # let mut world = World::new();
    /// # world.register_component_name::<Fuel>("Fuel");
    /// # world.register_relation::<DockedTo>()?;
    /// # let ship = world.spawn(Fuel(5.0)).id();
    /// # Schedule::default().add_systems(burn).run(&mut world);
    /// # assert_eq!(world.get::<Fuel>(ship).unwrap().0, 4.0);
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn for_each_table_mut(&mut self, each: impl FnMut(RowTableMut<'_>)) -> Result<(), ExprRunError> {
        // SAFETY: `self` is borrowed mutably until this is done.
        let fields = unsafe { field_writer(&self.declared) };
        self.compiled.for_each_table_with(fields, each)
    }

    /// The data of an entity, to be read, whether or not it is in a row.
    pub fn get(&self, entity: Entity) -> Option<ROQueryItem<'_, 's, D>> {
        self.data.get(entity).ok()
    }

    /// The data of an entity, whether or not it is in a row.
    pub fn get_mut(&mut self, entity: Entity) -> Option<D::Item<'_, 's>> {
        self.data.get_mut(entity).ok()
    }

    /// Restricts the rows to those in which a variable is this entity, until the system ends; `this` is a variable
    /// too. The name may have its `$`.
    ///
    /// # Errors
    /// If rows have no such variable, or the entity is not alive.
    pub fn set_var(&mut self, name: &str, entity: Entity) -> Result<&mut Self, ExprRunError> {
        let name = without_dollar(name);
        self.compiled.executor_mut().set_var(WorldAccess::Declared(&self.declared), name, entity)?;
        Ok(self)
    }

    /// Removes the restrictions of [`set_var`](Self::set_var).
    pub fn clear_vars(&mut self) {
        self.compiled.clear_vars();
    }

    /// Ends each run that takes more steps than this with an error, until the system ends; see
    /// [`CompiledExpr::set_step_limit`].
    pub fn set_step_limit(&mut self, limit: Option<u64>) {
        self.compiled.set_step_limit(limit);
    }

    /// The expression as it is run, with its fields and variables.
    pub fn compiled(&self) -> &CompiledExpr {
        self.compiled
    }

    /// The names of the variables that rows have, without `$this`.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.compiled.variables()
    }

    /// The variable of a name, to be looked up once for many rows; see [`CompiledExpr::var_id`].
    pub fn var_id(&self, name: &str) -> Option<VarId> {
        self.compiled.var_id(name)
    }

    /// Number of fields; see [`CompiledExpr::field_count`].
    pub fn field_count(&self) -> usize {
        self.compiled.field_count()
    }

    /// The number of the first field with a term, however it is written; see [`CompiledExpr::field`].
    pub fn field(&self, term: &str) -> Option<usize> {
        self.compiled.field(term)
    }

    /// The plan as text; see [`CompiledExpr::explain`].
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn explain(&mut self) -> Result<String, ExprRunError> {
        self.compiled.explain_of(WorldAccess::Declared(&self.declared))
    }
}

/// What fields are written through.
///
/// # Safety
/// As long as this is used, nothing else is that the parameter was made for, but for what is read.
unsafe fn field_writer<'w>(declared: &'w DeclaredAccess<'w, 'w>) -> FieldWriter<'w> {
    // SAFETY: the system has declared the access, and nothing else that its parameter was made for writes or lends out the
    // same components: data that conflicts with a field is refused, and the caller promises the rest. Systems do not
    // move entities. Test: `an_expression_reads_and_writes_what_its_terms_say_and_nothing_else`.
    let fields =
        unsafe { Writer::within(declared.world, declared.access, declared.last_run, declared.this_run) };
    FieldWriter::declared(fields, declared)
}

/// Starts a run for [`visit_rows`].
fn start_rows(
    compiled: &mut CompiledExpr,
    access: WorldAccess<'_>,
    is_dense: bool,
) -> Result<(), ExprRunError> {
    if !is_dense {
        return compiled.start_rows(access);
    }
    compiled.start_rows_with_gaps(access, false)?;
    compiled.executor_mut().keep_places(true);
    Ok(())
}

/// Calls a function with the data of `$this`, the number of the row, and `$this`, of all rows of a batch.
///
/// # Safety
/// `cursor` is that of a parameter. As long as this runs, of what the parameter was made for only fields are written elsewhere, and
/// nothing is read that the cursor writes.
unsafe fn visit_rows<'s, D: QueryData + 'static>(
    cursor: &mut FetchCursor<'_, 's, D>,
    batch: &Batch,
    mut each: impl FnMut(D::Item<'_, 's>, (usize, Datum)),
) {
    if let Some(InPlace { table, first, .. }) = batch.in_place {
        // Nothing if the data does not match there.
        let StorageEntities::Table(entities) = cursor.enter(table.as_u32()) else { return };
        let entities = entities.get(first..).unwrap_or_default();
        batch.each_row_of(entities, |row, &this| {
            // SAFETY: the entity is in this row of the table, which matches. The rest is as below.
            // Test: `data_is_that_of_the_entity_of_the_row_wherever_it_lies`.
            if let Some(item) = unsafe { cursor.fetch_here(this, table_row(first + row)) } {
                each(item, (row, Datum::new(this)));
            }
        });
        return;
    }
    let these = batch.columns[Var::THIS.index()].get(..batch.len).unwrap_or_default();
    // Rows about entities that follow each other in a table: then the next one is in the next row of it.
    let (mut row, mut next) = (0, 0);
    while row < these.len() {
        let side_by_side = common_start(&these[row..], cursor.table().get(next..).unwrap_or_default());
        let some = if side_by_side > 0 { side_by_side } else { LOOKED_UP.min(these.len() - row) };
        for (at, this) in these.iter().enumerate().skip(row).take(some) {
            let Some(entity) = this.entity() else { continue };
            let place = match side_by_side {
                0 => match batch.places.get(at) {
                    Some(&place) => cursor.seek(entity, &mut { place }),
                    None => cursor.find(entity),
                },
                // SAFETY: the table has this row: the entity was just found there.
                _ => Some(unsafe { table_row(next) }),
            };
            let Some(place) = place else { continue };
            next = place.index() + 1;
            // SAFETY: the entity was found there. The access was declared; nothing else has its data, as the caller promises;
            // what rows give is disjoint from what `D` writes, or the system would have been refused; `each` cannot keep
            // an item, since it must take items of any lifetime, so that none is alive when the next is fetched.
            // Tests: `data_can_be_written_also_of_an_entity_that_occurs_in_two_rows`,
            // `data_is_that_of_the_entity_of_the_row_wherever_it_lies`.
            if let Some(item) = unsafe { cursor.fetch_here(entity, place) } {
                each(item, (at, *this));
            }
        }
        row += some;
    }
}

impl<E: Expression, D: QueryData + 'static> fmt::Debug for ExprQuery<'_, '_, E, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExprQuery").finish_non_exhaustive()
    }
}
