//! Prefabs: entities that serve as templates for others.
//!
//! An entity with the component [`Prefab`] is a prefab, and so is everything below it along
//! [`ChildOf`](bevy_ecs::hierarchy::ChildOf); a child that is added later becomes one, too. Ordinary queries skip
//! prefabs, as they skip disabled entities: `With<Prefab>` selects prefabs alone, `Allow<Prefab>` both.
//!
//! An entity becomes an *instance* of a prefab when it gets the pair `(IsA, prefab)`, by
//! [`instantiate`](WorldPrefabExt::instantiate), a bundle with `Pair(IsA, prefab)`, a command or any other insertion of
//! the pair. It then gets, once:
//!
//! - *Components*, each by its [`OnInstantiate`](crate::relation::OnInstantiate) rule. A component that the instance
//!   has already stays as it is: it overrides that of the prefab. `Name`, `Disabled` and `Prefab` are never copied.
//!
//!   | rule | the instance |
//!   |---|---|
//!   | `Override`, the default | gets a copy |
//!   | `Inherit` | shares the component of the prefab, to be read with [`Inherited`](crate::query::Inherited) |
//!   | `DontInherit` | gets nothing |
//!
//! - *Pairs and tags*, by the rule of their relation or tag. A target inside of the prefab becomes the copy of that
//!   target. A pair is not copied if it, its mirror or its companion would replace a pair that the instance has: of an
//!   exclusive relation, or with the same key. A companion (`with`) that the prefab has lost is not inserted again. Sources of a
//!   part are in the order that they have in the prefab, if the relation is `ordered`.
//! - *Children*, recursively and in order: copies of the children that the prefab has at that moment, with their names.
//!   They have no pair of `IsA` with the originals, and therefore get copies of shared components as well. A child of
//!   the prefab that is itself an instance of another prefab becomes an instance of that prefab in the copy. An
//!   instance of several prefabs gets the children of each.
//! - *Slots*: for each part of the prefab that has the pair `(SlotOf, prefab)`, the pair `(part, copy of the part)`. So
//!   each instance, also one of a variant, finds its copy of a part by the part:
//!   `world.pairs_by_id(part).target(instance)`.
//!
//! A prefab that has `(IsA, other prefab)` is a *variant*. It gets all of this as its own, children included, and may
//! change it before instances are made of it. Its instances are instances of the other prefab, too, and share its shared
//! components. They also get components, pairs and tags of the other prefab that the variant lacks, because they were
//! removed from the variant or inserted into the other prefab later; children that the variant lacks they do not get.
//!
//! # Changes after instantiation
//!
//! A change of a shared component is seen by all instances at once. Copies belong to the instance: later changes of the
//! prefab, also new children, do not reach them. They stay when the pair or the prefab is removed.
//!
//! # Details
//!
//! - Bevy's [`EntityCloner`](bevy_ecs::entity::EntityCloner) makes the copies, so each component's clone behavior
//!   applies, and entities in components are mapped. A shared component that a copied component requires, or has as a
//!   companion, is copied, too, from the nearest prefab that has it; otherwise its default would be inserted.
//! - A pair of `IsA` with an entity that is no prefab copies nothing. (In Flecs every base is copied.)
//! - A clone of an instance has what the original has, and nothing is instantiated for it. The same holds for pairs
//!   that are restored by a [snapshot](crate::snapshot), a save, or a [mirrored component](crate::mirror) in a scene:
//!   what was copied is in the world or in the scene already.
//! - Observers run while parts are spawned and components are inserted. Parts of the instance that they despawn are
//!   left out. If they despawn parts of the prefab, the rest is copied, and
//!   [`InstantiateError::Incomplete`] is returned. Components that no part had when the instance was begun are not
//!   copied.

mod blueprint;
mod component;
mod error;
mod instance;
mod rule;

pub use crate::relation::{Prefab, SlotOf};
pub use error::InstantiateError;

