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
mod expr_oracle;
mod lifecycle;
mod model;
#[expect(dead_code, reason = "the comparison with Flecs uses more of it")]
mod oracle;
mod reads;
mod scale;
mod smoke;
mod storm;
mod traits;
mod worlds;
