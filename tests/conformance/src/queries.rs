//! Random expressions about random worlds, each given to all judges.

use crate::{
    flecs::Flecs,
    judge::{Answer, ByDefinition, Judge, mask},
    oracle::{
        expr::{Elem, Expr, Names},
        model::Model,
        random::{self, Random},
        reference_world,
        rows::{Row, describe},
    },
    ours::{self, Ours},
    shapes,
};
use std::fmt::Write;

/// Expressions that are asked about one world.
const PER_WORLD: u64 = 16;

/// What came of a case.
pub(crate) enum Outcome {
    Agree,
    /// Not given to Flecs, because of a shape.
    Excluded(Vec<&'static str>),
    /// Why it is wrong.
    Differ(String),
}

/// An expression about a world.
pub(crate) struct Case {
    model: Model,
    expr: Expr,
    /// Whether Flecs gets names, or numbers.
    named: bool,
}

impl Case {
    /// The first cases are those of the reference world.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let model = reference_world::world();
        let case = reference_world::cases(&model).into_iter().nth(number as usize);
        if let Some(reference_world::Case { expr, .. }) = case {
            return Self { model, expr, named: true };
        }
        let model = random::world(&mut Random::new(seed, number / PER_WORLD));
        let mut random = Random::new(!seed, number);
        let expr = random::expr(&mut random, &model);
        let named = expr.asks_for_names() || (!expr.has_open_ids() && random.chance(30));
        Self { model, expr, named }
    }

    pub(crate) fn text(&self) -> String {
        self.expr.text(Names::Paths(&self.model))
    }

    pub(crate) fn describe(&self) -> String {
        format!("{}\n{}", self.text(), self.model)
    }

    pub(crate) fn shapes(&self) -> Vec<&'static str> {
        shapes::find(&self.model, &self.expr)
    }

    /// Asks the judges. With `survey` Flecs is asked whatever the shape, and nobody else.
    pub(crate) fn run(&self, survey: bool) -> Outcome {
        let shapes = self.shapes();
        let mut definition = ByDefinition(&self.model);
        if !survey && let Some(difference) = self.compare_ours(&mut definition) {
            return Outcome::Differ(difference);
        }
        if !shapes.is_empty() && !survey {
            return Outcome::Excluded(shapes);
        }
        let mut flecs = Flecs::new(&self.model, self.named);
        if let Some(difference) = flecs.difference() {
            return Outcome::Differ(format!("the world of Flecs is another: {difference}"));
        }
        match self.compare(&mut definition, &mut flecs, mask) {
            Some(difference) => Outcome::Differ(difference),
            None => Outcome::Agree,
        }
    }

    fn compare_ours(&self, definition: &mut ByDefinition<'_>) -> Option<String> {
        // Flecs refuses what compares a variable before it is bound; here it may be any entity.
        definition.rows(&self.expr).ok()?;
        if !ours::is_comparable(&self.expr) {
            return None;
        }
        let mut ours = Ours::new(&self.model, self.expr.asks_for_names());
        self.compare(definition, &mut ours, ours::settle)
    }

    fn compare(
        &self,
        left: &mut dyn Judge,
        right: &mut dyn Judge,
        settle: impl Fn(&Model, &Expr, &mut Vec<Row>),
    ) -> Option<String> {
        let answer = |judge: &mut dyn Judge| {
            let mut answer = judge.rows(&self.expr);
            if let Ok(rows) = &mut answer {
                settle(&self.model, &self.expr, rows);
            }
            (judge.name(), answer)
        };
        let ((left_name, left), (right_name, right)) = (answer(left), answer(right));
        let same = match (&left, &right) {
            (Ok(left), Ok(right)) => left == right,
            (Err(_), Err(_)) => true,
            _ => false,
        };
        (!same).then(|| format!("{left_name}:\n{}{right_name}:\n{}", self.list(&left), self.list(&right)))
    }

    fn list(&self, answer: &Answer) -> String {
        match answer {
            Err(refusal) => format!("  refused: {}\n", refusal.0),
            Ok(rows) if rows.is_empty() => "  no rows\n".into(),
            Ok(rows) => rows.iter().fold(String::new(), |mut text, row| {
                let _ = writeln!(text, "  {}", describe(&self.model, row));
                text
            }),
        }
    }

    /// The case with less of its expression, a step at a time.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let without = |number: usize| {
            let mut elems = self.expr.0.clone();
            match &mut elems[number] {
                Elem::Or(terms) if terms.len() > 2 => drop(terms.pop()),
                Elem::Scope { elems, .. } if elems.len() > 1 => drop(elems.pop()),
                _ => drop(elems.remove(number)),
            }
            Self { model: self.model.clone(), expr: Expr(elems), named: self.named }
        };
        if self.expr.0.len() < 2 { Vec::new() } else { (0..self.expr.0.len()).map(without).collect() }
    }
}
