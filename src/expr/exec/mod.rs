//! Running a plan: stages hand batches of rows on to each other, and one goes back to the stage before it only
//! when a batch is used up.

mod any_relation;
mod atom;
mod batch;
mod branch;
mod buffers;
mod climb;
mod compute;
mod executor;
mod holders;
mod in_place;
mod list;
mod mask;
mod member;
mod predicate;
mod produce;
mod row_bits;
mod scan;
mod value;

pub(crate) use batch::{Batch, InPlace};
pub use executor::{ExprRunError, VarId};

pub(crate) use executor::{Executor, Output};
pub(crate) use list::ListedId;

use super::{
    eval::{DescendantWalk, Stamps, View},
    plan::{Column, PhysicalPlan, Pipeline, Stage, Step, SubPlan},
};
use alloc::{boxed::Box, vec::Vec};
use atom::Found;
use bevy_ecs::{component::ComponentId, entity::Entity};
use branch::{BranchState, SubPlanState};
use buffers::{AtomBuffers, CommonTargets};
use holders::Holders;
use mask::{Fit, FitSets, Masks};
use member::Members;
use row_bits::RowBits;
use value::Values;

/// What a step keeps for itself.
#[derive(Default)]
pub(crate) enum Own {
    #[default]
    Nothing,
    SubPlan(Box<SubPlanState>),
    Holders(Box<Holders>),
}

impl Own {
    pub(super) fn sub_plan(&mut self, sub_plan: &SubPlan, columns: usize) -> &mut SubPlanState {
        if !matches!(self, Self::SubPlan(_)) {
            *self = Self::SubPlan(Box::new(SubPlanState::new(sub_plan, columns)));
        }
        let Self::SubPlan(state) = self else { unreachable!("made above") };
        state
    }

    pub(super) fn holders(&mut self) -> &mut Holders {
        if !matches!(self, Self::Holders(_)) {
            *self = Self::Holders(Box::default());
        }
        let Self::Holders(holders) = self else { unreachable!("made above") };
        holders
    }
}

/// What all operations of a run share.
pub(crate) struct Run<'a, 'w> {
    pub(crate) view: View<'w>,
    pub(crate) masks: &'a Masks,
    /// Components that `*` does not match.
    pub(crate) internal: &'a [ComponentId],
    /// Components that do not count as part of what an entity is made of.
    pub(crate) unlisted: &'a [ComponentId],
    pub(crate) shared: &'a mut Shared,
}

/// Buffers and counts that outlive a run.
pub(crate) struct Shared {
    fits: FitSets,
    /// Number of the run, not 0.
    round: u64,
    atoms: AtomBuffers,
    members: Members,
    values: Values,
    /// Rows that were made, by stage of the plan.
    pub(crate) counts: Vec<u64>,
    /// An operation stops making rows when there are this many; it may finish what it is at.
    pub(crate) batch_size: usize,
    /// Whether it is noted where entities lie that are scanned.
    pub(crate) keeps_places: bool,
    /// Whether batches may be [in place](Batch::in_place), with entries that are no rows.
    pub(crate) allows_gaps: bool,
    /// Whether these have a column of `$this`, which can be read from the table too.
    pub(crate) this_in_column: bool,
    /// What the run was started with has not died since.
    pub(crate) seeds_are_alive: bool,
    /// How many more rows may be looked at.
    pub(crate) steps_left: u64,
    pub(crate) out_of_steps: bool,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            fits: FitSets::default(),
            round: 0,
            atoms: AtomBuffers::default(),
            members: Default::default(),
            values: Default::default(),
            counts: Vec::new(),
            batch_size: 1024,
            keeps_places: false,
            allows_gaps: false,
            this_in_column: true,
            seeds_are_alive: false,
            steps_left: 0,
            out_of_steps: false,
        }
    }
}

impl<'a> Run<'a, '_> {
    /// How to find which entities fit a mask, once a stage has so many rows.
    fn fit(&mut self, mask: usize, rows: usize, stage: &Stage) -> Fit<'_> {
        let few = self.shared.batch_size / 16;
        self.shared.fits.get(self.masks, mask, &self.view, rows, stage.estimate, few)
    }
}

impl Shared {
    /// Takes steps off those that are left.
    fn spend(&mut self, steps: u64) {
        let steps = steps.saturating_add(core::mem::take(&mut self.atoms.steps));
        match self.steps_left.checked_sub(steps) {
            Some(left) => self.steps_left = left,
            None => self.out_of_steps = true,
        }
        self.atoms.limit = self.steps_left;
    }

    /// Starts a run of a plan.
    pub(crate) fn restart(&mut self, plan: &PhysicalPlan, step_limit: Option<u64>) {
        self.fits.restart(plan.masks.len());
        self.round += 1;
        self.counts.clear();
        self.counts.resize(plan.stages, 0);
        self.steps_left = step_limit.unwrap_or(u64::MAX);
        self.out_of_steps = false;
        (self.atoms.steps, self.atoms.limit) = (0, self.steps_left);
        self.atoms.leads.restart();
    }
}

