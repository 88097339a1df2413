//! What is written about the measurements: tables, a summary, plots.

mod plot;
mod summary;
mod svg;
mod table;

pub use plot::{Plot, plots};
pub use summary::summary;
pub use table::{TABLES, goals, lines, results};

use crate::record::{Record, Team};

/// Three digits that count.
fn number(value: f64) -> String {
    let digits = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    grouped(&format!("{value:.digits$}"))
}

/// A size, as people say it.
fn size(size: usize) -> String {
    match size {
        _ if size >= 1_000_000 && size.is_multiple_of(100_000) => format!("{}M", size as f64 / 1e6),
        _ if size >= 1_000 && size.is_multiple_of(1_000) => format!("{}k", size / 1_000),
        _ => grouped(&size.to_string()),
    }
}

/// With commas between the thousands.
fn grouped(number: &str) -> String {
    let (whole, rest) = number.find('.').map_or((number, ""), |point| number.split_at(point));
    let mut text = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

/// How many times as long as `own` the rival takes.
fn ratio(rival: &Record, own: &Record) -> f64 {
    rival.median / own.median
}

/// The quickest of a team, or of all.
fn best<'a>(records: &[&'a Record], team: Option<Team>) -> Option<&'a Record> {
    let of_team = records.iter().copied().filter(|record| {
        let own = Team::of(&record.contestant).map(|(team, _)| team);
        own.is_some() && (team.is_none() || own == team)
    });
    of_team.min_by(|left, right| left.median.total_cmp(&right.median))
}

/// The records by workload, in the order in which they appear.
fn by_workload(records: &[Record]) -> Vec<(&str, Vec<&Record>)> {
    grouped_by(records.iter(), |record| record.workload.as_str())
}

/// Those of one workload by size.
fn by_size<'a>(records: &[&'a Record]) -> Vec<(usize, Vec<&'a Record>)> {
    grouped_by(records.iter().copied(), |record| record.size)
}

fn grouped_by<'a, K: PartialEq>(
    records: impl Iterator<Item = &'a Record>,
    key: impl Fn(&'a Record) -> K,
) -> Vec<(K, Vec<&'a Record>)> {
    let mut groups: Vec<(K, Vec<&Record>)> = Vec::new();
    for record in records {
        let own = key(record);
        match groups.iter_mut().find(|(key, _)| *key == own) {
            Some((_, group)) => group.push(record),
            None => groups.push((own, vec![record])),
        }
    }
    groups
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Records as a run would make them: two sizes of one workload, and one that has a single size.
    pub(crate) fn some() -> Vec<Record> {
        let row = |workload: &str, size, contestant: &str, median: f64| Record {
            workload: workload.into(),
            size,
            contestant: contestant.into(),
            median,
            low: median * 0.9,
            high: median * 1.2,
            unit: "ns".into(),
            rounds: 9,
        };
        vec![
            row("retarget", 1_000, "flecs", 180.0),
            row("retarget", 1_000, "flecs DontFragment", 574.0),
            row("retarget", 1_000, "bevy", 205.0),
            row("retarget", 1_000, "ours", 50.0),
            row("retarget", 100_000, "flecs", 600.0),
            row("retarget", 100_000, "bevy", 200.0),
            row("retarget", 100_000, "ours", 100.0),
            row("retarget", 100_000, "ours, batch", 80.0),
            row("despawn_hub", 1_000_000, "flecs", 5.0),
            row("despawn_hub", 1_000_000, "ours", 10.0),
        ]
    }

    #[test]
    fn numbers_have_three_digits() {
        let numbers = [0.123, 9.994, 9.996, 12.34, 99.96, 1234.5, 1234567.0].map(number);
        assert_eq!(numbers, ["0.12", "9.99", "10.0", "12.3", "100", "1,234", "1,234,567"]);
        assert_eq!([500, 1_000, 81_000, 65_536, 1_000_000].map(size), ["500", "1k", "81k", "65,536", "1M"]);
    }

    #[test]
    fn the_best_of_a_team_is_its_quickest() {
        let records = some();
        let of_size: Vec<_> = records.iter().filter(|record| record.size == 100_000).collect();
        assert_eq!(best(&of_size, Some(Team::Ours)).unwrap().contestant, "ours, batch");
        assert_eq!(best(&of_size, None).unwrap().median, 80.0);
        assert!(best(&of_size, Some(Team::ByHand)).is_none());
    }
}
