//! What kept rows say about fields.
//!
//! A plan puts what it finds about a field into columns of its own, and the plans of one expression differ. Kept rows
//! have columns that do not: none for a field of which the variables tell everything, and four for any other.

use crate::expr::{
    Batch, Column, Datum, FieldPlan, FieldShape, Operand, PhysicalPlan, ShapeElement, ShapeId, Special,
};
use alloc::{vec, vec::Vec};
use smallvec::SmallVec;

/// The columns of a field: which of [`shapes`] it has, two elements of its id, its source.
const COLUMNS: usize = 4;

/// Where kept rows have what they say about fields.
#[derive(Default)]
pub(super) struct FieldLayout {
    variables: usize,
    /// How the fields of kept rows are read.
    pub(super) fields: Vec<FieldPlan>,
    /// The fields that have columns.
    written: Vec<usize>,
    /// How fields are read of the rows that are being added.
    of_run: Vec<FieldPlan>,
}

/// Whether the variables tell everything about a field.
fn is_told_by_variables(field: &FieldPlan, variables: usize) -> bool {
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
    field.set.is_none() && field.shapes.iter().all(shape)
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

/// What is written to one column of a field.
#[derive(Clone, Copy)]
enum Cells<'a> {
    /// In every row the same.
    All(Datum),
    Each(&'a [Datum]),
}

impl<'a> Cells<'a> {
    const UNSET: Self = Self::All(Datum::UNSET);

    fn of(operand: Operand, made: &'a Batch) -> Self {
        match operand {
            Operand::Entity(entity) => Self::All(Datum::new(entity)),
            // A column that no row has needed is empty.
            Operand::Column(column) => {
                made.columns.get(column as usize).map_or(Self::UNSET, |all| Self::Each(all))
            }
            Operand::Nothing => Self::UNSET,
        }
    }

    #[inline]
    fn get(self, row: usize) -> Datum {
        match self {
            Self::All(value) => value,
            Self::Each(values) => values.get(row).copied().unwrap_or(Datum::UNSET),
        }
    }
}

/// What rows with this shape have in the columns of a field: its number in [`shapes`], and its elements.
fn encode<'a>(shape: &FieldShape, made: &'a Batch) -> [Cells<'a>; COLUMNS] {
    if !shape.set {
        return [Cells::UNSET; COLUMNS];
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

/// Reads what the rows of a run say about one field.
struct FieldReader<'a> {
    /// The column that tells which of the shapes it is; otherwise it is the first.
    set: Option<Cells<'a>>,
    shapes: SmallVec<[[Cells<'a>; COLUMNS]; 2]>,
}

impl<'a> FieldReader<'a> {
    fn new(field: &FieldPlan, made: &'a Batch) -> Self {
        Self {
            set: field.set.map(|set| Cells::of(Operand::Column(set), made)),
            shapes: field.shapes.iter().map(|shape| encode(shape, made)).collect(),
        }
    }

    #[inline]
    fn row(&self, row: usize) -> [Datum; COLUMNS] {
        let shape = match self.set {
            None => self.shapes.first(),
            Some(set) => set.get(row).number().and_then(|branch| self.shapes.get(branch as usize)),
        };
        shape.map_or([Datum::UNSET; COLUMNS], |cells| cells.map(|cells| cells.get(row)))
    }
}

/// Some of the fields that have columns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct FieldBits(u64);

impl FieldBits {
    pub(super) const ALL: Self = Self(u64::MAX);

    /// The last one stands for all that have no bit of their own.
    fn bit(position: usize) -> u64 {
        1 << position.min(u64::BITS as usize - 1)
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds the field that a column belongs to, counted from the first column of all fields.
    pub(super) fn insert_column(&mut self, column: usize) {
        self.0 |= Self::bit(column / COLUMNS);
    }
}

impl FieldLayout {
    /// Whether a field is one of these.
    pub(super) fn is_among(&self, field: usize, fields: FieldBits) -> bool {
        let position = self.written.iter().position(|&written| written == field);
        position.is_some_and(|position| fields.0 & FieldBits::bit(position) != 0)
    }

    /// A layout for the rows of an expression that has this plan.
    pub(super) fn new(variables: usize, plan: &PhysicalPlan) -> Self {
        let (mut fields, mut written) = (Vec::new(), Vec::new());
        for (number, field) in plan.fields.iter().enumerate() {
            if is_told_by_variables(field, variables) {
                fields.push(field.clone());
                continue;
            }
            let first = (variables + COLUMNS * written.len()) as Column;
            written.push(number);
            fields.push(FieldPlan { shapes: shapes(first), set: Some(first) });
        }
        Self { variables, fields, written, of_run: Vec::new() }
    }

    /// Number of columns of kept rows.
    pub(super) fn columns(&self) -> usize {
        self.variables + COLUMNS * self.written.len()
    }

    /// Prepares for rows of a plan. False if kept rows have no columns for what it says about fields.
    pub(super) fn set_plan(&mut self, plan: &PhysicalPlan) -> bool {
        self.of_run.clone_from(&plan.fields);
        let mut fields = self.fields.iter().zip(&self.of_run).enumerate();
        fields.all(|(number, (kept, made))| self.written.contains(&number) || kept == made)
    }

    /// Appends what rows of the plan say about fields.
    pub(super) fn append(
        &self,
        made: &Batch,
        rows: impl Iterator<Item = usize> + Clone,
        columns: &mut [Vec<Datum>],
    ) {
        for (&field, columns) in self.written.iter().zip(columns.chunks_exact_mut(COLUMNS)) {
            let reader = FieldReader::new(&self.of_run[field], made);
            for row in rows.clone() {
                columns.iter_mut().zip(reader.row(row)).for_each(|(column, datum)| column.push(datum));
            }
        }
    }

    /// Writes what rows of the plan say about fields to rows that are kept: each of `places` is one of those, and the number
    /// of the row that is written there.
    pub(super) fn write(&self, made: &Batch, places: &[(u32, u32)], columns: &mut [Vec<Datum>]) {
        for (&field, columns) in self.written.iter().zip(columns.chunks_exact_mut(COLUMNS)) {
            let reader = FieldReader::new(&self.of_run[field], made);
            for &(to, row) in places {
                let data = reader.row(row as usize);
                columns.iter_mut().zip(data).for_each(|(column, datum)| column[to as usize] = datum);
            }
        }
    }
}
