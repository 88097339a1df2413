//! What Flecs knows of a query when it comes to a term: which variables were used before, and how.

use crate::oracle::{
    expr::{Body, Elem, Expr, Look, Oper, Ref, Term, Var},
    model::{DISABLED, IS_A, Kind, Model, Node, PREFAB},
};
use std::collections::BTreeSet;

/// An expression about a world.
pub(crate) struct Query<'a> {
    pub(crate) model: &'a Model,
    pub(crate) terms: Vec<Seen<'a>>,
}

/// A term, and what was before it.
#[derive(Clone)]
pub(crate) struct Seen<'a> {
    pub(crate) term: &'a Term,
    /// Variables that elements before this one bind.
    pub(crate) bound: BTreeSet<Var>,
    /// Of those, the ones that an optional term or a branch may have left unset.
    pub(crate) doubtful: BTreeSet<Var>,
    /// Variables that are bound before the outermost negated scope around the term.
    pub(crate) outer: BTreeSet<Var>,
    /// Number among the elements of the expression.
    pub(crate) element: usize,
    /// Whether it is a branch of a chain.
    pub(crate) branch: bool,
    /// How many braces are around it, and how many of those negated.
    pub(crate) scopes: usize,
    pub(crate) negations: usize,
}

impl<'a> Query<'a> {
    pub(crate) fn new(model: &'a Model, expr: &'a Expr) -> Self {
        let mut walk = Walk::default();
        walk.elems(&expr.0, 0, 0);
        Self { model, terms: walk.terms }
    }

    pub(crate) fn has_bases(&self) -> bool {
        self.model.pairs.iter().any(|&(_, relation, _)| relation == IS_A)
    }

    pub(crate) fn has_hidden(&self) -> bool {
        self.model.marks.iter().any(|&(_, mark)| mark == PREFAB || mark == DISABLED)
    }

    /// Whether a term before this one, outside of its element, fits.
    pub(crate) fn before(&self, seen: &Seen<'_>, fits: impl Fn(&Seen<'_>) -> bool) -> bool {
        self.terms.iter().any(|other| other.element < seen.element && fits(other))
    }

    /// Whether a chain comes before this term.
    pub(crate) fn has_or_before(&self, seen: &Seen<'_>) -> bool {
        self.before(seen, |other| other.branch)
    }
}

