//! Behaviour, seen from outside: one binary, a module per topic.

mod adoption;
mod bundles;
mod cleanup;
mod cleanup_model;
mod common;
mod common_world;
mod errors;
mod event_adopted;
mod event_observers;
mod events;
mod expr;
mod expr_fuzz;
mod expr_rows;
mod lifecycle;
mod model;
mod reads;
mod scale;
mod smoke;
mod storm;
mod traits;
mod worlds;
