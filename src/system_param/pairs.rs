//! The system parameter [`Pairs`].
#![expect(unsafe_code, reason = "Bevy's `SystemParam` is an unsafe trait")]

use super::conflict::refuse_conflict;
use crate::{
    fetch,
    ops::relation_id,
    relation::{KeyedRelation, Relation},
    store::{PairData, PairStore, PairTicks, RelationIndex},
    traverse::{ChildrenAccess, RelationIter, RelationView, is_child_of},
};
use bevy_ecs::{
    change_detection::{Res, Tick},
    entity::Entity,
    hierarchy::{ChildOf, Children},
    query::QueryState,
    system::{Query, ReadOnlySystemParam, SystemAccess, SystemMeta, SystemParam, SystemParamValidationError},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::{any::Any, fmt, ops::Deref};

/// Reads the pairs of relation type `R`: a system parameter.
///
/// Topology is read through [`RelationView`], to which this dereferences; values with [`get`](Self::get).
/// Disabled entities are included.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct DockedTo;
///
/// #[derive(Component)]
/// struct Berths(usize);
///
/// fn full(docked: Pairs<DockedTo>, stations: Query<(Entity, &Berths)>) -> Vec<Entity> {
///     let is_full = |&(station, berths): &(Entity, &Berths)| docked.source_count(station) >= berths.0;
///     stations.iter().filter(is_full).map(|(station, _)| station).collect()
/// }
/// # let mut world = World::new();
/// # let [small, large] = [1, 2].map(|berths| world.spawn(Berths(berths)).id());
/// # for station in [small, large] {
/// #     world.spawn(Pair(DockedTo, station));
/// # }
/// # assert_eq!(world.run_system_cached(full).unwrap(), [small]);
/// ```
///
/// On a world: [`WorldPairExt::pairs`](crate::WorldPairExt::pairs).
///
/// # Panics
/// When the system is initialised, if the traits of `R` are rejected, or a parameter before it writes the values of `R`.
pub struct Pairs<'w, 's, R: Relation> {
    pub(super) index: Option<&'w RelationIndex>,
    /// Of sources that are alive; see [`PairStore::compares`].
    pub(super) compare: bool,
    view: RelationView<'w, 's>,
    values: Values<'w, 's, R>,
    /// Against which ticks are compared.
    now: Tick,
}

impl<R: Relation> Clone for Pairs<'_, '_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Relation> Copy for Pairs<'_, '_, R> {}

/// Where the values of pairs of `R` are.
enum Values<'w, 's, R: Relation> {
    Nowhere,
    /// In rows that the index names.
    Column(&'w PairData<R>),
    Component(Query<'w, 's, R::Component>),
    World(&'w World),
}

impl<R: Relation> Clone for Values<'_, '_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Relation> Copy for Values<'_, '_, R> {}

impl<'w, 's, R: Relation> Pairs<'w, 's, R> {
    /// Assembles the parameter from what was fetched of the world.
    fn new(
        store: Option<&'w PairStore>,
        column: Option<&'w PairData<R>>,
        children: Option<ChildrenAccess<'w, 's>>,
        adopted: Values<'w, 's, R>,
        now: Tick,
    ) -> Self {
        let known = store.and_then(|store| Some((store, store.registry().known::<R>()?)));
        let Some((store, id)) = known else {
            return Self {
                index: None,
                compare: true,
                view: RelationView::NONE,
                values: Values::Nowhere,
                now,
            };
        };
        let values = match column {
            _ if store.registry().entry(id).adopted.is_some() => adopted,
            Some(column) => Values::Column(column),
            None => Values::Nowhere,
        };
        let (index, compare) = (Some(store.relation(id)), store.compares(id));
        Self { index, compare, view: RelationView::new(index, children), values, now }
    }

    pub(crate) fn of_world(world: &'w World) -> Self {
        let children = is_child_of::<R>().then_some(ChildrenAccess::World(world));
        let now = world.read_change_tick();
        if is_child_of::<R>() && fetch::store(world).is_none_or(PairStore::lacks_children) {
            let view = RelationView::of_hierarchy(world);
            return Self { index: None, compare: true, view, values: Values::World(world), now };
        }
        let pairs = Self::new(fetch::store(world), world.get_resource(), children, Values::World(world), now);
        Self { view: pairs.view.named_in(world), ..pairs }
    }

    /// The value of a pair. `None` if there is no such pair, or if the relation has no values, as tag relations have
    /// none: test their pairs with [`has`](RelationView::has).
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation, PartialEq, Debug)]
    /// struct Owes(u32);
    ///
    /// # let mut world = World::new();
    /// # let [ann, bank] = [(); 2].map(|()| world.spawn_empty().id());
    /// # world.insert_pair(ann, Owes(7), bank)?;
    /// let debts = world.pairs::<Owes>();
    /// assert_eq!(debts.get(ann, bank), Some(&Owes(7)));
    /// assert_eq!(debts.get(bank, ann), None);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Complexity
    /// Constant.
    #[inline]
    pub fn get(&self, source: Entity, target: Entity) -> Option<&R> {
        match &self.values {
            Values::Column(column) => column.get(self.index?.row(source, target)?),
            Values::Component(query) if self.has(source, target) => R::value_in(query.get(source).ok()?),
            Values::World(world) if is_child_of::<R>() && self.has(source, target) => {
                (world.get::<ChildOf>(source)? as &dyn Any).downcast_ref()
            }
            Values::World(world) if self.has(source, target) => {
                let store = fetch::store(world)?;
                let adopted = store.registry().entry(store.registry().of_type::<R>()?).adopted?;
                ((adopted.get)(world, source)? as &dyn Any).downcast_ref()
            }
            _ => None,
        }
    }

    /// The value of a pair that is known to be there.
    #[inline]
    pub(super) fn known_value(&self, source: Entity, target: Entity) -> Option<&R> {
        match &self.values {
            Values::Column(column) => column.get(self.index?.row_of_known(source, target)?),
            _ => self.get(source, target),
        }
    }
}

impl<R: Relation> Pairs<'_, '_, R> {
    /// Every pair with its value, target by target. Nothing if the relation has no values.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Owes(u32);
    ///
    /// # let mut world = World::new();
    /// # let [ann, ben, bank] = [(); 3].map(|()| world.spawn_empty().id());
    /// world.insert_pair_batch([(ann, Owes(7), bank), (ben, Owes(2), bank), (ben, Owes(1), ann)])?;
    /// let debts = world.pairs::<Owes>();
    /// assert_eq!(debts.values().map(|(_debtor, _creditor, debt)| debt.0).sum::<u32>(), 10);
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn values(&self) -> impl Iterator<Item = (Entity, Entity, &R)> {
        self.iter().filter_map(|(source, target)| Some((source, target, self.known_value(source, target)?)))
    }

    /// The targets of `source`, in insertion order, with the values of the pairs.
    ///
    /// ```
    /// # use bevy_ecs::{prelude::*, system::RunSystemOnce};
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Owes(u32);
    ///
    /// # let mut world = World::new();
    /// # let (alice, bob) = (world.spawn_empty().id(), world.spawn_empty().id());
    /// # let cleo = world.spawn(pairs![(Owes(7), alice), (Owes(3), bob)]).id();
    /// # let sum_of_debts = move |debts: Pairs<Owes>| {
    /// let sum: u32 = debts.values_of(cleo).map(|(_creditor, debt)| debt.0).sum();
    /// assert_eq!(sum, 10);
    /// # };
    /// # world.run_system_once(sum_of_debts).unwrap();
    /// ```
    pub fn values_of(&self, source: Entity) -> impl Iterator<Item = (Entity, &R)> {
        self.targets(source).filter_map(move |target| Some((target, self.known_value(source, target)?)))
    }

    /// The sources of `target`, in the order of [`sources`](RelationView::sources), with the values of the pairs:
    /// [`values_of`](Self::values_of) from the other end.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Owes(u32);
    ///
    /// # let mut world = World::new();
    /// # let [ann, ben, bank] = [(); 3].map(|()| world.spawn_empty().id());
    /// world.insert_pair_batch([(ann, Owes(7), bank), (ben, Owes(2), bank), (ben, Owes(1), ann)])?;
    /// let debts = world.pairs::<Owes>();
    /// assert_eq!(debts.values_to(bank).map(|(_debtor, debt)| debt.0).sum::<u32>(), 9);
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn values_to(&self, target: Entity) -> impl Iterator<Item = (Entity, &R)> {
        self.sources(target).filter_map(move |source| Some((source, self.known_value(source, target)?)))
    }

    /// The target of `source`, if it has exactly one. Constant time.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Likes;
    ///
    /// # let mut world = World::new();
    /// # let [ann, ben, cy] = [(); 3].map(|()| world.spawn_empty().id());
    /// world.insert_pair_batch([(ann, Likes, ben), (ann, Likes, cy), (ben, Likes, cy)])?;
    /// let likes = world.pairs::<Likes>();
    /// assert_eq!((likes.single_target(ann), likes.single_target(ben)), (None, Some(cy)));
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn single_target(&self, source: Entity) -> Option<Entity> {
        if self.target_count(source) == 1 { self.target(source) } else { None }
    }

    /// The source of `target`, if it has exactly one. Constant time.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Likes;
    ///
    /// # let mut world = World::new();
    /// # let [ann, ben, cy] = [(); 3].map(|()| world.spawn_empty().id());
    /// world.insert_pair_batch([(ann, Likes, ben), (ann, Likes, cy), (ben, Likes, cy)])?;
    /// let likes = world.pairs::<Likes>();
    /// assert_eq!((likes.single_source(ben), likes.single_source(cy)), (Some(ann), None));
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn single_source(&self, target: Entity) -> Option<Entity> {
        if self.source_count(target) == 1 { self.sources(target).next() } else { None }
    }

    /// When a pair was inserted and changed, once ticks are
    /// [kept](crate::WorldPairExt::track_pair_changes) for the relation. A value that is written through
    /// [`PairsMut`](crate::PairsMut) counts as changed. `None` if there is no such pair, or no ticks are kept.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Likes;
    ///
    /// # let mut world = World::new();
    /// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.track_pair_changes::<Likes>();
    /// world.insert_pair(ann, Likes, ben)?;
    /// let likes = world.pairs::<Likes>();
    /// assert_eq!(likes.ticks(ann, ben).unwrap().inserted, world.read_change_tick());
    /// assert!(likes.ticks(ben, ann).is_none());
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn ticks(&self, source: Entity, target: Entity) -> Option<PairTicks> {
        let ticks = self.view.ticks(source, target)?;
        let Values::Column(column) = self.values else { return Some(ticks) };
        let changed = self.index?.row(source, target).and_then(|row| column.changed(row));
        Some(changed.map_or(ticks, |changed| ticks.or_changed(changed, self.now)))
    }
}

impl<R: KeyedRelation> Pairs<'_, '_, R> {
    /// The target of `source` whose pair has the key, and the value of the pair.
    ///
    /// ```
    /// # use bevy_ecs::{prelude::*, system::RunSystemOnce};
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// #[relation(key = u8)]
    /// struct Carries {
    ///     slot: u8,
    ///     count: u32,
    /// }
    ///
    /// # let mut world = World::new();
    /// # let arrows = world.spawn_empty().id();
    /// # let player = world.spawn(Pair(Carries { slot: 3, count: 12 }, arrows)).id();
    /// # let look = move |bar: Pairs<Carries>| {
    /// let (stack, carries) = bar.get_by_key(player, &3).unwrap();
    /// assert_eq!((stack, carries.count), (arrows, 12));
    /// assert_eq!(bar.target_by_key(player, &3), Some(arrows));
    /// assert!(bar.get_by_key(player, &4).is_none());
    /// # };
    /// # world.run_system_once(look).unwrap();
    /// ```
    ///
    /// # Complexity
    /// O(targets of `source`).
    pub fn get_by_key(&self, source: Entity, key: &R::Key) -> Option<(Entity, &R)> {
        self.values_of(source).find(|(_, value)| value.key() == key)
    }

    /// The target of `source` whose pair has the key.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// #[relation(key = u8)]
    /// struct Holds(u8);
    ///
    /// # let mut world = World::new();
    /// let arrows = world.spawn_empty().id();
    /// let player = world.spawn(Pair(Holds(3), arrows)).id();
    /// assert_eq!(world.pairs::<Holds>().target_by_key(player, &3), Some(arrows));
    /// ```
    ///
    /// # Complexity
    /// O(targets of `source`).
    pub fn target_by_key(&self, source: Entity, key: &R::Key) -> Option<Entity> {
        self.get_by_key(source, key).map(|(target, _)| target)
    }
}

impl<'w, 's, R: Relation> Deref for Pairs<'w, 's, R> {
    type Target = RelationView<'w, 's>;

    #[inline]
    fn deref(&self) -> &RelationView<'w, 's> {
        &self.view
    }
}

impl<'w, R: Relation> IntoIterator for &Pairs<'w, '_, R> {
    type Item = (Entity, Entity);
    type IntoIter = RelationIter<'w>;

    /// Every pair as `(source, target)`: [`iter`](RelationView::iter).
    fn into_iter(self) -> RelationIter<'w> {
        self.iter()
    }
}

