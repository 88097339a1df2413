//! Operations for terms by how they count: those that must hold, and what is negated, optional or alternative.

use super::{
    AtomOp, Branch, BranchKind, Column, Columns, Compute, FieldShape, MaskSpec, Operand, Pipeline, Position,
    Predicate, Produce, ShapeId, SubPlan, lower::Lowering,
};
use crate::expr::{
    bind::{
        AtomId, BoundElement, BoundOperator, BoundTerm, ChainSource, Condition, KeyedAtom, ListMode, OrChain,
        PairAtom, Var, VarSet,
    },
    eval::Special,
    plan::{
        logical::{Logical, leaf},
        reorder::{Bound, Ordered, is_single, plain_relation},
    },
};
use alloc::vec::Vec;
use smallvec::SmallVec;

impl Lowering<'_, '_> {
    pub(super) fn term(&mut self, pipeline: &mut Pipeline, term: &BoundTerm, bound: &mut Bound) {
        let guards: Vec<Column> = term
            .condition
            .skipped_with()
            .iter()
            .filter(|&var| bound.maybe.contains(var))
            .map(|var| var.0)
            .collect();
        if guards.is_empty() {
            return self.unguarded(pipeline, term, bound);
        }
        // Within, every one of these is set.
        let mut inner = bound.clone();
        guards.iter().for_each(|&column| inner.maybe.remove(Var(column)));
        let mut own = Pipeline::default();
        let first = self.columns;
        self.unguarded(&mut own, term, &mut inner);
        let set = self.flag_of(term);
        let mut defaults: Vec<(Column, Special)> =
            set.map(|column| (column, Special::Unset)).into_iter().collect();
        self.default_new(&own, bound, &inner, first, &mut defaults);
        let mut sub_plan = self.sub_plan(own);
        if term.operator != BoundOperator::Optional {
            // A branch has its shape behind those of others.
            let shapes = term.field.and_then(|field| self.fields.get(field as usize)).map(|f| f.shapes.len());
            let number = shapes.unwrap_or(0).saturating_sub(1) as u16;
            sub_plan.defaults.extend(set.map(|column| (column, Special::Number(number))));
        }
        bound.may_be_skipped(&inner);
        let kind = BranchKind::Guard(guards);
        pipeline.add(Produce::Branch(Branch { kind, sub_plans: alloc::vec![sub_plan], defaults }));
    }

    /// The column that says whether the field of a term is set, for one that may be skipped.
    fn flag_of(&mut self, term: &BoundTerm) -> Option<Column> {
        let field = self.fields.get(term.field? as usize)?;
        if term.operator == BoundOperator::Not {
            return None;
        }
        let column = field.set.unwrap_or_else(|| self.new_column());
        self.set_by(term.field, column);
        Some(column)
    }

    fn sub_plan(&mut self, pipeline: Pipeline) -> SubPlan {
        SubPlan { pipeline, origin: self.new_column(), inputs: Vec::new(), defaults: Vec::new() }
    }

    /// What rows hold that do not go through a pipeline, in the columns that it writes.
    fn default_new(
        &self,
        pipeline: &Pipeline,
        outer: &Bound,
        inner: &Bound,
        first: Column,
        defaults: &mut Vec<(Column, Special)>,
    ) {
        let vars = inner.set.iter().filter(|&var| !outer.set.contains(var));
        defaults.extend(vars.map(|var| (var.0, Special::Skipped)));
        let written = pipeline.written();
        let further =
            written.iter().filter(|&column| column >= first.max(self.query.variables.len() as Column));
        for column in further {
            if !defaults.iter().any(|fill| fill.0 == column) {
                defaults.push((column, Special::Unset));
            }
        }
    }

    fn unguarded(&mut self, pipeline: &mut Pipeline, term: &BoundTerm, bound: &mut Bound) {
        match term.operator {
            BoundOperator::And => self.and(pipeline, term, bound),
            BoundOperator::Not => self.negated(pipeline, term, bound),
            BoundOperator::Optional => self.optional(pipeline, term, bound),
        }
    }

