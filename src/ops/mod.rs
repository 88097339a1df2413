//! Changing pairs: the only way into the store.
//!
//! Whatever API is used (world, commands, bundles, clones, Bevy's own relationship components), an insertion
//! ends in [`insert::insert`], which asks [`plan`] what the relation's traits say and then carries the plan
//! out, and a removal ends in [`remove::remove`]. What happens at a despawn is in [`cleanup`].

mod api;
mod lifecycle;
mod mutate;
mod register;

pub use api::bundle::{BundleList, Pair, PairList, PairTarget, PairsBundle, SourcesBundle, TypeTarget};
pub use api::commands::{CommandsPairExt, EntityCommandsPairExt, PairBatch};
pub use api::entity::EntityWorldMutPairExt;
pub use api::propagate::{InsertedAbove, RemovedAbove};
pub use api::trigger::{NotTraversableError, PropagatedEvent, Propagation};
pub use api::world::WorldPairExt;
pub use mutate::error::{
    AttemptedPair, DespawnError, InsertPairError, InsertPairsError, PairRole, ReorderError,
};
pub use mutate::event::{PairInserted, PairInsertedEvent, PairPattern, PairRemoved, PairRemovedEvent};
pub use register::bootstrap::register;

pub(crate) use lifecycle::adopt::adopt;
pub(crate) use lifecycle::participant::Participant;
pub(crate) use register::bootstrap::{TypeEntity, ensure_store, entity_of_type_id, relation_id};
pub(crate) use register::watch::{despawn_after, maintain, needs_mending};
