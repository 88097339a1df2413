//! The workloads, a module each.

mod cascade;
mod catalog;
mod children;
mod commands;
mod despawn;
mod expr;
mod filter;
mod game;
mod hub;
mod huge;
mod inherit;
mod insert_remove;
mod join;
mod lookup;
mod memory;
mod mirror;
mod move_sources;
mod names;
mod pair_query;
mod plugin;
mod prefab;
mod retarget;
mod snapshot;
mod spawn;
mod transforms;
mod typed;
mod up;
mod value;
mod wildcard;

pub use catalog::{CATALOG, Entry, Unit, entry};

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
    /// The sizes that are quoted: 1,000, 100,000 and 1,000,000 where that fits into memory.
    Full,
}

impl Scale {
    /// Those of the sizes that are wanted: all, or the first one.
    fn of(self, sizes: &[usize]) -> &[usize] {
        match self {
            Self::Quick => &sizes[..1],
            Self::Full => sizes,
        }
    }
}

/// What is this large is run once, a contestant at a time.
pub const HUGE: usize = 10_000_000;

const SIZES: &[usize] = &[1_000, 100_000, 1_000_000];

/// Every workload, in the order of the [`CATALOG`], the small ones first.
pub fn workloads(scale: Scale) -> Vec<Workload> {
    let each = |work: &[fn(usize) -> Workload], sizes| -> Vec<_> {
        work.iter().flat_map(|work| scale.of(sizes).iter().map(move |&size| work(size))).collect()
    };
    let mut workloads = each(
        &[
            insert_remove::one_target,
            insert_remove::many_targets,
            insert_remove::values,
            insert_remove::companions,
            insert_remove::constrained,
            insert_remove::beyond,
            insert_remove::ticks,
            insert_remove::observed_elsewhere,
            insert_remove::observed_once,
            insert_remove::observed_ten_times,
            commands::one_target,
            retarget::among_many,
            retarget::values,
            move_sources::all,
            lookup::pair,
            lookup::any,
            lookup::first_target,
            lookup::all_targets,
            value::get,
            value::read,
            value::write,
            spawn::one_by_one,
            spawn::commands,
            spawn::batch,
            despawn::target,
            despawn::former,
            |size| inherit::chain(size, 1),
            |size| inherit::chain(size, 2),
            |size| inherit::chain(size, 16),
            |size| inherit::get(size, 1),
            |size| inherit::get(size, 2),
            |size| inherit::get(size, 16),
        ],
        SIZES,
    );
    // Growing a tree of a million for each round would take longer than all else.
    workloads.extend(each(&[despawn::tree, despawn::child_of], &[1_000, 100_000]));
    // A million tables take Flecs more memory than most machines have, and the other directions of a million pairs minutes.
    let few: &[fn(usize) -> Workload] = &[insert_remove::fresh_targets, insert_remove::symmetric, up::lone];
    workloads.extend(each(few, &[1_000, 100_000]));
    workloads.extend(each(&[hub::unlink, hub::despawn], &[10_000, 100_000, 1_000_000]));
    workloads.extend(each(READING, SIZES));
    let hubs: &[fn(usize) -> Workload] = &[
        |size| children::of_target(size, 100_000, children::Order::Grouped),
        |size| children::of_target(size, 100_000, children::Order::Shuffled),
    ];
    workloads.extend(each(hubs, if scale == Scale::Quick { &[1_000] } else { &[100_000, 1_000_000] }));
    workloads.extend(each(CLIMBING, SIZES));
    let whole: &[fn(usize) -> Workload] = &[
        snapshot::take,
        snapshot::again,
        snapshot::apply,
        snapshot::load,
        snapshot::load_values,
        |size| mirror::insert(size, 0),
        |size| mirror::insert(size, 1),
    ];
    workloads.extend(each(whole, &[1_000, 100_000]));
    // Flecs makes a table of children for each instance.
    workloads.extend(each(&[prefab::instantiate], &[1_000, 10_000]));
    // Wide trees need many leaves.
    let wide: &[fn(usize) -> Workload] =
        &[up::wide, |leaves| up::moved(leaves, 10), |leaves| up::moved(leaves, 1_000)];
    workloads.extend(each(wide, &[100_000, 1_000_000]));
    let chains: &[fn(usize) -> Workload] = &[up::chains, up::plain];
    workloads.extend(each(chains, if scale == Scale::Quick { &[4_096] } else { &[65_536] }));
    let joins: &[fn(usize) -> Workload] = &[
        pair_query::pair_query,
        pair_query::pair_query_parallel,
        pair_query::pair_query_both,
        pair_query::pair_query_several,
        join::read,
        join::write,
        join::write_lacking,
    ];
    workloads.extend(each(joins, &[1_000, 100_000]));
    let typed: &[fn(usize) -> Workload] =
        &[typed::inner_filter, typed::added, typed::changed_below, typed::islands];
    workloads.extend(each(typed, &[1_000, 100_000]));
    workloads.extend(game::all(scale));
    workloads.extend(each(&[plugin::spawn, plugin::reparent, plugin::despawn], &[1_000, 100_000]));
    workloads.push(plugin::frame());
    workloads.extend(cascade::all(scale));
    let transforms: &[fn(usize) -> Workload] = &[
        |size| transforms::tree("transforms", size, 100),
        |size| transforms::tree("transforms_few", size, 1),
    ];
    workloads.extend(each(transforms, SIZES));
    workloads.extend(each(NAMES, &[1_000, 100_000]));
    workloads.extend(each(MEMORY, if scale == Scale::Quick { &[10_000] } else { &[100_000] }));
    workloads.extend(expr::all(scale == Scale::Quick));
    let huge = if scale == Scale::Quick { 10_000 } else { HUGE };
    workloads.extend([huge::insert(huge), huge::peak(huge)]);
    let place = |workload: &Workload| CATALOG.iter().position(|entry| entry.id == workload.id);
    workloads.sort_by_key(|workload| (place(workload), workload.size));
    workloads
}