/// Shows the pairs, without their values.
impl<R: Relation> fmt::Debug for Pairs<'_, '_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// What is fetched for every relation.
type Fetched<R> = (
    Option<Res<'static, PairStore>>,
    Option<Res<'static, PairData<R>>>,
    Query<'static, 'static, <R as Relation>::Component>,
);

/// State of [`Pairs`].
#[doc(hidden)]
pub struct PairsState<R: Relation> {
    fetched: <Fetched<R> as SystemParam>::State,
    children: Option<QueryState<&'static Children>>,
}

// SAFETY: every access goes through `Fetched` and a query for `Children`, whose own implementations declare it
// in `init_access` and perform it in `get_param`. Test: `pairs_conflict_with_what_writes_their_values`.
unsafe impl<R: Relation> SystemParam for Pairs<'_, '_, R> {
    type State = PairsState<R>;
    type Item<'w, 's> = Pairs<'w, 's, R>;

    fn init_state(world: &mut World) -> Self::State {
        relation_id::<R>(world);
        PairsState {
            fetched: <Fetched<R>>::init_state(world),
            children: is_child_of::<R>().then(|| QueryState::new(world)),
        }
    }

    fn init_access(state: &Self::State, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        let mut own = SystemAccess::default();
        <Fetched<R>>::init_access(&state.fetched, meta, &mut own, world);
        refuse_conflict::<R>(["Pairs", "reads", "writes"], &own, access, meta, world);
        <Fetched<R>>::init_access(&state.fetched, meta, access, world);
        if let Some(children) = &state.children {
            <Query<&'static Children>>::init_access(children, meta, access, world);
        }
    }

    unsafe fn get_param<'w, 's>(
        state: &'s mut Self::State,
        meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        tick: Tick,
    ) -> Result<Self::Item<'w, 's>, SystemParamValidationError> {
        // SAFETY: the access was declared by the same parameter in `init_access`, and `world` is the world of
        // this state, as the caller promises.
        let (store, column, query) =
            unsafe { <Fetched<R>>::get_param(&mut state.fetched, meta, world, tick)? };
        let children = match &mut state.children {
            // SAFETY: as above.
            Some(children) => Some(ChildrenAccess::Query(unsafe {
                <Query<&'static Children>>::get_param(children, meta, world, tick)?
            })),
            None => None,
        };
        let (store, column) = (store.map(Res::into_inner), column.map(Res::into_inner));
        Ok(Pairs::new(store, column, children, Values::Component(query), tick))
    }
}

// SAFETY: all of the fetched parameters only read.
unsafe impl<R: Relation> ReadOnlySystemParam for Pairs<'_, '_, R> {}
