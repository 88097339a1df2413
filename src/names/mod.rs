//! Finding entities by their names.
//!
//! Names are Bevy's [`Name`](bevy_ecs::name::Name), and a path such as `Sol.Earth` goes down along
//! [`ChildOf`](bevy_ecs::hierarchy::ChildOf), from entities without a parent or from a given one.
//!
//! A name can be changed through `&mut Name`, for which Bevy has no event. So nothing is kept up to date as names
//! change. Instead the index caches where a name was found, and each answer of it is checked against the
//! components of the entity before it is given: that is right whatever happened in between, and costs nothing
//! where no name is looked up. Only where the index has no answer are the children gone through.

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
