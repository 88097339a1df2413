//! Islands: groups of entities that are connected by pairs of one relation, directly or through other entities, in
//! either direction. Use them for power grids, jointed bodies, or groups that are replicated together.
//!
//! A relation has islands once [`track_islands`](WorldIslandsExt::track_islands) was called for it, or a system has the
//! parameter [`Islands`]; other relations cost nothing. Islands are updated before the method or command that changed
//! pairs returns, and [events](IslandSplit) report what has happened to them. An observer of pairs runs earlier and
//! sees the islands as they were before the change, unless it calls
//! [`update_islands`](WorldIslandsExt::update_islands).
//!
//! # Which island keeps its id
//!
//! An island keeps its id for as long as it exists, and no id is used twice. A method call or the despawn of an entity
//! is one change; a batch is one change for each of its pairs. A change takes two steps:
//!
//! 1. **Split.** An island whose members are no longer all connected falls into parts. The largest part keeps the id;
//!    of parts of equal size, the one with the entity of the lowest [index](Entity::index).
//! 2. **Merge.** Parts, islands and entities without an island are joined where new pairs connect them. The largest of
//!    these islands keeps its id, not counting entities that were in none; of islands of equal size, the oldest.
//!
//! # Complexity
//!
//! Finding the island of an entity is `O(1)`, and its members are a slice. Inserting a pair is `O(1)`. If it joins two
//! islands, the members of the smaller one are moved, which adds up to `O(log n)` per entity over any number of
//! insertions. Removing a pair searches from both of its ends in turns, until the searches meet or one of them has seen
//! all of its part: cutting off a small part of a large island costs `O(pairs of the small part)`.

mod error;
mod event;
mod id;
mod partition;
mod search;
mod tracking;

pub use error::IslandsError;
pub use event::{IslandChanged, IslandCreated, IslandRemoved, IslandSplit, IslandsMerged};
pub use id::IslandId;

pub(crate) use tracking::{check, update_all};

use crate::{
    fetch,
    ops::Followed,
    relation::{EntityName, Relation, TraitsError, short_name},
    sealed::Sealed,
};
use alloc::string::ToString;
use bevy_ecs::{
    change_detection::Res,
    entity::Entity,
    system::{Local, SystemParam},
    world::{FromWorld, World},
};
use core::{any::type_name, fmt, marker::PhantomData};
use partition::Partition;
use tracking::TrackedIslands;

/// The islands of one relation.
///
/// [`Islands`] reads them in a system, [`WorldIslandsExt::islands`] and
/// [`islands_by_id`](WorldIslandsExt::islands_by_id) on a world.
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{islands::IslandsView, prelude::*};
///
/// #[derive(Relation)]
/// struct WiredTo;
///
/// #[derive(Component)]
/// struct Power(i32);
///
/// /// Islands of which the power does not suffice.
/// fn short_of_power(grids: IslandsView<'_>, power: &Query<&Power>) -> usize {
///     let sum = |members: &[Entity]| members.iter().filter_map(|&entity| power.get(entity).ok()).map(|power| power.0).sum::<i32>();
///     grids.iter().filter(|(_, members)| sum(members) < 0).count()
/// }
///
/// let mut world = World::new();
/// world.track_islands::<WiredTo>()?;
/// let [plant, mill, lamp] = [5, -3, -4].map(|power| world.spawn(Power(power)).id());
/// world.insert_pair(mill, WiredTo, plant)?;
/// world.insert_pair(lamp, WiredTo, mill)?;
/// let short = world.run_system_cached(
///     |grids: bevy_relations::islands::Islands<WiredTo>, power: Query<&Power>| short_of_power(grids.view(), &power),
/// )?;
/// assert_eq!(short, 1);
/// let grids = world.islands::<WiredTo>()?;
/// let grid = grids.island(lamp).unwrap();
/// assert_eq!((grids.len(), grids.size(grid), grids.members(grid).len()), (1, 3, 3));
/// assert!(grids.same(plant, lamp) && grids.contains(grid) && !grids.is_empty());
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy)]
pub struct IslandsView<'w> {
    /// `None` in a system, once the resource that holds what is tracked was removed.
    partition: Option<&'w Partition>,
}

impl<'w> IslandsView<'w> {
    /// The island of an entity: `None` if it has no pair of the relation, neither as source nor as target. Constant
    /// time.
    pub fn island(&self, entity: Entity) -> Option<IslandId> {
        self.partition?.island(entity)
    }

    /// Whether both entities are in one island. Constant time.
    pub fn same(&self, a: Entity, b: Entity) -> bool {
        self.island(a).is_some_and(|island| self.island(b) == Some(island))
    }

