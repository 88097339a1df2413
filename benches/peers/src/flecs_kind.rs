//! The kinds of relation that Flecs offers.
//!
//! The blocks rely on the facts that [`flecs`](crate::flecs) names.
#![expect(unsafe_code, reason = "the C interface of Flecs is unsafe; calls are wrapped one by one here")]

use crate::{
    flecs::{FlecsWorld, Id, pair},
    sys,
};

/// The kinds of relation that Flecs offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Any number of targets; each pair has tables of its own. The default.
    Fragmenting,
    /// Any number of targets, in the second storage (`DontFragment`).
    Sparse,
    /// One target, fragmenting.
    Exclusive,
    /// Any number of targets; each pair comes with its other direction.
    Symmetric,
    /// Any number of targets; each pair comes with one of another relation.
    With,
    /// One target, and a pair with a target is one with whatever the target has a pair with.
    TransitiveExclusive,
    /// One target, in the second storage.
    SparseExclusive,
    /// The built-in hierarchy, children created as in Flecs' manual: first the parent, then the components.
    ChildOf,
    /// The built-in hierarchy, children created with their components and then given a parent: this leaves no
    /// empty tables behind for the steps in between.
    ChildOfLast,
    /// The built-in hierarchy in its second storage, where the parent is a component, and children of several parents share
    /// tables.
    #[cfg(flecs_parent)]
    Parent,
    /// The built-in relation of an instance to its prefab.
    IsA,
}

impl FlecsWorld {
    /// A relation of the given kind.
    pub(crate) fn relation(&mut self, kind: Kind) -> Id {
        // SAFETY: these are constants of the C library, initialized before `main`.
        let (child_of, is_a) = unsafe { (sys::EcsChildOf, sys::EcsIsA) };
        match kind {
            Kind::ChildOf | Kind::ChildOfLast => return Id(child_of),
            #[cfg(flecs_parent)]
            Kind::Parent => return Id(child_of),
            Kind::IsA => return Id(is_a),
            _ => {}
        }
        let relation = self.entity();
        self.set_kind(relation, kind);
        relation
    }

    /// Gives a relation the traits of a kind.
    pub(crate) fn set_kind(&mut self, relation: Id, kind: Kind) {
        // SAFETY: these are constants of the C library, initialized before `main`.
        let (exclusive, sparse, transitive) =
            unsafe { (sys::EcsExclusive, sys::EcsDontFragment, sys::EcsTransitive) };
        // SAFETY: as above.
        let (symmetric, with) = unsafe { (sys::EcsSymmetric, sys::EcsWith) };
        if kind == Kind::Symmetric {
            self.add(relation, Id(symmetric));
        }
        if kind == Kind::With {
            let other = self.entity();
            self.add(relation, pair(Id(with), other));
        }
        if kind == Kind::TransitiveExclusive {
            self.add(relation, Id(transitive));
        }
        if matches!(kind, Kind::Exclusive | Kind::SparseExclusive | Kind::TransitiveExclusive) {
            self.add(relation, Id(exclusive));
        }
        if matches!(kind, Kind::Sparse | Kind::SparseExclusive) {
            self.add(relation, Id(sparse));
        }
    }
}
