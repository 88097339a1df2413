//! How kept rows store their fields.
//!
//! Each plan has columns of its own for fields, and the plans of one expression differ. Kept rows have columns that do
//! not: none for a field that follows from the variables; one if only its shape does not follow
//! from them, for as long as all plans have the same shapes; and four for any other.

use crate::expr::{
    Batch, Column, Datum, FieldPlan, FieldShape, Operand, PhysicalPlan, ShapeElement, ShapeId, Special,
};
use alloc::{vec, vec::Vec};
use core::ops::Range;
use smallvec::SmallVec;

/// Columns of a field: which of [`shapes`] it has, two elements of its id, its source.
const ALL_COLUMNS: usize = 4;

/// The columns that kept rows have for fields.
#[derive(Default)]
pub(super) struct FieldLayout {
    variables: usize,
    /// How the fields of kept rows are read.
    pub(super) fields: Vec<FieldPlan>,
    /// The fields that have columns.
    written: Vec<Written>,
    /// How fields are read of the rows that are being added.
    of_run: Vec<FieldPlan>,
    /// Plans with different shapes were found.
    shapes_differ: bool,
}

/// A field that has columns.
struct Written {
    field: usize,
    /// Counted from the first of all fields.
    columns: Range<usize>,
}

impl Written {
    /// Whether its column holds the number of one of the plan's shapes, which are the same in every plan.
    fn has_shapes_of_plan(&self) -> bool {
        self.columns.len() == 1
    }
}

/// Whether a field follows from the variables, once it is known which of its shapes it has.
fn are_shapes_known_by_variables(field: &FieldPlan, variables: usize) -> bool {
    let operand = |operand: Operand| match operand {
        Operand::Column(column) => usize::from(column) < variables,
        Operand::Entity(_) | Operand::Nothing => true,
    };
    let element = |element: ShapeElement| match element {
        ShapeElement::Known(known) => operand(known),
        ShapeElement::Any => true,
    };
    let shape = |shape: &FieldShape| {
        shape.source.is_none_or(operand)
            && match shape.id {
                ShapeId::None | ShapeId::Component(_) => true,
                ShapeId::Single(id) | ShapeId::List(id) => operand(id),
                ShapeId::Pair(relation, target) | ShapeId::Closed(relation, target) => {
                    element(relation) && element(target)
                }
            }
    };
    field.shapes.iter().all(shape)
}

/// Every shape that a field can have, if its columns start at `first`.
fn shapes(first: Column) -> Vec<FieldShape> {
    let [a, b, source] = [1, 2, 3].map(|number| Operand::Column(first + number));
    let (known_a, known_b) = (ShapeElement::Known(a), ShapeElement::Known(b));
    let mut ids = vec![ShapeId::None, ShapeId::Single(a), ShapeId::List(a)];
    for kind in [ShapeId::Pair, ShapeId::Closed] {
        for relation in [known_a, ShapeElement::Any] {
            ids.extend([known_b, ShapeElement::Any].map(|target| kind(relation, target)));
        }
    }
    ids.into_iter().map(|id| FieldShape { id, source: Some(source), set: true }).collect()
}

/// What is written to one column.
#[derive(Clone, Copy)]
pub(super) enum Cells<'a> {
    /// The same in every row.
    All(Datum),
    Each(&'a [Datum]),
}

impl<'a> Cells<'a> {
    const UNSET: Self = Self::All(Datum::UNSET);

    fn of(operand: Operand, made: &'a Batch) -> Self {
        match operand {
            Operand::Entity(entity) => Self::All(Datum::new(entity)),
            Operand::Column(column) => Self::of_column(column as usize, made),
            Operand::Nothing => Self::UNSET,
        }
    }

    /// A column of the rows of a run. One that no row has needed is empty.
    pub(super) fn of_column(column: usize, made: &'a Batch) -> Self {
        match made.columns.get(column) {
            Some(values) if values.len() == made.len => Self::Each(values),
            _ => Self::UNSET,
        }
    }

