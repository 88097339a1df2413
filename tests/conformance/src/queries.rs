//! Random expressions about random worlds, each given to all judges.

use crate::{
    flecs::Flecs,
    judge::{Answer, ByDefinition, Crate, Judge, mask},
    oracle::{
        expr::{Elem, Expr, Look, Names, Term},
        model::{Kind, Model, Node},
        random::{self, Random},
        reference_world,
        rows::{Row, describe},
    },
    ours::{self, Ours},
    rules,
    spelling::spell,
    text,
};
use std::fmt::Write;

/// Expressions that are asked about one world.
const PER_WORLD: u64 = 16;

/// The line after the rows by definition are there.
pub(crate) const DEFINED: &str = "defined";

/// The line before Flecs is asked.
pub(crate) const ASKED: &str = "asked";

/// The construct of the expression that Flecs has not.
fn beyond(expr: &Expr) -> Option<&'static str> {
    let ours = |term: &&Term| matches!(term.look(), Look::Up(up) if !up.is_common());
    expr.terms().iter().any(ours).then_some("down, all or a depth")
}

/// What came of a case.
pub(crate) enum Outcome {
    Agree,
    /// Flecs has nothing of the kind: compared with the definition only.
    Beyond(&'static str),
    /// Flecs differs, for the reason of this rule.
    Known(&'static str),
    /// Why it is wrong.
    Differ(String),
}

/// An expression about a world.
pub(crate) struct Case {
    model: Model,
    expr: Expr,
    /// Whether Flecs gets names, or numbers.
    named: bool,
    /// The way in which the expression is written.
    spelling: u64,
}

impl Case {
    /// The first cases are those of the reference world.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let model = reference_world::world();
        let case = reference_world::cases(&model).into_iter().nth(number as usize);
        if let Some(reference_world::Case { expr, .. }) = case {
            return Self { model, expr, named: true, spelling: 0 };
        }
        let model = random::world(&mut Random::new(seed, number / PER_WORLD));
        let mut random = Random::new(!seed, number);
        let mut expr = random::expr(&mut random, &model);
        if rules::is_often_wrong(&model, &expr) && random.chance(80) {
            // Enough is left to see that Flecs still differs.
            expr = random::expr(&mut random, &model);
        }
        let named = expr.asks_for_names() || (!expr.has_open_ids() && random.chance(30));
        let spelling = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { model, expr, named, spelling }
    }

    pub(crate) fn text(&self) -> String {
        self.expr.text(Names::Paths(&self.model))
    }

    pub(crate) fn describe(&self) -> String {
        let spelt = spell(&self.expr, Names::Paths(&self.model), self.spelling);
        format!("{}\nspelt {spelt:?}\n{}", self.text(), self.model)
    }

    /// The names of the rules that apply.
    pub(crate) fn rules(&self) -> Vec<&'static str> {
        rules::find(&self.model, &self.expr)
    }

    /// Asks the judges.
    pub(crate) fn run(&self) -> Outcome {
        let mut definition = ByDefinition(&self.model);
        // Working out the definition may take too long: the process that waits for the case reads that it is done.
        let _ = definition.rows(&self.expr);
        println!("{DEFINED}");
        if let Some(difference) = self.compare_ours(&mut definition) {
            return Outcome::Differ(difference);
        }
        if let Some(construct) = beyond(&self.expr) {
            return Outcome::Beyond(construct);
        }
        println!("{ASKED}");
        let mut flecs = Flecs::new(&self.model, &self.expr, self.named, self.spelling);
        if let Some(difference) = flecs.difference() {
            return Outcome::Differ(format!("the world of Flecs is another: {difference}"));
        }
        match (self.compare(&mut definition, &mut flecs, mask), self.rules().first()) {
            (None, _) => Outcome::Agree,
            (Some(_), Some(rule)) => Outcome::Known(rule),
            (Some(difference), None) => Outcome::Differ(difference),
        }
    }

    fn compare_ours(&self, definition: &mut ByDefinition<'_>) -> Option<String> {
        // Flecs refuses what compares a variable before it is bound; here it may be any entity.
        definition.rows(&self.expr).ok()?;
        if !ours::is_comparable(&self.expr) {
            return None;
        }
        let ours = Ours::new(&self.model, self.named);
        let mut ours = Crate { ours, model: &self.model, named: self.named, spelling: self.spelling };
        self.compare(definition, &mut ours, ours::settle)
    }

    fn compare(
        &self,
        left: &mut dyn Judge,
        right: &mut dyn Judge,
        settle: impl Fn(&Model, &Expr, &mut Vec<Row>),
    ) -> Option<String> {
        let mut unordered = None;
        let mut answer = |judge: &mut dyn Judge, ordered: bool| {
            let mut answer = judge.rows(&self.expr);
            if let Ok(rows) = &mut answer {
                if ordered && !self.is_ordered(rows) {
                    unordered = Some(
                        format!("{} has no order of depth:\n", judge.name()) + &self.list(&Ok(rows.clone())),
                    );
                }
                settle(&self.model, &self.expr, rows);
            }
            (judge.name(), answer)
        };
        let ((left_name, left), (right_name, right)) = (answer(left, false), answer(right, true));
        if unordered.is_some() {
            return unordered;
        }
        let same = match (&left, &right) {
            (Ok(left), Ok(right)) => left == right,
            (Err(_), Err(_)) => true,
            _ => false,
        };
        (!same).then(|| format!("{left_name}:\n{}{right_name}:\n{}", self.list(&left), self.list(&right)))
    }

