//! Where and of what a measurement was made.

use crate::{flecs, random::SEED};
use std::{
    fmt::{self, Display, Formatter},
    fs,
    process::Command,
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

/// The packages that the program was built of.
const LOCKFILE: &str = include_str!("../../../Cargo.lock");

/// Machine, versions and commit.
#[derive(Clone, Debug)]
pub struct Machine {
    facts: Vec<(&'static str, String)>,
}

impl Machine {
    /// Of this program, here and now.
    pub fn here() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let processor = line_of("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into());
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let memory = line_of("/proc/meminfo", "MemTotal")
            .and_then(|line| line.split(' ').next()?.parse::<f64>().ok())
            .map_or_else(|| "unknown".into(), |kilobytes| format!("{:.0} GB", kilobytes / 1024.0 / 1024.0));
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or_default();
        let changed = match said("git", &["status", "--porcelain", "--untracked-files=no"]) {
            Some(changes) if changes.is_empty() => "",
            _ => ", with changes",
        };
        let commit = said("git", &["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".into());
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let facts = vec![
            ("date", date(seconds / 86_400)),
            ("commit", commit + changed),
            ("processor", format!("{processor}, {cores} cores")),
            ("memory", memory),
            ("system", format!("{} {}", std::env::consts::OS, kernel.trim())),
            ("load before", load.into()),
            ("compiler", said("rustc", &["--version"]).unwrap_or_else(|| "unknown".into())),
            ("bevy_relations", version("bevy_relations")),
            ("bevy_ecs", version("bevy_ecs")),
            ("flecs", flecs::build().replace("flecs_ecs", &format!("flecs_ecs {}", version("flecs_ecs")))),
            ("seed", format!("{SEED:#x}")),
        ];
        Self { facts }
    }
}

impl Machine {
    /// What was measured, and on what: results that agree in this can stand in one table.
    pub fn subject(&self) -> String {
        let passes = |what: &str| what == "date" || what == "load before";
        let lasts = self.facts.iter().filter(|(what, _)| !passes(what));
        lasts.map(|(what, fact)| format!("{what}: {fact}")).collect::<Vec<_>>().join("\n")
    }
}

impl Display for Machine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("| | |\n|---|---|\n")?;
        self.facts.iter().try_for_each(|(what, fact)| writeln!(f, "| {what} | {fact} |"))
    }
}

/// What follows `key` in a file of such lines.
fn line_of(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim_start_matches([' ', '\t', ':']).trim_end().into())
}

/// What another program prints.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().into())
}

fn version(package: &str) -> String {
    let name = format!("name = \"{package}\"\nversion = \"");
    let version = LOCKFILE.split_once(&name).and_then(|(_, rest)| Some(rest.split_once('"')?.0));
    version.unwrap_or("unknown").into()
}

/// The date so many days after the first of January 1970.
fn date(days: u64) -> String {
    // Years begin in March here: the day that is not always there is the last of its year.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        let known = [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_778, "2026-11-21")];
        for (days, expected) in known {
            assert_eq!(date(days), expected);
        }
    }

    #[test]
    fn versions_come_from_the_lockfile() {
        assert!(version("bevy_ecs").starts_with("0.20."), "{}", version("bevy_ecs"));
        assert_eq!(version("no_such_package"), "unknown");
    }

    #[test]
    fn what_is_not_known_leaves_no_gap() {
        let text = Machine::here().to_string();
        assert!(text.lines().all(|line| line.matches('|').count() == 3 && !line.contains("|  |")), "{text}");
    }
}
