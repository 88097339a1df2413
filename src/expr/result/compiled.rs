//! Expressions that are ready to be run, and their rows in order: by depth, by a component, in groups.
//!
//! For an order, all rows of a run are collected, and then put in order as a whole. The sorts are
//! stable, so the first key is sorted by last.

use super::rows::{Row, Rows};
use crate::{
    expr::{
        bind::{BindContext, BoundQuery, Var, bind},
        eval::{View, WorldAccess},
        exec::{Batch, Executor, ExprRunError, Output, VarId},
        plan::DepthOrder,
        text::PairExpr,
    },
    id::RelationId,
    relation::{Registry, Relation},
    store::DepthReader,
};
use alloc::{boxed::Box, string::String, vec::Vec};
use bevy_ecs::{entity::Entity, world::World};
use bevy_relations_syntax::error::ExprError;
use core::{cmp::Reverse, fmt};

impl PairExpr {
    /// Resolves the names in a world, and plans the evaluation.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::expr::{ExprErrorKind, PairExpr};
    /// # let mut world = World::new();
    /// let docked = PairExpr::parse("(DockedTo, Oslo)")?;
    /// let error = docked.compile(&mut world).unwrap_err();
    /// assert_eq!(error.kind(), ExprErrorKind::UnknownName);
    ///
    /// let docked_to = world.spawn_relation("DockedTo", RelationTraits::new())?;
    /// let oslo = world.spawn(Name::new("Oslo")).id();
    /// world.spawn_empty().insert_pair_by_id((docked_to, oslo))?;
    /// assert_eq!(docked.compile(&mut world)?.count(&world)?, 1);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If a name is unknown or ambiguous, or if a rule is broken that depends on what the names stand for.
    pub fn compile(&self, world: &mut World) -> Result<CompiledExpr, ExprError> {
        let query = bind(self, BindContext::World(world))?;
        let access = WorldAccess::World(world);
        let mut compiled = CompiledExpr::new(query, access);
        compiled.executor.plan_rows(access);
        Ok(compiled)
    }
}

/// A [`PairExpr`] that was compiled for a world: names are resolved, a plan is made.
///
/// Its buffers are reused, so that running it again allocates nothing. It is planned again automatically when the
/// world has changed so much that another plan would be better.
///
/// In the book: [Expressions](crate::book::expressions).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{expr::PairExpr, prelude::*};
///
/// #[derive(Relation)]
/// struct DockedTo;
///
/// let mut world = World::new();
/// world.register_relation::<DockedTo>()?;
/// let [oslo, hull] = [(); 2].map(|()| world.spawn_empty().id());
/// let kite = world.spawn(Pair(DockedTo, oslo)).id();
/// let gull = world.spawn(Pair(DockedTo, hull)).id();
///
/// let mut docked = PairExpr::parse("(DockedTo, $port)")?.compile(&mut world)?;
/// assert_eq!(docked.count(&world)?, 2);
/// docked.set_var(&world, "port", hull)?;
/// assert_eq!(docked.first(&world)?.and_then(|row| row.this()), Some(gull));
///
/// docked.clear_vars();
/// world.despawn(gull);
/// let row = docked.first(&world)?.expect("the kite is still docked");
/// assert_eq!((row.this(), row.var("port")), (Some(kite), Some(oslo)));
/// # Ok::<(), BevyError>(())
/// ```
///
/// Its variables and fields, ways to run it, and a step limit:
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{expr::{ExprRunError, PairExpr}, prelude::*};
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
/// let docked = PairExpr::parse("Fuel, (DockedTo, $port)")?.compile(&mut world)?;
/// let mut in_oslo = docked.with_var(&world, "port", oslo)?;
/// assert!(in_oslo.any(&world)? && in_oslo.variables().eq(["port"]));
/// assert_eq!((in_oslo.field_count(), in_oslo.field_text(1)), (2, Some("(DockedTo, $port)")));
/// let port = in_oslo.var_id("port").unwrap(); // looked up once
/// let mut rows = in_oslo.rows(&world)?;
/// while let Some(row) = rows.next_row()? {
///     assert_eq!(row.var_by_id(port), Some(oslo));
/// }
/// println!("{}", in_oslo.explain(&world)?);
///
/// // An expression that a player has typed.
/// in_oslo.set_step_limit(Some(1));
/// assert_eq!(in_oslo.count(&world), Err(ExprRunError::StepLimit { limit: 1 }));
/// # Ok::<(), BevyError>(())
/// ```
pub struct CompiledExpr {
    executor: Executor,
    order: RowOrder,
    /// All rows in order, if an order is asked for.
    sorted: Sorted,
}

