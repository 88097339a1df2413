//! In which order the inputs of a join are evaluated.
//!
//! Terms that must hold commute, so the one that makes the fewest rows comes first. What is negated, optional
//! or alternative depends on which variables are bound by what is written before it: a term that would bind one of
//! them earlier has to wait. So it is with a term that looks for the nearest holder of anything, and with one that
//! is skipped, variables and all, where an optional term or a branch has left one of its variables unset.

use super::{estimate::Estimate, logical::Logical};
use crate::{
    expr::{
        bind::{
            Atom, AtomId, BoundComparand, BoundElement, BoundOperator, BoundQuery, BoundTerm, ChainSource,
            Condition, PairAtom, Var, VarSet,
        },
        eval::View,
    },
    id::RelationId,
    relation::IS_A,
};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

/// Which variables have a value.
#[derive(Clone, Default)]
pub(super) struct Bound {
    pub(super) set: VarSet,
    /// Those that have none in some rows.
    pub(super) maybe: VarSet,
}

impl Bound {
    /// What is bound by something that is skipped in some rows, or finds nothing there.
    pub(super) fn may_be_skipped(&mut self, inner: &Self) {
        self.maybe.extend(&inner.set.clone().without(&self.set));
        self.set.extend(&inner.set);
    }

    /// What is bound behind branches of which one is taken.
    pub(super) fn bind_one_of(&mut self, branches: &[Self]) {
        let known = self.set.clone();
        for inner in branches {
            for var in inner.set.iter().filter(|&var| !known.contains(var)) {
                self.set.insert(var);
                if inner.maybe.contains(var) || branches.iter().any(|other| !other.set.contains(var)) {
                    self.maybe.insert(var);
                }
            }
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same = |own: &VarSet, other: &VarSet| own.is_subset(other) && other.is_subset(own);
        same(&self.set, &other.set) && same(&self.maybe, &other.maybe)
    }
}

/// An input of a join, in the order of evaluation.
pub(super) struct Ordered<'p, 'q> {
    pub(super) input: &'p Logical<'q>,
    /// Binds the same variable; both are evaluated at once.
    pub(super) intersected: Option<&'p Logical<'q>>,
    /// The branches of a union.
    pub(super) branches: Vec<Vec<Self>>,
    /// How many rows are expected of one.
    pub(super) rows: f64,
    /// What is bound behind it.
    pub(super) bound: Bound,
}

/// The inputs of a join that is being ordered.
struct Inputs<'p, 'q> {
    inputs: &'p [Logical<'q>],
    done: Vec<bool>,
    constraints: Vec<Constraint>,
}

/// An input that may be evaluated now.
#[derive(Clone, Copy)]
struct Eligible {
    at: usize,
    /// How many rows are expected of one.
    rows: f64,
    /// It names no variable.
    is_constant: bool,
    /// It removes rows, and binds nothing.
    is_test: bool,
}

/// When an input may be evaluated.
#[derive(Clone)]
struct Constraint {
    vars: VarSet,
    /// It can change places with others, as far as the variables below allow.
    commutes: bool,
    /// Variables that must be bound before it, by what is written before it,
    needs: VarSet,
    /// and those that must not be.
    closed: VarSet,
}

/// Adds to `written` what an input binds, and to `skippable` what it leaves unset in some rows.
fn skip(input: &Logical<'_>, written: &mut VarSet, skippable: &mut VarSet) {
    let binds = input.binds().without(written);
    let maybe_unbound = match input {
        Logical::Optional(_) => binds.clone(),
        // A branch leaves unset what only others bind.
        Logical::Union(_, branches) => {
            let mut maybe_unbound = VarSet::default();
            for branch in branches {
                let (mut bound, mut skipped) = (written.clone(), skippable.clone());
                branch.inputs().iter().for_each(|input| skip(input, &mut bound, &mut skipped));
                maybe_unbound.extend(&binds.clone().without(&bound));
                maybe_unbound.extend(&skipped);
            }
            maybe_unbound
        }
        _ if input.term().is_some_and(|term| term.condition.skipped_with().meets(skippable)) => binds.clone(),
        _ => VarSet::default(),
    };
    skippable.extend(&maybe_unbound);
    written.extend(&binds);
}

