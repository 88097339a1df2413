//! The random histories alone: they are played by the hundred thousand, and build in a fraction of the time of all tests.

#[expect(dead_code, reason = "other tests use more of it")]
mod common;
mod model;
