//! Runs cases in processes of their own, and goes on after those that stop.

use crate::{
    queries::{ASKED, Case, DEFINED},
    rules::ASSERTION,
    worker::Subject,
};

use std::{
    collections::BTreeMap,
    env,
    io::{self, BufRead, BufReader, Read},
    num::NonZero,
    ops::Range,
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

/// A case takes some milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a case is tried with less of it.
const ATTEMPTS: usize = 400;
/// Flecs was asked, and has not come to an end.
const ENDLESS: &str = "Flecs does not come to an end";

/// The evaluation by definition did not come to an end in time.
const TOO_MANY_ROWS: &str = "too many rows for the definition: compared with nothing";

/// Cases given to one process.
const PER_PROCESS: u64 = 500;

/// What came of many cases.
#[derive(Default)]
pub(crate) struct Report {
    /// Flecs and this crate say the same.
    pub(crate) agreed: u64,
    /// What Flecs does not have: compared with the definition only.
    pub(crate) beyond: BTreeMap<String, u64>,
    /// By rule, in how many Flecs differs, and the first of them.
    pub(crate) known: BTreeMap<String, (u64, u64)>,
    /// By rule, how many of those to which only this rule applies agree, and how many do not.
    pub(crate) alone: BTreeMap<String, [u64; 2]>,
    /// Number and text.
    pub(crate) differing: Vec<(u64, String)>,
}

struct Process {
    child: Child,
    lines: Receiver<String>,
}

/// The lines of an output, as they come.
fn read(output: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        let lines = output.map(BufReader::new).into_iter().flat_map(BufRead::lines).map_while(Result::ok);
        for line in lines {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

impl Process {
    fn start(subject: Subject, seed: u64, cases: &Range<u64>) -> io::Result<Self> {
        let numbers = [seed, cases.start, cases.end].map(|number| number.to_string());
        let [seed, start, end] = numbers.each_ref().map(String::as_str);
        Self::with(&["worker", subject.name(), seed, start, end])
    }

    fn with(arguments: &[&str]) -> io::Result<Self> {
        let mut child = Command::new(env::current_exe()?)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let lines = read(child.stdout.take());
        Ok(Self { child, lines })
    }

    /// The lines of one case, and how it ended.
    fn case(&mut self) -> (Vec<String>, End) {
        let (mut lines, mut late) = (Vec::new(), End::Undefined);
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line == "end" => return (lines, End::Done),
                Ok(line) if line == DEFINED => late = End::Failed,
                Ok(line) if line == ASKED => late = End::Endless,
                Ok(line) => lines.push(line),
                Err(RecvTimeoutError::Timeout) => return (lines, late),
                // A panic of this crate ends the process with a status; an abort of Flecs does not.
                Err(RecvTimeoutError::Disconnected) => {
                    let aborted = self.child.wait().is_ok_and(|status| status.code().is_none());
                    return (lines, if aborted { End::Stopped } else { End::Failed });
                }
            }
        }
    }
}

/// The outcome of a case in which Flecs aborted.
pub(crate) const STOPPED: &str = "stopped";

/// How a case ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Done,
    /// Flecs aborted.
    Stopped,
    /// There was a panic, or no end.
    Failed,
    /// The rows by definition took too long.
    Undefined,
    /// Flecs took too long.
    Endless,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the cases, a process per core.
///
/// # Errors
/// If no process can be started.
pub(crate) fn run(subject: Subject, seed: u64, cases: Range<u64>) -> io::Result<Report> {
    let next = AtomicU64::new(cases.start);
    let work = || -> io::Result<Report> {
        let mut report = Report::default();
        loop {
            let start = next.fetch_add(PER_PROCESS, Ordering::Relaxed);
            if start >= cases.end {
                return Ok(report);
            }
            batch(subject, seed, start..cases.end.min(start + PER_PROCESS), &mut report)?;
        }
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let mut all = Report::default();
        for worker in workers {
            all.add(worker.join().map_err(|_| io::Error::other("a thread panicked"))??);
        }
        Ok(all)
    })
}

