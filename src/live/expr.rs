//! A live expression.

use super::{
    concerned::ChangeReaders,
    fields::FieldLayout,
    kept::KeptRows,
    moves::Moves,
    order::KeptOrder,
    outline::{Outline, Reason, outline},
    premise::Premise,
};
use crate::{
    expr::{
        Batch, BindContext, BoundQuery, CompiledExpr, Datum, Executor, ExprError, ExprRunError, Output,
        PairExpr, Row, Var, VarId, View, WorldAccess, bind,
    },
    fetch,
    ops::Followed,
};
use alloc::{boxed::Box, string::String, vec::Vec};
use bevy_ecs::{entity::Entity, world::World};
use bevy_platform::sync::{Mutex, PoisonError};
use core::fmt;
use smallvec::SmallVec;

/// How often the dependencies of an expression are found again if they change while their recording is started.
const MAX_ROUNDS: usize = 4;

impl PairExpr {
    /// [Compiles](Self::compile) the expression for a world, to keep its rows. The first [`update`](LiveExpr::update)
    /// finds them. [`LiveExpr`] has an example.
    ///
    /// # Errors
    /// As for [`compile`](Self::compile).
    pub fn live(&self, world: &mut World) -> Result<LiveExpr, ExprError> {
        let query = bind(self, BindContext::World(world))?;
        Ok(LiveExpr::new(query, WorldAccess::World(world)))
    }
}

/// What is known of a live expression since it was run as a whole.
pub(super) struct WholeRun {
    /// With the terms that follow from traits written out.
    pub(super) query: BoundQuery,
    pub(super) outline: Outline,
    premise: Premise,
    changes: ChangeReaders,
    /// Runs that start with seeds, by group.
    runs: Vec<Executor>,
    /// Everything was run since changes are recorded.
    was_run: bool,
}

impl WholeRun {
    /// Whether everything is run again only because the changes are not recorded yet.
    fn is_awaiting(&self) -> bool {
        matches!(self.outline.reasons[..], [(None, Reason::NotNoted)])
    }

    /// Whether rows can be kept by changes, now or once these are recorded.
    fn follows(&self) -> bool {
        self.outline.reasons.is_empty() || self.is_awaiting()
    }

    /// Updates by these changes from now on.
    fn take_changes(&mut self, changes: ChangeReaders) {
        self.changes = changes;
        self.outline.reasons.clear();
        self.was_run = false;
    }
}

/// What a system that keeps rows needs recorded, and the readers of what is.
#[derive(Default)]
pub(super) struct Following {
    requested: Option<Outline>,
    changes: Option<ChangeReaders>,
    /// The relation by whose targets rows are grouped, if its journal is still to be kept.
    relation: Option<Followed>,
}

impl Following {
    /// Whether something is still to be recorded.
    pub(super) fn has_requests(&self) -> bool {
        self.requested.is_some() || self.relation.is_some()
    }

    /// Requests that the journal of a relation is kept.
    pub(super) fn request_pairs(&mut self, relation: Followed) {
        self.relation = Some(relation);
    }
}

/// Starts recording what is requested.
pub(super) fn follow(world: &mut World, following: &Mutex<Following>) {
    let lock = || following.lock().unwrap_or_else(PoisonError::into_inner);
    let relation = lock().relation.take();
    if let Some(store) = fetch::store_mut(world)
        && let Some(id) = relation.and_then(|relation| relation.relation(store))
    {
        store.keep_journal(id).keep_longer();
    }
    // Spawning observers runs users' code, which may call this function.
    let Some(requested) = lock().requested.take() else { return };
    let changes = ChangeReaders::follow(world, &requested);
    let mut following = lock();
    if following.requested.is_none() {
        following.changes.get_or_insert(changes);
    }
}

