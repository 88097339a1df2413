//! The logical plan: the query as a tree of relational operators.
//!
//! The inputs of a join stand in the order in which they were written, since the meaning of those that are negated,
//! optional or alternative depends on what stands before them.

use crate::expr::{
    bind::{
        AtomId, BoundElement, BoundOperator, BoundQuery, BoundTerm, CascadeOrder, Condition, Item, KeyedAtom,
        OrChain, Var, VarSet,
    },
    eval::View,
};
use alloc::{boxed::Box, string::String, vec::Vec};
use core::fmt::{self, Write};

/// An operator with its inputs. Each of the first seven is a term.
pub(crate) enum Logical<'q> {
    /// One row that says nothing: `T()`.
    Unit(&'q BoundTerm),
    /// Entities that have an id, or pairs.
    Scan(&'q BoundTerm),
    /// Ids or pairs of an entity that is written down.
    Lookup(&'q BoundTerm),
    /// Pairs that follow from others, or ids of others along a relation.
    Closure(&'q BoundTerm),
    /// Entities with a pair, whichever it is: `(R, _)`.
    SemiJoin(&'q BoundTerm),
    /// Rows that pass a comparison, of entities or of fields, or have the ids of a list.
    Select(&'q BoundTerm),
    /// Rows with what is found by another entity: in a field of a component, or at a path below.
    Compute(&'q BoundTerm),
    /// Rows to which the input has nothing to add: `!T`, `!{..}`.
    AntiJoin(Box<Self>),
    /// Rows with what the input adds, if it adds something: `?T`.
    Optional(Box<Self>),
    /// Rows of several inputs, of each [join](Self::Join) those for which none before it holds: `A || B`.
    Union(&'q OrChain, Vec<Self>),
    /// All inputs hold, with the same values for the variables that they have in common.
    Join(Vec<Self>),
    /// Rows in order of depth.
    Sort(Box<Self>, CascadeOrder),
}

/// The logical plan of a query.
pub(super) fn logical<'q>(query: &'q BoundQuery, view: &View<'_>) -> Logical<'q> {
    let join = join(&query.items, view);
    match query.cascade {
        Some(cascade) => Logical::Sort(Box::new(join), cascade),
        None => join,
    }
}

fn join<'q>(items: &'q [Item], view: &View<'_>) -> Logical<'q> {
    let input = |item: &'q Item| match item {
        Item::Term(term) => match term.operator {
            BoundOperator::And => leaf(term, view),
            BoundOperator::Not => Logical::AntiJoin(Box::new(leaf(term, view))),
            BoundOperator::Optional => Logical::Optional(Box::new(leaf(term, view))),
        },
        Item::Not(items) => Logical::AntiJoin(Box::new(join(items, view))),
        Item::Or(chain) => {
            Logical::Union(chain, chain.branches.iter().map(|branch| join(branch, view)).collect())
        }
    };
    Logical::Join(items.iter().map(input).collect())
}

/// The operator for a term, whether or not it is negated or optional.
pub(super) fn leaf<'q>(term: &'q BoundTerm, view: &View<'_>) -> Logical<'q> {
    let atom = match &term.condition {
        Condition::Always => return Logical::Unit(term),
        Condition::Equal { .. } | Condition::List { .. } | Condition::Value(_) => {
            return Logical::Select(term);
        }
        Condition::Member(_) | Condition::Child { .. } => return Logical::Compute(term),
        Condition::Match(atom) | Condition::Keyed(KeyedAtom { atom, .. }) => atom,
    };
    let follows = |relation: BoundElement| {
        let registry = view.store.registry();
        let traits = |id| &registry.entry(id).traits;
        let known = relation.entity().and_then(|relation| registry.of_entity(relation));
        known.is_some_and(|id| traits(id).is_transitive() || traits(id).is_reflexive())
    };
    let pair = match atom.id {
        AtomId::Pair(pair) => Some(pair),
        AtomId::Component(_) | AtomId::Tag(_) | AtomId::AnyId(_) => None,
    };
    let is_closed = |pair: crate::expr::bind::PairAtom| {
        pair.target_traversal.is_some() || pair.closed && follows(pair.relation)
    };
    if atom.traversal.is_some() || pair.is_some_and(is_closed) {
        Logical::Closure(term)
    } else if pair.is_some_and(|pair| pair.target == BoundElement::Any) {
        Logical::SemiJoin(term)
    } else if matches!(atom.source, BoundElement::Var(_) | BoundElement::Any) {
        Logical::Scan(term)
    } else {
        Logical::Lookup(term)
    }
}

impl<'q> Logical<'q> {
    /// The term that it is about, negated or optional as it may be.
    pub(super) fn term(&self) -> Option<&'q BoundTerm> {
        match self {
            Self::Unit(term)
            | Self::Scan(term)
            | Self::Lookup(term)
            | Self::Closure(term)
            | Self::SemiJoin(term)
            | Self::Select(term)
            | Self::Compute(term) => Some(term),
            Self::AntiJoin(input) | Self::Optional(input) => input.term(),
            Self::Union(..) | Self::Join(_) | Self::Sort(..) => None,
        }
    }

    /// What it has to hold for, if it is a join.
    pub(super) fn inputs(&self) -> &[Self] {
        match self {
            Self::Join(inputs) => inputs,
            Self::Sort(input, _) => input.inputs(),
            _ => core::slice::from_ref(self),
        }
    }

    /// Whether it is a term that must hold.
    pub(super) fn must_hold(&self) -> bool {
        !matches!(self, Self::AntiJoin(_) | Self::Optional(_)) && self.term().is_some()
    }

    /// The term that must hold, if the join has no other input.
    pub(super) fn only_term(&self) -> Option<&'q BoundTerm> {
        match self.inputs() {
            [input] if input.must_hold() => input.term(),
            _ => None,
        }
    }

    fn each_input<'a>(&'a self, each: &mut dyn FnMut(&'a Self)) {
        match self {
            Self::AntiJoin(input) | Self::Optional(input) | Self::Sort(input, _) => each(input),
            Self::Union(_, inputs) | Self::Join(inputs) => inputs.iter().for_each(each),
            _ => {}
        }
    }

    /// Every variable that occurs in it, also within scopes.
    pub(super) fn vars(&self) -> VarSet {
        if let Some(term) = self.term() {
            return term.condition.vars();
        }
        let mut vars = VarSet::default();
        self.each_input(&mut |input| vars.extend(&input.vars()));
        vars
    }

    /// The variables without which it is skipped, or a part of it.
    pub(super) fn skipped_with(&self) -> VarSet {
        self.term().map_or_else(|| self.vars(), |term| term.condition.skipped_with())
    }

    /// The variables that have a value behind it, in every row or in some.
    pub(super) fn binds(&self) -> VarSet {
        let Self::AntiJoin(input) = self else { return self.vars() };
        match input.term() {
            Some(term) => term.condition.source().into_iter().collect(),
            // `$this` is never local to a scope.
            None => input.vars().contains(Var::THIS).then_some(Var::THIS).into_iter().collect(),
        }
    }

    /// The tree, an operator a line. A branch of a union has its part of the field's text.
    pub(super) fn explain(
        &self,
        query: &BoundQuery,
        text: &mut String,
        indent: usize,
        branch: Option<&str>,
    ) -> fmt::Result {
        if let Self::Join(inputs) = self
            && let [input] = &inputs[..]
        {
            return input.explain(query, text, indent, branch);
        }
        let name = match self {
            Self::Unit(_) => "unit",
            Self::Scan(_) => "scan",
            Self::Lookup(_) => "lookup",
            Self::Closure(_) => "closure",
            Self::SemiJoin(_) => "semi-join",
            Self::Select(_) => "select",
            Self::Compute(_) => "compute",
            Self::AntiJoin(_) => "anti-join",
            Self::Optional(_) => "optional",
            Self::Union(..) => "union",
            Self::Join(_) => "join",
            Self::Sort(_, CascadeOrder { descending: true, .. }) => "sort by depth, descending",
            Self::Sort(..) => "sort by depth, ascending",
        };
        write!(text, "{:indent$}{name}", "")?;
        let wraps = matches!(self, Self::AntiJoin(_) | Self::Optional(_));
        if let Some(term) = self.term().filter(|_| !wraps) {
            match (&term.condition, term.field.and_then(|field| query.fields.get(field as usize))) {
                (Condition::Child { path, .. }, _) => write!(text, " child at \"{path}\"")?,
                (_, Some(field)) => {
                    let term = branch.unwrap_or(&field.text);
                    write!(text, " {}", term.trim_start_matches(['!', '?']))?;
                }
                (_, None) => {}
            }
        }
        text.push('\n');
        let union = match self {
            Self::Union(chain, _) => chain.field.and_then(|field| query.fields.get(field as usize)),
            _ => None,
        };
        let mut branches = union.map(|field| branches_of(&field.text)).unwrap_or_default().into_iter();
        let mut result = Ok(());
        self.each_input(&mut |input| {
            let branch = branches.next();
            if result.is_ok() {
                result = input.explain(query, text, indent + 2, branch);
            }
        });
        result
    }
}

/// The branches of a text, not those of scopes in it.
fn branches_of(text: &str) -> Vec<&str> {
    let (mut branches, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '|' if depth == 0
                && at > start
                && text[start..at].ends_with(' ')
                && text[at..].starts_with("|| ") =>
            {
                branches.push(text[start..at].trim_end());
                start = at + "|| ".len();
            }
            _ => {}
        }
    }
    branches.push(&text[start..]);
    branches
}
