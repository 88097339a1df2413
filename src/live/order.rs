//! Kept rows in groups and in order.
//!
//! Rows move when others are removed, so a group lists ids of rows, which stay. After an update, the rows that have come
//! or were recomputed are put into their groups; nothing is done for the others. In a group that is sorted, the new rows
//! are sorted and merged with the others, which are not sorted again.

use super::{component_reader::ComponentReader, expr::LiveExpr, kept::KeptRows, row_ids::RowIds};
use crate::{
    expr::{ExprRunError, GroupRelation, Row, WorldAccess},
    fetch,
    ops::{Followed, ensure_store},
    relation::Relation,
    store::PairReader,
};
use alloc::{boxed::Box, collections::VecDeque, vec::Vec};
use bevy_ecs::{component::Component, entity::Entity, world::World};
use bevy_platform::collections::{HashMap, HashSet};
use core::{cmp::Ordering, mem};

/// No list.
const NONE: u32 = u32::MAX;

/// In its list, but not sorted in yet.
const PENDING: u32 = u32::MAX;

/// Adds the entities whose rows may have another place. False if any row may.
pub(super) type PlaceReader = Box<dyn FnMut(&mut World, &mut Vec<Entity>) -> bool + Send + Sync>;
type GroupOf = Box<dyn Fn(Row<'_>) -> u64 + Send + Sync>;
/// Puts the fresh rows of a list where they belong. The function reads a row by its id.
pub(super) type Sort = Box<dyn for<'a> Fn(&dyn Fn(u32) -> Option<Row<'a>>, &mut RowList) + Send + Sync>;
type GroupCallback = Box<dyn FnMut(&mut World, u64) + Send + Sync>;

/// Where a row is.
#[derive(Clone, Copy)]
struct GroupPosition {
    list: u32,
    /// Unless the list is sorted.
    at: u32,
}

const NOWHERE: GroupPosition = GroupPosition { list: NONE, at: PENDING };

/// The rows of a group.
#[derive(Default)]
pub(super) struct RowList {
    group: u64,
    /// Ids of rows.
    rows: Vec<u32>,
    /// Those that are still to be put in order.
    fresh: Vec<u32>,
    /// It was made by this update.
    is_new: bool,
    is_changed: bool,
}

/// The order in which rows are kept.
#[derive(Default)]
pub(super) struct KeptOrder {
    group: Option<GroupOf>,
    /// The relation by whose targets rows are grouped, if it may cease to be one.
    relation: Option<GroupRelation>,
    sort: Option<Sort>,
    /// Find the rows whose place may be another although the expression does not depend on the cause: for groups, for order.
    readers: [Option<PlaceReader>; 2],
    touched: Vec<Entity>,
    /// By id of the row.
    places: Vec<GroupPosition>,
    lists: Vec<RowList>,
    /// Lists by group, without those that are empty.
    groups: HashMap<u64, u32>,
    free: Vec<u32>,
    changed: Vec<u32>,
    /// The next update puts everything in order: what is known may be wrong.
    is_outdated: bool,
    appeared: Vec<u64>,
    emptied: Vec<u64>,
    /// The groups after the last update that did not panic.
    known: HashSet<u64>,
    /// Groups that have appeared, or become empty, and are still to be reported to the observers.
    pending: VecDeque<(u64, bool)>,
    observers: Option<[GroupCallback; 2]>,
}

impl KeptOrder {
    /// Fails if rows are to be grouped by an entity that is no relation.
    pub(super) fn check(&self, access: WorldAccess<'_>) -> Result<(), ExprRunError> {
        self.relation.map_or(Ok(()), |relation| relation.check(access))
    }

    /// Finds the rows whose group or place may be another.
    pub(super) fn read(&mut self, world: &mut World) {
        self.touched.clear();
        for reader in self.readers.iter_mut().flatten() {
            self.is_outdated |= !reader(world, &mut self.touched);
        }
    }