/// The name of a variable that may be written as in a text.
pub(in crate::expr) fn without_dollar(name: &str) -> &str {
    name.strip_prefix('$').unwrap_or(name)
}

/// Shows the terms of the fields.
impl fmt::Debug for CompiledExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields: Vec<_> = (0..self.field_count()).filter_map(|field| self.field_text(field)).collect();
        f.debug_struct("CompiledExpr").field("fields", &fields).finish_non_exhaustive()
    }
}

impl CompiledExpr {
    pub(crate) fn new(query: BoundQuery, access: WorldAccess<'_>) -> Self {
        Self { executor: Executor::new(query, access), order: RowOrder::default(), sorted: Sorted::default() }
    }

    #[inline]
    pub(crate) fn executor(&self) -> &Executor {
        &self.executor
    }

    pub(crate) fn executor_mut(&mut self) -> &mut Executor {
        &mut self.executor
    }

    /// The names of the variables that rows have, without `$this`.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.executor.variables()
    }

    /// The variable of a name, with or without its `$`, to be looked up once for many rows; `this` is a variable too.
    pub fn var_id(&self, name: &str) -> Option<VarId> {
        self.executor.variable(without_dollar(name)).map(VarId)
    }

    /// Number of fields: one for each term, one for all branches of an `||`.
    pub fn field_count(&self) -> usize {
        self.executor.query().fields.len()
    }

    /// The term of a field, written out.
    pub fn field_text(&self, field: usize) -> Option<&str> {
        self.executor.field_text(field)
    }

    /// From now on, returns only the rows in which a variable is this entity; `this` is a variable too. The name may
    /// have its `$`: `"$port"` and `"port"` are the same.
    ///
    /// # Errors
    /// If rows have no such variable, or the entity is not alive.
    pub fn set_var(&mut self, world: &World, name: &str, entity: Entity) -> Result<&mut Self, ExprRunError> {
        self.executor.set_var(WorldAccess::World(world), without_dollar(name), entity)?;
        Ok(self)
    }

    /// [`set_var`](Self::set_var) when the expression is made.
    ///
    /// # Errors
    /// As for [`set_var`](Self::set_var).
    pub fn with_var(mut self, world: &World, name: &str, entity: Entity) -> Result<Self, ExprRunError> {
        self.set_var(world, name, entity)?;
        Ok(self)
    }

    /// Removes the restrictions of [`set_var`](Self::set_var).
    pub fn clear_vars(&mut self) {
        self.executor.clear_vars();
    }

    /// Ends a run with an error when it takes more steps than this. Steps are the rows that are examined, also
    /// intermediate ones, and the entities that are visited or tested for them. Rows that were found before have been
    /// passed on by then.
    pub fn set_step_limit(&mut self, limit: Option<u64>) {
        self.executor.set_step_limit(limit);
    }

    /// Makes rows in smaller batches: for tests, which have few rows.
    #[doc(hidden)]
    pub fn set_batch_size(&mut self, rows: usize) {
        self.executor.set_batch_size(rows);
    }

    pub(super) fn variable(&self, name: &str) -> Option<Var> {
        self.executor.variable(name)
    }

    /// The rows that were made last.
    #[inline]
    pub(crate) fn batch(&self) -> &Batch {
        if self.sorted.is_used { self.sorted.rows() } else { self.executor.batch(Output::Rows) }
    }

    pub(super) fn order(&self) -> &RowOrder {
        &self.order
    }

    pub(super) fn order_mut(&mut self) -> &mut RowOrder {
        &mut self.order
    }

    /// Makes all rows and puts them in order.
    fn sort(&mut self, access: WorldAccess<'_>) -> Result<bool, ExprRunError> {
        let Self { executor, order, sorted } = self;
        if sorted.finish() {
            return Ok(false);
        }
        while executor.advance(access, Output::Rows)? {
            sorted.collect(executor.batch(Output::Rows));
        }
        sorted.sort(executor, order, access);
        Ok(sorted.rows().len > 0)
    }

    /// Fails if rows are to be grouped by what is no relation.
    pub(crate) fn check_order(&self, access: WorldAccess<'_>) -> Result<(), ExprRunError> {
        self.order.relation.map_or(Ok(()), |relation| relation.check(access))
    }

    /// Starts a run of which the rows are wanted.
    pub(crate) fn start_rows(&mut self, access: WorldAccess<'_>) -> Result<(), ExprRunError> {
        self.start_first_rows(access, usize::MAX)
    }

    /// [`start_rows`](Self::start_rows) of which no more than so many are wanted.
    pub(super) fn start_first_rows(
        &mut self,
        access: WorldAccess<'_>,
        count: usize,
    ) -> Result<(), ExprRunError> {
        self.check_order(access)?;
        self.executor.start(access, Output::Rows)?;
        self.sorted.restart(self.executor.plan().depths.is_some() || self.order.is_wanted(), count);
        Ok(())
    }

    /// [`start_rows`](Self::start_rows) for a reader of batches that checks which of their entries are [rows](Batch::each_row).
    pub(crate) fn start_rows_with_gaps(
        &mut self,
        access: WorldAccess<'_>,
        this_in_column: bool,
    ) -> Result<(), ExprRunError> {
        self.start_rows(access)?;
        if !self.sorted.is_used {
            self.executor.allow_gaps(Output::Rows, this_in_column);
        }
        Ok(())
    }

    /// Starts a run of which all rows are wanted in one batch.
    pub(crate) fn start_collecting(&mut self, access: WorldAccess<'_>) -> Result<(), ExprRunError> {
        self.start_rows(access)?;
        self.sorted.is_used = true;
        Ok(())
    }

    pub(crate) fn next_batch(&mut self, access: WorldAccess<'_>) -> Result<bool, ExprRunError> {
        if self.sorted.is_used { self.sort(access) } else { self.executor.advance(access, Output::Rows) }
    }

    /// The rows, one after the other. Each is borrowed until the next one is read.
    ///
    /// # Errors
    /// If it cannot be run in this world.
    pub fn rows<'a>(&'a mut self, world: &'a World) -> Result<Rows<'a>, ExprRunError> {
        Rows::new(self, WorldAccess::World(world))
    }

    /// Calls a function with each row. Terms about components alone are cheaper [by table](Self::for_each_table).
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # let mut world = World::new();
    /// let fleet = world.spawn(Name::new("Fleet")).id();
    /// let ships = [(); 2].map(|()| world.spawn(ChildOf(fleet)).id());
    /// let mut of_fleet = PairExpr::parse("(ChildOf, Fleet)")?.compile(&mut world)?;
    /// let mut found = Vec::new();
    /// of_fleet.for_each(&world, |row| found.extend(row.this()))?;
    /// assert_eq!(found, ships);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If it cannot be run in this world, or took too many steps; some rows may have been seen then.
    #[inline]
    pub fn for_each(&mut self, world: &World, each: impl FnMut(Row<'_>)) -> Result<(), ExprRunError> {
        self.for_each_of(WorldAccess::World(world), each)
    }

    #[inline]
    pub(crate) fn for_each_of(
        &mut self,
        access: WorldAccess<'_>,
        mut each: impl FnMut(Row<'_>),
    ) -> Result<(), ExprRunError> {
        self.start_rows_with_gaps(access, false)?;
        while self.next_batch(access)? {
            Row::each(self, access, &mut each);
        }
        Ok(())
    }

    /// The number of rows.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn count(&mut self, world: &World) -> Result<usize, ExprRunError> {
        self.count_of(WorldAccess::World(world))
    }

    pub(crate) fn count_of(&mut self, access: WorldAccess<'_>) -> Result<usize, ExprRunError> {
        self.executor.start(access, Output::Count)?;
        self.executor.allow_gaps(Output::Count, false);
        let mut count = 0;
        while self.executor.advance(access, Output::Count)? {
            count += self.executor.batch(Output::Count).len;
        }
        Ok(count)
    }

    /// Whether there is a row.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn any(&mut self, world: &World) -> Result<bool, ExprRunError> {
        self.any_of(WorldAccess::World(world))
    }

    pub(crate) fn any_of(&mut self, access: WorldAccess<'_>) -> Result<bool, ExprRunError> {
        self.executor.start(access, Output::Count)?;
        self.executor.advance(access, Output::Count)
    }

    /// The first row, if there is one.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn first<'a>(&'a mut self, world: &'a World) -> Result<Option<Row<'a>>, ExprRunError> {
        self.first_of(WorldAccess::World(world))
    }

    pub(crate) fn first_of<'a>(
        &'a mut self,
        access: WorldAccess<'a>,
    ) -> Result<Option<Row<'a>>, ExprRunError> {
        self.start_first_rows(access, 1)?;
        Ok(if self.next_batch(access)? { Some(Row::new(self, 0, access)) } else { None })
    }

    /// The plan as text, one operator per line: the logical plan, and the physical plan in the order of evaluation,
    /// with the expected number of rows of each stage and, after a run that had rows, the actual number.
    ///
    /// # Errors
    /// If it cannot be run in this world.
    pub fn explain(&mut self, world: &World) -> Result<String, ExprRunError> {
        self.explain_of(WorldAccess::World(world))
    }

    pub(crate) fn explain_of(&mut self, access: WorldAccess<'_>) -> Result<String, ExprRunError> {
        Ok(self.executor.explain(access)? + self.order.explain())
    }
}

