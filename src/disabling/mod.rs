//! Disabling everything below an entity, along any traversable relation.
//!
//! [`disable_below`](WorldDisablingExt::disable_below) inserts Bevy's
//! [`Disabled`](bevy_ecs::entity_disabling::Disabled) on all entities from which the given one is reached along the
//! relation: its sources, their sources, and so on, but not the entity itself. An entity stays disabled as long as
//! there is a cause:
//!
//! - Each call of `disable_below` adds a cause, also if another call has named the same entity. Each call of
//!   [`enable_below`](WorldDisablingExt::enable_below) removes one.
//! - An entity that is moved below it is disabled before the method or command that moved it returns. An entity that
//!   is no longer below, by any path, is enabled then, unless it has another cause.
//! - `Disabled` that was inserted by hand is a cause, too: it stays until it is removed by hand. If it is removed while
//!   there are other causes, it is inserted again at once. If an observer removes it each time, this crate gives up
//!   after a few attempts and [reports](DisablingError::Undone) it.
//! - Despawning the given entity removes all its causes.
//! - When the resource that counts the causes is removed, for example because every entity is despawned, everything
//!   that was disabled for these causes is enabled.
//! - A clone is disabled if it is below such an entity itself, or if the original was disabled by hand.
//!
//! There is no cost before the first call. From then on observers follow the pairs of the relation.

mod cover;
mod error;
mod state;

pub use error::DisablingError;

pub(crate) use state::{DisabledBelow, update_all};

use crate::{
    ops::{Followed, register_relation, to_bevy},
    relation::{Relation, TraversableRelation},
    sealed::Sealed,
};
use alloc::{string::ToString, vec::Vec};
use bevy_ecs::{
    entity::Entity,
    error::{ContextExt, Result},
    system::Commands,
    world::World,
};
use core::panic::Location;

/// Disabling along relations, directly on the [`World`].
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::{entity_disabling::Disabled, prelude::*};
/// use bevy_relations::{disabling::WorldDisablingExt, prelude::*};
///
/// #[derive(Relation)]
/// #[relation(exclusive, traversable)]
/// struct PoweredBy;
///
/// let mut world = World::new();
/// let [plant, mast, lamp] = [(); 3].map(|()| world.spawn_empty().id());
/// world.insert_pair(mast, PoweredBy, plant)?;
/// // A storm, and maintenance: two causes.
/// world.disable_below::<PoweredBy>(plant)?;
/// world.disable_below::<PoweredBy>(mast)?;
/// world.insert_pair(lamp, PoweredBy, mast)?;
/// let disabled = |world: &World| [plant, mast, lamp].map(|entity| world.entity(entity).contains::<Disabled>());
/// assert_eq!(disabled(&world), [false, true, true]);
///
/// world.enable_below::<PoweredBy>(plant)?;
/// assert_eq!(disabled(&world), [false, false, true]);
/// world.enable_below::<PoweredBy>(mast)?;
/// assert_eq!(disabled(&world), [false, false, false]);
/// # Ok::<(), BevyError>(())
/// ```
pub trait WorldDisablingExt: Sealed {
    /// Disables everything below `root` along `R`, but not `root` itself. Each call adds a cause.
    ///
    /// # Errors
    /// If `root` is not alive, or the relation is a Bevy relationship that is not traversable. Nothing has changed
    /// then.
    ///
    /// # Complexity
    /// O(pairs below `root`), up to entities that are disabled along `R` already.
    fn disable_below<R: TraversableRelation>(&mut self, root: Entity) -> Result<(), DisablingError>;

    /// [`disable_below`](Self::disable_below) along any relation.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::disabling::WorldDisablingExt;
    /// # let mut world = World::new();
    /// # let [plant, lamp] = [(); 2].map(|()| world.spawn_empty().id());
    /// let powered_by = world.spawn_relation("PoweredBy", RelationTraits::new().traversable())?;
    /// world.insert_pair_by_id(lamp, (powered_by, plant))?;
    /// world.disable_below_by_id(powered_by, plant)?;
    /// assert_eq!(world.disabling_roots(lamp), [(powered_by, plant)]);
    /// world.enable_below_by_id(powered_by, plant)?;
    /// assert!(world.disabling_roots(lamp).is_empty());
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If `root` or the relation is not alive, or the relation is not traversable.
    fn disable_below_by_id(&mut self, relation: Entity, root: Entity) -> Result<(), DisablingError>;