    /// Notes entities whose rows may have another place; without them, any row may.
    pub(super) fn touch(&mut self, touched: Option<impl Iterator<Item = Entity>>) {
        match touched {
            Some(touched) => self.touched.extend(touched),
            None => self.is_outdated = true,
        }
    }

    /// Clears what was [touched](Self::touch).
    pub(super) fn clear_touched(&mut self) {
        self.touched.clear();
    }

    /// The numbers of the groups that have rows. There are none after an update that has panicked, until the next.
    pub(super) fn groups(&self) -> impl ExactSizeIterator<Item = u64> {
        self.groups.keys().copied().take(if self.is_outdated { 0 } else { usize::MAX })
    }

    pub(super) fn appeared(&self) -> &[u64] {
        &self.appeared
    }

    pub(super) fn emptied(&self) -> &[u64] {
        &self.emptied
    }

    /// Puts rows where they belong. `row` reads a kept row by its number.
    pub(super) fn update<'a>(&mut self, kept: &KeptRows, ids: &mut RowIds, row: impl Fn(usize) -> Row<'a>) {
        self.appeared.clear();
        self.emptied.clear();
        // If a user's function panics, the next update puts everything in order.
        let all_anew = mem::replace(&mut self.is_outdated, true) || ids.is_cleared;
        let row_of = |id: u32| ids.row(id).map(&row);
        if all_anew {
            self.groups.clear();
            self.places.clear();
            self.lists.clear();
            self.free.clear();
            self.changed.clear();
        }
        self.places.resize(ids.len(), NOWHERE);
        let touched = mem::take(&mut self.touched);
        if all_anew {
            (0..kept.len()).for_each(|at| self.put(ids.id(at), &row_of));
        } else {
            ids.went.iter().for_each(|&id| self.take_out(id));
            ids.came.iter().for_each(|&id| self.put(id, &row_of));
            let of_touched = touched.iter().flat_map(|&entity| kept.rows_of(entity));
            of_touched.for_each(|at| self.put(ids.id(at), &row_of));
        }
        self.touched = touched;
        self.finish(&row_of);
        let Self { appeared, emptied, known, groups, pending, .. } = self;
        if all_anew {
            appeared.retain(|group| !known.contains(group));
            emptied.extend(known.iter().filter(|group| !groups.contains_key(*group)));
        }
        emptied.iter().for_each(|group| _ = known.remove(group));
        known.extend(&*appeared);
        if self.observers.is_some() {
            pending.extend(emptied.iter().map(|&group| (group, false)));
            pending.extend(appeared.iter().map(|&group| (group, true)));
        }
        self.is_outdated = false;
        ids.free_removed();
    }

    fn note(&mut self, number: u32) -> &mut RowList {
        let list = &mut self.lists[number as usize];
        if !mem::replace(&mut list.is_changed, true) {
            self.changed.push(number);
        }
        list
    }

    /// Takes a row out of its list; a sorted list drops it in [`finish`](Self::finish).
    fn take_out(&mut self, id: u32) {
        let GroupPosition { list, at } = mem::replace(&mut self.places[id as usize], NOWHERE);
        if list == NONE {
            return;
        }
        let is_sorted = self.sort.is_some();
        let list = self.note(list);
        if !is_sorted {
            list.rows.swap_remove(at as usize);
            if let Some(&moved) = list.rows.get(at as usize) {
                self.places[moved as usize].at = at;
            }
        }
    }

    /// Puts a row, unless it has gone, into the list where it belongs.
    fn put<'a>(&mut self, id: u32, row_of: &impl Fn(u32) -> Option<Row<'a>>) {
        let Some(row) = row_of(id) else { return };
        let is_sorted = self.sort.is_some();
        let place = self.places[id as usize];
        if is_sorted && place.list != NONE && place.at == PENDING {
            return;
        }
        let group = self.group.as_ref().map_or(0, |group| group(row));
        let number = match self.groups.get(&group) {
            Some(&number) if number == place.list && !is_sorted => return,
            Some(&number) => number,
            None => {
                let list = RowList { group, is_new: true, ..RowList::default() };
                let number = self.free.pop().unwrap_or_else(|| {
                    self.lists.push(RowList::default());
                    self.lists.len() as u32 - 1
                });
                self.lists[number as usize] = list;
                self.groups.insert(group, number);
                number
            }
        };
        self.take_out(id);
        let list = self.note(number);
        let at = if is_sorted {
            list.fresh.push(id);
            PENDING
        } else {
            list.rows.push(id);
            list.rows.len() as u32 - 1
        };
        self.places[id as usize] = GroupPosition { list: number, at };
    }

    /// Puts lists in order, and drops those that are empty.
    fn finish<'a>(&mut self, row_of: &impl Fn(u32) -> Option<Row<'a>>) {
        let Self { changed, lists, places, sort, groups, free, appeared, emptied, .. } = self;
        for number in changed.drain(..) {
            let list = &mut lists[number as usize];
            list.is_changed = false;
            if let Some(sort) = sort {
                let is_here = |id: &u32| {
                    let place = places[*id as usize];
                    place.list == number && place.at != PENDING
                };
                list.rows.retain(is_here);
                sort(row_of, list);
                list.fresh.drain(..).for_each(|id| places[id as usize].at = 0);
            }
            if list.rows.is_empty() {
                groups.remove(&list.group);
                free.push(number);
                if !list.is_new {
                    emptied.push(list.group);
                }
            } else if mem::take(&mut list.is_new) {
                appeared.push(list.group);
            }
        }
    }

    /// Calls the observers with the groups that have become empty, and with those that have appeared.
    pub(super) fn notify(&mut self, world: &mut World) {
        let Some([appeared, emptied]) = &mut self.observers else { return };
        while let Some((group, is_new)) = self.pending.pop_front() {
            if is_new { appeared(world, group) } else { emptied(world, group) }
        }
    }

    pub(super) fn list(&self, group: u64) -> &[u32] {
        let number = self.groups.get(&group).filter(|_| !self.is_outdated);
        number.map_or(&[], |&number| &self.lists[number as usize].rows)
    }
}

