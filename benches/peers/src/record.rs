//! What was measured, row by row, and how it is kept in a file.

use std::{fmt::Write, str::FromStr};

/// The times, or bytes, of one contestant in one workload.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// [`Workload::id`](crate::Workload::id).
    pub workload: String,
    /// [`Workload::size`](crate::Workload::size).
    pub size: usize,
    /// Its name.
    pub contestant: String,
    /// The median over the rounds, per element.
    pub median: f64,
    /// The first quartile.
    pub low: f64,
    /// The third quartile.
    pub high: f64,
    /// Of the three numbers.
    pub unit: String,
    /// How many rounds counted.
    pub rounds: usize,
}

/// Whose way of doing the work a contestant shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Team {
    /// This crate.
    Ours,
    /// Flecs.
    Flecs,
    /// What Bevy brings along.
    Bevy,
    /// Plain components, and a loop over them.
    ByHand,
}

impl Team {
    /// All of them, in the order of columns.
    pub const ALL: [Self; 4] = [Self::Ours, Self::Flecs, Self::Bevy, Self::ByHand];

    /// What the names of its contestants begin with.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Flecs => "flecs",
            Self::Bevy => "bevy",
            Self::ByHand => "by hand",
        }
    }

    /// The team of a contestant, and what distinguishes it from others of its team.
    pub fn of(contestant: &str) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|team| {
            let rest = contestant.strip_prefix(team.name())?;
            let is_word = rest.is_empty() || rest.starts_with([' ', ',']);
            is_word.then(|| (team, rest.trim_start_matches([' ', ','])))
        })
    }
}

const HEAD: [&str; 8] =
    ["workload", "size", "contestant", "median", "first_quartile", "third_quartile", "unit", "rounds"];

/// The records as comma-separated values, with a head.
pub fn to_csv(records: &[Record]) -> String {
    let mut text = HEAD.join(",") + "\n";
    for Record { workload, size, contestant, median, low, high, unit, rounds } in records {
        let contestant = quoted(contestant);
        writeln!(text, "{workload},{size},{contestant},{median:.4},{low:.4},{high:.4},{unit},{rounds}")
            .expect("writing to a string cannot fail");
    }
    text
}

/// What [`to_csv`] wrote.
///
/// # Errors
/// The first line that is not a record, and what is wrong with it.
pub fn from_csv(text: &str) -> Result<Vec<Record>, String> {
    let mut lines = text.lines().zip(1..);
    if lines.next().is_none_or(|(head, _)| head != HEAD.join(",")) {
        return Err("1: the head is another one".into());
    }
    lines.map(|(line, number)| record(line).map_err(|problem| format!("{number}: {problem}"))).collect()
}

fn record(line: &str) -> Result<Record, String> {
    fn number<T: FromStr>(field: &str) -> Result<T, String> {
        field.parse().map_err(|_| format!("`{field}` is no number"))
    }
    let fields: [String; 8] =
        fields(line).try_into().map_err(|fields: Vec<_>| format!("there are {} fields", fields.len()))?;
    let [workload, size, contestant, median, low, high, unit, rounds] = fields;
    Ok(Record {
        size: number(&size)?,
        median: number(&median)?,
        low: number(&low)?,
        high: number(&high)?,
        rounds: number(&rounds)?,
        workload,
        contestant,
        unit,
    })
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.into() }
}

fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut inside) = (vec![String::new()], false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let field = fields.last_mut().expect("there is always one");
        match letter {
            '"' if inside && letters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => inside = !inside,
            ',' if !inside => fields.push(String::new()),
            _ => field.push(letter),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(contestant: &str) -> Record {
        Record {
            workload: "retarget".into(),
            size: 1_000,
            contestant: contestant.into(),
            median: 12.25,
            low: 11.5,
            high: 13.0,
            unit: "ns".into(),
            rounds: 21,
        }
    }

    #[test]
    fn records_survive_a_file() {
        let records = ["ours", "ours, many", "by \"hand\""].map(row);
        assert_eq!(from_csv(&to_csv(&records)).unwrap(), records);
    }

    #[test]
    fn a_broken_line_is_named() {
        let text = to_csv(&[row("ours"), row("flecs")]).replace(",21\n", ",x\n");
        assert_eq!(from_csv(&text).unwrap_err(), "2: `x` is no number");
        let text = to_csv(&[row("ours")]) + "retarget,1000\n";
        assert_eq!(from_csv(&text).unwrap_err(), "3: there are 2 fields");
        assert!(from_csv("workload\n").is_err());
    }

    #[test]
    fn a_contestant_belongs_to_the_team_its_name_begins_with() {
        assert_eq!(Team::of("ours"), Some((Team::Ours, "")));
        assert_eq!(Team::of("flecs DontFragment"), Some((Team::Flecs, "DontFragment")));
        assert_eq!(Team::of("bevy, our plugin"), Some((Team::Bevy, "our plugin")));
        assert_eq!(Team::of("by hand"), Some((Team::ByHand, "")));
        assert_eq!(Team::of("bevyish"), None);
    }
}
