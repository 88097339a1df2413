//! System parameters that read pairs, and reading on the world.

mod cascade;
mod pairs;
mod world;

pub use cascade::{CascadeItems, CascadeIter, CascadeQuery};
pub use pairs::Pairs;
pub use world::WorldPairReadExt;
