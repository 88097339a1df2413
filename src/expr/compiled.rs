//! Expressions that are ready to be run.

use super::{
    bound::{BoundQuery, Var, VarSet},
    exec::{Batch, Masks, PipelineState, Run, Shared, Value, View},
    plan::{Column, Counts, Plan, Signature, lower},
    reads::Reads,
    resolve::{internal_components, unlisted_components},
    rows::{Row, RowMut, Rows},
    sort::{RowOrder, Sorted},
};
use crate::store::StoreId;
use alloc::{borrow::ToOwned, string::String, vec::Vec};
use bevy_ecs::{
    component::ComponentId,
    entity::Entity,
    world::{World, WorldId},
};
use core::any::TypeId;
use thiserror::Error;

/// Why an expression could not be run, or not to its end.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ExprRunError {
    /// It was compiled for another world.
    #[error("the expression was compiled for another world")]
    OtherWorld,
    /// The resources of the world are out of reach, or were cleared.
    #[error("the pairs of the world are out of reach")]
    NoPairs,
    /// There is no such variable, or it is one of a scope.
    #[error("the expression has no variable `${name}`")]
    UnknownVariable {
        /// The name that was asked for.
        name: String,
    },
    /// A variable was to be set to an entity that is not alive.
    #[error("`${name}` cannot be {entity}, which is not alive")]
    DeadEntity {
        /// The variable.
        name: String,
        /// The entity.
        entity: Entity,
    },
    /// Rows cannot come in groups as well as in order of depth.
    #[error("rows that come in order of depth, by `cascade`, cannot be put into groups")]
    GroupsWithCascade,
    /// More rows had to be looked at than was allowed.
    #[error("evaluation took more than {limit} steps")]
    StepLimit {
        /// The limit.
        limit: u64,
    },
}

/// A variable of a compiled expression. Rows find its value quicker than by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VarId(pub(super) Var);

/// A plan with everything it needs to be run.
#[derive(Default)]
struct Prepared {
    plan: Plan,
    masks: Masks,
    state: PipelineState,
    /// All rows in order, if an order is asked for.
    sorted: Sorted,
    signature: Option<Signature>,
    /// The signature before, for its buffers.
    spare: Option<Signature>,
    preset: VarSet,
    runs: u32,
}

/// What [`Prepared::update`] found.
enum Fit {
    Same,
    /// The world is another, the plan is not.
    Other,
    New,
}

/// The entities of a query that stand for types.
fn types_of(query: &mut BoundQuery, reads: Reads<'_>) -> Vec<(Entity, TypeId)> {
    let mut types: Vec<(Entity, TypeId)> = Vec::new();
    let Some(store) = reads.store() else { return types };
    query.each_entity(&mut |&mut entity| {
        let type_id = store.registry.type_entities.get(&entity);
        types
            .extend(type_id.filter(|_| !types.iter().any(|known| known.0 == entity)).map(|&id| (entity, id)));
    });
    types
}

impl Prepared {
    /// Makes the plan anew if it does not fit the world any more.
    fn update(&mut self, query: &BoundQuery, view: &View<'_>, preset: &VarSet, rows: bool) -> Fit {
        self.runs = self.runs.saturating_add(1);
        // Entities come and go without a trace, so now and then the numbers are looked at again.
        let due = self.runs.is_power_of_two() || self.runs.is_multiple_of(256);
        let signature = Signature::new(view, &query.singletons, self.spare.take());
        let fits = !due && self.signature.as_ref() == Some(&signature) && self.preset == *preset;
        self.spare = self.signature.replace(signature);
        let mut fit = Fit::Same;
        if !fits {
            let plan = lower(query, view, preset, rows);
            self.preset = preset.clone();
            if plan != self.plan || self.runs == 1 {
                self.state = PipelineState::new(&plan.pipeline, plan.columns);
                self.masks.clear();
                self.plan = plan;
                fit = Fit::New;
            } else {
                fit = Fit::Other;
            }
        }
        self.masks.update(&self.plan.masks, view);
        fit
    }
}