impl Seen<'_> {
    /// The variable that is the source.
    pub(crate) fn source(&self) -> Option<Var> {
        match self.term.source.of() {
            Some(&Ref::Var(var)) => Some(var),
            _ => None,
        }
    }

    pub(crate) fn has_unwritten_source(&self) -> bool {
        self.source().is_some_and(|var| !self.bound.contains(&var))
    }

    pub(crate) fn has_fixed_source(&self) -> bool {
        matches!(self.term.source.of(), Some(Ref::Node(_)))
    }

    /// Whether the source is `*` or `_`.
    pub(crate) fn collects(&self) -> bool {
        matches!(self.term.source.of(), Some(Ref::Any | Ref::Wildcard))
    }

    pub(crate) fn target(&self) -> Option<&Ref> {
        match &self.term.body {
            Body::Pair { target, .. } => Some(target),
            _ => None,
        }
    }

    /// The relation or tag, if it is a constant one.
    pub(crate) fn id(&self) -> Option<Node> {
        match &self.term.body {
            Body::Pair { relation: id, .. } | Body::Id { id, .. } => id.node(),
            _ => None,
        }
    }

    pub(crate) fn relation(&self) -> Option<Node> {
        self.target().and_then(|_| self.id())
    }

    /// Whether the relation or tag is a variable, `*` or `_`.
    pub(crate) fn has_open_id(&self) -> bool {
        matches!(self.term.body, Body::Id { .. } | Body::Pair { .. }) && self.id().is_none()
    }

    /// Whether anything but the source is a variable, `*` or `_`.
    pub(crate) fn has_open_part(&self) -> bool {
        self.term.others().iter().any(|part| part.is_open())
    }

    /// Whether the target is a variable or `*`.
    pub(crate) fn has_open_target(&self) -> bool {
        self.target().is_some_and(|target| target.is_open() && *target != Ref::Any)
    }

    pub(crate) fn has_any(&self) -> bool {
        self.term.others().contains(&&Ref::Any)
    }

    pub(crate) fn has_child(&self) -> bool {
        self.term.refs().iter().any(|part| matches!(part, Ref::Child(..)))
    }

    pub(crate) fn is_equality(&self) -> bool {
        matches!(self.term.body, Body::Equal(_))
    }

    /// Whether a variable is used, and not as the source.
    pub(crate) fn uses(&self, var: Var) -> bool {
        self.term.others().iter().any(|part| part.var() == Some(var))
    }

    pub(crate) fn looks_up(&self) -> bool {
        matches!(self.term.look(), Look::Up(_))
    }

    /// Whether more than the source itself is looked at.
    pub(crate) fn climbs(&self, query: &Query<'_>) -> bool {
        let shared = |id: Node| query.model.nodes[id].traits.inherit;
        self.looks_up() || (self.term.look() == Look::Default && self.id().is_some_and(shared))
    }

    /// Whether pairs over several steps count.
    pub(crate) fn closes(&self, query: &Query<'_>) -> bool {
        self.relation().is_some_and(|relation| query.model.nodes[relation].traits.transitive)
    }

    /// Whether it is about a field of a component.
    pub(crate) fn is_field(&self, query: &Query<'_>) -> bool {
        self.relation().is_some_and(|relation| query.model.nodes[relation].kind == Kind::Member)
    }

    /// Whether the relation or tag has subtypes.
    pub(crate) fn has_subtypes(&self, query: &Query<'_>) -> bool {
        let subtypes = |id| query.model.pairs.iter().any(|&(_, r, t)| (r, t) == (IS_A, id));
        self.id().is_some_and(subtypes)
    }

    /// Whether something has several pairs of the relation.
    pub(crate) fn has_several_targets(&self, query: &Query<'_>) -> bool {
        let several = |relation| {
            (0..query.model.nodes.len()).any(|node| query.model.targets(node, relation).count() > 1)
        };
        self.relation().is_some_and(several)
    }

    pub(crate) fn is_plain_and(&self) -> bool {
        self.term.oper == Oper::And && !self.branch && self.scopes == 0
    }
}

#[derive(Default)]
struct Walk<'a> {
    terms: Vec<Seen<'a>>,
    bound: BTreeSet<Var>,
    doubtful: BTreeSet<Var>,
    outer: Option<BTreeSet<Var>>,
    element: usize,
}

impl<'a> Walk<'a> {
    fn elems(&mut self, elems: &'a [Elem], scopes: usize, negations: usize) {
        for elem in elems {
            match elem {
                Elem::Term(term) => {
                    self.see(term, false, scopes, negations);
                    self.bind(term, term.oper == Oper::Optional);
                }
                Elem::Or(terms) => {
                    for term in terms {
                        self.see(term, true, scopes, negations);
                    }
                    for term in terms {
                        self.bind(term, true);
                    }
                }
                Elem::Scope { not: false, elems } => self.elems(elems, scopes + 1, negations),
                Elem::Scope { not: true, elems } => {
                    let (bound, doubtful) = (self.bound.clone(), self.doubtful.clone());
                    let outermost = self.outer.is_none();
                    self.outer.get_or_insert_with(|| bound.clone());
                    self.elems(elems, scopes + 1, negations + 1);
                    if outermost {
                        self.outer = None;
                    }
                    (self.bound, self.doubtful) = (bound, doubtful);
                }
            }
            if scopes == 0 {
                self.element += 1;
            }
        }
    }

    fn see(&mut self, term: &'a Term, branch: bool, scopes: usize, negations: usize) {
        self.terms.push(Seen {
            term,
            bound: self.bound.clone(),
            doubtful: self.doubtful.clone(),
            outer: self.outer.clone().unwrap_or_default(),
            element: self.element,
            branch,
            scopes,
            negations,
        });
    }

    fn bind(&mut self, term: &Term, doubtful: bool) {
        if doubtful {
            self.doubtful.extend(term.vars().difference(&self.bound));
        }
        self.bound.extend(term.binds());
    }
}
