//! Filters: which entities take part in a relation, and how; whose pairs are new.

use super::{
    macros::query_filter,
    read::{ReadPairs, ReadPairsFetch},
};
use crate::{ops::track_pair_changes, relation::Relation, store::PairTicks};
use bevy_ecs::{change_detection::Tick, entity::Entity};
use core::marker::PhantomData;

/// Query filter: entities that have no pair `(R, *)`: the opposite of [`Related`](super::Related). Without another filter it also
/// finds the entities of resources, observers, types and relations.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::Unrelated};
///
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct DockedTo;
///
/// #[derive(Component)]
/// struct Ship;
///
/// #[derive(Component)]
/// struct Adrift;
///
/// fn drift(ships: Query<Entity, (With<Ship>, Unrelated<DockedTo>)>, mut commands: Commands) {
///     for ship in &ships {
///         commands.entity(ship).insert(Adrift);
///     }
/// }
/// # let mut world = World::new();
/// # let station = world.spawn_empty().id();
/// # let docked = world.spawn((Ship, Pair(DockedTo, station))).id();
/// # let lost = world.spawn(Ship).id();
/// # world.run_system_cached(drift).unwrap();
/// # assert!(world.entity(lost).contains::<Adrift>() && !world.entity(docked).contains::<Adrift>());
/// ```
pub struct Unrelated<R: Relation>(PhantomData<fn() -> R>);

/// Query filter: the roots of `R`: entities that are the target of a pair and have no target themselves.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::RootOf};
///
/// fn count_trees(roots: Query<(), RootOf<ChildOf>>) -> usize {
///     roots.iter().count()
/// }
/// # let mut world = World::new();
/// # let root = world.spawn_empty().id();
/// # world.spawn(ChildOf(root));
/// # assert_eq!(world.run_system_cached(count_trees).unwrap(), 1);
/// ```
///
/// # Complexity
/// O(1) for each entity that is tested.
pub struct RootOf<R: Relation>(PhantomData<fn() -> R>);

/// Query filter: the leaves of `R`: entities that have a target and are no target.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::LeafOf};
///
/// fn prune(mut commands: Commands, leaves: Query<Entity, LeafOf<ChildOf>>) {
///     for leaf in &leaves {
///         commands.entity(leaf).despawn();
///     }
/// }
/// # let mut world = World::new();
/// # let root = world.spawn_empty().id();
/// # let branch = world.spawn(ChildOf(root)).id();
/// # let leaf = world.spawn(ChildOf(branch)).id();
/// # world.run_system_cached(prune).unwrap();
/// # assert!(world.get_entity(branch).is_ok() && world.get_entity(leaf).is_err());
/// ```
///
/// # Complexity
/// O(1) for each entity that is tested.
pub struct LeafOf<R: Relation>(PhantomData<fn() -> R>);

/// Query filter: entities that got a pair of `R` since the system last ran.
///
/// The pair counts for its source. As with [`Added`](bevy_ecs::query::Added), a new system sees all pairs as added.
///
/// Ticks of the pairs of `R` are [kept](crate::WorldPairExt::track_pair_changes) from when the filter is first used: insertions
/// take a little longer from then on.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::AddedPair};
///
/// #[derive(Relation)]
/// struct DockedTo;
///
/// fn greet(docked: Query<&Name, AddedPair<DockedTo>>) -> Vec<String> {
///     docked.iter().map(|name| format!("welcome, {name}")).collect()
/// }
/// # let mut world = World::new();
/// # let station = world.spawn_empty().id();
/// # world.spawn((Name::new("Rocinante"), Pair(DockedTo, station)));
/// # assert_eq!(world.run_system_cached(greet).unwrap(), ["welcome, Rocinante"]);
/// # assert!(world.run_system_cached(greet).unwrap().is_empty());
/// ```
///
/// # Complexity
/// O(targets) for each entity that is tested.
pub struct AddedPair<R: Relation>(PhantomData<fn() -> R>);

