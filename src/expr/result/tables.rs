//! Rows a table at a time.

use super::{
    compiled::CompiledExpr,
    row_mut::{BorrowedFieldWriter, FieldWriter, RowMut},
    rows::{Row, WriteFieldError},
};
use crate::expr::{
    bind::Var,
    eval::{Datum, WorldAccess, common_start},
    exec::{Batch, ExprRunError},
    plan::{Column, Operand, ShapeId},
};
use bevy_ecs::{
    component::{Component, Mutable},
    entity::Entity,
    storage::TableId,
    world::World,
};
use core::{fmt, ops::Range};
use smallvec::SmallVec;

/// So many rows are compared at first to find the end of a run.
const FIRST_RUN: usize = 16;

impl CompiledExpr {
    /// Calls a function with rows a table at a time: consecutive rows about adjacent entities of one of Bevy's tables,
    /// with their fields from the same places. Own fields are slices, shared ones are one value for all.
    ///
    /// An entity with several rows, such as one for each target, breaks the sequence: then there is one row at a time.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # #[derive(Component)]
    /// # struct Fuel(f32);
    /// # let mut world = World::new();
    /// # let fuel = world.entity_of::<Fuel>().to_bits();
    /// # world.spawn_batch([1.0, 2.0, 3.0].map(Fuel));
    /// let mut ships = PairExpr::parse(format!("#{fuel}"))?.compile(&mut world)?;
    /// let mut total = 0.0;
    /// ships.for_each_table(&world, |table| {
    ///     total += table.slice::<Fuel>(0).unwrap().iter().map(|fuel| fuel.0).sum::<f32>();
    /// })?;
    /// assert_eq!(total, 6.0);
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn for_each_table(
        &mut self,
        world: &World,
        each: impl FnMut(RowTable<'_>),
    ) -> Result<(), ExprRunError> {
        self.for_each_table_of(WorldAccess::World(world), each)
    }

    /// [`for_each_table`](Self::for_each_table) with any access.
    pub(in crate::expr) fn for_each_table_of(
        &mut self,
        access: WorldAccess<'_>,
        mut each: impl FnMut(RowTable<'_>),
    ) -> Result<(), ExprRunError> {
        self.start_rows_with_gaps(access, false)?;
        while self.next_batch(access)? {
            let steady = Steady::of(self, access);
            let mut from = 0;
            while let Some(run) = self.next_run(access, &steady, from) {
                from = run.rows.end;
                each(RowTable { expr: self, run, access });
            }
        }
        Ok(())
    }

    /// [`for_each_table`](Self::for_each_table), through which own fields can be written.
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
    /// ships.for_each_table_mut(&mut world, |mut table| {
    ///     for fuel in table.slice_mut::<Fuel>(0).unwrap() {
    ///         fuel.0 -= 1;
    ///     }
    /// })?;
    /// assert_eq!(world.query::<&Fuel>().iter(&world).map(|fuel| fuel.0).sum::<u32>(), 5);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn for_each_table_mut(
        &mut self,
        world: &mut World,
        each: impl FnMut(RowTableMut<'_>),
    ) -> Result<(), ExprRunError> {
        self.for_each_table_with(FieldWriter::new(world), each)
    }

    /// [`for_each_table_mut`](Self::for_each_table_mut) with whatever may be written.
    pub(in crate::expr) fn for_each_table_with(
        &mut self,
        mut writer: FieldWriter<'_>,
        mut each: impl FnMut(RowTableMut<'_>),
    ) -> Result<(), ExprRunError> {
        self.start_rows_with_gaps(writer.access(), false)?;
        while self.next_batch(writer.access())? {
            let steady = Steady::of(self, writer.access());
            let mut from = 0;
            while let Some(run) = self.next_run(writer.access(), &steady, from) {
                from = run.rows.end;
                each(RowTableMut { expr: self, run, writer: writer.reborrow() });
            }
        }
        Ok(())
    }

    /// The longest run of rows of the last batch that starts at `from`. `None` behind the last row.
    fn next_run(&self, access: WorldAccess<'_>, steady: &Steady, from: usize) -> Option<ContiguousRows> {
        let batch = self.batch();
        let rows = batch.next_rows(from)?;
        let from = rows.start;
        let (place, entities) = match batch.in_place {
            Some(in_place) => (in_place.place(from), None),
            None => {
                let this = Row::of(self.executor(), batch, from, access).this();
                let location = this.and_then(|this| access.entities().get_spawned(this).ok());
                let Some(location) = location else {
                    return Some(ContiguousRows { rows: from..from + 1, place: None });
                };
                let place = (location.table_id, location.table_row.index());
                (place, Some(access.table(place.0).get(place.1..).unwrap_or_default()))
            }
        };
        // Ever more rows are compared: to compare all that are left for each of many short runs would be quadratic.
        let mut most = FIRST_RUN;
        let length = loop {
            let part = from..rows.end.min(from + most);
            let side_by_side = match entities {
                Some(entities) => common_start(&batch.columns[Var::THIS.index()][part.clone()], entities),
                None => part.len(),
            };
            let length = steady.common_rows((batch, access), from..from + side_by_side);
            if length < part.len() || part.end == rows.end {
                break length;
            }
            most *= 4;
        };
        Some(ContiguousRows { rows: from..from + length.max(1), place: Some(place) })
    }
}

/// Rows of a batch that lie side by side.
#[derive(Clone)]
struct ContiguousRows {
    rows: Range<usize>,
    /// Where the first one lies, if it is about an entity.
    place: Option<(TableId, usize)>,
}

impl ContiguousRows {
    fn table_rows(&self) -> Option<(TableId, Range<usize>)> {
        let (table, row) = self.place?;
        Some((table, row..row + self.rows.len()))
    }
}

/// Columns that hold the same in all rows of a table.
struct Steady {
    columns: SmallVec<[Column; 8]>,
    /// Those of sources, which may also be the entity of the row each time.
    sources: SmallVec<[Column; 8]>,
    /// Sources that are written down: one of them may be the entity of a row too.
    constants: SmallVec<[Entity; 4]>,
}

impl Steady {
    /// Those of which it is not known for the batch at hand.
    fn of(expr: &CompiledExpr, access: WorldAccess<'_>) -> Self {
        let mut steady =
            Self { columns: SmallVec::new(), sources: SmallVec::new(), constants: SmallVec::new() };
        for field in &expr.executor().plan().fields {
            steady.columns.extend(field.set);
            for shape in &field.shapes {
                if let ShapeId::Single(Operand::Column(column)) | ShapeId::List(Operand::Column(column)) =
                    shape.id
                {
                    steady.columns.push(column);
                }
                match shape.source {
                    Some(Operand::Column(column)) if column != Var::THIS.0 => steady.sources.push(column),
                    Some(Operand::Entity(entity)) => steady.constants.push(entity),
                    Some(Operand::Column(_) | Operand::Nothing) | None => {}
                }
            }
        }
        let batch = expr.batch();
        let table = batch.in_place.map(|in_place| in_place.table);
        let is_here = |entity| {
            let place = access.entities().get_spawned(entity).ok();
            table.is_none() || place.is_some_and(|place| Some(place.table_id) == table)
        };
        steady.columns.retain(|column| !batch.common.contains(column));
        steady.sources.retain(|column| {
            let source = batch.columns[*column as usize].first().and_then(|source| source.entity());
            !batch.common.contains(column) || source.is_some_and(is_here)
        });
        steady.constants.retain(|&mut entity| is_here(entity));
        steady
    }

    /// How many of some rows, from the first on, have in all columns what the first has.
    fn common_rows(&self, (batch, access): (&Batch, WorldAccess<'_>), rows: Range<usize>) -> usize {
        let has_sources = !(self.sources.is_empty() && self.constants.is_empty());
        if self.columns.is_empty() && !has_sources {
            return rows.len();
        }
        let (first, these) = (rows.start, batch.entities_in_place(access));
        let this = |row| match batch.in_place {
            Some(_) => these.get(row).map_or(Datum::UNSET, |&this| Datum::new(this)),
            None => batch.datum(Var::THIS.0, row),
        };
        let is_same = |column: Column, row| batch.datum(column, row) == batch.datum(column, first);
        let is_own = |column, row| batch.datum(column, row) == this(row);
        // Column by column would compare the same again and again where one has short runs and another long ones.
        let continues = |&row: &usize| {
            let sources_go_on = || {
                self.sources.iter().all(|&column| match is_own(column, first) {
                    true => is_own(column, row),
                    false => is_same(column, row) && !is_own(column, row),
                }) && self.constants.iter().all(|&entity| {
                    let constant = Datum::new(entity);
                    (this(row) == constant) == (this(first) == constant)
                })
            };
            self.columns.iter().all(|&column| is_same(column, row)) && (!has_sources || sources_go_on())
        };
        rows.take_while(continues).count()
    }
}

/// Rows about entities side by side; see [`CompiledExpr::for_each_table`].
///
/// In the book: [Expressions](crate::book::expressions).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{expr::PairExpr, prelude::*};
/// #[derive(Component)]
/// struct Fuel(f32);
///
/// # let mut world = World::new();
/// # world.register_component_name::<Fuel>("Fuel");
/// # world.spawn_batch([1.0, 2.0, 3.0].map(Fuel));
/// let mut ships = PairExpr::parse("Fuel")?.compile(&mut world)?;
/// let mut empty = Vec::new();
/// ships.for_each_table(&world, |table| {
///     let fuel: &[Fuel] = table.slice(0).unwrap();
///     assert_eq!(fuel.len(), table.len());
///     let ships = table.entities().iter().zip(fuel);
///     empty.extend(ships.filter(|(_, fuel)| fuel.0 < 1.5).map(|(&ship, _)| ship));
/// })?;
/// assert_eq!(empty.len(), 1);
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
///
/// What differs from row to row, and what the rows have in common:
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{expr::PairExpr, prelude::*};
/// #[derive(Component)]
/// struct Fuel(f32);
/// #[derive(Component)]
/// struct Price(u32);
/// #[derive(Relation)]
/// struct DockedTo;
///
/// # let mut world = World::new();
/// # world.register_component_name::<Fuel>("Fuel").register_component_name::<Price>("Price");
/// # world.register_relation::<DockedTo>()?;
/// # let market = world.spawn((Name::new("Market"), Price(3))).id();
/// # let ports = [(); 2].map(|()| world.spawn_empty().id());
/// # world.spawn_batch_with_pair(ports.map(|port| (Fuel(1.0), DockedTo, port)));
/// let mut ships = PairExpr::parse("Fuel, Price(Market), (DockedTo, $port)")?.compile(&mut world)?;
/// let mut seen = Vec::new();
/// ships.for_each_table(&world, |table| {
///     assert!(!table.is_empty() && table.is_set(0) && table.is_own(0) && !table.is_own(1));
///     assert_eq!((table.source(1), table.shared::<Price>(1).unwrap().0), (Some(market), 3));
///     seen.extend(table.var("port").flatten());
///     assert!(table.rows().all(|row| row.this().is_some()));
/// })?;
/// assert_eq!(seen, ports);
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
#[derive(Clone)]
pub struct RowTable<'a> {
    expr: &'a CompiledExpr,
    run: ContiguousRows,
    access: WorldAccess<'a>,
}

impl<'a> RowTable<'a> {
    fn first(&self) -> Row<'a> {
        Row::of(self.expr.executor(), self.expr.batch(), self.run.rows.start, self.access)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.run.rows.len()
    }

    /// Whether there are no rows: always false.
    pub fn is_empty(&self) -> bool {
        self.run.rows.is_empty()
    }

    /// The rows one by one, for what may differ between them: variables and targets.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'a>> + use<'a> {
        let (expr, batch, access) = (self.expr, self.expr.batch(), self.access);
        self.run.rows.clone().map(move |row| Row::of(expr.executor(), batch, row, access))
    }

    /// The entities that the rows are about. Empty if they are about none.
    pub fn entities(&self) -> &'a [Entity] {
        let rows = self.run.table_rows();
        rows.and_then(|(table, rows)| self.access.table(table).get(rows)).unwrap_or_default()
    }

