//! System parameters that read pairs, and reading on the world.

mod pairs;
mod world;

pub use pairs::Pairs;
pub use world::WorldPairReadExt;
