//! In which order terms are evaluated.
//!
//! Terms that must hold commute, so the one that makes the fewest rows comes first. What is negated, optional
//! or alternative depends on which variables are bound by what is written before it: a term that would bind one of
//! them earlier has to wait. So it is with a term that looks for the nearest holder of anything, and with one that
//! is skipped, variables and all, where an optional term or a branch has left one of its variables unset.

use super::{
    Column, Filter, Operand, Pipeline, Produce, Side,
    lower::{Bound, Lowering},
};
use crate::{
    expr::{
        bind::{
            AtomId, BoundComparand, BoundElement, BoundOperator, BoundTerm, Condition, Item, PairAtom, Var,
            VarSet,
        },
        eval::View,
    },
    relation::IS_A,
};
use alloc::vec::Vec;

/// A list of items that is being planned.
struct Items<'a> {
    items: &'a [Item],
    done: Vec<bool>,
    places: Vec<Place>,
}

/// Where an item may be evaluated.
struct Place {
    vars: VarSet,
    /// It can change places with others, as far as the variables below allow.
    commutes: bool,
    /// Variables that must be bound before it, by what is written before it,
    needs: VarSet,
    /// and those that must not be.
    closed: VarSet,
}

fn must_hold(item: &Item) -> bool {
    matches!(item, Item::Term(BoundTerm { operator: BoundOperator::And, .. }))
}

/// Adds to `written` what an item binds, and to `skippable` what it leaves unset in some rows.
fn skip(item: &Item, written: &mut VarSet, skippable: &mut VarSet) {
    let binds = item.binds().without(written);
    let unsure = match item {
        Item::Term(term) if term.operator == BoundOperator::Optional => binds.clone(),
        Item::Term(term) if term.condition.skipped_with().meets(skippable) => binds.clone(),
        Item::Term(_) | Item::Not(_) => VarSet::default(),
        // A branch leaves unset what only others bind.
        Item::Or(chain) => {
            let mut unsure = VarSet::default();
            for branch in &chain.branches {
                let (mut bound, mut skipped) = (written.clone(), skippable.clone());
                branch.iter().for_each(|item| skip(item, &mut bound, &mut skipped));
                unsure.extend(&binds.clone().without(&bound));
                unsure.extend(&skipped);
            }
            unsure
        }
    };
    skippable.extend(&unsure);
    written.extend(&binds);
}

impl<'a> Items<'a> {
    fn new(items: &'a [Item], bound: &Bound, view: &View<'_>) -> Self {
        let mut written = bound.set.clone();
        let mut skippable = bound.maybe.clone();
        let mut places = Vec::new();
        for (at, item) in items.iter().enumerate() {
            places.push(Place::new(items, at, &written, &skippable, view));
            skip(item, &mut written, &mut skippable);
        }
        Self { items, done: items.iter().map(|_| false).collect(), places }
    }

    /// What must hold and can be evaluated now.
    fn eligible<'b>(&'b self, bound: &'b VarSet) -> impl Iterator<Item = usize> + use<'a, 'b> {
        let mut closed = VarSet::default();
        (0..self.items.len()).filter(move |&at| {
            let place = &self.places[at];
            if !self.done[at] && !place.commutes {
                closed.extend(&place.closed);
            }
            let now = place.commutes && !closed.meets(&place.vars) && place.needs.is_subset(bound);
            !self.done[at] && now
        })
    }

    /// The first of what does not commute, and whether all that it depends on is bound.
    fn next_barrier(&self, bound: &VarSet) -> Option<(usize, bool)> {
        let at = (0..self.items.len()).find(|&at| !self.done[at] && !self.places[at].commutes)?;
        Some((at, self.places[at].needs.is_subset(bound)))
    }
}

impl Place {
    fn new(items: &[Item], at: usize, written: &VarSet, skippable: &VarSet, view: &View<'_>) -> Self {
        let item = &items[at];
        let vars = item.vars();
        let unwritten = vars.clone().without(written);
        let mut needs = vars.clone().without(&unwritten);
        let mut closed = unwritten;
        let skipped_with = match item {
            Item::Term(term) => term.condition.skipped_with(),
            Item::Not(_) | Item::Or(_) => vars.clone(),
        };
        let may_be_skipped = skipped_with.meets(skippable);
        let others = || items.iter().enumerate().filter(|(other, _)| *other != at);
        let commutes = match item {
            Item::Term(BoundTerm { operator: BoundOperator::And, condition, .. }) => {
                if may_be_skipped {
                    needs = skipped_with.without(&closed);
                } else {
                    let nearest = match condition {
                        Condition::Match(atom) => atom.nearest(),
                        _ => VarSet::default(),
                    };
                    closed = nearest.clone().without(written);
                    needs = nearest.without(&closed);
                }
                closed.is_empty() || !others().any(|(_, other)| other.vars().meets(&closed))
            }
            _ => {
                // Testing every entity and then asking more of it is the same as the other way round.
                if let Some(source) = tested(item, written, view)
                    && others()
                        .any(|(other, item)| other > at && must_hold(item) && item.vars().contains(source))
                {
                    needs.insert(source);
                    closed.remove(source);
                }
                false
            }
        };
        Self { vars, commutes, needs, closed }
    }
}

