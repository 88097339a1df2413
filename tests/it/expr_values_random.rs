//! Random comparisons of numbers, against the evaluation by definition.

use crate::{
    common::fewer,
    oracle::{
        eval,
        expr::Names,
        random::{self, Random},
        rows, values,
    },
    ours::{self, Ours},
};
use bevy_relations::prelude::*;

#[test]
fn random_comparisons_find_what_they_mean_by_definition() {
    let (mut compared, mut with_rows) = (0, 0);
    let mut failures = Vec::new();
    for case in 0..fewer(150) as u64 {
        let mut random = Random::new(77, case);
        let mut model = random::world(&mut random);
        values::add_values(&mut random, &mut model);
        for _ in 0..4 {
            let expr = random::expr_with_values(&mut random, &model, 45);
            if !ours::is_comparable(&expr) {
                continue;
            }
            let Some(mut expected) = eval::rows(&model, &expr) else { continue };
            let mut ours = Ours::new(&model, expr.asks_for_names());
            let Ok(mut found) = ours.rows(&expr) else { continue };
            ours.world.check_pairs().unwrap();
            for rows in [&mut expected, &mut found] {
                ours::settle(&model, &expr, rows);
            }
            compared += 1;
            with_rows += usize::from(!expected.is_empty());
            if found != expected {
                let list = |rows: &[rows::Row]| {
                    rows.iter()
                        .take(8)
                        .map(|row| rows::describe(&model, row))
                        .collect::<Vec<_>>()
                        .join("\n    ")
                };
                let text = expr.text(Names::Paths(&model));
                failures.push(format!(
                    "{case}: {text}\n  found\n    {}\n  expected\n    {}\n{model}",
                    list(&found),
                    list(&expected)
                ));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {compared} differ:\n{}",
        failures.len(),
        failures.iter().take(4).cloned().collect::<Vec<_>>().join("\n")
    );
    assert!(compared > fewer(150) * 3 && with_rows > compared / 5, "{with_rows} of {compared} have rows");
}
