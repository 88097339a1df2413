//! Behaviour, seen from outside: one binary, a module per topic.

mod common;
mod errors;
mod model;
mod smoke;
mod traits;
