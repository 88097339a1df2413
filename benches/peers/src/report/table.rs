//! The full tables.

use super::{best, by_size, by_workload, number, ratio, size};
use crate::{
    harness::{Contestant, Goal},
    machine::Machine,
    record::{Record, Team},
    workloads::{self, Entry},
};
use std::fmt::Write;

/// Stands before the tables of `results.md`: what follows depends on `results.csv` only.
pub const TABLES: &str = "<!-- What follows is made of results.csv. -->\n";

/// The whole of `results.md`; `failures` are workloads without a result, and why.
pub fn results(machine: &Machine, records: &[Record], failures: &[String]) -> String {
    let mut text = format!(
        "# Results\n\nWritten by `cargo compare`; [README](../peers/README.md) says how to read them.\n\n{machine}\n"
    );
    for failure in failures {
        text += &format!("**Failed:** {failure}\n\n");
    }
    text + TABLES + &tables(records)
}

/// A section for each family of workloads, with a plot, and a table for each workload.
fn tables(records: &[Record]) -> String {
    let (mut text, mut family) = (String::new(), "");
    for (workload, records) in by_workload(records) {
        let entry = workloads::entry(workload);
        if entry.family != family {
            family = entry.family;
            write!(text, "\n## {family}\n\n![cost against size](plots/{family}.svg)\n").expect("a string");
        }
        text += &table(workload, entry, &records);
    }
    text
}

fn table(workload: &str, entry: &Entry, records: &[&Record]) -> String {
    let teams: Vec<_> = Team::ALL.into_iter().filter(|&team| best(records, Some(team)).is_some()).collect();
    let rivals: Vec<_> = teams.iter().copied().filter(|&team| team != Team::Ours).collect();
    let heads: String = rivals.iter().map(|team| format!(" vs {} |", team.name())).collect();
    let mut text = format!(
        "\n### {workload}\n\n{}\n\n| size | contestant | {} | quartiles |{heads}\n|--:|---|--:|--:|{}\n",
        entry.work,
        entry.unit.per_element(),
        "--:|".repeat(rivals.len()),
    );
    for (of_size, records) in by_size(records) {
        let winner = best(&records, None).map(|winner| winner.median);
        for (place, record) in records.iter().enumerate() {
            let shown = if place == 0 { size(of_size) } else { String::new() };
            text += &line(&shown, record, Some(record.median) == winner, &rivals, &records);
        }
    }
    text
}

fn line(size: &str, record: &Record, wins: bool, rivals: &[Team], all: &[&Record]) -> String {
    let name = if wins { format!("**{}**", record.contestant) } else { record.contestant.clone() };
    let ratios = rivals.iter().map(|&team| {
        best(all, Some(team)).map_or(" |".into(), |rival| format!(" {}x |", number(ratio(rival, record))))
    });
    let Record { median, low, high, .. } = *record;
    let (median, low, high) = (number(median), number(low), number(high));
    format!("| {size} | {name} | {median} | {low} - {high} |{}\n", ratios.collect::<String>())
}

/// What was measured of one workload of one size, for a terminal.
pub fn lines(records: &[Record]) -> String {
    let mut text = String::new();
    let all: Vec<_> = records.iter().collect();
    for (place, record) in records.iter().enumerate() {
        let wins = best(&all, None) == Some(record);
        let head =
            if place == 0 { format!("{} {}", record.workload, size(record.size)) } else { String::new() };
        text += &line(&head, record, wins, &[Team::Flecs, Team::Bevy, Team::ByHand], &all);
    }
    text
}

/// What is demanded of the contestants of a workload, and whether it was reached.
pub fn goals(contestants: &[Contestant], records: &[Record]) -> String {
    let median_of =
        |name: &str| records.iter().find(|record| record.contestant == name).map(|record| record.median);
    let mut text = String::new();
    for contestant in contestants {
        for goal in contestant.goals() {
            let Some(own) = median_of(contestant.name()) else { continue };
            let (reached, what) = match *goal {
                Goal::AtMost(limit) => (own <= limit, format!("at most {limit}")),
                Goal::Against(rival, factor) => {
                    let Some(rivals) = median_of(rival) else { continue };
                    (rivals / own >= factor, format!("{factor}x of {rival}, is {:.2}x", rivals / own))
                }
            };
            let verdict = if reached { "reached" } else { "MISSED" };
            writeln!(text, "{verdict}: {}: {what}", contestant.name()).expect("a string");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{super::tests::some, *};
    use crate::harness::Stopwatch;

    #[test]
    fn a_table_marks_the_winner_of_each_size_and_compares_with_the_best_of_each_team() {
        let text = tables(&some());
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(lines[0], "| size | contestant | ns | quartiles | vs flecs | vs bevy |");
        assert_eq!(lines[1], "|--:|---|--:|--:|--:|--:|");
        assert_eq!(lines[2], "| 1k | flecs | 180 | 162 - 216 | 1.00x | 1.14x |");
        assert_eq!(lines[3], "|  | flecs DontFragment | 574 | 517 - 689 | 0.31x | 0.36x |");
        assert_eq!(lines[5], "|  | **ours** | 50.0 | 45.0 - 60.0 | 3.60x | 4.10x |");
        assert_eq!(lines[9], "|  | **ours, batch** | 80.0 | 72.0 - 96.0 | 7.50x | 2.50x |");
        assert_eq!(lines[12], "| 1M | **flecs** | 5.00 | 4.50 - 6.00 | 1.00x |");
    }

    #[test]
    fn goals_are_reached_or_missed() {
        let contestant = Contestant::new("ours", || |_: &mut Stopwatch| 0);
        let contestants = [contestant.goal("flecs", 3.0).goal("bevy", 5.0).goal("nobody", 1.0).at_most(60.0)];
        let expected = "reached: ours: 3x of flecs, is 3.60x\n\
             MISSED: ours: 5x of bevy, is 4.10x\n\
             reached: ours: at most 60\n";
        assert_eq!(goals(&contestants, &some()[..4]), expected);
    }

    #[test]
    fn a_failure_is_reported_before_the_tables() {
        let text = results(&Machine::here(), &some(), &["spawn/1000: it crashed".into()]);
        let (head, rest) = text.split_once(TABLES).unwrap();
        assert!(head.contains("**Failed:** spawn/1000: it crashed"));
        assert_eq!(rest, tables(&some()));
    }
}