    /// Removes one cause of [`disable_below`](Self::disable_below). What has no other cause is enabled.
    ///
    /// # Errors
    /// If `root` has no such cause, or is not alive: its despawn has removed them all.
    fn enable_below<R: TraversableRelation>(&mut self, root: Entity) -> Result<(), DisablingError>;

    /// [`enable_below`](Self::enable_below) along any relation.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::disabling::{DisablingError, WorldDisablingExt};
    /// # let mut world = World::new();
    /// # let plant = world.spawn_empty().id();
    /// let powered_by = world.spawn_relation("PoweredBy", RelationTraits::new().traversable())?;
    /// world.disable_below_by_id(powered_by, plant)?;
    /// world.enable_below_by_id(powered_by, plant)?;
    /// let again = world.enable_below_by_id(powered_by, plant);
    /// assert!(matches!(again, Err(DisablingError::NotDisabled { .. })));
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As `enable_below`; also if the relation is not alive, or not traversable.
    fn enable_below_by_id(&mut self, relation: Entity, root: Entity) -> Result<(), DisablingError>;

    /// The number of causes that calls of [`disable_below`](Self::disable_below) for `root` have added and none has
    /// removed yet. Constant time.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::disabling::WorldDisablingExt;
    /// # let mut world = World::new();
    /// # let room = world.spawn_empty().id();
    /// world.disable_below::<ChildOf>(room)?;
    /// world.disable_below::<ChildOf>(room)?;
    /// assert_eq!(world.causes_below::<ChildOf>(room), 2);
    /// # Ok::<(), BevyError>(())
    /// ```
    fn causes_below<R: Relation>(&self, root: Entity) -> u32;

    /// Why an entity is disabled, as relation and root of each cause. Empty if it is not disabled, or by hand only.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::disabling::WorldDisablingExt;
    /// # let mut world = World::new();
    /// let room = world.spawn_empty().id();
    /// let chair = world.spawn(ChildOf(room)).id();
    /// world.disable_below::<ChildOf>(room)?;
    /// let child_of = world.entity_of::<ChildOf>();
    /// assert_eq!(world.disabling_roots(chair), [(child_of, room)]);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Complexity
    /// O(pairs above the entity).
    fn disabling_roots(&self, entity: Entity) -> Vec<(Entity, Entity)>;
}

impl WorldDisablingExt for World {
    fn disable_below<R: TraversableRelation>(&mut self, root: Entity) -> Result<(), DisablingError> {
        let relation = register_relation::<R>(self)?;
        state::disable(self, relation, root)
    }

    fn disable_below_by_id(&mut self, relation: Entity, root: Entity) -> Result<(), DisablingError> {
        state::disable(self, relation, root)
    }

    fn enable_below<R: TraversableRelation>(&mut self, root: Entity) -> Result<(), DisablingError> {
        let relation = register_relation::<R>(self)?;
        state::enable(self, relation, root)
    }

    fn enable_below_by_id(&mut self, relation: Entity, root: Entity) -> Result<(), DisablingError> {
        state::enable(self, relation, root)
    }

    fn causes_below<R: Relation>(&self, root: Entity) -> u32 {
        state::causes(self, Followed::of::<R>(), root)
    }

    fn disabling_roots(&self, entity: Entity) -> Vec<(Entity, Entity)> {
        state::roots_of(self, entity)
    }
}

