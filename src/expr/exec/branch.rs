//! Pipelines that are run on a batch of another: for what is negated, optional or alternative.

use super::{Batch, Decided, PipelineState, Run, StageState};
use crate::expr::{
    eval::{Datum, Special},
    plan::{Branch, BranchKind, Column, Stage, SubPlan},
};
use alloc::{boxed::Box, vec::Vec};

/// How far a sub-plan has come.
pub(crate) struct SubPlanState {
    pipeline: PipelineState,
    /// The rows of which it made something.
    pub(super) hits: Vec<bool>,
    rows: Vec<u32>,
}

impl SubPlanState {
    pub(super) fn new(sub_plan: &SubPlan, columns: usize) -> Self {
        Self { pipeline: PipelineState::new(&sub_plan.pipeline, columns), hits: Vec::new(), rows: Vec::new() }
    }

    /// Hands the sub-plan the rows that `takes` accepts.
    fn start(&mut self, sub_plan: &SubPlan, input: &Batch, takes: impl Fn(usize) -> bool) {
        self.rows.clear();
        self.rows.extend((0..input.len).filter(|&row| takes(row)).map(|row| row as u32));
        let batch = self.pipeline.restart();
        batch.gather(input, &sub_plan.inputs, &self.rows);
        batch.column_mut(sub_plan.origin).extend(self.rows.iter().map(|&row| Datum::row(row as usize)));
        batch.len = self.rows.len();
    }

    /// Finds out for which of the rows that `takes` accepts the sub-plan makes something.
    pub(super) fn find_hits(
        &mut self,
        sub_plan: &SubPlan,
        run: &mut Run<'_, '_>,
        input: &Batch,
        takes: impl Fn(usize) -> bool,
    ) {
        self.start(sub_plan, input, takes);
        self.hits.clear();
        self.hits.resize(input.len, false);
        loop {
            let decided = Decided { origin: sub_plan.origin, hits: &self.hits };
            if !self.pipeline.next(run, &sub_plan.pipeline, Some(decided)) {
                return;
            }
            for origin in &self.pipeline.result().columns[sub_plan.origin as usize] {
                self.hits[origin.as_row()] = true;
            }
        }
    }
}

/// How far a [`Branch`] has come with a batch.
pub(crate) struct BranchState {
    sub_plans: Vec<SubPlanState>,
    /// The rows that some sub-plan has taken on.
    hits: Vec<bool>,
    at: usize,
    rows: Vec<u32>,
}

impl Branch {
    /// Makes some rows of the whole input.
    pub(super) fn produce(
        &self,
        stage: &Stage,
        stage_state: &mut StageState,
        run: &mut Run<'_, '_>,
        input: &Batch,
        output: &mut Batch,
    ) {
        let columns = output.columns.len();
        let mut state = stage_state.branch.take().unwrap_or_else(|| {
            let sub_plans =
                self.sub_plans.iter().map(|sub_plan| SubPlanState::new(sub_plan, columns)).collect();
            Box::new(BranchState { sub_plans, hits: Vec::new(), at: 0, rows: Vec::new() })
        });
        if stage_state.row == 0 && !stage_state.walking {
            stage_state.walking = true;
            state.hits.clear();
            state.hits.resize(input.len, false);
            state.at = 0;
            self.start_sub_plan(&mut state, input);
        }
        self.advance(&mut state, stage, run, input, output);
        if output.len == 0 || state.at > self.sub_plans.len() {
            stage_state.row = input.len;
        }
        stage_state.branch = Some(state);
    }

    fn start_sub_plan(&self, state: &mut BranchState, input: &Batch) {
        let BranchState { sub_plans, hits, at, .. } = state;
        let Some((own, sub_plan)) = sub_plans.get_mut(*at).zip(self.sub_plans.get(*at)) else { return };
        own.start(sub_plan, input, |row| match &self.kind {
            BranchKind::Optional | BranchKind::Every => true,
            BranchKind::First => !hits[row],
            BranchKind::Guard(columns) => !lacks_any(input, columns, row),
        });
    }

    fn advance(
        &self,
        state: &mut BranchState,
        stage: &Stage,
        run: &mut Run<'_, '_>,
        input: &Batch,
        output: &mut Batch,
    ) {
        while let Some(sub_plan) = self.sub_plans.get(state.at) {
            let own = &mut state.sub_plans[state.at];
            let more = own.pipeline.next(run, &sub_plan.pipeline, None);
            if run.shared.out_of_steps {
                return;
            }
            if !more {
                state.at += 1;
                self.start_sub_plan(state, input);
                continue;
            }
            let result = own.pipeline.result();
            let origins = &result.columns[sub_plan.origin as usize];
            state.rows.clear();
            for (row, origin) in origins.iter().enumerate() {
                let hit = &mut state.hits[origin.as_row()];
                if self.kind != BranchKind::First || !*hit {
                    state.rows.push(row as u32);
                }
                *hit = true;
            }
            if !state.rows.is_empty() {
                for &column in &stage.produced {
                    if !sub_plan.defaults.iter().any(|&(filled, _)| filled == column) {
                        output.gather(result, &[column], &state.rows);
                    }
                }
                fill(output, state.rows.len(), &sub_plan.defaults);
                return;
            }
        }
        if state.at == self.sub_plans.len() {
            state.at += 1;
            self.pass_others(state, stage, input, output);
        }
    }

    /// The rows that no sub-plan took on, if they go on.
    fn pass_others(&self, state: &mut BranchState, stage: &Stage, input: &Batch, output: &mut Batch) {
        state.rows.clear();
        let all = 0..input.len;
        match &self.kind {
            BranchKind::Optional => {
                state.rows.extend(all.filter(|&row| !state.hits[row]).map(|row| row as u32));
            }
            BranchKind::Guard(columns) => {
                let continues = |&row: &usize| lacks_any(input, columns, row);
                state.rows.extend(all.filter(continues).map(|row| row as u32));
            }
            BranchKind::Every | BranchKind::First => {}
        }
        output.gather(input, &stage.passthrough, &state.rows);
        fill(output, state.rows.len(), &self.defaults);
    }
}

/// Completes rows that were appended.
fn fill(output: &mut Batch, rows: usize, fills: &[(Column, Special)]) {
    output.len += rows;
    for &(column, value) in fills {
        let len = output.len;
        output.column_mut(column).resize(len, value.into());
    }
}

/// Whether one of these variables is not set in a row.
pub(super) fn lacks_any(input: &Batch, columns: &[Column], row: usize) -> bool {
    columns.iter().any(|&column| input.columns[column as usize][row].is_skipped())
}
