//! Ids of rows, which stay while rows move.

use alloc::vec::Vec;

/// No row.
const NONE: u32 = u32::MAX;

/// Ids of rows, which stay while rows move, and the rows that came and went.
#[derive(Default)]
pub(super) struct RowIds {
    /// By row.
    ids: Vec<u32>,
    /// By id; [`NONE`] if the row has gone.
    rows: Vec<u32>,
    free: Vec<u32>,
    /// The ids of rows that were recomputed, some of them several times.
    pub(super) came: Vec<u32>,
    /// The ids of rows that went. They are not given to others until [`free_removed`](Self::free_removed).
    pub(super) went: Vec<u32>,
    /// All rows went first, and ids start at 0 again.
    pub(super) is_cleared: bool,
}

impl RowIds {
    /// Ids for this number of rows that are there already.
    pub(super) fn of_rows(count: usize) -> Self {
        let mut ids = Self { is_cleared: true, ..Self::default() };
        (0..count).for_each(|_| ids.push());
        ids
    }

    pub(super) fn push(&mut self) {
        let id = self.free.pop().unwrap_or_else(|| {
            self.rows.push(NONE);
            self.rows.len() as u32 - 1
        });
        self.rows[id as usize] = self.ids.len() as u32;
        self.ids.push(id);
        self.came.push(id);
    }

    pub(super) fn swap_remove(&mut self, row: u32) {
        let id = self.ids.swap_remove(row as usize);
        if let Some(&moved) = self.ids.get(row as usize) {
            self.rows[moved as usize] = row;
        }
        self.rows[id as usize] = NONE;
        self.went.push(id);
    }

    pub(super) fn clear(&mut self) {
        *self = Self { is_cleared: true, ..Self::default() };
    }

    /// Number of ids that were ever in use.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row of an id, unless it has gone.
    pub(super) fn row(&self, id: u32) -> Option<usize> {
        self.rows.get(id as usize).copied().filter(|&row| row != NONE).map(|row| row as usize)
    }

    /// The id of a row.
    pub(super) fn id(&self, row: usize) -> u32 {
        self.ids[row]
    }

    /// Clears which rows came and went. Ids of those that went are free now.
    pub(super) fn free_removed(&mut self) {
        self.came.clear();
        self.free.append(&mut self.went);
        self.is_cleared = false;
    }
}
