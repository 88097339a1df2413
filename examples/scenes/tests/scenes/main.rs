//! Runs the scenes and looks at what they draw. Needs a display; `xvfb-run` gives one where there is none:
//!
//! ```sh
//! xvfb-run -a cargo test --ignore-rust-version -p bevy_relations_scenes
//! ```

mod command_line;
mod common;
#[cfg(feature = "explore")]
mod explore;
mod factions;
mod loadout;
mod solar_system;