/// An expression whose rows are kept, and updated from what has changed.
///
/// Call [`update`](Self::update) to bring the rows up to date; in between they stay as they were. Changes are known from the
/// pairs themselves and from observers of the components that the expression names. Values that are written in place, in fields
/// and names, are found by their change ticks, which takes a comparison for each entity with the component. If the pairs or
/// components of a few entities have changed, only the rows that depend on them are recomputed. Some expressions are
/// run again as a whole at each update; [`explain`](Self::explain) says which terms are the reason.
///
/// Changes are recorded for two frames, and the last eight thousand changes of each relation and component longer. An
/// expression that is updated so late that not all are known any more is run as a whole.
///
/// In the book: [Live queries](crate::book::live).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{expr::PairExpr, prelude::*};
/// #[derive(Relation)]
/// struct DockedTo;
///
/// # let mut world = World::new();
/// world.register_relation::<DockedTo>()?;
/// let mut docked = PairExpr::parse("(DockedTo, $port)")?.live(&mut world)?;
/// docked.update(&mut world)?;
/// assert!(docked.is_empty());
///
/// let port = world.spawn_empty().id();
/// let ship = world.spawn_empty().id();
/// world.insert_pair(ship, DockedTo, port)?;
/// docked.update(&mut world)?;
/// assert!(docked.contains(ship));
/// let ports: Vec<_> = docked.rows(&world)?.map(|row| row.var("port")).collect();
/// assert_eq!(ports, [Some(port)]);
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
///
#[doc = include_str!("expr.md")]
pub struct LiveExpr {
    /// Runs the whole expression.
    whole: CompiledExpr,
    /// Reads the kept rows.
    row_info: Executor,
    layout: FieldLayout,
    kept: KeptRows,
    /// `None` until everything was run once, and whenever that has to be done again.
    pub(super) known: Option<WholeRun>,
    /// All rows were recomputed by the last update.
    ran_whole: bool,
    step_limit: Option<u64>,
    /// Still set if users' code has panicked in an update: rows may be missing, and its moves were not reported.
    is_updating: bool,
    /// If rows are kept in groups or in order.
    order: Option<Box<KeptOrder>>,
}

impl LiveExpr {
    pub(super) fn new(query: BoundQuery, access: WorldAccess<'_>) -> Self {
        Self {
            row_info: Executor::of_kept_rows(query.clone(), access, Vec::new()),
            whole: CompiledExpr::new(query, access),
            layout: FieldLayout::default(),
            kept: KeptRows::default(),
            known: None,
            ran_whole: false,
            step_limit: None,
            is_updating: false,
            order: None,
        }
    }

    /// Ends an update with an error when it takes more steps than this in one run, of the whole expression or of the
    /// rows that some changes concern; see [`CompiledExpr::set_step_limit`].
    pub fn set_step_limit(&mut self, limit: Option<u64>) {
        self.step_limit = limit;
        self.whole.set_step_limit(limit);
        let runs = self.known.iter_mut().flat_map(|known| &mut known.runs);
        runs.for_each(|run| run.set_step_limit(limit));
    }

    /// Updates the rows to those of a run from scratch.
    ///
    /// # Errors
    /// If it cannot be run in this world. It has no rows then.
    ///
    /// # Complexity
    /// That of finding the rows that depend on what has changed since the last update; that of a run, if too much has
    /// changed or the changes are not known.
    pub fn update(&mut self, world: &mut World) -> Result<(), ExprRunError> {
        match core::mem::replace(&mut self.is_updating, true) {
            true => self.known = None,
            false => self.clear_moves(),
        }
        let checked = self.order.as_ref().map_or(Ok(()), |order| order.check(WorldAccess::World(world)));
        let updated = checked.and_then(|()| self.try_update(world));
        let updated = self.finish(updated);
        self.put_in_order(world);
        self.is_updating = false;
        updated?;
        self.kept.keep_net_moves(&self.layout);
        Ok(())
    }

    /// The order in which rows are kept, the rows, and the executor that reads them.
    pub(super) fn order_parts(&mut self) -> (&mut Option<Box<KeptOrder>>, &mut KeptRows, &Executor) {
        (&mut self.order, &mut self.kept, &self.row_info)
    }

    pub(super) fn order(&self) -> Option<&KeptOrder> {
        self.order.as_deref()
    }

    /// Whether rows come in order of depth.
    pub(super) fn has_cascade(&self) -> bool {
        self.whole.executor().query().cascade.is_some()
    }

    pub(super) fn clear_moves(&mut self) {
        self.kept.moves.iter_mut().for_each(Moves::clear);
    }

