//! Expressions of the query language.

mod graphs;
mod live;
mod rollup;
mod scene;
mod terms;
mod values;

use crate::harness::Workload;

/// Every workload that runs an expression.
pub(super) fn all(quick: bool) -> Vec<Workload> {
    let part = if quick { 10 } else { 1 };
    let mut all = vec![
        graphs::w_vars(1_000 / part, false),
        graphs::w_vars(1_000 / part, true),
        graphs::ships(100_000 / part),
        graphs::triangle(10_000 / part),
        graphs::skewed_triangle(10_000 / part),
        graphs::closure(100_000 / part, false),
        graphs::closure(100_000 / part, true),
        terms::chains(65_536 / part),
        terms::deep(100_000 / part, 4),
        terms::deep(100_000 / part, 16),
        terms::plain(100_000 / part),
        terms::unrelated(100_000 / part),
        terms::compile(),
        values::hits(100_000 / part, 0),
        values::hits(100_000 / part, 1_000 / part),
    ];
    all.extend(terms::operators(100_000 / part));
    all.extend(terms::any_relation(100_000 / part));
    all.extend(live::all(part));
    all.extend(rollup::all(part));
    all
}
