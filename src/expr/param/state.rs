//! What [`ExprQuery`] keeps from run to run, and what it declares.
#![expect(unsafe_code, reason = "Bevy's `SystemParam` is an unsafe trait")]

use super::{ExprQuery, Expression, FieldMode, ReadFields, required::RequiredAccess};
#[cfg(feature = "bevy_reflect")]
use crate::expr::eval::FieldIndices;
use crate::{
    expr::{
        bind::{BindContext, BoundQuery, bind},
        eval::{ChildrenOf, DeclaredAccess, ExprNames, FieldQuery, WorldAccess},
        result::CompiledExpr,
        text::PairExpr,
    },
    fetch::{CursorState, FetchCursor, ReadRights},
    names::NamePaths,
    relation::short_name,
    store::PairStore,
};
use alloc::{
    format,
    string::{String, ToString},
};
#[cfg(feature = "bevy_reflect")]
use bevy_ecs::reflect::AppTypeRegistry;
use bevy_ecs::{
    change_detection::{Res, Tick},
    component::{ComponentId, Components},
    entity_disabling::DefaultQueryFilters,
    hierarchy::Children,
    name::Name,
    query::{
        Access, AccessConflicts, FilteredAccess, QueryBuilder, QueryData, QueryState, ReadOnlyQueryData,
    },
    system::{Query, ReadOnlySystemParam, SystemAccess, SystemMeta, SystemParam, SystemParamValidationError},
    world::{FilteredEntityMut, World, unsafe_world_cell::UnsafeWorldCell},
};
use bevy_relations_syntax::error::ExprError;
use core::{
    any::{TypeId, type_name},
    marker::PhantomData,
};
use thiserror::Error;

type Store = Option<Res<'static, PairStore>>;
type KnownNames = Option<Res<'static, ExprNames>>;
#[cfg(feature = "bevy_reflect")]
type Indices = Option<Res<'static, FieldIndices>>;
type Filters = Option<Res<'static, DefaultQueryFilters>>;

/// State of [`ExprQuery`].
#[doc(hidden)]
pub struct ExprQueryState<E: Expression, D: QueryData + 'static> {
    expr: Option<PairExpr>,
    compiled: CompiledExpr,
    /// How often the names in it got another meaning.
    rebinds: u32,
    status: Status,
    required: RequiredAccess,
    /// Why no system can have this parameter.
    refusal: Option<String>,
    store: <Store as SystemParam>::State,
    expr_names: <KnownNames as SystemParam>::State,
    #[cfg(feature = "bevy_reflect")]
    field_indices: <Indices as SystemParam>::State,
    fields: QueryState<FilteredEntityMut<'static, 'static>>,
    /// What they declare.
    access: Access,
    children: Option<QueryState<&'static Children>>,
    names: Option<<NamePaths<'static, 'static> as SystemParam>::State>,
    data: CursorState<D>,
    filters: <Filters as SystemParam>::State,
    #[cfg(feature = "bevy_reflect")]
    types: Option<AppTypeRegistry>,
    _expression: PhantomData<fn() -> E>,
}

/// Why a system cannot have its [`ExprQuery`]. [`PairExpr::compile`] finds out beforehand; Bevy keeps the text.
#[derive(Clone, Debug, Error)]
enum ExprQueryError {
    #[error("it has no expression: build the system with `ExprParam`")]
    NoExpression,
    #[error(transparent)]
    Expr(#[from] ExprError),
    #[error("a name has a meaning that it did not have when the system was initialised")]
    OtherAccess,
    #[error(
        "pairs of `{0}` have values, which the world did not know of when the system was initialised: call `register_relation` with \
         the relation, or `entity_of` with the type of the target, before that; or mark the term `[none]`"
    )]
    OtherValues(String),
    #[error("the pairs of the world are out of reach")]
    NoPairs,
}

/// How far an expression has come.
enum Status {
    /// Everything in it has a meaning.
    Ready,
    /// Some name has none yet.
    Waits,
    /// It will never have a meaning.
    Wrong(ExprQueryError),
}

