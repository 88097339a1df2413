//! The evaluation by definition, and what is compared with it. `tests/conformance` compares far more cases.

use crate::{
    oracle::{
        eval,
        expr::Names,
        random::{self, Random},
        reference_world::{cases, short, world},
        rows,
    },
    ours::Ours,
};

#[test]
fn the_evaluation_by_definition_gives_the_rows_of_the_reference_world() {
    let model = world();
    for case in cases(&model) {
        let compact = |text: &str| text.replace(' ', "");
        assert_eq!(compact(&case.expr.text(Names::Paths(&model))), compact(case.text), "the table is wrong");
        let rows = eval::rows(&model, &case.expr).unwrap();
        let mut rows: Vec<_> = rows.iter().map(|row| short(&model, row)).collect();
        rows.sort_unstable();
        assert_eq!(rows, case.rows, "{}", case.text);
    }
}

#[test]
fn the_reference_world_has_the_same_rows_with_their_fields_by_definition() {
    let model = world();
    let mut ours = Ours::new(&model, false);
    for case in cases(&model) {
        let settled = |mut found: Vec<_>| {
            rows::normalize(&case.expr, &mut found);
            found.sort_unstable();
            found
        };
        let expected = settled(eval::rows(&model, &case.expr).unwrap());
        assert_eq!(settled(ours.rows(&case.expr).unwrap()), expected, "{}", case.text);
    }
}

#[test]
fn random_expressions_have_rows_often_enough_to_be_worth_comparing() {
    let mut with_rows = 0;
    for number in 0..300 {
        let model = random::world(&mut Random::new(7, number));
        let expr = random::expr(&mut Random::new(8, number), &model);
        with_rows += usize::from(eval::rows(&model, &expr).is_some_and(|rows| !rows.is_empty()));
    }
    assert!(with_rows > 75, "only {with_rows} of 300");
}
