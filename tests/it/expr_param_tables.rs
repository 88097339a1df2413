//! Rows a table at a time in systems, against those of the same expression on a world.

use crate::{
    common::{panic_message, size},
    expr_tables::{Armor, EXPRS, Fuel, Seen, Ship, WRITTEN, changed, compile, fleet, numbers},
};
use bevy_ecs::{prelude::*, query::QueryData, system::SystemParamBuilder};
use bevy_relations::{
    expr::{AnyExpression, ExprParam, ExprRunError, PairExpr, RowTableMut, WriteFieldError},
    prelude::*,
};

/// Runs a system with an expression.
fn run_with<D: QueryData + 'static>(
    world: &mut World,
    text: &str,
    run: impl FnMut(ExprQuery<AnyExpression, D>) + Send + Sync + 'static,
) {
    let expr = (ExprParam(PairExpr::parse(text).unwrap()),).build_state(world);
    let mut system = expr.build_system(run);
    system.initialize(world);
    system.run((), world).unwrap();
}

#[test]
fn a_system_reads_and_writes_tables_as_the_world_does() {
    for (seed, text) in (0..size(6, 1) as u64).flat_map(|seed| EXPRS.map(|text| (seed, text))) {
        let mut world = fleet(seed);
        let mut rows = Vec::new();
        compile(&mut world, text).for_each(&world, |row| rows.push(Seen::of(row))).unwrap();
        run_with(&mut world, text, move |mut expr: ExprQuery<AnyExpression>| {
            let mut seen = Vec::new();
            expr.for_each_table(|table| seen.extend(Seen::all(&table))).unwrap();
            assert_eq!(seen, rows);
        });
    }
    for (seed, (text, marked, _)) in
        (0..size(6, 1) as u64).flat_map(|seed| WRITTEN.map(|written| (seed, written)))
    {
        let mut worlds = [fleet(seed), fleet(seed)];
        worlds.iter_mut().for_each(World::clear_trackers);
        let raise = move |table: &mut RowTableMut<'_>| {
            for &field in marked {
                let own = table.as_table().is_own(field);
                if let Ok(fuel) = table.slice_mut::<Fuel>(field) {
                    fuel.iter_mut().for_each(|fuel| fuel.0 += 1);
                    assert!(own, "{text}: {field}");
                    let table = table.as_table();
                    assert_eq!(table.slice::<Fuel>(field).map(<[_]>::len), Some(table.len()));
                }
                if let Ok(armor) = table.slice_mut::<Armor>(field) {
                    armor.iter_mut().for_each(|armor| armor.0 += 1);
                    assert!(own, "{text}: {field}");
                }
            }
        };
        run_with(&mut worlds[0], text, move |mut expr: ExprQuery<AnyExpression>| {
            expr.for_each_table_mut(|mut table| {
                raise(&mut table);
                let fields = table.as_table().rows().next().unwrap().field_count();
                for field in (0..fields).filter(|field| !marked.contains(field)) {
                    assert!(
                        table.slice_mut::<Fuel>(field).is_err() && table.slice_mut::<Armor>(field).is_err()
                    );
                }
            })
            .unwrap();
        });
        compile(&mut worlds[1], text)
            .for_each_table_mut(&mut worlds[1], |mut table| raise(&mut table))
            .unwrap();
        let [a, b] = worlds.each_mut().map(|world| {
            let changed = (changed::<Fuel>(world), changed::<Armor>(world));
            (numbers::<Fuel>(world, |fuel| fuel.0.into()), numbers::<Armor>(world, |armor| armor.0), changed)
        });
        assert_eq!(a, b, "{text}");
    }
}

#[test]
fn slices_in_a_system_are_of_what_it_has_declared() {
    let mut world = fleet(3);
    run_with(&mut world, "Fuel, [none] Armor, Ship", |mut expr: ExprQuery<AnyExpression, &mut Fuel>| {
        let mut tables = 0;
        expr.for_each_table(|table| {
            tables += 1;
            assert!(table.slice::<Fuel>(0).is_none(), "the data has it");
            assert!(table.slice::<Armor>(1).is_none(), "nothing has it");
            assert!(table.slice::<Ship>(2).is_none(), "it has no value");
            assert!(table.rows().all(|row| row.get::<Fuel>(0).is_none()));
        })
        .unwrap();
        assert!(tables > 0);
        expr.for_each_table_mut(|mut table| {
            assert!(matches!(table.slice_mut::<Fuel>(0), Err(WriteFieldError::ReadOnly { .. })));
        })
        .unwrap();
        expr.set_step_limit(Some(1));
        let run = expr.for_each_table(|_| ());
        assert_eq!(run, Err(ExprRunError::StepLimit { limit: 1 }));
    });
}

#[test]
fn a_system_runs_again_after_a_table_in_which_it_has_panicked() {
    let mut world = fleet(4);
    let expr =
        (ExprParam(PairExpr::parse("[inout] Fuel, !(MountedOn, _)").unwrap()),).build_state(&mut world);
    let mut runs = 0;
    let mut system = expr.build_system(move |mut expr: ExprQuery<AnyExpression>| {
        runs += 1;
        let mut written = 0;
        expr.for_each_table_mut(|mut table| {
            table.slice_mut::<Fuel>(0).unwrap().iter_mut().for_each(|fuel| fuel.0 += 1);
            assert!(runs > 1, "the first run ends here");
            written += table.as_table().len();
        })
        .unwrap();
        let mut rows = 0;
        expr.for_each_row(|_| rows += 1).unwrap();
        assert_eq!(written, rows);
    });
    system.initialize(&mut world);
    let message = panic_message(|| system.run((), &mut world));
    assert_eq!(message.as_deref(), Some("the first run ends here"));
    system.run((), &mut world).unwrap();
}
