//! Expressions in systems have the rows that they have on the world.

use crate::{
    common::fewer,
    oracle::random::{self, Random},
    ours::Ours,
};
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{
    expr::{AnyExpression, ExprParam, PairExpr, Row},
    prelude::*,
};

/// All that a row says.
fn describe(row: Row<'_>, fields: usize) -> String {
    let fields = (0..fields).map(|field| (row.is_set(field), row.id(field), row.source(field)));
    format!("{row:?} {:?}", fields.collect::<Vec<_>>())
}

/// The rows on the world and in a system, in order of their descriptions.
fn rows(world: &mut World, expr: PairExpr) -> Option<[Vec<String>; 2]> {
    let mut on_world = Vec::new();
    let mut compiled = expr.compile(world).ok()?;
    let fields = compiled.field_count();
    compiled.for_each(world, |row| on_world.push(describe(row, fields))).unwrap();
    let system =
        (ExprParam(expr),).build_state(world).build_system(move |mut expr: ExprQuery<AnyExpression>| {
            let mut rows = Vec::new();
            expr.for_each_row(|row| rows.push(describe(row, fields))).unwrap();
            assert_eq!(expr.count(), Ok(rows.len()));
            assert_eq!(expr.any(), Ok(!rows.is_empty()));
            rows
        });
    let mut in_system = world.run_system_once(system).unwrap();
    on_world.sort_unstable();
    in_system.sort_unstable();
    Some([on_world, in_system])
}

#[test]
fn random_expressions_have_the_same_rows_in_a_system_as_on_the_world() {
    let (mut compared, cases) = (0, fewer(150));
    for number in 0..cases as u64 {
        let model = random::world(&mut Random::new(11, number));
        let expr = random::expr(&mut Random::new(12, number), &model);
        let mut ours = Ours::new(&model, false);
        let text = ours.text(&expr);
        let Ok(parsed) = PairExpr::parse(&*text) else { continue };
        let Some([on_world, in_system]) = rows(&mut ours.world, parsed) else { continue };
        assert_eq!(on_world, in_system, "{text}");
        compared += usize::from(!on_world.is_empty());
    }
    assert!(cases < 100 || compared * 4 > cases, "only {compared} of {cases} have rows");
}
