//! Rows in words.

use crate::{failure::Failure, world::TypeNames};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::{PartialReflect, ReflectRef};
use bevy_relations::{
    expr::{CompiledExpr, FieldId, Row, RowSerializer},
    id::Slot,
    prelude::*,
};
use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

/// Rows that a column is made wide enough for before the first of them is written.
const BLOCK: usize = 1000;

/// Writes rows as a table while they are found: the first `shown`, and how many there are.
pub(crate) fn write_table(
    out: &mut dyn Write,
    expr: &mut CompiledExpr,
    world: &World,
    shown: usize,
) -> Result<(), Failure> {
    let mut table = Table::new(expr);
    let (mut found, mut took) = (0, Duration::ZERO);
    let ended = each_row(expr, world, &mut took, |row| {
        found += 1;
        if found <= shown {
            table.push(out, row, world)?;
        }
        Ok(())
    });
    table.write_block(out)?;
    ended.map_err(|failure| failure.after(found))?;
    if found > shown {
        writeln!(out, "...")?;
    }
    Ok(write_count(out, found, took)?)
}

/// Writes each row as a line of JSON.
pub(crate) fn write_json(out: &mut dyn Write, expr: &mut CompiledExpr, world: &World) -> Result<(), Failure> {
    let types = world.resource::<AppTypeRegistry>().read();
    let (mut found, mut took) = (0, Duration::ZERO);
    let ended = each_row(expr, world, &mut took, |row| {
        found += 1;
        let line = serde_json::to_string(&RowSerializer::new(row, &types)).map_err(Failure::Json)?;
        Ok(writeln!(out, "{line}")?)
    });
    ended.map_err(|failure| failure.after(found))
}

/// Writes who is in which group.
pub(crate) fn write_groups(
    out: &mut dyn Write,
    expr: &mut CompiledExpr,
    world: &World,
) -> Result<(), Failure> {
    let start = Instant::now();
    expr.for_each_group(world, |_| {})?;
    let took = start.elapsed();
    let (mut written, mut rows) = (Ok(()), 0);
    expr.for_each_group(world, |group| {
        let members = group.iter().filter_map(|row| row.this()).map(|this| name(world, this));
        let members = members.collect::<Vec<_>>().join(", ");
        let title = group.target().map_or("none".to_owned(), |target| name(world, target));
        let line = writeln!(out, "{title}: {members}");
        if written.is_ok() {
            written = line;
        }
        rows += group.len();
    })?;
    written?;
    Ok(write_count(out, rows, took)?)
}

/// Calls a function with each row, until it fails, and measures the time that it takes to find them.
fn each_row(
    expr: &mut CompiledExpr,
    world: &World,
    took: &mut Duration,
    mut each: impl FnMut(Row<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut start = Instant::now();
    let mut rows = expr.rows(world)?;
    while let Some(row) = rows.next_row()? {
        *took += start.elapsed();
        each(row)?;
        start = Instant::now();
    }
    *took += start.elapsed();
    Ok(())
}

fn write_count(out: &mut dyn Write, rows: usize, took: Duration) -> io::Result<()> {
    writeln!(out, "{rows} {} in {took:.1?}", if rows == 1 { "row" } else { "rows" })
}

/// Rows in columns: what each is about, its variables, and what its fields tell beyond the expression.
struct Table {
    header: Vec<String>,
    /// The width of each column. Those in which nothing stands so far have none, and are left out.
    widths: Vec<Option<usize>>,
    /// Rows that are not written yet.
    block: Vec<Vec<String>>,
}

impl Table {
    fn new(expr: &CompiledExpr) -> Self {
        let mut header = vec!["this".to_owned()];
        header.extend(expr.variables().map(|name| format!("${name}")));
        header.extend((0..expr.field_count()).map(|field| expr.field_text(field).unwrap_or("").to_owned()));
        Self { widths: vec![None; header.len()], header, block: Vec::new() }
    }

    fn push(&mut self, out: &mut dyn Write, row: Row<'_>, world: &World) -> io::Result<()> {
        let mut cells = vec![row.this().map_or(String::new(), |this| name(world, this))];
        cells.extend(row.vars().map(|(_, value)| value.map_or("*".to_owned(), |value| name(world, value))));
        cells.extend((0..row.field_count()).map(|field| describe(world, row, field)));
        self.block.push(cells);
        if self.block.len() < BLOCK { Ok(()) } else { self.write_block(out) }
    }

    /// Writes the rows that have gathered, below the header if that has not been written or has become longer.
    fn write_block(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let is_first = self.widths.iter().all(Option::is_none);
        let mut grows = false;
        for (column, width) in self.widths.iter_mut().enumerate() {
            let cells = self.block.iter().map(|row| row[column].chars().count());
            let widest = cells.max().unwrap_or(0);
            if widest > 0 {
                grows |= width.is_none();
                let title = self.header[column].chars().count();
                *width = Some(widest.max(title).max(width.unwrap_or(0)));
            }
        }
        if grows {
            if !is_first {
                writeln!(out)?;
            }
            self.write_line(out, &self.header)?;
            self.write_line(
                out,
                &self.widths.iter().map(|width| "-".repeat(width.unwrap_or(0))).collect::<Vec<_>>(),
            )?;
        }
        if !self.widths.iter().all(Option::is_none) {
            self.block.iter().try_for_each(|row| self.write_line(out, row))?;
        }
        self.block.clear();
        out.flush()
    }

    fn write_line(&self, out: &mut dyn Write, cells: &[String]) -> io::Result<()> {
        let shown = cells.iter().zip(&self.widths).filter_map(|(cell, width)| Some((cell, (*width)?)));
        let padded = shown.map(|(cell, width)| format!("{cell:width$}"));
        writeln!(out, "{}", padded.collect::<Vec<_>>().join("  ").trim_end())
    }
}

fn name(world: &World, entity: Entity) -> String {
    if let Some(name) = world.get::<Name>(entity) {
        return name.to_string();
    }
    match world.resource::<TypeNames>().of_entity(entity) {
        Some(name) => name.to_owned(),
        None => world.any_pairs().relation_name(entity).map_or(entity.to_string(), |name| name.to_string()),
    }
}

/// What a field tells: what it was matched by if that was left open, its value, and on whom it was found if on
/// another.
fn describe(world: &World, row: Row<'_>, field: usize) -> String {
    let is_open = row.field_text(field).contains('*');
    let id = row.id(field).filter(|_| is_open).map_or(String::new(), |id| id_text(world, id));
    let value = row.reflect(field).map_or(String::new(), value_text);
    let mut text = match (&*id, &*value) {
        (id, "") => id.to_owned(),
        ("", value) => value.to_owned(),
        (id, value) => format!("{id}: {value}"),
    };
    if let Some(source) = row.source(field)
        && !text.is_empty()
        && !row.is_own(field)
    {
        text += &format!(" of {}", name(world, source));
    }
    text
}

fn id_text(world: &World, id: FieldId) -> String {
    let slot = |slot| match slot {
        Slot::Entity(entity) => name(world, entity),
        other => other.to_string(),
    };
    match id {
        FieldId::Component(component) => world.resource::<TypeNames>().of_component(component).to_owned(),
        FieldId::Entity(entity) => name(world, entity),
        FieldId::Pair(pair) => format!("({}, {})", slot(pair.relation()), slot(pair.target())),
    }
}

/// A value, in short: a name as it is, a single field without its type, and nothing for a marker.
fn value_text(value: &dyn PartialReflect) -> String {
    if let Some(name) = value.try_downcast_ref::<Name>() {
        return name.to_string();
    }
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