use crate::{
    ops::{ensure_store, insert_bare_base, to_bevy},
    relation::{EntityName, IsA},
    sealed::Sealed,
    world::WorldPairExt,
};
use alloc::{string::ToString, vec::Vec};
use bevy_ecs::{
    entity::Entity,
    error::{ContextExt, Result},
    system::{Commands, EntityCommands},
    world::World,
};
use core::panic::Location;
use instance::Copier;

/// Instances of prefabs, directly on the [`World`].
///
/// In the book: [Prefabs](crate::book::prefabs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{
///     prefab::{Prefab, SlotOf, WorldPrefabExt},
///     prelude::*,
/// };
///
/// #[derive(Component, Clone, PartialEq, Debug)]
/// struct Health(u32);
///
/// let mut world = World::new();
/// let frigate = world.spawn((Prefab, Health(100))).id();
/// let turret = world.spawn((Name::new("turret"), ChildOf(frigate), Pair(SlotOf, frigate))).id();
///
/// let ship = world.instantiate(frigate)?;
/// assert_eq!(world.get::<Health>(ship), Some(&Health(100)));
/// let own_turret = world.pairs_by_id(turret).target(ship).unwrap();
/// assert_eq!(world.get::<ChildOf>(own_turret).map(ChildOf::parent), Some(ship));
///
/// // An override: the component of the bundle stays.
/// let wreck = world.spawn((Health(1), Pair(IsA, frigate))).id();
/// assert_eq!(world.get::<Health>(wreck), Some(&Health(1)));
/// # Ok::<(), BevyError>(())
/// ```
pub trait WorldPrefabExt: Sealed {
    /// Spawns an instance of a prefab and returns it.
    ///
    /// It does the same as `spawn(Pair(IsA, prefab))`, but returns errors. The id is also returned if an observer has
    /// despawned the instance meanwhile.
    ///
    /// # Errors
    /// See [`InstantiateError`]. Nothing is spawned, unless a part of the prefab is despawned while it is copied.
    ///
    /// # Complexity
    /// O(parts of the prefab + their components and pairs).
    fn instantiate(&mut self, prefab: Entity) -> Result<Entity, InstantiateError>;

    /// Spawns several instances of a prefab: a little faster than one by one.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::prefab::Prefab;
    /// # let mut world = World::new();
    /// let frigate = world.spawn((Prefab, Name::new("Frigate"))).id();
    /// let fleet = world.instantiate_batch(frigate, 3)?;
    /// assert!(fleet.len() == 3 && fleet.iter().all(|&ship| world.has_pair::<IsA>(ship, frigate)));
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As [`instantiate`](Self::instantiate), for the first instance that fails. Those before it stay.
    fn instantiate_batch(&mut self, prefab: Entity, count: usize) -> Result<Vec<Entity>, InstantiateError>;
}

impl WorldPrefabExt for World {
    fn instantiate(&mut self, prefab: Entity) -> Result<Entity, InstantiateError> {
        with_copier(self, |world, copier| spawn_instance(world, prefab, copier))
    }

    fn instantiate_batch(&mut self, prefab: Entity, count: usize) -> Result<Vec<Entity>, InstantiateError> {
        check(self, prefab)?;
        with_copier(self, |world, copier| (0..count).map(|_| spawn_instance(world, prefab, copier)).collect())
    }
}

/// Instances of prefabs, deferred. Errors go to Bevy's error handler when the commands are applied, with severity
/// `Error` and the place in the source where the command was queued.
///
/// In the book: [Prefabs](crate::book::prefabs).
pub trait CommandsPrefabExt: Sealed {
    /// See [`WorldPrefabExt::instantiate`]. If that fails, an empty entity is left.
    ///
    /// Components that are inserted with the returned commands replace those that were copied from the prefab. To
    /// override a component before it is copied, spawn it together with the pair:
    /// `commands.spawn((Health(1), Pair(IsA, prefab)))`.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::{
    ///     prefab::{CommandsPrefabExt, Prefab},
    ///     prelude::*,
    /// };
    ///
    /// #[derive(Resource)]
    /// struct Frigate(Entity);
    ///
    /// fn launch(mut commands: Commands, frigate: Res<Frigate>) {
    ///     commands.instantiate(frigate.0).insert(Name::new("Ada"));
    /// }
    /// # let mut world = World::new();
    /// # let frigate = world.spawn(Prefab).id();
    /// # world.insert_resource(Frigate(frigate));
    /// # world.run_system_cached(launch).unwrap();
    /// # assert_eq!(world.query::<&Name>().single(&world).unwrap().as_str(), "Ada");
    /// ```
    #[track_caller]
    fn instantiate(&mut self, prefab: Entity) -> EntityCommands<'_>;

