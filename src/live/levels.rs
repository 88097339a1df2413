//! Kept rows by the depth of `$this`.

use crate::expr::DepthOrder;
use alloc::vec::Vec;

/// The list of rows whose depth is still to be found.
const PENDING: usize = 0;

#[derive(Clone, Copy)]
struct ListPosition {
    list: u32,
    at: u32,
}

/// Numbers of rows, a list for each depth. A row that was recomputed is pending until [`place_pending`](Self::place_pending).
pub(super) struct DepthLists {
    pub(super) by: DepthOrder,
    /// The first has the rows that are pending, the next those of depth 0.
    lists: Vec<Vec<u32>>,
    /// By row.
    places: Vec<ListPosition>,
}

impl DepthLists {
    pub(super) fn new(by: DepthOrder) -> Self {
        Self { by, lists: alloc::vec![Vec::new()], places: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.lists.iter_mut().for_each(Vec::clear);
        self.places.clear();
    }

    /// Adds a row behind the last.
    pub(super) fn push(&mut self) {
        let row = self.places.len() as u32;
        let place = self.put(row, PENDING);
        self.places.push(place);
    }

    /// A row was recomputed.
    pub(super) fn renew(&mut self, row: u32) {
        self.take_out(row);
        self.places[row as usize] = self.put(row, PENDING);
    }

    /// Removes a row. The last takes its number.
    pub(super) fn swap_remove(&mut self, row: u32) {
        self.take_out(row);
        self.places.swap_remove(row as usize);
        if let Some(&ListPosition { list, at }) = self.places.get(row as usize) {
            self.lists[list as usize][at as usize] = row;
        }
    }

    fn put(&mut self, row: u32, list: usize) -> ListPosition {
        let rows = &mut self.lists[list];
        rows.push(row);
        ListPosition { list: list as u32, at: rows.len() as u32 - 1 }
    }

    fn take_out(&mut self, row: u32) {
        let ListPosition { list, at } = self.places[row as usize];
        let rows = &mut self.lists[list as usize];
        rows.swap_remove(at as usize);
        if let Some(&moved) = rows.get(at as usize) {
            self.places[moved as usize].at = at;
        }
    }

    /// Puts the rows that are pending where they belong.
    pub(super) fn place_pending(&mut self, mut depth_of: impl FnMut(u32) -> u32) {
        let mut pending = core::mem::take(&mut self.lists[PENDING]);
        for row in pending.drain(..) {
            let list = depth_of(row) as usize + 1;
            if self.lists.len() <= list {
                self.lists.resize_with(list + 1, Vec::new);
            }
            self.places[row as usize] = self.put(row, list);
        }
        self.lists[PENDING] = pending;
    }

    /// The list at a position in the order of rows.
    fn list(&self, number: usize) -> &[u32] {
        let at = if self.by.descending { self.lists.len().checked_sub(number + 1) } else { Some(number) };
        at.and_then(|at| self.lists.get(at)).map_or(&[], Vec::as_slice)
    }
}

/// Numbers of kept rows, in their order.
pub(super) struct RowNumbers<'a> {
    left: usize,
    levels: Option<&'a DepthLists>,
    list: usize,
    at: usize,
}

impl<'a> RowNumbers<'a> {
    /// The numbers of `left` rows: by depth, or ascending.
    pub(super) fn new(left: usize, levels: Option<&'a DepthLists>) -> Self {
        Self { left, levels, list: 0, at: 0 }
    }
}

impl Iterator for RowNumbers<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let at = self.at;
        self.at += 1;
        let Some(levels) = self.levels else { return Some(at) };
        let mut row = levels.list(self.list).get(at);
        while row.is_none() && self.list < levels.lists.len() {
            self.list += 1;
            self.at = 1;
            row = levels.list(self.list).first();
        }
        row.map(|&row| row as usize)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    #[inline]
    fn fold<B, F: FnMut(B, usize) -> B>(self, init: B, mut each: F) -> B {
        if self.levels.is_none() {
            return (self.at..self.at + self.left).fold(init, each);
        }
        let mut all = init;
        for row in self {
            all = each(all, row);
        }
        all
    }
}

impl ExactSizeIterator for RowNumbers<'_> {}
