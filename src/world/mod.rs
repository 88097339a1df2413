//! Methods for pairs on [`World`](bevy_ecs::world::World), [`EntityWorldMut`](bevy_ecs::world::EntityWorldMut) and
//! commands. They are in a layer above the system parameters, because reading on the world returns the same views.

mod batch;
mod commands;
mod display;
mod entity;
mod inheritance;
mod pair_ext;
mod queue;
#[cfg(feature = "bevy_reflect")]
mod reflect;
mod scope;
mod verbs;

pub use batch::PairBatch;
pub use commands::{CommandsPairExt, EntityCommandsPairExt};
pub use entity::EntityWorldMutPairExt;
pub use inheritance::{EntityInheritanceExt, WorldInheritanceExt};
pub use pair_ext::WorldPairExt;
#[cfg(feature = "bevy_reflect")]
pub use reflect::{ReflectPairError, WorldReflectPairExt};
pub use scope::{ScopeError, WorldScopeExt};

#[cfg(feature = "remote")]
pub(crate) use reflect::reflected_column;
