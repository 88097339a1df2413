//! An expression with its plan and everything that is kept from run to run.

use super::{Batch, Masks, PipelineState, Run, Shared};
use crate::{
    expr::{
        bind::{BoundQuery, Var, VarSet},
        eval::{Datum, View, WorldAccess, internal_components, unlisted_components},
        plan::{Column, Counts, FieldPlan, PhysicalPlan, Signature, Stage, Wanted, lower},
    },
    store::StoreId,
};
use alloc::{borrow::ToOwned, string::String, vec::Vec};
use bevy_ecs::{component::ComponentId, entity::Entity, world::WorldId};
use core::any::TypeId;
use thiserror::Error;

/// Why a [`CompiledExpr`](crate::expr::CompiledExpr) could not be run, or not to its end.
///
/// In the book: [Errors explained](crate::book::errors).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::expr::{ExprRunError, PairExpr};
/// # let mut world = World::new();
/// let burning = world.spawn(Name::new("Burning")).id();
/// let mut expr = PairExpr::parse("Burning")?.compile(&mut world)?;
/// let error = expr.set_var(&world, "port", burning).unwrap_err();
/// assert_eq!(error, ExprRunError::UnknownVariable { name: "port".into() });
/// assert_eq!(expr.count(&World::new()), Err(ExprRunError::OtherWorld));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ExprRunError {
    /// It was compiled for another world.
    #[error("the expression was compiled for another world")]
    OtherWorld,
    /// The pair store is not in the world, for example because the resources were cleared.
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
    /// Rows were to be put into groups by the targets in something that is no relation, or no longer one.
    #[error("rows cannot be put into groups by {relation}, which is not a relation")]
    NotARelation {
        /// What they were to be grouped by.
        relation: Entity,
    },
    /// A system was to sort rows by a component that its parameter does not read.
    #[error("rows cannot be sorted by `{component}`, which the parameter does not read: add a term with it")]
    NotRead {
        /// The component.
        component: String,
    },
    /// The run took more steps than the limit allows.
    #[error("evaluation took more than {limit} steps")]
    StepLimit {
        /// The limit.
        limit: u64,
    },
}

/// A variable of a [`CompiledExpr`](crate::expr::CompiledExpr): rows read its value faster than by its name. It is valid
/// for the expression that returned it.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{expr::{PairExpr, VarId}, prelude::*};
/// # #[derive(Relation)]
/// # struct DockedTo;
/// # let mut world = World::new();
/// # world.register_relation::<DockedTo>()?;
/// let port = world.spawn_empty().id();
/// world.spawn_batch_with_pair([((), DockedTo, port), ((), DockedTo, port)]);
/// let mut docked = PairExpr::parse("(DockedTo, $port)")?.compile(&mut world)?;
/// let var: VarId = docked.var_id("port").expect("the expression has this variable");
/// docked.for_each(&world, |row| assert_eq!(row.var_by_id(var), Some(port)))?;
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VarId(pub(in crate::expr) Var);

/// What is wanted of a run.
#[derive(Clone, Copy)]
pub(crate) enum Output {
    Rows,
    /// Their number alone.
    Count,
}

/// A plan with everything it needs to be run.
#[derive(Default)]
struct PlanState {
    plan: PhysicalPlan,
    masks: Masks,
    state: PipelineState,
    signature: Option<Signature>,
    /// The signature before, for its buffers.
    spare: Option<Signature>,
    preset: VarSet,
    runs: u32,
}

/// What [`PlanState::update`] found.
enum PlanFit {
    Same,
    /// The world is another, the plan is not.
    Other,
    New,
}

/// The entities of a query that stand for types.
fn types_of(query: &mut BoundQuery, access: WorldAccess<'_>) -> Vec<(Entity, TypeId)> {
    let mut types: Vec<(Entity, TypeId)> = Vec::new();
    let Some(store) = access.store() else { return types };
    query.each_entity(&mut |&mut entity| {
        let type_id = store.registry().type_of(entity);
        types.extend(type_id.filter(|_| !types.iter().any(|known| known.0 == entity)).map(|id| (entity, id)));
    });
    types
}

