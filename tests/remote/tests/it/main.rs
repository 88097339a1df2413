//! The methods, called as `bevy_remote` does, without a transport.

mod changes;
mod common;
mod hostile;
mod reads;
mod watches;
