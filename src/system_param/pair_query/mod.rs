//! The system parameter [`PairQuery`].
//!
//! [`state`] declares the access and decides what may overlap, [`ends`] gives the data of both ends of pairs in
//! loops over whole tables and lists, [`iter`] does the same one pair at a time, [`parallel`] on several threads.
//! [`targets`] gives each target with the data of its sources.
#![expect(unsafe_code, reason = "a mutable iterator relies on what only its maker can check")]

mod ends;
mod iter;
mod parallel;
mod state;
mod targets;

pub use iter::{PairIter, PairIterMut};
pub use targets::{PairTargetIter, TargetSources};

use super::Pairs;
use crate::{
    fetch::SharedData,
    relation::{ExclusiveRelation, Relation},
    store::RelationIndex,
};
use bevy_ecs::{
    entity::Entity,
    query::{IterQueryData, QueryData, QueryFilter, ReadOnlyQueryData},
};
use core::any::type_name;
use ends::{Ends, SourceLocations};

/// Iterates over pairs of relation type `R` with data of both ends: a system parameter.
///
/// There is one row per pair: the data `S` of its source, a [`PairEdge`] with source, target and value of the pair, and the
/// data `T` of its target. Either may be mutable. `F` filters sources, `TF` targets. As in a `Query`, disabled entities are
/// left out, on both sides.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct DockedTo {
///     flow: f32,
/// }
///
/// #[derive(Component)]
/// struct Fuel(f32);
///
/// #[derive(Component)]
/// struct Depot {
///     open: bool,
/// }
///
/// fn refuel(mut docked: PairQuery<DockedTo, &mut Fuel, &Depot>) {
///     for (mut fuel, edge, depot) in &mut docked {
///         if depot.open {
///             fuel.0 += edge.value().map_or(0.0, |docked| docked.flow);
///         }
///     }
/// }
/// # let (mut world, mut schedule) = (World::new(), Schedule::default());
/// # let depot = world.spawn(Depot { open: true }).id();
/// # let ship = world.spawn((Fuel(1.0), pairs![(DockedTo { flow: 2.0 }, depot)])).id();
/// # schedule.add_systems(refuel).run(&mut world);
/// # assert_eq!(world.get::<Fuel>(ship).unwrap().0, 3.0);
/// ```
///
/// # Forms
///
/// | form | for |
/// |---|---|
/// | [`for_each`](Self::for_each) | everything; the fastest |
/// | [`iter_lending`](Self::iter_lending) and [`fetch_next`](PairIter::fetch_next) | everything, one pair at a time |
/// | [`iter`](Self::iter), `in &query` | read-only `S` and `T` |
/// | [`iter_mut`](Self::iter_mut), `in &mut query` | exclusive relations, read-only `T`, no overlap |
/// | [`par_for_each`](Self::par_for_each) | read-only `T`, no overlap |
/// | [`for_each_target`](Self::for_each_target), [`iter_targets_lending`](Self::iter_targets_lending) | read-only `S`: each target with its sources |
///
/// A source with several pairs comes once per pair, and so does a target. An iterator could then return the same `&mut`
/// twice. Mutable iterators therefore write only the sources of exclusive relations, and in the other forms the borrow of
/// a row ends before the next one.
///
/// Each form goes over all pairs, or over those of one end: [`of_source`](Self::of_source),
/// [`of_target`](Self::of_target).
///
/// # Overlap
///
/// `S` may write a component that `T` reads: `PairQuery<Drains, &mut Fuel, &Fuel>`. Such a query leaves out pairs
/// of an entity with itself, and has neither a mutable iterator nor a parallel form. So does one in which `T` writes
/// what `S` reads or writes. What `S`, `T` and the filters read of third entities must not be written by `S` or `T`.
///
/// # Order
///
/// Pairs come in no particular order, but those of one source in insertion order, and those of one target in the
/// order of [`sources`](crate::traverse::RelationView::sources), except from the mutable iterator and in parallel. The sources of
/// a relation with `storage = "Fragmenting"` come table by table, unless it is `ordered`.
///
/// # Complexity
///
/// Over all pairs, O(entities that match `S` and `F`) or O(pairs), whichever is less, and O(1) per pair. Of one end,
/// O(1) per pair. [`for_each`](Self::for_each) over targets caches where their sources are, with 32 bytes per target, and eight
/// per pair where the sources were not spawned one after the other.
///
/// # Panics
///
/// When the system is initialised, if the traits of `R` are rejected, if `S` or `T` writes what is read of third entities, or
/// if it conflicts with another parameter.
pub struct PairQuery<'w, 's, R, S, T = (), F = (), TF = ()>
where
    R: Relation,
    S: QueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    pairs: Pairs<'w, 's, R>,
    ends: Ends<'w, 's, S, T, F, TF>,
    places: &'s mut SourceLocations,
    scope: QueryScope,
}

