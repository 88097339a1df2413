//! The Markdown tables.

use crate::{harness::Workload, memory::Footprint, paired::Lap};
use std::fmt::Write;

/// The head of the table that [`lap_rows`] fills.
pub fn table_head() -> String {
    "| workload | size | contestant | ns/element | quartiles | vs Flecs | vs Bevy | goal |\n\
     |---|--:|---|--:|--:|--:|--:|---|\n"
        .into()
}

/// A row per contestant. Ratios are medians of the rival over medians of the contestant: above one, the
/// contestant is faster.
pub fn lap_rows(workload: &Workload, laps: &[Lap]) -> String {
    let median_of = |name: &str| {
        let index = workload.contestants.iter().position(|contestant| contestant.name() == name)?;
        Some(laps[index].median())
    };
    let mut rows = String::new();
    for (contestant, lap) in workload.contestants.iter().zip(laps) {
        let ratio = |rival: &str| median_of(rival).map(|median| median / lap.median());
        let shown = |rival: &str| ratio(rival).map(|ratio| format!("{ratio:.2}x")).unwrap_or_default();
        let mut goals = Vec::new();
        for goal in contestant.goals() {
            let Some(ratio) = ratio(goal.rival) else { continue };
            goals.push(format!(
                "{} {:.2}x of {}",
                verdict(ratio >= goal.at_least),
                goal.at_least,
                goal.rival
            ));
        }
        let (low, high) = lap.quartiles();
        let (id, size, name) = (workload.id, workload.size, contestant.name());
        writeln!(
            rows,
            "| {id} | {size} | {name} | {:.2} | {low:.2} - {high:.2} | {} | {} | {} |",
            lap.median(),
            shown("flecs"),
            shown("bevy"),
            goals.join("; "),
        )
        .expect("writing to a string cannot fail");
    }
    rows
}

/// A table of its own for memory.
pub fn footprint_table(footprints: &[Footprint]) -> String {
    let mut table = String::from("| memory | contestant | bytes | goal |\n|---|---|--:|---|\n");
    for footprint in footprints {
        let Footprint { subject, contestant, bytes, at_most } = footprint;
        let goal =
            at_most.map(|limit| format!("{} at most {limit}", verdict(*bytes <= limit))).unwrap_or_default();
        writeln!(table, "| {subject} | {contestant} | {bytes:.1} | {goal} |")
            .expect("writing to a string cannot fail");
    }
    table
}

fn verdict(reached: bool) -> &'static str {
    if reached { "reached:" } else { "MISSED:" }
}
