//! Every way of reading the rows of an expression gives the same rows as every other, in each storage.

use super::{Fuel, Gas, Kind, RandomWorld, Shape, compile, with_relation};
use crate::common::fewer;
use bevy_ecs::{prelude::*, system::SystemParamBuilder};
use bevy_relations::{
    expr::{AnyExpression, CompiledExpr, ExprParam, PairExpr, Row},
    prelude::*,
};

/// Of a relation that may be climbed.
const ABOVE: [&str; 33] = [
    "Fuel, Shape(up R)",
    "Fuel, Shape(self|up R)",
    "Fuel, Gas(up R)",
    "Fuel, Gas(self|up R)",
    "Fuel, Red(up R)",
    "Fuel, Red(self|up R)",
    "Fuel, ?Shape(up R)",
    "Fuel, !Shape(up R)",
    "Fuel, !Gas(self|up R)",
    "Fuel, Shape(up R), Gas(up R)",
    "Fuel, Shape(up R), Red(self|up R)",
    "Fuel, Shape(up R) || Gas(up R)",
    "Fuel, Shape || Shape(up R)",
    "Fuel, Shape(up R 2..3)",
    "Fuel, Shape(up R 1)",
    "Fuel, Gas(self|up R 2)",
    "Fuel, Shape(up R), (R, $p)",
    "Fuel, (R, $p), Shape(up R), !Gas($p)",
    "Fuel, (R, $p), Shape($p)",
    "Fuel, ?(R, $p), ?Shape($p)",
    "Fuel, Fuel(up R)",
    "Fuel, Fuel(self|up R)",
    "Fuel, !(R, *), Shape(self|up R)",
    "Fuel, Shape(up|all R)",
    "Fuel, ?Armor, Shape(up R)",
    "Fuel, ?(R, $p), Shape(up R)",
    "Fuel, (RingF, $p), Shape(up R)",
    "Fuel, ?(RingF, $p), !Armor, Gas(up R)",
    "Fuel, !{(R, $p), Shape($p)}",
    "Fuel, (R, $p), Shape($p|up R)",
    "Fuel, (R, Home), Shape(up R)",
    "Fuel, Home(up R)",
    "Shape(up R), Fuel",
];

/// Of any relation.
const PAIRS: [&str; 24] = [
    "Fuel, (R, *)",
    "Fuel, (R, _)",
    "Fuel, !(R, *)",
    "Fuel, (R, $p)",
    "Fuel, ?(R, $p)",
    "Fuel, (R, $this)",
    "Fuel, !(R, $this)",
    "Fuel, ?(R, $this)",
    "Fuel, (R, $p), $p == $this",
    "Fuel, (R, $p), $p != $this",
    "Fuel, (R, $p), Fuel($p)",
    "Fuel, (R, $p), !Fuel($p)",
    "Fuel, ?(R, $p), ?Fuel($p)",
    "Fuel, (R, $p), Shape($p)",
    "Fuel, (R, $p), R($p, $q)",
    "Fuel, (R, $p), R($p, $this)",
    "Fuel, R($p, $this)",
    "Fuel, (R, Home)",
    "Fuel, !(R, Home), ?(R, $p)",
    "Fuel, (R, Home) || Armor || (R, _)",
    "Fuel, Armor || (R, $p)",
    "Fuel, ?Armor, ?(R, Home), (R, $p), ?Shape($p)",
    "Fuel, (R, $p), Fuel($this), Gas($p)",
    "Fuel, !{(R, $p), Fuel($p)}",
];

/// Each text, of each kind of relation for which it is legal, in each storage.
fn texts() -> impl Iterator<Item = [String; 3]> {
    let of_kind = |kind: Kind| {
        let above: &[&str] = if kind.is_traversable() { &ABOVE } else { &[] };
        // Those of a transitive and reflexive relation have too many rows.
        let pairs: &[&str] = if kind == Kind::Trans { &[] } else { &PAIRS };
        above.iter().chain(pairs).map(move |text| {
            ["S", "T", "F"].map(|storage| with_relation(text, &format!("{kind:?}{storage}")))
        })
    };
    Kind::ALL.into_iter().flat_map(of_kind)
}

/// All that a row says.
#[derive(Clone, PartialEq, PartialOrd, Eq, Ord, Debug)]
struct RowData {
    this: Option<Entity>,
    vars: [Option<Entity>; 2],
    /// For each field whether it is set, whether it is the row's own, its source and its values.
    fields: Vec<(bool, bool, Option<Entity>, [Option<u32>; 3])>,
}

impl RowData {
    fn of(row: Row<'_>) -> Self {
        let values = |field| {
            [
                row.get::<Fuel>(field).map(|it| it.0),
                row.get::<Shape>(field).map(|it| it.0),
                row.get::<Gas>(field).map(|it| it.0),
            ]
        };
        let field = |at| (row.is_set(at), row.is_own(at), row.source(at), values(at));
        let fields = (0..row.field_count()).map(field).collect();
        Self { this: row.this(), vars: [row.var("p"), row.var("q")], fields }
    }
}