/// A [`PairExpr`](crate::PairExpr) that was compiled for a world: names are resolved, a plan is made.
///
/// It keeps what evaluation needs, so that nothing is allocated while it is run again. The plan is made anew by
/// itself when the world has changed so much that another would be better.
pub struct CompiledExpr {
    query: BoundQuery,
    world: WorldId,
    store: Option<StoreId>,
    /// One for rows, one for their number.
    prepared: [Prepared; 2],
    shared: Shared,
    internal: Vec<ComponentId>,
    unlisted: Vec<ComponentId>,
    /// The entities of the query that stand for types, which may be others later.
    types: Vec<(Entity, TypeId)>,
    /// The values of variables that are set.
    preset: Vec<(Var, Entity)>,
    preset_vars: VarSet,
    step_limit: Option<u64>,
    order: RowOrder,
}

const ROWS: usize = 0;
const COUNT: usize = 1;

impl CompiledExpr {
    pub(crate) fn new(mut query: BoundQuery, world: &World) -> Self {
        let types = types_of(&mut query, Reads::World(world));
        Self {
            query,
            types,
            world: world.id(),
            store: None,
            prepared: Default::default(),
            shared: Shared::default(),
            internal: Vec::new(),
            unlisted: Vec::new(),
            preset: Vec::new(),
            preset_vars: VarSet::default(),
            step_limit: None,
            order: RowOrder::default(),
        }
    }

    /// Takes what the names of the expression mean by now.
    pub(super) fn rebind(&mut self, mut query: BoundQuery, reads: Reads<'_>) {
        if query != self.query {
            self.types = types_of(&mut query, reads);
            self.query = query;
            self.prepared = Default::default();
            self.clear_vars();
        }
    }

    /// Whether everybody that the expression names is alive.
    pub(super) fn knows_everybody(&self, reads: Reads<'_>) -> bool {
        self.query.named.iter().all(|&entity| reads.entities().contains_spawned(entity))
    }

