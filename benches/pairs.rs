//! How long the operations of this crate take, to notice when they get slower:
//!
//! ```sh
//! cargo bench --bench pairs
//! cargo bench --bench pairs -- --quick retarget
//! ```
//!
//! Every bench names the work per element; worlds are set up, and dropped, outside the timing. Orders are random
//! with a fixed seed, since pairs that were inserted in a row are unusually fast to find again. How this compares
//! with Flecs and with Bevy is measured in `benches/peers`.

use bevy_ecs::{prelude::*, system::SystemState, world::CommandQueue};
use bevy_relations::{
    prelude::*,
    query::{ChangedPair, Target},
};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

const SIZES: [usize; 2] = [1_000, 100_000];
const SEED: u64 = 0x5EED_BE47;

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
struct Eats {
    grams: f32,
}

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
#[relation(exclusive)]
struct Rents {
    price: f32,
}

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct MountedOn;

#[derive(Component, Clone, Copy)]
struct Position([f32; 3]);

#[derive(Component, Clone, Copy)]
struct Depot(f32);

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        ((u128::from(bits) * bound as u128) >> 64) as usize
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

fn spawn(world: &mut World, count: usize) -> Vec<Entity> {
    world.spawn_batch((0..count).map(|nth| Position([nth as f32; 3]))).collect()
}

/// A world, and `sources` entities in random order, each with one of `targets` others chosen at random.
fn links(sources: usize, targets: usize) -> (World, Vec<(Entity, Entity)>) {
    let mut world = World::new();
    let mut random = Random(SEED);
    let targets = spawn(&mut world, targets);
    let mut sources = spawn(&mut world, sources);
    random.shuffle(&mut sources);
    let links = sources.into_iter().map(|source| (source, targets[random.below(targets.len())])).collect();
    (world, links)
}

fn insert_remove(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("insert_remove");
    for size in SIZES {
        group.throughput(Throughput::Elements(size as u64));
        for (name, targets) in [("one_target", 1), ("1000_targets", 1_000)] {
            let (mut world, links) = links(size, targets);
            group.bench_function(BenchmarkId::new(name, size), |bencher| {
                bencher.iter(|| {
                    for &(source, target) in &links {
                        world.insert_pair(source, Likes, target).expect("both are alive");
                    }
                    for &(source, target) in &links {
                        world.remove_pair::<Likes>(source, target);
                    }
                });
            });
        }

        let (mut world, links) = links(size, 1_000);
        group.bench_function(BenchmarkId::new("with_a_value", size), |bencher| {
            bencher.iter(|| insert_values_and_remove_them(&mut world, &links));
        });
        group.bench_function(BenchmarkId::new("in_a_batch", size), |bencher| {
            bencher.iter(|| {
                let pairs = links.iter().map(|&(source, target)| (source, Likes, target));
                world.insert_pair_batch(pairs).expect("all are alive");
                world.remove_pair_batch::<Likes>(links.iter().copied());
            });
        });
        group.bench_function(BenchmarkId::new("through_commands", size), |bencher| {
            let mut queue = CommandQueue::default();
            bencher.iter(|| {
                let mut commands = Commands::new(&mut queue, &world);
                for &(source, target) in &links {
                    commands.entity(source).insert_pair(Likes, target);
                }
                for &(source, target) in &links {
                    commands.entity(source).remove_pair::<Likes>(target);
                }
                queue.apply(&mut world);
            });
        });
        world.add_observer(|on: On<PairInserted<Likes>>| {
            black_box(on.target);
        });
        group.bench_function(BenchmarkId::new("with_an_observer", size), |bencher| {
            bencher.iter(|| {
                for &(source, target) in &links {
                    world.insert_pair(source, Likes, target).expect("both are alive");
                }
                for &(source, target) in &links {
                    world.remove_pair::<Likes>(source, target);
                }
            });
        });
    }
}

