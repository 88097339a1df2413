//! Floor 1: the store of a world and its relations, of types and of run time; the marker of participants as plain data;
//! the keys of observers; the observers that the crate depends on.

pub(in crate::ops) mod cascade;
pub(in crate::ops) mod constraints;
pub(in crate::ops) mod entity;
mod fragment;
pub(in crate::ops) mod keys;
pub(in crate::ops) mod participant;
pub(in crate::ops) mod relation;
pub(in crate::ops) mod report;
pub(in crate::ops) mod store;
pub(in crate::ops) mod table;
pub(in crate::ops) mod traits;
pub(in crate::ops) mod upkeep;
pub(in crate::ops) mod watch;