fn batch(subject: Subject, seed: u64, cases: Range<u64>, report: &mut Report) -> io::Result<()> {
    let mut next = cases.start;
    while next < cases.end {
        let mut process = Process::start(subject, seed, &(next..cases.end))?;
        while next < cases.end {
            let (lines, end) = process.case();
            report.note(next, &lines, end);
            next += 1;
            if end != End::Done {
                break;
            }
        }
    }
    Ok(())
}

/// How a case that is written ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Verdict {
    /// `agree`, `known <rule>`, `beyond <construct>`, `differ`, `stopped` or `failed`.
    pub(crate) outcome: String,
    pub(crate) text: String,
}

pub(crate) fn judge(case: &Case) -> io::Result<Verdict> {
    let [world, query, named] = case.written();
    let mut process = Process::with(&["written", &world, &query, &named])?;
    let (lines, end) = process.case();
    let outcome = match end {
        End::Done => lines.get(1).cloned().unwrap_or_default(),
        End::Stopped => STOPPED.into(),
        End::Failed | End::Undefined | End::Endless => "failed".into(),
    };
    Ok(Verdict { outcome, text: lines.get(2..).unwrap_or_default().join("\n") })
}

/// Takes away from the case what can go while the verdict stays.
pub(crate) fn shrink(case: Case) -> io::Result<(Case, Verdict)> {
    let case = case.plain();
    let wanted = judge(&case)?;
    let (mut case, mut verdict) = (case, wanted.clone());
    let mut left = ATTEMPTS;
    'smaller: loop {
        for smaller in case.smaller() {
            left -= 1;
            if left == 0 {
                break;
            }
            let found = judge(&smaller)?;
            if found.outcome == wanted.outcome {
                (case, verdict) = (smaller, found);
                continue 'smaller;
            }
        }
        return Ok((case, verdict));
    }
}

impl Report {
    /// How many queries Flecs and this crate have answered differently for a known reason.
    pub(crate) fn known(&self) -> u64 {
        self.known.values().map(|(count, _)| count).sum()
    }

    pub(crate) fn beyond(&self) -> u64 {
        self.beyond.values().sum()
    }

    pub(crate) fn total(&self) -> u64 {
        self.agreed + self.known() + self.beyond() + self.differing.len() as u64
    }

    fn note(&mut self, number: u64, lines: &[String], end: End) {
        let rules: Vec<&str> = lines
            .first()
            .and_then(|line| line.splitn(3, ' ').nth(2))
            .map(|rules| rules.split(" + ").filter(|rule| !rule.is_empty()).collect())
            .unwrap_or_default();
        let outcome = lines.get(1).map(String::as_str);
        let agrees = outcome == Some("agree");
        match outcome {
            Some("agree") if end == End::Done => self.agreed += 1,
            Some("differ") => self.differing.push((number, lines[2..].join("\n"))),
            Some(line) if let Some(what) = line.strip_prefix("beyond ") => {
                *self.beyond.entry(what.into()).or_default() += 1;
            }
            Some(line) if let Some(rule) = line.strip_prefix("known ") => self.know(rule, number),
            _ if end == End::Undefined => *self.beyond.entry(TOO_MANY_ROWS.into()).or_default() += 1,
            _ if end == End::Endless => self.know(ENDLESS, number),
            _ if end == End::Stopped => self.know(ASSERTION, number),
            _ => self.differing.push((number, "a panic, or no end\n".into())),
        }
        if let [rule] = rules[..] {
            self.alone.entry(rule.into()).or_default()[usize::from(!agrees)] += 1;
        }
    }

    fn know(&mut self, rule: &str, number: u64) {
        let (count, first) = self.known.entry(rule.into()).or_insert((0, number));
        *count += 1;
        *first = number.min(*first);
    }

    fn add(&mut self, other: Self) {
        self.agreed += other.agreed;
        for (what, count) in other.beyond {
            *self.beyond.entry(what).or_default() += count;
        }
        for (rule, (count, first)) in other.known {
            self.know(&rule, first);
            self.known.entry(rule).and_modify(|(all, _)| *all += count - 1);
        }
        for (rule, [agree, differ]) in other.alone {
            let all = self.alone.entry(rule).or_default();
            *all = [all[0] + agree, all[1] + differ];
        }
        self.differing.extend(other.differing);
        self.differing.sort_by_key(|(number, _)| *number);
    }
}
