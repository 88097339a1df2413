//! What evaluation sees of a world: entities, pairs, components, and walks along relations.
//!
//! All that is read goes through [`WorldAccess`], which hands out to a system what the system has declared and no more.

mod access;
#[cfg(feature = "bevy_reflect")]
mod field;
#[cfg(feature = "bevy_reflect")]
mod field_index;
mod hidden;
mod keyed;
mod names;
mod value;
mod view;
mod walk;

pub(crate) use access::{ChildrenOf, DeclaredAccess, FieldQuery, WorldAccess};
#[cfg(feature = "bevy_reflect")]
pub(crate) use field::FieldSteps;
#[cfg(feature = "bevy_reflect")]
pub(crate) use field_index::{FieldIndex, FieldIndices, FieldKey};
pub(crate) use hidden::{internal_components, unlisted_components};
pub(crate) use names::ExprNames;
pub(crate) use value::{Datum, Special, common_start};
pub(crate) use view::View;
pub(crate) use walk::{DescendantWalk, Reach, Searcher, Stamps, stored_target};
