//! Rollups: a fold over everything below an entity, kept up to date.

mod distinct;
mod error;
mod fold;
mod graph;
mod update;

pub use error::RollupError;
pub use fold::{All, Any, Count, Distinct, Max, Min, RollupFold, RollupValue, Sum, SumNumber};

use super::updates::{self, UpdateKind};
use crate::{relation::Relation, sealed::Sealed};
use bevy_ecs::{
    component::Component,
    lifecycle::HookContext,
    world::{DeferredWorld, World},
};
use core::{fmt, marker::PhantomData, ops::Deref};

/// The result of a fold `F` over the values `V` of everything below an entity along `R`: a component, kept by
/// [`add_rollup`](WorldRollupExt::add_rollup) and [`add_pair_rollup`](WorldRollupExt::add_pair_rollup).
///
/// It is on each entity that has a value anywhere below it, and on no other: an entity with nothing below has no
/// rollup. Bevy's observers and filters work with it as with any component; as it is immutable, `On<Insert<Rollup<..>>>`
/// is triggered for every new result.
///
/// In the book: [Live queries](crate::book::live).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::*, prelude::*};
///
/// #[derive(Component)]
/// struct Soldier;
///
/// /// Armies that are not empty: others have no rollup.
/// fn report(armies: Query<(&Name, &Rollup<ChildOf, Soldier, Count>)>) -> Vec<String> {
///     armies.iter().map(|(name, soldiers)| format!("{name}: {}", soldiers.get())).collect()
/// }
///
/// let mut world = World::new();
/// world.add_rollup::<ChildOf, Soldier, Count>()?;
/// let [north, _south] = ["north", "south"].map(|name| world.spawn(Name::new(name)).id());
/// let unit = world.spawn(ChildOf(north)).id();
/// world.spawn_batch((0..3).map(|_| (Soldier, ChildOf(unit))));
/// world.update_rollups();
/// assert_eq!(world.run_system_cached(report)?, ["north: 3"]);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Component)]
#[component(immutable, clone_behavior = Ignore)]
#[component(on_insert = note_change::<R, V, F>, on_remove = note_change::<R, V, F>)]
pub struct Rollup<R: Relation, V: Send + Sync + 'static, F: RollupFold<V>> {
    below: F::Output,
    total: F::Output,
    of: PhantomData<fn() -> (R, V)>,
}

impl<R: Relation, V: Send + Sync + 'static, F: RollupFold<V>> Rollup<R, V, F> {
    fn new((below, total): (F::Output, F::Output)) -> Self {
        Self { below, total, of: PhantomData }
    }

    /// The result for everything below the entity, without the entity itself. The same as dereferencing.
    pub fn get(&self) -> &F::Output {
        &self.below
    }

    /// The result for the entity together with everything below it.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::live::*;
    /// #[derive(Component)]
    /// struct Weight(u64);
    ///
    /// impl RollupValue for Weight {
    ///     type Value = u64;
    ///     fn rollup_value(&self) -> u64 { self.0 }
    /// }
    ///
    /// # let mut world = World::new();
    /// world.add_rollup::<ChildOf, Weight, Sum>()?;
    /// let tank = world.spawn(Weight(40)).id();
    /// world.spawn((Weight(9), ChildOf(tank)));
    /// world.update_rollups();
    /// let load = world.get::<Rollup<ChildOf, Weight, Sum>>(tank).unwrap();
    /// assert_eq!((load.get(), load.with_own()), (&9, &49));
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn with_own(&self) -> &F::Output {
        &self.total
    }
}

impl<R: Relation, V: Send + Sync + 'static, F: RollupFold<V>> PartialEq for Rollup<R, V, F> {
    fn eq(&self, other: &Self) -> bool {
        self.below == other.below && self.total == other.total
    }
}

/// A clone keeps the result. If it is inserted as a component, the next update corrects it.
impl<R: Relation, V: Send + Sync + 'static, F: RollupFold<V, Output: Clone>> Clone for Rollup<R, V, F> {
    fn clone(&self) -> Self {
        Self::new((self.below.clone(), self.total.clone()))
    }
}

/// The result for everything below the entity: [`get`](Rollup::get).
impl<R: Relation, V: Send + Sync + 'static, F: RollupFold<V>> Deref for Rollup<R, V, F> {
    type Target = F::Output;

    fn deref(&self) -> &F::Output {
        &self.below
    }
}

impl<R: Relation, V: Send + Sync + 'static, F: RollupFold<V, Output: fmt::Debug>> fmt::Debug
    for Rollup<R, V, F>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rollup").field("below", &self.below).field("with_own", &self.total).finish()
    }
}

