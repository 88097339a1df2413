//! Floor 4: bundles, and events that propagate. No logic beyond calling down.

pub(in crate::ops) mod bundle;
pub(in crate::ops) mod follow;
pub(in crate::ops) mod propagate;
pub(in crate::ops) mod trigger;
