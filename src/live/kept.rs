//! Kept rows, indexed by the values of their variables.

use super::{
    fields::{Cells, FieldLayout},
    levels::{DepthLists, RowNumbers},
    moves::Moves,
    row_ids::RowIds,
};
use crate::{
    expr::{Batch, Datum, DepthOrder, FieldPlan, Var, View},
    store::{BitSet, DepthReader},
};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// The rows with the same value of a variable, as a list that is linked through all rows.
#[derive(Clone, Copy)]
struct List {
    first: u32,
    len: u32,
    /// While rows are replaced: the next that is still to be replaced. Otherwise [`NONE`].
    stale: u32,
}

impl List {
    const EMPTY: Self = Self { first: NONE, len: 0, stale: NONE };
}

/// The rows before and behind a row in its list.
#[derive(Clone, Copy)]
struct Link {
    before: u32,
    behind: u32,
}

/// The rows by the value of one variable. There is a list for each entity index: rows of dead entities share it with those of
/// the living one.
struct VarIndex {
    var: Var,
    lists: Vec<List>,
    links: Vec<Link>,
    /// It is built when it is needed first, and then maintained.
    is_made: bool,
}

/// The list of a value. Rows in which the variable is unset are in no list.
fn list_of(value: Datum) -> Option<usize> {
    value.entity().map(|entity| entity.index_u32() as usize)
}

impl VarIndex {
    fn new(var: Var) -> Self {
        Self { var, lists: Vec::new(), links: Vec::new(), is_made: var == Var::THIS }
    }

    fn make(&mut self, rows: &Batch) {
        if !core::mem::replace(&mut self.is_made, true) {
            rows.columns[self.var.index()].iter().for_each(|&value| self.push(value));
        }
    }

    fn clear(&mut self) {
        self.lists.clear();
        self.links.clear();
        self.is_made = self.var == Var::THIS;
    }

    /// Puts the next row into the list of a value.
    fn push(&mut self, value: Datum) {
        let row = self.links.len() as u32;
        self.links.push(Link { before: NONE, behind: NONE });
        self.link(row, value);
    }

    /// Puts a row that is in no list into the list of a value.
    fn link(&mut self, row: u32, value: Datum) {
        let mut behind = NONE;
        if let Some(at) = list_of(value) {
            if at >= self.lists.len() {
                self.lists.resize((at + 1).next_power_of_two(), List::EMPTY);
            }
            let list = &mut self.lists[at];
            behind = list.first;
            (list.first, list.len) = (row, list.len + 1);
        }
        if let Some(link) = self.links.get_mut(behind as usize) {
            link.before = row;
        }
        self.links[row as usize] = Link { before: NONE, behind };
    }

    /// Takes a row, which has this value, out of its list.
    fn unlink(&mut self, row: u32, value: Datum) {
        let Some(list) = list_of(value).and_then(|at| self.lists.get_mut(at)) else { return };
        let Link { before, behind } = self.links[row as usize];
        if let Some(link) = self.links.get_mut(behind as usize) {
            link.before = before;
        }
        match self.links.get_mut(before as usize) {
            Some(link) => link.behind = behind,
            None => list.first = behind,
        }
        list.len -= 1;
    }

    /// Moves the last row, which has this value, to the place of a row that is in no list any more.
    fn swap_remove(&mut self, row: u32, value_of_last: Datum) {
        let Some(last) = self.links.pop() else { return };
        if row as usize == self.links.len() {
            return;
        }
        self.links[row as usize] = last;
        let Some(list) = list_of(value_of_last).and_then(|at| self.lists.get_mut(at)) else { return };
        if let Some(link) = self.links.get_mut(last.behind as usize) {
            link.before = row;
        }
        match self.links.get_mut(last.before as usize) {
            Some(link) => link.behind = row,
            None => list.first = row,
        }
    }

    /// The next of the rows that are to be replaced by one with this value.
    fn next_stale(&mut self, value: Datum) -> Option<u32> {
        let at = list_of(value)?;
        let list = self.lists.get_mut(at).filter(|list| list.stale != NONE)?;
        let row = list.stale;
        list.stale = self.links[row as usize].behind;
        Some(row)
    }

