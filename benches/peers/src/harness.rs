//! What a comparison is made of: workloads, contestants, a stopwatch and a referee.

use cpu_time::ThreadTime;
use std::{
    fmt,
    hint::black_box,
    time::{Duration, Instant},
};

/// Adds up the time of the measured parts of a round: the time that this thread has had the processor, since
/// what other programs do is none of our business; but for work that uses other threads.
#[derive(Default, Debug)]
pub struct Stopwatch {
    elapsed: Duration,
}

impl Stopwatch {
    /// Runs `work` with the watch running.
    #[inline(never)]
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = ThreadTime::now();
        let result = black_box(work());
        self.elapsed += start.elapsed();
        result
    }

    /// Runs `work`, which uses other threads too, with a watch running that tells the time of day.
    #[inline(never)]
    pub fn time_threads<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = black_box(work());
        self.elapsed += start.elapsed();
        result
    }

    /// The time so far.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

/// One round of work, ready to be repeated. Returns a checksum over the outcome.
pub type Round = Box<dyn FnMut(&mut Stopwatch) -> u64>;

/// How much faster than a rival a contestant has to be.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// The name of the rival contestant.
    pub rival: &'static str,
    /// Its time over this contestant's time must not be below this.
    pub at_least: f64,
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
        self.goals.push(Goal { rival, at_least });
        self
    }

    /// Who it is: `flecs`, `bevy`, `ours` and variants of them.
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
    /// Who takes part.
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
