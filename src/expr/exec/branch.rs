//! Pipelines that are run on a batch of another: for what is negated, optional or alternative.

use super::{Batch, PipelineState, Run, Settled, StageState};
use crate::expr::{
    eval::{Special, Value},
    plan::{Arm, Branch, BranchKind, Column, Stage},
};
use alloc::{boxed::Box, vec::Vec};

/// How far an arm has come.
pub(crate) struct ArmState {
    pipeline: PipelineState,
    /// The rows of which it made something.
    pub(super) hits: Vec<bool>,
    rows: Vec<u32>,
}

impl ArmState {
    pub(super) fn new(arm: &Arm, columns: usize) -> Self {
        Self { pipeline: PipelineState::new(&arm.pipeline, columns), hits: Vec::new(), rows: Vec::new() }
    }

    /// Gives the arm the rows that `takes` accepts.
    fn start(&mut self, arm: &Arm, input: &Batch, takes: impl Fn(usize) -> bool) {
        self.rows.clear();
        self.rows.extend((0..input.len).filter(|&row| takes(row)).map(|row| row as u32));
        let batch = self.pipeline.restart();
        batch.gather(input, &arm.takes, &self.rows);
        batch.column_mut(arm.origin).extend(self.rows.iter().map(|&row| Value::row(row as usize)));
        batch.len = self.rows.len();
    }

    /// Finds out for which of the rows that `takes` accepts the arm makes something.
    pub(super) fn find_hits(
        &mut self,
        arm: &Arm,
        run: &mut Run<'_, '_>,
        input: &Batch,
        takes: impl Fn(usize) -> bool,
    ) {
        self.start(arm, input, takes);
        self.hits.clear();
        self.hits.resize(input.len, false);
        loop {
            let settled = Settled { origin: arm.origin, hits: &self.hits };
            if !self.pipeline.next(run, &arm.pipeline, Some(settled)) {
                return;
            }
            for origin in &self.pipeline.result().columns[arm.origin as usize] {
                self.hits[origin.as_row()] = true;
            }
        }
    }
}

/// How far a [`Branch`] has come with a batch.
pub(crate) struct BranchState {
    arms: Vec<ArmState>,
    /// The rows that some arm has taken on.
    hits: Vec<bool>,
    arm: usize,
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
            let arms = self.arms.iter().map(|arm| ArmState::new(arm, columns)).collect();
            Box::new(BranchState { arms, hits: Vec::new(), arm: 0, rows: Vec::new() })
        });
        if stage_state.row == 0 && !stage_state.walking {
            stage_state.walking = true;
            state.hits.clear();
            state.hits.resize(input.len, false);
            state.arm = 0;
            self.start_arm(&mut state, input);
        }
        self.advance(&mut state, stage, run, input, output);
        if output.len == 0 || state.arm > self.arms.len() {
            stage_state.row = input.len;
        }
        stage_state.branch = Some(state);
    }

    fn start_arm(&self, state: &mut BranchState, input: &Batch) {
        let BranchState { arms, hits, arm, .. } = state;
        let Some((own, arm)) = arms.get_mut(*arm).zip(self.arms.get(*arm)) else { return };
        own.start(arm, input, |row| match &self.kind {
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
        while let Some(arm) = self.arms.get(state.arm) {
            let own = &mut state.arms[state.arm];
            let more = own.pipeline.next(run, &arm.pipeline, None);
            if run.shared.out_of_steps {
                return;
            }
            if !more {
                state.arm += 1;
                self.start_arm(state, input);
                continue;
            }
            let result = own.pipeline.result();
            let origins = &result.columns[arm.origin as usize];
            state.rows.clear();
            for (row, origin) in origins.iter().enumerate() {
                let hit = &mut state.hits[origin.as_row()];
                if self.kind != BranchKind::First || !*hit {
                    state.rows.push(row as u32);
                }
                *hit = true;
            }
            if !state.rows.is_empty() {
                for &column in &stage.made {
                    if !arm.fills.iter().any(|&(filled, _)| filled == column) {
                        output.gather(result, &[column], &state.rows);
                    }
                }
                fill(output, state.rows.len(), &arm.fills);
                return;
            }
        }
        if state.arm == self.arms.len() {
            state.arm += 1;
            self.pass_others(state, stage, input, output);
        }
    }

    /// The rows that no arm took on, if they go on.
    fn pass_others(&self, state: &mut BranchState, stage: &Stage, input: &Batch, output: &mut Batch) {
        state.rows.clear();
        let all = 0..input.len;
        match &self.kind {
            BranchKind::Optional => {
                state.rows.extend(all.filter(|&row| !state.hits[row]).map(|row| row as u32));
            }
            BranchKind::Guard(columns) => {
                let goes_on = |&row: &usize| lacks_any(input, columns, row);
                state.rows.extend(all.filter(goes_on).map(|row| row as u32));
            }
            BranchKind::Every | BranchKind::First => {}
        }
        output.gather(input, &stage.carry, &state.rows);
        fill(output, state.rows.len(), &self.fills);
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