    fn try_update(&mut self, world: &mut World) -> Result<(), ExprRunError> {
        self.ran_whole = false;
        if let Some(known) = &self.known {
            known.changes.restart_if_missed(world);
        }
        if !self.is_followed(WorldAccess::World(world)) {
            self.start(world)?;
            self.run_whole(WorldAccess::World(world))?;
        } else {
            self.replace_or_run(WorldAccess::World(world))?;
        }
        if self.known.as_ref().is_some_and(|known| known.changes.compare_ticks()) {
            // What is written from now on is newer.
            world.increment_change_tick();
        }
        Ok(())
    }

    /// [`update`](Self::update) by a system, which cannot start recording. If changes are not recorded, everything is run
    /// again, and `following` gets the request; the readers that it has by now are taken. The moves of rows are added to
    /// those that are known, and are not net.
    pub(super) fn update_in(
        &mut self,
        access: WorldAccess<'_>,
        following: &mut Following,
    ) -> Result<(), ExprRunError> {
        self.ran_whole = false;
        let updated = match self.is_followed(access) {
            true => {
                if let Some(known) = self.known.as_mut().filter(|known| known.is_awaiting())
                    && let Some(changes) = following.changes.take()
                {
                    known.take_changes(changes);
                }
                self.replace_or_run(access)
            }
            false => self.look(access).and_then(|mut known| {
                (following.requested, following.changes) = (None, None);
                if known.outline.reasons.is_empty() {
                    following.requested = Some(known.outline.clone());
                    known.outline.reasons.push((None, Reason::NotNoted));
                }
                self.known = Some(known);
                self.layout = FieldLayout::default();
                self.run_whole(access)
            }),
        };
        self.finish(updated)
    }

    /// Removes all rows if an update failed.
    fn finish(&mut self, updated: Result<(), ExprRunError>) -> Result<(), ExprRunError> {
        if updated.is_err() {
            self.known = None;
            self.kept.clear();
            self.kept.keep_net_moves(&self.layout);
        }
        updated
    }

    /// Replaces the query, after names have got other meanings. The rows from before leave with the next update.
    pub(super) fn rebind(&mut self, query: BoundQuery, access: WorldAccess<'_>) {
        let kept = core::mem::take(&mut self.kept);
        *self = Self { kept, ..Self::new(query, access) };
    }

    fn replace_or_run(&mut self, access: WorldAccess<'_>) -> Result<(), ExprRunError> {
        if self.replace_rows(access)? { Ok(()) } else { self.run_whole(access) }
    }

    /// Whether what is known still holds.
    fn is_followed(&mut self, access: WorldAccess<'_>) -> bool {
        let (Some(known), Some(view)) = (&mut self.known, View::new(access)) else { return false };
        self.whole.executor().is_for(view.access)
            && self.whole.executor().knows_types(&view)
            && known.premise.holds(&known.query, &view)
            && known.changes.are_observed(&view)
    }

    /// Finds out what it depends on. Changes of that are not recorded yet.
    fn look(&mut self, access: WorldAccess<'_>) -> Result<WholeRun, ExprRunError> {
        self.known = None;
        self.whole.start_rows(access)?;
        let view = View::new(access).ok_or(ExprRunError::NoPairs)?;
        let mut query = self.whole.executor().query().clone();
        query.follow_traits(view.store);
        let mut outline = outline(&query, &view, self.whole.executor().plan().has_this);
        if self.whole.executor().plan().visits_all() {
            outline.reasons.push((None, Reason::Everything));
        }
        let premise = Premise::new(&query, &view);
        let run = |_| {
            let mut run = Executor::new(query.clone(), access);
            run.set_step_limit(self.step_limit);
            run
        };
        let runs = outline.groups.iter().map(run).collect();
        Ok(WholeRun { query, outline, premise, changes: ChangeReaders::default(), runs, was_run: false })
    }

    /// Finds out what it depends on, and records changes of that from now on.
    pub(super) fn start(&mut self, world: &mut World) -> Result<(), ExprRunError> {
        for _ in 0..MAX_ROUNDS {
            let mut known = self.look(WorldAccess::World(world))?;
            if known.outline.reasons.is_empty() {
                known.changes = ChangeReaders::follow(world, &known.outline);
            }
            self.known = Some(known);
            // Spawning observers runs users' code.
            if self.is_followed(WorldAccess::World(world)) {
                break;
            }
        }
        self.layout = FieldLayout::default();
        Ok(())
    }

