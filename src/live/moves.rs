//! Rows that came and went since the last read.

use super::fields::{FieldBits, FieldLayout};
use crate::expr::{Batch, Column, Datum, FieldPlan};
use alloc::vec::Vec;
use bevy_platform::collections::HashMap;
use core::ops::Range;
use smallvec::SmallVec;

/// The values of the variables of a row.
pub(super) type RowKey = SmallVec<[Datum; 4]>;

/// Rows that came and went.
#[derive(Default)]
pub(super) struct Moves {
    pub(super) entered: Batch,
    pub(super) left: Batch,
    /// The variables of rows that stayed, with the fields that have changed.
    pub(super) altered: Vec<(RowKey, FieldBits)>,
    /// Whether the columns for fields have changed since the first of these rows were found.
    layout_change: LayoutChange,
}

#[derive(Default)]
enum LayoutChange {
    #[default]
    No,
    /// The first `left` rows that left are to be read by these fields.
    Once {
        fields: Vec<FieldPlan>,
        left: usize,
    },
    Often,
}

/// What is left of [`Moves`] without the rows that went and came again, with the same variables.
pub(super) struct NetMoves {
    /// Numbers of rows.
    pub(super) entered: Vec<u32>,
    pub(super) left: Vec<u32>,
    pub(super) altered: Vec<(RowKey, FieldBits)>,
}

impl Moves {
    pub(super) fn clear(&mut self) {
        self.entered.clear();
        self.left.clear();
        self.altered.clear();
        self.layout_change = LayoutChange::No;
    }

    /// Notes that the columns for fields change now. The rows that have left so far are read by these fields.
    pub(super) fn note_layout_change(&mut self, fields: Vec<FieldPlan>) {
        self.layout_change = match self.layout_change {
            LayoutChange::No if self.entered.len == 0 => LayoutChange::Once { fields, left: self.left.len },
            _ => LayoutChange::Often,
        };
    }

    /// Notes rows that were put in the places of others, which are in `left` from number `known` on. A row that is the same
    /// as before has neither come nor gone.
    pub(super) fn note_overwritten(&mut self, now: &Batch, rows: impl Iterator<Item = usize>, known: usize) {
        let Self { entered, left, .. } = self;
        let mut gone = known;
        for (before, row) in (known..).zip(rows) {
            let mut columns = now.columns.iter().zip(&left.columns);
            if columns.any(|(now, left)| now[row] != left[before]) {
                left.columns.iter_mut().for_each(|column| column[gone] = column[before]);
                gone += 1;
                entered.add(&now.columns, row..row + 1);
            }
        }
        left.truncate(gone);
    }

    /// The rows that came or went and not both. The layout is that of the rows that came last.
    pub(super) fn net(&self, variables: usize, layout: &FieldLayout) -> NetMoves {
        let Self { entered: came, left: went, .. } = self;
        let all = |batch: &Batch| (0..batch.len as u32).collect();
        let mut altered = Vec::new();
        if came.len == 0 || went.len == 0 {
            return NetMoves { entered: all(came), left: all(went), altered };
        }
        let key = |batch: &Batch, row: u32| -> RowKey {
            batch.columns[..variables].iter().map(|column| column[row as usize]).collect()
        };
        let (fields, other_layout) = match &self.layout_change {
            LayoutChange::Once { fields, left } => (&fields[..], *left),
            LayoutChange::No | LayoutChange::Often => (&[][..], 0),
        };
        let compare_layouts = layout.compare_layouts(fields, came, went);
        let differences = |row: u32, before: u32| match (row as usize, before as usize) {
            _ if matches!(self.layout_change, LayoutChange::Often) => FieldBits::ALL,
            (row, before) if before < other_layout => compare_layouts(row, before),
            (row, before) => layout.compare((came, row), (went, before)),
        };
        let mut by_key: HashMap<RowKey, SmallVec<[u32; 2]>> = HashMap::default();
        for row in 0..went.len as u32 {
            by_key.entry(key(went, row)).or_default().push(row);
        }
        let mut entered: Vec<u32> = Vec::new();
        for row in 0..came.len as u32 {
            let key = key(came, row);
            let Some(before) = by_key.get_mut(&key).filter(|before| !before.is_empty()) else {
                entered.push(row);
                continue;
            };
            match before.iter().position(|&before| differences(row, before) == FieldBits::default()) {
                Some(at) => _ = before.swap_remove(at),
                // Which of several rows of the same variables is left out makes no difference.
                None => altered.extend(before.pop().map(|before| (key, differences(row, before)))),
            }
        }
        let mut left: Vec<u32> = by_key.into_values().flatten().collect();
        left.sort_unstable();
        NetMoves { entered, left, altered }
    }

    /// Drops the rows that went and came again, with the same variables. Of rows that left, only the variables stay.
    pub(super) fn keep_net(&mut self, variables: usize, layout: &FieldLayout) {
        let NetMoves { entered, left, altered } = self.net(variables, layout);
        self.entered.retain(&entered);
        self.left.retain(&left);
        self.left.columns.truncate(variables);
        if let LayoutChange::Once { .. } = self.layout_change {
            self.layout_change = LayoutChange::Often;
        }
        self.altered.extend(altered);
    }
}

impl Batch {
    /// Adds rows of these columns.
    pub(super) fn add(&mut self, columns: &[Vec<Datum>], rows: Range<usize>) {
        self.columns.resize_with(self.columns.len().max(columns.len()), Vec::new);
        for (number, own) in self.columns.iter_mut().enumerate() {
            // Rows that were added before may have had other columns.
            own.resize(self.len, Datum::UNSET);
            match columns.get(number) {
                Some(column) => own.extend_from_slice(&column[rows.clone()]),
                None => own.resize(self.len + rows.len(), Datum::UNSET),
            }
        }
        self.len += rows.len();
    }

    /// Keeps the first rows.
    fn truncate(&mut self, len: usize) {
        self.len = len;
        self.columns.iter_mut().for_each(|column| column.truncate(len));
    }

    /// Keeps these rows, given in ascending order.
    fn retain(&mut self, rows: &[u32]) {
        let columns: Vec<Column> = (0..self.columns.len() as Column).collect();
        self.keep(&columns, rows);
    }
}