fn retarget(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("retarget");
    for size in SIZES {
        group.throughput(Throughput::Elements(size as u64));
        let (mut world, mut links) = links(size, 1_000);
        let targets: Vec<Entity> = links.iter().map(|&(_, target)| target).collect();
        let mut round = 0;
        group.bench_function(BenchmarkId::new("to_one_of_1000_targets", size), |bencher| {
            bencher.iter_custom(|rounds| {
                let mut taken = Duration::ZERO;
                for _ in 0..rounds {
                    round += 1;
                    for (nth, (_, target)) in links.iter_mut().enumerate() {
                        *target = targets[(nth + round) % size];
                    }
                    let start = Instant::now();
                    for &(source, target) in &links {
                        world.insert_pair(source, DockedTo, target).expect("both are alive");
                    }
                    taken += start.elapsed();
                }
                taken
            });
        });
    }
}

fn insert_values_and_remove_them(world: &mut World, links: &[(Entity, Entity)]) {
    for &(source, target) in links {
        world.insert_pair(source, Eats { grams: 1.0 }, target).expect("both are alive");
    }
    for &(source, target) in links {
        world.remove_pair::<Eats>(source, target);
    }
}

/// What observers of insertions and removals cost that do nothing.
fn observed(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("observed");
    for size in SIZES {
        group.throughput(Throughput::Elements(size as u64));
        let (mut world, links) = links(size, 1_000);
        world.add_observer(|_: On<PairInserted<Eats>>| {});
        world.add_observer(|_: On<PairRemoved<Eats>>| {});
        world.add_observer(|_: On<PairInserted<DockedTo>>| {});
        world.add_observer(|_: On<PairRemoved<DockedTo>>| {});
        group.bench_function(BenchmarkId::new("insert_a_value_and_remove_it", size), |bencher| {
            bencher.iter(|| insert_values_and_remove_them(&mut world, &links));
        });
        let pairs = links.iter().map(|&(source, target)| (source, Eats { grams: 1.0 }, target));
        world.insert_pair_batch(pairs).expect("all are alive");
        group.bench_function(BenchmarkId::new("replace_a_value", size), |bencher| {
            bencher.iter(|| {
                for &(source, target) in &links {
                    world.insert_pair(source, Eats { grams: 2.0 }, target).expect("both are alive");
                }
            });
        });
        let mut round = 0;
        group.bench_function(BenchmarkId::new("retarget", size), |bencher| {
            bencher.iter(|| {
                round += 1;
                for (nth, &(source, _)) in links.iter().enumerate() {
                    let target = links[(nth + round) % size].1;
                    world.insert_pair(source, DockedTo, target).expect("both are alive");
                }
            });
        });
    }
}

/// A filter for pairs whose values have changed, of which few or none have.
fn changed_values(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("changed_values");
    for size in SIZES {
        group.throughput(Throughput::Elements(size as u64));
        let (mut world, links) = links(size, 1_000);
        let pairs = links.iter().map(|&(source, target)| (source, Eats { grams: 1.0 }, target));
        world.insert_pair_batch(pairs).expect("all are alive");
        let mut changed: SystemState<Query<Entity, ChangedPair<Eats>>> = SystemState::new(&mut world);
        for (name, replaced) in [("none", 0), ("a_hundredth_replaced", size / 100)] {
            group.bench_function(BenchmarkId::new(name, size), |bencher| {
                bencher.iter(|| {
                    for &(source, target) in &links[..replaced] {
                        world.insert_pair(source, Eats { grams: 2.0 }, target).expect("both are alive");
                    }
                    let changed = changed.get(&world).expect("its parameters are there");
                    black_box(changed.iter().count());
                });
            });
        }
        group.bench_function(BenchmarkId::new("a_hundredth_written_in_place", size), |bencher| {
            bencher.iter(|| {
                for &(source, target) in &links[..size / 100] {
                    world.pair_value_mut::<Eats>(source, target).expect("it is there").grams = 3.0;
                }
                let changed = changed.get(&world).expect("its parameters are there");
                black_box(changed.iter().count());
            });
        });
    }
}

