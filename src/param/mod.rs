//! System parameters that read pairs, and reading on the world.

mod pair_query;
mod pairs;
mod pairs_mut;
mod world;

pub use pair_query::{PairEdge, PairIter, PairIterMut, PairQuery};
pub use pairs::Pairs;
pub use pairs_mut::PairsMut;
pub use world::WorldPairReadExt;