/// Which pairs to go over.
#[derive(Clone, Copy)]
enum QueryScope {
    All,
    Source(Entity),
    Target(Entity),
}

/// One pair, as [`PairQuery`] returns it.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Relation)]
/// struct Owes(u32);
///
/// # let mut world = World::new();
/// # let bank = world.spawn_empty().id();
/// # let ann = world.spawn(Pair(Owes(5), bank)).id();
/// fn debts(query: PairQuery<Owes, ()>) -> Vec<(Entity, Entity, u32)> {
///     query.iter().map(|((), edge, ())| (edge.source, edge.target, edge.value().unwrap().0)).collect()
/// }
/// assert_eq!(world.run_system_cached(debts).unwrap(), [(ann, bank, 5)]);
/// ```
pub struct PairEdge<'a, R: Relation> {
    /// The entity that has the pair.
    pub source: Entity,
    /// The entity that the pair points to.
    pub target: Entity,
    /// The ends as they were found: the fields above may have been assigned to.
    found: (Entity, Entity),
    pairs: &'a Pairs<'a, 'a, R>,
}

impl<'a, R: Relation> PairEdge<'a, R> {
    /// Of a pair that is there.
    #[inline(always)]
    fn new(pairs: &'a Pairs<'a, 'a, R>, source: Entity, target: Entity) -> Self {
        Self { source, target, found: (source, target), pairs }
    }

    /// The value of the pair, if the relation has values. It is looked up here, in constant time.
    #[inline]
    pub fn value(&self) -> Option<&'a R> {
        match (self.source, self.target) == self.found {
            true => self.pairs.known_value(self.source, self.target),
            false => self.pairs.get(self.source, self.target),
        }
    }
}

impl<R: Relation> Clone for PairEdge<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Relation> Copy for PairEdge<'_, R> {}

impl<R: Relation> core::fmt::Debug for PairEdge<'_, R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PairEdge").field("source", &self.source).field("target", &self.target).finish()
    }
}

