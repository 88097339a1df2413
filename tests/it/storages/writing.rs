//! Writes to rows, while other fields of the same rows, or of later ones, show what was written.

use super::{Fuel, RandomWorld, compile, with_relation};
use crate::common::fewer;
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{
    expr::{CompiledExpr, Row, RowTableMut},
    relation::Prefab,
};
use std::collections::HashMap;

/// The number of the field that is written, and the expression.
const TEXTS: [(usize, &str); 9] = [
    (0, "Fuel, Fuel(up R)"),
    (0, "Fuel, Fuel(self|up R)"),
    (0, "Fuel, ?Fuel(up R)"),
    (0, "Fuel, (R, $p), Fuel($p)"),
    (0, "Fuel, Fuel($this)"),
    (0, "Fuel, (R, $p), Shape(up R), Fuel($p)"),
    (1, "Armor, [inout] Fuel(up R)"),
    (1, "Armor, [inout] Fuel(self|up R)"),
    (2, "[in] Armor, (R, $p), [inout] Fuel($p)"),
];

/// The fuel of each entity, as it must be.
type Fuels = HashMap<Entity, u32>;

/// Disabled entities and prefabs too.
type Everything = (Allow<Disabled>, Allow<Prefab>);

fn check_row(row: &Row<'_>, fuels: &Fuels, text: &str) {
    for field in 0..row.field_count() {
        if let Some(fuel) = row.get::<Fuel>(field) {
            let source = row.source(field).unwrap();
            assert_eq!(fuel.0, fuels[&source], "{text}: field {field} of {:?}", row.this());
        }
    }
}

fn write_rows(world: &mut World, expr: &mut CompiledExpr, written: usize, text: &str, fuels: &mut Fuels) {
    expr.for_each_mut(world, |mut row| {
        check_row(&row.as_row(), fuels, text);
        let source = row.as_row().source(written).unwrap();
        let mut fuel = row.get_mut::<Fuel>(written).unwrap();
        fuel.0 += 7;
        fuels.insert(source, fuel.0);
        check_row(&row.as_row(), fuels, text);
    })
    .unwrap();
}

fn write_table(mut table: RowTableMut<'_>, written: usize, text: &str, fuels: &mut Fuels) {
    table.as_table().rows().for_each(|row| check_row(&row, fuels, text));
    let entities = table.as_table().entities().to_vec();
    if table.as_table().is_own(written) {
        let slice = table.slice_mut::<Fuel>(written).unwrap();
        assert_eq!(slice.len(), entities.len());
        for (fuel, entity) in slice.iter_mut().zip(entities) {
            fuel.0 += 3;
            fuels.insert(entity, fuel.0);
        }
    } else {
        assert!(table.slice_mut::<Fuel>(written).is_err());
        for at in 0..entities.len() {
            let mut row = table.row_mut(at).unwrap();
            let source = row.as_row().source(written).unwrap();
            let mut fuel = row.get_mut::<Fuel>(written).unwrap();
            fuel.0 += 5;
            fuels.insert(source, fuel.0);
        }
    }
    let table = table.as_table();
    table.rows().for_each(|row| check_row(&row, fuels, text));
    for field in 0..table.rows().next().unwrap().field_count() {
        if let Some(fuel) = table.shared::<Fuel>(field) {
            assert_eq!(fuel.0, fuels[&table.source(field).unwrap()], "{text}");
        }
    }
}

#[test]
fn what_is_written_in_one_row_is_read_in_the_next() {
    for seed in 0..fewer(2) {
        let mut random = RandomWorld::large(seed as u64 + 40);
        let world = &mut random.world;
        for relation in ["UpS", "UpT", "UpF", "ManyS", "ManyT", "ManyF", "RingF", "NetF"] {
            let is_traversable = !relation.starts_with("Ring") && !relation.starts_with("Net");
            for (number, (written, text)) in TEXTS.into_iter().enumerate() {
                if text.contains("up R") && !is_traversable {
                    continue;
                }
                let text = with_relation(text, relation);
                let mut expr = compile(world, &text);
                expr.set_batch_size([1024, 1, 64][(number + seed) % 3]);
                let mut all = world.query_filtered::<(Entity, &Fuel), Everything>();
                let mut read = |world: &World| -> Fuels {
                    all.iter(world).map(|(entity, fuel)| (entity, fuel.0)).collect()
                };
                let mut fuels = read(world);
                write_rows(world, &mut expr, written, &text, &mut fuels);
                expr.for_each_table_mut(world, |table| write_table(table, written, &text, &mut fuels))
                    .unwrap();
                assert_eq!(read(world), fuels, "{text}");
            }
        }
    }
}