    /// Finds all rows.
    fn run_whole(&mut self, access: WorldAccess<'_>) -> Result<(), ExprRunError> {
        let view = View::new(access).ok_or(ExprRunError::NoPairs)?;
        let Some(known) = &mut self.known else { return Err(ExprRunError::NoPairs) };
        known.changes.skip(&view);
        known.was_run = true;
        self.whole.start_rows(access)?;
        let plan = self.whole.executor().plan();
        if self.layout.fields.len() != plan.fields.len() || !self.layout.set_plan(plan) {
            let variables = known.query.variables.len();
            self.layout.renew(variables, plan);
            let mut indexed = alloc::vec![Var::THIS];
            let groups = known.outline.groups.iter().filter(|_| known.follows());
            groups.for_each(|group| indexed.extend(group.vars.iter()));
            indexed.sort_unstable();
            indexed.dedup();
            self.kept.renew(variables, &self.layout, indexed.into_iter());
            self.row_info = Executor::of_kept_rows(known.query.clone(), access, self.layout.fields.clone());
        }
        self.kept.clear();
        let depths = self.whole.executor().plan().depths;
        self.kept.set_levels(depths.filter(|_| known.follows()));
        while self.whole.next_batch(access)? {
            self.kept.append(self.whole.batch(), &self.layout);
        }
        self.kept.place_pending(&view);
        self.ran_whole = true;
        Ok(())
    }