    /// The entities of an island, in any order: none if the island is gone.
    /// `O(log islands)`.
    pub fn members(&self, island: IslandId) -> &'w [Entity] {
        self.partition.and_then(|partition| partition.members(island)).unwrap_or_default()
    }

    /// The number of [`members`](Self::members).
    pub fn size(&self, island: IslandId) -> usize {
        self.members(island).len()
    }

    /// Whether there is an island of this id.
    pub fn contains(&self, island: IslandId) -> bool {
        self.size(island) > 0
    }

    /// Every island with its members, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (IslandId, &'w [Entity])> + use<'w> {
        self.partition.into_iter().flat_map(Partition::islands)
    }

    /// The number of islands. Constant time.
    pub fn len(&self) -> usize {
        self.partition.map_or(0, |partition| partition.islands().len())
    }

    /// Whether there is no island: the relation has no pairs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for IslandsView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Reads the islands of relation type `R`: a system parameter. [Tracks](WorldIslandsExt::track_islands) them from the
/// initialisation of the system on.
///
/// Systems that read islands run side by side. Disabled entities are in islands too.
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{islands::Islands, prelude::*};
///
/// #[derive(Relation)]
/// struct WiredTo;
///
/// #[derive(Component)]
/// struct Output(f32);
///
/// fn report(grids: Islands<WiredTo>, output: Query<&Output>) -> Vec<(usize, f32)> {
///     let sum = |devices| output.iter_many(devices).flatten().map(|output| output.0).sum();
///     grids.iter().map(|(_, devices)| (devices.len(), sum(devices))).collect()
/// }
/// # let mut world = World::new();
/// # let plant = world.spawn(Output(900.0)).id();
/// # world.spawn((Output(-200.0), Pair(WiredTo, plant)));
/// # assert_eq!(world.run_system_cached(report).unwrap(), [(2, 700.0)]);
/// ```
///
/// It has the methods of [`IslandsView`]:
///
/// ```
/// # use bevy_ecs::{prelude::*, system::RunSystemOnce};
/// # use bevy_relations::{islands::Islands, prelude::*};
/// # #[derive(Relation)]
/// # struct WiredTo;
/// # let mut world = World::new();
/// # let [plant, mill, rock] = [(); 3].map(|()| world.spawn_empty().id());
/// # world.insert_pair(mill, WiredTo, plant)?;
/// # let look = move |grids: Islands<WiredTo>| {
/// let grid = grids.island(mill).unwrap();
/// assert!(grids.same(mill, plant) && grids.island(rock).is_none());
/// assert_eq!((grids.size(grid), grids.members(grid).contains(&plant)), (2, true));
/// assert!(grids.contains(grid) && grids.len() == 1 && !grids.is_empty());
/// assert!(grids.view().members(grid).len() == 2 && grids.view().contains(grid) && !grids.view().is_empty());
/// # };
/// # world.run_system_once(look).unwrap();
/// # Ok::<(), BevyError>(())
/// ```
///
/// # Panics
/// When the system is initialised, if the traits of `R` are rejected.
#[derive(SystemParam)]
pub struct Islands<'w, 's, R: Relation> {
    tracking: Local<'s, Tracking<R>>,
    tracked: Option<Res<'w, TrackedIslands>>,
}

/// Tracks the islands of a relation when it is made.
struct Tracking<R>(PhantomData<fn() -> R>);

impl<R: Relation> FromWorld for Tracking<R> {
    fn from_world(world: &mut World) -> Self {
        match tracking::track::<R>(world) {
            Ok(()) => Self(PhantomData),
            // As for every parameter that names a relation: a mistake in the program, not in its data.
            Err(error) => panic!("{error}"),
        }
    }
}

impl<R: Relation> Tracking<R> {
    fn key(&self) -> Followed {
        Followed::of::<R>()
    }
}

impl<R: Relation> Islands<'_, '_, R> {
    /// The islands as a value that can be passed to functions.
    pub fn view(&self) -> IslandsView<'_> {
        let tracked = self.tracked.as_deref();
        IslandsView { partition: tracked.and_then(|tracked| tracked.partition(self.tracking.key())) }
    }

    /// See [`IslandsView::island`].
    pub fn island(&self, entity: Entity) -> Option<IslandId> {
        self.view().island(entity)
    }

    /// See [`IslandsView::same`].
    pub fn same(&self, a: Entity, b: Entity) -> bool {
        self.view().same(a, b)
    }

    /// See [`IslandsView::members`].
    pub fn members(&self, island: IslandId) -> &[Entity] {
        self.view().members(island)
    }

    /// See [`IslandsView::size`].
    pub fn size(&self, island: IslandId) -> usize {
        self.view().size(island)
    }

    /// See [`IslandsView::contains`].
    pub fn contains(&self, island: IslandId) -> bool {
        self.view().contains(island)
    }

    /// See [`IslandsView::iter`].
    pub fn iter(&self) -> impl Iterator<Item = (IslandId, &[Entity])> {
        self.view().iter()
    }

    /// See [`IslandsView::len`].
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// See [`IslandsView::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.view().is_empty()
    }
}

