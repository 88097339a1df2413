//! Live expressions as system parameters.
#![expect(unsafe_code, reason = "Bevy's `SystemParam` is an unsafe trait")]

use super::{
    expr::{Following, LiveExpr, follow},
    fields::FieldBits,
    moves::{NetMoves, RowKey},
    param_order::SystemOrder,
    query_iter::LiveQueryIter,
};
use crate::expr::{
    AnyExpression, Batch, BoundQuery, ExprQuery, ExprQueryState, ExprRunError, Expression, PairExpr,
    ReadFields, Row, RowMut, VarId, WorldAccess,
};
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{
    change_detection::Tick,
    entity::Entity,
    query::{QueryData, ROQueryItem, ReadOnlyQueryData},
    resource::Resource,
    system::{
        ReadOnlySystemParam, SystemAccess, SystemMeta, SystemParam, SystemParamBuilder,
        SystemParamValidationError,
    },
    world::{DeferredWorld, World, unsafe_world_cell::UnsafeWorldCell},
};
use bevy_platform::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};
use core::{fmt, mem};

/// The rows of an expression, kept from run to run of a system, together with typed data of the entity that each is
/// about: a system parameter.
///
/// When the system runs, the rows are those of a run from scratch, as with an [`ExprQuery`]; but only those are
/// recomputed that depend on what has changed since it ran last, as with a [`LiveExpr`]. Each system has rows of its own.
///
/// In the book: [Live queries](crate::book::live).
///
/// ```
/// use bevy_app::prelude::*;
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::LiveQuery, prelude::*};
///
/// #[derive(Component)]
/// struct Fuel(f32);
/// #[derive(Component)]
/// struct Pump;
/// #[derive(Relation)]
/// struct DockedTo;
///
/// #[derive(Expression)]
/// #[expr("(DockedTo, $port), Pump($port|up ChildOf)")]
/// struct AtPump;
///
/// fn refuel(mut ships: LiveQuery<AtPump, &mut Fuel>) {
///     ships.for_each_mut(|mut fuel, _| fuel.0 += 1.0);
/// }
///
/// fn greet(ships: LiveQuery<AtPump>, mut greetings: ResMut<Greetings>) {
///     for ship in ships.entered() {
///         greetings.0.push(ship.var("port").unwrap());
///     }
/// }
///
/// #[derive(Resource, Default)]
/// struct Greetings(Vec<Entity>);
///
/// let mut app = App::new();
/// app.add_plugins(RelationsPlugin).register_relation::<DockedTo>().init_resource::<Greetings>();
/// app.register_component_name::<Pump>("Pump");
/// app.add_systems(Update, (refuel, greet.run_if(|ships: LiveQuery<AtPump>| !ships.is_empty())));
/// let station = app.world_mut().spawn(Pump).id();
/// let port = app.world_mut().spawn(ChildOf(station)).id();
/// let ship = app.world_mut().spawn((Fuel(0.0), Pair(DockedTo, port))).id();
/// app.update();
/// app.update();
/// assert_eq!(app.world().get::<Fuel>(ship).unwrap().0, 2.0);
/// assert_eq!(app.world().resource::<Greetings>().0, [port]);
/// ```
///
#[doc = include_str!("param.md")]
/// # Data, fields, access, names
///
/// All as for [`ExprQuery`]: what is declared, what conflicts, and what makes the parameter invalid. So systems that
/// keep rows run side by side.
///
/// # Changes
///
/// [`entered`](Self::entered) and [`left`](Self::left) are the rows that came and went since this system ran last;
/// [`changed`](Self::changed), [`row_changed`](Self::row_changed) and [`field_changed`](Self::field_changed) report
/// changes. In the first run every row has entered. For a system that is skipped, since another of its parameters is not
/// valid, they add up.
///
/// # What is recorded, and when
///
/// From the moment when the system is initialised, changes of everything that the expression names are recorded. If that
/// is something else later, because a name gets a meaning or an `IsA` a new kind, everything is run again until the
/// next sync point of the schedule or, for run conditions, until the next
/// [`RelationsSystems::Maintain`](crate::RelationsSystems::Maintain). The same happens if the system did not run for so long
/// that not all changes are known any more; see [`LiveExpr`]. Some expressions are always run as a whole:
/// [`explain`](Self::explain) says why.
///
/// # Panics
///
/// As for [`ExprQuery`].
pub struct LiveQuery<'w, 's, E: Expression, D: QueryData + 'static = ()> {
    pub(super) query: ExprQuery<'w, 's, E, D>,
    pub(super) rows: &'s mut LiveRows,
    pub(super) following: &'s Mutex<Following>,
}

