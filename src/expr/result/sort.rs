//! Rows in order: by depth, by a component, in groups.
//!
//! All rows of a run are collected, and then put in order as a whole. What is asked for first is sorted by last: the
//! sorts are stable.

use super::rows::Row;
use crate::expr::{
    bind::Var,
    eval::{View, WorldAccess},
    exec::{Batch, Executor},
    plan::DepthOrder,
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::entity::Entity;
use core::cmp::Reverse;

/// The rows of a run before they are in order.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    executor: &'a Executor,
    batch: &'a Batch,
    pub(super) access: WorldAccess<'a>,
}

impl<'a> Found<'a> {
    pub(super) fn row(&self, row: u32) -> Row<'a> {
        Row::of(self.executor, self.batch, row as usize, self.access)
    }
}

/// Puts numbers of rows in order.
pub(super) type Sort = Box<dyn Fn(Found<'_>, &mut [u32]) + Send + Sync>;
/// The group of a row.
pub(super) type GroupOf = Box<dyn Fn(Row<'_>) -> u64 + Send + Sync>;

/// What groups are named by, which decides their order.
#[derive(Clone, Copy, Default, Debug)]
pub(super) enum Groups {
    /// The bits of a target, or 0.
    Targets,
    #[default]
    Numbers,
}

impl Groups {
    /// Groups ascend by this.
    pub(super) fn key(self, group: u64) -> (u64, u32) {
        match self {
            Self::Numbers => (group, 0),
            // Numbers that are no entities are asked for only.
            Self::Targets => Entity::try_from_bits(group).map_or((0, 0), |target| {
                let (index, generation) = ascending(target);
                (u64::from(index) + 1, generation)
            }),
        }
    }
}

/// Entities in the order of their indices, those with one index in that of their generations.
pub(super) fn ascending(entity: Entity) -> (u32, u32) {
    (entity.index_u32(), entity.generation().to_bits())
}

/// The order in which rows are wanted.
#[derive(Default)]
pub(super) struct RowOrder {
    pub(super) sort: Option<Sort>,
    pub(super) group: Option<(Groups, GroupOf)>,
}

impl RowOrder {
    pub(super) fn is_wanted(&self) -> bool {
        self.sort.is_some() || self.group.is_some()
    }

    /// What groups are named by.
    pub(super) fn groups(&self) -> Groups {
        self.group.as_ref().map_or(Groups::default(), |(kind, _)| *kind)
    }

    /// The last line of a plan.
    pub(super) fn explain(&self) -> &'static str {
        match (&self.sort, &self.group) {
            (None, None) => "",
            (Some(_), None) => "  sort\n",
            (None, Some(_)) => "  group\n",
            (Some(_), Some(_)) => "  sort, group\n",
        }
    }
}

/// Every row of a run, in order.
#[derive(Default)]
pub(super) struct Sorted {
    /// Whether rows are collected in this run.
    pub(super) is_used: bool,
    done: bool,
    found: Batch,
    rows: Batch,
    /// Numbers of rows.
    order: Vec<u32>,
    /// The group of each row, its place in the order so far, and its number.
    groups: Vec<(u64, u32, u32)>,
    /// Depth, table, row in the table.
    depths: Vec<(u32, u32, u32)>,
}

impl Sorted {
    pub(super) fn restart(&mut self, is_used: bool) {
        self.is_used = is_used;
        self.done = false;
        self.found.clear();
        self.rows.clear();
    }

    pub(super) fn rows(&self) -> &Batch {
        &self.rows
    }

    /// Whether the rows were asked for before.
    pub(super) fn finish(&mut self) -> bool {
        core::mem::replace(&mut self.done, true)
    }

    pub(super) fn collect(&mut self, batch: &Batch) {
        self.found.append(batch);
    }

    /// Puts the rows that were found in order.
    pub(super) fn sort(&mut self, executor: &Executor, wanted: &RowOrder, access: WorldAccess<'_>) {
        let Self { found, rows, order, groups, .. } = self;
        order.clear();
        order.extend(0..found.len as u32);
        let RowOrder { sort, group } = wanted;
        let all = Found { executor, batch: found, access };
        if let Some(sort) = sort {
            sort(all, order);
        }
        rows.clear();
        if let Some((kind, group)) = group {
            groups.clear();
            groups.extend((0..).zip(&*order).map(|(at, &row)| (group(all.row(row)), at, row)));
            groups.sort_unstable_by_key(|&(group, at, _)| (kind.key(group), at));
            rows.groups.extend(groups.iter().map(|&(group, ..)| group));
            order.iter_mut().zip(groups).for_each(|(to, &mut (.., row))| *to = row);
        } else if let (Some(depths), Some(view)) = (executor.plan().depths, View::new(access)) {
            self.sort_by_depth(depths, &view, sort.is_some());
        }
        self.rows.take_in_order(&self.found, self.order.iter().copied());
    }

    /// By depth, and then by place, unless they have an order of their own.
    fn sort_by_depth(&mut self, by: DepthOrder, view: &View<'_>, is_sorted: bool) {
        let index = view.index(by.relation);
        let depth_and_place = |row: usize| {
            let this = self.found.columns[Var::THIS.index()][row].entity();
            let depth = this.and_then(|this| index.depth_of(this)).unwrap_or(0);
            let location = this.filter(|_| !is_sorted).and_then(|this| view.entities.get_spawned(this).ok());
            let (table, at) = location.map_or((0, 0), |at| (at.table_id.as_u32(), at.table_row.index_u32()));
            (depth, table, at)
        };
        self.depths.clear();
        self.depths.extend((0..self.found.len).map(depth_and_place));
        let depths = &self.depths;
        if by.descending {
            self.order.sort_by_key(|&row| {
                let (depth, table, at) = depths[row as usize];
                (Reverse(depth), table, at)
            });
        } else {
            self.order.sort_by_key(|&row| depths[row as usize]);
        }
    }
}
