//! Pipelines: what each stage reads and writes, and so which columns must be passed through.

use super::{Column, Columns, Compute, Predicate, Produce};
use crate::expr::eval::Special;
use alloc::{borrow::ToOwned, string::String, vec::Vec};

/// A pipeline that is run on a batch of another.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SubPlan {
    pub(crate) pipeline: Pipeline,
    /// Where the number of the row in that batch is kept.
    pub(crate) origin: Column,
    /// Columns that it is given.
    pub(crate) inputs: Vec<Column>,
    /// What the columns hold that it does not write.
    pub(crate) defaults: Vec<(Column, Special)>,
}

/// Rows that go different ways.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Branch {
    pub(crate) kind: BranchKind,
    pub(crate) sub_plans: Vec<SubPlan>,
    /// What the columns of rows hold that no sub-plan takes on.
    pub(crate) defaults: Vec<(Column, Special)>,
}

/// Which rows go where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BranchKind {
    /// To the sub-plan; those of which it makes nothing go on as they are.
    Optional,
    /// To every sub-plan.
    Every,
    /// To the first sub-plan that makes something of them, and only the first that it makes.
    First,
    /// To the sub-plan, unless a variable is not set. Rows in which one is unset go on as they are.
    Guard(Vec<Column>),
}

/// A step of a pipeline.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Stage {
    pub(crate) produce: Produce,
    pub(crate) steps: Vec<Step>,
    /// Columns that are copied from the rows it is given.
    pub(crate) passthrough: Vec<Column>,
    /// Columns of the rows that are made, before the steps.
    pub(crate) produced: Vec<Column>,
    /// Everything that is wanted of its rows.
    pub(crate) columns: Vec<Column>,
    /// What it was made of, and how many rows are expected.
    pub(crate) label: String,
    pub(crate) estimate: f64,
    /// Number of the stage among all of the plan.
    pub(crate) number: usize,
}

/// Stages, each with the rows of the one before it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Pipeline {
    pub(crate) stages: Vec<Stage>,
}

/// What a stage does with the rows that it has made.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    Test(Predicate),
    Compute(Compute),
}

impl From<Predicate> for Step {
    fn from(test: Predicate) -> Self {
        Self::Test(test)
    }
}

impl From<Compute> for Step {
    fn from(compute: Compute) -> Self {
        Self::Compute(compute)
    }
}

impl Step {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Test(test) => test.name(),
            Self::Compute(compute) => compute.name(),
        }
    }

    pub(super) fn sub_plan(&self) -> Option<&SubPlan> {
        match self {
            Self::Test(test) => test.sub_plan(),
            Self::Compute(_) => None,
        }
    }

    fn sub_plan_mut(&mut self) -> Option<&mut SubPlan> {
        match self {
            Self::Test(test) => test.sub_plan_mut(),
            Self::Compute(_) => None,
        }
    }

    fn keeps_all(&self) -> bool {
        match self {
            Self::Test(_) => false,
            Self::Compute(compute) => compute.keeps_all(),
        }
    }

    fn writes(&self, columns: &mut Columns) {
        if let Self::Compute(compute) = self {
            compute.writes(columns);
        }
    }

    fn reads(&mut self, columns: &mut Columns) {
        match self {
            Self::Test(test) => test.reads(columns),
            Self::Compute(compute) => compute.reads(columns),
        }
    }
}

impl Pipeline {
    pub(super) fn add(&mut self, produce: Produce) {
        self.stages.push(Stage::new(produce));
    }

    /// The last stage; one that does nothing if there is none.
    pub(super) fn last(&mut self) -> &mut Stage {
        if self.stages.is_empty() {
            self.add(Produce::Unit);
        }
        let last = self.stages.len() - 1;
        &mut self.stages[last]
    }

    /// Whether a stage, also of a sub-plan, passes a test.
    pub(super) fn any_stage(&self, test: &mut dyn FnMut(&Stage) -> bool) -> bool {
        self.stages.iter().any(|stage| {
            let branches = match &stage.produce {
                Produce::Branch(branch) => &branch.sub_plans[..],
                _ => &[],
            };
            let mut below = branches.iter().chain(stage.steps.iter().filter_map(Step::sub_plan));
            test(stage) || below.any(|sub_plan| sub_plan.pipeline.any_stage(test))
        })
    }