/// Sorts rows by a component of `$this`.
pub(super) fn by_component<T: Component>(
    compare: impl Fn(&T, &T) -> Ordering + Send + Sync + 'static,
) -> Sort {
    Box::new(move |row_of, list| {
        let first = list.fresh.iter().find_map(|&id| row_of(id));
        let Some(read) = first.map(|row| row.access().reader::<T>()) else { return };
        let value = |id: u32| row_of(id)?.this().and_then(&read);
        merge(list, value, |a, b| match (a, b) {
            (Some(a), Some(b)) => compare(a, b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
    })
}

/// Sorts the fresh rows, and merges them with the sorted ones. The value of a fresh row is read once; of the others those are that are
/// compared, or, if there are many fresh ones, each once.
fn merge<V: Copy>(list: &mut RowList, value: impl Fn(u32) -> V, compare: impl Fn(V, V) -> Ordering) {
    let RowList { rows, fresh, .. } = list;
    if fresh.is_empty() {
        return;
    }
    let mut sorted: Vec<(V, u32)> = fresh.iter().map(|&id| (value(id), id)).collect();
    sorted.sort_by(|&(a, _), &(b, _)| compare(a, b));
    let mut merged = Vec::with_capacity(rows.len() + sorted.len());
    if sorted.len() > rows.len() / 8 {
        let mut rest = rows.iter().map(|&id| (value(id), id)).peekable();
        for (new, id) in sorted {
            while let Some((_, other)) = rest.next_if(|&(other, _)| compare(other, new) != Ordering::Greater)
            {
                merged.push(other);
            }
            merged.push(id);
        }
        merged.extend(rest.map(|(_, id)| id));
    } else {
        let mut rest = &rows[..];
        for (new, id) in sorted {
            let is_before = |&other: &u32| compare(value(other), new) != Ordering::Greater;
            let (before, behind) = rest.split_at(rest.partition_point(is_before));
            merged.extend_from_slice(before);
            merged.push(id);
            rest = behind;
        }
        merged.extend_from_slice(rest);
    }
    *rows = merged;
}

/// Adds the sources of pairs of a relation that came, went or were put into another order since the last call.
fn read_pairs(relation: impl Fn(&World) -> Option<Followed> + Send + Sync + 'static) -> PlaceReader {
    let mut reader = PairReader::default();
    Box::new(move |world, touched| {
        let Some(followed) = relation(world) else { return false };
        let store = ensure_store(world);
        let Some(id) = followed.relation(store) else {
            reader.start_anew();
            return false;
        };
        store.keep_journal(id).keep_longer();
        let Some(store) = fetch::store(world) else { return false };
        let Some(changes) = reader.advance::<()>(store, id, None, world.read_change_tick()) else {
            return false;
        };
        touched.extend(changes.iter().map(|change| change.source));
        true
    })
}

#[doc = include_str!("order.md")]
impl LiveExpr {
    /// The order in which rows are kept from now on.
    pub(super) fn order_mut(&mut self) -> &mut KeptOrder {
        let (order, kept, _) = self.order_parts();
        kept.ids = Some(RowIds::of_rows(kept.len()));
        order.get_or_insert_default()
    }

    /// Removes the order and the groups: rows come in any order again.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # #[derive(Relation)]
    /// # struct DockedTo;
    /// # let mut world = World::new();
    /// # let docked_to = world.register_relation::<DockedTo>()?;
    /// # let [port, ship] = [(); 2].map(|()| world.spawn_empty().id());
    /// # world.insert_pair(ship, DockedTo, port)?;
    /// let mut docked = PairExpr::parse("(DockedTo, *)")?.live(&mut world)?;
    /// docked.group_by::<DockedTo>()?.update(&mut world)?;
    /// assert_eq!(docked.groups().len(), 1);
    /// docked.clear_order();
    /// docked.update(&mut world)?;
    /// assert_eq!((docked.len(), docked.groups().len()), (1, 0));
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn clear_order(&mut self) {
        let (order, kept, _) = self.order_parts();
        (*order, kept.ids) = (None, None);
    }

    /// Puts the rows that have come or changed into their groups, and in order there.
    pub(super) fn put_in_order(&mut self, world: &mut World) {
        if let Some(order) = self.order_parts().0 {
            order.read(world);
            self.arrange(WorldAccess::World(world));
        }
        if let Some(order) = self.order_parts().0 {
            order.notify(world);
        }
    }

    /// [`put_in_order`](Self::put_in_order), once it is known which rows may have another place.
    pub(super) fn arrange(&mut self, access: WorldAccess<'_>) {
        let (Some(order), kept, row_info) = self.order_parts() else { return };
        // It is taken out while functions of users are called.
        let mut ids = kept.ids.take().unwrap_or_else(|| RowIds::of_rows(kept.len()));
        let rows = kept.batch();
        order.update(kept, &mut ids, |row| Row::of(row_info, rows, row, access));
        kept.ids = Some(ids);
    }

    /// Keeps rows in groups by the target that `$this` has in a relation, the first if it has several. The number of a
    /// group is [`Entity::to_bits`], or 0 for those without a target. The expression need not name the relation.
    ///
    /// # Errors
    /// If rows come in order of depth: a term has `cascade`.
    pub fn group_by<R: Relation>(&mut self) -> Result<&mut Self, ExprRunError> {
        let reader = read_pairs(|_| Some(Followed::of::<R>()));
        self.set_group(GroupRelation::of::<R>().group_of(), Some(reader))
    }

    /// [`group_by`](Self::group_by) for any relation. If that is no relation, or no longer one, each update fails with
    /// [`ExprRunError::NotARelation`], and leaves no rows.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # #[derive(Relation)]
    /// # struct DockedTo;
    /// # let mut world = World::new();
    /// # let docked_to = world.register_relation::<DockedTo>()?;
    /// # let [port, ship] = [(); 2].map(|()| world.spawn_empty().id());
    /// # world.insert_pair(ship, DockedTo, port)?;
    /// let mut docked = PairExpr::parse("(DockedTo, *)")?.live(&mut world)?;
    /// docked.group_by_id(docked_to)?.update(&mut world)?;
    /// assert_eq!(docked.group(&world, port.to_bits())?.len(), 1);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`group_by`](Self::group_by).
    pub fn group_by_id(&mut self, relation: Entity) -> Result<&mut Self, ExprRunError> {
        let followed = move |world: &World| Some(Followed::of_entity(fetch::store(world)?, relation));
        let by = GroupRelation::Entity(relation);
        self.set_group(by.group_of(), Some(read_pairs(followed)))?;
        self.order_mut().relation = Some(by);
        Ok(self)
    }

    /// [`group_by`](Self::group_by) with any number for each row; 0 for those without one. The function is called when
    /// a row is recomputed, so its result should depend on the variables and fields of the row alone. By a variable:
    /// `group_by_fn(|row| row.var("port").map(Entity::to_bits))`.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::expr::PairExpr;
    /// #[derive(Component)]
    /// struct Strength(u32);
    /// #[derive(Relation)]
    /// struct DockedTo;
    ///
    /// # let mut world = World::new();
    /// # world.register_component_name::<Strength>("Strength");
    /// # let docked_to = world.register_relation::<DockedTo>()?;
    /// # let port = world.spawn_empty().id();
    /// # for strength in [3, 4, 5] {
    /// #     world.spawn((Strength(strength), Pair(DockedTo, port)));
    /// # }
    /// let mut ships = PairExpr::parse("Strength, (DockedTo, *)")?.live(&mut world)?;
    /// ships.group_by_fn(|row| row.get::<Strength>(0).map(|strength| u64::from(strength.0 % 2)))?;
    /// ships.update(&mut world)?;
    /// assert_eq!((ships.group(&world, 0)?.len(), ships.group(&world, 1)?.len()), (1, 2));
    ///
    /// ships.group_by_id(docked_to)?;
    /// ships.update(&mut world)?;
    /// assert_eq!(ships.group(&world, port.to_bits())?.len(), 3);
    ///
    /// ships.clear_order();
    /// ships.update(&mut world)?;
    /// assert_eq!(ships.groups().len(), 0);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`group_by`](Self::group_by).
    pub fn group_by_fn(
        &mut self,
        group: impl Fn(Row<'_>) -> Option<u64> + Send + Sync + 'static,
    ) -> Result<&mut Self, ExprRunError> {
        self.set_group(group, None)
    }

    pub(super) fn set_group(
        &mut self,
        group: impl Fn(Row<'_>) -> Option<u64> + Send + Sync + 'static,
        reader: Option<PlaceReader>,
    ) -> Result<&mut Self, ExprRunError> {
        if self.has_cascade() {
            return Err(ExprRunError::GroupsWithCascade);
        }
        let order = self.order_mut();
        order.group = Some(Box::new(move |row| group(row).unwrap_or(0)));
        order.readers[0] = reader;
        order.relation = None;
        Ok(self)
    }

    /// Puts all rows into one group, number 0.
    pub(super) fn clear_group(&mut self) {
        let order = self.order_mut();
        (order.group, order.readers[0], order.relation) = (None, None, None);
    }

    /// Sorts the rows of each group; without a comparison, they are in no order any more.
    pub(super) fn set_sort(&mut self, sort: Option<Sort>, reader: Option<PlaceReader>) {
        let order = self.order_mut();
        (order.sort, order.readers[1]) = (sort, reader);
    }

    /// Keeps the rows of each group, or all if there are none, sorted by a component of `$this`: they are read by
    /// [`group`](Self::group), whose number is 0 if there are no groups. [`rows`](Self::rows) come in any order all the same. Rows
    /// without the component come first; those that compare equal come in any order. Values that are written in place are found by their
    /// change ticks, at the cost that [rollups](super::WorldRollupExt#complexity) have.
    ///
    /// # Panics
    /// An update may panic if the function is not a total order: for numbers use `f32::total_cmp`, not `partial_cmp`.
    ///
    /// # Complexity
    /// For each group that has changed: O(its rows) to move their numbers, and O(log(its rows)) comparisons for each row
    /// that has.
    pub fn order_by<T: Component>(
        &mut self,
        compare: impl Fn(&T, &T) -> Ordering + Send + Sync + 'static,
    ) -> &mut Self {
        let mut reader = ComponentReader::default();
        let reader: PlaceReader = Box::new(move |world, touched| reader.read::<T>(world, touched));
        self.set_sort(Some(by_component(compare)), Some(reader));
        self
    }

    /// Calls functions, at the end of each update, with groups that have appeared: they have rows now and had none before; and
    /// with those that have become empty. Those that are empty are reported first.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::expr::PairExpr;
    /// #[derive(Component)]
    /// struct Strength(u32);
    /// #[derive(Relation)]
    /// struct DockedTo;
    ///
    /// # let mut world = World::new();
    /// # world.register_component_name::<Strength>("Strength");
    /// # let docked_to = world.register_relation::<DockedTo>()?;
    /// # let port = world.spawn_empty().id();
    /// # for strength in [3, 4, 5] {
    /// #     world.spawn((Strength(strength), Pair(DockedTo, port)));
    /// # }
    /// # let mut ships = PairExpr::parse("Strength, (DockedTo, *)")?.live(&mut world)?;
    /// #[derive(Resource, Default)]
    /// struct Busy(Vec<u64>);
    ///
    /// world.init_resource::<Busy>();
    /// ships.group_by::<DockedTo>()?.observe_groups(
    ///     |world, port| world.resource_mut::<Busy>().0.push(port),
    ///     |world, port| world.resource_mut::<Busy>().0.retain(|&busy| busy != port),
    /// );
    /// ships.update(&mut world)?;
    /// assert_eq!(world.resource::<Busy>().0, [port.to_bits()]);
    /// world.remove_pairs_everywhere((docked_to, port));
    /// ships.update(&mut world)?;
    /// assert!(world.resource::<Busy>().0.is_empty());
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn observe_groups(
        &mut self,
        appeared: impl FnMut(&mut World, u64) + Send + Sync + 'static,
        emptied: impl FnMut(&mut World, u64) + Send + Sync + 'static,
    ) -> &mut Self {
        self.order_mut().observers = Some([Box::new(appeared), Box::new(emptied)]);
        self
    }

    /// The groups that have appeared with the last update.
    pub fn appeared_groups(&self) -> &[u64] {
        self.order().map_or(&[], KeptOrder::appeared)
    }

    /// The groups that have become empty with the last update.
    pub fn emptied_groups(&self) -> &[u64] {
        self.order().map_or(&[], KeptOrder::emptied)
    }

    /// The groups that have rows, in any order. Rows that are only sorted are in group 0.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = u64> {
        let groups: Vec<u64> = self.order().into_iter().flat_map(KeptOrder::groups).collect();
        groups.into_iter()
    }

    /// The rows of one group, in order if there is one, as they were at the last update. There are none if there is no such group.
    ///
    /// # Errors
    /// If it is for another world.
    ///
    /// # Complexity
    /// O(1), and O(1) for each.
    pub fn group<'a>(
        &'a self,
        world: &'a World,
        group: u64,
    ) -> Result<impl ExactSizeIterator<Item = Row<'a>>, ExprRunError> {
        let (_, kept) = self.kept();
        let row = self.reader(kept.batch(), world)?;
        let rows = self.order().map_or(&[][..], |order| order.list(group));
        Ok(rows.iter().map(move |&id| row(kept.row_of_id(id))))
    }
}