/// Disabling along relations, deferred. What is refused when the commands are applied goes to Bevy's error handler,
/// with severity `Error` and the place in the source where the command was queued.
///
/// ```
/// use bevy_ecs::{entity_disabling::Disabled, prelude::*};
/// use bevy_relations::{disabling::CommandsDisablingExt, prelude::*};
///
/// #[derive(Component)]
/// struct Room;
///
/// fn close(mut commands: Commands, rooms: Query<Entity, With<Room>>) {
///     for room in &rooms {
///         commands.disable_below::<ChildOf>(room);
///     }
/// }
/// # let mut world = World::new();
/// # let room = world.spawn(Room).id();
/// # let chair = world.spawn(ChildOf(room)).id();
/// # world.run_system_cached(close).unwrap();
/// # assert!(world.entity(chair).contains::<Disabled>());
/// ```
pub trait CommandsDisablingExt: Sealed {
    /// See [`WorldDisablingExt::disable_below`].
    #[track_caller]
    fn disable_below<R: TraversableRelation>(&mut self, root: Entity);

    /// See [`WorldDisablingExt::disable_below_by_id`].
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::disabling::{CommandsDisablingExt, WorldDisablingExt};
    /// # let mut world = World::new();
    /// # let plant = world.spawn_empty().id();
    /// let powered_by = world.spawn_relation("PoweredBy", RelationTraits::new().traversable())?;
    /// let mut commands = world.commands();
    /// commands.disable_below_by_id(powered_by, plant);
    /// commands.disable_below_by_id(powered_by, plant);
    /// commands.enable_below_by_id(powered_by, plant);
    /// world.flush();
    /// let again = world.enable_below_by_id(powered_by, plant);
    /// assert!(again.is_ok(), "one of two causes was left");
    /// # Ok::<(), BevyError>(())
    /// ```
    #[track_caller]
    fn disable_below_by_id(&mut self, relation: Entity, root: Entity);

    /// See [`WorldDisablingExt::enable_below`].
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_ecs::entity_disabling::Disabled;
    /// # use bevy_relations::disabling::{CommandsDisablingExt, WorldDisablingExt};
    /// # let mut world = World::new();
    /// # let room = world.spawn_empty().id();
    /// # let chair = world.spawn(ChildOf(room)).id();
    /// world.disable_below::<ChildOf>(room)?;
    /// world.commands().enable_below::<ChildOf>(room);
    /// world.flush();
    /// assert!(!world.entity(chair).contains::<Disabled>());
    /// # Ok::<(), BevyError>(())
    /// ```
    #[track_caller]
    fn enable_below<R: TraversableRelation>(&mut self, root: Entity);

    /// See [`WorldDisablingExt::enable_below_by_id`].
    ///
    /// ```
    /// # use bevy_ecs::{entity_disabling::Disabled, prelude::*};
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::disabling::{CommandsDisablingExt, WorldDisablingExt};
    /// # let mut world = World::new();
    /// # let [plant, lamp] = [(); 2].map(|()| world.spawn_empty().id());
    /// let powered_by = world.spawn_relation("PoweredBy", RelationTraits::new().traversable())?;
    /// world.insert_pair_by_id(lamp, (powered_by, plant))?;
    /// world.disable_below_by_id(powered_by, plant)?;
    /// world.commands().enable_below_by_id(powered_by, plant);
    /// world.flush();
    /// assert!(!world.entity(lamp).contains::<Disabled>());
    /// # Ok::<(), BevyError>(())
    /// ```
    #[track_caller]
    fn enable_below_by_id(&mut self, relation: Entity, root: Entity);
}

/// Queues a change that is refused with the place that queued it.
#[track_caller]
fn queue(
    commands: &mut Commands<'_, '_>,
    change: impl FnOnce(&mut World) -> Result<(), DisablingError> + Send + 'static,
) {
    let place = Location::caller();
    commands.queue(move |world: &mut World| -> Result {
        change(world).map_err(to_bevy).with_context(|| place.to_string())
    });
}

impl CommandsDisablingExt for Commands<'_, '_> {
    fn disable_below<R: TraversableRelation>(&mut self, root: Entity) {
        queue(self, move |world| world.disable_below::<R>(root));
    }

    fn disable_below_by_id(&mut self, relation: Entity, root: Entity) {
        queue(self, move |world| world.disable_below_by_id(relation, root));
    }

    fn enable_below<R: TraversableRelation>(&mut self, root: Entity) {
        queue(self, move |world| world.enable_below::<R>(root));
    }

    fn enable_below_by_id(&mut self, relation: Entity, root: Entity) {
        queue(self, move |world| world.enable_below_by_id(relation, root));
    }
}
