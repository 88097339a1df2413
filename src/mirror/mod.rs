//! Pairs as a component, for tools that work on components and nothing else: scenes and saves (`bevy_world_serialization`),
//! replication, inspectors, remote protocols.
//!
//! [`mirror_pairs`](WorldMirrorExt::mirror_pairs) keeps one component on each source of a relation, [`MirroredPairs`], which
//! lists its pairs: targets, values, order. The pairs stay in the store, and the component follows them:
//!
//! - **Reading the component is reading the pairs.** It is written before the method or command that changed the pairs returns, and
//!   only if the pairs differ from what it lists: `Changed` and `On<Insert<MirroredPairs<R>>>` report real changes. Values
//!   that [`PairsMut`](crate::PairsMut) writes in place appear in it at the next
//!   [`maintain_pairs`](crate::WorldPairExt::maintain_pairs), which [`RelationsPlugin`](crate::RelationsPlugin) calls at the
//!   beginning of each frame, or [`update_mirrors`](WorldMirrorExt::update_mirrors).
//! - **Writing the component is changing the pairs.** It is immutable, so insert a new one. Inserting, replacing or removing it
//!   inserts, replaces and removes pairs: pairs that it does not list are removed, equal ones stay. All rules of the relation
//!   are checked and all events triggered. If a bundle contains the component and also pairs of the relation, the component wins. A
//!   pair of [`IsA`](crate::IsA) with a prefab that is written this way copies nothing: the copies come with the scene or save.
//! - **If a rule refuses one of the pairs**, the pairs of the entity stay as they were, the component is made to list them again,
//!   and a [`MirrorError`] goes to Bevy's error handler. A target that is not alive is left out and reported; the other pairs
//!   are inserted.
//!
//! [`mirror_runtime_pairs`](WorldMirrorExt::mirror_runtime_pairs) keeps one component for all relations created at run time,
//! [`RuntimeMirroredPairs`]. It identifies each relation by entity and name; after a relation gets another `Name`, the
//! component lists it from the next `maintain_pairs` on. The pairs of one relation are applied or refused as a whole. Pairs
//! of relations that the component does not list are removed first.
//!
//! Where Bevy maps entities, every target that is an entity is mapped, and so is every `Entity` in a reflected value. A
//! target that stands for a registered Rust type is written as its type path.
//!
//! # Networks
//!
//! The server calls `mirror_pairs`, and a replication crate sends [`MirroredPairs`] like any other component. Clients call
//! [`receive_pairs`](WorldMirrorExt::receive_pairs), since the components of different entities may arrive in any order. A relation
//! that is not mirrored stays on the server.
//!
//! # Scenes
//!
//! The components of a scene arrive one after the other. A pair may be refused only because something that it needs comes later,
//! such as a component that its target must have. So a component that is inserted as scenes insert
//! ([`RelationshipHookMode::Skip`]) and is refused is tried again at the next
//! [`maintain_pairs`](crate::WorldPairExt::maintain_pairs) or [`update_mirrors`](WorldMirrorExt::update_mirrors). If it is
//! refused again, the error is reported. It is not tried again if the pairs of the entity were changed in between.
//!
//! A relation that is [`transient`](crate::RelationTraits::transient) is left out of scenes: its component has no
//! `ReflectComponent`. Bevy's relationships, such as [`ChildOf`](bevy_ecs::hierarchy::ChildOf), are components anyway and cannot
//! be mirrored.
//!
//! [`RelationshipHookMode::Skip`]: bevy_ecs::relationship::RelationshipHookMode::Skip

mod apply;
mod component;
mod erase;
mod error;
mod hooks;
mod kind;
mod read;
mod receive;
mod runtime;
mod set;
mod state;
mod typed;
mod unmet;
mod untyped;
mod value;
mod write;

pub use component::{MirroredPair, MirroredPairs, MirroredRelation, MirroredTarget, MirroredType};
pub use error::MirrorError;
pub use runtime::{RuntimeMirroredPair, RuntimeMirroredPairs, RuntimeRelation};
pub use value::ReflectedValue;

use crate::{
    ops,
    relation::{RelationTraits, TraitsError},
    sealed::Sealed,
};
use alloc::vec::Vec;
use bevy_ecs::world::World;
use erase::kind_of;
use kind::Kind;
use state::mirrors;

/// Mirroring pairs in components, directly on the [`World`].
///
/// In the book: [Networking](crate::book::network).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_reflect::Reflect;
/// use bevy_relations::{mirror::{MirroredPairs, WorldMirrorExt}, prelude::*};
///
/// #[derive(Relation, Reflect, Clone)]
/// struct Likes;
///
/// let mut world = World::new();
/// world.mirror_pairs::<Likes>()?;
/// let alice = world.spawn_empty().id();
/// let bob = world.spawn(Pair(Likes, alice)).id();
/// assert!(world.entity(bob).contains::<MirroredPairs<Likes>>());
/// world.remove_pairs::<Likes>(bob);
/// assert!(!world.entity(bob).contains::<MirroredPairs<Likes>>());
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
pub trait WorldMirrorExt: Sealed {
    /// From now on, keeps one component [`MirroredPairs<R>`](MirroredPairs) on each source of `R`, and registers it for
    /// reflection. The first insertion of such a component does the same. Does nothing if `R` is mirrored already. Bevy panics if that
    /// is done in a [`resource_scope`](World::resource_scope) of the type registry.
    ///
    /// Relations that are not mirrored cost nothing.
    ///
    /// # Errors
    /// If the traits of `R` are rejected.
    ///
    /// # Complexity
    /// `O(pairs)`. From then on, inserting a pair behind the others of its source costs `O(1)` more, and any other change of the
    /// pairs of a source `O(targets of the source)`.
    fn mirror_pairs<R: MirroredRelation>(&mut self) -> Result<(), TraitsError>;

