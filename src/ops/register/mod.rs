//! Floor 1: relations of types and of run time, and the observers that the crate depends on.

pub(in crate::ops) mod bootstrap;
pub(in crate::ops) mod watch;
