//! Rows that a system keeps, in groups and in order.

use super::{
    expr::{Following, LiveExpr},
    order::{KeptOrder, by_component},
    param::{LiveQuery, LiveRows},
};
use crate::{
    expr::{ExprQuery, ExprRunError, Expression, GroupRelation, Row, RowMut, WorldAccess},
    ops::Followed,
    relation::Relation,
    store::PairReader,
};
use alloc::vec::Vec;
use bevy_ecs::{
    change_detection::{MAX_CHANGE_AGE, Tick},
    component::{Component, ComponentId},
    entity::Entity,
    query::{QueryData, ROQueryItem},
};
use bevy_platform::sync::{Mutex, PoisonError};
use core::{any::TypeId, cmp::Ordering};

/// What rows are grouped or sorted by.
#[derive(Clone, Copy, PartialEq)]
enum Key {
    Relation(Followed),
    /// A function, and the component that is passed to it.
    Function(Option<ComponentId>, TypeId),
    /// A function that holds values counts as another one each time.
    Closure,
}

impl Key {
    fn of_function<F: 'static>(component: Option<ComponentId>, _: &F) -> Self {
        if size_of::<F>() == 0 { Self::Function(component, TypeId::of::<F>()) } else { Self::Closure }
    }

    fn is_same(self, other: Option<Self>) -> bool {
        self != Self::Closure && Some(self) == other
    }
}

/// Whether the system has set it in this run, and the key that rows are kept by.
#[derive(Default, Clone, Copy)]
struct OrderPart {
    asked: bool,
    key: Option<Key>,
}

/// The order in which a system keeps rows, and how far the changes that it depends on were read.
#[derive(Default)]
pub(super) struct SystemOrder {
    group: OrderPart,
    sort: OrderPart,
    relation: Option<Followed>,
    pairs: PairReader,
    component: Option<ComponentId>,
    /// When rows were put in order last.
    put_at: Tick,
    /// Rows were put in order since this run began, and since the order was changed.
    is_put: bool,
}

impl SystemOrder {
    /// Starts a run. An order that was not used in the run before is not kept any longer.
    pub(super) fn start(&mut self, live: &mut LiveExpr) {
        if !self.is_put && live.order().is_some() {
            live.clear_order();
            *self = Self::default();
        }
        (self.group.asked, self.sort.asked, self.is_put) = (false, false, false);
    }

    /// Drops what was not asked for, and puts rows in order.
    fn put<E: Expression, D: QueryData + 'static>(
        &mut self,
        live: &mut LiveExpr,
        query: &ExprQuery<'_, '_, E, D>,
        following: &Mutex<Following>,
    ) {
        if self.is_put {
            return;
        }
        if !self.group.asked && self.group.key.take().is_some() {
            self.relation = None;
            live.clear_group();
        }
        if !self.sort.asked && self.sort.key.take().is_some() {
            self.component = None;
            live.set_sort(None, None);
        }
        if live.order().is_none() {
            // All rows are one group.
            live.clear_group();
        }
        let now = query.this_run();
        // What the system wrote itself after that has the same tick.
        let since = Tick::new(self.put_at.get().wrapping_sub(1));
        let is_late = now.get().wrapping_sub(since.get()) > MAX_CHANGE_AGE / 2;
        let mut touched = Vec::new();
        let mut is_known = self.relation.is_none_or(|followed| {
            let is_read = read_pairs(&mut self.pairs, followed, query.access(), now, &mut touched);
            if !is_read {
                following.lock().unwrap_or_else(PoisonError::into_inner).request_pairs(followed);
            }
            is_read
        });
        is_known &= self.component.is_none_or(|component| {
            !is_late && query.for_each_changed(component, (since, now), |entity| touched.push(entity))
        });
        if let Some(order) = live.order_parts().0 {
            order.clear_touched();
            order.touch(is_known.then(|| touched.into_iter()));
        }
        live.arrange(query.access());
        (self.put_at, self.is_put) = (now, true);
    }
}

/// Adds the sources whose first target may be another. Returns false if that is not known.
fn read_pairs(
    pairs: &mut PairReader,
    followed: Followed,
    access: WorldAccess<'_>,
    now: Tick,
    touched: &mut Vec<Entity>,
) -> bool {
    let relation = access.store().and_then(|store| Some((store, followed.relation(store)?)));
    let Some((store, id)) = relation else {
        pairs.start_anew();
        return false;
    };
    let changes = pairs.advance::<()>(store, id, None, now);
    touched.extend(changes.unwrap_or_default().iter().map(|change| change.source));
    changes.is_some()
}

