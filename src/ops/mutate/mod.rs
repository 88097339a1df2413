//! Floor 2: planning, inserting and removing pairs, and their events.

pub(in crate::ops) mod apply;
pub(in crate::ops) mod bare;
pub(in crate::ops) mod batch;
pub(in crate::ops) mod change;
pub(in crate::ops) mod ends;
pub(in crate::ops) mod error;
pub(in crate::ops) mod event;
mod given;
pub(in crate::ops) mod insert;
pub(in crate::ops) mod keyed;
mod missing;
mod observed;
pub(in crate::ops) mod operation;
pub(in crate::ops) mod order;
pub(in crate::ops) mod plan;
mod ready;
pub(in crate::ops) mod remove;
pub(in crate::ops) mod restore;
#[cfg(feature = "bevy_reflect")]
pub(in crate::ops) mod several;
pub(in crate::ops) mod tag;
pub(in crate::ops) mod value;
mod whole;
pub(in crate::ops) mod writer;
