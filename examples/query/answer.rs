//! Rows in words.

use crate::failure::Failure;
use bevy_ecs::prelude::*;
use bevy_reflect::{PartialReflect, ReflectRef};
use bevy_relations::{CompiledExpr, FieldId, Row, Slot, prelude::*};
use std::time::{Duration, Instant};

/// Every row as a table: who it is about, its variables, and what fields have to tell beside what was asked.
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    took: Duration,
}

impl Table {
    pub(crate) fn of(expr: &mut CompiledExpr, world: &World) -> Result<Self, Failure> {
        let mut header = vec!["this".to_owned()];
        header.extend(expr.variables().map(|name| format!("${name}")));
        header.extend((0..expr.field_count()).map(|field| expr.field_text(field).unwrap_or("").to_owned()));
        let fields = expr.field_count();
        // What it takes to find rows, without writing them.
        let start = Instant::now();
        expr.for_each(world, |_| {})?;
        let took = start.elapsed();
        let mut rows = Vec::new();
        expr.for_each(world, |row| {
            let mut cells = vec![row.this().map_or(String::new(), |this| name(world, this))];
            cells.extend(
                row.vars().map(|(_, value)| value.map_or("*".to_owned(), |value| name(world, value))),
            );
            cells.extend((0..fields).map(|field| describe(world, row, field)));
            rows.push(cells);
        })?;
        let mut table = Self { header, rows, took };
        table.drop_columns_without_news();
        Ok(table)
    }

    fn drop_columns_without_news(&mut self) {
        for column in (0..self.header.len()).rev() {
            if self.rows.iter().all(|row| row[column].is_empty()) {
                self.header.remove(column);
                self.rows.iter_mut().for_each(|row| drop(row.remove(column)));
            }
        }
    }

    /// The first so many rows, in columns, and how many there are.
    pub(crate) fn text(&self, limit: usize) -> String {
        let shown = &self.rows[..self.rows.len().min(limit)];
        let width = |column: usize| {
            let cells = shown.iter().chain([&self.header]).map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let mut text = String::new();
        let mut line = |cells: &[String]| {
            let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            let line = padded.collect::<Vec<_>>().join("  ");
            text += line.trim_end();
            text += "\n";
        };
        if !self.header.is_empty() && !shown.is_empty() {
            line(&self.header);
            line(&widths.iter().map(|&width| "-".repeat(width)).collect::<Vec<_>>());
            shown.iter().for_each(|row| line(row));
        }
        if self.rows.len() > limit {
            text += "...\n";
        }
        text + &count(self.rows.len(), self.took)
    }
}

fn count(rows: usize, took: Duration) -> String {
    format!("{rows} {} in {took:.1?}\n", if rows == 1 { "row" } else { "rows" })
}

/// Who is in which group.
pub(crate) fn groups(expr: &mut CompiledExpr, world: &World) -> Result<String, Failure> {
    let start = Instant::now();
    expr.for_each_group(world, |_| {})?;
    let took = start.elapsed();
    let (mut text, mut rows) = (String::new(), 0);
    expr.for_each_group(world, |group| {
        let members = group.iter().filter_map(|row| row.this()).map(|this| name(world, this));
        let members = members.collect::<Vec<_>>().join(", ");
        text += &format!(
            "{}: {members}\n",
            group.target().map_or("none".to_owned(), |target| name(world, target))
        );
        rows += group.len();
    })?;
    Ok(text + &count(rows, took))
}

fn name(world: &World, entity: Entity) -> String {
    match world.get::<Name>(entity) {
        Some(name) => name.to_string(),
        None => world.any_pairs().relation_name(entity).map_or(entity.to_string(), |name| name.to_string()),
    }
}

/// What a field tells: its value, or a pair that was not known before, and on whom it was found if on another.
fn describe(world: &World, row: Row<'_>, field: usize) -> String {
    let mut text = match (row.reflect(field), row.id(field)) {
        (Some(value), _) => value_text(value),
        (None, Some(FieldId::Pair(pair))) if row.field_text(field).contains('*') => {
            let slot = |slot| match slot {
                Slot::Entity(entity) => name(world, entity),
                other => other.to_string(),
            };
            format!("({}, {})", slot(pair.relation()), slot(pair.target()))
        }
        _ => String::new(),
    };
    if let Some(source) = row.source(field)
        && !text.is_empty()
        && !row.is_own(field)
    {
        text += &format!(" of {}", name(world, source));
    }
    text
}

/// A value, in short: a single field without its type, and nothing for a marker.
fn value_text(value: &dyn PartialReflect) -> String {
    match value.reflect_ref() {
        ReflectRef::TupleStruct(tuple) if tuple.field_len() == 1 => {
            tuple.field(0).map_or(String::new(), field_text)
        }
        ReflectRef::Struct(fields) if fields.field_len() == 0 => String::new(),
        ReflectRef::Struct(fields) => {
            let fields = (0..fields.field_len()).filter_map(|at| fields.field_at(at));
            fields.map(field_text).collect::<Vec<_>>().join(", ")
        }
        _ => field_text(value),
    }
}

fn field_text(value: &dyn PartialReflect) -> String {
    value.try_downcast_ref::<String>().cloned().unwrap_or_else(|| format!("{value:?}"))
}
