//! Writing columns, row by row.

use super::{Batch, Own, Run, climb::Climber, predicate::select};
use crate::expr::{
    eval::{Datum, Special},
    plan::{Column, Compute, Operand, Stage},
};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

impl Compute {
    /// Writes its columns, and removes the rows for which there is nothing to write. `rows` is a buffer.
    pub(super) fn apply(
        &self,
        own: &mut Own,
        rows: &mut Vec<u32>,
        run: &mut Run<'_, '_>,
        batch: &mut Batch,
        stage: &Stage,
    ) {
        let view = run.view;
        match self {
            Self::Target { relation, source, out } => {
                let index = view.index(*relation);
                match index.exclusive_reader(stage.compares(run, *relation, *source)) {
                    Some(mut reader) => {
                        write_of(batch, rows, stage, *source, *out, |source| reader.target(source));
                    }
                    None => write_of(batch, rows, stage, *source, *out, |source| index.first_target(source)),
                }
            }
            Self::TargetIfAny { relation, source, out, none, set } => {
                let compare = stage.compares(run, *relation, *source);
                let Some(mut reader) = view.index(*relation).exclusive_reader(compare) else { return };
                let (none, some) = (Datum::from(*none), Datum::from(Special::Number(0)));
                let [mut targets, mut marks] =
                    [*out, *set].map(|column| core::mem::take(batch.column_mut(column)));
                let mut target = |row| batch.entity(*source, row).and_then(|source| reader.target(source));
                // Without a branch: half of them may have none, in any order.
                targets.clear();
                targets.extend((0..batch.len).map(|row| target(row).map_or(none, Datum::new)));
                marks.clear();
                marks.extend(targets.iter().map(|&target| if target == none { Datum::UNSET } else { some }));
                (*batch.column_mut(*out), *batch.column_mut(*set)) = (targets, marks);
            }
            Self::Holder { source: Operand::Entity(constant), .. } if !view.is_alive(*constant) => {
                batch.keep(&stage.columns, &[]);
            }
            Self::Holder { search, source, out } => match Climber::new(run, own, *search, batch.len, stage) {
                Some(mut climber) => {
                    write_of(batch, rows, stage, *source, *out, |source| climber.holder(source));
                    run.shared.atoms.steps += climber.steps;
                }
                None => batch.keep(&stage.columns, &[]),
            },
            Self::Child { parent, path, out } => {
                write_of(batch, rows, stage, *parent, *out, |parent| view.child(parent, path));
            }
            Self::Set { column, value } => {
                let mut values = core::mem::take(batch.column_mut(*column));
                values.clear();
                values.extend((0..batch.len).map(|row| batch.value(*value, row)));
                *batch.column_mut(*column) = values;
                let exists = match value {
                    Operand::Entity(entity) => view.is_alive(*entity),
                    Operand::Column(_) => true,
                    Operand::Nothing => false,
                };
                if !exists {
                    batch.keep(&stage.columns, &[]);
                }
            }
            Self::Mark { test, column } => {
                batch.fill(*column, Datum::UNSET);
                test.collect(own, rows, run, batch, stage);
                batch.mark(*column, Special::Number(0).into(), rows);
            }
            Self::Choose { tests, column } => {
                batch.fill(*column, Datum::UNSET);
                for (number, test) in tests.iter().enumerate().rev() {
                    test.collect(own, rows, run, batch, stage);
                    batch.mark(*column, Special::Number(number as u16).into(), rows);
                }
                select(batch.len, rows, |row| !batch.columns[*column as usize][row].is_unset());
                batch.keep(&stage.columns, rows);
            }
        }
    }
}

/// Writes a column with what is found for another, and removes the rows for which nothing is found.
#[inline]
fn write_of(
    batch: &mut Batch,
    rows: &mut Vec<u32>,
    stage: &Stage,
    of: Operand,
    column: Column,
    mut find: impl FnMut(Entity) -> Option<Entity>,
) {
    let mut values = core::mem::take(batch.column_mut(column));
    values.clear();
    values.resize(batch.len, Datum::UNSET);
    let constant;
    // One loop for both: then what is looked for becomes a part of it.
    let (entities, step) = match of {
        Operand::Entity(entity) => {
            constant = [Datum::new(entity)];
            (&constant[..], 0)
        }
        Operand::Nothing => (&[Datum::UNSET][..], 0),
        Operand::Column(of) => (&batch.columns[of as usize][..batch.len], 1),
    };
    let found_values = &mut values[..batch.len];
    select(batch.len, rows, |row| {
        let found = entities[row * step].entity().and_then(&mut find);
        found_values[row] = found.map_or(Datum::UNSET, Datum::new);
        found.is_some()
    });
    *batch.column_mut(column) = values;
    batch.keep(&stage.columns, rows);
}
