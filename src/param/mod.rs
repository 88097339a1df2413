//! System parameters that read pairs, and reading on the world.

mod pairs;
mod pairs_mut;
mod world;

pub use pairs::Pairs;
pub use pairs_mut::PairsMut;
pub use world::WorldPairReadExt;
