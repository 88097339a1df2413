//! Snapshots of pairs: undo, rollback, saves.
//!
//! A [`PairSnapshot`] holds the pairs of some relations or of all, with their values and their order, and
//! [`apply`](PairSnapshot::apply) makes the pairs of the world what they were: only what differs changes, and if a rule would
//! be broken, nothing does.
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

mod apply;
mod error;
mod filter;
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
