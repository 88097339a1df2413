//! The command line.

use bevy_relations_peers::Scale;
use std::{path::PathBuf, str::FromStr, time::Duration};

pub(crate) const USAGE: &str = "\
usage: bevy_relations_peers [--only <part of workload/size>] [--write <directory>] [--minutes <number>]
                            [--rounds <number>] [--quick] [--resume]
       bevy_relations_peers --show <directory>
       bevy_relations_peers --one <workload/size> [--contestant <name>] [--seconds <number>] [--rounds <number>]
                            [--quick]";

/// What the command line asks for.
#[derive(Debug)]
pub(crate) struct Options {
    only: Option<String>,
    pub(crate) write: Option<PathBuf>,
    /// Results of which tables and plots are wanted again.
    pub(crate) show: Option<PathBuf>,
    /// Takes up a run that was interrupted.
    pub(crate) resume: bool,
    /// For all workloads together.
    pub(crate) time: Duration,
    /// At most.
    pub(crate) rounds: usize,
    pub(crate) scale: Scale,
    pub(crate) one: Option<One>,
}

/// A single workload, to be measured in this process.
#[derive(Debug)]
pub(crate) struct One {
    pub(crate) workload: String,
    pub(crate) contestant: Option<String>,
    pub(crate) within: Duration,
}

impl Options {
    pub(crate) fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut only, mut one, mut contestant, mut write, mut show) = (None, None, None, None, None);
        let (mut minutes, mut seconds, mut rounds, mut scale) = (None, None, None, Scale::Full);
        let mut resume = false;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument}: a value is missing"));
            match argument.as_str() {
                "--only" => only = Some(value()?),
                "--one" => one = Some(value()?),
                "--contestant" => contestant = Some(value()?),
                "--write" => write = Some(PathBuf::from(value()?)),
                "--show" => show = Some(PathBuf::from(value()?)),
                "--minutes" => minutes = Some(number::<f64>(&value()?)?),
                "--seconds" => seconds = Some(number::<f64>(&value()?)?),
                "--rounds" => rounds = Some(number::<usize>(&value()?)?.max(1)),
                "--quick" => scale = Scale::Quick,
                "--resume" => resume = true,
                other => return Err(format!("unknown argument `{other}`")),
            }
        }
        let quick = scale == Scale::Quick;
        let duration = |seconds: f64| {
            Duration::try_from_secs_f64(seconds).map_err(|_| format!("`{seconds}` is no time"))
        };
        let within = duration(seconds.unwrap_or(f64::from(u16::MAX)))?;
        let one = one.map(|workload| One { workload, contestant, within });
        Ok(Self {
            only,
            write,
            show,
            resume,
            time: duration(60.0 * minutes.unwrap_or(if quick { 0.5 } else { 24.0 }))?,
            rounds: rounds.unwrap_or(if quick { 5 } else { 21 }),
            scale,
            one,
        })
    }

    /// Whether a workload was asked for by a part of its name.
    pub(crate) fn wants(&self, workload: &str) -> bool {
        self.only.as_deref().is_none_or(|part| workload.contains(part))
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options, String> {
        Options::from_arguments(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_line_without_arguments_asks_for_everything() {
        let options = options("").unwrap();
        assert!(!options.resume);
        assert!(options.wants("retarget/1000") && options.one.is_none() && options.write.is_none());
        assert_eq!((options.scale, options.rounds), (Scale::Full, 21));
    }

    #[test]
    fn arguments_select_and_limit() {
        let selected = options("--only target/1 --quick --minutes 2 --write out").unwrap();
        assert!(selected.wants("retarget/1000") && !selected.wants("spawn/1000"));
        assert_eq!((selected.rounds, selected.time), (5, Duration::from_secs(120)));
        let one = options("--one spawn/1000 --contestant ours --seconds 1.5").unwrap().one.unwrap();
        assert_eq!((one.workload.as_str(), one.contestant.as_deref()), ("spawn/1000", Some("ours")));
        assert_eq!(one.within, Duration::from_millis(1_500));
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(options("--fast").unwrap_err(), "unknown argument `--fast`");
        assert_eq!(options("--only").unwrap_err(), "--only: a value is missing");
        assert_eq!(options("--minutes x").unwrap_err(), "`x` is no number");
        assert_eq!(options("--minutes -1").unwrap_err(), "`-60` is no time");
    }
}
