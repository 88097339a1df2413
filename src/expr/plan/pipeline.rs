//! Putting pipelines together: what each stage reads and writes, and so which columns must be carried along.

use super::{
    Arm, AtomOp, Branch, BranchKind, Column, Comparison, Filter, IdOp, MemberOp, Operand, Pipeline, Position,
    Produce, RelationOp, Stage,
};
use alloc::{borrow::ToOwned, collections::BTreeSet, string::String, vec::Vec};

type Columns = BTreeSet<Column>;

impl Pipeline {
    pub(super) fn add(&mut self, produce: Produce) {
        self.stages.push(Stage::new(produce));
    }

    /// The last stage; one that does nothing if there is none.
    pub(super) fn last(&mut self) -> &mut Stage {
        if self.stages.is_empty() {
            self.add(Produce::Pass);
        }
        let last = self.stages.len() - 1;
        &mut self.stages[last]
    }

    /// Numbers the stages, those of arms included.
    pub(super) fn number(&mut self, next: &mut usize) {
        for stage in &mut self.stages {
            stage.number = *next;
            *next += 1;
            stage.arms().for_each(|arm| arm.pipeline.number(next));
        }
    }

    /// Settles which columns are carried from stage to stage, if these are wanted of the result. Gives those that
    /// are read of the rows that it starts with.
    pub(super) fn finish(&mut self, wanted: &[Column]) -> Vec<Column> {
        if self.stages.is_empty() {
            self.add(Produce::Pass);
        }
        let mut live: Columns = wanted.iter().copied().collect();
        for stage in self.stages.iter_mut().rev() {
            live = stage.finish(live);
        }
        live.into_iter().collect()
    }

    /// Every column that some stage writes.
    pub(super) fn written(&self) -> Columns {
        let mut written = Columns::new();
        for stage in &self.stages {
            stage.produce.writes(&mut written);
            stage.filters.iter().for_each(|filter| filter.writes(&mut written));
        }
        written
    }
}

impl Stage {
    fn new(produce: Produce) -> Self {
        Self {
            produce,
            filters: Vec::new(),
            carry: Vec::new(),
            made: Vec::new(),
            columns: Vec::new(),
            label: String::new(),
            estimate: 1.0,
            number: 0,
        }
    }

    pub(super) fn describe(&mut self, label: &str, estimate: f64) {
        if self.label.is_empty() {
            self.label = label.to_owned();
            self.estimate = estimate;
        }
    }

    fn arms(&mut self) -> impl Iterator<Item = &mut Arm> {
        let branches = match &mut self.produce {
            Produce::Branch(branch) => &mut branch.arms[..],
            _ => &mut [],
        };
        let filters = self.filters.iter_mut().filter_map(|filter| match filter {
            Filter::None { arm, .. } => Some(arm),
            _ => None,
        });
        branches.iter_mut().chain(filters)
    }

    /// Settles the columns of the stage, and gives those that it needs of the stage before it.
    fn finish(&mut self, wanted: Columns) -> Columns {
        let mut all = wanted.clone();
        let mut made = wanted;
        let mut kept = Vec::new();
        for mut filter in self.filters.drain(..).rev() {
            let mut writes = Columns::new();
            filter.writes(&mut writes);
            if filter.passes_all() && writes.is_disjoint(&made) {
                continue;
            }
            made.retain(|column| !writes.contains(column));
            filter.reads(&mut made);
            all.extend(&made);
            kept.push(filter);
        }
        self.filters.extend(kept.into_iter().rev());
        self.columns = all.into_iter().collect();
        let mut needed = Columns::new();
        let mut writes = Columns::new();
        match &mut self.produce {
            Produce::Branch(branch) => {
                branch.finish(&made, &mut needed);
                writes.extend(branch.fills.iter().map(|fill| fill.0));
                if matches!(branch.kind, BranchKind::Every | BranchKind::First) {
                    // No row goes on as it is.
                    writes.clone_from(&made);
                }
            }
            produce => produce.writes(&mut writes),
        }
        self.carry = made.difference(&writes).copied().collect();
        needed.extend(&self.carry);
        self.produce.reads(&mut needed);
        self.made = made.into_iter().collect();
        needed
    }
}

impl Branch {
    fn finish(&mut self, made: &Columns, needed: &mut Columns) {
        for arm in &mut self.arms {
            let filled: Columns = arm.fills.iter().map(|fill| fill.0).collect();
            arm.finish(made.difference(&filled).copied().collect());
            needed.extend(&arm.takes);
        }
    }
}

impl Arm {
    fn finish(&mut self, mut wanted: Vec<Column>) {
        wanted.push(self.origin);
        self.takes = self.pipeline.finish(&wanted);
        self.takes.retain(|&column| column != self.origin);
    }
}

fn read(operand: Operand, columns: &mut Columns) {
    if let Operand::Column(column) = operand {
        columns.insert(column);
    }
}