impl<'w, 's, R, S, T, F, TF> PairQuery<'w, 's, R, S, T, F, TF>
where
    R: Relation,
    S: QueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    /// All pairs of the relation, whatever the filters and the data of the ends are.
    pub fn pairs(&self) -> &Pairs<'w, 's, R> {
        &self.pairs
    }

    /// This query over the pairs of one source.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # #[derive(Relation)]
    /// # struct Carries;
    /// # #[derive(Component)]
    /// # struct Weight(f32);
    /// # #[derive(Component)]
    /// # struct Load(f32);
    /// fn weigh(mut carried: PairQuery<Carries, (), &Weight>, mut carriers: Query<(Entity, &mut Load)>) {
    ///     for (carrier, mut load) in &mut carriers {
    ///         load.0 = carried.of_source(carrier).iter().map(|(_, _, weight)| weight.0).sum();
    ///     }
    /// }
    /// # let (mut world, mut schedule) = (World::new(), Schedule::default());
    /// # let items = [1.0, 2.5].map(|weight| world.spawn(Weight(weight)).id());
    /// # let mule = world.spawn((Load(0.0), pairs![(Carries, items[0]), (Carries, items[1])])).id();
    /// # schedule.add_systems(weigh).run(&mut world);
    /// # assert_eq!(world.get::<Load>(mule).unwrap().0, 3.5);
    /// ```
    pub fn of_source(&mut self, source: Entity) -> PairQuery<'_, '_, R, S, T, F, TF> {
        self.of(QueryScope::Source(source))
    }

    /// This query over the pairs of one target.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # #[derive(Relation)]
    /// # struct Carries;
    /// # #[derive(Component)]
    /// # struct Strong;
    /// # let mut world = World::new();
    /// let rope = world.spawn_empty().id();
    /// let mules = [true, false].map(|strong| {
    ///     let mule = world.spawn(Pair(Carries, rope)).id();
    ///     if strong { world.entity_mut(mule).insert(Strong).id() } else { mule }
    /// });
    /// let strong = world.run_system_cached_with(
    ///     |In(item), mut carried: PairQuery<Carries, Entity, (), With<Strong>>| -> Vec<Entity> {
    ///         assert_eq!(carried.pairs().source_count(item), 2); // filtered by nothing
    ///         carried.of_target(item).iter().map(|(mule, _, ())| mule).collect()
    ///     },
    ///     rope,
    /// );
    /// assert_eq!(strong.unwrap(), [mules[0]]);
    /// ```
    pub fn of_target(&mut self, target: Entity) -> PairQuery<'_, '_, R, S, T, F, TF> {
        self.of(QueryScope::Target(target))
    }

    fn of(&mut self, scope: QueryScope) -> PairQuery<'_, '_, R, S, T, F, TF> {
        PairQuery { pairs: self.pairs, ends: self.ends.shorter(), places: self.places, scope }
    }

    /// Several rows cannot be alive at once if one may write what another reads.
    fn refuse_overlap(&self, form: &str) {
        assert!(
            !self.ends.overlap,
            "`{form}` is not for `{}`: the data of sources writes what is read of targets. Use `for_each` or `iter_lending`",
            type_name::<Self>(),
        );
    }
}