impl<'p, 'q> Inputs<'p, 'q> {
    fn new(inputs: &'p [Logical<'q>], bound: &Bound, view: &View<'_>) -> Self {
        let mut written = bound.set.clone();
        let mut skippable = bound.maybe.clone();
        let mut constraints = Vec::new();
        for (at, input) in inputs.iter().enumerate() {
            constraints.push(Constraint::new(inputs, at, &written, &skippable, view));
            skip(input, &mut written, &mut skippable);
        }
        Self { inputs, done: inputs.iter().map(|_| false).collect(), constraints }
    }

    /// What must hold and can be evaluated now.
    fn eligible<'b>(&'b self, bound: &'b VarSet) -> impl Iterator<Item = usize> + use<'p, 'q, 'b> {
        let mut closed = VarSet::default();
        (0..self.inputs.len()).filter(move |&at| {
            let constraint = &self.constraints[at];
            if !self.done[at] && !constraint.commutes {
                closed.extend(&constraint.closed);
            }
            let now =
                constraint.commutes && !closed.meets(&constraint.vars) && constraint.needs.is_subset(bound);
            !self.done[at] && now
        })
    }

    /// The first of what does not commute, and whether all that it depends on is bound.
    fn next_barrier(&self, bound: &VarSet) -> Option<(usize, bool)> {
        let at = (0..self.inputs.len()).find(|&at| !self.done[at] && !self.constraints[at].commutes)?;
        Some((at, self.constraints[at].needs.is_subset(bound)))
    }
}

