//! The workloads, a module each.

mod cascade;
mod commands;
mod despawn;
mod hub;
mod insert_remove;
mod join;
mod lookup;
mod retarget;
mod spawn;
mod up;

use crate::{
    harness::Workload,
    random::Random,
    side::{Link, Side},
};

/// How much work to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Small sizes only: shows that everything runs and that the checksums agree.
    Quick,
    /// The sizes that are quoted: 1,000 and 100,000, and a hub of 1,000,000.
    Full,
}

/// Every workload, in the order of the report.
pub fn workloads(scale: Scale) -> Vec<Workload> {
    let (sizes, hub): (&[usize], _) = match scale {
        Scale::Quick => (&[1_000], 10_000),
        Scale::Full => (&[1_000, 100_000], 1_000_000),
    };
    let of_size: [fn(usize) -> Workload; 13] = [
        insert_remove::one_target,
        insert_remove::many_targets,
        insert_remove::fresh_targets,
        commands::one_target,
        retarget::among_many,
        lookup::pair,
        lookup::any,
        lookup::first_target,
        spawn::one_by_one,
        spawn::batch,
        despawn::tree,
        despawn::child_of,
        despawn::target,
    ];
    let mut workloads: Vec<_> =
        of_size.into_iter().flat_map(|workload| sizes.iter().map(move |&size| workload(size))).collect();
    workloads.push(hub::unlink(hub));
    workloads.extend(cascade::all(scale));
    workloads.extend(reading(scale));
    workloads
}

/// Queries, with the sizes that are quoted for them.
fn reading(scale: Scale) -> Vec<Workload> {
    let (sizes, leaves): (&[usize], _) = match scale {
        Scale::Quick => (&[10_000], 100_000),
        Scale::Full => (&[100_000, 1_000_000], 100_000),
    };
    let mut workloads = Vec::new();
    for &size in sizes {
        workloads.extend([1, 10, 1_000, 10_000].map(|targets| join::targets(size, targets)));
        workloads.extend([100, 1].map(|run| join::filtered(size, run)));
    }
    workloads.extend([10, 1, 1_000].map(|fanout| up::nearest(leaves, fanout)));
    workloads.extend([10, 1_000].map(|fanout| up::moved(leaves, fanout)));
    workloads
}

/// How many targets workloads with "many targets" use.
const TARGETS: usize = 1_000;

/// How often work of this size is repeated per round, so that the clock's resolution does not matter.
fn repeats(size: usize) -> usize {
    (20_000 / size).max(1)
}

/// Links the sources to the targets in turn.
fn round_robin<Id: Copy>(sources: &[Id], targets: &[Id]) -> Vec<Link<Id>> {
    sources.iter().copied().zip(targets.iter().copied().cycle()).collect()
}

/// `size` sources in random order.
fn shuffled_sources<S: Side>(side: &mut S, size: usize, stream: u64) -> Vec<S::Id> {
    let sources = side.spawn_sources(size);
    Random::new(stream).permutation(size).into_iter().map(|index| sources[index]).collect()
}