/// The rows of a run before they are in order.
#[derive(Clone, Copy)]
pub(super) struct UnsortedRows<'a> {
    executor: &'a Executor,
    batch: &'a Batch,
    pub(super) access: WorldAccess<'a>,
}

impl<'a> UnsortedRows<'a> {
    pub(super) fn row(&self, row: u32) -> Row<'a> {
        Row::of(self.executor, self.batch, row as usize, self.access)
    }
}

/// Puts numbers of rows in order, which ascend before. Only the first of them, so many, need to be in order.
pub(super) type Sort = Box<dyn Fn(UnsortedRows<'_>, &mut [u32], usize) + Send + Sync>;
/// The group of a row.
pub(super) type GroupOf = Box<dyn Fn(Row<'_>) -> u64 + Send + Sync>;

/// What groups are named by, which decides their order.
#[derive(Clone, Copy, Default, Debug)]
pub(super) enum Groups {
    /// The bits of a target, or 0.
    Targets,
    #[default]
    Numbers,
}

impl Groups {
    /// Groups ascend by this.
    pub(super) fn key(self, group: u64) -> (u64, u32) {
        match self {
            Self::Numbers => (group, 0),
            // Numbers that are no entities are asked for only.
            Self::Targets => Entity::try_from_bits(group).map_or((0, 0), |target| {
                let (index, generation) = ascending(target);
                (u64::from(index) + 1, generation)
            }),
        }
    }
}

/// Entities in the order of their indices, those with one index in that of their generations.
pub(super) fn ascending(entity: Entity) -> (u32, u32) {
    (entity.index_u32(), entity.generation().to_bits())
}

/// The relation by whose targets rows are put into groups. That of a type need not be registered yet.
#[derive(Clone, Copy)]
pub(crate) enum GroupRelation {
    Type(fn(&Registry) -> Option<RelationId>),
    Entity(Entity),
}

impl GroupRelation {
    pub(crate) fn of<R: Relation>() -> Self {
        Self::Type(Registry::known::<R>)
    }

    /// The group of a row: its first target, if it has one.
    pub(crate) fn group_of(self) -> impl Fn(Row<'_>) -> Option<u64> + Send + Sync + 'static {
        move |row| {
            let store = row.access().store()?;
            let relation = match self {
                Self::Type(known) => known(store.registry())?,
                Self::Entity(entity) => store.registry().of_entity(entity)?,
            };
            store.relation(relation).first_target(row.this()?).map(Entity::to_bits)
        }
    }

    /// Fails if an entity that was meant is no relation.
    pub(crate) fn check(self, access: WorldAccess<'_>) -> Result<(), ExprRunError> {
        let Self::Entity(relation) = self else { return Ok(()) };
        let found = access.store().and_then(|store| store.registry().of_entity(relation));
        found.map(drop).ok_or(ExprRunError::NotARelation { relation })
    }
}

/// The order in which rows are wanted.
#[derive(Default)]
pub(super) struct RowOrder {
    pub(super) sort: Option<Sort>,
    pub(super) group: Option<(Groups, GroupOf)>,
    /// What has to be a relation, to put rows into groups.
    pub(super) relation: Option<GroupRelation>,
}

impl RowOrder {
    pub(super) fn is_wanted(&self) -> bool {
        self.sort.is_some() || self.group.is_some()
    }

    /// What groups are named by.
    pub(super) fn groups(&self) -> Groups {
        self.group.as_ref().map_or(Groups::default(), |(kind, _)| *kind)
    }

    /// The last line of a plan.
    pub(super) fn explain(&self) -> &'static str {
        match (&self.sort, &self.group) {
            (None, None) => "",
            (Some(_), None) => "  sort\n",
            (None, Some(_)) => "  group\n",
            (Some(_), Some(_)) => "  sort, group\n",
        }
    }
}

/// Every row of a run, in order.
#[derive(Default)]
pub(super) struct Sorted {
    /// Whether rows are collected in this run.
    pub(super) is_used: bool,
    /// How many rows are wanted.
    first: usize,
    done: bool,
    found: Batch,
    rows: Batch,
    /// Numbers of rows.
    order: Vec<u32>,
    /// The group of each row, its place in the order so far, and its number.
    groups: Vec<(u64, u32, u32)>,
    /// Depth, table, row in the table.
    depths: Vec<(u32, u32, u32)>,
}

impl Sorted {
    pub(super) fn restart(&mut self, is_used: bool, first: usize) {
        self.is_used = is_used;
        self.first = first;
        self.done = false;
        self.found.clear();
        self.rows.clear();
    }

    pub(super) fn rows(&self) -> &Batch {
        &self.rows
    }

    /// Whether the rows were asked for before.
    pub(super) fn finish(&mut self) -> bool {
        core::mem::replace(&mut self.done, true)
    }

    pub(super) fn collect(&mut self, batch: &Batch) {
        self.found.append(batch);
    }

    /// Puts the rows that were found in order.
    pub(super) fn sort(&mut self, executor: &Executor, wanted: &RowOrder, access: WorldAccess<'_>) {
        let Self { found, rows, order, groups, .. } = self;
        order.clear();
        order.extend(0..found.len as u32);
        let RowOrder { sort, group, .. } = wanted;
        let all = UnsortedRows { executor, batch: found, access };
        if let Some(sort) = sort {
            // Groups and depths put other rows first.
            let is_final = group.is_none() && executor.plan().depths.is_none();
            let first = if is_final { self.first } else { usize::MAX };
            sort(all, order, first);
            order.truncate(first);
        }
        rows.clear();
        if let Some((kind, group)) = group {
            groups.clear();
            groups.extend((0..).zip(&*order).map(|(at, &row)| (group(all.row(row)), at, row)));
            groups.sort_unstable_by_key(|&(group, at, _)| (kind.key(group), at));
            rows.groups.extend(groups.iter().map(|&(group, ..)| group));
            order.iter_mut().zip(groups).for_each(|(to, &mut (.., row))| *to = row);
        } else if let (Some(depths), Some(view)) = (executor.plan().depths, View::new(access)) {
            self.sort_by_depth(depths, &view, sort.is_some());
        }
        self.rows.take_in_order(&self.found, self.order.iter().copied());
    }

    /// By depth, and then by place, unless they have an order of their own.
    fn sort_by_depth(&mut self, by: DepthOrder, view: &View<'_>, is_sorted: bool) {
        let mut depths = DepthReader::new(view.index(by.relation));
        let depth_and_place = |row: usize| {
            let this = self.found.columns[Var::THIS.index()][row].entity();
            let depth = this.and_then(|this| depths.depth_of(this)).unwrap_or(0);
            let location = this.filter(|_| !is_sorted).and_then(|this| view.entities.get_spawned(this).ok());
            let (table, at) = location.map_or((0, 0), |at| (at.table_id.as_u32(), at.table_row.index_u32()));
            (depth, table, at)
        };
        self.depths.clear();
        self.depths.extend((0..self.found.len).map(depth_and_place));
        let depths = &self.depths;
        if by.descending {
            self.order.sort_by_key(|&row| {
                let (depth, table, at) = depths[row as usize];
                (Reverse(depth), table, at)
            });
        } else {
            self.order.sort_by_key(|&row| depths[row as usize]);
        }
    }
}
