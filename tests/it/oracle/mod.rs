//! What an expression means, worked out by definition: every assignment of the variables is tried, and each term
//! is checked against a list of triples. Slow, and independent of the crate: it knows nothing of stores, plans
//! or batches. Random worlds and expressions to try it with come along.
//!
//! The tests of the crate use it as a second opinion; `tests/conformance` includes it too, and compares it with
//! Flecs.

pub(crate) mod binding;
pub(crate) mod eval;
pub(crate) mod expr;
pub(crate) mod model;
pub(crate) mod random;
pub(crate) mod reference_world;
pub(crate) mod rows;
mod slots;
pub(crate) mod values;
