//! Scene files with pairs of every kind.

mod again;
mod common;
mod hostile;
mod round_trip;
mod wrong;