    /// See [`WorldPrefabExt::instantiate_batch`].
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::prefab::Prefab;
    /// # let mut world = World::new();
    /// let frigate = world.spawn(Prefab).id();
    /// world.commands().instantiate_batch(frigate, 3);
    /// world.flush();
    /// assert_eq!(world.pairs::<IsA>().source_count(frigate), 3);
    /// ```
    #[track_caller]
    fn instantiate_batch(&mut self, prefab: Entity, count: usize);
}

impl CommandsPrefabExt for Commands<'_, '_> {
    fn instantiate(&mut self, prefab: Entity) -> EntityCommands<'_> {
        let place = Location::caller();
        let instance = self.spawn_empty().id();
        self.queue(move |world: &mut World| -> Result {
            let made = check(world, prefab)
                .and_then(|()| with_copier(world, |world, copier| make(world, prefab, instance, copier)));
            made.map_err(to_bevy).with_context(|| place.to_string())
        });
        self.entity(instance)
    }

    fn instantiate_batch(&mut self, prefab: Entity, count: usize) {
        let place = Location::caller();
        self.queue(move |world: &mut World| -> Result {
            world.instantiate_batch(prefab, count).map_err(to_bevy).with_context(|| place.to_string())?;
            Ok(())
        });
    }
}

/// # Errors
/// If nothing can be made of `prefab`.
fn check(world: &World, prefab: Entity) -> Result<(), InstantiateError> {
    match world.get_entity(prefab) {
        Err(_) => Err(InstantiateError::Dead { prefab: EntityName::new(world, prefab) }),
        Ok(entity) if !entity.contains::<Prefab>() => {
            Err(InstantiateError::NotAPrefab { entity: EntityName::new(world, prefab) })
        }
        Ok(_) => Ok(()),
    }
}

/// Spawns an instance, or nothing if it is refused.
fn spawn_instance(
    world: &mut World,
    prefab: Entity,
    copier: &mut Option<Copier>,
) -> Result<Entity, InstantiateError> {
    check(world, prefab)?;
    let instance = world.spawn_empty().id();
    match make(world, prefab, instance, copier) {
        Ok(()) => Ok(instance),
        Err(error) => {
            if !matches!(error, InstantiateError::Incomplete { .. }) {
                let _ = world.try_despawn(instance);
            }
            Err(error)
        }
    }
}

/// Makes an entity an instance, with what made the one before if the prefab is still the same.
fn make(
    world: &mut World,
    prefab: Entity,
    instance: Entity,
    copier: &mut Option<Copier>,
) -> Result<(), InstantiateError> {
    ensure_store(world);
    insert_bare_base(world, instance, prefab)?;
    // Observers of the pair may have removed it.
    if !world.has_pair::<IsA>(instance, prefab) {
        return Ok(());
    }
    if !copier.as_ref().is_some_and(|copier| copier.is_current(world)) {
        *copier = Some(Copier::new(world, prefab));
    }
    match copier {
        Some(copier) => copier.fill(world, instance),
        None => Ok(()),
    }
}

/// Calls a function with a place for what makes instances, and keeps what that has found out about the prefab.
fn with_copier<T>(world: &mut World, run: impl FnOnce(&mut World, &mut Option<Copier>) -> T) -> T {
    let mut copier = None;
    let made = run(world, &mut copier);
    if let Some(copier) = copier {
        copier.finish(world);
    }
    made
}
