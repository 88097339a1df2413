//! Rows in order of how deep their entities lie.

use super::{
    bound::{Cascade, Var},
    exec::{Batch, View},
};
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Every row of a run, in order.
#[derive(Default)]
pub(super) struct Sorted {
    found: Batch,
    rows: Batch,
    /// Depth, table, row in the table, number of the row.
    keys: Vec<(u32, u32, u32, u32)>,
    done: bool,
}

impl Sorted {
    pub(super) fn clear(&mut self) {
        self.done = false;
    }

    pub(super) fn rows(&self) -> &Batch {
        &self.rows
    }

    /// Collects all batches and puts their rows in order. False if there are none, or if that was done before.
    pub(super) fn collect(
        &mut self,
        cascade: Cascade,
        view: &View<'_>,
        mut append_next: impl FnMut(&mut Batch) -> bool,
    ) -> bool {
        if core::mem::replace(&mut self.done, true) {
            return false;
        }
        self.found.clear();
        while append_next(&mut self.found) {}
        self.keys.clear();
        let index = view.index(cascade.relation);
        for row in 0..self.found.len {
            let this = self.found.columns[Var::THIS.index()][row].entity();
            let depth = index.depths.as_ref().zip(this);
            let depth = depth.map_or(0, |(depths, this)| depths.get(&index.forward, &index.reverse, this));
            let location = this.and_then(|this| view.entities.get_spawned(this).ok());
            let place = location.map_or((0, 0), |at| (at.table_id.as_u32(), at.table_row.index_u32()));
            self.keys.push((depth, place.0, place.1, row as u32));
        }
        if cascade.descending {
            self.keys.sort_unstable_by_key(|&(depth, table, at, row)| (Reverse(depth), table, at, row));
        } else {
            self.keys.sort_unstable();
        }
        self.rows.clear();
        self.rows.take_in_order(&self.found, self.keys.iter().map(|key| key.3));
        self.rows.len > 0
    }
}
