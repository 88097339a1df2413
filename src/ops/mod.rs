//! Changing pairs: the only way into the store.
//!
//! Whatever API is used (world, commands, bundles, clones, Bevy's own relationship components), an insertion
//! ends in [`insert::insert`], which asks [`plan`] what the relation's traits say and then carries the plan
//! out, and a removal ends in [`remove::remove`]. What happens at a despawn is in [`cleanup`].

mod above;
mod adopt;
mod along;
mod bootstrap;
mod bundle;
mod cleanup;
mod clone;
mod commands;
mod component;
mod entity;
mod error;
mod event;
mod insert;
mod participant;
mod plan;
mod remove;
mod watch;
mod world;

pub use above::{InsertedAbove, RemovedAbove};
pub use along::{NotTraversableError, PropagatedEvent, Propagation, Towards};
pub use bootstrap::register;
pub use bundle::{BundleList, Pair, PairList, PairTarget, PairsBundle, SourcesBundle, TypeTarget};
pub use commands::{CommandsPairExt, EntityCommandsPairExt, PairBatch};
pub use entity::EntityWorldMutPairExt;
pub use error::{AttemptedPair, DespawnError, InsertPairError, InsertPairsError, PairRole, ReorderError};
pub use event::{PairInserted, PairInsertedEvent, PairPattern, PairRemoved, PairRemovedEvent};
pub use world::WorldPairExt;

pub(crate) use adopt::adopt;
pub(crate) use bootstrap::{TypeEntity, ensure_store, entity_of_type_id, relation_id};
pub(crate) use participant::Participant;
pub(crate) use watch::{despawn_after, maintain, needs_mending};