    fn and(&mut self, pipeline: &mut Pipeline, term: &BoundTerm, bound: &mut Bound) {
        match &term.condition {
            Condition::Match(atom) => return self.match_and(pipeline, atom, term.field, bound),
            Condition::Always => {}
            Condition::Equal { left, right, negated } => self.equal(pipeline, *left, right, *negated, bound),
            Condition::List { source, list, mode } => {
                self.bind_elements(pipeline, [*source, *list], bound);
                if let Some(test) = list_test(*source, *list, *mode, false) {
                    pipeline.last().push(test);
                }
                // `not|T` asks for nothing that could be found.
                if let (ListMode::All | ListMode::Some, Some(list)) = (mode, self.operand(*list)) {
                    return self.plain_shape(term.field, ShapeId::List(list), *source);
                }
            }
            Condition::Value(value) => return self.value(pipeline, value, term.field, bound),
            Condition::Member(member) => {
                self.member(pipeline, member, bound);
                return self.plain_shape(term.field, ShapeId::Component(member.component), member.source);
            }
            Condition::Keyed(keyed) => {
                self.match_and(pipeline, &keyed.atom, term.field, bound);
                let keyed = self.keyed_op(keyed, &bound.set);
                return pipeline.last().push(Predicate::Keyed { keyed, negated: false });
            }
            Condition::Child { parent, path, child, .. } => {
                self.bind_all(pipeline, *parent, bound);
                let (parent, path) = (Operand::Column(parent.0), path.clone());
                if bound.set.contains(*child) {
                    let out = self.new_column();
                    let stage = pipeline.last();
                    stage.push(Compute::Child { parent, path, out });
                    stage.push(Predicate::Same { left: out, right: child.0 });
                } else {
                    pipeline.last().push(Compute::Child { parent, path, out: child.0 });
                    bound.set.insert(*child);
                }
            }
        }
        self.no_shape(term.field);
    }

    /// A negated or optional term is tested for every entity if nothing has bound its source; with `*`, for any.
    fn bind_source(&mut self, pipeline: &mut Pipeline, term: &BoundTerm, bound: &mut Bound) {
        if let Some(source) = term.condition.source()
            && !self.query.variables[source.index()].name.is_empty()
        {
            self.bind_all(pipeline, source, bound);
        }
    }

    fn no_shape(&mut self, field: Option<u16>) {
        self.add_shape(field, FieldShape { id: ShapeId::None, source: None, set: false });
    }

    fn bind_elements(&mut self, pipeline: &mut Pipeline, elements: [BoundElement; 2], bound: &mut Bound) {
        elements
            .into_iter()
            .filter_map(BoundElement::var)
            .for_each(|var| self.bind_all(pipeline, var, bound));
    }

    fn negated(&mut self, pipeline: &mut Pipeline, term: &BoundTerm, bound: &mut Bound) {
        self.bind_source(pipeline, term, bound);
        match &term.condition {
            Condition::Match(atom) | Condition::Keyed(KeyedAtom { atom, .. }) => {
                self.shape(term.field, atom, None);
            }
            Condition::List { source, list, .. } => {
                self.bind_elements(pipeline, [*source, *list], bound);
                self.no_shape(term.field);
            }
            _ => self.no_shape(term.field),
        }
        match self.negated_test(&term.condition, &bound.set) {
            Some(test) => self.add_test(pipeline, test),
            None => {
                let positive = BoundTerm {
                    operator: BoundOperator::And,
                    field: None,
                    condition: term.condition.clone(),
                    pinned: Vec::new(),
                };
                self.not(pipeline, &[leaf(&positive, self.view)], bound);
            }
        }
    }