    /// The values of a variable, row by row. All are `None` if there is no such variable.
    pub fn var(&self, name: &str) -> impl ExactSizeIterator<Item = Option<Entity>> + use<'a> {
        let (values, common) = self.column(name);
        // In place, the table has the entities that the rows are about.
        let these = if self.expr.variable(name) == Some(Var::THIS) { self.entities() } else { &[] };
        (0..self.len()).map(move |row| match values.get(row) {
            Some(value) => value.entity(),
            None => these.get(row).copied().or(common.entity()),
        })
    }

    /// The value of a variable, if all rows have the same one. `None` if they differ, or have none.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// #[derive(Relation)]
    /// #[relation(exclusive, storage = "Fragmenting")]
    /// struct TeamOf;
    ///
    /// # #[derive(Component)]
    /// # struct Score(u32);
    /// # let mut world = World::new();
    /// # world.register_component_name::<Score>("Score");
    /// # world.register_relation::<TeamOf>()?;
    /// let red = world.spawn(Name::new("red")).id();
    /// world.spawn((Score(2), Pair(TeamOf, red)));
    /// world.spawn((Score(3), Pair(TeamOf, red)));
    /// let mut players = PairExpr::parse("Score, (TeamOf, $team)")?.compile(&mut world)?;
    /// let mut scores = Vec::new();
    /// players.for_each_table(&world, |table| {
    ///     let score: u32 = table.slice::<Score>(0).unwrap().iter().map(|score| score.0).sum();
    ///     scores.push((table.common_var("team"), score));
    /// })?;
    /// assert_eq!(scores, [(Some(red), 5)]);
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    ///
    /// # Complexity
    /// O(1) for the target of a relation of which each target has
    /// [tables of its own](crate::relation::RelationStorage::Fragmenting), in tables that are not small. Otherwise the values are
    /// compared: O(rows that have the same one).
    pub fn common_var(&self, name: &str) -> Option<Entity> {
        if self.len() == 1 {
            return self.first().var(name);
        }
        let (values, common) = self.column(name);
        let common = values.first().copied().unwrap_or(common);
        values.iter().all(|&value| value == common).then_some(common)?.entity()
    }

    /// The values of a variable, or if there are none, that which all rows have. `$this` may be in the table alone.
    fn column(&self, name: &str) -> (&'a [Datum], Datum) {
        let batch = self.expr.batch();
        let column = self.expr.variable(name).and_then(|var| batch.columns.get(var.index()));
        let column: &[Datum] = column.map_or(&[], |column| column);
        match column.get(self.run.rows.clone()) {
            Some(values) if column.len() > 1 => (values, Datum::UNSET),
            _ => (&[], column.first().copied().unwrap_or(Datum::UNSET)),
        }
    }

    /// Whether a field was matched.
    pub fn is_set(&self, field: usize) -> bool {
        self.first().is_set(field)
    }

    /// Whether a field was matched on the entities themselves.
    pub fn is_own(&self, field: usize) -> bool {
        self.first().is_own(field)
    }

    /// The entity on which a field was matched for all rows. `None` if it was not, or on each entity itself.
    pub fn source(&self, field: usize) -> Option<Entity> {
        let first = self.first();
        first.source(field).filter(|_| !first.is_own(field))
    }

    /// The values of an own field. `None` if it is not set, shared, of another type, or if Bevy does not keep it in
    /// tables (`SparseSet`); [`rows`](Self::rows) reach it then.
    pub fn slice<T: Component>(&self, field: usize) -> Option<&'a [T]> {
        let first = self.first();
        let (table, rows) = self.run.table_rows()?;
        let is_own = first.is_own(field) && first.is_component::<T>(field);
        is_own.then(|| self.access.slice(table, rows)).flatten()
    }

    /// The value of a shared field, the same for all rows. `None` if it is not set, own, or of another type.
    pub fn shared<T: Component>(&self, field: usize) -> Option<&'a T> {
        let first = self.first();
        if first.is_own(field) { None } else { first.get(field) }
    }
}

