//! Constants of expressions that have died since the expression was compiled.

use crate::{
    common::try_reuse_index,
    storages::{Armor, Fuel, Shape, compile, named_world},
};
use bevy_ecs::prelude::*;
use bevy_relations::{
    expr::{CompiledExpr, Row},
    prelude::*,
};

/// How many rows there are, and in how many the second field is set.
fn counts(expr: &mut CompiledExpr, world: &World) -> [usize; 2] {
    let is_set = |row: Row<'_>| row.field_count() > 1 && row.is_set(1);
    let mut in_place = [0; 2];
    expr.for_each(world, |row| {
        in_place[0] += 1;
        in_place[1] += usize::from(is_set(row));
    })
    .unwrap();
    let (mut by_rows, mut rows) = ([0; 2], expr.rows(world).unwrap());
    while let Some(row) = rows.next_row().unwrap() {
        by_rows[0] += 1;
        by_rows[1] += usize::from(is_set(row));
    }
    assert_eq!(in_place, by_rows);
    in_place
}

/// An entity named `Base` with a shape, and so many ships, which have one too if `all_have_shapes`.
fn world_with_base(ships: u32, all_have_shapes: bool) -> (World, Entity) {
    let mut world = named_world();
    let base = world.spawn((Name::new("Base"), Shape(1))).id();
    for number in 0..ships {
        let ship = world.spawn(Fuel(number)).id();
        if all_have_shapes {
            world.entity_mut(ship).insert(Shape(2));
        }
    }
    (world, base)
}

/// Despawns the base. Another entity gets its index if `is_reused`, and what `insert` inserts.
fn despawn(world: &mut World, base: Entity, is_reused: bool, insert: impl FnOnce(&mut World, Entity)) {
    world.despawn(base);
    if is_reused {
        let other = try_reuse_index(world, base).expect("the index is given out again");
        world.entity_mut(other).insert(Shape(3));
        insert(world, other);
    }
}

#[test]
fn nothing_is_found_on_a_constant_that_has_died_or_above_it() {
    const RELATIONS: [&str; 6] = ["UpS", "UpF", "ManyS", "ManyT", "ManyF", "TransS"];
    for is_reused in [false, true] {
        let (mut world, base) = world_with_base(100, false);
        let above = world.spawn(Shape(2)).id();
        let insert_all = |world: &mut World, source: Entity| {
            for relation in RELATIONS {
                let relation = world.lookup(relation).unwrap();
                world.insert_pair_by_id(source, (relation, above)).unwrap();
            }
        };
        insert_all(&mut world, base);
        // With the rows, and those in which the second field is set: before, and when it has died.
        let mut cases = Vec::new();
        for (relation, depth) in RELATIONS.iter().flat_map(|name| [(name, "self|up"), (name, "up")]) {
            for (text, before, after) in [
                ("Fuel, Shape(Base|", [100, 100], [0, 0]),
                ("Fuel, ?Shape(Base|", [100, 100], [100, 0]),
                ("Fuel, !Shape(Base|", [0, 0], [100, 0]),
                ("Fuel, Shape($b|", [100, 100], [0, 0]),
            ] {
                for batch in [1, 1024] {
                    let text = format!("{text}{depth} {relation})");
                    let mut expr = compile(&mut world, &text);
                    expr.set_batch_size(batch);
                    if text.contains("$b") {
                        expr.set_var(&world, "b", base).unwrap();
                    }
                    cases.push((text, batch, expr, before, after));
                }
            }
        }
        for (text, batch, expr, before, _) in &mut cases {
            assert_eq!(counts(expr, &world), *before, "{text}, batches of {batch}");
        }
        despawn(&mut world, base, is_reused, insert_all);
        for (text, batch, expr, _, after) in &mut cases {
            assert_eq!(counts(expr, &world), *after, "{text}, batches of {batch}, reused: {is_reused}");
        }
    }
}

#[test]
fn a_term_of_a_constant_that_has_died_is_false_wherever_it_stands() {
    for (all_have_shapes, is_reused) in [(true, false), (false, true)] {
        let (mut world, base) = world_with_base(200, all_have_shapes);
        let mut cases = [
            ("Fuel, ?Shape(Base)", [200, 0]),
            ("Fuel, ?Shape(Base|self|up UpS)", [200, 0]),
            ("Fuel, ?Shape(Base|self|up ManyS)", [200, 0]),
            ("Fuel, {Armor || {Shape(Base)}}", [0, 0]),
            ("Fuel, Armor(Base) || Shape(Base)", [0, 0]),
            ("Fuel, Armor(Base) || Shape(Base|self|up ManyS)", [0, 0]),
            ("Fuel, !{Shape(Base)}", [200, 0]),
        ]
        .map(|(text, after)| (text, compile(&mut world, text), after));
        for (text, expr, _) in &mut cases {
            let [rows, _] = counts(expr, &world);
            assert_eq!(rows == 0, text.contains('!'), "{text}");
        }
        despawn(&mut world, base, is_reused, |_, _| {});
        for (text, expr, after) in &mut cases {
            assert_eq!(counts(expr, &world), *after, "{text}, reused: {is_reused}");
        }
    }
}

#[test]
fn a_negated_term_of_a_constant_that_has_died_holds_for_few_rows_and_for_many() {
    for text in ["Fuel, !Shape(Base)", "Fuel, !Armor(Base)"] {
        for (ships, all_have_shapes, batch) in
            [(3, false, 1024), (200, false, 1024), (200, true, 1024), (200, false, 1), (2_000, true, 64)]
        {
            for is_reused in [false, true] {
                let (mut world, base) = world_with_base(ships, all_have_shapes);
                world.entity_mut(base).remove::<Shape>().insert(Armor);
                let mut expr = compile(&mut world, text);
                expr.set_batch_size(batch);
                let before = if text.contains("Armor") { 0 } else { ships as usize };
                assert_eq!(counts(&mut expr, &world), [before, 0], "{text}");
                despawn(&mut world, base, is_reused, |_, _| {});
                let [rows, _] = counts(&mut expr, &world);
                assert_eq!(rows, ships as usize, "{text}");
            }
        }
    }
}