/// Tracking and reading islands, directly on the [`World`].
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{islands::*, prelude::*};
///
/// #[derive(Relation)]
/// struct JointTo;
///
/// let mut world = World::new();
/// world.track_islands::<JointTo>()?;
/// let [head, body, arm, rock] = [(); 4].map(|()| world.spawn_empty().id());
/// world.insert_pair(head, JointTo, body)?;
/// world.insert_pair(arm, JointTo, body)?;
///
/// let islands = world.islands::<JointTo>()?;
/// let doll = islands.island(head).unwrap();
/// assert!(islands.same(head, arm) && islands.size(doll) == 3 && islands.len() == 1);
/// assert_eq!(islands.island(rock), None);
/// # Ok::<(), BevyError>(())
/// ```
pub trait WorldIslandsExt: Sealed {
    /// Tracks the islands of relation type `R` from now on. Islands that exist already trigger no event. Does nothing
    /// if they are tracked already.
    ///
    /// This spawns two observers of the pairs of `R`. If they are despawned, [`update_islands`](Self::update_islands)
    /// spawns them again and updates the islands.
    ///
    /// # Errors
    /// If the traits of `R` are rejected.
    ///
    /// # Complexity
    /// O(pairs of the relation).
    fn track_islands<R: Relation>(&mut self) -> Result<(), TraitsError>;

    /// [`track_islands`](Self::track_islands) for any relation; an entity that was not used as a relation yet becomes
    /// one. The events of a relation created at run time have the type parameter
    /// [`Wildcard`](crate::relation::Wildcard). When the relation is despawned, its islands are dropped.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # let mut world = World::new();
    /// # let [head, body] = [(); 2].map(|()| world.spawn_empty().id());
    /// let joint_to = world.spawn_relation("JointTo", RelationTraits::new())?;
    /// world.track_islands_by_id(joint_to)?;
    /// world.insert_pair_by_id(head, (joint_to, body))?;
    /// assert!(world.islands_by_id(joint_to)?.same(head, body));
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If it is not alive, or names tags.
    fn track_islands_by_id(&mut self, relation: Entity) -> Result<(), IslandsError>;

    /// Updates the islands of every relation. This happens after every change of pairs, and in every frame with
    /// [`RelationsPlugin`](crate::RelationsPlugin). Call it to read current islands in an observer of pairs, or after
    /// observers were despawned in a world without the plugin.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct JointTo;
    ///
    /// # let mut world = World::new();
    /// # world.track_islands::<JointTo>()?;
    /// # let [head, body] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.add_observer(|on: On<PairInserted<JointTo>>, mut commands: Commands| {
    ///     let (head, body) = (on.source, on.target);
    ///     commands.queue(move |world: &mut World| -> Result {
    ///         world.update_islands();
    ///         assert!(world.islands::<JointTo>()?.same(head, body));
    ///         Ok(())
    ///     });
    /// });
    /// world.insert_pair(head, JointTo, body)?;
    /// # Ok::<(), BevyError>(())
    /// ```
    fn update_islands(&mut self);

    /// The islands of relation type `R`.
    ///
    /// # Errors
    /// If they are not tracked.
    fn islands<R: Relation>(&self) -> Result<IslandsView<'_>, IslandsError>;

    /// The islands of any relation, after [`track_islands_by_id`](Self::track_islands_by_id). See
    /// [`islands`](Self::islands) for a relation type.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # let mut world = World::new();
    /// # let [plant, lamp, candle] = [(); 3].map(|()| world.spawn_empty().id());
    /// let wired_to = world.spawn_relation("WiredTo", RelationTraits::new().symmetric())?;
    /// world.insert_pair_by_id(lamp, (wired_to, plant))?;
    /// world.track_islands_by_id(wired_to)?;
    /// let grids = world.islands_by_id(wired_to)?;
    /// assert!(grids.same(plant, lamp) && grids.island(candle).is_none());
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If they are not tracked.
    fn islands_by_id(&self, relation: Entity) -> Result<IslandsView<'_>, IslandsError>;
}

impl WorldIslandsExt for World {
    fn track_islands<R: Relation>(&mut self) -> Result<(), TraitsError> {
        tracking::track::<R>(self)
    }

    fn track_islands_by_id(&mut self, relation: Entity) -> Result<(), IslandsError> {
        tracking::track_by_id(self, relation)
    }

    fn update_islands(&mut self) {
        update_all(self);
    }

    fn islands<R: Relation>(&self) -> Result<IslandsView<'_>, IslandsError> {
        let not_tracked = || IslandsError::NotTracked { relation: short_name(type_name::<R>()).into_owned() };
        read(self, Followed::of::<R>()).ok_or_else(not_tracked)
    }

    fn islands_by_id(&self, relation: Entity) -> Result<IslandsView<'_>, IslandsError> {
        let store = fetch::store(self);
        let key = store.map_or(Followed::Entity(relation), |store| Followed::of_entity(store, relation));
        read(self, key).ok_or_else(|| {
            let name =
                store.map(|store| store.registry().name_of(relation)).filter(|name| name.name.is_some());
            let name =
                name.map_or_else(|| EntityName::new(self, relation).to_string(), |name| name.to_string());
            IslandsError::NotTracked { relation: name }
        })
    }
}

fn read(world: &World, key: Followed) -> Option<IslandsView<'_>> {
    let partition = world.get_resource::<TrackedIslands>()?.partition(key)?;
    Some(IslandsView { partition: Some(partition) })
}
