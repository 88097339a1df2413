//! The paired loop: every round runs each contestant once, so that noise of the machine hits all of them.

use crate::harness::{Referee, Stopwatch, Workload};
use std::time::{Duration, Instant};

/// How many rounds to run.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Before the first that counts; only one where they are slow.
    pub warm_up: usize,
    /// Never more.
    pub most: usize,
    /// Not fewer, however long they take.
    pub least: usize,
    /// No further round begins after this time, building the worlds included.
    pub within: Duration,
}

/// What one contestant took, per element.
#[derive(Clone, Debug)]
pub struct Lap {
    sorted: Vec<f64>,
}

impl Lap {
    pub(crate) fn new(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        Self { sorted: samples }
    }

    /// The median.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The first and the third quartile.
    pub fn quartiles(&self) -> (f64, f64) {
        (self.quantile(0.25), self.quantile(0.75))
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> usize {
        self.sorted.len()
    }

    fn quantile(&self, part: f64) -> f64 {
        let position = part * (self.sorted.len() - 1) as f64;
        let (low, high) = (position.floor() as usize, position.ceil() as usize);
        self.sorted[low] + (self.sorted[high] - self.sorted[low]) * position.fract()
    }
}

/// Runs rounds of a workload and returns what its contestants took, in their order.
///
/// The order within a round rotates, and turns around every other round: no contestant always runs after the
/// same rival, with the same caches.
///
/// # Panics
/// If two checksums differ, or no round is to count.
pub fn compare(workload: &Workload, rounds: Rounds) -> Vec<Lap> {
    assert!(rounds.least > 0, "without a round there is no median");
    let start = Instant::now();
    let mut entered: Vec<_> = workload.contestants.iter().map(|contestant| contestant.enter()).collect();
    let mut samples = vec![Vec::new(); entered.len()];
    let mut referee = Referee::default();
    let (mut warm_up, mut round) = (rounds.warm_up, 0);
    while round < warm_up + rounds.most.max(rounds.least) {
        if round >= warm_up + rounds.least && start.elapsed() > rounds.within {
            break;
        }
        for place in 0..entered.len() {
            let turned = if round % 2 == 0 { place } else { entered.len() - 1 - place };
            let index = (turned + round / 2) % entered.len();
            let mut watch = Stopwatch::default();
            let checksum = entered[index](&mut watch);
            referee.check(workload, workload.contestants[index].name(), checksum);
            if round >= warm_up {
                samples[index].push(watch.reading() / workload.elements as f64);
            }
        }
        round += 1;
        if start.elapsed() > rounds.within / 4 {
            warm_up = warm_up.min(round);
        }
    }
    samples.into_iter().map(Lap::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Contestant;

    fn workload() -> Workload {
        let waits = |name, checksum| Contestant::new(name, move || move |_: &mut Stopwatch| checksum);
        Workload { id: "waiting", size: 1, elements: 1, contestants: vec![waits("a", 1), waits("b", 1)] }
    }

    #[test]
    fn quartiles_lie_between_the_samples() {
        let lap = Lap::new(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!((lap.median(), lap.quartiles()), (2.5, (1.75, 3.25)));
        let lap = Lap::new(vec![7.0]);
        assert_eq!((lap.median(), lap.quartiles(), lap.rounds()), (7.0, (7.0, 7.0), 1));
    }

    #[test]
    fn a_round_that_comes_too_late_is_left_out_unless_it_is_needed() {
        let late = Rounds { warm_up: 2, most: 9, least: 3, within: Duration::ZERO };
        assert!(compare(&workload(), late).iter().all(|lap| lap.rounds() == 3));
        let early = Rounds { within: Duration::from_secs(1_000), ..late };
        assert!(compare(&workload(), early).iter().all(|lap| lap.rounds() == 9));
    }

    #[test]
    #[should_panic(expected = "the checksums of `a` and `c` differ")]
    fn contestants_with_another_outcome_are_found_out() {
        let mut workload = workload();
        workload.contestants.push(Contestant::new("c", || |_: &mut Stopwatch| 2));
        compare(&workload, Rounds { warm_up: 0, most: 1, least: 1, within: Duration::ZERO });
    }
}