    /// The rows that may have a value.
    fn rows(&self, value: Datum) -> impl Iterator<Item = u32> + use<'_> {
        let list = list_of(value).and_then(|at| self.lists.get(at));
        let first = list.map_or(NONE, |list| list.first);
        let next = |&row: &u32| Some(self.links[row as usize].behind).filter(|&row| row != NONE);
        core::iter::successors(Some(first).filter(|&row| row != NONE), next)
    }

    /// Number of rows that may have a value.
    fn len(&self, value: Datum) -> usize {
        list_of(value).and_then(|at| self.lists.get(at)).map_or(0, |list| list.len as usize)
    }
}

/// Rows that are kept: a column for each variable, and what [`FieldLayout`] adds for fields.
#[derive(Default)]
pub(super) struct KeptRows {
    rows: Batch,
    variables: usize,
    /// How the fields of rows are read.
    fields: Vec<FieldPlan>,
    indices: Vec<VarIndex>,
    found: Vec<u32>,
    /// While rows are removed: those that are still to be.
    leaving: BitSet,
    places: Vec<(u32, u32)>,
    /// Rows that came and went since the last update, if these are recorded.
    pub(super) moves: Option<Moves>,
    /// If rows are kept in order.
    pub(super) ids: Option<RowIds>,
    /// If they are kept by depth.
    pub(super) levels: Option<DepthLists>,
}

impl KeptRows {
    /// The row of an id, for rows that are kept in order.
    pub(super) fn row_of_id(&self, id: u32) -> usize {
        self.ids.as_ref().and_then(|ids| ids.row(id)).unwrap_or(0)
    }

    /// Removes all rows. New ones have this number of variables and this layout, and are indexed by these variables.
    pub(super) fn renew(
        &mut self,
        variables: usize,
        layout: &FieldLayout,
        indexed: impl Iterator<Item = Var>,
    ) {
        self.clear();
        let fields = core::mem::replace(&mut self.fields, layout.fields.clone());
        if let Some(moves) = &mut self.moves {
            moves.note_layout_change(fields);
        }
        self.rows = Batch::with_columns(layout.columns());
        self.variables = variables;
        self.indices = indexed.map(VarIndex::new).collect();
        self.levels = None;
    }

    pub(super) fn clear(&mut self) {
        if let Some(moves) = &mut self.moves {
            moves.left.add(&self.rows.columns, 0..self.rows.len);
        }
        self.rows.clear();
        self.indices.iter_mut().for_each(VarIndex::clear);
        self.ids.iter_mut().for_each(RowIds::clear);
        self.levels.iter_mut().for_each(DepthLists::clear);
    }

    /// Leaves out the rows that went and came again.
    pub(super) fn keep_net_moves(&mut self, layout: &FieldLayout) {
        if let Some(moves) = &mut self.moves {
            moves.keep_net(self.variables, layout);
        }
    }

    pub(super) fn batch(&self) -> &Batch {
        &self.rows
    }

    /// Number of variables, also of those without a name.
    pub(super) fn variables(&self) -> usize {
        self.variables
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len
    }

    /// Adds rows of a run.
    pub(super) fn append(&mut self, made: &Batch, layout: &FieldLayout) {
        for (var, column) in self.rows.columns[..self.variables].iter_mut().enumerate() {
            match made.columns.get(var) {
                Some(values) if values.len() == made.len => column.extend_from_slice(values),
                _ => column.resize(column.len() + made.len, Datum::UNSET),
            }
        }
        layout.append(made, 0..made.len, &mut self.rows.columns[self.variables..]);
        self.note_appended(made.len);
    }

    /// Adds some of the rows of a run.
    fn append_some(&mut self, made: &Batch, layout: &FieldLayout, rows: &[u32]) {
        for (var, column) in self.rows.columns[..self.variables].iter_mut().enumerate() {
            let values = Cells::of_column(var, made);
            column.extend(rows.iter().map(|&row| values.get(row as usize)));
        }
        let numbers = rows.iter().map(|&row| row as usize);
        layout.append(made, numbers, &mut self.rows.columns[self.variables..]);
        self.note_appended(rows.len());
    }