/// Query filter: entities that got a pair of `R`, or whose pair got another value, since the system last ran.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::ChangedPair};
///
/// #[derive(Relation)]
/// struct Owes(u32);
///
/// fn debtors(changed: Query<Targets<Owes>, ChangedPair<Owes>>) -> Vec<u32> {
///     changed.iter().map(|owed| owed.with_values().map(|(_, owes)| owes.0).sum()).collect()
/// }
/// # let mut world = World::new();
/// # let [alice, bob] = [(); 2].map(|()| world.spawn_empty().id());
/// # world.insert_pair(bob, Owes(5), alice)?;
/// # assert_eq!(world.run_system_cached(debtors).unwrap(), [5]);
/// world.insert_pair(bob, Owes(3), alice)?;
/// assert_eq!(world.run_system_cached(debtors).unwrap(), [3]);
/// assert!(world.run_system_cached(debtors).unwrap().is_empty());
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
///
/// See [`AddedPair`].
pub struct ChangedPair<R: Relation>(PhantomData<fn() -> R>);

impl<R: Relation> ReadPairsFetch<'_, R> {
    /// Whether an entity that is alive has a target.
    #[inline]
    pub(super) fn is_source(&self, entity: Entity) -> bool {
        if let Some(are_sources) = self.are_sources() {
            return are_sources;
        }
        match self.upward {
            Some(upward) => upward.target(entity).is_some(),
            None => self.index.is_some_and(|index| index.has_any(entity)),
        }
    }

    #[inline]
    pub(super) fn is_target(&self, entity: Entity) -> bool {
        self.index.is_some_and(|index| index.is_target(entity))
    }

    fn is_newer(&self, tick: Tick) -> bool {
        tick.is_newer_than(self.last_run, self.this_run)
    }

    /// Whether the ticks of a pair of `source` are as wanted.
    #[inline(never)]
    fn any_pair(&self, source: Entity, wanted: impl Fn(Entity, PairTicks) -> bool) -> bool {
        let Some(index) = self.index else { return false };
        let mut targets = index.targets(source);
        targets.any(|target| index.ticks(source, target).is_some_and(|ticks| wanted(target, ticks)))
    }

    #[inline]
    fn any_added(&self, source: Entity) -> bool {
        // Mostly nothing was added: then comparing one tick is enough.
        self.index.is_some_and(|index| self.is_newer(index.newest(source)))
            && self.any_pair(source, |_, ticks| self.is_newer(ticks.inserted))
    }

    #[inline]
    fn any_changed(&self, source: Entity) -> bool {
        // As above, unless values may have been written in place.
        let may_be = self.index.is_some_and(|index| self.is_newer(index.newest(source)))
            || self.values_lent().is_some_and(|tick| self.is_newer(tick));
        may_be
            && self.any_pair(source, |target, ticks| {
                // Values that are written in place do not change the store.
                let written = || self.value_changed(source, target).is_some_and(|tick| self.is_newer(tick));
                self.is_newer(ticks.changed) || written()
            })
    }
}

query_filter!(
    [R: Relation] Unrelated<R>, reads ReadPairs<R, false>, prepare |_| (),
    matches |fetch: &mut ReadPairsFetch<'_, R>, entity| !fetch.is_source(entity)
);

query_filter!(
    [R: Relation] RootOf<R>, reads ReadPairs<R, false>, prepare |_| (),
    matches |fetch: &mut ReadPairsFetch<'_, R>, entity| fetch.is_target(entity) && !fetch.is_source(entity)
);

query_filter!(
    [R: Relation] LeafOf<R>, reads ReadPairs<R, false>, prepare |_| (),
    matches |fetch: &mut ReadPairsFetch<'_, R>, entity| fetch.is_source(entity) && !fetch.is_target(entity)
);

query_filter!(
    [R: Relation] AddedPair<R>, reads ReadPairs<R, false>, prepare track_pair_changes::<R>,
    matches |fetch: &mut ReadPairsFetch<'_, R>, entity| fetch.any_added(entity)
);

query_filter!(
    [R: Relation] ChangedPair<R>, reads ReadPairs<R, true>, prepare track_pair_changes::<R>,
    matches |fetch: &mut ReadPairsFetch<'_, R>, entity| fetch.any_changed(entity)
);