impl<'s, R, S, T, F, TF> PairQuery<'_, 's, R, S, T, F, TF>
where
    R: Relation,
    S: QueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    /// Calls `each` with every pair and the data of its ends. Both may be written:
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Spring {
    ///     strength: f32,
    /// }
    ///
    /// # #[derive(Component)]
    /// # struct Position(f32);
    /// # #[derive(Component)]
    /// # struct Velocity(f32);
    /// type Body = (&'static Position, &'static mut Velocity);
    ///
    /// fn pull(mut springs: PairQuery<Spring, Body, Body>) {
    ///     springs.for_each(|(a, mut of_a), edge, (b, mut of_b)| {
    ///         let strength = edge.value().map_or(0.0, |spring| spring.strength);
    ///         of_a.0 += (b.0 - a.0) * strength;
    ///         of_b.0 -= (b.0 - a.0) * strength;
    ///     });
    /// }
    /// # let (mut world, mut schedule) = (World::new(), Schedule::default());
    /// # let [a, b, c] = [0.0, 2.0, 6.0].map(|at| world.spawn((Position(at), Velocity(0.0))).id());
    /// # world.insert_pair(a, Spring { strength: 0.5 }, b)?;
    /// # world.insert_pair(b, Spring { strength: 0.25 }, c)?;
    /// # schedule.add_systems(pull).run(&mut world);
    /// # assert_eq!([a, b, c].map(|body| world.get::<Velocity>(body).unwrap().0), [1.0, 0.0, -1.0]);
    /// # Ok::<(), BevyError>(())
    /// ```
    #[inline]
    pub fn for_each(&mut self, mut each: impl FnMut(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>)) {
        self.ends.visit(&self.pairs, self.scope, self.places, &mut each);
    }

    /// Goes over the pairs one at a time, with [`PairIter::fetch_next`].
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # #[derive(Relation)]
    /// # struct Feeds;
    /// # #[derive(Component)]
    /// # struct Stock(u32);
    /// fn feed(mut query: PairQuery<Feeds, &mut Stock>) {
    ///     let mut feeding = query.iter_lending();
    ///     while let Some((mut stock, _, _)) = feeding.fetch_next() {
    ///         let Some(left) = stock.0.checked_sub(1) else { break };
    ///         stock.0 = left;
    ///     }
    /// }
    /// # let (mut world, mut schedule) = (World::new(), Schedule::default());
    /// # let [a, b] = [0; 2].map(|_| world.spawn_empty().id());
    /// # let farmer = world.spawn((Stock(5), pairs![(Feeds, a), (Feeds, b)])).id();
    /// # schedule.add_systems(feed).run(&mut world);
    /// # assert_eq!(world.get::<Stock>(farmer).unwrap().0, 3);
    /// ```
    pub fn iter_lending(&mut self) -> PairIter<'_, 's, R, S, T, F, TF> {
        PairIter::new(&self.pairs, self.ends.shorter(), self.scope)
    }

    /// Iterates over the pairs, each with the data of its ends.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # #[derive(Relation)]
    /// # struct DockedTo;
    /// fn list(docked: PairQuery<DockedTo, &Name, &Name>) -> Vec<String> {
    ///     docked.iter().map(|(ship, _, port)| format!("{ship} in {port}")).collect()
    /// }
    /// # let mut world = World::new();
    /// let oslo = world.spawn(Name::new("Oslo")).id();
    /// world.spawn((Name::new("Kite"), Pair(DockedTo, oslo)));
    /// assert_eq!(world.run_system_cached(list).unwrap(), ["Kite in Oslo"]);
    /// ```
    pub fn iter(&self) -> PairIter<'_, 's, R, S, T, F, TF>
    where
        S: SharedData,
        T: SharedData,
    {
        PairIter::new(&self.pairs, self.ends.shorter(), self.scope)
    }

    /// Iterates over the pairs of an exclusive relation, each with the data of its ends.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// #[relation(exclusive)]
    /// struct DockedTo;
    /// #[derive(Component)]
    /// struct Fuel(u32);
    /// #[derive(Component)]
    /// struct Depot(u32);
    ///
    /// fn refuel(mut docked: PairQuery<DockedTo, &mut Fuel, &Depot>) {
    ///     for (mut fuel, _, depot) in docked.iter_mut().filter(|(fuel, ..)| fuel.0 == 0) {
    ///         fuel.0 = depot.0;
    ///     }
    /// }
    /// # let mut world = World::new();
    /// # let port = world.spawn(Depot(7)).id();
    /// # let ships = [0, 3].map(|fuel| world.spawn((Fuel(fuel), Pair(DockedTo, port))).id());
    /// # world.run_system_cached(refuel).unwrap();
    /// assert_eq!(ships.map(|ship| world.get::<Fuel>(ship).unwrap().0), [7, 3]);
    /// ```
    ///
    /// # Panics
    /// If `S` writes what `T` or `TF` reads of the same entities, see [overlap](Self#overlap); or if `R` is not
    /// exclusive, though its type says so.
    pub fn iter_mut(&mut self) -> PairIterMut<'_, 's, R, S, T, F, TF>
    where
        R: ExclusiveRelation,
        S: IterQueryData,
        T: SharedData,
    {
        self.refuse_overlap("iter_mut");
        assert!(
            self.pairs.index.is_none_or(RelationIndex::is_exclusive),
            "`{}` is an `ExclusiveRelation` but was not declared exclusive",
            type_name::<R>(),
        );
        // SAFETY: both was checked above.
        unsafe { PairIterMut::new(&self.pairs, self.ends.shorter(), self.scope) }
    }
}

/// Shows the pairs of the relation, filtered by nothing, without the data of their ends.
impl<R, S, T, F, TF> core::fmt::Debug for PairQuery<'_, '_, R, S, T, F, TF>
where
    R: Relation,
    S: QueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PairQuery").field("pairs", &self.pairs).finish_non_exhaustive()
    }
}

impl<'a, 's, R, S, T, F, TF> IntoIterator for &'a PairQuery<'_, 's, R, S, T, F, TF>
where
    R: Relation,
    S: ReadOnlyQueryData,
    T: ReadOnlyQueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    type Item = (S::Item<'a, 's>, PairEdge<'a, R>, T::Item<'a, 's>);
    type IntoIter = PairIter<'a, 's, R, S, T, F, TF>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, 's, R, S, T, F, TF> IntoIterator for &'a mut PairQuery<'_, 's, R, S, T, F, TF>
where
    R: ExclusiveRelation,
    S: IterQueryData,
    T: ReadOnlyQueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    type Item = (S::Item<'a, 's>, PairEdge<'a, R>, T::Item<'a, 's>);
    type IntoIter = PairIterMut<'a, 's, R, S, T, F, TF>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