    /// A test that passes rows for which a condition does not hold. `None` if it takes more than a test.
    fn negated_test(&mut self, condition: &Condition, bound: &VarSet) -> Option<Predicate> {
        let all_bound = || condition.vars().is_subset(bound);
        match condition {
            Condition::Match(atom) => {
                // `$this` is none of those that are hidden, which the test does not exclude.
                let open_this = !bound.contains(Var::THIS) && atom.vars().any(|var| var == Var::THIS);
                let repeats = repeats_unbound(&atom.vars().collect::<SmallVec<[Var; 3]>>(), bound);
                (!open_this && !repeats).then(|| self.match_test(atom, true, bound))
            }
            Condition::Always => Some(Predicate::Never),
            Condition::List { source, list, mode } if all_bound() => list_test(*source, *list, *mode, true),
            Condition::Member(member) if member.source.var().is_none_or(|source| bound.contains(source)) => {
                Some(Predicate::Member { member: self.member_op(member, bound), negated: true })
            }
            Condition::Keyed(keyed) => {
                let atom = &keyed.atom;
                // As above.
                let open_this = !bound.contains(Var::THIS) && atom.vars().any(|var| var == Var::THIS);
                let known = atom.source.var().is_none_or(|source| bound.contains(source));
                let test = || Predicate::Keyed { keyed: self.keyed_op(keyed, bound), negated: true };
                (known && !open_this).then(test)
            }
            Condition::Value(value) if all_bound() => {
                Some(Predicate::Value { value: self.value_op(value), negated: true })
            }
            Condition::Equal { left, right, negated } if all_bound() => {
                Some(Predicate::Equal { left: left.0, right: right.into(), negated: !negated })
            }
            _ => None,
        }
    }

    /// Adds a test, to another one of the same archetype if there is one.
    fn add_test(&mut self, pipeline: &mut Pipeline, test: Predicate) {
        match test {
            Predicate::Mask { mask, entity } => {
                let spec: MaskSpec = self.masks[mask].clone();
                self.filter_mask(pipeline, entity, spec);
            }
            test => pipeline.last().push(test),
        }
    }

    fn optional(&mut self, pipeline: &mut Pipeline, term: &BoundTerm, bound: &mut Bound) {
        self.bind_source(pipeline, term, bound);
        let set = self.flag_of(term);
        if is_single(term, self.view)
            && term.condition.vars().iter().all(|var| bound.set.contains(var))
            && let (Condition::Match(atom), Some(column)) = (&term.condition, set)
        {
            let test = self.match_test(atom, false, &bound.set);
            self.shape(term.field, atom, Some(&AtomOp::plain()));
            pipeline.last().push(Compute::Mark { test, column });
            return;
        }
        if self.optional_target(pipeline, term, set, bound) {
            return;
        }
        let first = self.columns;
        let mut inner = bound.clone();
        let mut own = Pipeline::default();
        self.and(&mut own, term, &mut inner);
        let mut defaults: Vec<(Column, Special)> =
            set.map(|column| (column, Special::Unset)).into_iter().collect();
        self.default_new(&own, bound, &inner, first, &mut defaults);
        let mut sub_plan = self.sub_plan(own);
        sub_plan.defaults.extend(set.map(|column| (column, Special::Number(0))));
        bound.may_be_skipped(&inner);
        pipeline.add(Produce::Branch(Branch {
            kind: BranchKind::Optional,
            sub_plans: alloc::vec![sub_plan],
            defaults,
        }));
    }

