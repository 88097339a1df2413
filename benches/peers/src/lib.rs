//! Measures `bevy_relations` against Flecs and against Bevy's own relationships, side by side.
//!
//! A [`Workload`] is a piece of work of a given size; its [`Contestant`]s do that same work, each in a world of
//! its own, and return a checksum that must be the same for all. Nothing but the work itself is measured: worlds,
//! entities and checks are set up and torn down outside the [`Stopwatch`].
//!
//! Two programs use it: the criterion bench `structural`, which watches one contestant at a time, and the
//! binary of this package, which interleaves the contestants, compares them, and writes tables and plots.

mod bevy;
mod counting;
mod flecs;
mod flecs_kind;
mod flecs_prefab;
mod flecs_query;
mod harness;
mod linked;
mod machine;
mod ours;
mod paired;
mod random;
mod record;
mod report;
mod side;
mod sys;
mod transforms;
mod workloads;

pub use counting::CountingAllocator;
pub use harness::{Contestant, Goal, Referee, Round, Stopwatch, Workload};
pub use machine::Machine;
pub use paired::{Lap, Rounds, compare};
pub use random::{Random, SEED};
pub use record::{Record, Team, from_csv, to_csv};
pub use report::{Plot, TABLES, goals, lines, plots, results, summary};
pub use workloads::{CATALOG, Entry, HUGE, Scale, Unit, entry, workloads};
