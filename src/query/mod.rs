//! Query terms: pairs in Bevy's own queries, as data and as filters.
#![expect(unsafe_code, reason = "Bevy's `WorldQuery`, `QueryData` and `QueryFilter` are unsafe traits")]

mod cached;
mod climb;
mod filter;
mod macros;
mod position;
mod read;
mod source;
mod target;
mod up;

pub use filter::{AddedPair, ChangedPair, LeafOf, Related, RootOf, TargetOf};
pub use position::{Ancestors, Depth, PairsOf, PairsOfItem};
pub use source::{Sources, SourcesItem};
pub use target::{Target, TargetItem, Targets, TargetsItem};
pub use up::{Cached, SelfUp, Up};
