//! Rows in columns.

use crate::{
    expr::{
        eval::Datum,
        plan::{Column, Operand},
    },
    fetch::RowHint,
};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

/// Some rows, a column each for what is known of them. Only columns that are wanted are filled.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) len: usize,
    pub(crate) columns: Vec<Vec<Datum>>,
    /// The group of each row, if rows were put into groups.
    pub(crate) groups: Vec<u64>,
    /// In which row of which table the entity of each row lies. Empty unless that is known and was wanted.
    pub(crate) places: Vec<RowHint>,
}

impl Batch {
    pub(crate) fn with_columns(columns: usize) -> Self {
        Self { columns: (0..columns).map(|_| Vec::new()).collect(), ..Self::default() }
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.columns.iter_mut().for_each(Vec::clear);
        self.groups.clear();
        self.places.clear();
    }

    #[inline]
    pub(crate) fn value(&self, operand: Operand, row: usize) -> Datum {
        match operand {
            Operand::Entity(entity) => Datum::new(entity),
            Operand::Column(column) => self.columns[column as usize][row],
            Operand::Nothing => Datum::UNSET,
        }
    }

    #[inline]
    pub(crate) fn entity(&self, operand: Operand, row: usize) -> Option<Entity> {
        match operand {
            Operand::Entity(entity) => Some(entity),
            Operand::Column(column) => self.columns[column as usize][row].entity(),
            Operand::Nothing => None,
        }
    }

    #[inline]
    pub(crate) fn column_mut(&mut self, column: Column) -> &mut Vec<Datum> {
        &mut self.columns[column as usize]
    }

    /// Appends to `columns` what these rows of another batch hold.
    pub(crate) fn gather(&mut self, from: &Self, columns: &[Column], rows: &[u32]) {
        for &column in columns {
            let source = &from.columns[column as usize];
            self.columns[column as usize].extend(rows.iter().map(|&row| source[row as usize]));
        }
    }

    /// Keeps these rows, given in ascending order.
    pub(crate) fn keep(&mut self, columns: &[Column], rows: &[u32]) {
        if rows.len() == self.len {
            return;
        }
        for &column in columns {
            keep(&mut self.columns[column as usize], rows);
        }
        keep(&mut self.places, rows);
        self.len = rows.len();
    }

    /// Writes one value to every row.
    pub(crate) fn fill(&mut self, column: Column, value: Datum) {
        let len = self.len;
        let column = self.column_mut(column);
        column.clear();
        column.resize(len, value);
    }

    /// Writes one value to these rows.
    pub(crate) fn mark(&mut self, column: Column, value: Datum, rows: &[u32]) {
        let column = self.column_mut(column);
        rows.iter().for_each(|&row| column[row as usize] = value);
    }

    /// Appends another batch with the same columns.
    pub(crate) fn append(&mut self, other: &Self) {
        self.columns.resize_with(other.columns.len(), Vec::new);
        for (own, other) in self.columns.iter_mut().zip(&other.columns) {
            own.extend_from_slice(other);
        }
        self.len += other.len;
    }

    /// Appends these rows of another batch with the same columns.
    pub(crate) fn take_in_order(&mut self, from: &Self, rows: impl Iterator<Item = u32> + Clone) {
        self.columns.resize_with(from.columns.len(), Vec::new);
        for (own, from) in self.columns.iter_mut().zip(&from.columns) {
            if !from.is_empty() {
                own.extend(rows.clone().map(|row| from[row as usize]));
            }
        }
        self.len += rows.count();
    }
}

/// Keeps these values. What is written later is empty still.
fn keep<T: Copy>(values: &mut Vec<T>, rows: &[u32]) {
    if values.is_empty() {
        return;
    }
    let all = &mut **values;
    for (to, &from) in rows.iter().enumerate() {
        all[to] = all[from as usize];
    }
    values.truncate(rows.len());
}