impl PlanState {
    /// Makes the plan anew if it does not fit the world any more.
    fn update(&mut self, query: &BoundQuery, view: &View<'_>, preset: &VarSet, wanted: Wanted) -> PlanFit {
        self.runs = self.runs.saturating_add(1);
        // Entities come and go without a trace, so now and then the numbers are looked at again.
        let due = self.runs.is_power_of_two() || self.runs.is_multiple_of(256);
        let signature = Signature::new(view, &query.singletons, self.spare.take());
        let fits = !due && self.signature.as_ref() == Some(&signature) && self.preset == *preset;
        self.spare = self.signature.replace(signature);
        let mut fit = PlanFit::Same;
        if !fits {
            let plan = lower(query, view, preset, wanted);
            self.preset = preset.clone();
            if plan != self.plan || self.runs == 1 {
                self.state = PipelineState::new(&plan.pipeline, plan.columns);
                self.masks.clear();
                self.plan = plan;
                fit = PlanFit::New;
            } else {
                fit = PlanFit::Other;
            }
        }
        self.masks.update(&self.plan.masks, view);
        fit
    }
}

/// Runs an expression that is bound to a world. It keeps what evaluation needs, so that nothing is allocated when it is
/// run again.
pub(crate) struct Executor {
    query: BoundQuery,
    world: WorldId,
    store: Option<StoreId>,
    /// By [`Output`].
    plans: [PlanState; 2],
    shared: Shared,
    internal: Vec<ComponentId>,
    unlisted: Vec<ComponentId>,
    /// The entities of the query that stand for types, which may be others later.
    types: Vec<(Entity, TypeId)>,
    /// The values of variables that are set.
    preset: Vec<(Var, Entity)>,
    preset_vars: VarSet,
    step_limit: Option<u64>,
    with_data: bool,
}

impl Executor {
    pub(crate) fn new(mut query: BoundQuery, access: WorldAccess<'_>) -> Self {
        let types = types_of(&mut query, access);
        Self {
            query,
            types,
            world: access.world_id(),
            store: None,
            plans: Default::default(),
            shared: Shared::default(),
            internal: Vec::new(),
            unlisted: Vec::new(),
            preset: Vec::new(),
            preset_vars: VarSet::default(),
            step_limit: None,
            with_data: false,
        }
    }

    /// Says what rows are that are kept, whose fields are made like this. It is not run.
    pub(crate) fn of_kept_rows(query: BoundQuery, access: WorldAccess<'_>, fields: Vec<FieldPlan>) -> Self {
        let mut executor = Self::new(query, access);
        executor.plans[Output::Rows as usize].plan.fields = fields;
        executor
    }

    /// Takes what the names of the expression mean by now.
    pub(crate) fn rebind(&mut self, mut query: BoundQuery, access: WorldAccess<'_>) {
        if query != self.query {
            self.types = types_of(&mut query, access);
            self.query = query;
            self.plans = Default::default();
            self.clear_vars();
        }
    }

    /// Whether it is for this world.
    pub(crate) fn is_for(&self, access: WorldAccess<'_>) -> bool {
        self.world == access.world_id()
    }

    /// Whether all entities that the expression names are alive.
    pub(crate) fn names_only_living(&self, access: WorldAccess<'_>) -> bool {
        self.query.named.iter().all(|&entity| access.entities().contains_spawned(entity))
    }

