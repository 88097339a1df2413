//! Runs cases in processes of their own, and goes on after those that stop.

use crate::worker::Subject;
use std::{
    collections::BTreeMap,
    env,
    io::{self, BufRead, BufReader},
    ops::Range,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

/// A case takes about a millisecond.
const PATIENCE: Duration = Duration::from_secs(10);
/// Cases given to one process.
const PER_PROCESS: u64 = 2_000;

/// What came of many cases.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) agreed: u64,
    /// How many were not compared.
    pub(crate) excluded: u64,
    /// In how many Flecs stopped at an assertion, which says nothing about this crate.
    pub(crate) stopped: u64,
    /// By shape, how many agree, and how many do not.
    pub(crate) shapes: BTreeMap<String, [u64; 2]>,
    /// Number and text.
    pub(crate) differing: Vec<(u64, String)>,
}

struct Process {
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    fn start(subject: Subject, seed: u64, cases: &Range<u64>) -> io::Result<Self> {
        let mut child = Command::new(env::current_exe()?)
            .args(["worker", subject.name()])
            .args([seed, cases.start, cases.end].map(|number| number.to_string()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (send, lines) = mpsc::channel();
        let output = child.stdout.take().map(BufReader::new);
        thread::spawn(move || {
            let lines = output.into_iter().flat_map(BufRead::lines).map_while(Result::ok);
            for line in lines {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, lines })
    }

    /// The lines of one case, and how it ended.
    fn case(&mut self) -> (Vec<String>, End) {
        let mut lines = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line == "end" => return (lines, End::Done),
                Ok(line) => lines.push(line),
                Err(RecvTimeoutError::Timeout) => return (lines, End::Failed),
                // A panic of this crate ends the process with a status; an abort of Flecs does not.
                Err(RecvTimeoutError::Disconnected) => {
                    let aborted = self.child.wait().is_ok_and(|status| status.code().is_none());
                    return (lines, if aborted { End::Stopped } else { End::Failed });
                }
            }
        }
    }
}

/// How a case ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Done,
    /// Flecs aborted.
    Stopped,
    /// There was a panic, or no end.
    Failed,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs cases until `wanted` of them could be compared, or all of `cases` have been run.
///
/// # Errors
/// If no process can be started.
pub(crate) fn run(subject: Subject, seed: u64, cases: Range<u64>, wanted: u64) -> io::Result<Report> {
    let mut report = Report::default();
    let mut next = cases.start;
    while next < cases.end && report.compared() < wanted {
        let batch = next..cases.end.min(next + PER_PROCESS);
        let mut process = Process::start(subject, seed, &batch)?;
        while next < batch.end && report.compared() < wanted {
            let (lines, end) = process.case();
            report.note(next, &lines, end);
            next += 1;
            if end != End::Done {
                break;
            }
        }
    }
    Ok(report)
}

impl Report {
    pub(crate) fn compared(&self) -> u64 {
        self.agreed + self.differing.len() as u64
    }

    fn note(&mut self, number: u64, lines: &[String], end: End) {
        let outcome = lines.get(1).map(String::as_str);
        let agrees = outcome == Some("agree") && end == End::Done;
        let shape =
            lines.first().and_then(|line| line.splitn(3, ' ').nth(2)).filter(|shape| !shape.is_empty());
        match (outcome, shape) {
            (Some(line), _) if line.starts_with("excluded ") => self.excluded += 1,
            (_, Some(shape)) => self.shapes.entry(shape.into()).or_default()[usize::from(!agrees)] += 1,
            _ if agrees => self.agreed += 1,
            (Some("differ"), _) => self.differing.push((number, lines[2..].join("\n"))),
            _ if end == End::Stopped => self.stopped += 1,
            _ => self.differing.push((number, "a panic, or no end\n".into())),
        }
    }
}