    /// Whether a `cascade` has its rows from the roots down, or with `desc` the other way round.
    fn is_ordered(&self, rows: &[Row]) -> bool {
        let Some((relation, desc)) = self.expr.cascade() else { return true };
        let depths = rows.iter().filter_map(|row| row.this).map(|this| self.model.depth(this, relation));
        let mut depths: Vec<usize> = depths.collect();
        if desc {
            depths.reverse();
        }
        depths.is_sorted()
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

    /// A case that is written by hand.
    pub(crate) fn read(world: &str, query: &str, named: bool) -> Option<Self> {
        let model = text::model(world)?;
        let expr = text::expr(&model, query)?;
        Some(Self { model, expr, named, spelling: 0 })
    }

    /// World, expression, and whether Flecs gets names: what [`Case::read`] takes.
    pub(crate) fn written(&self) -> [String; 3] {
        [text::of_model(&self.model), self.text(), self.named.to_string()]
    }

    /// With names that need no escape, so that it can be written.
    pub(crate) fn plain(mut self) -> Self {
        let plain = |name: &str| name.replace(['.', ' '], "");
        for spec in self.model.nodes.iter_mut().filter(|spec| spec.kind == Kind::Entity) {
            spec.name = plain(&spec.name);
        }
        for elem in &mut self.expr.0 {
            elem.rename_children(&plain);
        }
        self
    }

    /// What Flecs answers, and what is right.
    pub(crate) fn answers(&self) -> [Vec<String>; 2] {
        let flecs = &mut Flecs::new(&self.model, &self.expr, self.named, self.spelling);
        let definition = &mut ByDefinition(&self.model);
        [flecs as &mut dyn Judge, definition].map(|judge| {
            let mut rows = match judge.rows(&self.expr) {
                Ok(rows) => rows,
                Err(refusal) => return vec![format!("refused: {}", refusal.0)],
            };
            mask(&self.model, &self.expr, &mut rows);
            rows.iter().map(|row| describe(&self.model, row)).collect()
        })
    }

    /// The case with less of its expression or its world, a step at a time.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let with = |model: Model, expr: Expr| Self { model, expr, named: self.named, spelling: 0 };
        let mut all = Vec::new();
        for number in 0..self.expr.0.len() {
            let mut elems = self.expr.0.clone();
            elems.remove(number);
            if !elems.is_empty() {
                all.push(with(self.model.clone(), Expr(elems)));
            }
            let parts = match &self.expr.0[number] {
                Elem::Or(terms) if terms.len() > 2 => terms.len(),
                Elem::Scope { elems, .. } if elems.len() > 1 => elems.len(),
                _ => 0,
            };
            for part in 0..parts {
                let mut elems = self.expr.0.clone();
                match &mut elems[number] {
                    Elem::Or(terms) => drop(terms.remove(part)),
                    Elem::Scope { elems, .. } => drop(elems.remove(part)),
                    Elem::Term(_) => {}
                }
                all.push(with(self.model.clone(), Expr(elems)));
            }
        }
        let kept = |node: Node| self.model.nodes[node].traits.one_of;
        for relation in self.model.entities() {
            let mut model = self.model.clone();
            model.pairs.retain(|&(_, r, t)| r != relation || kept(t));
            all.push(with(model, self.expr.clone()));
        }
        for mark in self.model.entities() {
            let mut model = self.model.clone();
            model.marks.retain(|&(_, other)| other != mark);
            let is_field = |relation: Node| self.model.nodes[relation].kind == Kind::Member;
            model.pairs.retain(|&(s, r, _)| {
                !is_field(r)
                    || model
                        .marks
                        .iter()
                        .any(|&(n, m)| n == s && self.model.nodes[m].kind == Kind::Component(2))
            });
            all.push(with(model, self.expr.clone()));
        }
        for entity in self.model.entities() {
            let mut model = self.model.clone();
            model.pairs.retain(|&(s, _, t)| (s != entity && t != entity) || kept(t));
            model.marks.retain(|&(node, mark)| node != entity || node == mark);
            all.push(with(model, self.expr.clone()));
        }
        for &(source, relation, target) in &self.model.pairs {
            let field = self.model.nodes[relation].kind == Kind::Member;
            let symmetric = self.model.nodes[relation].traits.symmetric;
            let mut model = self.model.clone();
            model.pairs.retain(|&pair| {
                pair != (source, relation, target) && !(symmetric && pair == (target, relation, source))
            });
            if !field && !kept(target) {
                all.push(with(model, self.expr.clone()));
            }
        }
        for &(node, mark) in &self.model.marks {
            let mut model = self.model.clone();
            model.marks.remove(&(node, mark));
            let field = self.model.nodes[mark].kind == Kind::Component(2);
            if node != mark && !field {
                all.push(with(model, self.expr.clone()));
            }
        }
        all.retain(|case| case.model != self.model || case.expr != self.expr);
        if self.named && !self.expr.asks_for_names() {
            let mut unnamed = with(self.model.clone(), self.expr.clone());
            unnamed.named = false;
            all.push(unnamed);
        }
        all
    }
}