/// The rows that a system keeps.
pub(super) struct LiveRows {
    pub(super) live: LiveExpr,
    pub(super) order: SystemOrder,
    /// How often names had got other meanings when it was bound.
    rebinds: u32,
    /// When the system had run last when rows were updated.
    last_run: Option<Tick>,
    /// The moves since then, once they are asked for.
    net_moves: OnceLock<NetMoves>,
    /// The rows that are new, and those with fields that are matched elsewhere, by their variables.
    changed: OnceLock<HashMap<RowKey, RowChange>>,
}

#[derive(Clone, Copy)]
enum RowChange {
    Entered,
    Altered(FieldBits),
}

impl LiveRows {
    fn new(query: BoundQuery, access: WorldAccess<'_>, rebinds: u32) -> Self {
        let mut live = LiveExpr::new(query, access);
        live.track_moves();
        let order = SystemOrder::default();
        Self { live, order, rebinds, last_run: None, net_moves: OnceLock::new(), changed: OnceLock::new() }
    }

    /// Brings the rows up to date.
    fn update<E: Expression, D: QueryData + 'static>(
        &mut self,
        query: &ExprQuery<'_, '_, E, D>,
        last_run: Tick,
        following: &Mutex<Following>,
    ) -> Result<(), ExprRunError> {
        let access = query.access();
        if self.rebinds != query.rebinds() {
            self.rebinds = query.rebinds();
            self.live.rebind(query.compiled().executor().query().clone(), access);
            self.order = SystemOrder::default();
        }
        self.order.start(&mut self.live);
        // This is also called if the system does not run, and if it gets its parameters several times.
        if self.last_run.replace(last_run) == Some(last_run) {
            self.live.keep_net_moves();
        } else {
            self.live.clear_moves();
        }
        self.net_moves = OnceLock::new();
        self.changed = OnceLock::new();
        let mut following = following.lock().unwrap_or_else(PoisonError::into_inner);
        self.live.update_in(access, &mut following)
    }

    fn variables(&self) -> usize {
        self.live.kept().1.variables()
    }

    fn net(&self) -> &NetMoves {
        self.net_moves.get_or_init(|| match self.live.moves() {
            Some(moves) => moves.net(self.variables(), self.live.layout()),
            None => NetMoves { entered: Vec::new(), left: Vec::new(), altered: Vec::new() },
        })
    }

    /// Whether rows came or went, even if they are as before now.
    fn any_moved(&self) -> bool {
        let moved = |batch: &Batch| batch.len > 0;
        let moves = self.live.moves();
        moves.is_some_and(|moves| moved(&moves.entered) || moved(&moves.left) || !moves.altered.is_empty())
    }

    /// Why a row counts as changed, apart from values that were written.
    fn change_of(&self, row: Row<'_>) -> Option<RowChange> {
        let moves = self.live.moves().filter(|_| self.any_moved())?;
        let variables = self.variables();
        let changed = self.changed.get_or_init(|| {
            let net_moves = self.net();
            let mut changed: HashMap<RowKey, RowChange> = HashMap::default();
            for (key, fields) in moves.altered.iter().chain(&net_moves.altered) {
                let known = changed.entry(key.clone()).or_insert(RowChange::Altered(*fields));
                if let RowChange::Altered(all) = known {
                    *all = all.union(*fields);
                }
            }
            for &row in &net_moves.entered {
                let key = moves.entered.columns[..variables].iter().map(|column| column[row as usize]);
                changed.insert(key.collect(), RowChange::Entered);
            }
            changed
        });
        changed.get(&row.key(variables)).copied()
    }
}