/// # Groups and order
///
/// As for [`LiveExpr`](super::LiveExpr#groups-and-order): rows are kept in groups and in order, and only those move that were
/// recomputed, or whose group or place may be another. The system asks for them in each run, as with [`ExprQuery`];
/// they are kept from run to run as long as it asks for the same. A function that holds values, such as a closure with
/// captures, counts as another one each time: then all rows are put in order again.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{live::LiveQuery, prelude::*};
/// #[derive(Component)]
/// struct Actor;
/// #[derive(Component)]
/// struct Thoughts(u32);
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct InCell;
/// #[derive(Resource)]
/// struct Near(Vec<Entity>);
///
/// #[derive(Expression)]
/// #[expr("Actor, (InCell, *)")]
/// struct Actors;
///
/// fn think(mut actors: LiveQuery<Actors, &mut Thoughts>, near: Res<Near>) -> Result {
///     actors.group_by::<InCell>()?;
///     for cell in &near.0 {
///         actors.for_each_in_group_mut(cell.to_bits(), |mut thoughts, _| thoughts.0 += 1);
///     }
///     Ok(())
/// }
/// # let mut world = World::new();
/// # world.register_component_name::<Actor>("Actor");
/// # world.register_relation::<InCell>()?;
/// # let [near, far] = [(); 2].map(|()| world.spawn_empty().id());
/// # world.insert_resource(Near(vec![near]));
/// # let actors = [near, far].map(|cell| world.spawn((Actor, Thoughts(0), Pair(InCell, cell))).id());
/// # Schedule::default().add_systems(think).run(&mut world);
/// # assert_eq!(actors.map(|actor| world.get::<Thoughts>(actor).unwrap().0), [1, 0]);
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
///
/// Sorted by a component, in groups by a number or by a relation that is known at run time, and which groups are new:
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{live::LiveQuery, prelude::*};
/// #[derive(Component)]
/// struct Speed(u32);
///
/// #[derive(Expression)]
/// #[expr("Speed")]
/// struct Ships;
///
/// fn sorted(mut ships: LiveQuery<Ships>) -> Result<Vec<u32>> {
///     ships.order_by::<Speed>(|a, b| a.0.cmp(&b.0))?;
///     Ok(ships.group(0).map(|row| row.get::<Speed>(0).unwrap().0).collect())
/// }
///
/// fn by_parity(mut ships: LiveQuery<Ships, &Speed>) -> Result<[usize; 2]> {
///     ships.group_by_fn(|row| row.get::<Speed>(0).map(|speed| u64::from(speed.0 % 2)))?;
///     assert_eq!(ships.groups().len(), 2);
///     assert_eq!(ships.appeared_groups().len(), 2); // all, in the first run
///     assert!(ships.emptied_groups().is_empty());
///     Ok([0, 1].map(|group| ships.iter_group(group).count()))
/// }
///
/// fn by_relation(In([docked_to, port]): In<[Entity; 2]>, mut ships: LiveQuery<Ships>) -> Result<usize> {
///     ships.group_by_id(docked_to)?;
///     Ok(ships.group(port.to_bits()).len())
/// }
/// # let mut world = World::new();
/// # world.register_component_name::<Speed>("Speed");
/// # let docked_to = world.spawn_relation("DockedTo", RelationTraits::new())?;
/// # let port = world.spawn_empty().id();
/// # let ships = [3, 1, 2].map(|speed| world.spawn(Speed(speed)).id());
/// # world.insert_pair_by_id(ships[0], (docked_to, port))?;
/// # let (found, groups): (Vec<u32>, [usize; 2]) =
/// #     (world.run_system_cached(sorted)?, world.run_system_cached(by_parity)?);
/// # assert_eq!((found, groups), (vec![1, 2, 3], [1, 2]));
/// # let docked: usize = world.run_system_cached_with(by_relation, [docked_to, port])?;
/// # assert_eq!(docked, 1);
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
impl<'s, E: Expression, D: QueryData + 'static> LiveQuery<'_, 's, E, D> {
    /// Keeps rows in groups by the target that `$this` has in a relation, the first if it has several; see
    /// [`LiveExpr::group_by`](super::LiveExpr::group_by).
    ///
    /// # Errors
    /// If rows come in order of depth: a term has `cascade`.
    pub fn group_by<R: Relation>(&mut self) -> Result<&mut Self, ExprRunError> {
        self.group_by_relation(Followed::of::<R>(), GroupRelation::of::<R>())
    }

    /// [`group_by`](Self::group_by) for any relation.
    ///
    /// # Errors
    /// As for [`group_by`](Self::group_by), and if it is no relation, or no longer one.
    pub fn group_by_id(&mut self, relation: Entity) -> Result<&mut Self, ExprRunError> {
        let by = GroupRelation::Entity(relation);
        by.check(self.query.access())?;
        let store = self.query.access().store().ok_or(ExprRunError::NoPairs)?;
        self.group_by_relation(Followed::of_entity(store, relation), by)
    }

    fn group_by_relation(
        &mut self,
        followed: Followed,
        by: GroupRelation,
    ) -> Result<&mut Self, ExprRunError> {
        self.set_grouping(Key::Relation(followed), Some(followed), by.group_of())
    }

