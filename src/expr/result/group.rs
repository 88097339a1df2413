//! The order in which rows are wanted.

use super::{
    compiled::CompiledExpr,
    compiled::{GroupRelation, Groups, RowOrder, UnsortedRows, ascending},
    rows::Row,
};
use crate::{
    expr::{
        eval::WorldAccess,
        exec::{Batch, ExprRunError},
    },
    relation::Relation,
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::{component::Component, entity::Entity, world::World};
use core::{cmp::Ordering, fmt, ops::Range};

/// # Order
///
/// Rows come as they are found, unless one of these methods sets an order. Each run then collects and sorts all rows
/// before it returns the first one; [`first`](Self::first) and [`page`](Self::page) collect all rows, and sort those that they
/// return. Rows that compare equal stay in the order in which they were found.
impl CompiledExpr {
    /// Sorts rows by a component of `$this`. Those without it come first. With `cascade`, rows are sorted within a
    /// depth.
    ///
    /// # Panics
    /// A run may panic if the function is not a total order: for numbers use `f32::total_cmp`, not `partial_cmp`.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # #[derive(Component)]
    /// # struct Strength(u32);
    /// # let mut world = World::new();
    /// # let ship = world.entity_of::<Strength>().to_bits();
    /// # world.spawn_batch([3, 1, 2].map(Strength));
    /// let mut ships = PairExpr::parse(format!("#{ship}"))?.compile(&mut world)?;
    /// ships.order_by::<Strength>(|a, b| a.0.cmp(&b.0));
    /// let mut strengths = Vec::new();
    /// ships.for_each(&world, |row| strengths.extend(row.get::<Strength>(0).map(|strength| strength.0)))?;
    /// assert_eq!(strengths, [1, 2, 3]);
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    pub fn order_by<T: Component>(
        &mut self,
        compare: impl Fn(&T, &T) -> Ordering + Send + Sync + 'static,
    ) -> &mut Self {
        self.set_sort(move |found, order, first| {
            let read = found.access.reader::<T>();
            let value = |&row: &u32| found.row(row).this().and_then(&read);
            let mut values: Vec<_> = order.iter().map(|row| (value(row), *row)).collect();
            let by_value = |(a, _): &(Option<&T>, u32), (b, _): &(Option<&T>, u32)| match (a, b) {
                (Some(a), Some(b)) => compare(a, b),
                _ => a.is_some().cmp(&b.is_some()),
            };
            sort_first(&mut values, first, |&(_, row)| row, by_value);
            order.iter_mut().zip(values).for_each(|(to, (_, row))| *to = row);
        })
    }

    /// Sorts rows by `$this`: by index, and then by generation, ascending. (`Entity` itself is ordered otherwise.)
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # #[derive(Relation)]
    /// # #[relation(exclusive)]
    /// # struct DockedTo;
    /// # let mut world = World::new();
    /// # let docked_to = world.register_relation::<DockedTo>()?;
    /// # let [oslo, hull] = [(); 2].map(|()| world.spawn_empty().id());
    /// # let [kite, gull, tern] = [hull, oslo, hull].map(|port| world.spawn(Pair(DockedTo, port)).id());
    /// let mut docked = PairExpr::parse("(DockedTo, $port)")?.compile(&mut world)?;
    /// docked.order_by_entity();
    /// let mut ships = Vec::new();
    /// docked.for_each(&world, |row| ships.extend(row.this()))?;
    /// assert_eq!(ships, [kite, gull, tern]); // in the order in which they were spawned
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn order_by_entity(&mut self) -> &mut Self {
        self.set_sort(|found, order, first| {
            let key = |row: u32| found.row(row).this().map(ascending);
            sort_first(order, first, |&row| row, |&a, &b| key(a).cmp(&key(b)));
        })
    }

    /// Sorts rows with a function that compares rows, for example by variables or shared fields.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::expr::PairExpr;
    /// #[derive(Component)]
    /// struct Fuel(u32);
    /// #[derive(Relation)]
    /// struct DockedTo;
    ///
    /// # let mut world = World::new();
    /// # world.register_component_name::<Fuel>("Fuel").register_relation::<DockedTo>()?;
    /// # let [oslo, hull] = [(); 2].map(|()| world.spawn_empty().id());
    /// # for (fuel, port) in [(1, oslo), (4, hull), (2, oslo)] {
    /// #     world.spawn((Fuel(fuel), Pair(DockedTo, port)));
    /// # }
    /// let mut docked = PairExpr::parse("Fuel, (DockedTo, $port)")?.compile(&mut world)?;
    /// docked.order_by_fn(|a, b| b.get::<Fuel>(0).map(|fuel| fuel.0).cmp(&a.get::<Fuel>(0).map(|fuel| fuel.0)));
    /// assert_eq!(docked.first(&world)?.and_then(|row| row.var("port")), Some(hull));
    ///
    /// docked.clear_order();
    /// docked.order_by_entity();
    /// assert_eq!(docked.first(&world)?.and_then(|row| row.var("port")), Some(oslo));
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn order_by_fn(
        &mut self,
        compare: impl Fn(Row<'_>, Row<'_>) -> Ordering + Send + Sync + 'static,
    ) -> &mut Self {
        self.set_sort(move |found, order, first| {
            sort_first(order, first, |&row| row, |&a, &b| compare(found.row(a), found.row(b)));
        })
    }

    fn set_sort(
        &mut self,
        sort: impl Fn(UnsortedRows<'_>, &mut [u32], usize) + Send + Sync + 'static,
    ) -> &mut Self {
        self.order_mut().sort = Some(Box::new(sort));
        self
    }

    /// Puts rows into groups by the target that `$this` has in a relation, the first if it has several. The number of
    /// a group is [`Entity::to_bits`], or 0 for those without a target.
    ///
    /// Group 0 comes first, then the others in the order of their targets: by index, and then by generation, ascending.
    /// Rows that are sorted are sorted within each group.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # #[derive(Relation)]
    /// # #[relation(exclusive)]
    /// # struct DockedTo;
    /// # let mut world = World::new();
    /// # let docked_to = world.register_relation::<DockedTo>()?;
    /// # let [oslo, hull] = [(); 2].map(|()| world.spawn_empty().id());
    /// # let [kite, gull, tern] = [hull, oslo, hull].map(|port| world.spawn(Pair(DockedTo, port)).id());
    /// let mut docked = PairExpr::parse("(DockedTo, *)")?.compile(&mut world)?;
    /// docked.group_by::<DockedTo>()?.order_by_entity();
    /// let mut ships = Vec::new();
    /// docked.for_each(&world, |row| ships.extend(row.this()))?;
    /// assert_eq!(ships, [gull, kite, tern]); // Oslo's ships, then those of Hull
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If rows come in order of depth: a term has `cascade`.
    pub fn group_by<R: Relation>(&mut self) -> Result<&mut Self, ExprRunError> {
        self.set_group(Groups::Targets, GroupRelation::of::<R>().group_of())
    }

    /// [`group_by`](Self::group_by) for any relation. If that is no relation, or no longer one, each run fails with
    /// [`ExprRunError::NotARelation`].
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # #[derive(Relation)]
    /// # #[relation(exclusive)]
    /// # struct DockedTo;
    /// # let mut world = World::new();
    /// # let docked_to = world.register_relation::<DockedTo>()?;
    /// # let [oslo, hull] = [(); 2].map(|()| world.spawn_empty().id());
    /// # let [kite, gull, tern] = [hull, oslo, hull].map(|port| world.spawn(Pair(DockedTo, port)).id());
    /// let mut docked = PairExpr::parse("(DockedTo, *)")?.compile(&mut world)?;
    /// docked.group_by_id(docked_to)?;
    /// assert_eq!(docked.group(&world, hull.to_bits())?.len(), 2);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`group_by`](Self::group_by).
    pub fn group_by_id(&mut self, relation: Entity) -> Result<&mut Self, ExprRunError> {
        self.set_group(Groups::Targets, GroupRelation::Entity(relation).group_of())?;
        self.order_mut().relation = Some(GroupRelation::Entity(relation));
        Ok(self)
    }

    /// [`group_by`](Self::group_by) with any number for each row; 0 for those without one. Groups come in the order of
    /// these numbers. By a variable: `group_by_fn(|row| row.var("port").map(Entity::to_bits))`.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::expr::PairExpr;
    /// #[derive(Component)]
    /// struct Fuel(u32);
    /// #[derive(Relation)]
    /// struct DockedTo;
    ///
    /// # let mut world = World::new();
    /// # world.register_component_name::<Fuel>("Fuel").register_relation::<DockedTo>()?;
    /// # let [oslo, hull] = [(); 2].map(|()| world.spawn_empty().id());
    /// # for (fuel, port) in [(1, oslo), (4, hull), (2, oslo)] {
    /// #     world.spawn((Fuel(fuel), Pair(DockedTo, port)));
    /// # }
    /// let mut docked = PairExpr::parse("Fuel, (DockedTo, $port)")?.compile(&mut world)?;
    /// docked.group_by_fn(|row| row.get::<Fuel>(0).map(|fuel| u64::from(fuel.0 % 2)))?;
    /// assert_eq!((docked.group(&world, 0)?.len(), docked.group(&world, 1)?.len()), (2, 1));
    ///
    /// let docked_to = world.entity_of::<DockedTo>();
    /// docked.group_by_id(docked_to)?;
    /// assert_eq!(docked.group(&world, oslo.to_bits())?.len(), 2);
    /// assert!(docked.group(&world, 7)?.is_empty());
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`group_by`](Self::group_by).
    pub fn group_by_fn(
        &mut self,
        group: impl Fn(Row<'_>) -> Option<u64> + Send + Sync + 'static,
    ) -> Result<&mut Self, ExprRunError> {
        self.set_group(Groups::Numbers, group)
    }

    fn set_group(
        &mut self,
        kind: Groups,
        group: impl Fn(Row<'_>) -> Option<u64> + Send + Sync + 'static,
    ) -> Result<&mut Self, ExprRunError> {
        if self.executor().query().cascade.is_some() {
            return Err(ExprRunError::GroupsWithCascade);
        }
        let order = self.order_mut();
        order.group = Some((kind, Box::new(move |row| group(row).unwrap_or(0))));
        order.relation = None;
        Ok(self)
    }

    /// Lets rows come as they are found again, in no groups.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # #[derive(Relation)]
    /// # #[relation(exclusive)]
    /// # struct DockedTo;
    /// # let mut world = World::new();
    /// # let docked_to = world.register_relation::<DockedTo>()?;
    /// # let [oslo, hull] = [(); 2].map(|()| world.spawn_empty().id());
    /// # let [kite, gull, tern] = [hull, oslo, hull].map(|port| world.spawn(Pair(DockedTo, port)).id());
    /// let mut docked = PairExpr::parse("(DockedTo, *)")?.compile(&mut world)?;
    /// docked.group_by::<DockedTo>()?;
    /// docked.clear_order();
    /// assert!(docked.group(&world, hull.to_bits())?.is_empty());
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn clear_order(&mut self) {
        *self.order_mut() = RowOrder::default();
    }

    /// Calls a function with each group, in their order. Rows that were not put into groups are in group
    /// 0.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # #[derive(Relation)]
    /// # #[relation(exclusive)]
    /// # struct DockedTo;
    /// # let mut world = World::new();
    /// # let docked_to = world.register_relation::<DockedTo>()?;
    /// # let [oslo, hull] = [(); 2].map(|()| world.spawn_empty().id());
    /// # let [kite, gull, tern] = [hull, oslo, hull].map(|port| world.spawn(Pair(DockedTo, port)).id());
    /// let mut docked = PairExpr::parse("(DockedTo, *)")?.compile(&mut world)?;
    /// let mut ports = Vec::new();
    /// docked.group_by::<DockedTo>()?.for_each_group(&world, |port| ports.push((port.target(), port.len())))?;
    /// assert_eq!(ports, [(Some(oslo), 1), (Some(hull), 2)]);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn for_each_group(
        &mut self,
        world: &World,
        each: impl FnMut(RowGroup<'_>),
    ) -> Result<(), ExprRunError> {
        self.for_each_group_of(WorldAccess::World(world), each)
    }

    pub(crate) fn for_each_group_of(
        &mut self,
        access: WorldAccess<'_>,
        mut each: impl FnMut(RowGroup<'_>),
    ) -> Result<(), ExprRunError> {
        let all = self.all_groups(access)?;
        let mut from = 0;
        while from < all.len() {
            let group = all.only(all.batch.groups.get(from).copied().unwrap_or(0));
            from = group.rows.end;
            each(group);
        }
        Ok(())
    }

    /// The rows of one group. There are none if there is no such group.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # #[derive(Relation)]
    /// # #[relation(exclusive)]
    /// # struct DockedTo;
    /// # let mut world = World::new();
    /// # let docked_to = world.register_relation::<DockedTo>()?;
    /// # let [oslo, hull] = [(); 2].map(|()| world.spawn_empty().id());
    /// # let [kite, gull, tern] = [hull, oslo, hull].map(|port| world.spawn(Pair(DockedTo, port)).id());
    /// let mut docked = PairExpr::parse("(DockedTo, *)")?.compile(&mut world)?;
    /// docked.group_by::<DockedTo>()?;
    /// let in_oslo = docked.group(&world, oslo.to_bits())?;
    /// assert!(in_oslo.iter().map(|row| row.this()).eq([Some(gull)]));
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    ///
    /// # Complexity
    /// That of a whole run: the others are found too.
    pub fn group<'a>(&'a mut self, world: &'a World, id: u64) -> Result<RowGroup<'a>, ExprRunError> {
        self.group_of(WorldAccess::World(world), id)
    }

    pub(crate) fn group_of<'a>(
        &'a mut self,
        access: WorldAccess<'a>,
        id: u64,
    ) -> Result<RowGroup<'a>, ExprRunError> {
        Ok(self.all_groups(access)?.only(id))
    }

    /// Runs it to the end, so that all rows are in one batch.
    fn all_groups<'a>(&'a mut self, access: WorldAccess<'a>) -> Result<RowGroup<'a>, ExprRunError> {
        self.start_collecting(access)?;
        self.next_batch(access)?;
        let expr = &*self;
        let batch = expr.batch();
        Ok(RowGroup { id: 0, rows: 0..batch.len, expr, batch, access })
    }
}

/// Rows that were put into a group; see [`CompiledExpr::group_by`].
///
/// In the book: [Expressions](crate::book::expressions).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{expr::PairExpr, prelude::*};
/// #[derive(Component)]
/// struct Ship;
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct DockedTo;
///
/// # let mut world = World::new();
/// # world.register_relation::<DockedTo>()?;
/// # world.register_component_name::<Ship>("Ship");
/// # let [oslo, hull] = [(); 2].map(|()| world.spawn_empty().id());
/// for port in [oslo, hull, oslo] {
///     world.spawn((Ship, Pair(DockedTo, port)));
/// }
/// let mut ships = PairExpr::parse("Ship")?.compile(&mut world)?;
/// ships.group_by::<DockedTo>()?;
/// let mut counts = Vec::new();
/// ships.for_each_group(&world, |group| counts.push((group.target(), group.len())))?;
/// assert!(counts.contains(&(Some(oslo), 2)) && counts.contains(&(Some(hull), 1)));
///
/// let in_oslo = ships.group(&world, oslo.to_bits())?;
/// assert!(in_oslo.iter().all(|row| world.has_pair::<DockedTo>(row.this().unwrap(), oslo)));
/// assert!(!in_oslo.is_empty() && in_oslo.id() == oslo.to_bits());
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
#[derive(Clone)]
pub struct RowGroup<'a> {
    id: u64,
    rows: Range<usize>,
    expr: &'a CompiledExpr,
    batch: &'a Batch,
    access: WorldAccess<'a>,
}

impl<'a> RowGroup<'a> {
    /// Its number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The target that its rows have in common, if they were grouped by a relation.
    pub fn target(&self) -> Option<Entity> {
        Entity::try_from_bits(self.id)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Its rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'a>> + use<'a> {
        let Self { expr, batch, access, .. } = *self;
        self.rows.clone().map(move |row| Row::of(expr.executor(), batch, row, access))
    }

    /// Those with this number, of all.
    fn only(&self, id: u64) -> Self {
        let groups = &self.batch.groups[..];
        let rows = match (groups, id) {
            ([], 0) => 0..self.batch.len,
            ([], _) => 0..0,
            _ => {
                let kind = self.expr.order().groups();
                let (wanted, key) = (kind.key(id), |group: &u64| kind.key(*group));
                let start = groups.partition_point(|group| key(group) < wanted);
                start..start + groups[start..].partition_point(|&group| group == id)
            }
        };
        Self { id, rows, ..*self }
    }
}

impl fmt::Debug for RowGroup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowGroup").field("id", &self.id).field("rows", &self.rows.len()).finish()
    }
}

/// Sorts rows that were found in the order of their numbers, up to the `first` so many. Those that compare equal stay in that
/// order.
fn sort_first<T>(
    rows: &mut [T],
    first: usize,
    number: impl Fn(&T) -> u32,
    compare: impl Fn(&T, &T) -> Ordering,
) {
    if first >= rows.len() {
        rows.sort_by(compare);
        return;
    }
    let compare = |a: &T, b: &T| compare(a, b).then_with(|| number(a).cmp(&number(b)));
    rows.select_nth_unstable_by(first, compare);
    rows[..first].sort_unstable_by(compare);
}
