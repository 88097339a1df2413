//! System parameters that read pairs, and reading on the world.

mod any_pairs;
mod pairs;
mod world;

pub use any_pairs::AnyPairs;
pub use pairs::Pairs;
pub use world::WorldPairReadExt;