impl fmt::Debug for RowTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rows()).finish()
    }
}

/// [`RowTable`], to be written.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::expr::PairExpr;
/// #[derive(Component)]
/// struct Fuel(u32);
/// #[derive(Component)]
/// struct Price(u32);
///
/// # let mut world = World::new();
/// # world.register_component_name::<Fuel>("Fuel").register_component_name::<Price>("Price");
/// # let market = world.spawn((Name::new("Market"), Price(3))).id();
/// # let ship = world.spawn(Fuel(2)).id();
/// let mut ships = PairExpr::parse("Fuel, [inout] Price(Market)")?.compile(&mut world)?;
/// ships.for_each_table_mut(&mut world, |mut table| {
///     // A field of the entities, and one that they share.
///     let price = table.as_table().shared::<Price>(1).unwrap().0;
///     assert!(table.as_table().is_own(0) && table.as_table().source(1) == Some(market));
///     for fuel in table.slice_mut::<Fuel>(0).unwrap() {
///         fuel.0 += price;
///     }
///     table.row_mut(0).unwrap().get_mut::<Price>(1).unwrap().0 += 1;
/// })?;
/// assert_eq!(world.get::<Fuel>(ship).unwrap().0, 5);
/// assert_eq!(world.get::<Price>(market).unwrap().0, 4);
/// # Ok::<(), BevyError>(())
/// ```
pub struct RowTableMut<'a> {
    expr: &'a CompiledExpr,
    run: ContiguousRows,
    writer: BorrowedFieldWriter<'a>,
}

