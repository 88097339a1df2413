//! The methods, called as `bevy_remote` does, without a transport.

mod browse;
mod changes;
mod common;
mod hostile;
mod reads;
mod watches;