    fn note_appended(&mut self, count: usize) {
        let first = self.rows.len;
        self.rows.len += count;
        if let Some(ids) = &mut self.ids {
            (0..count).for_each(|_| ids.push());
        }
        if let Some(levels) = &mut self.levels {
            (0..count).for_each(|_| levels.push());
        }
        if let Some(moves) = &mut self.moves {
            moves.entered.add(&self.rows.columns, first..self.rows.len);
        }
        for index in self.indices.iter_mut().filter(|index| index.is_made) {
            let values = &self.rows.columns[index.var.index()][first..];
            values.iter().for_each(|&value| index.push(value));
        }
    }

    /// Begins to replace the rows in which a variable is one of these entities, or one that had the same index. No index
    /// may be among them twice.
    pub(super) fn start_replacing(&mut self, var: Var, entities: &[Entity]) {
        let Self { indices, rows, .. } = self;
        let Some(index) = indices.iter_mut().find(|index| index.var == var) else { return };
        index.make(rows);
        for entity in entities {
            if let Some(list) = index.lists.get_mut(entity.index_u32() as usize) {
                list.stale = list.first;
            }
        }
    }

    /// Puts rows of a run in the places of those that they replace, and adds the others.
    pub(super) fn replace(&mut self, var: Var, made: &Batch, layout: &FieldLayout) {
        let (mut fresh, mut places) = (core::mem::take(&mut self.found), core::mem::take(&mut self.places));
        fresh.clear();
        places.clear();
        let mut index = self.indices.iter_mut().find(|index| index.var == var);
        let values = Cells::of_column(var.index(), made);
        for number in 0..made.len as u32 {
            let value = values.get(number as usize);
            match index.as_mut().and_then(|index| index.next_stale(value)) {
                Some(row) => places.push((row, number)),
                None => fresh.push(number),
            }
        }
        self.overwrite(var, &places, made, layout);
        self.append_some(made, layout, &fresh);
        (self.found, self.places) = (fresh, places);
    }

    /// Puts rows of a run in the places of others that had the same value of a variable: each of `places` is a row and the number
    /// of what is put there.
    fn overwrite(&mut self, same: Var, places: &[(u32, u32)], made: &Batch, layout: &FieldLayout) {
        let Self { rows, variables, indices, moves, ids, levels, .. } = self;
        if let Some(ids) = ids {
            places.iter().for_each(|&(row, _)| ids.came.push(ids.id(row as usize)));
        }
        if let Some(levels) = levels {
            places.iter().for_each(|&(row, _)| levels.renew(row));
        }
        let known = moves.as_ref().map_or(0, |moves| moves.left.len);
        if let Some(moves) = moves {
            places.iter().for_each(|&(row, _)| moves.left.add(&rows.columns, row as usize..row as usize + 1));
        }
        for index in indices.iter_mut().filter(|index| index.is_made && index.var != same) {
            let (column, values) =
                (&rows.columns[index.var.index()], Cells::of_column(index.var.index(), made));
            for &(row, number) in places {
                let (old, new) = (column[row as usize], values.get(number as usize));
                if list_of(old) != list_of(new) {
                    index.unlink(row, old);
                    index.link(row, new);
                }
            }
        }
        let (vars, fields) = rows.columns.split_at_mut(*variables);
        for (var, column) in vars.iter_mut().enumerate() {
            let values = Cells::of_column(var, made);
            places.iter().for_each(|&(row, number)| column[row as usize] = values.get(number as usize));
        }
        layout.write(made, places, fields);
        if let Some(moves) = moves {
            moves.note_overwritten(rows, places.iter().map(|&(row, _)| row as usize), known);
        }
    }

    /// Removes the rows that nothing has replaced since [`start_replacing`](Self::start_replacing), with the same entities.
    pub(super) fn finish_replacing(&mut self, var: Var, entities: &[Entity]) {
        let Some(index) = self.indices.iter_mut().find(|index| index.var == var) else { return };
        self.found.clear();
        for entity in entities {
            let Some(list) = index.lists.get_mut(entity.index_u32() as usize) else { continue };
            let mut row = core::mem::replace(&mut list.stale, NONE);
            while row != NONE {
                self.found.push(row);
                row = index.links[row as usize].behind;
            }
        }
        self.remove_found();
    }