    #[inline]
    pub(super) fn get(self, row: usize) -> Datum {
        match self {
            Self::All(value) => value,
            Self::Each(values) => values[row],
        }
    }
}

/// What rows with this shape have in the columns of a field: its number in [`shapes`], and its elements.
fn encode<'a>(shape: &FieldShape, made: &'a Batch) -> [Cells<'a>; ALL_COLUMNS] {
    if !shape.set {
        return [Cells::UNSET; ALL_COLUMNS];
    }
    let cells = |operand| Cells::of(operand, made);
    let element = |element: ShapeElement| match element {
        ShapeElement::Known(operand) => (0, cells(operand)),
        ShapeElement::Any => (1, Cells::UNSET),
    };
    let pair = |first: u16, relation, target| {
        let ((any_relation, relation), (any_target, target)) = (element(relation), element(target));
        (first + 2 * any_relation + any_target, relation, target)
    };
    let (number, a, b) = match shape.id {
        ShapeId::None => (0, Cells::UNSET, Cells::UNSET),
        ShapeId::Component(component) => (1, Cells::All(Datum::component(component)), Cells::UNSET),
        ShapeId::Single(id) => (1, cells(id), Cells::UNSET),
        ShapeId::List(list) => (2, cells(list), Cells::UNSET),
        ShapeId::Pair(relation, target) => pair(3, relation, target),
        ShapeId::Closed(relation, target) => pair(7, relation, target),
    };
    [Cells::All(Special::Number(number).into()), a, b, shape.source.map_or(Cells::UNSET, cells)]
}