impl<E: Expression, D: QueryData + 'static> ExprQueryState<E, D> {
    /// Binds what can be bound before the system runs: components, relations, and entities that are there.
    pub(crate) fn new(expr: Option<PairExpr>, world: &mut World) -> Self {
        let bound = match &expr {
            Some(expr) => bind(expr, BindContext::Init(world)).map_err(ExprQueryError::Expr),
            None => Err(ExprQueryError::NoExpression),
        };
        let (query, status) = match bound {
            Ok(query) if query.awaits_names => (query, Status::Waits),
            Ok(query) => (query, Status::Ready),
            Err(error) => (BoundQuery::default(), Status::Wrong(error)),
        };
        // Comparisons declare that they read it, whether or not an entity has one.
        world.register_component::<Name>();
        let access = WorldAccess::World(world);
        let mut required = RequiredAccess::new(&query, access);
        let disabling = access.disabling().to_vec();
        let mut of_data = FilteredAccess::default();
        required.with.iter().for_each(|&id| of_data.and_with(id));
        required.without.iter().for_each(|&id| of_data.and_without(id));
        let data = whole_world(of_data, &disabling, world);
        let refusal =
            required.share::<E>(QueryState::<D>::component_access(&data).access(), world.components());
        let mut of_fields = FilteredAccess::default();
        of_fields.access_mut().extend(&required.elsewhere);
        of_fields.access_mut().extend(&required.own);
        let fields: QueryState<FilteredEntityMut> = whole_world(of_fields, &disabling, world);
        let mut compiled = CompiledExpr::new(query, WorldAccess::World(world));
        if TypeId::of::<D>() != TypeId::of::<()>() {
            compiled.executor_mut().expect_data();
        }
        Self {
            rebinds: 0,
            status,
            store: Store::init_state(world),
            expr_names: KnownNames::init_state(world),
            #[cfg(feature = "bevy_reflect")]
            field_indices: Indices::init_state(world),
            access: fields.component_access().access().clone(),
            fields,
            children: required.children.then(|| whole_world(FilteredAccess::default(), &disabling, world)),
            names: required.names.then(|| NamePaths::init_state(world)),
            data: CursorState::of(data, world),
            filters: Filters::init_state(world),
            #[cfg(feature = "bevy_reflect")]
            types: world.get_resource().cloned(),
            compiled,
            expr,
            required,
            refusal,
            _expression: PhantomData,
        }
    }

    /// The expression with what its names mean, if all of them mean something by now.
    pub(crate) fn query(&self) -> Option<&BoundQuery> {
        matches!(self.status, Status::Ready).then(|| self.compiled.executor().query())
    }

    /// Declares what parameter `P`, which has this state, accesses.
    pub(crate) fn declare<P>(&self, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        let param = short_name(type_name::<P>()).replace("'_, ", "");
        if let Some(refusal) = &self.refusal {
            panic!("error[B0001]: `{param}` in system {} {refusal}", meta.name());
        }
        let mut own = SystemAccess::default();
        Store::init_access(&self.store, meta, &mut own, world);
        KnownNames::init_access(&self.expr_names, meta, &mut own, world);
        #[cfg(feature = "bevy_reflect")]
        Indices::init_access(&self.field_indices, meta, &mut own, world);
        Filters::init_access(&self.filters, meta, &mut own, world);
        FieldQuery::init_access(&self.fields, meta, &mut own, world);
        if let Some(children) = &self.children {
            ChildrenOf::init_access(children, meta, &mut own, world);
        }
        if let Some(names) = &self.names {
            NamePaths::init_access(names, meta, &mut own, world);
        }
        <Query<D>>::init_access(self.data.query(), meta, &mut own, world);
        let conflicts = access.get_conflicts(&own);
        if !conflicts.is_empty() {
            panic!(
                "error[B0001]: `{param}` in system {} accesses {} in a way that conflicts with a previous system \
                 parameter. Consider merging conflicting parameters into a `ParamSet`. \
                 See: https://bevy.org/learn/errors/b0001",
                meta.name(),
                self.required.describe(&conflicts, world.components())
            );
        }
        if let SystemAccess::Shared(own) = own {
            access.require_shared_access::<P>(meta).extend(own);
        }
    }
}

