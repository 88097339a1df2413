//! Plans as text.

use super::{BranchKind, Filter, Pipeline, Plan, Produce};
use alloc::{format, string::String};
use core::fmt::{self, Write};

/// Rows that were made, by stage; empty before the first run.
#[derive(Clone, Copy)]
pub(crate) struct Counts<'a>(pub(crate) &'a [u64]);

impl Plan {
    /// The stages, one a line, with the number of rows expected and, after a run, made.
    pub(crate) fn explain(&self, counts: Counts<'_>) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _: fmt::Result = self.pipeline.explain(&mut text, 0, counts);
        if let Some(depths) = self.depths {
            let order = if depths.descending { "descending" } else { "ascending" };
            let _: fmt::Result = writeln!(text, "sort by depth, {order}");
        }
        text
    }
}

impl Pipeline {
    fn explain(&self, f: &mut String, indent: usize, counts: Counts<'_>) -> fmt::Result {
        for stage in &self.stages {
            let rows = if stage.estimate < 10.0 {
                format!("{:.1}", stage.estimate)
            } else {
                format!("{:.0}", stage.estimate)
            };
            write!(f, "{:indent$}{} {} (~{rows}", "", stage.produce.name(), stage.label)?;
            if let Some(count) = counts.0.get(stage.number) {
                write!(f, ", made {count}")?;
            }
            writeln!(f, ")")?;
            if let Produce::Branch(branch) = &stage.produce {
                for arm in &branch.arms {
                    writeln!(f, "{:indent$}  -", "")?;
                    arm.pipeline.explain(f, indent + 4, counts)?;
                }
            }
            for filter in &stage.filters {
                writeln!(f, "{:indent$}  {}", "", filter.name())?;
                if let Filter::None { arm, .. } = filter {
                    arm.pipeline.explain(f, indent + 4, counts)?;
                }
            }
        }
        Ok(())
    }
}

impl Produce {
    fn name(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Nothing { .. } => "nothing",
            Self::Scan { .. } => "scan",
            Self::Sources { .. } => "sources",
            Self::Targets { .. } => "targets",
            Self::Pairs { .. } => "pairs",
            Self::Below { .. } => "below",
            Self::Meet { .. } => "meet",
            Self::Atom(_) => "match",
            Self::Member(_) => "member",
            Self::Branch(branch) => match branch.kind {
                BranchKind::Optional => "optional",
                BranchKind::Every => "union",
                BranchKind::First => "first of",
                BranchKind::Guard(_) => "if set",
            },
        }
    }
}

impl Filter {
    fn name(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Mask { .. } => "archetype",
            Self::HasPair { negated: false, .. } => "has pair",
            Self::HasPair { .. } => "has not pair",
            Self::HasAny { negated: false, .. } => "has any",
            Self::HasAny { .. } => "has none",
            Self::Target { .. } => "target",
            Self::TargetIfAny { .. } => "target if any",
            Self::Holder { .. } => "holder above",
            Self::Exists { negated: false, .. } => "matches",
            Self::Exists { .. } => "matches not",
            Self::Member { .. } => "member",
            Self::Equal { negated: false, .. } | Self::Same { .. } => "equal",
            Self::Equal { .. } => "not equal",
            Self::Set { .. } => "set",
            Self::Note { .. } => "note",
            Self::Choose { .. } => "choose",
            Self::List { .. } => "ids of",
            Self::Child { .. } => "child",
            Self::AreSet { .. } => "set",
            Self::None { .. } => "none of",
        }
    }
}