impl<'s, E: Expression, D: QueryData + 'static> LiveQuery<'_, 's, E, D> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.live.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.live.is_empty()
    }

    /// Whether there is a row about an entity, as `$this`.
    ///
    /// # Complexity
    /// O(1).
    pub fn contains(&self, entity: Entity) -> bool {
        self.rows.live.contains(entity)
    }

    /// The rows. By `cascade` they come in order of depth, those of one depth in any order; without it in any order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        let kept = self.rows.live.kept().1;
        kept.numbers().map(self.reader(kept.batch()))
    }

    /// The rows about an entity, as `$this`.
    ///
    /// # Complexity
    /// O(1), and O(1) for each.
    pub fn rows_of(&self, entity: Entity) -> impl Iterator<Item = Row<'_>> {
        let kept = self.rows.live.kept().1;
        kept.rows_of(entity).map(self.reader(kept.batch()))
    }

    pub(super) fn reader<'a>(&'a self, rows: &'a Batch) -> impl Fn(usize) -> Row<'a> + Copy {
        self.rows.live.reader_in(rows, self.query.access())
    }

    /// The rows, each with the data of `$this`, to be read. Rows of which `$this` does not have it, and rows without
    /// `$this`, are left out.
    pub fn iter(&self) -> LiveQueryIter<'_, 's, D> {
        let (live, kept) = (&self.rows.live, self.rows.live.kept().1);
        let rows = (kept.numbers(), kept.batch());
        LiveQueryIter { data: self.query.reader(), live, rows, access: self.query.access() }
    }

    /// Calls a function with the data of `$this`, and the row, to be written, of all rows that [`iter`](Self::iter)
    /// has. An entity is passed once for each of its rows.
    pub fn for_each_mut(&mut self, each: impl FnMut(D::Item<'_, 's>, RowMut<'_>)) {
        let (executor, kept) = self.rows.live.kept();
        let rows = (executor, kept.batch());
        match kept.are_in_order() {
            true => self.query.for_each_kept_mut(rows, each),
            false => self.query.for_some_kept_mut(rows, kept.numbers(), each),
        }
    }

    /// The data of an entity, to be read, whether or not it is in a row.
    pub fn get(&self, entity: Entity) -> Option<ROQueryItem<'_, 's, D>> {
        self.query.get(entity)
    }

    /// The data of an entity, whether or not it is in a row.
    pub fn get_mut(&mut self, entity: Entity) -> Option<D::Item<'_, 's>> {
        self.query.get_mut(entity)
    }

    /// The rows that have entered since this system ran last. A row that was there before with the same `$this` and
    /// variables, also those without a name, has not entered, even if its fields have changed.
    ///
    /// # Complexity
    /// O(rows that were recomputed) the first time in a run.
    pub fn entered(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        let entered = &self.rows.live.moves().expect(TRACKED).entered;
        let row = self.reader(entered);
        self.rows.net().entered.iter().map(move |&number| row(number as usize))
    }

    /// The rows that have left since this system ran last: their variables, some of which may have been despawned.
    /// Their fields are unspecified.
    ///
    /// # Complexity
    /// As for [`entered`](Self::entered).
    pub fn left(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        let left = &self.rows.live.moves().expect(TRACKED).left;
        let row = self.reader(left);
        self.rows.net().left.iter().map(move |&number| row(number as usize))
    }

    /// Whether a row has come or gone since this system ran last, or a row [has changed](Self::row_changed).
    ///
    /// # Complexity
    /// O(rows that were recomputed); if these are as before, O(fields of all rows), to compare their ticks.
    pub fn changed(&self) -> bool {
        let moved = self.rows.any_moved() && {
            let NetMoves { entered, left, altered } = self.rows.net();
            let before = self.rows.live.moves().is_some_and(|moves| !moves.altered.is_empty());
            before || !entered.is_empty() || !left.is_empty() || !altered.is_empty()
        };
        let values =
            || self.rows().any(|row| (0..row.field_count()).any(|field| self.is_written(row, field)));
        moved || values()
    }

    /// Whether a row of this parameter is new since this system ran last, or one of its fields
    /// [has changed](Self::field_changed).
    pub fn row_changed(&self, row: Row<'_>) -> bool {
        self.rows.change_of(row).is_some() || (0..row.field_count()).any(|field| self.is_written(row, field))
    }

    /// Whether a field of a row has changed since this system ran last: the row is new, the value was written, or what
    /// the field was matched by or on is another. What this system has written itself is not new to it. A value that
    /// [`D`](ExprQuery#data-and-fields) writes is not looked at; use its `Mut`.
    pub fn field_changed(&self, row: Row<'_>, field: usize) -> bool {
        let is_other = self.rows.change_of(row).is_some_and(|change| match change {
            RowChange::Entered => true,
            RowChange::Altered(fields) => fields.contains(field),
        });
        is_other || self.is_written(row, field)
    }

    fn is_written(&self, row: Row<'_>, field: usize) -> bool {
        row.changed_tick(field).is_some_and(|tick| self.query.is_new(tick))
    }

    /// Whether all rows were recomputed for this run; see [`LiveExpr::ran_whole`].
    pub fn ran_whole(&self) -> bool {
        self.rows.live.ran_whole()
    }

    /// The names of the variables that rows have, without `$this`.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.rows.live.variables()
    }

    /// The variable of a name, to be looked up once for many rows; `this` is a variable too.
    pub fn var_id(&self, name: &str) -> Option<VarId> {
        self.rows.live.var_id(name)
    }

    /// Number of fields: one for each term, one for all branches of an `||`.
    pub fn field_count(&self) -> usize {
        self.rows.live.field_count()
    }

    /// The number of the first field with a term, however it is written.
    pub fn field(&self, term: &str) -> Option<usize> {
        self.rows.live.field(term)
    }

    /// How the rows are kept; see [`LiveExpr::explain`].
    pub fn explain(&self) -> String {
        self.rows.live.explain()
    }
}

