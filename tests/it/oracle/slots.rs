//! What is known of variables, and what is skipped where they have no value.

use super::{
    expr::{Elem, Term, VARS, Var},
    model::Node,
};
use std::collections::BTreeSet;

/// What is known of a variable.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Slot {
    /// No term has bound it.
    Free,
    Is(Node),
    /// Left unset by an optional term that found nothing, or by a branch: terms that use it are skipped.
    Skipped,
}

/// Whether the term uses a variable that was left unset.
pub(super) fn uses_skipped(term: &Term, slots: &[Slot; VARS]) -> bool {
    term.vars().iter().any(|&var| slots[var] == Slot::Skipped)
}

/// The variables after something that left them unset.
pub(super) fn skipped(vars: BTreeSet<Var>, slots: &[Slot; VARS]) -> [Slot; VARS] {
    let mut slots = *slots;
    for var in vars {
        if slots[var] == Slot::Free {
            slots[var] = Slot::Skipped;
        }
    }
    slots
}

/// Whether every term of a scope is skipped.
pub(super) fn is_skipped(elems: &[Elem], slots: &mut [Slot; VARS]) -> bool {
    elems.iter().all(|elem| match elem {
        Elem::Term(term) => {
            let is_skipped = uses_skipped(term, slots);
            *slots = skipped(term.binds(), slots);
            is_skipped
        }
        Elem::Or(terms) => {
            let is_skipped = terms.iter().all(|term| uses_skipped(term, slots));
            *slots = skipped(terms.iter().flat_map(Term::vars).collect(), slots);
            is_skipped
        }
        Elem::Scope { not: true, elems } => is_skipped(elems, &mut slots.clone()),
        Elem::Scope { not: false, elems } => is_skipped(elems, slots),
    })
}

pub(super) fn set(slots: &[Slot; VARS], var: Var, node: Node) -> [Slot; VARS] {
    let mut slots = *slots;
    slots[var] = Slot::Is(node);
    slots
}