fn read(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read");
    for size in SIZES {
        group.throughput(Throughput::Elements(size as u64));
        let (mut world, links) = links(size, 1_000);
        // Every third entity has no pair, the others have eight.
        let mut random = Random(SEED + 1);
        for &(source, target) in links.iter().filter(|&&(source, _)| source.index_u32() % 3 > 0) {
            world.insert_pair(source, Likes, target).expect("both are alive");
            world.insert_pair(source, DockedTo, target).expect("both are alive");
            world.insert_pair(source, Eats { grams: 1.0 }, target).expect("both are alive");
            for _ in 1..8 {
                world.insert_pair(source, Likes, links[random.below(size)].1).expect("both are alive");
            }
        }
        let mut state: SystemState<(Pairs<Likes>, Pairs<Eats>, Pairs<DockedTo>)> =
            SystemState::new(&mut world);
        let (likes, eats, docked) = state.get(&world).expect("the parameters are valid");

        group.bench_function(BenchmarkId::new("has_the_pair", size), |bencher| {
            bencher.iter(|| links.iter().filter(|&&(source, target)| likes.has(source, target)).count());
        });
        group.bench_function(BenchmarkId::new("has_the_pair_on_the_world", size), |bencher| {
            bencher.iter(|| {
                links.iter().filter(|&&(source, target)| world.has_pair::<Likes>(source, target)).count()
            });
        });
        group.bench_function(BenchmarkId::new("has_any_pair", size), |bencher| {
            bencher.iter(|| links.iter().filter(|&&(source, _)| likes.has_any(source)).count());
        });
        group.bench_function(BenchmarkId::new("the_value", size), |bencher| {
            let values = links.iter().filter_map(|&(source, target)| eats.get(source, target));
            bencher.iter(|| values.clone().map(|eats| eats.grams).sum::<f32>());
        });
        group.bench_function(BenchmarkId::new("first_target", size), |bencher| {
            bencher.iter(|| links.iter().filter_map(|&(source, _)| likes.target(source)).count());
        });
        group.bench_function(BenchmarkId::new("the_only_target", size), |bencher| {
            bencher.iter(|| links.iter().filter_map(|&(source, _)| docked.target(source)).count());
        });
        group.bench_function(BenchmarkId::new("all_8_targets", size), |bencher| {
            bencher.iter(|| {
                let targets = links.iter().flat_map(|&(source, _)| likes.targets(source));
                targets.fold(0, |sum: u64, target| sum.wrapping_add(target.to_bits()))
            });
        });
        group.bench_function(BenchmarkId::new("all_sources_of_1000_targets", size), |bencher| {
            let mut targets: Vec<Entity> = links.iter().map(|&(_, target)| target).collect();
            targets.sort();
            targets.dedup();
            bencher.iter(|| {
                let sources = targets.iter().flat_map(|&target| docked.sources(target));
                sources.fold(0, |sum: u64, source| sum.wrapping_add(source.to_bits()))
            });
        });
    }
}