/// What reads through queries.
const READING: &[fn(usize) -> Workload] = &[
    |size| children::of_target(size, 10, children::Order::Grouped),
    |size| children::of_target(size, 10, children::Order::Shuffled),
    |size| children::of_target(size, 1_000, children::Order::Grouped),
    |size| children::of_target(size, 1_000, children::Order::Shuffled),
    |size| wildcard::among(size, wildcard::Targets::Number(1)),
    |size| wildcard::among(size, wildcard::Targets::Number(10)),
    |size| wildcard::among(size, wildcard::Targets::Number(1_000)),
    |size| wildcard::among(size, wildcard::Targets::Tenth),
    |size| filter::filtered(size, 100),
    |size| filter::filtered(size, 1),
];

/// What climbs up trees.
const CLIMBING: &[fn(usize) -> Workload] =
    &[|leaves| up::nearest(leaves, 4), |leaves| up::nearest(leaves, 16), |leaves| up::nearest(leaves, 64)];

const NAMES: &[fn(usize) -> Workload] = &[
    |size| names::path(size, 1),
    |size| names::path(size, 10),
    |size| names::path(size, 100),
    names::renamed,
];

const MEMORY: &[fn(usize) -> Workload] = &[
    |size| memory::pairs(size, 1_000),
    |size| memory::pairs(size, size),
    memory::second_relation,
    memory::spawned,
    memory::churn,
];

/// Whether the second storage of Flecs has room for such pairs: it keeps a set per target, with a place for every
/// block of entities. For 100,000 sources and as many targets that is 57 KB per pair.
fn sparse_fits(sources: usize, targets: usize) -> bool {
    sources * targets <= 2_000_000_000
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contestant, Rounds, Team, compare};
    use std::{collections::BTreeSet, time::Duration};

    #[test]
    #[cfg_attr(debug_assertions, ignore = "takes minutes without optimization")]
    fn contestants_agree_on_every_workload() {
        let once = Rounds { warm_up: 2, most: 1, least: 1, within: Duration::ZERO };
        for workload in workloads(Scale::Quick) {
            let laps = compare(&workload, once);
            assert_eq!(laps.len(), workload.contestants.len());
        }
    }

    #[test]
    fn every_workload_is_in_the_catalog_once() {
        let made: BTreeSet<_> = workloads(Scale::Full).iter().map(|workload| workload.id).collect();
        let listed: BTreeSet<_> = CATALOG.iter().map(|entry| entry.id).collect();
        assert_eq!(made, listed);
        assert_eq!(listed.len(), CATALOG.len());
    }

    #[test]
    fn families_stand_together() {
        let mut families: Vec<_> = CATALOG.iter().map(|entry| entry.family).collect();
        families.dedup();
        assert_eq!(families.iter().collect::<BTreeSet<_>>().len(), families.len());
    }

    #[test]
    fn every_contestant_has_a_team_and_a_name_of_its_own() {
        for workload in workloads(Scale::Full) {
            let names: BTreeSet<_> = workload.contestants.iter().map(Contestant::name).collect();
            assert_eq!(names.len(), workload.contestants.len(), "{}", workload.id);
            assert!(names.iter().all(|name| Team::of(name).is_some()), "{}: {names:?}", workload.id);
            assert!(names.contains("ours") || workload.id == "despawn_child_of", "{}", workload.id);
        }
    }
}
