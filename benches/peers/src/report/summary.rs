//! The short table that the project's README shows.

use super::{best, by_size, by_workload, number, size};
use crate::{
    record::{Record, Team},
    workloads,
};

/// The size that is shown where there is a choice.
const SIZE: usize = 100_000;

const RIVALS: [Team; 3] = [Team::Flecs, Team::Bevy, Team::ByHand];

/// A line for each workload that stands for its family: the best of each team, beside ours the ordinary call, and how many
/// times as long the rivals take as our best.
pub fn summary(records: &[Record]) -> String {
    let mut text = String::from(
        "| work, per element | size | ours | Flecs | Bevy | by hand |\n|---|--:|--:|--:|--:|--:|\n",
    );
    for (workload, records) in by_workload(records) {
        let entry = workloads::entry(workload);
        let closest = |&(size, _): &(usize, Vec<&Record>)| size.abs_diff(SIZE);
        let Some((of_size, records)) = by_size(&records).into_iter().min_by_key(closest) else { continue };
        let Some(ours) = best(&records, Some(Team::Ours)).filter(|_| entry.headline) else { continue };
        let winner = best(&records, None).map(|winner| winner.median);
        let ordinary = records.iter().find(|record| record.contestant == Team::Ours.name());
        let cell = |team| {
            best(&records, Some(team)).map_or(String::new(), |record| {
                let unit = if record.unit == "ns" { "ns" } else { "bytes" };
                let mut cell = format!("{} {unit}", number(record.median));
                if team != Team::Ours {
                    cell += &format!(", {}x", number(record.median / ours.median));
                }
                if Some(record.median) == winner {
                    cell = format!("**{cell}**");
                }
                match ordinary
                    .filter(|ordinary| team == Team::Ours && ordinary.contestant != record.contestant)
                {
                    Some(ordinary) => {
                        format!("{} {unit}, {} {cell}", number(ordinary.median), variant(record))
                    }
                    None => cell,
                }
            })
        };
        let cells: String =
            [Team::Ours].into_iter().chain(RIVALS).map(|team| format!(" {} |", cell(team))).collect();
        text += &format!("| {} | {} |{cells}\n", entry.work, size(of_size));
    }
    text
}

/// The name of a contestant within its team; a type as code.
fn variant(record: &Record) -> String {
    let variant = Team::of(&record.contestant).map_or("", |(_, variant)| variant);
    if variant.starts_with(char::is_uppercase) { format!("`{variant}`") } else { variant.into() }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::some, *};

    #[test]
    fn a_line_shows_the_best_of_each_team_at_the_size_next_to_100k() {
        let text = summary(&some());
        let lines: Vec<_> = text.lines().skip(2).collect();
        let work = workloads::entry("retarget").work;
        assert_eq!(
            lines[0],
            format!("| {work} | 100k | 100 ns, batch **80.0 ns** | 600 ns, 7.50x | 200 ns, 2.50x |  |")
        );
        let work = workloads::entry("despawn_hub").work;
        assert_eq!(lines[1], format!("| {work} | 1M | 10.0 ns | **5.00 ns, 0.50x** |  |  |"));
    }
}
