//! Prefabs: entities from which instances are made.
//!
//! An entity with the component [`Prefab`] is a prefab, and so is everything below it along
//! [`ChildOf`](bevy_ecs::hierarchy::ChildOf): what is added to it becomes one. Ordinary queries skip prefabs, as they do disabled
//! entities; ask for them with `With<Prefab>`, or for both with `Allow<Prefab>`.
//!
//! An entity becomes an instance with its pair of [`IsA`] and a prefab, however that is inserted:
//! [`instantiate`](WorldPrefabExt::instantiate), a bundle with `Pair(IsA, prefab)`, commands. It then gets, once:
//!
//! - *Components*, by their [`OnInstantiate`](crate::relation::OnInstantiate). `Override`, the default: a copy. `Inherit`: they stay with
//!   the prefab, are shared by all instances and read with [`Inherited`](crate::query::Inherited); a component that a copied one
//!   requires is copied, too, because Bevy would insert its default. `DontInherit`: nothing. What the instance has already stays as
//!   it is: it overrides. Bevy's [`EntityCloner`](bevy_ecs::entity::EntityCloner) makes the copies, so that the clone behaviour
//!   of each component counts and entities in components are mapped. `Name`, `Disabled` and `Prefab` are not copied.
//! - *Pairs and tags*, by the rule of their relation or tag. Targets within the prefab become their copies. The target that an
//!   instance has of an exclusive relation stays.
//! - *Children*, recursively and in order: copies of those that the prefab has now. Children have no base: they get copies of
//!   what is shared, too, and their names. A child that is an instance of another prefab is one in the copy.
//! - *Slots*: for each part of the prefab with a pair of [`SlotOf`] and the prefab, the pair `(part, copy of the part)`. So the
//!   part names its copy in every instance, also in those of variants.
//!
//! A prefab that is itself an instance of another is a *variant*: it gets all of that as parts of its own, which it can
//! change; its instances are instances of both.
//!
//! What is shared is seen by all instances at once when the prefab changes. What was copied is the instance's own: later changes
//! of the prefab, also new children, do not reach it. When the pair or the prefab goes, the instance keeps its copies.
//! A pair of `IsA` with an entity that is no prefab copies nothing (Flecs copies its components).
//! A clone of an instance is an instance with what the original has; nothing is made anew for it. The same holds for pairs that are
//! restored: by a [snapshot](crate::snapshot), a save, or a [mirror](crate::mirror) in a scene. What was copied for them is in the
//! world already, or comes with the scene.
//!
//! Observers run as parts are spawned and components are inserted. If they despawn part of the instance, that is left out; if they
//! despawn part of the prefab, what is left is copied, and that is an error.

mod component;
mod error;
mod instance;
mod rule;

pub use crate::relation::{Prefab, SlotOf};
pub use error::InstantiateError;

use crate::{
    ops::{insert_bare_base, to_bevy, use_store},
    relation::{EntityName, IsA},
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
use instance::Blueprint;

mod sealed {
    pub trait Sealed {}

    impl Sealed for bevy_ecs::world::World {}
    impl Sealed for bevy_ecs::system::Commands<'_, '_> {}
}

/// Instances of prefabs, directly on the [`World`].
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
/// // With an override, and without anything that the prefab gets later.
/// let wreck = world.spawn((Health(1), Pair(IsA, frigate))).id();
/// assert_eq!(world.get::<Health>(wreck), Some(&Health(1)));
/// # Ok::<(), BevyError>(())
/// ```
pub trait WorldPrefabExt: sealed::Sealed {
    /// Spawns an instance of a prefab and returns it.
    ///
    /// It does the same as `spawn(Pair(IsA, prefab))`, but returns errors. If an observer despawns the instance meanwhile, it is
    /// returned all the same.
    ///
    /// # Errors
    /// See [`InstantiateError`]. Nothing is spawned, unless a part of the prefab is despawned while it is copied.
    ///
    /// # Complexity
    /// A step per part of the prefab, component and pair.
    fn instantiate(&mut self, prefab: Entity) -> Result<Entity, InstantiateError>;

    /// Spawns several instances of a prefab: faster than one by one, since what is to be copied is looked up once.
    ///
    /// # Errors
    /// As [`instantiate`](Self::instantiate), by the first instance that cannot be made. Those before it stay.
    fn instantiate_batch(&mut self, prefab: Entity, count: usize) -> Result<Vec<Entity>, InstantiateError>;
}

impl WorldPrefabExt for World {
    fn instantiate(&mut self, prefab: Entity) -> Result<Entity, InstantiateError> {
        spawn_instance(self, prefab, &mut None)
    }

    fn instantiate_batch(&mut self, prefab: Entity, count: usize) -> Result<Vec<Entity>, InstantiateError> {
        check(self, prefab)?;
        let mut blueprint = None;
        (0..count).map(|_| spawn_instance(self, prefab, &mut blueprint)).collect()
    }
}

/// Instances of prefabs, deferred. What is refused when the commands are applied goes to Bevy's error handler, with severity
/// `Error` and the place in the source where the command was queued.
pub trait CommandsPrefabExt: sealed::Sealed {
    /// See [`WorldPrefabExt::instantiate`]. If that is refused, the entity is spawned all the same, with nothing.
    ///
    /// What is inserted with the commands that are returned replaces what comes from the prefab. To have it in place before the
    /// prefab is copied, spawn it with the pair: `commands.spawn((Health(1), Pair(IsA, prefab)))`.
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
    #[track_caller]
    fn instantiate_batch(&mut self, prefab: Entity, count: usize);
}

impl CommandsPrefabExt for Commands<'_, '_> {
    fn instantiate(&mut self, prefab: Entity) -> EntityCommands<'_> {
        let place = Location::caller();
        let instance = self.spawn_empty().id();
        self.queue(move |world: &mut World| -> Result {
            let made = check(world, prefab).and_then(|()| make(world, prefab, instance, &mut None));
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
    blueprint: &mut Option<Blueprint>,
) -> Result<Entity, InstantiateError> {
    check(world, prefab)?;
    let instance = world.spawn_empty().id();
    match make(world, prefab, instance, blueprint) {
        Ok(()) => Ok(instance),
        Err(error) => {
            if !matches!(error, InstantiateError::Incomplete { .. }) {
                let _ = world.try_despawn(instance);
            }
            Err(error)
        }
    }
}

/// Makes an entity an instance, by the blueprint of the instance before if the prefab is still the same.
fn make(
    world: &mut World,
    prefab: Entity,
    instance: Entity,
    blueprint: &mut Option<Blueprint>,
) -> Result<(), InstantiateError> {
    use_store(world);
    insert_bare_base(world, instance, prefab)?;
    // Observers of the pair may have removed it.
    if !world.has_pair::<IsA>(instance, prefab) {
        return Ok(());
    }
    if !blueprint.as_ref().is_some_and(|blueprint| blueprint.is_current(world)) {
        *blueprint = Some(Blueprint::new(world, prefab));
    }
    match blueprint {
        Some(blueprint) => blueprint.fill(world, instance),
        None => Ok(()),
    }
}
