//! Expressions that are ready to be run.

use super::{
    rows::{Row, RowMut, Rows},
    sort::{RowOrder, Sorted},
};
use crate::expr::{
    bind::{BindContext, BoundQuery, Var, bind},
    eval::WorldAccess,
    exec::{Batch, Executor, ExprRunError, Output, VarId},
    text::PairExpr,
};
use alloc::string::String;
use bevy_ecs::{entity::Entity, world::World};
use bevy_relations_syntax::error::ExprError;

impl PairExpr {
    /// Finds out what the names mean in a world, and how to evaluate the expression there.
    ///
    /// # Errors
    /// If a name is unknown or means several things, or if a rule is broken that depends on what things are.
    pub fn compile(&self, world: &mut World) -> Result<CompiledExpr, ExprError> {
        let query = bind(self, BindContext::World(world))?;
        let access = WorldAccess::World(world);
        let mut compiled = CompiledExpr::new(query, access);
        compiled.executor.plan_rows(access);
        Ok(compiled)
    }
}

/// A [`PairExpr`](crate::expr::PairExpr) that was compiled for a world: names are resolved, a plan is made.
///
/// It keeps what evaluation needs, so that nothing is allocated while it is run again. The plan is made anew by
/// itself when the world has changed so much that another would be better.
pub struct CompiledExpr {
    executor: Executor,
    order: RowOrder,
    /// All rows in order, if an order is asked for.
    sorted: Sorted,
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

    /// The variable of a name, to be looked up once for many rows; `this` is a variable too.
    pub fn var_id(&self, name: &str) -> Option<VarId> {
        self.executor.variable(name).map(VarId)
    }

    /// Number of fields: one for each term, one for all branches of an `||`.
    pub fn field_count(&self) -> usize {
        self.executor.query().fields.len()
    }

    /// The term of a field, written out.
    pub fn field_text(&self, field: usize) -> Option<&str> {
        self.executor.field_text(field)
    }

    /// Lets a variable be one entity in every row from now on; `this` is a variable too. This leaves rows out, and
    /// does nothing else.
    ///
    /// # Errors
    /// If rows have no such variable, or the entity is not alive.
    pub fn set_var(&mut self, world: &World, name: &str, entity: Entity) -> Result<&mut Self, ExprRunError> {
        self.executor.set_var(WorldAccess::World(world), name, entity)?;
        Ok(self)
    }

    /// [`set_var`](Self::set_var) when the expression is made.
    ///
    /// # Errors
    /// As there.
    pub fn with_var(mut self, world: &World, name: &str, entity: Entity) -> Result<Self, ExprRunError> {
        self.set_var(world, name, entity)?;
        Ok(self)
    }

    /// Lets all variables be free again.
    pub fn clear_vars(&mut self) {
        self.executor.clear_vars();
    }

    /// Ends a run with an error when it takes more steps than this: rows that are looked at, also those in between, and
    /// entities that are walked over or tested for them. Rows that were found before have been handed out by then.
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

    /// Starts a run of which the rows are wanted.
    pub(crate) fn start_rows(&mut self, access: WorldAccess<'_>) -> Result<(), ExprRunError> {
        self.executor.start(access, Output::Rows)?;
        self.sorted.restart(self.executor.plan().depths.is_some() || self.order.is_wanted());
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

    /// The rows, one after the other. Each is lent out until the next is asked for.
    ///
    /// # Errors
    /// If it cannot be run in this world.
    pub fn rows<'a>(&'a mut self, world: &'a World) -> Result<Rows<'a>, ExprRunError> {
        Rows::new(self, WorldAccess::World(world))
    }

    /// Calls a function with each row.
    ///
    /// # Errors
    /// If it cannot be run in this world, or took too many steps; some rows may have been seen then.
    pub fn for_each(&mut self, world: &World, each: impl FnMut(Row<'_>)) -> Result<(), ExprRunError> {
        self.for_each_of(WorldAccess::World(world), each)
    }

    pub(crate) fn for_each_of(
        &mut self,
        access: WorldAccess<'_>,
        mut each: impl FnMut(Row<'_>),
    ) -> Result<(), ExprRunError> {
        self.start_rows(access)?;
        while self.next_batch(access)? {
            Row::each(self, access, &mut each);
        }
        Ok(())
    }

    /// Calls a function with each row, through which fields can be written.
    ///
    /// Rows are found in batches: what is written to a component is seen by whatever looks at it later, but no row
    /// depends on it.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn for_each_mut(
        &mut self,
        world: &mut World,
        mut each: impl FnMut(RowMut<'_>),
    ) -> Result<(), ExprRunError> {
        self.start_rows(WorldAccess::World(world))?;
        while self.next_batch(WorldAccess::World(world))? {
            for row in 0..self.batch().len {
                each(RowMut::new(self, row, world));
            }
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
        self.start_rows(access)?;
        Ok(if self.next_batch(access)? { Some(Row::new(self, 0, access)) } else { None })
    }

    /// The plan in words, an operator a line: the logical plan, which is what is asked, and the physical one in the order of
    /// evaluation, with the number of rows that are expected of each stage and, after a run that had rows, the number
    /// that it made.
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
