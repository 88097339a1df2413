//! Pairs as a component, for everything that works on components and on nothing else: scenes and saves
//! (`bevy_world_serialization`), replication, inspectors, remote protocols.
//!
//! [`mirror_pairs`](WorldMirrorExt::mirror_pairs) keeps on each source of a relation one component,
//! [`MirroredPairs`], with its pairs: targets, values, order. The pairs stay where they are, and the component follows them:
//!
//! - **Reading it is reading the pairs.** It is written by the time the verb or the command that changed them ends, and only if
//!   they are others than it says, so that `Changed` and `On<Insert<MirroredPairs<R>>>` are true. Values that
//!   [`PairsMut`](crate::PairsMut) writes in place are in it after the next
//!   [`maintain_pairs`](crate::WorldPairExt::maintain_pairs), which [`RelationsPlugin`](crate::RelationsPlugin) calls in each
//!   frame, or [`update_mirrors`](WorldMirrorExt::update_mirrors).
//! - **Writing it is changing the pairs.** Inserting, replacing or removing the component inserts, replaces and removes pairs, by all
//!   rules and with all events, once the insertion of components is complete: pairs that the component does not list are removed,
//!   those that are as listed stay. In a bundle that brings the component and pairs of the same relation, the component counts.
//!   A pair of [`IsA`](crate::IsA) and a prefab that is written this way makes no copies: scenes and saves bring them.
//! - **A rule says no**: then the pairs of the entity stay, the component says again what they are, and a [`MirrorError`] goes to
//!   Bevy's error handler. Targets that are not alive are left out and reported, each, without keeping the others out.
//!
//! [`mirror_runtime_pairs`](WorldMirrorExt::mirror_runtime_pairs) keeps one component for all relations of run time,
//! [`RuntimeMirroredPairs`]. It names each by its entity and its name; a new `Name` is in it after the next `maintain_pairs`. What it
//! lists of one relation is refused or applied as a whole, relation by relation; relations that it does not list lose their
//! pairs first.
//!
//! Every target that is an entity is mapped where entities are mapped, and so is every `Entity` in a value that reflection shows.
//! A target that stands for a registered Rust type is named by its type path.
//!
//! # Scenes
//!
//! Components of scenes arrive one after the other: a pair may be refused because what it needs comes later, such as a component
//! that its target must have. What is inserted as scenes do ([`RelationshipHookMode::Skip`]) and refused is therefore tried
//! again at the next [`maintain_pairs`](crate::WorldPairExt::maintain_pairs) or
//! [`update_mirrors`](WorldMirrorExt::update_mirrors), and reported then, unless the pairs of the entity were changed meanwhile.
//!
//! The component of a relation that is [`transient`](crate::RelationTraits::transient) is not left in scenes: it has no
//! `ReflectComponent`. Bevy's relationships, such as [`ChildOf`](bevy_ecs::hierarchy::ChildOf), are components already.
//!
//! [`RelationshipHookMode::Skip`]: bevy_ecs::relationship::RelationshipHookMode::Skip

mod apply;
mod component;
mod error;
mod hooks;
mod kind;
mod read;
mod runtime;
mod set;
mod state;
mod typed;
mod untyped;
mod value;
mod write;

pub use component::{MirroredPair, MirroredPairs, MirroredRelation, MirroredTarget, MirroredType};
pub use error::MirrorError;
pub use runtime::{RuntimeMirroredPair, RuntimeMirroredPairs, RuntimeRelation};
pub use value::ReflectedValue;

use crate::relation::TraitsError;
use alloc::vec::Vec;
use bevy_ecs::world::World;
use state::{Mirror, Mirrors};

mod sealed {
    pub trait Sealed {}

    impl Sealed for bevy_ecs::world::World {}
}

/// Mirroring pairs in components, directly on the [`World`].
pub trait WorldMirrorExt: sealed::Sealed {
    /// Keeps on each source of `R` one component, [`MirroredPairs<R>`](MirroredPairs), with its pairs from now on, and registers
    /// it for reflection. Inserting such a component does that, too. Does nothing if they are mirrored.
    ///
    /// Three observers of the pairs of `R` are spawned for that; if they are despawned, the components are brought up to date by
    /// [`update_mirrors`](Self::update_mirrors), which spawns them again. Relations that are not mirrored pay nothing.
    ///
    /// # Errors
    /// If the traits of `R` are rejected.
    ///
    /// # Complexity
    /// `O(pairs)`. From then on, a pair that comes behind the others of its source takes `O(1)` more, and any other change of the
    /// pairs of a source `O(targets of the source)`.
    fn mirror_pairs<R: MirroredRelation>(&mut self) -> Result<(), TraitsError>;

    /// Keeps on each source of pairs of run-time relations one component, [`RuntimeMirroredPairs`], with these pairs from now on, and
    /// registers it for reflection. Inserting such a component does that, too. Does nothing if they are mirrored.
    ///
    /// Three observers are spawned per run-time relation, as for [`mirror_pairs`](Self::mirror_pairs).
    ///
    /// # Complexity
    /// `O(pairs)`. From then on, a change of the pairs of a source takes `O(pairs of the source)` more.
    fn mirror_runtime_pairs(&mut self);

    /// Brings the components of all mirrored relations up to date, and tries again what was refused while a scene was applied.
    /// [`maintain_pairs`](crate::WorldPairExt::maintain_pairs) does that.
    fn update_mirrors(&mut self);
}

impl WorldMirrorExt for World {
    fn mirror_pairs<R: MirroredRelation>(&mut self) -> Result<(), TraitsError> {
        apply::start::<MirroredPairs<R>>(self)
    }

    fn mirror_runtime_pairs(&mut self) {
        // It has no traits that could be rejected.
        let _ = apply::start::<RuntimeMirroredPairs>(self);
    }

    fn update_mirrors(&mut self) {
        update_all(self);
    }
}

/// Does for all mirrored relations what [`WorldMirrorExt::update_mirrors`] says.
pub(crate) fn update_all(world: &mut World) {
    run_all(world, |mirror| mirror.maintain);
}

/// Brings the components up to date after an order of pairs has changed, which triggers no event.
pub(crate) fn note_order(world: &mut World) {
    run_all(world, |mirror| mirror.update);
}

fn run_all(world: &mut World, what: fn(&Mirror) -> fn(&mut World)) {
    let Some(mirrors) = world.get_resource::<Mirrors>() else { return };
    let all: Vec<fn(&mut World)> = mirrors.iter().map(what).collect();
    all.into_iter().for_each(|run| run(world));
}