    /// Numbers the stages, those of sub-plans included.
    pub(super) fn number(&mut self, next: &mut usize) {
        for stage in &mut self.stages {
            stage.number = *next;
            *next += 1;
            stage.sub_plans().for_each(|sub_plan| sub_plan.pipeline.number(next));
        }
    }

    /// Settles which columns are passed from stage to stage, if these are wanted of the result. Returns those that
    /// are read of the rows that it starts with.
    pub(super) fn finish(&mut self, wanted: &[Column]) -> Vec<Column> {
        if self.stages.is_empty() {
            self.add(Produce::Unit);
        }
        let mut live: Columns = wanted.iter().copied().collect();
        for stage in self.stages.iter_mut().rev() {
            live = stage.finish(live);
        }
        live.to_vec()
    }

    /// Every column that some stage writes.
    pub(super) fn written(&self) -> Columns {
        let mut written = Columns::default();
        for stage in &self.stages {
            stage.produce.writes(&mut written);
            stage.steps.iter().for_each(|step| step.writes(&mut written));
        }
        written
    }
}

impl Stage {
    fn new(produce: Produce) -> Self {
        Self {
            produce,
            steps: Vec::new(),
            passthrough: Vec::new(),
            produced: Vec::new(),
            columns: Vec::new(),
            label: String::new(),
            estimate: 1.0,
            number: 0,
        }
    }

    pub(super) fn push(&mut self, step: impl Into<Step>) {
        self.steps.push(step.into());
    }

    pub(super) fn extend(&mut self, tests: impl IntoIterator<Item = Predicate>) {
        self.steps.extend(tests.into_iter().map(Step::Test));
    }

    pub(super) fn describe(&mut self, label: &str, estimate: f64) {
        if self.label.is_empty() {
            self.label = label.to_owned();
            self.estimate = estimate;
        }
    }

    fn sub_plans(&mut self) -> impl Iterator<Item = &mut SubPlan> {
        let branches = match &mut self.produce {
            Produce::Branch(branch) => &mut branch.sub_plans[..],
            _ => &mut [],
        };
        branches.iter_mut().chain(self.steps.iter_mut().filter_map(Step::sub_plan_mut))
    }

    /// Settles the columns of the stage, and returns those that it needs of the stage before it.
    fn finish(&mut self, wanted: Columns) -> Columns {
        let mut all = wanted.clone();
        let mut produced = wanted;
        let mut kept = Vec::new();
        for mut step in self.steps.drain(..).rev() {
            let mut writes = Columns::default();
            step.writes(&mut writes);
            if step.keeps_all() && writes.is_disjoint(&produced) {
                continue;
            }
            produced.subtract(&writes);
            step.reads(&mut produced);
            all.append(&produced);
            kept.push(step);
        }
        self.steps.extend(kept.into_iter().rev());
        self.columns = all.to_vec();
        let mut needed = Columns::default();
        let mut writes = Columns::default();
        match &mut self.produce {
            Produce::Branch(branch) => {
                branch.finish(&produced, &mut needed);
                writes.extend(branch.defaults.iter().map(|default| default.0));
                if matches!(branch.kind, BranchKind::Every | BranchKind::First) {
                    // No row goes on as it is.
                    writes.clone_from(&produced);
                }
            }
            produce => produce.writes(&mut writes),
        }
        self.passthrough = produced.difference(&writes).to_vec();
        needed.extend(&self.passthrough);
        self.produce.reads(&mut needed);
        self.produced = produced.to_vec();
        needed
    }
}

impl Branch {
    fn finish(&mut self, produced: &Columns, needed: &mut Columns) {
        for sub_plan in &mut self.sub_plans {
            let filled: Columns = sub_plan.defaults.iter().map(|default| default.0).collect();
            sub_plan.finish(produced.difference(&filled).to_vec());
            needed.extend(&sub_plan.inputs);
        }
    }
}

impl SubPlan {
    pub(super) fn finish(&mut self, mut wanted: Vec<Column>) {
        wanted.push(self.origin);
        self.inputs = self.pipeline.finish(&wanted);
        self.inputs.retain(|&column| column != self.origin);
    }
}
