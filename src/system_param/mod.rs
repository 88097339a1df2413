//! System parameters that read pairs, and reading on the world.

mod any_pairs;
mod cascade;
mod conditions;
mod conflict;
mod deltas;
mod pair_query;
mod pairs;
mod pairs_mut;
mod removed;
mod value;

pub use crate::store::PairDeltaKind;
pub use any_pairs::{AnyPairs, AnyPairsIter};
pub use cascade::{CascadeItems, CascadeIter, CascadeQuery};
pub use conditions::{any_pair, any_pair_removed, pairs_changed};
pub use deltas::{AnyPairDeltas, DeltaGap, PairDelta, PairDeltas};
pub use pair_query::{PairEdge, PairIter, PairIterMut, PairQuery, PairTargetIter, TargetSources};
pub use pairs::Pairs;
pub use pairs_mut::PairsMut;
pub use removed::{RemovedPairIter, RemovedPairs};

pub(crate) use value::any_pair_value;