const TRACKED: &str = "a parameter has its moves noted";

impl<E: Expression, D: QueryData + 'static> fmt::Debug for LiveQuery<'_, '_, E, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveQuery").field("rows", &self.len()).finish_non_exhaustive()
    }
}

/// State of [`LiveQuery`].
#[doc(hidden)]
pub struct LiveQueryState<E: Expression, D: QueryData + 'static> {
    query: ExprQueryState<E, D>,
    /// `None` until all names have a meaning.
    rows: Option<LiveRows>,
    following: Arc<Mutex<Following>>,
}

impl<E: Expression, D: QueryData + 'static> LiveQueryState<E, D> {
    fn new(query: ExprQueryState<E, D>, world: &mut World) -> Self {
        let mut rows = query.query().map(|query| LiveRows::new(query.clone(), WorldAccess::World(world), 0));
        if let Some(rows) = &mut rows {
            // What fails now is reported when the system runs.
            let _ = rows.live.start(world);
        }
        let following = Arc::new(Mutex::new(Following::default()));
        world.get_resource_or_init::<AllFollowing>().0.push(Arc::downgrade(&following));
        Self { query, rows, following }
    }
}

/// What all systems that keep rows need recorded.
#[derive(Resource, Default)]
struct AllFollowing(Vec<Weak<Mutex<Following>>>);

/// Starts recording what systems have requested, for those that have no sync point.
pub(super) fn follow_all(world: &mut World) {
    let Some(mut all) = world.get_resource_mut::<AllFollowing>() else { return };
    let mut known = mem::take(&mut all.0);
    known.retain(|following| following.upgrade().inspect(|following| follow(world, following)).is_some());
    // Users' code that has run may have initialised systems.
    world.get_resource_or_init::<AllFollowing>().0.append(&mut known);
}