    /// Finds the rows in which variables have these values. One of the variables must be indexed.
    fn find(&mut self, fit: &[(Var, Entity)]) {
        self.found.clear();
        let Self { indices, rows, found, .. } = self;
        for index in indices.iter_mut().filter(|index| fit.iter().any(|(var, _)| *var == index.var)) {
            index.make(rows);
        }
        let (indices, columns) = (&*indices, &rows.columns);
        let indexed = fit.iter().filter_map(|&(var, entity)| {
            Some((indices.iter().find(|index| index.var == var)?, Datum::new(entity)))
        });
        let Some((index, value)) = indexed.min_by_key(|(index, value)| index.len(*value)) else { return };
        let fits = |row: &u32| {
            let mut fit = fit.iter();
            fit.all(|&(var, entity)| columns[var.index()][*row as usize] == Datum::new(entity))
        };
        found.extend(index.rows(value).filter(fits));
    }

    /// Removes the rows in which variables have these values.
    pub(super) fn remove(&mut self, fit: &[(Var, Entity)]) {
        self.find(fit);
        self.remove_found();
    }

    /// Removes the rows that were found.
    fn remove_found(&mut self) {
        let found = core::mem::take(&mut self.found);
        found.iter().for_each(|&row| _ = self.leaving.insert(row as usize));
        for &row in &found {
            // The last row, which takes the place of this one, must not be one to be removed.
            while let Some(last) = self.rows.len.checked_sub(1).filter(|&last| self.leaving.contains(last)) {
                self.leaving.remove(last);
                self.remove_row(last as u32);
            }
            if self.leaving.contains(row as usize) {
                self.leaving.remove(row as usize);
                self.remove_row(row);
            }
        }
        self.found = found;
    }

    fn remove_row(&mut self, row: u32) {
        let last = self.rows.len - 1;
        if let Some(moves) = &mut self.moves {
            moves.left.add(&self.rows.columns, row as usize..row as usize + 1);
        }
        for index in self.indices.iter_mut().filter(|index| index.is_made) {
            let column = &self.rows.columns[index.var.index()];
            index.unlink(row, column[row as usize]);
            index.swap_remove(row, column[last]);
        }
        for column in &mut self.rows.columns {
            column.swap_remove(row as usize);
        }
        self.ids.iter_mut().for_each(|ids| ids.swap_remove(row));
        self.levels.iter_mut().for_each(|levels| levels.swap_remove(row));
        self.rows.len = last;
    }

    /// The rows in which `$this` is this entity.
    pub(super) fn rows_of(&self, entity: Entity) -> impl Iterator<Item = usize> + use<'_> {
        let index = self.indices.iter().find(|index| index.var == Var::THIS);
        let (value, column) = (Datum::new(entity), self.rows.columns.get(Var::THIS.index()));
        let is = move |&row: &usize| column.is_some_and(|column| column[row] == value);
        let rows = index.into_iter().flat_map(move |index| index.rows(value));
        rows.map(|row| row as usize).filter(is)
    }

    /// Whether there is a row in which `$this` is this entity.
    pub(super) fn has(&self, entity: Entity) -> bool {
        self.rows_of(entity).next().is_some()
    }

    /// Keeps rows by depth from now on, or in any order. There must be none.
    pub(super) fn set_levels(&mut self, by: Option<DepthOrder>) {
        self.levels = by.map(DepthLists::new);
    }

    /// Finds the depths of rows that were recomputed.
    pub(super) fn place_pending(&mut self, view: &View<'_>) {
        let this = self.rows.columns.get(Var::THIS.index());
        let (Some(levels), Some(this)) = (&mut self.levels, this) else { return };
        let mut depths = DepthReader::new(view.index(levels.by.relation));
        levels.place_pending(|row| {
            this[row as usize].entity().and_then(|this| depths.depth_of(this)).unwrap_or(0)
        });
    }

    /// The numbers of the rows, by depth if rows are kept by depth.
    pub(super) fn numbers(&self) -> RowNumbers<'_> {
        RowNumbers::new(self.len(), self.levels.as_ref())
    }

    /// Whether [`numbers`](Self::numbers) ascend.
    pub(super) fn are_in_order(&self) -> bool {
        self.levels.is_none()
    }
}
