//! Behaviour, seen from outside: one binary, a module per topic.

mod adoption;
mod cleanup;
mod cleanup_model;
mod common;
mod event_adopted;
mod event_observers;
mod events;
mod lifecycle;
mod scale;
mod smoke;