/// Reads the rows in every way, and returns them.
fn read_in_every_way(world: &mut World, expr: &mut CompiledExpr, text: &str) -> Vec<RowData> {
    let mut rows = Vec::new();
    let mut one_by_one = expr.rows(world).unwrap();
    while let Some(row) = one_by_one.next_row().unwrap() {
        rows.push(RowData::of(row));
    }
    let mut seen = Vec::new();
    expr.for_each(world, |row| seen.push(RowData::of(row))).unwrap();
    assert_eq!(seen, rows, "for_each: {text}");
    assert_eq!(expr.count(world).unwrap(), rows.len(), "count: {text}");
    assert_eq!(read_tables(world, expr, text), rows, "for_each_table: {text}");
    if text.starts_with("Fuel") {
        seen.clear();
        expr.for_each_mut(world, |mut row| {
            row.get_mut::<Fuel>(0).unwrap().set_changed();
            seen.push(RowData::of(row.as_row()));
        })
        .unwrap();
        assert_eq!(seen, rows, "for_each_mut: {text}");
        seen.clear();
        expr.for_each_table_mut(world, |mut table| {
            let len = table.as_table().len();
            assert_eq!(table.slice_mut::<Fuel>(0).unwrap().len(), len);
            seen.extend(table.as_table().rows().map(RowData::of));
        })
        .unwrap();
        assert_eq!(seen, rows, "for_each_table_mut: {text}");
    }
    rows
}

/// Reads the rows by tables, whose slices and shared values are those of their rows.
fn read_tables(world: &World, expr: &mut CompiledExpr, text: &str) -> Vec<RowData> {
    let mut seen = Vec::new();
    expr.for_each_table(world, |table| {
        let entities = table.entities();
        assert_eq!(entities.len(), table.len(), "{text}");
        for (at, row) in table.rows().enumerate() {
            assert_eq!(Some(entities[at]), row.this());
            for field in 0..row.field_count() {
                let of_table = (table.is_set(field), table.is_own(field));
                assert_eq!((row.is_set(field), row.is_own(field)), of_table, "{text}: {field}");
                let [fuel, shape] = match row.is_own(field) {
                    true => {
                        let fuel = table.slice::<Fuel>(field).map(|slice| slice[at].0);
                        [fuel, table.slice::<Shape>(field).map(|slice| slice[at].0)]
                    }
                    false => {
                        assert_eq!(row.source(field), table.source(field), "{text}: {field}");
                        assert_eq!(row.get::<Gas>(field), table.shared::<Gas>(field), "{text}: {field}");
                        let fuel = table.shared::<Fuel>(field).map(|fuel| fuel.0);
                        [fuel, table.shared::<Shape>(field).map(|shape| shape.0)]
                    }
                };
                assert_eq!(row.get::<Fuel>(field).map(|it| it.0), fuel, "{text}: {field}");
                assert_eq!(row.get::<Shape>(field).map(|it| it.0), shape, "{text}: {field}");
            }
            seen.push(RowData::of(row));
        }
        for (var, name) in ["p", "q"].into_iter().enumerate() {
            let vars: Vec<_> = table.var(name).collect();
            let rows = &seen[seen.len() - vars.len()..];
            assert!(vars.iter().eq(rows.iter().map(|row| &row.vars[var])), "{text}");
        }
    })
    .unwrap();
    seen
}

#[test]
fn every_way_of_reading_gives_the_same_rows_in_every_storage() {
    // Each expression in one of three worlds, in which it is read again after some changes: reading takes the time.
    for seed in 0..fewer(3) {
        let mut random = RandomWorld::large(seed as u64);
        let mut compile_all = |(number, texts): (usize, [String; 3])| {
            texts.map(|text| {
                let mut expr = compile(&mut random.world, &text);
                expr.set_batch_size([1024, 64, 1, 100, 7][(number + seed) % 5]);
                (text, expr)
            })
        };
        let mut all: Vec<_> =
            texts().enumerate().filter(|(number, _)| number % 3 == seed).map(&mut compile_all).collect();
        for round in 0..2 {
            for exprs in &mut all {
                let [store, table, fragmenting] = exprs.each_mut().map(|(text, expr)| {
                    let mut rows = read_in_every_way(&mut random.world, expr, text);
                    rows.sort();
                    rows
                });
                for rows in [table, fragmenting] {
                    if store == rows {
                        continue;
                    }
                    let missing: Vec<_> = store.iter().filter(|row| !rows.contains(row)).take(3).collect();
                    let new: Vec<_> = rows.iter().filter(|row| !store.contains(row)).take(3).collect();
                    panic!("{seed}, round {round}, {}: lacks {missing:?}, has {new:?}", exprs[0].0);
                }
            }
            random.change_times(60);
            random.world.check_pairs().unwrap();
        }
    }
}

#[test]
fn systems_read_the_same_rows() {
    let mut random = RandomWorld::large(70);
    for [.., text] in texts().filter(|texts| texts[2].starts_with("Fuel")).step_by(2) {
        let mut expr = compile(&mut random.world, &text);
        let mut rows = Vec::new();
        expr.for_each(&random.world, |row| rows.push(RowData::of(row))).unwrap();
        rows.sort();
        let param = (ExprParam(PairExpr::parse(&*text).unwrap()),).build_state(&mut random.world);
        let mut system = param.build_system(move |mut ships: ExprQuery<AnyExpression, (Entity, &Fuel)>| {
            let check = |seen: &mut Vec<RowData>, way: &str| {
                seen.sort();
                assert!(*seen == rows, "{text}, {way}: {} of {} rows", seen.len(), rows.len());
                seen.clear();
            };
            let mut seen = Vec::new();
            ships
                .for_each(|(ship, fuel), row| {
                    assert_eq!((Some(ship), Some(fuel)), (row.this(), row.get::<Fuel>(0)));
                    seen.push(RowData::of(row));
                })
                .unwrap();
            check(&mut seen, "typed data");
            ships.for_each_row(|row| seen.push(RowData::of(row))).unwrap();
            check(&mut seen, "rows");
            ships.for_each_table(|table| seen.extend(table.rows().map(RowData::of))).unwrap();
            check(&mut seen, "tables");
            assert_eq!(ships.count().unwrap(), rows.len());
        });
        system.initialize(&mut random.world);
        system.run((), &mut random.world).unwrap();
    }
}
