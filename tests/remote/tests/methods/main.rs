//! The methods, called as `bevy_remote` does, without a transport.

mod browse;
mod changes;
mod common;
mod hostile;
mod pages;
mod reads;
mod watches;
