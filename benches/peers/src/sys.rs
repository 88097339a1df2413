//! The C interface of Flecs: that of the crate `flecs_ecs`, or of the core that `FLECS_CORE` named when this program was
//! built.

#[cfg(not(flecs_core))]
pub(crate) use flecs_ecs::sys::*;

#[cfg(flecs_core)]
#[allow(warnings, clippy::all, clippy::allow_attributes, unsafe_code, reason = "generated from the header")]
mod bindings {
    include!(concat!(env!("OUT_DIR"), "/flecs.rs"));
}
#[cfg(flecs_core)]
pub(crate) use bindings::*;