/// Rows that need no test any more: the results for their origins are known.
#[derive(Clone, Copy)]
pub(crate) struct Decided<'a> {
    origin: Column,
    hits: &'a [bool],
}

impl Decided<'_> {
    #[inline]
    fn is(this: Option<Self>, input: &Batch, row: usize) -> bool {
        this.is_some_and(|decided| decided.hits[input.columns[decided.origin as usize][row].as_row()])
    }
}

/// How far a stage has come with the rows it was given.
#[derive(Default)]
pub(crate) struct StageState {
    /// The row it is at.
    row: usize,
    /// How far it is within the row, where that takes two numbers.
    major: usize,
    minor: usize,
    below: DescendantWalk,
    walking: bool,
    /// Which of two sides has its neighbors noted, and whose they are.
    noted: Option<(usize, Entity)>,
    /// What was looked at without becoming a row.
    steps: u64,
    /// How many entities were looked at for this batch by a scan that tests them.
    scanned: usize,
    /// What such a scan found out.
    row_bits: RowBits,
    /// It is known of which version of the pairs that is, for this scan.
    knows_version: bool,
    /// Words of bits that are made [in place](Batch::in_place).
    words: Vec<u64>,
    common_targets: CommonTargets,
    /// Whether the last such batch had no columns but those that are common to all of its entries.
    holds_bits_only: bool,
    /// What an index found, and in which run.
    #[cfg(feature = "bevy_reflect")]
    indexed: (u64, Vec<Entity>),
    stamps: Stamps,
    found: Vec<Found>,
    /// The rows that were made, by the rows that they were made of.
    rows: Vec<u32>,
    branch: Option<Box<BranchState>>,
    /// What each step keeps.
    kept: Vec<Own>,
}

impl StageState {
    fn restart(&mut self) {
        (self.row, self.major, self.minor, self.walking) = (0, 0, 0, false);
        self.knows_version = false;
        self.noted = None;
        self.common_targets.clear();
    }
}

/// How far a pipeline has come.
#[derive(Default)]
pub(crate) struct PipelineState {
    /// What each stage is given; then the result.
    batches: Vec<Batch>,
    stages: Vec<StageState>,
    at: usize,
}

impl PipelineState {
    pub(crate) fn new(pipeline: &Pipeline, columns: usize) -> Self {
        let batches = (0..=pipeline.stages.len()).map(|_| Batch::with_columns(columns)).collect();
        let stages = pipeline.stages.iter().map(|stage| StageState {
            kept: stage.steps.iter().map(|_| Own::default()).collect(),
            ..StageState::default()
        });
        Self { batches, stages: stages.collect(), at: 0 }
    }

    /// The rows to start with, to be filled anew.
    pub(crate) fn restart(&mut self) -> &mut Batch {
        self.at = 0;
        if let Some(first) = self.stages.first_mut() {
            first.restart();
        }
        let input = &mut self.batches[0];
        input.clear();
        input
    }

    /// The rows that were made last.
    pub(crate) fn result(&self) -> &Batch {
        &self.batches[self.stages.len()]
    }

    /// Makes the next rows. False if there are none.
    pub(crate) fn next(
        &mut self,
        run: &mut Run<'_, '_>,
        pipeline: &Pipeline,
        decided: Option<Decided<'_>>,
    ) -> bool {
        while let Some(stage) = pipeline.stages.get(self.at) {
            let (before, after) = self.batches.split_at_mut(self.at + 1);
            let (input, output) = (&before[self.at], &mut after[0]);
            let state = &mut self.stages[self.at];
            output.clear();
            stage.step(state, run, input, output, decided);
            if run.shared.out_of_steps {
                return false;
            }
            if output.len == 0 {
                if state.row >= input.len {
                    let Some(at) = self.at.checked_sub(1) else { return false };
                    self.at = at;
                }
            } else if self.at + 1 == pipeline.stages.len() {
                return true;
            } else {
                self.at += 1;
                self.stages[self.at].restart();
            }
        }
        false
    }
}

impl Stage {
    /// Makes some rows and sends them through the steps.
    fn step(
        &self,
        state: &mut StageState,
        run: &mut Run<'_, '_>,
        input: &Batch,
        output: &mut Batch,
        decided: Option<Decided<'_>>,
    ) {
        if run.shared.allows_gaps && state.row < input.len && self.step_in_place(state, run, output) {
            return;
        }
        let before = state.row;
        self.produce(state, run, input, output, decided);
        let looked_at = (output.len + state.row - before) as u64;
        run.shared.spend(looked_at + core::mem::take(&mut state.steps));
        let done = self.steps_done(&run.view);
        for (step, own) in self.steps.iter().zip(&mut state.kept).skip(done) {
            if output.len == 0 {
                return;
            }
            let rows = &mut state.rows;
            rows.clear();
            match step {
                Step::Test(test) => test.apply(own, rows, run, output, self),
                Step::Compute(compute) => compute.apply(own, rows, run, output, self),
            }
            run.shared.spend(0);
        }
        if let Some(count) = run.shared.counts.get_mut(self.number) {
            *count += output.len as u64;
        }
    }
}
