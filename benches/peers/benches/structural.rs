//! The same workloads as the paired binary, one contestant at a time, under criterion.
//!
//! Good for watching one contestant over time (criterion keeps the last run); for ratios between
//! contestants use the binary, which interleaves them.

use bevy_relations_peers::{HUGE, Referee, SEED, Scale, Stopwatch, Unit, Workload, entry, workloads};
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use std::time::Duration;

fn structural(criterion: &mut Criterion) {
    println!("seed {SEED:#x}");
    // What is huge is run once, and not again and again.
    let wanted = |workload: &Workload| entry(workload.id).unit == Unit::Nanoseconds && workload.size < HUGE;
    for workload in workloads(Scale::Full).into_iter().filter(wanted) {
        let mut group = criterion.benchmark_group(workload.id);
        group
            .sampling_mode(SamplingMode::Flat)
            .sample_size(10)
            .warm_up_time(Duration::from_millis(500))
            .measurement_time(Duration::from_secs(2))
            .throughput(Throughput::Elements(workload.elements as u64));
        let mut referee = Referee::default();
        for contestant in &workload.contestants {
            let mut entered = None;
            group.bench_function(BenchmarkId::new(contestant.name(), workload.size), |bencher| {
                // Built on first use: criterion may have filtered this contestant out.
                let round = entered.get_or_insert_with(|| contestant.enter());
                bencher.iter_custom(|rounds| {
                    let mut watch = Stopwatch::default();
                    for _ in 0..rounds {
                        referee.check(&workload, contestant.name(), round(&mut watch));
                    }
                    Duration::from_nanos(watch.reading() as u64)
                });
            });
        }
    }
}

criterion_group!(benches, structural);
criterion_main!(benches);
