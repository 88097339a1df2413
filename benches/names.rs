//! How long it takes to find an entity by its name:
//!
//! ```sh
//! cargo bench --bench names
//! ```

use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::{hint::black_box, time::Duration};

/// A world with this many entities without a parent, and this many children of the first one.
fn world(roots: usize, children: usize) -> (World, Entity) {
    let mut world = World::new();
    world.register_relation::<ChildOf>().expect("it is built in");
    let all: Vec<_> = (0..roots).map(|nth| world.spawn(Name::new(format!("root{nth}"))).id()).collect();
    for nth in 0..children {
        world.spawn((Name::new(format!("child{nth}")), ChildOf(all[0])));
    }
    (world, all[0])
}

fn lookup(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lookup");
    for depth in [1, 10, 100] {
        let (mut world, mut last) = world(1, 0);
        for nth in 1..depth {
            last = world.spawn((Name::new(format!("step{nth}")), ChildOf(last))).id();
        }
        let path = world.path_of(last).expect("everybody has a name");
        group.bench_function(BenchmarkId::new("a path of depth", depth), |bencher| {
            bencher.iter(|| world.lookup(black_box(&path)));
        });
    }
    for size in [1_000, 100_000] {
        let (mut world, parent) = world(size, size);
        let paths: Vec<_> = (0..1000).map(|nth| format!("child{}", nth * 37 % size)).collect();
        group.bench_function(BenchmarkId::new("1000 different children of", size), |bencher| {
            bencher.iter(|| paths.iter().filter(|path| world.lookup_in(parent, path).is_ok()).count());
        });
        let mut nth = size;
        group.bench_function(BenchmarkId::new("a child just added to", size), |bencher| {
            bencher.iter(|| {
                nth += 1;
                let name = format!("child{nth}");
                let child = world.spawn((Name::new(name.clone()), ChildOf(parent))).id();
                let found = world.lookup_in(parent, &name);
                world.despawn(child);
                found
            });
        });
        for (what, name) in [("nobody among children", "nobody"), ("one for sure among children", "child7")] {
            group.bench_function(BenchmarkId::new(what, size), |bencher| {
                bencher.iter(|| world.lookup_unique_in(parent, black_box(name)));
            });
        }
        for (what, name) in [("nobody among roots", "nobody"), ("one for sure among roots", "root7")] {
            group.bench_function(BenchmarkId::new(what, size), |bencher| {
                bencher.iter(|| world.lookup_unique(black_box(name)));
            });
        }
    }
}

criterion_group! {
    name = names;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = lookup
}
criterion_main!(names);