/// A query with disabled entities as well: the expression decides which it is about.
fn whole_world<D: QueryData + 'static>(
    mut access: FilteredAccess,
    disabling: &[ComponentId],
    world: &mut World,
) -> QueryState<D> {
    disabling.iter().for_each(|&id| access.access_mut().add_archetypal(id));
    let mut builder = QueryBuilder::new(world);
    builder.extend_access(access);
    builder.build()
}

impl RequiredAccess {
    /// Leaves the data what it writes. Says what stands against it.
    fn share<E: Expression>(&mut self, data: &Access, components: &Components) -> Option<String> {
        if !E::Fields::CAN_WRITE && (self.own.has_any_write() || self.elsewhere.has_any_write()) {
            return Some("writes fields, but says of itself that it only reads them".into());
        }
        let elsewhere = self.elsewhere.get_conflicts(data);
        if !elsewhere.is_empty() {
            let shared = self.describe(&elsewhere, components);
            return Some(format!(
                "has data that conflicts with {shared}, which the expression reads or writes on its own: put \
                 the expression and a `Query` with the data into a `ParamSet`"
            ));
        }
        match self.own.get_conflicts(data) {
            AccessConflicts::Individual(shared) if !shared.iter().any(|id| self.own.has_write(id)) => {
                // The data has it already.
                for id in shared.iter() {
                    self.own.remove_read(id);
                    self.left.add_read(id);
                }
                None
            }
            shared => Some(format!(
                "has data that conflicts with {}, a field that is written",
                self.describe(&shared, components)
            )),
        }
    }
}

/// Finds out what names mean by now, and whether the system may read what rows give.
fn resolve(
    status: &mut Status,
    (compiled, rebinds): (&mut CompiledExpr, &mut u32),
    expr: Option<&PairExpr>,
    required: &mut RequiredAccess,
    access: WorldAccess<'_>,
) -> Result<(), ExprQueryError> {
    resolve_names(status, (compiled, rebinds), expr, required, access)?;
    match required.undeclared_values(access) {
        Some(term) => Err(ExprQueryError::OtherValues(term.into())),
        None => Ok(()),
    }
}

fn resolve_names(
    status: &mut Status,
    (compiled, rebinds): (&mut CompiledExpr, &mut u32),
    expr: Option<&PairExpr>,
    required: &mut RequiredAccess,
    access: WorldAccess<'_>,
) -> Result<(), ExprQueryError> {
    let waits = match status {
        Status::Wrong(error) => return Err(error.clone()),
        Status::Ready if compiled.executor().names_only_living(access) => return Ok(()),
        Status::Ready => false,
        Status::Waits => true,
    };
    let Some(expr) = expr else { return Ok(()) };
    let bound =
        bind(expr, BindContext::System(access)).map(|query| (RequiredAccess::new(&query, access), query));
    match bound {
        Ok((needed, query)) if needed.fits(required) => {
            compiled.executor_mut().rebind(query, access);
            required.await_values_of(needed);
            *rebinds = rebinds.wrapping_add(1);
            *status = Status::Ready;
            Ok(())
        }
        Ok(_) => Err(ExprQueryError::OtherAccess),
        Err(error) if waits => Err(error.into()),
        // What was meant is gone, and nothing else has its name: the term is false.
        Err(_) => Ok(()),
    }
}