impl Position {
    fn reads(self, columns: &mut Columns) {
        if let Self::Known(operand) = self {
            read(operand, columns);
        }
    }
}

impl AtomOp {
    fn positions(&self) -> impl Iterator<Item = Position> {
        let (first, second) = match &self.id {
            IdOp::Components(_) | IdOp::Tags(_) => (None, None),
            IdOp::AnyId(id) => (Some(*id), None),
            IdOp::Pair { relation: RelationOp::Free(relation), target, .. } => {
                (Some(*relation), Some(*target))
            }
            IdOp::Pair { target, .. } => (None, Some(*target)),
        };
        [Some(self.source), first, second].into_iter().flatten()
    }
}

impl MemberOp {
    fn reads(&self, columns: &mut Columns) {
        read(self.source, columns);
        self.value.reads(columns);
    }
}

impl Produce {
    fn writes(&self, columns: &mut Columns) {
        match self {
            Self::Pass => {}
            Self::Nothing { out } => columns.extend(out.iter().copied()),
            Self::Scan { out, .. }
            | Self::Sources { out, .. }
            | Self::Targets { out, .. }
            | Self::Below { out, .. }
            | Self::Meet { out, .. } => {
                columns.insert(*out);
            }
            Self::Pairs { source, target, .. } => columns.extend([*source, *target]),
            Self::Atom(atom) => {
                columns.extend(atom.positions().filter_map(Position::out));
                columns.extend([atom.id_out, atom.target_out, atom.holder_out].into_iter().flatten());
            }
            Self::Member(member) => columns.extend(member.value.out()),
            Self::Branch(branch) => {
                for arm in &branch.arms {
                    columns.append(&mut arm.pipeline.written());
                    columns.extend(arm.fills.iter().map(|fill| fill.0));
                }
                columns.extend(branch.fills.iter().map(|fill| fill.0));
            }
        }
    }

    fn reads(&self, columns: &mut Columns) {
        match self {
            Self::Pass | Self::Nothing { .. } | Self::Scan { .. } | Self::Pairs { .. } => {}
            Self::Sources { target, .. } | Self::Below { target, .. } => read(*target, columns),
            Self::Targets { source, .. } => read(*source, columns),
            Self::Meet { sides, .. } => columns.extend(sides.map(|side| side.known)),
            Self::Atom(atom) => atom.positions().for_each(|position| position.reads(columns)),
            Self::Member(member) => member.reads(columns),
            Self::Branch(branch) => {
                if let BranchKind::Guard(guards) = &branch.kind {
                    columns.extend(guards);
                }
            }
        }
    }
}

impl Filter {
    /// Whether it does nothing but write.
    fn passes_all(&self) -> bool {
        matches!(self, Self::Note { .. } | Self::TargetIfAny { .. })
    }

    fn writes(&self, columns: &mut Columns) {
        match self {
            Self::Target { out, .. } | Self::Child { out, .. } | Self::Holder { out, .. } => {
                columns.insert(*out);
            }
            Self::TargetIfAny { out, set, .. } => columns.extend([*out, *set]),
            Self::Set { column, .. } | Self::Note { column, .. } | Self::Choose { column, .. } => {
                columns.insert(*column);
            }
            _ => {}
        }
    }

    /// Adds what it reads. The arm of one that has an arm is settled along the way.
    fn reads(&mut self, columns: &mut Columns) {
        match self {
            Self::Nothing => {}
            Self::Mask { entity, .. } => read(*entity, columns),
            Self::HasPair { source, target, .. } => {
                read(*source, columns);
                read(*target, columns);
            }
            Self::HasAny { source, .. }
            | Self::Target { source, .. }
            | Self::TargetIfAny { source, .. }
            | Self::Holder { source, .. } => read(*source, columns),
            Self::Exists { atom, .. } => atom.positions().for_each(|position| position.reads(columns)),
            Self::Member { member, .. } => member.reads(columns),
            Self::Equal { left, right, .. } => {
                columns.insert(*left);
                if let Comparison::Operand(right) = right {
                    read(*right, columns);
                }
            }
            Self::Same { left, right } => columns.extend([*left, *right]),
            Self::Set { value, .. } => read(*value, columns),
            Self::Note { test, .. } => test.reads(columns),
            Self::Choose { tests, .. } => tests.iter_mut().for_each(|test| test.reads(columns)),
            Self::List { source, list, .. } => {
                read(*source, columns);
                read(*list, columns);
            }
            Self::Child { parent, .. } => read(*parent, columns),
            Self::AreSet { set, unset } => columns.extend(set.iter().chain(&*unset)),
            Self::None { arm, skipped } => {
                arm.finish(Vec::new());
                columns.extend(&arm.takes);
                columns.extend(skipped.iter().flatten());
            }
        }
    }
}