    /// [`group_by`](Self::group_by) with any number for each row; 0 for those without one. The function is called when a row is
    /// recomputed, so its result should depend on the variables and fields of the row alone.
    ///
    /// # Errors
    /// As for [`group_by`](Self::group_by).
    pub fn group_by_fn(
        &mut self,
        group: impl Fn(Row<'_>) -> Option<u64> + Send + Sync + 'static,
    ) -> Result<&mut Self, ExprRunError> {
        self.set_grouping(Key::of_function(None, &group), None, group)
    }

    fn set_grouping(
        &mut self,
        key: Key,
        followed: Option<Followed>,
        group: impl Fn(Row<'_>) -> Option<u64> + Send + Sync + 'static,
    ) -> Result<&mut Self, ExprRunError> {
        let LiveRows { live, order, .. } = &mut *self.rows;
        if !key.is_same(order.group.key) {
            live.set_group(group, None)?;
            (order.relation, order.is_put) = (followed, false);
            order.pairs.start_anew();
        }
        order.group = OrderPart { asked: true, key: Some(key) };
        Ok(self)
    }

    /// Keeps the rows of each group, or all if there are none, sorted by a component of `$this`, which a term of the expression
    /// has to read there. They are read by [`group`](Self::group) and [`iter_group`](Self::iter_group), whose number is 0 if there
    /// are no groups. [`rows`](Self::rows) come in any order all the same. Rows without the component come first; those that compare
    /// equal come in any order.
    ///
    /// # Errors
    /// If no term reads the component on `$this`.
    ///
    /// # Panics and complexity
    /// As for [`LiveExpr::order_by`](super::LiveExpr::order_by).
    pub fn order_by<T: Component>(
        &mut self,
        compare: impl Fn(&T, &T) -> Ordering + Send + Sync + 'static,
    ) -> Result<&mut Self, ExprRunError> {
        let component = self.query.component_read_on_this::<T>()?;
        let key = Key::of_function(Some(component), &compare);
        let LiveRows { live, order, .. } = &mut *self.rows;
        if !key.is_same(order.sort.key) {
            live.set_sort(Some(by_component(compare)), None);
            (order.component, order.is_put) = (Some(component), false);
        }
        order.sort = OrderPart { asked: true, key: Some(key) };
        Ok(self)
    }

    /// Puts rows in order, and returns the order.
    fn ordered(&mut self) -> (&Self, &KeptOrder) {
        let LiveRows { live, order, .. } = &mut *self.rows;
        order.put(live, &self.query, self.following);
        let this = &*self;
        (this, this.rows.live.order().expect("there is one by now"))
    }

    /// The groups that have rows, in any order. Rows that are not in groups are in group 0.
    pub fn groups(&mut self) -> impl ExactSizeIterator<Item = u64> {
        self.ordered().1.groups()
    }

    /// The groups that have rows now, and had none when the system asked for groups in the run before. All, if it did not.
    pub fn appeared_groups(&mut self) -> &[u64] {
        self.ordered().1.appeared()
    }

    /// The groups that had rows when the system asked for groups in the run before, and have none now.
    pub fn emptied_groups(&mut self) -> &[u64] {
        self.ordered().1.emptied()
    }

    /// The rows of one group, in order if there is one. There are none if there is no such group.
    ///
    /// # Complexity
    /// O(1), and O(1) for each.
    pub fn group(&mut self, group: u64) -> impl ExactSizeIterator<Item = Row<'_>> {
        let (this, order) = self.ordered();
        let kept = this.rows.live.kept().1;
        let row = this.reader(kept.batch());
        order.list(group).iter().map(move |&id| row(kept.row_of_id(id)))
    }

    /// [`group`](Self::group) with the data of `$this`, to be read. Rows of which `$this` does not have it, and rows without
    /// `$this`, are left out.
    pub fn iter_group(&mut self, group: u64) -> impl Iterator<Item = (ROQueryItem<'_, 's, D>, Row<'_>)> {
        let (this, order) = self.ordered();
        let kept = this.rows.live.kept().1;
        let (row, mut data) = (this.reader(kept.batch()), this.query.reader());
        order.list(group).iter().filter_map(move |&id| {
            let row = row(kept.row_of_id(id));
            Some((data.get(row.this()?)?, row))
        })
    }

    /// Calls a function with the data of `$this`, and the row, to be written, of all rows that
    /// [`iter_group`](Self::iter_group) has.
    pub fn for_each_in_group_mut(&mut self, group: u64, each: impl FnMut(D::Item<'_, 's>, RowMut<'_>)) {
        self.ordered();
        let Self { query, rows, .. } = self;
        let (executor, kept) = rows.live.kept();
        let list = rows.live.order().map_or(&[][..], |order| order.list(group));
        let numbers = list.iter().map(|&id| kept.row_of_id(id));
        query.for_some_kept_mut((executor, kept.batch()), numbers, each);
    }
}