/// Where some entities have a pair and some have none, a loop has a branch that a processor may not predict.
fn shares(criterion: &mut Criterion) {
    const SIZE: usize = 100_000;
    let mut group = criterion.benchmark_group("shares");
    group.throughput(Throughput::Elements(SIZE as u64));
    for percent in [10, 50, 90, 100] {
        let (mut world, mut links) = links(SIZE, 1_000);
        // As many as if each had been drawn: in random order over the sources.
        links.truncate(SIZE * percent / 100);
        links.sort_unstable();
        for (source, target) in links {
            world.insert_pair(source, DockedTo, target).expect("both are alive");
            world.insert_pair(source, Rents { price: 1.0 }, target).expect("both are alive");
            world.insert_pair(source, Eats { grams: 1.0 }, target).expect("both are alive");
        }
        let mut state: SystemState<Query<(&mut Position, Target<DockedTo>)>> = SystemState::new(&mut world);
        let mut docked = state.get_mut(&mut world).expect("the parameter is valid");
        group.bench_function(BenchmarkId::new("each_source_by_query", percent), |bencher| {
            bencher.iter(|| {
                for (mut position, target) in &mut docked {
                    position.0[0] += target.index_u32() as f32;
                }
            });
        });
        let mut state: SystemState<(PairQuery<DockedTo, &mut Position>, PairsMut<Rents>, PairsMut<Eats>)> =
            SystemState::new(&mut world);
        let (mut docked, mut rents, mut eats) = state.get_mut(&mut world).expect("the parameters are valid");

        group.bench_function(BenchmarkId::new("each_source", percent), |bencher| {
            bencher.iter(|| {
                docked.for_each(|mut position, edge, ()| position.0[0] += edge.target.index_u32() as f32);
            });
        });
        group.bench_function(BenchmarkId::new("each_source_by_iterator", percent), |bencher| {
            bencher.iter(|| {
                for (mut position, edge, ()) in &mut docked {
                    position.0[0] += edge.target.index_u32() as f32;
                }
            });
        });
        group.bench_function(BenchmarkId::new("each_value_exclusive", percent), |bencher| {
            bencher.iter(|| rents.for_each_mut(|_, _, mut rents| rents.price += 1.0));
        });
        group.bench_function(BenchmarkId::new("each_value", percent), |bencher| {
            bencher.iter(|| eats.for_each_mut(|_, _, mut eats| eats.grams += 1.0));
        });
        let mut state: SystemState<PairQuery<Eats, &mut Position>> = SystemState::new(&mut world);
        let mut eating = state.get_mut(&mut world).expect("the parameter is valid");
        group.bench_function(BenchmarkId::new("each_source_of_several", percent), |bencher| {
            bencher.iter(|| {
                eating.for_each(|mut position, edge, ()| position.0[0] += edge.target.index_u32() as f32);
            });
        });
    }
}

/// Goes over sources of which all have a pair, to targets of which a share has a component.
fn target_shares(criterion: &mut Criterion) {
    const SIZE: usize = 100_000;
    let mut group = criterion.benchmark_group("target_shares");
    group.throughput(Throughput::Elements(SIZE as u64));
    for percent in [10, 50, 90, 100] {
        let (mut world, links) = links(SIZE, 1_000);
        let mut targets: Vec<Entity> = links.iter().map(|&(_, target)| target).collect();
        targets.sort_unstable();
        targets.dedup();
        Random(SEED + 5).shuffle(&mut targets);
        for &target in &targets[..targets.len() * percent / 100] {
            world.entity_mut(target).insert(Depot(2.0));
        }
        for (source, target) in links {
            world.insert_pair(source, DockedTo, target).expect("both are alive");
        }
        let mut state: SystemState<PairQuery<DockedTo, &mut Position, &Depot>> = SystemState::new(&mut world);
        let mut docked = state.get_mut(&mut world).expect("the parameter is valid");
        group.bench_function(BenchmarkId::new("each_pair", percent), |bencher| {
            bencher.iter(|| docked.for_each(|mut position, _, depot| position.0[0] += depot.0));
        });
        let mut state: SystemState<(Query<(&mut Position, Target<DockedTo>)>, Query<&Depot>)> =
            SystemState::new(&mut world);
        let (mut docked, depots) = state.get_mut(&mut world).expect("the parameters are valid");
        group.bench_function(BenchmarkId::new("each_pair_by_query", percent), |bencher| {
            bencher.iter(|| {
                for (mut position, target) in &mut docked {
                    if let Ok(depot) = depots.get(*target) {
                        position.0[0] += depot.0;
                    }
                }
            });
        });
    }
}

