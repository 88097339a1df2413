//! Behaviour, seen from outside: one binary, a module per topic.

mod common;
mod smoke;
mod traits;