    /// The names of the variables that rows have, without `$this`.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let named = self.query.variables.iter().skip(1);
        named.filter(|variable| !variable.local && !variable.name.is_empty()).map(|variable| &*variable.name)
    }

    /// The variable of a name, to be looked up once for many rows; `this` is a variable too.
    pub fn var_id(&self, name: &str) -> Option<VarId> {
        self.variable(name).map(VarId)
    }

    /// Number of fields: one for each term, one for all branches of an `||`.
    pub fn field_count(&self) -> usize {
        self.query.fields.len()
    }

    /// The term of a field, written out.
    pub fn field_text(&self, field: usize) -> Option<&str> {
        self.query.fields.get(field).map(|field| &*field.text)
    }

    /// Lets a variable be one entity in every row from now on; `this` is a variable too. This leaves rows out, and
    /// does nothing else.
    ///
    /// # Errors
    /// If rows have no such variable, or the entity is not alive.
    pub fn set_var(&mut self, world: &World, name: &str, entity: Entity) -> Result<&mut Self, ExprRunError> {
        self.set_var_in(Reads::World(world), name, entity)
    }

    pub(super) fn set_var_in(
        &mut self,
        reads: Reads<'_>,
        name: &str,
        entity: Entity,
    ) -> Result<&mut Self, ExprRunError> {
        let unknown = || ExprRunError::UnknownVariable { name: name.to_owned() };
        let var = self.variable(name).ok_or_else(unknown)?;
        if reads.world_id() != self.world {
            return Err(ExprRunError::OtherWorld);
        }
        if !reads.entities().contains_spawned(entity) {
            return Err(ExprRunError::DeadEntity { name: name.to_owned(), entity });
        }
        self.preset.retain(|(other, _)| *other != var);
        self.preset.push((var, entity));
        self.preset_vars.insert(var);
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
        self.preset.clear();
        self.preset_vars = VarSet::default();
    }

    /// Ends a run with an error when it takes more steps than this: rows that are looked at, also those in between, and
    /// entities that are walked over or tested for them. Rows that were found before have been handed out by then.
    pub fn set_step_limit(&mut self, limit: Option<u64>) {
        self.step_limit = limit;
    }

    /// Whether the last run was ended by the limit.
    pub(super) fn ran_out_of_steps(&self) -> bool {
        self.shared.out_of_steps
    }

    /// Makes rows in smaller batches: for tests, which have few rows.
    #[doc(hidden)]
    pub fn set_batch_size(&mut self, rows: usize) {
        self.shared.batch_size = rows.max(1);
    }

    pub(super) fn query(&self) -> &BoundQuery {
        &self.query
    }

    pub(super) fn variable(&self, name: &str) -> Option<Var> {
        let mut variables = self.query.variables.iter();
        let at =
            variables.position(|variable| !variable.local && !name.is_empty() && *variable.name == *name)?;
        Some(Var(at as u16))
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.prepared[ROWS].plan
    }

    /// The rows that were made last.
    #[inline]
    pub(super) fn batch(&self) -> &Batch {
        let Prepared { sorted, state, .. } = &self.prepared[ROWS];
        if sorted.is_used { sorted.rows() } else { state.result() }
    }

    pub(super) fn order(&self) -> &RowOrder {
        &self.order
    }

    pub(super) fn order_mut(&mut self) -> &mut RowOrder {
        &mut self.order
    }

    fn start(&mut self, reads: Reads<'_>, which: usize) -> Result<(), ExprRunError> {
        if reads.world_id() != self.world {
            return Err(ExprRunError::OtherWorld);
        }
        let view = View::new(reads).ok_or(ExprRunError::NoPairs)?;
        if self.store != Some(view.store.id) {
            // What was remembered is about pairs that are gone.
            self.store = Some(view.store.id);
            self.prepared = Default::default();
        }
        self.update(&view, which);
        let Self { prepared, query, preset, shared, .. } = self;
        let prepared = &mut prepared[which];
        shared.restart(&prepared.plan, self.step_limit);
        prepared.sorted.restart(prepared.plan.depths.is_some() || self.order.is_wanted());
        let input = prepared.state.restart();
        // Nothing holds for an entity that has died since.
        input.len = usize::from(preset.iter().all(|&(_, entity)| view.is_alive(entity)));
        for &(var, entity) in &*preset {
            for column in [var.0, query.variables.len() as Column + var.0] {
                input.column_mut(column).push(Value::new(entity));
            }
        }
        Ok(())
    }

    /// Makes the plan anew if it does not fit the world any more.
    fn update(&mut self, view: &View<'_>, which: usize) -> Fit {
        self.follow_types(view);
        let fit = self.prepared[which].update(&self.query, view, &self.preset_vars, which == ROWS);
        if !matches!(fit, Fit::Same) {
            self.internal = internal_components(view.reads);
            self.unlisted = unlisted_components(view.reads, &self.internal);
        }
        fit
    }

    /// Takes the entities that stand for types by now, where those that did are gone.
    fn follow_types(&mut self, view: &View<'_>) {
        let Self { types, query, prepared, .. } = self;
        for (known, type_id) in types.iter_mut().filter(|(known, _)| !view.is_alive(*known)) {
            let Some(entity) = view.store.registry.entity_of(*type_id) else { continue };
            query.each_entity(&mut |other| {
                if other == known {
                    *other = entity;
                }
            });
            *known = entity;
            *prepared = Default::default();
        }
    }

    /// Makes the next rows. False at the end.
    fn advance(&mut self, reads: Reads<'_>, which: usize) -> Result<bool, ExprRunError> {
        let view = View::new(reads).ok_or(ExprRunError::NoPairs)?;
        let Prepared { plan, masks, state, .. } = &mut self.prepared[which];
        let Self { internal, unlisted, shared, .. } = self;
        let mut run = Run { view, masks, internal, unlisted, shared };
        let more = state.next(&mut run, &plan.pipeline, None);
        match self.step_limit {
            Some(limit) if self.shared.out_of_steps => Err(ExprRunError::StepLimit { limit }),
            _ => Ok(more),
        }
    }

    /// Makes all rows and puts them in order.
    fn sort(&mut self, reads: Reads<'_>) -> Result<bool, ExprRunError> {
        if self.prepared[ROWS].sorted.finish() {
            return Ok(false);
        }
        while self.advance(reads, ROWS)? {
            let Prepared { sorted, state, .. } = &mut self.prepared[ROWS];
            sorted.collect(state.result());
        }
        let mut sorted = core::mem::take(&mut self.prepared[ROWS].sorted);
        sorted.sort(self, reads);
        self.prepared[ROWS].sorted = sorted;
        Ok(self.batch().len > 0)
    }

    /// Starts a run of which the rows are wanted.
    pub(super) fn start_rows(&mut self, reads: Reads<'_>) -> Result<(), ExprRunError> {
        self.start(reads, ROWS)
    }

    /// Starts a run of which all rows are wanted in one batch.
    pub(super) fn start_collecting(&mut self, reads: Reads<'_>) -> Result<(), ExprRunError> {
        self.start_rows(reads)?;
        self.prepared[ROWS].sorted.is_used = true;
        Ok(())
    }

    pub(super) fn next_batch(&mut self, reads: Reads<'_>) -> Result<bool, ExprRunError> {
        if self.prepared[ROWS].sorted.is_used { self.sort(reads) } else { self.advance(reads, ROWS) }
    }

    /// The rows, one after the other. Each is lent out until the next is asked for.
    ///
    /// # Errors
    /// If it cannot be run in this world.
    pub fn rows<'a>(&'a mut self, world: &'a World) -> Result<Rows<'a>, ExprRunError> {
        Rows::new(self, Reads::World(world))
    }

    /// Calls a function with each row.
    ///
    /// # Errors
    /// If it cannot be run in this world, or took too many steps; some rows may have been seen then.
    pub fn for_each(&mut self, world: &World, each: impl FnMut(Row<'_>)) -> Result<(), ExprRunError> {
        self.for_each_of(Reads::World(world), each)
    }

    pub(super) fn for_each_of(
        &mut self,
        reads: Reads<'_>,
        mut each: impl FnMut(Row<'_>),
    ) -> Result<(), ExprRunError> {
        self.start_rows(reads)?;
        while self.next_batch(reads)? {
            Row::each(self, reads, &mut each);
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
        self.start_rows(Reads::World(world))?;
        while self.next_batch(Reads::World(world))? {
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
        self.count_of(Reads::World(world))
    }

    pub(super) fn count_of(&mut self, reads: Reads<'_>) -> Result<usize, ExprRunError> {
        self.start(reads, COUNT)?;
        let mut count = 0;
        while self.advance(reads, COUNT)? {
            count += self.prepared[COUNT].state.result().len;
        }
        Ok(count)
    }

    /// Whether there is a row.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn any(&mut self, world: &World) -> Result<bool, ExprRunError> {
        self.any_of(Reads::World(world))
    }

    pub(super) fn any_of(&mut self, reads: Reads<'_>) -> Result<bool, ExprRunError> {
        self.start(reads, COUNT)?;
        self.advance(reads, COUNT)
    }

    /// The first row, if there is one.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn first<'a>(&'a mut self, world: &'a World) -> Result<Option<Row<'a>>, ExprRunError> {
        self.first_of(Reads::World(world))
    }

    pub(super) fn first_of<'a>(&'a mut self, reads: Reads<'a>) -> Result<Option<Row<'a>>, ExprRunError> {
        self.start_rows(reads)?;
        Ok(if self.next_batch(reads)? { Some(Row::new(self, 0, reads)) } else { None })
    }

    /// The plan in words: a line for each step with the number of rows that are expected of it and, after a run that
    /// gave rows, the number that it made.
    ///
    /// # Errors
    /// If it cannot be run in this world.
    pub fn explain(&mut self, world: &World) -> Result<String, ExprRunError> {
        self.explain_of(Reads::World(world))
    }

    pub(super) fn explain_of(&mut self, reads: Reads<'_>) -> Result<String, ExprRunError> {
        if reads.world_id() != self.world {
            return Err(ExprRunError::OtherWorld);
        }
        let view = View::new(reads).ok_or(ExprRunError::NoPairs)?;
        if let Fit::New = self.update(&view, ROWS) {
            self.shared.counts.clear();
        }
        Ok(self.plan().explain(Counts(&self.shared.counts)) + self.order.explain())
    }
}