/// The unbound source of an item that does nothing but look at one entity after the other.
fn tested(item: &Item, bound: &VarSet, view: &View<'_>) -> Option<Var> {
    let of_term = |term: &BoundTerm| {
        let source = term.condition.source()?;
        let alone = term.condition.vars().iter().all(|var| var == source || bound.contains(var));
        let single = match &term.condition {
            Condition::Match(atom) => {
                !matches!(atom.id, AtomId::AnyId(_)) && atom.traversal.is_none_or(|t| !t.all)
            }
            Condition::List { .. } => true,
            _ => false,
        };
        (alone && single && !bound.contains(source)).then_some(source)
    };
    match item {
        Item::Term(term) => of_term(term),
        Item::Not(_) => (item.vars().contains(Var::THIS) && !bound.contains(Var::THIS)).then_some(Var::THIS),
        Item::Or(chain) => {
            let mut branches = chain.branches.iter().map(|branch| match &branch[..] {
                [Item::Term(term)] if is_single_test(term, view) => of_term(term),
                _ => None,
            });
            let first = branches.next()??;
            branches.all(|branch| branch == Some(first)).then_some(first)
        }
    }
}

/// Whether a term that must hold gives at most one row for a source.
pub(super) fn is_single_test(term: &BoundTerm, view: &View<'_>) -> bool {
    term.operator == BoundOperator::And && is_single(term, view)
}

/// Whether what a term asks is found at most once for a source.
pub(super) fn is_single(term: &BoundTerm, view: &View<'_>) -> bool {
    let Condition::Match(atom) = &term.condition else { return false };
    let fixed = |element| !matches!(element, BoundElement::Var(_));
    let id = match atom.id {
        AtomId::Component(component) => view.value_of_component(component).entity(),
        AtomId::Tag(tag) => Some(tag),
        AtomId::AnyId(_) => return false,
        AtomId::Pair(pair) if fixed(pair.target) && pair.target_traversal.is_none() => match pair.relation {
            BoundElement::Var(_) => return false,
            relation => relation.entity(),
        },
        AtomId::Pair(_) => return false,
    };
    let subtypes = atom.subtypes && id.is_some_and(|id| view.index(IS_A).source_count(id) > 0);
    !subtypes && atom.traversal.is_none()
}

impl Lowering<'_, '_> {
    /// The pipeline of the whole query.
    pub(super) fn whole(&mut self, preset: &VarSet, bound: &mut Bound) -> Pipeline {
        let mut pipeline = Pipeline::default();
        let items = &self.query.items[..];
        let plan = Items::new(items, &Bound::default(), self.view);
        let early = |var: Var| {
            let must = items.iter().any(|item| must_hold(item) && item.vars().contains(var));
            must && !plan.places.iter().any(|place| place.closed.contains(var))
        };
        let mut late: Vec<Var> = Vec::new();
        for var in preset.iter() {
            if early(var) {
                bound.set.insert(var);
                if var == Var::THIS {
                    self.hide(&mut pipeline);
                }
            } else {
                late.push(var);
            }
        }
        self.items(&mut pipeline, items, bound);
        if items.is_empty() {
            // What asks for nothing finds nothing.
            pipeline.last().filters.push(Filter::Nothing);
        }
        for var in late {
            // The value stands in a column behind those of the variables; it is compared, not used.
            let value = Operand::Column(self.query.variables.len() as Column + var.0);
            let test = if bound.set.contains(var) {
                Filter::Equal { left: var.0, right: super::Comparison::Operand(value), negated: false }
            } else {
                Filter::Nothing
            };
            pipeline.last().filters.push(test);
        }
        pipeline
    }

