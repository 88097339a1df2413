//! Measures `bevy_relations` against Flecs and against Bevy's own relationships, side by side.
//!
//! A [`Workload`] is a piece of structural work of a given size; its [`Contestant`]s do that same work, each
//! in a world of its own, and return a checksum that must be the same for all. Nothing but the work itself is
//! timed: worlds, entities and checks are set up and torn down outside the [`Stopwatch`].
//!
//! Two programs use it: the criterion bench `structural`, which watches one contestant at a time, and the
//! binary of this package, which interleaves the contestants and prints the ratios between them.

mod bevy;
mod counting;
mod flecs;
mod flecs_query;
mod harness;
mod memory;
mod ours;
mod paired;
mod random;
mod report;
mod side;
mod transforms;
mod workloads;

pub use counting::CountingAllocator;
pub use harness::{Contestant, Goal, Referee, Round, Stopwatch, Workload};
pub use memory::{Footprint, footprints};
pub use paired::{Lap, compare};
pub use random::{Random, SEED};
pub use report::{footprint_table, lap_rows, table_head};
pub use workloads::{Scale, workloads};