fn spawning(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("spawn");
    for size in SIZES {
        group.throughput(Throughput::Elements(size as u64));
        let fresh = || {
            let (mut world, links) = links(size, size / 100);
            // What the first use costs belongs to the setup.
            let &(source, target) = &links[0];
            world.insert_pair(source, DockedTo, target).expect("both are alive");
            (world, links.into_iter().map(|(_, target)| target).collect::<Vec<_>>())
        };
        group.bench_function(BenchmarkId::new("with_a_pair", size), |bencher| {
            bencher.iter_batched(
                fresh,
                |(mut world, targets)| {
                    for &target in &targets {
                        world.spawn((Position([0.0; 3]), pairs![(DockedTo, target)]));
                    }
                    (world, targets)
                },
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("in_a_batch", size), |bencher| {
            bencher.iter_batched(
                fresh,
                |(mut world, targets)| {
                    let bundles = targets.iter().map(|&target| (Position([0.0; 3]), DockedTo, target));
                    let spawned = world.spawn_batch_with_pair(bundles);
                    (world, targets, spawned)
                },
                BatchSize::PerIteration,
            );
        });
    }
}

/// A tree with five entities below each, spawned level by level in random order, and its root.
fn tree(size: usize) -> (World, Entity) {
    let mut world = World::new();
    let mut random = Random(SEED + 2);
    let root = world.spawn(Position([0.0; 3])).id();
    let (mut level, mut left) = (vec![root], size - 1);
    while left > 0 {
        let mut parents: Vec<Entity> = level.iter().flat_map(|&parent| [parent; 5]).collect();
        random.shuffle(&mut parents);
        parents.truncate(left);
        left -= parents.len();
        level = parents
            .into_iter()
            .map(|parent| world.spawn((Position([0.0; 3]), pairs![(MountedOn, parent)])).id())
            .collect();
    }
    (world, root)
}

fn despawn_tree(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("despawn_tree");
    for size in SIZES {
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(BenchmarkId::new("from_its_root", size), |bencher| {
            bencher.iter_batched(
                || tree(size),
                |(mut world, root)| {
                    world.despawn(root);
                    world
                },
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("dependents_first", size), |bencher| {
            bencher.iter_batched(
                || tree(size),
                |(mut world, root)| {
                    world.despawn_with_dependents(root).expect("nothing forbids it");
                    world
                },
                BatchSize::PerIteration,
            );
        });
    }
}

fn walk(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("walk");
    for size in SIZES {
        group.throughput(Throughput::Elements(size as u64));
        let (world, root) = tree(size);
        let mounted = world.pairs::<MountedOn>();
        group.bench_function(BenchmarkId::new("down_the_tree", size), |bencher| {
            bencher.iter(|| mounted.descendants(root).fold(0, |sum, (_, depth)| sum + depth));
        });
        let all: Vec<Entity> = mounted.descendants(root).map(|(entity, _)| entity).collect();
        group.bench_function(BenchmarkId::new("up_from_every_entity", size), |bencher| {
            bencher.iter(|| all.iter().map(|&entity| mounted.ancestors(entity).count()).sum::<usize>());
        });
        group.bench_function(BenchmarkId::new("depth_of_every_entity", size), |bencher| {
            bencher.iter(|| all.iter().filter_map(|&entity| mounted.depth(entity)).sum::<u32>());
        });
    }
}

/// Removing a pair must not depend on how many others have the same target.
fn hub_unlink(criterion: &mut Criterion) {
    const PAIRS: usize = 1_000_000;
    const REMOVED: usize = 1_000;
    let mut group = criterion.benchmark_group("hub_unlink");
    group.throughput(Throughput::Elements(REMOVED as u64));
    for (name, targets) in [("from_one_hub_of_1000000", 1), ("from_hubs_of_10", PAIRS / 10)] {
        let (mut world, links) = links(PAIRS, targets);
        world
            .insert_pair_batch(links.iter().map(|&(source, target)| (source, Likes, target)))
            .expect("all are alive");
        let mut random = Random(SEED + 3);
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|rounds| {
                let mut taken = Duration::ZERO;
                for _ in 0..rounds {
                    let some: Vec<_> = (0..REMOVED).map(|_| links[random.below(PAIRS)]).collect();
                    let start = Instant::now();
                    for &(source, target) in &some {
                        world.remove_pair::<Likes>(source, target);
                    }
                    taken += start.elapsed();
                    let back = some.iter().map(|&(source, target)| (source, Likes, target));
                    world.insert_pair_batch(back).expect("all are alive");
                }
                taken
            });
        });
    }
}

criterion_group! {
    name = pairs;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = insert_remove, retarget, observed, changed_values, read, shares, target_shares, spawning, despawn_tree, walk, hub_unlink
}
criterion_main!(pairs);
