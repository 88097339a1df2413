//! Answers, in a form in which they can be compared.

use super::{
    expr::{Body, Elem, Expr, Ref, THIS, Term, Var, var_name},
    model::{Kind, Model, Node},
};
use std::fmt::Write;

/// What a field of a row holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Field {
    Unset,
    /// Nothing that could be compared.
    Masked,
    Set {
        /// The tag, the component, or the relation of a pair. `None` if it cannot be compared.
        first: Option<Node>,
        /// The target of a pair.
        second: Option<Node>,
        /// `None` if it is `$this`.
        source: Option<Node>,
    },
}

/// One answer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Row {
    /// `None` if the expression does not use it.
    pub(crate) this: Option<Node>,
    /// The variables that a row shows; `None` stands for `*`.
    pub(crate) vars: Vec<(Var, Option<Node>)>,
    /// For every term and chain outside of scopes.
    pub(crate) fields: Vec<Field>,
}

/// Blots out which of several pairs a field names that lead to the target of a transitive term. This crate names the
/// first; Flecs may name another.
pub(crate) fn blot_stored(model: &Model, expr: &Expr, rows: &mut [Row]) {
    let elems: Vec<_> = expr.0.iter().filter(|elem| !matches!(elem, Elem::Scope { .. })).collect();
    let closes = |term: &&Term| matches!(term.others()[..], [Ref::Node(relation), _] if model.nodes[*relation].traits.transitive);
    for row in rows.iter_mut() {
        for (elem, field) in elems.iter().zip(&mut row.fields) {
            if let Field::Set { second, .. } = field
                && elem.terms().iter().any(closes)
            {
                *second = None;
            }
        }
    }
}

/// Blots out how a resource or a field of a component is shown.
pub(crate) fn blot_named(model: &Model, expr: &Expr, rows: &mut [Row]) {
    let by_name = |term: &&Term| {
        let id = term.others().first().and_then(|id| id.node());
        id.is_some_and(|id| matches!(model.nodes[id].kind, Kind::Member | Kind::Singleton))
    };
    let elems: Vec<_> = expr.0.iter().filter(|elem| !matches!(elem, Elem::Scope { .. })).collect();
    for row in rows.iter_mut() {
        for (elem, field) in elems.iter().zip(&mut row.fields) {
            if *field != Field::Unset && elem.terms().iter().any(by_name) {
                *field = Field::Masked;
            }
        }
    }
}

/// Blots out the fields of equality terms and lists, which have no agreed value.
pub(crate) fn blot_tests(expr: &Expr, rows: &mut [Row]) {
    let is_test = |term: &&Term| matches!(term.body, Body::Equal(_) | Body::From { .. });
    for row in rows.iter_mut() {
        let elems = expr.0.iter().filter(|elem| !matches!(elem, Elem::Scope { .. }));
        for (elem, field) in elems.zip(&mut row.fields) {
            if elem.terms().iter().any(is_test) {
                *field = Field::Masked;
            }
        }
    }
}

/// Blots out what has no agreed value: the fields of [tests](blot_tests), the parts that `_` stands for, and what is the
/// same as `$this`.
pub(crate) fn normalize(expr: &Expr, rows: &mut [Row]) {
    blot_tests(expr, rows);
    for row in rows.iter_mut() {
        let this = row.this;
        let elems = expr.0.iter().filter(|elem| !matches!(elem, Elem::Scope { .. }));
        for (elem, field) in elems.zip(&mut row.fields) {
            let terms = elem.terms();
            let Field::Set { first, second, source } = field else { continue };
            if terms.iter().any(|term| term.others().contains(&&Ref::Any)) {
                (*first, *second) = (None, None);
            }
            let collects = |term: &&Term| matches!(term.source.of(), Some(Ref::Any | Ref::Wildcard));
            if terms.iter().any(collects) {
                *first = None;
            }
            if terms.iter().any(collects) || (source.is_some() && *source == this) {
                *source = None;
            }
        }
    }
}

/// Whether the rows are a set: duplicates are unspecified where pairs over several steps count, where `*`
/// and `_` stand for every entity that has something, or where `_` stands for several targets or relations.
pub(crate) fn is_set(model: &Model, expr: &Expr) -> bool {
    let repeats = |term: &&Term| {
        let (source, others) = (term.source.of(), term.others());
        let transitive = |relation: Node| model.nodes[relation].traits.transitive;
        matches!(source, Some(Ref::Any | Ref::Wildcard))
            || others.contains(&&Ref::Any)
            || matches!(others[..], [Ref::Node(relation), _] if transitive(*relation))
    };
    expr.terms().iter().any(repeats)
}

/// A row for people: `e1 x=T1 [(A, T1), -]`.
pub(crate) fn describe(model: &Model, row: &Row) -> String {
    let name = |node: Option<Node>| node.map_or("*", |node| model.nodes[node].name.as_str());
    let mut text = String::new();
    if row.this.is_some() {
        text += name(row.this);
    }
    for &(var, value) in row.vars.iter().filter(|(var, _)| *var != THIS) {
        let _ = write!(text, " {}={}", var_name(var), name(value));
    }
    text += " [";
    for (number, field) in row.fields.iter().enumerate() {
        text += if number > 0 { ", " } else { "" };
        match *field {
            Field::Unset => text += "-",
            Field::Masked => text += "?",
            Field::Set { first, second, source } => {
                text += name(first);
                if second.is_some() {
                    let _ = write!(text, ",{}", name(second));
                }
                if source.is_some() {
                    let _ = write!(text, "@{}", name(source));
                }
            }
        }
    }
    text + "]"
}