impl RowTableMut<'_> {
    /// The rows, to be read.
    pub fn as_table(&self) -> RowTable<'_> {
        RowTable { expr: self.expr, run: self.run.clone(), access: self.writer.access() }
    }

    /// One of the rows, to write a shared field. `None` if there are not so many.
    pub fn row_mut(&mut self, row: usize) -> Option<RowMut<'_>> {
        let row = self.run.rows.clone().nth(row)?;
        let batch = self.expr.batch();
        let this = batch.this(self.writer.access(), row);
        Some(RowMut::of(self.expr.executor(), batch, (row, this), self.writer.reborrow()))
    }

    /// The values of an own field, to be written; all count as changed.
    ///
    /// # Errors
    /// If it may not be [written](RowMut::get_mut), is shared, or if Bevy does not keep it in tables (`SparseSet`).
    #[track_caller]
    pub fn slice_mut<T: Component<Mutability = Mutable>>(
        &mut self,
        field: usize,
    ) -> Result<&mut [T], WriteFieldError> {
        self.write(field, true)
    }

    /// [`slice_mut`](Self::slice_mut), but nothing counts as changed: marking each component takes about a fifth of a loop that adds
    /// one number to each. Queries with `Changed`, [live](crate::live) expressions and other change detection miss what is written,
    /// as with Bevy's
    /// [`bypass_change_detection`](bevy_ecs::change_detection::DetectChangesMut::bypass_change_detection).
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # #[derive(Component)]
    /// # struct Fuel(f32);
    /// # let mut world = World::new();
    /// # world.register_component_name::<Fuel>("Fuel");
    /// # let ship = world.spawn(Fuel(2.0)).id();
    /// let mut ships = PairExpr::parse("Fuel")?.compile(&mut world)?;
    /// world.clear_trackers();
    /// ships.for_each_table_mut(&mut world, |mut table| {
    ///     for fuel in table.bypass_change_detection::<Fuel>(0).unwrap() {
    ///         fuel.0 -= 1.0;
    ///     }
    /// })?;
    /// assert_eq!(world.get::<Fuel>(ship).unwrap().0, 1.0);
    /// assert!(!world.entity(ship).get_ref::<Fuel>().unwrap().is_changed());
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`slice_mut`](Self::slice_mut).
    #[track_caller]
    pub fn bypass_change_detection<T: Component<Mutability = Mutable>>(
        &mut self,
        field: usize,
    ) -> Result<&mut [T], WriteFieldError> {
        self.write(field, false)
    }

    #[track_caller]
    fn write<T: Component<Mutability = Mutable>>(
        &mut self,
        field: usize,
        changed: bool,
    ) -> Result<&mut [T], WriteFieldError> {
        let first = self.as_table().first();
        first.writable::<T>(field, self.writer.is_exclusive())?;
        let place = self.run.table_rows().filter(|_| first.is_own(field));
        let slice = place.and_then(|(table, rows)| self.writer.slice_mut(table, rows, changed));
        slice.ok_or_else(|| WriteFieldError::apart(self.expr.executor(), field))
    }
}

impl fmt::Debug for RowTableMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_table().fmt(f)
    }
}
