//! Behaviour, seen from outside: one binary, a module per topic.

mod common;
mod model;
mod smoke;
mod traits;
