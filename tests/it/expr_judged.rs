//! Random expressions about random worlds, against the evaluation by definition.

use crate::{
    common::fewer,
    oracle::{
        eval,
        expr::{Body, Elem, Expr, From, Look, Names, Oper, Ref, Source, THIS, Term},
        model::{BUILT_IN, Kind, Model},
        random::{self, Random},
        rows::{self, Row},
    },
    ours::{self, Ours},
};
use std::{collections::BTreeMap, env};

/// Expressions that are asked about one world.
const PER_WORLD: u64 = 10;

/// Rows of a difference that are shown.
const SHOWN: usize = 12;

/// A number that the one who runs the test may choose.
fn chosen(name: &str, otherwise: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// How the rows of the crate differ from those by definition. An error is what the crate says instead.
fn difference(
    model: &Model,
    expr: &Expr,
    mut expected: Vec<Row>,
    ours: &mut Ours,
) -> Result<Option<String>, String> {
    let mut found = ours.rows(expr)?;
    if let Some((relation, desc)) = expr.cascade() {
        let depths = found.iter().filter_map(|row| row.this).map(|this| model.depth(this, relation));
        let mut depths: Vec<usize> = depths.collect();
        if desc {
            depths.reverse();
        }
        let text = expr.text(Names::Paths(model));
        assert!(
            depths.is_sorted(),
            "{text} has its rows from the roots down, or with desc from the leaves up"
        );
    }
    for rows in [&mut expected, &mut found] {
        ours::settle(model, expr, rows);
    }
    let list = |rows: &[Row]| {
        let rows = rows.iter().take(SHOWN).map(|row| rows::describe(model, row));
        rows.collect::<Vec<_>>().join("\n    ")
    };
    Ok((found != expected).then(|| {
        let (found, expected) = (list(&found), list(&expected));
        format!("  found:\n    {found}\n  expected:\n    {expected}\n{model}")
    }))
}

#[test]
fn random_expressions_find_what_they_mean_by_definition() {
    let (seed, cases) = (chosen("SEED", 1), chosen("CASES", fewer(100) as u64));
    let (mut compared, mut refused, mut failures) = (0, BTreeMap::<String, usize>::new(), Vec::new());
    for case in 0..cases {
        let mut random = Random::new(seed, case);
        let model = random::world(&mut random);
        for _ in 0..PER_WORLD {
            let expr = random::expr(&mut random, &model);
            let Some(expected) = eval::rows(&model, &expr) else { continue };
            if !ours::is_comparable(&expr) {
                continue;
            }
            let mut ours = Ours::new(&model, expr.asks_for_names());
            match difference(&model, &expr, expected, &mut ours) {
                Err(error) => {
                    // What was expected, whatever was found there.
                    let line = error.lines().next().and_then(|line| line.split(", found").next());
                    let kind = line.and_then(|line| line.split_once(": ")).map_or(&*error, |(_, kind)| kind);
                    *refused.entry(kind.to_owned()).or_default() += 1;
                }
                Ok(None) => compared += 1,
                Ok(Some(text)) => {
                    failures.push(format!("case {case}: {}\n{text}", expr.text(Names::Paths(&model))));
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "seed {seed}: {} differ, {compared} do not; refused: {refused:#?}\n{}",
        failures.len(),
        failures.iter().take(6).cloned().collect::<Vec<_>>().join("\n")
    );
    assert!(compared > cases * 6, "only {compared} were compared; refused: {refused:#?}");
}

/// Tags, components and relations are `$this` of a list as other entities are, whatever the other terms ask for.
#[test]
fn a_list_behind_a_wildcard_source_finds_what_it_means_by_definition() {
    let (mut compared, mut marks) = (0, 0);
    for case in 0..fewer(40) as u64 {
        let model = random::world(&mut Random::new(11, case));
        let nodes: Vec<_> = model.entities().filter(|&node| node >= BUILT_IN).collect();
        let term = |body, of| {
            Elem::Term(Term { oper: Oper::And, body, source: Source::Ref { of, look: Look::Default } })
        };
        for &(_, _, target) in model.pairs.iter().take(3) {
            for kind in [From::And, From::Or, From::Not] {
                let list = nodes[(case as usize + target) % nodes.len()];
                let pair = Body::Pair {
                    relation: Ref::Var(1),
                    exact: false,
                    target: Ref::Node(target),
                    target_exact: false,
                };
                let expr =
                    Expr(vec![term(pair, Ref::Wildcard), term(Body::From { kind, list }, Ref::Var(THIS))]);
                let Some(mut expected) = eval::rows(&model, &expr) else { continue };
                let found = difference(&model, &expr, expected.clone(), &mut Ours::new(&model, false));
                assert_eq!(found.unwrap(), None, "case {case}: {}", expr.text(Names::Paths(&model)));
                ours::settle(&model, &expr, &mut expected);
                let is_mark =
                    |row: &&Row| row.this.is_some_and(|this| model.nodes[this].kind != Kind::Entity);
                compared += 1;
                marks += expected.iter().filter(is_mark).count();
            }
        }
    }
    assert!(
        compared > fewer(100) && marks > compared,
        "{marks} tags and relations in {compared} expressions"
    );
}
