//! Query terms: pairs in Bevy's own queries, as data and as filters.
//!
//! # Panics
//! A query, or the system that has it, panics when it is initialised if the traits of a relation in it are rejected, or if a
//! term reads what the query or a parameter before it writes.
#![expect(unsafe_code, reason = "Bevy's `WorldQuery`, `QueryData` and `QueryFilter` are unsafe traits")]

mod cached;
mod changed_below;
mod climb;
mod descendants;
mod down;
mod entities;
mod filter;
mod first_target;
mod inherited;
mod macros;
mod pair;
mod position;
mod reach;
mod read;
mod related;
mod scratch;
mod siblings;
mod source;
mod target;
mod up;
mod with;

pub use crate::fetch::SharedData;
pub use changed_below::ChangedBelow;
pub use descendants::{Descendants, DescendantsItem};
pub use down::{Down, SelfDown};
pub use entities::DataIter;
pub use filter::{AddedPair, ChangedPair, LeafOf, RootOf, Unrelated};
pub use inherited::{Inherited, InheritedData};
pub use position::{Ancestors, Depth, PairsOf, PairsOfItem};
pub use reach::{ChangedAbove, WithAncestor, WithDescendant};
pub use related::{Related, TargetOf};
pub use siblings::{SiblingIter, Siblings};
pub use source::{Sources, SourcesItem};
pub use target::{Target, TargetItem, Targets, TargetsItem};
pub use up::{Cached, SelfUp, Up};
pub use with::{SourcesWith, TargetsWith};