/// A component that was inserted or removed by other code becomes with the next update what it has to be.
fn note_change<R: Relation, V: Send + Sync + 'static, F: RollupFold<V>>(
    mut world: DeferredWorld<'_>,
    HookContext { entity, .. }: HookContext,
) {
    if let Some(mut state) = world.get_resource_mut::<update::State<R, V, F>>()
        && state.writing.take_if(|writing| *writing == entity).is_none()
    {
        state.unwritten.push_back(entity);
    }
}

/// Rollups, directly on the [`World`]. An app has [`add_rollup`](crate::AppRelationExt::add_rollup).
///
/// In the book: [Live queries](crate::book::live).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::*, prelude::*};
///
/// #[derive(Component)]
/// struct Weight(u64);
///
/// impl RollupValue for Weight {
///     type Value = u64;
///     fn rollup_value(&self) -> u64 { self.0 }
/// }
///
/// let mut world = World::new();
/// world.add_rollup::<ChildOf, Weight, Sum>()?;
/// let train = world.spawn(Weight(80)).id();
/// let wagon = world.spawn((Weight(20), ChildOf(train))).id();
/// world.spawn((Weight(3), ChildOf(wagon)));
/// world.update_rollups();
///
/// let load = world.get::<Rollup<ChildOf, Weight, Sum>>(train).unwrap();
/// assert_eq!((load.get(), load.with_own()), (&23, &103));
/// # Ok::<(), BevyError>(())
/// ```
///
/// # What is below
///
/// Everything that reaches an entity along the relation, also if it is disabled. If it is reached along several paths,
/// it counts for each, unless the fold is [`Distinct`].
///
/// # When
///
/// Rollups are brought up to date by [`update_rollups`](Self::update_rollups). The method of the app adds a system that does
/// so in [`RelationsSystems::Rollups`](crate::RelationsSystems), in [`PostUpdate`](bevy_app::PostUpdate). Between two updates
/// they are as they were. Values and pairs that observers of rollups change count with the next update.
///
/// # Complexity
///
/// An update takes O(entities above what has changed); see [`RollupFold`] for folds from which nothing can be
/// subtracted. Moving a pair costs the same however much is below it. Values that are
/// inserted and removed trigger Bevy's events; those that are written in place are found by their change ticks, which
/// is O(entities with the component) for each update; 16 ticks are compared at a time. An immutable component avoids
/// this, and one with `#[component(summary_tick)]` for all tables in which none was written. When more has changed
/// than is recorded, everything is folded again.
pub trait WorldRollupExt: Sealed {
    /// Keeps a [`Rollup`] of the components `V` from the next update on. Does nothing if there is this one already.
    ///
    /// It ends when the resources or all entities of the world are cleared.
    ///
    /// # Errors
    /// If the relation is not acyclic, or its traits are rejected.
    fn add_rollup<R: Relation, V: Component, F: RollupFold<V>>(&mut self) -> Result<(), RollupError>;

    /// Keeps a [`Rollup<R, R, F>`](Rollup) of the values that the pairs themselves carry: those of all pairs below an
    /// entity, and of those that it is the target of. Does nothing if there is this one already.
    ///
    /// An update takes O(pairs of `R`) if values were borrowed for writing since the last one, to compare their ticks.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::live::*;
    /// #[derive(Relation)]
    /// #[relation(acyclic)]
    /// struct Supplies(u32);
    ///
    /// impl RollupValue for Supplies {
    ///     type Value = u32;
    ///     fn rollup_value(&self) -> u32 { self.0 }
    /// }
    ///
    /// # let mut world = World::new();
    /// # let [mine, mill, town] = [(); 3].map(|()| world.spawn_empty().id());
    /// world.add_pair_rollup::<Supplies, Sum>()?;
    /// world.insert_pair_batch([(mine, Supplies(5), mill), (mill, Supplies(2), town)])?;
    /// world.update_rollups();
    /// let received = world.get::<Rollup<Supplies, Supplies, Sum>>(town).unwrap();
    /// assert_eq!(received.get(), &7, "of all pairs below");
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`add_rollup`](Self::add_rollup).
    fn add_pair_rollup<R: Relation, F: RollupFold<R>>(&mut self) -> Result<(), RollupError>;

    /// Brings all rollups up to date, in the order in which they were added.
    fn update_rollups(&mut self);
}

impl WorldRollupExt for World {
    fn add_rollup<R: Relation, V: Component, F: RollupFold<V>>(&mut self) -> Result<(), RollupError> {
        update::add::<R, V, F>(self)?;
        updates::register::<Rollup<R, V, F>>(self, UpdateKind::Rollups, update::update_components::<R, V, F>);
        Ok(())
    }

    fn add_pair_rollup<R: Relation, F: RollupFold<R>>(&mut self) -> Result<(), RollupError> {
        update::add::<R, R, F>(self)?;
        updates::register::<Rollup<R, R, F>>(self, UpdateKind::Rollups, update::update_pairs::<R, F>);
        Ok(())
    }

    fn update_rollups(&mut self) {
        updates::update_all(self, UpdateKind::Rollups);
    }
}
