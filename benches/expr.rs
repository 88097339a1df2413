//! How long reading an expression takes:
//!
//! ```sh
//! cargo bench --bench expr
//! ```

use bevy_relations::{expr::PairExpr, prelude::*};
use criterion::{Criterion, criterion_group, criterion_main};
use std::{hint::black_box, time::Duration};

#[derive(Relation)]
struct DockedTo;

struct SpaceShip;

struct Planet;

fn reading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reading");
    for (name, text) in [
        ("one term", "SpaceShip"),
        (
            "five terms",
            "SpaceShip, (DockedTo, $planet), Planet($planet), !Hostile($planet), Armor(self|up PartOf 3)",
        ),
        ("a type path", "game::physics::Velocity<game::units::Meters>"),
    ] {
        group.bench_function(name, |bencher| bencher.iter(|| PairExpr::parse(black_box(text))));
    }
    let longest = "SpaceShip,".repeat(512);
    group.bench_function("512 terms", |bencher| bencher.iter(|| PairExpr::parse(black_box(&*longest))));
    let expr = PairExpr::parse("SpaceShip, (DockedTo, $planet), Planet($planet)").expect("this is right");
    group.bench_function("writing three terms", |bencher| bencher.iter(|| black_box(&expr).to_string()));
    let build = || {
        let expr = PairExpr::builder().with::<SpaceShip>().pair::<DockedTo>("$planet");
        expr.with::<Planet>().on("$planet").build()
    };
    group.bench_function("building three terms", |bencher| bencher.iter(build));
}

criterion_group! {
    name = expr;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = reading
}
criterion_main!(expr);