// SAFETY: every access goes through parameters of Bevy's and `NamePaths`, with states that were made for this world
// in `init_state`: `declare` lets each declare its own, and adds all of it after it has looked for conflicts;
// `get_param` fetches each. Beside them only metadata is read. Tests:
// `an_expression_reads_and_writes_what_its_terms_say_and_nothing_else`, `a_conflict_is_refused_by_name`.
unsafe impl<E: Expression, D: QueryData + 'static> SystemParam for ExprQuery<'_, '_, E, D> {
    type State = ExprQueryState<E, D>;
    type Item<'w, 's> = ExprQuery<'w, 's, E, D>;

    fn init_state(world: &mut World) -> Self::State {
        ExprQueryState::new(E::expr(), world)
    }

    fn init_access(state: &Self::State, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        state.declare::<Self>(meta, access, world);
    }

    unsafe fn get_param<'w, 's>(
        state: &'s mut Self::State,
        meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        tick: Tick,
    ) -> Result<Self::Item<'w, 's>, SystemParamValidationError> {
        // SAFETY: for this block, each parameter declared its access in `init_access`, and `world` is the world of
        // this state, as the caller promises.
        let (store, expr_names, filters, fields, children, names) = unsafe {
            (
                Store::get_param(&mut state.store, meta, world, tick)?,
                KnownNames::get_param(&mut state.expr_names, meta, world, tick)?,
                Filters::get_param(&mut state.filters, meta, world, tick)?,
                FieldQuery::get_param(&mut state.fields, meta, world, tick)?,
                match &mut state.children {
                    Some(children) => Some(ChildrenOf::get_param(children, meta, world, tick)?),
                    None => None,
                },
                match &mut state.names {
                    Some(names) => Some(NamePaths::get_param(names, meta, world, tick)?),
                    None => None,
                },
            )
        };
        #[cfg(feature = "bevy_reflect")]
        // SAFETY: as above.
        let field_indices = unsafe { Indices::get_param(&mut state.field_indices, meta, world, tick)? };
        // SAFETY: as above. `fields` declares the access that the rights are to. What it may write is written through rows and
        // tables of them, while each is handed out; they are not read otherwise then, and what is compared is read before and
        // after that, when rows are found. Tests: `a_system_compares_what_it_has_declared`,
        // `a_system_reads_and_writes_tables_as_the_world_does`.
        let rights = unsafe { ReadRights::new(world, &state.access) };
        state.data.update(world);
        let last_run = meta.get_last_run();
        // SAFETY: as above, of the data. Both stand for one parameter, and are never used at the same time.
        let (data, cursor) = unsafe {
            (
                state.data.query().query_unchecked_manual_with_ticks(world, last_run, tick),
                FetchCursor::new(&state.data, world, last_run, tick),
            )
        };
        let declared = DeclaredAccess {
            world,
            store: store.map(Res::into_inner),
            expr_names: expr_names.map(Res::into_inner),
            #[cfg(feature = "bevy_reflect")]
            field_indices: field_indices.map(Res::into_inner),
            rights,
            access: &state.access,
            last_run,
            this_run: tick,
            fields,
            children,
            names,
            filters: filters.map(Res::into_inner),
            #[cfg(feature = "bevy_reflect")]
            types: state.types.as_ref(),
        };
        // Bevy has no place for more than a text.
        let invalid = |error: ExprQueryError| SystemParamValidationError::invalid::<Self>(error.to_string());
        let ExprQueryState { status, compiled, rebinds, expr, required, .. } = state;
        let access = WorldAccess::Declared(&declared);
        resolve(status, (compiled, rebinds), expr.as_ref(), required, access).map_err(invalid)?;
        let own = &required.own;
        if declared.store.is_none() {
            return Err(invalid(ExprQueryError::NoPairs));
        }
        compiled.clear_vars();
        compiled.clear_order();
        compiled.set_step_limit(None);
        Ok(ExprQuery { compiled, rebinds: *rebinds, declared, own, data, cursor, _expression: PhantomData })
    }
}

// SAFETY: the data only reads, and so do the fields: the system is refused in `init_access` if one is written.
unsafe impl<E: Expression<Fields = ReadFields>, D: ReadOnlyQueryData + 'static> ReadOnlySystemParam
    for ExprQuery<'_, '_, E, D>
{
}