    /// [`mirror_pairs`](Self::mirror_pairs) for a client: another world decides which pairs there are, and its components arrive here in
    /// any order. The component that arrived last for an entity says what its pairs are:
    ///
    /// - A component that a rule refuses waits, since the other half of a change may not have arrived. It is tried again at each
    ///   [`maintain_pairs`](crate::WorldPairExt::maintain_pairs), until it is allowed or another arrives for the entity. If the first of
    ///   these attempts fails, too, a warning is reported.
    /// - Pairs that an outdated component of another entity has replaced are restored when the newer component of that entity arrives.
    /// - No entity is despawned because of a policy of `R`: the world that decides does that, and its despawns arrive, too. Pairs of
    ///   despawned entities are removed.
    ///
    /// While the pairs of an entity differ from what arrived for it, it keeps a component even without pairs.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_reflect::Reflect;
    /// # use bevy_relations::{mirror::{MirroredPairs, WorldMirrorExt}, prelude::*};
    /// #[derive(Relation, Reflect, Clone)]
    /// #[relation(acyclic)]
    /// struct PartOf;
    ///
    /// # let mut world = World::new();
    /// # let [mast, hull] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.receive_pairs::<PartOf>()?;
    /// // Two halves of a change arrive one after the other: until then there would be a cycle.
    /// world.entity_mut(mast).insert(MirroredPairs::from_iter([(PartOf, hull)]));
    /// world.entity_mut(hull).insert(MirroredPairs::from_iter([(PartOf, mast)]));
    /// assert!(!world.has_pair::<PartOf>(hull, mast));
    /// world.entity_mut(mast).insert(MirroredPairs::<PartOf>::default());
    /// world.maintain_pairs();
    /// assert!(world.has_pair::<PartOf>(hull, mast));
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If the traits of `R` are rejected; or if `R` has a policy that despawns entities or refuses that, and has had pairs already.
    ///
    /// # Complexity
    /// As for [`mirror_pairs`](Self::mirror_pairs), and `O(targets)` for each waiting component at each maintenance.
    fn receive_pairs<R: MirroredRelation>(&mut self) -> Result<(), TraitsError>;

    /// From now on, keeps one component [`RuntimeMirroredPairs`] on each source of pairs of relations created at run time, and
    /// registers it for reflection. The first insertion of such a component does the same. Does nothing if they are mirrored already.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::mirror::{RuntimeMirroredPairs, WorldMirrorExt};
    /// # let mut world = World::new();
    /// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.mirror_runtime_pairs();
    /// let rival = world.spawn_relation("rival of", RelationTraits::new())?;
    /// world.insert_pair_by_id(ann, (rival, ben))?;
    /// let mirrored = world.get::<RuntimeMirroredPairs>(ann).unwrap();
    /// assert!(mirrored.targets(rival).eq([ben]));
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Complexity
    /// `O(pairs)`. From then on, a change of the pairs of a source costs `O(pairs of the source)` more.
    fn mirror_runtime_pairs(&mut self);

    /// Updates the components of all mirrored relations, and tries components again that were refused while a scene was applied.
    /// [`maintain_pairs`](crate::WorldPairExt::maintain_pairs) calls it.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_reflect::Reflect;
    /// # use bevy_relations::{mirror::{MirroredPairs, WorldMirrorExt}, prelude::*};
    /// #[derive(Relation, Reflect, Clone, PartialEq, Debug)]
    /// struct Owes(u32);
    ///
    /// # let mut world = World::new();
    /// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.mirror_pairs::<Owes>()?;
    /// world.insert_pair(ann, Owes(5), ben)?;
    /// world.pair_value_mut::<Owes>(ann, ben).unwrap().0 = 7; // in place
    /// world.update_mirrors();
    /// assert_eq!(world.get::<MirroredPairs<Owes>>(ann).unwrap().get(ben), Some(&Owes(7)));
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    fn update_mirrors(&mut self);
}

impl WorldMirrorExt for World {
    fn mirror_pairs<R: MirroredRelation>(&mut self) -> Result<(), TraitsError> {
        apply::start(self, kind_of::<MirroredPairs<R>>())
    }

    fn receive_pairs<R: MirroredRelation>(&mut self) -> Result<(), TraitsError> {
        let relation = ops::register_relation::<R>(self)?;
        if R::traits().despawns_any() {
            ops::set_traits(self, relation, RelationTraits::new().keep_ends())?;
        }
        receive::start(self, kind_of::<MirroredPairs<R>>())
    }

    fn mirror_runtime_pairs(&mut self) {
        // It has no traits that could be rejected.
        let _ = apply::start(self, kind_of::<RuntimeMirroredPairs>());
    }

    fn update_mirrors(&mut self) {
        update_all(self);
    }
}

/// See [`WorldMirrorExt::update_mirrors`].
pub(crate) fn update_all(world: &mut World) {
    run_all(world, apply::maintain);
}

/// Brings the components up to date after an order of pairs has changed, which triggers no event.
pub(crate) fn note_order(world: &mut World) {
    run_all(world, |world, kind| write::update(world, kind, None));
}

fn run_all(world: &mut World, run: fn(&mut World, Kind)) {
    let Some(mirrors) = mirrors(world) else { return };
    let all: Vec<Kind> = mirrors.iter().map(|mirror| mirror.kind).collect();
    all.into_iter().for_each(|kind| run(world, kind));
}