    /// Plans items that hold together.
    pub(super) fn items(&mut self, pipeline: &mut Pipeline, items: &[Item], bound: &mut Bound) {
        let mut plan = Items::new(items, bound, self.view);
        loop {
            let best = plan.eligible(&bound.set).map(|at| (self.rows(&items[at], &bound.set), at));
            let best = best.min_by(|a, b| a.0.total_cmp(&b.0));
            let barrier = plan.next_barrier(&bound.set);
            let at = match (best, barrier) {
                // A test leaves fewer rows to whatever follows.
                (Some((rows, at)), _) if rows < 1.0 => at,
                (_, Some((at, true))) if is_test(&items[at], &bound.set, self.view) => at,
                (Some((_, at)), _) | (None, Some((at, _))) => at,
                (None, None) => return,
            };
            plan.done[at] = true;
            let stages = pipeline.stages.len();
            let other = self.meeting(&items[at], bound).and_then(|(var, _)| {
                plan.eligible(&bound.set)
                    .find(|&other| self.meeting(&items[other], bound).is_some_and(|met| met.0 == var))
            });
            match &items[at] {
                item @ Item::Term(_) if other.is_some() => {
                    let other = other.unwrap_or(at);
                    plan.done[other] = true;
                    self.meet(pipeline, [item, &items[other]], bound);
                }
                Item::Term(term) => self.term(pipeline, term, bound),
                Item::Not(items) => self.scope(pipeline, items, bound),
                Item::Or(chain) => self.or(pipeline, chain, bound),
            }
            if pipeline.stages.len() > stages {
                let label = self.label(&items[at]);
                let rows = best.filter(|best| best.1 == at).map_or(1.0, |best| best.0);
                let before = stages.checked_sub(1).map_or(1.0, |at| pipeline.stages[at].estimate);
                for stage in &mut pipeline.stages[stages..] {
                    stage.describe(&label, before * rows);
                }
            }
        }
    }

    /// The variable that a pair would bind, with the neighbours it would be one of: those of another variable.
    fn meeting(&self, item: &Item, bound: &Bound) -> Option<(Var, Side)> {
        let Item::Term(BoundTerm { operator: BoundOperator::And, condition: Condition::Match(atom), .. }) =
            item
        else {
            return None;
        };
        let AtomId::Pair(PairAtom { relation, target, target_traversal: None, .. }) = atom.id else {
            return None;
        };
        let (source, target) = (atom.source.var()?, target.var()?);
        let (var, known, targets) = match (bound.set.contains(source), bound.set.contains(target)) {
            (true, false) => (target, source, true),
            (false, true) => (source, target, false),
            _ => return None,
        };
        let relation = self.plain_relation(relation.entity()?, atom)?;
        let side = Side { relation, known: known.0, targets };
        (!bound.maybe.contains(known)).then_some((var, side))
    }

    /// Two pairs that bind one variable.
    fn meet(&mut self, pipeline: &mut Pipeline, items: [&Item; 2], bound: &mut Bound) {
        let [Some(first), Some(second)] = items.map(|item| self.meeting(item, bound)) else { return };
        let out = first.0;
        pipeline.add(Produce::Meet { out: out.0, sides: [first.1, second.1] });
        self.now_bound(pipeline, out, bound);
        for item in items {
            if let Item::Term(BoundTerm { field, condition: Condition::Match(atom), .. }) = item {
                self.shape(*field, atom, Some(&super::AtomOp::plain()));
            }
        }
    }

    fn label(&self, item: &Item) -> alloc::string::String {
        let field = match item {
            Item::Term(term) => term.field,
            Item::Or(chain) => chain.field,
            Item::Not(_) => None,
        };
        field
            .and_then(|field| self.query.fields.get(field as usize))
            .map(|field| field.text.clone())
            .unwrap_or_default()
    }

    /// How many rows a term that must hold makes of one.
    fn rows(&self, item: &Item, bound: &VarSet) -> f64 {
        let Item::Term(term) = item else { return 1.0 };
        let all_bound = term.condition.vars().iter().all(|var| bound.contains(var));
        match &term.condition {
            Condition::Match(atom) => self.estimate().atom(atom, bound),
            Condition::Always => 0.9,
            _ if all_bound => 0.5,
            Condition::Equal { left, right, negated } => {
                let given = match right {
                    BoundComparand::Var(right) => bound.contains(*right) || bound.contains(*left),
                    BoundComparand::Entity(_) | BoundComparand::Awaited => true,
                    BoundComparand::Everything | BoundComparand::Path(_) | BoundComparand::Part(_) => false,
                };
                if given && !negated { 0.9 } else { self.estimate().entities() * 2.0 }
            }
            Condition::Child { parent, .. } if bound.contains(*parent) => 0.9,
            Condition::Member(member) if member.source.var().is_none_or(|var| bound.contains(var)) => 0.9,
            _ => self.estimate().entities() * 2.0,
        }
    }
}

/// Whether an item that does not commute removes rows and does nothing else.
fn is_test(item: &Item, bound: &VarSet, view: &View<'_>) -> bool {
    match item {
        Item::Term(term) => {
            term.operator == BoundOperator::Not
                && term.condition.source().is_none_or(|source| bound.contains(source))
        }
        Item::Not(_) => true,
        Item::Or(chain) => chain.branches.iter().all(|branch| match &branch[..] {
            [Item::Term(term)] => {
                is_single_test(term, view) && term.condition.vars().iter().all(|var| bound.contains(var))
            }
            _ => false,
        }),
    }
}