    /// Finds anew the rows that changes concern. False if that cannot be done.
    fn replace_rows(&mut self, access: WorldAccess<'_>) -> Result<bool, ExprRunError> {
        let view = View::new(access).ok_or(ExprRunError::NoPairs)?;
        let Self { layout, kept, known: Some(known), .. } = self else { return Ok(false) };
        let WholeRun { outline, changes, runs, was_run, .. } = known;
        if !*was_run || !outline.reasons.is_empty() || !changes.collect(&view, outline, kept.len()) {
            return Ok(false);
        }
        for ((group, seeds), run) in outline.groups.iter().zip(&mut changes.seeds).zip(runs) {
            if seeds.values.is_empty() {
                continue;
            }
            let single = group.single();
            match single {
                Some(var) => {
                    // Rows are indexed by entity index: those of a dead entity are replaced with those of its successor.
                    let entities = access.entities();
                    seeds
                        .values
                        .iter_mut()
                        .for_each(|seed| *seed = entities.resolve_from_index(seed.index()));
                    kept.start_replacing(var, &seeds.values);
                }
                None => {
                    for seed in seeds.values.chunks_exact(group.width) {
                        let fit: SmallVec<[_; 2]> = group.vars.iter().zip(seed.iter().copied()).collect();
                        kept.remove(&fit);
                    }
                }
            }
            run.start_seeded(access, &group.vars, &seeds.values)?;
            if !layout.set_plan(run.plan()) {
                return Ok(false);
            }
            while run.advance(access, Output::Rows)? {
                let made = run.batch(Output::Rows);
                match single {
                    Some(var) => kept.replace(var, made, layout),
                    None => kept.append(made, layout),
                }
            }
            if let Some(var) = single {
                kept.finish_replacing(var, &seeds.values);
            }
        }
        kept.place_pending(&view);
        Ok(true)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows, as they were at the last update. Their fields are read from the world as it is now. By `cascade` they come
    /// in order of depth, those of one depth in any order; without it in any order.
    ///
    /// # Errors
    /// If it is for another world.
    pub fn rows<'a>(
        &'a self,
        world: &'a World,
    ) -> Result<impl ExactSizeIterator<Item = Row<'a>>, ExprRunError> {
        let row = self.reader(self.kept.batch(), world)?;
        Ok(self.kept.numbers().map(row))
    }

    /// Reads one of these rows by its number.
    pub(super) fn reader<'a>(
        &'a self,
        rows: &'a Batch,
        world: &'a World,
    ) -> Result<impl Fn(usize) -> Row<'a> + Copy, ExprRunError> {
        let access = WorldAccess::World(world);
        self.row_info.is_for(access).then(|| self.reader_in(rows, access)).ok_or(ExprRunError::OtherWorld)
    }

    /// [`reader`](Self::reader), in the world of the expression.
    pub(super) fn reader_in<'a>(
        &'a self,
        rows: &'a Batch,
        access: WorldAccess<'a>,
    ) -> impl Fn(usize) -> Row<'a> + Copy {
        let these = rows.columns.get(Var::THIS.index()).map_or(&[][..], Vec::as_slice);
        move |row| {
            let this = these.get(row).copied().unwrap_or(Datum::UNSET);
            Row::about(&self.row_info, rows, (row, this), access)
        }
    }

    /// The rows, and the executor that reads them.
    pub(super) fn kept(&self) -> (&Executor, &KeptRows) {
        (&self.row_info, &self.kept)
    }

    /// The rows that came and went, not net after [`update_in`](Self::update_in).
    pub(super) fn moves(&self) -> Option<&Moves> {
        self.kept.moves.as_ref()
    }

    /// Drops the rows that both came and went so far. More may be added.
    pub(super) fn keep_net_moves(&mut self) {
        self.kept.keep_net_moves(&self.layout);
    }

    /// How kept rows store their fields.
    pub(super) fn layout(&self) -> &FieldLayout {
        &self.layout
    }

    /// Whether there is a row about an entity, as `$this`.
    ///
    /// # Complexity
    /// O(1).
    pub fn contains(&self, entity: Entity) -> bool {
        self.kept.has(entity)
    }

    /// The rows about an entity, as `$this`.
    ///
    /// # Errors
    /// If it is for another world.
    ///
    /// # Complexity
    /// O(1), and O(1) for each.
    pub fn rows_of<'a>(
        &'a self,
        world: &'a World,
        entity: Entity,
    ) -> Result<impl Iterator<Item = Row<'a>>, ExprRunError> {
        let row = self.reader(self.kept.batch(), world)?;
        Ok(self.kept.rows_of(entity).map(row))
    }

    /// Records the rows that enter and leave, from the next update on.
    pub fn track_moves(&mut self) -> &mut Self {
        self.kept.moves.get_or_insert_default();
        self
    }

    /// The rows that have entered with the last update, if [they are recorded](Self::track_moves). A row that was there
    /// before with the same `$this` and variables, also those without a name, has not entered, even if its fields have
    /// changed.
    ///
    /// # Errors
    /// If it is for another world.
    pub fn entered<'a>(&'a self, world: &'a World) -> Result<impl Iterator<Item = Row<'a>>, ExprRunError> {
        self.moved(self.kept.moves.as_ref().map(|moves| &moves.entered), world)
    }

    /// The rows that have left with the last update, if [they are recorded](Self::track_moves): their variables alone,
    /// some of which may have been despawned.
    ///
    /// # Errors
    /// If it is for another world.
    pub fn left<'a>(&'a self, world: &'a World) -> Result<impl Iterator<Item = Row<'a>>, ExprRunError> {
        self.moved(self.kept.moves.as_ref().map(|moves| &moves.left), world)
    }

    fn moved<'a>(
        &'a self,
        rows: Option<&'a Batch>,
        world: &'a World,
    ) -> Result<impl Iterator<Item = Row<'a>>, ExprRunError> {
        let len = rows.map_or(0, |rows| rows.len);
        let row = self.reader(rows.unwrap_or(self.kept.batch()), world)?;
        Ok((0..len).map(row))
    }

    /// Whether the last update has recomputed all rows: it was the first, the expression is always run as a whole, or too
    /// much had changed.
    pub fn ran_whole(&self) -> bool {
        self.ran_whole
    }

    /// The names of the variables that rows have, without `$this`.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.row_info.variables()
    }

    /// The variable of a name, to be looked up once for many rows; `this` is a variable too.
    pub fn var_id(&self, name: &str) -> Option<VarId> {
        self.whole.var_id(name)
    }

    /// Number of fields: one for each term, one for all branches of an `||`.
    pub fn field_count(&self) -> usize {
        self.whole.field_count()
    }

    /// The number of the first field with a term, however it is written.
    pub fn field(&self, term: &str) -> Option<usize> {
        self.whole.field(term)
    }

    /// How the rows are updated, one line per term: the variables whose values follow from a change, so that only rows
    /// with these are recomputed; whether a change recomputes everything; or why each update does.
    ///
    /// That is known after the first update.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_plan(&mut text);
        text
    }
}

impl fmt::Debug for LiveExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveExpr").field("rows", &self.len()).finish_non_exhaustive()
    }
}