// SAFETY: all access is that of the `ExprQuery` within, with a state that was made for it: it is declared and got as that
// does. Tests: `a_live_query_declares_what_its_terms_say`, `a_live_query_that_conflicts_is_refused_by_name`.
unsafe impl<E: Expression, D: QueryData + 'static> SystemParam for LiveQuery<'_, '_, E, D> {
    type State = LiveQueryState<E, D>;
    type Item<'w, 's> = LiveQuery<'w, 's, E, D>;

    fn init_state(world: &mut World) -> Self::State {
        LiveQueryState::new(ExprQuery::<E, D>::init_state(world), world)
    }

    fn init_access(state: &Self::State, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        state.query.declare::<Self>(meta, access, world);
    }

    fn apply(state: &mut Self::State, _: &SystemMeta, world: &mut World) {
        follow(world, &state.following);
    }

    fn queue(state: &mut Self::State, _: &SystemMeta, mut world: DeferredWorld<'_>) {
        let has_requests = state.following.lock().unwrap_or_else(PoisonError::into_inner).has_requests();
        if has_requests {
            let following = state.following.clone();
            world.commands().queue(move |world: &mut World| follow(world, &following));
        }
    }

    unsafe fn get_param<'w, 's>(
        state: &'s mut Self::State,
        meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        tick: Tick,
    ) -> Result<Self::Item<'w, 's>, SystemParamValidationError> {
        let LiveQueryState { query, rows, following } = state;
        // SAFETY: the access was declared, and `world` is the world of this state, as the caller promises.
        let query = unsafe { ExprQuery::<E, D>::get_param(query, meta, world, tick) }.map_err(|error| {
            SystemParamValidationError::new::<Self>(error.skipped, error.message, error.field)
        })?;
        let bound = || query.compiled().executor().query().clone();
        let rows = rows.get_or_insert_with(|| LiveRows::new(bound(), query.access(), query.rebinds()));
        let updated = rows.update(&query, meta.get_last_run(), following);
        updated.map_err(|error| SystemParamValidationError::invalid::<Self>(error.to_string()))?;
        Ok(LiveQuery { query, rows, following })
    }
}

// SAFETY: as for the `ExprQuery` within.
unsafe impl<E: Expression<Fields = ReadFields>, D: ReadOnlyQueryData + 'static> ReadOnlySystemParam
    for LiveQuery<'_, '_, E, D>
{
}

/// Builds a [`LiveQuery`] of [`AnyExpression`] from an expression, as [`ExprParam`](crate::expr::ExprParam) builds an
/// [`ExprQuery`].
///
/// ```
/// use bevy_ecs::{prelude::*, system::RunSystemOnce};
/// use bevy_relations::{expr::{AnyExpression, PairExpr}, live::{LiveParam, LiveQuery}, prelude::*};
///
/// #[derive(Relation)]
/// struct Likes;
///
/// let mut world = World::new();
/// world.register_relation::<Likes>()?;
/// let apple = world.spawn(Name::new("Apple")).id();
/// world.spawn(Pair(Likes, apple));
///
/// let text = "(Likes, Apple)"; // from a file, or from a player
/// let system = (LiveParam(PairExpr::parse(text)?),)
///     .build_state(&mut world)
///     .build_system(|found: LiveQuery<AnyExpression>| found.len());
/// assert_eq!(world.run_system_once(system).unwrap(), 1);
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
pub struct LiveParam(
    /// The expression.
    pub PairExpr,
);

// SAFETY: the state is made as for expressions that are known to the compiler.
unsafe impl<'w, 's, D: QueryData + 'static> SystemParamBuilder<LiveQuery<'w, 's, AnyExpression, D>>
    for LiveParam
{
    fn build(self, world: &mut World) -> LiveQueryState<AnyExpression, D> {
        LiveQueryState::new(ExprQueryState::new(Some(self.0), world), world)
    }
}

impl<'a, 's, E: Expression, D: QueryData + 'static> IntoIterator for &'a LiveQuery<'_, 's, E, D> {
    type Item = (ROQueryItem<'a, 's, D>, Row<'a>);
    type IntoIter = LiveQueryIter<'a, 's, D>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
