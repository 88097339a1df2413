//! Plans as text.

use super::{PhysicalPlan, Pipeline, Produce};
use crate::expr::{bind::BoundQuery, eval::View, plan::logical::logical};
use alloc::{format, string::String};
use core::fmt::{self, Write};

/// Rows that were made, by stage; empty before the first run.
#[derive(Clone, Copy)]
pub(crate) struct Counts<'a>(pub(crate) &'a [u64]);

impl PhysicalPlan {
    /// The logical plan of the query, and this one: the stages, one a line, with the number of rows expected and, after
    /// a run, made.
    pub(crate) fn explain(&self, query: &BoundQuery, view: &View<'_>, counts: Counts<'_>) -> String {
        let mut text = String::from("logical\n");
        // Writing to a string does not fail.
        let _: fmt::Result = logical(query, view).explain(query, &mut text, 2, None);
        text.push_str("physical\n");
        let _: fmt::Result = self.pipeline.explain(&mut text, 2, counts);
        if let Some(depths) = self.depths {
            let order = if depths.descending { "descending" } else { "ascending" };
            let _: fmt::Result = writeln!(text, "  sort by depth, {order}");
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
                for sub_plan in &branch.sub_plans {
                    writeln!(f, "{:indent$}  -", "")?;
                    sub_plan.pipeline.explain(f, indent + 4, counts)?;
                }
            }
            for step in &stage.steps {
                writeln!(f, "{:indent$}  {}", "", step.name())?;
                if let Some(sub_plan) = step.sub_plan() {
                    sub_plan.pipeline.explain(f, indent + 4, counts)?;
                }
            }
        }
        Ok(())
    }
}
