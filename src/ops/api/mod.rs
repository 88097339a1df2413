//! Floor 4: the verbs on worlds, entities and commands, bundles, and propagation of events. No logic beyond calling down.

pub(in crate::ops) mod bundle;
pub(in crate::ops) mod propagate;
pub(in crate::ops) mod trigger;
