//! Snapshots of pairs: undo, rollback, saves.
//!
//! A [`PairSnapshot`] holds the pairs of some or all relations, with their values and their order.
//! [`apply`](PairSnapshot::apply) restores them: it changes only what differs, and nothing at all if a rule would be
//! broken. Snapshots hold pairs only, no entities and no components; the book says how to combine them with these.
//!
//! ```
//! use bevy_ecs::prelude::*;
//! use bevy_relations::{prelude::*, snapshot::{PairFilter, PairSnapshot}};
//!
//! #[derive(Relation, Clone, PartialEq)]
//! struct Carries(u32);
//!
//! let mut world = World::new();
//! let [hero, arrows, rope] = [(); 3].map(|()| world.spawn_empty().id());
//! world.insert_pair(hero, Carries(20), arrows)?;
//!
//! let before = PairSnapshot::take(&mut world, PairFilter::all())?;
//! world.insert_pair(hero, Carries(19), arrows)?;
//! world.insert_pair(hero, Carries(1), rope)?;
//!
//! let undone = before.apply(&mut world)?;
//! assert_eq!((undone.replaced, undone.removed, undone.inserted), (1, 1, 0));
//! assert!(world.pairs::<Carries>().targets(hero).eq([arrows]));
//! # Ok::<(), bevy_ecs::error::BevyError>(())
//! ```
//!
//! With the feature `serialize`, a snapshot becomes a `SavedPairs`, which serde writes to a file and reads from it, and
//! which can be loaded into another world.

mod apply;
mod error;
mod filter;
mod made;
mod pairs;
#[cfg(feature = "serialize")]
mod save;
mod take;

pub use apply::AppliedPairs;
pub use error::SnapshotError;
pub use filter::PairFilter;
pub use pairs::PairSnapshot;
#[cfg(feature = "serialize")]
pub use save::{
    LoadError, LoadedPairs, SaveError, SaveId, SavedEntity, SavedPair, SavedPairs, SavedPairsDeserializer,
    SavedPairsSerializer, SavedPlace, SavedRelation, WorldSaveExt,
};
