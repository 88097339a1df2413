//! Finding entities by their names.
//!
//! Names are Bevy's [`Name`](bevy_ecs::name::Name), and a path such as `Sol.Earth` goes down along
//! [`ChildOf`](bevy_ecs::hierarchy::ChildOf), from entities without a parent or from a given one.
//!
//! A name can be changed through `&mut Name`, for which Bevy has no event. So the index is not updated when names
//! change. Instead it caches where a name was found, and checks each cached entity against its components before it
//! is returned: that is correct whatever happened in between, and costs nothing if no name is looked up. Children are
//! searched only if the cache has no entry.

mod error;
mod index;
mod read;
#[cfg(feature = "bevy_reflect")]
mod relation;
mod slots;
mod view;

pub use error::LookupError;
pub use read::{NamePaths, WorldNameExt};

pub(crate) use index::NameIndex;
#[cfg(feature = "bevy_reflect")]
pub(crate) use relation::{is_named, relation_name};
pub(crate) use slots::{slot_path, slots};
