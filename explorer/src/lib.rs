//! Serves the explorer: a page that shows the entities, pairs and queries of a running Bevy app.
//!
//! The page is part of the program. Its requests go to this server, which passes them on to the HTTP transport of
//! `bevy_remote` in the app, and streams what that answers. The app itself sends no CORS headers, so that no page in a
//! browser can read from it, and this server answers to its own page alone.

mod arguments;
mod browser;
mod files;
mod guard;
mod server;

pub use arguments::{Arguments, USAGE};
pub use browser::open_browser;
pub use server::Server;
