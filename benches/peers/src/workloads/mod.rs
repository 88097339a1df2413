//! The workloads, a module each.

mod cascade;
mod children;
mod commands;
mod despawn;
mod expr;
mod hub;
mod insert_remove;
mod join;
mod lookup;
mod retarget;
mod spawn;
mod up;
mod wildcard_join;

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
    workloads.extend(queries(scale));
    workloads.extend(cascade::all(scale));
    workloads.extend(reading(scale));
    workloads.extend(expr::all(scale == Scale::Quick));
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

/// What reads through queries, which is quick enough for other sizes.
fn queries(scale: Scale) -> impl Iterator<Item = Workload> {
    use children::{Order, of_target};
    let sizes: &[usize] = match scale {
        Scale::Quick => &[1_000],
        Scale::Full => &[100_000, 1_000_000],
    };
    sizes.iter().flat_map(|&size| {
        [
            of_target("children_10", size, 10, Order::Grouped, 2.0),
            of_target("children_1000", size, 1_000, Order::Grouped, 0.3),
            of_target("children_100000", size, 100_000, Order::Grouped, 0.2),
            of_target("children_10_shuffled", size, 10, Order::Shuffled, 2.0),
            of_target("children_1000_shuffled", size, 1_000, Order::Shuffled, 0.06),
            of_target("children_100000_shuffled", size, 100_000, Order::Shuffled, 0.2),
            wildcard_join::among("wildcard_1", size, 1, 0.25),
            wildcard_join::among("wildcard_10", size, 10, 0.25),
            wildcard_join::among("wildcard_1000", size, 1_000, 0.5),
            wildcard_join::among("wildcard_10000", size, 10_000, 2.3),
        ]
    })
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
