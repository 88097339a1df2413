//! Rows in columns.

use crate::{
    expr::{
        bind::Var,
        eval::{Datum, WorldAccess},
        plan::{Column, Operand},
    },
    fetch::RowHint,
    store::ones,
};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, storage::TableId};
use core::ops::Range;

use super::row_bits::WORD;

/// So many rows are looked at together: they may all be made of one.
const SAME_ROWS: usize = 32;

/// Some rows, a column each for what is known of them. Only columns that are wanted are filled.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) len: usize,
    pub(crate) columns: Vec<Vec<Datum>>,
    /// The group of each row, if rows were put into groups.
    pub(crate) groups: Vec<u64>,
    /// In which row of which table the entity of each row lies. Empty unless that is known and was wanted.
    pub(crate) places: Vec<RowHint>,
    /// If entities side by side in a table were scanned *in place*: where they are. Entries are those of the table.
    pub(crate) in_place: Option<InPlace>,
    /// Which entries of columns are rows, a bit each. Empty if all of them are; of batches in place only. A reader
    /// [declares that it skips the others](super::Executor::allow_gaps).
    pub(super) bits: Vec<u64>,
    /// Columns that hold the same in all entries, as far as that is known, and therefore one of them; of batches in place only.
    pub(crate) common: Vec<Column>,
}

/// Rows of a table that a batch is made of as they lie.
#[derive(Clone, Copy)]
pub(crate) struct InPlace {
    pub(crate) table: TableId,
    /// The row of the table that is the first entry of each column.
    pub(crate) first: usize,
    /// Number of entries.
    pub(crate) len: usize,
}

impl InPlace {
    /// The entities that they are about.
    #[inline]
    pub(crate) fn entities<'w>(&self, access: WorldAccess<'w>) -> &'w [Entity] {
        access.table(self.table).get(self.first..self.first + self.len).unwrap_or_default()
    }

    /// Where an entry is.
    #[inline]
    pub(crate) fn place(&self, row: usize) -> (TableId, usize) {
        (self.table, self.first + row)
    }
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
        self.in_place = None;
        self.bits.clear();
        self.common.clear();
    }

    /// Calls a function with the number of each row: that of its entry in columns.
    #[inline]
    pub(crate) fn each_row(&self, mut each: impl FnMut(usize)) {
        if self.bits.is_empty() {
            return (0..self.len).for_each(each);
        }
        for (word, &bits) in self.bits.iter().enumerate() {
            ones(bits).for_each(|bit| each(word * WORD + bit as usize));
        }
    }

    /// [`each_row`](Self::each_row) with the element of a list that has one for each entry.
    #[inline]
    pub(crate) fn each_row_of<'a, T>(&self, entries: &'a [T], mut each: impl FnMut(usize, &'a T)) {
        if self.bits.is_empty() {
            entries.iter().take(self.len).enumerate().for_each(|(row, entry)| each(row, entry));
            return;
        }
        for (number, (&bits, word)) in self.bits.iter().zip(entries.chunks(WORD)).enumerate() {
            let first = number * WORD;
            if bits == u64::MAX {
                word.iter().enumerate().for_each(|(at, entry)| each(first + at, entry));
            } else {
                ones(bits).for_each(|bit| {
                    if let Some(entry) = word.get(bit as usize) {
                        each(first + bit as usize, entry);
                    }
                });
            }
        }
    }

    /// The next rows, from a number on, without another number between them.
    pub(crate) fn next_rows(&self, from: usize) -> Option<Range<usize>> {
        if self.bits.is_empty() {
            return (from < self.len).then_some(from..self.len);
        }
        let next = |from: usize, flip: u64| {
            let words = self.bits.iter().enumerate().skip(from / WORD);
            let mut found = words.filter_map(|(number, &word)| {
                let first = number * WORD;
                let bits = (word ^ flip) & u64::MAX << from.saturating_sub(first);
                (bits != 0).then(|| first + bits.trailing_zeros() as usize)
            });
            found.next()
        };
        let first = next(from, 0)?;
        Some(first..next(first, u64::MAX).unwrap_or(self.bits.len() * WORD))
    }

    /// What the row of an entry says about a column. Nothing if that is not filled.
    #[inline]
    pub(crate) fn datum(&self, column: Column, row: usize) -> Datum {
        let values = self.columns.get(column as usize).map_or(&[][..], Vec::as_slice);
        // There is one value where it is common to all.
        values.get(row).or(values.first()).copied().unwrap_or(Datum::UNSET)
    }

    /// The entity that the row of an entry is about.
    pub(crate) fn this(&self, access: WorldAccess<'_>, row: usize) -> Datum {
        match self.in_place {
            Some(_) => self.entities_in_place(access).get(row).map_or(Datum::UNSET, |&this| Datum::new(this)),
            None => self.datum(Var::THIS.0, row),
        }
    }

    /// The entities that the rows are about, if they are not in a column.
    #[inline]
    pub(crate) fn entities_in_place<'w>(&self, access: WorldAccess<'w>) -> &'w [Entity] {
        self.in_place.map_or(&[], |in_place| in_place.entities(access))
    }

    /// Calls a function with the number of each row, and the entity that it is about. `these` are those of all entries, unless
    /// they are in a column.
    #[inline]
    pub(crate) fn each_row_with_this(&self, these: &[Entity], mut each: impl FnMut(usize, Datum)) {
        let in_column = &self.columns[Var::THIS.index()];
        if !in_column.is_empty() {
            self.each_row_of(in_column, |row, &this| each(row, this));
        } else if !these.is_empty() {
            self.each_row_of(these, |row, &this| each(row, Datum::new(this)));
        } else {
            self.each_row(|row| each(row, Datum::UNSET));
        }
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

    /// Appends to `columns` what these rows of another batch hold, given in ascending order: some may come many times.
    pub(crate) fn gather(&mut self, from: &Self, columns: &[Column], rows: &[u32]) {
        for &column in columns {
            let source = &from.columns[column as usize];
            let values = &mut self.columns[column as usize];
            for rows in rows.chunks(SAME_ROWS) {
                match rows {
                    [first, .., last] if first == last => {
                        values.resize(values.len() + rows.len(), source[*first as usize]);
                    }
                    _ => values.extend(rows.iter().map(|&row| source[row as usize])),
                }
            }
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
