//! Floor 3: what follows from the life of entities: the marker, cleanup, clones, adopted relationships.

pub(in crate::ops) mod adopt;
pub(in crate::ops) mod cleanup;
pub(in crate::ops) mod clone;
pub(in crate::ops) mod companions;
pub(in crate::ops) mod component;
pub(in crate::ops) mod constraints;
mod dependents;
mod leave;
pub(in crate::ops) mod participant;