    /// The names of the variables that rows have, without `$this`.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        let named = self.query.variables.iter().skip(1);
        named.filter(|variable| !variable.local && !variable.name.is_empty()).map(|variable| &*variable.name)
    }

    pub(crate) fn variable(&self, name: &str) -> Option<Var> {
        let mut variables = self.query.variables.iter();
        let at =
            variables.position(|variable| !variable.local && !name.is_empty() && *variable.name == *name)?;
        Some(Var(at as u16))
    }

    /// The term of a field, written out.
    pub(crate) fn field_text(&self, field: usize) -> Option<&str> {
        self.query.fields.get(field).map(|field| &*field.text)
    }

    pub(crate) fn query(&self) -> &BoundQuery {
        &self.query
    }

    /// The plan for rows.
    #[inline]
    pub(crate) fn plan(&self) -> &PhysicalPlan {
        &self.plans[Output::Rows as usize].plan
    }

    /// Lets a variable be one entity in every row from now on.
    pub(crate) fn set_var(
        &mut self,
        access: WorldAccess<'_>,
        name: &str,
        entity: Entity,
    ) -> Result<(), ExprRunError> {
        let unknown = || ExprRunError::UnknownVariable { name: name.to_owned() };
        let var = self.variable(name).ok_or_else(unknown)?;
        if access.world_id() != self.world {
            return Err(ExprRunError::OtherWorld);
        }
        if !access.entities().contains_spawned(entity) {
            return Err(ExprRunError::DeadEntity { name: name.to_owned(), entity });
        }
        self.preset.retain(|(other, _)| *other != var);
        self.preset.push((var, entity));
        self.preset_vars.insert(var);
        Ok(())
    }

    /// Lets all variables be free again.
    pub(crate) fn clear_vars(&mut self) {
        self.preset.clear();
        self.preset_vars = VarSet::default();
    }

    pub(crate) fn set_step_limit(&mut self, limit: Option<u64>) {
        self.step_limit = limit;
    }

    /// Whether it is noted in the run that was just started where entities lie that are scanned: see [`Batch::places`].
    pub(crate) fn keep_places(&mut self, keep: bool) {
        self.shared.keeps_places = keep;
    }

    /// Allows batches of the run that was just started to have entries that are [no rows](Batch::each_row): its reader skips
    /// them. `this_in_column` is whether the reader needs `$this` in a column as well.
    pub(crate) fn allow_gaps(&mut self, output: Output, this_in_column: bool) {
        let stages = &self.plans[output as usize].plan.pipeline.stages;
        let fits = stages.len() == 1 && stages.iter().all(Stage::fits_in_place);
        self.shared.allows_gaps = fits && self.step_limit.is_none();
        self.shared.this_in_column = this_in_column;
    }

    /// Says that data of `$this` is read in each row, from the next plan on.
    pub(crate) fn expect_data(&mut self) {
        self.with_data = true;
    }

    pub(crate) fn set_batch_size(&mut self, rows: usize) {
        self.shared.batch_size = rows.max(1);
    }

    /// Makes the plan for rows.
    pub(crate) fn plan_rows(&mut self, access: WorldAccess<'_>) {
        if let Some(view) = View::new(access) {
            self.store = Some(view.store.id());
            self.update(&view, Output::Rows);
        }
    }

    /// Starts a run.
    pub(crate) fn start(&mut self, access: WorldAccess<'_>, output: Output) -> Result<(), ExprRunError> {
        let view = self.begin(access, output)?;
        let Self { plans, query, preset, .. } = self;
        let input = plans[output as usize].state.restart();
        // Nothing holds for an entity that has died since.
        input.len = usize::from(preset.iter().all(|&(_, entity)| view.is_alive(entity)));
        for &(var, entity) in &*preset {
            for column in [var.0, query.variables.len() as Column + var.0] {
                input.column_mut(column).push(Datum::new(entity));
            }
        }
        Ok(())
    }

    /// Starts a run that finds the rows in which some variables have given values. `seeds` has these values, one per
    /// variable in the order of their numbers, and so on for each combination. The variables must be among those that
    /// [`seedable`](crate::expr::plan::seedable) returns. The world must not change until the run ends.
    pub(crate) fn start_seeded(
        &mut self,
        access: WorldAccess<'_>,
        vars: &VarSet,
        seeds: &[Entity],
    ) -> Result<(), ExprRunError> {
        self.preset_vars.clone_from(vars);
        let view = self.begin(access, Output::Rows)?;
        self.shared.seeds_are_alive = true;
        let input = self.plans[Output::Rows as usize].state.restart();
        let width = vars.iter().count().max(1);
        if let (Some(var), 1) = (vars.iter().next(), width) {
            let column = input.column_mut(var.0);
            column.extend(seeds.iter().filter(|&&seed| view.is_alive(seed)).map(|&seed| Datum::new(seed)));
            input.len = column.len();
            return Ok(());
        }
        for (place, var) in vars.iter().enumerate() {
            let living = seeds.chunks_exact(width).filter(|seed| seed.iter().all(|&end| view.is_alive(end)));
            let column = input.column_mut(var.0);
            column.extend(living.map(|seed| Datum::new(seed[place])));
            input.len = column.len();
        }
        Ok(())
    }

    /// Makes the plan right for a run.
    fn begin<'w>(&mut self, access: WorldAccess<'w>, output: Output) -> Result<View<'w>, ExprRunError> {
        if access.world_id() != self.world {
            return Err(ExprRunError::OtherWorld);
        }
        let view = View::new(access).ok_or(ExprRunError::NoPairs)?;
        if self.store != Some(view.store.id()) {
            // What was found is about pairs that are gone.
            self.store = Some(view.store.id());
            self.plans = Default::default();
        }
        self.update(&view, output);
        let Self { plans, shared, .. } = self;
        shared.restart(&plans[output as usize].plan, self.step_limit);
        (shared.keeps_places, shared.allows_gaps, shared.seeds_are_alive) = (false, false, false);
        Ok(view)
    }

    /// Makes the plan anew if it does not fit the world any more.
    fn update(&mut self, view: &View<'_>, output: Output) -> PlanFit {
        self.follow_types(view);
        let wanted = match output {
            Output::Rows if self.with_data => Wanted::RowsWithData,
            Output::Rows => Wanted::Rows,
            Output::Count => Wanted::Count,
        };
        let fit = self.plans[output as usize].update(&self.query, view, &self.preset_vars, wanted);
        if !matches!(fit, PlanFit::Same) {
            self.internal = internal_components(view.access);
            self.unlisted = unlisted_components(view.access, &self.internal);
        }
        fit
    }

    /// Takes the entities that stand for types by now, where those that did are gone.
    fn follow_types(&mut self, view: &View<'_>) {
        let Self { types, query, plans, .. } = self;
        for (known, type_id) in types.iter_mut().filter(|(known, _)| !view.is_alive(*known)) {
            let entity = view.store.registry().entity_of(*type_id);
            if query.replace_entity(*known, entity) {
                *plans = Default::default();
            }
            *known = entity.unwrap_or(*known);
        }
    }

    /// Whether no type has another entity by now than the one that stood for it.
    pub(crate) fn knows_types(&self, view: &View<'_>) -> bool {
        self.types.iter().all(|&(known, type_id)| {
            view.is_alive(known)
                || view.store.registry().entity_of(type_id).is_none_or(|entity| entity == known)
        })
    }

    /// Makes the next rows. False at the end.
    pub(crate) fn advance(&mut self, access: WorldAccess<'_>, output: Output) -> Result<bool, ExprRunError> {
        let view = View::new(access).ok_or(ExprRunError::NoPairs)?;
        let PlanState { plan, masks, state, .. } = &mut self.plans[output as usize];
        let Self { internal, unlisted, shared, .. } = self;
        let mut run = Run { view, masks, internal, unlisted, shared };
        let more = state.next(&mut run, &plan.pipeline, None);
        match self.step_limit {
            Some(limit) if self.shared.out_of_steps => Err(ExprRunError::StepLimit { limit }),
            _ => Ok(more),
        }
    }

    /// The rows that were made last.
    #[inline]
    pub(crate) fn batch(&self, output: Output) -> &Batch {
        self.plans[output as usize].state.result()
    }

    /// The plan in words.
    pub(crate) fn explain(&mut self, access: WorldAccess<'_>) -> Result<String, ExprRunError> {
        if access.world_id() != self.world {
            return Err(ExprRunError::OtherWorld);
        }
        let view = View::new(access).ok_or(ExprRunError::NoPairs)?;
        if let PlanFit::New = self.update(&view, Output::Rows) {
            self.shared.counts.clear();
        }
        Ok(self.plan().explain(&self.query, &view, Counts(&self.shared.counts)))
    }
}