    /// An optional pair of an exclusive relation, whose target is not bound. False if the term is none.
    fn optional_target(
        &mut self,
        pipeline: &mut Pipeline,
        term: &BoundTerm,
        set: Option<Column>,
        bound: &mut Bound,
    ) -> bool {
        let Condition::Match(atom) = &term.condition else { return false };
        let AtomId::Pair(PairAtom { relation, target, target_traversal: None, .. }) = atom.id else {
            return false;
        };
        let relation = relation.entity().and_then(|relation| plain_relation(self.view, relation, atom));
        let Some(relation) = relation.filter(|&relation| self.view.index(relation).is_exclusive()) else {
            return false;
        };
        let Position::Known(source) = self.position(atom.source, &bound.set) else { return false };
        let Some(target) = target.var().filter(|&var| var != Var::THIS && !bound.set.contains(var)) else {
            return false;
        };
        let (out, none) = (target.0, Special::Skipped);
        let set = set.unwrap_or_else(|| self.new_column());
        pipeline.last().push(Compute::TargetIfAny { relation, source, out, none, set });
        self.shape(term.field, atom, Some(&AtomOp::plain()));
        bound.set.insert(target);
        bound.maybe.insert(target);
        true
    }

    /// That there is no way in which the inputs hold together.
    fn not(&mut self, pipeline: &mut Pipeline, inputs: &[Logical<'_>], bound: &Bound) {
        self.none_of(pipeline, Pipeline::default(), inputs, bound.clone(), Vec::new());
    }

    /// `!{..}`. `$this` is not local to it: if nothing has bound it, the scope is tested for every entity.
    pub(super) fn scope(&mut self, pipeline: &mut Pipeline, inputs: &[Logical<'_>], bound: &mut Bound) {
        if inputs.iter().any(|input| input.vars().contains(Var::THIS)) {
            self.bind_all(pipeline, Var::THIS, bound);
        }
        let mut skipped = Vec::new();
        if !may_be_empty(inputs, bound, &mut VarSet::default(), &mut skipped) {
            skipped.clear();
        }
        self.none_of(pipeline, Pipeline::default(), inputs, bound.clone(), skipped);
    }

    /// No row passes for which the inputs hold behind what is in `own`.
    fn none_of(
        &mut self,
        pipeline: &mut Pipeline,
        mut own: Pipeline,
        inputs: &[Logical<'_>],
        mut bound: Bound,
        skipped: Vec<Vec<Column>>,
    ) {
        // Rows have no fields of what must not hold.
        let fields = self.fields.clone();
        self.join(&mut own, inputs, &mut bound);
        self.fields = fields;
        let sub_plan = self.sub_plan(own);
        pipeline.last().push(Predicate::AntiJoin { sub_plan, skipped });
    }

    /// `branches` are the inputs of the union, as they are written and in order.
    pub(super) fn union(
        &mut self,
        pipeline: &mut Pipeline,
        chain: &OrChain,
        (branches, ordered): (&[Logical<'_>], &[Vec<Ordered<'_, '_>>]),
        bound: &mut Bound,
    ) {
        let set = self.new_column();
        self.set_by(chain.field, set);
        let unwritten = match chain.source {
            ChainSource::Fixed => false,
            ChainSource::Var(source) => {
                !bound.set.contains(source)
                    || chain.field.is_some_and(|field| self.unwritten.contains(&field))
            }
            ChainSource::Open => true,
        };
        if !unwritten && self.choose(pipeline, (chain, branches), set, bound) {
            return;
        }
        let mut sub_plans: Vec<(SubPlan, Bound)> = Vec::new();
        for (number, branch) in ordered.iter().enumerate() {
            let mut inner = bound.clone();
            let mut own = Pipeline::default();
            let fields: Vec<usize> = self.fields.iter().map(|field| field.shapes.len()).collect();
            self.ordered(&mut own, branch, &mut inner);
            self.only_in_branch(&fields, chain.field, set, number);
            // A term that is skipped holds, and leaves the field unset.
            let flagged = own.written().contains(set);
            if unwritten {
                self.exclude(&mut own, &branches[..number], bound, &inner);
            }
            let mut sub_plan = self.sub_plan(own);
            if !flagged {
                sub_plan.defaults.push((set, Special::Number(number as u16)));
            }
            sub_plans.push((sub_plan, inner));
        }
        let (mut sub_plans, inners): (Vec<SubPlan>, Vec<Bound>) = sub_plans.into_iter().unzip();
        self.fill_defaults(&mut sub_plans, bound);
        bound.bind_one_of(&inners);
        let kind = if unwritten { BranchKind::Every } else { BranchKind::First };
        pipeline.add(Produce::Branch(Branch { kind, sub_plans, defaults: Vec::new() }));
    }

    /// Gives each branch of a union defaults for the columns that only others write.
    fn fill_defaults(&self, sub_plans: &mut [SubPlan], before: &Bound) {
        let mut all = Columns::default();
        for sub_plan in &*sub_plans {
            all.append(&sub_plan.pipeline.written());
        }
        for sub_plan in sub_plans {
            let written = sub_plan.pipeline.written();
            let lacking = all.difference(&written);
            let lacking = lacking.iter().filter(|&column| {
                !before.set.contains(Var(column))
                    && !sub_plan.defaults.iter().any(|&(filled, _)| filled == column)
            });
            let is_var = |column| usize::from(column) < self.query.variables.len();
            let none = |column| if is_var(column) { Special::Skipped } else { Special::Unset };
            let lacking: Vec<_> = lacking.map(|column| (column, none(column))).collect();
            sub_plan.defaults.extend(lacking);
        }
    }

    /// Makes the fields of a branch such that rows have them only if they took it. `before` has the number of shapes of
    /// each field.
    fn only_in_branch(&mut self, before: &[usize], chain: Option<u16>, set: Column, number: usize) {
        let unset = FieldShape { id: ShapeId::None, source: None, set: false };
        for (at, (field, &before)) in self.fields.iter_mut().zip(before).enumerate() {
            if chain == Some(at as u16) {
                // A scope has fields of its own.
                field.shapes.resize(number + 1, unset);
            } else if field.shapes.len() > before && field.set.is_none() {
                field.shapes.splice(0..0, core::iter::repeat_n(unset, number));
                field.set = Some(set);
            }
        }
    }

    /// Leaves out rows for which an earlier branch holds. `bound` is what this branch has bound, `outer` what was bound
    /// before.
    fn exclude(&mut self, pipeline: &mut Pipeline, earlier: &[Logical<'_>], outer: &Bound, bound: &Bound) {
        // All branches have one source: their archetypes are tested at once.
        let mut archetypes: Option<(Operand, MaskSpec)> = None;
        let fields = self.fields.clone();
        let open = bound.maybe.clone().without(&outer.set);
        for branch in earlier {
            let vars = branch.vars();
            let open: SmallVec<[Var; 4]> = vars.iter().filter(|&var| open.contains(var)).collect();
            if !open.is_empty() {
                self.exclude_if_set(pipeline, branch, &open, bound);
                continue;
            }
            let test = match branch.only_term() {
                Some(BoundTerm { condition, .. }) if !condition.vars().meets(&bound.maybe) => {
                    self.negated_test(condition, &bound.set)
                }
                _ => None,
            };
            match test {
                Some(Predicate::Mask { mask, entity })
                    if archetypes.as_ref().is_none_or(|(other, _)| *other == entity) =>
                {
                    let without = self.masks[mask].without.iter().copied();
                    archetypes.get_or_insert_with(|| (entity, MaskSpec::default())).1.without.extend(without);
                }
                Some(test) => pipeline.last().push(test),
                None => self.not(pipeline, branch.inputs(), bound),
            }
        }
        self.fields = fields;
        if let Some((entity, spec)) = archetypes {
            self.filter_mask(pipeline, entity, spec);
        }
    }

    /// [`exclude`](Self::exclude) for a branch that uses variables which this one leaves `open` in some rows: there, they
    /// may have any value.
    fn exclude_if_set(&mut self, pipeline: &mut Pipeline, branch: &Logical<'_>, open: &[Var], bound: &Bound) {
        let last = open.len().min(MAX_OPEN) - 1;
        for pattern in 0..1_u32 << (last + 1) {
            let (mut set, mut unset, mut bound) = (Vec::new(), Vec::new(), bound.clone());
            for (number, &var) in open.iter().enumerate() {
                bound.maybe.remove(var);
                if pattern >> number.min(last) & 1 == 1 {
                    set.push(var.0);
                } else {
                    unset.push(var.0);
                    bound.set.remove(var);
                }
            }
            let mut own = Pipeline::default();
            own.last().push(Predicate::AreSet { set, unset });
            self.none_of(pipeline, own, branch.inputs(), bound, Vec::new());
        }
    }

    /// Alternatives of which each is a test of one row. False if they are not.
    fn choose(
        &mut self,
        pipeline: &mut Pipeline,
        (chain, branches): (&OrChain, &[Logical<'_>]),
        set: Column,
        bound: &Bound,
    ) -> bool {
        let mut atoms = Vec::new();
        for branch in branches {
            match branch.only_term() {
                Some(term @ BoundTerm { condition: Condition::Match(atom), .. })
                    if is_single(term, self.view)
                        && atom.vars().all(|var| bound.set.contains(var) && !bound.maybe.contains(var)) =>
                {
                    atoms.push(atom);
                }
                _ => return false,
            }
        }
        let mut tests = Vec::new();
        for atom in atoms {
            tests.push(self.match_test(atom, false, &bound.set));
            self.shape(chain.field, atom, Some(&AtomOp::plain()));
        }
        pipeline.last().push(Compute::Choose { tests, column: set });
        true
    }
}

fn list_test(source: BoundElement, list: BoundElement, mode: ListMode, negated: bool) -> Option<Predicate> {
    let operand = |element| match element {
        BoundElement::Entity(entity) => Some(Operand::Entity(entity)),
        BoundElement::Var(var) => Some(Operand::Column(var.0)),
        BoundElement::Singleton(_) | BoundElement::Awaited | BoundElement::Any => None,
    };
    Some(Predicate::List { source: operand(source)?, list: operand(list)?, mode, negated })
}

/// Variables of which each may be unset or not, whatever the others are: every combination is planned for.
const MAX_OPEN: usize = 6;

/// Whether all terms of a scope are skipped in some rows. Adds for each the columns of which one is unset in these rows,
/// given that all before it are skipped; `left` is what those leave unset.
fn may_be_empty(
    inputs: &[Logical<'_>],
    bound: &Bound,
    left: &mut VarSet,
    skipped: &mut Vec<Vec<Column>>,
) -> bool {
    inputs.iter().all(|input| match (input, input.term()) {
        (_, Some(term)) => {
            let vars = term.condition.skipped_with();
            let skips = vars.meets(left) || {
                let columns: Vec<Column> =
                    vars.iter().filter(|&var| bound.maybe.contains(var)).map(|var| var.0).collect();
                let skips = !columns.is_empty();
                skipped.extend(skips.then_some(columns));
                skips
            };
            left.extend(&input.binds().without(&bound.set));
            skips
        }
        (Logical::AntiJoin(scope), None) => may_be_empty(scope.inputs(), bound, &mut left.clone(), skipped),
        (Logical::Union(_, branches), None) => {
            let before = left.clone();
            branches.iter().all(|branch| {
                let mut inner = before.clone();
                let empty = may_be_empty(branch.inputs(), bound, &mut inner, skipped);
                left.extend(&inner);
                empty
            })
        }
        _ => false,
    })
}

/// Whether a variable that is not bound occurs twice.
fn repeats_unbound(vars: &[Var], bound: &VarSet) -> bool {
    let repeated = |(at, var): (usize, &Var)| vars[..at].contains(var) && !bound.contains(*var);
    vars.iter().enumerate().any(repeated)
}
