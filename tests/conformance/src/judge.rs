//! Who can be asked for the rows of an expression, and which rows compare.

use crate::oracle::{
    eval,
    expr::{Elem, Expr, Names, Term, Var},
    model::{BUILT_IN, CHILD_OF, DISABLED, Kind, Model, Node, PREFAB},
    rows::{self, Field, Row},
};
use crate::{ours::Ours, spelling::spell};
use std::collections::BTreeSet;

/// Rows, or why there are none.
pub(crate) type Answer = Result<Vec<Row>, Refusal>;

/// Why an expression was not evaluated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal(pub(crate) String);

/// Something that answers expressions about one world.
pub(crate) trait Judge {
    fn name(&self) -> &'static str;

    /// The rows of the expression, as they come.
    fn rows(&mut self, expr: &Expr) -> Answer;
}

/// The evaluation by definition.
pub(crate) struct ByDefinition<'a>(pub(crate) &'a Model);

impl Judge for ByDefinition<'_> {
    fn name(&self) -> &'static str {
        "by definition"
    }

    fn rows(&mut self, expr: &Expr) -> Answer {
        eval::rows(self.0, expr).ok_or_else(|| Refusal("it uses a variable before it is bound".into()))
    }
}

/// This crate, given the expression in some way of writing.
pub(crate) struct Crate<'a> {
    pub(crate) ours: Ours,
    pub(crate) model: &'a Model,
    /// Whether it gets names, or numbers.
    pub(crate) named: bool,
    pub(crate) spelling: u64,
}

impl Judge for Crate<'_> {
    fn name(&self) -> &'static str {
        "this crate"
    }

    fn rows(&mut self, expr: &Expr) -> Answer {
        let numbers = self.ours.numbers();
        let names = if self.named { Names::Paths(self.model) } else { Names::Numbers(self.model, &numbers) };
        let text = spell(expr, names, self.spelling);
        self.ours.rows_of(&text, expr).map_err(|refusal| Refusal(format!("{refusal} in {text}")))
    }
}

/// Brings rows into a form in which two answers are equal if they say the same.
fn settle(model: &Model, expr: &Expr, rows: &mut Vec<Row>) {
    rows::blot_stored(model, expr, rows);
    rows::normalize(expr, rows);
    rows.sort_unstable();
    if rows::is_set(model, expr) {
        rows.dedup();
    }
}

/// Leaves out what does not compare with Flecs, which describes relations and components by tags and pairs of
/// its own, and does not show variables of scopes.
pub(crate) fn mask(model: &Model, expr: &Expr, rows: &mut Vec<Row>) {
    let outside = expr.0.iter().filter(|elem| !matches!(elem, Elem::Scope { .. }));
    let shown: BTreeSet<Var> = outside.flat_map(Elem::terms).flat_map(Term::vars).collect();
    // Variables whose ids are asked for.
    let asks = |term: &&Term| term.others().first().is_some_and(|id| id.is_open());
    let asked = expr.terms().into_iter().filter(asks).filter_map(|term| term.source.of()?.var());
    let asked: BTreeSet<Var> = asked.collect();
    let open = expr.has_open_ids();
    let is_plain = |node: Node| node >= BUILT_IN && !(open && model.nodes[node].kind != Kind::Entity);
    rows::blot_named(model, expr, rows);
    let is_own = |field: &Field| match *field {
        // In Flecs a symmetric relation has a child.
        Field::Set { first: Some(CHILD_OF), second: Some(parent), .. } => {
            model.nodes[parent].traits.symmetric
        }
        _ => false,
    };
    rows.retain_mut(|row| {
        row.vars.retain(|(var, _)| shown.contains(var));
        let sources = row.fields.iter().filter_map(|field| match field {
            Field::Set { source, .. } => *source,
            Field::Unset | Field::Masked => None,
        });
        let vars = |keep: &dyn Fn(Var) -> bool| -> Vec<Node> {
            row.vars.iter().filter(|(var, _)| keep(*var)).filter_map(|&(_, value)| value).collect()
        };
        let plain = row.this.into_iter().chain(sources).chain(vars(&|var| asked.contains(&var)));
        plain.into_iter().all(is_plain)
            && vars(&|_| true).into_iter().all(|node| node != PREFAB && node != DISABLED)
            && !row.fields.iter().any(is_own)
    });
    settle(model, expr, rows);
}