/// Reads one field from the rows of a run.
struct FieldReader<'a> {
    /// The number of the shape, by row.
    set: Cells<'a>,
    shapes: SmallVec<[[Cells<'a>; ALL_COLUMNS]; 2]>,
}

impl<'a> FieldReader<'a> {
    fn new(field: &FieldPlan, made: &'a Batch) -> Self {
        Self {
            set: match field.set {
                Some(set) => Cells::of(Operand::Column(set), made),
                None => Cells::All(Special::Number(0).into()),
            },
            shapes: field.shapes.iter().map(|shape| encode(shape, made)).collect(),
        }
    }

    #[inline]
    fn row(&self, row: usize) -> [Datum; ALL_COLUMNS] {
        let shape = self.set.get(row).number().and_then(|branch| self.shapes.get(branch as usize));
        shape.map_or([Datum::UNSET; ALL_COLUMNS], |cells| cells.map(|cells| cells.get(row)))
    }
}

/// A set of fields.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct FieldBits(u64);

impl FieldBits {
    pub(super) const ALL: Self = Self(u64::MAX);

    /// The last one stands for all fields that have no bit of their own.
    fn bit(field: usize) -> u64 {
        1 << field.min(u64::BITS as usize - 1)
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a field is one of these.
    pub(super) fn contains(self, field: usize) -> bool {
        self.0 & Self::bit(field) != 0
    }
}

impl FromIterator<usize> for FieldBits {
    fn from_iter<I: IntoIterator<Item = usize>>(fields: I) -> Self {
        Self(fields.into_iter().fold(0, |bits, field| bits | Self::bit(field)))
    }
}

impl FieldLayout {
    /// The fields that differ between two kept rows with the same variables.
    pub(super) fn compare(&self, now: (&Batch, usize), then: (&Batch, usize)) -> FieldBits {
        let value = |(rows, row): (&Batch, usize), column: usize| {
            let column = rows.columns.get(self.variables + column);
            column.and_then(|column| column.get(row)).copied().unwrap_or(Datum::UNSET)
        };
        let is_other = |column| value(now, column) != value(then, column);
        let others = self.written.iter().filter(|written| written.columns.clone().any(is_other));
        others.map(|written| written.field).collect()
    }

    /// [`compare`](Self::compare) for rows in different layouts: those of `then` are read by `fields`.
    pub(super) fn compare_layouts<'a>(
        &self,
        fields: &[FieldPlan],
        now: &'a Batch,
        then: &'a Batch,
    ) -> impl Fn(usize, usize) -> FieldBits + use<'a> {
        let read = self.fields.iter().zip(fields);
        let readers: Vec<_> =
            read.map(|(new, old)| (FieldReader::new(new, now), FieldReader::new(old, then))).collect();
        let are_known = self.fields.len() == fields.len();
        move |row, before| match are_known {
            true => {
                let differs =
                    |(new, old): &(FieldReader<'_>, FieldReader<'_>)| new.row(row) != old.row(before);
                let fields = readers.iter().enumerate().filter(|(_, readers)| differs(readers));
                fields.map(|(field, _)| field).collect()
            }
            false => FieldBits::ALL,
        }
    }

    /// The layout for the rows of an expression that has this plan.
    pub(super) fn renew(&mut self, variables: usize, plan: &PhysicalPlan) {
        let (mut fields, mut written, mut columns) = (Vec::new(), Vec::new(), 0);
        for (number, field) in plan.fields.iter().enumerate() {
            let are_known = !self.shapes_differ && are_shapes_known_by_variables(field, variables);
            if are_known && field.set.is_none() {
                fields.push(field.clone());
                continue;
            }
            let first = (variables + columns) as Column;
            let shapes = if are_known { field.shapes.clone() } else { shapes(first) };
            fields.push(FieldPlan { shapes, set: Some(first) });
            let width = if are_known { 1 } else { ALL_COLUMNS };
            written.push(Written { field: number, columns: columns..columns + width });
            columns += width;
        }
        *self = Self { variables, fields, written, of_run: plan.fields.clone(), ..*self };
    }

    /// Number of columns of kept rows.
    pub(super) fn columns(&self) -> usize {
        self.variables + self.written.last().map_or(0, |last| last.columns.end)
    }

    /// Prepares for rows of a plan. False if kept rows have no columns for its fields: then the layout must be
    /// [made anew](Self::renew).
    pub(super) fn set_plan(&mut self, plan: &PhysicalPlan) -> bool {
        self.of_run.clone_from(&plan.fields);
        let mut written = self.written.iter().peekable();
        let mut fields = self.fields.iter().zip(&self.of_run).enumerate();
        let alike = !self.shapes_differ;
        let fits =
            fields.all(|(number, (kept, made))| match written.next_if(|written| written.field == number) {
                None => alike && kept == made,
                Some(written) if written.has_shapes_of_plan() => alike && kept.shapes == made.shapes,
                Some(_) => true,
            });
        self.shapes_differ |= !fits;
        fits
    }

    /// The fields that have columns, each with its reader for rows of the plan.
    fn readers<'a>(&'a self, made: &'a Batch) -> impl Iterator<Item = (&'a Written, FieldReader<'a>)> {
        self.written.iter().map(|written| (written, FieldReader::new(&self.of_run[written.field], made)))
    }

    /// Appends the fields of rows of the plan.
    pub(super) fn append(
        &self,
        made: &Batch,
        rows: impl Iterator<Item = usize> + Clone,
        columns: &mut [Vec<Datum>],
    ) {
        for (written, reader) in self.readers(made) {
            match &mut columns[written.columns.clone()] {
                [column] => column.extend(rows.clone().map(|row| reader.set.get(row))),
                columns => rows.clone().for_each(|row| {
                    columns.iter_mut().zip(reader.row(row)).for_each(|(column, datum)| column.push(datum));
                }),
            }
        }
    }

    /// Writes the fields of rows of the plan to kept rows: each of `places` is a kept row, and the number of the row that is
    /// written there.
    pub(super) fn write(&self, made: &Batch, places: &[(u32, u32)], columns: &mut [Vec<Datum>]) {
        for (written, reader) in self.readers(made) {
            match &mut columns[written.columns.clone()] {
                [column] => {
                    places.iter().for_each(|&(to, row)| column[to as usize] = reader.set.get(row as usize));
                }
                columns => places.iter().for_each(|&(to, row)| {
                    let data = reader.row(row as usize);
                    columns.iter_mut().zip(data).for_each(|(column, datum)| column[to as usize] = datum);
                }),
            }
        }
    }
}
