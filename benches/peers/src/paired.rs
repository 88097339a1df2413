//! The paired loop: every round runs each contestant once, so that noise of the machine hits all of them.

use crate::harness::{Referee, Stopwatch, Workload};

/// Rounds before the first that counts.
const WARM_UP: usize = 2;

/// The times of one contestant, in nanoseconds per element.
#[derive(Clone, Debug)]
pub struct Lap {
    sorted: Vec<f64>,
}

impl Lap {
    fn new(mut samples: Vec<f64>) -> Self {
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

    fn quantile(&self, part: f64) -> f64 {
        let position = part * (self.sorted.len() - 1) as f64;
        let (low, high) = (position.floor() as usize, position.ceil() as usize);
        self.sorted[low] + (self.sorted[high] - self.sorted[low]) * position.fract()
    }
}

/// Runs `rounds` rounds of a workload and returns the times of its contestants, in their order.
///
/// The order within a round rotates, and turns around every other round: nobody always runs after the same
/// rival, with the same caches.
///
/// # Panics
/// If two checksums differ.
pub fn compare(workload: &Workload, rounds: usize) -> Vec<Lap> {
    let mut entered: Vec<_> = workload.contestants.iter().map(|contestant| contestant.enter()).collect();
    let mut samples = vec![Vec::with_capacity(rounds); entered.len()];
    let mut referee = Referee::default();
    for round in 0..WARM_UP + rounds {
        for place in 0..entered.len() {
            let turned = if round % 2 == 0 { place } else { entered.len() - 1 - place };
            let index = (turned + round / 2) % entered.len();
            let mut watch = Stopwatch::default();
            let checksum = entered[index](&mut watch);
            referee.check(workload, workload.contestants[index].name(), checksum);
            if round >= WARM_UP {
                samples[index].push(watch.elapsed().as_nanos() as f64 / workload.elements as f64);
            }
        }
    }
    samples.into_iter().map(Lap::new).collect()
}
