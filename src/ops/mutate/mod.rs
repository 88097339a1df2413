//! Floor 2: planning, inserting and removing pairs, and their events.

pub(in crate::ops) mod batch;
pub(in crate::ops) mod change;
pub(in crate::ops) mod error;
pub(in crate::ops) mod event;
pub(in crate::ops) mod insert;
pub(in crate::ops) mod keyed;
pub(in crate::ops) mod operation;
pub(in crate::ops) mod order;
pub(in crate::ops) mod plan;
pub(in crate::ops) mod remove;
pub(in crate::ops) mod tag;
pub(in crate::ops) mod writer;
