//! What kept rows say about fields.
//!
//! A plan puts what it finds about a field into columns of its own, and the plans of one expression differ. Kept rows
//! have columns that do not: none for a field of which the variables tell everything, and four for any other.

use crate::expr::{
    Batch, Column, Datum, FieldPlan, FieldShape, Operand, PhysicalPlan, ShapeElement, ShapeId, Special,
};
use alloc::{vec, vec::Vec};

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

/// The number of the shape in [`shapes`], and its elements.
fn encode(id: ShapeId, value: impl Fn(Operand) -> Datum) -> (u16, Datum, Datum) {
    let element = |element: ShapeElement| match element {
        ShapeElement::Known(operand) => (0, value(operand)),
        ShapeElement::Any => (1, Datum::UNSET),
    };
    let pair = |first: u16, relation, target| {
        let ((any_relation, relation), (any_target, target)) = (element(relation), element(target));
        (first + 2 * any_relation + any_target, relation, target)
    };
    match id {
        ShapeId::None => (0, Datum::UNSET, Datum::UNSET),
        ShapeId::Component(component) => (1, Datum::component(component), Datum::UNSET),
        ShapeId::Single(id) => (1, value(id), Datum::UNSET),
        ShapeId::List(list) => (2, value(list), Datum::UNSET),
        ShapeId::Pair(relation, target) => pair(3, relation, target),
        ShapeId::Closed(relation, target) => pair(7, relation, target),
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
            let field = &self.of_run[field];
            for row in rows.clone() {
                let data = data(field, made, row);
                columns.iter_mut().zip(data).for_each(|(column, datum)| column.push(datum));
            }
        }
    }

    /// Writes what one row of the plan says about fields to a row that is kept.
    pub(super) fn write(&self, made: &Batch, row: usize, columns: &mut [Vec<Datum>], to: usize) {
        for (&field, columns) in self.written.iter().zip(columns.chunks_exact_mut(COLUMNS)) {
            let data = data(&self.of_run[field], made, row);
            columns.iter_mut().zip(data).for_each(|(column, datum)| column[to] = datum);
        }
    }
}

/// What a row says about a field.
fn data(field: &FieldPlan, made: &Batch, row: usize) -> [Datum; COLUMNS] {
    // A column that no row has needed is empty.
    let value = |operand: Operand| match operand {
        Operand::Column(column) => {
            let column = made.columns.get(column as usize);
            column.and_then(|column| column.get(row)).copied().unwrap_or(Datum::UNSET)
        }
        known => made.value(known, row),
    };
    let shape = match field.set {
        None => field.shapes.first(),
        Some(set) => {
            let branch = value(Operand::Column(set)).number();
            branch.and_then(|branch| field.shapes.get(branch as usize))
        }
    };
    match shape.filter(|shape| shape.set) {
        None => [Datum::UNSET; COLUMNS],
        Some(shape) => {
            let (number, a, b) = encode(shape.id, value);
            let source = shape.source.map_or(Datum::UNSET, value);
            [Special::Number(number).into(), a, b, source]
        }
    }
}