impl Constraint {
    fn new(inputs: &[Logical<'_>], at: usize, written: &VarSet, skippable: &VarSet, view: &View<'_>) -> Self {
        let input = &inputs[at];
        let vars = input.vars();
        let unwritten = vars.clone().without(written);
        let mut needs = vars.clone().without(&unwritten);
        let mut closed = unwritten;
        let skipped_with = input.skipped_with();
        let may_be_skipped = skipped_with.meets(skippable);
        let others = || inputs.iter().enumerate().filter(|(other, _)| *other != at);
        let is_constant = vars.is_empty() && !matches!(input, Logical::Optional(_));
        let commutes = is_constant
            || match input.term().filter(|_| input.must_hold()) {
                Some(BoundTerm { condition, .. }) => {
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
                None => {
                    // The order in which an entity is tested makes no difference.
                    if let Some(source) = tested(input, written, view)
                        && others().any(|(other, input)| {
                            other > at && input.must_hold() && input.vars().contains(source)
                        })
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

/// The unbound source of an input that does nothing but look at one entity after the other.
fn tested(input: &Logical<'_>, bound: &VarSet, view: &View<'_>) -> Option<Var> {
    let of_term = |term: &BoundTerm| {
        let source = term.condition.source()?;
        let alone = term.condition.vars().iter().all(|var| var == source || bound.contains(var));
        let single = match &term.condition {
            Condition::Match(atom) => {
                !matches!(atom.id, AtomId::AnyId(_)) && atom.traversal.is_none_or(|t| !t.all)
            }
            Condition::List { .. } => true,
            Condition::Value(value) => matches!(value.atom.id, AtomId::Component(_)),
            _ => false,
        };
        (alone && single && !bound.contains(source)).then_some(source)
    };
    match input {
        Logical::Union(_, branches) => {
            let of_branch = |branch: &Logical<'_>| {
                branch.only_term().filter(|term| is_single(term, view)).and_then(of_term)
            };
            let mut branches = branches.iter().map(of_branch);
            let first = branches.next()??;
            branches.all(|branch| branch == Some(first)).then_some(first)
        }
        _ => match input.term() {
            Some(term) => of_term(term),
            None => (input.vars().contains(Var::THIS) && !bound.contains(Var::THIS)).then_some(Var::THIS),
        },
    }
}

/// Whether a term holds in one way at most for a source.
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

/// The number of a relation of which nothing follows for a term but the pairs that are stored.
pub(super) fn plain_relation(view: &View<'_>, relation: Entity, atom: &Atom) -> Option<RelationId> {
    let AtomId::Pair(pair) = atom.id else { return None };
    let id = view.store.registry().of_entity(relation)?;
    let traits = &view.store.registry().entry(id).traits;
    let follows = pair.closed && (traits.is_transitive() || traits.is_reflexive());
    let subtypes = atom.subtypes && view.index(IS_A).source_count(relation) > 0;
    (!follows && !subtypes && atom.traversal.is_none()).then_some(id)
}

/// Variables that are given a value before the run, by when that counts.
#[derive(Default)]
pub(super) struct Presets {
    /// From the start,
    pub(super) early: Vec<Var>,
    /// and at the end: rows in which they have another are left out.
    pub(super) late: Vec<Var>,
    /// Fields of the unions for which a variable with a value counts as unbound: every branch has its rows.
    pub(super) unions: Vec<u16>,
}

/// What a pair with one bound end is looked for among: the targets of a variable, or its sources.
#[derive(Clone, Copy)]
pub(super) struct BoundEnd {
    pub(super) relation: RelationId,
    pub(super) of: Var,
    pub(super) targets: bool,
}

/// The part of values that a comparison is expected to let pass.
const COMPARED: f64 = 0.3;

/// How many rows of tables are gone through in the time in which one that lies anywhere is found.
const SCATTERED: f64 = 4.0;

/// Orders the inputs of joins.
#[derive(Clone, Copy)]
pub(super) struct Reorder<'a, 'w> {
    pub(super) query: &'a BoundQuery,
    pub(super) view: &'a View<'w>,
    /// Data of `$this` is read in each row.
    pub(super) with_data: bool,
}

impl Reorder<'_, '_> {
    /// When the values of variables count that are given.
    pub(super) fn presets(self, inputs: &[Logical<'_>], preset: &VarSet) -> Presets {
        let all = Inputs::new(inputs, &Bound::default(), self.view);
        let mut presets = Presets { early: Vec::new(), late: Vec::new(), unions: Vec::new() };
        for var in preset.iter() {
            let mut unions = Vec::new();
            let closed = |at: usize| all.constraints[at].closed.contains(var);
            let mut is_open = true;
            for (_, input) in inputs.iter().enumerate().filter(|(at, _)| closed(*at)) {
                let union = self.union_of(input, var);
                is_open &= union.is_some();
                unions.extend(union);
            }
            let is_found = |input: &Logical<'_>| input.must_hold() && input.vars().contains(var);
            if is_open && (!unions.is_empty() || inputs.iter().any(is_found)) {
                presets.early.push(var);
                presets.unions.extend(unions);
            } else {
                presets.late.push(var);
            }
        }
        presets
    }

    /// The field of a union of which each branch finds a variable, whether or not its value is known before.
    fn union_of(self, input: &Logical<'_>, var: Var) -> Option<u16> {
        let Logical::Union(chain, branches) = input else { return None };
        let finds = |branch: &Logical<'_>| {
            let inputs = branch.inputs();
            let all = Inputs::new(inputs, &Bound::default(), self.view);
            let is_closed = all.constraints.iter().any(|constraint| constraint.closed.contains(var));
            !is_closed && inputs.iter().any(|input| input.must_hold() && input.vars().contains(var))
        };
        (chain.source == ChainSource::Var(var) && branches.iter().all(finds)).then_some(chain.field?)
    }

    /// The inputs of a join in the order of evaluation. `bound` is what is bound before it, and then behind it.
    pub(super) fn join<'p, 'q>(self, inputs: &'p [Logical<'q>], bound: &mut Bound) -> Vec<Ordered<'p, 'q>> {
        let mut all = Inputs::new(inputs, bound, self.view);
        let mut ordered = Vec::with_capacity(inputs.len());
        loop {
            let eligible = self.eligible(&all, &bound.set);
            // A test leaves fewer rows to whatever follows. It binds nothing, so that the others are as they were.
            let tests = eligible.iter().take_while(|input| input.is_test).count();
            for &Eligible { at, rows, .. } in &eligible[..tests] {
                all.done[at] = true;
                let branches = self.bind(&inputs[at], bound);
                let (input, bound) = (&inputs[at], bound.clone());
                ordered.push(Ordered { input, intersected: None, branches, rows, bound });
            }
            if tests > 0 {
                continue;
            }
            let scan = eligible.first().and_then(|first| self.better_scan(&all, &eligible, *first, bound));
            let best = scan.or(eligible.first().copied()).map(|first| (first.rows, first.at));
            let barrier = all.next_barrier(&bound.set);
            let at = match (best, barrier) {
                (Some((rows, at)), _) if rows < 1.0 => at,
                (_, Some((at, true))) if is_test(&inputs[at], &bound.set, self.view) => at,
                (Some((_, at)), _) | (None, Some((at, _))) => at,
                (None, None) => return ordered,
            };
            all.done[at] = true;
            // Of one target there is nothing to choose from: the other input tests it.
            let is_one = |end: BoundEnd| end.targets && self.view.index(end.relation).is_exclusive();
            let first = self.meeting(&inputs[at], bound).filter(|(_, end)| !is_one(*end));
            let other = first.and_then(|(var, _)| {
                all.eligible(&bound.set)
                    .find(|&other| self.meeting(&inputs[other], bound).is_some_and(|met| met.0 == var))
            });
            if let Some(other) = other {
                all.done[other] = true;
            }
            let branches = self.bind(&inputs[at], bound);
            ordered.push(Ordered {
                input: &inputs[at],
                intersected: other.map(|other| &inputs[other]),
                branches,
                rows: best.filter(|best| best.1 == at).map_or(1.0, |best| best.0),
                bound: bound.clone(),
            });
        }
    }

    /// The component of `$this` to begin with, if data of `$this` is read and what begins with `first` comes to so many rows
    /// that this takes longer: it finds them at random places, and a scan goes through tables.
    fn better_scan(
        self,
        all: &Inputs<'_, '_>,
        eligible: &[Eligible],
        first: Eligible,
        bound: &Bound,
    ) -> Option<Eligible> {
        let names_this = |input: Eligible| all.constraints[input.at].vars.contains(Var::THIS);
        if !self.with_data || bound.set.contains(Var::THIS) || names_this(first) {
            return None;
        }
        let scan = eligible.iter().find(|input| is_scan_of_this(&all.inputs[input.at]))?;
        let (mut rows, mut bound) = (first.rows, bound.clone());
        let mut ahead = Inputs { inputs: all.inputs, done: all.done.clone(), constraints: Vec::new() };
        ahead.constraints.clone_from(&all.constraints);
        let mut next = first;
        while !names_this(next) {
            ahead.done[next.at] = true;
            self.bind(&ahead.inputs[next.at], &mut bound);
            next = *self.eligible(&ahead, &bound.set).first()?;
            rows *= next.rows;
        }
        (rows * SCATTERED > scan.rows).then_some(*scan)
    }

    /// What must hold and can be evaluated now, that which makes the fewest rows first. What names no variable comes
    /// before the rest: it is evaluated once, and if it does not hold, nothing else has to be.
    fn eligible(self, all: &Inputs<'_, '_>, bound: &VarSet) -> Vec<Eligible> {
        let describe = |at: usize| {
            let (rows, vars) = (self.rows(&all.inputs[at], bound), &all.constraints[at].vars);
            let is_constant = vars.is_empty();
            Eligible { at, rows, is_constant, is_test: is_constant || rows < 1.0 && vars.is_subset(bound) }
        };
        let mut eligible: Vec<Eligible> = all.eligible(bound).map(describe).collect();
        eligible.sort_by(|a, b| b.is_constant.cmp(&a.is_constant).then(a.rows.total_cmp(&b.rows)));
        eligible
    }

    /// Adds what an input binds. Returns the branches of a union in order.
    fn bind<'p, 'q>(self, input: &'p Logical<'q>, bound: &mut Bound) -> Vec<Vec<Ordered<'p, 'q>>> {
        match input {
            Logical::Union(_, branches) => return self.bind_union(branches, bound),
            Logical::AntiJoin(scope) if scope.term().is_none() => {
                if scope.vars().contains(Var::THIS) {
                    bound.set.insert(Var::THIS);
                }
            }
            _ => {
                if let Some(term) = input.term() {
                    self.bind_term(term, bound);
                }
            }
        }
        Vec::new()
    }

    fn bind_term(self, term: &BoundTerm, bound: &mut Bound) {
        let skipped_with = term.condition.skipped_with();
        if !skipped_with.meets(&bound.maybe) {
            return self.bind_unguarded(term, bound);
        }
        let mut inner = bound.clone();
        skipped_with.iter().for_each(|var| inner.maybe.remove(var));
        self.bind_unguarded(term, &mut inner);
        bound.may_be_skipped(&inner);
    }

    fn bind_unguarded(self, term: &BoundTerm, bound: &mut Bound) {
        let vars = term.condition.vars();
        if term.operator == BoundOperator::And {
            return bound.set.extend(&vars);
        }
        let source = term.condition.source();
        // `*` asks for any.
        let named = source.filter(|source| !self.query.variables[source.index()].name.is_empty());
        named.into_iter().for_each(|source| {
            bound.set.insert(source);
        });
        match (term.operator, &term.condition) {
            (BoundOperator::Optional, _) => {
                let mut inner = bound.clone();
                inner.set.extend(&vars);
                bound.may_be_skipped(&inner);
            }
            (_, Condition::List { .. }) => bound.set.extend(&vars),
            _ => {}
        }
    }

    fn bind_union<'p, 'q>(self, branches: &'p [Logical<'q>], bound: &mut Bound) -> Vec<Vec<Ordered<'p, 'q>>> {
        let mut inners = Vec::with_capacity(branches.len());
        let order = |branch: &'p Logical<'q>| {
            let mut inner = bound.clone();
            let ordered = self.join(branch.inputs(), &mut inner);
            inners.push(inner);
            ordered
        };
        let ordered = branches.iter().map(order).collect();
        bound.bind_one_of(&inners);
        ordered
    }

    /// The variable that a pair would bind, with the neighbors it would be one of: those of another variable.
    pub(super) fn meeting(self, input: &Logical<'_>, bound: &Bound) -> Option<(Var, BoundEnd)> {
        let term = input.term().filter(|_| input.must_hold())?;
        let Condition::Match(atom) = &term.condition else { return None };
        let AtomId::Pair(PairAtom { relation, target, target_traversal: None, .. }) = atom.id else {
            return None;
        };
        let (source, target) = (atom.source.var()?, target.var()?);
        let (var, known, targets) = match (bound.set.contains(source), bound.set.contains(target)) {
            (true, false) => (target, source, true),
            (false, true) => (source, target, false),
            _ => return None,
        };
        let relation = plain_relation(self.view, relation.entity()?, atom)?;
        let neighbors = BoundEnd { relation, of: known, targets };
        (!bound.maybe.contains(known)).then_some((var, neighbors))
    }

    /// How many rows a term that must hold makes of one.
    fn rows(self, input: &Logical<'_>, bound: &VarSet) -> f64 {
        let Some(term) = input.term().filter(|_| input.must_hold()) else { return 1.0 };
        let estimate = Estimate { view: self.view };
        let all_bound = term.condition.vars().iter().all(|var| bound.contains(var));
        match &term.condition {
            Condition::Match(atom) => estimate.atom(atom, bound),
            Condition::Always => 0.9,
            // The target is found by the source alone.
            Condition::Keyed(keyed) => {
                let rows = estimate.atom(&keyed.atom, bound);
                let known = keyed.atom.source.var().is_none_or(|source| bound.contains(source));
                if known { rows.min(0.9) } else { rows }
            }
            _ if all_bound => 0.5,
            Condition::Equal { left, right, negated } => {
                let given = match right {
                    BoundComparand::Var(right) => bound.contains(*right) || bound.contains(*left),
                    BoundComparand::Entity(_) | BoundComparand::Awaited => true,
                    BoundComparand::Everything | BoundComparand::Path(_) | BoundComparand::Part(_) => false,
                };
                if given && !negated { 0.9 } else { estimate.entities() * 2.0 }
            }
            Condition::Child { parent, .. } if bound.contains(*parent) => 0.9,
            Condition::Value(value) => {
                let by_index = estimate.index_hits(value);
                by_index.unwrap_or_else(|| estimate.atom(&value.atom, bound) * COMPARED)
            }
            Condition::Member(member) if member.source.var().is_none_or(|var| bound.contains(var)) => 0.9,
            _ => estimate.entities() * 2.0,
        }
    }
}

/// Whether an input tests `$this` for a component, and nothing else.
fn is_scan_of_this(input: &Logical<'_>) -> bool {
    let Some(term) = input.term().filter(|_| input.must_hold()) else { return false };
    matches!(&term.condition, Condition::Match(atom)
        if matches!(atom.id, AtomId::Component(_)) && atom.source.var() == Some(Var::THIS) && atom.traversal.is_none())
}

/// Whether an input that does not commute removes rows and does nothing else.
fn is_test(input: &Logical<'_>, bound: &VarSet, view: &View<'_>) -> bool {
    match (input, input.term()) {
        (Logical::AntiJoin(_), None) => true,
        (Logical::Union(_, branches), _) => branches.iter().all(|branch| {
            let is_test = |term: &BoundTerm| {
                is_single(term, view) && term.condition.vars().iter().all(|var| bound.contains(var))
            };
            branch.only_term().is_some_and(is_test)
        }),
        (_, Some(term)) => {
            term.operator == BoundOperator::Not
                && term.condition.source().is_none_or(|source| bound.contains(source))
        }
        _ => false,
    }
}
