//! What a comparison is made of: workloads, contestants, a stopwatch and a referee.

use crate::counting::growth;
use cpu_time::ThreadTime;
use std::{cell::RefCell, fmt, fs, hint::black_box, rc::Rc, time::Instant};

/// Adds up what the measured parts of a round take: nanoseconds or, where memory is compared, bytes.
#[derive(Default, Debug)]
pub struct Stopwatch {
    reading: f64,
}

impl Stopwatch {
    /// Runs `work` with the watch running: the time that this thread has the processor counts, since what other
    /// programs do is none of our business.
    #[inline(never)]
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = ThreadTime::now();
        let result = black_box(work());
        self.reading += start.elapsed().as_nanos() as f64;
        result
    }

    /// Runs `work`, which uses other threads too, with the clock on the wall running.
    #[inline(never)]
    pub fn time_threads<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = black_box(work());
        self.reading += start.elapsed().as_nanos() as f64;
        result
    }

    /// Runs `work`, and counts by how many bytes the live heap grows. Only where
    /// [`CountingAllocator`](crate::CountingAllocator) is the global allocator.
    pub fn weigh<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (result, bytes) = growth(work);
        self.reading += bytes;
        result
    }

    /// The most memory that this process has had at a time so far, in bytes: read from Linux.
    pub fn peak(&mut self) {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
        self.reading += 1024.0 * kilobytes.unwrap_or(f64::NAN);
    }

    /// What was measured so far.
    pub fn reading(&self) -> f64 {
        self.reading
    }
}

/// One round of work, ready to be repeated. Returns a checksum over the outcome.
pub type Round = Box<dyn FnMut(&mut Stopwatch) -> u64>;

/// What is demanded of a contestant.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// The median of a rival over its own must not be below a factor.
    Against(&'static str, f64),
    /// Its median must not be above a limit.
    AtMost(f64),
}

/// One way of doing the work of a [`Workload`].
pub struct Contestant {
    name: &'static str,
    goals: Vec<Goal>,
    enter: Box<dyn Fn() -> Round>,
}

impl Contestant {
    /// A contestant called `name`; `enter` builds its world and returns its round.
    pub fn new<F>(name: &'static str, enter: impl Fn() -> F + 'static) -> Self
    where
        F: FnMut(&mut Stopwatch) -> u64 + 'static,
    {
        Self { name, goals: Vec::new(), enter: Box::new(move || Box::new(enter())) }
    }

    /// Demands that this contestant is at least `at_least` times as fast as `rival`.
    #[must_use]
    pub fn goal(mut self, rival: &'static str, at_least: f64) -> Self {
        self.goals.push(Goal::Against(rival, at_least));
        self
    }

    /// Demands that it takes at most `limit` per element.
    #[must_use]
    pub fn at_most(mut self, limit: f64) -> Self {
        self.goals.push(Goal::AtMost(limit));
        self
    }

    /// Its name. It begins with the name of its [`Team`](crate::Team).
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What is demanded of it.
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// Builds the world it works in. Keep the round as long as it is needed: it owns that world.
    pub fn enter(&self) -> Round {
        (self.enter)()
    }
}

impl fmt::Debug for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contestant")
            .field("name", &self.name)
            .field("goals", &self.goals)
            .finish_non_exhaustive()
    }
}

/// The same work for several contestants.
#[derive(Debug)]
pub struct Workload {
    /// A short name, used to select workloads on the command line.
    pub id: &'static str,
    /// How large it is: the number of entities.
    pub size: usize,
    /// How many operations the time of one round is divided by.
    pub elements: usize,
    /// The contestants.
    pub contestants: Vec<Contestant>,
}

/// Compares the checksums that contestants return.
#[derive(Default, Debug)]
pub struct Referee {
    expected: Option<(&'static str, u64)>,
}

impl Referee {
    /// Notes the checksum of a round.
    ///
    /// # Panics
    /// If an earlier round of any contestant had another checksum: they did not do the same work.
    pub fn check(&mut self, workload: &Workload, name: &'static str, checksum: u64) {
        let (first, expected) = *self.expected.get_or_insert((name, checksum));
        assert_eq!(
            expected, checksum,
            "{}/{}: the checksums of `{first}` and `{name}` differ",
            workload.id, workload.size
        );
    }
}

/// The checksums of a workload that is another one in every round.
#[derive(Clone, Default)]
pub(crate) struct RoundSums(Rc<RefCell<Vec<u64>>>);

/// Where a contestant is in such a workload.
pub(crate) struct RoundCheck {
    sums: RoundSums,
    name: &'static str,
    round: usize,
}

impl RoundSums {
    /// For a contestant at its first round.
    pub(crate) fn start(&self, name: &'static str) -> RoundCheck {
        RoundCheck { sums: self.clone(), name, round: 0 }
    }
}

impl RoundCheck {
    /// Compares the outcome of the next round with what others had in it. Returns a checksum that is the same for all
    /// rounds.
    pub(crate) fn check(&mut self, sum: u64) -> u64 {
        let mut sums = self.sums.0.borrow_mut();
        if sums.len() == self.round {
            sums.push(sum);
        }
        let Self { name, round, .. } = *self;
        assert_eq!(sums[round], sum, "{name} has another outcome than others in round {round}");
        self.round += 1;
        0
    }
}
